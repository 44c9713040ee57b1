"""What roots went through: who held those that ended badly, when they timed out, what came again, one root's life."""

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import RELIABLE, EventKind
from ackdoctor.model.verdict import Verdict
from ackdoctor.spark.deliveries import DELIVERY

__all__ = [
    "MOST_ROWS",
    "handled",
    "holders",
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


def holders(events: DataFrame, roots: DataFrame, never: DataFrame) -> DataFrame:
    """Who received a tuple of those roots and never completed it: HOLDERS.  `never` are DELIVERIES."""
    linked = events.where(F.col("kind") == _LINKED).join(
        roots.select("run", "root"), ["run", "root"], "left_semi"
    )
    return (
        linked.select(*DELIVERY, "root")
        .join(never.select(*DELIVERY, "stream"), [*DELIVERY])
        .groupBy("component", "stream")
        .agg(F.countDistinct("run", "root").alias("roots"))
        .select("component", "stream", "roots")
        .orderBy(F.col("roots").desc(), "component", "stream")
    )


def timeouts(events: DataFrame) -> DataFrame:
    """How many roots the spouts gave up in each second: TIMEOUTS."""
    return (
        events.where(F.col("kind") == _TIMED_OUT)
        .groupBy(F.floor(F.col("time_ns") / _SECOND).alias("second"))
        .agg(F.count("*").alias("roots"))
        .select("second", "roots")
        .orderBy("second")
    )


def slowest_s(verdicts: DataFrame) -> int:
    """How long, in whole seconds, the slowest root took that completed; 0 if none did."""
    took = F.max(F.col("end_ns") - F.col("init_ns")) / _SECOND
    row = verdicts.where(f"verdict = '{Verdict.COMPLETE.name}'").agg(F.ceil(took).alias("seconds")).first()
    return (row and row["seconds"]) or 0


def spouts(taken: DataFrame) -> DataFrame:
    """Who asked for roots, by the task that messages to an acker name: SPOUTS."""
    inits = taken.where(F.col("kind") == int(EventKind.INIT))
    return inits.groupBy(F.col("spout_task").alias("task")).agg(F.any_value("component").alias("component"))


def replays(events: DataFrame, spouts: Sequence[str]) -> DataFrame:
    """Message ids that one of these spouts emitted more than once: REPLAYS.

    A log does not say the ids of emits, but those that the spout was answered for.
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
            *map(
                F.expr,
                (
                    "count(1) as ids",
                    "sum(emits) as emits",
                    "max(emits) as most",
                    "max_by(delivery, struct(emits, delivery)) as worst",
                ),
            )
        )
        .select("component", "ids", "emits", "most", "worst")
        .orderBy("component")
    )


def lives(events: DataFrame, roots: Collection[int]) -> DataFrame:
    """Every row of some roots of all runs, in order, at most so many of each: LIVES."""
    row = "struct(time_ns, worker, pid, seq, kind, component, task, delivery, value, site, stream)"
    return (
        events.where(f"root in ({', '.join(f'{root}L' for root in roots)})")
        .groupBy("run", "root")
        .agg(F.expr(f"array_sort(collect_list({row})) as rows"))
        .selectExpr("run", "root", "size(rows) as count", f"slice(rows, 1, {MOST_ROWS}) as rows")
    )


def witnessed(events: DataFrame) -> DataFrame:
    """About how many roots components received tuples of, and about how many ackers took messages of: WITNESSED, one row."""
    taken = ", ".join(
        str(int(kind)) for kind in (EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET)
    )
    return events.selectExpr(
        f"if(kind = {_LINKED}, xxhash64(run, root), null) as handled",
        f"if(kind in ({taken}), xxhash64(run, root), null) as taken",
    ).agg(
        F.expr("approx_count_distinct(handled) as handled"), F.expr("approx_count_distinct(taken) as taken")
    )


def handled(events: DataFrame, deliveries: DataFrame, roots: Collection[int]) -> DataFrame:
    """The tuples of some roots, with their edge as `value` and how often a component acked and failed each: HANDLED."""
    linked = events.where(f"kind = {_LINKED} and root in ({', '.join(f'{root}L' for root in roots)})")
    return (
        linked.select(*DELIVERY, "root", "value")
        .distinct()
        .join(deliveries.select(*DELIVERY, "acked", "failed"), [*DELIVERY])
        .select("run", "root", "component", "task", "delivery", "value", "acked", "failed")
    )
