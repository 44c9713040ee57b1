"""Each fix of a Python component, run with good and bad records: nothing new dies, leaks, is lost or is completed twice."""

import re
from pathlib import Path

import pytest

from ackdoctor.fixes import FIXES
from ackdoctor.rulebook import ACK_IN_LOOP
from tests.fixes.fixed_runs import Comparison, compare, compare_all, fixed_findings
from tests.rule_cases import cases_by_code

pytestmark = [pytest.mark.minutes, pytest.mark.filterwarnings("ignore")]

_FOLDERS = sorted((Path(__file__).parents[2] / "fixtures" / "topologies").glob("*/*"))
_PYTHON = [folder for folder in _FOLDERS if any(folder.rglob("*.py"))]
_MARKER = re.compile(r"[ \t]*# (?:expect|price|todo).*$", re.MULTILINE)
_MOST_CASES = 25  # of a rule


def _faults(comparisons: list[Comparison]) -> list[str]:
    """Return what is worse; an ack behind a loop without rounds, in place of one in it, is right."""
    return [
        str(each) for each in comparisons if each.added or (each.acked and each.finding.code != ACK_IN_LOOP)
    ]


@pytest.mark.parametrize("folder", _PYTHON, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_fixture_runs_as_well_after_each_fix(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    assert _faults(compare_all(folder)) == []


@pytest.mark.parametrize("code", [code for code in FIXES if code < "ACK4"])
def test_a_case_runs_as_well_after_each_fix(code, tmp_path, monkeypatch) -> None:
    found: list[Comparison] = []
    cases = [case for case in cases_by_code()[code] if case.language == "python" and case.expected]
    for number, case in enumerate(cases[:_MOST_CASES]):
        folder = tmp_path / f"case{number}"
        for file in case.files:
            place = folder / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_MARKER.sub("", file.text), encoding="utf-8")
        monkeypatch.chdir(folder)
        found += (compare(folder, finding, edited) for finding, edited in fixed_findings(folder))
    assert _faults(found) == []
    assert any(each.ran for each in found)
