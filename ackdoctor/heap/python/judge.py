"""From snapshots to findings: the codes and names of lint and traces, with what the heap holds as the witness.

| what is held | finding |
| --- | --- |
| tracked entries of an acker's map at the end | ACK601 |
| entries of an acker's map, more at every snapshot | ACK603 |
| a spout's field that grows, with more entries than messages it waits for; where nobody knows how many that are, with more than half of all that it has emitted | ACK303 |
| open tuples in a bolt's field | ACK401 |
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ackdoctor.heap.python.growth import HoldingRow, holding_rows, per_thousand
from ackdoctor.heap.python.holders import ACKER, BOLT, SPOUT
from ackdoctor.heap.python.snapshot import AckerMap, Snapshot
from ackdoctor.heap.told import heap_finding
from ackdoctor.model.finding import Finding, HeapWitness, Severity, TreeWitness
from ackdoctor.model.fingerprint import stamp
from ackdoctor.model.tally import GrowthPoint
from ackdoctor.tracer.judge.growth import trend
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.place import Places

__all__ = ["OF_OPEN_TUPLES", "OF_THE_ACKER", "findings", "linked"]

OF_OPEN_TUPLES = frozenset({"ACK401", "ACK601", "ACK603"})  # what tuples under way show, too
_FEWEST_SNAPSHOTS = 4  # of a growth; fewer show two loads, not a line
_FEWEST_ENTRIES = 10
_MANY_TUPLES = 1_000  # a spout that has emitted fewer may still wait for half of them
_STRAIGHT = 0.9  # R2
OF_THE_ACKER = frozenset({"ACK601", "ACK602", "ACK603"})


def findings(
    snapshots: Sequence[Snapshot], places: Places, keeper: Keeper | None = None
) -> tuple[Finding, ...]:
    """All that the snapshots show, sorted and stamped; `keeper` is whose acker it is, where that is known."""
    if not snapshots:
        return ()
    found: list[Finding] = []
    for acker in snapshots[-1].ackers:
        found += _of_acker(acker, snapshots, keeper)
    fields = set()
    for row in holding_rows(
        snapshots, top=len(snapshots[-1].holdings)
    ):  # the largest container of a field first
        if (row.last.component, row.last.field) in fields:
            continue
        fields.add((row.last.component, row.last.field))
        if row.last.kind == SPOUT:
            found += _of_spout(row, places)
        elif row.last.kind == BOLT:
            found += _of_bolt(row, places)
    return stamp(sorted(found, key=lambda each: (each.code, each.component, each.cause)))


def _of_acker(acker: AckerMap, snapshots: Sequence[Snapshot], keeper: Keeper | None) -> Iterator[Finding]:
    held = [each for each in snapshots[-1].holdings if each.component == acker.component]
    if not held or not acker.entries:
        return
    biggest = max(held, key=lambda each: each.entries)
    witness = HeapWitness(
        path=biggest.path,
        entries=acker.entries,
        size=sum(each.size for each in held),
        roots=acker.roots,
        left=(
            f"{acker.tracked:,} tracked, {acker.orphans:,} orphans; {biggest.each:,} bytes an entry in this process",
            *([f"the first is {biggest.first}"] if biggest.first else []),
        ),
    )
    if acker.tracked:
        yield heap_finding(
            "ACK601",
            f"the acker keeps entries that are not zero at the end: such an entry {stays(keeper)}",
            witness,
            help="the tuples acked an even number of times, or never, are named where the components are traced",
        )
    points = [
        (known.tuples, known.entries)
        for snapshot in snapshots
        for known in snapshot.ackers
        if known.component == acker.component
    ]
    grown = _steady(points)
    if grown is not None:
        yield heap_finding(
            "ACK603",
            f"the pending map grows from snapshot to snapshot: an entry {stays(keeper)}",
            replace(witness, left=(*witness.left, grown)),
            severity=Severity.ERROR if keeper is not None and not keeper.forgets else Severity.WARNING,
            help="mend what the other findings name; an entry for each root under way is no leak",
        )


def _of_spout(row: HoldingRow, places: Places) -> Iterator[Finding]:
    held = row.last
    rises = all(before <= after for before, after in pairwise(row.course)) and row.course[0] < row.course[-1]
    if held.owed is None:
        leaks = held.tuples >= _MANY_TUPLES and 2 * held.entries > held.tuples
    else:
        leaks = held.entries - held.owed >= _FEWEST_ENTRIES
    if not rises or not leaks:
        return
    waits = "" if held.owed is None else f", and it waits for {held.owed:,} messages"
    yield heap_finding(
        "ACK303",
        "the spout keeps what it has emitted, and acks do not take it away",
        _witness(row, f"{held.tuples:,} emitted{waits}"),
        component=held.component,
        site=places.line(held.file, held.line),
        help="take the message out of the field when ack is called with its id",
    )


def _of_bolt(row: HoldingRow, places: Places) -> Iterator[Finding]:
    if row.last.open:
        yield heap_finding(
            "ACK401",
            "a field of the bolt holds tuples that it has neither acked nor failed",
            _witness(row, f"{row.last.open:,} open tuples in this field"),
            component=row.last.component,
            site=places.line(row.last.file, row.last.line),
            help="complete what the field holds before it is let go, on a tick or when it is full",
        )


def _witness(row: HoldingRow, *left: str) -> HeapWitness:
    held = row.last
    rate = "" if row.per_thousand is None else f", {row.per_thousand:,.0f} more per 1,000 tuples"
    return HeapWitness(
        path=held.path,
        entries=held.entries,
        size=held.size,
        left=(
            f"{held.each:,} bytes an entry ({held.what}){rate}",
            *left,
            *([f"the first is {held.first}"] if held.first else []),
        ),
    )


def _steady(points: Sequence[tuple[int, int]]) -> str | None:
    """How a map grew with the tuples, if it did so along a line; None otherwise."""
    if len(points) < _FEWEST_SNAPSHOTS or points[-1][1] - points[0][1] < _FEWEST_ENTRIES:
        return None
    if not all(before[1] < after[1] for before, after in pairwise(points)):
        return None
    line = trend([GrowthPoint(time_ms=tuples, pending=entries) for tuples, entries in points])
    rate = per_thousand(points)
    if rate is None or line.fit < _STRAIGHT:
        return None
    return f"{rate:,.0f} entries more per 1,000 tuples over {len(points)} snapshots (R2 {line.fit:.2f})"


def linked(
    told: Sequence[Finding], shown: Sequence[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What the run told with what the heap shows of it, and what only the heap shows.

    The entries of an acker belong to the findings whose roots they are, a field to the component's finding of the
    same code.  The growth of a map is told besides.
    """
    mine = list(told)
    rest = []
    for finding in shown:
        places = [place for place, each in enumerate(mine) if _explains(each, finding)]
        for place in places:
            mine[place] = _with(mine[place], finding)
        if not places:
            rest.append(finding)
    return tuple(mine), tuple(rest)


def _explains(told: Finding, shown: Finding) -> bool:
    if not isinstance(told.evidence, TreeWitness):
        return False
    if shown.code == "ACK601":
        return told.code in OF_THE_ACKER or any(
            line.startswith(f"{ACKER}: root ") for line in told.evidence.left
        )
    return told.code == shown.code and told.component.rpartition(".")[2] == shown.component


def _with(told: Finding, shown: Finding) -> Finding:
    assert isinstance(told.evidence, TreeWitness)
    assert isinstance(shown.evidence, HeapWitness)
    held = shown.evidence
    line = f"heap: {held.path}: {held.entries:,} entries, {held.size:,} bytes; {held.left[0]}"
    return replace(told, evidence=replace(told.evidence, left=(*told.evidence.left, line)))
