"""The oracle for buffers: generated bolts keep tuples in a field, and the analysis must agree with their runs.

A finding that is certain must appear in a run (soundness).  A run that completes a tuple twice or loses one should have
a finding (recall); most misses are states that the analysis leaves unknown on purpose:

- a path that returns or raises between the acks and the statement that empties the field, or puts acked tuples back;
- a tuple that only some paths ack on arrival, or that a handler acks with the whole field before it raises;
- an `except` after a loop that pops: it has lost the tuple that raised;
- a loop that completes only some of the tuples of a field which is emptied afterwards.

To search for more: `ACKDOCTOR_SEARCH=200 pytest tests/properties/test_buffer_oracle.py` runs 200 batches of 100 bolts.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random
from types import CodeType

import pytest

from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Breach, Op
from tests.properties.buffer_generator import write_buffers
from tests.properties.buffer_runs import run_buffers
from tests.properties.comparison import findings_about
from tests.properties.concrete_runs import Event, Run
from tests.properties.examples import seeds
from tests.sampled import sampled

PER_BATCH = 100
BATCHES = 200
QUICK = 1
RUNS, MORE_RUNS = 40, 1000
MIN_RECALL = 0.5  # of each batch; 0.7 of all
TWICE = {"ACK103", "ACK104", "ACK106", "ACK107"}
FINDINGS = {
    Breach.MISSING_ACK: {"ACK101", "ACK102", "ACK401", "ACK402", "ACK403"},
    Breach.DOUBLE_ACK: TWICE,
    Breach.DOUBLE_FAIL: TWICE,
    Breach.ACK_AFTER_FAIL: TWICE,
    Breach.FAIL_AFTER_ACK: TWICE,
    Breach.EMIT_AFTER_ACK: {"ACK202"},
    Breach.EMIT_AFTER_FAIL: {"ACK202"},
}


def _source(seed: int) -> str:
    return write_buffers(Random(seed).choice)


def _runs(code: CodeType, numbers: range, *, filled: bool = False) -> list[Run]:
    return [run for number in numbers for run in run_buffers(code, Random(number), filled=filled)]


def _shows(event: Event, code: str) -> bool:
    if event.op is Op.AUTO_FAIL and code in ("ACK103", "ACK104"):
        return False
    return event.breach is not None and code in FINDINGS[event.breach]


def _unshown(findings: list[Finding], runs: list[Run]) -> Iterator[str]:
    """Certain findings that no run shows."""
    for finding in findings:
        if finding.code not in {"ACK101", "ACK202", *TWICE} or finding.confidence is not Confidence.MUST:
            continue
        line = finding.site.span.line
        if not any(
            _shows(event, finding.code) and line in event.lines for run in runs for event in run.breaches
        ):
            yield f"{finding.code} at {line}: {finding.message}"


def _unsound(source: str, code: CodeType, findings: list[Finding], runs: list[Run]) -> list[str]:
    if not list(_unshown(findings, runs)):
        return []
    return list(_unshown(findings, [*runs, *_runs(code, range(RUNS, MORE_RUNS), filled=True)]))


def _missed(findings: list[Finding], runs: list[Run]) -> Iterator[str]:
    """The kinds of breaches of the runs that have no finding."""
    codes = {finding.code for finding in findings}
    seen = {(event.breach, event.op) for run in runs for event in run.breaches}
    for breach, op in seen:
        if breach is not None and not codes & FINDINGS[breach]:
            yield f"{breach.value} by {op.value}"


@pytest.mark.parametrize(
    "batch",
    sampled(seeds(BATCHES), range(QUICK)),
)
def test_the_analysis_agrees_with_runs_of_buffers(batch: int) -> None:
    wrong, found = 0, 0
    missed: Counter[str] = Counter()
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        source = _source(seed)
        code = compile(source, "bolt.py", "exec")
        findings = findings_about(source)
        runs = _runs(code, range(RUNS))

        assert _unsound(source, code, findings, runs) == [], f"seed {seed}\n{source}"

        if any(run.breaches for run in runs):
            kinds = set(_missed(findings, runs))
            wrong, found = wrong + 1, found + (not kinds)
            missed.update(kinds)

    print(f"{found} of {wrong} wrong bolts have a finding for each breach; misses: {dict(missed)}")  # noqa: T201  # the figure
    assert wrong > PER_BATCH / 2
    assert found / wrong >= MIN_RECALL
