"""How a table that several others are made of is kept."""

from dataclasses import dataclass, field
from typing import Protocol

from pyspark import StorageLevel
from pyspark.sql import DataFrame

__all__ = ["Keep", "Kept", "as_it_is"]


class Keep(Protocol):
    """Of `few` rows, what they were made of may be forgotten."""

    def __call__(self, frame: DataFrame, /, *, few: bool = False) -> DataFrame:
        """The same rows."""


def as_it_is(frame: DataFrame, /, *, few: bool = False) -> DataFrame:  # noqa: ARG001 - a Keep
    """Keeps nothing."""
    return frame


@dataclass(slots=True)
class Kept:
    """Keeps tables in memory and on disk for as long as it is entered.

    In one process, where no executor dies and takes along what nobody can make again, a few rows are cut off
    from their plan: whatever reads them is planned in less time.
    """

    tables: list[DataFrame] = field(default_factory=list)

    def __call__(self, frame: DataFrame, /, *, few: bool = False) -> DataFrame:
        """The same rows; computed when somebody asks for them."""
        if few and (frame.sparkSession.sparkContext.master or "").split("[")[0] == "local":
            return frame.localCheckpoint(eager=False)
        self.tables.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def __enter__(self) -> "Kept":  # noqa: PYI034 - Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        for table in self.tables:
            table.unpersist()
