"""What is certain so far of a trace that grows: how far each process was read, its roots, and its deliveries.

The clock of a watch is that of the trace.  The rows of one process come in their order, those of several
in any; so a run is known in full up to the process that was read least far, its frontier.  A process that was
silent for longer than a part takes to be written is not waited for: its later rows are late.

Roots are replayed over what is still open:

    carry of the last batch + new messages ──> entries ──> JUDGED, a row for each entry ─> reported, once
                                                              └──> carry for the next batch

An entry is reported at most once, at the first batch that proves it:

    never-zero   its acker has dropped it by rotation, or its spout has timed it out, and it was begun and not
                 complete by then: later rows cannot give this entry an ack
    over-acked   an ACK has created a new entry for a root whose last entry was complete

Both stay true, as long as the rows of a process come in their order: an acker looks only at what came
before.  If several processes write a run, what is reported must lie before its frontier.  A root is carried with all its
messages while one of its entries is open; a completed one is carried as a single COMPLETED row, until it is forgotten.

A delivery is carried as one row with its counts and its first two completions, until it has had no row for so long that
it is forgotten.  That it was completed twice is certain at once, in any order of the rows.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import NEWEST, AckerVersion
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.deliveries import DELIVERY_KEY, is_tick
from ackdoctor.spark.replay import replay_all, schedule_ms
from ackdoctor.spark.schema import CARRIED, COMPLETION, DONE, MESSAGES, ROOT_KEY
from ackdoctor.spark.session import expressions, literal_table

NEVER_ZERO, OVER_ACKED, ACKED_TWICE = "never-zero", "over-acked", "acked-twice"

_MAX_LONG = (1 << 63) - 1
_SECOND, _MS = 1_000_000_000, 1_000_000
_ROTATED, _TIMED_OUT, _COMPLETED = int(EventKind.ROTATED), int(EventKind.TIMED_OUT), int(EventKind.COMPLETED)
_RECEIVED, _LINKED = int(EventKind.RECEIVED), int(EventKind.LINKED)
_ACKED, _FAILED = int(EventKind.ACKED), int(EventKind.FAILED)
_FIRST = 2  # completions
_KEY = list(ROOT_KEY)
_OF_ENTRY = (
    *("nth", "outcome", "value", "spout_task", "n", "n_init", "n_ack"),
    *("first_ns", "last_ns", "end_ns", "order"),
)
TWICE = "done > greatest(received, 1)"  # whether a delivery was completed more often than received


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class WatchRequest:
    """The acker's version and timeout, as for `analyze`, and for how many seconds what happened is remembered."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None
    remember_s: int = 300  # without rows, after which a settled root or delivery is forgotten
    patience_s: int = 10  # how far a process may be behind its run: it writes a part every 5 s


# ---- the clock ----


def read_so_far(events: DataFrame) -> DataFrame:
    """Return by process: its rows, their times, and the times of those that concern an acker."""
    message = f"kind between {int(EventKind.INIT)} and {_ROTATED} or kind = {_TIMED_OUT}"
    figures = {
        "rows": "count(*)",
        "first_ns": "min(time_ns)",
        "last_ns": "max(time_ns)",
        "begin_ns": f"min(if({message}, time_ns, null))",
        "end_ns": f"max(if({message}, time_ns, null))",
        "missing": f"sum(if(kind = {int(EventKind.DROPPED)}, value, 0))",
    }
    grouped = events.groupBy("run", "worker", "pid")
    return grouped.agg(*expressions(figures))


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
        frontiers = {name: min(run.frontier_ns, run.now_ns) for name, run in self.runs.items()}
        before = {name: set(run.processes) for name, run in self.runs.items()}
        for row in rows:
            name = f"{row['worker']}/{row['pid']}"
            sole = before.get(row["run"]) == {name}
            self.late += row["first_ns"] < frontiers.get(row["run"], 0) and not sole
            self.rows += row["rows"]
            self.missing += row["missing"]
            run = self.runs.setdefault(row["run"], Run(patience_ns=patience_s * _SECOND))
            run.processes[name] = max(row["last_ns"], run.processes.get(name, row["last_ns"]))
            if row["begin_ns"] is not None:
                run.begin_ns = min(_known(run.begin_ns, row["begin_ns"]))
                run.end_ns = max(_known(run.end_ns, row["end_ns"]))
                run.oldest_ns = min(_known(run.oldest_ns, row["begin_ns"]))

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


# ---- roots ----


def replayed_entries(
    rows: DataFrame, request: WatchRequest, bounds: Mapping[str, tuple[int, int]] | None = None
) -> DataFrame:
    """Return the ENTRIES of CARRIED; `bounds` are the times by run that a schedule covers."""
    plain = rows.where(F.col("kind") != _COMPLETED).select(*MESSAGES.names)
    if bounds:
        columns = "run: string, acker: int, incarnation: int, root: bigint, kind: tinyint, time_ns: bigint"
        marks = [
            {"run": run, "acker": 0, "incarnation": 0, "root": 0, "kind": _ROTATED, "time_ns": time}
            for run, span in bounds.items()
            for time in span
        ]
        marked = literal_table(rows.sparkSession, columns, marks)
        plain = plain.unionByName(marked, allowMissingColumns=True)
    return replay_all(plain, request.version, message_timeout_s=request.message_timeout_s)


def judged(rows: DataFrame, entries: DataFrame, frontiers: Mapping[str, tuple[int, int]]) -> DataFrame:
    """Return JUDGED: one row for each entry, and one for a root without any.

    `what` names the new fact, null if there is none; `reported` is for the next batch; `keep` says whether to carry the root's
    messages, `completed_ns` since when to remember that it was completed.  `frontiers` is `Clock.ends`: everything before
    `frontier_ns` is known, and what is settled before `oldest_ns` is forgotten.
    """
    figures = {
        "reported": "max(reported)",
        "latest_ns": f"max(if(kind != {_COMPLETED}, time_ns, null))",
        "completed_ns": f"max(if(kind = {_COMPLETED}, time_ns, null))",
        "timed": f"array_sort(collect_list(if(kind = {_TIMED_OUT}, time_ns, null)))",
    }
    roots = rows.where(f"kind != {_ROTATED}").groupBy(*ROOT_KEY)
    known = roots.agg(*expressions(figures)).join(
        entries.select(*ROOT_KEY, *_OF_ENTRY, "init_ns"), _KEY, "left"
    )
    ends = (
        {"run": run, "frontier_ns": frontier_ns, "oldest_ns": oldest_ns}
        for run, (frontier_ns, oldest_ns) in frontiers.items()
    )
    columns = "run: string, frontier_ns: bigint, oldest_ns: bigint"
    bounds = literal_table(rows.sparkSession, columns, ends)
    return _with_carry(_with_facts(known.join(F.broadcast(bounds), "run")))


def _with_facts(known: DataFrame) -> DataFrame:
    """Add the `fact` about each entry, `certain_ns` since when, and whether the entry is `settled`."""
    before = F.lag("outcome").over(Window.partitionBy(*ROOT_KEY).orderBy("nth"))
    within = "filter(timed, at -> at >= first_ns and (end_ns is null or at < end_ns))"
    placed = known.select(
        "*",
        F.expr(f"if(n_init > 0, get({within}, 0), null) as timed_ns"),
        F.when(F.col("nth") == 1, F.col("completed_ns").isNotNull())
        .otherwise(before.eqNullSafe("acked"))
        .alias("surplus"),
    )
    ended = placed.selectExpr(
        "*",
        "least(if(n_init > 0 and outcome = 'expired', end_ns, null), timed_ns) as never_ns",
        "surplus and (n_init = 0 or init_ns > first_ns) and n_ack > 0 and first_ns < frontier_ns as extra",
    )
    return ended.selectExpr(
        "*",
        f"case when extra then '{OVER_ACKED}' when never_ns < frontier_ns then '{NEVER_ZERO}' end as fact",
        "if(extra, first_ns, never_ns) as certain_ns",
        "coalesce(outcome != 'pending', false) and coalesce(end_ns < frontier_ns, true) as settled",
    )


def _with_carry(entries: DataFrame) -> DataFrame:
    """Add what is new, and what is carried of the root."""
    root = Window.partitionBy(*ROOT_KEY)
    is_reported = "settled or fact is not null"
    forgotten = f"({is_reported} or n_init = 0) and latest_ns < oldest_ns"
    of_root = {
        "is_open": f"nth is not null and not settled and not ({forgotten})",
        "reached": f"if({is_reported}, nth, null)",
        "newest": "if(nth is not null, struct(nth, outcome, end_ns), null)",
    }
    seen = entries.select(
        "*", *(F.max(F.expr(what)).over(root).alias(name) for name, what in of_root.items())
    )
    keep = "coalesce(is_open or latest_ns >= frontier_ns, false)"
    completed = (
        "case when newest is null then completed_ns when newest.outcome = 'acked' then newest.end_ns end"
    )
    return seen.selectExpr(
        *ROOT_KEY,
        *_OF_ENTRY,
        "timed_ns",
        "certain_ns",
        "if(nth > reported, fact, null) as what",
        "greatest(reported, reached) as reported",
        f"{keep} as keep",
        f"if(not {keep} and {completed} >= oldest_ns, {completed}, null) as completed_ns",
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
    row = {name: name for name in ROOT_KEY} | {
        "kind": str(_COMPLETED),
        "time_ns": "completed_ns",
        "reported": "0",
    }
    over = roots.where("completed_ns is not null").selectExpr(
        *(
            f"cast({row.get(column.name, 'null')} as {column.dataType.simpleString()}) as {column.name}"
            for column in CARRIED.fields
        )
    )
    return again.union(over)


# ---- deliveries ----


def delivery_rows(carried: DataFrame, events: DataFrame) -> DataFrame:
    """Return DONE before it is grouped: what was carried, and a row for each of EVENTS about a delivery."""
    kind = F.col("kind")
    completes = kind.isin(_ACKED, _FAILED)
    new = events.where((completes | kind.isin(_RECEIVED, _LINKED)) & (F.col("delivery") != ""))
    single = new.select(
        *DELIVERY_KEY,
        F.when(kind == _RECEIVED, F.col("stream")).alias("stream"),
        (kind == _RECEIVED).cast("bigint").alias("received"),
        completes.cast("bigint").alias("done"),
        F.when(completes, F.array(F.struct(*COMPLETION.names))).alias("completions"),
        F.when(kind == _LINKED, F.array("root")).alias("roots"),
        ((kind == _RECEIVED) & is_tick()).alias("tick"),
        F.col("time_ns").alias("last_ns"),
        F.lit(False).alias("reported"),
    )
    return carried.union(single).select(*DONE.names)


def done(rows: DataFrame) -> DataFrame:
    """Return DONE: one row for each delivery."""
    figures = {
        "stream": "max(stream)",
        "received": "sum(received)",
        "done": "sum(done)",
        "completions": f"slice(array_sort(flatten(collect_list(completions))), 1, {_FIRST})",
        "roots": "array_sort(array_distinct(flatten(collect_list(roots))))",
        "tick": "max(tick)",
        "last_ns": "max(last_ns)",
        "reported": "max(reported)",
    }
    grouped = rows.groupBy(*DELIVERY_KEY)
    return grouped.agg(*expressions(figures)).select(*DONE.names)


def remembered(found: DataFrame, oldest: Mapping[str, int]) -> DataFrame:
    """Return DONE for the next batch; `oldest` is the time of each run since when deliveries are remembered."""
    since = F.create_map(*(F.lit(part) for item in oldest.items() for part in item))
    kept = found.where(F.col("last_ns") >= since[F.col("run")])
    return kept.withColumn("reported", F.expr(f"reported or {TWICE}")).select(*DONE.names)
