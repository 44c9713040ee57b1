"""MESSAGES that keep coming -> FOUND: the roots of which it is certain by now that they went wrong.

Each batch is replayed with what the batches before it left over: the messages of roots that may still change
or be told of, the rotations since, and of each run when it began and how far its clock has come.  Nothing
here knows how any of it is stored (`spark.stream`).
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import Residue, Verdict
from ackdoctor.spark.rotations import ACKER, MOST_TICKS
from ackdoctor.spark.schema import MESSAGES, ROOT_KEY, VERDICTS
from ackdoctor.spark.trees import Plan, entries
from ackdoctor.spark.verdicts import verdicts
from ackdoctor.spark.versions import NEWEST, Version

__all__ = [
    "CARRIED",
    "FOUND",
    "NEVER_ZERO",
    "ORPHAN",
    "OVER_ACKED",
    "RUNS",
    "LiveTerms",
    "found",
    "judged",
    "kept",
    "runs",
    "taken",
]

NEVER_ZERO = "never-zero"  # its life is over, and its value was never 0
OVER_ACKED = "over-acked"  # acked after it was complete
ORPHAN = "orphan"  # acked, and its spout never told the acker of it while anybody remembered

_GRACE_NS = 10_000_000_000  # a process makes a part every 5 s: what is older has been read
_MARGIN_NS = 60_000_000_000  # a clock that is set back
_STORM_TIMEOUT_S = 30
_MS = 1_000_000
_ROTATED = int(EventKind.ROTATED)
_OF_ROOTS = tuple(map(int, (EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET)))
_KEY = list(ROOT_KEY)

# Of each run: when its first message was sent, the time of its latest one, whether it says when it rotates.
RUNS = StructType(
    [
        StructField("run", StringType()),
        StructField("begin_ms", LongType()),
        StructField("clock_ns", LongType()),
        StructField("ticked", BooleanType()),
    ]
)

# The messages that the next batch needs; `told`: somebody has read of their root.
CARRIED = StructType([*MESSAGES.fields, StructField("told", BooleanType())])

# One row for each root that went wrong.
_FROM_VERDICT = ("value", "surplus", "spout_task", "n", "first_ns", "last_ns")
FOUND = StructType(
    [
        *(MESSAGES[name] for name in ROOT_KEY),
        StructField("what", StringType()),
        StructField("certain_ns", LongType()),  # when it became so, by the run's clock
        *(VERDICTS[name] for name in _FROM_VERDICT),
        StructField("spout", StringType()),
        StructField("last_component", StringType()),  # who sent the last message
        *(StructField(f"last_{name}", MESSAGES[name].dataType) for name in ("task", "site")),
        *(VERDICTS[name] for name in ("order", "culprits")),
    ]
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class LiveTerms:
    """On what terms a root's life is over; without a timeout the trace's own rotations say so.

    A run that records none is given Storm's own 30 s.
    """

    version: Version = NEWEST
    message_timeout_s: int | None = None

    @property
    def life_ns(self) -> int:
        """How long an entry lives at most after its last message."""
        timeout_s = self.message_timeout_s or _STORM_TIMEOUT_S
        schedule = self.version.schedule_ms(timeout_s)
        return self.version.buckets * (schedule[1] if schedule else timeout_s * 1000) * _MS


def runs(before: DataFrame, messages: DataFrame) -> DataFrame:
    """RUNS, after another batch.  A run's begin stays what it was first taken for."""
    seen = messages.groupBy("run").agg(
        F.floor(F.min("time_ns") / _MS).cast("long").alias("begin_ms"),
        F.max("time_ns").alias("clock_ns"),
        F.max(F.col("kind") == _ROTATED).alias("ticked"),
    )
    both = before.select("*", F.lit(0).alias("nr")).union(seen.select("*", F.lit(1).alias("nr")))
    return (
        both.groupBy("run")
        .agg(
            F.min_by("begin_ms", "nr").alias("begin_ms"),
            F.max("clock_ns").alias("clock_ns"),
            F.max("ticked").alias("ticked"),
        )
        .select(*RUNS.names)
    )


def taken(carried: DataFrame, messages: DataFrame, terms: LiveTerms) -> DataFrame:
    """CARRIED: what an acker has to be told now.  With a timeout, the trace's own rotations mean nothing."""
    kinds = _OF_ROOTS if terms.message_timeout_s else (*_OF_ROOTS, _ROTATED)
    new = messages.where(F.col("kind").isin(*kinds)).select("*", F.lit(False).alias("told"))
    return carried.union(new).select(*CARRIED.names)


def judged(rows: DataFrame, told_runs: DataFrame, terms: LiveTerms) -> DataFrame:
    """VERDICTS, each with `what` went wrong if that is certain, since when, and whether to `forget` the root."""
    plain = rows.select(*MESSAGES.names)
    if terms.message_timeout_s:
        plain = plain.union(_ticks(plain, told_runs, terms))
    lives = entries(plain, terms.version, plan=Plan.WINDOWS)
    before = rows.where(F.col("kind") != _ROTATED).groupBy(*ROOT_KEY).agg(F.max("told").alias("told"))
    known = (
        verdicts(lives, plain)
        .join(before, _KEY)
        .join(F.broadcast(told_runs.select("run", "clock_ns", "ticked")), "run")
    )
    clock, ended = F.col("clock_ns"), F.col("end_ns")
    silent = F.col("last_ns") + terms.life_ns <= clock
    overdue = silent & (F.lit(bool(terms.message_timeout_s)) | ~F.col("ticked"))
    over = F.coalesce(ended + _GRACE_NS <= clock, F.lit(False))
    is_open, is_orphan = F.col("verdict") == Verdict.OPEN.name, F.col("verdict") == Verdict.ORPHAN.name
    never = ((F.col("verdict") == Verdict.EXPIRED.name) & over) | (is_open & overdue)
    lone = is_orphan & F.col("residue").isin(Residue.EVEN.name, Residue.ODD.name) & (over | overdue)
    what = F.when(F.col("surplus") > 0, OVER_ACKED).when(never, NEVER_ZERO).when(lone, ORPHAN)
    certain = F.when(F.col("surplus") > 0, F.col("last_ns")).otherwise(
        F.coalesce("end_ns", F.col("last_ns") + terms.life_ns)
    )
    done = F.col("verdict").isin(Verdict.COMPLETE.name, Verdict.FAILED.name) | (is_orphan & (over | overdue))
    settled = F.col("told") | F.col("what").isNotNull() | done
    return known.select("*", what.alias("what"), certain.alias("certain_ns")).select(
        *VERDICTS.names,
        "told",
        "what",
        "certain_ns",
        (settled & (F.col("last_ns") + (terms.life_ns + _GRACE_NS) <= clock)).alias("forget"),
    )


def found(rows: DataFrame, judgement: DataFrame) -> DataFrame:
    """FOUND: of what is certain, what nobody has been told of."""
    new = judgement.where("what is not null and not told")
    init = F.col("kind") == int(EventKind.INIT)
    last = F.struct("time_ns", "pos")
    sent = (
        rows.where(F.col("kind") != _ROTATED)
        .groupBy(*ROOT_KEY)
        .agg(
            F.max(F.when(init, F.col("component"))).alias("spout"),
            *(F.max_by(name, last).alias(f"last_{name}") for name in ("component", "task", "site")),
        )
    )
    return new.join(sent, _KEY).select(*FOUND.names)


def kept(rows: DataFrame, judgement: DataFrame) -> DataFrame:
    """CARRIED for the next batch: what a root that is not forgotten was told, and the rotations since."""
    known = judgement.where("not forget").select(
        *ROOT_KEY, (F.col("told") | F.col("what").isNotNull()).alias("is_told")
    )
    messages = rows.where(F.col("kind") != _ROTATED).join(known, _KEY)
    again = messages.withColumn("told", F.col("is_told")).select(*CARRIED.names)
    oldest = again.groupBy("run").agg(F.min("time_ns").alias("oldest_ns"))
    ticks = rows.where(F.col("kind") == _ROTATED).join(F.broadcast(oldest), "run")
    since = ticks.where(F.col("time_ns") >= F.col("oldest_ns") - _MARGIN_NS)
    return again.union(since.select(*CARRIED.names))


def _ticks(messages: DataFrame, told_runs: DataFrame, terms: LiveTerms) -> DataFrame:
    """MESSAGES: the rotations that the version's schedule has, from the oldest message to the run's clock."""
    schedule = terms.version.schedule_ms(terms.message_timeout_s or _STORM_TIMEOUT_S)
    if schedule is None:
        return messages.where("false")
    first_ms, every_ms = schedule
    ackers = messages.groupBy(*ACKER).agg(F.floor(F.min("time_ns") / _MS).cast("long").alias("oldest_ms"))
    begin = F.col("begin_ms") + first_ms

    def nr_before(time_ms: Column) -> Column:
        return F.floor((time_ms - begin) / every_ms).cast("long")

    low = F.greatest(F.lit(0).cast("long"), nr_before(F.col("oldest_ms")))
    high = nr_before(F.floor(F.col("clock_ns") / _MS).cast("long"))
    steps = F.when(high >= low, F.sequence(low, F.least(high, low + MOST_TICKS)))
    known = ackers.join(F.broadcast(told_runs), "run").select("*", F.explode(steps).alias("nr"))
    tick = {
        "kind": F.lit(_ROTATED).cast("tinyint"),
        "time_ns": (begin + F.col("nr") * every_ms) * _MS,
        **{name: F.col(name) for name in ACKER},
    }
    return known.select(
        *(
            tick.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in MESSAGES.fields
        )
    )
