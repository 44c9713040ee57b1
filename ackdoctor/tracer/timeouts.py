"""Roots that timed out: the cause of each, and the bolt that is too slow for the message timeout (ACK504).

A tuple first waits in a queue, then a bolt holds it until it completes it. Only a bolt that alone held a tuple for
longer than the timeout is certainly at fault. `timed_out` reads a stored trace; `ackdoctor analyze` collects the same
facts with Spark.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from itertools import pairwise
from math import ceil
from statistics import median, median_low
from typing import TypeAlias

from ackdoctor.model.finding import Confidence, Finding, Severity, TreeWitness, counted
from ackdoctor.model.source import Site
from ackdoctor.model.trace import TICK, Event, EventKind, Residue, TupleTree
from ackdoctor.rulebook import FLUSH_SLOWER_THAN_TIMEOUT, phrase, words
from ackdoctor.tracer.acker_findings import acker_finding
from ackdoctor.tracer.trace_files import Events

_FEWEST_BURSTS, _FEWEST_IN_BURST = 3, 2
EARLY = 0.9  # of the timeout: the acker takes note of a root a little later than the spout
_LOOSE = 0.1  # of the period, by which two bursts may be off
_WAITED_MS = 1000  # a shorter wait in a queue is not shown


@unique
class Cause(Enum):
    """Why a root timed out."""

    LATE = "completed too late"
    NEVER = "a tuple was never completed"
    TWICE = "a tuple was completed more than once"
    MISSING = "a tuple was sent and no log shows its arrival"
    LATE_ACKS = "acks reached the acker too late or never"
    UNANSWERED = "completed in time, and the acker's answer reached the spout too late or never"
    ENDED = "a worker, or its log, ended first"
    UNKNOWN = "cause not known"


@unique
class _Way(Enum):
    """Where the time went; the values are cases of the rule's messages."""

    HOLD = "hold"  # one bolt holds tuples too long
    HOLDS = "several hold"  # several bolts each hold tuples too long
    WAIT = "queue"  # tuples wait too long before a bolt receives them
    PATH = "path"  # the whole path takes too long
    EARLY = "early"  # the spout drops roots before the message timeout


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Step:
    """The longest times of one component's tuples of a root; `waited_ms` is 0 if the sender is unknown."""

    component: str
    held_ms: float
    waited_ms: float = 0.0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TimedOut:
    """A root that timed out `age_ms` after its emit; `roots` counts those with the same history.

    Its last tuple was completed `took_ms` after the emit, None where none was.  `missing` if a tuple was sent and not
    received, `open` if one was received and not completed, `twice` if one was completed again, `uneven` if the acker did not take an ack, `answered` if the acker completed
    the root before the spout dropped it, `ended` if a worker did.
    """

    root: int
    roots: int
    age_ms: float
    took_ms: float | None
    steps: tuple[Step, ...]
    missing: bool = False
    open: bool = False
    twice: bool = False
    uneven: bool = False
    answered: bool = False
    ended: bool = False

    def limit_ms(self, timeout_s: int | None) -> float:
        """The message timeout; if unknown, the least that it may be."""
        return self.age_ms / 2 if timeout_s is None else timeout_s * 1000


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Pace:
    """How a component completes tuples: the median and the longest hold, and the seconds between its bursts (0: none)."""

    median_ms: float
    longest_ms: float
    burst_s: int = 0


def cause_of(tree: TimedOut, timeout_s: int | None) -> Cause:
    """The cause of a root's timeout."""
    if tree.ended:
        return Cause.ENDED
    if tree.missing:
        return Cause.MISSING
    if tree.open:
        return Cause.NEVER
    if tree.twice:
        return Cause.TWICE
    if tree.took_ms is None:
        return Cause.UNKNOWN
    # between the timeout and the spout's rotation it is chance which of both comes first
    late = tree.took_ms > tree.age_ms or (not tree.uneven and tree.took_ms > tree.limit_ms(timeout_s))
    if late:
        return Cause.LATE
    return Cause.UNANSWERED if tree.answered else Cause.LATE_ACKS


def causes_of(trees: Iterable[TimedOut], timeout_s: int | None, total: int) -> tuple[tuple[str, int], ...]:
    """The causes and how many roots each had, the most frequent first; of `total` roots those without a tree count as not known."""
    causes: Counter[Cause] = Counter()
    for tree in trees:
        causes[cause_of(tree, timeout_s)] += tree.roots
    causes[Cause.UNKNOWN] += max(0, total - causes.total())
    return tuple((cause.value, roots) for cause, roots in causes.most_common() if roots)


def asides(expired: Iterable[tuple[str, int]], missing: str = "", late: str = "") -> Iterator[str]:
    """A line for each cause that is no finding; `missing` and `late` are appended to theirs."""
    known = dict(expired)
    more = {
        Cause.MISSING: missing,
        Cause.LATE_ACKS: late,
        Cause.UNANSWERED: late,
        Cause.UNKNOWN: "",
        Cause.ENDED: "",
    }
    for cause, why in more.items():
        if roots := known.get(cause.value):
            yield f"{counted(roots, 'root')} expired: {cause.value}{why}"


def slow_findings(
    trees: Iterable[TimedOut],
    *,
    timeout_s: int | None,
    total: int,
    paces: Mapping[str, Pace],
    nowhere: Site | None = None,
) -> Iterator[Finding]:
    """One finding for each bolt, or set of bolts, that is too slow; `total` counts all roots of the run."""
    groups: dict[tuple[_Way, tuple[str, ...]], list[TimedOut]] = {}
    for tree in trees:
        if cause_of(tree, timeout_s) is Cause.LATE:
            groups.setdefault(_blamed(tree, timeout_s), []).append(tree)
    for (way, names), late in groups.items():
        yield _finding(way, names, late, timeout_s, total, paces, nowhere)


def burst_period(seconds: Sequence[tuple[int, int]]) -> int:
    """How many seconds bursts are apart, of seconds in rising order with what was completed in each; 0 where there is no rhythm."""
    bursts: list[tuple[int, int]] = []  # its first second, and its tuples
    last = None
    for second, tuples in seconds:
        begin, so_far = bursts.pop() if last is not None and second - last <= 1 else (second, 0)
        bursts.append((begin, so_far + tuples))
        last = second
    if len(bursts) < _FEWEST_BURSTS or median(tuples for _, tuples in bursts) < _FEWEST_IN_BURST:
        return 0
    gaps = [after - before for (before, _), (after, _) in pairwise(bursts)]
    period = median(gaps)
    return round(period) if all(abs(gap - period) <= max(1, period * _LOOSE) for gap in gaps) else 0


def _blamed(tree: TimedOut, timeout_s: int | None) -> tuple[_Way, tuple[str, ...]]:
    limit = tree.limit_ms(timeout_s)
    slow = tuple(step.component for step in tree.steps if step.held_ms > limit)
    queued = tuple(step.component for step in tree.steps if step.waited_ms > limit)
    if slow:
        return (_Way.HOLD if len(slow) == 1 else _Way.HOLDS), slow
    if queued:
        return _Way.WAIT, queued
    early = timeout_s is not None and tree.age_ms < EARLY * limit
    return (_Way.EARLY if early else _Way.PATH), tuple(step.component for step in tree.steps)


def _finding(
    way: _Way,
    names: tuple[str, ...],
    trees: Sequence[TimedOut],
    timeout_s: int | None,
    total: int,
    paces: Mapping[str, Pace],
    nowhere: Site | None,
) -> Finding:
    slowest = max(trees, key=lambda tree: tree.took_ms or 0)
    own = [step for step in slowest.steps if step.component in names]
    worst = max(own, key=lambda step: step.waited_ms if way is _Way.WAIT else step.held_ms)
    who = worst.component
    roots = sum(tree.roots for tree in trees)
    sure = way is _Way.HOLD and timeout_s is not None
    limit = "the message timeout" + ("" if timeout_s is None else f" of {timeout_s:,} s")
    times = {
        _Way.HOLD: _held(worst, paces.get(who)),
        _Way.WAIT: _s(worst.waited_ms),
        _Way.EARLY: _s(slowest.age_ms),
    }
    longer = _phrase("longer", seconds=f"{ceil((slowest.took_ms or 0) / 1000):,}")
    text = words(
        FLUSH_SLOWER_THAN_TIMEOUT,
        way.value,
        time=times.get(way, ""),
        limit=limit,
        component=who,
        components=" and ".join(filter(None, (", ".join(names[:-1]), names[-1]))),
        roots=f"{roots:,}",
        total=f"{total:,}",
        longer=longer,
        advice=_advice(timeout_s, longer, paces.get(who)),
    )
    left = tuple(_evidence(slowest, names, timeout_s, paces))
    return acker_finding(
        FLUSH_SLOWER_THAN_TIMEOUT,
        text,
        TreeWitness(steps=(), root=slowest.root, left=left, seen=roots),
        f"{way.name}|{'|'.join(names)}",
        severity=Severity.ERROR if sure else Severity.WARNING,
        confidence=Confidence.MUST if sure else Confidence.MAY,
        site=nowhere,
        component="" if way is _Way.EARLY else who,  # the spout, which no step names
    )


def _held(step: Step, pace: Pace | None) -> str:
    """`24.9 s (10.0 s in the median, in bursts 25 s apart)`."""
    if pace is None:
        return _s(step.held_ms)
    rhythm = f", in bursts {pace.burst_s:,} s apart" if pace.burst_s else ""
    return f"{_s(max(step.held_ms, pace.longest_ms))} ({_s(pace.median_ms)} in the median{rhythm})"


def _evidence(
    tree: TimedOut, names: Sequence[str], timeout_s: int | None, paces: Mapping[str, Pace]
) -> Iterator[str]:
    for name in names:
        if (pace := paces.get(name)) is not None:
            rhythm = f"; it completes them in bursts, {pace.burst_s:,} s apart" if pace.burst_s else ""
            yield f"{name}: from receipt to completion {_s(pace.median_ms)} in the median, {_s(pace.longest_ms)} at most{rhythm}"
    steps = ", ".join(
        f"{step.component} held it {_s(step.held_ms)}"
        + (f" after {_s(step.waited_ms)} in a queue" if step.waited_ms >= _WAITED_MS else "")
        for step in tree.steps
    )
    yield (
        f"root {tree.root}: it timed out after {_s(tree.age_ms)}, and its last tuple was completed after "
        f"{_s(tree.took_ms or 0)}: {steps}"
    )
    if timeout_s is not None:
        yield f"spout: its map has two buckets and is rotated every {timeout_s:,} s: a root times out after {timeout_s:,} to {2 * timeout_s:,} s"


def _advice(timeout_s: int | None, longer: str, pace: Pace | None) -> str:
    """How a bolt that holds tuples too long can complete them in time."""
    limit = "the message timeout" if timeout_s is None else f"{timeout_s:,} s"
    return _phrase(
        "burst" if pace is not None and pace.burst_s else "complete sooner", limit=limit, longer=longer
    )


def _phrase(name: str, **values: str) -> str:
    return phrase(FLUSH_SLOWER_THAN_TIMEOUT, name, **values)


def _s(ms: float) -> str:
    return f"{ms / 1000:,.1f} s"


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
    """The times of one root, in ns: of the first row of each kind, and when each edge was sent."""

    first: dict[EventKind, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    linked: dict[_Key, int] = field(default_factory=dict)  # edges


@dataclass(slots=True)
class _Delivery:
    """The times at which a tuple was received and completed, in ns."""

    received: list[int] = field(default_factory=list)
    completed: list[int] = field(default_factory=list)


def timed_out(trees: Collection[TupleTree], events: Events) -> Late:
    """Judge the trees of verdict EXPIRED; without any, the trace is not read."""
    if not trees:
        return Late()
    roots = {tree.root: _Root() for tree in trees}
    for event in events():
        root = roots.get(event.root) if event.root else None
        if root is None:
            continue
        if event.kind is EventKind.LINKED:
            root.linked[_key(event)] = event.value
        elif event.kind is EventKind.EMITTED and event.pid <= _LOG:
            root.sent[event.value] = min(event.time_ns, root.sent.get(event.value, event.time_ns))
        else:
            root.first[event.kind] = min(event.time_ns, root.first.get(event.kind, event.time_ns))
    deliveries = {key: _Delivery() for root in roots.values() for key in root.linked}
    paces = _completed(deliveries, events) if deliveries else {}
    late = [_timed_out(tree, roots[tree.root], deliveries) for tree in trees]
    late.sort(key=lambda tree: (tree.took_ms or 0, tree.root), reverse=True)
    return Late(trees=tuple(late), paces=paces)


def _completed(deliveries: Mapping[_Key, _Delivery], events: Events) -> Mapping[str, Pace]:
    """Set the times of receipt and completion of each delivery; returns the paces of all their components."""
    pace = _Paces({key[3] for key in deliveries})
    for event in events():
        is_receipt = event.kind is EventKind.RECEIVED
        if is_receipt or event.kind in _DONE:
            pace.feed(event)
            delivery = deliveries.get(_key(event))
            if delivery is not None:
                (delivery.received if is_receipt else delivery.completed).append(event.time_ns)
    return dict(pace.paces())


class _Paces:
    """Collects how some components complete their tuples."""

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
        """The paces; a component with several streams has that of the slowest."""
        medians: defaultdict[str, float] = defaultdict(float)
        for (name, _), holds in self._holds.items():
            medians[name] = max(medians[name], median_low(holds))
        for name, median_ms in medians.items():
            burst_s = burst_period(sorted(self._seconds[name].items()))
            yield name, Pace(median_ms=median_ms, longest_ms=self._longest_ms[name], burst_s=burst_s)


def _timed_out(tree: TupleTree, root: _Root, deliveries: Mapping[_Key, _Delivery]) -> TimedOut:
    messages = [root.first[kind] for kind in _MESSAGES if kind in root.first]
    begin_ns = root.first.get(EventKind.INIT, min(messages, default=0))
    dropped_ns = None if tree.dropped_ms is None else tree.dropped_ms * _MS
    ends = (root.first.get(EventKind.TIMED_OUT), dropped_ns)
    gone_ns = min((at for at in ends if at is not None), default=begin_ns)
    received = {  # LINKED alone is no arrival
        key: deliveries[key] for key in root.linked if deliveries[key].received
    }
    done = [min(one.completed) for one in received.values() if one.completed]
    return TimedOut(
        root=tree.root,
        roots=1,
        age_ms=(gone_ns - begin_ns) / _MS,
        took_ms=(max(done) - begin_ns) / _MS if done else None,
        steps=tuple(_steps(root, received)),
        missing=not root.sent.keys() <= {root.linked[key] for key in received},
        open=any(not one.completed for one in received.values()),
        twice=any(len(one.completed) > 1 for one in received.values()),
        uneven=tree.residue is Residue.EVEN,
        # the acker began the root, kept nothing of it and dropped nothing: it completed it
        answered=EventKind.INIT in root.first and tree.entry is None and dropped_ns is None,
    )


def _steps(root: _Root, received: Mapping[_Key, _Delivery]) -> list[Step]:
    """The longest times of each component, in the order in which they received the root."""
    longest: dict[str, tuple[int, int, int]] = {}  # since when, held, waited
    for key, one in received.items():
        came = min(one.received)
        sent = root.sent.get(root.linked[key], came)
        held = min(one.completed, default=came) - came
        since, most_held, most_waited = longest.get(key[3], (came, 0, 0))
        longest[key[3]] = min(since, came), max(most_held, held), max(most_waited, came - sent)
    ordered = sorted(longest.items(), key=lambda item: (item[1][0], item[0]))
    return [
        Step(component=name, held_ms=held / _MS, waited_ms=waited / _MS)
        for name, (_, held, waited) in ordered
    ]


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
