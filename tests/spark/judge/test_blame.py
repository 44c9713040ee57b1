"""Who is charged with what is left, where a log names neither delivery nor line."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.verdict import Culprit, PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.model.violation import TracedComponent
from ackdoctor.spark.judge.blame import traced
from ackdoctor.tracer.judge.findings import findings
from ackdoctor.tracer.judge.playback import Playback
from ackdoctor.tracer.trace.components import STORM, described

NOTE = described(TracedComponent(name="", dialect="storm", role=STORM.name, path="", line=0))


def left_by(component: str, acks: int) -> TupleTree:
    culprit = Culprit(delivery="", component=component, task=4, value=9, acks=acks, sites=())
    return TupleTree(
        root=77,
        verdict=Verdict.COMPLETE,
        entry=PendingEntry(root=77, value=9, task=None, failed=False, age_ms=0),
        residue=Residue.EVEN,
        culprits=(culprit,),
        ambiguous=False,
    )


def test_a_double_ack_in_a_log_and_the_entry_that_it_leaves_are_one_finding():
    playback = Playback()
    kinds = (EventKind.NAMED, EventKind.RECEIVED, EventKind.ACKED, EventKind.ACKED)
    for seq, kind in enumerate(kinds):
        delivery = "" if kind is EventKind.NAMED else "5=6"
        note = NOTE if kind is EventKind.NAMED else ""
        playback.feed(Event(kind, seq, seq=seq, component="sql", task=4, delivery=delivery, note=note))
    violations = playback.settle().violations
    codes = [
        [found.code for found in findings(violations, traced([left_by(component, acks)], violations))]
        for component, acks in (("sql", 2), ("other", 2))
    ]
    assert codes[0] == ["ACK103"]
    assert sorted(codes[1]) == ["ACK103", "ACK601"]
