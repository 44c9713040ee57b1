"""Shapes: deliveries that went the same odd way, through the same calls, counted together with one of them to look at.

A shape is the order of what was done and where: "received, acked at bolts.py:12, acked at bolts.py:12".  There are
as few of them as there are mistakes in the code, however many tuples suffered one, so a shape is judged
once, by the ledger that judges a test (`violations`).
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import BARE, EventKind
from ackdoctor.spark.deliveries import BOOK, DELIVERY, is_tick

__all__ = ["bare", "neighbours", "shapes", "told"]

MOST_SHAPES = 500  # that are told; one more is fetched, and says that there are more
_RECEIVED, _NAMED = int(EventKind.RECEIVED), int(EventKind.NAMED)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)
_TOUCHES = (_RECEIVED, _EMITTED, _ANCHORED, int(EventKind.ACKED), int(EventKind.FAILED))
_ROW = ("seq", "time_ns", "kind", "site", "flags", "thread", "stream")
_SHAPE = ("component", "deliveries", *(name for name in DELIVERY if name != "component"), "rows")


def shapes(events: DataFrame, found: DataFrame) -> DataFrame:
    """SHAPES of those DELIVERIES: how many went this way, the first of them, and its rows in order."""
    touches = events.where(F.col("kind").isin(*_TOUCHES)).join(
        found.select(*DELIVERY), [*DELIVERY], "left_semi"
    )
    rows = touches.groupBy(*DELIVERY).agg(F.array_sort(F.collect_list(F.struct(*_ROW))).alias("rows"))
    return _gathered(rows, F.transform("rows", _trait))


def bare(events: DataFrame) -> DataFrame:
    """SHAPES of emits that name no anchor and leave that to the framework: the call alone is the shape."""
    emits = events.where((F.col("kind") == _EMITTED) & (F.col("delivery") == ""))
    left = emits.where(F.col("flags").bitwiseAND(F.lit(BARE)) != 0)
    rows = left.select(*DELIVERY, F.array(F.struct(*_ROW)).alias("rows"))
    return _gathered(rows, F.transform("rows", _trait))


def told(rows: Sequence[Row]) -> tuple[Sequence[Row], bool]:
    """The SHAPES to tell, and whether there are more."""
    return rows[:MOST_SHAPES], len(rows) > MOST_SHAPES


def neighbours(events: DataFrame, samples: DataFrame) -> DataFrame:
    """What the rows of a sample do not say: NAMED of its component, who was received between them, the last tick.

    `samples` has a number, the book, the `seqs` of the sample's rows, and `back` where it matters what came
    before them.  NEIGHBOURS are rows of events with the number, at most one for each gap.
    """
    near = events.where(F.col("kind").isin(_RECEIVED, _NAMED)).alias("event")
    sampled = samples.alias("sample")
    same = [F.col(f"event.{name}") == F.col(f"sample.{name}") for name in BOOK if name != "test"]
    named = F.col("kind") == _NAMED
    gap = F.size(F.filter("seqs", lambda seq: seq < F.col("event.seq")))
    inside = (F.col("event.test") == F.col("sample.test")) & ~F.array_contains("seqs", F.col("event.seq"))
    between = F.when(gap == 0, F.col("back")).otherwise((gap < F.size("seqs")) | is_tick())
    row = F.struct(*(F.col(f"event.{name}").alias(name) for name in (*_ROW, "delivery", "note")))
    return (
        near.join(F.broadcast(sampled), [*same, named | (inside & between)])
        .groupBy(
            "sample.number", "kind", is_tick().alias("tick"), F.when(named, 0).otherwise(gap).alias("gap")
        )
        .agg(F.max_by(row, F.col("event.seq")).alias("row"))
        .select("number", "row.*")
    )


def _trait(row: Column) -> Column:
    return F.struct(row["kind"], row["site"], row["flags"], (row["thread"] != "").alias("threaded"))


def _gathered(rows: DataFrame, traits: Column) -> DataFrame:
    """Deliveries of the same shape as one; the same call a third time makes no other shape than the second.

    The most frequent of each component come first, then the second of each: of many ways none hides a component.
    """
    again = F.least(F.size("rows") - F.size(F.array_distinct(traits)), F.lit(1))
    first = F.col("rows")[0]
    order = F.struct(first["time_ns"], *(name for name in DELIVERY if name != "component"))
    most = F.desc("deliveries"), F.col("component"), F.col("delivery")
    turn = F.row_number().over(Window.partitionBy("component").orderBy(*most))
    return (
        rows.groupBy("component", F.array_distinct(traits).alias("traits"), again.alias("again"))
        .agg(
            F.count("*").alias("deliveries"),
            F.min_by(F.struct(*DELIVERY, F.slice("rows", 1, 64).alias("rows")), order).alias("first"),
        )
        .select("component", "deliveries", *(F.col(f"first.{name}").alias(name) for name in _SHAPE[2:]))
        .select("*", turn.alias("turn"))
        .orderBy("turn", *most)
        .limit(MOST_SHAPES + 1)
        .drop("turn")
    )
