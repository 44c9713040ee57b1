"""The record of one component instance: the tuples it received, how each was completed, and the violations.

Two levels of detail are kept. A tuple that is completed once, from the thread that receives, is a few plain numbers,
which the garbage collector need not track. `Opened` and `Closed` name them on the slow path.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from threading import RLock
from typing import NamedTuple, TypeAlias

from ackdoctor.model.dialect import Anchoring, EntryKind, Kind, Misuse, Role, TickDuty
from ackdoctor.model.protocol import TABLE, Breach, Op, Stage
from ackdoctor.model.trace import Access, AccessKind, ComponentTally, TracedComponent, Violation
from ackdoctor.tracer.sites import Sites

Delivery = Hashable


class Mark(NamedTuple):
    """What is unusual about a call; `thread` is '' for the thread that receives."""

    thread: str = ""
    in_except: bool = False
    time_ns: int = 0
    bare: bool = False  # an emit that leaves its anchors to the framework


class Opened(NamedTuple):
    """When a delivery was received, and in which handler call."""

    time_ns: int
    entry: int


class Closed(NamedTuple):
    """The first completion of a delivery."""

    opened: Opened
    op: Op
    site: int
    entry: int
    mark: Mark | None = None

    @property
    def state(self) -> Stage:
        """The state after the completion."""
        return TABLE[Stage.OWED, self.op].state


CAP = 65_536  # open deliveries that a record keeps, and as many completed ones
_MOST_DIFFERENT = 1_000  # different violations that a record keeps, and ticks

BREACHES = {
    Breach.MISSING_ACK: Misuse.NEVER,
    Breach.DOUBLE_ACK: Misuse.TWICE,
    Breach.DOUBLE_FAIL: Misuse.TWICE,
    Breach.ACK_AFTER_FAIL: Misuse.MIXED,
    Breach.FAIL_AFTER_ACK: Misuse.MIXED,
    Breach.EMIT_AFTER_ACK: Misuse.LATE_EMIT,
    Breach.EMIT_AFTER_FAIL: Misuse.LATE_EMIT,
}
_KINDS = {Op.ACK: AccessKind.ACKED, Op.FAIL: AccessKind.FAILED, Op.ANCHOR: AccessKind.ANCHORED}

_OPS = (Op.ACK, Op.FAIL)
ACK, _FAIL = range(len(_OPS))
PendingTuple: TypeAlias = tuple[int, int, str]
"""Time of receipt, number of the handler call, and the delivery as JSON if rows are written."""
_Completion: TypeAlias = tuple[int, int, int, int, int, Mark | None]
"""A Closed as plain numbers: time and handler call of the receipt; op, site, handler call and mark of the completion."""
_Call: TypeAlias = tuple[int, str]
"""The number of the handler call, and its handler."""


class ComponentRecord:
    """The deliveries of one component. Any thread may call; the slow path takes a lock.

    `entry` counts the tuples received; `handler` and `current` name the running handler and its delivery, and the
    instrumentation sets them. Deliveries beyond `cap` are dropped, oldest first, and counted in `dropped`; `strays`
    counts completions of unknown deliveries.
    """

    def __init__(self, traced: TracedComponent, role: Role, sites: Sites, *, cap: int = CAP) -> None:
        self.traced = traced
        self.role = role
        self.sites = sites
        self.open: dict[Delivery, PendingTuple] = {}
        self.done: dict[Delivery, _Completion] = {}
        self.ticks: dict[Delivery, tuple[Opened, Closed | None]] = {}
        self.entry = self.acks = self.fails = self.emits = self.ticks_seen = 0
        self.high_water = self.dropped = self.strays = 0
        self.current: Delivery = None
        self.handler = ""
        self._reliable = 0  # emits of a spout with a message id
        self._untracked: tuple[int, int] | None = None  # site and entry of a spout's first emit without id
        self._cap = cap
        self._excused: set[Delivery] = set()
        self._older: dict[Delivery, _Completion] = {}
        self._twins: dict[Delivery, list[PendingTuple]] = {}
        self._found: dict[Hashable, Violation] = {}
        self._counted: set[Hashable] = set()
        self._unknown: list[tuple[Delivery, Op, int, Mark | None, _Call]] = []
        self._lock = RLock()

    # ---- the four verbs ----

    def received(self, delivery: Delivery, time_ns: int = 0, text: str = "") -> None:
        """A tuple was received; `text` is the delivery as JSON if rows are written."""
        open_ = self.open
        self.entry = entry = self.entry + 1
        self.current = delivery
        if delivery in open_:  # its id came again, which only a test's driver does: both are pending
            with self._lock:
                self._twins.setdefault(delivery, []).append((time_ns, entry, text))
            return
        open_[delivery] = (time_ns, entry, text)
        if len(open_) > self.high_water:
            self._rise()
        if not entry & 1023 and len(self.done) >= self._cap:  # forgets by generations, like the acker's map
            with self._lock:
                self._older, self.done = self.done, {}

    def acked(self, delivery: Delivery, site: int = 0, mark: Mark | None = None) -> PendingTuple | None:
        """A tuple was acked, by the author or by the framework; returns it if it was open."""
        self.acks += 1
        opened = self.open.pop(delivery, None)
        if opened is None or mark is not None:
            self._completed(delivery, Op.ACK, opened, site, mark)
        else:
            self.done[delivery] = (opened[0], opened[1], ACK, site, self.entry, None)
        return opened

    def failed(self, delivery: Delivery, site: int = 0, mark: Mark | None = None) -> None:
        """A tuple was failed, by the author or by the framework."""
        self.fails += 1
        self._completed(delivery, Op.FAIL, self.open.pop(delivery, None), site, mark)

    def emitted(self, anchors: Iterable[Delivery] = (), site: int = 0, mark: Mark | None = None) -> None:
        """A tuple was emitted with these anchors; a spout's has none."""
        self.emits += 1
        for anchor in anchors:
            if anchor not in self.open:
                self._anchored(anchor, site, mark)
        if mark is not None:
            self._emitted_oddly(site, mark)

    def spouted(self, message_id: Delivery, site: int = 0) -> None:
        """A spout has emitted; None is an emit without message id, which Storm does not track."""
        self.emits += 1
        if message_id is not None:
            self._reliable += 1
        elif self._untracked is None:
            self._untracked = (site, self.entry)

    def ticked(self, delivery: Delivery, time_ns: int = 0) -> None:
        """A tick was received; whether it must be completed depends on the role's `TickDuty`."""
        self.entry += 1
        self.ticks_seen += 1
        self.current = None
        with self._lock:
            self.ticks[delivery] = (Opened(time_ns, self.entry), None)
            while len(self.ticks) > _MOST_DIFFERENT:
                del self.ticks[next(iter(self.ticks))]

    def misused(
        self,
        misuse: Misuse,
        kind: AccessKind,
        delivery: Delivery = None,
        site: int = 0,
        mark: Mark | None = None,
    ) -> None:
        """Record a misuse that the protocol's table does not have, if the dialect has a price for it."""
        with self._lock:
            closed = self._closed(delivery)
            row = self.open.get(delivery)
            opened = closed.opened if closed else Opened(*row[:2]) if row else None
            self._report(misuse, kind, delivery, opened, closed, site, mark)

    def excuse(self, delivery: Delivery) -> None:
        """Report no violation if the tuple stays open: the component died while it held the tuple."""
        if len(self._excused) < self._cap:
            self._excused.add(delivery)

    # ---- what only a live component knows ----

    @property
    def traced_now(self) -> TracedComponent:
        """The component as a finding names it, with its switches as they are now."""
        return self.traced

    @property
    def buffers(self) -> tuple[str, ...]:
        """Fields in which the framework keeps tuples that it completes itself."""
        return ()

    def held(self, deliveries: Collection[Delivery], *, ids: bool = False) -> Mapping[Delivery, str]:  # noqa: ARG002 - of no use without a component
        """The component's field that holds each delivery, as a tuple or, with `ids`, as an id."""
        return {}

    def interrupted(self) -> Collection[Delivery]:
        """Open deliveries without violation: an exception left a handler while the component kept them."""
        return ()

    def waits(self) -> bool:
        """Whether a spout implements ack or fail. In doubt: no."""
        return False

    def close(self) -> str:
        """Before the settlement; returns why completions could not be observed, or ''."""
        return ""

    # ---- what became of the deliveries ----

    def __contains__(self, delivery: object) -> bool:
        return any(delivery in known for known in (self.open, self.done, self._older, self.ticks))

    def overdue(self) -> tuple[tuple[Delivery, Opened], ...]:
        """The pending deliveries, oldest first."""
        with self._lock:
            owed = [(key, row) for key, row in self.open.items() if key not in self._excused]
            owed += [(key, row) for key, more in self._twins.items() for row in more]
        return tuple((key, Opened(*row[:2])) for key, row in sorted(owed, key=lambda owed: owed[1][1]))

    def violations(self, now_ns: int, test: str) -> tuple[Violation, ...]:
        """The violations so far, each different one once, in the order in which they happened."""
        self._look_again()
        traced = self.traced_now
        found = (*self._found.values(), *self._no_message_id(), *self._never_completed(now_ns))
        return tuple(replace(violation, traced=traced, test=test) for violation in found)

    def tally(self, now_ns: int, found: Iterable[Violation]) -> ComponentTally:
        """The counts; `found` are the violations."""
        oldest = next(iter(self.open.values()), None)
        return ComponentTally(
            component=self.traced.name,
            dialect=self.traced.dialect,
            delivered=self.entry - self.ticks_seen,
            emitted=self.emits,
            acked=self.acks,
            failed=self.fails,
            ticks=self.ticks_seen,
            pending=len(self.overdue()),
            high_water=self.high_water,
            oldest_ms=max(0, now_ns - oldest[0]) // 1_000_000 if oldest else 0,
            violations=sum(violation.count for violation in found),
        )

    def _no_message_id(self) -> Iterator[Violation]:
        """A spout that implements ack or fail, and emits no tuple with a message id."""
        if self._untracked and not self._reliable and self._prices(Misuse.NO_MESSAGE_ID) and self.waits():
            site, entry = self._untracked
            history = (self._access(AccessKind.EMITTED, site, entry, None),)
            yield self._violation(Misuse.NO_MESSAGE_ID, None, history, self._handler(), count=self.emits)

    def _never_completed(self, now_ns: int) -> Iterator[Violation]:
        """One violation for the deliveries that each field still holds, and one for the ticks."""
        owed = self.overdue()
        held = self.held({delivery for delivery, _ in owed}) if owed else {}
        unheld = {delivery for delivery, _ in owed if delivery not in held}
        named = self.held(unheld, ids=True) if unheld else {}
        groups: dict[tuple[Misuse, str, str], list[tuple[Delivery, Opened]]] = {}
        for delivery, opened in owed:
            field, ids = held.get(delivery, ""), named.get(delivery, "")
            if {field, ids}.isdisjoint(self.buffers):
                groups.setdefault((Misuse.NEVER, field, ids), []).append((delivery, opened))
        if ticks := self._ticks_owed():
            groups[Misuse.TICK_NEVER, "", ""] = ticks
        for (misuse, field, ids), members in groups.items():
            delivery, opened = members[0]
            tick = misuse is Misuse.TICK_NEVER
            if self._prices(misuse):
                ended = Access(kind=AccessKind.ENDED, time_ns=now_ns, entry=self.entry)
                yield self._violation(
                    misuse,
                    delivery,
                    (*_receipt(opened), ended),
                    (self._handler(EntryKind.TICK) if tick else "") or self._handler(),
                    tick=tick,
                    held=f"self.{field}" if field else "",
                    named=f"self.{ids}" if ids else "",
                    count=len(members),
                )

    def _ticks_owed(self) -> list[tuple[Delivery, Opened]]:
        """The pending ticks that must be completed."""
        duty = self.role.discipline.tick
        if duty is not TickDuty.REQUIRED and (duty is not TickDuty.AUTO or self.traced_now.auto_ack):
            return []
        ticks = self.ticks.items()
        return [(key, opened) for key, (opened, closed) in ticks if not closed and key not in self._excused]

    def _rise(self) -> None:
        """More deliveries are open than ever before."""
        with self._lock:
            while len(self.open) > self._cap:
                del self.open[next(iter(self.open))]
                self.dropped += 1
            self.high_water = max(self.high_water, len(self.open))

    def _closed(self, delivery: Delivery) -> Closed | None:
        row = self.done.get(delivery) or self._older.get(delivery)
        return None if row is None else Closed(Opened(*row[:2]), _OPS[row[2]], *row[3:])

    # ---- the slow path of the verbs ----

    def _completed(
        self, delivery: Delivery, op: Op, opened: PendingTuple | None, site: int, mark: Mark | None
    ) -> None:
        with self._lock:
            if opened is None and delivery in self._twins:
                more = self._twins[delivery]
                opened = more.pop(0)
                if not more:
                    del self._twins[delivery]
            if opened is not None:
                self.done[delivery] = (*opened[:2], _OPS.index(op), site, self.entry, mark)
            elif delivery in self.ticks:
                self._tick_completed(delivery, op, site, mark)
            else:
                self._completed_again(delivery, op, site, mark, (self.entry, self.handler))
            if mark is not None and mark.thread and not self.role.discipline.thread_safe:
                self.misused(Misuse.OFF_THREAD, _KINDS[op], delivery, site, mark)

    def _completed_again(self, delivery: Delivery, op: Op, site: int, mark: Mark | None, call: _Call) -> None:
        closed = self._closed(delivery)
        if closed is not None:
            self._breach(closed, op, delivery, site, mark, call=call)
        elif self.role.kind is Kind.SPOUT:
            self._report(Misuse.SPOUT_COMPLETES, _KINDS[op], delivery, None, None, site, mark)
        else:
            self.strays += 1
            if len(self._unknown) < self._cap:
                self._unknown.append((delivery, op, site, mark, call))

    def _look_again(self) -> None:
        """Try unknown deliveries again: another thread may have been about to complete them."""
        with self._lock:
            unknown, self._unknown = self._unknown, []
            for delivery, op, site, mark, call in unknown:
                closed = self._closed(delivery)
                if closed is not None and closed.opened.entry <= call[0]:  # not handed over later
                    self.strays -= 1
                    self._breach(closed, op, delivery, site, mark, call=call)

    def _tick_completed(self, delivery: Delivery, op: Op, site: int, mark: Mark | None) -> None:
        opened, closed = self.ticks[delivery]
        if closed is None:
            self.ticks[delivery] = (opened, Closed(opened, op, site, self.entry, mark))
        if closed is not None or self.role.discipline.tick is TickDuty.FORBIDDEN:
            self._report(Misuse.TICK_TWICE, _KINDS[op], delivery, opened, closed, site, mark, tick=True)

    def _anchored(self, anchor: Delivery, site: int, mark: Mark | None) -> None:
        """An anchor that is not open: completed already, or unknown."""
        with self._lock:
            closed, tick = self._closed(anchor), False
            if closed is None and anchor in self.ticks:
                closed, tick = self.ticks[anchor][1], True
            if closed is not None:
                self._breach(closed, Op.ANCHOR, anchor, site, mark, tick=tick)

    def _emitted_oddly(self, site: int, mark: Mark) -> None:
        """An emit from another thread, or one that leaves the anchors to a framework that sets none."""
        discipline = self.role.discipline
        guesses = discipline.anchoring is Anchoring.CURRENT
        if mark.thread:
            if not discipline.thread_safe or (mark.bare and guesses):
                self.misused(Misuse.OFF_THREAD, AccessKind.EMITTED, self.current, site, mark)
        elif mark.bare and self.current is not None:
            sets_none = discipline.anchoring is Anchoring.NONE or (
                guesses and not self.traced_now.auto_anchor
            )
            if sets_none:
                self.misused(Misuse.UNANCHORED, AccessKind.EMITTED, self.current, site, mark)

    def _breach(
        self,
        closed: Closed,
        op: Op,
        delivery: Delivery,
        site: int,
        mark: Mark | None,
        *,
        tick: bool = False,
        call: _Call | None = None,
    ) -> None:
        """Report an operation on a completed delivery, if the protocol forbids it."""
        breach = TABLE[closed.state, op].breach
        if breach is not None:
            what = BREACHES[breach], _KINDS[op], delivery
            self._report(*what, closed.opened, closed, site, mark, tick=tick, call=call)

    # ---- violations ----

    def _report(
        self,
        misuse: Misuse,
        kind: AccessKind,
        delivery: Delivery,
        opened: Opened | None,
        closed: Closed | None,
        site: int,
        mark: Mark | None,
        *,
        tick: bool = False,
        call: _Call | None = None,
    ) -> None:
        """Add a violation, or count it with an equal one; each delivery counts once."""
        if not self._prices(misuse):
            return
        entry, handler = call or (self.entry, self.handler)
        done = (closed.site, closed.op) if closed else None
        key = (misuse, kind, done, site, handler, tick)
        known, counted = self._found.get(key), (key, delivery)
        if known is None and len(self._found) >= _MOST_DIFFERENT:
            self.dropped += 1
            return
        if known is None:
            default = self._handler()
            batch = self._is_batch(default) and not tick
            history = [*_receipt(opened)]
            if closed is not None:
                history.append(self._access(_KINDS[closed.op], closed.site, closed.entry, closed.mark))
            history.append(self._access(kind, site, entry, mark))
            self._found[key] = self._violation(
                misuse, delivery, history, default if batch else handler or default, tick=tick
            )
        elif counted in self._counted:
            known.discarded += 1
            return
        else:
            known.count += 1
        if len(self._counted) < self._cap:
            self._counted.add(counted)

    def _violation(
        self, misuse: Misuse, delivery: Delivery, history: Iterable[Access], handler: str, **more: object
    ) -> Violation:
        return Violation(
            misuse=misuse,
            traced=self.traced,
            handler=handler,
            delivery="" if delivery is None else str(delivery),
            history=tuple(history),
            batch=self._is_batch(handler),
            **more,  # type: ignore[arg-type]
        )

    def _access(self, kind: AccessKind, site: int, entry: int, mark: Mark | None) -> Access:
        thread, in_except, time_ns, _ = mark or Mark()
        return Access(
            kind=kind,
            site=self.sites[site],
            thread=thread,
            time_ns=time_ns,
            entry=entry,
            in_except=in_except,
        )

    def _prices(self, misuse: Misuse) -> bool:
        """Whether the role has a price for a misuse."""
        return misuse in self.role.discipline.prices

    def _handler(self, *wanted: EntryKind) -> str:
        """The handler of that kind; by default a delivery's: the batch handler if the role has batches. '' for none."""
        if not wanted:
            bolt = self.role.kind is Kind.BOLT
            wanted = (EntryKind.BATCH, EntryKind.DATA) if bolt else (EntryKind.NEXT,)
        entries = self.role.entries
        return next((entry.method for kind in wanted for entry in entries if entry.kind is kind), "")

    def _is_batch(self, handler: str) -> bool:
        return any(entry.method == handler and entry.kind is EntryKind.BATCH for entry in self.role.entries)


def _receipt(opened: Opened | None) -> Iterator[Access]:
    if opened is not None:
        yield Access(kind=AccessKind.RECEIVED, time_ns=opened.time_ns, entry=opened.entry)
