"""The root ledger: an acker's pending map with one int for each root.

An entry is meta ^ val: 64 bits of value, and above them task + 1, window, rotation and flags.  A negative
value inverts all bits above it, which XOR undoes: an ack is `entry ^= value`.  So a plain dict of ints holds
the state of `StormAcker`, and the garbage collector does not traverse it (benchmarks/acker.py).

    ledger = RootLedger(profile("1.1.0"))
    ledger.init(66, 8, 11)      ledger.ack(66, 11)      ledger.ack(66, 4)      ledger.ack(66, 7)   -> ACK
    ledger.window(1000)         GrowthPoint(time_ms=1000, pending=0, orphans=0)

A second dict holds the few entries that a fail or a reset creates before any value.
"""

from collections.abc import Iterator
from typing import TypeAlias

from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.trace import EventKind, GrowthPoint, PendingEntry

__all__ = ["MOST_ROOTS", "RootLedger", "Row"]

MOST_ROOTS = 2_000_000  # about 280 MB

_VALUE = (1 << 64) - 1
_TASK_AT, _TASK = 64, ((1 << 32) - 1) << 64  # task + 1; 0 for an orphan
_WINDOW_AT, _WINDOWS = 96, (1 << 31) - 1
_ROTATION_AT, _ROTATIONS = 127, (1 << 31) - 1
_ROTATION_BITS = _ROTATIONS << _ROTATION_AT
_BARE = 1 << 158  # acker.clj only: an entry without `:val`
_FAILED = 1 << 159

Row: TypeAlias = tuple[int, int, int, int, int]  # kind, root, value, task, time in ms; kind is an EventKind
_INIT_ROW, _ACK_ROW = int(EventKind.INIT), int(EventKind.ACK)
_ACK, _FAIL, _RESET = AnswerKind.ACK, AnswerKind.FAIL, AnswerKind.RESET


class RootLedger:
    """The pending roots of one acker, at most `most`; `dropped` counts the roots beyond.

    After the first dropped root, an orphan may be the rest of a dropped root.
    """

    __slots__ = (
        "_bare",
        "_expired",
        "_most",
        "_new_entry",
        "_orphans",
        "_profile",
        "_refreshes",
        "_roots",
        "_rotation",
        "_stamp",
        "_started",
        "_task",
        "_windows_ms",
        "completed",
        "dropped",
        "failed",
        "high_water",
        "last_ms",
    )

    def __init__(self, profile: Profile, *, now_ms: int = 0, most: int = MOST_ROOTS) -> None:
        self._profile = profile
        self._most = most
        self._roots: dict[int, int] = {}
        self._bare: dict[int, int] = {}
        self._orphans = 0
        self._expired = 0
        self._started = 0  # roots with an init, until the last window
        self._refreshes = False  # True after the first rotation, in Clojure ackers
        self._rotation = 0
        self._windows_ms = [now_ms]  # start of each window
        self._stamp = 0  # window and rotation of a new entry
        self._task = 0  # of the last init
        self._new_entry = 1 << _TASK_AT  # a new entry of an init, without its value
        self.completed = 0
        self.failed = 0
        self.dropped = 0
        self.high_water = 0
        self.last_ms = now_ms  # time of the last row in `run`

    def receive(self, message: Message) -> AnswerKind | None:
        """Process any message; the methods below are faster."""
        match message:
            case AckAck(root, value):
                return self.ack(root, value)
            case AckInit(root, value, task):
                return self.init(root, value, task)
            case AckFail(root):
                return self.fail(root)
            case ResetTimeout(root):
                return self.reset(root)
            case Tick():
                self.rotate()
        return None

    def init(self, root: int, value: int, task: int) -> AnswerKind | None:
        """Process `__ack_init`."""
        if task != self._task:
            self._task = task
            self._restamp()
        roots = self._roots
        if root in roots or not value or self._bare:
            return self._init(root, value)
        pending = len(roots)
        if pending >= self._most:
            self.dropped += 1
            return None
        roots[root] = self._new_entry ^ value
        if pending >= self.high_water:
            self.high_water = pending + 1
        return None

    def _init(self, root: int, value: int) -> AnswerKind | None:
        """Process an init for a root with an entry, or with value 0."""
        entry = self._roots.get(root)
        if self._profile.engine is Engine.HERON:
            self._store(root, self._new_entry ^ value)
            return None
        if entry is None:
            entry = self._pop_bare(root)
        if entry is None:
            entry = self._stamp
        elif not _meta(entry) & _TASK:
            self._orphans -= 1
        entry ^= value ^ (_meta(entry) ^ self._new_entry) & _TASK
        if self._refreshes:
            entry = self._refreshed(entry)
        if not entry & _VALUE:
            self.completed += 1
            self._roots.pop(root, None)
            return _ACK
        if _meta(entry) & _FAILED:
            self.failed += 1
            self._roots.pop(root, None)
            return _FAIL
        self._store(root, entry)
        return None

    def ack(self, root: int, value: int) -> AnswerKind | None:
        """Process `__ack_ack`, the most frequent message."""
        roots = self._roots
        if root in roots:
            entry = roots[root] ^ value
            if entry & _VALUE:
                roots[root] = self._refreshed(entry) if self._refreshes else entry
                return None
            if entry & _TASK:
                del roots[root]
                self.completed += 1
                return _ACK
            roots[root] = self._refreshed(entry)
            return None
        self._orphan(root, value)
        return None

    def run(self, rows: Iterator[Row], due_ms: int) -> Row | None:
        """Takes the inits and acks of a stored stream, `ack` unrolled; the first row that it must not take.

        That is one at `due_ms` or later, of another kind, or an init for a root that has an entry.
        """
        roots, refreshes, time_ms = self._roots, self._refreshes, self.last_ms
        for kind, root, value, task, time_ms in rows:  # unpacked at once, so zip reuses its tuple
            if time_ms >= due_ms:
                return kind, root, value, task, time_ms
            if kind == _ACK_ROW:
                if root not in roots:
                    self._orphan(root, value)
                    continue
                entry = roots[root] ^ value
                if entry & _VALUE:
                    roots[root] = self._refreshed(entry) if refreshes else entry
                elif entry & _TASK:
                    del roots[root]
                    self.completed += 1
                else:
                    roots[root] = self._refreshed(entry)
            elif kind == _INIT_ROW and root not in roots and not self._bare:
                self.init(root, value, task)
            else:
                return kind, root, value, task, time_ms
        self.last_ms = time_ms
        return None

    def _refreshed(self, entry: int) -> int:
        """Return the entry in the newest bucket, if every message moves it there."""
        return entry ^ (_meta(entry) ^ self._stamp) & _ROTATION_BITS if self._refreshes else entry

    def _orphan(self, root: int, value: int) -> None:
        """Process an ack for a root without a value: create the entry, except in Heron."""
        if self._profile.engine is Engine.HERON:
            return
        entry = self._pop_bare(root)
        if entry is None:
            self._orphans += 1
            entry = self._stamp
        self._store(root, self._refreshed(entry) ^ value)

    def _pop_bare(self, root: int) -> int | None:
        """Remove and return an entry without a value, which now gets one."""
        entry = self._bare.pop(root, None)
        return None if entry is None else entry & ~_BARE

    def _store(self, root: int, entry: int) -> None:
        roots = self._roots
        pending = len(roots) + len(self._bare)
        if pending >= self._most and root not in roots:
            self.dropped += 1
            self._orphans -= not _meta(entry) & _TASK
            return
        roots[root] = entry
        if pending >= self.high_water:
            self.high_water = len(self)

    def fail(self, root: int) -> AnswerKind | None:
        """Process `__ack_fail`."""
        engine = self._profile.engine
        entry = self._roots.get(root)
        if entry is not None and _meta(entry) & _TASK:
            del self._roots[root]
            self.failed += 1
            return _FAIL
        if engine is Engine.HERON:
            return None
        if engine is Engine.JSTORM:  # it ignores an unknown root, and does not refresh a known one
            if entry is not None:
                self._roots[root] = entry ^ ~_meta(entry) & _FAILED
            return None
        self._touch(root, _FAILED)
        return None

    def reset(self, root: int) -> AnswerKind | None:
        """Process `__ack_reset_timeout`."""
        if not self._profile.resets:
            return None
        entry = self._touch(root, 0)
        return _RESET if _meta(entry) & _TASK else None

    def _touch(self, root: int, flag: int) -> int:
        """Put an entry into the newest bucket and set a flag; create it if necessary."""
        where = self._roots if root in self._roots else self._bare
        entry = where.get(root)
        if entry is None:
            if len(self) >= self._most:
                self.dropped += 1
                return 0
            self._orphans += 1
            entry = self._stamp | (_BARE if self._profile.engine is Engine.CLOJURE else 0)
        where[root] = entry ^ (_meta(entry) ^ self._stamp) & _ROTATION_BITS ^ ~_meta(entry) & flag
        self.high_water = max(self.high_water, len(self))
        return entry

    def rotate(self) -> tuple[PendingEntry, ...]:
        """Process a tick; return the entries that expire.  Takes time in proportion to all entries."""
        self._rotation += 1
        self._refreshes = self._profile.engine is Engine.CLOJURE
        self._restamp()
        dead = []
        for where in (self._roots, self._bare):
            late = [
                root for root, entry in where.items() if self._bucket(entry) >= self._profile.acker_buckets
            ]
            dead += [self._entry(root, where.pop(root)) for root in late]
        orphans = sum(entry.task is None for entry in dead)
        self._orphans -= orphans
        self._expired += len(dead) - orphans
        return tuple(dead)

    def window(self, now_ms: int) -> GrowthPoint:
        """End a window; return its pending counts.  Ages are counted in windows."""
        self._windows_ms.append(now_ms)
        self._restamp()
        tracked = len(self) - self._orphans
        started = self.completed + self.failed + self._expired + self.dropped + tracked
        started, self._started = started - self._started, started
        return GrowthPoint(time_ms=now_ms, pending=len(self), orphans=self._orphans, started=started)

    def _restamp(self) -> None:
        window = min(len(self._windows_ms) - 1, _WINDOWS)
        self._stamp = min(self._rotation, _ROTATIONS) << _ROTATION_AT | window << _WINDOW_AT
        self._new_entry = self._stamp | self._task + 1 << _TASK_AT

    def entries(self) -> Iterator[PendingEntry]:
        """Yield every entry.  Its age runs from the start of its window to the start of the last window."""
        for where in (self._roots, self._bare):
            for root, entry in where.items():
                yield self._entry(root, entry)

    def get(self, root: int) -> PendingEntry | None:
        """Return a root's entry."""
        entry = self._roots.get(root, self._bare.get(root))
        return None if entry is None else self._entry(root, entry)

    def _entry(self, root: int, entry: int) -> PendingEntry:
        meta = _meta(entry)
        task = (meta & _TASK) >> _TASK_AT
        return PendingEntry(
            root=root,
            value=None if meta & _BARE else entry ^ meta,
            task=task - 1 if task else None,
            failed=bool(meta & _FAILED),
            age_ms=self._windows_ms[-1] - self._windows_ms[meta >> _WINDOW_AT & _WINDOWS],
            bucket=self._bucket(entry),
        )

    def _bucket(self, entry: int) -> int:
        return self._rotation - (_meta(entry) >> _ROTATION_AT & _ROTATIONS)

    def __len__(self) -> int:
        return len(self._roots) + len(self._bare)


def _meta(entry: int) -> int:
    """Return the bits above the value; a negative value inverts them."""
    return (entry if entry >= 0 else ~entry) & ~_VALUE
