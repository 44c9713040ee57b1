"""From inputs to EVENTS, and the count of every line and row: used, a continuation, foreign, or in QUARANTINE with a reason.

A trace is read by one explicit schema, as Parquet or as JSON lines; a column that a part does not have is empty.  A row
without kind or time is refused, and so is Parquet without roots or deliveries (`file_kinds`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType, StructField, StructType

from ackdoctor.model import UsageError
from ackdoctor.model.trace import EventKind
from ackdoctor.spark import logs
from ackdoctor.spark.deliveries import Ends, last_rows, worker_process
from ackdoctor.spark.file_kinds import FileKind, ForeignFileError, kind_by_name, need_rows, need_schema
from ackdoctor.spark.inputs import EMPTY_FOLDER, File, Inputs, literally
from ackdoctor.spark.schema import EVENTS, QUARANTINE
from ackdoctor.spark.session import Cache, spark_errors
from ackdoctor.spark.tables import Quarantined, RowCounts

# ---- traces ----

_FOLDERS = ("run", "worker")
_BY_PLACE = {*_FOLDERS, "acker", "incarnation"}
_ROW = StructType([column for column in EVENTS.fields if column.name not in _BY_PLACE])
_CORRUPT = "_corrupt"
_TORN = StructType([*_ROW.fields, StructField(_CORRUPT, StringType())])
_KINDS = ", ".join(str(int(kind)) for kind in EventKind)
_LONGEST = 500
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")
_SECOND_OBJECT = r"\}\s*\{\s*\"schema\""  # Spark reads the first of two objects on a line, and says nothing
_USABLE = f"coalesce(kind in ({_KINDS}) and time_ns is not null and torn is null, false)"
_REASON = f"""case
    when kind is null or time_ns is null then 'not a row of a trace: kind or time is missing'
    when kind not in ({_KINDS}) then 'a kind of row that this version does not know'
    else 'damaged, or more than one row on a line' end as reason"""


def traces(session: SparkSession, kind: FileKind, files: Sequence[str]) -> DataFrame:
    """Return the EVENTS of parts that all are Parquet, or all JSON lines."""
    by_file = any(_same(name, files) is None for name in _FOLDERS)
    # a condition on `file` keeps it: Spark would else read all metadata of each file
    usable = f"{_USABLE} and file != ''" if by_file else _USABLE
    return _read(session, kind, files, by_file=by_file).where(usable).select(*EVENTS.names)


def refused(session: SparkSession, kind: FileKind, files: Sequence[str]) -> DataFrame:
    """Return the QUARANTINE of parts: rows that cannot be used."""
    text = f"substring(coalesce(text, concat_ws(' ', kind, time_ns, component)), 1, {_LONGEST}) as text"
    return (
        _read(session, kind, files, by_file=True)
        .where(f"not ({_USABLE} and file != '')")
        .selectExpr("file", "cast(null as bigint) as place", text, _REASON)
        .select(*QUARANTINE.names)
    )


def constant_columns(files: Mapping[FileKind, Sequence[str]]) -> dict[str, str]:
    """Return the columns of a root's key that are the same in every row of these inputs, as SQL."""
    if files[FileKind.LOG]:
        return {}
    run = _same("run", [name for names in files.values() for name in names])
    return {"acker": "0", "incarnation": "0", **({} if run is None else {"run": f"'{run}'"})}


def _read(session: SparkSession, kind: FileKind, files: Sequence[str], *, by_file: bool) -> DataFrame:
    """Return every row with its `text` if it is JSON, `torn` if that is not a single row, and its `file` if asked for.

    Naming the file creates an object for each row.
    """
    file = ["_metadata.file_path as file"] * by_file
    if kind is FileKind.PARQUET:
        columns = session.read.schema(_ROW).parquet(*literally(files))
        rows = columns.selectExpr(
            "*", *file, *(f"cast(null as string) as {name}" for name in ("text", "torn"))
        )
    else:
        parse = F.from_json("text", _TORN, {"columnNameOfCorruptRecord": _CORRUPT})
        lines = session.read.text(literally(files)).selectExpr("value as text", *file)
        twice = F.when(F.col("text").rlike(_SECOND_OBJECT), F.col("text"))
        torn = F.coalesce(f"row.{_CORRUPT}", twice).alias("torn")
        parsed = lines.where("trim(text) != ''").withColumn("row", parse)
        rows = parsed.select("row.*", *lines.columns, torn)
    return rows.selectExpr(
        *map(_filled, _ROW.fields),
        *(_folder(name, files) for name in _FOLDERS),
        *("cast(null as int) as acker", "cast(null as int) as incarnation"),
        *["file"] * by_file,
        *("text", "torn"),
    )


def _same(name: str, files: Sequence[str]) -> str | None:
    """Return the value of the nearest folder `name=...` if it is the same for all files, '' without such a folder; else None.

    Only plain letters count: a row has the escaped path.
    """
    values = {
        file.rpartition(f"/{name}=")[2].partition("/")[0] if f"/{name}=" in file else "" for file in files
    }
    only = values.pop() if len(values) == 1 else None
    return only if only is not None and _PLAIN.fullmatch(only) else None


def _folder(name: str, files: Sequence[str]) -> str:
    """Return the column; a constant if it is the same for all files: Spark then groups and joins without it."""
    if (only := _same(name, files)) is not None:
        return f"'{only}' as {name}"
    after = f"substring_index(file, '/{name}=', -1)"
    return f"if(contains(file, '/{name}='), substring_index({after}, '/', 1), '') as {name}"


def _filled(column: StructField) -> str:
    """Return the column, '' or 0 where it is null; kind and time must not be."""
    if column.name in {"kind", "time_ns"}:
        return column.name
    kind = column.dataType.simpleString()
    empty = "''" if kind == "string" else f"cast(0 as {kind})"
    return f"coalesce({column.name}, {empty}) as {column.name}"


# ---- all inputs ----


@dataclass(slots=True, kw_only=True)
class Opened:
    """EVENTS, and what became of the lines and rows that are not among them."""

    events: DataFrame
    trace_rows: int
    trace_files: int
    survey: logs.Survey = field(default_factory=logs.Survey)
    missing: tuple[str, ...] = ()  # tasks that logs name, and of which no log has a line
    refused: tuple[Quarantined, ...] = ()

    def row_counts(self) -> RowCounts:
        """Return where every row and line went."""
        of_logs = {log.file for log in self.survey.logs}
        bad = sum(row.rows for row in self.refused if row.file not in of_logs)
        return row_counts(self.survey, self.trace_files, self.trace_rows, bad)

    def ends(self, ended: Mapping[str, int | None]) -> Ends:
        """Return when each process of a worker ended: with its last row, or with a later line of its log.

        A worker whose log continues without a tuple is stuck; its log was not cut off.  `ended` is by path.
        """
        if not self.survey.logs:
            return {}
        of_logs = self.survey.restarts.log_ends(ended)
        rows = {worker_process(row): row["end_ns"] for row in last_rows(self.events).collect()}
        return {whose: max(end_ns, of_logs.get(whose) or end_ns) for whose, end_ns in rows.items()}


def row_counts(
    survey: logs.Survey, trace_files: int = 0, trace_rows: int = 0, bad_rows: int = 0
) -> RowCounts:
    """Return where every row and line went; lines that a log repeats are foreign, a copy is not counted."""
    counted = [log for log in survey.logs if not log.copy_of]
    used = [log for log in counted if not log.repeats]
    repeated = sum(log.used + log.quarantined for log in counted if log.repeats)
    return RowCounts(
        files=trace_files + len(counted),
        rows=trace_rows + survey.passed["lines"],
        used=trace_rows - bad_rows + sum(log.used for log in used),
        continued=survey.passed["continued"] + sum(log.continued for log in counted),
        foreign=survey.passed["foreign"] + sum(log.foreign for log in counted) + repeated,
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
            parts.append(logs.events(parsed, survey))
            missing = logs.missing_tasks(read, parsed, survey)
            if any(log.quarantined for log in survey.logs):
                bad.append(logs.quarantine(parsed, survey))
        events = reduce(DataFrame.unionByName, parts)
        yield Opened(
            events=cache(events) if inputs.files[FileKind.JSON_LINES] else events,
            trace_rows=_trace_rows(session, inputs),
            trace_files=len(inputs.files[FileKind.PARQUET]) + len(inputs.files[FileKind.JSON_LINES]),
            survey=survey,
            missing=missing,
            refused=quarantined(bad),
        )


def _trace_rows(session: SparkSession, inputs: Inputs) -> int:
    """Count the rows of traces as the files have them."""
    rows = 0
    if columnar := inputs.files[FileKind.PARQUET]:  # of any schema: no column is read
        rows += session.read.schema("kind tinyint").parquet(*literally(columnar)).count()
    if lines := inputs.files[FileKind.JSON_LINES]:
        rows += session.read.text(literally(lines)).where("trim(value) != ''").count()
    return rows


def quarantined(tables: Sequence[DataFrame]) -> tuple[Quarantined, ...]:
    """Collect QUARANTINE: how many rows of which file for what reason, with the first of each."""
    if not tables:
        return ()
    counted = (
        reduce(DataFrame.unionByName, tables)
        .groupBy("file", "reason")
        .agg(
            F.count("*").alias("rows"),
            F.coalesce(F.min_by("text", "place"), F.min("text"), F.lit("")).alias("sample"),
        )
        .orderBy(F.col("rows").desc(), "file", "reason")
    )
    return tuple(Quarantined(**row.asDict()) for row in counted.collect())


# ---- files that Spark cannot read ----


def remove_unreadable(session: SparkSession, files: dict[FileKind, list[str]]) -> dict[str, str]:
    """Remove the files that Spark cannot read to their end, and return each with its reason; UsageError if Spark has ended."""
    found: dict[str, str] = {}
    for kind, names in files.items():
        errors = _errors(session, kind, names) if names else {}
        files[kind] = [name for name in names if name not in errors]
        found |= errors
    return found


def _errors(session: SparkSession, kind: FileKind, files: Sequence[str]) -> dict[str, str]:
    """Read all files at once, and if that fails each half."""
    try:
        with spark_errors():
            rows = logs.lines(session, files) if kind is FileKind.LOG else traces(session, kind, files)
            rows.write.format("noop").mode("overwrite").save()
    except UsageError as error:
        if isinstance(error.__cause__, Py4JNetworkError):
            raise
        if len(files) == 1:
            return {files[0]: str(error).replace(f"file://{files[0]}: ", "")}
        half = len(files) // 2
        return _errors(session, kind, files[:half]) | _errors(session, kind, files[half:])
    return {}


# ---- addresses ----


def with_addresses(spark: SparkSession, inputs: Inputs) -> Inputs:
    """Add the files at the addresses, which Spark lists with its own credentials; they are recognized by their names."""
    asked: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for address in inputs.addresses:
        try:
            there = files_at(spark, address)
        except UsageError as error:
            inputs.fail(address, str(error))
            continue
        if not there:
            inputs.fail(address, EMPTY_FOLDER)
        asked[address] = list(there)
        sizes |= there
    found: list[File] = []
    for path, size in sizes.items():
        named = path in inputs.addresses
        with inputs.errors_of(path, named=named):
            found.append(File(path=path, size=size, kind=_kind_at(path, size, named=named)))
    inputs.add(found, asked)
    inputs.addresses.clear()
    return inputs


def files_at(spark: SparkSession, address: str) -> dict[str, int]:
    """Return the files at an address, which may be a pattern of Hadoop's, with their sizes; UsageError if there is no such place."""
    with spark_errors(""):
        listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(address)
        return {
            row["path"]: row["length"] for row in listing.select("path", "length").orderBy("path").collect()
        }


def _kind_at(path: str, size: int, *, named: bool) -> FileKind:
    name = path.rpartition("/")[2]
    need_rows(name, size)
    need_schema(path)
    if (kind := kind_by_name(name)) is not None:
        return kind
    if not named:
        raise ForeignFileError("neither named like a part of a trace nor like a worker's log")
    return FileKind.LOG
