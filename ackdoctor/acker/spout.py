"""What a spout executor does: its pending map is the only source of timeouts.

emission = executor.emit(task, "message 1", targets=2)
sends two tuples with emission.message_ids first, then emission.init to the acker
executor.receive(Answer(ACK, ...)), executor.tick()
return the answer for the user's spout: SpoutResult(ACK | FAIL | TIMEOUT)
"""

from collections.abc import Hashable, Sequence
from enum import Enum, unique
from typing import NamedTuple

from ackdoctor.acker.collector import MessageId
from ackdoctor.acker.ids import IdSource
from ackdoctor.acker.rotating_map import Clock, RotatingMap
from ackdoctor.acker.versions import Engine, NoTargets, Profile
from ackdoctor.model.message import AckInit, Answer, AnswerKind

__all__ = ["Reason", "SpoutEmission", "SpoutExecutor", "SpoutResult", "TaskMismatchError", "TupleInfo"]


@unique
class Reason(Enum):
    """Why the spout's ack or fail is called; FAIL and TIMEOUT both call fail (REASON in the debug log)."""

    ACK = "ack"
    FAIL = "FAIL-STREAM"
    TIMEOUT = "TIMEOUT"


class SpoutResult(NamedTuple):
    """The answer for a message; `root` is None for an ack inside emit."""

    reason: Reason
    task: int
    message_id: Hashable
    root: int | None


class TupleInfo(NamedTuple):
    """What the executor keeps of a root that it has emitted."""

    task: int
    message_id: Hashable
    emitted_ms: int


class SpoutEmission(NamedTuple):
    """One MessageId for each target, in order; the init goes to the acker after the tuples.

    `result` is an answer that is given inside emit, without any acker.
    """

    message_ids: tuple[MessageId, ...]
    root: int | None = None
    init: AckInit | None = None
    result: SpoutResult | None = None


class TaskMismatchError(RuntimeError):
    """An answer for another task than the one that emitted the root: "mismatched task ids", the worker dies."""


class SpoutExecutor:
    """executor.clj `mk-threads :spout`; SpoutExecutor.java, SpoutOutputCollectorImpl.java; relatives by profile.

    `tasks` are the executor's own; `ackers` 0 means that acking is disabled; `max_spout_pending` is
    the setting, which counts for each task, None or 0 for no bound.
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
        # Heron keeps one list in the order of emission, which the first of two buckets is, never rotated.
        self._pending: RotatingMap[int, TupleInfo] = RotatingMap(max(2, profile.spout_buckets))

    def may_emit(self) -> bool:
        """Whether nextTuple is called: not while max.spout.pending roots are pending."""
        return not self._max_pending or len(self._pending) < self._max_pending

    def emit(self, task: int, message_id: Hashable | None, targets: int) -> SpoutEmission:
        """Emit one tuple to that many tasks; without a message id it is untracked."""
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
            root = self._ids.next_long()  # the only one that guards against a collision
        return root

    def receive(self, answer: Answer) -> SpoutResult | None:
        """An answer of the acker; a root that is not pending (late, or after a restart) is ignored."""
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
        """A tick tuple: the messages that have timed out, in the order in which they were put."""
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
        """Every pending root, oldest bucket last."""
        return {root: info for bucket in self._pending.buckets() for root, info in bucket.items()}

    def __len__(self) -> int:
        """`pending.size()`, what max.spout.pending is compared with."""
        return len(self._pending)
