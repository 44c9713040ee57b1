"""DELIVERIES: one row for each tuple that a component received, and how it was completed; and the violations among them.

The id of a delivery is unique only within its ledger: run, worker, process, component, task and test.  Counts
need no order; only what came after the first completion does, and the smallest and largest `seq` show that.

A shape is the order of what was done and where: "received, acked at bolts.py:12, acked at bolts.py:12".  There are
as few shapes as mistakes in the code, however many tuples suffered one.  So one delivery of each shape is judged by the
ledger that judges a test, and the same mistake has the same code, words and fingerprint in a test, a trace and a cluster.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import (
    BARE,
    IN_HAND,
    TICK,
    ComponentTally,
    Event,
    EventKind,
    TracedComponent,
    Violation,
)
from ackdoctor.spark.session import expressions, literal_table
from ackdoctor.spark.tables import Completions
from ackdoctor.tracer.components import STORM, UNOBSERVED, described
from ackdoctor.tracer.ledger import Playback

WorkerProcess: TypeAlias = tuple[str, str, int]  # run, worker, process
Ends: TypeAlias = Mapping[WorkerProcess, int]  # in ns
LEDGER_KEY = ("run", "worker", "pid", "component", "task", "test")
DELIVERY_KEY = (*LEDGER_KEY, "delivery")
_PROCESS = ("run", "worker", "pid")
NO_PROCESS = 0  # the `pid` of a worker's rows in a log; one less for each of its later processes
QUANTILE_COLUMNS = ("took[0] as p50_ms", "took[1] as p90_ms", "took[2] as p99_ms", "took[3] as max_ms")

_RECEIVED, _EMITTED, _ANCHORED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.ANCHORED)
_ACKED, _FAILED, _DROPPED = int(EventKind.ACKED), int(EventKind.FAILED), int(EventKind.DROPPED)
_NAMED = int(EventKind.NAMED)
_TOUCHES = (_RECEIVED, _EMITTED, _ANCHORED, _ACKED, _FAILED)
_HIDES = f"(kind = {_NAMED} and contains(note, '{UNOBSERVED}'))"  # a test mocks the component's transport
_TICK = f"(flags & {TICK}) != 0"
_SHARES, _ACCURACY = [0.5, 0.9, 0.99, 1.0], 1000
_SECOND = 1_000_000_000
_SLOW = 4  # a component is slow that has held a tuple for longer than this part of the patience
_FEWEST_LATER, _TIMES_AHEAD = 5, 4  # later tuples that a bolt completed, compared with how many it did before


def is_tick() -> Column:
    """Return whether a row is about a tick tuple."""
    return F.expr(_TICK)


def quantiles(took: Column) -> Column:
    """Return the `took` of which QUANTILE_COLUMNS are the parts."""
    return F.percentile_approx(took, _SHARES, _ACCURACY).alias("took")


def worker_process(row: Row) -> WorkerProcess:
    """Return the process that a row names."""
    return row["run"], row["worker"], row["pid"]


def deliveries(events: DataFrame) -> DataFrame:
    """Return DELIVERIES; `seq` orders the rows of one process only."""
    received, completes = f"kind = {_RECEIVED}", f"kind in ({_ACKED}, {_FAILED})"
    emits = f"kind in ({_EMITTED}, {_ANCHORED})"
    figures = {
        "received": f"count_if({received})",
        "acked": f"count_if(kind = {_ACKED})",
        "failed": f"count_if(kind = {_FAILED})",
        "anchored": f"count_if({emits})",
        "tick": f"max(if({received}, cast({_TICK} as tinyint), null))",
        "threaded": "max(cast(thread != '' as tinyint))",
        "first_seq": "min(seq)",
        "completed_seq": f"min(if({completes}, seq, null))",
        "emitted_seq": f"max(if({emits}, seq, null))",
        "received_ns": f"min(if({received}, time_ns, null))",
        "completed_ns": f"min(if({completes}, time_ns, null))",
        "stream": f"any_value(if({received}, stream, null), true)",
    }
    touches = events.where(F.col("kind").isin(*_TOUCHES) & (F.col("delivery") != ""))
    counted = touches.groupBy(*DELIVERY_KEY).agg(*expressions(figures))
    return counted.where("received > 0 or acked + failed > 0").selectExpr(
        *DELIVERY_KEY,
        "coalesce(stream, '') as stream",
        *("received", "acked", "failed", "anchored"),
        "coalesce(tick, 0) = 1 as tick",
        "threaded = 1 as threaded",
        *("first_seq", "completed_seq"),
        "coalesce(emitted_seq > completed_seq, false) as late",
        *("received_ns", "completed_ns"),
    )


def irregular(found: DataFrame) -> DataFrame:
    """Return the DELIVERIES that are not received once and completed once, on the thread that receives."""
    return found.where("received != 1 or acked + failed != 1 or late or threaded or tick")


def count_events(events: DataFrame) -> DataFrame:
    """Return COUNTS: the rows by component and kind, and the time that they cover."""
    figures = {
        "rows": "count(*)",
        "missing": f"sum(if(kind = {_DROPPED}, value, 0))",
        "begin_ns": "min(time_ns)",
        "end_ns": "max(time_ns)",
        "logged": f"max(pid <= {NO_PROCESS})",
        "hides": f"max({_HIDES})",
        "rooted": "max(root != 0)",
    }
    grouped = events.groupBy("component", "kind", is_tick().alias("tick"))
    return grouped.agg(*expressions(figures))


# ---- deliveries that cannot be judged ----


def deaths(events: DataFrame) -> DataFrame:
    """Return DEATHS: when components ended, and whether that may have been in the middle of a tuple."""
    in_hand = f"(flags & {IN_HAND}) != 0 or startswith(note, 'killed by ') or contains(note, ': ')"
    died = events.where(F.col("kind") == int(EventKind.DIED))
    return died.selectExpr(*LEDGER_KEY, "note", f"{in_hand} as in_hand", "time_ns").orderBy(
        "time_ns", *LEDGER_KEY
    )


def without_dead(found: DataFrame, deaths: DataFrame) -> DataFrame:
    """Return the DELIVERIES without those that a component had in hand when it died.

    For a component that buffers its tuples these are all after the last that it worked on.  The tracer's `Playback` does
    the same for one process; it also knows whose batch a tick ends, which counts as buffering here.
    """
    dead = deaths.where("in_hand").select(*LEDGER_KEY).distinct()
    marked = _marked(found, dead, LEDGER_KEY, "dead")
    last = _mark_last(marked, buffered="first_seq > reached_seq", other="first_seq = last_seq")
    return last.where("not in_hand").select(*found.columns)


def without_unobserved(found: DataFrame, events: DataFrame) -> DataFrame:
    """Return the DELIVERIES without the uncompleted ones of components whose completions a mock hid."""
    hid = events.where(_HIDES).select(*LEDGER_KEY).distinct()
    return (
        _marked(found, hid, LEDGER_KEY, "hid").where("not hid or acked + failed > 0").select(*found.columns)
    )


def without_waiting(found: DataFrame, events: DataFrame) -> DataFrame:
    """Return the DELIVERIES without those that waited for a batch of the framework when the run ended."""
    waiting = events.where(F.col("kind") == int(EventKind.WAITS)).select(*DELIVERY_KEY).distinct()
    marked = found.join(waiting.withColumn("waits", F.lit(True)), [*DELIVERY_KEY], "left")
    return marked.where("waits is null or acked + failed > 0").select(*found.columns)


def _marked(found: DataFrame, few: DataFrame, key: Sequence[str], name: str) -> DataFrame:
    """Add whether the key of a row is among a few."""
    joined = found.join(F.broadcast(few.withColumn(name, F.lit(True))), [*key], "left")
    return joined.selectExpr(*found.columns, f"coalesce({name}, false) as {name}")


def last_rows(events: DataFrame) -> DataFrame:
    """Return the time of the last row of each process of a worker in a log."""
    logged = events.where(f"pid <= {NO_PROCESS}")
    return logged.groupBy(*_PROCESS).agg(F.max_by("time_ns", "seq").alias("end_ns"))  # the clock may go back


def mark_in_hand(found: DataFrame, ends: Ends, patience_s: int) -> DataFrame:
    """Add to DELIVERIES whether a component had each `in_hand` where its log `ends`, for less than the patience.

    A component that buffers its tuples may be about to complete any of them, and another one those that came after the
    last that it completed.  The patience of a component that held others longer, and completed them, is that time; a slow
    one may complete what it has held for no longer than others.
    """
    rows = ({**dict(zip(_PROCESS, whose, strict=True)), "end_ns": end_ns} for whose, end_ns in ends.items())
    log_ends = literal_table(
        found.sparkSession, "run: string, worker: string, pid: int, end_ns: bigint", rows
    )
    holds = found.groupBy("component").agg(F.expr("max(completed_ns - received_ns) as hold_ns"))
    placed = found.join(F.broadcast(log_ends), [*_PROCESS], "left").join(
        F.broadcast(holds), ["component"], "left"
    )
    patience_ns = patience_s * _SECOND
    patience = f"greatest({patience_ns}L, coalesce(hold_ns, 0L))"
    open_ = "received > 0 and acked + failed = 0"
    slow = f"hold_ns > {patience_ns // _SLOW}L and received_ns > end_ns - hold_ns and {open_}"
    marked = placed.selectExpr(
        *found.columns,
        f"coalesce(pid <= {NO_PROCESS} and received_ns > end_ns - {patience}, false) as dead",
        f"coalesce({slow}, false) as slow",
    )
    lossy = marked.where(f"not dead and {open_} and not tick").select("component").distinct()
    after_done = "coalesce(first_seq > done_seq, true)"
    last = _unmark_skipped(_mark_last(marked.where("dead"), buffered="true", other=after_done), lossy)
    last = last.withColumn("in_hand", F.expr("in_hand or slow"))
    rest = marked.where("not dead").withColumn("in_hand", F.lit(False))
    return rest.unionByName(last).drop("dead", "slow")


def _unmark_skipped(marked: DataFrame, lossy: DataFrame) -> DataFrame:
    """Unmark tuples that a `lossy` component skipped: it has let others lie for longer than the patience.

    A tuple was skipped if far more later tuples were completed than ever were before one that the component did complete.
    """
    ledger = Window.partitionBy(*LEDGER_KEY, F.col("received") > 0)
    so_far = Window.unboundedPreceding, Window.currentRow
    by_arrival, by_completion = (
        ledger.orderBy("first_seq"),
        ledger.orderBy("completed_seq").rowsBetween(*so_far),
    )
    done = F.expr("cast(acked + failed > 0 as int)")
    later = F.sum(done).over(ledger) - F.sum(done).over(by_arrival.rowsBetween(*so_far))
    placed = marked.select("*", F.row_number().over(by_arrival).alias("place"), later.alias("later"))
    reached = F.max(F.when(done == 1, F.col("place"))).over(by_completion)
    ahead = placed.select("*", F.when(done == 1, reached - F.col("place")).alias("ahead"))
    known = ahead.select("*", F.coalesce(F.max("ahead").over(ledger), F.lit(0)).alias("most_ahead"))
    joined = _marked(known, lossy, ["component"], "lossy")
    skipped = f"lossy and later >= {_FEWEST_LATER} and later > {_TIMES_AHEAD} * most_ahead"
    return joined.withColumn("in_hand", F.expr(f"in_hand and not ({skipped})")).select(*marked.columns)


def _mark_last(found: DataFrame, *, buffered: str, other: str) -> DataFrame:
    """Add whether a `dead` component had each delivery `in_hand`, which is SQL.

    It is `buffered` for a component that buffers its tuples, as one does that completed one after the next had come, and
    else `other`.  Both know the first row of its last delivery, of the last completed and of the last that it worked on.
    """
    ledger = Window.partitionBy(*LEDGER_KEY, F.col("received") > 0)
    done = F.col("acked") + F.col("failed") > 0
    marked = found.select(
        "*",
        F.lead("first_seq").over(ledger.orderBy("first_seq")).alias("next_seq"),
        F.max("first_seq").over(ledger).alias("last_seq"),
        F.max(F.when(done, F.col("first_seq"))).over(ledger).alias("done_seq"),
        F.max(F.when(done | (F.col("anchored") > 0), F.col("first_seq"))).over(ledger).alias("reached_seq"),
    )
    buffers = F.coalesce(F.max(F.col("completed_seq") > F.col("next_seq")).over(ledger), F.lit(False))
    last = f"if(buffers, {buffered}, {other})"
    in_hand = f"dead and acked + failed = 0 and received > 0 and {last}"
    return marked.select("*", buffers.alias("buffers")).selectExpr(
        *found.columns, f"coalesce({in_hand}, true) as in_hand"
    )


# ---- components ----


def open_over_time(found: DataFrame, window_ms: int) -> DataFrame:
    """Return GROWTH of open deliveries, by ledger and window, for a trace without an acker.

    Windows in which nothing changed have no row.
    """
    changes = "struct(received_ns as at, first_seq as seq, 1 as step), struct(completed_ns as at, completed_seq as seq, -1 as step)"
    changed = (
        found.where("received > 0 and not tick")
        .selectExpr("run", f"struct({', '.join(LEDGER_KEY[1:])}) as acker", f"inline(array({changes}))")
        .where("at is not null")
    )
    so_far = Window.partitionBy("run", "acker").orderBy("at", "seq").rowsBetween(Window.unboundedPreceding, 0)
    running = changed.withColumn("pending", F.sum("step").over(so_far))
    end_ms = (F.floor(F.col("at") / (window_ms * 1_000_000)) + 1) * window_ms
    return (
        running.groupBy("run", "acker", end_ms.alias("time_ms"))
        .agg(
            F.max_by("pending", F.struct("at", "seq")).alias("pending"),
            F.lit(0).alias("orphans"),
            F.max("pending").alias("high_water"),
            F.count_if(F.col("step") > 0).alias("started"),
        )
        .orderBy("time_ms", "run", "acker")
    )


def completions(found: DataFrame) -> DataFrame:
    """Return COMPLETIONS: by component and stream, how often deliveries were completed, and how long that took."""
    figures = {
        "delivered": "count(*)",
        "never": "count_if(acked + failed = 0)",
        "once": "count_if(acked + failed = 1)",
        "more": "count_if(acked + failed > 1)",
        "mixed": "count_if(acked > 0 and failed > 0)",
        "acked": "sum(acked)",
        "failed": "sum(failed)",
        "oldest_ns": "min(if(acked + failed = 0, received_ns, null))",
    }
    names = [name for name in figures if name != "oldest_ns"]
    took = (F.col("completed_ns") - F.col("received_ns")) / 1e6
    return (
        found.where("received > 0 and not tick")
        .groupBy("component", "stream")
        .agg(quantiles(took), *expressions(figures))
        .selectExpr("component", "stream", *names, *QUANTILE_COLUMNS, "oldest_ns")
    )


def completion_tables(rows: Iterable[Row], end_ns: int) -> tuple[Completions, ...]:
    """Return COMPLETIONS, those with most violations first."""
    found: list[Completions] = []
    for row in rows:
        known = {name: value for name, value in row.asDict().items() if value is not None}
        oldest_ms = max(0, end_ns - known.pop("oldest_ns", end_ns)) / 1e6
        found.append(Completions(**known, oldest_ms=oldest_ms))
    return tuple(sorted(found, key=lambda one: (-one.more - one.never, one.component, one.stream)))


def component_tallies(
    counted: Iterable[Row],
    done: Iterable[Completions],
    violations: Iterable[Violation],
    dialects: Mapping[str, str],
    peaks: Mapping[tuple[str, Any], int],
) -> tuple[ComponentTally, ...]:
    """Return what every component did; `peaks` are the most open deliveries by run and ledger, of a trace without an acker."""
    figures: defaultdict[str, Counter[str]] = defaultdict(Counter)
    names = {_RECEIVED: "delivered", _EMITTED: "emitted", _ACKED: "acked", _FAILED: "failed"}
    for row in counted:
        if (name := names.get(row["kind"])) is not None:
            figures[row["component"]]["ticks" if row["tick"] and name == "delivered" else name] += row["rows"]
    for one in done:
        own = figures[one.component]
        own["pending"] += one.never
        own["oldest_ms"] = max(own["oldest_ms"], int(one.oldest_ms))
    for violation in violations:
        if violation.traced.name in figures:
            figures[violation.traced.name]["violations"] += violation.count
    for (_, ledger), most in peaks.items():
        if (own_figures := figures.get(ledger["component"])) is not None:
            own_figures["high_water"] = max(own_figures["high_water"], most)
    return tuple(
        ComponentTally(component=name, dialect=dialects.get(name, ""), **own)
        for name, own in sorted(figures.items())
    )


# ---- shapes ----

_MOST_SHAPES = 500  # that are judged; one more is collected, and shows that there are more
_MOST_ROWS = 64  # of a delivery
_ROW = ("seq", "time_ns", "kind", "site", "flags", "thread", "stream")
_PLACE = tuple(name for name in DELIVERY_KEY if name != "component")


def shapes(events: DataFrame, deliveries: DataFrame) -> DataFrame:
    """Return the SHAPES of these DELIVERIES: how many have each, the first of them, and its rows in order."""
    touches = events.where(F.col("kind").isin(*_TOUCHES)).join(
        deliveries.select(*DELIVERY_KEY), [*DELIVERY_KEY], "left_semi"
    )
    rows = touches.groupBy(*DELIVERY_KEY).agg(F.array_sort(F.collect_list(F.struct(*_ROW))).alias("rows"))
    return _by_shape(rows)


def shapes_of_bare_emits(events: DataFrame) -> DataFrame:
    """Return the SHAPES of emits that leave their anchors to the framework: the call alone is the shape."""
    bare = events.where(f"kind = {_EMITTED} and delivery = '' and (flags & {BARE}) != 0")
    return _by_shape(bare.select(*DELIVERY_KEY, F.array(F.struct(*_ROW)).alias("rows")))


def _by_shape(rows: DataFrame) -> DataFrame:
    """Group deliveries by shape; a third call of the same kind makes no other shape than the second.

    The most frequent shape of each component comes first, then the second of each: a component with many shapes hides
    no other.
    """
    traits = F.expr(
        "array_distinct(transform(rows, row -> struct(row.kind, row.site, row.flags, row.thread != '' as threaded)))"
    )
    again = F.least(F.size("rows") - F.size(traits), F.lit(1))
    order = F.struct(F.col("rows")[0]["time_ns"], *_PLACE)
    first = F.struct(*DELIVERY_KEY, F.slice("rows", 1, _MOST_ROWS).alias("rows"))
    most = F.desc("deliveries"), F.col("component"), F.col("delivery")
    turn = F.row_number().over(Window.partitionBy("component").orderBy(*most))
    return (
        rows.groupBy("component", traits.alias("traits"), again.alias("again"))
        .agg(F.count("*").alias("deliveries"), F.min_by(first, order).alias("first"))
        .select("component", "deliveries", *(f"first.{name}" for name in (*_PLACE, "rows")))
        .select("*", turn.alias("turn"))
        .orderBy("turn", *most)
        .limit(_MOST_SHAPES + 1)
        .drop("turn")
    )


def limited(rows: Sequence[Row]) -> tuple[Sequence[Row], bool]:
    """Return the SHAPES to judge, and whether there are more."""
    return rows[:_MOST_SHAPES], len(rows) > _MOST_SHAPES


# ---- violations ----

_SAMPLES = "number: int, run: string, worker: string, pid: int, component: string, task: int, test: string, seqs: array<bigint>, back: boolean"
_OF_LOG = described(TracedComponent(name="", dialect="storm", role=STORM.name, path="", line=0))


def violations(
    session: SparkSession, events: DataFrame, shapes: Sequence[Row], bare: Sequence[Row]
) -> tuple[Violation, ...]:
    """Return the violations in the deliveries with these SHAPES, each mistake once, counted; `bare` emits have no delivery."""
    if not shapes and not bare:
        return ()
    samples = [*shapes, *bare]
    seqs = [
        {name: shape[name] for name in LEDGER_KEY}
        | {"number": number, "seqs": [row["seq"] for row in shape["rows"]], "back": number >= len(shapes)}
        for number, shape in enumerate(samples)
    ]
    near: defaultdict[int, list[Row]] = defaultdict(list)
    for row in _neighbours(events, literal_table(session, _SAMPLES, seqs)).collect():
        near[row["number"]].append(row)
    return tuple(
        violation
        for number, shape in enumerate(samples)
        for violation in _judge(shape, near[number], bare=number >= len(shapes))
    )


def _neighbours(events: DataFrame, samples: DataFrame) -> DataFrame:
    """Return what a sample's rows lack: NAMED of its component, tuples received in between, the last tick.

    `samples` has a number, the ledger, the `seqs` of the sample's rows, and `back` if what came before them matters.
    The result has at most one row for each gap between them.
    """
    near = events.where(F.col("kind").isin(_RECEIVED, _NAMED)).alias("event")
    same = [F.col(f"event.{name}") == F.col(f"sample.{name}") for name in LEDGER_KEY if name != "test"]
    named = F.col("kind") == _NAMED
    gap = F.size(F.filter("seqs", lambda seq: seq < F.col("event.seq")))
    inside = (F.col("event.test") == F.col("sample.test")) & ~F.array_contains("seqs", F.col("event.seq"))
    between = F.when(gap == 0, F.col("back")).otherwise((gap < F.size("seqs")) | is_tick())
    row = F.struct(*(F.col(f"event.{name}").alias(name) for name in (*_ROW, "delivery", "note")))
    return (
        near.join(F.broadcast(samples.alias("sample")), [*same, named | (inside & between)])
        .groupBy(
            "sample.number", "kind", is_tick().alias("tick"), F.when(named, 0).otherwise(gap).alias("gap")
        )
        .agg(F.max_by(row, F.col("event.seq")).alias("row"))
        .select("number", "row.*")
    )


def _judge(shape: Row, near: Sequence[Row], *, bare: bool) -> Iterator[Violation]:
    """Yield the violations of the shape's first delivery alone; its neighbours give the order."""
    ledger = {name: shape[name] for name in LEDGER_KEY}
    playback = Playback()
    if shape["pid"] <= NO_PROCESS and not any(row["kind"] == EventKind.NAMED for row in near):
        playback.feed(_event(ledger, shape["rows"][0], note=_OF_LOG)._replace(kind=EventKind.NAMED))
    events = [_event(ledger, row, delivery=shape["delivery"]) for row in shape["rows"]]
    events += [_event(ledger, row, delivery=row["delivery"], note=row["note"]) for row in near]
    for event in sorted(events, key=lambda event: (event.kind is not EventKind.NAMED, event.seq)):
        playback.feed(event)
    for violation in playback.settle().violations:
        if violation.misuse is Misuse.UNANCHORED if bare else violation.delivery == shape["delivery"]:
            yield replace(violation, count=shape["deliveries"])


def _event(ledger: Mapping[str, Any], row: Row, **more: str) -> Event:
    kind = EventKind(row["kind"])
    return Event(**{**{name: row[name] for name in _ROW}, **ledger, **more, "kind": kind})
