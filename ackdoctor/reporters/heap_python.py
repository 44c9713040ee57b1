"""The heap of a Python process on a screen: which components hold what, and what has grown."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from ackdoctor.heap.python_heap import Snapshot
from ackdoctor.heap.python_judge import HoldingRow, TypeRow, holding_rows, type_rows
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.tables import render, table

__all__ = ["snapshots_screen"]

_MAX_STEPS = 4  # of a course: its first number and its last ones


def snapshots_screen(
    snapshots: Sequence[Snapshot], stream: TextIO, context: Context, *, width: int, top: int = 20
) -> None:
    """Write the holders and the types; nothing without a snapshot."""
    if not snapshots:
        return
    stream.writelines(f"{line}\n" for line in _about(snapshots))
    holders = holding_rows(snapshots, top)
    if holders:
        stream.write(f"\nwho holds what\n{_holders(holders, context, width)}")
    else:
        stream.write("\nno acker, spout or bolt holds much\n")
    types = type_rows(snapshots, top)
    if types:
        counts = sum(snapshot.census is not None for snapshot in snapshots)
        order = "types that grew most" if counts > 1 else "largest types"
        stream.write(f"\n{order}\n{_types(types, counts, context, width)}")


def _about(snapshots: Sequence[Snapshot]) -> Iterator[str]:
    last = snapshots[-1].census
    labels = "; ".join(snapshot.label for snapshot in snapshots)
    amount = "1 snapshot" if len(snapshots) == 1 else f"{len(snapshots)} snapshots"
    size = (
        ""
        if last is None
        else f": {last.size:,} bytes in {last.objects:,} objects{_since(snapshots, last.size)}"
    )
    yield f"{amount} ({labels}){size}"
    for acker in snapshots[-1].ackers:
        yield (
            f"{acker.component}: {_entries(acker.entries)} after {acker.tuples:,} roots: "
            f"{acker.tracked:,} tracked, {acker.orphans:,} orphans"
        )


def _since(snapshots: Sequence[Snapshot], size: int) -> str:
    """Return how much the heap has grown since the first snapshot with a census."""
    first = next((each for each in snapshots[:-1] if each.census is not None), None)
    if first is None or first.census is None:
        return ""
    return f", {size - first.census.size:+,} since {first.label}"


def _holders(found: Sequence[HoldingRow], context: Context, width: int) -> str:
    rows = table(
        context,
        "path",
        "entries",
        "course",
        "bytes each",
        "bytes",
        "per 1,000 tuples",
        "each",
        numbers=[1, 3, 4, 5],
    )
    for row in found:
        held = row.last
        about = "" if held.exact else "about "
        rows.add_row(
            printable(held.path),
            f"{held.entries:,}",
            _course(row.course),
            f"{held.each:,}",
            f"{about}{held.size:,}",
            "" if row.per_thousand is None else f"{row.per_thousand:+,.0f}",
            printable(held.what),
        )
    return render(rows, width, context)


def _course(course: Sequence[int]) -> str:
    if len(course) < 2:  # noqa: PLR2004
        return ""
    steps = [f"{entries:,}" for entries in course]
    if len(steps) > _MAX_STEPS:
        steps = [*steps[:1], "..", *steps[1 - _MAX_STEPS :]]
    return " > ".join(steps)


def _types(found: Sequence[TypeRow], snapshots: int, context: Context, width: int) -> str:
    heads = ["count", "gained", "lately", "bytes", "bytes gained", "type"]
    dropped = {1: {1, 2, 4}, 2: {2}}.get(snapshots, set())  # columns without content
    kept = [place for place in range(len(heads)) if place not in dropped]
    rows = table(context, *(heads[place] for place in kept), numbers=range(len(kept) - 1))
    for row in found:
        cells = (
            f"{row.count:,}",
            f"{row.gained:+,}",
            f"{row.lately:+,}",
            f"{row.size:,}",
            f"{row.gained_size:+,}",
            printable(row.name),
        )
        rows.add_row(*(cells[place] for place in kept))
    return render(rows, width, context)


def _entries(amount: int) -> str:
    return "1 entry" if amount == 1 else f"{amount:,} entries"
