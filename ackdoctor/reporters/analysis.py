"""What `ackdoctor analyze` has to say, on a screen and as JSON: the verdict, who did it, the curve, then the tables."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TextIO

from ackdoctor.model.finding import Finding, Report
from ackdoctor.model.source import NOWHERE
from ackdoctor.model.verdict import ComponentTally, TupleTree
from ackdoctor.reporters.as_json import content
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.figures import drawn, span, sparkline, table
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.roots import tells
from ackdoctor.reporters.run import About, worst_first
from ackdoctor.reporters.run import incomplete as incomplete_of_run
from ackdoctor.reporters.run import verdict as verdict_of_run
from ackdoctor.spark.tables import Analysis, Deaths

__all__ = [
    "about",
    "asides",
    "books",
    "document",
    "forecast",
    "incomplete",
    "screen",
    "verdict",
]

_MOST = 10
_MOST_ROWS = 50  # of components, and of spouts
_MOST_NOTES = 5
_MOST_CAUSES = 3  # of deaths
_WIDE = 96  # columns that a table with times takes
_FEWEST_POINTS = 3
_FIRST_WALL_MS = 946_684_800_000  # the year 2000; a clock that begins with the run is behind
_LONGEST_WORD = len("warning")
_NEEDS_DEBUG = "a worker writes what acking needs only with topology.debug=true"
_STYLES = {"BROKEN": "error", "INCOMPLETE": "warning", "EMPTY": "warning"}


def screen(report: Report, analysis: Analysis, stream: TextIO, context: Context, width: int) -> None:
    """The whole screen."""
    word, colon, rest = verdict(report, analysis).partition(":")
    stream.write(f"{context.palette.paint(_STYLES.get(word, 'label'), word)}{colon}{rest}\n")
    stream.writelines(f"  {line}\n" for line in about(report, analysis))
    blocks = (
        _culprits(report.findings, context),
        _growth(analysis, context),
        _components(analysis, context, width),
        _roots(analysis, context, width),
        _latency(analysis, context, width),
        _ackers(analysis, context, width),
        _asides(analysis),
        _quarantine(analysis, context, width),
    )
    stream.writelines(f"\n{block}" for block in filter(None, blocks))


def document(report: Report, analysis: Analysis, stream: TextIO) -> None:
    """The report as one JSON object, with every table under `analysis`; ids and values are text."""
    plain = {**content(report), "verdict": verdict(report, analysis), "analysis": _plain(analysis)}
    json.dump(plain, stream, indent=2)
    stream.write("\n")


def verdict(report: Report, analysis: Analysis) -> str:
    """The first line, in the words of `trace report`; where no row tells of acking, why."""
    kept = analysis.books
    said = verdict_of_run(report, _of_run(analysis))
    undebugged = kept.useless and kept.foreign and not kept.used and not kept.quarantined
    said = f"{said}: {_NEEDS_DEBUG}" if undebugged else said
    return f"{said}; {_died(analysis.deaths)}" if analysis.deaths else said


def _died(deaths: Sequence[Deaths]) -> str:
    """`8 deaths of workers: acked twice in words 8`."""
    total = sum(one.times for one in deaths)
    causes = (
        f"{one.cause}{f' in {one.component}' if one.component else ''} {one.times:,}"
        for one in deaths[:_MOST_CAUSES]
    )
    more = ", and more" if len(deaths) > _MOST_CAUSES else ""
    return (
        f"{'1 death' if total == 1 else f'{total:,} deaths'} of workers: {printable(', '.join(causes))}{more}"
    )


def incomplete(report: Report, analysis: Analysis) -> bool:
    """Whether something could not be read, used or judged, be there findings in the rest or not."""
    return incomplete_of_run(report, _of_run(analysis))


def about(report: Report, analysis: Analysis) -> Iterator[str]:
    """What the verdict rests on, and what makes it less than the whole truth."""
    judged = f", judged as {analysis.acker} would have acked" if analysis.roots else ""
    yield f"{books(analysis)}, over {span(analysis.seconds)}{judged}"
    if when := _when(analysis):
        yield when
    if analysis.tally.dropped:
        yield f"{analysis.tally.dropped:,} rows are missing: the tracer had no room for them, or fell behind"
    if report.unreadable:
        yield f"{counted(len(report.unreadable), 'file')} could not be read"
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below the least severity not shown"
    if report.suppressed:
        yield f"{counted(report.suppressed, 'finding')} suppressed by comments"
    notes = (*report.notes, *analysis.notes)
    yield from map(printable, notes[:_MOST_NOTES])
    if len(notes) > _MOST_NOTES:
        yield f"and {len(notes) - _MOST_NOTES:,} more such lines; --output-format json has all"


def _when(analysis: Analysis) -> str:
    """`from 2026-11-21 20:22:07 to 20:22:17 UTC`; '' where the clock is not that of a wall."""
    if analysis.begin_ms < _FIRST_WALL_MS:
        return ""
    begin, end = (
        datetime.fromtimestamp(ms // 1000, timezone.utc) for ms in (analysis.begin_ms, analysis.end_ms)
    )
    until = f"{end:%H:%M:%S}" if end.date() == begin.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    zone = "by the logs' own clocks (UTC where they name a zone)" if analysis.logged else "UTC"
    return f"from {begin:%Y-%m-%d %H:%M:%S} to {until} {zone}"


def books(analysis: Analysis) -> str:
    """Where every row went: `191 rows of 1 file: 191 used, 0 continuations, 0 quarantined`."""
    kept = analysis.books
    said = f"{counted(kept.rows, 'row')} of {counted(kept.files, 'file')}: {kept.used:,} used"
    said += f", {counted(kept.continued, 'continuation')}" if kept.continued else ""
    said += f", {kept.foreign:,} that tell nothing of acking" if kept.foreign else ""
    said += f", {kept.quarantined:,} quarantined"
    return said if kept.balanced else f"{said}; THE BOOKS DO NOT BALANCE"


def forecast(analysis: Analysis) -> str:
    """`0.1 entries a second (R2 1.00): at 144 bytes each, 768 MB are full in 649 days`; '' without a curve."""
    line = analysis.forecast
    if line is None:
        return ""
    said = f"{line.per_second:+,.1f} entries a second (R2 {line.fit:.2f})"
    if line.full_in is None:
        return said
    return f"{said}: at {line.entry_bytes} bytes each, {line.heap >> 20:,} MB are full in {line.full_in}"


def _of_run(analysis: Analysis) -> About:
    kept = analysis.books
    return About(
        tally=analysis.tally,
        acker=analysis.acker,
        rows=kept.rows,
        roots=analysis.roots,
        quarantined=kept.quarantined,
        telling=not kept.useless,
        unjudged=len(analysis.unjudged),
        taken=analysis.taken,
        left_out=analysis.left_out,
        deaths=sum(one.times for one in analysis.deaths),
        expired=tuple((one.cause, one.roots) for one in analysis.expired),
        partial=bool(analysis.missing) or analysis.unbegun or analysis.silent_ackers,
    )


# ---- blocks ----


def _culprits(findings: Sequence[Finding], context: Context) -> str:
    """Who did it, two lines each: what and where, then the words."""
    if not findings:
        return ""
    paint = context.palette.paint
    lines = [counted(len(findings), "finding")]
    for finding in worst_first(findings)[:_MOST]:
        often = f"  {finding.seen:,} times" if finding.seen > 1 else ""
        severity = paint(finding.severity.word, finding.severity.word.ljust(_LONGEST_WORD))
        what = f"{paint('code', finding.code)} {finding.name}"
        lines.append(f"  {severity} {what}  {paint('path', printable(_place(finding)))}{often}")
        lines.append(f"  {' ' * _LONGEST_WORD} {printable(finding.message)}")
    more = len(findings) - _MOST
    lines += [f"  and {more:,} more; --output-format json has all"] if more > 0 else []
    return "".join(f"{line}\n" for line in lines)


def _place(finding: Finding) -> str:
    who = ".".join(filter(None, (finding.component, finding.handler)))
    site = finding.site
    return f"{site.path}:{site.span.line} {who}" if site.span != NOWHERE else who


def _growth(analysis: Analysis, context: Context) -> str:
    points = analysis.tally.growth
    if len(points) < _FEWEST_POINTS:
        return ""
    said = forecast(analysis)
    if not analysis.ackers:
        most = f"{analysis.tally.high_water:,} in one task"
        return f"open deliveries\n  {sparkline(points, context, most)}\n"
    return f"pending roots\n  {sparkline(points, context)}\n" + (f"  {said}\n" if said else "")


def _components(analysis: Analysis, context: Context, width: int) -> str:
    if not analysis.completions:
        return ""
    heads = [
        "component",
        "stream",
        "delivered",
        "0x",
        "1x",
        "2x+",
        "acked",
        "failed",
        "p50",
        "p99",
        "oldest open",
    ]
    kept = [head for head in heads if width >= _WIDE or head not in {"p50", "p99"}]
    rows = table(context, *kept, numbers=range(2, len(kept)))
    for row in analysis.completions[:_MOST_ROWS]:
        counts = (row.delivered, row.never, row.once, row.more, row.acked, row.failed)
        done = row.delivered > row.never
        cells = {
            "component": printable(row.component),
            "stream": printable(row.stream),
            **{head: f"{count:,}" for head, count in zip(heads[2:8], counts, strict=True)},
            "p50": _ms(row.p50_ms) if done else "",
            "p99": _ms(row.p99_ms) if done else "",
            "oldest open": _ms(row.oldest_ms) if row.never else "",
        }
        rows.add_row(*(cells[head] for head in kept))
    beyond = _beyond(len(analysis.completions), _MOST_ROWS)
    return f"completions per delivery\n{drawn(rows, width, context)}{beyond}"


def _roots(analysis: Analysis, context: Context, width: int) -> str:
    if not analysis.trees:
        return ""
    rows = table(
        context,
        "roots",
        "ended",
        "still kept",
        "what is left tells",
        "one of them",
        numbers=[0, 2],
        whole=[4],
    )
    example = {
        (life.tree.verdict.value, life.tree.residue.value): life.tree.root
        for life in reversed(analysis.lives)
    }
    for kind in analysis.trees:
        one = example.get((kind.verdict, kind.residue))
        rows.add_row(
            f"{kind.roots:,}",
            kind.verdict,
            f"{kind.left:,}",
            tells(kind, analysis),
            "" if one is None else str(one),
        )
    return f"roots\n{drawn(rows, width, context)}"


def _latency(analysis: Analysis, context: Context, width: int) -> str:
    if not analysis.latencies:
        return ""
    rows = table(context, "spout", "roots", "p50", "p90", "p99", "slowest", numbers=range(1, 6))
    for row in analysis.latencies[:_MOST_ROWS]:
        times = (_ms(ms) for ms in (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms))
        rows.add_row(printable(row.spout), f"{row.roots:,}", *times)
    beyond = _beyond(len(analysis.latencies), _MOST_ROWS)
    return f"complete latency\n{drawn(rows, width, context)}{beyond}"


def _ackers(analysis: Analysis, context: Context, width: int) -> str:
    if len(analysis.ackers) < 2:  # noqa: PLR2004  # nothing to compare
        return ""
    rows = table(context, "acker", "roots", "share", "messages", "at most", "left", numbers=range(1, 6))
    roots = sum(row.roots for row in analysis.ackers) or 1
    for row in analysis.ackers[:_MOST]:
        name = f"{printable(row.run)} {row.acker}".strip()
        share = f"{row.roots / roots:.0%}"
        rows.add_row(
            name, f"{row.roots:,}", share, f"{row.messages:,}", f"{row.high_water:,}", f"{row.pending:,}"
        )
    beyond = _beyond(len(analysis.ackers), _MOST)
    return f"{len(analysis.ackers):,} ackers\n{drawn(rows, width, context)}{beyond}"


def _asides(analysis: Analysis) -> str:
    return "".join(f"{line}\n" for line in asides(analysis))


def asides(analysis: Analysis) -> Iterator[str]:
    """Who held what timed out, timeouts in bursts, messages that came again."""
    for holder in analysis.holders[:_MOST]:
        who = printable(f"{holder.component} ({holder.stream})" if holder.stream else holder.component)
        yield f"last holder: {who} received and never completed tuples of {_roots_of(holder.roots)} that did not end well"
    if (more := len(analysis.holders) - _MOST) > 0:
        yield f"and {more:,} more such holders; --output-format json has all"
    for comb in analysis.combs:
        yield f"timeouts in bursts: {_roots_of(comb.roots)} in {comb.bursts} bursts, multiples of {comb.period_s} s apart"
    for replay in analysis.replays:
        yield (
            f"replays: {printable(replay.spout)} emitted {counted(replay.ids, 'message id')} {replay.emits:,} times in all; "
            f"{printable(replay.worst)} came {replay.most:,} times"
        )


def _roots_of(count: int) -> str:
    return "1 root" if count == 1 else f"{count:,} roots"


def _quarantine(analysis: Analysis, context: Context, width: int) -> str:
    if not analysis.quarantine:
        return ""
    rows = table(context, "rows", "reason", "file", numbers=[0])
    for row in analysis.quarantine[:_MOST]:
        rows.add_row(f"{row.rows:,}", printable(row.reason), printable(row.file))
    return f"quarantine\n{drawn(rows, width, context)}{_beyond(len(analysis.quarantine), _MOST)}"


def _beyond(count: int, most: int) -> str:
    """What a table leaves out is counted."""
    more = count - most
    return f"  and {more:,} more; --output-format json has all\n" if more > 0 else ""


def _ms(ms: float) -> str:
    return span(ms / 1000)


# ---- JSON ----


def _plain(analysis: Analysis) -> dict[str, object]:
    tally = analysis.tally
    tables: dict[str, Iterable[object]] = {
        name: getattr(analysis, name)
        for name in (
            "completions",
            "latencies",
            "ackers",
            "trees",
            "holders",
            "combs",
            "expired",
            "deaths",
            "replays",
            "quarantine",
        )
    }
    return {
        "acker": analysis.acker,
        "books": asdict(analysis.books),
        "begin_ms": analysis.begin_ms,
        "end_ms": analysis.end_ms,
        "seconds": analysis.seconds,
        "window_ms": analysis.window_ms,
        "roots": analysis.roots,
        "completed": tally.completed,
        "pending": tally.pending,
        "high_water": tally.high_water,
        "dropped": tally.dropped,
        "messages_dropped": analysis.messages_dropped,
        "growth": [asdict(point) for point in tally.growth],
        "components": [_component_row(component) for component in tally.components],
        **{name: [asdict(row) for row in rows] for name, rows in tables.items()},  # type: ignore[call-overload]
        "forecast": None if analysis.forecast is None else asdict(analysis.forecast),
        "lives": [_plain_life(life.tree) for life in analysis.lives],
        "passed_over": [{"path": path, "reason": reason} for path, reason in analysis.passed_over],
        "notes": list(analysis.notes),
        "written": list(analysis.written),
    }


def _component_row(tally: ComponentTally) -> dict[str, object]:
    """A component's row of the JSON report; the key "offences" is older than the field's name."""
    row = asdict(tally)
    row["offences"] = row.pop("violations")
    return row


def _plain_life(tree: TupleTree) -> dict[str, object]:
    entry = tree.entry
    return {
        "root": str(tree.root),
        "verdict": tree.verdict.value,
        "residue": tree.residue.name.lower(),
        "value": None if entry is None or entry.value is None else str(entry.value),
        "age_ms": entry.age_ms if entry is not None else None,
        "culprits": [{**asdict(culprit), "value": str(culprit.value)} for culprit in tree.culprits],
        "ambiguous": tree.ambiguous,
    }
