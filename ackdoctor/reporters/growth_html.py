"""The curve of the pending map over time, for an HTML page: the macro `growth` of the base template draws it."""

from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import pairwise

from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters.html import table
from ackdoctor.reporters.tables import span

_MIN_POINTS = 3
_WIDTH, _HEIGHT = 1000, 100  # of the curve's box
_TIME_LABELS = 5
_TOPS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100)  # of a value axis with four lines


def growth_curve(
    points: Sequence[GrowthPoint], *, zone: str = "", per_second: float | None = None
) -> dict[str, object] | None:
    """Return the paths, ticks and labels of the curve; None for too few points.

    `zone` names the clock of the times, '' for a virtual clock, which begins at the first point.  With `per_second`, a
    straight line of this slope is drawn through the mean.
    """
    if len(points) < _MIN_POINTS:
        return None
    begin, end = points[0].time_ms, points[-1].time_ms
    length = max(1, end - begin)
    top = _axis_top(max(1, *(point.pending for point in points)))
    xs = [(point.time_ms - begin) / length * _WIDTH for point in points]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(xs)), float(_WIDTH)]
    orphans = [point.orphans for point in points]
    ticks = [top * share / 4 for share in (4, 3, 2, 1, 0)]
    times = [_clock(point.time_ms, begin, end, zone) for point in points]
    numbers = [
        {
            "time": time,
            "pending": f"{point.pending:,}",
            "orphans": f"{point.orphans:,}",
            "begun": f"{point.started:,}",
        }
        for time, point in zip(times, points, strict=True)
    ]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "zone": zone,
        "first": points[0].pending,
        "last": points[-1].pending,
        "peak": max(point.pending for point in points),
        "pending": _steps(xs, [point.pending for point in points], top),
        "orphans": _steps(xs, orphans, top) if any(orphans) else "",
        "trend": None if per_second is None else _trend(points, per_second, top),
        "ticks": [f"{tick:,.0f}" if tick == int(tick) else f"{tick:,.1f}" for tick in ticks],
        "times": [
            _clock(begin + length * n / (_TIME_LABELS - 1), begin, end, zone) for n in range(_TIME_LABELS)
        ],
        "slots": [
            (left, right - left, time, point)
            for point, time, left, right in zip(points, times, edges, edges[1:], strict=False)
        ],
        "table": table("The numbers of the curve", numbers, numbers={"pending", "orphans", "begun"}),
    }


def _clock(ms: float, begin: float, end: float, zone: str) -> str:
    """`20:22:07`, with the day if the curve spans several; `28.0 s` after the begin for a virtual clock."""
    if not zone:
        return span((ms - begin) / 1000)
    first, last, time = (datetime.fromtimestamp(at / 1000, timezone.utc) for at in (begin, end, ms))
    return f"{time:%H:%M:%S}" if first.date() == last.date() else f"{time:%m-%d %H:%M}"


def _steps(xs: Sequence[float], sizes: Sequence[int], top: int) -> str:
    """Return the SVG path of a step curve."""
    steps = [f"M{xs[0]:.1f},{_y(sizes[0], top):.2f}"]
    steps += [f"H{x:.1f}V{_y(size, top):.2f}" for x, size in zip(xs[1:], sizes[1:], strict=True)]
    return "".join(steps)


def _trend(points: Sequence[GrowthPoint], per_second: float, top: int) -> tuple[float, float]:
    """Return the heights at which the line begins and ends."""
    mean_s = sum(point.time_ms for point in points) / len(points) / 1000
    mean = sum(point.pending for point in points) / len(points)
    first, last = (mean + per_second * (point.time_ms / 1000 - mean_s) for point in (points[0], points[-1]))
    return _y(min(max(first, 0), top), top), _y(min(max(last, 0), top), top)


def _y(size: float, top: int) -> float:
    return _HEIGHT - size / top * _HEIGHT


def _axis_top(size: int) -> int:
    """Return the next number that four grid lines divide well."""
    tenth: int = 10 ** max(0, len(str(size)) - 2)
    return next(top for n in _TOPS if (top := n * tenth) >= size)
