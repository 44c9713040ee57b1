"""Roots that are not plain, told by windows: one sort, and running sums over a root's messages in order.

Within one life the first prefix that has an INIT and XORs to zero (or has a FAIL) is the only possible end;
after it only a further INIT could end anything.  So the messages of a root up to there are its first life, and
the rest its second, which stays an orphan.  Where that is not so, the root is `odd`, and `fold` replays it:

- an INIT comes after the first end: the root was used again
- it was longer than the rotations take to forget
- JStorm, Heron: a FAIL, which means nothing where there is no entry; Heron: an INIT that was not the first
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.model.message import Engine
from ackdoctor.spark.replay.rotations import ACKER, AXES, MAY_EXPIRE, RULERS, expiry
from ackdoctor.spark.replay.versions import Version
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, ROOT_KEY

__all__ = ["MOST_FOLDED", "entries", "ordered"]

MOST_FOLDED = 50_000  # messages of a root; all of them are in memory at once when it is folded

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)
_OF_AXIS = dict(zip(AXES, ("pos", "time_ns"), strict=True))
_KEY = ", ".join(ROOT_KEY)
_ROOT = f"(partition by {_KEY})"
_SO_FAR = (
    f"(partition by {_KEY} order by place, source, pos rows between unbounded preceding and current row)"
)
_BEFORE = (
    f"(partition by {_KEY} order by place, source, pos rows between unbounded preceding and 1 preceding)"
)


def ordered(messages: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """The messages, each with whether it `ends` a life, comes `after` the first end, and its root is `odd`.

    `place` orders the messages of a root: `pos`, or the time where several processes saw them.
    """
    seen = messages.selectExpr(
        *(*ROOT_KEY, "kind", "value", "spout_task", "source", "pos", "time_ns"),
        f"min(source) over {_ROOT} != max(source) over {_ROOT} as mixed",
        f"count(1) over {_ROOT} as size",
        *(f"min({of}) over {_ROOT} as first_{axis}" for axis, of in _OF_AXIS.items()),
        *(f"max({of}) over {_ROOT} as last_{axis}" for axis, of in _OF_AXIS.items()),
    )
    placed = seen.selectExpr("*", "if(mixed, time_ns, pos) as place", "if(mixed, null, source) as clock")
    running = placed.selectExpr(
        "*",
        f"bit_xor(if(kind <= {_ACK}, value, 0L)) over {_SO_FAR} as left_over",
        f"max(kind = {_INIT}) over {_SO_FAR} as begun",
        f"max(kind = {_FAIL}) over {_SO_FAR} as given_up",
        f"first(kind) over {_SO_FAR} as first_kind",
    )
    ended = running.selectExpr("*", f"{_ends(version.engine)} as ends")
    cut = ended.selectExpr("*", f"coalesce(max(ends) over {_BEFORE}, false) as after")
    doubted = cut.selectExpr("*", f"{_doubtful(version.engine)} as doubtful")
    rulers = F.broadcast(rotations.select(*ACKER, *RULERS))
    told = doubted.join(rulers, [*ACKER], "left").selectExpr("*", f"doubtful or {MAY_EXPIRE} as doubt")
    return told.selectExpr(
        *ROOT_KEY,
        *(
            "kind",
            "value",
            "spout_task",
            "source",
            "pos",
            "time_ns",
            "mixed",
            "place",
            "clock",
            "ends",
            "after",
        ),
        f"doubt and size <= {MOST_FOLDED} as odd",
        "doubt or mixed as estimated",
    )


def _ends(engine: Engine) -> str:
    """Whether a life may end with a message, if it has not ended before."""
    if engine is Engine.HERON:
        return f"begun and left_over = 0 and kind = {_ACK}"
    return "begun and (left_over = 0 or given_up)"


def _doubtful(engine: Engine) -> str:
    """Whether more could happen to a root than its first end; the same for all its messages."""
    again = f"max(after and kind = {_INIT}) over {_ROOT}"
    failed = f"max(kind = {_FAIL}) over {_ROOT}"
    match engine:
        case Engine.CLOJURE | Engine.JAVA:
            return again
        case Engine.JSTORM:
            return f"({again} or {failed})"
        case Engine.HERON:
            return f"(first_kind != {_INIT} or count_if(kind = {_INIT}) over {_ROOT} != 1 or {failed})"


def entries(told: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """ENTRIES of the roots that are not odd."""
    kept = told.where("not odd")
    if version.engine is Engine.HERON:  # what comes after the end meets no entry, and makes none
        kept = kept.where("not after")
    aggregates = {
        "ended": "max(ends and not after)",
        "n": "count(1)",
        "n_init": f"count_if(kind = {_INIT})",
        "n_ack": f"count_if(kind = {_ACK})",
        "n_fail": f"count_if(kind = {_FAIL})",
        "n_reset": f"count_if(kind = {_RESET})",
        "total": f"bit_xor(if(kind <= {_ACK}, value, null))",
        "spout_task": f"max_by(if(kind = {_INIT}, spout_task, null), if(kind = {_INIT}, place, null))",
        "first_pos": "min(place)",
        "last_pos": "max(place)",
        "again_pos": f"max(if(kind >= {_FAIL}, place, null))",
        "first_ns": "min(time_ns)",
        "last_ns": "max(time_ns)",
        "again_ns": f"max(if(kind >= {_FAIL}, time_ns, null))",
        "init_ns": f"min(if(kind = {_INIT}, time_ns, null))",
        "clock": "max(clock)",
        "estimated": "max(estimated)",
    }
    lives = kept.groupBy(*ROOT_KEY, "after").agg(
        *(F.expr(f"{what} as {name}") for name, what in aggregates.items())
    )
    return _settled(lives, rotations, version)


def _settled(lives: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """What became of each life: what did not end by itself was dropped by a later tick, or is left."""
    put_pos, put_ns = "first_pos", "first_ns"
    if version.engine is Engine.CLOJURE:
        put_pos, put_ns = "last_pos", "last_ns"
    elif version.engine is Engine.JAVA:
        put_pos, put_ns = "greatest(first_pos, again_pos)", "greatest(first_ns, again_ns)"
    dropped = expiry(version.buckets, "clock", put_pos, put_ns)
    ticks = F.broadcast(rotations.select(*ACKER, "ticks", "steps"))
    told = lives.join(ticks, [*ACKER], "left").selectExpr(
        "*",
        f"{'coalesce(total, 0L)' if version.engine is Engine.JAVA else 'total'} as value",
        f"if(ended, null, {dropped}) as tick",
    )
    if version.engine is Engine.HERON:
        told = told.where("n_init > 0")
    return told.selectExpr(
        *ROOT_KEY,
        "int(after) + 1 as life",
        "false as sole",
        "case when ended then if(value = 0, 'acked', 'failed') when tick is not null then 'expired' else 'pending' end as outcome",
        *("value", "spout_task"),
        "n_fail > 0 as failed",
        *("n", "n_init", "n_ack", "n_fail", "n_reset", "first_pos", "last_pos"),
        "if(ended, last_pos, tick.pos) as end_pos",
        *("first_ns", "init_ns", "last_ns"),
        "if(ended, last_ns, tick.ns) as end_ns",
        f"if(estimated, '{ESTIMATED}', '{EXACT}') as order",
    ).select(*ENTRIES.names)
