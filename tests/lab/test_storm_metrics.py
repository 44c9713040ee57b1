"""Storm's own tests of its metrics, run in the lab."""

import pytest

from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.lab.component import BoltInfo, EmitInfo, SpoutInfo, TaskHook
from ackdoctor.lab.topology import Settings
from tests.lab.components import STORMS, Ack, AckEveryOther, cluster_of

each_storm = pytest.mark.parametrize("storm", STORMS)


class Buckets(TaskHook):
    """Built-in metrics at sample rate 1.0: counts per bucket, from the first bucket with a count."""

    def __init__(self, seconds):
        self.clock = VirtualClock()
        self.seconds = seconds
        self.times: dict[str, list[int]] = {}

    def counts(self, name):
        width, now = self.seconds * 1000, self.clock.now_ms()
        buckets = [time // width for time in self.times.get(name, [])]
        return [buckets.count(number) for number in range(min(buckets, default=0), now // width)]

    def _count(self, name):
        self.times.setdefault(name, []).append(self.clock.now_ms())

    def emit(self, info: EmitInfo) -> None:
        self._count(f"emit/{info.stream}")
        for _ in info.out_tasks:
            self._count(f"transfer/{info.stream}")

    def spout_ack(self, info: SpoutInfo) -> None:
        self._count("spout ack")

    def spout_fail(self, info: SpoutInfo) -> None:
        self._count("spout fail")

    def bolt_ack(self, info: BoltInfo) -> None:
        self._count(f"ack/{info.tup.component}:{info.tup.stream}")

    def bolt_execute(self, info: BoltInfo) -> None:
        self._count(f"execute/{info.tup.component}:{info.tup.stream}")


def _metered(bolt, seconds, storm, **settings):
    buckets = Buckets(seconds)
    feed, cluster = cluster_of(
        bolt, Settings(**settings), profile=storm, hooks=[buckets], clock=buckets.clock
    )
    return feed, cluster, buckets


@each_storm
def test_vector_12_built_in_metrics_1(storm):
    feed, cluster, buckets = _metered(Ack, 60, storm)
    names = ("spout ack", "emit/default", "transfer/default", "ack/spout:default", "execute/spout:default")
    feed.put("a", msg_id=1)
    cluster.advance(61)
    assert [buckets.counts(name) for name in names] == [[1]] * 5
    cluster.advance(120)
    assert [buckets.counts(name) for name in names] == [[1, 0, 0]] * 5
    feed.put("b", msg_id=2)
    feed.put("c", msg_id=3)
    cluster.advance(60)
    assert [buckets.counts(name) for name in names] == [[1, 0, 0, 2]] * 5


@each_storm
def test_vector_13_built_in_metrics_2(storm):
    feed, cluster, buckets = _metered(AckEveryOther, 5, storm, message_timeout_secs=300)
    feed.put("a", msg_id=1)
    cluster.advance(6)
    assert (buckets.counts("spout ack"), buckets.counts("emit/default")) == ([1], [1])
    feed.put("b", msg_id=2)
    cluster.advance(5)
    assert buckets.counts("spout ack") == buckets.counts("ack/spout:default") == [1, 0]
    assert buckets.counts("emit/default") == buckets.counts("execute/spout:default") == [1, 1]
    cluster.advance(15)
    feed.put("c", msg_id=3)
    cluster.advance(15)
    assert buckets.counts("spout ack") == buckets.counts("ack/spout:default") == [1, 0, 0, 0, 0, 1, 0, 0]
    assert (
        buckets.counts("emit/default") == buckets.counts("execute/spout:default") == [1, 1, 0, 0, 0, 1, 0, 0]
    )


@each_storm
def test_vector_14_built_in_metrics_3(storm):
    feed, cluster, buckets = _metered(AckEveryOther, 5, storm, message_timeout_secs=10)
    for number in (1, 2, 3):
        feed.put(number, msg_id=number)
    cluster.advance(9)
    assert (buckets.counts("spout ack"), buckets.counts("ack/spout:default")) == ([2], [2])
    assert (buckets.counts("emit/default"), buckets.counts("execute/spout:default")) == ([3], [3])
    assert (feed.acked, feed.failed) == ([1, 3], [])
    cluster.advance(30)
    assert feed.failed == [2]
    assert buckets.counts("spout fail")[0] == 1
    assert buckets.counts("spout ack")[:4] == buckets.counts("ack/spout:default")[:4] == [2, 0, 0, 0]
    assert buckets.counts("emit/default")[:4] == buckets.counts("execute/spout:default")[:4] == [3, 0, 0, 0]
