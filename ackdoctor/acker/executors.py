"""The bolt's collector and the spout's executor.

A collector draws edge ids and returns the messages for the acker.  The caller chooses the targets and sends
the messages.  A collector does not record which tuples are acked.

The spout executor's pending map is the only source of timeouts:

    emission = executor.emit(task, "message 1", targets=2)
    executor.receive(Answer(ACK, ...))    the result, SpoutResult(ACK | FAIL)
    executor.tick()                       the timeouts, SpoutResult(TIMEOUT)

The caller sends two tuples with `emission.message_ids`, then `emission.init` to the acker.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import reduce
from operator import xor
from typing import NamedTuple, TypeAlias

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.runtime import Clock, IdSource, RotatingMap
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import (
    AckAck,
    AckFail,
    AckInit,
    Answer,
    AnswerKind,
    Engine,
    Message,
    NoTargets,
    ResetTimeout,
)

MessageId: TypeAlias = Mapping[int, int]  # {root: edge}; empty for an unanchored tuple


@dataclass(slots=True, eq=False)
class TupleImpl:
    """The acking state of Storm's TupleImpl: its MessageId, and the XOR of its children's edges.

    A tuple equals only itself, as in Java.  `ack_val` is never reset.  Subclasses add values and a source.
    """

    message_id: MessageId
    ack_val: int = field(default=0, init=False)


class Emission(NamedTuple):
    """One MessageId for each target, in order, and messages for the acker (Heron only)."""

    message_ids: tuple[MessageId, ...]
    messages: tuple[Message, ...] = ()


class BoltCollector(ABC):
    """A bolt's collector.  Without ackers no tuple has roots, so it sends no messages."""

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids

    @abstractmethod
    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Emit one tuple to `targets` tasks.  A tuple listed twice as anchor gets two edges (except in Heron)."""

    @abstractmethod
    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return one ack for each root."""

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root] for each root."""
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:  # noqa: ARG002 - Storm's has one
        """Return one reset for each root, if the version supports it."""
        return ()


def make_collector(
    profile: Profile, *, ids: IdSource, clock: Clock, message_timeout_s: int = 30
) -> BoltCollector:
    """Return the collector of a version.  JStorm's needs the clock and the timeout, since it drops children after T."""
    match profile.engine:
        case Engine.CLOJURE | Engine.JAVA:
            return StormBoltCollector(ids, resets=profile.resets)
        case Engine.JSTORM:
            return JStormBoltCollector(ids, clock, message_timeout_s)
        case Engine.HERON:
            return HeronBoltCollector(ids)


class StormBoltCollector(BoltCollector):
    """executor.clj `bolt-emit`, `ack`, `fail`; BoltOutputCollectorImpl.java."""

    def __init__(self, ids: IdSource, *, resets: bool) -> None:
        super().__init__(ids)
        self._resets = resets

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Draw an edge for each target and anchored tuple; XOR it into `ack_val` and into the roots."""
        return Emission(tuple(self._message_id(anchors) for _ in range(targets)))

    def _message_id(self, anchors: Sequence[TupleImpl]) -> MessageId:
        anchors_to_ids: dict[int, int] = {}
        for anchor in anchors:
            if anchor.message_id:
                edge = self._ids.next_long()
                anchor.ack_val ^= edge
                for root in anchor.message_id:
                    anchors_to_ids[root] = anchors_to_ids.get(root, 0) ^ edge
        return anchors_to_ids

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root, edge ^ ack_val] for each root; a second ack returns the same."""
        return tuple(AckAck(root, edge ^ tup.ack_val) for root, edge in tup.message_id.items())

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root] for each root, since 1.0.0."""
        return tuple(ResetTimeout(root) for root in tup.message_id) if self._resets else ()


class JStormBoltCollector(BoltCollector):
    """BoltCollector.java of JStorm 2.4: a RotatingMap(3) holds the children's edges, keyed by tuple.

    Ack and fail remove them, so a second ack carries the bare edge.  A tuple held longer than T loses them.
    """

    def __init__(self, ids: IdSource, clock: Clock, message_timeout_s: int) -> None:
        super().__init__(ids)
        self._clock = clock
        self._pending_acks: RotatingMap[TupleImpl, int] = RotatingMap(3)
        self._rotate_ms = 1000 * message_timeout_s // 2
        self._last_rotate_ms = clock.now_ms()

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Rotate if T/2 has passed, then emit as Storm does."""
        now_ms = self._clock.now_ms()
        if now_ms - self._last_rotate_ms > self._rotate_ms:
            self._pending_acks.rotate()
            self._last_rotate_ms = now_ms
        return Emission(tuple(self._message_id(anchors) for _ in range(targets)))

    def _message_id(self, anchors: Sequence[TupleImpl]) -> MessageId:
        anchors_to_ids: dict[int, int] = {}
        for anchor in anchors:
            edge = self._ids.next_long()
            self._pending_acks.put(anchor, (self._pending_acks.get(anchor) or 0) ^ edge)
            for root in anchor.message_id:
                anchors_to_ids[root] = anchors_to_ids.get(root, 0) ^ edge
        return anchors_to_ids

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Remove the children; return [root, edge ^ children] for each root."""
        children = self._pending_acks.remove(tup) or 0
        return tuple(AckAck(root, edge ^ children) for root, edge in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Remove the children; return [root] for each root."""
        self._pending_acks.remove(tup)
        return super().fail(tup)


class HeronBoltCollector(BoltCollector):
    """A Heron instance and its stream manager: an emit announces the child's key, an ack carries the tuple's own key."""

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Draw one key for each target, and announce it to every root of the anchors."""
        roots = dict.fromkeys(root for anchor in anchors for root in anchor.message_id)
        keys = [self._ids.next_long() for _ in range(targets)]
        return Emission(
            tuple(dict.fromkeys(roots, key) for key in keys),
            tuple(AckEmit(root, key) for key in keys for root in roots),
        )

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root, key] for each root."""
        return tuple(AckAck(root, key) for root, key in tup.message_id.items())


@unique
class Reason(Enum):
    """Why the executor calls ack or fail; FAIL and TIMEOUT both call fail (REASON in the debug log)."""

    ACK = "ack"
    FAIL = "FAIL-STREAM"
    TIMEOUT = "TIMEOUT"


class SpoutResult(NamedTuple):
    """The result of a message, for the spout's ack or fail; `root` is None for an ack inside emit."""

    reason: Reason
    task: int
    message_id: Hashable
    root: int | None


class TupleInfo(NamedTuple):
    """The executor's entry of a pending root."""

    task: int
    message_id: Hashable
    emitted_ms: int


class SpoutEmission(NamedTuple):
    """One MessageId for each target, in order.  The init goes to the acker after the tuples.

    `result` is a result that emit itself produces, without an acker.
    """

    message_ids: tuple[MessageId, ...]
    root: int | None = None
    init: AckInit | None = None
    result: SpoutResult | None = None


class TaskMismatchError(RuntimeError):
    """An answer for a task that did not emit the root: "mismatched task ids"; the worker dies."""


class SpoutExecutor:
    """executor.clj `mk-threads :spout`; SpoutExecutor.java, SpoutOutputCollectorImpl.java; JStorm's and Heron's by profile.

    `ackers` 0 disables acking.  `max_spout_pending` is the setting, a limit per task; None or 0 for no limit.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        tasks: Sequence[int],
        ids: IdSource,
        clock: Clock,
        message_timeout_s: int = 30,
        ackers: int = 1,
        max_spout_pending: int | None = None,
    ) -> None:
        self._profile = profile
        self._tasks = tuple(tasks)
        self._ids = ids
        self._clock = clock
        self._timeout_ms = message_timeout_s * 1000
        self._ackers = ackers
        self._max_pending = (max_spout_pending or 0) * len(self._tasks)
        # Heron has one list in order of emission: the first of two buckets, which is never rotated.
        self._pending: RotatingMap[int, TupleInfo] = RotatingMap(max(2, profile.spout_buckets))

    def may_emit(self) -> bool:
        """Whether nextTuple may be called: fewer than max.spout.pending roots are pending."""
        return not self._max_pending or len(self._pending) < self._max_pending

    def emit(self, task: int, message_id: Hashable | None, targets: int) -> SpoutEmission:
        """Emit one tuple to `targets` tasks; without a message id it is untracked."""
        no_targets = None if targets else self._profile.no_targets
        acked = None
        if message_id is not None and no_targets is not NoTargets.NOTHING:
            acked = SpoutResult(Reason.ACK, task, message_id, None)
        if message_id is None or not self._ackers:
            return SpoutEmission(({},) * targets, result=acked)
        root = self._ids.next_long()
        while self._profile.engine is Engine.JSTORM and root in self._pending:
            root = self._ids.next_long()  # only JStorm checks for a collision
        if no_targets in {NoTargets.ACK, NoTargets.NOTHING}:
            return SpoutEmission((), result=acked)
        edges = [self._ids.next_long() for _ in range(targets)]
        self._pending.put(root, TupleInfo(task, message_id, self._clock.now_ms()))
        init = AckInit(root, reduce(xor, edges, 0), task)
        return SpoutEmission(tuple({root: edge} for edge in edges), root, init)

    def receive(self, answer: Answer) -> SpoutResult | None:
        """Process an answer of the acker; a root that is not pending (late, or after a restart) is ignored."""
        if answer.kind is AnswerKind.RESET:
            info = self._pending.get(answer.root)
            if info is not None:
                self._pending.put(answer.root, info)
            return None
        info = self._pending.remove(answer.root)
        if info is None:
            return None
        if info.task != answer.task:
            raise TaskMismatchError(f"Fatal error, mismatched task ids: {answer.task} {info.task}")
        reason = Reason.ACK if answer.kind is AnswerKind.ACK else Reason.FAIL
        return SpoutResult(reason, info.task, info.message_id, answer.root)

    def tick(self) -> tuple[SpoutResult, ...]:
        """Process a tick; return the messages that time out, in order of emission."""
        if self._profile.engine is Engine.HERON:
            return self._expired()
        rotations = self._profile.spout_rotations(len(self._tasks))
        return tuple(
            _timeout(root, info) for _ in range(rotations) for root, info in self._pending.rotate().items()
        )

    def _expired(self) -> tuple[SpoutResult, ...]:
        deadline_ms = self._clock.now_ms() - self._timeout_ms
        (in_order, *_) = self._pending.buckets()
        late = [(root, info) for root, info in in_order.items() if info.emitted_ms <= deadline_ms]
        for root, _ in late:
            del in_order[root]
        return tuple(_timeout(root, info) for root, info in late)

    def info(self, root: int) -> TupleInfo | None:
        """Return the entry of a root, None if it is not pending."""
        return self._pending.get(root)

    def pending(self) -> dict[int, TupleInfo]:
        """Return every pending root, oldest bucket last."""
        return {root: info for bucket in self._pending.buckets() for root, info in bucket.items()}

    def __len__(self) -> int:
        """`pending.size()`, which max.spout.pending limits."""
        return len(self._pending)


def _timeout(root: int, info: TupleInfo) -> SpoutResult:
    return SpoutResult(Reason.TIMEOUT, info.task, info.message_id, root)
