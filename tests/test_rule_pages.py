"""Every case of `rules/` and `tests/rules/` has exactly the findings that its markers name."""

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from ackdoctor.checks import load as load_checks
from ackdoctor.topology.checks import load as load_wiring_checks
from tests.lint.project import lines, lint_project, write
from tests.rule_cases import all_cases, cases_by_code, marked
from tests.rule_pages import Case, Expected, load_metadata

ROOT = Path(__file__).parent.parent
RULES = load_metadata()
DEFAULTS = {code: rule.default for code, rule in RULES.items()}
CASES = all_cases()
FROM_COMMENTS = {"ACK901"}  # found in comments, not in components


def _id(case: Case) -> str:
    return f"{case.code}/{case.page.stem}/{case.name}"


def _on_page(case: Case, marks: Iterable[Expected]) -> list[str]:
    """Each mark as an editor finds it: the page, and the line there."""
    page = case.page.relative_to(ROOT).as_posix()
    begins = {file.name: file.first_line for file in case.files}
    return [f"{page}:{begins[mark.file] + mark.line - 1} {mark.code}" for mark in marks]


@pytest.mark.parametrize("case", [c for c in CASES if c.code not in FROM_COMMENTS], ids=_id)
def test_a_case_has_exactly_the_findings_that_its_page_marks(case: Case) -> None:
    result = marked(case, DEFAULTS)

    assert _on_page(case, result) == _on_page(case, case.expected)


@pytest.mark.parametrize("case", [c for c in CASES if c.code in FROM_COMMENTS], ids=_id)
def test_a_case_of_comments_has_exactly_the_findings_that_its_page_marks(case: Case, tmp_path: Path) -> None:
    write(tmp_path, {file.name: file.text for file in case.files})
    assert lines(lint_project(tmp_path)) == [f"{mark.file}:{mark.line} {mark.code}" for mark in case.expected]


@pytest.mark.parametrize("case", [c for c in CASES if c.todo], ids=_id)
@pytest.mark.xfail(strict=True, reason="a known gap, written on the page")
def test_a_known_gap_is_closed(case: Case) -> None:
    result = marked(case, DEFAULTS)

    assert set(case.todo) <= set(result)


def test_no_module_of_a_case_has_a_name_of_the_standard_library() -> None:
    """The runs import the modules of a case; `profile` may have been imported before."""
    names = {Path(file.name).parts[0].removesuffix(".py") for case in CASES for file in case.files}
    assert names & sys.stdlib_module_names == set()


def test_every_rule_with_a_path_has_a_check_and_every_check_a_page() -> None:
    with_path = {code for code, rule in RULES.items() if "path" in rule.evidence}
    assert set(load_checks()) | FROM_COMMENTS == with_path
    assert set(load_wiring_checks()) == {code for code, rule in RULES.items() if "wiring" in rule.evidence}


def test_rules_that_only_a_run_can_show_have_cases_of_a_run() -> None:
    languages = {code: {case.language for case in cases} for code, cases in cases_by_code().items()}
    checked = {"path", "wiring"}
    assert {code for code, rule in RULES.items() if checked.isdisjoint(rule.evidence)} == {
        code for code, found in languages.items() if found == {"acker"}
    }
