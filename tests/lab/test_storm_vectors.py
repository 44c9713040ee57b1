"""Storm's own tests, run in the lab."""

from functools import partial
from typing import Any

import pytest

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import BasicBolt, Bolt, Feed, TaskHook
from ackdoctor.lab.topology import SYSTEM_STREAM, Settings, TopologyBuilder
from tests.lab.components import STORMS, Ack, AckEveryOther, Aggregate, Branch, Do, cluster_of

each_storm = pytest.mark.parametrize("storm", STORMS)


class Checker:
    """Feeds, waits, and counts the acks since the last call."""

    def __init__(self, cluster, *feeds):
        self.cluster, self.feeds = cluster, feeds
        self.counted = [0] * len(feeds)

    def feed(self, number):
        self.feeds[number - 1].put(1, msg_id=object())
        self.cluster.settle()

    def acks(self, number):
        acked = len(self.feeds[number - 1].acked)
        new, self.counted[number - 1] = acked - self.counted[number - 1], acked
        return new


@each_storm
def test_vector_1_acking(storm):
    feeds = [Feed(), Feed(), Feed()]
    builder = TopologyBuilder()
    for number, feed in enumerate(feeds, 1):
        builder.set_spout(str(number), feed, outputs=["num"])
    for name, source, branches in (("4", "1", 2), ("5", "2", 4), ("6", "3", 1)):
        builder.set_bolt(name, partial(Branch, branches), outputs=["num"]).shuffle_grouping(source)
    aggregate = builder.set_bolt("7", lambda: Aggregate(3), outputs=["num"])
    aggregate.shuffle_grouping("4").shuffle_grouping("5").shuffle_grouping("6")
    builder.set_bolt("8", lambda: Branch(2), outputs=["num"]).shuffle_grouping("7")
    builder.set_bolt("9", Ack).shuffle_grouping("8")
    cluster = Cluster(builder.build(), profile=storm)
    check = Checker(cluster, *feeds)
    if storm == "storm-2.8.8":
        cluster.advance(11)

    check.feed(1)
    assert check.acks(1) == 0
    check.feed(2)
    assert (check.acks(1), check.acks(2)) == (1, 1)
    check.feed(1)
    assert check.acks(1) == 0
    check.feed(1)
    assert check.acks(1) == 1
    check.feed(3)
    assert (check.acks(1), check.acks(3)) == (0, 0)
    check.feed(2)
    assert (check.acks(1), check.acks(2), check.acks(3)) == (1, 1, 1)
    assert list(cluster.pending()) == []


@each_storm
def test_vector_2_ack_branching(storm):
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", feed, outputs=["num"])
    builder.set_bolt("2", Branch, outputs=["num"]).shuffle_grouping("1")
    builder.set_bolt("3", Branch, outputs=["num"]).shuffle_grouping("1")
    builder.set_bolt("4", lambda: Aggregate(4), outputs=["num"]).shuffle_grouping("2").shuffle_grouping("3")
    check = Checker(Cluster(builder.build(), profile=storm), feed)

    check.feed(1)
    assert check.acks(1) == 0
    check.feed(1)
    assert check.acks(1) == 2


@each_storm
def test_vector_3_a_tuple_that_is_twice_its_own_anchor(storm):
    class DupAnchor(Bolt):
        def execute(self, tup):
            self.collector.emit([1], anchors=[tup, tup])
            self.collector.ack(tup)

    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", feed, outputs=["num"])
    builder.set_bolt("2", DupAnchor, outputs=["num"]).shuffle_grouping("1")
    builder.set_bolt("3", Ack).shuffle_grouping("2")
    check = Checker(Cluster(builder.build(), profile=storm), feed)

    check.feed(1)
    assert check.acks(1) == 1
    for _ in range(3):
        check.feed(1)
    assert check.acks(1) == 3


@each_storm
@pytest.mark.parametrize(("start", "wait"), [(0, 12), (0, 20), (11, 12)])  # 1.x, testing4j, 2.8
def test_vector_4_timeout(storm, start, wait):
    feed, cluster = cluster_of(AckEveryOther, Settings(message_timeout_secs=10), profile=storm)
    cluster.advance(start)
    for number in (1, 2, 3):
        feed.put("abc"[number - 1], msg_id=number)
    cluster.advance(9)
    assert (feed.acked, feed.failed) == ([1, 3], [])
    cluster.advance(wait)
    assert feed.failed == [2]


@each_storm
@pytest.mark.parametrize("wait", [20, 12])  # 1.x, 2.8
def test_vector_5_timeouts_disabled(storm, wait):
    settings = Settings(message_timeout_secs=10, enable_message_timeouts=False)
    feed, cluster = cluster_of(AckEveryOther, settings, profile=storm)
    for number in (1, 2, 3):
        feed.put(number, msg_id=number)
    cluster.advance(9)
    assert feed.acked == [1, 3]
    cluster.advance(wait)
    assert feed.failed == []
    forgets = storm == "storm-1.2.4"  # its acker still receives ticks
    assert [entry.task for entry in cluster.pending()] == ([] if forgets else [_spout_task(cluster)])


def _spout_task(cluster):
    (spout,) = cluster.instances("spout")
    return spout.context.task


def _extend_twice(bolt, tup):
    for _ in range(2):
        yield 8
        bolt.collector.reset_timeout(tup)
    yield 8
    bolt.collector.ack(tup)


def _wait(bolt, tup):
    yield 24
    bolt.collector.ack(tup)


@each_storm
def test_vector_6_reset_timeout_in_1_1_0(storm):
    feed, cluster = cluster_of(lambda: Do(_extend_twice), Settings(message_timeout_secs=10), profile=storm)
    cluster.advance(11)
    feed.put("a", msg_id=1)
    cluster.advance(21)
    assert (feed.acked, feed.failed) == ([], [])
    cluster.advance(5)
    assert (feed.acked, feed.failed) == ([1], [])


@each_storm
def test_vector_6_without_resets_the_root_fails_at_the_second_tick(storm):
    feed, cluster = cluster_of(lambda: Do(_wait), Settings(message_timeout_secs=10), profile=storm)
    cluster.advance(11)
    feed.put("a", msg_id=1)
    cluster.advance(18.9)
    assert feed.failed == []
    cluster.advance(0.1)
    assert feed.failed == [1]


@each_storm
def test_vector_7_reset_timeout_in_2_8(storm):
    class ResetFirst(Bolt):
        def __init__(self):
            self.count = 0

        def execute(self, tup):
            self.count += 1
            if self.count == 1:
                self.first = tup
            elif self.count < 5:
                self.collector.reset_timeout(self.first)
                if self.count > 2:
                    self.collector.ack(tup)
            else:
                self.collector.ack(self.first)
                self.collector.ack(tup)

    feed, cluster = cluster_of(ResetFirst, Settings(message_timeout_secs=10), profile=storm)
    feed.put("a", msg_id=1)
    feed.put("b", msg_id=2)
    cluster.advance(9)
    feed.put("c", msg_id=3)
    cluster.settle()
    assert feed.acked == [3]
    cluster.advance(9)
    feed.put("d", msg_id=4)
    cluster.settle()
    assert feed.acked == [3, 4]
    cluster.advance(2)
    assert feed.failed == [2]
    feed.put("e", msg_id=5)
    cluster.settle()
    assert set(feed.acked) == {1, 3, 4, 5}
    assert feed.failed == [2]


@each_storm
def test_vector_8_a_topology_that_is_submitted_inactive(storm):
    opened = []

    class Prepared(Ack):
        def prepare(self, context, collector):
            super().prepare(context, collector)
            opened.append("bolt")

    feed, cluster = cluster_of(Prepared, Settings(message_timeout_secs=10), profile=storm, active=False)
    feed.put("a", msg_id=1)
    cluster.advance(9)
    assert (opened, cluster.instances("spout")) == ([], ())
    cluster.activate()
    cluster.advance(12)
    assert (opened, feed.acked) == (["bolt"], [1])


@each_storm
def test_vector_9_the_emit_hook_counts_the_data_and_the_message_to_the_acker(storm):
    class Counts(TaskHook):
        emitted = acked = failed = executed = 0

        def emit(self, info):
            self.emitted += 1

        def bolt_ack(self, info):
            self.acked += 1

        def bolt_fail(self, info):
            self.failed += 1

        def bolt_execute(self, info):
            self.executed += 1

    class Hooked(Bolt):
        def prepare(self, context, collector):
            super().prepare(context, collector)
            self.counts = Counts()
            context.add_task_hook(self.counts)

        def execute(self, tup):
            counts = self.counts
            self.collector.emit([[counts.emitted, counts.acked, counts.failed, counts.executed]])
            complete = self.collector.ack if counts.acked == counts.failed else self.collector.fail
            complete(tup)

    seen: list[object] = []
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", feed, outputs=["conf"])
    builder.set_bolt("2", Hooked, outputs=["counts"]).shuffle_grouping("1")
    builder.set_bolt("3", lambda: Ack(seen)).global_grouping("2")
    cluster = Cluster(builder.build(), profile=storm)
    for number in range(4):
        feed.put(number, msg_id=number)
    cluster.settle()
    assert seen == [[0, 0, 0, 0], [2, 1, 0, 1], [4, 1, 1, 2], [6, 2, 1, 3]]


@each_storm
def test_vector_10_many_tasks_in_an_executor(storm):
    class Index(BasicBolt):
        def process(self, tup):
            self.emit([self.context.task_index])

    inits: list[object] = []
    seen: list[int] = []

    class Inits(TaskHook):
        def emit(self, info):
            if info.stream == "__ack_init":
                inits.append(info.values)

    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", feed, outputs=["num"])
    builder.set_bolt("2", Index, parallelism=3, tasks=6, outputs=["index"]).all_grouping("1")
    builder.set_bolt("3", lambda: Ack(seen)).global_grouping("2")
    cluster = Cluster(builder.build(), profile=storm, hooks=[Inits()])
    feed.put("a", msg_id=1)
    cluster.settle()
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]
    assert (len(inits), feed.acked) == (1, [1])


@each_storm
def test_vector_11_the_system_stream(storm):
    seen: list[object] = []
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", feed, tasks=3, parallelism=3, outputs=["word"])
    builder.set_bolt("2", lambda: Ack(seen)).fields_grouping("1", "word").global_grouping("1", SYSTEM_STREAM)
    cluster = Cluster(builder.build(), profile=storm)
    for word in "abc":
        feed.put(word, msg_id=word)
    cluster.settle()
    startups = [] if storm == "storm-2.8.8" else ["startup"] * 3
    assert sorted(seen, key=str) == ["a", "b", "c", *startups]


@pytest.mark.parametrize(("storm", "rotations"), [("storm-2.7.1", 5), ("storm-2.8.8", 1), ("storm-1.1.0", 5)])
def test_vector_15_a_broadcast_tick_rotates_a_spout_executor_of_five_tasks(storm, rotations):
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, parallelism=1, tasks=5, outputs=["value"])
    builder.set_bolt("bolt", lambda: Do(lambda _bolt, _tup: None)).global_grouping("spout")
    cluster = Cluster(builder.build(Settings(message_timeout_secs=10)), profile=storm)
    cluster.advance(9)
    feed.put(1, msg_id=1)
    cluster.advance(1)  # one tick
    assert feed.failed == ([1] if rotations >= 2 else [])
    cluster.advance(10)
    assert feed.failed == [1]


@each_storm
def test_vector_16_basic_topology(storm):
    class WordCounter(BasicBolt):
        def __init__(self):
            self.counts: dict[str, int] = {}

        def process(self, tup):
            self.counts[tup["word"]] = self.counts.get(tup["word"], 0) + 1
            self.emit([(tup["word"], self.counts[tup["word"]])])

    class GlobalCounter(BasicBolt):
        count = 0

        def process(self, tup):
            self.count += 1
            self.emit([self.count])

    seen: dict[str, list[Any]] = {"2": [], "3": [], "4": []}
    words = Feed()
    builder = TopologyBuilder()
    builder.set_spout("1", words, parallelism=3, outputs=["word"])
    builder.set_bolt("2", WordCounter, parallelism=4, outputs=["count"]).fields_grouping("1", "word")
    builder.set_bolt("3", GlobalCounter, outputs=["count"]).global_grouping("1")
    builder.set_bolt("4", GlobalCounter, outputs=["count"]).global_grouping("2")
    for name, values in seen.items():
        builder.set_bolt(f"after {name}", partial(Ack, values)).global_grouping(name)
    cluster = Cluster(builder.build(), profile=storm)
    for number, word in enumerate(["nathan", "bob", "joey", "nathan"]):
        words.put(word, msg_id=number)
    cluster.settle()
    assert sorted(seen["2"]) == [("bob", 1), ("joey", 1), ("nathan", 1), ("nathan", 2)]
    assert (seen["3"], seen["4"]) == ([1, 2, 3, 4], [1, 2, 3, 4])
    assert set(words.acked) == {0, 1, 2, 3}
