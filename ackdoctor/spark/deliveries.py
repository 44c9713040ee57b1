"""DELIVERIES: one row for each tuple that a component received, and how it was completed.

The id of a delivery is unique only within its ledger: run, worker, process, component, task and test.  Counts
need no order; only what came after the first completion does, and the smallest and largest `seq` show that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import BARE, IN_HAND, TICK, Event, EventKind, TracedComponent, Violation
from ackdoctor.spark.session import literal_table
from ackdoctor.tracer.components import STORM, UNOBSERVED, described
from ackdoctor.tracer.ledger import Playback

__all__ = [
    "DELIVERY_KEY",
    "LEDGER_KEY",
    "NO_PROCESS",
    "Ends",
    "Life",
    "completions",
    "count_events",
    "count_in_hand",
    "deaths",
    "deliveries",
    "irregular",
    "last_rows",
    "life",
    "limited",
    "mark_in_hand",
    "open_over_time",
    "shapes",
    "shapes_of_bare_emits",
    "violations",
    "without_dead",
    "without_unobserved",
    "without_waiting",
]


Life: TypeAlias = tuple[str, str, int]  # of a worker: run, worker, process
Ends: TypeAlias = Mapping[Life, int]  # in ns
LEDGER_KEY = ("run", "worker", "pid", "component", "task", "test")
DELIVERY_KEY = (*LEDGER_KEY, "delivery")
_LIFE = ("run", "worker", "pid")
NO_PROCESS = 0  # the `pid` of a worker's rows in a log; one less for each of its later lives

_RECEIVED, _EMITTED, _ANCHORED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.ANCHORED)
_ACKED, _FAILED, _DROPPED = int(EventKind.ACKED), int(EventKind.FAILED), int(EventKind.DROPPED)
_ENDS = "run: string, worker: string, pid: int, end_ns: bigint"
_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_ACCURACY = 1000
_SLOW = 4  # a component is slow that has held a tuple for longer than this part of the patience
_FEWEST_LATER, _TIMES_AHEAD = 5, 4  # later tuples that a bolt completed, compared with how many it did before


def is_tick() -> Column:
    """Return whether a row is about a tick tuple."""
    return F.col("flags").bitwiseAND(F.lit(TICK)) != 0


def deliveries(events: DataFrame) -> DataFrame:
    """Return DELIVERIES; `seq` orders the rows of one process only."""
    kind = F.col("kind")
    completes = kind.isin(_ACKED, _FAILED)
    emits = kind.isin(_EMITTED, _ANCHORED)
    return (
        events.where(kind.isin(_RECEIVED, _EMITTED, _ANCHORED, _ACKED, _FAILED) & (F.col("delivery") != ""))
        .groupBy(*DELIVERY_KEY)
        .agg(
            F.count_if(kind == _RECEIVED).alias("received"),
            F.count_if(kind == _ACKED).alias("acked"),
            F.count_if(kind == _FAILED).alias("failed"),
            F.count_if(emits).alias("anchored"),
            F.max(F.when(kind == _RECEIVED, is_tick().cast("tinyint"))).alias("tick"),
            F.max((F.col("thread") != "").cast("tinyint")).alias("threaded"),
            F.min("seq").alias("first_seq"),
            F.min(F.when(completes, F.col("seq"))).alias("completed_seq"),
            F.max(F.when(emits, F.col("seq"))).alias("emitted_seq"),
            F.min(F.when(kind == _RECEIVED, F.col("time_ns"))).alias("received_ns"),
            F.min(F.when(completes, F.col("time_ns"))).alias("completed_ns"),
            F.any_value(F.when(kind == _RECEIVED, F.col("stream")), ignoreNulls=True).alias("stream"),
        )
        .where("received > 0 or acked + failed > 0")
        .select(
            *DELIVERY_KEY,
            F.coalesce("stream", F.lit("")).alias("stream"),
            "received",
            "acked",
            "failed",
            "anchored",
            (F.coalesce("tick", F.lit(0)) == 1).alias("tick"),
            (F.col("threaded") == 1).alias("threaded"),
            "first_seq",
            "completed_seq",
            F.coalesce(F.col("emitted_seq") > F.col("completed_seq"), F.lit(False)).alias("late"),
            "received_ns",
            "completed_ns",
        )
    )


def irregular(found: DataFrame) -> DataFrame:
    """Return the DELIVERIES that are not received once and completed once, on the thread that receives."""
    plain = "received = 1 and acked + failed = 1 and not late and not threaded and not tick"
    return found.where(f"not ({plain})").select(*found.columns)


def deaths(events: DataFrame) -> DataFrame:
    """Return DEATHS: when components ended, and whether that may have been in the middle of a tuple."""
    in_hand = F.col("flags").bitwiseAND(F.lit(IN_HAND)) != 0
    killed = F.col("note").startswith("killed by ") | F.col("note").contains(": ")
    died = events.where(F.col("kind") == int(EventKind.DIED))
    return died.select(*LEDGER_KEY, "note", (in_hand | killed).alias("in_hand"), "time_ns").orderBy(
        "time_ns", *LEDGER_KEY
    )


def without_dead(found: DataFrame, deaths: DataFrame) -> DataFrame:
    """Return the DELIVERIES without those that a component had in hand when it died.

    For a component that buffers its tuples these are all after the last that it worked on.  The tracer's `Playback` does
    the same for one process; it also knows whose batch a tick ends, which counts as buffering here.
    """
    dead = F.broadcast(deaths.where("in_hand").select(*LEDGER_KEY).distinct().withColumn("dead", F.lit(True)))
    marked = found.join(dead, [*LEDGER_KEY], "left").select(
        *found.columns, F.coalesce("dead", F.lit(False)).alias("dead")
    )
    return _mark_last(marked, buffered="first_seq > reached_seq").where("not in_hand").select(*found.columns)


def without_unobserved(found: DataFrame, events: DataFrame) -> DataFrame:
    """Return the DELIVERIES without the uncompleted ones of components whose completions a mock hid."""
    hid = events.where(_hides_completions()).select(*LEDGER_KEY).distinct().withColumn("hid", F.lit(True))
    marked = found.join(F.broadcast(hid), [*LEDGER_KEY], "left")
    return marked.where("hid is null or acked + failed > 0").select(*found.columns)


def without_waiting(found: DataFrame, events: DataFrame) -> DataFrame:
    """Return the DELIVERIES without those that waited for a batch of the framework when the run ended."""
    waiting = events.where(F.col("kind") == int(EventKind.WAITS)).select(*DELIVERY_KEY).distinct()
    marked = found.join(waiting.withColumn("waits", F.lit(True)), [*DELIVERY_KEY], "left")
    return marked.where("waits is null or acked + failed > 0").select(*found.columns)


def _hides_completions() -> Column:
    """Return whether a row says that a test mocks the component's transport."""
    return (F.col("kind") == int(EventKind.NAMED)) & F.col("note").contains(UNOBSERVED)


def last_rows(events: DataFrame) -> DataFrame:
    """Return the time of the last row of each life of a worker in a log."""
    logged = events.where(f"pid <= {NO_PROCESS}")
    last = F.max_by("time_ns", "seq")  # the clock may go back
    return logged.groupBy(*_LIFE).agg(last.alias("end_ns"))


def life(row: Row) -> Life:
    """Return the life that a row names."""
    return row["run"], row["worker"], row["pid"]


def mark_in_hand(found: DataFrame, ends: Ends, patience_s: int) -> DataFrame:
    """Add to DELIVERIES whether a component had each `in_hand` where its log `ends`, for less than the patience.

    A component that buffers its tuples may be about to complete any of them.  The patience of a component that held others
    longer, and completed them, is that time; a slow one may complete what it has held for no longer than others.
    """
    rows = ({**dict(zip(_LIFE, whose, strict=True)), "end_ns": end_ns} for whose, end_ns in ends.items())
    log_ends = literal_table(found.sparkSession, _ENDS, rows)
    holds = found.groupBy("component").agg(F.expr("max(completed_ns - received_ns) as hold_ns"))
    patience = f"greatest({patience_s * 1_000_000_000}L, coalesce(hold_ns, 0L))"
    young = f"pid <= {NO_PROCESS} and received_ns > end_ns - {patience}"
    placed = found.join(F.broadcast(log_ends), [*_LIFE], "left").join(
        F.broadcast(holds), ["component"], "left"
    )
    slow = f"hold_ns > {patience_s * 1_000_000_000 // _SLOW}L and received_ns > end_ns - hold_ns"
    open_ = "received > 0 and acked + failed = 0"
    marked = placed.select(
        *found.columns,
        F.expr(f"coalesce({young}, false)").alias("dead"),
        F.expr(f"coalesce({slow} and {open_}, false)").alias("slow"),
    )
    lossy = marked.where("not dead and received > 0 and acked + failed = 0 and not tick").select("component")
    last = _unmark_skipped(_mark_last(marked.where("dead"), buffered="true"), lossy)
    last = last.withColumn("in_hand", F.expr("in_hand or slow"))
    rest = marked.where("not dead").withColumn("in_hand", F.lit(False))
    return rest.unionByName(last).drop("dead", "slow")


def _unmark_skipped(marked: DataFrame, lossy: DataFrame) -> DataFrame:
    """Unmark tuples that a `lossy` component skipped: it has let others lie for longer than the patience.

    A tuple was skipped if far more later tuples were completed than ever were before one that the component did complete.
    """
    ledger = Window.partitionBy(*LEDGER_KEY, F.col("received") > 0)
    so_far = Window.unboundedPreceding, Window.currentRow
    done = (F.col("acked") + F.col("failed") > 0).cast("int")
    placed = marked.select(
        *marked.columns,
        F.row_number().over(ledger.orderBy("first_seq")).alias("place"),
        (F.sum(done).over(ledger) - F.sum(done).over(ledger.orderBy("first_seq").rowsBetween(*so_far))).alias(
            "later"
        ),
    )
    reached = F.max(F.when(done == 1, F.col("place"))).over(
        ledger.orderBy("completed_seq").rowsBetween(*so_far)
    )
    ahead = placed.select(*placed.columns, F.when(done == 1, reached - F.col("place")).alias("ahead"))
    known = ahead.select(
        *ahead.columns, F.coalesce(F.max("ahead").over(ledger), F.lit(0)).alias("most_ahead")
    )
    joined = known.join(F.broadcast(lossy.distinct().withColumn("lossy", F.lit(True))), ["component"], "left")
    skipped = F.expr(
        f"coalesce(lossy, false) and later >= {_FEWEST_LATER} and later > {_TIMES_AHEAD} * most_ahead"
    )
    names = [name for name in marked.columns if name != "in_hand"]
    return joined.select(*names, (F.col("in_hand") & ~skipped).alias("in_hand")).select(*marked.columns)


def count_in_hand(marked: DataFrame) -> DataFrame:
    """Count the deliveries that were `in_hand`, by component and life."""
    return marked.where("in_hand").groupBy("component", *_LIFE).agg(F.count("*").alias("in_hand"))


def _mark_last(found: DataFrame, *, buffered: str) -> DataFrame:
    """Add whether a `dead` component had each delivery `in_hand`.

    A component receives one tuple after another, so that is its last one.  For a component that buffers its tuples, as one
    does that completed one after the next had come, `buffered` says as SQL which.
    """
    ledger = Window.partitionBy(*LEDGER_KEY, F.col("received") > 0)
    done = F.col("acked") + F.col("failed") > 0
    marked = found.select(
        *found.columns,
        F.lead("first_seq").over(ledger.orderBy("first_seq")).alias("next_seq"),
        F.max("first_seq").over(ledger).alias("last_seq"),
        F.max(F.when(done | (F.col("anchored") > 0), F.col("first_seq"))).over(ledger).alias("reached_seq"),
    )
    buffers = F.coalesce(F.max(F.col("completed_seq") > F.col("next_seq")).over(ledger), F.lit(False))
    known = marked.select("*", buffers.alias("buffers"))
    last = F.when(F.col("buffers"), F.expr(buffered)).otherwise(F.col("first_seq") == F.col("last_seq"))
    in_hand = F.col("dead") & ~done & (F.col("received") > 0) & last
    return known.select(*found.columns, F.coalesce(in_hand, F.lit(True)).alias("in_hand"))


def count_events(events: DataFrame) -> DataFrame:
    """Return COUNTS: the rows by component and kind, and the time that they cover."""
    return (
        events.groupBy("component", "kind", is_tick().alias("tick"))
        .agg(
            F.count("*").alias("rows"),
            F.sum(F.when(F.col("kind") == _DROPPED, F.col("value")).otherwise(0)).alias("missing"),
            F.min("time_ns").alias("begin_ns"),
            F.max("time_ns").alias("end_ns"),
            F.max(F.col("pid") <= NO_PROCESS).alias("logged"),
            F.max(_hides_completions()).alias("hides"),
            F.max(F.col("root") != 0).alias("rooted"),
        )
        .select(
            "component", "kind", "tick", "rows", "missing", "begin_ns", "end_ns", "logged", "hides", "rooted"
        )
    )


def open_over_time(found: DataFrame, window_ms: int) -> DataFrame:
    """Return GROWTH of open deliveries, by ledger and window, for a trace without an acker.

    Windows in which nothing changed have no row.
    """
    changes = (
        F.struct(F.col("received_ns").alias("at"), F.col("first_seq").alias("seq"), F.lit(1).alias("by")),
        F.struct(
            F.col("completed_ns").alias("at"), F.col("completed_seq").alias("seq"), F.lit(-1).alias("by")
        ),
    )
    changed = (
        found.where("received > 0 and not tick")
        .select("run", F.struct(*LEDGER_KEY[1:]).alias("acker"), F.explode(F.array(*changes)).alias("change"))
        .where("change.at is not null")
        .select("run", "acker", "change.*")
    )
    order = Window.partitionBy("run", "acker").orderBy("at", "seq")
    running = changed.withColumn("pending", F.sum("by").over(order.rowsBetween(Window.unboundedPreceding, 0)))
    end_ms = (F.floor(F.col("at") / (window_ms * 1_000_000)) + 1) * window_ms
    return (
        running.groupBy("run", "acker", end_ms.alias("time_ms"))
        .agg(
            F.max_by("pending", F.struct("at", "seq")).alias("pending"),
            F.lit(0).alias("orphans"),
            F.max("pending").alias("high_water"),
            F.count_if(F.col("by") > 0).alias("started"),
        )
        .orderBy("time_ms", "run", "acker")
    )


def completions(found: DataFrame) -> DataFrame:
    """Return COMPLETIONS: by component and stream, how often deliveries were completed, and how long that took."""
    done = F.col("acked") + F.col("failed")
    took = (F.col("completed_ns") - F.col("received_ns")) / 1e6
    quantiles = F.percentile_approx(took, list(_QUANTILES), _ACCURACY)
    return (
        found.where("received > 0 and not tick")
        .groupBy("component", "stream")
        .agg(
            F.count("*").alias("delivered"),
            F.count_if(done == 0).alias("never"),
            F.count_if(done == 1).alias("once"),
            F.count_if(done > 1).alias("more"),
            F.count_if((F.col("acked") > 0) & (F.col("failed") > 0)).alias("mixed"),
            F.sum("acked").alias("acked"),
            F.sum("failed").alias("failed"),
            quantiles.alias("took"),
            F.min(F.when(done == 0, F.col("received_ns"))).alias("oldest_ns"),
        )
        .select(
            *("component", "stream", "delivered", "never", "once", "more", "mixed", "acked", "failed"),
            *(
                F.col("took")[n].alias(name)
                for n, name in enumerate(("p50_ms", "p90_ms", "p99_ms", "max_ms"))
            ),
            "oldest_ns",
        )
    )


_MOST_SHAPES = 500  # that are judged; one more is collected, and shows that there are more
_MOST_ROWS = 64  # of a delivery
_NAMED = int(EventKind.NAMED)
_TOUCHES = (_RECEIVED, _EMITTED, _ANCHORED, int(EventKind.ACKED), int(EventKind.FAILED))
_ROW = ("seq", "time_ns", "kind", "site", "flags", "thread", "stream")
_SHAPE = ("component", "deliveries", *(name for name in DELIVERY_KEY if name != "component"), "rows")
_SAMPLES = "number: int, run: string, worker: string, pid: int, component: string, task: int, test: string, seqs: array<bigint>, back: boolean"
_OF_LOG = described(TracedComponent(name="", dialect="storm", role=STORM.name, path="", line=0))


# ---- shapes ----


def shapes(events: DataFrame, deliveries: DataFrame) -> DataFrame:
    """Return the SHAPES of these DELIVERIES: how many have each, the first of them, and its rows in order."""
    touches = events.where(F.col("kind").isin(*_TOUCHES)).join(
        deliveries.select(*DELIVERY_KEY), [*DELIVERY_KEY], "left_semi"
    )
    rows = touches.groupBy(*DELIVERY_KEY).agg(F.array_sort(F.collect_list(F.struct(*_ROW))).alias("rows"))
    return _by_shape(rows)


def shapes_of_bare_emits(events: DataFrame) -> DataFrame:
    """Return the SHAPES of emits that leave their anchors to the framework: the call alone is the shape."""
    emits = events.where((F.col("kind") == _EMITTED) & (F.col("delivery") == ""))
    bare = emits.where(F.col("flags").bitwiseAND(F.lit(BARE)) != 0)
    return _by_shape(bare.select(*DELIVERY_KEY, F.array(F.struct(*_ROW)).alias("rows")))


def _by_shape(rows: DataFrame) -> DataFrame:
    """Group deliveries by shape; a third call of the same kind makes no other shape than the second.

    The most frequent shape of each component comes first, then the second of each: a component with many shapes hides
    no other.
    """

    def trait(row: Column) -> Column:
        return F.struct(row["kind"], row["site"], row["flags"], (row["thread"] != "").alias("threaded"))

    traits = F.transform("rows", trait)
    again = F.least(F.size("rows") - F.size(F.array_distinct(traits)), F.lit(1))
    first = F.col("rows")[0]
    order = F.struct(first["time_ns"], *(name for name in DELIVERY_KEY if name != "component"))
    most = F.desc("deliveries"), F.col("component"), F.col("delivery")
    turn = F.row_number().over(Window.partitionBy("component").orderBy(*most))
    return (
        rows.groupBy("component", F.array_distinct(traits).alias("traits"), again.alias("again"))
        .agg(
            F.count("*").alias("deliveries"),
            F.min_by(F.struct(*DELIVERY_KEY, F.slice("rows", 1, _MOST_ROWS).alias("rows")), order).alias(
                "first"
            ),
        )
        .select("component", "deliveries", *(F.col(f"first.{name}").alias(name) for name in _SHAPE[2:]))
        .select("*", turn.alias("turn"))
        .orderBy("turn", *most)
        .limit(_MOST_SHAPES + 1)
        .select(*_SHAPE)
    )


def limited(rows: Sequence[Row]) -> tuple[Sequence[Row], bool]:
    """Return the SHAPES to judge, and whether there are more."""
    return rows[:_MOST_SHAPES], len(rows) > _MOST_SHAPES


# ---- violations ----


class _Sample(NamedTuple):
    """A shape's first delivery, and whether it is a bare emit, which has no delivery."""

    shape: Row
    bare: bool


def violations(
    session: SparkSession, events: DataFrame, shapes: Iterable[Row], bare: Iterable[Row]
) -> tuple[Violation, ...]:
    """Return the violations in the deliveries with these SHAPES, each mistake once, counted."""
    samples = [_Sample(row, bare=False) for row in shapes] + [_Sample(row, bare=True) for row in bare]
    if not samples:
        return ()
    seqs = [
        {name: sample.shape[name] for name in LEDGER_KEY}
        | {"number": number, "seqs": [row["seq"] for row in sample.shape["rows"]], "back": sample.bare}
        for number, sample in enumerate(samples)
    ]
    near: dict[int, list[Row]] = {}
    for row in _neighbours(events, literal_table(session, _SAMPLES, seqs)).collect():
        near.setdefault(row["number"], []).append(row)
    return tuple(
        violation
        for number, sample in enumerate(samples)
        for violation in _judge(sample, near.get(number, ()))
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


def _judge(sample: _Sample, near: Sequence[Row]) -> Iterator[Violation]:
    """Yield the violations of the sample alone; its neighbours give the order."""
    shape = sample.shape
    ledger = {name: shape[name] for name in LEDGER_KEY}
    playback = Playback()
    if shape["pid"] <= NO_PROCESS and not any(row["kind"] == EventKind.NAMED for row in near):
        playback.feed(_event(ledger, shape["rows"][0], note=_OF_LOG)._replace(kind=EventKind.NAMED))
    events = [_event(ledger, row, delivery=shape["delivery"]) for row in shape["rows"]]
    events += [_event(ledger, row, delivery=row["delivery"], note=row["note"]) for row in near]
    for event in sorted(events, key=lambda event: (event.kind is not EventKind.NAMED, event.seq)):
        playback.feed(event)
    for violation in playback.settle().violations:
        own = (
            violation.misuse is Misuse.UNANCHORED if sample.bare else violation.delivery == shape["delivery"]
        )
        if own:
            yield replace(violation, count=shape["deliveries"])


def _event(ledger: Mapping[str, Any], row: Row, *, delivery: str = "", note: str = "") -> Event:
    return Event(
        kind=EventKind(row["kind"]),
        time_ns=row["time_ns"],
        seq=row["seq"],
        stream=row["stream"],
        delivery=delivery,
        site=row["site"],
        thread=row["thread"],
        flags=row["flags"],
        note=note,
        **ledger,
    )
