"""Trident: batches with transaction ids, committed in order, on the cluster's spouts, bolts and ackers.

    trident = Trident(numbers=10_000, emitter=TransactionalEmitter, state=TransactionalState)
    cluster = Cluster(trident.topology())
    cluster.advance(3600)
    trident.totals()    Totals(sum=50005000, added=10000, ...)

The coordinator emits a batch's (txid, attempt), waits until its tree is complete, and emits the commit if all earlier
transactions are committed.  The emitter emits the numbers of the batch, the state bolt writes their totals at the
commit.  What fails or times out is emitted again with the same txid and the next attempt.

Sources: MasterBatchCoordinator.java, TridentSpoutExecutor.java, PartitionedTridentSpoutExecutor.java,
OpaquePartitionedTridentSpoutExecutor.java, TridentBoltExecutor.java, TransactionalMap.java, OpaqueMap.java @ v2.8.8.
Left out: the spout coordinator, which stores the metadata of partitions, and the interval between batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto, unique
from itertools import count
from typing import NamedTuple, TypeAlias

from ackdoctor.lab.component import (
    Bolt,
    Context,
    OutputCollector,
    Spout,
    SpoutOutputCollector,
    Tup,
    WorkerDiedError,
)
from ackdoctor.lab.topology import Settings, Topology, TopologyBuilder

COORDINATOR, EMITTER, STATE = "$mastercoord", "spout", "state"
_BATCH, _COMMIT, _SUCCESS = "$batch", "$commit", "$success"
_NUMBERS, _COORD = "numbers", "$coord"


class Attempt(NamedTuple):
    """TransactionAttempt.java: an attempt of a transaction."""

    txid: int
    attempt: int


class Range(NamedTuple):
    """The metadata of a batch: the numbers `first` to `end - 1`."""

    first: int
    end: int


class Totals(NamedTuple):
    """What a state holds of some numbers: their sum, how many it added, and a bit for each number."""

    sum: int = 0
    added: int = 0
    seen: int = 0

    @property
    def distinct(self) -> int:
        """How many different numbers were added."""
        return self.seen.bit_count()

    def plus(self, other: "Totals") -> "Totals":
        """Combine the totals of two sets of numbers."""
        return Totals(self.sum + other.sum, self.added + other.added, self.seen | other.seen)


def totals_of(numbers: Sequence[int]) -> Totals:
    """Return the totals of some numbers."""
    seen = 0
    for number in numbers:
        seen |= 1 << number
    return Totals(sum(numbers), len(numbers), seen)


@dataclass(slots=True)
class Zookeeper:
    """What coordinator and emitter store, and find again after a restart."""

    current: int = 1
    attempts: Mapping[int, int] = field(default_factory=dict)  # txid -> last attempt
    ranges: dict[int, Range] = field(default_factory=dict)  # txid -> metadata of the batch


# ---- states ----


class State(ABC):
    """A map from keys to totals, which outlives the state bolt."""

    @abstractmethod
    def update(self, txid: int, key: int, added: Totals) -> None:
        """Add totals to a key's value, in a transaction."""

    @abstractmethod
    def values(self) -> Sequence[Totals]:
        """The values of all keys."""


class PlainState(State):
    """NonTransactionalMap.java: it adds whatever comes, and so a replayed batch counts twice."""

    def __init__(self) -> None:
        self._entries: dict[int, Totals] = {}

    def update(self, txid: int, key: int, added: Totals) -> None:  # noqa: ARG002 - that is its defect
        """Add."""
        self._entries[key] = self._entries.get(key, Totals()).plus(added)

    def values(self) -> Sequence[Totals]:
        """The values."""
        return tuple(self._entries.values())


class TransactionalState(State):
    """TransactionalMap.java: a key that has the transaction's id already has its numbers, and is not changed."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[int, Totals]] = {}

    def update(self, txid: int, key: int, added: Totals) -> None:
        """Add, unless this transaction has."""
        last, value = self._entries.get(key, (0, Totals()))
        if last != txid:
            self._entries[key] = (txid, value.plus(added))

    def values(self) -> Sequence[Totals]:
        """The values."""
        return tuple(value for _, value in self._entries.values())


class OpaqueState(State):
    """OpaqueMap.java: a key keeps its value from before the transaction, to which a replay adds.

    A key that an attempt has written, and that the next attempt does not have, keeps what the first one added.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[int, Totals, Totals]] = {}  # txid, value, value before

    def update(self, txid: int, key: int, added: Totals) -> None:
        """Add to the value from before the transaction."""
        last, value, before = self._entries.get(key, (0, Totals(), Totals()))
        if last > txid:
            raise WorkerDiedError(f"Current batch ({txid}) is behind state's batch: {last}")
        if last < txid:
            before = value
        self._entries[key] = (txid, before.plus(added), before)

    def values(self) -> Sequence[Totals]:
        """The values."""
        return tuple(value for _, value, _ in self._entries.values())


# ---- emitters ----


class Emitter(ABC):
    """Decides which numbers a batch has.  `size(attempt)` is how many the source offers at that time."""

    def __init__(self, zookeeper: Zookeeper, numbers: int, size: Callable[[Attempt], int]) -> None:
        self._zookeeper = zookeeper
        self._numbers = numbers
        self._size = size

    @abstractmethod
    def emit(self, attempt: Attempt) -> Range:
        """Return the batch of an attempt."""

    @abstractmethod
    def commit(self, attempt: Attempt) -> None:
        """The transaction commits."""

    def success(self, attempt: Attempt) -> None:
        """The transaction is committed; forget the older ones."""
        ranges = self._zookeeper.ranges
        for txid in [txid for txid in ranges if txid < attempt.txid]:
            del ranges[txid]

    def _next(self, last: Range, attempt: Attempt) -> Range:
        return Range(last.end, min(last.end + self._size(attempt), self._numbers + 1))


class TransactionalEmitter(Emitter):
    """Stores the batch at its first attempt; every attempt has the same content."""

    def emit(self, attempt: Attempt) -> Range:
        """Return the stored batch, or store a new one."""
        ranges = self._zookeeper.ranges
        if attempt.txid not in ranges:
            earlier = [txid for txid in ranges if txid < attempt.txid]
            last = ranges[max(earlier)] if earlier else Range(1, 1)
            ranges[attempt.txid] = self._next(last, attempt)
        return ranges[attempt.txid]

    def commit(self, attempt: Attempt) -> None:
        """Nothing is left to store; the emitter does not even receive commits."""


class OpaqueEmitter(Emitter):
    """Stores the batch at its commit; another attempt begins at the same number, and may end at another one."""

    def __init__(self, zookeeper: Zookeeper, numbers: int, size: Callable[[Attempt], int]) -> None:
        super().__init__(zookeeper, numbers, size)
        self._cached: dict[int, Range] = {}

    def emit(self, attempt: Attempt) -> Range:
        """Return the numbers after the previous batch."""
        ranges, cached = self._zookeeper.ranges, self._cached
        ranges.pop(attempt.txid, None)
        earlier = [txid for txid in cached if txid < attempt.txid]
        stored = ranges[max(ranges)] if ranges else Range(1, 1)
        last = cached[max(earlier)] if earlier else stored
        cached[attempt.txid] = self._next(last, attempt)
        return cached[attempt.txid]

    def commit(self, attempt: Attempt) -> None:
        """Store the batch."""
        self._zookeeper.ranges[attempt.txid] = self._cached.pop(attempt.txid)


# ---- components ----


@unique
class _Status(Enum):
    PROCESSING = auto()
    PROCESSED = auto()
    COMMITTING = auto()


class _Coordinator(Spout):
    """MasterBatchCoordinator.java; `active` is topology.max.spout.pending, a number of batches."""

    def __init__(self, zookeeper: Zookeeper, numbers: int, active: int) -> None:
        self._zookeeper = zookeeper
        self._numbers = numbers
        self._max_active = active

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Continue with the stored transaction, with attempts after the stored ones."""
        super().open(context, collector)
        self._active: dict[int, tuple[Attempt, _Status]] = {}
        self._current = self._zookeeper.current
        # getStoredCurrAttempts: tailMap drops the last of the active transactions too
        last = self._current + self._max_active - 1
        self._attempts = {
            txid: number for txid, number in self._zookeeper.attempts.items() if self._current <= txid < last
        }

    def next_tuple(self) -> None:
        """Commit or emit what is due."""
        self._sync()

    def ack(self, msg_id: Hashable) -> None:
        """A batch is processed, or its commit is done."""
        assert isinstance(msg_id, Attempt), "the message id is the attempt"
        attempt, status = self._active.get(msg_id.txid, (None, None))
        if attempt != msg_id:
            return
        if status is _Status.PROCESSING:
            self._active[msg_id.txid] = (msg_id, _Status.PROCESSED)
        elif status is _Status.COMMITTING:
            del self._active[msg_id.txid]
            self._attempts.pop(msg_id.txid, None)
            self.collector.emit((msg_id,), stream=_SUCCESS)
            self._current = self._zookeeper.current = msg_id.txid + 1
        self._sync()

    def fail(self, msg_id: Hashable) -> None:
        """Emit the transaction and all later ones again."""
        assert isinstance(msg_id, Attempt), "the message id is the attempt"
        attempt, _ = self._active.pop(msg_id.txid, (None, None))
        if attempt == msg_id:
            for txid in [txid for txid in self._active if txid >= msg_id.txid]:
                del self._active[txid]
            self._sync()

    def _sync(self) -> None:
        attempt, status = self._active.get(self._current, (None, None))
        if attempt is not None and status is _Status.PROCESSED:
            self._active[self._current] = (attempt, _Status.COMMITTING)
            self.collector.emit((attempt,), stream=_COMMIT, msg_id=attempt)
        if len(self._active) >= self._max_active or not self._ready():
            return
        for txid in range(self._current, self._current + self._max_active):
            if txid not in self._active:
                self._attempts[txid] = self._attempts.get(txid, -1) + 1
                self._zookeeper.attempts = dict(self._attempts)
                attempt = Attempt(txid, self._attempts[txid])
                self._active[txid] = (attempt, _Status.PROCESSING)
                self.collector.emit((attempt,), stream=_BATCH, msg_id=attempt)

    def _ready(self) -> bool:
        """Whether numbers are left after the last commit."""
        last = self._zookeeper.ranges.get(self._current - 1)
        return self._numbers > 0 if last is None else last.end <= self._numbers


class _EmitterBolt(Bolt):
    """TridentBoltExecutor.java with TridentSpoutExecutor.java."""

    def __init__(self, emitter: Emitter, keys: int, before_emit: Callable[[int], None]) -> None:
        self._emitter = emitter
        self._keys = keys
        self._before_emit = before_emit
        self._active: dict[int, Attempt] = {}

    def execute(self, tup: Tup) -> None:
        """Emit a batch, or commit it, or forget older ones."""
        (attempt,) = tup.values
        assert isinstance(attempt, Attempt), "the first value is the attempt"
        if tup.stream == _BATCH:
            self._emit(tup, attempt)
            self._active[attempt.txid] = attempt
        elif tup.stream == _COMMIT:
            if self._active.pop(attempt.txid, None) != attempt:
                raise WorkerDiedError("Received commit for different transaction attempt")
            self._emitter.commit(attempt)
        else:
            self._active = {txid: other for txid, other in self._active.items() if txid >= attempt.txid}
            self._emitter.success(attempt)
        self.collector.ack(tup)

    def _emit(self, tup: Tup, attempt: Attempt) -> None:
        """Emit the numbers, then each state task's number of tuples."""
        emitted = dict.fromkeys(self.context.tasks_of(STATE), 0)
        for number in range(*self._emitter.emit(attempt)):
            self._before_emit(number)
            values = (attempt, number % self._keys, number)
            for task in self.collector.emit(values, anchors=(tup,), stream=_NUMBERS):
                emitted[task] += 1
        for task, tuples in emitted.items():
            self.collector.emit((attempt, tuples), anchors=(tup,), stream=_COORD, task=task)


@unique
class Point(Enum):
    """A point of a commit at which a fault may happen."""

    BEFORE = "before the state write"
    HALFWAY = "halfway through the state write"
    AFTER = "after the state write"


OnCommit: TypeAlias = Callable[[Point, int], None]
"""Called at each point of each commit with the number of the commit, from 1; it may raise WorkerDiedError."""


@dataclass(slots=True)
class _Batch:
    """TrackedBatch: what a state task has received of an attempt."""

    attempt: int
    numbers: dict[int, list[int]] = field(default_factory=dict)  # key -> numbers
    received: int = 0
    expected: int = 0
    reports: int = 0  # from emitter tasks; there is one
    commit: Tup | None = None


class _StateBolt(Bolt):
    """TridentBoltExecutor.java with PartitionPersistProcessor.java, a committer."""

    def __init__(self, states: Sequence[State], commits: "count[int]", on_commit: OnCommit) -> None:
        self._states = states
        self._commits = commits
        self._on_commit = on_commit
        self._batches: dict[int, _Batch] = {}

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Open the state of this task."""
        super().prepare(context, collector)
        self._state = self._states[context.task_index]

    def execute(self, tup: Tup) -> None:
        """Collect the batch; write it when all of it and the commit have arrived."""
        attempt, *values = tup.values
        assert isinstance(attempt, Attempt), "the first value is the attempt"
        batch = self._batches.get(attempt.txid)
        if batch is None or attempt.attempt > batch.attempt:
            batch = self._batches[attempt.txid] = _Batch(attempt.attempt)
        elif attempt.attempt < batch.attempt:
            return  # neither acked nor failed: the older attempt times out
        if tup.stream == _NUMBERS:
            key, number = values
            assert isinstance(key, int) and isinstance(number, int), "the emitter emits integers"  # noqa: PT018
            batch.received += 1
            batch.numbers.setdefault(key, []).append(number)
        elif tup.stream == _COORD:
            (tuples,) = values
            assert isinstance(tuples, int), "the emitter counts its tuples"
            batch.expected += tuples
            batch.reports += 1
        else:
            batch.commit = tup
        self._finish(attempt.txid, batch)
        if tup.stream != _COMMIT:
            self.collector.ack(tup)

    def _finish(self, txid: int, batch: _Batch) -> None:
        """Write the batch and ack its commit.  A task that has lost the batch waits for the timeout."""
        if batch.commit is None or batch.reports != 1:
            return
        if batch.received == batch.expected:
            self._write(txid, batch)
            self.collector.ack(batch.commit)
        else:
            self.collector.fail(batch.commit)
        del self._batches[txid]

    def _write(self, txid: int, batch: _Batch) -> None:
        if not batch.numbers:
            return
        commit, keys = next(self._commits), sorted(batch.numbers)
        self._on_commit(Point.BEFORE, commit)
        for place, key in enumerate(keys):
            if place and place == len(keys) // 2:
                self._on_commit(Point.HALFWAY, commit)
            self._state.update(txid, key, totals_of(batch.numbers[key]))
        self._on_commit(Point.AFTER, commit)


# ---- topology ----


@dataclass(slots=True, kw_only=True)
class Trident:
    """A Trident topology that adds up the numbers 1 to `numbers`, by the remainder of their division by `keys`.

    Its state and its Zookeeper outlive all components.  `batch` is the size of a batch, or a function of the attempt.
    `active` batches are processed at the same time.  `on_commit` and `before_emit` (of a number) may inject faults.
    """

    numbers: int
    emitter: type[Emitter]
    state: Callable[[], State]
    batch: int | Callable[[Attempt], int] = 100
    keys: int = 4
    active: int = 1
    state_tasks: int = 1
    on_commit: OnCommit = lambda _point, _commit: None
    before_emit: Callable[[int], None] = lambda _number: None
    zookeeper: Zookeeper = field(default_factory=Zookeeper)
    states: list[State] = field(init=False)

    def __post_init__(self) -> None:
        """Create the states."""
        self.states = [self.state() for _ in range(self.state_tasks)]

    def topology(self, *, ackers: int = 1, message_timeout_secs: int = 30) -> Topology:
        """Build the topology; its components are COORDINATOR, EMITTER and STATE."""
        if not ackers:
            raise ValueError("Trident needs an acker: without one, every emit is acked at once")
        builder = TopologyBuilder()
        streams = dict.fromkeys((_BATCH, _COMMIT, _SUCCESS), ("tx",))
        builder.set_spout(
            COORDINATOR, lambda: _Coordinator(self.zookeeper, self.numbers, self.active), outputs=streams
        )
        emitter = builder.set_bolt(
            EMITTER,
            lambda: _EmitterBolt(self._new_emitter(), self.keys, self.before_emit),
            outputs={_NUMBERS: ("tx", "key", "number"), _COORD: ("tx", "count")},
        )
        for stream in (_BATCH, _SUCCESS, *([_COMMIT] if issubclass(self.emitter, OpaqueEmitter) else [])):
            emitter.all_grouping(COORDINATOR, stream=stream)
        commits = count(1)
        state = builder.set_bolt(
            STATE, lambda: _StateBolt(self.states, commits, self.on_commit), parallelism=self.state_tasks
        )
        state.fields_grouping(EMITTER, "key", stream=_NUMBERS).direct_grouping(EMITTER, stream=_COORD)
        state.all_grouping(COORDINATOR, stream=_COMMIT)
        return builder.build(Settings(ackers=ackers, message_timeout_secs=message_timeout_secs))

    def totals(self) -> Totals:
        """What all states hold."""
        found = Totals()
        for state in self.states:
            for value in state.values():
                found = found.plus(value)
        return found

    def _new_emitter(self) -> Emitter:
        batch = self.batch
        size = (lambda _attempt: batch) if isinstance(batch, int) else batch
        return self.emitter(self.zookeeper, self.numbers, size)
