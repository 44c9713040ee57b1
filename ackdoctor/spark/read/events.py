"""From inputs to EVENTS, and the count of every line and row: used, a continuation, foreign, or in QUARANTINE with a reason."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model import UsageError
from ackdoctor.spark.deliveries import Ends, last_rows, life
from ackdoctor.spark.frames import Cache, collect_together
from ackdoctor.spark.read import log_events, logs
from ackdoctor.spark.read.file_kinds import FileKind
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.paths import literally
from ackdoctor.spark.read.traces import refused, traces
from ackdoctor.spark.session import spark_errors
from ackdoctor.spark.tables import Books, Quarantined

__all__ = ["Opened", "books", "opened", "quarantined", "refusals", "remove_unreadable"]


@dataclass(slots=True, kw_only=True)
class Opened:
    """EVENTS, and what became of the lines and rows that are not among them."""

    events: DataFrame
    trace_rows: int
    trace_files: int
    survey: logs.Survey = field(default_factory=logs.Survey)
    restarts: log_events.Restarts = field(init=False)
    missing: tuple[str, ...] = ()  # tasks that logs name, and of which no log has a line
    refused: tuple[Quarantined, ...] = ()

    def __post_init__(self) -> None:
        self.restarts = log_events.Restarts(self.survey)

    def books(self) -> Books:
        """Return where every row and line went."""
        of_logs = {log.file for log in self.survey.logs}
        bad = sum(row.rows for row in self.refused if row.file not in of_logs)
        return books(self.survey, self.trace_files, self.trace_rows, bad)

    def ends(self, ended: Mapping[str, int | None]) -> Ends:
        """Return when each life of a worker ended: with its last row, or with a later line of its log.

        A worker whose log continues without a tuple is stuck; its log was not cut off.  `ended` is by path.
        """
        if not self.survey.logs:
            return {}
        of_logs = self.restarts.log_ends(ended)
        rows = {life(row): row["end_ns"] for row in last_rows(self.events).collect()}
        return {whose: max(end_ns, of_logs.get(whose) or end_ns) for whose, end_ns in rows.items()}


def books(survey: logs.Survey, trace_files: int = 0, trace_rows: int = 0, bad_rows: int = 0) -> Books:
    """Return where every row and line went; lines that a log repeats are foreign, a copy is not counted."""
    counted = [log for log in survey.logs if not log.copy_of]
    used = [log for log in counted if not log.repeats]
    repeated = sum(log.used + log.quarantined for log in counted if log.repeats)
    return Books(
        files=trace_files + len(counted),
        rows=trace_rows + survey.passed.lines,
        used=trace_rows - bad_rows + sum(log.used for log in used),
        continued=survey.passed.continued + sum(log.continued for log in counted),
        foreign=survey.passed.foreign + sum(log.foreign for log in counted) + repeated,
        quarantined=bad_rows + sum(log.quarantined for log in used),
    )


@contextmanager
def opened(session: SparkSession, inputs: Inputs) -> Iterator[Opened]:
    """Read the inputs; text is parsed once and cached until this exits, Parquet is read where it is."""
    parts: list[DataFrame] = []
    bad: list[DataFrame] = []
    survey, missing = logs.Survey(), tuple[str, ...]()
    with Cache() as cache:
        for kind in (FileKind.PARQUET, FileKind.JSON_LINES):
            if files := inputs.files[kind]:
                parts.append(traces(session, kind, files))
                bad.append(refused(session, kind, files))
        if files := inputs.files[FileKind.LOG]:
            read = logs.lines(session, files)
            parsed, survey = logs.read_logs(read, cache)
            parts.append(log_events.events(parsed, survey))
            missing = log_events.missing_tasks(read, parsed, survey)
            if any(log.quarantined for log in survey.logs):
                bad.append(log_events.quarantine(parsed, survey))
        events = reduce(DataFrame.unionByName, parts)
        if inputs.files[FileKind.JSON_LINES]:
            events = cache(events)
        rows, rejected = _trace_rows(session, inputs, bad)
        yield Opened(
            events=events,
            trace_rows=rows,
            trace_files=len(inputs.files[FileKind.PARQUET]) + len(inputs.files[FileKind.JSON_LINES]),
            survey=survey,
            missing=missing,
            refused=rejected,
        )


def _trace_rows(
    session: SparkSession, inputs: Inputs, bad: Sequence[DataFrame]
) -> tuple[int, tuple[Quarantined, ...]]:
    """Count the rows of traces as the files have them, and collect what cannot be used."""
    tables = {"refused": refusals(reduce(DataFrame.unionByName, bad))} if bad else {}
    if columnar := inputs.files[FileKind.PARQUET]:  # of any schema: no column is read
        rows = session.read.schema("kind tinyint").parquet(*literally(columnar))
        tables["columnar"] = rows.agg(F.count("*").alias("rows"))
    if lines := inputs.files[FileKind.JSON_LINES]:
        text = session.read.text(literally(lines)).where(F.trim("value") != "")
        tables["lines"] = text.agg(F.count("*").alias("rows"))
    found = collect_together(**tables) if tables else {}
    count = sum(row["rows"] for name in ("columnar", "lines") for row in found.get(name, ()))
    return count, tuple(map(_quarantined, found.get("refused", ())))


def refusals(rows: DataFrame) -> DataFrame:
    """Return REFUSALS of QUARANTINE: how many rows of which file for what reason, with the first of each."""
    return (
        rows.groupBy("file", "reason")
        .agg(F.count("*").alias("rows"), F.coalesce(F.min_by("text", "place"), F.min("text")).alias("sample"))
        .orderBy(F.col("rows").desc(), "file", "reason")
        .select("file", "reason", "rows", "sample")
    )


def quarantined(rows: DataFrame) -> tuple[Quarantined, ...]:
    """Collect the REFUSALS of QUARANTINE."""
    return tuple(map(_quarantined, refusals(rows).collect()))


def _quarantined(row: Row) -> Quarantined:
    return Quarantined(file=row["file"], reason=row["reason"], rows=row["rows"], sample=row["sample"] or "")


# ---- files that Spark cannot read ----


def remove_unreadable(session: SparkSession, files: dict[FileKind, list[str]]) -> dict[str, str]:
    """Remove the files that Spark cannot read to their end, and return each with its reason; UsageError if Spark has ended."""
    found: dict[str, str] = {}
    for kind, names in files.items():
        errors = _errors(session, kind, names)
        files[kind] = [name for name in names if name not in errors]
        found |= errors
    return found


def _errors(session: SparkSession, kind: FileKind, files: Sequence[str]) -> dict[str, str]:
    """Read all files at once, and if that fails each half."""
    reason = _error(session, kind, files) if files else ""
    if not reason:
        return {}
    if len(files) == 1:
        return {files[0]: reason.replace(f"file://{files[0]}: ", "")}
    half = len(files) // 2
    return _errors(session, kind, files[:half]) | _errors(session, kind, files[half:])


def _error(session: SparkSession, kind: FileKind, files: Sequence[str]) -> str:
    try:
        with spark_errors():
            rows = logs.lines(session, files) if kind is FileKind.LOG else traces(session, kind, files)
            rows.write.format("noop").mode("overwrite").save()
    except UsageError as error:
        if isinstance(error.__cause__, Py4JNetworkError):
            raise
        return str(error)
    return ""
