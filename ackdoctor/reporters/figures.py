"""Figures on a screen: a sparkline, a table, a stretch of time in words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ackdoctor.model.verdict import GrowthPoint
from ackdoctor.reporters.context import PLAIN, UNICODE, Context

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

__all__ = ["drawn", "sized", "span", "sparkline", "table"]

_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
_SPARKS = 48  # columns of the sparkline
_BETWEEN = 3  # columns between two columns of a table
_NAME = 12  # columns that a text gets at least, if it has a word so long


def span(seconds: float) -> str:
    """A stretch of time in the unit that fits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 600:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.0f} min"


def sparkline(points: Sequence[GrowthPoint], context: Context, most: str = "") -> str:
    """How many were pending over time, first, last and largest; `points` are not empty.

    `most` replaces the largest of the points, which sees the ends of windows only.
    """
    sizes = _squeezed(points)
    top = max(sizes)
    bars = _BARS if context.glyphs is UNICODE else _ASCII_BARS
    line = "".join(
        bars[0 if not top else min(len(bars) - 1, size * len(bars) // (top + 1))] for size in sizes
    )
    long = span((points[-1].time_ms - points[0].time_ms) / 1000)
    orphans = f", {points[-1].orphans:,} of them orphans" if points[-1].orphans else ""
    most = most or f"{max(p.pending for p in points):,}"
    ends = f"{points[0].pending:,} to {points[-1].pending:,} in {long}, at most {most}"
    return f"{context.palette.paint('note', line)}  {ends}{orphans}"


def _squeezed(points: Sequence[GrowthPoint]) -> list[int]:
    """At most as many sizes as there are columns; the largest of each stretch."""
    step = -(-len(points) // _SPARKS)
    sizes = [point.pending for point in points]
    return [max(sizes[at : at + step]) for at in range(0, len(sizes), step)]


def table(context: Context, *heads: str, numbers: Iterable[int] = (), whole: Iterable[int] = ()) -> "Table":
    """A table with those heads; `numbers` stand right, and they and `whole` columns are never folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        box=box.SIMPLE_HEAD if context.glyphs is UNICODE else box.ASCII2,
        pad_edge=False,
        show_edge=False,
        header_style="bold" if context.palette is not PLAIN else "",
    )
    right, uncut = set(numbers), set(whole)
    for number, head in enumerate(heads):
        made.add_column(
            Text(head),
            justify="right" if number in right else "left",
            overflow="fold",
            no_wrap=number in right | uncut,
        )
    return made


def drawn(rows: "Table", width: int, context: Context) -> str:
    """The table as lines, two columns from the left; wider than `width` where it would have to break a figure."""
    from rich.text import Text

    if _least(rows) > width - 2:
        for column in rows.columns:
            if column.justify == "right":
                column.header = Text(str(column.header).replace(" ", "\n"))
    console = _console(max(width, _least(rows) + 2), context)
    with console.capture() as captured:
        console.print(rows, soft_wrap=False)
    return "".join(f"  {line.rstrip()}\n" for line in captured.get().splitlines())


def _least(rows: "Table") -> int:
    """Columns of the table if texts are folded as far as they may be."""
    widths = [
        max(map(_longest_line, _cells(column)))
        if column.no_wrap
        else min(_NAME, max(len(word) for cell in _cells(column) for word in (*cell.split(), "")))
        for column in rows.columns
    ]
    return sum(widths) + _BETWEEN * (len(widths) - 1)


def _cells(column: "Column") -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def _longest_line(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def _console(width: int, context: Context) -> "Console":
    from rich.console import Console

    coloured = context.palette is not PLAIN
    return Console(
        width=max(20, width - 2),
        force_terminal=coloured,
        no_color=not coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def sized(size: int) -> str:
    """Bytes, as people read them: `9,999 bytes`, `12.8 kB`, `1.0 MB`."""
    if size < 10_000:  # noqa: PLR2004
        return f"{size:,} bytes"
    if size < 1_000_000:  # noqa: PLR2004
        return f"{size / 1e3:,.1f} kB"
    return f"{size / 1e6:,.1f} MB"
