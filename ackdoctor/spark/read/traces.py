"""Traces of ours on disk -> EVENTS (README, "The trace on disk")."""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import StructType

from ackdoctor.spark.schema import EVENTS

__all__ = ["traces"]

_UNWRITTEN = ("acker", "incarnation", "file")  # what no trace of ours says
_STORED = StructType([field for field in EVENTS.fields if field.name not in _UNWRITTEN])
_RUN = "/run="


def traces(spark: SparkSession, files: Iterable[str]) -> DataFrame:
    """The rows of some parts, Parquet or JSON lines; that they can be read is known (`read.inputs`).

    Run and worker are said by the folders of a part, or else by the rows.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for file in files:
        base = file.partition(_RUN)[0] if _RUN in file else ""
        groups.setdefault((base, file.rpartition(".")[2]), []).append(file)
    read = [_read(spark, base, form, parts) for (base, form), parts in groups.items()]
    return reduce(DataFrame.unionAll, read)


def _read(spark: SparkSession, base: str, form: str, files: list[str]) -> DataFrame:
    reader = spark.read.schema(_STORED)
    if base:
        reader = reader.option("basePath", base)
    rows = reader.json(files) if form == "jsonl" else reader.parquet(*files)
    missing = {
        "acker": F.lit(None).cast("int"),
        "incarnation": F.lit(0),
        "file": F.col("_metadata.file_path"),
    }
    return rows.select(*(missing.get(name, F.col(name)).alias(name) for name in EVENTS.names))
