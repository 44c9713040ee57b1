"""What is certain so far of a trace that grows: how far each process was read, its roots, and its deliveries.

The clock of a watch is that of the trace.  The rows of one process come in their order, those of several
in any; so a run is known in full up to the process that was read least far, its frontier.  A process that was
silent for longer than a part takes to be written is not waited for: its later rows are late.

Roots are replayed over what is still open:

    carry of the last batch + new messages ──> entries ──> JUDGED, a row for each life ──> reported, once
                                                              └──> carry for the next batch

A life of an entry is reported at most once, at the first batch that proves it:

    never-zero   its acker has dropped it by rotation, or its spout has timed it out, and it was begun and not
                 complete by then: later rows cannot give this life an ack
    over-acked   an ACK has created a new entry for a root whose last entry was complete

Both stay true, as long as the rows of a process come in their order: an acker looks only at what came
before.  If several processes write a run, what is reported must lie before its frontier.  A root is carried with all its
messages while one of its lives is open; a completed one is carried as a single COMPLETED row, until it is forgotten.

A delivery is carried as one row with its counts and its first two completions, until it has had no row for so long that
it is forgotten.  That it was completed twice is certain at once, in any order of the rows.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from ackdoctor.model.acker import NEWEST, AckerVersion
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.deliveries import DELIVERY_KEY, is_tick
from ackdoctor.spark.replay import replay_all, schedule_ms
from ackdoctor.spark.schema import EVENTS, MESSAGES, ROOT_KEY

__all__ = [
    "ACKED_TWICE",
    "CARRIED",
    "DONE",
    "NEVER_ZERO",
    "OVER_ACKED",
    "Clock",
    "LiveTerms",
    "Run",
    "carried_roots",
    "completed_twice",
    "delivery_rows",
    "done",
    "judged",
    "read_so_far",
    "remembered",
    "replayed_lives",
    "with_carried",
]


NEVER_ZERO, OVER_ACKED, ACKED_TWICE = "never-zero", "over-acked", "acked-twice"

_MAX_LONG = (1 << 63) - 1
_SECOND, _MS = 1_000_000_000, 1_000_000
_MESSAGES = (
    EventKind.INIT,
    EventKind.ACK,
    EventKind.FAIL,
    EventKind.RESET,
    EventKind.ROTATED,
    EventKind.TIMED_OUT,
)
_ROTATED, _TIMED_OUT, _COMPLETED = int(EventKind.ROTATED), int(EventKind.TIMED_OUT), int(EventKind.COMPLETED)
_RECEIVED, _LINKED = int(EventKind.RECEIVED), int(EventKind.LINKED)
_ACKED, _FAILED = int(EventKind.ACKED), int(EventKind.FAILED)
_OF_DELIVERIES = (_RECEIVED, _LINKED, _ACKED, _FAILED)
_FIRST = 2  # completions
_KEY = list(ROOT_KEY)

# MESSAGES of roots that are still open; `reported`: how many lives of the root were reported or need no report.
CARRIED = StructType([*MESSAGES.fields, StructField("reported", IntegerType())])

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
    """The acker's version and timeout, as for `analyze`, and for how many seconds what happened is remembered."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None
    remember_s: int = 300  # without rows, after which a settled root or delivery is forgotten
    patience_s: int = 10  # how far a process may be behind its run: it writes a part every 5 s


_COMPLETION = StructType(
    [
        StructField("seq", LongType()),
        StructField("kind", ByteType()),
        StructField("time_ns", LongType()),
        StructField("site", StringType()),
        StructField("flags", ByteType()),
    ]
)

# One row for each delivery; `reported` once its second completion was reported.
DONE = StructType(
    [
        *(EVENTS[name] for name in DELIVERY_KEY),
        StructField("stream", StringType()),
        StructField("received", LongType()),
        StructField("done", LongType()),
        StructField("completions", ArrayType(_COMPLETION)),
        StructField("roots", ArrayType(LongType())),
        StructField("tick", BooleanType()),
        StructField("last_ns", LongType()),
        StructField("reported", BooleanType()),
    ]
)


# ---- the clock ----


def read_so_far(events: DataFrame) -> DataFrame:
    """Return by process: its rows, their times, and the times of those that concern an acker."""
    message = F.col("kind").isin(*map(int, _MESSAGES))
    at = F.when(message, F.col("time_ns"))
    return events.groupBy("run", "worker", "pid").agg(
        F.count("*").alias("rows"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
        F.min(at).alias("begin_ns"),
        F.max(at).alias("end_ns"),
        F.sum(F.when(F.col("kind") == int(EventKind.DROPPED), F.col("value")).otherwise(0)).alias("missing"),
    )


@dataclass(slots=True, kw_only=True)
class Run:
    """One run: the latest row of each process; the first and the last message to an acker, and the oldest that is kept."""

    processes: dict[str, int] = field(default_factory=dict)
    begin_ns: int | None = None
    end_ns: int | None = None
    oldest_ns: int | None = None  # of the carried messages
    open: int = 0  # roots that are carried with their messages
    patience_ns: int = 0  # how far a process may be behind

    @property
    def needed_ns(self) -> int:
        """Earlier rotations have no effect any more."""
        return min(_known(self.oldest_ns, self.frontier_ns))

    @property
    def now_ns(self) -> int:
        """The latest row."""
        return max(self.processes.values())

    @property
    def frontier_ns(self) -> int:
        """Everything before this time is known."""
        if len(self.processes) == 1:
            return _MAX_LONG
        return max(min(self.processes.values()), self.now_ns - self.patience_ns)


@dataclass(slots=True, kw_only=True)
class Clock:
    """All runs; `late` counts how often rows came after their run's frontier had passed them."""

    runs: dict[str, Run] = field(default_factory=dict)
    rows: int = 0
    missing: int = 0
    late: int = 0

    def advance(self, rows: Iterable[Row], patience_s: int) -> None:
        """Advance by the rows of a batch (`read_so_far`)."""
        read = list(rows)
        frontiers = {name: min(run.frontier_ns, run.now_ns) for name, run in self.runs.items()}
        for row in read:
            self.late += row["first_ns"] < frontiers.get(row["run"], 0) and not self._sole(row)
            self.rows += row["rows"]
            self.missing += row["missing"]
        for row in read:
            run = self.runs.setdefault(row["run"], Run(patience_ns=patience_s * _SECOND))
            name = _process(row)
            run.processes[name] = max(row["last_ns"], run.processes.get(name, row["last_ns"]))
            if row["begin_ns"] is not None:
                run.begin_ns = min(_known(run.begin_ns, row["begin_ns"]))
                run.end_ns = max(_known(run.end_ns, row["end_ns"]))
                run.oldest_ns = min(_known(run.oldest_ns, row["begin_ns"]))

    def _sole(self, row: Row) -> bool:
        return set(self.runs[row["run"]].processes) == {_process(row)}

    def ends(self, remember_s: int) -> dict[str, tuple[int, int]]:
        """Return for each run its frontier, and the time before which settled roots are forgotten."""
        return {name: (run.frontier_ns, run.now_ns - remember_s * _SECOND) for name, run in self.runs.items()}

    def bounds_ns(self, version: AckerVersion, message_timeout_s: int) -> dict[str, tuple[int, int]]:
        """Return for each run the time that the schedule covers, without whole periods that have no effect any more."""
        schedule = schedule_ms(version, message_timeout_s)
        if schedule is None:
            return {}
        first_ms, every_ms = schedule
        found: dict[str, tuple[int, int]] = {}
        for name, run in self.runs.items():
            if run.begin_ns is None or run.end_ns is None:
                continue
            begin_ms = run.begin_ns // _MS
            oldest_ms = min(_known(run.oldest_ns, run.end_ns)) // _MS
            over = max(0, (oldest_ms - begin_ms - first_ms) // every_ms)
            found[name] = ((begin_ms + over * every_ms) * _MS, run.end_ns)
        return found

    def to_json(self) -> str:
        """Return the clock as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Clock":
        """Return the clock from its JSON."""
        values: dict[str, Any] = json.loads(text)
        runs: Mapping[str, Any] = values.pop("runs")
        return cls(runs={name: Run(**run) for name, run in runs.items()}, **values)


def _known(*times: int | None) -> list[int]:
    return [time for time in times if time is not None]


def _process(row: Row) -> str:
    return f"{row['worker']}/{row['pid']}"


# ---- roots ----


def with_carried(carried: DataFrame, messages: DataFrame) -> DataFrame:
    """Return CARRIED: what is still open, and the new messages."""
    return carried.union(messages.select("*", F.lit(0).alias("reported"))).select(*CARRIED.names)


def replayed_lives(rows: DataFrame, terms: LiveTerms, bounds: DataFrame | None = None) -> DataFrame:
    """Return the ENTRIES of CARRIED; `bounds` are MESSAGES that only mark the time that a schedule covers."""
    plain = rows.where(F.col("kind") != _COMPLETED).select(*MESSAGES.names)
    if bounds is not None:
        plain = plain.union(bounds)
    return replay_all(plain, terms.version, message_timeout_s=terms.message_timeout_s)


def judged(rows: DataFrame, lives: DataFrame, frontiers: Mapping[str, tuple[int, int]]) -> DataFrame:
    """Return JUDGED: one row for each life, and one for a root without any.

    `what` names the new fact, null if there is none; `reported` is for the next batch; `keep` says whether to carry the root's
    messages, `completed_ns` since when to remember that it was completed.  `frontiers` is `Clock.ends`.
    """
    time = F.col("time_ns")
    roots = (
        rows.where(F.col("kind") != _ROTATED)
        .groupBy(*ROOT_KEY)
        .agg(
            F.max("reported").alias("reported"),
            F.max(F.when(F.col("kind") != _COMPLETED, time)).alias("latest_ns"),
            F.max(F.when(F.col("kind") == _COMPLETED, time)).alias("completed_ns"),
            F.array_sort(F.collect_list(F.when(F.col("kind") == _TIMED_OUT, time))).alias("timed"),
        )
    )
    known = roots.join(lives.select(*ROOT_KEY, *_OF_LIFE, "init_ns"), _KEY, "left")
    bounded = known.join(F.broadcast(_table(rows.sparkSession, frontiers)), "run")
    return _with_carry(_with_facts(bounded))


def _table(session: SparkSession, frontiers: Mapping[str, tuple[int, int]]) -> DataFrame:
    return session.createDataFrame([(run, *ends) for run, ends in frontiers.items()], _FRONTIERS)


def _with_facts(known: DataFrame) -> DataFrame:
    """Add the `fact` about each life, `certain_ns` since when, and whether the life is `settled`."""
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


def _with_carry(lives: DataFrame) -> DataFrame:
    """Add what is new, and what is carried of the root."""
    root = Window.partitionBy(*ROOT_KEY)
    is_reported = F.col("settled") | F.col("fact").isNotNull()
    due = F.col("life").isNotNull() & ~F.col("settled")
    nothing_due = is_reported | (F.col("n_init") == 0)
    silent = F.col("latest_ns") < F.col("oldest_ns")
    last = F.struct("life", "outcome", "end_ns")
    seen = lives.select(
        "*",
        F.max(due & ~(nothing_due & silent)).over(root).alias("is_open"),
        F.max(F.when(is_reported, F.col("life"))).over(root).alias("reached"),
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
        F.when(F.col("life") > F.col("reported"), F.col("fact")).alias("what"),
        F.greatest("reported", "reached").alias("reported"),
        keep.alias("keep"),
        F.when(~keep & (completed >= F.col("oldest_ns")), completed).alias("completed_ns"),
    )


def carried_roots(rows: DataFrame, judgement: DataFrame) -> DataFrame:
    """Return CARRIED for the next batch, without rotations."""
    roots = judgement.groupBy(*ROOT_KEY).agg(
        F.max("reported").alias("reached"),
        F.max("keep").alias("keep"),
        F.max("completed_ns").alias("completed_ns"),
    )
    messages = rows.where(F.col("kind") != _ROTATED).join(roots.where("keep"), _KEY)
    again = messages.withColumn("reported", F.col("reached")).select(*CARRIED.names)
    row = {
        "kind": F.lit(_COMPLETED),
        "time_ns": F.col("completed_ns"),
        "reported": F.lit(0),
        **{name: F.col(name) for name in ROOT_KEY},
    }
    over = roots.where("completed_ns is not null").select(
        *(row.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in CARRIED.fields)
    )
    return again.union(over)


# ---- deliveries ----


def delivery_rows(carried: DataFrame, events: DataFrame) -> DataFrame:
    """Return DONE before it is grouped: what was carried, and a row for each of EVENTS about a delivery."""
    kind = F.col("kind")
    new = events.where(kind.isin(*_OF_DELIVERIES) & (F.col("delivery") != ""))
    completes = kind.isin(_ACKED, _FAILED)
    single = new.select(
        *DELIVERY_KEY,
        F.when(kind == _RECEIVED, F.col("stream")).alias("stream"),
        (kind == _RECEIVED).cast("bigint").alias("received"),
        completes.cast("bigint").alias("done"),
        F.when(completes, F.array(F.struct(*_COMPLETION.names))).alias("completions"),
        F.when(kind == _LINKED, F.array("root")).alias("roots"),
        ((kind == _RECEIVED) & is_tick()).alias("tick"),
        F.col("time_ns").alias("last_ns"),
        F.lit(False).alias("reported"),
    )
    return carried.union(single).select(*DONE.names)


def done(rows: DataFrame) -> DataFrame:
    """Return DONE: one row for each delivery."""
    return (
        rows.groupBy(*DELIVERY_KEY)
        .agg(
            F.max("stream").alias("stream"),
            F.sum("received").alias("received"),
            F.sum("done").alias("done"),
            F.slice(F.array_sort(F.flatten(F.collect_list("completions"))), 1, _FIRST).alias("completions"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("roots")))).alias("roots"),
            F.max("tick").alias("tick"),
            F.max("last_ns").alias("last_ns"),
            F.max("reported").alias("reported"),
        )
        .select(*DONE.names)
    )


def completed_twice(found: DataFrame) -> DataFrame:
    """Return the DONE rows that were completed more often than received, without ticks."""
    return found.where("done > greatest(received, 1) and not tick").select(*DONE.names)


def remembered(found: DataFrame, oldest: Mapping[str, int]) -> DataFrame:
    """Return DONE for the next batch; `oldest` is the time of each run since when deliveries are remembered."""
    since = F.create_map(*(F.lit(part) for item in oldest.items() for part in item))
    reported = F.col("reported") | (F.col("done") > F.greatest("received", F.lit(1)))
    return (
        found.where(F.col("last_ns") >= since[F.col("run")])
        .withColumn("reported", reported)
        .select(*DONE.names)
    )
