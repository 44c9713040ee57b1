"""Deliveries: one row for each tuple that a component was handed, and what became of it.

A delivery's id means nothing outside of its book: run, worker, process, component, task and test.  Counts
need no order; only what came after the first completion does, and the smallest and largest `seq` tell that.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import TICK, EventKind

__all__ = ["BOOK", "DELIVERY", "completions", "counts", "deliveries", "odd"]

BOOK = ("run", "worker", "pid", "component", "task", "test")
DELIVERY = (*BOOK, "delivery")

_RECEIVED, _EMITTED, _ANCHORED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.ANCHORED)
_ACKED, _FAILED, _DROPPED = int(EventKind.ACKED), int(EventKind.FAILED), int(EventKind.DROPPED)
_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_ACCURACY = 1000


def is_tick() -> Column:
    """Whether a row tells of a tick tuple."""
    return F.col("flags").bitwiseAND(F.lit(TICK)) != 0


def deliveries(events: DataFrame) -> DataFrame:
    """DELIVERIES, of what was received or completed; `seq` orders the rows of one process only."""
    kind = F.col("kind")
    completes = kind.isin(_ACKED, _FAILED)
    emits = kind.isin(_EMITTED, _ANCHORED)
    return (
        events.where(kind.isin(_RECEIVED, _EMITTED, _ANCHORED, _ACKED, _FAILED) & (F.col("delivery") != ""))
        .groupBy(*DELIVERY)
        .agg(
            F.count_if(kind == _RECEIVED).alias("received"),
            F.count_if(kind == _ACKED).alias("acked"),
            F.count_if(kind == _FAILED).alias("failed"),
            F.count_if(emits).alias("anchored"),
            F.max(F.when(kind == _RECEIVED, is_tick().cast("tinyint"))).alias("tick"),
            F.max((F.col("thread") != "").cast("tinyint")).alias("threaded"),
            F.min("seq").alias("first_seq"),
            F.min(F.when(completes, F.col("seq"))).alias("completed_seq"),
            F.max(F.when(emits, F.col("seq"))).alias("emitted_seq"),
            F.min(F.when(kind == _RECEIVED, F.col("time_ns"))).alias("received_ns"),
            F.min(F.when(completes, F.col("time_ns"))).alias("completed_ns"),
            F.any_value(F.when(kind == _RECEIVED, F.col("stream")), ignoreNulls=True).alias("stream"),
        )
        .where("received > 0 or acked + failed > 0")
        .select(
            *DELIVERY,
            F.coalesce("stream", F.lit("")).alias("stream"),
            "received",
            "acked",
            "failed",
            "anchored",
            (F.coalesce("tick", F.lit(0)) == 1).alias("tick"),
            (F.col("threaded") == 1).alias("threaded"),
            "first_seq",
            F.coalesce(F.col("emitted_seq") > F.col("completed_seq"), F.lit(False)).alias("late"),
            "received_ns",
            "completed_ns",
        )
    )


def odd(found: DataFrame) -> DataFrame:
    """Of DELIVERIES those that are not simply received once and completed once, on the thread that receives."""
    plain = "received = 1 and acked + failed = 1 and not late and not threaded and not tick"
    return found.where(f"not ({plain})").select(*found.columns)


def counts(events: DataFrame) -> DataFrame:
    """Rows by component and kind, with the span of time that they cover: COUNTS."""
    return (
        events.groupBy("component", "kind", is_tick().alias("tick"))
        .agg(
            F.count("*").alias("rows"),
            F.sum(F.when(F.col("kind") == _DROPPED, F.col("value")).otherwise(0)).alias("missing"),
            F.min("time_ns").alias("begin_ns"),
            F.max("time_ns").alias("end_ns"),
        )
        .select("component", "kind", "tick", "rows", "missing", "begin_ns", "end_ns")
    )


def completions(found: DataFrame) -> DataFrame:
    """By component and stream: how often deliveries were completed, and how long that took: COMPLETIONS."""
    done = F.col("acked") + F.col("failed")
    took = (F.col("completed_ns") - F.col("received_ns")) / 1e6
    quantiles = F.percentile_approx(took, list(_QUANTILES), _ACCURACY)
    return (
        found.where("received > 0 and not tick")
        .groupBy("component", "stream")
        .agg(
            F.count("*").alias("delivered"),
            F.count_if(done == 0).alias("never"),
            F.count_if(done == 1).alias("once"),
            F.count_if(done > 1).alias("more"),
            F.count_if((F.col("acked") > 0) & (F.col("failed") > 0)).alias("mixed"),
            F.sum("acked").alias("acked"),
            F.sum("failed").alias("failed"),
            quantiles.alias("took"),
            F.min(F.when(done == 0, F.col("received_ns"))).alias("oldest_ns"),
        )
        .select(
            *("component", "stream", "delivered", "never", "once", "more", "mixed", "acked", "failed"),
            *(
                F.col("took")[n].alias(name)
                for n, name in enumerate(("p50_ms", "p90_ms", "p99_ms", "max_ms"))
            ),
            "oldest_ns",
        )
    )
