"""Deliveries: one row for each tuple that a component was handed, and what became of it.

A delivery's id means nothing outside of its book: run, worker, process, component, task and test.  Counts
need no order; only what came after the first completion does, and the smallest and largest `seq` tell that.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import IN_HAND, TICK, EventKind
from ackdoctor.spark.frames import literal_table
from ackdoctor.tracer.trace.components import UNOBSERVED

__all__ = [
    "BOOK",
    "DELIVERY",
    "NO_PROCESS",
    "Ends",
    "Life",
    "completions",
    "counts",
    "cut",
    "deliveries",
    "due",
    "ended",
    "in_hand",
    "lasting",
    "life",
    "observed",
    "odd",
    "open_at",
    "settled",
    "under_way",
]

Life: TypeAlias = tuple[str, str, int]  # of a worker: run, worker and process
Ends: TypeAlias = Mapping[Life, int]  # in ns
BOOK = ("run", "worker", "pid", "component", "task", "test")
DELIVERY = (*BOOK, "delivery")
_LIFE = ("run", "worker", "pid")
NO_PROCESS = 0  # the `pid` of what a log tells, and of its worker's later lives one less each

_RECEIVED, _EMITTED, _ANCHORED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.ANCHORED)
_ACKED, _FAILED, _DROPPED = int(EventKind.ACKED), int(EventKind.FAILED), int(EventKind.DROPPED)
_CUT = "run: string, worker: string, pid: int, end_ns: bigint"
_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_ACCURACY = 1000
_SLOW = 4  # a component that has held a tuple for longer than this part of the patience
_FEWEST_LATER, _TIMES_AHEAD = 5, 4  # later tuples that a bolt has completed, against what it did before


def is_tick() -> Column:
    """Whether a row tells of a tick tuple."""
    return F.col("flags").bitwiseAND(F.lit(TICK)) != 0


def deliveries(events: DataFrame) -> DataFrame:
    """DELIVERIES, of what was received or completed; `seq` orders the rows of one process only."""
    kind = F.col("kind")
    completes = kind.isin(_ACKED, _FAILED)
    emits = kind.isin(_EMITTED, _ANCHORED)
    return (
        events.where(kind.isin(_RECEIVED, _EMITTED, _ANCHORED, _ACKED, _FAILED) & (F.col("delivery") != ""))
        .groupBy(*DELIVERY)
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
            *DELIVERY,
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


def odd(found: DataFrame) -> DataFrame:
    """Of DELIVERIES those that are not simply received once and completed once, on the thread that receives."""
    plain = "received = 1 and acked + failed = 1 and not late and not threaded and not tick"
    return found.where(f"not ({plain})").select(*found.columns)


def ended(events: DataFrame) -> DataFrame:
    """Components that ended, and whether that may have been in the middle of a tuple: ENDED."""
    cut = F.col("flags").bitwiseAND(F.lit(IN_HAND)) != 0
    killed = F.col("note").startswith("killed by ") | F.col("note").contains(": ")
    died = events.where(F.col("kind") == int(EventKind.DIED))
    return died.select(*BOOK, "note", (cut | killed).alias("in_hand"), "time_ns").orderBy("time_ns", *BOOK)


def settled(found: DataFrame, ends: DataFrame) -> DataFrame:
    """DELIVERIES without those that a component had in hand when it ENDED: it is not to blame for them.

    Of one that keeps its tuples these are all after the last that it worked on.  The tracer's `Playback` says it for one
    process; it also knows whose batch a tick ends, which is taken for keeping here.
    """
    dead = F.broadcast(ends.where("in_hand").select(*BOOK).distinct().withColumn("dead", F.lit(True)))
    marked = found.join(dead, [*BOOK], "left").select(
        *found.columns, F.coalesce("dead", F.lit(False)).alias("dead")
    )
    return _marked(marked, kept="first_seq > reached_seq").where("not in_hand").select(*found.columns)


def observed(found: DataFrame, events: DataFrame) -> DataFrame:
    """DELIVERIES without those that nobody saw completed, of components whose completions a mock hid."""
    hid = events.where(_hides()).select(*BOOK).distinct().withColumn("hid", F.lit(True))
    marked = found.join(F.broadcast(hid), [*BOOK], "left")
    return marked.where("hid is null or acked + failed > 0").select(*found.columns)


def due(found: DataFrame, events: DataFrame) -> DataFrame:
    """DELIVERIES without those that the framework still kept for a batch when the run ended."""
    kept = events.where(F.col("kind") == int(EventKind.WAITS)).select(*DELIVERY).distinct()
    marked = found.join(kept.withColumn("kept", F.lit(True)), [*DELIVERY], "left")
    return marked.where("kept is null or acked + failed > 0").select(*found.columns)


def _hides() -> Column:
    """Whether a row tells that something stood between a component and the wire."""
    return (F.col("kind") == int(EventKind.NAMED)) & F.col("note").contains(UNOBSERVED)


def cut(events: DataFrame) -> DataFrame:
    """Where the log of each life of a worker ends, which need not be where the worker did: CUT."""
    logged = events.where(f"pid <= {NO_PROCESS}")
    last = F.max_by("time_ns", "seq")  # a clock may have been put back
    return logged.groupBy(*_LIFE).agg(last.alias("end_ns"))


def life(row: Row) -> Life:
    """That of a row which names it."""
    return row["run"], row["worker"], row["pid"]


def lasting(ends: Iterable[Row], logs: Mapping[Life, int]) -> Ends:
    """When each life of a worker ended, from CUT.

    `logs` says when the last line of a log was written: one that goes on and tells of no tuple any more stands still, and
    was not cut there.
    """
    found = {life(row): row["end_ns"] for row in ends}
    return {whose: max(end_ns, logs.get(whose, end_ns)) for whose, end_ns in found.items()}


def under_way(found: DataFrame, ends: Ends, patience_s: int) -> DataFrame:
    """DELIVERIES, and whether a component had it `in_hand` where its log `ends`, and for less than the patience.

    One that keeps its tuples may be about to complete any of them.  A component that has held others for longer than the
    patience, and completed them, has that long; one that is slow may still complete what it has held for no longer than others.
    """
    said = ({**dict(zip(_LIFE, life, strict=True)), "end_ns": end_ns} for life, end_ns in ends.items())
    cuts = literal_table(found.sparkSession, _CUT, said)
    holds = found.groupBy("component").agg(F.expr("max(completed_ns - received_ns) as hold_ns"))
    patience = f"greatest({patience_s * 1_000_000_000}L, coalesce(hold_ns, 0L))"
    young = f"pid <= {NO_PROCESS} and received_ns > end_ns - {patience}"
    placed = found.join(F.broadcast(cuts), [*_LIFE], "left").join(F.broadcast(holds), ["component"], "left")
    slow = f"hold_ns > {patience_s * 1_000_000_000 // _SLOW}L and received_ns > end_ns - hold_ns"
    open_ = "received > 0 and acked + failed = 0"
    marked = placed.select(
        *found.columns,
        F.expr(f"coalesce({young}, false)").alias("dead"),
        F.expr(f"coalesce({slow} and {open_}, false)").alias("slow"),
    )
    lossy = marked.where("not dead and received > 0 and acked + failed = 0 and not tick").select("component")
    last = _overtaken(_marked(marked.where("dead"), kept="true"), lossy)  # few, of a long log
    last = last.withColumn("in_hand", F.expr("in_hand or slow"))
    rest = marked.where("not dead").withColumn("in_hand", F.lit(False))
    return rest.unionByName(last).drop("dead", "slow")


def _overtaken(marked: DataFrame, lossy: DataFrame) -> DataFrame:
    """Those that are not `in_hand` after all: the component has passed them over, as it did with others before.

    That holds for a component that has kept others for longer than the patience (`lossy`), where many more of its later
    tuples were completed than ever were before one that it did complete.
    """
    book = Window.partitionBy(*BOOK, F.col("received") > 0)
    so_far = Window.unboundedPreceding, Window.currentRow
    done = (F.col("acked") + F.col("failed") > 0).cast("int")
    placed = marked.select(
        *marked.columns,
        F.row_number().over(book.orderBy("first_seq")).alias("place"),
        (F.sum(done).over(book) - F.sum(done).over(book.orderBy("first_seq").rowsBetween(*so_far))).alias(
            "later"
        ),
    )
    reached = F.max(F.when(done == 1, F.col("place"))).over(
        book.orderBy("completed_seq").rowsBetween(*so_far)
    )
    ahead = placed.select(*placed.columns, F.when(done == 1, reached - F.col("place")).alias("ahead"))
    known = ahead.select(*ahead.columns, F.coalesce(F.max("ahead").over(book), F.lit(0)).alias("most_ahead"))
    joined = known.join(F.broadcast(lossy.distinct().withColumn("lossy", F.lit(True))), ["component"], "left")
    passed = F.expr(
        f"coalesce(lossy, false) and later >= {_FEWEST_LATER} and later > {_TIMES_AHEAD} * most_ahead"
    )
    names = [name for name in marked.columns if name != "in_hand"]
    return joined.select(*names, (F.col("in_hand") & ~passed).alias("in_hand")).select(*marked.columns)


def in_hand(marked: DataFrame) -> DataFrame:
    """How many of what `under_way` has marked were `in_hand`, by component and life."""
    return marked.where("in_hand").groupBy("component", *_LIFE).agg(F.count("*").alias("in_hand"))


def _marked(found: DataFrame, *, kept: str) -> DataFrame:
    """Whether a component that is `dead` had it `in_hand`.

    A component is handed one tuple after the other, so that is its last one; of one that keeps its tuples, having
    completed one after another had come, those that are `kept`, as SQL.
    """
    book = Window.partitionBy(*BOOK, F.col("received") > 0)
    done = F.col("acked") + F.col("failed") > 0
    marked = found.select(
        *found.columns,
        F.lead("first_seq").over(book.orderBy("first_seq")).alias("next_seq"),
        F.max("first_seq").over(book).alias("last_seq"),
        F.max(F.when(done | (F.col("anchored") > 0), F.col("first_seq"))).over(book).alias("reached_seq"),
    )
    keeps = F.coalesce(F.max(F.col("completed_seq") > F.col("next_seq")).over(book), F.lit(False))
    told = marked.select("*", keeps.alias("keeps"))
    last = F.when(F.col("keeps"), F.expr(kept)).otherwise(F.col("first_seq") == F.col("last_seq"))
    in_hand = F.col("dead") & ~done & (F.col("received") > 0) & last
    return told.select(*found.columns, F.coalesce(in_hand, F.lit(True)).alias("in_hand"))


def counts(events: DataFrame) -> DataFrame:
    """Rows by component and kind, with the span of time that they cover: COUNTS."""
    return (
        events.groupBy("component", "kind", is_tick().alias("tick"))
        .agg(
            F.count("*").alias("rows"),
            F.sum(F.when(F.col("kind") == _DROPPED, F.col("value")).otherwise(0)).alias("missing"),
            F.min("time_ns").alias("begin_ns"),
            F.max("time_ns").alias("end_ns"),
            F.max(F.col("pid") <= NO_PROCESS).alias("logged"),
            F.max(_hides()).alias("hides"),
            F.max(F.col("root") != 0).alias("rooted"),
        )
        .select(
            "component", "kind", "tick", "rows", "missing", "begin_ns", "end_ns", "logged", "hides", "rooted"
        )
    )


def open_at(found: DataFrame, window_ms: int) -> DataFrame:
    """By book and window: deliveries open at its end, open at most, and begun in it, with the columns of GROWTH.

    For a trace without an acker.  Windows in which nothing changed have no row.
    """
    changes = (
        F.struct(F.col("received_ns").alias("at"), F.col("first_seq").alias("seq"), F.lit(1).alias("by")),
        F.struct(
            F.col("completed_ns").alias("at"), F.col("completed_seq").alias("seq"), F.lit(-1).alias("by")
        ),
    )
    changed = (
        found.where("received > 0 and not tick")
        .select("run", F.struct(*BOOK[1:]).alias("acker"), F.explode(F.array(*changes)).alias("change"))
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
    """By component and stream: how often deliveries were completed, and how long that took: COMPLETIONS."""
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
