"""A mock that replaces the wire has the messages, and shows as much as the wire."""

from contextlib import suppress
from unittest import mock

import pytest
from pystorm import Bolt, Spout
from pystorm.component import Component

from ackdoctor.dialects import known
from ackdoctor.model.dialect import Kind, VerbKind
from ackdoctor.tracer.ledger import Level
from ackdoctor.tracer.mocks import Mocked
from tests.tracer.driven import build, drive, frame, summaries, traced
from tests.tracer.styles import AckWithAuto, Auto, Forgets, Manual, tup

NEVER = "never completed: 7: received; end of the run"
LEVELS = pytest.mark.parametrize("level", [Level.SITES, Level.TRACE])


@LEVELS
@pytest.mark.parametrize("owner", [Component, Bolt, Manual])
@pytest.mark.parametrize("autospec", [False, True])
def test_an_ack_over_a_mocked_wire_counts(owner, autospec, level):
    with traced(level) as run, mock.patch.object(owner, "send_message", autospec=autospec):
        drive(Manual, frame("1"), frame("2"))
        build(Manual).process(tup())
    assert (run.settlement.violations, run.settlement.unobserved) == ((), ())
    assert [(tally.delivered, tally.acked) for tally in run.settlement.tallies] == [(3, 3)]


@LEVELS
def test_a_missing_ack_over_a_mocked_wire_is_reported(level):
    with traced(level) as run:
        bolt = build(Forgets)
        bolt.send_message = mock.Mock()
        bolt.process(tup())
    assert [text.partition(";")[2] for text in summaries(run.settlement.violations)] == [" end of the run"]


@pytest.mark.parametrize("mocked", [["send_message"], ["send_message", "ack"], ["send_message", "ack", "fail"]])  # fmt: skip
def test_any_verbs_may_be_mocked_beside_the_wire(mocked):
    with traced() as run:
        for component in (Forgets, Manual):
            bolt = build(component)
            for name in mocked:
                setattr(bolt, name, mock.Mock())
            bolt.process(tup())
    assert summaries(run.settlement.violations) == [NEVER]
    assert run.settlement.unobserved == ()


@pytest.mark.parametrize("spied", [["ack"], ["send_message"], ["ack", "send_message"]])
@pytest.mark.parametrize("wire", [False, True])
def test_an_ack_that_a_spy_passes_on_counts_once(spied, wire):
    with traced() as run:
        bolt = build(Manual)
        if wire and "send_message" not in spied:
            bolt.send_message = mock.Mock()
        for name in spied:
            setattr(bolt, name, mock.Mock(wraps=getattr(bolt, name)))
        bolt.process(tup())
        bolt.process(tup("8"))
    assert run.settlement.violations == ()
    assert [tally.acked for tally in run.settlement.tallies] == [2]


def test_acks_of_the_framework_are_seen_on_a_mocked_wire():
    with traced() as run, mock.patch.object(Component, "send_message"):
        drive(AckWithAuto, frame("2"))
    [violation] = run.settlement.violations
    assert (violation.traced.name, violation.delivery) == ("AckWithAuto", "2")


def test_completions_of_the_framework_over_a_mocked_wire_are_no_violation():
    with traced() as run, mock.patch.object(Component, "send_message"):
        drive(Auto, frame("1"), frame("2"))
    assert run.settlement.violations == ()


class Emits(Spout):
    def next_tuple(self):
        self.emit(["a"], tup_id=7, need_task_ids=False)


def test_a_spout_s_emit_over_a_mocked_wire_is_counted():
    with traced() as run:
        spout = build(Emits)
        spout.send_message = mock.Mock()
        spout.next_tuple()
    assert [tally.emitted for tally in run.settlement.tallies] == [1]


@pytest.mark.parametrize("name", ["ack", "send_message"])
def test_a_mock_is_read_before_its_reset(name):
    with traced() as run:
        bolt = build(Forgets)
        setattr(bolt, name, mock.Mock())
        bolt.process(tup("1"))
        bolt.ack(tup("1"))  # an ack of the test: the tracer reads it at the next handler call
        getattr(bolt, name).reset_mock()
        for number in "234":
            bolt.process(tup(number))
            bolt.ack(tup(number))
    assert run.settlement.violations == ()
    assert [tally.acked for tally in run.settlement.tallies] == [4]


def test_open_tuples_after_a_reset_of_the_mock_are_no_violation():
    with traced() as run:
        bolt = build(Forgets)
        bolt.send_message = mock.Mock()
        bolt.process(tup())
        bolt.send_message.reset_mock()
        bolt.ack(tup())
        bolt.send_message.reset_mock()
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == ("Forgets: the mock of its wire was reset",)


def test_a_custom_spy_may_return_a_copy_of_its_calls():
    class Spy:
        def __init__(self):
            self.calls = []

        def __call__(self, *args):
            self.calls.append(mock.call(*args))

        @property
        def call_args_list(self):
            return list(self.calls)

    with traced() as run:
        bolt = build(Manual)
        bolt.ack = Spy()
        for number in "123":
            bolt.process(tup(number))
    assert run.settlement.violations == ()
    assert [tally.acked for tally in run.settlement.tallies] == [3]


def test_a_mock_that_was_called_with_a_tuple_is_no_buffer():
    class Stores(Bolt):
        auto_ack = False

        def process(self, tup):
            self.database.insert(tup)

    with traced() as run:
        bolt = build(Stores)
        bolt.database = mock.Mock()
        bolt.database.insert.return_value = 1  # it returns a value: the original stores no tuple
        bolt.process(tup())
        wrapped = build(Forgets)
        wrapped.process = mock.Mock(wraps=wrapped.process)
        wrapped.process(tup())
    assert summaries(run.settlement.violations) == [NEVER, NEVER]


class Tries(Bolt):
    auto_ack = False

    def process(self, tup):
        with suppress(OSError):
            self.ack(tup)


@pytest.mark.parametrize("name", ["ack", "send_message"])
@pytest.mark.parametrize("effect", [BrokenPipeError, BrokenPipeError("gone")])
def test_an_ack_that_a_mock_makes_raise_is_no_ack(name, effect):
    with traced() as run:
        bolt = build(Manual)
        setattr(bolt, name, mock.Mock(side_effect=effect))
        with pytest.raises(BrokenPipeError):
            bolt.process(tup())
    assert run.settlement.violations == ()


@pytest.mark.parametrize(
    ("name", "why"), [("ack", "ack is made to raise"), ("send_message", "its wire is made to raise")]
)
def test_an_ack_that_always_raises_is_not_judged(name, why):
    with traced() as run:
        bolt = build(Tries)
        setattr(bolt, name, mock.Mock(side_effect=OSError))
        bolt.process(tup())
    assert (run.settlement.violations, run.settlement.unobserved) == ((), (f"Tries: {why}",))


class Later(Bolt):
    auto_ack = False

    def process(self, tup):
        self.current = tup

    def flush(self):
        self.ack(self.current)


@pytest.mark.parametrize("name", ["ack", "send_message"])
@pytest.mark.parametrize("ids", ["78", "77"])
def test_an_autospec_mock_distinguishes_the_components_that_share_it(name, ids):
    """Only the mock acks outside a handler."""
    with traced() as run, mock.patch.object(Later, name, autospec=True):
        one, other = build(Later), build(Later)
        for bolt, number in zip((one, other), ids, strict=True):
            bolt.process(tup(number))
        for bolt in (one, other, one):
            bolt.flush()
    assert summaries(run.settlement.violations) == ["completed twice: 7: received; acked; acked"]
    assert [tally.acked for tally in run.settlement.tallies] == [3]


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("pyleus", lambda wire: wire("ack", {"id": "7"})),
        ("pystorm", lambda wire: wire({"command": "ack", "id": "7"})),
        ("pystorm", lambda wire: wire(message={"command": "ack", "id": "7"})),
    ],
)
def test_a_message_is_decoded_as_its_verb(dialect, call):
    found = next(each for each in known() if each.name == dialect)
    role = next(each for each in found.roles if each.kind is Kind.BOLT)
    mocked, wire = Mocked(), mock.Mock()
    mocked.add_wire(wire, found, role)
    for other in (lambda: wire("log", {"msg": "x"}), lambda: wire({"pid": 7}), wire, lambda: wire(None)):
        other()
    call(wire)
    [call] = mocked.calls(object())
    assert (call.verb.kind, call.arguments[call.verb.subject or ""]) == (VerbKind.ACK, "7")
