"""The HTML page of `ackdoctor analyze`: one file that loads nothing, so that it can be mailed and kept.

The template escapes every value. Charts are inline SVG, or boxes placed in per cent.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ackdoctor import __version__
from ackdoctor.model.finding import Finding, PathWitness, Report
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters import counted, printable
from ackdoctor.reporters.analysis import about, asides, books, culprits_of, forecast, meaning, verdict
from ackdoctor.reporters.promise import Promise
from ackdoctor.reporters.tables import span
from ackdoctor.reporters.terminal import finding_place, worst_first
from ackdoctor.spark.tables import Analysis, Completions, Forecast, Latency, Life, LifeRow

_MAX_FINDINGS = 50
_OPEN_FINDINGS = 5  # the curve should be visible without much scrolling
_MAX_LEFT = 6  # lines about what a finding left behind
_MAX_ROWS = 100  # of components, and of latencies
_MIN_POINTS = 3  # of the curve
_WIDTH, _HEIGHT = 1000, 100  # of the curve's box
_TIME_LABELS = 6
_TOPS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100)  # of a value axis with four lines
_LABEL_WIDTH = 1 / 9  # of a label of a timeline, in widths of the timeline
_MIN_FIT = 0.9  # R2 below which a trend is not drawn
_MARKS = {
    "init": "k-init",
    "ack": "k-ack",
    "fail": "k-fail",
    "received": "k-link",
    "emitted": "k-link",
    "spout hears ack": "k-heard",
    "spout hears fail": "k-lost",
    "spout times out": "k-lost",
}


def page(report: Report, analysis: Analysis, stream: TextIO, promise: Promise | None = None) -> None:
    """Write the whole page; it depends on nothing but the arguments."""
    word, _, rest = verdict(report, analysis).partition(": ")
    template = environment().get_template("analysis.html.jinja")
    parts = template.generate(
        version=__version__,
        word=word,
        rest=rest,
        about=[*about(report, analysis), *(promise.lines() if promise is not None else ())],
        analysis=analysis,
        tiles=_tiles(analysis),
        findings=[_finding(finding) for finding in worst_first(report.findings)[:_MAX_FINDINGS]],
        open_findings=_OPEN_FINDINGS,
        more_findings=len(report.findings) - _MAX_FINDINGS,
        total_findings=len(report.findings),
        curve=_curve(analysis.tally.growth, analysis.forecast),
        forecast=forecast(analysis),
        max_rows=_MAX_ROWS,
        latencies=_latencies(analysis),
        trees=[(f"{t.roots:,}", t.verdict, f"{t.left:,}", meaning(t, analysis)) for t in analysis.trees],
        asides=list(asides(analysis)),
        lives=[_life(life) for life in analysis.lives],
        acked_roots=sum(row.roots for row in analysis.ackers) or 1,
        books=books(analysis),
        unreadable=report.unreadable,
    )
    stream.writelines(parts)


def environment() -> Environment:
    """Return what renders our templates: every value is escaped, a missing one is an error."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters.update(thousands="{:,}".format, percent="{:.2%}".format, ms=lambda ms: span(ms / 1000))
    return made


def _visible(value: object) -> object:
    """Replace control characters, and characters that turn the direction of reading, in text from an input."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _tiles(analysis: Analysis) -> Iterator[tuple[int, str]]:
    tally = analysis.tally
    if analysis.roots:
        yield analysis.roots, "roots begun"
        yield tally.completed, "trees the acker completed"
        yield tally.pending, "entries pending at the end"
        yield tally.high_water, "pending at most"
    if deliveries := sum(row.delivered for row in analysis.completions):
        yield deliveries, "deliveries"
        yield sum(row.never for row in analysis.completions), "never completed"
        yield sum(row.more for row in analysis.completions), "completed more than once"


def _finding(finding: Finding) -> dict[str, object]:
    left = () if isinstance(finding.evidence, PathWitness) else finding.evidence.left[:_MAX_LEFT]
    return {
        "severity": finding.severity.word,
        "rule": f"{finding.code} {finding.name}",
        "place": finding_place(finding),
        "who": ".".join(filter(None, (finding.component, finding.handler))),
        "seen": finding.seen,
        "message": finding.message,
        "items": (*left, *([f"help: {finding.help}"] if finding.help else [])),
    }


# ---- pending roots over time ----


def _curve(points: Sequence[GrowthPoint], trend: Forecast | None) -> dict[str, object] | None:
    """Return the paths, ticks and labels of the growth curve; None for too few points."""
    if len(points) < _MIN_POINTS:
        return None
    begin = points[0].time_ms
    length = max(1, points[-1].time_ms - begin)
    top = _axis_top(max(1, *(point.pending for point in points)))
    xs = [(point.time_ms - begin) / length * _WIDTH for point in points]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(xs)), float(_WIDTH)]
    orphans = [point.orphans for point in points]
    ticks = [top * share / 4 for share in (4, 3, 2, 1, 0)]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "pending": _steps(xs, [point.pending for point in points], top),
        "orphans": _steps(xs, orphans, top) if any(orphans) else "",
        "trend": _trend(points, trend, top),
        "ticks": [f"{tick:,.0f}" if tick == int(tick) else f"{tick:,.1f}" for tick in ticks],
        "times": [length * n / (_TIME_LABELS - 1) for n in range(_TIME_LABELS)],
        "slots": [
            (left, right - left, point.time_ms - begin, point)
            for point, left, right in zip(points, edges, edges[1:], strict=False)
        ],
    }


def _steps(xs: Sequence[float], sizes: Sequence[int], top: int) -> str:
    """Return the SVG path of a step curve."""
    steps = [f"M{xs[0]:.1f},{_y(sizes[0], top):.2f}"]
    steps += [f"H{x:.1f}V{_y(size, top):.2f}" for x, size in zip(xs[1:], sizes[1:], strict=True)]
    return "".join(steps)


def _trend(points: Sequence[GrowthPoint], trend: Forecast | None, top: int) -> tuple[float, float] | None:
    """Return the heights at which the fitted line begins and ends; None if no line fits."""
    if trend is None or trend.fit < _MIN_FIT:
        return None
    mean_s = sum(point.time_ms for point in points) / len(points) / 1000
    mean = sum(point.pending for point in points) / len(points)
    first, last = (
        mean + trend.per_second * (point.time_ms / 1000 - mean_s) for point in (points[0], points[-1])
    )
    return _y(min(max(first, 0), top), top), _y(min(max(last, 0), top), top)


def _y(size: float, top: int) -> float:
    return _HEIGHT - size / top * _HEIGHT


def _axis_top(size: int) -> int:
    """Return the next number that four grid lines divide well."""
    tenth: int = 10 ** max(0, len(str(size)) - 2)
    return next(top for n in _TOPS if (top := n * tenth) >= size)


# ---- latencies ----


def _latencies(analysis: Analysis) -> dict[str, object] | None:
    """Return a row per spout and per component, with each time placed on one logarithmic axis."""
    rows: list[tuple[str, str, Latency | Completions]] = [
        (f"{row.spout}, complete", counted(row.roots, "root"), row) for row in analysis.latencies
    ]
    rows += [
        (
            f"{row.component}{f' ({row.stream})' if row.stream not in {'', 'default'} else ''}, process",
            counted(row.delivered - row.never, "tuple"),
            row,
        )
        for row in analysis.completions
        if row.delivered > row.never
    ]
    if not rows:
        return None
    shown = [
        (name, of, (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms)) for name, of, row in rows[:_MAX_ROWS]
    ]
    measured = [ms for *_, times in shown for ms in times if ms > 0]
    if not measured:
        return {"total": len(rows), "rows": [(*row, ()) for row in shown], "axis": ()}
    low, high = log10(min(measured)) - 0.1, log10(max(measured)) + 0.1

    def along(ms: float) -> float:
        return 0.02 if ms <= 0 else 0.02 + 0.96 * (log10(ms) - low) / (high - low)

    return {
        "total": len(rows),
        "rows": [(*row, [along(ms) for ms in row[-1]]) for row in shown],
        "axis": [10 ** (low + (high - low) * n / 3) for n in range(4)],
    }


# ---- the timeline of a root ----


def _life(life: Life) -> dict[str, object]:
    """Return the lanes, times and rows of a root; repeated acks of a delivery are marked."""
    tree, entry, rows = life.tree, life.tree.entry, life.rows
    lanes: dict[str, list[tuple[str, float, str]]] = {}  # CSS class, place and tooltip of each mark
    times: list[tuple[float, str]] = []  # place and text of each label
    steps: list[tuple[str, LifeRow, str]] = []  # time, row, and the XOR of all values up to it
    acked: set[tuple[str, int, str]] = set()
    xor = 0
    for number, row in enumerate(rows):
        place, after = (number + 0.5) / len(rows), f"+{span((row.time_ms - rows[0].time_ms) / 1000)}"
        delivery = (row.component, row.task, row.delivery)
        again = row.what == "ack" and delivery in acked
        if row.what == "ack" and row.delivery:
            acked.add(delivery)
        tooltip = f"{row.what}{', again' if again else ''} {after} {row.site}".strip()
        css = _MARKS.get(row.what, "k-link") + (" k-again" if again else "")
        lanes.setdefault(f"{row.component}[{row.task}]", []).append((css, place, tooltip))
        changed = number == 0 or row.time_ms != rows[number - 1].time_ms
        if changed and (not times or place - times[-1][0] >= _LABEL_WIDTH):  # labels do not overlap
            times.append((place, after))
        held = ""
        if row.what in {"init", "ack"}:
            xor ^= row.value
            held = str(xor)
        elif row.what in {"spout hears ack", "spout hears fail"}:
            xor = 0
        steps.append((after, row, held))
    return {
        "root": tree.root,
        "verdict": tree.verdict.value,
        "entry": "" if entry is None else "orphan" if entry.task is None else "tracked",
        "value": "" if entry is None or entry.value is None else str(entry.value),
        "age": span(entry.age_ms / 1000) if entry is not None else "",
        "who": culprits_of(tree),
        "lanes": list(lanes.items()),
        "times": times,
        "rows": steps,
        "more": life.more,
    }
