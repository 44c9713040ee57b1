"""From verdicts to findings: rows become the model's own trees, and the judge of a traced run has the word."""

from collections.abc import Iterable, Sequence

from pyspark.sql import Row

from ackdoctor.model.acker_versions import AckerVersion
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import Site
from ackdoctor.model.verdict import Culprit, GrowthPoint, PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.model.violation import Violation
from ackdoctor.spark.judge.expiry import Slow
from ackdoctor.spark.tables import Forecast
from ackdoctor.tracer.judge.acker import entry_bytes, filled_in, growth_finding, trend
from ackdoctor.tracer.judge.findings import findings, gathered
from ackdoctor.tracer.judge.places import Places
from ackdoctor.tracer.judge.timeouts import slow_findings

__all__ = ["forecast", "judged", "tree"]

_FEWEST_POINTS = 3
_STRAIGHT = 0.9  # R2 below which a line foretells nothing


def tree(row: Row, end_ns: int) -> TupleTree:
    """One row of VERDICTS; `end_ns` is when the evidence ends."""
    residue = Residue[row["residue"]]
    entry = None
    if row["tracked"] is not None:
        entry = PendingEntry(
            root=row["root"],
            value=row["value"],
            task=row["spout_task"] if row["tracked"] else None,
            failed=residue is Residue.FAILED,
            age_ms=max(0, end_ns - row["first_ns"]) // 1_000_000,
        )
    return TupleTree(
        root=row["root"],
        verdict=Verdict[row["verdict"]],
        entry=entry,
        residue=residue,
        culprits=tuple(map(_culprit, row["culprits"] or ())),
        ambiguous=False,
        run=row["run"],
    )


def judged(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree],
    points: Sequence[GrowthPoint],
    *,
    keeper: AckerVersion,
    places: Places,
    nowhere: Site,
    heap: int,
    slow: Slow | None = None,
) -> tuple[Finding, ...]:
    """All findings, sorted by place."""
    found = findings(violations, trees, profile=keeper, places=places, nowhere=nowhere)
    grown = growth_finding(points, profile=keeper, nowhere=nowhere, heap=heap)
    more = [] if grown is None else [grown]
    if slow is not None:
        more += slow_findings(
            slow.trees, timeout_s=slow.timeout_s, total=slow.roots, paces=slow.paces, nowhere=nowhere
        )
    return gathered([*found, *more]) if more else found


def forecast(points: Sequence[GrowthPoint], keeper: AckerVersion, heap: int) -> Forecast | None:
    """The straight line through the map's sizes, and when it fills a heap of so many bytes."""
    if len(points) < _FEWEST_POINTS:
        return None
    line = trend(points)
    size = entry_bytes(keeper, orphan=points[-1].orphans * 2 > points[-1].pending)
    grows = size is not None and line.per_second > 0 and line.fit >= _STRAIGHT
    return Forecast(
        per_second=line.per_second,
        fit=line.fit,
        entry_bytes=size,
        heap=heap,
        full_in=filled_in(line.per_second * size, heap) if grows and size is not None else None,
    )


def _culprit(row: Row) -> Culprit:
    return Culprit(
        delivery=row["delivery"],
        component=row["component"],
        task=row["task"],
        value=row["value"],
        acks=row["acks"],
        sites=tuple(row["sites"]),
    )
