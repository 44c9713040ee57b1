"""Worker logs -> EVENTS: what Storm wrote down with `topology.debug`, of 0.9 to 2.x.

    lines(spark, paths) -> LINES;  told(LINES, logs) -> TOLD;  survey(TOLD, logs) -> Survey;  events(TOLD, Survey) -> EVENTS

The text is read once: TOLD is made to be kept, and the books, the quarantine and EVENTS are all taken from it.

A delivery is known by its task and its edges, so its id is what the log prints: "root=edge, root=edge".  Rows of
an acker are in the order in which that acker took its messages, whatever the clocks say.

A tuple's arrival is a RECEIVED row and a LINKED one for each root; a hand-over to another task is an EMITTED
row with its root and its edge as `value`, without either where it is not anchored; ACKED and FAILED are a bolt's.
COMPLETED, GAVE_UP and TIMED_OUT are what a spout heard, with its own message id.
"""

import json
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.read import stormline
from ackdoctor.spark.read.logbook import TURN_BITS, Log, Survey
from ackdoctor.spark.schema import EVENTS, QUARANTINE

__all__ = ["events", "lines", "quarantine", "told"]

_BOOKS = "of: string, run: string, worker: string, turn: bigint"
_ROW_BITS, _BLOCK = (
    33,
    20,
)  # of `row`: line of its task, block of a MiB; 20 bits are left for the blocks of a file


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


def told(read: DataFrame, logs: Iterable[Log]) -> DataFrame:
    """TOLD of LINES (`stormline.told`), with whose file it is, and `seq` for the order of a worker's lines."""
    rows = [{"of": log.file, "run": log.run, "worker": log.worker, "turn": log.turn} for log in logs]
    books = read.sparkSession.sql(  # as text: rows of Python would start a Python worker
        f"select inline(from_json(:logs, 'array<struct<{_BOOKS}>>'))", args={"logs": json.dumps(rows)}
    )
    placed = stormline.told(read).join(F.broadcast(books), F.col("file") == F.col("of"), "left")
    kept = [name for name in placed.columns if name not in {"of", "turn", "run", "worker", "row"}]
    used = F.col("is") == stormline.USED  # what nobody asks for is not kept
    turn = F.shiftleft(F.coalesce("turn", F.lit(0).cast("long")), TURN_BITS)
    return placed.select(
        *kept,
        turn.bitwiseOR(F.col("row")).alias("seq"),
        F.when(used, F.coalesce("run", F.lit(""))).alias("run"),
        F.when(used, F.coalesce("worker", "file")).alias("worker"),
    )


def events(read: DataFrame, surveyed: Survey) -> DataFrame:
    """EVENTS of TOLD, of each log once."""
    used = read.where(F.col("is") == stormline.USED)
    copies = surveyed.copies()
    own = used.where(~F.col("file").isin(*copies)) if copies else used
    known = F.when(F.col("component") != "", F.col("component"))
    texts = {name: F.lit("") for name in ("site", "test", "note")}
    late = {
        "component": F.coalesce(known, surveyed.component(F.col("task")), F.lit("")),
        "pid": F.lit(0),
        "incarnation": F.when(
            F.col("acker").isNotNull(),
            surveyed.incarnation(F.col("acker"), F.col("worker"), F.col("seq")),
        ).cast("int"),
        **texts,
    }
    return own.select(*(late[name].alias(name) if name in late else name for name in EVENTS.names))


def quarantine(read: DataFrame) -> DataFrame:
    """QUARANTINE of TOLD: each line that claims to tell of a tuple and cannot be used."""
    bad = read.where(F.col("is") == stormline.QUARANTINED)
    return bad.select("file", F.col("seq").alias("place"), "text", F.col("fault").alias("reason")).select(
        *QUARANTINE.names
    )
