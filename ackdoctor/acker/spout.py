"""The spout executor: its pending map is the only source of timeouts.

    emission = executor.emit(task, "message 1", targets=2)
    executor.receive(Answer(ACK, ...))    the result, SpoutResult(ACK | FAIL)
    executor.tick()                       the timeouts, SpoutResult(TIMEOUT)

The caller sends two tuples with `emission.message_ids`, then `emission.init` to the acker.
"""

from collections.abc import Hashable, Sequence
from enum import Enum, unique
from typing import NamedTuple

from ackdoctor.acker.collector import MessageId
from ackdoctor.acker.ids import IdSource
from ackdoctor.acker.rotating_map import Clock, RotatingMap
from ackdoctor.acker.versions import Engine, NoTargets, Profile
from ackdoctor.model.acker import AckInit, Answer, AnswerKind

__all__ = ["Reason", "SpoutEmission", "SpoutExecutor", "SpoutResult", "TaskMismatchError", "TupleInfo"]


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
        if message_id is None or not self._ackers:
            result = None if message_id is None else SpoutResult(Reason.ACK, task, message_id, None)
            if not targets and self._profile.no_targets is NoTargets.NOTHING:
                result = None
            return SpoutEmission(({},) * targets, result=result)
        root = self._next_root()
        if not targets and self._profile.no_targets is NoTargets.ACK:
            return SpoutEmission((), result=SpoutResult(Reason.ACK, task, message_id, None))
        if not targets and self._profile.no_targets is NoTargets.NOTHING:
            return SpoutEmission(())
        value = 0
        message_ids = []
        for _ in range(targets):
            edge = self._ids.next_long()
            value ^= edge
            message_ids.append({root: edge})
        self._pending.put(root, TupleInfo(task, message_id, self._clock.now_ms()))
        return SpoutEmission(tuple(message_ids), root, AckInit(root, value, task))

    def _next_root(self) -> int:
        root = self._ids.next_long()
        while self._profile.engine is Engine.JSTORM and root in self._pending:
            root = self._ids.next_long()  # only JStorm checks for a collision
        return root

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
        timed_out: list[SpoutResult] = []
        for _ in range(self._profile.spout_rotations(len(self._tasks))):
            for root, info in self._pending.rotate().items():
                timed_out.append(SpoutResult(Reason.TIMEOUT, info.task, info.message_id, root))
        return tuple(timed_out)

    def _expired(self) -> tuple[SpoutResult, ...]:
        deadline_ms = self._clock.now_ms() - self._timeout_ms
        (in_order, *_) = self._pending.buckets()
        late = [(root, info) for root, info in in_order.items() if info.emitted_ms <= deadline_ms]
        for root, _ in late:
            del in_order[root]
        return tuple(SpoutResult(Reason.TIMEOUT, info.task, info.message_id, root) for root, info in late)

    def pending(self) -> dict[int, TupleInfo]:
        """Return every pending root, oldest bucket last."""
        return {root: info for bucket in self._pending.buckets() for root, info in bucket.items()}

    def __len__(self) -> int:
        """`pending.size()`, which max.spout.pending limits."""
        return len(self._pending)
