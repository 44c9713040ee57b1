"""Rules for the pages in `rules/` and `tests/rules/`: length, order, words and known names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.dialects import known
from ackdoctor.rulebook.pages import RulePage
from tests.rule_cases import CASE_PAGES, cases_by_code
from tests.rule_pages import WIRING, cases_of, load_metadata, load_rules

RULES = Path(__file__).parents[2] / "rules"
PAGES = load_rules()
PAGE = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
CODE = pytest.mark.parametrize("code", PAGES)
LONGEST = 150  # lines
WIDEST = 76  # columns of code that `explain` shows without a break
MARKER = re.compile(r"expect(-[a-z]+)?: ")
UNWANTED = re.compile(
    r"\b(told|stands?|stood|nobody|somebody|whoever|anew|heed\w*|offences?|suspects?|charges?|circumstances"
    r"|surroundings|inquest|album|behoves|whatever|wherever|thereof|forgoes|is heard)\b",
    re.IGNORECASE,
)


def test_heads_and_pages_name_the_same_rules() -> None:
    assert list(load_metadata()) == list(PAGES)


@PAGE
def test_a_page_is_short(page: RulePage) -> None:
    assert len(page.text.splitlines()) <= LONGEST


@pytest.mark.parametrize(
    "path",
    [*sorted(RULES.glob("*.md")), *CASE_PAGES, CASE_PAGES[0].parents[1] / "README.md"],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_a_page_has_no_unwanted_word(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, 1) if UNWANTED.search(line)] == []


@PAGE
def test_a_page_shows_one_fault_and_its_repair(page: RulePage) -> None:
    examples = [case for case in cases_of(page) if case.section == "Example"]
    fixes = [case for case in cases_of(page) if case.section == "How to fix"]
    assert page.code in {mark.code for case in examples for mark in case.expected}
    assert {case.dialect for case in fixes} >= {case.dialect for case in examples}
    assert [mark for case in fixes for mark in case.expected] == []


@PAGE
def test_the_code_of_a_page_fits_a_terminal(page: RulePage) -> None:
    code = [MARKER.sub("", file.text) for case in cases_of(page) for file in case.files]
    assert [line for text in code for line in text.splitlines() if len(line) > WIDEST] == []


@CODE
def test_a_rule_has_cases_that_it_reports_and_cases_that_it_does_not(code: str) -> None:
    sections = {case.section for case in cases_by_code()[code]}
    assert sections == {"Example", "How to fix", "Reports", "Stays silent"}


@CODE
def test_a_case_is_written_in_a_known_dialect(code: str) -> None:
    dialects = {WIRING, *(dialect.name for dialect in known())}
    cases = [case for case in cases_by_code()[code] if case.language != "acker"]
    assert [case.name for case in cases if case.dialect not in dialects] == []


@CODE
def test_messages_go_to_a_known_acker(code: str) -> None:
    for case in cases_by_code()[code]:
        if case.language == "acker":
            assert profile(case.dialect).name == case.dialect


@CODE
def test_no_two_cases_of_a_rule_have_the_same_name(code: str) -> None:
    names = [case.name for case in cases_by_code()[code]]
    assert len(names) == len(set(names))


@CODE
def test_a_case_expects_only_findings_that_have_a_page(code: str) -> None:
    marks = {mark.code for case in cases_by_code()[code] for mark in (*case.expected, *case.todo)}
    assert marks - PAGES.keys() == set()


@PAGE
def test_a_summary_is_one_sentence(page: RulePage) -> None:
    assert page.summary.endswith(".")
    assert len(page.summary) <= 140


def test_reading_the_heads_imports_no_markdown_parser() -> None:
    script = (
        "import sys; from ackdoctor.rulebook import survey; survey(); sys.exit('markdown_it' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
