"""pystorm's batching bolts on the wire."""

import threading
from typing import Any

from pystorm import BatchingBolt, TicklessBatchingBolt

from ackdoctor.lab.bench import Bench, Emitted
from ackdoctor.model.trace import Verdict
from tests.lab.wire import wire


class ByKey(BatchingBolt):
    """Batches by the first value, and emits each batch."""

    calls: list[tuple[object, list[str]]]

    def initialize(self, conf: Any, context: Any) -> None:
        self.calls = []

    def group_key(self, tup: Any) -> object:
        return tup.values[0]

    def process_batch(self, key: object, tups: list[Any]) -> None:
        self.calls.append((key, [tup.id for tup in tups]))
        if key == "bad":
            raise ValueError(key)


class Lenient(ByKey):
    exit_on_exception = False


def test_batched_tuples_wait_for_the_second_tick():
    with Bench(ByKey) as bench:
        bench.feed("a")
        bench.feed("a")
        bench.tick()
        assert wire(bench) == ["ack 3"]
        bench.tick()
        assert wire(bench) == ["ack 3", "ack 4", "ack 1", "ack 2"]
        assert bench.component.calls == [("a", ["1", "2"])]


def test_without_ticks_a_batch_is_never_processed():
    with Bench(ByKey) as bench:
        delivery = bench.feed("a")
        bench.advance(60)
        assert (bench.inputs, bench.verdict(delivery)) == (("1",), Verdict.EXPIRED)


def test_a_batch_without_auto_ack_is_dropped_and_nothing_is_sent():
    class Manual(ByKey):
        auto_ack = False

    with Bench(Manual, tick_secs=1) as bench:
        bench.feed("a")
        bench.advance(5)
        assert bench.component.calls == [("a", ["1"])]
        assert "ack 1" not in wire(bench)
        assert bench.inputs == ("1",)


def test_an_emit_in_a_batch_is_anchored_to_the_whole_batch():
    class Counts(BatchingBolt):
        def process_batch(self, key: object, tups: list[Any]) -> None:
            self.emit([len(tups)])

    with Bench(Counts, tick_secs=1) as bench:
        bench.feed("a")
        bench.feed("b")
        bench.advance(2)
        assert bench.emitted == [Emitted([2], anchors=("1", "2"))]


def test_an_exception_in_a_batch_fails_all_unfinished_tuples():
    with Bench(ByKey) as bench:
        for key in ("good", "bad", "next"):
            bench.feed(key)
        bench.tick()
        bench.tick()
        assert wire(bench) == ["ack 4", "ack 5", "ack 1", "error", "sync", "fail 2", "fail 3"]
        assert "Python ValueError raised while processing Tuple" in bench.bolt.transcript.errors[0]


def test_without_exit_on_exception_a_bad_batch_blocks_later_batches():
    with Bench(Lenient) as bench:
        for key in ("good", "bad", "next"):
            bench.feed(key)
        for _ in range(4):
            bench.tick()
        assert [text for text in wire(bench) if "fail" in text] == ["fail 2"]
        assert bench.inputs == ("3",)
        bad = [ids for key, ids in bench.component.calls if key == "bad"]
        assert bad == [["2"], [], []], "the key stays, with an empty list"


def test_an_exception_in_group_key_fails_its_tuple_too():
    class Keyless(ByKey):
        def group_key(self, tup: Any) -> object:
            if tup.values == ("no key",):
                raise KeyError("no key")
            return None

    with Bench(Keyless) as bench:
        bench.feed("a")
        bench.feed("no key")
        assert wire(bench) == ["error", "sync", "fail 1", "fail 2"]


def test_a_batching_bolt_that_overrides_process_acks_nothing():
    class Overrides(ByKey):
        def process(self, tup: Any) -> None:
            self.emit(["x"])

    with Bench(Overrides, tick_secs=1) as bench:
        bench.feed("a")
        bench.advance(10)
        assert bench.inputs == ("1",)


def test_a_second_positional_argument_of_a_batch_emit_fails_the_batch():
    class Positional(BatchingBolt):
        def process_batch(self, key: object, tups: list[Any]) -> None:
            self.emit(["x"], "default")

    with Bench(Positional) as bench:
        bench.feed("a")
        bench.tick()
        bench.tick()
        assert isinstance(bench.died.__cause__, TypeError)
        assert wire(bench) == ["ack 2", "ack 3", "error", "sync", "fail 1"]


class Timed(TicklessBatchingBolt):
    def process_batch(self, key: object, tups: list[Any]) -> None:
        self.emit([len(tups), threading.current_thread().name])
        if ("bad",) in [tuple(tup.values) for tup in tups]:
            raise ValueError("bad")


def test_a_timer_thread_processes_a_tickless_batch():
    with Bench(Timed) as bench:
        bench.feed("a")
        bench.advance(1.9)
        assert bench.emitted == []
        bench.advance(0.1)
        assert bench.emitted == [Emitted([1, "Timed:_batcher-thread"], anchors=("1",))]
        assert bench.inputs == ()


def test_a_tick_to_a_tickless_bolt_is_acked_and_ignored():
    with Bench(Timed) as bench:
        bench.tick()
        assert wire(bench) == ["ack 1"]


def test_an_exception_in_a_tickless_batch_ends_the_main_loop():
    with Bench(Timed) as bench:
        bench.feed("bad")
        bench.advance(2)
        assert wire(bench)[1:] == ["error", "sync", "fail 1"]
        assert isinstance(bench.died.__cause__, ValueError)


def test_the_timer_thread_of_a_lenient_tickless_bolt_dies():
    class LenientTimed(Timed):
        exit_on_exception = False

    with Bench(LenientTimed) as bench:
        bench.feed("bad")
        bench.advance(2)
        bench.feed("good")
        bench.advance(20)
        assert wire(bench)[1:] == ["error", "sync", "fail 1"]
        assert (bench.inputs, bench.died) == (("2",), None)
