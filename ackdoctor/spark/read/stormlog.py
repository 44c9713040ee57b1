"""Worker logs -> EVENTS: what Storm wrote down with `topology.debug`, of 0.9 to 2.x.

    lines(spark, paths) -> LINES;  kept(LINES, begun, keep) -> TOLD, Survey;  events(TOLD, Survey) -> EVENTS

The text is read once: TOLD is kept, and the books, the quarantine and EVENTS are all taken from it.  Most lines
tell nothing: they are counted as they pass by (`observe`), and are not in TOLD.

A delivery is known by its task and its edges, so its id is what the log prints: "root=edge, root=edge".  Rows of
an acker are in the order in which that acker took its messages, whatever the clocks say.

A tuple's arrival is a RECEIVED row and a LINKED one for each root; a hand-over to another task is an EMITTED
row with its root and its edge as `value`, without either where it is not anchored; ACKED and FAILED are a bolt's.
COMPLETED, GAVE_UP and TIMED_OUT are what a spout heard, with its own message id.  Storm 0.9 logs neither who receives a tuple
nor that a bolt acks it: of such a log there are LINKED rows, and a SENT row for each message that left for an acker.
"""

from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.frames import Persist, literal_table
from ackdoctor.spark.read import stormline
from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.logbook import TURN_BITS, Log, Passed, Survey, arranged, survey
from ackdoctor.spark.read.overlaps import joined
from ackdoctor.spark.read.paths import literally
from ackdoctor.spark.read.pieces import apart
from ackdoctor.spark.schema import EVENTS, QUARANTINE

__all__ = ["counted", "events", "kept", "lines", "quarantine", "told"]

_BOOKS = "of: string, log: int, turn: bigint"
_ROW_BITS, _BLOCK = (
    33,
    20,
)  # of `row`: line of its task, block of a MiB; 20 bits are left for the blocks of a file


def lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """LINES: text, file, and `row`, which orders the lines of a file over all its splits (1 MiB or larger)."""
    place = (
        f"shiftleft(shiftright(_metadata.file_block_start, {_BLOCK}), {_ROW_BITS}) "
        f"+ (monotonically_increasing_id() & {(1 << _ROW_BITS) - 1}L)"
    )
    text = spark.read.text(literally(paths))
    return text.selectExpr("value as text", "_metadata.file_path as file", f"{place} as row")


def kept(read: DataFrame, begun: Mapping[str, int | None], keep: Persist) -> tuple[DataFrame, Survey]:
    """TOLD, as `keep` keeps it, and the books of its logs; `begun` says when which file begins."""
    logs = arranged(read.inputFiles(), begun)
    asked, passed = counted(read)
    whole = keep(told(asked, logs))
    table, surveyed, vain = _surveyed(whole, logs, {})
    if vain:
        table, surveyed, _ = _surveyed(whole, logs, vain)
    if table is not whole:
        table = keep(table)
        table.count()
        whole.unpersist()
    surveyed.passed = _seen(passed)
    if copies := [log.file for log in surveyed.logs if log.copy_of and not log.of]:
        again = stormline.asked(read.where(F.col("file").isin(copies))).agg(*_passed()).collect()
        surveyed.passed -= Passed(**again[0].asDict())
    return table, surveyed


def _surveyed(
    whole: DataFrame, logs: Sequence[Log], uncut: Mapping[str, str]
) -> tuple[DataFrame, Survey, dict[str, str]]:
    table, pieces = apart(whole, logs, uncut)
    return table, *pieces.settled(joined(table, survey(table, pieces.logs)))


def counted(read: DataFrame) -> tuple[DataFrame, Observation]:
    """ASKED of LINES, and what `Passed` says of it as soon as it has been read once."""
    passed = Observation()
    return stormline.asked(read).observe(passed, *_passed()), passed


def _seen(passed: Observation) -> Passed:
    """What was counted; of a table that Spark knows to be empty it counts nothing, which 4.3 cannot say."""
    try:
        return Passed(**passed.get)
    except Py4JJavaError:
        return Passed()


def _passed() -> tuple[Column, ...]:
    """What `Passed` counts, of ASKED."""
    counts = {"lines": "count(*)"} | {
        name: f"count_if(not likely and is = {is_})"
        for name, is_ in (("foreign", stormline.FOREIGN), ("continued", stormline.CONTINUED))
    }
    drops = f'try_cast(regexp_extract(text, r"{stormline.DROPS}", 1) as bigint)'
    counts["dropped"] = f"coalesce(sum(if(not likely and {stormline.DROPPED}, {drops}, 0L)), 0L)"
    return tuple(F.expr(count).alias(name) for name, count in counts.items())


def told(asked: DataFrame, logs: Sequence[Log]) -> DataFrame:
    """TOLD of ASKED (`stormline.told`), with whose file it is, and `seq` for the order of a worker's lines.

    `log` is the place of the file among `logs`; `file` stands where that is not known.
    """
    rows = [{"of": log.file, "log": place, "turn": log.turn} for place, log in enumerate(logs)]
    books = literal_table(asked.sparkSession, _BOOKS, rows)
    placed = stormline.told(asked).join(F.broadcast(books), F.col("file") == F.col("of"), "left")
    kept = [name for name in placed.columns if name not in {"of", "turn", "file", "log", "row"}]
    return placed.selectExpr(
        *kept,
        "coalesce(log, -1) as log",
        "if(log is null, file, null) as file",
        f"shiftleft(coalesce(turn, 0L), {TURN_BITS}) | row as seq",
    )


def events(read: DataFrame, surveyed: Survey) -> DataFrame:
    """EVENTS of TOLD, of each log once."""
    unknown = f"kind = {int(EventKind.RECEIVED)} and task = 0"  # Storm 0.9 does not log who receives a tuple
    used = read.where(f"is = {stormline.USED} and {surveyed.fresh()} and not ({unknown})")
    own = used.selectExpr(
        *(f"{surveyed.seq()} as {name}" if name == "seq" else name for name in used.columns)
    )
    lives = Lives(surveyed)
    late = {
        "component": surveyed.component("component", "task"),
        "run": surveyed.said("run", "''"),
        "worker": surveyed.said("worker", "file"),
        "pid": lives.process(),
        "incarnation": lives.incarnation(),
        **dict.fromkeys(("site", "test", "note"), "''"),
    }
    return own.selectExpr(*(f"{late[name]} as {name}" if name in late else name for name in EVENTS.names))


def quarantine(read: DataFrame, surveyed: Survey) -> DataFrame:
    """QUARANTINE of TOLD: each line that claims to tell of a tuple and cannot be used."""
    bad = read.where(f"is = {stormline.QUARANTINED} and {surveyed.fresh()}")
    columns = {
        "file": surveyed.said("file", "file"),
        "place": "seq",
        "text": "text",
        "reason": stormline.reason("fault"),
    }
    return bad.selectExpr(*(f"{columns[name]} as {name}" for name in QUARANTINE.names))
