"""From inputs to EVENTS, with what could not be used beside them: traces and logs as one table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.read import stormlog
from ackdoctor.spark.read.inputs import Inputs, Sort
from ackdoctor.spark.read.logbook import Survey, survey
from ackdoctor.spark.read.quarantine import books, quarantined
from ackdoctor.spark.read.traces import refused, traces
from ackdoctor.spark.tables import Books, Quarantined

__all__ = ["Opened", "opened"]


@dataclass(slots=True, kw_only=True)
class Opened:
    """The rows, and what became of those that are not among them."""

    events: DataFrame
    trace_rows: int
    trace_files: int
    surveyed: Survey
    refused: tuple[Quarantined, ...] = ()

    def books(self) -> Books:
        """Where every row and line went."""
        bad = sum(row.rows for row in self.refused if row.file not in self._logs())
        return books(
            self.surveyed, trace_files=self.trace_files, trace_rows=self.trace_rows, trace_quarantined=bad
        )

    def _logs(self) -> set[str]:
        return {log.file for log in self.surveyed.logs}


@contextmanager
def opened(session: SparkSession, inputs: Inputs) -> Iterator[Opened]:
    """Text is parsed once and kept for as long as the inputs are open; Parquet is read where it lies."""
    columnar, lines, logs = (inputs.files[sort] for sort in (Sort.PARQUET, Sort.JSON_LINES, Sort.LOG))
    parts: list[DataFrame] = []
    bad: list[DataFrame] = []
    surveyed = Survey(logs=())
    for files in (columnar, lines):
        if files:
            parts.append(traces(session, files))
            bad.append(refused(session, files))
    if logs:
        text = stormlog.lines(session, logs)
        surveyed = survey(text)
        parts.append(stormlog.events(text, surveyed))
        bad.append(stormlog.quarantine(text))
    events = reduce(DataFrame.unionByName, parts)
    if lines or logs:
        events.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield Opened(
            events=events,
            trace_rows=_count(session, columnar, lines),
            trace_files=len(columnar) + len(lines),
            surveyed=surveyed,
            refused=quarantined(reduce(DataFrame.unionByName, bad)),
        )
    finally:
        events.unpersist()


def _count(session: SparkSession, columnar: Sequence[str], lines: Sequence[str]) -> int:
    """Rows as the files have them, before anybody has looked into one."""
    rows = session.read.parquet(*columnar).count() if columnar else 0
    if lines:
        rows += session.read.text(list(lines)).where(F.trim("value") != "").count()
    return rows
