"""Lint reports each breach that a run of a rule page's case proves.

Only frameworks whose loop runs in the caller's thread: pystorm, streamparse, heronpy.
"""

import gc
from collections.abc import Iterator

import pytest

from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger
from tests.agreement.page_cases import BREACHES, run_case
from tests.frameworks import framework
from tests.rule_cases import cases_by_code, findings_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the cases: threads that raise, deprecated names

DIALECTS = ("heronpy", "pystorm", "streamparse")
MANY = 40  # cases of a rule that are too many for every run
NOT_RUN = {
    "ACK206": "its cases write to standard output in many ways",
    "ACK305": "its cases do not end",
}
ENDLESS = "python-endless"  # the page of ACK101 with handlers that do not end
CASES = {
    code: [
        case
        for case in cases
        if case.language == "python" and case.dialect in DIALECTS and case.page.stem != ENDLESS
    ]
    for code, cases in cases_by_code().items()
    if code not in NOT_RUN
}
ZIPPED = "lint assumes that `zip(tups, answers)` covers the whole batch; here there are fewer answers"
FIRST = (
    "lint reports the tuples that stay open; it does not follow repeated calls on the first one of the batch"
)
NOT_REPORTED = {
    "ACK101/the-same-index-in-every-iteration-and-a-range-that-is-one-short-streamparse FirstOnly: ACK104": FIRST,
    "ACK101/the-same-index-in-every-iteration-and-a-range-that-is-one-short-streamparse FirstOnly: ACK202": FIRST,
    "ACK101/tasks-and-callbacks-that-complete-the-tuple-streamparse PoolBolt: ACK101": "in the pool's thread the "
    "stand-in raises an error that the case does not expect",
    "ACK101/a-thread-that-moves-each-tuple-to-another-queue-or-puts-it-back-streamparse Uploader: ACK101": "in its "
    "thread the stand-in raises an error that the case does not expect",
    "ACK101/auto-ack-is-switched-off-in-other-words-pystorm Trim: ACK105": "its `main` switches it off, and the test does not call `main`",
    "ACK101/every-tuple-of-the-batch-is-completed-streamparse RowLoader: ACK101": ZIPPED,
    "ACK105/the-value-of-auto-ack-is-known-only-at-run-time-streamparse Asked: ACK106": "as the case says",
    "ACK106/failed-one-by-one-or-acked-streamparse RowLoader: ACK101": ZIPPED,
    "ACK402/the-handle-of-new-work-is-the-key-streamparse Resolve: ACK101": "the stand-in gives all work one handle",
    "ACK109/a-batching-bolt-takes-over-the-framework-s-methods-streamparse OrderTotals: ACK101": "lint names the cause: "
    "it replaces the framework's `process`, so that tuples are neither batched nor acked",
}
SKIPPED = {
    "ACK101/a-mapped-ack-that-runs-streamparse SyntaxError": "Python 2",
    "ACK104/a-flag-ends-the-loop-pystorm NO: it does not end": "it tries again until the answer is yes",
}


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Files and event loops that a case leaves open are collected here, where their warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    for module in ("streamparse", "heronpy.api.spout.spout", "heronpy.api.bolt.window_bolt"):
        framework(module)
    ledger = Ledger()
    installation = install(ledger)
    yield ledger
    installation.undo()


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=pytest.mark.minutes if len(cases) > MANY else ())
        for code, cases in CASES.items()
        if cases
    ],
)
def test_lint_reports_each_breach_that_a_run_shows(code, ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    not_reported, skipped = [], []
    seen = False
    for case in CASES[code]:
        breaches, reasons = run_case(case, tmp_path / case.name, ledger)
        skipped += [f"{code}/{case.name} {reason}" for reason in reasons]
        reported = {(finding.code, finding.component) for finding in findings_of(case)}
        reported |= {(mark.code, breach.component) for mark in case.todo for breach in breaches}
        for breach in sorted(breaches):
            seen = seen or breach.code == code
            if not any((name, breach.component) in reported for name in BREACHES[breach.code]):
                not_reported.append(f"{code}/{case.name} {breach.component}: {breach.code}")
    assert sorted(not_reported) == sorted(line for line in NOT_REPORTED if line.startswith(code))
    assert sorted(skipped) == sorted(line for line in SKIPPED if line.startswith(code))
    assert seen or code not in BREACHES  # otherwise the runs prove nothing
