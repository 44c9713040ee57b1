"""What must hold of the pages in `rules/`, whoever wrote them."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.dialects import known
from ackdoctor.rulebook import RulePage, load_metadata, load_rules

PAGES = load_rules()
PAGE = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def test_heads_and_pages_name_the_same_rules() -> None:
    assert list(load_metadata()) == list(PAGES)


@PAGE
def test_a_page_shows_what_it_reports_and_what_it_does_not(page: RulePage) -> None:
    assert {case.section for case in page.cases} == {"Examples", "Stays silent"}


@PAGE
def test_a_page_expects_its_own_finding_somewhere(page: RulePage) -> None:
    assert page.code in {mark.code for case in page.cases for mark in (*case.expected, *case.todo)}


@PAGE
def test_a_case_is_written_in_a_dialect_that_we_know(page: RulePage) -> None:
    dialects = {dialect.name for dialect in known()}
    code = [case for case in page.cases if case.language != "acker"]
    assert [case.name for case in code if case.dialect not in dialects] == []


@PAGE
def test_messages_go_to_an_acker_that_we_know(page: RulePage) -> None:
    for case in page.cases:
        if case.language == "acker":
            assert profile(case.dialect).name == case.dialect


@PAGE
def test_no_two_cases_of_a_page_have_one_name(page: RulePage) -> None:
    names = [case.name for case in page.cases]
    assert len(names) == len(set(names))


@PAGE
def test_a_case_expects_only_findings_that_have_a_page(page: RulePage) -> None:
    marks = {mark.code for case in page.cases for mark in (*case.expected, *case.todo)}
    assert marks - PAGES.keys() == set()


@PAGE
def test_a_summary_is_one_sentence(page: RulePage) -> None:
    assert page.summary.endswith(".")
    assert len(page.summary) <= 140
