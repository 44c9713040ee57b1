"""Look up single objects of a dump by id, read maps, and infer the JVM's object layout."""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from ackdoctor.heap.hprof import (
    CHAR,
    CLASS,
    INSTANCE,
    OBJECT,
    OBJECTS,
    PRIMITIVE,
    WIDTHS,
    Damage,
    Heads,
    Hprof,
    parse_class,
)
from ackdoctor.heap.sweep import Census, Columns, Oops

_STRETCH = 1 << 17
_ELEMENTS = 1 << 16  # elements of an array read at once
_LONGEST_TEXT = 1 << 14  # bytes of a String; names and commands are shorter
_MOST_FULL_SEARCHES = 20  # each takes a few seconds in a large dump
_MOST_NODES = 5_000  # of a map, when its nodes are a tree
COMPRESSED = Oops(header=12, array=16, reference=4)
_WIDE = Oops(header=16, array=24, reference=8)
SPLIT = Oops(header=12, array=16, reference=8)  # class pointers compressed, references not
NARROW = Oops(header=8, array=12, reference=4)  # a 32-bit JVM
_SAMPLED_STRETCHES = 64
_SAMPLE = 1 << 14  # bytes of each


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
        self.dump, self.census, self.classes = dump, census, census.classes
        self._heads = Heads(dump.id_size)
        order = sorted(range(len(census.mark_ids)), key=census.mark_ids.__getitem__)
        self._ids = array("Q", map(census.mark_ids.__getitem__, order))
        self._places = array("Q", map(census.mark_places.__getitem__, order))
        self._ends = sorted(record.start + record.length for record in census.segments)
        self._known: dict[int, HeapObject | None] = {}
        self._readers: dict[int, tuple[Columns, list[str]]] = {}
        # if the dump is damaged, a missing object is lost, and a full search pointless
        self._full_searches_left = 0 if dump.cut or census.damage else _MOST_FULL_SEARCHES

    def at(self, id_: int) -> HeapObject | None:
        """Return the object; None for null, a class, or an object that the dump lacks."""
        if id_ not in self._known:
            is_object = id_ and id_ not in self.classes.dumps
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
        return self.classes.name(found.class_id) if found.kind != PRIMITIVE else "[]"

    def fields(self, id_: int) -> dict[str, int]:
        """Return an instance's fields by name, references as ids; empty for anything else."""
        found = self.at(id_)
        if found is None or found.kind != INSTANCE:
            return {}
        reader, names = self._reader(found.class_id)
        head = self._heads.read.size
        data = self.dump.read(found.start - head, reader.size)
        if not len(data) == reader.size == head + found.length:
            return {}
        return dict(zip(names, reader.row(data)[1:], strict=True))

    def field(self, id_: int, *path: str) -> int:
        """Follow references by field names from an instance; 0 if a field or an object is missing."""
        for name in path:
            id_ = self.fields(id_).get(name, 0)
        return id_

    def chunks(self, id_: int) -> "Iterator[array[int]]":
        """Yield the ids in an object array in chunks; null is 0."""
        found = self.at(id_)
        if found is None or found.kind != OBJECTS:
            return
        width = self.dump.id_size
        for at in range(0, found.length, _ELEMENTS):
            amount = min(_ELEMENTS, found.length - at)
            data = self.dump.read(found.start + at * width, amount * width)
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
        data = self.dump.read(found.start, min(found.length * WIDTHS[found.class_id], _LONGEST_TEXT))
        if found.class_id == CHAR:
            start = fields.get("offset", 0) * 2  # substrings share an array before Java 7u6
            return data[start : start + fields.get("count", len(data)) * 2].decode("utf-16-be", "replace")
        return data.decode("utf-16-le" if fields.get("coder") else "latin-1", "replace")

    def items(self, map_id: int) -> Iterator[tuple[int, int]]:
        """Yield the entries of a Java or Clojure map as (key id, value id); a damaged map may have no end."""
        fields = self.fields(map_id)
        if "m" in fields and "table" not in fields:  # Collections.unmodifiableMap
            fields = self.fields(fields["m"])
        if "table" in fields:
            yield from self._nodes(fields["table"])
        elif "root" in fields:
            yield from self._clojure(fields["root"])
        elif "array" in fields:
            elements = self.elements(fields["array"])
            yield from zip(elements, elements, strict=False)

    def _nodes(self, table: int) -> Iterator[tuple[int, int]]:
        """Yield key and value of the nodes of a hash table; ConcurrentHashMap calls the value `val`."""
        for head in self.elements(table):
            at = head
            while at:
                node = self.fields(at)
                if "first" in node and "key" not in node:
                    node = self.fields(node["first"])  # a tree bin
                if "key" not in node:
                    break
                yield node["key"], node.get("value", node.get("val", 0))
                at = node.get("next", 0)

    def _clojure(self, root: int) -> Iterator[tuple[int, int]]:
        waiting, left = [root], _MOST_NODES
        while waiting and left:
            left -= 1
            node = waiting.pop()
            elements = list(islice(self.elements(self.field(node, "array")), _MOST_NODES))
            if self.class_name(node).endswith("$ArrayNode"):
                waiting += filter(None, elements)
                continue
            for key, value in zip(elements[::2], elements[1::2], strict=False):
                if key:
                    yield key, value
                elif value:
                    waiting.append(value)

    def _search(self, wanted: int) -> HeapObject | None:
        """Search the stretch that begins with the nearest lower id, then its neighbours, then the whole file.

        Threads and collectors write regions in any order, so a stretch may end within the next region.  That
        stretch precedes, in the file, the one that begins with the nearest higher id.
        """
        above = bisect_right(self._ids, wanted)
        likely = list(self._places[max(0, above - 1) : above])
        if above < len(self._places):
            before = bisect_left(self.census.mark_places, self._places[above]) - 1
            likely += [*self.census.mark_places[max(0, before) : before + 1], self._places[above]]
        found = next(filter(None, (self._scan(place, wanted) for place in dict.fromkeys(likely))), None)
        if found is None and self._full_searches_left:
            self._full_searches_left -= 1
            found = next(filter(None, (self._scan(place, wanted) for place in self._places)), None)
        return found

    def _scan(self, place: int, wanted: int) -> HeapObject | None:
        end = min(place + _STRETCH, self._ends[bisect_right(self._ends, place)])
        data = self.dump.read(place, end - place + self._heads.read.size)
        found = self._find_by_id_bytes(data, wanted)
        if found is None:
            every = _objects(data, end - place, self._heads)
            found = next((each for each in every if each.id == wanted), None)
        if found is not None:
            found.start += place
        return found

    def _find_by_id_bytes(self, data: bytes, wanted: int) -> HeapObject | None:
        """Find an instance by the bytes of its id; a match counts only if class and length fit."""
        id_ = wanted.to_bytes(self.dump.id_size, "big")
        head = self._heads.read
        at = data.find(id_, 1)
        while 0 < at <= len(data) - head.size:
            tag, class_id, length = head.unpack_from(data, at - 1)
            known = tag == INSTANCE and class_id in self.classes.dumps
            if known and self._reader(class_id)[0].size == head.size + length:
                return HeapObject(wanted, tag, class_id, at - 1 + head.size, length)
            at = data.find(id_, at + 1)
        return None

    def _reader(self, class_id: int) -> tuple[Columns, list[str]]:
        if class_id not in self._readers:
            names = list(dict.fromkeys(name for name, _ in self.classes.fields(class_id)))
            self._readers[class_id] = Columns(self.classes, class_id, *names), names
        return self._readers[class_id]


def _objects(data: bytes, end: int, heads: Heads) -> Iterator[HeapObject]:
    """Yield the objects that begin before `end`, in order; stop at an invalid sub-record."""
    at, end = 0, min(end, len(data))
    data += bytes(heads.read.size)
    while at < end:
        tag, left, right = heads.read.unpack_from(data, at)
        size = heads.size(tag, left, right) or heads.roots.get(tag, 0)
        if tag == CLASS:
            try:
                parsed = parse_class(data, at, heads.width)
            except Damage:
                return
            size = 0 if parsed is None else parsed[1] - at
        elif tag in (INSTANCE, OBJECTS, PRIMITIVE) and size:
            id_ = int.from_bytes(data[at + 1 : at + 1 + heads.width], "big")
            class_id, start, length = left, at + heads.read.size, left >> heads.half
            if tag == INSTANCE:
                length = right
            elif tag == OBJECTS:
                class_id = heads.class_of_array(left, right)
            else:
                class_id, start = heads.type_of_array(left, right), at + heads.small
            yield HeapObject(id_, tag, class_id, start, length)
        if not size:
            return
        at += size


def oops_of(objects: Objects) -> Oops:
    """Infer the JVM's object layout from the distances between neighbouring objects; default: compressed oops."""
    dump, census, classes = objects.dump, objects.census, objects.classes
    if dump.id_size == 4:  # noqa: PLR2004
        return NARROW
    gaps: dict[int, int] = {}
    step = max(1, len(census.mark_places) // _SAMPLED_STRETCHES)
    for place in census.mark_places[::step]:
        neighbours = pairwise(_objects(dump.read(place, _SAMPLE), _SAMPLE // 2, Heads(dump.id_size)))
        for found, following in neighbours:
            gap = following.id - found.id
            if found.kind == INSTANCE and gap > 0:
                gaps[found.class_id] = min(gap, gaps.get(found.class_id, gap))
    informative = [each for each in gaps if any(kind == OBJECT for _, kind in classes.fields(each))]
    return max(
        (COMPRESSED, SPLIT, _WIDE),
        key=lambda oops: sum(classes.instance_bytes(each, oops) == gaps[each] for each in informative),
    )
