"""A leaking topology with heap snapshots, in its own process, because a snapshot costs by the size of the process."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

from ackdoctor.acker.versions import profile
from ackdoctor.heap.python_heap import ACKER, Owner, Snapshot, SnapshotSeries
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed
from ackdoctor.lab.topology import TopologyBuilder
from tests.lab.components import Ack

__all__ = ["leaked"]


class EvenAck(Bolt):
    """Emits a child and acks its input twice."""

    def execute(self, tup):
        self.collector.emit(tup.values, anchors=[tup])
        self.collector.ack(tup)
        self.collector.ack(tup)


@cache
def leaked(version: str) -> tuple[Snapshot, ...]:
    """A thousand roots, each acked an even number of times by the bolt that has one child."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_looked, version).result()


def _looked(version: str) -> tuple[Snapshot, ...]:
    feed, builder = Feed(), TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("even", EvenAck, outputs=["value"]).global_grouping("spout")
    builder.set_bolt("sink", Ack).global_grouping("even")
    cluster = Cluster(builder.build(), profile=profile(version))

    def known() -> Iterator[Owner]:
        for acker in cluster.ackers:
            yield Owner(name="acker", kind=ACKER, value=acker, tuples=begun)

    begun = 0
    series = SnapshotSeries(known, first_mark=100)
    series.take("start")
    for begun in range(1, 1_001):
        feed.put(begun, msg_id=begun)
        cluster.settle()
        series.look(sum(map(len, cluster.ackers)))
    series.take("end")
    return tuple(series.snapshots)
