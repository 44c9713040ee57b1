"""One pass over a dump's heap: its classes, counts per class, and columns of chosen objects.

HPROF writes the fields of an object's class first, then those of its superclass.  It does not record the JVM's
layout, so sizes on the heap are a model: header plus fields, rounded up to eight bytes.
"""

import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from operator import le
from struct import Struct
from typing import NamedTuple, TypeAlias

from ackdoctor.heap.hprof import (
    CLASS,
    HEAP,
    INSTANCE,
    LOAD_CLASS,
    OBJECT,
    OBJECTS,
    PRIMITIVE,
    STRING,
    WIDTHS,
    ClassDump,
    Damage,
    Heads,
    Hprof,
    Record,
    parse_class,
)

_TOGETHER = 64  # ids compared at once
_STRETCH = 1 << 16
_OBJECT_TAGS = re.compile(rb"[\x20-\x22]")  # records that name a class
_SEARCHED = 1 << 20  # bytes searched after a damage
_MOST_DAMAGES = 100  # after these the rest of each segment is skipped
_IN_A_ROW = 4  # valid records in a row that prove a record boundary
LONGEST_ARRAY = 16  # elements; takers get no longer arrays
_CODES: Mapping[int, str] = dict(zip(WIDTHS, "?Hfdbhiq", strict=True))
_WORDS = "boolean char float double byte short int long".split()
ARRAYS: Mapping[int, str] = {kind: f"{word}[]" for kind, word in zip(WIDTHS, _WORDS, strict=True)}
_LETTERS: Mapping[str, str] = dict(zip("ZCFDBSIJ", _WORDS, strict=True))
# (bytes, ascending offsets of the tags of some objects of a class)
Taker: TypeAlias = Callable[[bytes, Sequence[int]], None]
Takers: TypeAlias = Mapping[int, Taker]


class Oops(NamedTuple):
    """The JVM's object layout: bytes of an object header, an array header and a reference."""

    header: int
    array: int
    reference: int


@dataclass(slots=True)
class Classes:
    """All classes of a dump by id; names are written as in Java: `java.util.HashMap$Node`, `byte[]`."""

    id_size: int
    strings: dict[int, bytes] = field(default_factory=dict)  # they may name a class or a field
    names: dict[int, str] = field(default_factory=dict)
    dumps: dict[int, ClassDump] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    def text(self, string: int) -> str:
        """Return a string; `?` if the dump lacks it."""
        return self.strings.get(string, b"?").decode("utf-8", "replace")

    def name(self, class_id: int) -> str:
        """Return the name, or the id if the dump lacks the name."""
        return self.names.get(class_id, f"class {class_id:#x}")

    def named(self, name: str) -> list[int]:
        """Return the ids of the classes of that name, one for each class loader."""
        return [class_id for class_id, known in self.names.items() if known == name]

    def family(self, *names: str) -> list[int]:
        """Return the classes of these names and all their subclasses, sorted."""
        found = {class_id for name in names for class_id in self.named(name)}
        before = -1
        while len(found) != before:
            before = len(found)
            found |= {dump.id for dump in self.dumps.values() if dump.super_id in found}
        return sorted(found)

    def lineage(self, class_id: int) -> Iterator[ClassDump]:
        """Yield the class and its superclasses, as far as the dump contains them."""
        seen: set[int] = set()
        while class_id in self.dumps and class_id not in seen:
            seen.add(class_id)
            yield self.dumps[class_id]
            class_id = self.dumps[class_id].super_id

    def fields(self, class_id: int) -> list[tuple[str, int]]:
        """Return name and type of every field, in the order of an instance's bytes."""
        return [(self.text(name), kind) for dump in self.lineage(class_id) for name, kind in dump.fields]

    def takers(
        self, class_ids: Iterable[int], take: Callable[..., None], /, **fields: int
    ) -> "dict[int, Taker]":
        """Return a taker for each class that has these fields with these types (0: any type).

        It passes on a column of ids and one for each field.  The other classes are recorded as damage, unless the
        dump lacks them.
        """
        found = {}
        for class_id in filter(self.dumps.__contains__, class_ids):
            known = dict(reversed(self.fields(class_id)))
            lost = [
                name for name, kind in fields.items() if name not in known or kind not in {0, known[name]}
            ]
            if lost:
                self.damage.append(
                    f"the class {self.name(class_id)} lacks the field {lost[0]}: its instances cannot be read"
                )
            else:
                found[class_id] = Columns(self, class_id, *fields).taker(take)
        return found

    def instance_bytes(self, class_id: int, oops: Oops) -> int:
        """Return the bytes of an instance on the heap, which aligns objects to eight bytes."""
        widths = {OBJECT: oops.reference, **WIDTHS}
        return oops.header + sum(widths[kind] for _, kind in self.fields(class_id)) + 7 & ~7


class Columns:
    """Reads the id and the named fields of a class's instances; ValueError if the class lacks a field.

    `size` is the length of a whole instance from its tag.  A field hides an inherited field of the same name.
    """

    def __init__(self, classes: Classes, class_id: int, *names: str) -> None:
        wide = classes.id_size == 8  # noqa: PLR2004
        codes = {**_CODES, OBJECT: "Q" if wide else "I"}
        widths = {OBJECT: classes.id_size, **WIDTHS}
        form, found = ">xQ16x" if wide else ">xI12x", [""]  # tag, id, stack, class, length
        for name, kind in classes.fields(class_id):
            wanted = name in names and name not in found
            form += codes[kind] if wanted else f"{widths[kind]}x"
            found += [name] if wanted else []
        self._struct, self._order = Struct(form), [found.index(name) for name in ("", *names)]
        self.size = self._struct.size

    def row(self, data: bytes) -> list[int]:
        """Return the id and the fields of the instance whose bytes are given."""
        values = self._struct.unpack(data)
        return [values[place] for place in self._order]

    def taker(self, take: Callable[..., None]) -> Taker:
        """Return a taker that passes on a column for the ids and one for each field.

        It skips instances that are truncated at the end of the data.
        """

        def read(data: bytes, places: Sequence[int]) -> None:
            while places and places[-1] + self.size > len(data):
                places = places[:-1]
            if places:
                columns = list(zip(*map(self._struct.unpack_from, repeat(data), places), strict=True))
                take(*(columns[place] for place in self._order))

        return read


def java_name(raw: str) -> str:
    """Convert `[Ljava.lang.Object;` to `java.lang.Object[]`."""
    element = raw.lstrip("[")
    depth = len(raw) - len(element)
    if depth:
        element = _LETTERS.get(element) or element.removeprefix("L").removesuffix(";")
    return element + "[]" * depth


class Rows:
    """A table of ids and columns, filled in batches; `codes` are the `array` type codes of the columns.

    Ids are kept in arrays, because millions of Python ints take too much memory.
    """

    def __init__(self, codes: str = "") -> None:
        self.ids: array[int] = array("Q")
        self.columns: list[array[int]] = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: Iterable[int], *columns: Iterable[int]) -> None:
        """Append rows."""
        self.ids.extend(ids)
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)

    def sort(self) -> None:
        """Sort the rows by id, as `find` needs them."""
        if all(map(le, self.ids, islice(self.ids, 1, None))):
            return
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        self.ids, *self.columns = (
            array(column.typecode, map(column.__getitem__, order)) for column in (self.ids, *self.columns)
        )

    def find(self, wanted: Iterable[int]) -> "array[int]":
        """Return the row of each id, -1 for an unknown one; try the next rows first.

        Objects that refer to each other are often created in the same order, and collectors keep that order.
        """
        found, ids, guess, wanted = array("q"), self.ids, 0, array("Q", wanted)
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            if ids[guess : guess + len(some)] == some:
                found.extend(range(guess, guess + len(some)))
            else:
                places = (bisect_left(ids, id_) for id_ in some)
                found.extend(
                    place if place < len(ids) and ids[place] == id_ else -1
                    for place, id_ in zip(places, some, strict=True)
                )
            guess = found[-1] + 1
        return found


@dataclass(slots=True)
class Census:
    """The counts of a pass; object arrays are counted by class, primitive arrays by type.

    `elements` counts references, rounded up to an even number per array, as compressed references occupy the heap.
    `numbers` counts bytes of primitive arrays, rounded up to eight per array.  The marks are id and offset of the
    first object of each stretch.
    """

    classes: Classes
    instances: Counter[int] = field(default_factory=Counter)
    arrays: Counter[int] = field(default_factory=Counter)
    elements: Counter[int] = field(default_factory=Counter)
    primitives: Counter[int] = field(default_factory=Counter)
    numbers: Counter[int] = field(default_factory=Counter)
    mark_ids: "array[int]" = field(default_factory=lambda: array("Q"))
    mark_places: "array[int]" = field(default_factory=lambda: array("Q"))
    segments: list[Record] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def objects(self) -> int:
        """The number of all objects."""
        return self.instances.total() + self.arrays.total() + self.primitives.total()


def sweep(dump: Hprof, choose: Callable[[Classes], Takers], known: Census | None = None) -> Census:
    """Count all objects; `choose` returns the takers of the wanted classes as soon as the classes are known.

    If `known` has the census of an earlier pass, only the heap is read again.  A damaged part is reported and skipped.
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
            raw = census.classes.text(int.from_bytes(name, "big"))
            census.classes.names[int.from_bytes(class_id, "big")] = java_name(raw.replace("/", "."))
    return census


class _Reader:
    """Reads segments; it asks for the takers at the first object, when all classes are known."""

    def __init__(self, dump: Hprof, census: Census, choose: Callable[[Classes], Takers]) -> None:
        self._dump, self._census, self._choose = dump, census, choose
        self._heads = Heads(dump.id_size)
        self._chosen: Takers | None = None
        self._longest = self._heads.read.size  # bytes of the longest object that a taker reads, from its tag
        # offsets in the current stretch: all instances by class, and the wanted object arrays
        self._instances: defaultdict[int, list[int]] = defaultdict(list)
        self._arrays: defaultdict[int, list[int]] = defaultdict(list)
        self._base = self._room = 0  # offset of the stretch, and bytes from there to the end of the segment

    def segment(self, record: Record) -> None:
        """Read all sub-records of a segment, stretch by stretch."""
        at, end = record.start, record.start + record.length
        want = _STRETCH
        while at < end:
            self._dump.reached(at)
            data = self._dump.read(at, min(want, end - at))
            self._base, self._room = at, end + record.missing - at
            last = at + len(data) >= end
            try:
                used = self._stretch(data, last=last, cut=record.missing > 0)
            except Damage as damage:
                place = at + damage.at
                at, want = self._resume(place, end), _STRETCH
                lost = f"{at - place:,} bytes are" if at < end else "the rest of the segment is"
                self._census.damage.append(f"byte {place:,}: {damage.what}; {lost} left out")
                continue
            if not used and last:
                if not record.missing:  # else the file is truncated, which `Hprof.cut` reports
                    self._census.damage.append(f"byte {at:,}: the segment ends within a class")
                return
            want = _STRETCH if used else want * 4
            at += used

    def _resume(self, damaged: int, end: int) -> int:
        """Return the offset after a damage where objects of known classes begin again.

        Returns `end` if that offset is too far away, or after too many damages.
        """
        if len(self._census.damage) >= _MOST_DAMAGES:
            return end
        begin = damaged + 1
        data = self._dump.read(begin, min(_SEARCHED, end - begin) + _STRETCH)
        likely = (found.start() for found in _OBJECT_TAGS.finditer(data))
        return next((begin + at for at in likely if begin + at < end and self._is_valid(data, at)), end)

    def _is_valid(self, data: bytes, at: int) -> bool:
        """Return whether several valid records follow each other at `at`, the first one of a known class."""
        classes, heads = self._census.classes, self._heads
        for number in range(_IN_A_ROW):
            if at + heads.read.size > len(data):
                return False
            tag, left, right = heads.read.unpack_from(data, at)
            size = heads.size(tag, left, right)
            if tag == CLASS:
                try:
                    parsed = parse_class(data, at, self._dump.id_size)
                except Damage:
                    return False
                known = parsed is not None and parsed[0].id in classes.names
                size = parsed[1] - at if parsed is not None else 0
            elif tag == INSTANCE:
                known = left in classes.dumps and Columns(classes, left).size == size
            elif tag == OBJECTS:
                known = heads.class_of_array(left, right) in classes.names
            else:
                known = number > 0 and size > 0
            if not known:
                return False
            at += size
        return True

    def _stretch(self, data: bytes, *, last: bool, cut: bool) -> int:
        """Read all complete records; return the number of bytes read, 0 if even the first record is incomplete."""
        have, head = len(data), self._heads.read.size
        limit = have - head
        if last and not cut:
            data += bytes(head)  # padding: roots are shorter than one read
            limit = have - 1
        at, before = 0, -1
        while at <= limit and not INSTANCE <= data[at] <= PRIMITIVE and at != before:
            at, before = self._other(data, at), at
        if at > limit or data[at] == CLASS:
            return at
        self._record_mark(data, at)
        try:
            return self._objects(data, at, limit if last else have - self._longest)
        finally:
            self._pass_on(data)

    def _record_mark(self, data: bytes, at: int) -> None:
        """Record the first object of a stretch; choose the takers at the first call."""
        classes, width = self._census.classes, self._dump.id_size
        self._census.mark_ids.append(int.from_bytes(data[at + 1 : at + 1 + width], "big"))
        self._census.mark_places.append(self._base + at)
        if self._chosen is None:
            self._chosen = self._choose(classes)
            sizes = [Columns(classes, each).size for each in self._chosen if each in classes.dumps]
            self._longest = max((self._longest + LONGEST_ARRAY * width, *sizes))

    def _pass_on(self, data: bytes) -> None:
        """Count the instances of the stretch, and pass the wanted objects to their takers."""
        chosen = self._chosen or {}
        for class_id, places in self._instances.items():
            self._census.instances[class_id] += len(places)
        for found in (self._instances, self._arrays):
            for class_id, places in found.items():
                if class_id in chosen:
                    chosen[class_id](data, places)
            found.clear()

    def _objects(self, data: bytes, at: int, limit: int) -> int:
        """Read the records that begin up to the limit; return the offset of the next record, or of an incomplete class."""
        census, heads, chosen, room = self._census, self._heads, self._chosen or {}, self._room
        read, head, half, mask = heads.read.unpack_from, heads.read.size, heads.half, heads.mask
        arrays, elements, primitives, numbers = (
            census.arrays,
            census.elements,
            census.primitives,
            census.numbers,
        )
        end = at
        while at <= limit:
            tag, left, right = read(data, at)
            if tag == INSTANCE:
                end = at + head + right
                if end > room:
                    break
                self._instances[left].append(at)
            elif tag == OBJECTS:
                length, class_id = left >> half, (left & mask) << 32 | right
                end = at + head + length * heads.width
                if end > room:
                    break
                arrays[class_id] += 1
                elements[class_id] += length + (length & 1)
                if class_id in chosen and length <= LONGEST_ARRAY:
                    self._arrays[class_id].append(at)
            elif tag == PRIMITIVE:
                kind = left >> 24 & 255 if half else right >> 24
                if kind not in WIDTHS:
                    raise Damage(at, f"an array of the unknown type {kind}")
                size = (left >> half) * WIDTHS[kind]
                end = at + heads.small + size
                if end > room:
                    break
                primitives[kind] += 1
                numbers[kind] += size + 7 & ~7
            else:
                end = self._other(data, at)
                if end == at:
                    return at
            at = end
        else:
            return at
        raise Damage(at, f"an object of {end - at:,} bytes runs past the end of its segment")

    def _other(self, data: bytes, at: int) -> int:
        """Return the end of a root or class; `at` if `data` ends within the class."""
        tag, classes = data[at], self._census.classes
        if tag in self._heads.roots:
            return at + self._heads.roots[tag]
        if tag != CLASS:
            raise Damage(at, f"no sub-record has the tag {tag:#04x}")
        parsed = parse_class(data, at, self._dump.id_size)
        if parsed is None:
            return at
        if parsed[0].damage:
            self._census.damage.append(
                f"byte {self._base + at:,}: {parsed[0].damage}; its objects are left out"
            )
        classes.dumps[parsed[0].id] = parsed[0]
        return parsed[1]
