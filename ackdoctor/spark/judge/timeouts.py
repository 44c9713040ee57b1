"""VERDICTS -> why roots timed out: how long each root's tuples waited and were held; roots that went alike are one row."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import EventKind, Residue, Verdict
from ackdoctor.spark.deliveries import DELIVERY_KEY, NO_PROCESS
from ackdoctor.spark.tables import Analysis, Completions, Expired
from ackdoctor.tracer.timeouts import EARLY, Cause, Pace, Step, TimedOut, burst_period, cause_of, causes_of

__all__ = ["Slow", "judge_timeouts"]

_KEY = ["run", "root"]
_SECOND, _MS = 1_000_000_000, 1e6
_MOST_WAYS = 200
_MOST_SECONDS = 100_000


@dataclass(slots=True, kw_only=True)
class Slow:
    """The input of ACK504 (`tracer.timeouts`)."""

    trees: Sequence[TimedOut]
    timeout_s: int | None
    roots: int
    paces: Mapping[str, Pace]


def judge_timeouts(
    events: DataFrame | None,
    deliveries: DataFrame,
    verdicts: DataFrame,
    *,
    result: Analysis,
    timeout_s: int | None,
    lost: str,
) -> Slow:
    """Judge the roots that timed out, and count their causes in the result; without `events` no cause is known.

    `lost` says as SQL on VERDICTS which roots a worker took down (`Outages.sql`).
    """
    total = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.EXPIRED.value)
    trees: list[TimedOut] = []
    if total and events is not None:
        expired = _expired_roots(events, verdicts, lost)
        rows = _alike(expired.join(_trees(events, deliveries, expired), _KEY, "left"), timeout_s).collect()
        trees = list(map(_tree, rows))
    result.expired = tuple(Expired(cause=cause, roots=n) for cause, n in causes_of(trees, timeout_s, total))
    late = [tree for tree in trees if cause_of(tree, timeout_s) is Cause.LATE]
    names = {step.component for tree in late for step in tree.steps}
    return Slow(
        trees=late,
        timeout_s=timeout_s,
        roots=result.roots,
        paces=_paces(result.completions, _rhythms(deliveries, sorted(names))),
    )


def _expired_roots(events: DataFrame, verdicts: DataFrame, lost: str) -> DataFrame:
    """Return the roots that timed out, with their end: when the spout dropped the root, or else the acker its entry."""
    dropped = events.where(F.col("kind") == int(EventKind.TIMED_OUT))
    found = (
        verdicts.where(f"verdict = '{Verdict.EXPIRED.name}'")
        .groupBy(*_KEY)
        .agg(
            F.expr("min(coalesce(init_ns, first_ns)) as init_ns"),
            F.expr("min(end_ns) as end_ns"),
            F.expr(f"coalesce(bool_or({lost}), false) as ended"),
            F.expr(f"bool_or(residue = '{Residue.EVEN.name}') as uneven"),
            F.expr(f"bool_and(residue = '{Residue.NONE.name}') as completed"),
        )
    )
    return found.join(dropped.groupBy(*_KEY).agg(F.min("time_ns").alias("dropped_ns")), _KEY, "left").select(
        *(*_KEY, "init_ns", "ended", "uneven"),
        F.expr("coalesce(dropped_ns, end_ns) as end_ns"),
        F.expr("completed and coalesce(end_ns < dropped_ns, false) as answered"),
    )


def _trees(events: DataFrame, deliveries: DataFrame, expired: DataFrame) -> DataFrame:
    """Return for each root its `steps`, the longest of each component, and whether tuples are `missing` or `open`."""
    asked = F.broadcast(expired.select(*_KEY))
    kind = F.col("kind")
    linked = events.where(kind == int(EventKind.LINKED)).join(asked, _KEY, "left_semi")
    # a trace does not record the edge of an emit
    sent = events.where(
        (kind == int(EventKind.EMITTED)) & (F.col("root") != 0) & (F.col("pid") <= NO_PROCESS)
    )
    received = linked.select(*DELIVERY_KEY, "root", "value").join(
        deliveries.where("received > 0").select(
            *DELIVERY_KEY, "acked", "failed", "received_ns", "completed_ns"
        ),
        [*DELIVERY_KEY],
    )
    edges = received.join(
        sent.join(asked, _KEY, "left_semi").groupBy(*_KEY, "value").agg(F.min("time_ns").alias("sent_ns")),
        [*_KEY, "value"],
        "full_outer",
    )
    steps = edges.groupBy(*_KEY, "component").agg(
        F.expr("bool_or(component is null) as missing"),
        F.expr("coalesce(bool_or(acked + failed = 0), false) as open"),
        F.expr("coalesce(bool_or(acked + failed > 1), false) as twice"),
        F.expr("coalesce(max(completed_ns - received_ns), 0L) as held_ns"),
        F.expr("greatest(coalesce(max(received_ns - sent_ns), 0L), 0L) as waited_ns"),
        F.expr("min(received_ns) as first_ns"),
        F.expr("max(completed_ns) as done_ns"),
    )
    step = "struct(first_ns, component, held_ns, waited_ns)"
    return steps.groupBy(*_KEY).agg(
        F.expr("bool_or(missing) as missing"),
        F.expr("bool_or(open) as open"),
        F.expr("bool_or(twice) as twice"),
        F.expr("max(done_ns) as done_ns"),
        F.expr(f"array_sort(collect_list({step}) filter (where component is not null)) as steps"),
    )


def _alike(trees: DataFrame, timeout_s: int | None) -> DataFrame:
    """Group roots with the same cause and culprits, and keep the slowest of each group."""
    limit = "(end_ns - init_ns) div 2" if timeout_s is None else f"{timeout_s * _SECOND}L"
    over = f"transform(steps, step -> struct(step.component, step.held_ns > {limit} as held, step.waited_ns > {limit} as waited))"
    way = {
        "ended": "ended",
        "missing": "coalesce(missing, false)",
        "open": "coalesce(open, false)",
        "twice": "coalesce(twice, false)",
        "early": f"end_ns - init_ns < {EARLY} * {limit}",
        "uneven": "uneven",
        "answered": "answered",
        "late": "done_ns > end_ns",
        "long": f"done_ns - init_ns > {limit}",
        "over": over,
    }
    row = "struct(done_ns - init_ns as took_ns, end_ns - init_ns as age_ns, root, steps)"
    flags = [name for name in way if name not in ("early", "late", "long", "over")]
    return (
        trees.selectExpr(*(f"{what} as {name}" for name, what in way.items()), f"{row} as tree")
        .groupBy(*way)
        .agg(F.count("*").alias("roots"), F.expr("max_by(tree, struct(tree.took_ns, tree.root)) as tree"))
        .select(*flags, "roots", "tree.*")
        .orderBy(F.desc("roots"), "root")
        .limit(_MOST_WAYS)
    )


def _tree(row: Row) -> TimedOut:
    return TimedOut(
        root=row["root"],
        roots=row["roots"],
        age_ms=(row["age_ns"] or 0) / _MS,
        took_ms=None if row["took_ns"] is None else row["took_ns"] / _MS,
        steps=tuple(
            Step(
                component=step["component"], held_ms=step["held_ns"] / _MS, waited_ms=step["waited_ns"] / _MS
            )
            for step in row["steps"] or ()
        ),
        **{name: row[name] for name in ("missing", "open", "twice", "uneven", "answered", "ended")},
    )


def _rhythms(deliveries: DataFrame, names: Sequence[str]) -> Mapping[str, int]:
    """Return how far apart the bursts of these components are, in seconds; 0 without bursts."""
    if not names:
        return {}
    seconds = (
        deliveries.where("received > 0 and completed_ns is not null and not tick")
        .where(F.col("component").isin(*names))
        .groupBy("component", F.floor(F.col("completed_ns") / _SECOND).alias("second"))
        .agg(F.count("*").alias("tuples"))
        .orderBy("component", "second")
        .limit(_MOST_SECONDS)
    )
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in seconds.collect():
        found[row["component"]].append((row["second"], row["tuples"]))
    return {name: burst_period(its) for name, its in found.items()}


def _paces(completions: Iterable[Completions], rhythms: Mapping[str, int]) -> Mapping[str, Pace]:
    """Return the pace of each component, on its slowest stream."""
    found: dict[str, Pace] = {}
    for row in completions:
        if row.component in rhythms:
            known = found.get(row.component, Pace(median_ms=0.0, longest_ms=0.0))
            found[row.component] = Pace(
                median_ms=max(known.median_ms, row.p50_ms),
                longest_ms=max(known.longest_ms, row.max_ms),
                burst_s=rhythms[row.component],
            )
    return found
