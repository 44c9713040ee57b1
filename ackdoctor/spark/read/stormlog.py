"""Worker logs -> EVENTS: what Storm wrote down with `topology.debug`, of 0.9 to 2.x.

    lines(spark, paths) -> LINES;  survey(LINES) -> Survey;  events(LINES, Survey) -> EVENTS

A delivery is known by its task and its edges, so its id is what the log prints: "root=edge, root=edge".  Rows of
an acker are in the order in which that acker took its messages, whatever the clocks say.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import RELIABLE, EventKind
from ackdoctor.spark.read.logbook import Survey
from ackdoctor.spark.read.stormline import claims, message_id, parsed
from ackdoctor.spark.schema import EVENTS, QUARANTINE

__all__ = ["events", "lines", "quarantine"]

_ROW_BITS, _BLOCK_BITS, _BLOCK = 33, 20, 20  # of `seq`: row in its task, block of a MiB, then the file's turn
_PLACE = ("file", "row")
_ANSWERS = (int(EventKind.COMPLETED), int(EventKind.GAVE_UP), int(EventKind.TIMED_OUT))
_FROM_SENDER = (
    int(EventKind.INIT), int(EventKind.ACK), int(EventKind.FAIL), int(EventKind.RESET), int(EventKind.EMITTED),
)  # fmt: skip
_TO_ACKER = (*_FROM_SENDER[:-1], int(EventKind.ROTATED))


def lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """LINES: text, file, and `row`, which orders the lines of a file over all its splits (1 MiB or larger)."""
    block = F.shiftright(F.col("_metadata.file_block_start"), _BLOCK)
    place = F.shiftleft(block, _ROW_BITS) + F.monotonically_increasing_id().bitwiseAND(
        F.lit((1 << _ROW_BITS) - 1)
    )
    return (
        spark.read.text(list(paths))
        .select(F.col("value").alias("text"), F.col("_metadata.file_path").alias("file"), place.alias("row"))
        .select("text", "file", "row")
    )


def events(read: DataFrame, surveyed: Survey) -> DataFrame:
    """EVENTS of LINES.

    A tuple's arrival is a RECEIVED row and a LINKED one for each root; a hand-over to another task is an EMITTED
    row with its root and its edge as `value`, without either where it is not anchored; ACKED and FAILED are a bolt's.
    COMPLETED, GAVE_UP and TIMED_OUT are what a spout heard, with its own message id.
    """
    told = parsed(read.where(claims()), *_PLACE).where("kind is not null and fault is null")
    row = F.explode(_parts()).alias("part")
    each = told.select(
        *(
            "file",
            "row",
            "kind",
            "time_ns",
            "thread",
            "component",
            "source",
            "stream",
            "ids",
            "spout",
            "tail",
        ),
        *("source_task", "low", "high", "task", "root", "value", "spout_task"),
        row,
    )
    books = read.sparkSession.createDataFrame(
        [(log.file, log.run, log.worker, log.turn) for log in surveyed.logs if not log.copy_of],
        "of string, run string, worker string, turn bigint",
    )
    placed = each.join(F.broadcast(books), F.col("file") == F.col("of"))
    return _columns(placed, surveyed)


def _parts() -> Column:
    """One text for each row of a line: '' for itself, "root=edge" for each link, a number for each task of a tick."""
    links = F.split("ids", ", ")
    kind = F.col("kind")
    anchored = F.col("ids") != ""
    received, emitted = int(EventKind.RECEIVED), int(EventKind.EMITTED)
    return (
        F.when((kind == received) & anchored, F.concat(F.array(F.lit("")), links))
        .when((kind == emitted) & anchored, links)
        .when(
            (kind == int(EventKind.ROTATED)) & (F.col("low") < F.col("high")),
            F.transform(F.sequence("low", "high"), lambda task: task.cast("string")),
        )
        .otherwise(F.array(F.lit("")))
    )


def _columns(placed: DataFrame, surveyed: Survey) -> DataFrame:
    kind, part = F.col("kind"), F.col("part")
    link = F.when(part.contains("="), part)
    root = F.coalesce(F.substring_index(link, "=", 1).cast("bigint"), F.col("root"), F.lit(0))
    edge = F.coalesce(F.substring_index(link, "=", -1).cast("bigint"), F.col("value"), F.lit(0))
    of_sender = kind.isin(*_FROM_SENDER)
    linked = (kind == int(EventKind.RECEIVED)) & link.isNotNull()
    ticked = F.when(kind == int(EventKind.ROTATED), F.expr("try_cast(nullif(part, '') as int)"))
    to_acker = kind.isin(*_TO_ACKER)
    acker = F.when(to_acker, F.coalesce(ticked, F.when(F.col("task") >= 0, F.col("task")), F.col("low")))
    seq = F.shiftleft(F.col("turn"), _ROW_BITS + _BLOCK_BITS).bitwiseOR(F.col("row")).alias("seq")
    task = F.when(kind == int(EventKind.INIT), F.col("spout_task")).when(of_sender, F.col("source_task"))
    threadless = F.col("low").isNotNull() | (F.col("thread") == "") | (F.col("component") != "")
    own = F.when(F.col("component") != "", F.col("component"))
    return placed.select(
        F.when(linked, int(EventKind.LINKED)).otherwise(kind).cast("tinyint").alias("kind"),
        "time_ns",
        seq,
        F.when(of_sender, F.col("source"))
        .otherwise(F.coalesce(own, surveyed.component(F.col("task")), F.lit("")))
        .alias("component"),
        F.coalesce(task, acker, F.col("task"), F.lit(0)).cast("int").alias("task"),
        F.when(to_acker | kind.isin(*_ANSWERS), F.lit("")).otherwise(F.col("stream")).alias("stream"),
        F.when(kind.isin(*_ANSWERS), message_id())
        .when(of_sender, F.lit(""))
        .otherwise(F.col("ids"))
        .alias("delivery"),
        root.alias("root"),
        edge.alias("value"),
        F.lit("").alias("site"),
        F.when(threadless, F.lit("")).otherwise(F.col("thread")).alias("thread"),
        F.when((F.col("ids") != "") & (kind == int(EventKind.EMITTED)), RELIABLE)
        .otherwise(0)
        .cast("tinyint")
        .alias("flags"),
        F.lit("").alias("test"),
        F.lit("").alias("note"),
        "run",
        "worker",
        F.lit(0).alias("pid"),
        acker.cast("int").alias("acker"),
        F.when(to_acker, surveyed.incarnation(acker, F.col("worker"), seq)).cast("int").alias("incarnation"),
        "file",
    ).select(*EVENTS.names)


def quarantine(read: DataFrame) -> DataFrame:
    """QUARANTINE of LINES: each line that claims to tell of a tuple and cannot be used."""
    return (
        parsed(read.where(claims()), *_PLACE)
        .where(F.col("fault").isNotNull())
        .select(
            "file",
            F.col("row").alias("place"),
            F.substring("text", 1, 500).alias("text"),
            F.col("fault").alias("reason"),
        )
        .select(*QUARANTINE.names)
    )
