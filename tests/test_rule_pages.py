"""Every case of every rule page, line by line: the pages are the specification."""

from collections.abc import Iterable

import pytest

from ackdoctor.checks import load as load_checks
from ackdoctor.rulebook import Case, Expected, load_rules
from tests.rule_cases import marked

PAGES = load_rules()
DEFAULTS = {code: page.default for code, page in PAGES.items()}
CASES = [case for page in PAGES.values() for case in page.cases]
TOLD_ELSEWHERE = {"ACK901"}  # by the suppressions, not by a component


def _id(case: Case) -> str:
    return f"{case.code}/{case.name}"


def _on_page(case: Case, marks: Iterable[Expected]) -> list[str]:
    """Each mark as an editor finds it: the page, and the line there."""
    page = f"rules/{PAGES[case.code].path.name}"
    begins = {file.name: file.first_line for file in case.files}
    return [f"{page}:{begins[mark.file] + mark.line - 1} {mark.code}" for mark in marks]


@pytest.mark.parametrize("case", [c for c in CASES if c.code not in TOLD_ELSEWHERE], ids=_id)
def test_a_case_has_exactly_the_findings_its_page_marks(case: Case) -> None:
    result = marked(case, DEFAULTS)

    assert _on_page(case, result) == _on_page(case, case.expected)


@pytest.mark.parametrize("case", [c for c in CASES if c.todo], ids=_id)
@pytest.mark.xfail(strict=True, reason="a known gap, written on the page")
def test_a_known_gap_is_closed(case: Case) -> None:
    result = marked(case, DEFAULTS)

    assert set(case.todo) <= set(result)


def test_every_rule_with_a_path_has_a_check_and_every_check_a_page() -> None:
    with_path = {code for code, page in PAGES.items() if "path" in page.evidence}
    assert set(load_checks()) | TOLD_ELSEWHERE == with_path


def test_a_rule_that_only_a_run_can_show_has_cases_of_a_run() -> None:
    languages = {code: {case.language for case in page.cases} for code, page in PAGES.items()}
    assert {code for code, page in PAGES.items() if "path" not in page.evidence} == {
        code for code, found in languages.items() if found == {"acker"}
    }
