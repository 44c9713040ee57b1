"""The books of what was read: every line or row is used, a continuation, foreign, or in quarantine with a reason."""

from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.read.logbook import Log, Survey
from ackdoctor.spark.tables import Books, Quarantined

__all__ = ["books", "gathered", "quarantined", "refusals"]


def books(
    surveyed: Survey, *, trace_files: int = 0, trace_rows: int = 0, trace_quarantined: int = 0
) -> Books:
    """Of all logs, and what was counted elsewhere of traces."""
    logs: list[Log] = [_counted(log) for log in surveyed.logs if log.of or not log.copy_of]
    return Books(
        files=trace_files + len({log.of or log.file for log in logs}),
        rows=trace_rows + surveyed.passed.lines,
        used=trace_rows - trace_quarantined + sum(log.used for log in logs),
        continued=surveyed.passed.continued + sum(log.continued for log in logs),
        foreign=surveyed.passed.foreign + sum(log.foreign for log in logs),
        quarantined=trace_quarantined + sum(log.quarantined for log in logs),
    )


def _counted(log: Log) -> Log:
    """A piece that another log tells too tells nothing new; a whole log that does is not counted at all."""
    if not log.copy_of:
        return log
    again = log.used + log.continued + log.foreign + log.quarantined
    return replace(log, used=0, continued=0, foreign=again, quarantined=0)


def refusals(rows: DataFrame) -> DataFrame:
    """REFUSALS: how many rows of which file for what reason, with the first of each, or any where a row has no place."""
    return (
        rows.groupBy("file", "reason")
        .agg(F.count("*").alias("rows"), F.coalesce(F.min_by("text", "place"), F.min("text")).alias("sample"))
        .orderBy(F.col("rows").desc(), "file", "reason")
        .select("file", "reason", "rows", "sample")
    )


def quarantined(rows: DataFrame) -> tuple[Quarantined, ...]:
    """The same of a QUARANTINE table, on the driver."""
    return gathered(refusals(rows).collect())


def gathered(rows: Iterable[Row]) -> tuple[Quarantined, ...]:
    """REFUSALS that came back to the driver."""
    return tuple(
        Quarantined(file=row["file"], reason=row["reason"], rows=row["rows"], sample=row["sample"] or "")
        for row in rows
    )
