"""One pass over a dump's heap: how many of each class, and the instances that somebody has asked for.

The loop reads one header per object and jumps over the rest; its price is per object, not per byte.
Where each stretch of the file begins, the id of its first object is noted (`Mark`): objects lie in the
order of their ids, so a single object is found later without an index of all (`objects`).
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple, TypeAlias

from ackdoctor.heap.jvm.hprof import HEAP, LOAD_CLASS, STRING, Hprof, Record
from ackdoctor.heap.jvm.layout import WIDTHS, Classes, parse_class

__all__ = [
    "CLASS",
    "INSTANCE",
    "OBJECTS",
    "PRIMITIVE",
    "Census",
    "Choice",
    "Heads",
    "Take",
    "TakeArray",
    "heads",
    "sweep",
]

CLASS, INSTANCE, OBJECTS, PRIMITIVE = 0x20, 0x21, 0x22, 0x23
STRETCH = 1 << 16
_LONGEST_NAME = 4096
Take: TypeAlias = Callable[[bytes, int], None]  # bytes, and where in them the object's tag stands
TakeArray: TypeAlias = Callable[[bytes, int, int], None]  # the same, and how many elements it has
Choice: TypeAlias = tuple[Mapping[int, Take], Mapping[int, TakeArray]]


class Heads(NamedTuple):
    """How sub-records begin under one size of ids.

    One read serves three kinds: the tag, then, behind id and stack, 12 (or 8) bytes that are class and length
    of an instance, length and class of an array of objects, length and type of one of primitives.
    """

    read: Struct
    small: int  # bytes before the elements of an array of primitives
    half: int  # how far to shift for a length
    mask: int
    roots: Mapping[int, int]  # tag -> bytes


def heads(id_size: int) -> Heads:
    """For ids of 4 or 8 bytes."""
    wide = id_size == 8  # noqa: PLR2004
    tails = {0xFF: 0, 1: id_size, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8}
    return Heads(
        read=Struct(">B12xQI" if wide else ">B8xII"),
        small=1 + id_size + 4 + 4 + 1,
        half=32 if wide else 0,
        mask=0xFFFFFFFF if wide else 0,
        roots={tag: 1 + id_size + tail for tag, tail in tails.items()},
    )


@dataclass(slots=True)
class Census:
    """What a pass has counted; arrays of objects by their class, of primitives by their type.

    `elements` are references, an odd number in an array as one more: so they lie on the heap, if they are compressed.
    `numbers` are bytes, rounded up to eight in each array.
    """

    classes: Classes
    instances: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    arrays: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    elements: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    primitives: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    numbers: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    mark_ids: "array[int]" = field(default_factory=lambda: array("Q"))
    mark_places: "array[int]" = field(default_factory=lambda: array("Q"))
    segments: list[Record] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def objects(self) -> int:
        """All of them."""
        return sum(map(sum, (self.instances.values(), self.arrays.values(), self.primitives.values())))


def sweep(
    dump: Hprof,
    choose: Callable[[Classes], Choice],
    known: Census | None = None,
) -> Census:
    """Counts everything; `choose` is asked once the classes are known, which of their objects it wants.

    With what an earlier pass knows, only the heap is read again.  What is damaged is named, and the rest
    of the file is read.
    """
    census = Census(known.classes if known else Classes(dump.id_size))
    reader = _Reader(dump, census, choose, whole=known is not None)
    for record in known.segments if known else dump.records():
        if record.tag in HEAP:
            census.segments.append(record)
            reader.segment(record)
        elif record.tag == STRING:
            _string(dump, record, census.classes)
        elif record.tag == LOAD_CLASS and not record.missing:
            body = dump.read(record.start, record.length)
            size = dump.id_size
            census.classes.load(
                int.from_bytes(body[4 : 4 + size], "big"),
                int.from_bytes(body[8 + size : 8 + 2 * size], "big"),
            )
    return census


def _string(dump: Hprof, record: Record, classes: Classes) -> None:
    """Names only: HotSpot writes every symbol it has, also a megabyte of text."""
    if record.length <= _LONGEST_NAME and not record.missing:
        body = dump.read(record.start, record.length)
        classes.strings[int.from_bytes(body[: dump.id_size], "big")] = body[dump.id_size :]


class _Reader:
    """Goes through segments; the takers are chosen at the first object, when all classes have been seen."""

    def __init__(
        self,
        dump: Hprof,
        census: Census,
        choose: Callable[[Classes], Choice],
        *,
        whole: bool,
    ) -> None:
        self._dump, self._census, self._choose = dump, census, choose
        self._heads = heads(dump.id_size)
        self._whole = whole  # the classes are known
        self._chosen: Choice | None = None

    def segment(self, record: Record) -> None:
        """All sub-records of a segment, a stretch at a time."""
        at, end = record.start, record.start + record.length
        want = STRETCH
        while at < end:
            data = self._dump.read(at, min(want, end - at))
            try:
                used = self._stretch(data, at, last=at + len(data) >= end, cut=record.missing > 0)
            except _Damage as damage:
                self._census.damage.append(
                    f"byte {at + damage.at:,}: {damage.what}; the rest of the segment is left out"
                )
                return
            if not used and at + len(data) >= end:
                return  # the file was cut within this record
            want = STRETCH if used else want * 4
            at += used

    def _begin(self, data: bytes, at: int, base: int) -> Choice:
        """The first object of a stretch is noted, and by then it is known what to take."""
        census = self._census
        census.mark_ids.append(int.from_bytes(data[at + 1 : at + 1 + self._dump.id_size], "big"))
        census.mark_places.append(base + at)
        if self._chosen is None:
            self._chosen = self._choose(census.classes)
        return self._chosen

    def _class(self, data: bytes, at: int) -> int:
        """Where the class that is declared here ends; `at` if the bytes do not reach that far."""
        try:
            parsed = parse_class(data, at, self._dump.id_size)
        except KeyError as error:
            raise _Damage(at, f"a class with a field of type {error}") from None
        if parsed is None:
            return at
        self._census.classes.dumps[parsed[0].id] = parsed[0]
        return parsed[1]

    def _stretch(
        self, data: bytes, base: int, *, last: bool, cut: bool
    ) -> int:  # a call would cost more than what it does
        """Reads what is whole, and says how many bytes that was; 0 if not even the first record is."""
        census, (form, small, half, mask, roots) = self._census, self._heads
        read, head, width, have = form.unpack_from, form.size, self._dump.id_size, len(data)
        instances, arrays, elements = census.instances, census.arrays, census.elements
        primitives, numbers, widths = census.primitives, census.numbers, WIDTHS
        take: Mapping[int, Take] | None = None
        take_array: Mapping[int, TakeArray] = {}
        at, limit = 0, have - head
        if last and not cut:
            data += bytes(head)  # roots are shorter than what one read takes
            limit = have - 1
        while at <= limit:
            tag, left, right = read(data, at)
            if take is None and INSTANCE <= tag <= PRIMITIVE:
                take, take_array = self._begin(data, at, base)
            if tag == INSTANCE:
                if left in take:  # type: ignore[operator]  # it is chosen above
                    if at + head + right > have:
                        break
                    take[left](data, at)  # type: ignore[index]
                instances[left] += 1
                at += head + right
            elif tag == OBJECTS:
                length, class_id = left >> half, (left & mask) << 32 | right
                size = length * width
                if class_id in take_array:
                    if at + head + size > have and size < STRETCH:
                        break
                    take_array[class_id](data, at, length)
                arrays[class_id] += 1
                elements[class_id] += length + (length & 1)
                at += head + size
            elif tag == PRIMITIVE:
                kind = left >> 24 & 255 if half else right >> 24
                if kind not in widths:
                    raise _Damage(at, f"there are no arrays of type {kind}")
                size = (left >> half) * widths[kind]
                primitives[kind] += 1
                numbers[kind] += (size + 7) & ~7
                at += small + size
            elif tag in roots:
                at += roots[tag]
            elif tag == CLASS:
                end = self._class(data, at)
                if end == at:
                    break
                at = end
            else:
                raise _Damage(at, f"no sub-record has the tag {tag:#04x}")
        return at


class _Damage(Exception):  # noqa: N818  # what it is, not that it is an error
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what
