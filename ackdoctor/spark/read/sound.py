"""Which file it is that Spark cannot read to its end."""

from collections.abc import Sequence

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read import stormlog
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.traces import traces
from ackdoctor.spark.session import spark_errors

__all__ = ["sifted"]


def sifted(session: SparkSession, files: dict[Sort, list[str]]) -> dict[str, str]:
    """Takes the files out that Spark cannot read to their end; which, and why.  UsageError if there no longer is a Spark."""
    found: dict[str, str] = {}
    for sort, names in files.items():
        flaws = _flaws(session, sort, names)
        files[sort] = [name for name in names if name not in flaws]
        found |= flaws
    return found


def _flaws(session: SparkSession, sort: Sort, files: Sequence[str]) -> dict[str, str]:
    """All are read at once, and where that fails each half."""
    reason = _flaw(session, sort, files) if files else ""
    if not reason:
        return {}
    if len(files) == 1:
        return {files[0]: reason.replace(f"file://{files[0]}: ", "")}
    half = len(files) // 2
    return _flaws(session, sort, files[:half]) | _flaws(session, sort, files[half:])


def _flaw(session: SparkSession, sort: Sort, files: Sequence[str]) -> str:
    try:
        with spark_errors():
            _rows(session, sort, files).write.format("noop").mode("overwrite").save()
    except UsageError as error:
        if isinstance(error.__cause__, Py4JNetworkError):
            raise
        return str(error)
    return ""


def _rows(session: SparkSession, sort: Sort, files: Sequence[str]) -> DataFrame:
    return stormlog.lines(session, files) if sort is Sort.LOG else traces(session, sort, files)
