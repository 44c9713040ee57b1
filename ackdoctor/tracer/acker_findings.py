"""Findings about the acker's pending map: entries that never become zero (ACK601), orphans (ACK602), growth (ACK603).

An entry is attributed to the tuples that the residue law names (law L1). An orphan alone proves nothing (L4): a fail
with acks still under way leaves one behind in a correct program, too. A map that follows the load is healthy; a map
leaks if it rises in every window of the later half, close to a straight line, and the load does not explain it.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import StatisticsError, correlation, linear_regression
from typing import NamedTuple

from ackdoctor.model.acker import AckerVersion, Engine
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import (
    AccessKind,
    CallSite,
    Culprit,
    GrowthPoint,
    Residue,
    TupleTree,
    Verdict,
    Violation,
)
from ackdoctor.rulebook import NEVER_ZERO_ENTRY, ORPHAN_ENTRY, PENDING_GROWTH, Words, phrase, rule_name, words
from ackdoctor.tracer.sites import Places, parsed

_LIFE: Mapping[Engine, str] = {
    Engine.CLOJURE: "stays for one to two message timeouts after its last message",
    Engine.JAVA: "stays for two to three message timeouts",
    Engine.JSTORM: "stays for one to one and a half message timeouts, longer when no messages come",
    Engine.HERON: "stays for up to one message timeout",
}
_BYTES: Mapping[Engine, tuple[int, int]] = {  # tracked, orphan
    Engine.CLOJURE: (200, 144),
    Engine.JAVA: (104, 104),
}


def stays(profile: AckerVersion | None) -> str:
    """How long an entry stays, as the end of a sentence."""
    if profile is None:
        return "stays until the acker drops it"
    if not profile.forgets:
        return f"stays until the acker's worker restarts: {profile.name} never drops one"
    return _LIFE[profile.engine]


def entry_bytes(profile: AckerVersion | None, *, orphan: bool) -> int | None:
    """The heap bytes of one entry; None if they were not measured."""
    sizes = _BYTES.get(profile.engine) if profile is not None else None
    return None if sizes is None else sizes[orphan]


ACKER = "acker"  # the component of a finding that names no other
_ANSWERS: Mapping[Verdict, str] = {
    Verdict.COMPLETE: "the spout got ack",
    Verdict.FAILED: "the spout got fail",
    Verdict.EXPIRED: "the spout timed out and replays",
    Verdict.OPEN: "the spout still waits",
    Verdict.ORPHAN: "no spout has asked for it",
}
_ORPHANED: Mapping[Verdict, str] = {
    Verdict.COMPLETE: "messages came after the tree was complete",
    Verdict.FAILED: "acks under way when the tree failed created the entry again",
    Verdict.EXPIRED: "acks came after the entry had been given up",
    Verdict.OPEN: "the spout has got no answer yet",
    Verdict.ORPHAN: "its spout does not appear",
}


_LOST: Mapping[str, str] = {
    "ack": "an ack that {} sent never reached the acker",
    "fail": "a fail that {} sent never reached the acker",
    "init": "the __ack_init that {} sent never reached the acker",
    "tuple": "a tuple that {} sent never reached its task",
}
_DROPPED = " (lost between workers or still in a queue, or its receiver's log is not complete)"


class Causes:
    """Which trees a violation explains: by root, or by a tuple at fault with the same delivery or the same calls."""

    def __init__(self, trees: Iterable[TupleTree]) -> None:
        self._trees = list(trees)
        self._places: dict[Hashable, list[int]] = {}
        for place, tree in enumerate(self._trees):
            keys: set[Hashable] = {tree.root}
            for culprit in tree.culprits:
                who = _bare(culprit.component)
                keys |= {("delivery", who, culprit.delivery), ("sites", culprit.sites)}
                if not culprit.acks and not culprit.lost:
                    keys.add(("never", who))
            for key in keys:
                self._places.setdefault(key, []).append(place)

    def of(self, violation: Violation) -> list[TupleTree]:
        """The trees, in their order."""
        done = tuple(
            str(touch.site)
            for touch in violation.history
            if touch.site is not None and touch.kind in (AccessKind.ACKED, AccessKind.FAILED)
        )
        keys: list[Hashable] = [violation.root] if violation.root is not None else []
        who = _bare(violation.traced.name)
        keys += [("delivery", who, violation.delivery)] if violation.delivery else []
        keys += [("sites", done)] if done else []
        keys += [("never", who)] if violation.misuse is Misuse.NEVER else []
        found = {place for key in keys for place in self._places.get(key, ())}
        return [self._trees[place] for place in sorted(found)]


def _bare(component: str) -> str:
    """The name of a component without its outer names: it may be an id of the topology or a class."""
    return component.rpartition(".")[2]


def left_by(tree: TupleTree) -> str:
    """One line on the end of a root: "acker: root 77 leaves an orphan, value 3; the spout got ack"."""
    entry = tree.entry
    answer = _ANSWERS[tree.verdict]
    if entry is None:
        return f"acker: root {tree.root} is gone; {answer}"
    kind = "an orphan" if entry.task is None else "a tracked entry"
    value = "no value" if entry.value is None else f"value {entry.value}"
    failed = ", failed" if entry.failed else ""
    return f"acker: root {tree.root} leaves {kind}, {value}{failed}; {answer}"


def times(acks: int) -> str:
    """`never acked`, `acked once`, `acked twice`, `acked 3 times`."""
    return {0: "never acked", 1: "acked once", 2: "acked twice"}.get(acks, f"acked {acks} times")


def under_way(tree: TupleTree, patience_s: int) -> bool:
    """Whether acks of an open root may still have been under way when the trace ended."""
    young = tree.entry is not None and tree.entry.age_ms < patience_s * 1000
    surplus = any(culprit.acks > 1 for culprit in tree.culprits)
    return tree.verdict is Verdict.OPEN and young and not surplus and tree.residue is not Residue.FAILED


def tree_findings(
    trees: Iterable[TupleTree], *, profile: AckerVersion | None, places: Places, nowhere: Site | None
) -> Iterator[Finding]:
    """One finding for each entry that no violation explains."""
    for tree in trees:
        if tree.entry is None:
            continue
        if tree.entry.task is not None or any(culprit.acks > 1 or culprit.lost for culprit in tree.culprits):
            yield _never_zero(tree, profile, places, nowhere)
        else:
            yield _orphan(tree, profile, nowhere)


def _never_zero(
    tree: TupleTree, profile: AckerVersion | None, places: Places, nowhere: Site | None
) -> Finding:
    surplus = any(culprit.acks > 1 for culprit in tree.culprits)
    on_its_way = any(culprit.lost for culprit in tree.culprits)
    proved = (tree.verdict is not Verdict.OPEN or surplus) and not on_its_way
    never = phrase(NEVER_ZERO_ENTRY, "proved" if proved else "open")
    path = tuple(step for culprit in tree.culprits for step in _steps(culprit, places))
    first = next((culprit for culprit in tree.culprits if not culprit.lost), None)
    calls = [call for culprit in tree.culprits for site in culprit.sites if (call := parsed(site))]
    blame = _blame(tree)
    lost = "lost" if all(culprit.lost for culprit in tree.culprits) else "culprits"
    advice = phrase(NEVER_ZERO_ENTRY, lost if tree.culprits else "no culprit")
    return acker_finding(
        NEVER_ZERO_ENTRY,
        words(NEVER_ZERO_ENTRY, "trace", never=never, blame=blame, stays=stays(profile), advice=advice),
        _witness(tree, path),
        f"{never}: {blame}|{'/'.join(call.function for call in calls)}",
        severity=Severity.ERROR if proved else Severity.WARNING,
        confidence=Confidence.MUST if proved and not tree.ambiguous else Confidence.MAY,
        site=path[-1].site if path else nowhere,
        component=first.component or ACKER if first is not None else ACKER,
        handler=calls[-1].function.rpartition(".")[2] if calls else "",
    )


def _orphan(tree: TupleTree, profile: AckerVersion | None, nowhere: Site | None) -> Finding:
    """The finding of an orphan: a warning if only a misuse can leave it, since nothing is due after an ACK."""
    suspicious = tree.verdict is Verdict.COMPLETE
    reason = _ORPHANED[tree.verdict]
    advice = phrase(ORPHAN_ENTRY, "suspicious" if suspicious else "harmless")
    return acker_finding(
        ORPHAN_ENTRY,
        words(ORPHAN_ENTRY, "trace", reason=reason, stays=stays(profile), advice=advice),
        _witness(tree, ()),
        reason,
        severity=Severity.WARNING if suspicious else Severity.INFO,
        site=nowhere,
    )


def acker_finding(
    code: str,
    text: Words,
    witness: TreeWitness,
    cause: str,
    *,
    severity: Severity,
    confidence: Confidence = Confidence.MAY,
    site: Site | None = None,
    component: str = ACKER,
    handler: str = "",
) -> Finding:
    """A finding about roots, which belongs to no dialect."""
    return Finding(
        code=code,
        name=rule_name(code),
        severity=severity,
        confidence=confidence,
        site=site or Site(f"<{ACKER}>", NOWHERE),
        message=text.message,
        component=component,
        handler=handler,
        dialect="",
        evidence=witness,
        cause=cause,
        help=text.help,
    )


def _witness(tree: TupleTree, path: tuple[PathStep, ...]) -> TreeWitness:
    return TreeWitness(
        steps=path,
        delivery=tree.culprits[0].delivery if tree.culprits else "",
        root=tree.root,
        left=(left_by(tree), *map(_named, tree.culprits)),
        seen=tree.roots,
    )


def _blame(tree: TupleTree) -> str:
    if not tree.culprits:
        return "no tuple that was seen explains what is left"
    who = " and ".join(dict.fromkeys(map(_did, tree.culprits)))
    if all(culprit.lost for culprit in tree.culprits):
        return who + _DROPPED
    return f"{who} (others would explain it as well)" if tree.ambiguous else who


def _did(culprit: Culprit) -> str:
    if culprit.lost:
        return _LOST[culprit.lost].format(culprit.component or f"task {culprit.task}")
    whose = f" of {culprit.component}" if culprit.component else ""
    return f"a tuple{whose} was {times(culprit.acks)}"


def _named(culprit: Culprit) -> str:
    if culprit.lost:
        return f"law L1: {culprit.value} is the value of what {culprit.component}[{culprit.task}] sent"
    if not culprit.component:
        return f"law L1: {culprit.value} is what the ack of a tuple would send; {times(culprit.acks)}"
    delivery = f" delivery {culprit.delivery}" if culprit.delivery else ""
    return f"law L1: {culprit.value} is what {culprit.component}[{culprit.task}]{delivery} sends; {times(culprit.acks)}"


def _steps(culprit: Culprit, places: Places) -> Iterator[PathStep]:
    known: list[CallSite] = [call for site in culprit.sites if (call := parsed(site))]
    for number, call in enumerate(known):
        yield PathStep(site=places.of(call), note="acked again" if number else "acked", state="acked")


_MOST_WINDOWS = 12
_FEWEST_WINDOWS = 6  # R2 reaches 0.99 after six samples of a real leak
_FEWEST_ENTRIES = 10
_STRAIGHT = 0.9  # R2
_LOAD_SHARE = 1.5  # the map must have risen by this much more than the load
WORKER_HEAP = 768 * 1024 * 1024  # Storm's default -Xmx for a worker


class Trend(NamedTuple):
    """A straight line through the points: entries per second, and how well it fits (R2)."""

    per_second: float
    fit: float


def trend(points: Sequence[GrowthPoint]) -> Trend:
    """The least squares line through the sizes; no rise and no fit for fewer than two points in time."""
    times, sizes = [point.time_ms / 1000 for point in points], [point.pending for point in points]
    try:
        return Trend(linear_regression(times, sizes).slope, correlation(times, sizes) ** 2)
    except StatisticsError:
        return Trend(0.0, 0.0)


def growth_finding(
    points: Sequence[GrowthPoint],
    *,
    profile: AckerVersion | None,
    nowhere: Site | None,
    heap: int = WORKER_HEAP,
) -> Finding | None:
    """The finding, if the map leaks; an error if the version never drops an entry. `heap` is in bytes."""
    points = _coarse(points)
    line = trend(points)
    if not _leaks(points, line):
        return None
    last = points[-1]
    orphans = last.orphans * 2 > last.pending
    unbounded = profile is not None and not profile.forgets
    price = _price(points, line, entry_bytes(profile, orphan=orphans), heap)
    return acker_finding(
        PENDING_GROWTH,
        words(PENDING_GROWTH, "trace", stays=stays(profile)),
        TreeWitness(steps=(), left=price),
        "orphans" if orphans else "tracked",
        severity=Severity.ERROR if unbounded else Severity.WARNING,
        site=nowhere,
    )


def _coarse(points: Sequence[GrowthPoint]) -> Sequence[GrowthPoint]:
    """At most twelve windows of equal length, which smooths noise."""
    if len(points) <= _MOST_WINDOWS:
        return points
    begin, end = points[0].time_ms, points[-1].time_ms
    found: dict[int, GrowthPoint] = {}
    for point in points:
        place = min(_MOST_WINDOWS - 1, (point.time_ms - begin) * _MOST_WINDOWS // max(1, end - begin))
        started = found[place].started if place in found else 0
        found[place] = replace(point, started=started + point.started)
    return list(found.values())


def _leaks(points: Sequence[GrowthPoint], line: Trend) -> bool:
    if len(points) < _FEWEST_WINDOWS or line.fit < _STRAIGHT or line.per_second <= 0:
        return False
    later = points[len(points) // 2 :]
    rises = all(before.pending < after.pending for before, after in pairwise(later))
    if not rises or points[-1].pending - points[0].pending < _FEWEST_ENTRIES:
        return False
    return _ratio([p.pending for p in points]) >= _LOAD_SHARE * _ratio([p.started for p in points])


def _ratio(values: Sequence[int]) -> float:
    """The mean of the last third over that of the first; 1 for an empty series."""
    third = max(1, len(values) // 3)
    early, late = sum(values[:third]), sum(values[-third:])
    return 1.0 if not any(values) else late / max(1, early)


def _price(points: Sequence[GrowthPoint], line: Trend, size: int | None, heap: int) -> tuple[str, ...]:
    span = (points[-1].time_ms - points[0].time_ms) / 1000
    text = (
        f"acker: {points[0].pending:,} entries at the start, {points[-1].pending:,} after {span:,.0f} s, "
        f"{points[-1].orphans:,} of them orphans: {line.per_second:,.1f} a second (R2 {line.fit:.2f})"
    )
    if size is None:
        return (text,)
    full = filled_in(line.per_second * size, heap)
    return (text, f"acker: at {size} bytes an entry the {heap >> 20:,} MB of a worker are full in {full}")


def filled_in(per_second: float, heap: int) -> str:
    """How long a heap lasts that fills by so many bytes a second."""
    hours = heap / per_second / 3600
    if hours * 60 < 2:  # noqa: PLR2004
        return f"{hours * 3600:,.0f} s"
    if hours < 2:  # noqa: PLR2004
        return f"{hours * 60:,.0f} minutes"
    return f"{hours:,.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"  # noqa: PLR2004
