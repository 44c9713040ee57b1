"""The four styles of bolt tests, and the behaviour that tracing must not change."""

import sys
from functools import partial, partialmethod
from typing import Any

import pytest
from pystorm import BatchingBolt, Bolt
from pystorm.component import Component

from ackdoctor.acker.versions import profile
from ackdoctor.model.trace import AUTO, BARE, EventKind
from ackdoctor.tracer.install import install, installed_alone
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.trace_reader import read
from tests.tracer.driven import build, drive, frame, summaries, traced
from tests.tracer.styles import AckWithAuto, Auto, Forgets, Manual, Polite, tup

# ---- handlers called directly ----


def test_a_tuple_passed_to_process_is_received_and_auto_acked():
    with traced() as run:
        build(Auto).process(tup())
    (tally,) = run.settlement.tallies
    assert (tally.delivered, tally.emitted, tally.acked, tally.pending) == (1, 1, 1, 0)
    assert run.settlement.violations == ()


def test_auto_ack_after_a_direct_call_belongs_to_the_framework():
    with traced() as run:
        build(AckWithAuto).process(tup())
    assert summaries(run.settlement.violations) == [
        "completed twice: 7: received; acked at `self.ack(tup)`; acked by Bolt._run"
    ]


def test_the_trace_has_what_the_framework_would_have_done(tmp_path):
    recorder = Recorder(tmp_path, run="styles")
    installation = install(Ledger(Level.TRACE), recorder)
    build(Auto).process(tup())
    installation.undo()
    recorder.close()
    assert [(row.kind, row.delivery, row.flags) for row in read([tmp_path]).events()] == [
        (EventKind.NAMED, "", 0), (EventKind.RECEIVED, "7", 0), (EventKind.EMITTED, "", BARE), (EventKind.ACKED, "7", AUTO),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "call", [lambda bolt: bolt.process(tup()), lambda bolt: bolt._run()], ids=["direct", "run"]
)
@pytest.mark.parametrize(("error", "auto_fail"), [(ValueError, False), (SystemExit, True)])
def test_the_trace_has_the_tuple_in_hand_when_a_handler_raised(error, auto_fail, call, tmp_path):
    class Breaks(Bolt):
        auto_ack = False

        def process(self, tup):
            raise error

    Breaks.auto_fail = auto_fail
    recorder = Recorder(tmp_path, run="styles")
    ledger = Ledger(Level.TRACE)
    installation = install(ledger, recorder)
    try:
        with pytest.raises(error):
            call(build(Breaks, [frame("7")]))
    finally:
        installation.undo()
        recorder.close()
    again = judge_trace(read([tmp_path]).events, profile("storm-2.8.8"))
    assert (ledger.settle().violations, again.findings) == ((), ())
    ended = f".Breaks[0] ended: exception: {error.__name__}, tuples under way: 1"
    (note,) = again.notes
    assert note.endswith(ended)


def test_a_tuple_passed_by_keyword_is_received():
    with traced() as run:
        build(AckWithAuto).process(tup=tup())
    assert [violation.misuse.value for violation in run.settlement.violations] == ["completed twice"]


def test_the_parameter_of_a_handler_may_have_any_name():
    class Named(Bolt):
        auto_ack = False

        def process(self, record):
            self.ack(record)

    with traced() as run:
        bolt = drive(Named, *(frame(str(number)) for number in range(100)))
        bolt.process(record=tup("hot"))
        bolt.process(tup("hotter"))
    assert run.settlement.violations == ()
    assert [(row.delivered, row.acked) for row in run.settlement.tallies] == [(102, 102)]


def test_a_direct_call_that_raises_is_failed_by_the_framework():
    class Raises(Bolt):
        def process(self, tup):
            self.ack(tup)
            raise ValueError(tup.id)

    with traced() as run, pytest.raises(ValueError, match="7"):
        build(Raises).process(tup())
    assert summaries(run.settlement.violations) == [
        "acked and failed: 7: received; acked at `self.ack(tup)`; failed by Bolt._handle_run_exception"
    ]


def test_a_batch_passed_to_process_batch_is_received():
    class Batches(BatchingBolt):
        def process_batch(self, key, tups):
            self.ack(tups[0])

    with traced() as run:
        build(Batches).process_batch(None, [tup("1"), tup("2")])
    assert summaries(run.settlement.violations) == [
        "completed twice: 1: received; acked at `self.ack(tups[0])`; acked by BatchingBolt.process_batches"
    ]


def test_a_tuple_that_a_batch_forgets_is_a_missing_ack():
    class Forgetful(BatchingBolt):
        auto_ack = False

        def process_batch(self, key, tups):
            self.ack(tups[0])

    with traced() as run:
        bolt = build(Forgetful)
        for number in range(2):
            bolt.process(tup(str(number)))
        bolt.process_batches()
    assert summaries(run.settlement.violations) == ["never completed: 1: received; end of the run"]


def test_overrides_that_call_super_are_recorded_once():
    with traced() as run:
        drive(Polite, frame("1"), frame("2"))
        build(Polite).process(tup("3"))
    (tally,) = run.settlement.tallies
    assert (tally.delivered, tally.acked) == (3, 3)
    assert run.settlement.violations == ()


def test_an_iterator_as_batch_is_left_to_the_handler():
    class Batches(BatchingBolt):
        def process_batch(self, key, tups):
            self.sum = len(list(tups))

    with traced() as run:
        bolt = build(Batches)
        bolt.process_batch(None, (tup(str(number)) for number in range(3)))
    assert bolt.sum == 3
    assert (run.settlement.violations, run.settlement.notes) == ((), ())


# ---- handlers that no heir of the framework's writes as a function ----


class Decorated:
    """A decorator object, as in `wrapt`."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, owner: object, cls: type | None = None) -> Any:
        return self if owner is None else partial(self.function, owner)


class Works:
    """A mixin without a framework."""

    ack: Any

    def process(self, tup):
        if "lost" not in tup.values:
            self.ack(tup)


class Mixed(Works, Bolt):
    auto_ack = False


class Objected(Bolt):
    auto_ack = False
    process = Decorated(Works.process)


class Partly(Bolt):
    auto_ack = False

    def work(self, how, tup):
        Works.process(self, tup)

    process = partialmethod(work, "somehow")


@pytest.mark.parametrize("component", [Mixed, Objected, Partly])
@pytest.mark.parametrize("how", ["direct", "run"])
@pytest.mark.parametrize(
    ("value", "expected"), [("kept", []), ("lost", ["never completed: 7: received; end of the run"])]
)
def test_handlers_of_any_definition_are_observed(component, how, value, expected):
    with traced() as run:
        if how == "run":
            drive(component, frame("7", value))
        else:
            build(component).process(tup("7", value))
    assert summaries(run.settlement.violations) == expected
    assert [tally.delivered for tally in run.settlement.tallies] == [1]


def test_a_mixin_without_a_component_is_not_wrapped():
    class Other(Works):
        def ack(self, tup):
            self.acked = tup

    with traced() as run:
        other = Other()
        other.process(tup())
    assert other.acked == tup()
    assert run.settlement.tallies == ()


def test_other_attributes_of_a_wrapped_object_are_preserved():
    with traced():
        assert Objected.process.function.__name__ == "process"


# ---- what stays as it was ----


def attributes() -> dict[str, Any]:
    owners = [Component, Bolt, BatchingBolt, Auto, Manual, Polite, Forgets, Works, Objected]
    return {f"{owner.__qualname__}.{name}": value for owner in owners for name, value in vars(owner).items()}


def test_undo_restores_the_same_attributes():
    before = attributes()
    finders = list(sys.meta_path)
    installation = install(Ledger())
    during = attributes()
    installation.undo()
    installation.undo()
    after = attributes()
    assert {name for name in before if before[name] is not during[name]} >= {
        "Component.send_message", "Bolt.read_tuple", "Manual.process", "Polite.process",
    }  # fmt: skip
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert sys.meta_path == finders


def test_a_class_made_during_tracing_is_restored():
    with traced():

        class Late(Bolt):
            def process(self, tup):
                self.ack(tup)

        assert hasattr(Late.process, "__wrapped__")
    assert not hasattr(Late.process, "__wrapped__")


def test_nothing_is_wrapped_twice():
    with traced(), pytest.raises(RuntimeError, match="wrapped already"):
        install(Ledger())
    before = attributes()
    assert all(not hasattr(value, "__ackdoctor__") for value in before.values())


def test_an_installation_pauses_for_another_one():
    ours, other = Ledger(), Ledger()
    installation = install(ours)
    driven = [drive(Manual, frame("1"))]
    with installed_alone(other):
        driven.append(drive(Manual, frame("1"), frame("2")))
    driven.append(drive(Manual, frame("1")))
    installation.undo()
    acks = [sum(record.acks for record in ledger.records.values()) for ledger in (ours, other)]
    assert (len(driven), acks) == (3, [2, 2])


def test_level_off_wraps_nothing():
    before = attributes()
    installation = install(Ledger(Level.OFF))
    assert all(attributes()[name] is before[name] for name in before)
    installation.undo()


def test_the_same_bytes_leave_the_component():
    plain = drive(Manual, frame("1"), frame("2", "twice")).serializer.output_stream
    with traced(Level.TRACE):
        watched = drive(Manual, frame("1"), frame("2", "twice")).serializer.output_stream
    assert watched.buffer.getvalue() == plain.buffer.getvalue()


def test_an_internal_error_is_only_a_note():
    with traced(now=_Clock(fails=1)) as run:
        drive(Manual, frame("1"))
    assert run.settlement.notes[0] == "the tracer continues after an internal error: OSError: no clock"


class _Clock:
    """Fails for a while."""

    def __init__(self, fails: int) -> None:
        self.fails = fails

    def __call__(self) -> int:
        self.fails -= 1
        if self.fails >= 0:
            raise OSError("no clock")
        return 0
