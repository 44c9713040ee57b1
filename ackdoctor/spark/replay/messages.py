"""EVENTS -> MESSAGES, what the ackers received; and ROTATIONS, when each acker dropped its oldest bucket.

A tick that an acker's process recorded is ordered against messages of the same process by `pos`.  One that comes from a
schedule or from another process is ordered by time: it precedes the first message that is not older.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import AckerVersion, Engine, ackers, ambiguous
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.schema import MESSAGES

__all__ = [
    "ACKER",
    "acker_version",
    "after",
    "expiring_tick",
    "may_be_dropped",
    "messages",
    "rotations",
    "schedule_ms",
    "spans_ticks",
]

ACKER = ("run", "acker", "incarnation")
_AXES = ("pos", "ns")  # a tick follows a message by position in its process, or by time
_KINDS = (
    EventKind.INIT,
    EventKind.ACK,
    EventKind.FAIL,
    EventKind.RESET,
    EventKind.ROTATED,
    EventKind.TIMED_OUT,
)
_MOST_TICKS = 200_000  # of a schedule: 69 days of 30 s
_MAX_LONG = (1 << 63) - 1
_POWERS_OF_TWO = ", ".join(str(1 << bit) for bit in range(30, -1, -1))
_MS = 1_000_000
_ROTATED, _TIMED_OUT = int(EventKind.ROTATED), int(EventKind.TIMED_OUT)
_COUNT_TIMED_OUT = f"count_if(kind = {_TIMED_OUT}) as timed_out"
_TICKS = "array<struct<pos:bigint,ns:bigint,source:bigint>>"


# ---- versions ----


def acker_version(name: str) -> AckerVersion:
    """Return the version of that name; a series is one version if its ackers behave alike.  ConfigError otherwise."""
    found = ackers(name)
    if len({version.acker_rules for version in found}) > 1:
        raise ambiguous(name)
    return found[-1]


def schedule_ms(version: AckerVersion, timeout_s: int) -> tuple[int, int] | None:
    """When an acker rotates first after its start, and how often then; None if it never does."""
    match version.engine:
        case Engine.HERON:  # xor-manager.cpp: integers
            buckets = version.acker_buckets
            return timeout_s * 1000, (timeout_s // buckets + timeout_s % buckets) * 1000
        case Engine.JSTORM:
            return timeout_s * 500, timeout_s * 500
        case Engine.CLOJURE | Engine.JAVA:
            return (timeout_s * 1000, timeout_s * 1000) if version.acker_ticks else None


# ---- messages ----


def messages(events: DataFrame, *, ackers: int = 1) -> DataFrame:
    """Return the messages to ackers, ticks, and roots that a spout's own map dropped.

    If the reader does not know the acker's task, it is the root's index among `ackers` tasks; a rotation of an unknown
    acker counts for all of them.
    """
    kinds = ", ".join(str(int(kind)) for kind in _KINDS)
    return (
        events.where(f"kind in ({kinds})")
        .selectExpr(
            "run",
            f"{_acker_task(ackers)} as acker",
            "coalesce(incarnation, 0) as incarnation",
            *("root", "kind", "value"),
            f"if(kind = {int(EventKind.INIT)}, task, null) as spout_task",
            *("component", "task", "delivery"),
            "xxhash64(worker) ^ pid as source",
            "seq as pos",
            *("time_ns", "site"),
        )
        .select(*MESSAGES.names)
    )


def _acker_task(count: int) -> str:
    if count == 1:
        return "coalesce(acker, 0)"
    everyone = ", ".join(map(str, range(count)))
    unknown = f"if(kind = {_ROTATED}, array({everyone}), array({_acker_index(count)}))"
    return f"explode(if(acker is null, {unknown}, array(acker)))"


def _acker_index(count: int) -> str:
    """SQL: the hash of a Java list that holds the root, modulo the number of ackers."""
    low = 0xFFFFFFFF
    list_hash = f"((root ^ shiftrightunsigned(root, 32)) & {low}) + 31 & {low}"
    return f"int(pmod(shiftright(shiftleft({list_hash}, 32), 32), {count}))"


# ---- rotations ----


def rotations(messages: DataFrame, version: AckerVersion, message_timeout_s: int | None) -> DataFrame:
    """Return a row for each acker with its `ticks`, by the schedule of a message timeout or as recorded.

    The other columns serve `expiring_tick`, `spans_ticks` and `may_be_dropped`: whether the ticks are `rising` on both
    axes, sorted `*_marks` on each, the powers of two up to their number, how many on one axis are `enough` to drop
    anything, the shortest `*_span` in which that many came.  `timed_out` counts the roots that spouts dropped.
    """
    if message_timeout_s is None:
        ticked = _recorded(messages)
    else:
        ticked = _scheduled(messages, schedule_ms(version, message_timeout_s))
    buckets = version.acker_buckets
    marks = "array_sort(filter(transform(ticks, tick -> tick.{0}), mark -> mark is not null)) as {0}_marks"
    marked = ticked.selectExpr(
        *ACKER,
        *("timed_out", "ticks", "mixed"),
        f"if(mixed, {(buckets + 1) // 2}, {buckets}) as enough",  # a root may see some by position, others by time
        *(marks.format(axis) for axis in _AXES),
    )
    return marked.selectExpr(
        *ACKER,
        *("timed_out", "ticks", "enough", "pos_marks", "ns_marks"),
        "not mixed and ns_marks = transform(ticks, tick -> tick.ns) as rising",
        f"filter(array({_POWERS_OF_TWO}), power -> power <= size(ticks)) as powers",
        *(f"{_shortest_span(axis)} as {axis}_span" for axis in _AXES),
    )


def _recorded(messages: DataFrame) -> DataFrame:
    source = f"if(kind = {_ROTATED}, source, null)"
    gathered = (
        messages.where(f"kind in ({_ROTATED}, {_TIMED_OUT})")
        .groupBy(*ACKER)
        .agg(
            F.expr(f"collect_list(if(kind = {_ROTATED}, struct(pos, time_ns as ns, source), null)) as found"),
            F.expr(f"coalesce(min({source}) != max({source}), false) as mixed"),
            F.expr(_COUNT_TIMED_OUT),
        )
    )
    placed = "transform(found, tick -> struct(if(mixed, tick.ns, tick.pos) as place, tick))"
    return gathered.selectExpr(
        *ACKER, "timed_out", "mixed", f"transform(array_sort({placed}), placed -> placed.tick) as ticks"
    )


def _scheduled(messages: DataFrame, schedule: tuple[int, int] | None) -> DataFrame:
    """Return the same ticks for every acker of a run: the run has one clock."""
    seen = messages.groupBy(*ACKER).agg(
        F.min(_milliseconds()).alias("begin_ms"),
        F.max(_milliseconds()).alias("end_ms"),
        F.expr(_COUNT_TIMED_OUT),
    )
    runs = seen.groupBy("run").agg(
        F.min("begin_ms").alias("run_ms"),
        F.max("end_ms").alias("end_ms"),
        F.collect_list(F.struct("acker", "incarnation", "timed_out")).alias("of"),
    )
    no_ticks = F.array().cast(_TICKS)
    if schedule is None:
        ticks = no_ticks
    else:
        first_ms, every_ms = schedule
        begin = F.col("run_ms") + first_ms
        count = F.call_function("div", F.col("end_ms") - begin, F.lit(every_ms))
        steps = F.array_repeat(F.lit(0), (F.least(count, F.lit(_MOST_TICKS).cast("long")) + 1).cast("int"))
        null = F.lit(None).cast("long")

        def tick(_: Column, step: Column) -> Column:
            ns = (begin + step.cast("long") * every_ms) * _MS
            return F.struct(null.alias("pos"), ns.alias("ns"), null.alias("source"))

        ticks = F.when(F.col("end_ms") >= begin, F.transform(steps, tick).cast(_TICKS)).otherwise(no_ticks)
    return runs.select("run", ticks.alias("ticks"), F.explode("of").alias("of")).select(
        "run", "of.acker", "of.incarnation", "of.timed_out", F.lit(False).alias("mixed"), "ticks"
    )


def _milliseconds() -> Column:
    return F.call_function("div", F.col("time_ns"), F.lit(_MS))


def _shortest_span(axis: str) -> str:
    """SQL: the shortest distance between the first and the last of `enough` ticks; null if there are too few."""
    distance = f"coalesce(try_subtract(mark, {axis}_marks[at - enough + 1]), 0L)"
    return f"array_min(transform({axis}_marks, (mark, at) -> if(at + 1 < enough, null, {distance})))"


def spans_ticks(axis: str) -> str:
    """SQL, never null: whether a root, from `first` to `last` on an axis, lasts long enough to see enough ticks anywhere."""
    distance = f"coalesce(try_subtract(last_{axis}, first_{axis}), {_MAX_LONG})"
    return f"coalesce({distance} > {axis}_span, false)"


def may_be_dropped(axis: str) -> str:
    """SQL, never null: whether enough ticks came after the `first` message of a root and not after its `last`."""
    ticks = f"{_ticks_until(axis, f'last_{axis}')} - {_ticks_until(axis, f'first_{axis}')}"
    return f"if({spans_ticks(axis)}, coalesce({ticks} >= enough, false), false)"


def _ticks_until(axis: str, at: str) -> str:
    """SQL: how many marks are not greater, by binary search."""
    reached = f"coalesce(get({axis}_marks, seen + power - 1) <= {at}, false)"
    return f"aggregate(powers, 0, (seen, power) -> if({reached}, seen + power, seen))"


def expiring_tick(buckets: int, source: str, pos: str, time_ns: str) -> str:
    """SQL: the tick that drops what was put with a message; null if it never came.

    If ticks rise on both axes, a binary search counts those before the message; otherwise a filter asks each.
    """
    reached = "get(ticks, seen + power - 1)"
    passed = f"{reached} is not null and not {after(reached, source, pos, time_ns)}"
    seen = f"aggregate(powers, 0, (seen, power) -> if({passed}, seen + power, seen))"
    searched = f"get(ticks, {seen} + {buckets - 1})"
    filtered = f"get(filter(ticks, tick -> {after('tick', source, pos, time_ns)}), {buckets - 1})"
    return f"if(rising, {searched}, {filtered})"


def after(tick: str, source: str, pos: str, time_ns: str) -> str:
    """SQL: whether a tick came after a message."""
    same_process = f"coalesce({tick}.source = {source}, false)"
    return f"if({same_process}, {tick}.pos > {pos}, {tick}.ns > {time_ns})"
