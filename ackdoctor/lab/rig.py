"""A source with offsets and a recording sink, and the set-up of the published study, with one bolt between them.

    partition, records = Partition(1000), Records()
    builder.set_spout("spout", lambda: OffsetSpout(partition, rate=500, commit_s=2), outputs=["value", "attempt"])
    builder.set_bolt("sink", lambda: Sink(records)).shuffle_grouping("spout")
    records.times_seen()    {1: 998, 2: 2}: two values arrived twice

The partition and the records outlive their components.  A new spout reads from the committed offset, the floor of the
acked ones: it reads again what was pending, and what was acked since the last commit.
"""

from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import NamedTuple

from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, Context, Spout, SpoutOutputCollector, Tup, WorkerDiedError
from ackdoctor.lab.topology import Settings, TopologyBuilder

# ---- the source ----


@dataclass(slots=True)
class Read:
    """The offsets that one spout has read, from its start to its death: `first` to `end - 1`."""

    first: int
    end: int


@dataclass(slots=True)
class Partition:
    """The offsets 0 to `size - 1`, of which all below `committed` are done.

    `reads` has one entry for each spout that has read the partition.  `attempts` counts the emits of each offset.
    """

    size: int
    committed: int = 0
    reads: list[Read] = field(default_factory=list)
    attempts: dict[int, int] = field(default_factory=dict)

    def times_read(self) -> dict[int, int]:
        """Return how many offsets one spout has read, how many two spouts, and so on; retries do not count."""
        steps: dict[int, int] = {}
        for read in self.reads:
            steps[read.first] = steps.get(read.first, 0) + 1
            steps[read.end] = steps.get(read.end, 0) - 1
        found: dict[int, int] = {}
        times, start = 0, 0
        for offset in sorted(steps):
            if times and offset > start:
                found[times] = found.get(times, 0) + offset - start
            times, start = times + steps[offset], offset
        return dict(sorted(found.items()))


class OffsetSpout(Spout):
    """Emits (offset, attempt) with the offset as message id.

    `rate` limits the tuples per second.  A failed offset is emitted again before new ones.  The floor is committed
    when `commit_s` seconds have passed since the last commit, as soon as the spout is called.  Without `tracked` the
    tuples have no message id.
    """

    def __init__(
        self, partition: Partition, *, rate: float | None = None, commit_s: float = 0, tracked: bool = True
    ) -> None:
        self._partition = partition
        self._tracked = tracked
        self._interval_ms = 1000 / rate if rate else 0
        self._commit_ms = commit_s * 1000
        self._due_ms = 0.0
        self._failed: deque[int] = deque()
        self._acked: set[int] = set()

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Start at the committed offset."""
        super().open(context, collector)
        self._floor = self._partition.committed
        self._committed_ms = context.now_ms()
        self._read = Read(self._floor, self._floor)
        self._partition.reads.append(self._read)

    @property
    def position(self) -> int:
        """The next offset that was not yet read."""
        return self._read.end

    @property
    def floor(self) -> int:
        """The first offset that is not acked; the next commit stores it."""
        return self._floor

    def next_tuple(self) -> float | None:
        """Emit a failed offset or the next one, unless the rate forbids it until later."""
        now_ms = self.context.now_ms()
        self._commit_if_due(now_ms)
        partition, read = self._partition, self._read
        if not self._failed and read.end == partition.size:
            return None
        if now_ms < self._due_ms:
            return (self._due_ms - now_ms) / 1000
        # within one millisecond, the clock's unit, several tuples may be due; the spout does not make up for more
        self._due_ms = max(self._due_ms, now_ms - 1) + self._interval_ms
        if self._failed:
            offset = self._failed.popleft()
        else:
            offset = read.end
            read.end += 1
        attempt = partition.attempts[offset] = partition.attempts.get(offset, 0) + 1
        self.collector.emit((offset, attempt), msg_id=offset if self._tracked else None)
        return None

    def ack(self, msg_id: Hashable) -> None:
        """Advance the floor over the acked offsets."""
        assert isinstance(msg_id, int), "the message id is the offset"
        self._acked.add(msg_id)
        while self._floor in self._acked:
            self._acked.remove(self._floor)
            self._floor += 1
        self._commit_if_due(self.context.now_ms())

    def fail(self, msg_id: Hashable) -> None:
        """Read the offset again."""
        assert isinstance(msg_id, int), "the message id is the offset"
        self._failed.append(msg_id)

    def _commit_if_due(self, now_ms: int) -> None:
        if now_ms - self._committed_ms >= self._commit_ms:
            self._partition.committed = self._floor
            self._committed_ms = now_ms


# ---- the sink ----


class Delivery(NamedTuple):
    """One write; `attempt` is the attempt of the spout that emitted the value, 0 if it is unknown."""

    value: Hashable
    time_ms: int
    attempt: int


class Records:
    """All writes, in order."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []

    def counts(self) -> Counter[Hashable]:
        """Return how often each value arrived."""
        return Counter(delivery.value for delivery in self.deliveries)

    def times_seen(self) -> dict[int, int]:
        """Return how many values arrived once, how many twice, and so on."""
        return dict(sorted(Counter(self.counts().values()).items()))

    def repeated(self) -> int:
        """Return how many values arrived more than once; one that arrived three times counts once."""
        return sum(count for times, count in self.times_seen().items() if times > 1)

    def extra(self) -> int:
        """Return how many deliveries there are beyond the first of each value."""
        return len(self.deliveries) - len(self.counts())

    def missing(self, values: Collection[Hashable]) -> list[Hashable]:
        """Return the values that never arrived, in order."""
        counts = self.counts()
        return [value for value in values if value not in counts]


class Sink(Bolt):
    """Records the first value of each tuple, and its second value as attempt; acks.

    The write takes `seconds`.  With probability `resend`, the confirmation of a write is lost, and the producer
    writes again: the value arrives twice although Storm delivers it once.
    """

    def __init__(
        self, records: Records, *, seconds: float = 0, resend: float = 0, random: Random | None = None
    ) -> None:
        self._records = records
        self._seconds = seconds
        self._resend = resend
        self._random = random or Random(0)  # noqa: S311 - it decides a simulated fault

    def execute(self, tup: Tup) -> Iterator[float]:
        """Write, at the end of the time that it takes, and ack."""
        if self._seconds:
            yield self._seconds
        value, *rest = tup.values
        assert isinstance(value, Hashable), "a value is counted"
        attempt = rest[0] if rest and isinstance(rest[0], int) else 0
        delivery = Delivery(value, self.context.now_ms(), attempt)
        self._records.deliveries.append(delivery)
        while self._resend and self._random.random() < self._resend:
            self._records.deliveries.append(delivery)
        self.collector.ack(tup)


# ---- the set-up of the study ----

_LONG = 7200  # seconds, in which all timeouts and replays end


class Relay(Bolt):
    """Emits each tuple, anchored by default, and acks it; this takes `work_s` seconds.

    Dies in some executions, counted by `executions` over all restarts: before or after it has emitted.
    """

    def __init__(
        self,
        executions: Iterator[int] | None = None,
        *,
        work_s: float = 0,
        anchored: bool = True,
        before: Collection[int] = (),
        after: Collection[int] = (),
    ) -> None:
        self._executions = executions or count(1)
        self._work_s = work_s
        self._anchored = anchored
        self._before = before
        self._after = after

    def execute(self, tup: Tup) -> Iterator[float]:
        """Emit and ack, or die."""
        number = next(self._executions)
        if self._work_s:
            yield self._work_s
        if number in self._before:
            raise WorkerDiedError("before emit")
        self.collector.emit(tup.values, anchors=(tup,) if self._anchored else ())
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
