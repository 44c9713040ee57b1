"""Python components as bolts and spouts of a topology."""

from typing import Any

from pystorm import Bolt, ReliableSpout

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Feed
from ackdoctor.lab.messages import Setup
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from ackdoctor.lab.topology import Settings, TopologyBuilder


class Split(Bolt):
    def process(self, tup: Any) -> None:
        for word in tup.values.line.split():
            self.emit([word])


class Strict(Bolt):
    """Acks some tuples twice."""

    def process(self, tup: Any) -> None:
        if tup.values[0] == "bad":
            self.ack(tup)


class Lines(ReliableSpout):
    def initialize(self, conf: Any, context: Any) -> None:
        self.todo = ["the dog", "the cat"]

    def next_tuple(self) -> None:
        if self.todo:
            line = self.todo.pop()
            self.emit([line], tup_id=line)


def test_a_python_bolt_completes_its_trees():
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("lines", feed, outputs=("line",))
    names = Setup(input_fields={"lines": {"default": ("line",)}})
    split = builder.set_bolt("split", lambda: ShellBolt(Split, setup=names), outputs=("word",))
    split.shuffle_grouping("lines")
    strict = builder.set_bolt("strict", lambda: ShellBolt(Strict), parallelism=2)
    strict.fields_grouping("split", "word")
    cluster = Cluster(builder.build(), seed=1)
    feed.put("the dog and the cat", msg_id=1)
    feed.put("", msg_id=2)
    cluster.settle()
    assert set(feed.acked) == {1, 2}
    assert list(cluster.pending()) == []
    cluster.shutdown()


def test_a_worker_that_shellbolt_halts_restarts_and_its_tuple_is_replayed():
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("words", feed, outputs=("word",))
    builder.set_bolt("strict", lambda: ShellBolt(Strict)).shuffle_grouping("words")
    cluster = Cluster(builder.build(Settings(message_timeout_secs=10)), seed=1)
    feed.put("good", msg_id=1)
    feed.put("bad", msg_id=2)
    cluster.settle()
    feed.put("good", msg_id=3)
    cluster.settle()
    assert [death.reason for death in cluster.deaths] == [
        "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 2"
    ]
    assert feed.acked == [1, 2, 3], "the first of the two acks has reached the acker"
    cluster.shutdown()


def test_a_python_spout_replays_a_failed_message():
    class Picky(Bolt):
        exit_on_exception = False
        seen: list[str] = []  # noqa: RUF012 - of all instances

        def process(self, tup: Any) -> None:
            self.seen.append(tup.values[0])
            if self.seen.count("the dog") == 1 and tup.values[0] == "the dog":
                raise ValueError("once")

    builder = TopologyBuilder()
    builder.set_spout("lines", lambda: ShellSpout(Lines), outputs=("line",))
    builder.set_bolt("picky", lambda: ShellBolt(Picky)).shuffle_grouping("lines")
    cluster = Cluster(builder.build(), seed=1)
    cluster.settle()
    assert sorted(Picky.seen) == ["the cat", "the dog", "the dog"]
    (spout,) = cluster.instances("lines")
    assert isinstance(spout, ShellSpout)
    assert spout.component.unacked_tuples == {}  # type: ignore[attr-defined]
    cluster.shutdown()
