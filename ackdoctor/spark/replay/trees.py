"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are `plain`: a sum proves how they went.  The others are brought together and told by `windows`;
those of which windows cannot tell, or all if they are few, are replayed message by message (`fold`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.keeping import Keep, as_it_is
from ackdoctor.spark.replay import fold, plain, windows
from ackdoctor.spark.replay.rotations import AXES, rotations, shortest
from ackdoctor.spark.replay.versions import Version
from ackdoctor.spark.schema import MESSAGES, ROOT_KEY

__all__ = ["Plan", "Replay", "entries", "replayed"]

_MESSAGES = (EventKind.INIT, EventKind.ACK, EventKind.FAIL)
_FEW = 2_000_000  # messages; to fold them takes some three times as long as windows, and these a second or two to plan
_MANY = 1_000_000  # roots; a table of more is not sent to every task
_TIMED_OUT, _ROTATED = int(EventKind.TIMED_OUT), int(EventKind.ROTATED)


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
    few: bool = True  # roots that are not `sole` or that a spout dropped: each task may be told of all
    timed_out: bool = True  # whether a spout dropped any; True where nobody has counted

    def to_all(self, roots: DataFrame) -> DataFrame:
        """The same rows, of which each task is told if they are few."""
        return F.broadcast(roots) if self.few else roots


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
    if plan is Plan.PROVE_FIRST:
        return _proved_first(messages, version, message_timeout_s, keep)
    taken = _taken(messages, version)
    ticks = rotations(messages, version, message_timeout_s)
    if plan is Plan.REPLAY:
        return Replay(entries=keep(fold.entries(taken, ticks, version)), messages=messages)
    return Replay(entries=_in_order(taken, ticks, version, keep), messages=messages)


def _proved_first(messages: DataFrame, version: Version, message_timeout_s: int | None, keep: Keep) -> Replay:
    """All messages are summed up, then read for those of the roots that are not plain, and for the ticks.

    A root that a tick may have dropped is known by the ticks only, so for such roots they are read once more.
    """
    taken = _taken(messages, version)
    same = _constants(messages, ROOT_KEY)
    proved = keep(plain.proved(plain.sums(taken.drop(*same)), version))
    known = proved.selectExpr(*(f"{value} as {name}" for name, value in same.items()), "*")
    doubted, ways = _size(known, *map(plain.longest, AXES), of="not sure")
    if doubted.roots > _MANY:
        return _told_by_windows(messages, version, message_timeout_s, keep, instead_of=[proved])
    left = keep(_left_over(messages, known.where("not sure")), few=doubted.messages <= _FEW)
    by_trace = message_timeout_s is None
    ticks = keep(rotations(left if by_trace else messages, version, message_timeout_s), few=True)
    timed_out, *spans = ticks.selectExpr("coalesce(sum(timed_out), 0L)", *map(shortest, AXES)).collect()[0]
    sure, delayed = known.where("sure"), _Size(0, 0, 0)
    if any(way > span for way, span in zip(ways, spans, strict=True)):
        late = keep(plain.late(known, ticks))
        delayed, _ = _size(late)
        if doubted.roots + delayed.roots > _MANY:
            instead = proved, left, late
            return _told_by_windows(messages, version, message_timeout_s, keep, instead_of=instead)
        if delayed.roots:
            left = keep(left.union(_left_over(taken, late)))
            sure = sure.join(F.broadcast(late.select(*ROOT_KEY)), [*ROOT_KEY], "left_anti")
    rest = _taken(left, version)
    if doubted.messages + delayed.messages <= _FEW and doubted.most <= windows.MOST_FOLDED:
        told = keep(fold.entries(rest, ticks, version), few=True)
    else:
        told = _in_order(rest, ticks, version, keep)
    return Replay(
        entries=plain.entries(sure).union(told),
        messages=left,
        few=timed_out <= _MANY,
        timed_out=timed_out > 0,
    )


def _told_by_windows(
    messages: DataFrame,
    version: Version,
    message_timeout_s: int | None,
    keep: Keep,
    *,
    instead_of: Iterable[DataFrame],
) -> Replay:
    """Where so many roots are not plain that it is no use to tell them apart; what was kept for that is given up."""
    for table in instead_of:
        table.unpersist()
    told = replayed(messages, version, message_timeout_s=message_timeout_s, plan=Plan.WINDOWS, keep=keep)
    return replace(told, few=False)


class _Size(NamedTuple):
    """How many roots, how many messages they have together, and how many one has at most."""

    roots: int
    messages: int
    most: int


def _size(roots: DataFrame, *more: str, of: str = "true") -> tuple[_Size, tuple[int, ...]]:
    """Of the roots for which `of` is true, and what `more` makes of all."""
    size = f"count_if({of})", f"coalesce(sum(if({of}, n, 0L)), 0L)", f"coalesce(max(if({of}, n, 0L)), 0L)"
    row = roots.selectExpr(*size, *more).collect()[0]
    return _Size(*row[: len(size)]), tuple(row[len(size) :])


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


def _taken(messages: DataFrame, version: Version) -> DataFrame:
    """What an acker of that version does not ignore."""
    kinds = (*_MESSAGES, EventKind.RESET) if version.resets else _MESSAGES
    return messages.where(F.col("kind").isin(*map(int, kinds)))


def _left_over(messages: DataFrame, roots: DataFrame) -> DataFrame:
    """The messages of these roots, all ticks, and what the spouts dropped of any root."""
    others = F.broadcast(roots.select(*ROOT_KEY, F.lit(True).alias("other")))
    asked = messages.join(others, [*ROOT_KEY], "left")
    return asked.where(f"other or kind in ({_ROTATED}, {_TIMED_OUT})").select(*MESSAGES.names)


def _in_order(messages: DataFrame, ticks: DataFrame, version: Version, keep: Keep) -> DataFrame:
    told = keep(windows.ordered(messages, ticks, version))
    odd = told.where("odd")
    return keep(windows.entries(told, ticks, version).union(fold.entries(odd, ticks, version)))
