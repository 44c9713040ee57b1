"""Look up single objects of a dump by id, and read the topology's configuration."""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from struct import Struct

from ackdoctor.heap.jvm.class_dump import WIDTHS, parse_class
from ackdoctor.heap.jvm.hprof import CLASS, INSTANCE, OBJECTS, PRIMITIVE, Hprof, heads
from ackdoctor.heap.jvm.sweep import Census

__all__ = ["HeapObject", "Objects", "first_instances", "settings_of"]


_STRETCH = 1 << 17
_SAMPLE = 1 << 14
_ELEMENTS = 1 << 16  # elements of an array read at once
_CHARS = 5  # HPROF's type code of char
_LONGEST_TEXT = 1 << 14  # bytes of a String; names and commands are shorter
_MOST_FULL_SEARCHES = 20  # each takes a few seconds in a large dump
_CONFS = ("_stormConf", "_topoConf", "topoConf", "stormConf")
_MOST_CONTEXTS = 200
_MOST = 5_000  # settings of one map, and nodes visited to find them
_NUMBERS = {"java.lang.Integer", "java.lang.Long", "java.lang.Short"}


@dataclass(slots=True)
class HeapObject:
    """An object: `kind` is its tag, `class_id` its class or primitive type, `start` the offset of its contents."""

    id: int
    kind: int
    class_id: int
    start: int
    length: int  # bytes of an instance, or elements of an array


class Objects:
    """Reads objects by id from the stretch of the file that should contain them; caches the results."""

    def __init__(self, dump: Hprof, census: Census) -> None:
        self._dump, self._census = dump, census
        self.id_size = dump.id_size
        self._heads = heads(dump.id_size)
        order = sorted(range(len(census.mark_ids)), key=census.mark_ids.__getitem__)
        self._ids = array("Q", map(census.mark_ids.__getitem__, order))
        self._places = array("Q", map(census.mark_places.__getitem__, order))
        self._ends = sorted(record.start + record.length for record in census.segments)
        self._known: dict[int, HeapObject | None] = {}
        self._readers: dict[int, tuple[Struct, dict[str, int]]] = {}
        self._lossy = bool(
            dump.cut or census.damage
        )  # a missing object is then lost, so a full search is pointless
        self._full_searches_left = _MOST_FULL_SEARCHES

    def at(self, id_: int) -> HeapObject | None:
        """Return the object; None for null, a class, or an object that the dump lacks."""
        if id_ not in self._known:
            is_object = id_ and id_ not in self._census.classes.dumps
            self._known[id_] = self._search(id_) if is_object else None
        return self._known[id_]

    def disable_full_search(self) -> None:
        """Stop searching the whole file for objects that are not in their expected stretch."""
        self._full_searches_left = 0

    def class_name(self, id_: int) -> str:
        """Return the name of an object's class; '' for null and missing objects."""
        found = self.at(id_)
        if found is None:
            return ""
        return self._census.classes.name(found.class_id) if found.kind != PRIMITIVE else "[]"

    def fields(self, id_: int) -> dict[str, int]:
        """Return an instance's fields by name, references as ids; empty for anything else."""
        found = self.at(id_)
        if found is None or found.kind != INSTANCE:
            return {}
        reader, places = self._reader(found.class_id)
        head = self._heads.read.size
        if reader.size != head + found.length:
            return {}
        data = self._dump.read(found.start - head, reader.size)
        if len(data) < reader.size:
            return {}
        values = reader.unpack(data)
        return {name: values[place] for name, place in places.items()}

    def chunks(self, id_: int) -> "Iterator[array[int]]":
        """Yield the ids in an object array in chunks; null is 0."""
        found = self.at(id_)
        if found is None or found.kind != OBJECTS:
            return
        width = self._dump.id_size
        for at in range(0, found.length, _ELEMENTS):
            amount = min(_ELEMENTS, found.length - at)
            data = self._dump.read(found.start + at * width, amount * width)
            part = array("Q" if width == 8 else "I", data[: len(data) // width * width])  # noqa: PLR2004
            if sys.byteorder == "little":
                part.byteswap()
            yield part

    def elements(self, id_: int) -> Iterator[int]:
        """Yield the ids in an object array one by one; null is 0."""
        return chain.from_iterable(self.chunks(id_))

    def text(self, id_: int) -> str:
        """Return the text of a java.lang.String; '' for anything else."""
        fields = self.fields(id_)
        found = self.at(fields.get("value", 0))
        if found is None or found.kind != PRIMITIVE:
            return ""
        data = self._dump.read(found.start, min(found.length * WIDTHS[found.class_id], _LONGEST_TEXT))
        if found.class_id == _CHARS:
            start = fields.get("offset", 0) * 2  # substrings share an array before Java 7u6
            return data[start : start + fields.get("count", len(data)) * 2].decode("utf-16-be", "replace")
        return data.decode("utf-16-le" if fields.get("coder") else "latin-1", "replace")

    def _search(self, wanted: int) -> HeapObject | None:
        """Search the stretch that begins with the nearest lower id, then its neighbours, then the whole file."""
        above = bisect_right(self._ids, wanted)
        tried: set[int] = set()
        for place in self._likely_places(above):
            if place not in tried and (found := self._scan(place, wanted)) is not None:
                return found
            tried.add(place)
        if self._full_searches_left and not self._lossy:
            self._full_searches_left -= 1
            every = (self._scan(place, wanted) for place in self._places)
            return next((each for each in every if each is not None), None)
        return None

    def _likely_places(self, above: int) -> Iterator[int]:
        """Yield the stretches that may contain an id, most likely first.

        Threads and collectors write regions in any order, so a stretch may end within the next region.  That
        stretch precedes, in the file, the one that begins with the nearest higher id.
        """
        if above:
            yield self._places[above - 1]
        if above < len(self._places):
            before = bisect_left(self._census.mark_places, self._places[above]) - 1
            if before >= 0:
                yield self._census.mark_places[before]
            yield self._places[above]

    def _scan(self, place: int, wanted: int) -> HeapObject | None:
        segment = bisect_right(self._ends, place)
        end = min(place + _STRETCH, self._ends[segment])
        data = self._dump.read(place, end - place + self._heads.read.size)
        found = self._find_by_id_bytes(data, wanted)
        if found is None:
            found = next(
                (each for each in _objects(data, end - place, self.id_size) if each.id == wanted), None
            )
        if found is not None:
            found.start += place
        return found

    def _find_by_id_bytes(self, data: bytes, wanted: int) -> HeapObject | None:
        """Find an instance by the bytes of its id; a match counts only if class and length fit."""
        id_ = wanted.to_bytes(self.id_size, "big")
        head = self._heads.read
        at = data.find(id_, 1)
        while 0 < at <= len(data) - head.size:
            tag, class_id, length = head.unpack_from(data, at - 1)
            known = tag == INSTANCE and class_id in self._census.classes.dumps
            if known and self._reader(class_id)[0].size == head.size + length:
                return HeapObject(wanted, tag, class_id, at - 1 + head.size, length)
            at = data.find(id_, at + 1)
        return None

    def _reader(self, class_id: int) -> tuple[Struct, dict[str, int]]:
        if class_id not in self._readers:
            self._readers[class_id] = self._census.classes.unpacker(class_id)
        return self._readers[class_id]


def first_instances(dump: Hprof, place: int) -> Iterator[tuple[int, int]]:
    """Yield id and class of the objects that begin in the stretch at `place`; arrays have class 0."""
    for found in _objects(dump.read(place, _SAMPLE), _SAMPLE // 2, dump.id_size):
        yield found.id, found.class_id if found.kind == INSTANCE else 0


def _objects(data: bytes, end: int, width: int) -> Iterator[HeapObject]:
    """Yield the objects that begin before `end`, in order; stop at an invalid sub-record."""
    shape = heads(width)
    head, at, end = shape.read.size, 0, min(end, len(data))
    data += bytes(head)
    while at < end:
        tag, left, right = shape.read.unpack_from(data, at)
        id_ = int.from_bytes(data[at + 1 : at + 1 + width], "big")
        length = left >> shape.half
        if tag == INSTANCE:
            yield HeapObject(id_, tag, left, at + head, right)
            at += head + right
        elif tag == OBJECTS:
            yield HeapObject(id_, tag, (left & shape.mask) << 32 | right, at + head, length)
            at += head + length * width
        elif tag == PRIMITIVE:
            kind = left >> 24 & 255 if shape.half else right >> 24
            if kind not in WIDTHS:
                return
            yield HeapObject(id_, tag, kind, at + shape.small, length)
            at += shape.small + length * WIDTHS[kind]
        elif tag == CLASS:
            try:
                parsed = parse_class(data, at, width)
            except KeyError:
                return
            if parsed is None:
                return
            at = parsed[1]
        elif tag in shape.roots:
            at += shape.roots[tag]
        else:
            return


def settings_of(
    contexts: Iterable[int], names: Iterable[str], objects: Objects
) -> Mapping[str, Counter[int]]:
    """Return the numeric and boolean (0, 1) values of each setting, with the number of configurations that have them."""
    wanted = frozenset(names)
    found: dict[str, Counter[int]] = {name: Counter() for name in wanted}
    fields = map(objects.fields, islice(contexts, _MOST_CONTEXTS))
    confs = dict.fromkeys(each[name] for each in fields for name in _CONFS if each.get(name))
    for conf in confs:
        for key, value in islice(_items(conf, objects), _MOST):
            name = objects.text(key)
            if name not in wanted:
                continue
            number = objects.fields(value).get("value")
            if number is not None and objects.class_name(value) in {*_NUMBERS, "java.lang.Boolean"}:
                found[name][int(number)] += 1
    return found


def _items(map_id: int, objects: Objects) -> Iterator[tuple[int, int]]:
    """Yield the entries of a Java or Clojure map as (key id, value id)."""
    fields = objects.fields(map_id)
    if "m" in fields and "table" not in fields:  # Collections.unmodifiableMap
        fields = objects.fields(fields["m"])
    if "table" in fields:
        yield from _nodes(fields["table"], objects)
    elif "root" in fields:
        yield from _clojure(fields["root"], objects)
    elif "array" in fields:
        elements = list(islice(objects.elements(fields["array"]), _MOST))
        yield from zip(elements[::2], elements[1::2], strict=False)


def _nodes(table: int, objects: Objects) -> Iterator[tuple[int, int]]:
    left = _MOST
    for head in islice(objects.elements(table), _MOST):
        at = head
        while at and left:
            left -= 1
            node = objects.fields(at)
            if "key" not in node:
                break
            yield node["key"], node.get("value", node.get("val", 0))
            at = node.get("next", 0)


def _clojure(root: int, objects: Objects) -> Iterator[tuple[int, int]]:
    waiting, left = [root], _MOST
    while waiting and left:
        left -= 1
        node = waiting.pop()
        name = objects.class_name(node).rpartition("$")[2]
        elements = list(islice(objects.elements(objects.fields(node).get("array", 0)), _MOST))
        if name == "ArrayNode":
            waiting += filter(None, elements)
            continue
        for key, value in zip(elements[::2], elements[1::2], strict=False):
            if key:
                yield key, value
            elif value:
                waiting.append(value)
