"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once."""

from pyspark.sql import DataFrame

from ackdoctor.spark.versions import Version

__all__ = ["entries"]


def entries(messages: DataFrame, version: Version, *, message_timeout_s: int | None = None) -> DataFrame:
    """Every life of every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; else
    where the trace says so.
    """
    raise NotImplementedError
