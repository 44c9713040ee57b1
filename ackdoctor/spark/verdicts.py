"""ENTRIES -> VERDICTS: what became of each root, and who is to blame.

The entry that counts is the last one that did not end by itself: it is left, or a tick dropped it.  An
orphan has the verdict that its spout heard first; without such an entry a fail outweighs a timeout, and
that an ack, as in a replay (`ackdoctor explain`).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import Residue, Verdict
from ackdoctor.spark.schema import CULPRIT, ESTIMATED, EXACT, ROOT_KEY, VERDICTS

__all__ = ["verdicts"]

_KEY = list(ROOT_KEY)
_NO_CULPRITS = VERDICTS["culprits"].dataType.simpleString()


def verdicts(entries: DataFrame, messages: DataFrame) -> DataFrame:
    """One row for each root, with the culprits that the messages name (reference acker 3, law L1)."""
    dropped = messages.where(F.col("kind") == int(EventKind.TIMED_OUT))
    given_up = F.broadcast(dropped.groupBy("run", "root").agg(F.min("time_ns").alias("timed_ns")))
    plain = _plain(entries).join(given_up, ["run", "root"], "left")
    plain = plain.withColumn("verdict", _named(timed=Verdict.EXPIRED))
    others = _judged(_gathered(entries).join(given_up, ["run", "root"], "left"))
    blamed = others.join(F.broadcast(_culprits(others, messages)), _KEY, "left")
    none = F.array().cast(_NO_CULPRITS)
    told = blamed.withColumn("culprits", F.coalesce("culprits", none))
    return plain.withColumn("culprits", none).select(*VERDICTS.names).union(told.select(*VERDICTS.names))


def _named(timed: Verdict) -> Column:
    return F.when(F.col("timed_ns").isNotNull(), timed.name).otherwise(Verdict.COMPLETE.name)


def _plain(entries: DataFrame) -> DataFrame:
    """Roots of which the entry tells all."""
    return entries.where("sole").select(
        *ROOT_KEY,
        F.lit(Residue.NONE.name).alias("residue"),
        F.lit(None).cast("bigint").alias("value"),
        F.lit(None).cast("boolean").alias("tracked"),
        "spout_task",
        F.lit(1).alias("lives"),
        F.lit(0).cast("bigint").alias("surplus"),
        *("n", "first_ns", "init_ns", "last_ns", "end_ns", "order"),
    )


def _gathered(entries: DataFrame) -> DataFrame:
    """The lives of each other root, as one row."""
    outcome, life, begun = F.col("outcome"), F.col("life"), F.col("n_init") > 0
    kept = outcome.isin("expired", "pending")
    heard = outcome.isin("acked", "failed") | ((outcome == "expired") & begun)
    last = F.when(kept, life)

    def of_last(value: Column) -> Column:
        return F.max_by(F.when(kept, value), last)

    return (
        entries.where("not sole")
        .groupBy(*ROOT_KEY)
        .agg(
            F.max(last).alias("left_life"),
            of_last(F.col("value")).alias("value"),
            of_last(begun).alias("tracked"),
            of_last(F.col("failed")).alias("left_failed"),
            of_last(outcome == "expired").alias("expired"),
            of_last(F.col("end_ns")).alias("left_ns"),
            F.min(F.when(outcome == "failed", life)).alias("failed_life"),
            F.max(outcome == "acked").alias("completed"),
            F.min_by(F.when(heard, outcome), F.when(heard, life)).alias("heard"),
            F.min(F.when(heard, F.col("end_ns"))).alias("heard_ns"),
            F.min_by(F.when(begun, F.col("spout_task")), F.when(begun, life)).alias("spout_task"),
            F.max("life").alias("lives"),
            F.sum(F.when(begun, 0).otherwise(F.col("n_ack"))).alias("stray"),
            F.sum("n").alias("n"),
            F.min("first_ns").alias("first_ns"),
            F.min("init_ns").alias("init_ns"),
            F.max("last_ns").alias("last_ns"),
            F.max(F.col("order") == ESTIMATED).alias("estimated"),
        )
    )


def _judged(roots: DataFrame) -> DataFrame:
    left, timed = F.col("left_life").isNotNull(), F.col("timed_ns").isNotNull()
    timed_first = timed & (F.col("heard_ns").isNull() | (F.col("timed_ns") < F.col("heard_ns")))
    of_orphan = (
        F.when(timed_first, Verdict.EXPIRED.name)
        .when(F.col("heard") == "acked", Verdict.COMPLETE.name)
        .when(F.col("heard") == "failed", Verdict.FAILED.name)
        .when(F.col("heard") == "expired", Verdict.EXPIRED.name)
        .otherwise(Verdict.ORPHAN.name)
    )
    of_tracked = F.when(F.col("expired") | timed, Verdict.EXPIRED.name).otherwise(Verdict.OPEN.name)
    without = F.when(F.col("failed_life").isNotNull(), Verdict.FAILED.name).otherwise(_named(Verdict.EXPIRED))
    verdict = F.when(left & F.col("tracked"), of_tracked).when(left, of_orphan).otherwise(without)
    gave_up = F.col("left_failed") | (F.col("failed_life") < F.col("left_life"))
    residue = (
        F.when(~left | (F.col("value").isNull() & ~F.col("left_failed")), Residue.NONE.name)
        .when(gave_up, Residue.FAILED.name)
        .when(F.col("value") != 0, Residue.EVEN.name)
        .otherwise(Residue.ODD.name)
    )
    return roots.select(
        *ROOT_KEY,
        verdict.alias("verdict"),
        residue.alias("residue"),
        *("value", "tracked", "spout_task", "lives"),
        F.when(F.col("completed"), F.col("stray")).otherwise(0).alias("surplus"),
        *("n", "first_ns", "init_ns", "last_ns"),
        F.coalesce(F.least("heard_ns", "timed_ns"), "left_ns").alias("end_ns"),
        F.when(F.col("estimated"), ESTIMATED).otherwise(EXACT).alias("order"),
    )


def _culprits(judged: DataFrame, messages: DataFrame) -> DataFrame:
    """The tuples whose ack carries the value that is left."""
    bad = judged.where(F.col("residue") == Residue.EVEN.name).select(*ROOT_KEY, "value")
    acks = messages.where(F.col("kind") == int(EventKind.ACK))
    guilty = acks.join(F.broadcast(bad), [*ROOT_KEY, "value"]).groupBy(
        *ROOT_KEY, "delivery", "component", "task", "value"
    )
    tuples = guilty.agg(F.count(F.lit(1)).alias("acks"), F.max("site").alias("site"))
    return tuples.groupBy(*ROOT_KEY).agg(
        F.array_sort(F.collect_list(F.struct(*CULPRIT.names))).alias("culprits")
    )
