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

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

from ackdoctor.acker.runtime import Clock, RotatingMap
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import (
    AckAck,
    AckFail,
    AckInit,
    Age,
    Answer,
    AnswerKind,
    Engine,
    Message,
    ResetTimeout,
    Tick,
)
from ackdoctor.model.trace import PendingEntry


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

    def __init__(self, val: int | None, now_ms: int, spout_task: int | None = None) -> None:
        self.val = val
        self.spout_task = spout_task
        self.failed = False
        self.start_ms = now_ms
        self.since_ms = now_ms

    def update_ack(self, value: int) -> None:
        """`val ^= value`."""
        self.val = (self.val or 0) ^ value


class AckerTask(ABC):
    """An acker of one version: a clock, and a pending map that tests and replays may inspect."""

    def __init__(self, profile: Profile, clock: Clock) -> None:
        self._profile = profile
        self._clock = clock
        self._pending: RotatingMap[int, AckObject] = RotatingMap(profile.acker_buckets)

    @abstractmethod
    def receive(self, message: Message) -> Answer | None:
        """Process one message; return the answer to the spout, if any."""

    def rotate(self) -> tuple[PendingEntry, ...]:
        """Drop the oldest bucket, as a tick does; return its entries."""
        oldest = self._profile.acker_buckets
        return tuple(self._entry(root, curr, oldest) for root, curr in self._pending.rotate().items())

    def get(self, root: int) -> AckObject | None:
        """Return the live entry of a root."""
        return self._pending.get(root)

    def entry(self, root: int) -> PendingEntry | None:
        """Return a copy of a root's entry."""
        for number, bucket in enumerate(self._pending.buckets()):
            if root in bucket:
                return self._entry(root, bucket[root], number)
        return None

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry, newest bucket first."""
        for number, bucket in enumerate(self._pending.buckets()):
            for root, curr in bucket.items():
                yield self._entry(root, curr, number)

    def _entry(self, root: int, curr: AckObject, bucket: int) -> PendingEntry:
        age_ms = self._clock.now_ms() - curr.since_ms
        return PendingEntry(
            root=root, value=curr.val, task=curr.spout_task, failed=curr.failed, age_ms=age_ms, bucket=bucket
        )

    def __len__(self) -> int:
        return len(self._pending)


def make_acker(profile: Profile, clock: Clock, message_timeout_s: int = 30) -> AckerTask:
    """Return the acker of a version.  The clock gives ages; JStorm's acker also rotates by it, every T/2."""
    match profile.engine:
        case Engine.CLOJURE | Engine.JAVA:
            return StormAcker(profile, clock)
        case Engine.JSTORM:
            return JStormAcker(profile, clock, message_timeout_s)
        case Engine.HERON:
            return HeronStreamManager(profile, clock)


class StormAcker(AckerTask):
    """`backtype.storm.daemon.acker` 0.8 - 1.2.4 and `org.apache.storm.daemon.Acker` 2.0 - 2.8.8.

    Its executor sends the ticks, if any: `Profile.acker_schedule`.
    A stream that the version does not know raises ValueError, as acker.clj throws.
    """

    def receive(self, message: Message) -> Answer | None:
        """Process one message, as `execute` does."""
        if isinstance(message, Tick):
            self._pending.rotate()
            return None
        clojure = self._profile.engine is Engine.CLOJURE
        root = message.root
        curr = self._pending.get(root)
        put = curr is None or clojure
        if curr is None:
            curr = AckObject(None if clojure else 0, self._clock.now_ms())
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


class JStormAcker(AckerTask):
    """`com.alibaba.jstorm.task.acker.Acker` 2.4.0: no ticks, no resets; it drops a fail for an unknown root."""

    def __init__(self, profile: Profile, clock: Clock, message_timeout_s: int = 30) -> None:
        super().__init__(profile, clock)
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


class AckEmit(AckAck):
    """Heron only: a bolt emitted an anchored tuple with key `value`; sent at the time of the emit."""

    __slots__ = ()


class StreamManagerError(RuntimeError):
    """An emit made a value zero: a CHECK fails, and the stream manager exits."""


class HeronStreamManager(AckerTask):
    """The XorManager of a spout's stream manager (rotating-map.cpp): no failed entries, no orphans.

    `AckInit` models the routing of a spout's tuple, with the keys of all its targets.
    """

    def receive(self, message: Message) -> Answer | None:
        """Create, anchor, remove or rotate.  An emit that makes a value zero raises StreamManagerError."""
        match message:
            case AckInit(root, value, task):
                self._pending.put_head(root, AckObject(value, self._clock.now_ms(), task))
            case AckAck(root, value):
                curr = self._pending.get(root)
                if curr is None:
                    return None
                curr.update_ack(value)
                if curr.val == 0 and isinstance(message, AckEmit):
                    raise StreamManagerError(f"an emit made the value of root {root} zero")
                return self._remove(root, AnswerKind.ACK) if curr.val == 0 else None
            case AckFail(root):
                return self._remove(root, AnswerKind.FAIL)
            case Tick():
                self._pending.rotate()
            case ResetTimeout():
                pass
        return None

    def _remove(self, root: int, kind: AnswerKind) -> Answer | None:
        removed = self._pending.remove(root)
        if removed is None:
            return None
        assert removed.spout_task is not None, "the stream manager creates entries only for a spout's tuples"
        return Answer(kind, root, removed.spout_task)
