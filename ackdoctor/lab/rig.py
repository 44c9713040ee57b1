"""The set-up of the published study: a source with offsets, one bolt and a sink, each in a worker of its own."""

from collections.abc import Collection, Iterator
from itertools import count

from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Tup, WorkerDiedError
from ackdoctor.lab.sink import Records, Sink
from ackdoctor.lab.source import OffsetSpout, Partition
from ackdoctor.lab.topology import Settings, TopologyBuilder

_LONG = 7200  # seconds, in which all timeouts and replays end


class Relay(Bolt):
    """Emits each tuple, anchored, and acks it; this takes `work_s` seconds.

    Dies in some executions, counted by `executions` over all restarts: before or after it has emitted.
    """

    def __init__(
        self,
        executions: Iterator[int],
        *,
        work_s: float = 0,
        before: Collection[int] = (),
        after: Collection[int] = (),
    ) -> None:
        self._executions = executions
        self._work_s = work_s
        self._before = before
        self._after = after

    def execute(self, tup: Tup) -> Iterator[float]:
        """Emit and ack, or die."""
        number = next(self._executions)
        if self._work_s:
            yield self._work_s
        if number in self._before:
            raise WorkerDiedError("before emit")
        self.collector.emit(tup.values, anchors=(tup,))
        if number in self._after:
            raise WorkerDiedError("after emit")
        self.collector.ack(tup)


class Rig:
    """The numbers 0 to `numbers - 1` go from `spout` through `bolt` to `sink`.

    `rate` limits the spout, `work_s` is the bolt's time for a tuple.  If the spout is faster than the bolt, its window
    of `pending` tuples is always full.  `before` and `after` are the executions in which the bolt dies.
    """

    def __init__(
        self,
        numbers: int,
        *,
        pending: int,
        rate: float | None = None,
        work_s: float = 0,
        commit_s: float = 0,
        ackers: int = 1,
        before: Collection[int] = (),
        after: Collection[int] = (),
        restart_s: float = 0,
        seed: int = 0,
        profile: Profile = NEWEST,
    ) -> None:
        self.partition = Partition(numbers)
        self.records = Records()
        executions = count(1)
        builder = TopologyBuilder()
        builder.set_spout(
            "spout",
            lambda: OffsetSpout(self.partition, rate=rate, commit_s=commit_s),
            outputs=("number", "attempt"),
        )
        bolt = builder.set_bolt(
            "bolt",
            lambda: Relay(executions, work_s=work_s, before=before, after=after),
            outputs=("number", "attempt"),
        )
        bolt.shuffle_grouping("spout")
        builder.set_bolt("sink", lambda: Sink(self.records)).shuffle_grouping("bolt")
        settings = Settings(ackers=ackers, max_spout_pending=pending)
        self.cluster = Cluster(builder.build(settings), profile=profile, seed=seed, restart_s=restart_s)

    @property
    def pending(self) -> int:
        """How many roots are pending in the spout."""
        return len(self.cluster.spout_pending("spout"))

    def run_to(self, deliveries: int) -> None:
        """Run until the sink has received as many numbers."""
        received = self.records.deliveries
        self.cluster.advance(_LONG, until=lambda: len(received) >= deliveries)

    def finish(self) -> None:
        """Run until nothing is pending any more."""
        self.cluster.advance(_LONG)

    @property
    def missing(self) -> int:
        """How many numbers never reached the sink."""
        return self.partition.size - len(self.records.counts())
