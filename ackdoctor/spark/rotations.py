"""MESSAGES -> ROTATIONS: when each acker dropped its oldest bucket, one row for each acker.

A tick that the acker wrote down stands between messages of the same process by `pos`; one that only a
schedule or another process knows stands before the first message that is not older.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.versions import Version

__all__ = ["ACKER", "MAY_EXPIRE", "MOST_TICKS", "after", "expiry", "rotations"]

ACKER = ("run", "acker", "incarnation")
# of a root, in SQL: its messages span more than the map may keep an entry; a span below 0 is one that no long holds
MAY_EXPIRE = "coalesce(span_ns not between 0 and calm_ns, false) or not mixed and coalesce(span_pos not between 0 and calm_pos, false)"
MOST_TICKS = 200_000  # of a schedule: 69 days of 30 s; a clock that jumps farther rotates no more
_EVER = (1 << 63) - 1
_MS = 1_000_000
_TICKS = "array<struct<pos:bigint,ns:bigint,source:bigint>>"


def rotations(messages: DataFrame, version: Version, message_timeout_s: int | None) -> DataFrame:
    """`ticks`: of each its source and pos, null if scheduled, and its time.

    `calm_pos`, `calm_ns`: what is no longer than that never sees as many ticks as there are buckets.
    """
    if message_timeout_s is None:
        ticked = _recorded(messages)
    else:
        ticked = _scheduled(messages, version.schedule_ms(message_timeout_s))
    return ticked.select(
        *ACKER,
        "ticks",
        _calm(version.buckets, "pos").alias("calm_pos"),
        _calm(version.buckets, "ns").alias("calm_ns"),
    )


def _recorded(messages: DataFrame) -> DataFrame:
    ticks = messages.where(F.col("kind") == int(EventKind.ROTATED))
    gathered = ticks.groupBy(*ACKER).agg(
        F.expr("collect_list(struct(pos, time_ns as ns, source)) as found"),
        F.expr("min(source) != max(source) as mixed"),
    )
    placed = "transform(found, tick -> struct(if(mixed, tick.ns, tick.pos) as place, tick))"
    return gathered.selectExpr(*ACKER, f"transform(array_sort({placed}), placed -> placed.tick) as ticks")


def _scheduled(messages: DataFrame, schedule_ms: tuple[int, int] | None) -> DataFrame:
    """Of every acker the same: the run has one clock."""
    first_ms, every_ms = schedule_ms or (0, 0)
    begun = F.min(_ms())
    seen = messages.groupBy(*ACKER).agg(begun.alias("begin_ms"), F.max(_ms()).alias("end_ms"))
    if schedule_ms is None:
        ticks = F.array().cast(_TICKS)
    else:
        begin = F.col("run_ms") + first_ms
        count = F.call_function("div", F.col("end_ms") - begin, F.lit(every_ms))
        steps = F.sequence(F.lit(0).cast("long"), F.least(count, F.lit(MOST_TICKS).cast("long")))
        null = F.lit(None).cast("long")
        ticks = F.when(
            F.col("end_ms") >= begin,
            F.transform(
                steps,
                lambda step: F.struct(
                    null.alias("pos"), ((begin + step * every_ms) * _MS).alias("ns"), null.alias("source")
                ),
            ).cast(_TICKS),
        ).otherwise(F.array().cast(_TICKS))
    runs = seen.groupBy("run").agg(
        F.min("begin_ms").alias("run_ms"),
        F.max("end_ms").alias("end_ms"),
        F.collect_list(F.struct("acker", "incarnation")).alias("of"),
    )
    return runs.select("run", ticks.alias("ticks"), F.explode("of").alias("of")).select(
        "run", "of.acker", "of.incarnation", "ticks"
    )


def _ms() -> Column:
    return F.call_function("div", F.col("time_ns"), F.lit(_MS))


def _calm(buckets: int, axis: str) -> Column:
    """The shortest way from a tick to the one that empties the buckets filled before it."""
    spans = F.transform(
        F.sequence(F.lit(1), F.size("ticks") - buckets + 1),
        lambda at: F.element_at("ticks", at + (buckets - 1))[axis] - F.element_at("ticks", at)[axis],
    )
    enough = F.size("ticks") >= buckets
    return F.coalesce(F.when(enough, F.array_min(spans)), F.lit(_EVER))


def expiry(ticks: str, buckets: int, source: str, pos: str, time_ns: str) -> str:
    """SQL: the tick that drops what was put with a message; null if it never came."""
    return f"get(filter({ticks}, tick -> {after('tick', source, pos, time_ns)}), {buckets - 1})"


def after(tick: str, source: str, pos: str, time_ns: str) -> str:
    """SQL: whether a tick came after a message."""
    here = f"coalesce({tick}.source = {source}, false)"
    return f"if({here}, {tick}.pos > {pos}, {tick}.ns > {time_ns})"
