"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are `plain`: a sum proves how they went.  The others are brought together and told by `windows`;
the few of which windows cannot tell are replayed message by message (`fold`).
"""

from enum import Enum, unique

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark import fold, plain, windows
from ackdoctor.spark.rotations import rotations
from ackdoctor.spark.schema import ROOT_KEY
from ackdoctor.spark.versions import Version

__all__ = ["Plan", "entries"]

_MESSAGES = (EventKind.INIT, EventKind.ACK, EventKind.FAIL)


@unique
class Plan(Enum):
    """How to go about it; the entries are the same, but for `sole`."""

    PROVE_FIRST = "plain roots by a sum, then windows"  # for tens of millions of messages, in trees of some 12 tuples at most
    WINDOWS = "windows for all"  # for larger trees, and for less: it is planned in a third of the time


def entries(
    messages: DataFrame,
    version: Version,
    *,
    message_timeout_s: int | None = None,
    plan: Plan = Plan.WINDOWS,
) -> DataFrame:
    """Every life of every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; else
    where the trace says so.
    """
    ticks = rotations(messages, version, message_timeout_s)
    kinds = (*_MESSAGES, EventKind.RESET) if version.resets else _MESSAGES
    taken = messages.where(F.col("kind").isin(*map(int, kinds)))
    if plan is Plan.WINDOWS:
        return _in_order(taken, ticks, version)
    proved = plain.plain(plain.sums(taken), ticks, version)
    others = F.broadcast(proved.where("not is_plain").select(*ROOT_KEY))
    rest = taken.join(others, [*ROOT_KEY], "left_semi")
    return plain.entries(proved).union(_in_order(rest, ticks, version))


def _in_order(messages: DataFrame, ticks: DataFrame, version: Version) -> DataFrame:
    told = windows.ordered(messages, ticks, version)
    return windows.entries(told, ticks, version).union(fold.entries(told, ticks, version))
