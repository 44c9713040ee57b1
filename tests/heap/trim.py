"""Reduce a real dump to the objects of acking: `python -m tests.heap.trim worker.hprof small.hprof`.

Kept are Storm's ackers, ShellBolts and spout executors and all that they refer to, byte for byte and in their
order, with their classes and names.  That is how fixtures/heaps were made.
"""

import sys
from pathlib import Path
from struct import pack

from ackdoctor.heap.dump import Roles
from ackdoctor.heap.hprof import (
    CLASS,
    HEAP,
    INSTANCE,
    LOAD_CLASS,
    OBJECT,
    OBJECTS,
    PRIMITIVE,
    STRING,
    Heads,
    Hprof,
    parse_class,
)
from ackdoctor.heap.objects import Objects
from ackdoctor.heap.sweep import Census, sweep

MOST = 20_000
OF_OBJECTS = (INSTANCE, OBJECTS, PRIMITIVE)


def trim(source: Path, target: Path) -> None:
    with Hprof(source) as dump:
        roles = Roles()
        census = sweep(dump, roles.choose)
        kept = _reachable(Objects(dump, census), census, [id_ for _, id_ in roles.seen])
        bodies, classes = _objects(dump, census, kept)
        head = dump.read(0, 64)
        start = head.index(b"\0") + 13
        out = [head[:start], *_names(dump, census, classes)]
        body = b"".join(bodies)
        out += [pack(">BII", 0x1C, 0, len(body)), body, pack(">BII", 0x2C, 0, 0)]
        target.write_bytes(b"".join(out))


def _reachable(objects: Objects, census: Census, roots: list[int]) -> set[int]:
    kept, waiting = set(), list(roots)
    while waiting:
        id_ = waiting.pop()
        found = objects.at(id_)
        if id_ in kept or found is None:
            continue
        kept.add(id_)
        assert len(kept) <= MOST, "this is not a small heap"
        if found.kind == OBJECTS:
            waiting += [each for each in objects.elements(id_) if each]
        elif found.kind == INSTANCE:
            references = {name for name, kind in census.classes.fields(found.class_id) if kind == OBJECT}
            waiting += [value for name, value in objects.fields(id_).items() if name in references and value]
    return kept


def _objects(dump: Hprof, census: Census, kept: set[int]) -> tuple[list[bytes], set[int]]:
    """The kept sub-records after the declarations of their classes, and the ids of those."""
    declared: dict[int, bytes] = {}
    bodies, wanted = [], set()
    for record in census.segments:
        data = dump.read(record.start, record.length) + bytes(64)
        at = 0
        while at < record.length:
            tag, class_id, end = _extent(data, at, dump.id_size)
            if tag == CLASS:
                declared[class_id] = data[at:end]
            elif tag in OF_OBJECTS and int.from_bytes(data[at + 1 : at + 1 + dump.id_size], "big") in kept:
                bodies.append(data[at:end])
                wanted |= {class_id} if tag != PRIMITIVE else set()
            at = end
    family = {each.id for class_id in wanted for each in census.classes.lineage(class_id)}
    return [*(declared[each] for each in declared if each in family | wanted), *bodies], family | wanted


def _extent(data: bytes, at: int, width: int) -> tuple[int, int, int]:
    """Tag, class and end of a sub-record."""
    heads = Heads(width)
    tag, left, right = heads.read.unpack_from(data, at)
    if tag == CLASS:
        parsed = parse_class(data, at, width)
        assert parsed is not None
        return tag, parsed[0].id, parsed[1]
    size = heads.size(tag, left, right) or heads.roots[tag]
    return tag, {INSTANCE: left, OBJECTS: heads.class_of_array(left, right)}.get(tag, 0), at + size


def _names(dump: Hprof, census: Census, classes: set[int]) -> list[bytes]:
    """The records that name the classes and their fields."""
    wanted = {
        name for class_id in classes for each in census.classes.lineage(class_id) for name, _ in each.fields
    }
    loads, strings = [], []
    for record in dump.records():
        whole = dump.read(record.start - 9, record.length + 9)
        if record.tag == LOAD_CLASS and int.from_bytes(whole[13 : 13 + dump.id_size], "big") in classes:
            loads.append(whole)
            wanted.add(int.from_bytes(whole[-dump.id_size :], "big"))
    for record in dump.records():
        whole = dump.read(record.start - 9, record.length + 9)
        if record.tag == STRING and int.from_bytes(whole[9 : 9 + dump.id_size], "big") in wanted:
            strings.append(whole)
        assert record.tag not in HEAP or not record.missing
    return [*strings, *loads]


if __name__ == "__main__":
    trim(Path(sys.argv[1]), Path(sys.argv[2]))
