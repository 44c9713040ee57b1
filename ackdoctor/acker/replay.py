"""Replay recorded acker messages and return the verdict of each root.

A row is (kind, root, value, task, time in ms); `kind` is the number of an EventKind.  The replay uses INIT, ACK,
FAIL, RESET, ROTATED and TIMED_OUT, and skips all others.  `zip` makes rows of columns.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ackdoctor.acker.residue import residue
from ackdoctor.acker.roots import MOST_ROOTS, RootLedger, Row
from ackdoctor.acker.versions import Engine, Profile, Schedule
from ackdoctor.model.acker import AnswerKind
from ackdoctor.model.trace import Event, EventKind, GrowthPoint, PendingEntry, RunTally, TupleTree, Verdict

__all__ = ["MOST_TREES", "Row", "Rows", "replay", "rows"]

MOST_TREES = 10_000

Rows: TypeAlias = Iterable[Row]

_INIT, _ACK, _FAIL = int(EventKind.INIT), int(EventKind.ACK), int(EventKind.FAIL)
_RESET, _ROTATED, _TIMED_OUT = int(EventKind.RESET), int(EventKind.ROTATED), int(EventKind.TIMED_OUT)
_NEVER = 1 << 62


def rows(events: Iterable[Event]) -> Iterator[Row]:
    """Yield the rows of a trace.  INIT rows carry the spout's task."""
    for event in events:
        yield (event.kind, event.root, event.value, event.task, event.time_ns // 1_000_000)


def replay(
    stream: Rows,
    profile: Profile,
    *,
    message_timeout_s: int | None = None,
    window_ms: int = 1000,
    most_roots: int = MOST_ROOTS,
    most_trees: int = MOST_TREES,
) -> RunTally:
    """Return growth, counts, and at most `most_trees` trees that are not complete.

    With a message timeout the map rotates on the version's schedule, from the first row on.  Without one it
    rotates at ROTATED rows.  `dropped` counts the roots and trees beyond the limits.
    """
    state = _Replay(profile, most_roots, most_trees, window_ms, message_timeout_s)
    remaining = iter(stream)
    row = next(remaining, None)
    while row is not None:
        due_ms = state.advance(row[4])
        state.process(row)
        state.ledger.last_ms = row[4]
        row = state.ledger.run(remaining, due_ms)
    return state.tally(state.ledger.last_ms)


class _Replay:
    """The state of a replay: the ledger, failed and timed-out roots, windows and trees."""

    def __init__(
        self, profile: Profile, most_roots: int, most_trees: int, window_ms: int, timeout_s: int | None
    ) -> None:
        self.ledger = RootLedger(profile, most=most_roots)
        self._most = most_trees
        self._schedule = None if timeout_s is None else _schedule(profile, timeout_s)
        self._recorded = timeout_s is None
        self._window_ms = window_ms
        self._window_due_ms = self._tick_due_ms = _NEVER
        self._trees: list[TupleTree] = []
        self._omitted = 0
        self._failed: dict[int, None] = {}
        self._timed_out: dict[int, None] = {}
        self._dropped_ms: dict[int, int] = {}
        self._growth: list[GrowthPoint] = []

    def advance(self, time_ms: int) -> int:
        """Run due rotations and end due windows; return the next due time.  Windows without a row are skipped."""
        if self._window_due_ms == _NEVER:
            self.ledger.window(time_ms)
            self._window_due_ms = time_ms + self._window_ms
            if self._schedule is not None:
                self._tick_due_ms = time_ms + self._schedule.first_ms
        while (due_ms := min(self._window_due_ms, self._tick_due_ms)) <= time_ms:
            if due_ms == self._tick_due_ms and self._schedule is not None:
                self._rotate(due_ms)
                every_ms = self._schedule.every_ms
                behind = 0 if len(self.ledger) else (time_ms - due_ms) // every_ms
                self._tick_due_ms += every_ms * (behind + 1)
            else:
                self._growth.append(self.ledger.window(due_ms))
                behind = (time_ms - due_ms) // self._window_ms
                self._window_due_ms += self._window_ms * (behind + 1)
        return due_ms

    def process(self, row: Row) -> None:
        """Process one row."""
        kind, root, value, task, time_ms = row
        if kind == _ACK:
            self.ledger.ack(root, value)
        elif kind == _INIT:
            if self.ledger.init(root, value, task) is AnswerKind.FAIL:
                self._record_failure(root)
        elif kind == _FAIL:
            if self.ledger.fail(root) is AnswerKind.FAIL:
                self._record_failure(root)
        elif kind == _RESET:
            self.ledger.reset(root)
        elif kind == _ROTATED and self._recorded:
            self._rotate(time_ms)
        elif kind == _TIMED_OUT and len(self._timed_out) < self._most:
            self._timed_out[root] = None

    def _record_failure(self, root: int) -> None:
        """Record that the acker answered FAIL."""
        if len(self._failed) < self._most:
            self._failed[root] = None

    def _rotate(self, time_ms: int) -> None:
        for entry in self.ledger.rotate():
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

    def tally(self, time_ms: int) -> RunTally:
        """Return the result at the end of the stream."""
        self._growth.append(self.ledger.window(time_ms))
        for entry in self.ledger.entries():
            self._add_tree(entry, Verdict.EXPIRED if entry.root in self._timed_out else Verdict.OPEN)
        listed = {tree.root for tree in self._trees}
        # a spout times out only a pending root, so a later fail has no effect
        for root, verdict in [(root, Verdict.EXPIRED) for root in self._timed_out] + [
            (root, Verdict.FAILED) for root in self._failed
        ]:
            if root not in listed and len(self._trees) < self._most:
                listed.add(root)
                self._trees.append(TupleTree(root=root, verdict=verdict))
        return RunTally(
            growth=tuple(self._growth),
            trees=tuple(self._trees),
            completed=self.ledger.completed,
            pending=len(self.ledger),
            high_water=self.ledger.high_water,
            dropped=self.ledger.dropped + self._omitted,
        )


def _schedule(profile: Profile, timeout_s: int) -> Schedule | None:
    """Return the rotation schedule; JStorm rotates at the first message after T/2, so about every T/2."""
    if profile.engine is Engine.JSTORM:
        return Schedule(timeout_s * 500, timeout_s * 500)
    return profile.acker_schedule(timeout_s)
