"""The fixes of the rules' own examples: proven by lint, shown on the pages as a diff, and run on the bench."""

import ast
import re
from pathlib import Path

import pytest

from ackdoctor.fixes import FIXES, NO_FIX, SAFE, described
from ackdoctor.rulebook import BLOCKING_NEXT_TUPLE, UNUSED_IGNORE, locate
from tests.advice.component_runs import Cost, run_components
from tests.advice.test_fixes import PAIRS, Pair
from tests.fixes.repairing import prepare, repaired
from tests.rule_cases import cases_by_code
from tests.rule_pages import Case

pytestmark = pytest.mark.filterwarnings("ignore")  # threads that raise

_MARKER = re.compile(r"[ \t]*(?:#|//) (?:expect|price|todo).*$", re.MULTILINE)
_DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIX = re.compile(r'^fix = "(\w+)"$', re.MULTILINE)
_NAMES = {"python": "case.py", "java": "Case.java"}
PAGES = {page.name[:6]: page.read_text(encoding="utf-8") for page in sorted(locate().glob("ACK*.md"))}
WITH_FIX = [code for code, text in PAGES.items() if _FIX.findall(text)[0] != "none"]
FIXABLE = [pair for pair in PAIRS if pair.code in FIXES and pair.language in _NAMES]


def _files(case: Case) -> dict[str, str]:
    return {file.name: _MARKER.sub("", file.text) for file in case.files}


def _diff(folder: Path, files: dict[str, str], code: str) -> str:
    alone = () if code == UNUSED_IGNORE else (code,)  # a comment is unused in view of the other rules
    repairs, report = prepare(folder, files, select=alone)
    repairs.fix(report, unsafe=True)
    return repairs.diff()


def test_the_head_of_a_page_names_whether_the_rule_has_a_fix() -> None:
    assert set(WITH_FIX) == set(FIXES)


def test_each_rule_has_a_fix_or_a_reason_for_none() -> None:
    assert set(NO_FIX) == set(PAGES) - set(FIXES)
    assert all(set(fixes) <= set(FIXES[code]) for code, fixes in SAFE.items())
    assert all(described(code, safe=True) + described(code, safe=False) for code in FIXES)


@pytest.mark.parametrize("code", WITH_FIX)
def test_the_diff_of_a_page_is_the_fix_of_its_example(code, tmp_path) -> None:
    example = next(case for case in cases_by_code()[code] if case.expected)
    others = ({_NAMES[pair.language]: _MARKER.sub("", pair.before)} for pair in FIXABLE if pair.code == code)
    diffs = (
        _diff(tmp_path / str(number), files, code) for number, files in enumerate((_files(example), *others))
    )
    diff = next(filter(None, diffs))  # of the example, or of the first help text that is applied
    changes = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    shown = [line for line in _DIFF.findall(PAGES[code])[0].splitlines() if line[:1] in "+-"]
    assert changes == shown


@pytest.mark.parametrize("pair", FIXABLE, ids=[pair.name for pair in FIXABLE])
def test_a_fix_is_proven_parses_and_runs_without_a_cost(pair: Pair, tmp_path, monkeypatch) -> None:
    name = _NAMES[pair.language]
    before = _MARKER.sub("", pair.before)
    project = tmp_path / "project"
    edited, left = repaired(project, {name: before}, unsafe=True)
    if not edited:
        return
    assert repaired(project, {}, unsafe=True)[0] == {}
    text = edited[name].decode()
    if pair.language == "java":
        return
    ast.parse(text)
    if not left.findings and "price:" not in pair.after:
        monkeypatch.chdir(tmp_path)
        costs = run_components(pair.dialect, {"case.py": text}, tmp_path).costs
        if pair.code == BLOCKING_NEXT_TUPLE:
            costs.pop(Cost.EXITS, None)  # the source raises, as it did in the loop
        assert costs == {}


REPAIRED = [
    *(
        (f"ACK{number}", "python")
        for number in (101, 102, 103, 104, 105, 106, 109, 201, 204, 205, 301, 302, 303, 304)
    ),
    ("ACK201", "java"),
]


@pytest.mark.parametrize(("code", "language"), REPAIRED)
def test_a_rule_with_fixes_fixes_examples_of_its_help(code, language, tmp_path) -> None:
    pairs = (pair for pair in FIXABLE if (pair.code, pair.language) == (code, language))
    files = ({_NAMES[language]: _MARKER.sub("", pair.before)} for pair in pairs)
    assert any(_diff(tmp_path / str(number), each, code) for number, each in enumerate(files))
