"""DELIVERIES that went wrong -> violations, through the ledger that judges a test.

A shape is the order of what was done and where: "received, acked at bolts.py:12, acked at bolts.py:12".  There are
as few shapes as mistakes in the code, however many tuples suffered one.  So one delivery of each shape is judged, and
the same mistake has the same code, words and fingerprint in a test, a trace and a cluster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import BARE, Event, EventKind, TracedComponent, Violation
from ackdoctor.spark.deliveries import DELIVERY_KEY, LEDGER_KEY, NO_PROCESS, is_tick
from ackdoctor.spark.frames import literal_table
from ackdoctor.tracer.components import STORM, described
from ackdoctor.tracer.playback import Playback

__all__ = ["limited", "shapes", "shapes_of_bare_emits", "violations"]

_MOST_SHAPES = 500  # that are judged; one more is collected, and shows that there are more
_MOST_ROWS = 64  # of a delivery
_RECEIVED, _NAMED = int(EventKind.RECEIVED), int(EventKind.NAMED)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)
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
