"""A stored trace through the ledger, row by row.

Components are kept apart by process, component, task and test, since a delivery id means nothing outside of them.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from ackdoctor.model.dialect import EntryKind, Kind, Role
from ackdoctor.model.trace import AUTO, BARE, IN_HAND, RELIABLE, TICK, Event, EventKind, TracedComponent
from ackdoctor.tracer.components import recalled, role_of, unobserved
from ackdoctor.tracer.ledger import Ledger, Settlement, Windows, merged
from ackdoctor.tracer.record import ComponentRecord, Delivery, Mark
from ackdoctor.tracer.sites import UNKNOWN, Sites, parsed

__all__ = ["Playback"]


_BATCH = "the batch"


_KILLED, _TROUBLE = (
    "killed by ",
    ": ",
)  # in the note of a DIED row: "killed by SIGKILL", "exit code 1: ValueError: no"


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
        self._suspects: dict[tuple[object, ...], TracedComponent] = {}
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
        in_hand = event.flags & IN_HAND or event.note.startswith(_KILLED) or _TROUBLE in event.note
        if record is not None and in_hand:
            held = record.under_way()
            for delivery in held:
                record.excuse(delivery)
            ended += f", tuples under way: {len(held)}" if held else ""
        self._ends.append(ended)

    def _named(self, event: Event) -> None:
        key = _key(event)
        traced = recalled(event.component, event.task, event.site, event.note)
        self._suspects[key[:5]] = traced
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
            self._begin(key, self._suspects.get(key[:5]) or recalled(event.component, event.task))
        return self._records[key]

    def _begin(self, key: _Key, traced: TracedComponent) -> None:
        role, ledger = role_of(traced), self._ledger(key.test)
        record = _ReplayedRecord(traced, role, ledger.sites)
        record.handler = _handler(role)
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


def _handler(role: Role) -> str:
    methods = (e.method for e in role.entries if e.kind in (EntryKind.DATA, EntryKind.BATCH))
    return next(methods, "")
