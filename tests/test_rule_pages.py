"""Every case of every rule page, line by line: the pages are the specification."""

import pytest

from ackdoctor.checks import load as load_checks
from ackdoctor.rulebook import Case, load_rules
from tests.rule_cases import found

PAGES = load_rules()
DEFAULTS = {code: page.default for code, page in PAGES.items()}
CASES = [case for page in PAGES.values() for case in page.cases]


def _id(case: Case) -> str:
    return f"{case.code}/{case.heading}/{case.dialect}"


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_a_case_has_exactly_the_findings_its_page_marks(case: Case) -> None:
    result = found(case, DEFAULTS)

    assert result == sorted(case.expected)


def test_every_page_has_a_check_and_every_check_a_page() -> None:
    elsewhere = {"ACK901"}  # told by the suppressions, not by a component

    assert set(load_checks()) | elsewhere == set(PAGES)
