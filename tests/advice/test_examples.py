"""The correct cases of all rules, run with good and bad records: each marks its costs.

A page marks a case with `# price: an exception ends the worker`, or another of `Cost`'s words (tests/rules/README.md).
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.advice.component_runs import Cost, Result, run_components
from tests.rule_cases import all_cases
from tests.rule_pages import Case
from tests.sampled import sampled

pytestmark = pytest.mark.filterwarnings("ignore")  # of the examples: threads that raise, deprecated names

CASES = [case for case in all_cases() if case.language == "python" and not case.expected and not case.todo]
CODES = sorted({case.code for case in CASES})
QUICK = ("ACK105",)
_GONE = "ImportError: cannot import name 'BasicBolt' from 'streamparse.bolt'"  # streamparse 1
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
    "ACK104/a-flag-ends-the-loop-pystorm",  # it retries until the answer is yes
    "ACK305/one-record-per-call-or-all-available-records-streamparse",  # its source is never empty
}
PRICE = re.compile(r"^# price: (.+)$", re.MULTILINE)


def _id(case: Case) -> str:
    return f"{case.code}/{case.name}"


def _marked_costs(case: Case) -> set[str]:
    return {price for file in case.files for found in PRICE.findall(file.text) for price in found.split("; ")}


@pytest.mark.parametrize("code", sampled(CODES, QUICK))
def test_an_example_has_exactly_its_marked_costs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [case for case in CASES if case.code == code]
    results = {
        _id(case): run_components(case.dialect, {f.name: f.text for f in case.files}, tmp_path / case.name)
        for case in cases
    }
    assert {name: run.reason for name, run in results.items() if run.reason} == _with_code(code, NOT_RUN)
    assert {name for name, run in results.items() if run.late} == set(
        _with_code(code, dict.fromkeys(LATE, ""))
    )
    assert {_id(case): _marked_costs(case) for case in cases} == {
        _id(case): _costs_of_run(case, results[_id(case)]) for case in cases
    }, "\n".join(_descriptions(results))


def _costs_of_run(case: Case, run: Result) -> set[str]:
    """Return the costs of a run; a fix on a rule's page does not mark that an exception ends the worker."""
    unmarked = {Cost.EXITS.value} if case.section == "How to fix" else set()
    return {cost.value for cost in run.costs} - unmarked


def _with_code(code: str, table: dict[str, str]) -> dict[str, str]:
    return {name: reason for name, reason in table.items() if name.startswith(code)}


def _descriptions(results: dict[str, Result]) -> Iterable[str]:
    for name, run in results.items():
        for cost, setting in run.costs.items():
            yield f"{name}: {cost.value}: {setting}"


def test_most_examples_run_and_few_have_costs_besides_the_worker():
    marks = [_marked_costs(case) for case in CASES]
    assert len(CASES) - len(NOT_RUN) >= 338
    assert sum(not mark for mark in marks) >= 150
    assert sum(bool(mark - {Cost.EXITS.value}) for mark in marks) <= len(CASES) / 20
    assert all(mark <= {cost.value for cost in Cost} for mark in marks)


def test_the_readme_explains_the_prices():
    readme = (Path(__file__).parents[1] / "rules" / "README.md").read_text(encoding="utf-8")
    assert [cost.value for cost in Cost if f"`{cost.value}`" not in readme] == []
