"""Workers that stood still before they were started anew: they had written on, and told of no tuple any more.

What the next process writes before its first executor is loaded (agents, ZooKeeper's client) is no sign of life of the one
before.  The supervisor ends a process that is not up in time, so what is older than that is not its own.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.deliveries import Ends, Life
from ackdoctor.spark.frames import literal_table
from ackdoctor.spark.read import stormline
from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.logbook import TURN_BITS

__all__ = ["stood"]

_UP_NS = 120 * 1_000_000_000  # supervisor.worker.start.timeout.secs, in defaults.yaml of all versions
_PLACES = "of: string, log: int, turn: bigint, worker: int"
_GAPS = "worker: int, pid: int, until_ns: bigint"
_STAMPS = (
    "substring_index(text, ' ', 2)",
    "substring_index(text, ' ', 1)",
)  # with a blank in it, or with a T
_TIME = ", ".join(f"try_cast(replace({stamp}, ',', '.') as timestamp)" for stamp in _STAMPS)


def stood(lines: DataFrame, last: Ends, lives: Lives) -> dict[Life, int]:
    """When the last line was written of a life of LINES that another followed, whatever it says; only of those that it matters to.

    The logs of their workers are read once more, which few have need of: a gap is between a life's `last` row and the next life.
    """
    gaps = {
        life: began - _UP_NS
        for life, began in lives.followed().items()
        if life in last and last[life] < began - _UP_NS
    }
    return _last_lines(lines, lives, gaps) if gaps else {}


def _last_lines(lines: DataFrame, lives: Lives, gaps: Mapping[Life, int]) -> dict[Life, int]:
    workers = sorted({(run, worker) for run, worker, _ in gaps})
    places = [
        {"of": log.file, "log": log.place, "turn": log.later + log.turn, "worker": number}
        for number, worker in enumerate(workers)
        for log in lives.logs(worker)
        if not log.of  # or lines of the other pieces would be its own
    ]
    until = [
        {"worker": workers.index((run, worker)), "pid": pid, "until_ns": at}
        for (run, worker, pid), at in gaps.items()
    ]
    session = lines.sparkSession
    asked = stormline.asked(lines.where(F.col("file").isin([place["of"] for place in places])))
    known = asked.where(f"is = {stormline.FOREIGN}").join(
        F.broadcast(literal_table(session, _PLACES, places)), F.col("file") == F.col("of")
    )
    stamped = known.selectExpr(
        *("worker", "log"),
        f"shiftleft(turn, {TURN_BITS}) | row as seq",
        f"unix_micros(coalesce({_TIME})) * 1000 as ns",
    )
    own = stamped.selectExpr("worker", f"{lives.process()} as pid", "seq", "ns")
    found = (
        own.join(F.broadcast(literal_table(session, _GAPS, until)), ["worker", "pid"])
        .where("ns <= until_ns")
        .groupBy("worker", "pid")
        .agg(F.max_by("ns", "seq").alias("end_ns"))
    )
    return {(*workers[row["worker"]], row["pid"]): row["end_ns"] for row in found.collect()}
