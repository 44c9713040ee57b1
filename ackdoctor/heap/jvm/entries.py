"""What stands in an acker's map: the kinds of entries, and the tally of a walk over all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique

from ackdoctor.model.verdict import PendingEntry

__all__ = ["Acker", "Bucket", "Kind", "Tally", "Waits", "kind_of"]


@unique
class Kind(IntEnum):
    """What an entry is, as far as a heap alone can tell."""

    WAITING = 0  # a spout task is known: a tree under way, or one that has timed out
    ORPHAN = 1  # no spout task, and a value that is not zero
    ZERO = 2  # no spout task, value zero
    FAILED = 3  # no spout task, failed
    NIL = 4  # no spout task and no value: 1.x, after a reset
    OTHER = 5  # no entry of an acker's


def kind_of(value: int | None, task: int | None, *, failed: bool) -> Kind:
    """The kind of an entry with these fields, None where it has none."""
    if task is not None:
        return Kind.WAITING
    if failed:
        return Kind.FAILED
    if value is None:
        return Kind.NIL
    return Kind.ORPHAN if value else Kind.ZERO


@dataclass(slots=True)
class Bucket:
    """One bucket, 0 the newest: what its map says it holds, and what the walk has found.

    `old` counts those that carry a time before the limit.
    """

    number: int
    size: int
    kinds: Counter[Kind] = field(default_factory=Counter)
    old: Counter[Kind] = field(default_factory=Counter)
    trouble: str = ""

    @property
    def lost(self) -> int:
        """Entries that the map has and the dump has not."""
        return max(0, self.size - sum(self.kinds.values()))


@dataclass(slots=True)
class Waits:
    """Of old tracked entries: how many their spouts have given up, still have pending, and of how many that is unknown."""

    given_up: int = 0
    pending: int = 0
    unknown: int = 0


@dataclass(slots=True)
class Tally:
    """What a walk over an acker's map came to; `oldest_ms` is 0 where no entry carries a time."""

    buckets: list[Bucket] = field(default_factory=list)
    samples: dict[Kind, list[PendingEntry]] = field(default_factory=dict)
    oldest_ms: int = 0
    waits: Waits = field(default_factory=Waits)

    @property
    def kinds(self) -> Mapping[Kind, int]:
        """Entries by kind, over all buckets."""
        return _summed(bucket.kinds for bucket in self.buckets)

    @property
    def old(self) -> Mapping[Kind, int]:
        """Old entries by kind, over all buckets."""
        return _summed(bucket.old for bucket in self.buckets)

    @property
    def entries(self) -> int:
        """What the maps say they hold."""
        return sum(bucket.size for bucket in self.buckets)

    @property
    def lost(self) -> int:
        """Entries that the dump has not."""
        return sum(bucket.lost for bucket in self.buckets)


def _summed(counters: Iterable[Counter[Kind]]) -> Counter[Kind]:
    total: Counter[Kind] = Counter()
    for counter in counters:
        total.update(counter)
    return total


@dataclass(slots=True)
class Acker:
    """An acker of the dump, and how its map is reached: `Acker.pending.buckets`."""

    id: int
    class_name: str
    path: str
    maps: tuple[int, ...]  # its buckets' HashMaps, newest first
    clojure: bool
    task: int | None = None
    tally: Tally = field(default_factory=Tally)
    trouble: str = ""
