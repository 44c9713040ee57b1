"""The ledger: the records of all components, and what they come to."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, unique
from threading import RLock
from time import time_ns

from ackdoctor.model.dialect import EntryKind, Kind, Misuse, Role
from ackdoctor.model.protocol import TABLE, Op, Stage
from ackdoctor.model.trace import Access, AccessKind, ComponentTally, GrowthPoint, TracedComponent, Violation
from ackdoctor.tracer.record import BREACHES, CAP, Closed, ComponentRecord, Delivery, Incident, Mark, Opened
from ackdoctor.tracer.sites import Sites

__all__ = [
    "POINTS",
    "RECORDS",
    "Ledger",
    "Level",
    "Settlement",
    "Windows",
    "halved",
    "merged",
    "tally",
    "violations",
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

    __slots__ = ("_first", "_length", "_started", "due", "points")

    def __init__(self, length_ns: int = _SECOND) -> None:
        self._first = self._length = length_ns
        self._started = 0
        self.due = 0
        self.points: list[GrowthPoint] = []

    def reset(self) -> None:
        """Forget all windows."""
        self._length, self._started, self.due = self._first, 0, 0
        self.points = []

    def close(self, now_ns: int, *, pending: int, started: int, orphans: int = 0) -> None:
        """End the open window; `started` counts from the beginning of the run."""
        begun, self._started = started - self._started, started
        self.points.append(
            GrowthPoint(time_ms=now_ns // 1_000_000, pending=pending, orphans=orphans, started=begun)
        )
        if len(self.points) == POINTS:
            self._length *= 2
            self.points = halved(self.points)
        self.due = now_ns + self._length


def halved(points: Sequence[GrowthPoint]) -> list[GrowthPoint]:
    """Merge each two windows: what was pending last, and the load of both."""
    pairs = zip(points[::2], points[1::2], strict=True)
    return [replace(last, started=first.started + last.started) for first, last in pairs]


_BREACH = TABLE[Stage.OWED, Op.END].breach
_DONE = {Op.ACK: AccessKind.ACKED, Op.FAIL: AccessKind.FAILED}


def violations(record: ComponentRecord, sites: Sites, now_ns: int, test: str) -> Iterator[Violation]:
    """The violations of one component, in the order in which they happened."""
    traced = record.traced_now
    for incident in record.incidents():
        yield _violation(record, incident, traced, sites, test)
    yield from _untracked(record, traced, sites, test)
    yield from _overdue(record, traced, now_ns, test)


def _violation(
    record: ComponentRecord, incident: Incident, traced: TracedComponent, sites: Sites, test: str
) -> Violation:
    answers = _handler(record)
    handler = answers if _is_batch(record, answers) and not incident.tick else incident.handler or answers
    life = [*_beginning(incident.opened), *_completion(incident.closed, sites)]
    life.append(_touch(incident.kind, incident.site, incident.entry, incident.mark, sites))
    return Violation(
        misuse=incident.misuse,
        traced=traced,
        handler=handler,
        delivery=_shown(incident.delivery),
        history=tuple(life),
        tick=incident.tick,
        batch=_is_batch(record, handler),
        note=incident.note,
        test=test,
        count=incident.count,
        discarded=incident.discarded,
    )


def _untracked(
    record: ComponentRecord, traced: TracedComponent, sites: Sites, test: str
) -> Iterator[Violation]:
    """A spout that implements ack or fail, and emits no tuple with a message id."""
    if (
        record.untracked is None
        or record.reliable
        or not record.waits()
        or not record.prices(Misuse.NO_MESSAGE_ID)
    ):
        return
    site, entry = record.untracked
    yield Violation(
        misuse=Misuse.NO_MESSAGE_ID,
        traced=traced,
        handler=_handler(record),
        delivery="",
        history=(_touch(AccessKind.EMITTED, site, entry, None, sites),),
        test=test,
        count=record.emits,
    )


def _overdue(record: ComponentRecord, traced: TracedComponent, now_ns: int, test: str) -> Iterator[Violation]:
    owed = record.overdue()
    held = record.held({delivery for delivery, _ in owed}) if owed else {}
    unheld = {delivery for delivery, _ in owed if delivery not in held}
    named = record.held(unheld, ids=True) if unheld else {}
    groups: dict[tuple[Misuse, str, str], list[tuple[Delivery, Opened]]] = {}
    for delivery, opened in owed:
        field, ids = held.get(delivery, ""), named.get(delivery, "")
        if {field, ids}.isdisjoint(record.buffers) and _BREACH is not None:
            groups.setdefault((BREACHES[_BREACH], field, ids), []).append((delivery, opened))
    for delivery, opened in record.ticks_owed():
        groups.setdefault((Misuse.TICK_NEVER, "", ""), []).append((delivery, opened))
    for (misuse, field, ids), members in groups.items():
        delivery, opened = members[0]
        tick = misuse is Misuse.TICK_NEVER
        handler = (_ticked(record) if tick else "") or _handler(record)
        if record.prices(misuse):
            yield Violation(
                misuse=misuse,
                traced=traced,
                handler=handler,
                delivery=_shown(delivery),
                history=(
                    *_beginning(opened),
                    Access(kind=AccessKind.ENDED, time_ns=now_ns, entry=record.entry),
                ),
                tick=tick,
                batch=_is_batch(record, handler),
                held=f"self.{field}" if field else "",
                named=f"self.{ids}" if ids else "",
                test=test,
                count=len(members),
            )


def tally(record: ComponentRecord, now_ns: int, found: Iterable[Violation]) -> ComponentTally:
    """The counts of one component."""
    oldest = next(iter(record.open.values()), None)
    return ComponentTally(
        component=record.traced.name,
        dialect=record.traced.dialect,
        delivered=record.entry - record.ticks_seen,
        emitted=record.emits,
        acked=record.acks,
        failed=record.fails,
        ticks=record.ticks_seen,
        pending=len(record.overdue()),
        high_water=record.high_water,
        oldest_ms=max(0, now_ns - oldest[0]) // 1_000_000 if oldest else 0,
        violations=sum(violation.count for violation in found),
    )


def _beginning(opened: Opened | None) -> Iterator[Access]:
    if opened is not None:
        yield Access(kind=AccessKind.RECEIVED, time_ns=opened.time_ns, entry=opened.entry)


def _completion(closed: Closed | None, sites: Sites) -> Iterator[Access]:
    if closed is not None:
        yield _touch(_DONE[closed.op], closed.site, closed.entry, closed.mark, sites)


def _touch(kind: AccessKind, site: int, entry: int, mark: Mark | None, sites: Sites) -> Access:
    mark = mark or Mark()
    return Access(
        kind=kind,
        site=sites[site],
        thread=mark.thread,
        time_ns=mark.time_ns,
        entry=entry,
        in_except=mark.in_except,
    )


def _shown(delivery: Hashable) -> str:
    return "" if delivery is None else str(delivery)


def _handler(record: ComponentRecord) -> str:
    """The handler of a delivery: the batch handler if the role has batches."""
    wanted = (EntryKind.BATCH, EntryKind.DATA) if record.role.kind is Kind.BOLT else (EntryKind.NEXT,)
    for kind in wanted:
        for entry in record.role.entries:
            if entry.kind is kind:
                return entry.method
    return ""


def _ticked(record: ComponentRecord) -> str:
    """The handler of ticks; '' if ticks reach the handler of data."""
    return next((entry.method for entry in record.role.entries if entry.kind is EntryKind.TICK), "")


def _is_batch(record: ComponentRecord, handler: str) -> bool:
    return any(entry.method == handler and entry.kind is EntryKind.BATCH for entry in record.role.entries)


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
        self.growing: Callable[[int], None] | None = None
        self._begun = 0
        self._unobserved: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._closed: list[tuple[tuple[Violation, ...], ComponentTally, int]] = []
        self._lock = RLock()

    def open(self, traced: TracedComponent, role: Role) -> ComponentRecord:
        """Add the record of a component that is known by its rows only."""
        record = ComponentRecord(traced, role, cap=self.cap)
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
        found = tuple(violations(record, self.sites, now, self.test))
        self._begun += record.entry - record.ticks_seen
        self._closed.append((found, tally(record, now, found), record.dropped))
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
