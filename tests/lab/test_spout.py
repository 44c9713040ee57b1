"""ShellSpout's rules and texts, and pystorm's spouts on the wire (ShellSpout.java @ v2.8.8)."""

from collections.abc import Callable
from typing import Any

import pytest
from pystorm import ReliableSpout, Spout

from ackdoctor.acker.executors import Reason
from ackdoctor.lab.bench import Emitted, SpoutBench
from ackdoctor.lab.child import ShellError
from tests.lab.wire import NO_JSON, raw, wire


class Counts(Spout):
    def initialize(self, conf: Any, context: Any) -> None:
        self.number = 0
        self.heard: list[tuple[str, object]] = []

    def next_tuple(self) -> None:
        self.number += 1
        self.emit([self.number], tup_id=self.number)

    def ack(self, tup_id: object) -> None:
        self.heard.append(("ack", tup_id))

    def fail(self, tup_id: object) -> None:
        self.heard.append(("fail", tup_id))

    def activate(self) -> None:
        self.heard.append(("activate", None))

    def deactivate(self) -> None:
        self.heard.append(("deactivate", None))


def spout_that(script: Callable[[Any], None]) -> type:
    """Return a spout that runs this in next_tuple."""
    return type("Asked", (Spout,), {"next_tuple": script})


def test_exactly_one_sync_answers_each_command():
    with SpoutBench(Counts) as bench:
        bench.next_tuple()
        bench.ack(1)
        bench.deactivate()
        assert wire(bench) == ["sync", "emit [1] id 1", "sync", "sync", "sync"]
        assert bench.component.heard == [("activate", None), ("ack", 1), ("deactivate", None)]


def test_a_timeout_calls_fail_like_a_failure():
    with SpoutBench(Counts) as bench:
        bench.next_tuple()
        bench.next_tuple()
        bench.fail(1)
        assert bench.waiting == [2]
        bench.advance(60)
        assert bench.component.heard[1:] == [("fail", 1), ("fail", 2)]
        assert [result.reason for result in bench.results] == [Reason.FAIL, Reason.TIMEOUT]


def test_an_emit_without_id_has_no_answer():
    with SpoutBench(spout_that(lambda spout: spout.emit(["a"]))) as bench:
        assert bench.next_tuple() == [Emitted(["a"])]
        assert (bench.waiting, bench.pending) == ([], ())
        with pytest.raises(KeyError, match="no tuple with message id None is pending downstream"):
            bench.ack(None)


def test_an_ack_from_a_spout_kills_the_worker():
    with SpoutBench(spout_that(lambda spout: spout.send_message({"command": "ack", "id": "1"}))) as bench:
        bench.next_tuple()
        assert str(bench.died) == "java.lang.RuntimeException: Unknown command received: ack"
        assert bench.died.exit_code == 1
        with pytest.raises(ShellError):
            bench.next_tuple()


def test_a_frame_that_is_not_json_kills_the_worker():
    with SpoutBench(spout_that(lambda spout: raw(spout, "hello"))) as bench:
        bench.next_tuple()
        assert str(bench.died) == NO_JSON


def test_an_exception_ends_the_process_during_a_command():
    def broken(spout: Any) -> None:
        raise ValueError("no")

    with SpoutBench(spout_that(broken)) as bench:
        bench.next_tuple()
        assert wire(bench) == ["sync", "error", "sync"]
        assert bench.spout.died is None, "the sync of raise_exception has answered the command"
        bench.next_tuple()
        assert "Pipe to subprocess seems to be broken! No output read.\n" in bench.died.message
        assert isinstance(bench.died.__cause__, ValueError)


def test_task_ids_arrive_during_a_command():
    class Asks(Spout):
        def next_tuple(self) -> None:
            self.emit([self.emit(["a"], need_task_ids=True)])

    with SpoutBench(Asks) as bench:
        bench.next_tuple()
        assert bench.emitted == [Emitted(["a"]), Emitted([[3]])]


def test_a_spout_that_waits_forever_stops_its_heartbeats():
    with SpoutBench(spout_that(lambda spout: spout.read_task_ids())) as bench:
        bench.next_tuple()
        assert str(bench.died) == "java.lang.RuntimeException: subprocess heartbeat timeout"
        assert bench.died.exit_code == 11


class Reliable(ReliableSpout):
    message_id: object = "m"
    payload: object = "a"

    def next_tuple(self) -> None:
        self.emit([self.payload], tup_id=self.message_id)


def test_a_reliable_spout_acks_after_three_replays():
    with SpoutBench(Reliable) as bench:
        bench.next_tuple()
        for _ in range(4):
            bench.fail("m")
        assert bench.emitted == [Emitted(["a"], msg_id="m")] * 4
        assert bench.component.unacked_tuples == {}


def test_a_reliable_spout_without_an_id_is_a_value_error():
    with SpoutBench(type("Unnamed", (Reliable,), {"message_id": None})) as bench:
        bench.next_tuple()
        assert "ValueError" in bench.spout.transcript.errors[0]


def test_an_unserialisable_payload_is_stored_and_never_sent():
    with SpoutBench(type("Opaque", (Reliable,), {"payload": object()})) as bench:
        bench.next_tuple()
        bench.advance(600)
        assert bench.emitted == []
        assert list(bench.component.unacked_tuples) == ["m"]


def test_a_tuple_as_message_id_returns_as_a_list_and_ends_the_process():
    with SpoutBench(type("Pairs", (Reliable,), {"message_id": ("m", 1)})) as bench:
        bench.next_tuple()
        bench.ack(["m", 1])
        bench.next_tuple()
        assert str(bench.died.__cause__) == "unhashable type: 'list'"
