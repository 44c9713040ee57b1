"""One pass over a dump's heap: count instances per class, and read the fields of chosen classes as columns."""

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
    "Columns",
    "IdIndex",
    "RecordRun",
    "Rows",
    "RunRecord",
    "Taker",
    "Takers",
    "find_run",
    "strided_column",
    "sweep",
]


_PER_CELL = 16  # ids per cell of the coarse index
_TOGETHER = 64  # ids compared at once
_PART = 1 << 14  # ids held as Python ints at a time
_FEWEST = 16  # periods of a run; fewer are read as fast record by record
_LONGEST = 1 << 10  # bytes of one period
_TRIES = 3  # occurrences of the first record's class tried as the period
STRETCH = 1 << 16
_OBJECT_TAGS = re.compile(rb"[\x20-\x22]")  # records that name a class
_SEARCHED = 1 << 20  # bytes searched after a damage
_MOST_DAMAGES = 100  # after these the rest of each segment is skipped
_IN_A_ROW = 4  # valid records in a row that prove a record boundary
_NARROW, _WIDE = 1 << 10, 1 << 14  # bytes read record by record before the next search for a run
LONGEST_ARRAY = 16  # elements; takers get no longer arrays
# (bytes, offsets of object tags); in a run the offsets are a range, one call for each record of the period
Taker: TypeAlias = Callable[[bytes, Sequence[int]], None]
Takers: TypeAlias = Mapping[int, Taker]
_CODES = {OBJECT: "Q", 4: "B", 5: "H", 6: "I", 7: "Q", 8: "b", 9: "h", 10: "i", 11: "q"}


class Columns:
    """Reads the id and the named fields of a class's instances; KeyError if the class lacks a field."""

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
        """Return a column for each field, ids first; `places` are the ascending offsets of the tags.

        Instances that are truncated at the end of `data` are skipped.
        """
        while places and places[-1] + self._struct.size > len(data):
            places = places[:-1]
        if isinstance(places, range) and places:
            return [strided_column(data, places, *cell) for cell in self._cells]
        rows = zip(*map(self._struct.unpack_from, repeat(data), places), strict=True)
        columns = list(rows) or [()] * len(self._cells)
        return [
            array(code, columns[place]) for (_, _, code), place in zip(self._cells, self._order, strict=True)
        ]


def strided_column(data: bytes, places: range, at: int, width: int, code: str) -> "array[int]":
    """Return the big-endian numbers at a fixed offset after each place, as a column of type `code`."""
    column = array(code)
    wide = column.itemsize
    cells = bytearray(wide * len(places))
    for byte in range(width):
        target = width - 1 - byte if sys.byteorder == "little" else wide - width + byte
        first = places.start + at + byte
        cells[target::wide] = data[first : first + len(places) * places.step : places.step]
    column.frombytes(cells)
    return column


class Rows:
    """A table of ids and columns, filled in batches; `sort` returns an index of its ids.

    `codes` are the `array` type codes of the columns.  Dumps usually list objects in ascending order of ids, so
    sorting is rarely needed.
    """

    def __init__(self, codes: str = "") -> None:
        self.ids: array[int] = array("Q")
        self.columns: list[array[int]] = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: "array[int]", *columns: "array[int]") -> None:
        """Append rows; each column keeps its type."""
        self.ids.extend(ids)
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)

    def sort(self) -> "IdIndex":
        """Sort the rows by id; return an index of the ids."""
        if not _ascends(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self.ids = _permuted(self.ids, order)
            self.columns = [_permuted(column, order) for column in self.columns]
        return IdIndex(self.ids)


def _ascends(ids: "array[int]") -> bool:
    """Return whether the ids ascend; sorting a sorted list is faster than comparing neighbours."""
    parts = (ids[at : at + _PART + 1].tolist() for at in range(0, len(ids), _PART))
    return all(part == sorted(part) for part in parts)


def _permuted(column: "array[int]", order: Sequence[int]) -> "array[int]":
    return array(column.typecode, map(column.__getitem__, order))


class IdIndex:
    """An index of ascending ids: finds the rows of many ids at once, -1 for unknown ids.

    Ids are addresses and fill their range evenly, so a coarse index narrows each search to one cell.  Objects
    that refer to each other are often created in the same order, and collectors keep that order.
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
        self._cells[-1] = max(0, count - 1)  # every search then ends at a valid row

    def rows_of(self, wanted: "array[int]") -> "array[int]":
        """Return the row of each id; try the next rows first, because ids often ascend."""
        found, ids, guess = array("q"), self._ids, 0
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            if ids[guess : guess + len(some)] == some:
                found.extend(range(guess, guess + len(some)))
                guess += len(some)
            else:
                found.extend(self._search(some))
                guess = found[-1] + 1
        return found

    def _search(self, wanted: "array[int]") -> list[int]:
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


class RunRecord(NamedTuple):
    """One record of a run's first period: the offset of its tag, and its head as `Heads.read` unpacks it."""

    at: int
    tag: int
    left: int
    right: int


class RecordRun(NamedTuple):
    """Records that repeat every `period` bytes, `amount` periods in all; `records` are those of the first period."""

    records: tuple[RunRecord, ...]
    period: int
    amount: int

    def places(self, at: int) -> range:
        """Return the offsets of a record of the first period in all periods."""
        return range(at, at + self.amount * self.period, self.period)


def find_run(data: bytes, at: int, end: int, heads: Heads) -> RecordRun | None:
    """Return the run that begins at `at` and ends before `end`; None if there is none of a useful length."""
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
            continue  # the record does not repeat after one period
        records = _records_between(data, at, at + period, heads)
        if (
            records
            and (amount := _equal_periods(data, records, period, (end - at) // period, heads)) >= _FEWEST
        ):
            return RecordRun(records, period, amount)
    return None


def _records_between(data: bytes, at: int, end: int, heads: Heads) -> tuple[RunRecord, ...]:
    """Return the object records from `at` to `end`; none if another kind of record comes between, or none ends at `end`."""
    found = []
    while at < end:
        tag, left, right = heads.read.unpack_from(data, at)
        found.append(RunRecord(at, tag, left, right))
        size = heads.size(tag, left, right)
        if not size:
            return ()
        at += size
    return tuple(found) if at == end else ()


def _equal_periods(data: bytes, records: tuple[RunRecord, ...], period: int, most: int, heads: Heads) -> int:
    """Return how many periods equal the first; any number below _FEWEST means that there is no useful run."""
    for at, tag, _, _ in records:
        last = heads.small if tag == PRIMITIVE else heads.read.size
        for byte in (at, *range(at + heads.kind, at + last)):
            column = data[byte : byte + most * period : period]
            most = len(column) - len(column.lstrip(column[:1]))
            if most < _FEWEST:
                return most
    return most


@dataclass(slots=True)
class Census:
    """The counts of a pass; object arrays are counted by class, primitive arrays by type.

    `elements` counts references, rounded up to an even number per array, as compressed references occupy the heap.
    `numbers` counts bytes of primitive arrays, rounded up to eight per array.
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
        """Add an object `times` times; `left` and `right` are its head as `Heads.read` unpacks it."""
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
        """The number of all objects."""
        return sum(map(sum, (self.instances.values(), self.arrays.values(), self.primitives.values())))


def sweep(dump: Hprof, choose: Callable[[Classes], Takers], known: Census | None = None) -> Census:
    """Count all objects; `choose` returns the takers of the wanted classes as soon as the classes are known.

    If `known` has the census of an earlier pass, only the heap is read again.  A damaged part is reported and
    skipped.  Strings of more than LONGEST_BODY bytes are ignored: HotSpot writes every symbol, and names are shorter.
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
    """Reads segments; it asks for the takers at the first object, when all classes are known."""

    def __init__(self, dump: Hprof, census: Census, choose: Callable[[Classes], Takers]) -> None:
        self._dump, self._census, self._choose = dump, census, choose
        self._heads = heads(dump.id_size)
        self._chosen: Takers | None = None
        self._longest = self._heads.read.size  # bytes of the longest object that a taker reads, from its tag
        # offsets since the last `_flush`: all instances by class, and the wanted object arrays
        self._instances: defaultdict[int, list[int]] = defaultdict(list)
        self._arrays: defaultdict[int, list[int]] = defaultdict(list)
        self._window = _NARROW
        self._end = self._room = 0  # end of the segment, in the file and relative to the stretch

    def segment(self, record: Record) -> None:
        """Read all sub-records of a segment, stretch by stretch."""
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
                if not record.missing:  # else the file is truncated, which `Hprof.cut` reports
                    self._census.damage.append(f"byte {at:,}: the segment ends within a class")
                return
            want = STRETCH if used else want * 4
            at += used

    def _resume(self, damaged: int, end: int) -> int:
        """Return the offset after a damage where objects of known classes begin again.

        Returns `end` if that offset is too far away, or after too many damages.
        """
        if len(self._census.damage) >= _MOST_DAMAGES:
            return end
        begin = damaged + 1
        data = self._dump.read(begin, min(_SEARCHED, end - begin) + STRETCH)
        likely = (found.start() for found in _OBJECT_TAGS.finditer(data))
        return next((begin + at for at in likely if begin + at < end and self._is_valid(data, at)), end)

    def _is_valid(self, data: bytes, at: int) -> bool:
        """Return whether several valid records follow each other at `at`, the first one of a known class."""
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
        """Read all complete records; return the number of bytes read, 0 if even the first record is incomplete."""
        self._room = self._end - base
        have, head = len(data), self._heads.read.size
        limit = have - head
        if last and not cut:
            data += bytes(head)  # padding: roots are shorter than one read
            limit = have - 1
        at = self._first_object(data, limit)
        if at > limit or data[at] == CLASS:
            return at
        self._record_mark(data, at, base)
        if not last:
            limit = have - self._longest
        try:
            return self._objects(data, at, limit, have)
        finally:
            self._flush(data)

    def _first_object(self, data: bytes, limit: int) -> int:
        """Skip leading roots and classes; return the offset of the first object or incomplete class."""
        at, end = 0, -1
        while at <= limit and not INSTANCE <= data[at] <= PRIMITIVE and at != end:
            at, end = self._other(data, at), at
        return at

    def _record_mark(self, data: bytes, at: int, base: int) -> None:
        """Record the first object of a stretch; choose the takers at the first call."""
        census = self._census
        census.mark_ids.append(int.from_bytes(data[at + 1 : at + 1 + self._dump.id_size], "big"))
        census.mark_places.append(base + at)
        if self._chosen is None:
            self._chosen = self._choose(census.classes)
            known = [each for each in self._chosen if each in census.classes.dumps]
            sizes = [census.classes.unpacker(each)[0].size for each in known]
            self._longest = max((self._longest + LONGEST_ARRAY * self._dump.id_size, *sizes))

    def _objects(self, data: bytes, at: int, limit: int, have: int) -> int:
        """Read runs at once and other records one by one; search less often while no run is found."""
        while at <= limit:
            run = find_run(data, at, have, self._heads)
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

    def _take_run(self, data: bytes, run: RecordRun) -> None:
        self._flush(data)
        chosen = self._chosen or {}
        for at, tag, left, right in run.records:
            self._census.count(tag, left, right, self._heads, run.amount)
            class_id = self._heads.class_of_array(left, right) if tag == OBJECTS else left
            if class_id in chosen and tag != PRIMITIVE:
                chosen[class_id](data, run.places(at))

    def _flush(self, data: bytes) -> None:
        """Count the instances since the last flush, and pass the wanted objects to their takers."""
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
        """Read the records that begin up to the limit; return the offset of the next record, or of an incomplete class."""
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
                    raise _Damage(at, f"an array of the unknown type {kind}")
                size = (left >> half) * widths[kind]
                primitives[kind] += 1
                numbers[kind] += (size + 7) & ~7
                at += small + size
            else:
                begin, at = at, self._other(data, at)
                if begin == at:
                    break
        if at > self._room and tag in (INSTANCE, OBJECTS, PRIMITIVE):
            self._undo_last(at, tag, left, right)
        return at

    def _undo_last(self, end: int, tag: int, left: int, right: int) -> None:
        """Undo the last object, whose length or head is damaged; raise `_Damage`."""
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
        """Return the end of a root or class; `at` if `data` ends within the class."""
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


class _Damage(Exception):  # noqa: N818  # control flow within this module
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what
