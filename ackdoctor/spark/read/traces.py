"""Traces on disk -> EVENTS: parts as Parquet and as JSON lines, by one explicit schema.

A column that a part does not have is empty.  A row without kind or time is refused, and so is Parquet without roots or
deliveries (`file_kinds`).
"""

import re
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType, StructField, StructType

from ackdoctor.model.trace import EventKind
from ackdoctor.spark.read.file_kinds import FileKind
from ackdoctor.spark.read.paths import literally
from ackdoctor.spark.schema import EVENTS, QUARANTINE

__all__ = ["constant_columns", "refused", "traces"]

_FOLDERS = ("run", "worker")
_BY_PLACE = {*_FOLDERS, "acker", "incarnation"}
_ROW = StructType([field for field in EVENTS.fields if field.name not in _BY_PLACE])
_CORRUPT = "_corrupt"
_TORN = StructType([*_ROW.fields, StructField(_CORRUPT, StringType())])
_KINDS = [int(kind) for kind in EventKind]
_LONGEST = 500
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")
_SECOND_OBJECT = r"\}\s*\{\s*\"schema\""  # Spark reads the first of two objects on a line, and says nothing


def traces(session: SparkSession, kind: FileKind, files: Sequence[str]) -> DataFrame:
    """Return the EVENTS of parts that all are Parquet, or all JSON lines."""
    by_file = any(_same(name, files) is None for name in _FOLDERS)
    return _read(session, kind, files, by_file=by_file).where(_usable(by_file=by_file)).select(*EVENTS.names)


def refused(session: SparkSession, kind: FileKind, files: Sequence[str]) -> DataFrame:
    """Return the QUARANTINE of parts: rows that cannot be used."""
    return (
        _read(session, kind, files, by_file=True)
        .where(~_usable(by_file=True))
        .select(
            "file",
            F.lit(None).cast("bigint").alias("place"),
            F.substring(
                F.coalesce("text", F.concat_ws(" ", "kind", "time_ns", "component")), 1, _LONGEST
            ).alias("text"),
            F.when(
                F.col("kind").isNull() | F.col("time_ns").isNull(),
                "not a row of a trace: kind or time is missing",
            )
            .when(~F.col("kind").isin(_KINDS), "a kind of row that this version does not know")
            .otherwise("damaged, or more than one row on a line")
            .alias("reason"),
        )
        .select(*QUARANTINE.names)
    )


def constant_columns(files: Mapping[FileKind, Sequence[str]]) -> dict[str, str]:
    """Return the columns of a root's key that are the same in every row of these inputs, as SQL."""
    if files[FileKind.LOG]:
        return {}
    run = _same("run", [name for names in files.values() for name in names])
    return {"acker": "0", "incarnation": "0", **({} if run is None else {"run": f"'{run}'"})}


def _usable(*, by_file: bool) -> Column:
    """Return whether a row can be used; it names the path, or Spark would read all metadata of a file."""
    kinds = ", ".join(map(str, _KINDS))
    known = f"coalesce(kind in ({kinds}) and time_ns is not null and torn is null, false)"
    return F.expr(f"{known} and file != ''" if by_file else known)


def _read(session: SparkSession, kind: FileKind, files: Sequence[str], *, by_file: bool) -> DataFrame:
    """Return every row with its `text` if it is JSON, `torn` if that is not a single row, and its `file` if asked for.

    Naming the file creates an object for each row.
    """
    file = [F.col("_metadata.file_path").alias("file")] * by_file
    if kind is FileKind.PARQUET:
        rows = (
            session.read.schema(_ROW).parquet(*literally(files)).select("*", *file, *_nulls("text", "torn"))
        )
    else:
        parse = F.from_json("text", _TORN, {"columnNameOfCorruptRecord": _CORRUPT})
        lines = session.read.text(literally(files)).select(F.col("value").alias("text"), *file)
        rows = lines.where(F.trim("text") != "").withColumn("row", parse)
        twice = F.when(F.col("text").rlike(_SECOND_OBJECT), F.col("text"))
        torn = F.coalesce(f"row.{_CORRUPT}", twice).alias("torn")
        rows = rows.select("row.*", *lines.columns, torn)
    return rows.selectExpr(
        *(_filled(field) for field in _ROW.fields),
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


def _filled(field: StructField) -> str:
    """Return the column, '' or 0 where it is null; kind and time must not be."""
    if field.name in {"kind", "time_ns"}:
        return field.name
    kind = field.dataType.simpleString()
    empty = "''" if kind == "string" else f"cast(0 as {kind})"
    return f"coalesce({field.name}, {empty}) as {field.name}"


def _nulls(*names: str) -> list[Column]:
    return [F.lit(None).cast("string").alias(name) for name in names]
