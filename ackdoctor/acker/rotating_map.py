"""Storm's RotatingMap, and the injected clock that rotates it (RotatingMap.java)."""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

__all__ = ["Clock", "RotatingMap", "VirtualClock"]


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


K = TypeVar("K")
V = TypeVar("V")


class RotatingMap(Generic[K, V]):
    """Storm's RotatingMap: buckets, newest first.  Fewer than two raise ValueError, as in Java."""

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
