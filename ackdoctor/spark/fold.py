"""Odd roots: their messages as one array in order, through the acker's own table, one by one (reference acker 2.4).

The state is the entry, null if there is none, and the lives that are over.  A lambda of Spark has no local
names: `_let` gives it one, by mapping an array of one.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.rotations import ACKER, ticks_before
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, ROOT_KEY
from ackdoctor.spark.versions import Engine, Version

__all__ = ["entries"]

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)

_ENTRY = {  # the entry while it lives
    "value": "bigint",
    "spout_task": "int",
    "failed": "boolean",
    "put": "int",  # rotations before it was put last
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


def _type(fields: dict[str, str]) -> str:
    return "struct<" + ",".join(f"{name}:{kind}" for name, kind in fields.items()) + ">"


def entries(told: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """ENTRIES of the odd roots."""
    element = F.struct("place", "source", "pos", "clock", "kind", "value", "spout_task", "time_ns")
    roots = (
        told.where("odd")
        .groupBy(*ROOT_KEY)
        .agg(F.array_sort(F.collect_list(element)).alias("rows"), F.max("mixed").alias("mixed"))
        .join(F.broadcast(rotations.select(*ACKER, "ticks")), [*ACKER], "left")
    )
    none = F.array().cast("array<struct<pos:bigint,ns:bigint,source:bigint>>")
    ticked = roots.select(*ROOT_KEY, "rows", "mixed", F.coalesce("ticks", none).alias("ticks"))
    lives = ticked.select(*ROOT_KEY, "mixed", F.posexplode(_Fold(version).lives()).alias("at", "of"))
    return lives.select(
        *ROOT_KEY,
        (F.col("at") + 1).alias("life"),
        F.lit(False).alias("sole"),
        *(f"of.{name}" for name in ("outcome", "value", "spout_task", "failed")),
        *(f"of.{name}" for name in ("n", "n_init", "n_ack", "n_fail", "n_reset", "first_pos", "last_pos")),
        *(f"of.{name}" for name in ("end_pos", "first_ns", "init_ns", "last_ns", "end_ns")),
        F.when(F.col("mixed"), ESTIMATED).otherwise(EXACT).alias("order"),
    ).select(*ENTRIES.names)


class _Fold:
    """The table of one version."""

    def __init__(self, version: Version) -> None:
        self._engine = version.engine
        self._buckets = version.buckets

    def lives(self) -> Column:
        """All lives of the root whose messages are `rows`, in order."""
        begin = F.struct(
            F.lit(None).cast(_type(_ENTRY)).alias("entry"),
            F.array().cast(f"array<{_type(_LIFE)}>").alias("over"),
        )
        state = F.aggregate("rows", begin, self._step)
        return _let(
            state,
            lambda end: F.when(end["entry"].isNull(), end["over"]).otherwise(
                F.concat(end["over"], F.array(self._left(end["entry"])))
            ),
        )

    def _step(self, state: Column, row: Column) -> Column:
        epoch = ticks_before(F.col("ticks"), row["clock"], row["pos"], row["time_ns"])
        return _let(
            epoch,
            lambda now: _let(
                self._rotated(state, now),
                lambda alive: _let(
                    self._received(alive["entry"], row, now),
                    lambda entry: self._answered(alive["over"], entry, row),
                ),
            ),
        )

    def _rotated(self, state: Column, now: Column) -> Column:
        """The state without an entry that has been dropped by now."""
        entry = state["entry"]
        dead = entry.isNotNull() & (now - entry["put"] >= self._buckets)
        return F.when(dead, _state(None, F.concat(state["over"], F.array(self._expired(entry))))).otherwise(
            state
        )

    def _expired(self, entry: Column) -> Column:
        tick = F.get("ticks", entry["put"] + (self._buckets - 1))
        return _life("expired", entry, tick["pos"], tick["ns"])

    def _left(self, entry: Column) -> Column:
        """What is left after the last message: the ticks that follow may drop it."""
        null = F.lit(None).cast("bigint")
        late = F.size("ticks") - entry["put"] >= self._buckets
        return F.when(late, self._expired(entry)).otherwise(_life("pending", entry, null, null))

    def _received(self, entry: Column, row: Column, now: Column) -> Column:
        """The entry after a message; null if the message meets none and makes none."""
        kind, absent = row["kind"], entry.isNull()
        found = F.when(absent, self._made(row, now)).otherwise(entry)
        changed = _let(found, lambda known: self._changed(known, row, now))
        if self._engine is Engine.JSTORM:
            return F.when(~(absent & (kind == _FAIL)), changed)
        if self._engine is Engine.HERON:
            return F.when(~(absent & (kind != _INIT)), changed)
        return changed

    def _made(self, row: Column, now: Column) -> Column:
        """A new entry before its first message."""
        nothing = F.lit(0).cast("bigint")
        value = F.lit(None).cast("bigint") if self._engine is Engine.CLOJURE else nothing
        fields = {
            "value": value,
            "failed": F.lit(False),
            "put": now,
            **dict.fromkeys(("n", "n_init", "n_ack", "n_fail", "n_reset"), nothing),
            "first_pos": row["place"],
            "last_pos": row["place"],
            "first_ns": row["time_ns"],
            "last_ns": row["time_ns"],
        }
        return _struct(_ENTRY, fields)

    def _changed(self, entry: Column, row: Column, now: Column) -> Column:
        kind = row["kind"]
        is_init = kind == _INIT
        summed = F.coalesce(entry["value"], F.lit(0)).bitwiseXOR(row["value"])
        if self._engine is Engine.HERON:  # create does not look for an entry
            summed = F.when(is_init, row["value"]).otherwise(summed)
        put = {
            Engine.CLOJURE: now,
            Engine.JAVA: F.when(kind >= _FAIL, now).otherwise(entry["put"]),
            Engine.JSTORM: entry["put"],
            Engine.HERON: F.when(is_init, now).otherwise(entry["put"]),
        }[self._engine]
        counts = {"n": F.lit(1)} | {
            name: F.when(kind == number, 1).otherwise(0)
            for name, number in (("n_init", _INIT), ("n_ack", _ACK), ("n_fail", _FAIL), ("n_reset", _RESET))
        }
        fields = {
            "value": F.when(kind <= _ACK, summed).otherwise(entry["value"]),
            "spout_task": F.when(is_init, row["spout_task"]).otherwise(entry["spout_task"]),
            "failed": entry["failed"] | (kind == _FAIL),
            "put": put,
            **{name: entry[name] + one for name, one in counts.items()},
            "first_pos": entry["first_pos"],
            "last_pos": row["place"],
            "first_ns": F.least(entry["first_ns"], row["time_ns"]),
            "init_ns": F.when(is_init & entry["init_ns"].isNull(), row["time_ns"]).otherwise(
                entry["init_ns"]
            ),
            "last_ns": F.greatest(entry["last_ns"], row["time_ns"]),
        }
        return _struct(_ENTRY, fields)

    def _answered(self, over: Column, entry: Column, row: Column) -> Column:
        """The checks at the end of `execute`: 0 wins over failed."""
        zero = entry["value"] == 0
        if self._engine is Engine.HERON:
            zero = zero & (row["kind"] == _ACK)
        told = entry["n_init"] > 0
        ends = {"acked": told & zero, "failed": told & entry["failed"]}
        state = _state(entry, over)
        for outcome, so in reversed(ends.items()):
            life = _life(outcome, entry, row["place"], row["time_ns"])
            state = F.when(so, _state(None, F.concat(over, F.array(life)))).otherwise(state)
        return state


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    return F.get(F.transform(F.array(value), body), F.lit(0))


def _struct(types: dict[str, str], fields: dict[str, Column]) -> Column:
    null = F.lit(None)
    return F.struct(*(fields.get(name, null).cast(kind).alias(name) for name, kind in types.items()))


def _state(entry: Column | None, over: Column) -> Column:
    living = F.lit(None).cast(_type(_ENTRY)) if entry is None else entry
    return F.struct(living.alias("entry"), over.alias("over"))


def _life(outcome: str, entry: Column, end_pos: Column, end_ns: Column) -> Column:
    fields = {name: entry[name] for name in _ENTRY}
    return _struct(_LIFE, {"outcome": F.lit(outcome), **fields, "end_pos": end_pos, "end_ns": end_ns})
