"""Tables by rich, sparklines, and amounts in words."""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters import PLAIN, UNICODE, Context, wrapped

if TYPE_CHECKING:
    from rich.table import Table


_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
_SPARKLINE_WIDTH = 48
_COLUMN_GAP = 3  # between two columns of a table
_ANY_WIDTH = 1 << 16
_MIN_TEXT_WIDTH = 24  # of a column whose texts are longer


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
    step = -(-len(points) // _SPARKLINE_WIDTH)
    pending = [point.pending for point in points]
    sizes = [max(pending[at : at + step]) for at in range(0, len(pending), step)]
    top = max(sizes)
    bars = _BARS if context.glyphs is UNICODE else _ASCII_BARS
    line = "".join(
        bars[0 if not top else min(len(bars) - 1, size * len(bars) // (top + 1))] for size in sizes
    )
    duration = span((points[-1].time_ms - points[0].time_ms) / 1000)
    orphans = f", {points[-1].orphans:,} of them orphans" if points[-1].orphans else ""
    ends = f"{pending[0]:,} to {pending[-1]:,} in {duration}, at most {peak or f'{max(pending):,}'}"
    return f"{context.palette.paint('note', line)}  {ends}{orphans}"


def block(
    title: str,
    rows: Sequence[Mapping[str, str]],
    context: Context,
    *,
    numbers: Container[str] = (),
    unfolded: Container[str] = (),
    dropped: Container[str] = (),
    total: int = 0,
) -> str:
    """Return a table below its title, see `table`; '' without rows.

    `dropped` are columns that are not shown.  If there are more than these rows, `total` is their number.
    """
    shown = [{head: cell for head, cell in row.items() if head not in dropped} for row in rows]
    if not shown:
        return ""
    lines = table(shown, context, numbers=numbers, unfolded=unfolded)
    more = total - len(rows)
    rest = f"  and {more:,} more; --output-format json has all\n" if more > 0 else ""
    return f"{title}\n{lines}{rest}"


def table(
    rows: Sequence[Mapping[str, str]],
    context: Context,
    *,
    numbers: Container[str] = (),
    unfolded: Container[str] = (),
) -> str:
    """Return rows, which map the same heads to cells, as lines indented by two columns.

    `numbers` are right-aligned columns, which like `unfolded` ones are never folded.  If the table would have to break
    a number or a word, each row is a paragraph.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = {head: [head, *(row[head] for row in rows)] for head in rows[0]}
    rigid = {head for head in columns if head in numbers or head in unfolded}
    if _min_width(columns, rigid) > context.width - 2:
        for head, cells in columns.items():
            if head in numbers:
                cells[0] = head.replace(" ", "\n")
    least = _min_width(columns, rigid)
    if least > context.width - 2:
        return "".join(_paragraph(row, context) for row in rows)
    drawn = Table(
        box=box.SIMPLE_HEAD if context.glyphs is UNICODE else box.ASCII2,
        pad_edge=False,
        show_edge=False,
        header_style="bold" if context.palette is not PLAIN else "",
    )
    for head, cells in columns.items():
        justify: Literal["right", "left"] = "right" if head in numbers else "left"
        drawn.add_column(Text(cells[0]), justify=justify, overflow="fold", no_wrap=head in rigid)
    for row in rows:
        drawn.add_row(*row.values())
    lines = _drawn(drawn, context, context.width - 2)
    return "".join(f"  {line}\n" for line in lines.splitlines())


def _min_width(columns: Mapping[str, Sequence[str]], rigid: Container[str]) -> int:
    """Return the width of a table when every foldable column is as narrow as it may be."""
    widths = [
        max(len(line) for cell in cells for line in cell.split("\n"))
        if head in rigid
        else max(
            *(len(word) for cell in cells for word in cell.split()),
            min(_MIN_TEXT_WIDTH, max(len(line) for cell in cells for line in (*cell.splitlines(), ""))),
        )
        for head, cells in columns.items()
    ]
    return sum(widths) + _COLUMN_GAP * (len(widths) - 1)


def _paragraph(row: Mapping[str, str], context: Context) -> str:
    """Return a row as its heads and cells; a cell of several lines comes last, one line each."""
    cells = {head: cell.splitlines() for head, cell in row.items() if cell}
    heads = {head: context.palette.paint("faint", f"{head}:") for head in cells}
    short = [f"{heads[head]} {lines[0]}" for head, lines in cells.items() if len(lines) == 1]
    parts = wrapped(f"  {f' {context.glyphs.dot} '.join(short)}", context.width)
    for head, (first, *more) in cells.items():
        if more:
            parts += wrapped(f"    {heads[head]} {first}", context.width)
            parts += [part for line in more for part in wrapped(f"      {line}", context.width)]
    return "".join(f"{part}\n" for part in parts)


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

    coloured = context.palette is not PLAIN
    aligned = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        show_header=bool(heads),
        header_style="dim" if coloured else "",
    )
    for number in range(max(map(len, rows), default=0)):
        aligned.add_column(
            Text(heads[number] if number < len(heads) else ""),
            justify="right" if number == right else "left",
            style="bold" if number == bold and coloured else "",
            no_wrap=True,
        )
    for row in rows:
        aligned.add_row(*map(Text, row))
    return _drawn(aligned, context, _ANY_WIDTH)


def _drawn(rows: "Table", context: Context, width: int) -> str:
    from rich.console import Console

    coloured = context.palette is not PLAIN
    console = Console(
        width=width,
        force_terminal=coloured,
        no_color=not coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(rows, soft_wrap=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
