"""Which file it is that Spark cannot read to its end."""

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read import stormlog
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.traces import traces
from ackdoctor.spark.trouble import told

__all__ = ["flaw", "sifted"]


def sifted(session: SparkSession, inputs: Inputs) -> bool:
    """Reads each file by itself, and puts aside those that cannot be read; whether there were any."""
    before = inputs.count()
    for sort, files in inputs.files.items():
        flaws = {file: flaw(session, sort, file) for file in files}
        inputs.files[sort] = [file for file in files if not flaws[file]]
        for file, reason in flaws.items():
            if reason:
                inputs.fault(file, reason)
    return inputs.count() < before


def flaw(session: SparkSession, sort: Sort, file: str) -> str:
    """Why Spark cannot read a file to its end; '' if it can.  UsageError if there no longer is a Spark."""
    try:
        with told():
            _rows(session, sort, file).write.format("noop").mode("overwrite").save()
    except UsageError as error:
        if isinstance(error.__cause__, Py4JNetworkError):
            raise
        return str(error).replace(f"file://{file}: ", "")
    return ""


def _rows(session: SparkSession, sort: Sort, file: str) -> DataFrame:
    return stormlog.lines(session, [file]) if sort is Sort.LOG else traces(session, sort, [file])
