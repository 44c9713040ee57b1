"""Replacements for a tuple, a stream, the wire or a method are read, or make the component not observed."""

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import pytest
from pystorm import BatchingBolt, Bolt
from pystorm.component import Component

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import EventKind
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.trace_reader import read
from tests.tracer.driven import build, drive, frame, summaries, traced
from tests.tracer.styles import Auto, Forgets, Manual, tup


class Standing(NamedTuple):
    """A custom tuple class with the attributes of the framework's class."""

    id: str
    stream: str
    values: list[str]


@pytest.mark.parametrize("level", [Level.SITES, Level.TRACE])
@pytest.mark.parametrize(
    "stand_in",
    [
        Standing("7", "default", ["a"]),
        SimpleNamespace(id="7", stream="default", values=["a"]),
        mock.Mock(values=["a"]),
    ],
    ids=["namedtuple", "namespace", "mock"],
)
def test_a_stand_in_for_a_tuple_is_identified_by_its_id(stand_in, level, tmp_path):
    class Completes(Bolt):
        auto_ack = False

        def process(self, tup):
            self.emit([tup.stream], anchors=[tup])
            (self.fail if self.fails else self.ack)(tup)

    ledger = Ledger(level)
    recorder = Recorder(tmp_path, run="r", worker="w")
    installed = install(ledger, recorder)
    try:
        for fails in (False, True):
            bolt = build(Completes)
            bolt.fails = fails
            bolt.process(stand_in)
    finally:
        installed.undo()
        recorder.close()
    settlement = ledger.settle()
    assert (settlement.violations, settlement.notes) == ((), ())
    assert [(row.acked, row.failed) for row in settlement.tallies] == [(1, 1)]
    if level is Level.TRACE:
        rows = [row for row in read([tmp_path]).events() if row.kind is not EventKind.NAMED]
        assert len({row.delivery for row in rows}) == 1


class Bare:
    """A custom tuple class with values only."""

    def __init__(self, *values: str) -> None:
        self.values = values


@pytest.mark.parametrize("level", [Level.SITES, Level.TRACE])
@pytest.mark.parametrize(
    "stand_in",
    [Bare(), SimpleNamespace(values=[]), SimpleNamespace(values=[], id="7"), "7"],
    ids=["object", "namespace", "with an id", "text"],
)
def test_a_stand_in_for_a_tuple_may_lack_attributes(stand_in, level):
    class Completes(Bolt):
        auto_ack = False
        times = 1

        def process(self, tup):
            for _ in range(self.times):
                self.ack(tup)

    with traced(level) as run:
        for times in range(3):
            bolt = build(Completes)
            bolt.ack, bolt.times = mock.Mock(), times
            bolt.process(stand_in)
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.NEVER, Misuse.TWICE]
    assert [(row.delivered, row.acked) for row in run.settlement.tallies] == [(3, 3)]
    assert run.settlement.notes == ()


def test_stand_ins_in_a_batch_may_lack_attributes():
    class Batches(BatchingBolt):
        auto_ack = False

        def process_batch(self, key, tups):
            self.ack(tups[0])

    with traced() as run:
        bolt = build(Batches)
        bolt.ack = mock.Mock()
        bolt.process_batch(None, [Bare(), Bare()])
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.NEVER]
    assert [(row.delivered, row.acked) for row in run.settlement.tallies] == [(2, 1)]


@pytest.mark.parametrize(
    "stream", [mock.Mock(), mock.MagicMock(), io.StringIO()], ids=["mock", "magic", "text"]
)
def test_a_closed_stream_is_no_unwritable_payload(stream):
    class Opaque(Bolt):
        def process(self, tup):
            self.emit([object()])

    for component, expected in ((Auto, 0), (Opaque, 1)):
        with traced() as run:
            component(input_stream=io.BytesIO(), output_stream=stream).process(tup())
        assert len(run.settlement.violations) == expected


# ---- mocks ----


@pytest.mark.parametrize("how", ["class", "autospec", "instance"])
def test_a_mocked_ack_is_read(how):
    with traced() as run:
        bolt = build(Manual)
        if how == "instance":
            bolt.ack = mock.Mock()
            bolt.process(tup("7", "twice"))
        else:
            with mock.patch.object(Manual, "ack", autospec=how == "autospec") as ack:
                bolt.process(tup("7", "twice"))
                assert ack.call_count == 2
    assert summaries(run.settlement.violations) == ["completed twice: 7: received; acked; acked"]


def test_a_mocked_ack_hides_no_auto_ack():
    with traced() as run, mock.patch.object(Auto, "ack", autospec=True):
        drive(Auto, frame("1"), frame("2"))
    assert run.settlement.violations == ()
    assert [tally.acked for tally in run.settlement.tallies] == [2]


def test_a_mocked_emit_is_counted():
    with traced() as run, mock.patch.object(Auto, "emit"):
        drive(Auto, frame("1"))
    assert [tally.emitted for tally in run.settlement.tallies] == [1]


def test_an_unobserved_wire_hides_it(monkeypatch):
    module = ModuleType("streamparse.storm.bolt")  # 2.x has classes of these names, and another wire
    code = """
class Bolt:
    auto_ack = auto_anchor = auto_fail = True

    def send_message(self, message):
        self.sent = message

    def ack(self, tup):
        self.send_message({"command": "ack", "id": tup.id})
"""
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    base: Any = vars(module)["Bolt"]

    class Old(base):
        auto_ack = False

        def process(self, tup):
            self.ack(tup)

    with traced() as run:
        Old().process(tup())
    assert run.settlement.unobserved == (f"{Old.__qualname__}: send_message is of an unknown version",)
    assert run.settlement.violations == ()


@pytest.mark.parametrize("owner", [Component, Manual, None], ids=["framework", "class", "instance"])
@pytest.mark.parametrize("name", ["send_message", "ack"])
def test_a_replaced_wire_or_ack_hides_it(owner, name):
    if (owner, name) == (Component, "ack"):
        owner = Bolt
    seen: list[Any] = []
    with traced() as run:
        bolt = build(Manual)
        replacement = (lambda self, what: seen.append(what)) if owner else seen.append
        with mock.patch.object(owner or bolt, name, replacement):
            bolt.process(tup())
    assert seen == [tup() if name == "ack" else {"command": "ack", "id": "7"}]
    assert run.settlement.unobserved == (f"Manual: {name} is replaced",)
    assert run.settlement.violations == ()


def test_an_overridden_wire_hides_no_missing_ack():
    class Logs(Forgets):
        def send_message(self, message):
            super().send_message(message)

    with traced() as run:
        build(Logs).process(tup())
    assert summaries(run.settlement.violations) == ["never completed: 7: received; end of the run"]


def test_an_ack_that_only_records_its_calls_hides_it():
    class Fake(Manual):
        def __init__(self):
            self.acked = []

        def ack(self, tup):
            self.acked.append(tup)

    with traced() as run:
        Fake().process(tup())
    assert run.settlement.unobserved == (f"{Fake.__qualname__}: ack is replaced",)
    assert run.settlement.violations == ()


class Chooses(Bolt):
    auto_ack = False

    def process(self, tup):
        (self.fail if tup.values else self.ack)(tup)


@pytest.mark.parametrize("acked", [(), ("1",)], ids=["alone", "beside an ack that is seen"])
@pytest.mark.parametrize("fails", [1, 0], ids=["failed", "not failed"])
def test_a_fail_that_only_records_its_calls_hides_it(acked, fails):
    failed: list[Any] = []
    with traced() as run:
        bolt = build(Chooses)
        bolt.fail = failed.append
        for delivery in acked:
            bolt.process(tup(delivery))
        for _ in range(fails):
            bolt.process(tup("7", "bad"))
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == ("Chooses: fail is replaced",) * fails


def test_a_replaced_fail_hides_no_second_ack():
    with traced() as run:
        bolt = build(Manual)
        bolt.fail = [].append
        bolt.process(tup("7", "twice"))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.TWICE]
    assert run.settlement.unobserved == ()


def test_an_ack_in_another_method_of_the_author_hides_no_missing_ack():
    class Counts(Forgets):
        def ack(self, tup):
            self._finish(tup)

        def _finish(self, tup):
            def go_on():
                super(Counts, self).ack(tup)

            go_on()

    with traced() as run:
        build(Counts).process(tup())
    assert summaries(run.settlement.violations) == ["never completed: 7: received; end of the run"]


def test_the_calls_of_a_mocked_verb_are_no_buffer():
    class Emits(Bolt):
        auto_ack = False

        def process(self, tup):
            self.emit(["a"], anchors=[tup])

    with traced() as run:
        bolt = build(Emits)
        bolt.emit = mock.Mock()
        bolt.process(tup())
    assert summaries(run.settlement.violations) == ["never completed: 7: received; end of the run"]


def test_consecutive_mocks_are_all_read():
    with traced() as run:
        bolt = build(Manual)
        for number in range(100):
            with mock.patch.object(bolt, "ack") as ack:
                bolt.process(tup(str(number)))
            ack.assert_called_once()
    assert run.settlement.violations == ()


def test_a_mock_may_come_after_any_number_of_calls():
    with traced() as run:
        bolt = build(Manual)
        for number in range(100):
            bolt.process(tup(str(number)))
        with mock.patch.object(bolt, "ack"):
            bolt.process(tup("200"))
            bolt.process(tup("201", "twice"))
    assert [violation.misuse for violation in run.settlement.violations] == [Misuse.TWICE]


def test_the_ack_of_another_component_is_a_replacement():
    with traced() as run:
        bolt = build(Manual)
        bolt.ack = build(Manual).ack
        bolt.process(tup())
    assert run.settlement.unobserved == ("Manual: ack is replaced",)


def test_a_mocked_read_tuple_is_not_closed_twice():
    with traced() as run, mock.patch.object(Bolt, "read_tuple", return_value=tup()):
        build(Auto)._run()
    assert run.settlement.violations == ()
    assert [(tally.delivered, tally.acked) for tally in run.settlement.tallies] == [(1, 1)]


def test_a_mocked_process_is_no_violation():
    with traced() as run, mock.patch.object(Manual, "process"):
        drive(Manual, frame("1"), frame("2"))
    assert run.settlement.violations == ()


def test_a_component_that_replaces_its_handler_is_not_called_clean():
    class Exchanges(Forgets):
        def initialize(self, conf, context):
            self.process = self.work  # type: ignore[method-assign]

        def work(self, tup):
            pass

    with traced() as run:
        bolt = build(Exchanges, [frame("1"), frame("2")])
        bolt.initialize({}, {})
        bolt._run()
        bolt._run()
    assert run.settlement.unobserved == (f"{Exchanges.__qualname__}: process is replaced",)
    assert run.settlement.violations == ()


def test_a_tuple_read_by_hand_is_no_violation():
    with traced() as run:
        build(Forgets, [frame("1")]).read_tuple()
    assert run.settlement.violations == ()
