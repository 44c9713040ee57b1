"""Roots that are not plain, told by windows: one sort, and running sums over a root's messages in order.

Within one life the first prefix that has an INIT and XORs to zero (or has a FAIL) is the only possible end;
after it only a further INIT could end anything.  So the messages of a root up to there are its first life, and
the rest its second, which stays an orphan.  Where that is not so, the root is `odd`, and `fold` replays it:

- an INIT comes after the first end: the root was used again
- it was longer than the rotations take to forget
- JStorm, Heron: a FAIL, which means nothing where there is no entry; Heron: an INIT that was not the first
"""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.rotations import ACKER, expiry
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, ROOT_KEY
from ackdoctor.spark.versions import Engine, Version

__all__ = ["MOST_FOLDED", "entries", "ordered"]

MOST_FOLDED = 50_000  # messages of a root; all of them are in memory at once when it is folded

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)
_FOREVER = (1 << 63) - 1


def ordered(messages: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """The messages, each with its `segment`, whether it `ends` a life, and whether its root is `odd`.

    `place` orders the messages of a root: `pos`, or the time where several processes saw them.
    """
    root, kind = Window.partitionBy(*ROOT_KEY), F.col("kind")
    seen = messages.select(
        "*",
        (F.min("source").over(root) != F.max("source").over(root)).alias("mixed"),
        F.count(F.lit(1)).over(root).alias("size"),
    )
    placed = seen.select(
        "*",
        F.when(F.col("mixed"), F.col("time_ns")).otherwise(F.col("pos")).alias("place"),
        F.when(~F.col("mixed"), F.col("source")).alias("clock"),
    )
    so_far = root.orderBy("place", "source", "pos").rowsBetween(Window.unboundedPreceding, 0)
    running = placed.select(
        "*",
        F.bit_xor(F.when(kind <= _ACK, F.col("value")).otherwise(0)).over(so_far).alias("left"),
        F.max(kind == _INIT).over(so_far).alias("begun"),
        F.max(kind == _FAIL).over(so_far).alias("given_up"),
        F.first("kind").over(so_far).alias("first_kind"),
    )
    ended = running.select("*", _ends(version.engine).alias("ends"))
    cut = ended.select(
        "*",
        F.coalesce(F.max("ends").over(so_far.rowsBetween(Window.unboundedPreceding, -1)), F.lit(False)).alias(
            "after"
        ),
    )
    ticks = F.broadcast(rotations.select(*ACKER, "calm_pos", "calm_ns"))
    doubtful = _doubtful(version.engine, root)
    told = cut.select("*", doubtful.alias("doubtful"), *_spans(root)).join(ticks, [*ACKER], "left")
    long = (F.col("span_ns") > F.coalesce("calm_ns", F.lit(_FOREVER))) | (
        ~F.col("mixed") & (F.col("span_pos") > F.coalesce("calm_pos", F.lit(_FOREVER)))
    )
    doubt = F.col("doubtful") | long
    return told.select(
        *ROOT_KEY,
        *(
            "kind",
            "value",
            "spout_task",
            "source",
            "pos",
            "time_ns",
            "mixed",
            "place",
            "clock",
            "ends",
            "after",
        ),
        (doubt & (F.col("size") <= MOST_FOLDED)).alias("odd"),
        (doubt | F.col("mixed")).alias("estimated"),
    )


def _ends(engine: Engine) -> Column:
    """Whether a life may end with a message, if it has not ended before."""
    zero = F.col("left") == 0
    if engine is Engine.HERON:
        return F.col("begun") & zero & (F.col("kind") == _ACK)
    return F.col("begun") & (zero | F.col("given_up"))


def _doubtful(engine: Engine, root: WindowSpec) -> Column:
    """Whether more could happen to a root than its first end; the same for all its messages."""
    again = F.max(F.col("after") & (F.col("kind") == _INIT)).over(root)
    failed = F.max(F.col("kind") == _FAIL).over(root)
    match engine:
        case Engine.CLOJURE | Engine.JAVA:
            return again
        case Engine.JSTORM:
            return again | failed
        case Engine.HERON:
            lone = (F.col("first_kind") == _INIT) & (F.count_if(F.col("kind") == _INIT).over(root) == 1)
            return F.max(~lone).over(root) | failed


def _spans(root: WindowSpec) -> list[Column]:
    return [
        (F.max(name).over(root) - F.min(name).over(root)).alias(alias)
        for name, alias in (("pos", "span_pos"), ("time_ns", "span_ns"))
    ]


def entries(told: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """ENTRIES of the roots that are not odd."""
    kind, place = F.col("kind"), F.col("place")
    init = kind == _INIT
    kept = told.where(~F.col("odd"))
    if version.engine is Engine.HERON:  # what comes after the end meets no entry, and makes none
        kept = kept.where(~F.col("after"))
    again = kind >= _FAIL
    lives = kept.groupBy(*ROOT_KEY, "after").agg(
        F.max(F.col("ends") & ~F.col("after")).alias("ended"),
        F.count(F.lit(1)).alias("n"),
        F.count_if(init).alias("n_init"),
        F.count_if(kind == _ACK).alias("n_ack"),
        F.count_if(kind == _FAIL).alias("n_fail"),
        F.count_if(kind == _RESET).alias("n_reset"),
        F.bit_xor(F.when(kind <= _ACK, F.col("value"))).alias("total"),
        F.max_by(F.when(init, F.col("spout_task")), F.when(init, place)).alias("spout_task"),
        F.min(place).alias("first_pos"),
        F.max(place).alias("last_pos"),
        F.max(F.when(again, place)).alias("again_pos"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
        F.max(F.when(again, F.col("time_ns"))).alias("again_ns"),
        F.min(F.when(init, F.col("time_ns"))).alias("init_ns"),
        F.max("clock").alias("clock"),
        F.max("estimated").alias("estimated"),
    )
    return _settled(lives, rotations, version)


def _settled(lives: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """What became of each life: what did not end by itself was dropped by a later tick, or is left."""
    value = F.col("total")
    if version.engine is Engine.JAVA:
        value = F.coalesce(value, F.lit(0))
    put_pos, put_ns = F.col("first_pos"), F.col("first_ns")
    if version.engine is Engine.CLOJURE:
        put_pos, put_ns = F.col("last_pos"), F.col("last_ns")
    elif version.engine is Engine.JAVA:
        put_pos, put_ns = F.greatest("first_pos", "again_pos"), F.greatest("first_ns", "again_ns")
    dropped = expiry(F.col("ticks"), version.buckets, F.col("clock"), put_pos, put_ns)
    ticks = F.broadcast(rotations.select(*ACKER, "ticks"))
    told = lives.join(ticks, [*ACKER], "left").select(
        "*", value.alias("value"), F.when(~F.col("ended"), dropped).alias("tick")
    )
    ended, expired = F.col("ended"), F.col("tick").isNotNull()
    outcome = (
        F.when(ended & (F.col("value") == 0), "acked")
        .when(ended, "failed")
        .when(expired, "expired")
        .otherwise("pending")
    )
    if version.engine is Engine.HERON:
        told = told.where(F.col("n_init") > 0)
    return (
        told.select(
            *ROOT_KEY,
            F.col("after").cast("int").alias("after"),
            F.lit(False).alias("sole"),
            outcome.alias("outcome"),
            "value",
            "spout_task",
            (F.col("n_fail") > 0).alias("failed"),
            *("n", "n_init", "n_ack", "n_fail", "n_reset", "first_pos", "last_pos"),
            F.when(ended, F.col("last_pos")).otherwise(F.col("tick.pos")).alias("end_pos"),
            *("first_ns", "init_ns", "last_ns"),
            F.when(ended, F.col("last_ns")).otherwise(F.col("tick.ns")).alias("end_ns"),
            F.when(F.col("estimated"), ESTIMATED).otherwise(EXACT).alias("order"),
        )
        .withColumn("life", F.col("after") + 1)
        .select(*ENTRIES.names)
    )
