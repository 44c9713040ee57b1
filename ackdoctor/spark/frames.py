"""The tables of an analysis, and DataFrame helpers: cached tables, tables of rows that the driver knows, several small results in one job."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession

__all__ = ["Cache", "Frames", "Persist", "collect_together", "literal_table", "quoted", "uncached"]

Persist: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(slots=True, kw_only=True)
class Frames:
    """The tables that more than one result needs."""

    events: DataFrame
    deliveries: DataFrame
    messages: DataFrame
    entries: DataFrame
    verdicts: DataFrame
    too_large: int = 0  # roots that have too many messages to be replayed


@dataclass(slots=True)
class Cache:
    """Persists DataFrames in memory and on disk until it exits.

    `small` ones in one process are cut off from their plan, which Spark would otherwise plan again for each query.
    """

    small: bool = False
    frames: list[DataFrame] = field(default_factory=list)

    def __call__(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, which Spark computes once."""
        if self.small and (frame.sparkSession.sparkContext.master or "").split("[")[0] == "local":
            return frame.localCheckpoint(eager=False).toDF(*frame.columns)  # new columns, for self-joins
        self.frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def __enter__(self) -> "Cache":  # noqa: PYI034 - Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self.frames:
            frame.unpersist()


def uncached(frame: DataFrame) -> DataFrame:
    """Persist nothing."""
    return frame


def literal_table(session: SparkSession, columns: str, rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Return rows that JSON can express as a table; `columns` are the fields of a struct: `log: int, name: string`.

    `createDataFrame` would start a Python worker for them.
    """
    text = json.dumps(list(rows))
    return session.sql(f"select inline(from_json(:rows, 'array<struct<{columns}>>'))", args={"rows": text})


def quoted(text: str) -> str:
    """Return the text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def collect_together(**tables: DataFrame) -> dict[str, list[Row]]:
    """Collect several small tables, each in its order, in one job: planning one costs more than running it."""
    marked = [frame.selectExpr(f"'{name}' as of", f"struct(*) as {name}") for name, frame in tables.items()]
    rows = reduce(lambda one, next_: one.unionByName(next_, allowMissingColumns=True), marked).collect()
    return {name: [row[name] for row in rows if row["of"] == name] for name in tables}
