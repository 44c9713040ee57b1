"""Each defect that lint foretells of a fixture is shown by a run, and the other way round; or the difference is listed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackdoctor.dialects import load
from tests.agreement.business import BUSINESS
from tests.agreement.differences import differences
from tests.agreement.scenes import SCENES
from tests.agreement.stage import components_of, stage
from tests.agreement.witness import Defect, foretold, shown
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
FOLDERS = sorted(folder for folder in TOPOLOGIES.glob("*/*") if folder.parent.name in MODULES)  # Python's


def name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def topology(folder: Path) -> str:
    return name(folder).rpartition("-")[0]


@contextmanager
def performed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, ModuleType]]:
    """The modules of a topology."""
    module: Any = framework(MODULES[folder.parent.name])
    scripts: list[type] = []
    if folder.parent.name == "storm_py":
        scripts = [module.Bolt, module.BasicBolt, module.Spout]
        monkeypatch.setattr(module, "json_decode", json.loads)  # as where no simplejson refuses NaN
    root = folder / "src"
    with stage(root if root.exists() else folder, BUSINESS[topology(folder)], scripts) as modules:
        yield modules


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_lint_and_run_agree(folder, shell, monkeypatch):
    monkeypatch.chdir(folder)
    report = shell(
        "lint", "--isolated", "--no-cache", "--output-format", "json", "--quiet", "--exit-zero", "."
    )
    by_lint, by_run = foretold(report.out), set[Defect]()
    with performed(folder, monkeypatch) as modules:
        for scene in SCENES:
            if scene.topology == topology(folder):
                more = scene.broken if folder.name.endswith("-sick") else scene.mended
                by_run |= shown(folder, modules, scene, [*scene.takes, *more])
    listed = DIFFERENCES.get(name(folder), [])
    assert {str(one) for one in by_lint - by_run} == {row.foretold for row in listed} - {""}
    assert {str(one) for one in by_run - by_lint} == {row.shown for row in listed} - {""}


def test_every_difference_has_a_reason_and_a_topology():
    assert set(DIFFERENCES) <= {name(folder) for folder in FOLDERS if folder.name.endswith("-sick")}
    assert [row for rows in DIFFERENCES.values() for row in rows if not row.because] == []


def test_no_framework_of_python_is_left_out():
    assert set(MODULES) == {dialect.name for dialect in load() if dialect.language == "python"}


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_no_component_is_left_out(folder, monkeypatch):
    with performed(folder, monkeypatch) as modules:
        assert components_of(modules) == {s.component for s in SCENES if s.topology == topology(folder)}
