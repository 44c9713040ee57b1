"""The root ledger: what an acker's pending map holds, in one int for each root.

An entry is `val << 96 | failed | rotation | window | task + 1`, so a plain dict of ints keeps all that
`StormAcker` keeps, and the garbage collector never looks at it.  138 bytes for each root (benchmarks/acker.py).

    ledger = RootLedger(profile("1.1.0"))
    ledger.init(66, 8, 11)      ledger.ack(66, 11)      ledger.ack(66, 4)      ledger.ack(66, 7)   -> ACK
    ledger.window(1000)         GrowthPoint(time_ms=1000, pending=0, orphans=0)

Entries that a fail or a reset has made, and that no value has met yet, stand apart: they are few.
"""

from collections.abc import Iterator

from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.model.message import AckAck, AckFail, AckInit, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.tally import GrowthPoint
from ackdoctor.model.verdict import PendingEntry

__all__ = ["MOST_ROOTS", "RootLedger"]

MOST_ROOTS = 2_000_000  # some 280 MB

_META = 96  # bits below the value
_TASK = (1 << 32) - 1  # task + 1; 0 for an orphan
_WINDOW_AT, _WINDOWS = 32, (1 << 31) - 1
_ROTATION_AT, _ROTATIONS = 63, (1 << 31) - 1
_BARE = 1 << 94  # acker.clj only: an entry without `:val`
_FAILED = 1 << 95
_ZERO = 1 << _META  # an entry from 0 to here has value 0
_UNTURNED = ~(_ROTATIONS << _ROTATION_AT)

_ACK, _FAIL, _RESET = AnswerKind.ACK, AnswerKind.FAIL, AnswerKind.RESET


class RootLedger:
    """The pending roots of one acker; `most` bounds them, `dropped` counts the roots beyond.

    Once roots were dropped, an orphan may be the rest of one of them.
    """

    __slots__ = (
        "_bare",
        "_begun",
        "_expired",
        "_most",
        "_orphans",
        "_profile",
        "_refreshes",
        "_roots",
        "_rotation",
        "_stamp",
        "_turn",
        "_windows_ms",
        "completed",
        "dropped",
        "failed",
        "high_water",
    )

    def __init__(self, profile: Profile, *, now_ms: int = 0, most: int = MOST_ROOTS) -> None:
        self._profile = profile
        self._most = most
        self._roots: dict[int, int] = {}
        self._bare: dict[int, int] = {}
        self._orphans = 0
        self._expired = 0
        self._begun = 0  # roots with an init, up to the last window
        self._refreshes = False  # nothing to refresh before the first rotation
        self._rotation = 0
        self._windows_ms = [now_ms]  # when each window began
        self._stamp = 0  # window and rotation of an entry that is made now
        self._turn = 0  # the rotation alone
        self.completed = 0
        self.failed = 0
        self.dropped = 0
        self.high_water = 0

    def receive(self, message: Message) -> AnswerKind | None:
        """Any message, for whoever has messages; the methods below are the fast way."""
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
        """`__ack_init`."""
        roots = self._roots
        if root in roots:
            entry: int | None = roots[root]
        elif value and not self._bare:
            pending = len(roots)
            if pending < self._most:
                roots[root] = value << _META | self._stamp | task + 1
                if pending >= self.high_water:
                    self.high_water = pending + 1
            else:
                self.dropped += 1
            return None
        else:
            entry = self._unbared(root)
        if self._profile.engine is Engine.HERON:
            self._keep(root, value << _META | self._stamp | task + 1)
            return None
        if entry is None:
            entry = self._stamp
        elif not entry & _TASK:
            self._orphans -= 1
        entry = (entry ^ value << _META) & ~_TASK | task + 1
        if self._refreshes:
            entry = entry & _UNTURNED | self._turn
        if 0 <= entry < _ZERO:
            self.completed += 1
            self._roots.pop(root, None)
            return _ACK
        if entry & _FAILED:
            self.failed += 1
            self._roots.pop(root, None)
            return _FAIL
        self._keep(root, entry)
        return None

    def ack(self, root: int, value: int) -> AnswerKind | None:
        """`__ack_ack`, the hot one."""
        roots = self._roots
        try:
            entry = roots[root] ^ value << _META
        except KeyError:
            self._orphan(root, value)
            return None
        if 0 <= entry < _ZERO and entry & _TASK:
            del roots[root]
            self.completed += 1
            return _ACK
        if self._refreshes:
            entry = entry & _UNTURNED | self._turn
        roots[root] = entry
        return None

    def _orphan(self, root: int, value: int) -> None:
        """An ack for a root without a value: the entry is made, but in Heron."""
        if self._profile.engine is Engine.HERON:
            return
        entry = self._unbared(root)
        if entry is None:
            self._orphans += 1
            entry = self._stamp
        elif self._refreshes:
            entry = entry & _UNTURNED | self._turn
        self._keep(root, entry ^ value << _META)

    def _unbared(self, root: int) -> int | None:
        """Takes an entry without a value, to give it one."""
        entry = self._bare.pop(root, None)
        return None if entry is None else entry & ~_BARE

    def _keep(self, root: int, entry: int) -> None:
        roots = self._roots
        pending = len(roots) + len(self._bare)
        if pending >= self._most and root not in roots:
            self.dropped += 1
            self._orphans -= not entry & _TASK
            return
        roots[root] = entry
        if pending >= self.high_water:
            self.high_water = len(self)

    def fail(self, root: int) -> AnswerKind | None:
        """`__ack_fail`."""
        engine = self._profile.engine
        entry = self._roots.get(root)
        if entry is not None and (entry & _TASK or engine is Engine.HERON):
            del self._roots[root]
            self.failed += 1
            return _FAIL
        if engine is Engine.HERON:
            return None
        if engine is Engine.JSTORM:  # an unknown root is ignored, a known one lives no longer for it
            if entry is not None:
                self._roots[root] = entry | _FAILED
            return None
        self._touch(root, _FAILED)
        return None

    def reset(self, root: int) -> AnswerKind | None:
        """`__ack_reset_timeout`."""
        if not self._profile.resets:
            return None
        entry = self._touch(root, 0)
        return _RESET if entry & _TASK else None

    def _touch(self, root: int, flag: int) -> int:
        """Puts an entry anew, made if need be, with one more flag."""
        where = self._roots if root in self._roots else self._bare
        entry = where.get(root)
        if entry is None:
            if len(self) >= self._most:
                self.dropped += 1
                return 0
            self._orphans += 1
            entry = self._stamp | (_BARE if self._profile.engine is Engine.CLOJURE else 0)
        where[root] = entry & _UNTURNED | self._turn | flag
        self.high_water = max(self.high_water, len(self))
        return entry

    def rotate(self) -> tuple[PendingEntry, ...]:
        """A tick: the entries that it drops.  It walks over all entries."""
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
        """Ends a window: what is pending now.  Ages are counted in windows."""
        self._windows_ms.append(now_ms)
        self._restamp()
        tracked = len(self) - self._orphans
        begun = self.completed + self.failed + self._expired + self.dropped + tracked
        started, self._begun = begun - self._begun, begun
        return GrowthPoint(time_ms=now_ms, pending=len(self), orphans=self._orphans, started=started)

    def _restamp(self) -> None:
        window = min(len(self._windows_ms) - 1, _WINDOWS)
        self._turn = min(self._rotation, _ROTATIONS) << _ROTATION_AT
        self._stamp = self._turn | window << _WINDOW_AT

    def entries(self) -> Iterator[PendingEntry]:
        """Every entry; its age counts from the begin of the window in which it was made, to that of the last."""
        for where in (self._roots, self._bare):
            for root, entry in where.items():
                yield self._entry(root, entry)

    def get(self, root: int) -> PendingEntry | None:
        """A root's entry."""
        entry = self._roots.get(root, self._bare.get(root))
        return None if entry is None else self._entry(root, entry)

    def _entry(self, root: int, entry: int) -> PendingEntry:
        task = entry & _TASK
        return PendingEntry(
            root=root,
            value=None if entry & _BARE else entry >> _META,
            task=task - 1 if task else None,
            failed=bool(entry & _FAILED),
            age_ms=self._windows_ms[-1] - self._windows_ms[entry >> _WINDOW_AT & _WINDOWS],
            bucket=self._bucket(entry),
        )

    def _bucket(self, entry: int) -> int:
        return self._rotation - (entry >> _ROTATION_AT & _ROTATIONS)

    def __len__(self) -> int:
        return len(self._roots) + len(self._bare)
