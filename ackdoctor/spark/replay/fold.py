"""Roots replayed message by message: an array in order, through the acker's own table.

The state is the entry, null if there is none, and the lives that are over.  All of it is one expression,
written as SQL text: as calls from Python it took ten thousand of them.  A lambda of SQL has no local names:
`_let` gives it one.  Spark compiles no lambda, so what is worked out for each message is counted in objects: no struct
is cast, and each message is copied once, out of a row of Spark's, where each look at a field costs a look at its settings.
"""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.model.message import Engine
from ackdoctor.spark.replay.rotations import ACKER, MAY_EXPIRE, after, expiry
from ackdoctor.spark.replay.versions import Version
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, ROOT_KEY

__all__ = ["entries"]

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)

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


def entries(messages: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """ENTRIES of the roots whose messages these are; those of one root are in memory at once."""
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
    # said to be random, so that Spark does not ask for it in the next step, to where it would carry the rulers
    watched = roots.selectExpr(
        *ROOT_KEY, "mixed", "rows", "ticks", "steps", f"{MAY_EXPIRE} and spark_partition_id() >= 0 as long"
    )
    by_time = "transform(sort_array(transform(rows, row -> struct(row.time_ns, row))), placed -> placed.row)"
    ordered = watched.selectExpr(
        *ROOT_KEY,
        *("mixed", "long"),
        "if(mixed, null, element_at(rows, 1).source) as clock",
        "coalesce(ticks, array()) as ticks",
        "steps",
        f"if(mixed, {by_time}, sort_array(rows)) as rows",
    )
    lives = ordered.selectExpr(*ROOT_KEY, "mixed", f"posexplode({_Fold(version).lives()}) as (at, of)")
    told = {
        "life": "at + 1",
        "sole": "false",
        "n": " + ".join(f"of.entry.{name}" for name in _COUNTS),
        "order": f"if(mixed, '{ESTIMATED}', '{EXACT}')",
        **{name: f"of.{name}" for name in _LIFE},
        **{name: f"of.entry.{name}" for name in _ENTRY},
    }
    return lives.selectExpr(*(f"{told[name]} as {name}" if name in told else name for name in ENTRIES.names))


class _Fold:
    """The table of one version, as SQL."""

    def __init__(self, version: Version) -> None:
        self._engine = version.engine
        self._buckets = version.buckets

    def lives(self) -> str:
        """All lives of the root whose messages are `rows`, in order."""
        begin = _state(_NO_ENTRY, f"cast(array() as array<{_type(_LIFE)}>)")
        left = f"if(state.entry is null, state.over, {_joined('state.over', self._left())})"
        copied = f"transform(rows, row -> struct({', '.join(f'row.{name}' for name in _ROW)}))"
        return f"aggregate({copied}, {begin}, (state, row) -> {self._step()}, state -> {left})"

    def _step(self) -> str:
        answered = _let("entry", self._received(), self._answered())
        return _let("alive", self._rotated(), answered)

    def _rotated(self) -> str:
        """The state without an entry that has been dropped by now."""
        now = "row.pos", "row.time_ns"
        dead = f"tick is not null and not {after('tick', 'clock', *now)}"
        expired = _state(
            _NO_ENTRY, _joined("state.over", _life("'expired'", "state.entry", "tick.pos", "tick.ns"))
        )
        looked = _let("tick", self._tick(), f"if({dead}, {expired}, state)")
        return f"if(long and state.entry is not null, {looked}, state)"

    def _tick(self) -> str:
        """The one that drops the entry."""
        return expiry(self._buckets, "clock", "state.entry.put_pos", "state.entry.put_ns")

    def _left(self) -> str:
        """What is left after the last message: the ticks that follow may drop it."""
        expired = _life("'expired'", "state.entry", "tick.pos", "tick.ns")
        pending = _life("'pending'", "state.entry", _NO_LONG, _NO_LONG)
        return _let("tick", self._tick(), f"if(tick is null, {pending}, {expired})")

    def _received(self) -> str:
        """The entry after a message; null if the message meets none and makes none."""
        found = f"if(alive.entry is null, {self._made()}, alive.entry)"
        changed = _let("known", found, self._changed())
        ignored = {
            Engine.JSTORM: f"row.kind = {_FAIL}",
            Engine.HERON: f"row.kind != {_INIT}",
        }
        if self._engine not in ignored:
            return changed
        return f"if(alive.entry is null and {ignored[self._engine]}, null, {changed})"

    def _made(self) -> str:
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
        outcome = f"if({zero}, 'acked', 'failed')"
        ended = _state(_NO_ENTRY, _joined("alive.over", _life(outcome, "entry", _PLACE, "entry.last_ns")))
        return f"if(entry.n_init > 0L and ({zero} or entry.failed), {ended}, {_state('entry', 'alive.over')})"


_NO_ENTRY = f"cast(null as {_type(_ENTRY)})"
_NO_LONG = "cast(null as bigint)"


def _let(name: str, value: str, body: str) -> str:
    """A fold over nothing: what it begins with gets a name, and nothing is copied."""
    return f"aggregate(array(), {value}, ({name}, _) -> {name}, {name} -> {body})"


def _struct(types: Iterable[str], fields: Mapping[str, str]) -> str:
    """Of just these types, since a cast would make each struct twice."""
    named = (f"'{name}', {fields[name]}" for name in types)
    return f"named_struct({', '.join(named)})"


def _state(entry: str, over: str) -> str:
    return f"named_struct('entry', {entry}, 'over', {over})"


def _joined(over: str, life: str) -> str:
    return f"array_append({over}, {life})"


def _life(outcome: str, entry: str, end_pos: str, end_ns: str) -> str:
    """`outcome` is SQL."""
    return _struct(_LIFE, {"outcome": outcome, "entry": entry, "end_pos": end_pos, "end_ns": end_ns})
