"""streamparse on the wire; it adds topologies to pystorm."""

from typing import Any

from ackdoctor.lab.bench import Bench, Emitted, SpoutBench
from ackdoctor.model.trace import Verdict
from tests.frameworks import framework
from tests.lab.wire import wire

streamparse: Any = framework("streamparse")


class Count(streamparse.Bolt):
    outputs = ("word", "count")

    def initialize(self, conf: Any, context: Any) -> None:
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        self.emit([word, self.counts[word]])


def test_a_word_is_counted_and_its_tuple_completed():
    with Bench(Count) as bench:
        first, second = bench.feed("dog"), bench.feed("dog")
        assert bench.emitted == [Emitted(["dog", 1], anchors=("1",)), Emitted(["dog", 2], anchors=("2",))]
        assert bench.verdict(first) is bench.verdict(second) is Verdict.COMPLETE


def test_a_component_s_own_constructor_receives_the_serializer():
    class Own(Count):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.given = kwargs
            super().__init__(*args, **kwargs)

    with Bench(Own) as bench:
        assert bench.component.given == {"serializer": "json"}


def test_a_constructor_without_serializer_dies_as_under_streamparse_run():
    class Bare(Count):
        def __init__(self) -> None:
            super().__init__()

    with Bench(Bare) as bench:
        assert "got an unexpected keyword argument 'serializer'" in str(bench.died.__cause__)


def test_ticks_process_batches():
    class Batch(streamparse.BatchingBolt):
        def process_batch(self, key: object, tups: list[Any]) -> None:
            self.emit([len(tups)])

    with Bench(Batch, tick_secs=5) as bench:
        bench.feed("a")
        bench.feed("b")
        bench.advance(10)
        assert wire(bench) == ["ack 3", "ack 4", "emit [2] <- 1 2", "ack 1", "ack 2"]


def test_the_timer_processes_batches():
    class Batch(streamparse.TicklessBatchingBolt):
        secs_between_batches = 5

        def process_batch(self, key: object, tups: list[Any]) -> None:
            self.emit([len(tups)])

    with Bench(Batch) as bench:
        bench.feed("a")
        bench.advance(5)
        assert wire(bench) == ["emit [1] <- 1", "ack 1"]


def test_a_manual_ack_with_auto_ack_kills_the_worker():
    class Twice(Count):
        def process(self, tup: Any) -> None:
            self.ack(tup)

    with Bench(Twice) as bench:
        bench.feed("a")
        assert str(bench.died) == (
            "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 1"
        )


def test_a_reliable_spout_replays_failed_messages():
    class Words(streamparse.ReliableSpout):
        outputs = ("word",)

        def next_tuple(self) -> None:
            self.emit(["dog"], tup_id=1)

    with SpoutBench(Words) as bench:
        bench.next_tuple()
        bench.fail(1)
        bench.ack(1)
        assert bench.emitted == [Emitted(["dog"], msg_id=1)] * 2
        assert bench.component.unacked_tuples == {}
