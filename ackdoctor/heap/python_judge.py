"""Derive findings from snapshots of a Python heap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ackdoctor import rulebook
from ackdoctor.heap.judge import heap_finding
from ackdoctor.heap.python_heap import ACKER, BOLT, SPOUT, AckerMap, Holding, Snapshot
from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.finding import Finding, HeapWitness, Severity, TreeWitness, stamp
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.rulebook import words
from ackdoctor.tracer.acker_findings import stays, trend
from ackdoctor.tracer.sites import Places

_FEW = 10  # smaller containers are listed only if they are known to hold tuples
OPEN_TUPLE_CODES = frozenset(
    {rulebook.UNDRAINED_BUFFER, rulebook.NEVER_ZERO_ENTRY, rulebook.PENDING_GROWTH}
)  # tuples under way cause these, too
ACKER_CODES = frozenset({rulebook.NEVER_ZERO_ENTRY, rulebook.ORPHAN_ENTRY, rulebook.PENDING_GROWTH})
_FEWEST_SNAPSHOTS = 4  # fewer snapshots prove no steady growth
_FEWEST_ENTRIES = 10
_MANY_TUPLES = 1_000  # after fewer emits a spout may still wait for half of them
_STRAIGHT = 0.9  # R2


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TypeRow:
    """One type at the last snapshot: growth since the first snapshot, and `lately` since the previous one."""

    name: str
    count: int
    size: int
    gained: int = 0
    gained_size: int = 0
    lately: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class HoldingRow:
    """One container at the last snapshot; `course` has its entries at each, `per_thousand` its growth per 1,000 tuples."""

    last: Holding
    course: tuple[int, ...]
    per_thousand: float | None = None


def type_rows(snapshots: Sequence[Snapshot], top: int = 20) -> tuple[TypeRow, ...]:
    """Return the types that grew most in bytes; for a single snapshot the largest types."""
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
    """Return the largest containers, without small ones that hold no tuples."""
    if not snapshots:
        return ()
    listed = [
        holding
        for holding in snapshots[-1].holdings
        if holding.kind == ACKER or holding.open or holding.entries >= _FEW
    ]
    listed.sort(key=lambda holding: (-holding.size, holding.path))
    return tuple(
        HoldingRow(
            last=holding,
            course=tuple(snapshot.entries(holding.path) for snapshot in snapshots),
            per_thousand=_rate(holding, snapshots),
        )
        for holding in listed[:top]
    )


def _rate(holding: Holding, snapshots: Sequence[Snapshot]) -> float | None:
    """Return the entries gained per 1,000 tuples, from zero on if the component is younger than the first snapshot."""
    points = [
        (known.tuples, known.entries)
        for snapshot in snapshots
        for known in snapshot.holdings
        if known.path == holding.path
    ]
    return _per_thousand([(0, 0), *points] if len(points) < len(snapshots) or len(points) == 1 else points)


def _per_thousand(points: Sequence[tuple[int, int]]) -> float | None:
    """Return the entries gained per 1,000 tuples; `points` are (tuples, entries).  None if no tuples came."""
    (tuples, entries), (more_tuples, more_entries) = points[0], points[-1]
    seen = more_tuples - tuples
    return 1000 * (more_entries - entries) / seen if seen > 0 else None


def findings(
    snapshots: Sequence[Snapshot], places: Places, keeper: AckerVersion | None = None
) -> tuple[Finding, ...]:
    """Return all findings, sorted and stamped; `keeper` is the acker's version, if known."""
    if not snapshots:
        return ()
    found: list[Finding] = []
    for acker in snapshots[-1].ackers:
        found += _acker_findings(acker, snapshots, keeper)
    rows: dict[tuple[str, str], HoldingRow] = {}  # the largest container of each field
    for row in holding_rows(snapshots, top=len(snapshots[-1].holdings)):
        rows.setdefault((row.last.component, row.last.field), row)
    found += filter(None, (_component_finding(row, places) for row in rows.values()))
    return stamp(sorted(found, key=lambda each: (each.code, each.component, each.cause)))


def _acker_findings(
    acker: AckerMap, snapshots: Sequence[Snapshot], keeper: AckerVersion | None
) -> Iterator[Finding]:
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
            rulebook.NEVER_ZERO_ENTRY,
            words(rulebook.NEVER_ZERO_ENTRY, "heap", stays=stays(keeper)),
            witness,
        )
    points = [
        (known.tuples, known.entries)
        for snapshot in snapshots
        for known in snapshot.ackers
        if known.component == acker.component
    ]
    grown = _linear_growth(points)
    if grown is not None:
        yield heap_finding(
            rulebook.PENDING_GROWTH,
            words(rulebook.PENDING_GROWTH, "heap", stays=stays(keeper)),
            replace(witness, left=(*witness.left, grown)),
            severity=Severity.ERROR if keeper is not None and not keeper.forgets else Severity.WARNING,
        )


def _component_finding(row: HoldingRow, places: Places) -> Finding | None:
    """Return the finding of a bolt whose field holds open tuples, or of a spout's that grows beyond what it waits for."""
    held = row.last
    if held.kind == BOLT and held.open:
        code, why = rulebook.UNDRAINED_BUFFER, f"{held.open:,} open tuples in this field"
    elif held.kind == SPOUT and _leaks(row):
        waits = "" if held.owed is None else f", and it waits for {held.owed:,} messages"
        code, why = rulebook.SPOUT_BUFFER_LEAK, f"{held.tuples:,} emitted{waits}"
    else:
        return None
    rate = "" if row.per_thousand is None else f", {row.per_thousand:,.0f} more per 1,000 tuples"
    first = [f"the first is {held.first}"] if held.first else []
    return heap_finding(
        code,
        words(code, "heap"),
        HeapWitness(
            path=held.path,
            entries=held.entries,
            size=held.size,
            left=(f"{held.each:,} bytes an entry ({held.what}){rate}", why, *first),
        ),
        component=held.component,
        site=places.line(held.file, held.line),
    )


def _leaks(row: HoldingRow) -> bool:
    """Whether a spout's container never shrinks and holds many more messages than the spout waits for."""
    held = row.last
    if any(before > after for before, after in pairwise(row.course)) or row.course[0] == row.course[-1]:
        return False
    if held.owed is None:
        return held.tuples >= _MANY_TUPLES and 2 * held.entries > held.tuples
    return held.entries - held.owed >= _FEWEST_ENTRIES


def _linear_growth(points: Sequence[tuple[int, int]]) -> str | None:
    """Describe the growth of a map if it is linear in the tuples; else None."""
    if len(points) < _FEWEST_SNAPSHOTS or points[-1][1] - points[0][1] < _FEWEST_ENTRIES:
        return None
    if not all(before[1] < after[1] for before, after in pairwise(points)):
        return None
    line = trend([GrowthPoint(time_ms=tuples, pending=entries) for tuples, entries in points])
    rate = _per_thousand(points)
    if rate is None or line.fit < _STRAIGHT:
        return None
    return f"{rate:,.0f} entries more per 1,000 tuples over {len(points)} snapshots (R2 {line.fit:.2f})"


def with_heap_evidence(
    run_findings: Sequence[Finding], heap_findings: Sequence[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Add the heap's evidence to the findings of the run; return these and the findings of the heap alone.

    The entries of an acker belong to the findings whose roots they are, a field to the component's finding of the
    same code.  The growth of a map is a separate finding.
    """
    with_evidence = list(run_findings)
    rest = []
    for finding in heap_findings:
        places = [place for place, each in enumerate(with_evidence) if _explains(each, finding)]
        for place in places:
            with_evidence[place] = _add_evidence(with_evidence[place], finding)
        if not places:
            rest.append(finding)
    return tuple(with_evidence), tuple(rest)


def _explains(from_run: Finding, from_heap: Finding) -> bool:
    if not isinstance(from_run.evidence, TreeWitness):
        return False
    if from_heap.code == rulebook.NEVER_ZERO_ENTRY:
        return from_run.code in ACKER_CODES or any(
            line.startswith(f"{ACKER}: root ") for line in from_run.evidence.left
        )
    return from_run.code == from_heap.code and from_run.component.rpartition(".")[2] == from_heap.component


def _add_evidence(from_run: Finding, from_heap: Finding) -> Finding:
    assert isinstance(from_run.evidence, TreeWitness)
    assert isinstance(from_heap.evidence, HeapWitness)
    held = from_heap.evidence
    line = f"heap: {held.path}: {held.entries:,} entries, {held.size:,} bytes; {held.left[0]}"
    return replace(from_run, evidence=replace(from_run.evidence, left=(*from_run.evidence.left, line)))
