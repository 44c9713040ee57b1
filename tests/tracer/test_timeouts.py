"""A trace with timed out roots is never OK: a slow bolt is named, any other cause is counted."""

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.replay import TraceReport, judge_trace
from tests.trace_rows import T, slow_trace


def held(events: list[Event], timeout_s: int | None = None) -> TraceReport:
    return judge_trace(
        lambda: iter(events), profile("storm-2.8.8"), message_timeout_s=timeout_s, patience_s=30
    )


def problems(found: TraceReport) -> list[Finding]:
    return [finding for finding in found.findings if finding.severity > Severity.INFO]


def test_a_batch_flushed_less_often_than_the_timeout_is_a_finding():
    found = held(slow_trace(flush_s=35), T)
    (slow,) = problems(found)
    ((cause, roots),) = found.expired
    assert (slow.code, slow.component, slow.seen, cause) == ("ACK504", "batch", roots, "completed too late")
    assert (slow.severity, slow.confidence) == (Severity.ERROR, Confidence.MUST)
    assert 0 < roots < found.roots
    assert slow.message.startswith("it holds tuples for up to 34.7 s (")
    assert "in bursts 35 s apart), longer than the message timeout of 10 s: " in slow.message


def test_without_the_timeout_the_rotations_of_the_trace_are_a_warning():
    (slow,) = problems(held(slow_trace(flush_s=35, ticks=True)))
    assert (slow.code, slow.component, slow.confidence) == ("ACK504", "batch", Confidence.MAY)


def test_a_batch_flushed_within_the_timeout_is_ok():
    found = held(slow_trace(flush_s=5, ticks=True), T)
    assert (found.findings, found.expired) == ((), ())


@pytest.mark.parametrize("removed", [(EventKind.LINKED,), (EventKind.RECEIVED, EventKind.ACKED)])
def test_the_cause_of_a_root_without_known_tuples_is_unknown(removed):
    rows = [row for row in slow_trace(flush_s=35, ticks=True) if row.kind not in removed]
    found = held(rows, T)
    ((cause, roots),) = found.expired
    assert (cause, problems(found)) == ("cause not known", [])
    assert found.notes[-1] == f"{roots} roots expired: cause not known"


def test_messages_of_a_spout_alone_are_counted():
    rows = [Event(EventKind.TIMED_OUT, n, seq=n, component="events", delivery=f"{n}") for n in (1, 2)]
    assert held(rows).expired == (("cause not known", 2),)
