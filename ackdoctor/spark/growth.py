"""How the pending map grew: every life of an entry is one more at its begin and one less at its end.

Lives are counted into fine windows first, so that the running sum goes over some hundred thousand rows at most
for each acker, not over all entries; of what came and went within a thousandth of a window, at least a
millisecond, its high-water mark knows nothing.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

__all__ = ["ackers", "growth", "latencies"]

_FINE = 1000  # fine windows in a window
_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_ACCURACY = 1000
_CHANGED = ("pending", "orphans", "started")


def growth(entries: DataFrame, window_ms: int) -> DataFrame:
    """By acker and window: pending and orphans at its end, at most, and roots begun in it: GROWTH.

    Windows in which nothing changed have no row.
    """
    step = max(1_000_000, window_ms * 1_000_000 // _FINE)
    orphan = F.col("spout_task").isNull().cast("int")
    end = F.expr("if(end_ns < first_ns, first_ns, end_ns)")  # a clock may have been put back meanwhile
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


def ackers(entries: DataFrame) -> DataFrame:
    """What each acker task took in and what is left in it: ACKERS."""
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
    """From a spout's init to the ack of its root, by spout task: LATENCIES."""
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


def _change(at: Column, **by: Column) -> Column:
    """What becomes one more or less at a time; nothing where the time is null."""
    return F.struct(at.alias("at_ns"), *(by.get(name, F.lit(0)).cast("int").alias(name) for name in _CHANGED))
