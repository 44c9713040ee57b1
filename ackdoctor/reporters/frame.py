"""A finding's path laid out beside its source: rows of plain text, ready to be aligned and painted.

     28 | def process(self, tup):   ╭ received   owed
     31 |     if not row:           ├ true
     32 |         return            ╰ returns    owed
        |         ^^^^^^

Lines stand in the order of the path, not of the file, without the indentation they share; a helper's
steps stand one gutter further in; a change of file has a row of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ackdoctor.model.finding import Finding, HeapWitness, PathStep, TreeWitness
from ackdoctor.model.source import NOWHERE
from ackdoctor.reporters.context import Context, Glyphs, printable

__all__ = ["Row", "columns", "frame", "padded"]

_LONGEST_LINE = 68  # columns of source; the rest is cut
_TAB = 4
_MOST_STEPS = 24  # of a longer path the middle is folded


_Place: TypeAlias = tuple[str, int]  # path and line


class Row(NamedTuple):
    """One line of the frame; `number` is '' where no source line stands."""

    number: str = ""
    source: str = ""
    gutter: str = ""
    note: str = ""
    state: str = ""
    carets: str = ""
    file: str = ""


def frame(finding: Finding, context: Context) -> list[Row]:
    """The rows of one finding: its own line always, its path where it has one; none for what stands in no code."""
    if isinstance(finding.evidence, TreeWitness | HeapWitness) and not finding.evidence.steps:
        return []
    stations = _stations(finding, context.glyphs)
    primary = (finding.site.path, finding.site.span.line)
    marked = max((n for n, station in enumerate(stations) if station.place == primary), default=None)
    if marked is None:
        stations.insert(0, _Station(primary, Row()))
        marked = 0
    texts = {station.place: _text(context, station.place) for station in stations if station.place}
    indent = min((_indent(text) for text in texts.values() if text.strip()), default=0)
    rows: list[Row] = []
    before: _Place = ("", 0)
    for n, (place, bare) in enumerate(stations):
        if place and place[0] != (before[0] or primary[0]):
            rows.append(Row(file=printable(place[0])))
        if place is None or place == before:
            rows.append(bare)
        else:
            number = str(place[1]) if finding.site.span != NOWHERE else ""
            rows.append(bare._replace(number=number, source=_cut(texts[place], indent)))
        if n == marked and finding.site.span != NOWHERE:
            through = context.glyphs.through if bare.gutter and n + 1 < len(stations) else ""
            rows.append(Row(carets=_carets(finding, context, indent), gutter=through))
        before = place or before
    return rows


class _Station(NamedTuple):
    """A step of the path before its source is put beside it; a fold has no place."""

    place: _Place | None
    row: Row


def _stations(finding: Finding, glyphs: Glyphs) -> list[_Station]:
    """The steps; of a long path the middle is folded into one station."""
    steps = finding.evidence.steps
    stations = [
        _Station(
            (step.site.path, step.site.span.line),
            Row(gutter=_gutter(n, steps, glyphs), note=printable(step.note), state=_state(n, steps)),
        )
        for n, step in enumerate(steps)
    ]
    surplus = len(steps) - _MOST_STEPS
    if surplus > 0:
        start = _MOST_STEPS // 2
        stations[start : start + surplus] = [_Station(None, Row(gutter=glyphs.fold, note=f"{surplus} steps"))]
    return stations


def _gutter(n: int, steps: Sequence[PathStep], glyphs: Glyphs) -> str:
    if len(steps) == 1:
        return glyphs.only
    if n == 0:
        return glyphs.first
    if n == len(steps) - 1:
        return glyphs.last + glyphs.into * 2 * steps[n].depth
    return (glyphs.through + " ") * steps[n].depth + glyphs.middle


def _state(n: int, steps: Sequence[PathStep]) -> str:
    """The tuple's state where it changes, and at the end."""
    unchanged = n > 0 and steps[n].state == steps[n - 1].state
    return "" if unchanged and n < len(steps) - 1 else printable(steps[n].state)


def _text(context: Context, place: _Place) -> str:
    return context.sources.line(*place).expandtabs(_TAB)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _cut(text: str, indent: int) -> str:
    kept = printable(text.rstrip()[indent:])
    if columns(kept) <= _LONGEST_LINE:
        return kept
    while columns(kept) >= _LONGEST_LINE:
        kept = kept[: min(len(kept) - 1, _LONGEST_LINE)]
    return kept + "…"


def _carets(finding: Finding, context: Context, indent: int) -> str:
    """Carets under the finding's first line, in columns of the row as it is shown."""
    raw = context.sources.line(finding.site.path, finding.site.span.line)
    span = finding.site.span
    end = span.end_column - 1 if span.end_line == span.line else len(raw.rstrip())
    before = columns(raw[: span.column - 1].expandtabs(_TAB)) - indent
    width = columns(raw[:end].expandtabs(_TAB)) - indent - before
    if before < 0 or before >= _LONGEST_LINE:
        return ""
    return " " * before + "^" * max(1, min(width, _LONGEST_LINE - before))


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # most sources are ASCII

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def padded(text: str, width: int) -> str:
    """The text with spaces up to a width in columns."""
    return text + " " * max(0, width - columns(text))
