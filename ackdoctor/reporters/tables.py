"""Tables by rich, sparklines, and amounts in words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters.context import PLAIN, UNICODE, Context

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

__all__ = ["bytes_in_words", "grid", "render", "span", "sparkline", "table"]

_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
_SPARKLINE_WIDTH = 48
_COLUMN_GAP = 3  # between two columns of a table
_ANY_WIDTH = 1 << 16
_MIN_NAME_WIDTH = 12  # a column with a word this long is not folded narrower


def span(seconds: float) -> str:
    """Return a length of time in the unit that fits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 600:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.0f} min"


def bytes_in_words(size: int) -> str:
    """`9,999 bytes`, `12.8 kB`, `1.0 MB`."""
    if size < 10_000:  # noqa: PLR2004
        return f"{size:,} bytes"
    if size < 1_000_000:  # noqa: PLR2004
        return f"{size / 1e3:,.1f} kB"
    return f"{size / 1e6:,.1f} MB"


def sparkline(points: Sequence[GrowthPoint], context: Context, peak: str = "") -> str:
    """Draw how many roots were pending over time, with the first, last and largest number.

    `points` has at least one point.  `peak` replaces the largest number: points know only the ends of windows.
    """
    sizes = _compressed(points)
    top = max(sizes)
    bars = _BARS if context.glyphs is UNICODE else _ASCII_BARS
    line = "".join(
        bars[0 if not top else min(len(bars) - 1, size * len(bars) // (top + 1))] for size in sizes
    )
    duration = span((points[-1].time_ms - points[0].time_ms) / 1000)
    orphans = f", {points[-1].orphans:,} of them orphans" if points[-1].orphans else ""
    peak = peak or f"{max(p.pending for p in points):,}"
    ends = f"{points[0].pending:,} to {points[-1].pending:,} in {duration}, at most {peak}"
    return f"{context.palette.paint('note', line)}  {ends}{orphans}"


def _compressed(points: Sequence[GrowthPoint]) -> list[int]:
    """Return the largest size of each interval, for at most as many intervals as the sparkline has columns."""
    step = -(-len(points) // _SPARKLINE_WIDTH)
    sizes = [point.pending for point in points]
    return [max(sizes[at : at + step]) for at in range(0, len(sizes), step)]


def table(
    context: Context, *heads: str, numbers: Iterable[int] = (), unfolded: Iterable[int] = ()
) -> "Table":
    """Return an empty table; `numbers` are right-aligned columns, which like `unfolded` ones are never folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    empty = Table(
        box=box.SIMPLE_HEAD if context.glyphs is UNICODE else box.ASCII2,
        pad_edge=False,
        show_edge=False,
        header_style="bold" if context.palette is not PLAIN else "",
    )
    right = set(numbers)
    rigid = right | set(unfolded)
    for number, head in enumerate(heads):
        empty.add_column(
            Text(head),
            justify="right" if number in right else "left",
            overflow="fold",
            no_wrap=number in rigid,
        )
    return empty


def grid(
    rows: Sequence[Sequence[str]],
    context: Context,
    *,
    heads: Sequence[str] = (),
    right: int = -1,
    bold: int = -1,
) -> str:
    """Return rows as aligned lines of any length; `right` and `bold` are the numbers of columns."""
    from rich.table import Table
    from rich.text import Text

    aligned = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(heads), header_style=_faint(context)
    )
    for number in range(max(map(len, rows), default=0)):
        head = heads[number] if number < len(heads) else ""
        aligned.add_column(
            Text(head),
            justify="right" if number == right else "left",
            style="bold" if number == bold and context.palette is not PLAIN else "",
            no_wrap=True,
        )
    for row in rows:
        aligned.add_row(*map(Text, row))
    return _drawn(aligned, _console(_ANY_WIDTH, context))


def render(rows: "Table", width: int, context: Context) -> str:
    """Return the table as lines indented by two columns.

    A table that would have to break a number is wider than `width`.
    """
    from rich.text import Text

    if _min_width(rows) > width - 2:
        for column in rows.columns:
            if column.justify == "right":
                column.header = Text(str(column.header).replace(" ", "\n"))
    console = _console(max(20, width - 2, _min_width(rows)), context)
    return "".join(f"  {line}\n" for line in _drawn(rows, console).splitlines())


def _drawn(rows: "Table", console: "Console") -> str:
    with console.capture() as captured:
        console.print(rows, soft_wrap=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _min_width(rows: "Table") -> int:
    """Return the width of the table when every foldable column is as narrow as it may be."""
    widths = [
        max(len(line) for cell in _cells(column) for line in cell.split("\n"))
        if column.no_wrap
        else min(_MIN_NAME_WIDTH, max(len(word) for cell in _cells(column) for word in (*cell.split(), "")))
        for column in rows.columns
    ]
    return sum(widths) + _COLUMN_GAP * (len(widths) - 1)


def _cells(column: "Column") -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def _faint(context: Context) -> str:
    return "dim" if context.palette is not PLAIN else ""


def _console(width: int, context: Context) -> "Console":
    from rich.console import Console

    coloured = context.palette is not PLAIN
    return Console(
        width=width,
        force_terminal=coloured,
        no_color=not coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
