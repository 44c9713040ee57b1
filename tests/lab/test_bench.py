"""The bench: one component, its acker, virtual time."""

from collections.abc import Iterator
from typing import Any

import pytest
from pystorm import Bolt, Spout

from ackdoctor.acker.acker import Acker
from ackdoctor.acker.executors import Reason
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import NEWEST
from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.lab.child import ShellError
from ackdoctor.model import ConfigError
from ackdoctor.model.acker import AckAck, AckInit, Answer, AnswerKind, Message, Tick
from ackdoctor.model.trace import PendingEntry, Verdict
from tests.acker.messages import PowersOfTwo


class Echo(Bolt):
    def process(self, tup: Any) -> None:
        self.emit(list(tup.values))


class Holds(Bolt):
    """Acks all tuples when a tuple says `flush`."""

    auto_ack = False

    def initialize(self, conf: Any, context: Any) -> None:
        self.held: list[Any] = []

    def process(self, tup: Any) -> None:
        self.held.append(tup)
        if tup.values[0] == "flush":
            for held in self.held:
                self.ack(held)

    def process_tick(self, tup: Any) -> None:
        self.ack(tup)
        self.emit([len(self.held)], anchors=[])


class RecordingAcker:
    """An acker that records its messages."""

    def __init__(self, acker: Acker) -> None:
        self.acker = acker
        self.messages: list[Message] = []

    def receive(self, message: Message) -> Answer | None:
        self.messages.append(message)
        return self.acker.receive(message)

    def pending(self) -> Iterator[PendingEntry]:
        return self.acker.pending()

    def __len__(self) -> int:
        return len(self.acker)


def test_the_sink_acks_emitted_tuples_after_the_bolt_returns():
    with Bench(Echo, wrap_acker=RecordingAcker, ids=PowersOfTwo()) as bench:
        delivery = bench.feed("a")
        assert isinstance(bench.acker, RecordingAcker)
        # root 1, edge 2, child 4
        assert bench.acker.messages == [AckInit(1, 2, 1), AckAck(1, 6), AckAck(1, 4)]
        assert bench.answers == [Answer(AnswerKind.ACK, 1, 1)]
        assert bench.verdict(delivery) is Verdict.COMPLETE


def test_a_held_tuple_is_pending_until_it_is_acked():
    with Bench(Holds) as bench:
        first = bench.feed("a")
        assert [entry.task for entry in bench.pending] == [1]
        second = bench.feed("flush")
        assert bench.pending == ()
        assert bench.verdict(first) is bench.verdict(second) is Verdict.COMPLETE


def test_a_tree_of_two_deliveries_completes_with_the_second():
    with Bench(Holds) as bench:
        first = bench.feed("a")
        second = bench.feed("flush", beside=first)
        assert len(bench.answers) == 1
        assert bench.verdict(first) is bench.verdict(second) is Verdict.COMPLETE


def test_an_untracked_tuple_has_no_verdict():
    with Bench(Echo) as bench:
        delivery = bench.feed("a", msg_id=None)
        assert bench.answers == []
        with pytest.raises(KeyError):
            bench.verdict(delivery)


def test_the_spout_receives_the_message_id_of_the_test():
    with Bench(Echo) as bench:
        bench.feed("a", msg_id="offset 7")
        assert [(result.reason, result.message_id) for result in bench.results] == [(Reason.ACK, "offset 7")]


def test_ticks_arrive_on_time():
    with Bench(Holds, tick_secs=5) as bench:
        bench.feed("a")
        bench.advance(14)
        assert bench.emitted == [Emitted([1]), Emitted([1])]
        bench.advance(1)
        assert len(bench.emitted) == 3
        assert bench.component.storm_conf["topology.tick.tuple.freq.secs"] == 5


@pytest.mark.parametrize(("version", "pending"), [("storm-1.1.0", 1), ("storm-1.2.4", 0), ("storm-2.8.8", 0)])
def test_the_acker_keeps_a_forgotten_tuple_as_long_as_its_version_does(version, pending):
    with Bench(Holds, profile=version, message_timeout_secs=10) as bench:
        delivery = bench.feed("a")
        bench.advance(100)
        assert (bench.verdict(delivery), len(bench.pending)) == (Verdict.EXPIRED, pending)


def test_an_unknown_version_is_rejected():
    with pytest.raises(ConfigError, match="unknown acker version 'storm-9'"):
        Bench(Echo, profile="storm-9")
    with Bench(Echo) as bench:
        assert bench.profile is NEWEST


def test_a_tuple_has_the_stream_and_source_of_the_test():
    class EmitsItsSource(Bolt):
        def process(self, tup: Any) -> None:
            self.emit([tup.component, tup.stream], stream="sources")

    with Bench(EmitsItsSource) as bench:
        bench.feed("a", component="orders", stream="late")
        assert bench.emitted == [Emitted(["orders", "late"], stream="sources", anchors=("1",))]


def test_a_dead_worker_is_reported_and_rejects_further_calls():
    class Broken(Bolt):
        def process(self, tup: Any) -> None:
            raise ValueError("no")

    with Bench(Broken) as bench:
        bench.feed("a")
        assert isinstance(bench.died, ShellError)
        bench.advance(60)
        for call in (lambda: bench.feed("b"), bench.tick, bench.heartbeat, bench.beat):
            with pytest.raises(ShellError, match="Pipe to subprocess seems to be broken!"):
                call()


def test_tuples_of_a_dead_worker_time_out_and_a_new_worker_continues():
    class Once(Holds):
        def process(self, tup: Any) -> None:
            if tup.values[0] == "die":
                raise SystemExit
            super().process(tup)

    with Bench(Once) as bench:
        first, second = bench.feed("a"), bench.feed("die")
        bench.restart()
        third = bench.feed("flush")
        bench.advance(60)
        assert [bench.verdict(d) for d in (first, second, third)] == [
            Verdict.EXPIRED,
            Verdict.EXPIRED,
            Verdict.COMPLETE,
        ]


def test_two_benches_can_share_a_clock():
    clock = VirtualClock()
    with Bench(Echo, clock=clock) as one, Bench(Echo, clock=clock):
        one.advance(5)
    assert clock.now_ms() == 5000


def test_ticks_rotate_the_acker():
    with Bench(Echo, wrap_acker=RecordingAcker) as bench:
        bench.advance(90)
        assert isinstance(bench.acker, RecordingAcker)
        assert bench.acker.messages == [Tick()] * 3


class Words(Spout):
    def initialize(self, conf: Any, context: Any) -> None:
        self.todo = ["a", "b"]
        self.failed: list[object] = []

    def next_tuple(self) -> None:
        if self.todo:
            word = self.todo.pop(0)
            self.emit([word], tup_id=word)

    def fail(self, tup_id: Any) -> None:
        self.failed.append(tup_id)
        self.todo.append(tup_id)


def test_a_spout_s_messages_wait_for_an_ack_of_the_test():
    with SpoutBench(Words) as bench:
        assert bench.next_tuple() == [Emitted(["a"], msg_id="a")]
        bench.next_tuple()
        assert bench.next_tuple() == []
        assert bench.waiting == ["a", "b"]
        bench.ack("a")
        bench.fail("b")
        assert (bench.waiting, bench.pending) == ([], ())
        assert bench.next_tuple() == [Emitted(["b"], msg_id="b")]


def test_an_uncompleted_message_times_out():
    with SpoutBench(Words, message_timeout_secs=5) as bench:
        bench.next_tuple()
        bench.advance(10)
        assert bench.component.failed == ["a"]
        assert [result.reason for result in bench.results] == [Reason.TIMEOUT]
