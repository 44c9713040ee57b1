"""Which file it is that Spark cannot read to its end."""

from collections.abc import Sequence

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read import stormlog
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.traces import traces
from ackdoctor.spark.trouble import told

__all__ = ["flaws", "sifted"]


def sifted(session: SparkSession, inputs: Inputs) -> bool:
    """Puts aside the files that cannot be read; whether there were any."""
    before = inputs.count()
    for sort, files in inputs.files.items():
        found = flaws(session, sort, files)
        inputs.files[sort] = [file for file in files if file not in found]
        for file, reason in found.items():
            inputs.fault(file, reason)
    return inputs.count() < before


def flaws(session: SparkSession, sort: Sort, files: Sequence[str]) -> dict[str, str]:
    """The files that Spark cannot read to their end, and why.  UsageError if there no longer is a Spark.

    All are read at once, and where that fails each half.
    """
    reason = _flaw(session, sort, files) if files else ""
    if not reason:
        return {}
    if len(files) == 1:
        return {files[0]: reason.replace(f"file://{files[0]}: ", "")}
    half = len(files) // 2
    return flaws(session, sort, files[:half]) | flaws(session, sort, files[half:])


def _flaw(session: SparkSession, sort: Sort, files: Sequence[str]) -> str:
    try:
        with told():
            _rows(session, sort, files).write.format("noop").mode("overwrite").save()
    except UsageError as error:
        if isinstance(error.__cause__, Py4JNetworkError):
            raise
        return str(error)
    return ""


def _rows(session: SparkSession, sort: Sort, files: Sequence[str]) -> DataFrame:
    return stormlog.lines(session, files) if sort is Sort.LOG else traces(session, sort, files)
