"""What grows in class histograms, on a screen: the verdict first, then what is wrong, then the classes."""

import json
from collections.abc import Iterator
from typing import TextIO

from ackdoctor.heap.growth import ClassTrend, Growth
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
    per = "a second" if grown.dated else "each time"
    rows = table(context, "class", "first", "last", per, "R2", "bytes gained", numbers=[1, 2, 3, 4, 5])
    for row in shown:
        rows.add_row(*_cells(row, grown))
    stream.write(f"classes\n{drawn(rows, width, context)}")
    signs = [f"  {printable(row.name)}: {row.sign.means}\n" for row in grown.rows if row.sign]
    if signs:
        stream.write("\nwhat they mean\n" + "".join(signs))


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
        "classes": [
            {
                "name": row.name,
                "first": row.first,
                "last": row.last,
                "bytes_gained": row.gained,
                "per_second": row.line.per_second,
                "fit": row.line.fit,
                "monotone": row.monotone,
                "means": row.sign.means if row.sign else "",
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
        if not grown.telling:
            return f"INCOMPLETE: {volume} cannot tell what grows: take three or more, some seconds apart"
        kept = next((row for row in grown.rows if row.sign), None)
        if grown.steady and kept is not None and kept.sign is not None:
            return (
                f"GROWING: the heap grows along a line, and with it {kept.name} ({kept.first:,} to {kept.last:,}): "
                f"{kept.sign.means}"
            )
        if grown.steady:
            most = grown.most
            return (
                f"GROWING: the heap grows along a line, and no class of Storm's that is known here with it; most grows "
                f"{printable(most.name)} ({most.gained:+,} of {grown.last_size - grown.first_size:+,} bytes)"
            )
    return verdict(report, volume)


def _course(report: Report, grown: Growth) -> Iterator[str]:
    over = f" over {span(grown.seconds)}" if grown.dated and grown.points > 1 else ""
    at_last = f" at first, {sized(grown.last_size)} at last" if grown.points > 1 else ""
    yield f"{counted(grown.points, 'histogram')}{over}: {sized(grown.first_size)}{at_last}"
    if grown.points > 1 and not grown.dated:
        yield "no times: say how far they are apart with --every SECONDS"
    if 0 < grown.limit <= grown.last_size:
        yield f"{grown.limit >> 20:,} MB: what was counted last is more than that"
    elif grown.limit and grown.full_in:
        yield f"{grown.limit >> 20:,} MB are full in {grown.full_in}, at {sized(round(grown.bytes_per_second))} a second (R2 {grown.fit:.2f})"
    elif grown.limit and grown.telling and grown.dated:
        yield f"{grown.limit >> 20:,} MB: not in sight, the heap does not grow along a line"
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"


def _cells(row: ClassTrend, grown: Growth) -> Iterator[str]:
    yield printable(row.name)
    yield f"{row.first:,}"
    yield f"{row.last:,}"
    yield f"{row.line.per_second:+,.1f}" if grown.points > 1 else ""
    yield f"{row.line.fit:.2f}" if grown.points > 1 else ""
    yield f"{row.gained:+,}" if grown.points > 1 else ""
