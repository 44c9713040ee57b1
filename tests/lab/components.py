"""Components that many tests use; some are from Storm's own tests."""

from collections.abc import Callable, Iterator
from typing import Any

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Feed, Tup
from ackdoctor.lab.topology import Settings, TopologyBuilder

STORMS = ("storm-1.1.0", "storm-1.2.4", "storm-2.8.8")


class Ack(Bolt):
    """Acks each tuple and records its first value."""

    def __init__(self, seen: list[Any] | None = None) -> None:
        self.seen = [] if seen is None else seen

    def execute(self, tup: Tup) -> None:
        self.seen.append(tup.values[0])
        self.collector.ack(tup)


class Branch(Bolt):
    """Emits each tuple `branches` times, anchored, and acks it."""

    def __init__(self, branches: int = 1) -> None:
        self.branches = branches

    def execute(self, tup: Tup) -> None:
        for _ in range(self.branches):
            self.collector.emit(tup.values, anchors=[tup])
        self.collector.ack(tup)


class Aggregate(Bolt):
    """Collects `size` tuples, emits one tuple that is anchored to all of them, and acks them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.tuples: list[Tup] = []

    def execute(self, tup: Tup) -> None:
        self.tuples.append(tup)
        if len(self.tuples) == self.size:
            self.collector.emit([len(self.tuples)], anchors=self.tuples)
            for collected in self.tuples:
                self.collector.ack(collected)
            self.tuples.clear()


class AckEveryOther(Bolt):
    """Acks the first tuple, the third, and so on."""

    def __init__(self) -> None:
        self.acking = False

    def execute(self, tup: Tup) -> None:
        self.acking = not self.acking
        if self.acking:
            self.collector.ack(tup)


class Do(Bolt):
    """Calls a function with the bolt and each tuple."""

    def __init__(self, execute: Callable[[Bolt, Tup], Iterator[float] | None]) -> None:
        self._execute = execute

    def execute(self, tup: Tup) -> Iterator[float] | None:
        return self._execute(self, tup)


def cluster_of(
    bolt: Callable[[], Bolt], settings: Settings | None = None, **options: Any
) -> tuple[Feed, Cluster]:
    """Return a feeder and a cluster with one bolt, as in most of Storm's own tests."""
    feed = Feed()
    builder = TopologyBuilder()
    builder.set_spout("spout", feed, outputs=["value"])
    builder.set_bolt("bolt", bolt).global_grouping("spout")
    return feed, Cluster(builder.build(settings), **options)
