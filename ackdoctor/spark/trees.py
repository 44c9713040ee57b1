"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are `plain`: a sum proves how they went.  The others are brought together and told by `windows`;
those of which windows cannot tell, or all if they are few, are replayed message by message (`fold`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, unique

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark import fold, plain, windows
from ackdoctor.spark.rotations import rotations
from ackdoctor.spark.schema import MESSAGES, ROOT_KEY
from ackdoctor.spark.versions import Version

__all__ = ["Keep", "Plan", "Replay", "as_it_is", "entries", "replayed"]

Keep = Callable[[DataFrame], DataFrame]  # how a table that several others are made of is kept; or not

_MESSAGES = (EventKind.INIT, EventKind.ACK, EventKind.FAIL)
_FEW = 2_000_000  # messages; to fold them takes some three times as long as windows, and these a second or two to plan


@unique
class Plan(Enum):
    """How to go about it; the entries are the same, but for `sole`."""

    PROVE_FIRST = "plain roots by a sum, then the others"  # for tens of millions of messages, in trees of some 12 tuples at most
    WINDOWS = "windows for all"  # for larger trees, and for less: it is planned in a third of the time
    REPLAY = "message by message"  # the least to plan, for what fits into memory


@dataclass(slots=True, kw_only=True)
class Replay:
    """ENTRIES, and of the MESSAGES those that the verdicts on them ask for."""

    entries: DataFrame
    messages: DataFrame


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
    """Every life of every entry: `replayed` without the rest."""
    return replayed(messages, version, message_timeout_s=message_timeout_s, plan=plan, keep=keep).entries


def replayed(
    messages: DataFrame,
    version: Version,
    *,
    message_timeout_s: int | None = None,
    plan: Plan = Plan.WINDOWS,
    keep: Keep = as_it_is,
) -> Replay:
    """Every life of every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; else
    where the trace says so.  What `keep` keeps is planned, and computed, once: what comes back is cheap to
    read again, so nobody needs to keep it a second time.  Only a proof is computed at once: how many roots
    it leaves over says how to go on.
    """
    ticks = rotations(messages, version, message_timeout_s)
    kinds = (*_MESSAGES, EventKind.RESET) if version.resets else _MESSAGES
    taken = _of_kinds(messages, kinds)
    match plan:
        case Plan.REPLAY:
            return Replay(entries=keep(fold.entries(taken, ticks, version)), messages=messages)
        case Plan.WINDOWS:
            return Replay(entries=_in_order(taken, ticks, version, keep), messages=messages)
        case Plan.PROVE_FIRST:
            ticks = keep(ticks)  # asked for by three tables, and each would read all messages for it
            same = _constants(messages, ROOT_KEY)
            proved = plain.proved(plain.sums(taken.drop(*same)), version)
            roots = keep(plain.plain(proved, ticks)).selectExpr(
                *(f"{value} as {name}" for name, value in same.items()), "*"
            )
            left = keep(_left_over(messages, roots))
            rest = _of_kinds(left, kinds)
            if _is_little(roots):
                told = keep(fold.entries(rest, ticks, version))
            else:
                told = _in_order(rest, ticks, version, keep)
            return Replay(entries=plain.entries(roots).union(told), messages=left)


def _constants(frame: DataFrame, names: Sequence[str]) -> dict[str, str]:
    """The columns that Spark knows to be the same in every row, each with its value as SQL.

    Of a join's key it takes them out, but not of a grouping's (Spark 4.0: they get there after it has looked).
    """
    plan = frame.select(*names)._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - nobody else knows
    if plan.nodeName() != "Project":
        return {}
    values = {name: plan.projectList().apply(at).children().headOption() for at, name in enumerate(names)}
    return {
        name: value.get().sql()
        for name, value in values.items()
        if value.isDefined() and value.get().foldable()
    }


def _of_kinds(messages: DataFrame, kinds: Iterable[EventKind]) -> DataFrame:
    return messages.where(F.col("kind").isin(*map(int, kinds)))


def _left_over(messages: DataFrame, roots: DataFrame) -> DataFrame:
    """The messages of roots that are not plain, and what the spouts dropped of any root."""
    others = F.broadcast(roots.where("not is_plain").select(*ROOT_KEY, F.lit(True).alias("other")))
    asked = messages.join(others, [*ROOT_KEY], "left")
    return asked.where(f"other or kind = {int(EventKind.TIMED_OUT)}").select(*MESSAGES.names)


def _is_little(roots: DataFrame) -> bool:
    """Whether all that is not plain may be folded."""
    left = roots.where("not is_plain").selectExpr("coalesce(sum(n), 0) as n", "coalesce(max(n), 0) as most")
    row = left.collect()[0]
    return bool(row["n"] <= _FEW and row["most"] <= windows.MOST_FOLDED)


def _in_order(messages: DataFrame, ticks: DataFrame, version: Version, keep: Keep) -> DataFrame:
    told = keep(windows.ordered(messages, ticks, version))
    odd = told.where("odd")
    return keep(windows.entries(told, ticks, version).union(fold.entries(odd, ticks, version)))
