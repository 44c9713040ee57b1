"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are `plain`: a sum proves how they went.  The others are brought together and told by `windows`;
the few of which windows cannot tell are replayed message by message (`fold`).
"""

from collections.abc import Callable
from enum import Enum, unique

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark import fold, plain, windows
from ackdoctor.spark.rotations import rotations
from ackdoctor.spark.schema import ROOT_KEY
from ackdoctor.spark.versions import Version

__all__ = ["Keep", "Plan", "as_it_is", "entries"]

Keep = Callable[[DataFrame], DataFrame]  # how a table that several others are made of is kept; or not

_MESSAGES = (EventKind.INIT, EventKind.ACK, EventKind.FAIL)


@unique
class Plan(Enum):
    """How to go about it; the entries are the same, but for `sole`."""

    PROVE_FIRST = "plain roots by a sum, then windows"  # for tens of millions of messages, in trees of some 12 tuples at most
    WINDOWS = "windows for all"  # for larger trees, and for less: it is planned in a third of the time
    REPLAY = "message by message"  # the least to plan, for what fits into memory


def as_it_is(frame: DataFrame) -> DataFrame:
    """Keeps nothing."""
    return frame


def entries(
    messages: DataFrame,
    version: Version,
    *,
    message_timeout_s: int | None = None,
    plan: Plan = Plan.WINDOWS,
    keep: Keep = as_it_is,
) -> DataFrame:
    """Every life of every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; else
    where the trace says so.  What `keep` keeps is planned, and computed, once: what comes back is cheap to
    read again, so nobody needs to keep it a second time.
    """
    ticks = rotations(messages, version, message_timeout_s)
    kinds = (*_MESSAGES, EventKind.RESET) if version.resets else _MESSAGES
    taken = messages.where(F.col("kind").isin(*map(int, kinds)))
    match plan:
        case Plan.REPLAY:
            return keep(fold.entries(taken, ticks, version))
        case Plan.WINDOWS:
            return _in_order(taken, ticks, version, keep)
        case Plan.PROVE_FIRST:
            ticks = keep(ticks)  # asked for by three tables, and each would read all messages for it
            proved = keep(plain.plain(plain.sums(taken), ticks, version))
            others = F.broadcast(proved.where("not is_plain").select(*ROOT_KEY))
            rest = taken.join(others, [*ROOT_KEY], "left_semi")
            return plain.entries(proved).union(_in_order(rest, ticks, version, keep))


def _in_order(messages: DataFrame, ticks: DataFrame, version: Version, keep: Keep) -> DataFrame:
    told = keep(windows.ordered(messages, ticks, version))
    odd = told.where("odd")
    return keep(windows.entries(told, ticks, version).union(fold.entries(odd, ticks, version)))
