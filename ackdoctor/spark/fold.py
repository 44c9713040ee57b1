"""Roots replayed message by message: an array in order, through the acker's own table (reference acker 2.4).

The state is the entry, null if there is none, and the lives that are over.  All of it is one expression,
written as SQL text: as calls from Python it took ten thousand of them.  A lambda of SQL has no local names:
`_let` gives it one, by mapping an array of one.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.rotations import ACKER, MAY_EXPIRE, after, expiry
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, ROOT_KEY
from ackdoctor.spark.versions import Engine, Version

__all__ = ["entries"]

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)

_ENTRY = {  # the entry while it lives
    "value": "bigint",
    "spout_task": "int",
    "failed": "boolean",
    "put_pos": "bigint",  # of the message with which it was put last
    "put_ns": "bigint",
    "n": "bigint",
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
_LIFE = {"outcome": "string", **_ENTRY, "end_pos": "bigint", "end_ns": "bigint"}
_COUNTS = {"n_init": _INIT, "n_ack": _ACK, "n_fail": _FAIL, "n_reset": _RESET}
_ROW = "source, pos, kind, value, spout_task, time_ns"


def _type(fields: Mapping[str, str]) -> str:
    return "struct<" + ",".join(f"{name}:{kind}" for name, kind in fields.items()) + ">"


def entries(messages: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """ENTRIES of the roots whose messages these are; those of one root are in memory at once."""
    roots = (
        messages.groupBy(*ROOT_KEY)
        .agg(
            F.expr(f"collect_list(struct({_ROW})) as rows"),
            F.expr("min(source) != max(source) as mixed"),
            F.min("pos").alias("first_pos"),
            F.max("pos").alias("last_pos"),
            F.min("time_ns").alias("first_ns"),
            F.max("time_ns").alias("last_ns"),
        )
        .join(F.broadcast(rotations), [*ACKER], "left")
    )
    # said to be random, so that Spark does not ask for it in the next step, to where it would carry the rulers
    watched = roots.selectExpr(
        *ROOT_KEY, "mixed", "rows", "ticks", f"{MAY_EXPIRE} and spark_partition_id() >= 0 as long"
    )
    placed = f"struct(if(mixed, row.time_ns, row.pos) as place, {', '.join('row.' + name for name in _ROW.split(', '))})"
    ordered = watched.selectExpr(
        *ROOT_KEY,
        *("mixed", "long"),
        "if(mixed, null, element_at(rows, 1).source) as clock",
        "coalesce(ticks, array()) as ticks",
        f"array_sort(transform(rows, row -> {placed})) as rows",
    )
    lives = ordered.selectExpr(*ROOT_KEY, "mixed", f"posexplode({_Fold(version).lives()}) as (at, of)")
    return lives.selectExpr(
        *ROOT_KEY,
        "at + 1 as life",
        "false as sole",
        *(f"of.{name}" for name in ENTRIES.names if name in _LIFE),
        f"if(mixed, '{ESTIMATED}', '{EXACT}') as order",
    ).select(*ENTRIES.names)


class _Fold:
    """The table of one version, as SQL."""

    def __init__(self, version: Version) -> None:
        self._engine = version.engine
        self._buckets = version.buckets

    def lives(self) -> str:
        """All lives of the root whose messages are `rows`, in order."""
        begin = _state(None, f"cast(array() as array<{_type(_LIFE)}>)")
        left = f"if(state.entry is null, state.over, {_joined('state.over', self._left())})"
        return f"aggregate(rows, {begin}, (state, row) -> {self._step()}, state -> {left})"

    def _step(self) -> str:
        answered = _let("entry", self._received(), self._answered())
        return _let("alive", self._rotated(), answered)

    def _rotated(self) -> str:
        """The state without an entry that has been dropped by now."""
        now = "row.pos", "row.time_ns"
        dead = f"tick is not null and not {after('tick', 'clock', *now)}"
        expired = _state(None, _joined("state.over", _life("expired", "state.entry", "tick.pos", "tick.ns")))
        looked = _let("tick", self._tick(), f"if({dead}, {expired}, state)")
        return f"if(long and state.entry is not null, {looked}, state)"

    def _tick(self) -> str:
        """The one that drops the entry."""
        return expiry("ticks", self._buckets, "clock", "state.entry.put_pos", "state.entry.put_ns")

    def _left(self) -> str:
        """What is left after the last message: the ticks that follow may drop it."""
        expired = _life("expired", "state.entry", "tick.pos", "tick.ns")
        pending = _life("pending", "state.entry", "null", "null")
        return _let("tick", self._tick(), f"if(tick is null, {pending}, {expired})")

    def _received(self) -> str:
        """The entry after a message; null if the message meets none and makes none."""
        found = f"if(alive.entry is null, {self._made()}, alive.entry)"
        changed = _let("known", found, self._changed())
        ignored = {Engine.JSTORM: f"row.kind = {_FAIL}", Engine.HERON: f"row.kind != {_INIT}"}
        if self._engine not in ignored:
            return changed
        return f"if(alive.entry is null and {ignored[self._engine]}, null, {changed})"

    def _made(self) -> str:
        """A new entry before its first message."""
        fields = {
            "value": "null" if self._engine is Engine.CLOJURE else "0",
            "failed": "false",
            "put_pos": "row.pos",
            "put_ns": "row.time_ns",
            **dict.fromkeys(("n", *_COUNTS), "0"),
            "first_pos": "row.place",
            "last_pos": "row.place",
            "first_ns": "row.time_ns",
            "last_ns": "row.time_ns",
        }
        return _struct(_ENTRY, fields)

    def _changed(self) -> str:
        summed = "coalesce(known.value, 0L) ^ row.value"
        if self._engine is Engine.HERON:  # create does not look for an entry
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
            "n": "known.n + 1",
            **{name: f"known.{name} + if(row.kind = {kind}, 1, 0)" for name, kind in _COUNTS.items()},
            "first_pos": "known.first_pos",
            "last_pos": "row.place",
            "first_ns": "least(known.first_ns, row.time_ns)",
            "init_ns": f"if(row.kind = {_INIT}, least(known.init_ns, row.time_ns), known.init_ns)",
            "last_ns": "greatest(known.last_ns, row.time_ns)",
        }
        return _struct(_ENTRY, fields)

    def _answered(self) -> str:
        """The checks at the end of `execute`: 0 wins over failed."""
        zero = "entry.value = 0"
        if self._engine is Engine.HERON:
            zero += f" and row.kind = {_ACK}"
        outcome = f"if({zero}, 'acked', 'failed')"
        ended = (
            f"{_state(None, _joined('alive.over', _life(outcome, 'entry', 'row.place', 'entry.last_ns')))}"
        )
        return f"if(entry.n_init > 0 and ({zero} or entry.failed), {ended}, {_state('entry', 'alive.over')})"


def _let(name: str, value: str, body: str) -> str:
    return f"transform(array({value}), {name} -> {body})[0]"


def _struct(types: Mapping[str, str], fields: Mapping[str, str]) -> str:
    return f"cast(struct({', '.join(fields.get(name, 'null') for name in types)}) as {_type(types)})"


def _state(entry: str | None, over: str) -> str:
    return f"struct(cast({entry or 'null'} as {_type(_ENTRY)}) as entry, {over} as over)"


def _joined(over: str, life: str) -> str:
    return f"concat({over}, array({life}))"


def _life(outcome: str, entry: str, end_pos: str, end_ns: str) -> str:
    """`outcome` is SQL if it is no plain word."""
    said = f"'{outcome}'" if outcome.isalpha() else outcome
    fields = {name: f"{entry}.{name}" for name in _ENTRY}
    return _struct(_LIFE, {"outcome": said, **fields, "end_pos": end_pos, "end_ns": end_ns})
