"""MESSAGES -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are plain, and the cheap proof (`proof`) says how they went.  The messages of the others are gathered and
replayed one by one, in order, through the acker's rules: a fold over the messages of a root.

The state of the fold is the entry, null if there is none, and the lives that are over.  It is one expression of SQL:
as Python calls it took ten thousand of them.  A lambda of SQL has no local names: `_let` gives it one.  Spark compiles
no lambda, so the fold creates few objects: it casts no struct and copies each message once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import AckerVersion, Engine
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.frames import Persist, literal_table, uncached
from ackdoctor.spark.replay import proof
from ackdoctor.spark.replay.messages import (
    ACKER,
    after,
    expiring_tick,
    may_be_dropped,
    rotations,
    spans_ticks,
)
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, MESSAGES, ROOT_KEY

__all__ = ["MOST_MESSAGES", "Replay", "expired_by_restarts", "replay", "replay_all"]

MOST_MESSAGES = 50_000  # of a root; a root with more is not replayed, since all are in memory at once
_MOST_BROADCAST = 1_000_000  # roots; a larger table is not sent to every task
_TIMED_OUT, _ROTATED = int(EventKind.TIMED_OUT), int(EventKind.ROTATED)
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
