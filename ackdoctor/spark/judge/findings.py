"""Findings from violations, roots and growth; and notes on what the input cannot show, or lacks."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from pyspark.sql import Row

from ackdoctor.model.acker import AckerVersion, Engine
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import Site
from ackdoctor.model.trace import EventKind, GrowthPoint, TupleTree, Verdict, Violation
from ackdoctor.spark.judge.culprits import unexplained
from ackdoctor.spark.judge.timeouts import Slow
from ackdoctor.spark.tables import Analysis, Forecast
from ackdoctor.tracer.acker_findings import entry_bytes, filled_in, growth_finding, trend
from ackdoctor.tracer.findings import findings, gathered
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.timeouts import slow_findings

__all__ = [
    "all_findings",
    "forecast",
    "has",
    "judgeable",
    "note_missing_ackers",
    "notes_on_rotation",
]

_FEWEST_POINTS = 3
_STRAIGHT = 0.9  # R2 below which a line predicts nothing
_MOST_NAMED = 10  # tasks
_CLEARLY, _FEW = 1.25, 5  # estimates are off by a twentieth
_OF_ROOTS = (
    *(EventKind.LINKED, EventKind.SENT, EventKind.EMITTED),
    *(EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT),
)


def has(counted: Iterable[Row], *kinds: EventKind) -> bool:
    """Whether COUNTS has rows of one of these kinds."""
    return any(row["kind"] in kinds for row in counted)


# ---- findings ----


def all_findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree],
    points: Sequence[GrowthPoint],
    *,
    profile: AckerVersion,
    places: Places,
    nowhere: Site,
    heap: int,
    slow: Slow,
) -> tuple[Finding, ...]:
    """Return all findings, sorted by place."""
    found = findings(violations, trees, profile=profile, places=places, nowhere=nowhere)
    grown = growth_finding(points, profile=profile, nowhere=nowhere, heap=heap)
    more = [] if grown is None else [grown]
    more += slow_findings(
        slow.trees, timeout_s=slow.timeout_s, total=slow.roots, paces=slow.paces, nowhere=nowhere
    )
    return gathered([*found, *more]) if more else found


def forecast(points: Sequence[GrowthPoint], profile: AckerVersion, heap: int) -> Forecast | None:
    """Return the straight line through the sizes of the map, and when it fills a heap of that many bytes."""
    if len(points) < _FEWEST_POINTS:
        return None
    line = trend(points)
    size = entry_bytes(profile, orphan=points[-1].orphans * 2 > points[-1].pending)
    grows = size is not None and line.per_second > 0 and line.fit >= _STRAIGHT
    return Forecast(
        per_second=line.per_second,
        fit=line.fit,
        entry_bytes=size,
        heap=heap,
        full_in=filled_in(line.per_second * size, heap) if grows and size is not None else None,
    )


# ---- what the input cannot show ----


def notes_on_rotation(
    counted: Collection[Row], version: AckerVersion, message_timeout_s: int | None, *, ticks_disabled: bool
) -> Iterator[str]:
    """Yield notes if the rows of COUNTS leave open when this version's ackers rotate."""
    if not has(counted, EventKind.INIT, EventKind.ACK):
        return
    ticks = has(counted, EventKind.ROTATED)
    if version.forgets and ticks_disabled:
        yield (
            f"an acker says that it gets no ticks, so it never drops an entry, as {version.name} does: judge it with "
            "--acker-version 1.1.0, or 2.8-no-timeouts"
        )
    elif version.forgets and not ticks and message_timeout_s is None:
        yield (
            f"no row says when the acker rotated its map, as {version.name} does: without --message-timeout what it "
            "has forgotten counts as pending"
        )
    if version.engine is Engine.JSTORM and message_timeout_s is not None:
        yield "JStorm rotates after a message, not by the clock: an idle acker kept its entries for longer than this says"
    if version.engine is Engine.HERON and message_timeout_s is not None:
        yield "each stream manager counts its rotations from its own start: here they are counted from the first row"


# ---- what is missing in logs ----


def note_missing_ackers(result: Analysis, row: Row) -> Iterator[str]:
    """Yield a note if components handled clearly more roots than ackers received messages of; WITNESSED has estimates."""
    if row["handled"] > _CLEARLY * row["taken"] + _FEW:
        result.silent_ackers = True
        yield (
            f"components handled about {row['handled']:,} roots, and ackers received messages of about {row['taken']:,}: the "
            "log of an acker is missing; give the logs of all workers"
        )


def judgeable(
    result: Analysis, trees: Iterable[TupleTree], counted: Collection[Row], patience_s: int
) -> list[TupleTree]:
    """Return the trees that the logs are complete for; add notes on what they cannot show of the others."""
    if not result.logged:
        return list(trees)
    notes = list(_notes_on_missing_lines(result, counted))
    only_logs = all(row["logged"] for row in counted)  # a trace is judged as it is
    kept: list[TupleTree] = []
    unbegun: list[TupleTree] = []
    unknown = 0
    for tree in trees:
        lost = any(culprit.lost for culprit in tree.culprits)
        if only_logs and tree.verdict is Verdict.ORPHAN and not lost:
            unbegun.append(tree)
        elif (result.missing or result.silent_ackers) and unexplained(tree):
            unknown += tree.roots
        else:
            kept.append(tree)
    if unbegun:
        notes.append(_note_on_unbegun(result, unbegun, patience_s))
    if unknown:
        notes.append(f"{_roots(unknown)} did not end well, and missing logs may say why: not judged")
    result.notes = (*notes, *result.notes)
    return kept


def _notes_on_missing_lines(result: Analysis, counted: Collection[Row]) -> Iterator[str]:
    """Yield notes on the tasks, and the ackers, of which no log has a line."""
    if result.missing:
        named = result.missing[:_MOST_NAMED]
        more = len(result.missing) - len(named)
        tasks = ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
        yield f"no line is of {tasks}: give the logs of all workers"
    logged = [row for row in counted if row["logged"]]
    rooted = [row for row in logged if row["rooted"]]  # without ackers, tuples have no roots
    if has(rooted, *_OF_ROOTS) and not has(counted, EventKind.INIT, EventKind.ACK, EventKind.FAIL):
        result.silent_ackers = True
        yield (
            "no line is of an acker: the logs do not say what became of the roots, only what components did; give the logs of "
            "all workers"
        )
    if has(logged, EventKind.SENT) and not has(logged, EventKind.RECEIVED):
        yield (
            "Storm 0.9 does not log which task receives and acks a tuple: roots are judged by what ackers received and by the "
            "acks that were sent"
        )


def _note_on_unbegun(result: Analysis, trees: Collection[TupleTree], patience_s: int) -> str:
    """A log that begins in the middle has acks of roots that began before, but only for a message timeout."""
    roots = sum(tree.roots for tree in trees)
    until_ms = result.begin_ms + patience_s * 1000
    late = sum(
        tree.roots
        for tree in trees
        if tree.entry is not None and result.end_ms - tree.entry.age_ms > until_ms
    )
    orphans = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.ORPHAN.value)
    result.unbegun = bool(late) or orphans >= result.roots
    note = f"{_roots(roots, 'has', 'have')} acks and no __ack_init: they began before the logs, or elsewhere"
    if not result.unbegun:
        return f"{note}: not judged"
    return (
        f"{note}; give the logs of all workers from their start. If the acker's log is complete, __ack_init never reaches it: "
        "look at the connections from the workers of the spouts"
    )


def _roots(count: int, one: str = "", many: str = "") -> str:
    return f"1 root {one}".rstrip() if count == 1 else f"{count:,} roots {many}".rstrip()
