"""The record of one component instance: the tuples it received, and how each was completed."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import NamedTuple, TypeAlias

from ackdoctor.model.dialect import Anchoring, Kind, Misuse, Role, TickDuty
from ackdoctor.model.protocol import TABLE, Breach, Op, Stage
from ackdoctor.model.trace import AccessKind, TracedComponent

__all__ = [
    "ACK",
    "BREACHES",
    "CAP",
    "Closed",
    "ComponentRecord",
    "Delivery",
    "Incident",
    "Incidents",
    "Mark",
    "Opened",
    "PendingTuple",
]


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


@dataclass(slots=True, kw_only=True)
class Incident:
    """One misuse, with the numbers of sites; `count` deliveries share it."""

    misuse: Misuse
    delivery: Delivery
    kind: AccessKind
    opened: Opened | None
    closed: Closed | None
    site: int
    entry: int
    mark: Mark | None
    handler: str
    tick: bool = False
    note: str = ""
    count: int = 1
    discarded: int = 0


class Incidents:
    """Different incidents, at most `limit`; `cap` deliveries are remembered, so that each counts once."""

    def __init__(self, limit: int, cap: int) -> None:
        self._limit = limit
        self._cap = cap
        self._kept: dict[Hashable, Incident] = {}
        self._counted: set[tuple[Hashable, Hashable]] = set()

    def add(self, incident: Incident) -> bool:
        """Add an incident, or count it with an equal one; False if there is no room."""
        key = (
            incident.misuse,
            incident.kind,
            incident.closed.site if incident.closed else 0,
            incident.closed.op if incident.closed else None,
            incident.site,
            incident.handler,
            incident.tick,
        )
        seen = self._kept.get(key)
        if seen is None and len(self._kept) >= self._limit:
            return False
        counted = (key, incident.delivery)
        if seen is None:
            self._kept[key] = incident
        elif counted in self._counted:
            seen.discarded += 1
            return True
        else:
            seen.count += 1
        if len(self._counted) < self._cap:
            self._counted.add(counted)
        return True

    def all(self) -> tuple[Incident, ...]:
        """The incidents, in the order of the first of each kind."""
        return tuple(self._kept.values())


CAP = 65_536  # open deliveries that a record keeps, and as many completed ones
INCIDENTS = 1_000  # different violations that a record keeps

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
_Row: TypeAlias = tuple[PendingTuple, int, int, int, Mark | None]
"""A Closed as plain numbers, which the garbage collector need not track."""
_Moment: TypeAlias = tuple[int, str]
"""The number of the handler call, and its handler."""


class ComponentRecord:
    """The deliveries of one component. Any thread may call; the slow path takes a lock.

    `entry` counts the tuples received; `handler` and `current` name the running handler and its delivery, and the
    instrumentation sets them. Deliveries beyond `cap` are dropped, oldest first, and counted in `dropped`.
    """

    __slots__ = (
        "_cap",
        "_excused",
        "_incidents",
        "_lock",
        "_older",
        "_twins",
        "_unknown",
        "acks",
        "current",
        "done",
        "dropped",
        "emits",
        "entry",
        "fails",
        "handler",
        "high_water",
        "open",
        "reliable",
        "role",
        "strays",
        "ticks",
        "ticks_seen",
        "traced",
        "untracked",
    )

    def __init__(self, traced: TracedComponent, role: Role, *, cap: int = CAP) -> None:
        self.traced = traced
        self.role = role
        self.open: dict[Delivery, PendingTuple] = {}
        self.done: dict[Delivery, _Row] = {}
        self.ticks: dict[Delivery, tuple[Opened, Closed | None]] = {}
        self.entry = self.acks = self.fails = self.emits = self.ticks_seen = 0
        self.high_water = self.dropped = self.strays = 0
        self.current: Delivery = None
        self.handler = ""
        self.reliable = 0
        self.untracked: tuple[int, int] | None = None  # site and entry of a spout's first emit without id
        self._cap = cap
        self._excused: set[Delivery] = set()
        self._older: dict[Delivery, _Row] = {}
        self._twins: dict[Delivery, list[PendingTuple]] = {}
        self._incidents = Incidents(INCIDENTS, cap)
        self._unknown: list[tuple[Delivery, Op, int, Mark | None, _Moment]] = []
        self._lock = RLock()

    # ---- the four verbs ----

    def received(self, delivery: Delivery, time_ns: int = 0, text: str = "") -> None:
        """A tuple was received; `text` is the delivery as JSON if rows are written."""
        open_ = self.open
        self.entry = entry = self.entry + 1
        self.current = delivery
        if delivery in open_:
            self._twin(delivery, (time_ns, entry, text))
            return
        open_[delivery] = (time_ns, entry, text)
        if len(open_) > self.high_water:
            self.rise()
        if not entry & 1023:
            self._turn()

    def acked(self, delivery: Delivery, site: int = 0, mark: Mark | None = None) -> PendingTuple | None:
        """A tuple was acked, by the author or by the framework; returns it if it was open."""
        self.acks += 1
        opened = self.open.pop(delivery, None)
        if opened is None or mark is not None:
            self._completed(delivery, Op.ACK, opened, site, mark)
        else:
            self.done[delivery] = (opened, ACK, site, self.entry, None)
        return opened

    def failed(self, delivery: Delivery, site: int = 0, mark: Mark | None = None) -> None:
        """A tuple was failed, by the author or by the framework."""
        self.fails += 1
        opened = self.open.pop(delivery, None)
        if opened is None or mark is not None:
            self._completed(delivery, Op.FAIL, opened, site, mark)
        else:
            self.done[delivery] = (opened, _FAIL, site, self.entry, None)

    def emitted(self, anchors: Iterable[Delivery] = (), site: int = 0, mark: Mark | None = None) -> None:
        """A tuple was emitted with these anchors; a spout's has none."""
        self.emits += 1
        open_ = self.open
        for anchor in anchors:
            if anchor not in open_:
                self._anchored(anchor, site, mark)
        if mark is not None:
            self._emitted_oddly(site, mark)

    # ---- the slow path ----

    def ticked(self, delivery: Delivery, time_ns: int = 0) -> None:
        """A tick was received; whether it must be completed depends on the role's `TickDuty`."""
        self.entry += 1
        self.ticks_seen += 1
        self.current = None
        with self._lock:
            self.ticks[delivery] = (Opened(time_ns, self.entry), None)
            while len(self.ticks) > INCIDENTS:
                del self.ticks[next(iter(self.ticks))]

    def offended(
        self,
        misuse: Misuse,
        kind: AccessKind,
        delivery: Delivery = None,
        site: int = 0,
        mark: Mark | None = None,
        note: str = "",
    ) -> None:
        """Record a misuse that the protocol's table does not have, if the dialect has a price for it."""
        with self._lock:
            closed = self._closed(delivery)
            opened = closed.opened if closed else self._opened(delivery)
            self._incident(misuse, kind, delivery, opened, closed, site, mark, note=note)

    def excuse(self, delivery: Delivery) -> None:
        """Report no violation if the tuple stays open: the component died while it held the tuple."""
        if len(self._excused) < self._cap:
            self._excused.add(delivery)

    def spouted(self, message_id: Delivery, site: int = 0) -> None:
        """A spout has emitted; None is an emit without message id, which Storm does not track."""
        self.emits += 1
        if message_id is not None:
            self.reliable += 1
        elif self.untracked is None:
            self.untracked = (site, self.entry)

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

    def prices(self, misuse: Misuse) -> bool:
        """Whether the role has a price for a misuse."""
        return misuse in self.role.discipline.prices

    def __contains__(self, delivery: object) -> bool:
        return (
            delivery in self.open
            or delivery in self.done
            or delivery in self._older
            or delivery in self.ticks
        )

    def state(self, delivery: Delivery) -> Stage | None:
        """The state of a delivery; None if this record does not know it."""
        if delivery in self.open:
            return Stage.OWED
        closed = self._closed(delivery)
        return None if closed is None else closed.state

    def incidents(self) -> Iterable[Incident]:
        """Every different incident so far, in the order of the first of its kind."""
        self._look_again()
        return self._incidents.all()

    def overdue(self) -> tuple[tuple[Delivery, Opened], ...]:
        """The pending deliveries, oldest first."""
        with self._lock:
            twins = [(key, Opened(*one[:2])) for key, more in self._twins.items() for one in more]
            owed = [(key, Opened(*one[:2])) for key, one in self.open.items() if key not in self._excused]
        return tuple(sorted(owed + twins, key=lambda row: row[1].entry))

    def ticks_owed(self) -> tuple[tuple[Delivery, Opened], ...]:
        """The pending ticks that must be completed."""
        duty = self.role.discipline.tick
        owed = duty is TickDuty.REQUIRED or (duty is TickDuty.AUTO and not self.traced_now.auto_ack)
        return tuple(
            (key, opened)
            for key, (opened, closed) in self.ticks.items()
            if owed and closed is None and key not in self._excused
        )

    def _twin(self, delivery: Delivery, opened: PendingTuple) -> None:
        """The id of an open delivery came again, which only a test's driver does: both are pending."""
        with self._lock:
            self._twins.setdefault(delivery, []).append(opened)

    def rise(self) -> None:
        """More deliveries are open than ever before."""
        with self._lock:
            while len(self.open) > self._cap:
                del self.open[next(iter(self.open))]
                self.dropped += 1
            self.high_water = max(self.high_water, len(self.open))

    def _turn(self) -> None:
        """Forget completed deliveries by generations, like the acker's map."""
        with self._lock:
            if len(self.done) >= self._cap:
                self._older, self.done = self.done, {}

    def _opened(self, delivery: Delivery) -> Opened | None:
        opened = self.open.get(delivery)
        return None if opened is None else Opened(*opened[:2])

    def _closed(self, delivery: Delivery) -> Closed | None:
        row = self.done.get(delivery) or self._older.get(delivery)
        return None if row is None else Closed(Opened(*row[0][:2]), _OPS[row[1]], *row[2:])

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
                self.done[delivery] = (opened, _OPS.index(op), site, self.entry, mark)
            elif delivery in self.ticks:
                self._tick_completed(delivery, op, site, mark)
            else:
                self._again(delivery, op, site, mark)
            if mark is not None and mark.thread and not self.role.discipline.thread_safe:
                self.offended(Misuse.OFF_THREAD, _KINDS[op], delivery, site, mark)

    def _again(
        self, delivery: Delivery, op: Op, site: int, mark: Mark | None, moment: _Moment | None = None
    ) -> None:
        closed = self._closed(delivery)
        if closed is None:
            if self.role.kind is Kind.SPOUT:
                self._incident(Misuse.SPOUT_COMPLETES, _KINDS[op], delivery, None, None, site, mark)
            else:
                self.strays += 1
                if len(self._unknown) < self._cap:
                    self._unknown.append((delivery, op, site, mark, (self.entry, self.handler)))
            return
        breach = TABLE[closed.state, op].breach
        if breach is not None:
            misuse, kind = BREACHES[breach], _KINDS[op]
            self._incident(misuse, kind, delivery, closed.opened, closed, site, mark, moment=moment)

    def _look_again(self) -> None:
        """Try unknown deliveries again: another thread may have been about to complete them."""
        with self._lock:
            unknown, self._unknown = self._unknown, []
            for delivery, op, site, mark, moment in unknown:
                closed = self._closed(delivery)
                if closed is not None and closed.opened.entry <= moment[0]:  # not handed over later
                    self.strays -= 1
                    self._again(delivery, op, site, mark, moment)

    def _tick_completed(self, delivery: Delivery, op: Op, site: int, mark: Mark | None) -> None:
        opened, closed = self.ticks[delivery]
        if closed is None:
            self.ticks[delivery] = (opened, Closed(opened, op, site, self.entry, mark))
        if closed is not None or self.role.discipline.tick is TickDuty.FORBIDDEN:
            self._incident(Misuse.TICK_TWICE, _KINDS[op], delivery, opened, closed, site, mark, tick=True)

    def _anchored(self, anchor: Delivery, site: int, mark: Mark | None) -> None:
        """An anchor that is not open: completed already, or unknown."""
        with self._lock:
            closed, tick = self._closed(anchor), False
            if closed is None and anchor in self.ticks:
                closed, tick = self.ticks[anchor][1], True
            if closed is not None and (breach := TABLE[closed.state, Op.ANCHOR].breach) is not None:
                self._incident(
                    BREACHES[breach],
                    AccessKind.ANCHORED,
                    anchor,
                    closed.opened,
                    closed,
                    site,
                    mark,
                    tick=tick,
                )

    def _emitted_oddly(self, site: int, mark: Mark) -> None:
        """An emit from another thread, or one that leaves the anchors to a framework that sets none."""
        discipline = self.role.discipline
        if mark.thread:
            guesses = mark.bare and discipline.anchoring is Anchoring.CURRENT
            if not discipline.thread_safe or guesses:
                self.offended(Misuse.OFF_THREAD, AccessKind.EMITTED, self.current, site, mark)
        elif mark.bare and self.current is not None and self._anchors_nothing():
            self.offended(Misuse.UNANCHORED, AccessKind.EMITTED, self.current, site, mark)

    def _anchors_nothing(self) -> bool:
        anchoring = self.role.discipline.anchoring
        return anchoring is Anchoring.NONE or (
            anchoring is Anchoring.CURRENT and not self.traced_now.auto_anchor
        )

    def _incident(
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
        note: str = "",
        moment: _Moment | None = None,
    ) -> None:
        if not self.prices(misuse):
            return
        entry, handler = moment or (self.entry, self.handler)
        incident = Incident(
            misuse=misuse,
            delivery=delivery,
            kind=kind,
            opened=opened,
            closed=closed,
            site=site,
            entry=entry,
            mark=mark,
            handler=handler,
            tick=tick,
            note=note,
        )
        self.dropped += not self._incidents.add(incident)
