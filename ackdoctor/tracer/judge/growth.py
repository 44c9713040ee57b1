"""Does the pending map grow although the load does not (ACK603)?

A map that holds what is in flight follows the load; one that leaks only rises.  Told is a rise in every
window of the later half, close to a straight line, that the roots begun per window do not explain.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ackdoctor.model.finding import Confidence, Finding, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import GrowthPoint
from ackdoctor.rulebook.messages import PENDING_GROWTH, words
from ackdoctor.tracer.judge.entries import ACKER
from ackdoctor.tracer.judge.keeping import Keeper, entry_bytes, stays
from ackdoctor.tracer.judge.labels import name_of

__all__ = ["WORKER_HEAP", "Trend", "filled_in", "growth_finding", "trend"]

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
    count = len(points)
    times = [point.time_ms / 1000 for point in points]
    sizes = [point.pending for point in points]
    mean_time, mean_size = sum(times) / max(1, count), sum(sizes) / max(1, count)
    spread = sum((time - mean_time) ** 2 for time in times)
    scatter = sum((size - mean_size) ** 2 for size in sizes)
    if not spread or not scatter:
        return Trend(0.0, 0.0)
    shared = sum((time - mean_time) * (size - mean_size) for time, size in zip(times, sizes, strict=True))
    return Trend(shared / spread, shared**2 / (spread * scatter))


def growth_finding(
    points: Sequence[GrowthPoint],
    *,
    profile: Keeper | None,
    nowhere: Site | None,
    heap: int = WORKER_HEAP,
) -> Finding | None:
    """The finding, if the map leaks; an error where the version never drops an entry.  `heap` is in bytes."""
    points = _coarse(points)
    line = trend(points)
    if not _leaks(points, line):
        return None
    last = points[-1]
    orphans = last.orphans * 2 > last.pending
    unbounded = profile is not None and not profile.forgets
    said = words(PENDING_GROWTH, "trace", stays=stays(profile))
    return Finding(
        code=PENDING_GROWTH,
        name=name_of(PENDING_GROWTH),
        severity=Severity.ERROR if unbounded else Severity.WARNING,
        confidence=Confidence.MAY,
        site=nowhere or Site(f"<{ACKER}>", NOWHERE),
        message=said.message,
        component=ACKER,
        handler="",
        dialect="",
        evidence=TreeWitness(steps=(), left=_price(points, line, entry_bytes(profile, orphan=orphans), heap)),
        cause="orphans" if orphans else "tracked",
        help=said.help,
    )


def _coarse(points: Sequence[GrowthPoint]) -> Sequence[GrowthPoint]:
    """At most twelve windows of equal length: what happens within one is noise."""
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
    """The mean of the last third against that of the first; 1 where nothing was counted."""
    third = max(1, len(values) // 3)
    early, late = sum(values[:third]), sum(values[-third:])
    return 1.0 if not any(values) else late / max(1, early)


def _price(points: Sequence[GrowthPoint], line: Trend, size: int | None, heap: int) -> tuple[str, ...]:
    span = (points[-1].time_ms - points[0].time_ms) / 1000
    said = (
        f"acker: {points[0].pending:,} entries at the start, {points[-1].pending:,} after {span:,.0f} s, "
        f"{points[-1].orphans:,} of them orphans: {line.per_second:,.1f} a second (R2 {line.fit:.2f})"
    )
    if size is None:
        return (said,)
    full = filled_in(line.per_second * size, heap)
    return (said, f"acker: at {size} bytes an entry the {heap >> 20:,} MB of a worker are full in {full}")


def filled_in(per_second: float, heap: int) -> str:
    """How long a heap lasts that loses so many bytes a second."""
    hours = heap / per_second / 3600
    if hours * 60 < 2:  # noqa: PLR2004
        return f"{hours * 3600:,.0f} s"
    if hours < 2:  # noqa: PLR2004
        return f"{hours * 60:,.0f} minutes"
    return f"{hours:,.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"  # noqa: PLR2004
