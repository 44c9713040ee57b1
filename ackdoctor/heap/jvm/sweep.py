"""One pass over a dump's heap: instances per class, and the fields of chosen classes as columns."""

import re
import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from struct import Struct
from typing import NamedTuple, TypeAlias

from ackdoctor.heap.jvm.class_dump import OBJECT, WIDTHS, Classes, parse_class
from ackdoctor.heap.jvm.hprof import (
    CLASS,
    HEAP,
    INSTANCE,
    LOAD_CLASS,
    OBJECTS,
    PRIMITIVE,
    STRING,
    Heads,
    Hprof,
    Record,
    heads,
)

__all__ = [
    "LONGEST_ARRAY",
    "Census",
    "Choice",
    "Columns",
    "Find",
    "Rows",
    "Run",
    "Take",
    "Turn",
    "run_at",
    "stepped",
    "sweep",
]


_CODES = {OBJECT: "Q", 4: "B", 5: "H", 6: "I", 7: "Q", 8: "b", 9: "h", 10: "i", 11: "q"}


class Columns:
    """Reads the id and the named fields of a class's instances; KeyError for a field that the class has not."""

    def __init__(self, classes: Classes, class_id: int, *names: str) -> None:
        known = classes.offsets(class_id)
        cells = [(1, OBJECT), *(known[name] for name in names)]
        widths = {**WIDTHS, OBJECT: classes.id_size}
        self._cells = [(at, widths[kind], _CODES[kind]) for at, kind in cells]
        form, end = ">", 0
        for at, width, code in sorted(self._cells):
            form += f"{at - end}x" + ("I" if code == "Q" and width < 8 else code)  # noqa: PLR2004
            end = at + width
        self._struct = Struct(form)
        order = sorted(range(len(cells)), key=cells.__getitem__)
        self._order = [order.index(cell) for cell in range(len(cells))]

    def read(self, data: bytes, places: Sequence[int]) -> "list[array[int]]":
        """A column for each field, the ids first; `places` are those of the tags, in order.

        Instances at the end are left out if the bytes end within them.
        """
        while places and places[-1] + self._struct.size > len(data):
            places = places[:-1]
        if isinstance(places, range) and places:
            return [stepped(data, places, *cell) for cell in self._cells]
        rows = zip(*map(self._struct.unpack_from, repeat(data), places), strict=True)
        columns = list(rows) or [()] * len(self._cells)
        return [
            array(code, columns[place]) for (_, _, code), place in zip(self._cells, self._order, strict=True)
        ]


def stepped(data: bytes, places: range, at: int, width: int, code: str) -> "array[int]":
    """The big-endian numbers at a fixed offset after each place, as a column of that type."""
    column = array(code)
    wide = column.itemsize
    cells = bytearray(wide * len(places))
    for byte in range(width):
        target = width - 1 - byte if sys.byteorder == "little" else wide - width + byte
        first = places.start + at + byte
        cells[target::wide] = data[first : first + len(places) * places.step : places.step]
    column.frombytes(cells)
    return column


_PER_CELL = 16  # ids that share a cell of the coarse index
_TOGETHER = 64  # ids that are compared at once
_PART = 1 << 14  # ids that are numbers of Python's at a time


class Rows:
    """Rows are appended as (ids, *columns), many at once; after `sort`, the places of ids are found.

    `codes` are those of `array`, one for each column.  Objects lie in the order of their ids, so as a rule
    there is nothing to sort.
    """

    def __init__(self, codes: str = "") -> None:
        self.ids: array[int] = array("Q")
        self.columns: list[array[int]] = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: "array[int]", *columns: "array[int]") -> None:
        """Appends rows; each column has the type that it was made with."""
        self.ids.extend(ids)
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)

    def sort(self) -> "Find":
        """Puts the rows in the order of their ids; what it gives finds them."""
        if not _ascends(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self.ids = _permuted(self.ids, order)
            self.columns = [_permuted(column, order) for column in self.columns]
        return Find(self.ids)


def _ascends(ids: "array[int]") -> bool:
    """A list that is in order is sorted faster than its neighbours are compared."""
    parts = (ids[at : at + _PART + 1].tolist() for at in range(0, len(ids), _PART))
    return all(part == sorted(part) for part in parts)


def _permuted(column: "array[int]", order: Sequence[int]) -> "array[int]":
    return array(column.typecode, map(column.__getitem__, order))


class Find:
    """Finds the places of ids among ascending ones: those of many at once, -1 where there is none.

    Ids are addresses, so they fill their range evenly: a search begins in the right cell.  What refers to
    each other was made in the same order, and collectors keep it.
    """

    def __init__(self, ids: "array[int]") -> None:
        self._ids = ids
        self._lowest = ids[0] if ids else 0
        spread = ids[-1] - self._lowest if ids else 0
        self._shift = max(0, (spread // (len(ids) // _PER_CELL + 1)).bit_length() - 1)
        self._cells = array("Q", bytes(8 * ((spread >> self._shift) + 2)))
        at, count = 0, len(ids)
        for cell in range(len(self._cells)):
            bound, near = self._lowest + (cell << self._shift), min(at + 4 * _PER_CELL, count)
            at = bisect_left(ids, bound, at, near)
            if at == near:
                at = bisect_left(ids, bound, at)
            self._cells[cell] = at
        self._cells[-1] = max(0, count - 1)  # so that every place that a search comes to is one

    def all(self, wanted: "array[int]") -> "array[int]":
        """The place of each; the next few are tried first, since ids often ascend."""
        found, ids, guess = array("q"), self._ids, 0
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            if ids[guess : guess + len(some)] == some:
                found.extend(range(guess, guess + len(some)))
                guess += len(some)
            else:
                found.extend(self._searched(some))
                guess = found[-1] + 1
        return found

    def _searched(self, wanted: "array[int]") -> list[int]:
        ids, cells, lowest, shift = self._ids, self._cells, self._lowest, self._shift
        highest = ids[-1] if ids else -1
        return [
            place
            if lowest <= id_ <= highest
            and ids[place := bisect_left(ids, id_, cells[cell := id_ - lowest >> shift], cells[cell + 1])]
            == id_
            else -1
            for id_ in wanted
        ]


_FEWEST = 16  # turns: fewer are read as fast one by one
_LONGEST = 1 << 10  # bytes of one turn
_TRIES = 3  # occurrences of the first record's class in one period


class Turn(NamedTuple):
    """One record of the first turn: the offset of its tag, and its head as `Heads.read` gives it."""

    at: int
    tag: int
    left: int
    right: int


class Run(NamedTuple):
    """The records of the first turn; the same come again every `period` bytes, `amount` turns in all."""

    turns: tuple[Turn, ...]
    period: int
    amount: int

    def places(self, at: int) -> range:
        """Offset of a record of the first period in every period."""
        return range(at, at + self.amount * self.period, self.period)


def run_at(data: bytes, at: int, end: int, heads: Heads) -> Run | None:
    """The run that begins at `at`, as far as its turns end before `end`; None if there is none worth it."""
    head, kind = heads.read.size, heads.kind
    if data[at] not in (INSTANCE, OBJECTS):
        return None
    key = data[at + kind : at + head]
    found = at + kind
    for _ in range(_TRIES):
        found = data.find(key, found + 1, min(end, at + _LONGEST))
        period = found - kind - at
        if found < 0 or (end - at) // period < _FEWEST:
            return None
        if data[found - kind + period] != data[at] or not data.startswith(key, found + period):
            continue  # it does not even come twice
        turns = _turns(data, at, at + period, heads)
        if turns and (amount := _alike(data, turns, period, (end - at) // period, heads)) >= _FEWEST:
            return Run(turns, period, amount)
    return None


def _turns(data: bytes, at: int, end: int, heads: Heads) -> tuple[Turn, ...]:
    """The records from `at` to `end`; none if there is another between them, or none ends there."""
    found = []
    while at < end:
        tag, left, right = heads.read.unpack_from(data, at)
        found.append(Turn(at, tag, left, right))
        size = heads.size(tag, left, right)
        if not size:
            return ()
        at += size
    return tuple(found) if at == end else ()


def _alike(data: bytes, turns: tuple[Turn, ...], period: int, most: int, heads: Heads) -> int:
    """How many turns are like the first; less than _FEWEST if it is not worth it."""
    for at, tag, _, _ in turns:
        last = heads.small if tag == PRIMITIVE else heads.read.size
        for byte in (at, *range(at + heads.kind, at + last)):
            column = data[byte : byte + most * period : period]
            most = len(column) - len(column.lstrip(column[:1]))
            if most < _FEWEST:
                return most
    return most


STRETCH = 1 << 16
_OBJECT_TAGS = re.compile(rb"[\x20-\x22]")  # of what names a class
_SEARCHED = 1 << 20  # bytes behind a damage
_MOST_DAMAGES = 100  # after which the rest of each segment is left out
_IN_A_ROW = 4  # records that make sense are no chance
_NARROW, _WIDE = 1 << 10, 1 << 14  # bytes that are read record by record before a run is looked for again
LONGEST_ARRAY = 16  # elements: longer arrays are not handed out
# bytes, and offsets of the tags of objects: a range in a run, so that two of a class in one turn come apart
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
        self._longest = self._heads.read.size  # longest object that a taker reads, in bytes from its tag
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
