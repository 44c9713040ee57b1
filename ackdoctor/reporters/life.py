"""One root's or one delivery's life, for people: a row for each thing that happened, then the verdict and the law."""

from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.frame import columns, padded
from ackdoctor.tracer.judge.life import Life, Moment

__all__ = ["life"]

_HEADS = ("after", "what", "component", "delivery", "the acker holds", "answer", "where", "test")
_NS = 1_000_000_000


def life(told: Life, stream: TextIO, context: Context) -> None:
    """Columns that stay empty throughout are left out; times count from the first row."""
    paint = context.palette.paint
    here = f"{context.sources.root.as_posix()}/"
    rows = [_cells(moment, told.moments[0].time_ns, here) for moment in told.moments]
    kept = [n for n in range(len(_HEADS)) if any(row[n] for row in rows)]
    widths = {n: max(columns(row[n]) for row in (_HEADS, *rows)) for n in kept}
    stream.write(f"{paint('code', told.subject)}\n\n")
    stream.write(_line([paint("faint", padded(_HEADS[n], widths[n])) for n in kept]))
    for row, run in groupby(rows):  # the same again and again: a loop
        same = len(list(run))
        cells = [padded(row[n], widths[n]) for n in kept]
        stream.write(_line([*cells, *([f"x {same}"] if same > 1 else [])]))
    if told.more:
        stream.write(f"  and {told.more:,} rows more\n")
    stream.write(f"\n{paint('label', 'verdict:')} {printable(told.verdict)}\n")
    if told.law:
        stream.write(f"{paint('label', 'why:')} {printable(told.law)}\n")


def _cells(moment: Moment, begin_ns: int, here: str) -> tuple[str, ...]:
    note = f" ({moment.note})" if moment.note else ""
    return tuple(
        printable(cell)
        for cell in (
            f"{(moment.time_ns - begin_ns) / _NS:.6f} s",
            f"{moment.what}{note}",
            moment.component,
            moment.delivery,
            moment.state,
            moment.answer,
            moment.site.removeprefix(here),
            moment.test,
        )
    )


def _line(cells: Sequence[str]) -> str:
    return f"  {'  '.join(cells)}".rstrip() + "\n"
