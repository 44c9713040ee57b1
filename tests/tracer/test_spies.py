"""Spies call the method that they replace: each call counts once, at the author's line."""

from typing import Any
from unittest import mock

import pytest
from pystorm import BatchingBolt, Bolt, Spout

from ackdoctor.model.trace import RELIABLE, EventKind
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.trace_reader import read
from tests.tracer.driven import build, drive, frame, summaries, tick, traced
from tests.tracer.styles import AckWithAuto, Auto, Forgets, Manual, tup

TWICE = ["completed twice: 7: received; acked at `self.ack(tup)`; acked at `self.ack(tup)`"]


class Emits(Bolt):
    auto_ack = False

    def process(self, tup):
        self.emit(["a"], anchors=[tup])
        self.ack(tup)


def wraps(bolt: Any, name: str) -> Any:
    return mock.patch.object(bolt, name, wraps=getattr(bolt, name))


def by_hand(bolt: Any, name: str) -> Any:
    """Build a spy that stores its arguments."""
    original, seen = getattr(bolt, name), []

    def through(*args, **kwargs):
        seen.append(args)
        return original(*args, **kwargs)

    return mock.patch.object(bolt, name, side_effect=through)


def of_the_class(bolt: Any, name: str) -> Any:
    """Build a spy as `pytest-mock` does."""
    cls = type(bolt)
    return mock.patch.object(cls, name, side_effect=getattr(cls, name), autospec=True)


spies = pytest.mark.parametrize("spy", [wraps, by_hand, of_the_class])


@spies
def test_a_spy_is_no_second_completion(spy):
    with traced() as run:
        bolt = build(Emits)
        with spy(bolt, "ack") as ack, spy(bolt, "emit") as emit:
            bolt.process(tup())
            bolt.process(tup("8"))
    assert (ack.call_count, emit.call_count) == (2, 2)
    assert run.settlement.violations == ()
    assert [(tally.emitted, tally.acked) for tally in run.settlement.tallies] == [(2, 2)]


@pytest.mark.parametrize("spy", [wraps, of_the_class])
def test_a_double_ack_through_a_spy_is_one_finding_with_both_lines(spy):
    with traced() as run:
        bolt = build(Manual)
        with spy(bolt, "ack"):
            bolt.process(tup("7", "twice"))
    assert summaries(run.settlement.violations) == TWICE
    assert [tally.acked for tally in run.settlement.tallies] == [2]


@spies
def test_a_spy_hides_no_missing_ack(spy):
    with traced() as run:
        bolt = build(Forgets)
        with spy(bolt, "ack"):
            bolt.process(tup())
    assert summaries(run.settlement.violations) == ["never completed: 7: received; end of the run"]


@spies
@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (Auto, []),
        (AckWithAuto, ["completed twice: 7: received; acked at `self.ack(tup)`; acked by Bolt._run"]),
    ],
)
def test_a_spied_handler_still_gets_the_acks_of_the_framework(spy, component, expected):
    with traced() as run:
        bolt = build(component)
        with spy(bolt, "process"):
            bolt.process(tup())
    assert summaries(run.settlement.violations) == expected


def test_a_spy_sees_the_batch_acks_of_the_framework():
    class Batches(BatchingBolt):
        def process_batch(self, key, tups):
            self.emit([len(tups)])

    spied = mock.patch.object(Batches, "ack", side_effect=Batches.ack, autospec=True)
    with traced() as run, spied as ack:
        drive(Batches, frame("1"), frame("2"), tick("3"), tick("4"))
    assert ack.call_count == 4
    assert run.settlement.violations == ()


def test_a_mocked_ack_after_that_of_the_framework_is_a_second_one():
    class Keeps(Bolt):
        def process(self, tup):
            self.kept = tup

    with traced() as run:
        bolt = build(Keeps)
        bolt.ack = mock.Mock()
        bolt.process(tup())
        bolt.ack(bolt.kept)
    assert summaries(run.settlement.violations) == ["completed twice: 7: received; acked by Bolt._run; acked"]


def test_a_mocked_emit_is_not_late_after_a_real_ack():
    with traced() as run, mock.patch.object(Emits, "emit"):
        bolt = build(Emits)
        bolt.process(tup())
        bolt.process(tup("8"))
    assert run.settlement.violations == ()
    assert [(tally.emitted, tally.acked) for tally in run.settlement.tallies] == [(2, 2)]


def test_a_mocked_emit_of_a_later_call_is_late():
    class Late(Bolt):
        auto_ack = False
        last: Any = None

        def process(self, tup):
            if self.last is not None:
                self.emit(["a"], anchors=[self.last])
            self.last = tup
            self.ack(tup)

    with traced() as run, mock.patch.object(Late, "emit"):
        bolt = build(Late)
        bolt.process(tup())
        bolt.process(tup("8"))
    assert summaries(run.settlement.violations) == [
        "anchored after completion: 7: received; acked at `self.ack(tup)`; anchored"
    ]


def test_the_trace_has_the_calls_of_mocks_and_the_messages_of_spies(tmp_path):
    class Counts(Spout):
        def next_tuple(self):
            self.emit(["a"], tup_id=3)

    class Fails(Bolt):
        auto_ack = False

        def process(self, tup):
            self.fail(tup)

    recorder = Recorder(tmp_path, run="mocks")
    ledger = Ledger(Level.TRACE)
    installation = install(ledger, recorder)
    bolts = [build(Emits), build(Emits), build(Fails), build(Counts)]
    bolts[0].emit, bolts[0].ack = mock.Mock(), mock.Mock()
    bolts[2].fail, bolts[3].emit = mock.Mock(), mock.Mock()
    with wraps(bolts[1], "ack"), wraps(bolts[1], "emit"):
        for bolt in bolts[:3]:
            bolt.process(tup())
    bolts[3].next_tuple()
    installation.undo()
    recorder.close()
    rows = [(row.kind, row.delivery, row.flags) for row in read([tmp_path]).events()]
    sent = [(EventKind.RECEIVED, "7", 0), (EventKind.EMITTED, "7", RELIABLE), (EventKind.ACKED, "7", 0)]
    assert [row for row in rows if row[0] is not EventKind.NAMED] == [
        *sent, *sent, (EventKind.RECEIVED, "7", 0), (EventKind.FAILED, "7", 0), (EventKind.EMITTED, "3", RELIABLE),
    ]  # fmt: skip
    assert ledger.settle().violations == ()
