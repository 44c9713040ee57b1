"""Runs the cases of all rules: lint must report each breach that a run proves.

Frameworks whose loop runs in the caller's thread only: pystorm, streamparse, heronpy.
"""

from collections.abc import Iterator

import pytest

from ackdoctor.tracer.instrument.install import install
from ackdoctor.tracer.ledger.ledger import Ledger
from tests.agreement.page_cases import BREACHES, played
from tests.frameworks import framework
from tests.rule_cases import cases_by_code, findings_of

pytestmark = pytest.mark.filterwarnings("ignore")  # threads that raise, old names: they belong to the cases

DIALECTS = ("heronpy", "pystorm", "streamparse")
NOT_RUN = {
    "ACK206": "its cases write to standard output in many ways",
    "ACK305": "its cases do not end",
}
CASES = {
    code: [case for case in cases if case.language == "python" and case.dialect in DIALECTS]
    for code, cases in cases_by_code().items()
    if code not in NOT_RUN
}
ZIPPED = "lint assumes that `zip(tups, answers)` covers the whole batch; here there are fewer answers"
FIRST = (
    "lint reports the tuples that stay open; it does not follow repeated calls on the first one of the batch"
)
UNFORETOLD = {
    "ACK101/the-same-index-in-every-iteration-and-a-range-that-is-one-short-streamparse FirstOnly: ACK104": FIRST,
    "ACK101/the-same-index-in-every-iteration-and-a-range-that-is-one-short-streamparse FirstOnly: ACK202": FIRST,
    "ACK101/auto-ack-is-switched-off-in-other-words-pystorm Trim: ACK105": "its `main` switches it off, and the test does not call `main`",
    "ACK101/every-tuple-of-the-batch-is-completed-streamparse RowLoader: ACK101": ZIPPED,
    "ACK105/the-value-of-auto-ack-is-known-only-at-run-time-streamparse Asked: ACK106": "as the case says",
    "ACK106/failed-one-by-one-or-acked-streamparse RowLoader: ACK101": ZIPPED,
    "ACK109/a-batching-bolt-takes-over-the-framework-s-methods-streamparse OrderTotals: ACK101": "lint names the cause: "
    "it replaces the framework's `process`, so that tuples are neither batched nor acked",
}
LEFT_OUT = {
    "ACK101/a-mapped-ack-that-runs-streamparse SyntaxError": "Python 2",
    "ACK104/a-flag-ends-the-loop-pystorm NO: it does not end": "it tries again until the answer is yes",
}


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    for module in ("streamparse", "heronpy.api.spout.spout", "heronpy.api.bolt.window_bolt"):
        framework(module)
    ledger = Ledger()
    installation = install(ledger)
    yield ledger
    installation.undo()


@pytest.mark.parametrize("code", [code for code, cases in CASES.items() if cases])
def test_a_breach_that_a_run_shows_was_foretold(code, ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unforetold, left_out = [], []
    seen = False
    for case in CASES[code]:
        shown, reasons = played(case, tmp_path / case.name, ledger)
        left_out += [f"{code}/{case.name} {reason}" for reason in reasons]
        told = {(finding.code, finding.component) for finding in findings_of(case)}
        told |= {(mark.code, breach.component) for mark in case.todo for breach in shown}
        for breach in sorted(shown):
            seen = seen or breach.code == code
            if not any((name, breach.component) in told for name in BREACHES[breach.code]):
                unforetold.append(f"{code}/{case.name} {breach.component}: {breach.code}")
    assert sorted(unforetold) == sorted(line for line in UNFORETOLD if line.startswith(code))
    assert sorted(left_out) == sorted(line for line in LEFT_OUT if line.startswith(code))
    assert seen or code not in BREACHES  # else these runs show nothing at all
