"""ENTRIES -> VERDICTS: what became of each root, and who is to blame."""

from pyspark.sql import DataFrame

__all__ = ["verdicts"]


def verdicts(entries: DataFrame, messages: DataFrame) -> DataFrame:
    """One row for each root, with the culprits that the messages name (reference acker 3, law L1)."""
    raise NotImplementedError
