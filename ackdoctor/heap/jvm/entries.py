"""Entries of an acker's pending map: kinds, sizes in bytes, and counts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from itertools import pairwise

from ackdoctor.heap.jvm.class_dump import OBJECT, Oops
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.objects import first_instances
from ackdoctor.heap.jvm.sweep import Census
from ackdoctor.model.trace import PendingEntry

__all__ = [
    "COMPRESSED",
    "NARROW",
    "SPLIT",
    "Acker",
    "Bucket",
    "Kind",
    "Tally",
    "Waits",
    "entry_bytes",
    "kind_of",
    "oops_of",
]


@unique
class Kind(IntEnum):
    """The kind of an entry, as far as the heap shows it."""

    WAITING = 0  # a spout task is known: a tree under way, or one that has timed out
    ORPHAN = 1  # no spout task, and a value that is not zero
    ZERO = 2  # no spout task, value zero
    FAILED = 3  # no spout task, failed
    NIL = 4  # no spout task and no value: 1.x, after a reset
    OTHER = 5  # not an entry of an acker


COMPRESSED = Oops(header=12, array=16, reference=4)
_WIDE = Oops(header=16, array=24, reference=8)
SPLIT = Oops(header=12, array=16, reference=8)  # class pointers compressed, references not
NARROW = Oops(header=8, array=12, reference=4)  # a 32-bit JVM
_STRETCHES = 64  # sampled stretches of the dump
# bytes per entry, by "compressed oops"; an entry of JStorm has eight bytes less
_JAVA: Mapping[bool, int] = {True: 104, False: 120}
# (bytes with compressed oops, bytes without)
_CLOJURE: Mapping[Kind, tuple[int, int]] = {
    Kind.WAITING: (200, 248),
    Kind.ORPHAN: (144, 176),
    Kind.ZERO: (120, 152),
    Kind.FAILED: (120, 152),
    Kind.NIL: (64, 80),
}


def entry_bytes(kind: Kind, oops: Oops, *, clojure: bool) -> int:
    """Return the bytes of one entry, including its share of the hash table; 0 if not measured."""
    compressed = oops.reference == COMPRESSED.reference
    if not clojure:
        return 0 if kind is Kind.OTHER else _JAVA[compressed]
    return _CLOJURE.get(kind, (0, 0))[not compressed]


def oops_of(dump: Hprof, census: Census) -> Oops:
    """Infer the JVM's object layout from the distances between neighbouring objects; default: compressed oops."""
    if dump.id_size == 4:  # noqa: PLR2004
        return NARROW
    gaps: dict[int, int] = {}
    step = max(1, len(census.mark_places) // _STRETCHES)
    for place in list(census.mark_places)[::step]:
        for (id_, class_id), (following, _) in pairwise(first_instances(dump, place)):
            gap = following - id_
            if class_id and gap > 0:
                gaps[class_id] = min(gap, gaps.get(class_id, gap))
    informative = [
        (class_id, gap)
        for class_id, gap in gaps.items()
        if any(kind == OBJECT for _, kind in census.classes.fields(class_id))
    ]
    return max((COMPRESSED, SPLIT, _WIDE), key=lambda oops: _fits(informative, census, oops))


def _fits(gaps: Iterable[tuple[int, int]], census: Census, oops: Oops) -> int:
    return sum(census.classes.instance_bytes(class_id, oops) == gap for class_id, gap in gaps)


def kind_of(value: int | None, task: int | None, *, failed: bool) -> Kind:
    """Return the kind of an entry; `value` or `task` is None if the entry lacks the field."""
    if task is not None:
        return Kind.WAITING
    if failed:
        return Kind.FAILED
    if value is None:
        return Kind.NIL
    return Kind.ORPHAN if value else Kind.ZERO


@dataclass(slots=True)
class Bucket:
    """One bucket of a pending map (0 is the newest): the size its map claims, and the entries the walk found.

    `old` counts the entries that began before the age limit.
    """

    number: int
    size: int
    kinds: Counter[Kind] = field(default_factory=Counter)
    old: Counter[Kind] = field(default_factory=Counter)
    trouble: str = ""

    @property
    def lost(self) -> int:
        """Entries that the map counts but the dump lacks."""
        return max(0, self.size - sum(self.kinds.values()))


@dataclass(slots=True)
class Waits:
    """Old tracked entries, counted by state at their spout: given up, still pending, or unknown."""

    given_up: int = 0
    pending: int = 0
    unknown: int = 0


@dataclass(slots=True)
class Tally:
    """The result of a walk over an acker's map; `oldest_ms` is 0 if no entry has a start time."""

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
        """The number of entries that the maps claim."""
        return sum(bucket.size for bucket in self.buckets)

    @property
    def lost(self) -> int:
        """Entries that the dump lacks."""
        return sum(bucket.lost for bucket in self.buckets)


def _summed(counters: Iterable[Counter[Kind]]) -> Counter[Kind]:
    total: Counter[Kind] = Counter()
    for counter in counters:
        total.update(counter)
    return total


@dataclass(slots=True)
class Acker:
    """An acker of the dump; `path` leads to its map: `Acker.pending.buckets`."""

    id: int
    class_name: str
    path: str
    maps: tuple[int, ...]  # its buckets' HashMaps, newest first
    clojure: bool
    task: int | None = None
    tally: Tally = field(default_factory=Tally)
    trouble: str = ""
