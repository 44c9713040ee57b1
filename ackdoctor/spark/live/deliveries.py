"""Deliveries that keep coming -> those that are completed a second time: certain at once, in whatever order rows come.

A delivery is carried as one row with its counts and its first two completions, until nobody has touched it for
so long that it is forgotten.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import ArrayType, BooleanType, ByteType, LongType, StringType, StructField, StructType

from ackdoctor.model.event import EventKind
from ackdoctor.spark.deliveries import DELIVERY, is_tick
from ackdoctor.spark.schema import EVENTS

__all__ = ["ACKED_TWICE", "DONE", "done", "kept", "rows", "surplus"]

ACKED_TWICE = "acked-twice"

_RECEIVED, _LINKED = int(EventKind.RECEIVED), int(EventKind.LINKED)
_ACKED, _FAILED = int(EventKind.ACKED), int(EventKind.FAILED)
_KINDS = (_RECEIVED, _LINKED, _ACKED, _FAILED)
_FIRST = 2

_COMPLETION = StructType(
    [
        StructField("seq", LongType()),
        StructField("kind", ByteType()),
        StructField("time_ns", LongType()),
        StructField("site", StringType()),
        StructField("flags", ByteType()),
    ]
)

# One row for each delivery; `told` once it was told to be completed twice.
DONE = StructType(
    [
        *(EVENTS[name] for name in DELIVERY),
        StructField("stream", StringType()),
        StructField("received", LongType()),
        StructField("done", LongType()),
        StructField("completions", ArrayType(_COMPLETION)),
        StructField("roots", ArrayType(LongType())),
        StructField("tick", BooleanType()),
        StructField("last_ns", LongType()),
        StructField("told", BooleanType()),
    ]
)


def rows(carried: DataFrame, events: DataFrame) -> DataFrame:
    """DONE, before it is added up: what was carried, and a row for each of EVENTS that matters."""
    kind = F.col("kind")
    new = events.where(kind.isin(*_KINDS) & (F.col("delivery") != ""))
    completes = kind.isin(_ACKED, _FAILED)
    single = new.select(
        *DELIVERY,
        F.when(kind == _RECEIVED, F.col("stream")).alias("stream"),
        (kind == _RECEIVED).cast("bigint").alias("received"),
        completes.cast("bigint").alias("done"),
        F.when(completes, F.array(F.struct(*_COMPLETION.names))).alias("completions"),
        F.when(kind == _LINKED, F.array("root")).alias("roots"),
        ((kind == _RECEIVED) & is_tick()).alias("tick"),
        F.col("time_ns").alias("last_ns"),
        F.lit(False).alias("told"),
    )
    return carried.union(single).select(*DONE.names)


def done(told: DataFrame) -> DataFrame:
    """DONE: one row for each delivery."""
    return (
        told.groupBy(*DELIVERY)
        .agg(
            F.max("stream").alias("stream"),
            F.sum("received").alias("received"),
            F.sum("done").alias("done"),
            F.slice(F.array_sort(F.flatten(F.collect_list("completions"))), 1, _FIRST).alias("completions"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("roots")))).alias("roots"),
            F.max("tick").alias("tick"),
            F.max("last_ns").alias("last_ns"),
            F.max("told").alias("told"),
        )
        .select(*DONE.names)
    )


def surplus(found: DataFrame) -> DataFrame:
    """Of DONE those that were completed more often than received, ticks left out."""
    return found.where("done > greatest(received, 1) and not tick").select(*DONE.names)


def kept(found: DataFrame, oldest: Mapping[str, int]) -> DataFrame:
    """DONE for the next batch; `oldest` says of each run since when a delivery is remembered."""
    since = F.create_map(*(F.lit(part) for item in oldest.items() for part in item))
    told = F.col("told") | (F.col("done") > F.greatest("received", F.lit(1)))
    return found.where(F.col("last_ns") >= since[F.col("run")]).withColumn("told", told).select(*DONE.names)
