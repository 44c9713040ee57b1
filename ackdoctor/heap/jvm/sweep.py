"""One pass over a dump's heap: how many of each class, and the instances that somebody has asked for.

The loop reads one header per object and jumps over the rest; its price is per object, not per byte.  Where the same
few objects come again and again, they are counted at once (`runs`).
Where each stretch of the file begins, the id of its first object is noted (`Census.mark_ids`): objects lie in the
order of their ids, so a single object is found later without an index of all (`objects`).
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ackdoctor.heap.jvm.hprof import HEAP, LOAD_CLASS, STRING, Hprof, Record
from ackdoctor.heap.jvm.layout import WIDTHS, Classes, parse_class
from ackdoctor.heap.jvm.records import CLASS, INSTANCE, OBJECTS, PRIMITIVE, Heads, heads
from ackdoctor.heap.jvm.runs import Run, run_at

__all__ = ["LONGEST_ARRAY", "Census", "Choice", "Take", "sweep"]

STRETCH = 1 << 16
_OBJECT_TAGS = re.compile(rb"[\x20-\x22]")  # of what names a class
_SEARCHED = 1 << 20  # bytes behind a damage
_MOST_DAMAGES = 100  # after which the rest of each segment is left out
_IN_A_ROW = 4  # records that make sense are no chance
_NARROW, _WIDE = 1 << 10, 1 << 14  # bytes that are read record by record before a run is looked for again
LONGEST_ARRAY = 16  # elements: longer arrays are not handed out
# bytes, and where in them the tags of objects stand: a range in a run, so that two of a class in one turn come apart
Take: TypeAlias = Callable[[bytes, Sequence[int]], None]
Choice: TypeAlias = Mapping[int, Take]


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

    def count(self, tag: int, left: int, right: int, shape: Heads, times: int) -> None:
        """Adds an object that comes so many times; `left` and `right` are as `Heads.read` gives them."""
        length = shape.elements(left)
        if tag == INSTANCE:
            self.instances[left] += times
        elif tag == OBJECTS:
            class_id = shape.class_of_array(left, right)
            self.arrays[class_id] += times
            self.elements[class_id] += times * (length + (length & 1))
        else:
            kind = shape.type_of_array(left, right)
            self.primitives[kind] += times
            self.numbers[kind] += times * (length * WIDTHS[kind] + 7 & ~7)

    @property
    def objects(self) -> int:
        """All of them."""
        return sum(map(sum, (self.instances.values(), self.arrays.values(), self.primitives.values())))


def sweep(dump: Hprof, choose: Callable[[Classes], Choice], known: Census | None = None) -> Census:
    """Counts everything; `choose` is asked once the classes are known, which of their objects it wants.

    With what an earlier pass knows, only the heap is read again.  What is damaged is named, and the rest
    of the file is read.  Strings of more than LONGEST_BODY bytes name nothing: HotSpot writes every symbol it has.
    """
    census = Census(known.classes if known else Classes(dump.id_size))
    reader, width = _Reader(dump, census, choose), dump.id_size
    for record in known.segments if known else dump.records():
        if record.tag in HEAP:
            census.segments.append(record)
            reader.segment(record)
        elif record.tag == STRING and record.body:
            census.classes.strings[int.from_bytes(record.body[:width], "big")] = record.body[width:]
        elif record.tag == LOAD_CLASS and record.body:
            class_id, name = record.body[4 : 4 + width], record.body[8 + width : 8 + 2 * width]
            census.classes.load(int.from_bytes(class_id, "big"), int.from_bytes(name, "big"))
    return census


class _Reader:
    """Goes through segments; the takers are chosen at the first object, when all classes have been seen."""

    def __init__(self, dump: Hprof, census: Census, choose: Callable[[Classes], Choice]) -> None:
        self._dump, self._census, self._choose = dump, census, choose
        self._heads = heads(dump.id_size)
        self._chosen: Choice | None = None
        self._longest = self._heads.read.size  # bytes of an object that somebody takes, from its tag on
        # since the last `_flush`: of all instances, and of those arrays of objects that are wanted
        self._instances: defaultdict[int, list[int]] = defaultdict(list)
        self._arrays: defaultdict[int, list[int]] = defaultdict(list)
        self._window = _NARROW
        self._end = self._room = 0  # where the segment ends, in the file and from the stretch on

    def segment(self, record: Record) -> None:
        """All sub-records of a segment, a stretch at a time."""
        at, end = record.start, record.start + record.length
        self._end = end + record.missing
        want = STRETCH
        while at < end:
            data = self._dump.read(at, min(want, end - at))
            try:
                used = self._stretch(data, at, last=at + len(data) >= end, cut=record.missing > 0)
            except _Damage as damage:
                place = at + damage.at
                at, want = self._resume(place, end), STRETCH
                lost = f"{at - place:,} bytes are" if at < end else "the rest of the segment is"
                self._census.damage.append(f"byte {place:,}: {damage.what}; {lost} left out")
                continue
            if not used and at + len(data) >= end:
                if not record.missing:  # else it is the file that was cut
                    self._census.damage.append(f"byte {at:,}: the segment ends within a class")
                return
            want = STRETCH if used else want * 4
            at += used

    def _resume(self, damaged: int, end: int) -> int:
        """Where, behind a damage, objects begin that belong to known classes; the end, if that is far, or comes too often."""
        if len(self._census.damage) >= _MOST_DAMAGES:
            return end
        begin = damaged + 1
        data = self._dump.read(begin, min(_SEARCHED, end - begin) + STRETCH)
        likely = (found.start() for found in _OBJECT_TAGS.finditer(data))
        return next((begin + at for at in likely if begin + at < end and self._sound(data, at)), end)

    def _sound(self, data: bytes, at: int) -> bool:
        """Whether some records follow each other here, the first of them of a known class."""
        classes, shape = self._census.classes, self._heads
        for number in range(_IN_A_ROW):
            if at + shape.read.size > len(data):
                return False
            tag, left, right = shape.read.unpack_from(data, at)
            if tag == CLASS:
                try:
                    parsed = parse_class(data, at, self._dump.id_size)
                except KeyError:
                    return False
                if parsed is None or parsed[0].id not in classes.names:
                    return False
                at = parsed[1]
                continue
            if tag == INSTANCE:
                known = left in classes.dumps and classes.unpacker(left)[0].size == shape.read.size + right
            else:
                numbers = number > 0 and tag == PRIMITIVE and shape.size(tag, left, right) > 0
                known = numbers or (tag == OBJECTS and shape.class_of_array(left, right) in classes.names)
            if not known:
                return False
            at += shape.size(tag, left, right)
        return True

    def _stretch(self, data: bytes, base: int, *, last: bool, cut: bool) -> int:
        """Reads what is whole, and says how many bytes that was; 0 if not even the first record is."""
        self._room = self._end - base
        have, head = len(data), self._heads.read.size
        limit = have - head
        if last and not cut:
            data += bytes(head)  # roots are shorter than what one read takes
            limit = have - 1
        at = self._first_object(data, limit)
        if at > limit or data[at] == CLASS:
            return at
        self._mark(data, at, base)
        if not last:
            limit = have - self._longest
        try:
            return self._objects(data, at, limit, have)
        finally:
            self._flush(data)

    def _first_object(self, data: bytes, limit: int) -> int:
        """Where the classes and roots end with which the bytes begin; at a class, if it is not whole."""
        at, end = 0, -1
        while at <= limit and not INSTANCE <= data[at] <= PRIMITIVE and at != end:
            at, end = self._other(data, at), at
        return at

    def _mark(self, data: bytes, at: int, base: int) -> None:
        """The first object of a stretch is noted, and by then it is known what to take."""
        census = self._census
        census.mark_ids.append(int.from_bytes(data[at + 1 : at + 1 + self._dump.id_size], "big"))
        census.mark_places.append(base + at)
        if self._chosen is None:
            self._chosen = self._choose(census.classes)
            known = [each for each in self._chosen if each in census.classes.dumps]
            sizes = [census.classes.unpacker(each)[0].size for each in known]
            self._longest = max((self._longest + LONGEST_ARRAY * self._dump.id_size, *sizes))

    def _objects(self, data: bytes, at: int, limit: int, have: int) -> int:
        """Runs at once, the rest record by record; where no run is found, one is looked for less often."""
        while at <= limit:
            run = run_at(data, at, have, self._heads)
            if run is None:
                begin, at = at, self._one_by_one(data, at, min(limit, at + self._window))
                self._window = min(2 * self._window, _WIDE)
                if at == begin:
                    break
            else:
                self._take_run(data, run)
                self._window = _NARROW
                at += run.amount * run.period
        return at

    def _take_run(self, data: bytes, run: Run) -> None:
        self._flush(data)
        chosen = self._chosen or {}
        for at, tag, left, right in run.turns:
            self._census.count(tag, left, right, self._heads, run.amount)
            class_id = self._heads.class_of_array(left, right) if tag == OBJECTS else left
            if class_id in chosen and tag != PRIMITIVE:
                chosen[class_id](data, run.places(at))

    def _flush(self, data: bytes) -> None:
        """Counts the instances that were seen since the last time, and hands out what is wanted."""
        chosen, instances = self._chosen or {}, self._census.instances
        for class_id, places in self._instances.items():
            instances[class_id] += len(places)
            if class_id in chosen:
                chosen[class_id](data, places)
        for class_id, places in self._arrays.items():
            chosen[class_id](data, places)
        self._instances.clear()
        self._arrays.clear()

    def _one_by_one(self, data: bytes, at: int, limit: int) -> int:
        """Reads what begins up to the limit, and says where the next begins; a class that is not whole is the next."""
        census, (form, _, small, half, mask, width, _) = self._census, self._heads
        read, head, chosen = form.unpack_from, form.size, self._chosen or {}
        instances, wanted = self._instances, self._arrays
        arrays, elements, primitives, numbers = (
            census.arrays,
            census.elements,
            census.primitives,
            census.numbers,
        )
        widths, tag, left, right = WIDTHS, 0, 0, 0
        while at <= limit:
            tag, left, right = read(data, at)
            if tag == INSTANCE:
                instances[left].append(at)
                at += head + right
            elif tag == OBJECTS:
                length, class_id = left >> half, (left & mask) << 32 | right
                arrays[class_id] += 1
                elements[class_id] += length + (length & 1)
                if class_id in chosen and length <= LONGEST_ARRAY:
                    wanted[class_id].append(at)
                at += head + length * width
            elif tag == PRIMITIVE:
                kind = left >> 24 & 255 if half else right >> 24
                if kind not in widths:
                    raise _Damage(at, f"there are no arrays of type {kind}")
                size = (left >> half) * widths[kind]
                primitives[kind] += 1
                numbers[kind] += (size + 7) & ~7
                at += small + size
            else:
                begin, at = at, self._other(data, at)
                if begin == at:
                    break
        if at > self._room and tag in (INSTANCE, OBJECTS, PRIMITIVE):
            self._take_back(at, tag, left, right)
        return at

    def _take_back(self, end: int, tag: int, left: int, right: int) -> None:
        """The last object is none: its length is damaged, or what was read as its head."""
        shape = self._heads
        size = shape.size(tag, left, right)
        if tag == INSTANCE:
            self._instances[left].pop()
        else:
            self._census.count(tag, left, right, shape, -1)
        if tag == OBJECTS and self._arrays.get(shape.class_of_array(left, right), [None])[-1] == end - size:
            self._arrays[shape.class_of_array(left, right)].pop()
        raise _Damage(end - size, f"an object of {size:,} bytes runs past the end of its segment")

    def _other(self, data: bytes, at: int) -> int:
        """Where a root or a class ends; `at` if it is a class and the bytes do not reach that far."""
        tag = data[at]
        if tag in self._heads.roots:
            return at + self._heads.roots[tag]
        if tag != CLASS:
            raise _Damage(at, f"no sub-record has the tag {tag:#04x}")
        try:
            parsed = parse_class(data, at, self._dump.id_size)
        except KeyError as error:
            raise _Damage(at, f"a class with a field of type {error}") from None
        if parsed is None:
            return at
        if parsed[0].damage:
            place = self._end - self._room + at
            self._census.damage.append(f"byte {place:,}: {parsed[0].damage}; its objects are left out")
        self._census.classes.dumps[parsed[0].id] = parsed[0]
        return parsed[1]


class _Damage(Exception):  # noqa: N818  # what it is, not that it is an error
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what
