"""Roots: how the pending map grew, what each acker did, who held roots that ended badly, timeouts, replays, single lives."""

from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import RELIABLE, EventKind, Verdict
from ackdoctor.spark.deliveries import DELIVERY_KEY

__all__ = [
    "MOST_ROWS",
    "ackers",
    "growth",
    "handled",
    "holders",
    "latencies",
    "lives",
    "replays",
    "slowest_s",
    "spouts",
    "timeouts",
    "witnessed",
]

MOST_ROWS = 200  # of one root's life
_EMITTED, _LINKED, _TIMED_OUT = int(EventKind.EMITTED), int(EventKind.LINKED), int(EventKind.TIMED_OUT)
_ANSWERS = (int(EventKind.COMPLETED), int(EventKind.GAVE_UP), _TIMED_OUT)
_SECOND = 1_000_000_000
_FINE = 1000  # fine windows in a window
_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_ACCURACY = 1000
_CHANGED = ("pending", "orphans", "started")


# ---- ackers ----


def growth(entries: DataFrame, window_ms: int) -> DataFrame:
    """Return GROWTH by acker and window: pending and orphans at its end, the high-water mark, and roots begun in it.

    Each life of an entry is one more at its begin and one less at its end.  Lives are first counted by fine windows, a
    thousandth of a window and at least a millisecond, so that the running sum covers few rows; the high-water mark misses
    what came and went within one.  Windows in which nothing changed have no row.
    """
    step = max(1_000_000, window_ms * 1_000_000 // _FINE)
    orphan = F.col("spout_task").isNull().cast("int")
    end = F.expr("if(end_ns < first_ns, first_ns, end_ns)")  # the clock may go back
    changes = (
        _change(F.col("first_ns"), pending=F.lit(1), orphans=orphan),
        _change(end, pending=F.lit(-1), orphans=-orphan),
        _change(F.col("init_ns"), started=F.lit(1)),
    )
    fine = (
        entries.select("run", "acker", F.explode(F.array(*changes)).alias("change"))
        .where("change.at_ns is not null")
        .groupBy("run", "acker", F.floor(F.col("change.at_ns") / step).alias("place"))
        .agg(*(F.sum(f"change.{name}").alias(name) for name in _CHANGED))
    )
    so_far = Window.partitionBy("run", "acker").orderBy("place").rowsBetween(Window.unboundedPreceding, 0)
    running = fine.select(
        *("run", "acker", "place", "started"),
        *(F.sum(name).over(so_far).alias(name) for name in ("pending", "orphans")),
    )
    end_ms = (F.floor(F.col("place") * step / (window_ms * 1_000_000)) + 1) * window_ms
    return (
        running.groupBy("run", "acker", end_ms.alias("time_ms"))
        .agg(
            F.max_by("pending", "place").alias("pending"),
            F.max_by("orphans", "place").alias("orphans"),
            F.max("pending").alias("high_water"),
            F.sum("started").alias("started"),
        )
        .select("run", "acker", "time_ms", "pending", "orphans", "high_water", "started")
        .orderBy("time_ms", "run", "acker")
    )


def _change(at: Column, **by: Column) -> Column:
    """Return how the counts change at a time; null times are left out."""
    return F.struct(at.alias("at_ns"), *(by.get(name, F.lit(0)).cast("int").alias(name) for name in _CHANGED))


def ackers(entries: DataFrame) -> DataFrame:
    """Return ACKERS: what each acker task received, and what is left in it."""
    return (
        entries.groupBy("run", "acker")
        .agg(
            F.count_if(F.col("n_init") > 0).alias("roots"),
            F.sum("n").alias("messages"),
            F.count_if(F.col("outcome") == "acked").alias("acked"),
            F.count_if(F.col("outcome") == "pending").alias("pending"),
            F.min("first_ns").alias("begin_ns"),
            F.max("last_ns").alias("end_ns"),
        )
        .select("run", "acker", "roots", "messages", "acked", "pending", "begin_ns", "end_ns")
        .orderBy("run", "acker")
    )


def latencies(entries: DataFrame) -> DataFrame:
    """Return LATENCIES: from a spout's init to the ack of its root, by spout task."""
    took = F.greatest(F.col("end_ns") - F.col("init_ns"), F.lit(0)) / 1e6
    return (
        entries.where("outcome = 'acked' and spout_task is not null and init_ns is not null")
        .groupBy(F.col("spout_task").alias("task"))
        .agg(
            F.count("*").alias("roots"), F.percentile_approx(took, list(_QUANTILES), _ACCURACY).alias("took")
        )
        .select(
            *("task", "roots"),
            *(
                F.col("took")[n].alias(name)
                for n, name in enumerate(("p50_ms", "p90_ms", "p99_ms", "max_ms"))
            ),
        )
        .orderBy("task")
    )


# ---- roots ----


def holders(events: DataFrame, roots: DataFrame, never: DataFrame) -> DataFrame:
    """Return HOLDERS: who received a tuple of those roots and never completed it; `never` are DELIVERIES."""
    linked = events.where(F.col("kind") == _LINKED).join(
        roots.select("run", "root"), ["run", "root"], "left_semi"
    )
    return (
        linked.select(*DELIVERY_KEY, "root")
        .join(never.select(*DELIVERY_KEY, "stream"), [*DELIVERY_KEY])
        .groupBy("component", "stream")
        .agg(F.countDistinct("run", "root").alias("roots"))
        .select("component", "stream", "roots")
        .orderBy(F.col("roots").desc(), "component", "stream")
    )


def timeouts(events: DataFrame) -> DataFrame:
    """Return TIMEOUTS: how many roots the spouts gave up in each second."""
    return (
        events.where(F.col("kind") == _TIMED_OUT)
        .groupBy(F.floor(F.col("time_ns") / _SECOND).alias("second"))
        .agg(F.count("*").alias("roots"))
        .select("second", "roots")
        .orderBy("second")
    )


def slowest_s(verdicts: DataFrame) -> int:
    """Return how long the slowest completed root took, in whole seconds; 0 if none completed."""
    took = F.max(F.col("end_ns") - F.col("init_ns")) / _SECOND
    row = verdicts.where(f"verdict = '{Verdict.COMPLETE.name}'").agg(F.ceil(took).alias("seconds")).first()
    return (row and row["seconds"]) or 0


def spouts(messages: DataFrame) -> DataFrame:
    """Return SPOUTS: the component of each task that sent an INIT."""
    inits = messages.where(F.col("kind") == int(EventKind.INIT))
    return (
        inits.groupBy(F.col("spout_task").alias("task"))
        .agg(F.any_value("component").alias("component"))
        .select("task", "component")
    )


def replays(events: DataFrame, spouts: Sequence[str]) -> DataFrame:
    """Return REPLAYS: message ids that one of these spouts emitted more than once.

    A log does not name the ids of emits, but those that the spout was answered for.
    """
    emitted = f"(kind = {_EMITTED} and (flags & {RELIABLE}) != 0)"
    answered = f"kind in ({', '.join(map(str, _ANSWERS))})"
    return (
        events.where(f"({emitted} or {answered}) and delivery != ''")
        .where(F.col("component").isin(*spouts))
        .groupBy("run", "component", "task", "test", "delivery")
        .agg(F.expr(f"greatest(count_if({emitted}), count_if({answered})) as emits"))
        .where("emits > 1")
        .groupBy("component")
        .agg(
            F.expr("count(1) as ids"),
            F.expr("sum(emits) as emits"),
            F.expr("max(emits) as most"),
            F.expr("max_by(delivery, struct(emits, delivery)) as worst"),
        )
        .select("component", "ids", "emits", "most", "worst")
        .orderBy("component")
    )


def lives(events: DataFrame, roots: Collection[int]) -> DataFrame:
    """Return LIVES: the rows of some roots of all runs, in order, at most so many of each."""
    row = "struct(time_ns, worker, pid, seq, kind, component, task, delivery, value, site, stream)"
    return (
        events.where(f"root in ({', '.join(f'{root}L' for root in roots)})")
        .groupBy("run", "root")
        .agg(F.expr(f"array_sort(collect_list({row})) as rows"))
        .selectExpr("run", "root", "size(rows) as count", f"slice(rows, 1, {MOST_ROWS}) as rows")
    )


def witnessed(events: DataFrame) -> DataFrame:
    """Return WITNESSED, one row: about how many roots components received tuples of, and ackers took messages of."""
    kinds = ", ".join(
        str(int(kind)) for kind in (EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET)
    )
    return events.selectExpr(
        f"if(kind = {_LINKED}, xxhash64(run, root), null) as handled",
        f"if(kind in ({kinds}), xxhash64(run, root), null) as taken",
    ).agg(
        F.expr("approx_count_distinct(handled) as handled"), F.expr("approx_count_distinct(taken) as taken")
    )


def handled(events: DataFrame, deliveries: DataFrame, roots: Collection[int]) -> DataFrame:
    """Return HANDLED: the tuples of some roots, with their edge as `value` and how often each was acked and failed."""
    linked = events.where(f"kind = {_LINKED} and root in ({', '.join(f'{root}L' for root in roots)})")
    return (
        linked.select(*DELIVERY_KEY, "root", "value")
        .distinct()
        .join(deliveries.select(*DELIVERY_KEY, "acked", "failed"), [*DELIVERY_KEY])
        .select("run", "root", "component", "task", "delivery", "value", "acked", "failed")
    )
