"""From inputs to EVENTS, with what could not be used beside them: traces and logs as one table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.deliveries import Ends, cut, lasting
from ackdoctor.spark.frames import Cache
from ackdoctor.spark.judge.collecting import together
from ackdoctor.spark.read import stormlog
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.logbook import Survey
from ackdoctor.spark.read.paths import literally
from ackdoctor.spark.read.quarantine import books, gathered, refusals
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.standing import stood
from ackdoctor.spark.read.tasks import missing
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
    lines: DataFrame | None = None  # of the logs
    missing: tuple[str, ...] = ()  # tasks that the logs name, and of which none has a line
    refused: tuple[Quarantined, ...] = ()

    def books(self) -> Books:
        """Where every row and line went."""
        bad = sum(row.rows for row in self.refused if row.file not in self._logs())
        return books(
            self.surveyed, trace_files=self.trace_files, trace_rows=self.trace_rows, trace_quarantined=bad
        )

    def ends(self, lives: Lives, ended: Mapping[str, Callable[[], int | None]]) -> Ends:
        """When each life of a worker ended that a log tells of; `ended` as `Lives.ends` has it."""
        if self.lines is None:
            return {}
        rows = cut(self.events).collect()
        return lasting(rows, lives.ends(ended) | stood(self.lines, lasting(rows, {}), lives))

    def _logs(self) -> set[str]:
        return {log.file for log in self.surveyed.logs}


@contextmanager
def opened(session: SparkSession, inputs: Inputs) -> Iterator[Opened]:
    """Text is parsed once and kept for as long as the inputs are open; Parquet is read where it lies."""
    columnar, lines, logs = (inputs.files[sort] for sort in (Sort.PARQUET, Sort.JSON_LINES, Sort.LOG))
    parts: list[DataFrame] = []
    bad: list[DataFrame] = []
    surveyed = Survey(logs=())
    read: DataFrame | None = None
    absent: tuple[str, ...] = ()
    with Cache() as keep:
        for sort in (Sort.PARQUET, Sort.JSON_LINES):
            if files := inputs.files[sort]:
                parts.append(traces(session, sort, files))
                bad.append(refused(session, sort, files))
        if logs:
            read = stormlog.lines(session, logs)
            told, surveyed = stormlog.kept(read, inputs.begun, keep)
            parts.append(stormlog.events(told, surveyed))
            absent = missing(read, told, surveyed)
            if any(log.quarantined for log in surveyed.logs):
                bad.append(stormlog.quarantine(told, surveyed))
        events = reduce(DataFrame.unionByName, parts)
        if lines:
            events = keep(events)
        rows, refused_ = _taken_stock(session, columnar, lines, bad)
        yield Opened(
            events=events,
            trace_rows=rows,
            trace_files=len(columnar) + len(lines),
            surveyed=surveyed,
            lines=read,
            missing=absent,
            refused=refused_,
        )


def _taken_stock(
    session: SparkSession, columnar: Sequence[str], lines: Sequence[str], bad: Sequence[DataFrame]
) -> tuple[int, tuple[Quarantined, ...]]:
    """Rows of traces as the files have them, before anybody has looked into one; and what nobody can use."""
    tables = {"refused": refusals(reduce(DataFrame.unionByName, bad))} if bad else {}
    if columnar:  # any schema will do, since none is asked for
        whole = session.read.schema("kind tinyint").parquet(*literally(columnar))
        tables["columnar"] = whole.agg(F.count("*").alias("rows"))
    if lines:
        text = session.read.text(literally(lines)).where(F.trim("value") != "")
        tables["lines"] = text.agg(F.count("*").alias("rows"))
    found = together(**tables) if tables else {}
    rows = sum(row["rows"] for name in ("columnar", "lines") for row in found.get(name, ()))
    return rows, gathered(found.get("refused", ()))
