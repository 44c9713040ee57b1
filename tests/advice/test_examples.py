"""The correct cases of all rules, run with good and bad records: each names its price.

A page marks a case with `# price: an exception ends the worker`, or another of `Cost`'s words (tests/rules/README.md).
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from ackdoctor.rulebook.cases import Case
from tests.advice.play import Cost, Played, play
from tests.rule_cases import all_cases

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # threads that raise, old names: they belong to the examples

CASES = [case for case in all_cases() if case.language == "python" and not case.expected and not case.todo]
CODES = sorted({case.code for case in CASES})
QUICK = ("ACK105",)
_GONE = "ImportError: cannot import name 'BasicBolt' from 'streamparse.bolt'"  # of versions before 2
NOT_RUN = {
    "ACK101/the-framework-acks-streamparse_legacy": _GONE,
    "ACK201/basicbolt-anchors-by-itself-streamparse_legacy": _GONE,
    "ACK101/a-mapped-ack-that-runs-streamparse": "SyntaxError",
    "ACK205/in-python-2-a-byte-string-is-a-string-petrel": "SyntaxError",
    "ACK206/a-file-without-a-component-streamparse": "ValueError: A Topology requires at least one Spout",
    "ACK206/python-2-pystorm-redirects-pystorm": "SyntaxError",
    "ACK301/a-spout-written-in-java-streamparse": "no component",
}
LATE = {
    "ACK104/a-flag-ends-the-loop-pystorm",  # it tries again until the answer is yes
    "ACK305/one-record-per-call-or-all-available-records-streamparse",  # the source is never empty
}
PRICE = re.compile(r"^# price: (.+)$", re.MULTILINE)


def _id(case: Case) -> str:
    return f"{case.code}/{case.name}"


def _marked(case: Case) -> set[str]:
    return {price for file in case.files for found in PRICE.findall(file.text) for price in found.split("; ")}


@pytest.mark.parametrize(
    "code", [pytest.param(code, marks=() if code in QUICK else pytest.mark.minutes) for code in CODES]
)
def test_an_example_costs_what_it_says(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [case for case in CASES if case.code == code]
    played = {
        _id(case): play(case.dialect, {f.name: f.text for f in case.files}, tmp_path / case.name)
        for case in cases
    }
    assert {name: run.reason for name, run in played.items() if run.reason} == _of(code, NOT_RUN)
    assert {name for name, run in played.items() if run.late} == set(_of(code, dict.fromkeys(LATE, "")))
    assert {_id(case): _marked(case) for case in cases} == {
        _id(case): _shown(case, played[_id(case)]) for case in cases
    }, "\n".join(_costs(played))


def _shown(case: Case, run: Played) -> set[str]:
    """The prices that a run showed; a rule's page leaves out that an exception ends the worker."""
    unsaid = {Cost.EXITS.value} if case.section == "How to fix" else set()
    return {cost.value for cost in run.costs} - unsaid


def _of(code: str, table: dict[str, str]) -> dict[str, str]:
    return {name: reason for name, reason in table.items() if name.startswith(code)}


def _costs(played: dict[str, Played]) -> Iterable[str]:
    for name, run in played.items():
        for cost, how in run.costs.items():
            yield f"{name}: {cost.value}: {how}"


def test_most_examples_are_run_and_few_cost_anything_but_the_worker():
    marks = [_marked(case) for case in CASES]
    assert len(CASES) - len(NOT_RUN) >= 338
    assert sum(not mark for mark in marks) >= 150
    assert sum(bool(mark - {Cost.EXITS.value}) for mark in marks) <= 15
    assert all(mark <= {cost.value for cost in Cost} for mark in marks)


def test_the_readme_explains_the_prices():
    readme = (Path(__file__).parents[1] / "rules" / "README.md").read_text(encoding="utf-8")
    assert [cost.value for cost in Cost if f"`{cost.value}`" not in readme] == []
