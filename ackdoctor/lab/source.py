"""A source with committed offsets, such as a partition of Kafka, and the spout that reads it.

    partition = Partition(1000)
    builder.set_spout("spout", lambda: OffsetSpout(partition, rate=500, commit_s=2), outputs=["value", "attempt"])

The partition outlives the spout.  A new spout reads from the committed offset.  That is the floor of the acked
offsets: the first one that is not acked.  So it reads again what was pending, and what was acked since the last commit.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from ackdoctor.lab.component import Context, Spout, SpoutOutputCollector


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
