"""Replay recorded acker messages and return the verdict of each root.

A row is (kind, root, value, task, time in ms); `kind` is the number of an EventKind.  The replay uses INIT, ACK,
FAIL, RESET, ROTATED and TIMED_OUT, and skips all others.  `zip` makes rows of columns.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.residue import residue
from ackdoctor.acker.versions import Profile, Schedule
from ackdoctor.model.acker import AckAck, AckFail, AckInit, AnswerKind, Engine, Message, ResetTimeout, Tick
from ackdoctor.model.trace import Event, EventKind, GrowthPoint, PendingEntry, RunTally, TupleTree, Verdict

MOST_ROOTS = 2_000_000  # about 450 MB
MOST_TREES = 10_000
_WINDOW_MS = 1000

Row: TypeAlias = tuple[int, int, int, int, int]

_INIT, _ACK, _FAIL = int(EventKind.INIT), int(EventKind.ACK), int(EventKind.FAIL)
_RESET, _ROTATED, _TIMED_OUT = int(EventKind.RESET), int(EventKind.ROTATED), int(EventKind.TIMED_OUT)
_NEVER = 1 << 62


class RootLedger:
    """An acker that counts its roots, at most `most`; `dropped` counts the messages for roots beyond.

    After the first dropped root, an orphan may be the rest of a dropped root.  Ages are counted in windows.
    A JStorm acker rotates when `rotate` is called, not by its clock.

        ledger = RootLedger(profile("1.1.0"))
        ledger.receive(AckInit(66, 8, 11))
        ledger.receive(AckAck(66, 8))       AnswerKind.ACK
        ledger.window(1000)                 GrowthPoint(time_ms=1000, pending=0, orphans=0, started=1)
    """

    def __init__(self, profile: Profile, *, most: int = MOST_ROOTS) -> None:
        self._profile = profile
        self._most = most
        self._window_ms = 0  # start of the window
        self._acker = make_acker(profile, self, _NEVER)
        self._orphans = 0
        self._started = 0  # roots with an init, in this window
        self.completed = 0
        self.dropped = 0
        self.high_water = 0

    def now_ms(self) -> int:
        """The acker's clock: the start of the window."""
        return self._window_ms

    def play(self, kind: int, root: int, value: int, task: int) -> AnswerKind | None:
        """Receive the message of an INIT, ACK, FAIL or RESET row; skip any other row."""
        if kind == _ACK:
            return self.receive(AckAck(root, value))
        if kind == _INIT:
            return self.receive(AckInit(root, value, task))
        if kind == _FAIL:
            return self.receive(AckFail(root))
        return self.receive(ResetTimeout(root)) if kind == _RESET else None

    def receive(self, message: Message) -> AnswerKind | None:
        """Process one message; return the kind of the acker's answer.  A version ignores resets that it does not know."""
        acker = self._acker
        if isinstance(message, Tick):
            self.rotate()
            return None
        if isinstance(message, ResetTimeout) and not self._profile.resets:
            return None
        self._started += isinstance(message, AckInit)
        entry = acker.get(message.root)
        if entry is None and len(acker) >= self._most:
            self.dropped += 1
            return None
        was_orphan = entry is not None and entry.spout_task is None
        answer = acker.receive(message)
        if entry is None:
            entry = acker.get(message.root)
            self.high_water = max(self.high_water, len(acker))
        self._orphans += (entry is not None and entry.spout_task is None) - was_orphan
        if answer is None:
            return None
        self.completed += answer.kind is AnswerKind.ACK
        return answer.kind

    def rotate(self) -> tuple[PendingEntry, ...]:
        """Process a tick; return the entries that expire."""
        dead = self._acker.rotate()
        self._orphans -= sum(entry.task is None for entry in dead)
        return dead

    def window(self, now_ms: int) -> GrowthPoint:
        """End a window; return its pending counts."""
        started, self._started = self._started, 0
        self._window_ms = now_ms
        return GrowthPoint(time_ms=now_ms, pending=len(self), orphans=self._orphans, started=started)

    def entries(self) -> Iterator[PendingEntry]:
        """Yield every entry.  Its age runs from the start of its window to the start of the last window."""
        return self._acker.pending()

    def get(self, root: int) -> PendingEntry | None:
        """Return a root's entry."""
        return self._acker.entry(root)

    def __len__(self) -> int:
        return len(self._acker)


def rows(events: Iterable[Event]) -> Iterator[Row]:
    """Yield the rows of a trace.  INIT rows carry the spout's task."""
    for event in events:
        yield (event.kind, event.root, event.value, event.task, event.time_ns // 1_000_000)


def replay(
    stream: Iterable[Row],
    profile: Profile,
    *,
    message_timeout_s: int | None = None,
    most_trees: int = MOST_TREES,
) -> RunTally:
    """Return growth, counts, and at most `most_trees` trees that are not complete.

    With a message timeout the map rotates on the version's schedule, from the first row on.  Without one it
    rotates at ROTATED rows.  `dropped` counts the messages and trees beyond the limits.
    """
    state = _Replay(profile, most_trees, message_timeout_s)
    for row in stream:
        state.process(row)
    return state.tally()


class _Replay:
    """The state of a replay: the ledger, failed and timed-out roots, windows and trees."""

    def __init__(self, profile: Profile, most_trees: int, timeout_s: int | None) -> None:
        self._ledger = RootLedger(profile)
        self._most = most_trees
        self._schedule = None if timeout_s is None else _schedule(profile, timeout_s)
        self._recorded = timeout_s is None
        self._time_ms = 0
        self._due_ms = -_NEVER
        self._window_due_ms = self._tick_due_ms = _NEVER
        self._trees: list[TupleTree] = []
        self._omitted = 0
        self._failed: dict[int, None] = {}
        self._timed_out: dict[int, None] = {}
        self._dropped_ms: dict[int, int] = {}
        self._growth: list[GrowthPoint] = []

    def process(self, row: Row) -> None:
        """Process one row, after the rotations and windows that are due."""
        kind, root, value, task, self._time_ms = row
        if self._time_ms >= self._due_ms:
            self._advance(self._time_ms)
        if kind == _ROTATED:
            if self._recorded:
                self._rotate(self._time_ms)
        elif kind == _TIMED_OUT:
            if len(self._timed_out) < self._most:
                self._timed_out[root] = None
        elif self._ledger.play(kind, root, value, task) is AnswerKind.FAIL and len(self._failed) < self._most:
            self._failed[root] = None

    def _advance(self, time_ms: int) -> None:
        """Run due rotations and end due windows.  Windows without a row are skipped, as are rotations of an empty map."""
        if self._window_due_ms == _NEVER:  # the first row
            self._ledger.window(time_ms)
            self._window_due_ms = time_ms + _WINDOW_MS
            if self._schedule is not None:
                self._tick_due_ms = time_ms + self._schedule.first_ms
        while (due_ms := min(self._window_due_ms, self._tick_due_ms)) <= time_ms:
            if due_ms == self._tick_due_ms and self._schedule is not None:
                self._rotate(due_ms)
                every_ms = self._schedule.every_ms
                behind = 0 if len(self._ledger) else (time_ms - due_ms) // every_ms
                self._tick_due_ms += every_ms * (behind + 1)
            else:
                self._growth.append(self._ledger.window(due_ms))
                behind = (time_ms - due_ms) // _WINDOW_MS
                self._window_due_ms += _WINDOW_MS * (behind + 1)
        self._due_ms = due_ms

    def _rotate(self, time_ms: int) -> None:
        for entry in self._ledger.rotate():
            if entry.task is not None and len(self._dropped_ms) < self._most:
                self._dropped_ms.setdefault(entry.root, time_ms)
            self._add_tree(entry, Verdict.EXPIRED)

    def _add_tree(self, entry: PendingEntry, tracked: Verdict) -> None:
        if len(self._trees) >= self._most:
            self._omitted += 1
            return
        verdict = tracked if entry.task is not None else Verdict.ORPHAN
        verdict_at_spout = Verdict.FAILED if entry.root in self._failed else verdict
        self._trees.append(
            TupleTree(
                root=entry.root,
                verdict=verdict,
                entry=entry,
                residue=residue(entry, verdict_at_spout),
                dropped_ms=self._dropped_ms.get(entry.root),
            )
        )

    def tally(self) -> RunTally:
        """Return the result at the end of the stream."""
        self._growth.append(self._ledger.window(self._time_ms))
        for entry in self._ledger.entries():
            self._add_tree(entry, Verdict.EXPIRED if entry.root in self._timed_out else Verdict.OPEN)
        listed = {tree.root for tree in self._trees}
        # a spout times out only a pending root, so a later fail has no effect
        for root in dict.fromkeys((*self._timed_out, *self._failed)):
            if root not in listed and len(self._trees) < self._most:
                verdict = Verdict.EXPIRED if root in self._timed_out else Verdict.FAILED
                self._trees.append(TupleTree(root=root, verdict=verdict))
        return RunTally(
            growth=tuple(self._growth),
            trees=tuple(self._trees),
            completed=self._ledger.completed,
            pending=len(self._ledger),
            high_water=self._ledger.high_water,
            dropped=self._ledger.dropped + self._omitted,
        )


def _schedule(profile: Profile, timeout_s: int) -> Schedule | None:
    """Return the rotation schedule; JStorm rotates at the first message after T/2, so about every T/2."""
    if profile.engine is Engine.JSTORM:
        return Schedule(timeout_s * 500, timeout_s * 500)
    return profile.acker_schedule(timeout_s)
