"""The HTML page of `ackdoctor analyze`.  Charts are inline SVG, or boxes placed in per cent."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import ceil, floor, log10
from shlex import quote
from typing import TextIO

from ackdoctor.model.finding import Report, counted
from ackdoctor.model.trace import PendingEntry
from ackdoctor.reporters.analysis import (
    FIRST_CLOCK_MS,
    NEEDS_DEBUG,
    NUMBERS,
    acker_rows,
    asides,
    completion_rows,
    culprits_of,
    doubts,
    forecast,
    quarantine_rows,
    root_rows,
    rows_line,
    verdict,
    when,
)
from ackdoctor.reporters.html import (
    MAX_CARDS,
    MAX_ROWS,
    Step,
    Table,
    cards,
    growth_curve,
    repairs,
    table,
    write,
)
from ackdoctor.reporters.promise import Promise
from ackdoctor.reporters.tables import span
from ackdoctor.reporters.terminal import worst_first
from ackdoctor.spark.tables import Analysis, Completions, Latency, Timeline, TimelineRow

_OPEN_FINDINGS = 5  # the curve should be visible without much scrolling
_ZERO = 0.12  # of the latency scale: from zero to the first power of ten
_MAX_DECADES = 5  # with a label
_QUANTILES = ("p50", "p90", "p99", "slowest")
_LABEL_WIDTH = 1 / 9  # of a label of a timeline, in widths of the timeline
_MIN_FIT = 0.9  # R2 below which a trend is not drawn
_STYLES = {"BROKEN": "bad", "INCOMPLETE": "warn", "EMPTY": "warn"}
_MARKS = {
    "init": "k-init",
    "ack": "k-ack",
    "fail": "k-fail",
    "received": "k-link",
    "emitted": "k-link",
    "spout gets ack": "k-acked",
    "spout gets fail": "k-lost",
    "spout times out": "k-lost",
}


def page(
    report: Report,
    analysis: Analysis,
    stream: TextIO,
    promise: Promise | None = None,
    *,
    inputs: Sequence[str],
    made: datetime,
) -> None:
    """Write the whole page; it depends on nothing but the arguments."""
    word, _, rest = verdict(report, analysis).partition(": ")
    worst = worst_first(report.findings)
    notes = [("promise", line) for line in (promise.lines() if promise is not None else ())]
    notes += [("note", line) for line in doubts(report, analysis)]
    clean = word == "OK" and not (report.hidden or report.suppressed)
    write(
        "analysis.html.jinja",
        stream,
        command="analyze",
        inputs=inputs,
        made=made,
        about=[*_about(analysis, made), *notes],
        steps=repairs(worst),
        then=list(_unknowns(analysis, inputs)),
        nothing="Nothing needs repair in what was read." if clean else "",
        unreadable=analysis.unreadable,
        word=word,
        style=_STYLES.get(word, "good"),
        rest=rest,
        tiles=_tiles(analysis),
        findings=cards(worst),
        open_findings=_OPEN_FINDINGS,
        more_findings=len(worst) - MAX_CARDS,
        total_findings=len(worst),
        of="Pending roots" if analysis.ackers else "Open deliveries",
        curve=_curve(analysis),
        forecast=_trend_in_words(analysis),
        bars=[(_name(row), row) for row in analysis.completions[:MAX_ROWS]],
        latencies=_latencies(analysis),
        asides=list(asides(analysis)),
        timelines=[_timeline(timeline) for timeline in analysis.timelines[:MAX_ROWS]],
        more_timelines=len(analysis.timelines[MAX_ROWS:]),
        **_tables(analysis),
    )


def _tables(analysis: Analysis) -> dict[str, Table]:
    return {
        "completions": table(
            "Completions per delivery",
            completion_rows(analysis, MAX_ROWS),
            numbers=NUMBERS,
            total=len(analysis.completions),
        ),
        "trees": table("Roots by their end", root_rows(analysis), numbers=NUMBERS),
        "ackers": table(
            "Ackers",
            acker_rows(analysis, MAX_ROWS),
            numbers=NUMBERS,
            total=len(analysis.ackers),
        ),
        "quarantine": table(
            "Quarantine",
            quarantine_rows(analysis, MAX_ROWS),
            numbers=NUMBERS,
            total=len(analysis.quarantine),
        ),
    }


# ---- what, when, and what to do first ----


def _about(analysis: Analysis, made: datetime) -> Iterator[tuple[str, str]]:
    times = when(analysis)
    if times and not analysis.logged:
        age = made.timestamp() - analysis.end_ms / 1000
        times += f"; the last row is {_age(age)} older than this page" if age > 0 else ""
    yield "data", f"{span(analysis.seconds)}{', ' if times else ' by a clock without a date'}{times}"
    yield "rows", rows_line(analysis)
    if analysis.roots:
        yield "acker", f"judged as {analysis.acker} would have acked"


def _age(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit)
    return counted(int(seconds), "second")


def _unknowns(analysis: Analysis, inputs: Sequence[str]) -> Iterator[Step]:
    """Yield what to do about that which keeps the verdict open."""
    if analysis.deaths:
        times = sum(each.times for each in analysis.deaths)
        plain = not any(char in name for name in inputs for char in "*?[]{}:")  # no pattern, no address
        yield Step(
            action="look at why workers died: run `ackdoctor diagnose` on these logs",
            why=counted(times, "death"),
            command=f"ackdoctor diagnose {' '.join(map(quote, inputs))}" if plain else "",
        )
    if analysis.missing:
        yield Step(
            action="add the logs of all workers and analyze them together",
            why=f"no log has a line of {counted(len(analysis.missing), 'task')} that the others name",
        )
    if analysis.row_counts.useless and analysis.row_counts.foreign and not analysis.row_counts.quarantined:
        yield Step(
            action="set topology.debug: true for a few minutes, then analyze the new logs", why=NEEDS_DEBUG
        )
    if analysis.quarantine:
        worst = analysis.quarantine[0]
        yield Step(
            action="look at the rows in quarantine",
            place=worst.file,
            why=f"{counted(worst.rows, 'row')}: {worst.reason}",
            target="quarantine",
        )


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


def _curve(analysis: Analysis) -> dict[str, object] | None:
    points, trend = analysis.tally.growth, analysis.forecast
    has_dates = bool(points) and points[0].time_ms >= FIRST_CLOCK_MS
    return growth_curve(
        points,
        zone="" if not has_dates else "the logs' clocks" if analysis.logged else "UTC",
        per_second=trend.per_second if trend is not None and trend.fit >= _MIN_FIT else None,
    )


def _trend_in_words(analysis: Analysis) -> str:
    """Return the forecast; a line that does not fit forecasts nothing."""
    trend = analysis.forecast
    if trend is None or trend.fit >= _MIN_FIT:
        return forecast(analysis)
    return f"no steady growth: a straight line does not fit (R2 {trend.fit:.2f})"


# ---- completions and latencies ----


def _name(row: Completions) -> str:
    """`count (alerts)`; the component alone for its default stream."""
    return f"{row.component} ({row.stream})" if row.stream not in {"", "default"} else row.component


def _latencies(analysis: Analysis) -> dict[str, object] | None:
    """Return a row per spout and per component, with each time placed on one axis that begins at zero."""
    rows: list[tuple[str, str, Latency | Completions]] = [
        (f"{row.spout}, complete", counted(row.roots, "root"), row) for row in analysis.latencies
    ]
    rows += [
        (
            f"{_name(row)}, process",
            counted(row.delivered - row.never, "tuple"),
            row,
        )
        for row in analysis.completions
        if row.delivered > row.never
    ]
    shown = [
        (name, of, (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms)) for name, of, row in rows[:MAX_ROWS]
    ]
    measured = [ms for *_, times in shown for ms in times if ms > 0]
    low = max(0, floor(log10(min(measured, default=1))))
    high = max(low + 1, ceil(log10(max(measured, default=1))))
    if not shown:
        return None
    step = ceil((high - low) / _MAX_DECADES)

    def along(ms: float) -> float:
        """Place a time: in proportion up to the first power of ten, by its logarithm above."""
        if ms <= 10**low:
            return _ZERO * max(0.0, ms) / float(10**low)
        return _ZERO + (1 - _ZERO) * (log10(ms) - low) / (high - low)

    numbers = [
        {
            "what": name,
            "of": of,
            **{head: span(ms / 1000) for head, ms in zip(_QUANTILES, times, strict=True)},
        }
        for name, of, times in shown
    ]
    return {
        "rows": [(name, [(along(ms), ms) for ms in times]) for name, _, times in shown],
        "axis": [(along(ms), ms) for ms in (0, *(10**n for n in range(low, high + 1, step)))],
        "linear": 10**low,
        "table": table("Latency", numbers, numbers={"of", *_QUANTILES}, total=len(rows)),
    }


# ---- the timeline of a root ----


def _timeline(timeline: Timeline) -> dict[str, object]:
    """Return the lanes, times and rows of a root; repeated acks of a delivery are marked."""
    tree, entry, rows = timeline.tree, timeline.tree.entry, timeline.rows
    lanes: dict[str, list[tuple[str, float, str]]] = {}  # CSS class, place and tooltip of each mark
    times: list[tuple[float, str]] = []  # place and text of each label
    steps: list[dict[str, str]] = []
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
        elif row.what in {"spout gets ack", "spout gets fail"}:
            xor = 0
        steps.append(_row(row, after, held, again=again))
    return {
        "root": tree.root,
        "summary": ", ".join(filter(None, (tree.verdict.value, _entry(entry), culprits_of(tree)))),
        "lanes": list(lanes.items()),
        "times": times,
        "table": table(f"Events of root {tree.root}", steps, total=len(steps) + timeline.more),
    }


def _row(row: TimelineRow, after: str, held: str, *, again: bool) -> dict[str, str]:
    """Return an event for the table; `held` is the XOR of all values up to it."""
    return {
        "after": after,
        "what": f"{row.what}{', again' if again else ''}",
        "who": f"{row.component}[{row.task}]",
        "delivery": row.delivery,
        "value": str(row.value or ""),
        "XOR so far": held,
        "where": row.site,
    }


def _entry(entry: PendingEntry | None) -> str:
    """`orphan of value 7, 90.0 s old`; '' if the acker has no entry of the root any more."""
    if entry is None:
        return ""
    kind = "orphan" if entry.task is None else "entry"
    value = "" if entry.value is None else f" of value {entry.value}"
    return f"{kind}{value}, {span(entry.age_ms / 1000)} old"
