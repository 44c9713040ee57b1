"""Each misuse in the tracer, on pystorm components."""

import sys
import threading
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from pystorm import BatchingBolt, Bolt, ReliableSpout, Spout, TicklessBatchingBolt

from ackdoctor.tracer.ledger import Level
from tests.tracer.driven import build, drive, frame, summaries, tick, traced


class Manual(Bolt):
    auto_ack = False


class Clean(Manual):
    def process(self, tup):
        self.emit([1])
        self.ack(tup)


class AckTwice(Manual):
    def process(self, tup):
        self.ack(tup)
        self.ack(tup)


class PerSql(Manual):
    def process(self, tup):
        for statement in tup.values:
            self.emit([statement])
            self.ack(tup)


class AckWithAuto(Bolt):
    def process(self, tup):
        self.ack(tup)


class FailAndAuto(Bolt):
    def process(self, tup):
        self.fail(tup)


class Forgets(Manual):
    def process(self, tup):
        if tup.values[0] == "keep":
            self.ack(tup)


class Keeps(Manual):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.waiting: dict[str, list[Any]] = {}

    def process(self, tup):
        self.waiting.setdefault(tup.values[0], []).append(tup)


class Unanchored(Manual):
    auto_anchor = False

    def process(self, tup):
        self.emit(["a"])
        self.emit(["b"], anchors=[])
        self.emit(["c"], "default", [tup])
        self.ack(tup)


class AnchorsId(Manual):
    def process(self, tup):
        self.emit(["a"], anchors=tup.id)
        self.ack(tup)


class AnchorsTuple(Manual):
    def process(self, tup):
        self.emit(["a"], anchors=tup)
        self.ack(tup)


class Opaque(Bolt):
    def process(self, tup):
        self.emit([object()])


class NeverRuns(Bolt):
    def process(self, tup):
        yield tup


class TickByHand(Bolt):
    def process(self, tup):
        pass

    def process_tick(self, tup):
        self.ack(tup)


class TicksForgotten(Manual):
    def process(self, tup):
        self.ack(tup)


class Bad(Manual):
    def process(self, tup):
        try:
            int("no number")
        except ValueError:
            self.ack(tup)
        self.ack(tup)


def violations(component, *frames, level=Level.SITES):
    with traced(level) as run:
        drive(component, *frames)
    assert run.settlement.notes == ()
    return run.settlement.violations


@pytest.mark.parametrize("level", [Level.SITES, Level.TRACE])
def test_a_clean_bolt_is_silent(level):
    assert violations(Clean, frame("1", "a"), frame("2", "b"), tick("3"), level=level)[1:] == ()


def test_a_double_ack_names_both_lines():
    assert summaries(violations(AckTwice, frame("17"))) == [
        "completed twice: 17: received; acked at `self.ack(tup)`; acked at `self.ack(tup)`"
    ]
    (twice,) = violations(AckTwice, frame("17"))
    assert [touch.site.line for touch in twice.history[1:]] == [28, 29]
    assert (twice.handler, twice.traced.name, twice.traced.dialect, twice.traced.line) == (
        "process", "AckTwice", "pystorm", 26,
    )  # fmt: skip


def test_an_ack_per_statement_also_anchors_too_late():
    assert summaries(violations(PerSql, frame("5", "a", "b"), frame("6", "a", "b"))) == [
        "anchored after completion x2: 5: received; acked at `self.ack(tup)`; anchored at `self.emit([statement])`",
        "completed twice x2: 5: received; acked at `self.ack(tup)`; acked at `self.ack(tup)`",
    ]


def test_an_ack_of_the_framework_names_the_framework():
    assert summaries(violations(AckWithAuto, frame("1"))) == [
        "completed twice: 1: received; acked at `self.ack(tup)`; acked by Bolt._run"
    ]
    assert summaries(violations(FailAndAuto, frame("1"))) == [
        "acked and failed: 1: received; failed at `self.fail(tup)`; acked by Bolt._run"
    ]


def test_a_forgotten_tuple_is_never_completed():
    assert summaries(violations(Forgets, frame("1", "lose"), frame("2", "keep"), frame("3", "lose"))) == [
        "never completed x2: 1: received; end of the run"
    ]


def test_a_stored_tuple_is_found_in_its_field():
    assert summaries(violations(Keeps, frame("1", "a"))) == [
        "never completed: 1 in self.waiting: received; end of the run"
    ]


def test_only_an_emit_without_an_anchors_argument_is_unanchored():
    assert summaries(violations(Unanchored, frame("1"))) == [
        'emitted unanchored: 1: received; emitted at `self.emit(["a"])`'
    ]


def test_anchors_may_be_an_id_or_a_tuple():
    assert summaries(violations(AnchorsId, frame("10"))) == [
        'anchors is an id: 10: received; emitted at `self.emit(["a"], anchors=tup.id)`'
    ]
    assert summaries(violations(AnchorsTuple, frame("10", [1, 2]))) == [
        'anchors is not a list of tuples: 10: received; emitted at `self.emit(["a"], anchors=tup)`'
    ]


def test_a_payload_that_the_serializer_drops_is_reported():
    assert summaries(violations(Opaque, frame("1"))) == [
        "payload cannot be serialised: 1: received; emitted at `self.emit([object()])`"
    ]


def test_a_handler_that_never_runs_is_reported():
    assert summaries(violations(NeverRuns, frame("1"))) == [
        "the handler's body never runs: 1: received; handler returned at `def process(self, tup):`"
    ]


def test_ticks_are_due_as_the_role_says():
    assert violations(Clean, frame("1"))[:] == ()
    assert summaries(violations(TickByHand, tick("9"))) == [
        "tick completed twice: 9: received; acked at `self.ack(tup)`; acked by Bolt._run"
    ]
    (forgotten,) = violations(TicksForgotten, tick("9"))
    assert summaries([forgotten]) == ["tick never completed: 9: received; end of the run"]
    assert forgotten.handler == "process_tick"


def test_a_changed_file_that_does_not_parse_is_named(tmp_path):
    file = tmp_path / "forgets.py"
    file.write_text("\n\nclass Forgets(Manual):\n    def process(self, tup):\n        pass\n")
    names: dict[str, Any] = {"Manual": Manual, "__name__": "forgets"}
    exec(compile(file.read_text(), file, "exec"), names)
    file.write_text("\n\nclass Forgets(Manual):\n    def process(self, tup):\n        if\n")
    module = ModuleType("forgets")
    module.__file__ = str(file)
    with mock.patch.dict(sys.modules, forgets=module):
        (never,) = violations(names["Forgets"], frame("1"))
    assert (never.traced.path, never.traced.line) == (str(file), 3)


def test_an_ack_in_an_except_block_is_marked():
    (twice,) = violations(Bad, frame("1"))
    assert [touch.in_except for touch in twice.history] == [False, True, False]


def test_an_exception_that_escapes_is_no_forgotten_tuple():
    class Raises(Manual):
        def process(self, tup):
            raise ValueError(tup.id)

    with traced() as run, pytest.raises(ValueError, match="1"):
        drive(Raises, frame("1"))
    assert run.settlement.violations == ()
    assert [tally.pending for tally in run.settlement.tallies] == [0]


# ---- batches ----


class Sums(BatchingBolt):
    def process_batch(self, key, tups):
        self.emit([sum(tup.values[0] for tup in tups)])


class SumsAndAcks(Sums):
    def process_batch(self, key, tups):
        for tup in tups:
            self.ack(tup)


def test_a_batch_is_completed_by_the_framework():
    assert violations(Sums, frame("1", 1), frame("2", 2), tick("3"), tick("4")) == ()


def test_a_waiting_batch_belongs_to_the_framework():
    assert violations(Sums, frame("1", 1)) == ()


def test_a_batch_acked_by_hand_is_acked_twice():
    found = violations(SumsAndAcks, frame("1", 1), frame("2", 2), tick("3"), tick("4"))
    assert summaries(found) == [
        "completed twice x2: 1: received; acked at `self.ack(tup)`; acked by BatchingBolt.process_batches"
    ]
    assert [(one.batch, one.handler) for one in found] == [(True, "process_batch")]


# ---- threads ----


class InThread(Manual):
    auto_anchor = True

    def process(self, tup):
        worker = threading.Thread(target=self.work, args=(tup,), name="worker")
        worker.start()
        worker.join()

    def work(self, tup):
        self.emit(["guessed"])
        self.emit(["named"], anchors=[tup])
        self.ack(tup)


def test_a_thread_may_ack_but_must_pass_anchors_to_pystorm():
    assert summaries(violations(InThread, frame("1"))) == [
        'completed from another thread: 1: received; emitted at `self.emit(["guessed"])` on worker'
    ]


def test_the_batch_thread_of_the_framework_is_no_other_thread():
    class Quick(TicklessBatchingBolt):
        secs_between_batches = 0.01

        def _batch_entry(self):
            pass

        def process_batch(self, key, tups):
            self.emit([len(tups)])

    with traced() as run:
        bolt = drive(Quick, frame("1"), frame("2"))
        batcher = threading.Thread(target=bolt._batch_entry_run, name="batcher")
        batcher.start()
        batcher.join()
    assert run.settlement.violations == ()
    assert [(tally.acked, tally.pending) for tally in run.settlement.tallies] == [(2, 0)]


# ---- spouts ----


class NoIds(Spout):
    def next_tuple(self):
        self.emit(["a"])

    def fail(self, tup_id):
        self.emit([tup_id], tup_id=tup_id)


class Completes(ReliableSpout):
    def next_tuple(self):
        self.emit(["a"], tup_id="1")
        self.send_message({"command": "ack", "id": "1"})


def test_a_spout_that_waits_for_fails_and_sends_no_ids():
    assert summaries(violations(NoIds, {"command": "next"}, {"command": "next"})) == [
        'emitted without a message id x2: : emitted at `self.emit(["a"])`'
    ]


def test_a_spout_completes_nothing():
    assert summaries(violations(Completes, {"command": "next"})) == [
        'completed by a spout: 1: acked at `self.send_message({"command": "ack", "id": "1"})`'
    ]


# ---- capacity ----


def test_dropped_rows_are_counted():
    with traced(cap=3) as run:
        drive(Keeps, *(frame(str(number), "a") for number in range(5)))
    assert run.settlement.dropped == 2
    assert summaries(run.settlement.violations) == [
        "never completed x3: 2 in self.waiting: received; end of the run"
    ]


def test_a_component_is_counted():
    with traced() as run:
        drive(Clean, frame("1"), frame("2"), tick("3"))
    (tally,) = run.settlement.tallies
    assert (tally.component, tally.delivered, tally.emitted, tally.acked, tally.ticks, tally.high_water) == (
        "Clean", 2, 2, 2, 1, 1,
    )  # fmt: skip


def test_two_ledgers_of_one_class_are_one_row():
    with traced() as run:
        first, second = build(Clean, [frame("1")]), build(Clean, [frame("1")])
        first._run()
        second._run()
    assert [(tally.delivered, tally.acked, tally.pending) for tally in run.settlement.tallies] == [(2, 2, 0)]
