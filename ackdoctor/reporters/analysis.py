"""What `ackdoctor analyze` shows on a screen and as JSON: the verdict, the findings, the curve, the tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TextIO

from ackdoctor.model.finding import Finding, Report, counted
from ackdoctor.model.trace import Culprit, Residue, TupleTree, Verdict
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.machine import document as write_document
from ackdoctor.reporters.promise import Promise
from ackdoctor.reporters.tables import block, span
from ackdoctor.reporters.terminal import finding_place, headline, worst_first
from ackdoctor.reporters.trace import About, caveats, growth, plain_tally, plain_tree
from ackdoctor.reporters.trace import incomplete as trace_incomplete
from ackdoctor.reporters.trace import verdict as trace_verdict
from ackdoctor.spark.tables import Analysis, TreeCount

_MAX_LINES = 10
_MAX_ROWS = 50  # of components, and of spouts
_MAX_CAUSES = 3  # of deaths
_WIDE = 96  # columns that a table with latencies takes
FIRST_CLOCK_MS = 946_684_800_000  # the year 2000: times before it are of a virtual clock
_SEVERITY_WIDTH = len("warning")
NUMBERS = frozenset(  # the heads of columns of numbers, of all tables
    (
        *("delivered", "0x", "1x", "2x+", "acked", "failed", "oldest open"),
        *("roots", "still pending", "p50", "p90", "p99", "slowest"),
        *("share", "messages", "at most", "left", "rows"),
    )
)
NEEDS_DEBUG = "a worker logs tuples only with topology.debug=true"
_ROWS_OF_JSON = (
    "completions",
    "latencies",
    "ackers",
    "trees",
    "uncompleted",
    "combs",
    "expired",
    "deaths",
    "replays",
    "quarantine",
)


def screen(
    report: Report,
    analysis: Analysis,
    stream: TextIO,
    context: Context,
    promise: Promise | None = None,
) -> None:
    """Write the verdict, the findings, the curve and the tables."""
    stream.write(headline(verdict(report, analysis), context))
    stream.writelines(f"  {line}\n" for line in about(report, analysis))
    if promise is not None:
        stream.writelines(f"  {line}\n" for line in promise.lines())
    blocks = (
        _findings(report.findings, context),
        growth(analysis.tally, context, roots=bool(analysis.ackers), note=forecast(analysis)),
        _completions(analysis, context),
        _roots(analysis, context),
        _latencies(analysis, context),
        _ackers(analysis, context),
        "".join(f"{line}\n" for line in asides(analysis)),
        _quarantine(analysis, context),
    )
    stream.writelines(f"\n{block}" for block in filter(None, blocks))


def document(report: Report, analysis: Analysis, stream: TextIO, promise: Promise | None = None) -> None:
    """Write the report as one JSON object, with every table under `analysis`; ids and values are text."""
    tables: dict[str, Iterable[object]] = {name: getattr(analysis, name) for name in _ROWS_OF_JSON}
    plain = {
        "acker": analysis.acker,
        "row_counts": asdict(analysis.row_counts),
        "begin_ms": analysis.begin_ms,
        "end_ms": analysis.end_ms,
        "seconds": analysis.seconds,
        "window_ms": analysis.window_ms,
        "roots": analysis.roots,
        **plain_tally(analysis.tally),
        "messages_dropped": analysis.messages_dropped,
        **{name: [asdict(row) for row in rows] for name, rows in tables.items()},  # type: ignore[call-overload]
        "forecast": None if analysis.forecast is None else asdict(analysis.forecast),
        "examples": [plain_tree(timeline.tree) for timeline in analysis.timelines],
        "passed_over": [{"path": path, "reason": reason} for path, reason in analysis.passed_over],
        "notes": list(analysis.notes),
        "written": list(analysis.written),
    }
    if promise is not None:
        plain["promise"] = promise.plain()
    write_document(report, stream, verdict=verdict(report, analysis), analysis=plain)


# ---- the verdict ----


def verdict(report: Report, analysis: Analysis) -> str:
    """Return the verdict of the trace, with the reason if no row is about acking, and the deaths of workers."""
    rows = analysis.row_counts
    text = trace_verdict(report, _about_trace(analysis))
    if rows.useless and rows.foreign and not rows.used and not rows.quarantined:
        text = f"{text}: {NEEDS_DEBUG}"
    if not analysis.deaths:
        return text
    total = sum(one.times for one in analysis.deaths)
    causes = (
        f"{one.cause}{f' in {one.component}' if one.component else ''} {one.times:,}"
        for one in analysis.deaths[:_MAX_CAUSES]
    )
    more = ", and more" if len(analysis.deaths) > _MAX_CAUSES else ""
    return f"{text}; {counted(total, 'death')} of workers: {printable(', '.join(causes))}{more}"


def incomplete(report: Report, analysis: Analysis) -> bool:
    """Return whether something could not be read, used or judged, with or without findings in the rest."""
    return trace_incomplete(report, _about_trace(analysis))


def _about_trace(analysis: Analysis) -> About:
    rows = analysis.row_counts
    return About(
        tally=analysis.tally,
        acker=analysis.acker,
        rows=rows.rows,
        roots=analysis.roots,
        quarantined=rows.quarantined,
        telling=not rows.useless,
        unjudged=len(analysis.unjudged),
        taken=analysis.taken,
        left_out=analysis.left_out,
        deaths=sum(one.times for one in analysis.deaths),
        expired=tuple((one.cause, one.roots) for one in analysis.expired),
        partial=bool(analysis.missing)
        or analysis.gaps
        or analysis.unbegun
        or analysis.silent_ackers
        or analysis.disordered,
    )


def about(report: Report, analysis: Analysis) -> Iterator[str]:
    """Yield the size of the input, and what weakens the verdict."""
    acker = f", judged as {analysis.acker} would have acked" if analysis.roots else ""
    yield f"{rows_line(analysis)}, over {span(analysis.seconds)}{acker}"
    if times := when(analysis):
        yield times
    yield from doubts(report, analysis)


def doubts(report: Report, analysis: Analysis) -> Iterator[str]:
    """Yield what weakens the verdict."""
    return caveats(report, analysis.tally, "could not be read", (*report.notes, *analysis.notes))


def when(analysis: Analysis) -> str:
    """`from 2026-11-21 20:22:07 to 20:22:17 UTC`; '' for a virtual clock."""
    if analysis.begin_ms < FIRST_CLOCK_MS:
        return ""
    begin, end = (
        datetime.fromtimestamp(ms // 1000, timezone.utc) for ms in (analysis.begin_ms, analysis.end_ms)
    )
    until = f"{end:%H:%M:%S}" if end.date() == begin.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    zone = "by the logs' own clocks (UTC where they name a zone)" if analysis.logged else "UTC"
    return f"from {begin:%Y-%m-%d %H:%M:%S} to {until} {zone}"


def rows_line(analysis: Analysis) -> str:
    """`191 rows of 1 file: 191 used, 0 continuations, 0 quarantined`: every row is counted once."""
    rows = analysis.row_counts
    text = f"{counted(rows.rows, 'row')} of {counted(rows.files, 'file')}: {rows.used:,} used"
    text += f", {counted(rows.continued, 'continuation')}" if rows.continued else ""
    text += f", {rows.foreign:,} not about acking" if rows.foreign else ""
    text += f", {rows.quarantined:,} quarantined"
    return text if rows.balanced else f"{text}; THE COUNTS DO NOT ADD UP"


def forecast(analysis: Analysis) -> str:
    """`0.1 entries a second (R2 1.00): at 144 bytes each, 768 MB are full in 649 days`; '' without a curve."""
    trend = analysis.forecast
    if trend is None:
        return ""
    text = f"{trend.per_second:+,.1f} entries a second (R2 {trend.fit:.2f})"
    if trend.full_in is None:
        return text
    return f"{text}: at {trend.entry_bytes} bytes each, {trend.heap >> 20:,} MB are full in {trend.full_in}"


# ---- the findings ----


def _findings(findings: Sequence[Finding], context: Context) -> str:
    """Return two lines for each finding: rule and place, then the message."""
    if not findings:
        return ""
    paint = context.palette.paint
    lines = [counted(len(findings), "finding")]
    for finding in worst_first(findings)[:_MAX_LINES]:
        times = f"  {finding.seen:,} times" if finding.seen > 1 else ""
        severity = paint(finding.severity.word, finding.severity.word.ljust(_SEVERITY_WIDTH))
        rule = f"{paint('code', finding.code)} {finding.name}"
        who = ".".join(filter(None, (finding.component, finding.handler)))
        place = finding_place(finding)
        where = who if place == finding.site.path else f"{place} {who}"
        lines.append(f"  {severity} {rule}  {paint('path', printable(where))}{times}")
        lines.append(f"  {' ' * _SEVERITY_WIDTH} {printable(finding.message)}")
    if (more := len(findings) - _MAX_LINES) > 0:
        lines.append(f"  and {more:,} more; --output-format json has all")
    return "".join(f"{line}\n" for line in lines)


# ---- the tables ----


def completion_rows(analysis: Analysis, limit: int) -> list[dict[str, str]]:
    """Return a row for each component and stream."""
    rows = []
    for row in analysis.completions[:limit]:
        completed = row.delivered > row.never
        rows.append(
            {
                "component": printable(row.component),
                "stream": printable(row.stream),
                "delivered": f"{row.delivered:,}",
                "0x": f"{row.never:,}",
                "1x": f"{row.once:,}",
                "2x+": f"{row.more:,}",
                "acked": f"{row.acked:,}",
                "failed": f"{row.failed:,}",
                "p50": _ms(row.p50_ms) if completed else "",
                "p99": _ms(row.p99_ms) if completed else "",
                "oldest open": _ms(row.oldest_ms) if row.never else "",
            }
        )
    return rows


def _completions(analysis: Analysis, context: Context) -> str:
    return block(
        "completions per delivery",
        completion_rows(analysis, _MAX_ROWS),
        context,
        numbers=NUMBERS,
        dropped=() if context.width >= _WIDE else {"p50", "p99"},
        total=len(analysis.completions),
    )


def root_rows(analysis: Analysis) -> list[dict[str, str]]:
    """Return a row for each way in which roots ended."""
    examples = {
        (timeline.tree.verdict.value, timeline.tree.residue.value): str(timeline.tree.root)
        for timeline in reversed(analysis.timelines)
    }
    return [
        {
            "roots": f"{kind.roots:,}",
            "ended": kind.verdict,
            "still pending": f"{kind.left:,}",
            "meaning": meaning(kind, analysis),
            "example": examples.get((kind.verdict, kind.residue), ""),
        }
        for kind in analysis.trees
    ]


def _roots(analysis: Analysis, context: Context) -> str:
    rows = root_rows(analysis)
    return block("roots", rows, context, numbers=NUMBERS, unfolded={"example"})


def meaning(kind: TreeCount, analysis: Analysis) -> str:
    """Return what the value left in the acker means, also if the acker has dropped it since; '' for no value."""
    if analysis.logged and kind.verdict == Verdict.ORPHAN.value:
        return "the logs have no __ack_init of it"
    trees = [
        tree
        for tree in analysis.tally.trees
        if (tree.verdict.value, tree.residue.value) == (kind.verdict, kind.residue)
    ]
    if trees and all(tree.culprits and all(each.lost for each in tree.culprits) for tree in trees):
        return "a message was lost on its way"
    return "" if kind.residue == Residue.NONE.value else kind.residue


def culprits_of(tree: TupleTree) -> str:
    """`sql acked it 2x`; for a tree without culprits, the meaning of its value."""
    if not tree.culprits:
        return tree.residue.value
    texts = dict.fromkeys(printable(_fault(culprit)) for culprit in tree.culprits)
    return ", ".join(texts) + (" (or others)" if tree.ambiguous else "")


def _fault(culprit: Culprit) -> str:
    who = culprit.component or (f"task {culprit.task}" if culprit.task else "a bolt")
    if culprit.lost:
        return f"{'a' if culprit.lost == 'tuple' else 'the'} {culprit.lost} of {who} was lost"
    return f"{who} acked it {culprit.acks}x"


def _latencies(analysis: Analysis, context: Context) -> str:
    rows = [
        {
            "spout": printable(row.spout),
            "roots": f"{row.roots:,}",
            "p50": _ms(row.p50_ms),
            "p90": _ms(row.p90_ms),
            "p99": _ms(row.p99_ms),
            "slowest": _ms(row.max_ms),
        }
        for row in analysis.latencies[:_MAX_ROWS]
    ]
    return block("complete latency", rows, context, numbers=NUMBERS, total=len(analysis.latencies))


def acker_rows(analysis: Analysis, limit: int) -> list[dict[str, str]]:
    """Return a row for each acker."""
    roots = sum(row.roots for row in analysis.ackers) or 1
    return [
        {
            "acker": f"{printable(row.run)} {row.acker}".strip(),
            "roots": f"{row.roots:,}",
            "share": f"{row.roots / roots:.0%}",
            "messages": f"{row.messages:,}",
            "at most": f"{row.high_water:,}",
            "left": f"{row.pending:,}",
        }
        for row in analysis.ackers[:limit]
    ]


def _ackers(analysis: Analysis, context: Context) -> str:
    total = len(analysis.ackers)
    if total < 2:  # noqa: PLR2004  # nothing to compare
        return ""
    rows = acker_rows(analysis, _MAX_LINES)
    return block(f"{total:,} ackers", rows, context, numbers=NUMBERS, total=total)


def asides(analysis: Analysis) -> Iterator[str]:
    """Yield who left roots uncompleted, bursts of timeouts, and replayed messages."""
    for row in analysis.uncompleted[:_MAX_LINES]:
        who = printable(f"{row.component} ({row.stream})" if row.stream else row.component)
        roots = counted(row.roots, "root")
        yield f"never completed: {who} received tuples of {roots} that did not end well"
    if (more := len(analysis.uncompleted) - _MAX_LINES) > 0:
        yield f"and {more:,} more such components; --output-format json has all"
    for comb in analysis.combs:
        roots = counted(comb.roots, "root")
        yield f"timeouts in bursts: {roots} in {comb.bursts} bursts, multiples of {comb.period_s} s apart"
    for replay in analysis.replays:
        yield (
            f"replays: {printable(replay.spout)} emitted {counted(replay.ids, 'message id')} {replay.emits:,} times in all; "
            f"{printable(replay.worst)} came {replay.most:,} times"
        )


def quarantine_rows(analysis: Analysis, limit: int) -> list[dict[str, str]]:
    """Return a row for each file and reason; `sample` is one of its rows."""
    return [
        {
            "rows": f"{row.rows:,}",
            "reason": printable(row.reason),
            "file": printable(row.file),
            "sample": printable(row.sample),
        }
        for row in analysis.quarantine[:limit]
    ]


def _quarantine(analysis: Analysis, context: Context) -> str:
    rows, total = quarantine_rows(analysis, _MAX_LINES), len(analysis.quarantine)
    return block("quarantine", rows, context, numbers=NUMBERS, dropped={"sample"}, total=total)


def _ms(ms: float) -> str:
    return span(ms / 1000)
