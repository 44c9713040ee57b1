"""Why roots of a stored trace timed out: the trace is read twice more, for their tuples and for how its components complete.

The same judgement as that of `ackdoctor analyze` (`slowness`).
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import TypeAlias

from ackdoctor.model.event import TICK, Event, EventKind
from ackdoctor.model.verdict import Residue, TupleTree
from ackdoctor.tracer.judge.life import Events
from ackdoctor.tracer.judge.slowness import Pace, Step, TimedOut, burst_period

__all__ = ["Late", "timed_out"]

_MESSAGES = (EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET)
_DONE = (EventKind.ACKED, EventKind.FAILED)
_SECOND, _MS = 1_000_000_000, 1_000_000
_MOST_HOLDS = 1_000_000  # of one stream, for the median
_LOG = 0  # the `pid` of rows from a log: only these name the edge that an emit made

_Key: TypeAlias = tuple[str, str, int, str, int, str, str]


@dataclass(slots=True, kw_only=True)
class Late:
    """The roots that timed out, the slowest first, and the pace of each component that received a tuple of one."""

    trees: tuple[TimedOut, ...] = ()
    paces: Mapping[str, Pace] = field(default_factory=dict)


@dataclass(slots=True)
class _Root:
    """What the rows say of one root, in ns; an edge is known by its value."""

    first_ns: int | None = None
    init_ns: int | None = None
    timed_ns: int | None = None
    sent: dict[int, int] = field(default_factory=dict)
    linked: dict[_Key, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Delivery:
    received_ns: int | None = None
    completed_ns: int | None = None
    completions: int = 0


def timed_out(trees: Collection[TupleTree], events: Events) -> Late:
    """Judges the trees of the verdict EXPIRED; reads nothing where there are none."""
    if not trees:
        return Late()
    roots = {tree.root: _Root() for tree in trees}
    for event in events():
        known = roots.get(event.root)
        if known is not None and event.root:
            _told(known, event)
    deliveries = {key: _Delivery() for root in roots.values() for key in root.linked}
    if not deliveries:
        paces: Mapping[str, Pace] = {}
    else:
        paces = _completed(deliveries, events)
    late = [_timed_out(tree, roots[tree.root], deliveries) for tree in trees]
    late.sort(key=lambda tree: (tree.took_ms or 0, tree.root), reverse=True)
    return Late(trees=tuple(late), paces=paces)


def _told(root: _Root, event: Event) -> None:
    kind, at = event.kind, event.time_ns
    if kind is EventKind.LINKED:
        root.linked[_key(event)] = event.value
    elif kind is EventKind.EMITTED and event.pid <= _LOG:
        root.sent[event.value] = min(at, root.sent.get(event.value, at))
    elif kind is EventKind.TIMED_OUT:
        root.timed_ns = _least(root.timed_ns, at)
    elif kind in _MESSAGES:
        root.first_ns = _least(root.first_ns, at)
        if kind is EventKind.INIT:
            root.init_ns = _least(root.init_ns, at)


def _completed(deliveries: Mapping[_Key, _Delivery], events: Events) -> Mapping[str, Pace]:
    """Says of each delivery when it was received and completed; returns the paces of all their components."""
    pace = _Paces({key[3] for key in deliveries})
    for event in events():
        if event.kind is not EventKind.RECEIVED and event.kind not in _DONE:
            continue
        pace.feed(event)
        delivery = deliveries.get(_key(event))
        if delivery is None:
            continue
        if event.kind is EventKind.RECEIVED:
            delivery.received_ns = _least(delivery.received_ns, event.time_ns)
        else:
            delivery.completed_ns = _least(delivery.completed_ns, event.time_ns)
            delivery.completions += 1
    return dict(pace.paces())


class _Paces:
    """How some components complete what they receive."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._open: dict[_Key, tuple[int, str]] = {}
        self._holds: defaultdict[tuple[str, str], array[float]] = defaultdict(lambda: array("d"))
        self._longest_ms: defaultdict[str, float] = defaultdict(float)
        self._seconds: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def feed(self, event: Event) -> None:
        """One RECEIVED, ACKED or FAILED row."""
        name = event.component
        if name not in self._names or event.flags & TICK:
            return
        if event.kind is EventKind.RECEIVED:
            self._open[_key(event)] = event.time_ns, event.stream
            return
        received = self._open.pop(_key(event), None)
        if received is None:  # a tick, or completed before
            return
        hold_ms = (event.time_ns - received[0]) / _MS
        holds = self._holds[name, received[1]]
        if len(holds) < _MOST_HOLDS:
            holds.append(hold_ms)
        self._longest_ms[name] = max(self._longest_ms[name], hold_ms)
        self._seconds[name][event.time_ns // _SECOND] += 1

    def paces(self) -> Iterator[tuple[str, Pace]]:
        """Of a component with several streams the slowest."""
        medians: defaultdict[str, float] = defaultdict(float)
        for (name, _), holds in self._holds.items():
            medians[name] = max(medians[name], median_low(holds))
        for name, median_ms in medians.items():
            yield (
                name,
                Pace(
                    median_ms=median_ms,
                    longest_ms=self._longest_ms[name],
                    burst_s=burst_period(sorted(self._seconds[name].items())),
                ),
            )


def _timed_out(tree: TupleTree, root: _Root, deliveries: Mapping[_Key, _Delivery]) -> TimedOut:
    begin_ns = root.init_ns if root.init_ns is not None else root.first_ns or 0
    dropped_ns = None if tree.dropped_ms is None else tree.dropped_ms * _MS
    gone_ns = min((at for at in (root.timed_ns, dropped_ns) if at is not None), default=begin_ns)
    received = {
        key: deliveries[key] for key in root.linked if deliveries[key].received_ns is not None
    }  # LINKED alone is no arrival
    done = [one.completed_ns for one in received.values() if one.completed_ns is not None]
    return TimedOut(
        root=tree.root,
        roots=1,
        age_ms=(gone_ns - begin_ns) / _MS,
        took_ms=(max(done) - begin_ns) / _MS if done else None,
        steps=tuple(_steps(root, received)),
        missing=not root.sent.keys() <= {root.linked[key] for key in received},
        open=any(not one.completions for one in received.values()),
        twice=any(one.completions > 1 for one in received.values()),
        uneven=tree.residue is Residue.EVEN,
        # the acker began the root, kept nothing of it and dropped nothing: it completed it
        answered=root.init_ns is not None and tree.entry is None and dropped_ns is None,
    )


def _steps(root: _Root, received: Mapping[_Key, _Delivery]) -> list[Step]:
    """The longest times of each component, in the order in which they came to have the root."""
    longest: dict[str, tuple[int, int, int]] = {}  # since when, held, waited
    for key, one in received.items():
        came = one.received_ns or 0
        sent = root.sent.get(root.linked[key], came)
        held = 0 if one.completed_ns is None else one.completed_ns - came
        since, most_held, most_waited = longest.get(key[3], (came, 0, 0))
        longest[key[3]] = min(since, came), max(most_held, held), max(most_waited, came - sent)
    ordered = sorted(longest.items(), key=lambda item: (item[1][0], item[0]))
    return [
        Step(component=name, held_ms=held / _MS, waited_ms=waited / _MS)
        for name, (_, held, waited) in ordered
    ]


def _least(known: int | None, at: int) -> int:
    return at if known is None else min(known, at)


def _key(event: Event) -> _Key:
    return (
        event.run,
        event.worker,
        event.pid,
        event.component,
        event.task,
        event.test,
        event.delivery,
    )
