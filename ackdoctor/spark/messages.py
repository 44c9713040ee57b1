"""EVENTS -> MESSAGES: what the ackers were sent, in the order in which they took it."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.schema import MESSAGES

__all__ = ["messages"]

_KINDS = (
    EventKind.INIT,
    EventKind.ACK,
    EventKind.FAIL,
    EventKind.RESET,
    EventKind.ROTATED,
    EventKind.TIMED_OUT,
)


def messages(events: DataFrame, *, ackers: int = 1) -> DataFrame:
    """The rows that concern an acker.

    Where the reader does not know the acker's task, the root's place among `ackers` tasks stands for it
    (reference acker 2.1); a rotation of an unknown acker is one of all of them.
    """
    known = events.where(F.col("kind").isin(*map(int, _KINDS)))
    return known.select(
        "run",
        F.coalesce("acker", _acker(ackers)).cast("int").alias("acker"),
        F.coalesce("incarnation", F.lit(0)).alias("incarnation"),
        "root",
        "kind",
        "value",
        F.when(F.col("kind") == int(EventKind.INIT), F.col("task")).alias("spout_task"),
        "component",
        "task",
        "delivery",
        F.xxhash64("worker", "pid").alias("source"),
        F.col("seq").alias("pos"),
        "time_ns",
        "site",
        "file",
    ).select(*MESSAGES.names)


def _acker(ackers: int) -> Column:
    """The modulo of a list's hash, as Java has it."""
    if ackers == 1:
        return F.lit(0)
    low = F.lit(0xFFFFFFFF)
    long_hash = F.col("root").bitwiseXOR(F.shiftrightunsigned("root", 32)).bitwiseAND(low)
    list_hash = (long_hash + F.lit(31)).bitwiseAND(low)
    signed = F.shiftright(F.shiftleft(list_hash, 32), 32)
    return F.pmod(signed, F.lit(ackers))
