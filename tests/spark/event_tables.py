"""Rows of the model as EVENTS, and traces on disk."""

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model.trace import Event
from ackdoctor.spark.schema import EVENTS
from ackdoctor.tracer.trace_reader import read

__all__ = ["STATEMENTS", "events", "trace"]

STATEMENTS = Path(__file__).parent.parent.parent / "fixtures" / "traces" / "statements"


def events(spark: SparkSession, rows: Iterable[Event]) -> DataFrame:
    """Return EVENTS of a trace without the acker's task."""
    names = [name for name in EVENTS.names if name in Event._fields]
    known = [tuple(getattr(row, name) for name in names) for row in rows]
    plain = [(int(kind), *rest, None, None) for kind, *rest in known]
    return spark.createDataFrame(plain, EVENTS)


def trace(spark: SparkSession, folder: Path) -> DataFrame:
    """Return EVENTS of a folder, by the reader of the tracer."""
    return events(spark, read([folder]).events())
