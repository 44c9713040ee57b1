"""What Storm takes from its runtime: a clock, random ids, Java's hash codes, and RotatingMap.

All ids are Java longs.  Storm draws them from one java.util.Random per executor.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

_MASK_48 = (1 << 48) - 1


class Clock(Protocol):
    """A clock in milliseconds."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, or since a virtual zero."""


class VirtualClock:
    """A clock that moves only when it is advanced."""

    __slots__ = ("_now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Milliseconds since virtual zero."""
        return self._now_ms

    def advance(self, seconds: float) -> None:
        """Advance by `seconds`, rounded to milliseconds; ValueError if negative."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: {seconds} s")
        self._now_ms += round(seconds * 1000)


def signed(value: int, bits: int = 64) -> int:
    """Return the low bits of an integer as a Java long, or with 32 bits as an int."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


class IdSource(Protocol):
    """A source of ids (MessageId.generateId)."""

    def next_long(self) -> int:
        """Draw the next id, a Java long."""


class JavaRandom:
    """java.util.Random, bit for bit; 48 bits of state, so one executor can draw at most 2**48 ids."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & _MASK_48

    def next_long(self) -> int:
        """Random.nextLong(): `((long) next(32) << 32) + next(32)`, the low half signed as well."""
        high = (self._state * 0x5DEECE66D + 0xB) & _MASK_48
        self._state = low = (high * 0x5DEECE66D + 0xB) & _MASK_48
        return signed((high >> 16 << 32) + signed(low >> 16, 32))


def java_hash(value: object) -> int:
    """Return `hashCode` of a JSON value's Java object: Long, Double, String, Boolean, List, null.

    Any other value is hashed by its repr, so that all runs agree.
    """
    match value:
        case None:
            return 0
        case bool():
            return 1231 if value else 1237
        case int() | float():
            bits = value % (1 << 64) if isinstance(value, int) else _bits(value)
            return signed(bits ^ bits >> 32, 32)
        case str():
            units = value.encode("utf-16-be", "surrogatepass")
            return _polynomial(0, struct.unpack(f">{len(units) // 2}H", units))
        case bytes():
            return _polynomial(1, struct.unpack(f"{len(value)}b", value))
        case list() | tuple():
            return _polynomial(1, [java_hash(item) for item in value])
        case _:
            return signed(zlib.crc32(repr(value).encode()), 32)


def _bits(value: float) -> int:
    """Double.doubleToLongBits."""
    return int.from_bytes(struct.pack(">d", value), "big")


def _polynomial(start: int, items: Sequence[int]) -> int:
    total = start
    for item in items:
        total = (31 * total + item) & 0xFFFF_FFFF
    return signed(total, 32)


def acker_index(root: int, ackers: int) -> int:
    """Return the index of a root's acker among the sorted acker tasks, as the fields grouping chooses it."""
    return java_hash([root]) % ackers


K = TypeVar("K")
V = TypeVar("V")


class RotatingMap(Generic[K, V]):
    """RotatingMap.java: buckets, newest first.  Fewer than two raise ValueError, as in Java."""

    __slots__ = ("_buckets",)

    def __init__(self, buckets: int) -> None:
        if buckets < 2:  # noqa: PLR2004 - with one bucket, rotate would drop new entries
            raise ValueError("numBuckets must be >= 2")
        self._buckets: list[dict[K, V]] = [{} for _ in range(buckets)]

    def put(self, key: K, value: V) -> None:
        """Put into the newest bucket, and remove from all others: the key's timeout restarts."""
        newest, *older = self._buckets
        newest[key] = value
        for bucket in older:
            bucket.pop(key, None)

    def put_head(self, key: K, value: V) -> None:
        """Put into the newest bucket only (JStorm's putHead, Heron's create)."""
        self._buckets[0][key] = value

    def get(self, key: K) -> V | None:
        """Get from the first bucket that has the key."""
        for bucket in self._buckets:
            if key in bucket:
                return bucket[key]
        return None

    def remove(self, key: K) -> V | None:
        """Remove from the first bucket that has the key."""
        for bucket in self._buckets:
            if key in bucket:
                return bucket.pop(key)
        return None

    def rotate(self) -> dict[K, V]:
        """Remove and return the oldest bucket."""
        dead = self._buckets.pop()
        self._buckets.insert(0, {})
        return dead

    def buckets(self) -> Iterator[dict[K, V]]:
        """The buckets themselves, newest first, for inspection."""
        return iter(self._buckets)

    def __contains__(self, key: K) -> bool:
        return any(key in bucket for bucket in self._buckets)

    def __len__(self) -> int:
        return sum(map(len, self._buckets))
