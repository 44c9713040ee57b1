"""EVENTS -> MESSAGES, what the ackers received; and ROTATIONS, when each acker dropped its oldest bucket.

A tick that an acker's process recorded is ordered against messages of the same process by `pos`.  One that comes from a
schedule or from another process is ordered by time: it precedes the first message that is not older.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import AckerVersion, Engine, ackers, ambiguous
from ackdoctor.model.trace import EventKind
from ackdoctor.spark import proof
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, MESSAGES, ROOT_KEY
from ackdoctor.spark.session import Persist, literal_table, uncached

__all__ = [
    "ACKER",
    "MOST_MESSAGES",
    "Replay",
    "acker_version",
    "after",
    "expired_by_restarts",
    "expiring_tick",
    "may_be_dropped",
    "messages",
    "replay",
    "replay_all",
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


MOST_MESSAGES = 50_000  # of a root; a root with more is not replayed, since all are in memory at once
_MOST_BROADCAST = 1_000_000  # roots; a larger table is not sent to every task
_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)


@dataclass(slots=True, kw_only=True)
class Replay:
    """ENTRIES, and those of the MESSAGES that the verdicts need."""

    entries: DataFrame
    messages: DataFrame
    few: bool = True  # roots that are not plain: they may be broadcast
    timed_out: bool = True  # whether a spout dropped any
    too_large: int = 0  # roots with more messages than are replayed

    def broadcast(self, roots: DataFrame) -> DataFrame:
        """Broadcast roots that are not plain, if they are few."""
        return F.broadcast(roots) if self.few else roots


def replay(
    messages: DataFrame,
    version: AckerVersion,
    *,
    message_timeout_s: int | None = None,
    constants: Mapping[str, str] | None = None,
    persist: Persist = uncached,
) -> Replay:
    """Replay every life of every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; without, where
    ticks are recorded.  `constants` are columns of the root's key that are the same in every row, as SQL: the
    aggregates of the proof are then not grouped by them.  This runs the proof, and counts what it leaves over.
    """
    constants = constants or {}
    accepted = _accepted(messages, version)
    key = [name for name in ROOT_KEY if name not in constants]
    known = persist(proof.proved(proof.sums(accepted, key), version, key)).selectExpr(
        *(f"{value} as {name}" for name, value in constants.items()), "*"
    )
    ticks = persist(rotations(messages, version, message_timeout_s))
    dropped = f"{may_be_dropped('pos')} or {may_be_dropped('ns')}"
    marked = known.join(F.broadcast(ticks), [*ACKER], "left").selectExpr(
        *known.columns, f"if(sure, not ({dropped}), false) as plain"
    )
    sizes = marked.selectExpr(
        "count_if(not plain) as others", f"count_if(not plain and n > {MOST_MESSAGES}) as too_large"
    )
    others, too_large = sizes.collect()[0]
    timed_out = ticks.selectExpr("coalesce(sum(timed_out), 0L)").collect()[0][0]
    few = others <= _MOST_BROADCAST
    if few:
        left = persist(_messages_of(messages, marked.where("not plain")))
        replayed = _fold(_without_large(_accepted(left, version), marked, too_large), ticks, version)
        entries = proof.entries(marked.where("plain")).union(persist(replayed))
    else:
        left = messages
        entries = persist(_fold(_without_large(accepted, marked, too_large), ticks, version))
    return Replay(
        entries=entries,
        messages=left,
        few=few and timed_out <= _MOST_BROADCAST,
        timed_out=timed_out > 0,
        too_large=too_large,
    )


def replay_all(
    messages: DataFrame, version: AckerVersion, *, message_timeout_s: int | None = None
) -> DataFrame:
    """Return the ENTRIES of all roots, each replayed message by message."""
    ticks = rotations(messages, version, message_timeout_s)
    return _fold(_accepted(messages, version), ticks, version)


def _accepted(messages: DataFrame, version: AckerVersion) -> DataFrame:
    """Return the messages that an acker of that version does not ignore."""
    kinds = (_INIT, _ACK, _FAIL, *((_RESET,) if version.resets else ()))
    return messages.where(F.col("kind").isin(*kinds))


def _messages_of(messages: DataFrame, roots: DataFrame) -> DataFrame:
    """Return the messages of a few roots, all ticks, and all roots that spouts dropped."""
    asked = F.broadcast(roots.select(*ROOT_KEY, F.lit(True).alias("asked")))
    joined = messages.join(asked, [*ROOT_KEY], "left")
    return joined.where(f"asked or kind in ({_ROTATED}, {_TIMED_OUT})").select(*MESSAGES.names)


def _without_large(messages: DataFrame, roots: DataFrame, too_large: int) -> DataFrame:
    if not too_large:
        return messages
    large = roots.where(f"not plain and n > {MOST_MESSAGES}").select(*ROOT_KEY)
    return messages.join(F.broadcast(large), [*ROOT_KEY], "left_anti").select(*messages.columns)


# ---- the fold ----

_ENTRY = {  # the entry while it lives
    "value": "bigint",
    "spout_task": "int",
    "failed": "boolean",
    "put_pos": "bigint",  # of the message with which it was put last
    "put_ns": "bigint",
    "n_init": "bigint",
    "n_ack": "bigint",
    "n_fail": "bigint",
    "n_reset": "bigint",
    "first_pos": "bigint",
    "last_pos": "bigint",
    "first_ns": "bigint",
    "init_ns": "bigint",
    "last_ns": "bigint",
}
_COUNTS = {"n_init": _INIT, "n_ack": _ACK, "n_fail": _FAIL, "n_reset": _RESET}
_ROW = ("source", "pos", "kind", "value", "spout_task", "time_ns")
_PLACE = "if(mixed, row.time_ns, row.pos)"


def _type(fields: Mapping[str, str]) -> str:
    return "struct<" + ",".join(f"{name}:{kind}" for name, kind in fields.items()) + ">"


_LIFE = {"outcome": "string", "entry": _type(_ENTRY), "end_pos": "bigint", "end_ns": "bigint"}


def _fold(messages: DataFrame, rotations: DataFrame, version: AckerVersion) -> DataFrame:
    """Return the ENTRIES of the roots whose accepted messages these are."""
    roots = (
        messages.groupBy(*ROOT_KEY)
        .agg(
            F.expr(f"collect_list(struct({', '.join(_ROW)})) as rows"),
            F.expr("min(source) != max(source) as mixed"),
            F.min("pos").alias("first_pos"),
            F.max("pos").alias("last_pos"),
            F.min("time_ns").alias("first_ns"),
            F.max("time_ns").alias("last_ns"),
        )
        .join(F.broadcast(rotations), [*ACKER], "left")
    )
    by_time = "transform(sort_array(transform(rows, row -> struct(row.time_ns, row))), placed -> placed.row)"
    ordered = roots.selectExpr(
        *ROOT_KEY,
        "mixed",
        f"{spans_ticks('ns')} or not mixed and {spans_ticks('pos')} as long",
        "if(mixed, null, element_at(rows, 1).source) as clock",
        "coalesce(ticks, array()) as ticks",
        *("rising", "powers"),
        f"if(mixed, {by_time}, sort_array(rows)) as rows",
    )
    lives = ordered.selectExpr(*ROOT_KEY, "mixed", f"posexplode({_Fold(version).lives()}) as (at, of)")
    columns = {
        "life": "at + 1",
        "sole": "false",
        "n": " + ".join(f"of.entry.{name}" for name in _COUNTS),
        "order": f"if(mixed, '{ESTIMATED}', '{EXACT}')",
        **{name: f"of.{name}" for name in _LIFE},
        **{name: f"of.entry.{name}" for name in _ENTRY},
    }
    return lives.selectExpr(*(f"{columns.get(name, name)} as {name}" for name in ENTRIES.names))


class _Fold:
    """The rules of one version's acker, as SQL."""

    def __init__(self, version: AckerVersion) -> None:
        self._engine = version.engine
        self._buckets = version.acker_buckets

    def lives(self) -> str:
        """All lives of the root whose messages are `rows`, in order."""
        begin = _state(_NO_ENTRY, f"cast(array() as array<{_type(_LIFE)}>)")
        left = f"if(state.entry is null, state.over, array_append(state.over, {self._end_of_left()}))"
        copied = f"transform(rows, row -> struct({', '.join(f'row.{name}' for name in _ROW)}))"
        return f"aggregate({copied}, {begin}, (state, row) -> {self._step()}, state -> {left})"

    def _step(self) -> str:
        answered = _let("entry", self._received(), self._answered())
        return _let("alive", self._rotated(), answered)

    def _rotated(self) -> str:
        """The state without an entry that ticks have dropped before the message."""
        dead = f"tick is not null and not {after('tick', 'clock', 'row.pos', 'row.time_ns')}"
        life = _life("'expired'", "state.entry", "tick.pos", "tick.ns")
        expired = _state(_NO_ENTRY, f"array_append(state.over, {life})")
        looked = _let("tick", self._expiring_tick(), f"if({dead}, {expired}, state)")
        return f"if(long and state.entry is not null, {looked}, state)"

    def _expiring_tick(self) -> str:
        return expiring_tick(self._buckets, "clock", "state.entry.put_pos", "state.entry.put_ns")

    def _end_of_left(self) -> str:
        """The life of the entry that is left after the last message: later ticks may drop it."""
        expired = _life("'expired'", "state.entry", "tick.pos", "tick.ns")
        pending = _life("'pending'", "state.entry", _NO_LONG, _NO_LONG)
        return _let("tick", self._expiring_tick(), f"if(tick is null, {pending}, {expired})")

    def _received(self) -> str:
        """The entry after a message; null if the message meets none and creates none."""
        found = f"if(alive.entry is null, {self._created()}, alive.entry)"
        changed = _let("known", found, self._changed())
        ignored = {Engine.JSTORM: f"row.kind = {_FAIL}", Engine.HERON: f"row.kind != {_INIT}"}
        if self._engine not in ignored:
            return changed
        return f"if(alive.entry is null and {ignored[self._engine]}, null, {changed})"

    def _created(self) -> str:
        """A new entry before its first message."""
        fields = {
            "value": _NO_LONG if self._engine is Engine.CLOJURE else "0L",
            "spout_task": "cast(null as int)",
            "failed": "false",
            "put_pos": "row.pos",
            "put_ns": "row.time_ns",
            **dict.fromkeys(_COUNTS, "0L"),
            "first_pos": _PLACE,
            "last_pos": _PLACE,
            "first_ns": "row.time_ns",
            "init_ns": _NO_LONG,
            "last_ns": "row.time_ns",
        }
        return _struct(_ENTRY, fields)

    def _changed(self) -> str:
        summed = "coalesce(known.value, 0L) ^ row.value"
        if self._engine is Engine.HERON:  # create() does not look for an entry
            summed = f"if(row.kind = {_INIT}, row.value, {summed})"
        put = {
            Engine.CLOJURE: "true",
            Engine.JAVA: f"row.kind >= {_FAIL}",
            Engine.JSTORM: "false",
            Engine.HERON: f"row.kind = {_INIT}",
        }[self._engine]
        fields = {
            "value": f"if(row.kind <= {_ACK}, {summed}, known.value)",
            "spout_task": f"if(row.kind = {_INIT}, row.spout_task, known.spout_task)",
            "failed": f"known.failed or row.kind = {_FAIL}",
            "put_pos": f"if({put}, row.pos, known.put_pos)",
            "put_ns": f"if({put}, row.time_ns, known.put_ns)",
            **{
                name: f"if(row.kind = {kind}, known.{name} + 1L, known.{name})"
                for name, kind in _COUNTS.items()
            },
            "first_pos": "known.first_pos",
            "last_pos": _PLACE,
            "first_ns": "least(known.first_ns, row.time_ns)",
            "init_ns": f"if(row.kind = {_INIT}, least(known.init_ns, row.time_ns), known.init_ns)",
            "last_ns": "greatest(known.last_ns, row.time_ns)",
        }
        return _struct(_ENTRY, fields)

    def _answered(self) -> str:
        """The checks at the end of `execute`: 0 wins over failed."""
        zero = "entry.value = 0L"
        if self._engine is Engine.HERON:
            zero += f" and row.kind = {_ACK}"
        life = _life(f"if({zero}, 'acked', 'failed')", "entry", _PLACE, "entry.last_ns")
        ended = _state(_NO_ENTRY, f"array_append(alive.over, {life})")
        return f"if(entry.n_init > 0L and ({zero} or entry.failed), {ended}, {_state('entry', 'alive.over')})"


_NO_ENTRY = f"cast(null as {_type(_ENTRY)})"
_NO_LONG = "cast(null as bigint)"


def _let(name: str, value: str, body: str) -> str:
    """Name a value: a fold over an empty array begins with it, and copies nothing."""
    return f"aggregate(array(), {value}, ({name}, _) -> {name}, {name} -> {body})"


def _struct(types: Iterable[str], fields: Mapping[str, str]) -> str:
    """Build a struct of exactly these types: a cast would create it twice."""
    named = (f"'{name}', {fields[name]}" for name in types)
    return f"named_struct({', '.join(named)})"


def _state(entry: str, over: str) -> str:
    return f"named_struct('entry', {entry}, 'over', {over})"


def _life(outcome: str, entry: str, end_pos: str, end_ns: str) -> str:
    return _struct(_LIFE, {"outcome": outcome, "entry": entry, "end_pos": end_pos, "end_ns": end_ns})


# ---- restarts ----

_RESTARTS = "run: string, acker: int, incarnation: int, restart_ns: bigint"


def expired_by_restarts(entries: DataFrame, restarts: Iterable[tuple[str, int, int, int]]) -> DataFrame:
    """Expire the entries that an acker had when its worker was restarted.

    `restarts` are run, acker, incarnation before the restart, and its time in ns.
    """
    names = ("run", "acker", "incarnation", "restart_ns")
    rows = [dict(zip(names, row, strict=True)) for row in restarts]
    if not rows:
        return entries
    ended = "outcome = 'pending' and restart_ns is not null"
    columns = {
        "outcome": f"if({ended}, 'expired', outcome)",
        "end_ns": f"if({ended}, greatest(restart_ns, last_ns), end_ns)",
    }
    known = entries.join(F.broadcast(literal_table(entries.sparkSession, _RESTARTS, rows)), [*ACKER], "left")
    return known.selectExpr(*(f"{columns.get(name, name)} as {name}" for name in ENTRIES.names))
