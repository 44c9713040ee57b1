"""What has grown between snapshots: types of objects, and the containers of known holders."""

from collections.abc import Sequence
from dataclasses import dataclass

from ackdoctor.heap.python.holders import ACKER
from ackdoctor.heap.python.snapshot import Holding, Snapshot

__all__ = ["HoldingRow", "TypeRow", "holding_rows", "per_thousand", "type_rows"]

_FEW = 10  # entries; a container with fewer is shown only where tuples are known to be in it


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TypeRow:
    """One type at the last snapshot; gained since the first, and `lately` since the one before."""

    name: str
    count: int
    size: int
    gained: int = 0
    gained_size: int = 0
    lately: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class HoldingRow:
    """One container at the last snapshot; `course` are its entries at each, `per_thousand` its growth per 1,000 tuples."""

    last: Holding
    course: tuple[int, ...]
    per_thousand: float | None = None


def type_rows(snapshots: Sequence[Snapshot], top: int = 20) -> tuple[TypeRow, ...]:
    """The types that gained most bytes, none that gained nothing; of a single snapshot the largest."""
    counts = [snapshot.census.types for snapshot in snapshots if snapshot.census is not None]
    if not counts or snapshots[-1].census is None:
        return ()
    first, last = counts[0], counts[-1]
    before = counts[-2] if len(counts) > 1 else last
    rows = [
        TypeRow(
            name=name,
            count=count,
            size=size,
            gained=count - first.get(name, (0, 0))[0],
            gained_size=size - first.get(name, (0, 0))[1],
            lately=count - before.get(name, (0, 0))[0],
        )
        for name, (count, size) in last.items()
    ]
    rows.sort(key=lambda row: (-row.gained_size, -row.size, row.name))
    if len(counts) > 1:
        rows = [row for row in rows if row.gained_size > 0]
    return tuple(rows[:top])


def holding_rows(snapshots: Sequence[Snapshot], top: int = 20) -> tuple[HoldingRow, ...]:
    """The containers that weigh most, without small ones that hold no tuples."""
    if not snapshots:
        return ()
    kept = [
        holding
        for holding in snapshots[-1].holdings
        if holding.kind == ACKER or holding.open or holding.entries >= _FEW
    ]
    kept.sort(key=lambda holding: (-holding.size, holding.path))
    return tuple(
        HoldingRow(
            last=holding,
            course=tuple(snapshot.entries(holding.path) for snapshot in snapshots),
            per_thousand=_rate(holding, snapshots),
        )
        for holding in kept[:top]
    )


def per_thousand(points: Sequence[tuple[int, int]]) -> float | None:
    """Entries gained per 1,000 tuples, of points (tuples, entries); None while there were none."""
    (tuples, entries), (more_tuples, more_entries) = points[0], points[-1]
    seen = more_tuples - tuples
    return 1000 * (more_entries - entries) / seen if seen > 0 else None


def _rate(holding: Holding, snapshots: Sequence[Snapshot]) -> float | None:
    """From nothing on, where the component is younger than the first snapshot."""
    points = [
        (known.tuples, known.entries)
        for snapshot in snapshots
        for known in snapshot.holdings
        if known.path == holding.path
    ]
    return per_thousand([(0, 0), *points] if len(points) < len(snapshots) or len(points) == 1 else points)
