"""The ledger: the records of all components, live or played back from the rows of a stored trace, and what they come to."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, unique
from threading import RLock
from time import time_ns
from typing import NamedTuple

from ackdoctor.model.dialect import EntryKind, Kind, Role
from ackdoctor.model.finding import counted
from ackdoctor.model.trace import (
    AUTO,
    BARE,
    IN_HAND,
    RELIABLE,
    TICK,
    ComponentTally,
    Event,
    EventKind,
    GrowthPoint,
    TracedComponent,
    Violation,
)
from ackdoctor.tracer.components import recalled, role_of, unobserved
from ackdoctor.tracer.record import CAP, ComponentRecord, Delivery, Mark
from ackdoctor.tracer.sites import UNKNOWN, Sites, parsed


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

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all windows."""
        self._length = _SECOND
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
        self._had_internal_error = False
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

    def note_internal_error(self, error: Exception) -> None:
        """Note the first internal error of the tracer."""
        if not self._had_internal_error:
            self._had_internal_error = True
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
            what = counted(len(kept), "kept tuple was", "kept tuples were")
            self.note(f"{record.traced.name}: {what} open when an exception left a handler")
        found = record.violations(now, self.test)
        self._begun += record.entry - record.ticks_seen
        self._closed.append((found, record.tally(now, found), record.dropped))
        if record.strays:
            self.note(
                f"{record.traced.name}: {counted(record.strays, 'completion')} of tuples that no input was seen to bring"
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


_BATCH = "the batch"


# in the note of a DIED row: "killed by SIGKILL", "exit code 1: ValueError: no"
_KILLED, _BEFORE_ERROR = "killed by ", ": "


class _Key(NamedTuple):
    """Whose record it is."""

    run: str
    worker: str
    pid: int
    component: str
    task: int
    test: str


class _ReplayedRecord(ComponentRecord):
    """A component of a stored trace.

    `reached` is the place, among all that was handed in, of the last delivery that it worked on; `keeps` is set
    once it has completed a delivery after another one had come; `waiting` are those that its end found in a batch.
    """

    def __init__(self, traced: TracedComponent, role: Role, sites: Sites) -> None:
        super().__init__(traced, role, sites)
        self.reached = 0
        self.keeps = False
        self.waiting: set[Delivery] = set()

    def touched(self, delivery: Delivery, *, done: int) -> None:
        """The component has worked on this delivery; `done` is 1 if it completed it."""
        entry = self.open[delivery][1]
        self.reached = max(self.reached, entry - 1 + done)
        self.keeps = self.keeps or (done > 0 and entry < self.entry)

    def under_way(self) -> list[Delivery]:
        """The deliveries that the component was working on when it was killed, or had not read yet.

        A component is handed one tuple after the other, so that is its last one.  A batching bolt also had the
        batch that the last ticks ended, and one that keeps its tuples all after the last that it worked on.  On
        a pipe (no dialect) the reads are not visible: there it is what came after that, and only the
        last one where it has not worked on any.
        """
        last = self.entry - 1
        if any(entry.kind is EntryKind.BATCH for entry in self.role.entries):
            flushes = [opened.entry for opened, _ in self.ticks.values() if opened.entry < self.entry]
            ticks = self.role.batch_ticks
            last = flushes[-ticks] if 0 < ticks <= len(flushes) else 0
        elif self.keeps or not self.traced.dialect:
            last = self.reached or last
        placed = [(opened.entry, tick) for tick, (opened, closed) in self.ticks.items() if not closed]
        placed += [(entry, delivery) for delivery, (_, entry, _) in self.open.items()]
        return [delivery for entry, delivery in placed if entry > last]

    @property
    def buffers(self) -> tuple[str, ...]:
        """The framework's own batch."""
        return (_BATCH,)

    def held(self, deliveries: Collection[Delivery], *, ids: bool = False) -> Mapping[Delivery, str]:  # noqa: ARG002 - rows hold no ids
        """The deliveries that wait for a batch."""
        return dict.fromkeys(self.waiting.intersection(deliveries), _BATCH)


class Playback:
    """Feeds rows to a ledger for each test; `settle` returns the result, `dropped` counts rows that the recorder lost."""

    def __init__(self) -> None:
        self.dropped = 0
        self._ledgers: dict[str, Ledger] = {}
        self._records: dict[_Key, _ReplayedRecord] = {}
        # by key without the test: named once a process
        self._described: dict[tuple[object, ...], TracedComponent] = {}
        self._sites: dict[tuple[str, int, str], int] = {}
        self._now_ns = 0
        self._open = self._begun = self._grown_ns = 0
        self._ends: list[str] = []
        self._windows = Windows()

    def feed(self, event: Event) -> None:
        """One row, in order."""
        self._now_ns = event.time_ns
        match event.kind:
            case EventKind.RECEIVED:
                self._received(event)
            case EventKind.ACKED | EventKind.FAILED:
                self._completed(event)
            case EventKind.EMITTED | EventKind.ANCHORED:
                self._emitted(event)
            case EventKind.NAMED:
                self._named(event)
            case EventKind.WAITS:
                self._record_of(event).waiting.add(event.delivery)
            case EventKind.DROPPED:
                self.dropped += event.value
            case EventKind.DIED:
                self._died(event)
            case _:
                pass

    def settle(self) -> Settlement:
        """Close all records; the components' counts are added up over processes and tests."""
        if self._begun and self._now_ns != self._grown_ns:
            self._close_window()
        kept = Counter(
            record.traced.name
            for record in self._records.values()
            for _ in record.open.keys() & record.waiting
        )
        self._ends += [
            f"{name}: {count} waited for a batch when the run ended" for name, count in kept.items()
        ]
        settled = [ledger.settle() for ledger in self._ledgers.values()]
        return Settlement(
            violations=tuple(violation for each in settled for violation in each.violations),
            tallies=merged(tally for each in settled for tally in each.tallies),
            growth=tuple(self._windows.points),
            dropped=self.dropped + sum(each.dropped for each in settled),
            unobserved=tuple(dict.fromkeys(line for each in settled for line in each.unobserved)),
            notes=(*dict.fromkeys(self._ends), *(line for each in settled for line in each.notes)),
        )

    # ---- rows ----

    def _received(self, event: Event) -> None:
        record = self._record_of(event)
        if event.flags & TICK:
            record.ticked(event.delivery, event.time_ns)
            return
        record.received(event.delivery, event.time_ns)
        self._open += 1
        self._begun += 1
        self._grow()

    def _completed(self, event: Event) -> None:
        record = self._record_of(event)
        if event.delivery in record.open:
            self._open -= 1
            record.touched(event.delivery, done=1)
        verb = record.acked if event.kind is EventKind.ACKED else record.failed
        verb(event.delivery, self._site(event), _mark(event))
        self._grow()

    def _grow(self) -> None:
        if self._now_ns >= self._windows.due:
            self._close_window()

    def _close_window(self) -> None:
        self._windows.close(self._now_ns, pending=self._open, started=self._begun)
        self._grown_ns = self._now_ns

    def _emitted(self, event: Event) -> None:
        record = self._record_of(event)
        if record.role.kind is Kind.SPOUT:
            record.spouted(event.delivery if event.flags & RELIABLE else None, self._site(event))
            return
        anchors = (event.delivery,) if event.delivery and record.entry else ()
        if event.delivery in record.open:
            record.touched(event.delivery, done=0)
        record.emitted(anchors, self._site(event), _mark(event))
        if event.kind is EventKind.ANCHORED:
            record.emits -= 1  # one more anchor of the emit before

    def _died(self, event: Event) -> None:
        """A component that was killed or met an exception gets no violation for the tuples that it was working on."""
        record = self._records.get(_key(event))
        ended = f"{event.component}[{event.task}] ended: {event.note}"
        in_hand = event.flags & IN_HAND or event.note.startswith(_KILLED) or _BEFORE_ERROR in event.note
        if record is not None and in_hand:
            held = record.under_way()
            for delivery in held:
                record.excuse(delivery)
            ended += f", tuples under way: {len(held)}" if held else ""
        self._ends.append(ended)

    def _named(self, event: Event) -> None:
        key = _key(event)
        traced = recalled(event.component, event.task, event.site, event.note)
        self._described[key[:5]] = traced
        if key not in self._records:
            self._begin(key, traced)
        if why := unobserved(event.note):
            self._ledger(event.test).unobserved(event.component, why)
            record = self._records[key]
            for delivery in tuple(record.open):
                record.excuse(delivery)

    # ---- records ----

    def _record_of(self, event: Event) -> _ReplayedRecord:
        key = _key(event)
        if key not in self._records:
            self._begin(key, self._described.get(key[:5]) or recalled(event.component, event.task))
        return self._records[key]

    def _begin(self, key: _Key, traced: TracedComponent) -> None:
        role, ledger = role_of(traced), self._ledger(key.test)
        record = _ReplayedRecord(traced, role, ledger.sites)
        methods = (e.method for e in role.entries if e.kind in (EntryKind.DATA, EntryKind.BATCH))
        record.handler = next(methods, "")
        ledger.keep(id(record), record)
        self._records[key] = record

    def _ledger(self, test: str) -> Ledger:
        if test not in self._ledgers:
            self._ledgers[test] = Ledger(now=lambda: self._now_ns, test=test)
        return self._ledgers[test]

    def _site(self, event: Event) -> int:
        if not event.site:
            return UNKNOWN
        key = (event.site, event.flags & AUTO, event.test)
        number = self._sites.get(key)
        if number is None:
            call = parsed(event.site)
            named = None if call is None else replace(call, framework=bool(event.flags & AUTO))
            number = self._sites[key] = (
                UNKNOWN if named is None else self._ledger(event.test).sites.named(named)
            )
        return number


def _key(event: Event) -> _Key:
    return _Key(event.run, event.worker, event.pid, event.component, event.task, event.test)


def _mark(event: Event) -> Mark | None:
    bare = bool(event.flags & BARE)
    if not event.thread and not bare:
        return None
    return Mark(thread=event.thread, time_ns=event.time_ns, bare=bare)
