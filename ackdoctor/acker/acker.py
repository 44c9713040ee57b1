"""The ackers of Storm, JStorm and Heron.

`StormAcker` follows acker.clj or Acker.java, as the profile says.  Each message updates the root's entry,
which it creates if necessary.  Once an init has named the spout's task, the acker answers: ACK if the value
is 0, FAIL if the entry is failed, RESET after a reset:

    AckInit(66, 8, 11)   {66: S(8)}       INIT from spout task 11, one edge
    AckAck(66, 11)       {66: S(3)}       8 ^ 4 ^ 7: acked, with children 4 and 7
    AckAck(66, 4)        {66: S(7)}
    AckAck(66, 7)        {}               0: Answer(ACK, 66, 11)
    AckAck(66, 7)        {66: O(7)}       acked twice: an orphan entry, which never completes
"""

from collections.abc import Iterator
from typing import Protocol

from ackdoctor.acker.rotating_map import Clock, RotatingMap
from ackdoctor.acker.versions import Age, Engine, Profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Answer, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.trace import PendingEntry

__all__ = [
    "AckEmit",
    "AckObject",
    "Acker",
    "HeronStreamManager",
    "JStormAcker",
    "StormAcker",
    "StreamManagerError",
    "make_acker",
]


class Acker(Protocol):
    """One acker task and its pending roots."""

    def receive(self, message: Message) -> Answer | None:
        """Process one message; return the answer to the spout, if any."""

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry, newest bucket first."""

    def __len__(self) -> int:
        """The number of entries."""


class AckObject:
    """One entry, as Acker.java calls it; `val` is None for acker.clj's entry without a `:val`.

    `since_ms` is the time of creation.  `start_ms` is Storm's start of the time delta.
    """

    __slots__ = ("failed", "since_ms", "spout_task", "start_ms", "val")

    def __init__(self, val: int | None, now_ms: int) -> None:
        self.val = val
        self.spout_task: int | None = None
        self.failed = False
        self.start_ms = now_ms
        self.since_ms = now_ms

    def update_ack(self, value: int) -> None:
        """`val ^= value`."""
        self.val = (self.val or 0) ^ value


def make_acker(profile: Profile, clock: Clock, message_timeout_s: int = 30) -> Acker:
    """Return the acker of a version.  The clock gives ages; JStorm's acker also rotates by it, every T/2."""
    match profile.engine:
        case Engine.CLOJURE | Engine.JAVA:
            return StormAcker(profile, clock)
        case Engine.JSTORM:
            return JStormAcker(profile, clock, message_timeout_s)
        case Engine.HERON:
            return HeronStreamManager(profile, clock)


class StormAcker:
    """`backtype.storm.daemon.acker` 0.8 - 1.2.4 and `org.apache.storm.daemon.Acker` 2.0 - 2.8.8.

    Its executor sends the ticks, if any: `Profile.acker_schedule`.
    A stream that the version does not know raises ValueError, as acker.clj throws.
    """

    def __init__(self, profile: Profile, clock: Clock) -> None:
        self._profile = profile
        self._clock = clock
        self._absent = None if profile.engine is Engine.CLOJURE else 0
        self._pending: RotatingMap[int, AckObject] = RotatingMap(profile.acker_buckets)

    def receive(self, message: Message) -> Answer | None:
        """Process one message, as `execute` does."""
        if isinstance(message, Tick):
            self._pending.rotate()
            return None
        root = message.root
        curr = self._pending.get(root)
        put = curr is None or self._profile.engine is Engine.CLOJURE
        if curr is None:
            curr = AckObject(self._absent, self._clock.now_ms())
        match message:
            case AckInit(_, value, task):
                curr.update_ack(value)
                curr.spout_task = task
                if self._profile.age is Age.INIT:
                    curr.start_ms = self._clock.now_ms()
            case AckAck(_, value):
                curr.update_ack(value)
            case AckFail():
                curr.failed = True
                put = True
            case ResetTimeout():
                if not self._profile.resets:
                    raise ValueError(f"{self._profile.name} knows no __ack_reset_timeout")
                put = True
        if put:
            self._pending.put(root, curr)
        return self._answer(root, curr, message)

    def _answer(self, root: int, curr: AckObject, message: Message) -> Answer | None:
        """Check the entry as the end of `execute` does: 0 comes before failed, failed before a reset."""
        if curr.spout_task is None:
            return None
        if curr.val == 0:
            self._pending.remove(root)
            kind = AnswerKind.ACK
        elif curr.failed:
            self._pending.remove(root)
            kind = AnswerKind.FAIL
        elif isinstance(message, ResetTimeout):
            kind = AnswerKind.RESET
        else:
            return None
        age_ms = 0 if self._profile.age is Age.NONE else self._clock.now_ms() - curr.start_ms
        return Answer(kind, root, curr.spout_task, age_ms)

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry, newest bucket first."""
        return _entries(self._pending, self._clock)

    def __len__(self) -> int:
        return len(self._pending)


class JStormAcker:
    """`com.alibaba.jstorm.task.acker.Acker` 2.4.0: no ticks, no resets; it drops a fail for an unknown root."""

    def __init__(self, profile: Profile, clock: Clock, message_timeout_s: int = 30) -> None:
        self._clock = clock
        self._pending: RotatingMap[int, AckObject] = RotatingMap(profile.acker_buckets)
        self._rotate_ms = 1000 * message_timeout_s // (profile.acker_buckets - 1)
        self._last_rotate_ms = clock.now_ms()

    def receive(self, message: Message) -> Answer | None:
        """Process one message, as `execute` does; JStorm ignores unknown streams, such as ticks."""
        if isinstance(message, Tick | ResetTimeout):
            return None
        root = message.root
        curr = self._pending.get(root)
        match message:
            case AckInit(_, value, task):
                curr = self._updated(root, curr, value)
                curr.spout_task = task
            case AckAck(_, value):
                curr = self._updated(root, curr, value)
            case AckFail():
                if curr is None:
                    return None  # before the rotation below, as in JStorm
                curr.failed = True
        answer = self._answer(root, curr)
        now_ms = self._clock.now_ms()
        if now_ms - self._last_rotate_ms > self._rotate_ms:
            self._last_rotate_ms = now_ms
            self._pending.rotate()
        return answer

    def _updated(self, root: int, curr: AckObject | None, value: int) -> AckObject:
        if curr is None:
            curr = AckObject(value, self._clock.now_ms())
            self._pending.put(root, curr)
        else:
            curr.update_ack(value)
        return curr

    def _answer(self, root: int, curr: AckObject) -> Answer | None:
        if curr.spout_task is None or (curr.val != 0 and not curr.failed):
            return None
        self._pending.remove(root)
        return Answer(AnswerKind.ACK if curr.val == 0 else AnswerKind.FAIL, root, curr.spout_task)

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry, newest bucket first."""
        return _entries(self._pending, self._clock)

    def __len__(self) -> int:
        return len(self._pending)


class AckEmit(AckAck):
    """Heron only: a bolt emitted an anchored tuple with key `value`; sent at the time of the emit."""

    __slots__ = ()


class StreamManagerError(RuntimeError):
    """An emit made a value zero: a CHECK fails, and the stream manager exits."""


class HeronStreamManager:
    """The XorManager of a spout's stream manager (rotating-map.cpp): no failed entries, no orphans.

    `AckInit` models the routing of a spout's tuple, with the keys of all its targets.
    """

    def __init__(self, profile: Profile, clock: Clock) -> None:
        self._clock = clock
        self._pending: RotatingMap[int, AckObject] = RotatingMap(profile.acker_buckets)

    def receive(self, message: Message) -> Answer | None:
        """Create, anchor, remove or rotate.  An emit that makes a value zero raises StreamManagerError."""
        match message:
            case AckInit(root, value, task):
                entry = AckObject(value, self._clock.now_ms())
                entry.spout_task = task
                self._pending.put_head(root, entry)
            case AckAck(root, value):
                return self._anchor(message, root, value)
            case AckFail(root):
                removed = self._pending.remove(root)
                return None if removed is None else _answer(AnswerKind.FAIL, root, removed)
            case Tick():
                self._pending.rotate()
            case ResetTimeout():
                pass
        return None

    def _anchor(self, message: AckAck, root: int, value: int) -> Answer | None:
        curr = self._pending.get(root)
        if curr is None:
            return None
        curr.update_ack(value)
        if curr.val != 0:
            return None
        if isinstance(message, AckEmit):
            raise StreamManagerError(f"an emit made the value of root {root} zero")
        self._pending.remove(root)
        return _answer(AnswerKind.ACK, root, curr)

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry, newest bucket first."""
        return _entries(self._pending, self._clock)

    def __len__(self) -> int:
        return len(self._pending)


def _answer(kind: AnswerKind, root: int, entry: AckObject) -> Answer:
    assert entry.spout_task is not None, "the stream manager creates entries only for a spout's tuples"
    return Answer(kind, root, entry.spout_task)


def _entries(pending: RotatingMap[int, AckObject], clock: Clock) -> Iterator[PendingEntry]:
    now_ms = clock.now_ms()
    for number, bucket in enumerate(pending.buckets()):
        for root, entry in bucket.items():
            yield PendingEntry(
                root=root,
                value=entry.val,
                task=entry.spout_task,
                failed=entry.failed,
                age_ms=now_ms - entry.since_ms,
                bucket=number,
            )
