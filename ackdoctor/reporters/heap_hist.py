"""What grows in class histograms, on a screen: the verdict first, then what is wrong, then the classes."""

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from ackdoctor.heap.growth import TOP, ClassTrend, Growth
from ackdoctor.heap.signs import TUPLES
from ackdoctor.model.finding import Report
from ackdoctor.reporters.as_json import content
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.figures import drawn, sized, span, table
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.heap import opening, verdict

__all__ = ["growth_document", "growth_screen", "growth_verdict"]


def growth_screen(
    report: Report, grown: Growth, stream: TextIO, context: Context, *, width: int, top: int
) -> None:
    """The whole screen."""
    opening(report, growth_verdict(report, grown), _course(report, grown), stream, context)
    shown = [row for row in grown.rows[:top] if row.last or row.first]
    if not shown:
        return
    if not report.findings:
        stream.write("\n")
    stream.write(
        _largest(shown, grown, context, width) if grown.points == 1 else _trends(shown, grown, context, width)
    )
    told = [row for row in grown.rows if row.growing or row in shown or row in grown.acking]
    signs = list(dict.fromkeys(line for row in told for line in _meaning(row)))
    if signs:
        stream.write("\nwhat they mean\n" + "".join(f"{line}\n" for line in signs))


def _trends(shown: Sequence[ClassTrend], grown: Growth, context: Context, width: int) -> str:
    per = "a second" if grown.dated else "each time"
    rows = table(context, "class", "first", "last", per, "R2", "bytes gained", numbers=[1, 2, 3, 4, 5])
    for row in shown:
        rows.add_row(*_cells(row))
    return f"classes\n{drawn(rows, width, context)}"


def _largest(shown: Sequence[ClassTrend], grown: Growth, context: Context, width: int) -> str:
    rows = table(context, "class", "instances", "bytes", "%", numbers=[1, 2, 3])
    for row in shown:
        share = 100 * row.size / max(1, grown.last_size)
        rows.add_row(printable(row.name), f"{row.last:,}", f"{row.size:,}", f"{share:.1f}")
    return f"largest classes\n{drawn(rows, width, context)}"


def _meaning(row: ClassTrend) -> Iterator[str]:
    """What a class is, and, where it grows and no finding says so, what to do."""
    if row.sign is None:
        return
    yield f"  {printable(row.name)}: {row.means}"
    if row.growing and row.sign.help and not row.sign.code:
        yield f"    next: {row.sign.help}"


def growth_document(report: Report, grown: Growth, stream: TextIO, *, top: int) -> None:
    """The report as one JSON object, with the trends under `growth`."""
    about = {
        "histograms": grown.points,
        "seconds": grown.seconds,
        "dated": grown.dated,
        "first_bytes": grown.first_size,
        "last_bytes": grown.last_size,
        "bytes_per_second": grown.bytes_per_second,
        "fit": grown.fit,
        "limit_bytes": grown.limit,
        "full_in": grown.full_in,
        "acking": _acking(grown) if grown.points == 1 else "",
        "unexplained": _unexplained(grown),
        "classes": [
            {
                "name": row.name,
                "first": row.first,
                "last": row.last,
                "bytes_gained": row.gained,
                "per_second": row.line.per_second,
                "fit": row.line.fit,
                "monotone": row.monotone,
                "bytes": row.size,
                "growing": row.growing,
                "at_least": None if row.bounds is None else row.bounds[0],
                "at_most": None if row.bounds is None else row.bounds[1],
                "means": row.means,
                "next": row.sign.help if row.sign and row.growing else "",
            }
            for row in grown.rows[:top]
        ],
    }
    json.dump(
        {**content(report), "verdict": growth_verdict(report, grown), "growth": about}, stream, indent=2
    )
    stream.write("\n")


def growth_verdict(report: Report, grown: Growth) -> str:
    """That nothing known is wrong is no comfort where too little was looked at, or where the heap fills all the same."""
    volume = counted(grown.points, "histogram")
    if not (report.findings or report.hidden):
        if not grown.sufficient:
            return f"INCOMPLETE: {volume} cannot tell what grows: take three or more, some seconds apart"
        kept = grown.cause
        if grown.steady and kept is not None:
            return (
                f"GROWING: the heap grows along a line, and with it {kept.name} ({kept.first:,} to {kept.last:,}): "
                f"{kept.means}"
            )
        if grown.steady:
            most = grown.most
            return (
                f"GROWING: the heap grows along a line, and no class of Storm's that is known here with it; most grows "
                f"{printable(most.name)} ({most.gained:+,} of {grown.last_size - grown.first_size:+,} bytes)"
            )
    said = verdict(report, volume)
    unexplained = _unexplained(grown)
    return f"{said}, but {unexplained}" if unexplained and said.startswith("OK") else said


def _acking(grown: Growth) -> str:
    """Whether anything of acking is among the largest classes: what a histogram alone can tell."""
    if grown.acking:
        parts = (_part(row, grown) for row in grown.acking)
        return f"of acking among the {TOP} largest classes: {'; '.join(parts)}"
    tuples = grown.counted(TUPLES)
    unless = f", unless what its {tuples:,} tuples hold does" if tuples else ""
    return f"nothing of acking is among the {TOP} largest classes: acking is not what fills this heap{unless}"


def _part(row: ClassTrend, grown: Growth) -> str:
    if row.bounds is not None:
        return f"{printable(row.name)}, at most {row.bounds[1]:,} of its {row.last:,}"
    return f"{printable(row.name)}, {sized(row.size)}, {100 * row.size / max(1, grown.last_size):.1f} %"


def _unexplained(grown: Growth) -> str:
    """2.x: more entries in ackers than messages that the spouts of the same worker wait for."""
    if grown.unexplained is None:
        return ""
    entries, waiting = grown.unexplained
    return (
        f"the ackers keep {entries:,} entries, and this worker's spouts wait for {waiting:,} messages: the others are "
        "orphans, or of spouts in other workers; ackdoctor heap dump tells them apart"
    )


def _course(report: Report, grown: Growth) -> Iterator[str]:
    over = f" over {span(grown.seconds)}" if grown.dated and grown.points > 1 else ""
    at_last = f" at first, {sized(grown.last_size)} at last" if grown.points > 1 else ""
    yield f"{counted(grown.points, 'histogram')}{over}: {sized(grown.first_size)}{at_last}"
    if grown.unexplained and report.findings:
        yield _unexplained(grown)
    if grown.points > 1 and not grown.dated:
        yield "no times: say how far they are apart with --every SECONDS"
    if 0 < grown.limit <= grown.last_size:
        yield f"{grown.limit >> 20:,} MB: what was counted last is more than that"
    elif grown.limit and grown.full_in:
        yield f"{grown.limit >> 20:,} MB are full in {grown.full_in}, at {sized(round(grown.bytes_per_second))} a second (R2 {grown.fit:.2f})"
    elif grown.limit and grown.sufficient and grown.dated:
        yield f"{grown.limit >> 20:,} MB: not in sight, the heap does not grow along a line"
    if grown.points == 1:
        yield _acking(grown)
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"


def _cells(row: ClassTrend) -> Iterator[str]:
    yield printable(row.name)
    yield f"{row.first:,}"
    yield f"{row.last:,}"
    yield f"{row.line.per_second:+,.1f}"
    yield f"{row.line.fit:.2f}"
    yield f"{row.gained:+,}"
