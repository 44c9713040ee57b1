"""Who gets a tuple: Storm's stream groupings.

A `Grouping` makes a chooser for one emitting task and its target tasks; the chooser is asked once per
emitted tuple.  Fields grouping hashes as the JVM does, so a value goes to the task it goes to in a cluster.
"""

import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

__all__ = [
    "ALL",
    "DIRECT",
    "GLOBAL",
    "LOCAL_OR_SHUFFLE",
    "NONE",
    "SHUFFLE",
    "Chooser",
    "Grouping",
    "fields_of",
    "java_hash",
]

Chooser: TypeAlias = Callable[[Sequence[object]], Sequence[int]]
_Prepare: TypeAlias = Callable[[tuple[int, ...], tuple[str, ...], Random], Chooser]


@dataclass(slots=True, unsafe_hash=True)
class Grouping:
    """`prepare(tasks, field names of the stream, random)` gives the chooser; `fields` are those it groups by.

    Without `prepare` it is the direct grouping: only an emit that names the task reaches it.
    """

    name: str
    prepare: _Prepare | None
    fields: tuple[str, ...] = ()


def _shuffle(tasks: tuple[int, ...], _names: tuple[str, ...], random: Random) -> Chooser:
    """A shuffled ring, walked round and round (ShuffleGrouping.java:39-52@v2.8.8)."""
    ring = [(task,) for task in tasks]
    random.shuffle(ring)
    position = 0

    def choose(_values: Sequence[object]) -> Sequence[int]:
        nonlocal position
        position = (position + 1) % len(ring)
        return ring[position]

    return choose


def _at_random(tasks: tuple[int, ...], _names: tuple[str, ...], random: Random) -> Chooser:
    return lambda _values: (random.choice(tasks),)


def _to_all(tasks: tuple[int, ...], _names: tuple[str, ...], _random: Random) -> Chooser:
    return lambda _values: tasks


def _to_lowest(tasks: tuple[int, ...], _names: tuple[str, ...], _random: Random) -> Chooser:
    lowest = (min(tasks),)
    return lambda _values: lowest


SHUFFLE = Grouping("shuffle", _shuffle)
LOCAL_OR_SHUFFLE = Grouping("local or shuffle", _shuffle)
NONE = Grouping("none", _at_random)
ALL = Grouping("all", _to_all)
GLOBAL = Grouping("global", _to_lowest)
DIRECT = Grouping("direct", None)


def fields_of(*wanted: str) -> Grouping:
    """Group by the values of these fields: `Arrays.deepHashCode` modulo the number of tasks."""

    def prepare(tasks: tuple[int, ...], names: tuple[str, ...], _random: Random) -> Chooser:
        places = [names.index(name) for name in wanted]
        targets = [(task,) for task in tasks]

        def choose(values: Sequence[object]) -> Sequence[int]:
            return targets[java_hash([values[place] for place in places]) % len(targets)]

        return choose

    return Grouping("fields", prepare, wanted)


def java_hash(value: object) -> int:
    """`hashCode` of the Java object that a JSON value becomes: Long, Double, String, Boolean, List, null.

    Any other value is hashed by its repr, the same in every run.
    """
    match value:
        case None:
            return 0
        case bool():
            return 1231 if value else 1237
        case int():
            bits = value & 0xFFFF_FFFF_FFFF_FFFF
            return _int32(bits ^ bits >> 32)
        case float():
            bits = int.from_bytes(struct.pack(">d", value), "big")
            return _int32(bits ^ bits >> 32)
        case str():
            units = value.encode("utf-16-be", "surrogatepass")
            return _polynomial(0, struct.unpack(f">{len(units) // 2}H", units))
        case bytes():
            return _polynomial(1, struct.unpack(f"{len(value)}b", value))
        case list() | tuple():
            return _polynomial(1, [java_hash(item) for item in value])
        case _:
            return _int32(zlib.crc32(repr(value).encode()))


def _polynomial(start: int, items: Sequence[int]) -> int:
    total = start
    for item in items:
        total = (31 * total + item) & 0xFFFF_FFFF
    return _int32(total)


def _int32(bits: int) -> int:
    return ((bits & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000
