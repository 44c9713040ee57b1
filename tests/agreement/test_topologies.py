"""Lint and a run report the same defects of the fixtures, except for the differences that are listed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackdoctor.dialects import load
from tests.agreement.defects import Defect, differences, lint_defects, run_defects
from tests.agreement.fixture_modules import components_of, import_fixture
from tests.agreement.scenarios import SCENARIOS
from tests.agreement.stand_ins import STAND_INS
from tests.frameworks import framework

TOPOLOGIES = Path(__file__).parents[2] / "fixtures" / "topologies"
DIFFERENCES = differences(TOPOLOGIES / "DIFFERENCES.md")
MODULES = {
    "heronpy": "heronpy.api.bolt.window_bolt",
    "petrel": "petrel.emitter",
    "pyleus": "pyleus.storm",
    "pystorm": "pystorm",
    "storm_py": "storm",
    "streamparse": "streamparse",
}
FOLDERS = sorted(
    folder for folder in TOPOLOGIES.glob("*/*") if folder.parent.name in MODULES
)  # the Python ones


def name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def topology(folder: Path) -> str:
    return name(folder).rpartition("-")[0]


@contextmanager
def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, ModuleType]]:
    """The modules of a topology."""
    module: Any = framework(MODULES[folder.parent.name])
    scripts: list[type] = []
    if folder.parent.name == "storm_py":
        scripts = [module.Bolt, module.BasicBolt, module.Spout]
        monkeypatch.setattr(module, "json_decode", json.loads)  # simplejson would reject NaN
    root = folder / "src"
    with import_fixture(root if root.exists() else folder, STAND_INS[topology(folder)], scripts) as modules:
        yield modules


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_lint_and_run_agree(folder, shell, monkeypatch):
    monkeypatch.chdir(folder)
    report = shell(
        "lint", "--isolated", "--no-cache", "--output-format", "json", "--quiet", "--exit-zero", "."
    )
    by_lint, by_run = lint_defects(report.out), set[Defect]()
    with imported(folder, monkeypatch) as modules:
        for scenario in SCENARIOS:
            if scenario.topology == topology(folder):
                more = scenario.sick_runs if folder.name.endswith("-sick") else scenario.healthy_runs
                by_run |= run_defects(folder, modules, scenario, [*scenario.runs, *more])
    listed = DIFFERENCES.get(name(folder), [])
    assert {str(one) for one in by_lint - by_run} == {row.by_lint for row in listed} - {""}
    assert {str(one) for one in by_run - by_lint} == {row.by_run for row in listed} - {""}


def test_every_difference_has_a_reason_and_a_topology():
    assert set(DIFFERENCES) <= {name(folder) for folder in FOLDERS if folder.name.endswith("-sick")}
    assert [row for rows in DIFFERENCES.values() for row in rows if not row.reason] == []


def test_every_python_framework_is_covered():
    assert set(MODULES) == {dialect.name for dialect in load() if dialect.language == "python"}


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_every_component_has_a_scenario(folder, monkeypatch):
    with imported(folder, monkeypatch) as modules:
        assert components_of(modules) == {s.component for s in SCENARIOS if s.topology == topology(folder)}
