"""What things take on the heap: a JVM's model, and what an acker's entry was measured to take.

HPROF tells neither headers nor whether references are compressed, but its ids are addresses: the least
distance from an object to its neighbour is what the object takes.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from ackdoctor.heap.jvm.entries import Kind
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.layout import OBJECT, Oops
from ackdoctor.heap.jvm.objects import first_instances
from ackdoctor.heap.jvm.sweep import Census

__all__ = ["COMPRESSED", "NARROW", "SPLIT", "entry_bytes", "oops_of"]

COMPRESSED = Oops(header=12, array=16, reference=4)
_WIDE = Oops(header=16, array=24, reference=8)
SPLIT = Oops(header=12, array=16, reference=8)  # class pointers compressed, references not
NARROW = Oops(header=8, array=12, reference=4)  # a 32-bit JVM
_STRETCHES = 64
_JAVA: Mapping[bool, int] = {
    True: 104,
    False: 120,
}  # with compressed oops, and without; JStorm's has eight less
_CLOJURE: Mapping[Kind, tuple[int, int]] = {
    Kind.WAITING: (200, 248),
    Kind.ORPHAN: (144, 176),
    Kind.ZERO: (120, 152),
    Kind.FAILED: (120, 152),
    Kind.NIL: (64, 80),
}


def entry_bytes(kind: Kind, oops: Oops, *, clojure: bool) -> int:
    """What an entry of an acker's map takes, its share of the table included; 0 where nobody has measured."""
    compressed = oops.reference == COMPRESSED.reference
    if not clojure:
        return 0 if kind is Kind.OTHER else _JAVA[compressed]
    return _CLOJURE.get(kind, (0, 0))[not compressed]


def oops_of(dump: Hprof, census: Census) -> Oops:
    """What this JVM spends, judged by the distances between neighbours; compressed where nothing can be told."""
    if dump.id_size == 4:  # noqa: PLR2004
        return NARROW
    gaps: dict[int, int] = {}
    step = max(1, len(census.mark_places) // _STRETCHES)
    for place in list(census.mark_places)[::step]:
        for (id_, class_id), (following, _) in pairwise(first_instances(dump, place)):
            gap = following - id_
            if class_id and gap > 0:
                gaps[class_id] = min(gap, gaps.get(class_id, gap))
    telling = [
        (class_id, gap)
        for class_id, gap in gaps.items()
        if any(kind == OBJECT for _, kind in census.classes.fields(class_id))
    ]
    return max((COMPRESSED, SPLIT, _WIDE), key=lambda oops: _fits(telling, census, oops))


def _fits(gaps: Iterable[tuple[int, int]], census: Census, oops: Oops) -> int:
    return sum(census.classes.instance_bytes(class_id, oops) == gap for class_id, gap in gaps)
