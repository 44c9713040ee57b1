"""The parts of a growing trace as one stream of EVENTS."""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import StructType

from ackdoctor.spark.schema import EVENTS
from ackdoctor.tracer.disk.segments import SUFFIXES

__all__ = ["parts", "waiting"]

_COLUMNS, _LINES = SUFFIXES
_FROM_ELSEWHERE = ("run", "worker", "acker", "incarnation", "file")
_STORED = StructType([field for field in EVENTS.fields if field.name not in _FROM_ELSEWHERE])
_IN_LINES = StructType([*_STORED.fields, EVENTS["run"], EVENTS["worker"]])


def parts(spark: SparkSession, folder: Path, *, files_at_once: int) -> DataFrame:
    """EVENTS of the parts below a folder, those that are there and those to come, oldest first.

    A line that is no row of a trace has no kind.  A part that was planned and is gone again is passed over:
    traces delete their oldest parts, and say so in a row.
    """
    options = {
        "recursiveFileLookup": "true",  # a folder may hold several traces; runs are told by paths
        "ignoreMissingFiles": "true",
        "maxFilesPerTrigger": str(files_at_once),
    }

    def of(suffix: str) -> dict[str, str]:
        return {**options, "pathGlobFilter": f"part-*{suffix}"}

    columns = spark.readStream.schema(_STORED).options(**of(_COLUMNS)).parquet(str(folder))
    text = spark.readStream.options(**of(_LINES)).text(str(folder))
    said = text.where(F.trim("value") != "").select(
        F.from_json("value", _IN_LINES).alias("row"), F.col("_metadata.file_path").alias("file")
    )
    whole = F.col("row.time_ns").isNotNull()
    lines = said.select(
        F.when(whole, F.col("row.kind")).alias("kind"),
        *(f"row.{name}" for name in _IN_LINES.names if name != "kind"),
        "file",
    )
    none = F.lit("")
    stored = columns.select(
        *_STORED.names, none.alias("run"), none.alias("worker"), F.col("_metadata.file_path").alias("file")
    )
    return stored.unionByName(lines).select(*(_column(name) for name in EVENTS.names))


def _column(name: str) -> Column:
    match name:
        case "run" | "worker":
            said = F.coalesce(_of_path(name), F.nullif(F.col(name), F.lit("")), F.lit(""))
            return said.alias(name)
        case "acker":
            return F.lit(None).cast("int").alias(name)
        case "incarnation":
            return F.lit(0).alias(name)
        case _:
            return F.col(name)


def _of_path(name: str) -> Column:
    """What the folders say: escaped once by the tracer, and once more since the path is a URI."""
    escaped = F.regexp_extract("file", f"/{name}=([^/]*)/", 1)
    once = F.try_url_decode(F.replace(escaped, F.lit("+"), F.lit("%2B")))
    twice = F.try_url_decode(F.replace(once, F.lit("+"), F.lit("%2B")))
    return F.nullif(F.coalesce(twice, once, escaped), F.lit(""))


def waiting(folder: Path) -> tuple[int, int, int]:
    """How many parts there are, their bytes, and how many segments of processes that live or died."""
    sizes = [_size(path) for suffix in SUFFIXES for path in folder.rglob(f"part-*{suffix}")]
    return len(sizes), sum(sizes), sum(1 for _ in folder.rglob(".wal-*"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the oldest part of a full trace has just gone
        return 0
