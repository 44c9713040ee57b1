"""Rows that the driver knows as a table: as text, since rows of Python would start a Python worker."""

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

__all__ = ["inlined"]


def inlined(session: SparkSession, columns: str, rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """The rows, which JSON can say, with `columns` as Spark writes the fields of a struct: `log: int, name: string`."""
    said = json.dumps(list(rows))
    return session.sql(f"select inline(from_json(:said, 'array<struct<{columns}>>'))", args={"said": said})
