"""MESSAGES -> ROTATIONS: when each acker dropped its oldest bucket, one row for each acker.

A tick that the acker wrote down stands between messages of the same process by `pos`; one that only a
schedule or another process knows stands before the first message that is not older.

Nothing here is a `sequence`: for its sake Spark loads Scala's reflection, a second of CPU; the places in an array are told by `transform`.
"""

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.replay.versions import Version

__all__ = [
    "ACKER",
    "AXES",
    "EVER",
    "MAY_EXPIRE",
    "RULERS",
    "after",
    "expiry",
    "may_expire",
    "may_have_expired",
    "rotations",
    "shortest",
]

ACKER = ("run", "acker", "incarnation")
AXES = ("pos", "ns")  # on which a tick comes after a message: of its own process, or of another
_MOST_TICKS = 200_000  # of a schedule: 69 days of 30 s; a clock that jumps farther rotates no more
_NEVER, EVER = -(1 << 63), (1 << 63) - 1
_SPOTS, _MOST_SPOTS = 4096, 1 << 20  # of a ruler
_HALVES = ", ".join(str(1 << at) for at in range(30, -1, -1))
_MS = 1_000_000
_ROTATED, _TIMED_OUT = int(EventKind.ROTATED), int(EventKind.TIMED_OUT)
_DROPPED = f"count_if(kind = {_TIMED_OUT}) as timed_out"
_TICKS = "array<struct<pos:bigint,ns:bigint,source:bigint>>"


def rotations(messages: DataFrame, version: Version, message_timeout_s: int | None) -> DataFrame:
    """What an acker's ticks are, and what one asks of them.

    `ticks`: of each its source and pos, null if scheduled, and its time; `steps`, by which `expiry` finds one; how many on
    one axis are `enough` to drop anything; RULERS, which `may_expire` asks; and how many roots a spout has `timed_out`.
    """
    if message_timeout_s is None:
        ticked = _recorded(messages)
    else:
        ticked = _scheduled(messages, version.schedule_ms(message_timeout_s))
    return _ruled(ticked, version.buckets)


def _recorded(messages: DataFrame) -> DataFrame:
    asked = messages.where(f"kind in ({_ROTATED}, {_TIMED_OUT})")
    source = f"if(kind = {_ROTATED}, source, null)"
    gathered = asked.groupBy(*ACKER).agg(
        F.expr(f"collect_list(if(kind = {_ROTATED}, struct(pos, time_ns as ns, source), null)) as found"),
        F.expr(f"coalesce(min({source}) != max({source}), false) as mixed"),
        F.expr(_DROPPED),
    )
    placed = "transform(found, tick -> struct(if(mixed, tick.ns, tick.pos) as place, tick))"
    return gathered.selectExpr(
        *ACKER, "timed_out", "mixed", f"transform(array_sort({placed}), placed -> placed.tick) as ticks"
    )


def _scheduled(messages: DataFrame, schedule_ms: tuple[int, int] | None) -> DataFrame:
    """Of every acker the same: the run has one clock."""
    first_ms, every_ms = schedule_ms or (0, 0)
    begun = F.min(_ms())
    seen = messages.groupBy(*ACKER).agg(
        begun.alias("begin_ms"), F.max(_ms()).alias("end_ms"), F.expr(_DROPPED)
    )
    if schedule_ms is None:
        ticks = F.array().cast(_TICKS)
    else:
        begin = F.col("run_ms") + first_ms
        count = F.call_function("div", F.col("end_ms") - begin, F.lit(every_ms))
        steps = F.array_repeat(F.lit(0), (F.least(count, F.lit(_MOST_TICKS).cast("long")) + 1).cast("int"))
        null = F.lit(None).cast("long")
        ticks = F.when(
            F.col("end_ms") >= begin,
            F.transform(
                steps,
                lambda _, step: F.struct(
                    null.alias("pos"),
                    ((begin + step.cast("long") * every_ms) * _MS).alias("ns"),
                    null.alias("source"),
                ),
            ).cast(_TICKS),
        ).otherwise(F.array().cast(_TICKS))
    runs = seen.groupBy("run").agg(
        F.min("begin_ms").alias("run_ms"),
        F.max("end_ms").alias("end_ms"),
        F.collect_list(F.struct("acker", "incarnation", "timed_out")).alias("of"),
    )
    return runs.select("run", ticks.alias("ticks"), F.explode("of").alias("of")).select(
        "run", "of.acker", "of.incarnation", "of.timed_out", F.lit(False).alias("mixed"), "ticks"
    )


def _ms() -> Column:
    return F.call_function("div", F.col("time_ns"), F.lit(_MS))


def _ruled(ticked: DataFrame, buckets: int) -> DataFrame:
    """With a ruler on each axis, null where too few ticks are to drop anything.

    From the first tick to the last it has spots of one width, and for each the earliest tick that can drop what was put
    there: that which completes the buckets from the beginning of the spot.  So where nothing happened for long, and ticks
    stand close together, what is elsewhere is none the worse.  Where ticks have several sources, a root may see some by
    `pos` and others by time: then half as many on either axis are enough.
    """
    marks = "array_sort(filter(transform(ticks, tick -> tick.{}), mark -> mark is not null)) as {}"
    marked = ticked.selectExpr(
        *ACKER,
        "timed_out",
        "ticks",
        "mixed",
        f"if(mixed, {(buckets + 1) // 2}, {buckets}) as enough",
        *(marks.format(axis, axis) for axis in AXES),
    )
    rising = "not mixed and ns = transform(ticks, tick -> tick.ns)"
    halves = f"filter(array({_HALVES}), step -> step <= size(ticks))"
    spaced = marked.selectExpr(
        "*", f"if({rising}, {halves}, null) as steps", *(f"{_width(axis)} as {axis}_width" for axis in AXES)
    )
    return spaced.selectExpr(
        *ACKER,
        *("timed_out", "ticks", "steps", "enough"),
        *(part for axis in AXES for part in _ruler(axis)),
        *(f"{_span(axis)} as span_{axis}" for axis in AXES),
    )


def _width(axis: str) -> str:
    """SQL: of a spot; `EVER` where a long does not hold the way from the first mark to the last."""
    way = f"try_subtract(get({axis}, size({axis}) - 1), get({axis}, 0))"
    return f"coalesce({way} div least({_MOST_SPOTS}, greatest({_SPOTS}, 8 * size({axis}))) + 1, {EVER})"


def _ruler(axis: str) -> Iterator[str]:
    """SQL: a mark's turn comes for all spots after that of the mark before it, up to its own; the last spot is all that is after."""
    spot = f"({{}} - {axis}[0]) div {axis}_width"
    before = spot.format(f"{axis}[at - 1]")
    count = f"int({spot.format('mark')} - if(at = 0, -1L, {before}))"
    drop = f"coalesce(get({axis}, at + enough - 1), {EVER})"
    drops = f"flatten(transform({axis}, (mark, at) -> array_repeat({drop}, {count})))"
    far = f"array({_NEVER}, {_NEVER})"
    known = f"if({axis}_width = {EVER}, {far}, concat({drops}, array({EVER})))"
    parts = {"begin": f"{axis}[0]", "width": f"{axis}_width", "drops": known}
    yield from (f"if(size({axis}) < enough, null, {part}) as {name}_{axis}" for name, part in parts.items())


def _span(axis: str) -> str:
    """SQL: the shortest way on which so many ticks came as are enough; null if so many never came."""
    way = f"coalesce(try_subtract(mark, {axis}[at - enough + 1]), 0L)"
    return f"array_min(transform({axis}, (mark, at) -> if(at + 1 < enough, null, {way})))"


def shortest(axis: str) -> str:
    """SQL, of all ackers: a plain root that came no farther than this on an axis has seen no tick there that drops it."""
    return f"coalesce(min(span_{axis}), {EVER})"


def may_expire(axis: str) -> str:
    """SQL, never null: whether a root, from `first` to `last` on an axis, may see a tick that drops it."""
    first, begin, drops = f"first_{axis}", f"begin_{axis}", f"drops_{axis}"
    way = f"if({first} <= {begin}, 0L, {first} - {begin})"  # below 0 if a long does not hold it: there is no such spot
    drop = f"get({drops}, int(least({way} div width_{axis}, bigint(size({drops}) - 1))))"
    return f"not coalesce(last_{axis} < {drop}, {begin} is null)"


def may_have_expired(axis: str) -> str:
    """SQL: the same, but that it counts the ticks; null where the acker has none."""
    seen = f"tick.{axis} > first_{axis} and tick.{axis} <= last_{axis}"
    return f"size(filter(ticks, tick -> {seen})) >= enough"


# of a root, which is `mixed` where several processes saw its messages
MAY_EXPIRE = f"({may_expire('ns')} or not mixed and {may_expire('pos')})"
RULERS = tuple(f"{part}_{axis}" for axis in AXES for part in ("begin", "width", "drops"))


def expiry(buckets: int, source: str, pos: str, time_ns: str) -> str:
    """SQL, beside `ticks` and `steps`: the tick that drops what was put with a message; null if it never came.

    Where ticks rise by `pos` and by time, those before the message are counted by halving, from the greatest
    of the powers of two that are `steps`: a filter asks each of them, for each of the entries that are left.
    """
    reached = "get(ticks, seen + step - 1)"
    passed = f"{reached} is not null and not {after(reached, source, pos, time_ns)}"
    seen = f"aggregate(steps, 0, (seen, step) -> if({passed}, seen + step, seen))"
    found = f"get(ticks, {seen} + {buckets - 1})"
    asked = f"get(filter(ticks, tick -> {after('tick', source, pos, time_ns)}), {buckets - 1})"
    return f"if(steps is null, {asked}, {found})"


def after(tick: str, source: str, pos: str, time_ns: str) -> str:
    """SQL: whether a tick came after a message."""
    here = f"coalesce({tick}.source = {source}, false)"
    return f"if({here}, {tick}.pos > {pos}, {tick}.ns > {time_ns})"
