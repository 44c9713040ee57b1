"""The ledger: the records of all components, and what they come to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, unique
from threading import RLock
from time import time_ns

from ackdoctor.model.dialect import Role
from ackdoctor.model.trace import ComponentTally, GrowthPoint, TracedComponent, Violation
from ackdoctor.tracer.record import CAP, ComponentRecord
from ackdoctor.tracer.sites import Sites

__all__ = [
    "POINTS",
    "RECORDS",
    "Ledger",
    "Level",
    "Settlement",
    "Windows",
    "merged",
]


@unique
class Level(IntEnum):
    """Each level includes those below it. No level is sampled."""

    OFF = 0  # nothing is wrapped
    SITES = 1  # open tuples, completions, and the call sites of completions
    TRACE = 2  # the call sites of emits as well, and a row on disk for every event

    @classmethod
    def named(cls, name: str) -> "Level":
        """The level of that name ("sites"); ValueError names the levels."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(level.name.lower() for level in cls)
            raise ValueError(f"unknown level {name!r}; the levels are {known}") from None

    def __str__(self) -> str:
        return self.name.lower()


POINTS = 512  # with so many points, neighbours are merged and windows become twice as long
_SECOND = 1_000_000_000


class Windows:
    """Growth over time: what was pending at the end of each window. `due` is the end of the open window, in nanoseconds."""

    def __init__(self, length_ns: int = _SECOND) -> None:
        self._first = length_ns
        self.reset()

    def reset(self) -> None:
        """Forget all windows."""
        self._length = self._first
        self._started = self.due = 0
        self.points: list[GrowthPoint] = []

    def close(self, now_ns: int, *, pending: int, started: int) -> None:
        """End the open window; `started` counts from the beginning of the run."""
        begun, self._started = started - self._started, started
        self.points.append(GrowthPoint(time_ms=now_ns // 1_000_000, pending=pending, started=begun))
        if len(self.points) == POINTS:  # merge each two: what was pending last, and the load of both
            self._length *= 2
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [replace(last, started=first.started + last.started) for first, last in pairs]
        self.due = now_ns + self._length


RECORDS = 4_096  # records open at once; the ledger then closes the oldest


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settlement:
    """The result of a run, or of one test of it.

    `growth` is the number of open deliveries over time; `dropped` counts what exceeded the limits;
    `unobserved` names the components that a mock hides, and why. A run with `notes` is
    not clean although it has no violations.
    """

    violations: tuple[Violation, ...] = ()
    tallies: tuple[ComponentTally, ...] = ()
    growth: tuple[GrowthPoint, ...] = ()
    dropped: int = 0
    unobserved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Ledger:
    """The records of all components. `now` is the clock, in nanoseconds since the epoch or virtual.

    `cap` is how many deliveries a record keeps; `test` names the test of the next settlement.
    """

    def __init__(
        self, level: Level = Level.SITES, *, now: Callable[[], int] = time_ns, cap: int = CAP, test: str = ""
    ) -> None:
        self.level = level
        self.now = now
        self.cap = cap
        self.test = test
        self.sites = Sites()
        self.records: dict[int, ComponentRecord] = {}
        self.windows = Windows()
        # called for a new record with 0, and after each window with the number of pending deliveries
        self.growing: Callable[[int], object] | None = None
        self._begun = 0
        self._is_troubled = False
        self._unobserved: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._closed: list[tuple[tuple[Violation, ...], ComponentTally, int]] = []
        self._lock = RLock()

    def open(self, traced: TracedComponent, role: Role) -> ComponentRecord:
        """Add the record of a component that is known by its rows only."""
        record = ComponentRecord(traced, role, self.sites, cap=self.cap)
        self.keep(id(record), record)
        return record

    def keep(self, key: int, record: ComponentRecord) -> None:
        """Add a record under a key: the `id` of a live component, which the record keeps alive."""
        with self._lock:
            self.records[key] = record
            if len(self.records) > RECORDS:
                self._close(self.records.pop(next(iter(self.records))))
        if self.growing is not None:
            self.growing(0)

    def unobserved(self, component: str, reason: str) -> None:
        """Mark a component as not observed."""
        self._unobserved[f"{component}: {reason}"] = None

    def note(self, text: str) -> None:
        """Add a note to the settlement, once."""
        self._notes[text] = None

    def trouble(self, error: Exception) -> None:
        """Note the first internal error of the tracer."""
        if not self._is_troubled:
            self._is_troubled = True
            self.note(f"the tracer continues after an internal error: {type(error).__name__}: {error}")

    def grow(self, now_ns: int) -> None:
        """End a window."""
        with self._lock:
            records = list(self.records.values())
            pending = sum(len(record.open) for record in records)
            self.windows.close(
                now_ns,
                pending=pending,
                started=self._begun + sum(record.entry - record.ticks_seen for record in records),
            )
        if self.growing is not None:
            self.growing(pending)

    def settle(self) -> Settlement:
        """Close the records, and return the result so far."""
        with self._lock:
            if self.records:
                self.grow(self.now())
            for key in list(self.records):
                self._close(self.records.pop(key))
            rows, self._closed = self._closed, []
            settlement = Settlement(
                violations=tuple(violation for found, _, _ in rows for violation in found),
                tallies=merged(row for _, row, _ in rows),
                growth=tuple(self.windows.points),
                dropped=sum(dropped for _, _, dropped in rows),
                unobserved=tuple(self._unobserved),
                notes=tuple(self._notes),
            )
            self._unobserved.clear()
            self._notes.clear()
            self.windows.reset()
            self._begun = 0
        return settlement

    def _close(self, record: ComponentRecord) -> None:
        now = self.now()
        hidden = record.close()
        if hidden:
            self.unobserved(record.traced.name, hidden)
        if kept := record.interrupted():
            for delivery in kept:
                record.excuse(delivery)
            what = "tuple was" if len(kept) == 1 else "tuples were"
            self.note(f"{record.traced.name}: {len(kept)} kept {what} open when an exception left a handler")
        found = record.violations(now, self.test)
        self._begun += record.entry - record.ticks_seen
        self._closed.append((found, record.tally(now, found), record.dropped))
        if record.strays:
            many = "completion" if record.strays == 1 else "completions"
            self.note(
                f"{record.traced.name}: {record.strays} {many} of tuples that no input was seen to bring"
            )


def merged(tallies: Iterable[ComponentTally]) -> tuple[ComponentTally, ...]:
    """One row per component class; the high-water mark is the highest of its instances."""
    rows: dict[tuple[str, str], ComponentTally] = {}
    for one in tallies:
        key = (one.component, one.dialect)
        other = rows.get(key)
        rows[key] = one if other is None else _sum(other, one)
    return tuple(rows[key] for key in sorted(rows))


def _sum(one: ComponentTally, other: ComponentTally) -> ComponentTally:
    return replace(
        one,
        delivered=one.delivered + other.delivered,
        emitted=one.emitted + other.emitted,
        acked=one.acked + other.acked,
        failed=one.failed + other.failed,
        ticks=one.ticks + other.ticks,
        pending=one.pending + other.pending,
        high_water=max(one.high_water, other.high_water),
        oldest_ms=max(one.oldest_ms, other.oldest_ms),
        violations=one.violations + other.violations,
    )
