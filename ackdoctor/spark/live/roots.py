"""MESSAGES that keep coming -> what is certain of their roots by now: the same replay, over what is still open.

    carry of the last batch + new messages ──> entries ──> JUDGED, a row for each life ──> told, once
                                                              └──> carry for the next batch

A life of an entry is told of at most once, at the first batch that proves it:

    never-zero   its acker has dropped it by rotation, or its spout has timed it out, and it was begun and not
                 complete by then: whatever comes later, the spout has not heard ack of this life
    over-acked   an ACK has made a new entry for a root whose last entry was complete

Both stay true whatever follows, as long as the rows of a process come in their order: an acker's table looks at
nothing but what came before.  Where several processes write a run, what is told must lie before its frontier
(`clock`).  A root is carried with all its messages for as long as one of its lives is open; one
that was completed is carried as a single COMPLETED row, until it is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from ackdoctor.model.acker_versions import NEWEST, AckerVersion
from ackdoctor.model.event import EventKind
from ackdoctor.spark.replay.exact import replay_all
from ackdoctor.spark.schema import MESSAGES, ROOT_KEY

__all__ = ["CARRIED", "NEVER_ZERO", "OVER_ACKED", "LiveTerms", "judged", "kept", "taken"]

NEVER_ZERO = "never-zero"
OVER_ACKED = "over-acked"

_ROTATED, _TIMED_OUT = int(EventKind.ROTATED), int(EventKind.TIMED_OUT)
_COMPLETED, _ACK = int(EventKind.COMPLETED), int(EventKind.ACK)
_KEY = list(ROOT_KEY)

# MESSAGES of roots that are still open; `told`: how many lives of the root need no more telling.
CARRIED = StructType([*MESSAGES.fields, StructField("told", IntegerType())])

# Of each run: everything before `frontier_ns` is known; what is settled before `oldest_ns` is forgotten.
_FRONTIERS = StructType(
    [MESSAGES["run"], StructField("frontier_ns", LongType()), StructField("oldest_ns", LongType())]
)

_OF_LIFE = (
    "life",
    "outcome",
    "value",
    "spout_task",
    "n",
    "n_init",
    "n_ack",
    "first_ns",
    "last_ns",
    "end_ns",
    "order",
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class LiveTerms:
    """Whose acker, rotated when, as for `analyze`; and for how many seconds what has happened is remembered."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None
    remember_s: int = 300  # of silence about a root or delivery of which nothing is due
    patience_s: int = 10  # how far a process may be behind its run: it makes a part every 5 s


def taken(carried: DataFrame, messages: DataFrame) -> DataFrame:
    """CARRIED: what is still open, and what has come."""
    return carried.union(messages.select("*", F.lit(0).alias("told"))).select(*CARRIED.names)


def lives(rows: DataFrame, terms: LiveTerms, bounds: DataFrame | None = None) -> DataFrame:
    """ENTRIES of CARRIED; `bounds` are MESSAGES that only say from when to when the acker's clock has gone, for a schedule."""
    plain = rows.where(F.col("kind") != _COMPLETED).select(*MESSAGES.names)
    if bounds is not None:
        plain = plain.union(bounds)
    return replay_all(plain, terms.version, message_timeout_s=terms.message_timeout_s)


def judged(rows: DataFrame, lives: DataFrame, frontiers: Mapping[str, tuple[int, int]]) -> DataFrame:
    """JUDGED: one row for each life, and one for a root without any.

    `what` it is told of as, null if nothing new; `told` for the next batch; whether to `keep` the root's messages, or
    since when to remember that it was completed.  `frontiers` has of each run before when everything is known, and
    since when anything is remembered.
    """
    time = F.col("time_ns")
    roots = (
        rows.where(F.col("kind") != _ROTATED)
        .groupBy(*ROOT_KEY)
        .agg(
            F.max("told").alias("told"),
            F.max(F.when(F.col("kind") != _COMPLETED, time)).alias("latest_ns"),
            F.max(F.when(F.col("kind") == _COMPLETED, time)).alias("completed_ns"),
            F.array_sort(F.collect_list(F.when(F.col("kind") == _TIMED_OUT, time))).alias("timed"),
        )
    )
    known = roots.join(lives.select(*ROOT_KEY, *_OF_LIFE, "init_ns"), _KEY, "left")
    bounded = known.join(F.broadcast(_table(rows.sparkSession, frontiers)), "run")
    return _kept_for(_told(bounded))


def _table(session: SparkSession, frontiers: Mapping[str, tuple[int, int]]) -> DataFrame:
    return session.createDataFrame([(run, *ends) for run, ends in frontiers.items()], _FRONTIERS)


def _told(known: DataFrame) -> DataFrame:
    """`what` each life is, whatever was told before, `certain_ns` since when, and whether it is `settled`."""
    root = Window.partitionBy(*ROOT_KEY).orderBy("life")
    first, end = F.col("first_ns"), F.col("end_ns")
    begun = F.col("n_init") > 0
    within = F.filter("timed", lambda at: (at >= first) & (end.isNull() | (at < end)))
    before = F.lag("outcome").over(root)
    placed = known.select(
        "*",
        F.when(begun, F.get(within, F.lit(0))).alias("timed_ns"),
        F.when(F.col("life") == 1, F.col("completed_ns").isNotNull())
        .otherwise(before.eqNullSafe("acked"))
        .alias("surplus"),
    )
    frontier = F.col("frontier_ns")
    expired = F.when(begun & (F.col("outcome") == "expired"), end)
    never = F.least(expired, "timed_ns")
    orphaned = ~begun | (F.col("init_ns") > first)
    over = F.col("surplus") & orphaned & (F.col("n_ack") > 0) & (first < frontier)
    ended = F.coalesce(F.col("outcome") != "pending", F.lit(False))
    return placed.select(
        "*",
        F.when(over, OVER_ACKED).when(never < frontier, NEVER_ZERO).alias("fact"),
        F.when(over, first).otherwise(never).alias("certain_ns"),
        (ended & F.coalesce(end < frontier, F.lit(True))).alias("settled"),
    )


def _kept_for(lives: DataFrame) -> DataFrame:
    """What is new, and what becomes of the root."""
    root = Window.partitionBy(*ROOT_KEY)
    is_told = F.col("settled") | F.col("fact").isNotNull()
    due = F.col("life").isNotNull() & ~F.col("settled")
    nothing_due = is_told | (F.col("n_init") == 0)
    silent = F.col("latest_ns") < F.col("oldest_ns")
    last = F.struct("life", "outcome", "end_ns")
    seen = lives.select(
        "*",
        F.max(due & ~(nothing_due & silent)).over(root).alias("is_open"),
        F.max(F.when(is_told, F.col("life"))).over(root).alias("reached"),
        F.max(F.when(F.col("life").isNotNull(), last)).over(root).alias("last"),
    )
    keep = F.coalesce(F.col("is_open") | (F.col("latest_ns") >= F.col("frontier_ns")), F.lit(False))
    completed = F.when(F.col("last").isNull(), F.col("completed_ns")).when(
        F.col("last.outcome") == "acked", F.col("last.end_ns")
    )
    return seen.select(
        *ROOT_KEY,
        *_OF_LIFE,
        "timed_ns",
        "certain_ns",
        F.when(F.col("life") > F.col("told"), F.col("fact")).alias("what"),
        F.greatest("told", "reached").alias("told"),
        keep.alias("keep"),
        F.when(~keep & (completed >= F.col("oldest_ns")), completed).alias("completed_ns"),
    )


def kept(rows: DataFrame, judgement: DataFrame) -> DataFrame:
    """CARRIED for the next batch, without rotations."""
    roots = judgement.groupBy(*ROOT_KEY).agg(
        F.max("told").alias("reached"),
        F.max("keep").alias("keep"),
        F.max("completed_ns").alias("completed_ns"),
    )
    messages = rows.where(F.col("kind") != _ROTATED).join(roots.where("keep"), _KEY)
    again = messages.withColumn("told", F.col("reached")).select(*CARRIED.names)
    row = {
        "kind": F.lit(_COMPLETED),
        "time_ns": F.col("completed_ns"),
        "told": F.lit(0),
        **{name: F.col(name) for name in ROOT_KEY},
    }
    over = roots.where("completed_ns is not null").select(
        *(row.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in CARRIED.fields)
    )
    return again.union(over)
