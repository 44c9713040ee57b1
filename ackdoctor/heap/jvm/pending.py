"""Look old tracked entries up in the pending maps of the dump's spouts."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, groupby

from ackdoctor.heap.jvm.class_dump import INT, LONG, OBJECT, Classes
from ackdoctor.heap.jvm.entries import Waits
from ackdoctor.heap.jvm.holders import Holder
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.sweep import Census, Columns, IdIndex, Rows, Taker, Takers, sweep
from ackdoctor.heap.jvm.walk import LOST, OldEntries, hash_nodes, mark

__all__ = ["look_up"]


def look_up(
    old_entries: Sequence[OldEntries],
    spouts: Sequence[Holder],
    *,
    dump: Hprof,
    census: Census,
    objects: Objects,
) -> frozenset[int]:
    """Fill `waits` of each acker and return the roots that spouts have pending; up to two more passes over the dump."""
    known = [spout for spout in spouts if spout.tasks or spout.entries]
    for old in old_entries:
        old.acker.tally.waits = Waits(unknown=len(old.keys))
    if not known or not any(len(old.keys) for old in old_entries):
        return frozenset()
    keys = _pending_keys(known, dump, census, objects)
    numbers = _Numbers(
        dump,
        census,
        [*keys, *(old.keys for old in old_entries), *(old.tasks for old in old_entries if old.tasks_are_ids)],
    )
    pending = frozenset(root for each in keys for root in numbers.of(each)) - {LOST}
    complete_tasks = frozenset(
        task
        for spout, each in zip(known, keys, strict=True)
        if len(each) >= spout.entries
        for task in spout.tasks
    )
    for old in old_entries:
        tasks: Iterable[int] = numbers.of(old.tasks) if old.tasks_are_ids else old.tasks
        waits = old.acker.tally.waits = Waits()
        for root, task in zip(numbers.of(old.keys), tasks, strict=True):
            if root in pending:
                waits.pending += 1
            elif task in complete_tasks and root != LOST:
                waits.given_up += 1
            else:
                waits.unknown += 1
    return pending


def _pending_keys(
    spouts: Sequence[Holder], dump: Hprof, census: Census, objects: Objects
) -> "list[array[int]]":
    """Return the ids of the keys in each spout's map."""
    nodes = Rows("QQ")  # key, next node

    def choose(classes: Classes) -> Takers:
        concurrent = classes.family("java.util.concurrent.ConcurrentHashMap$Node")
        of_all = [*hash_nodes(classes), *classes.with_fields(sorted(concurrent), key=OBJECT, next=OBJECT)]
        return {each: _column_taker(Columns(classes, each, "key", "next"), nodes) for each in of_all}

    sweep(dump, choose, census)
    find = nodes.sort()
    marks = array("I", bytes(4 * len(nodes)))
    for number, spout in enumerate(spouts, start=1):
        for map_id in spout.maps:
            mark(objects.fields(map_id).get("table", 0), number, marks, objects, nodes.columns[1], find)
    found = [array("Q") for _ in spouts]
    for key, number in zip(nodes.columns[0], marks, strict=True):
        if number:
            found[number - 1].append(key)
    return found


def _column_taker(columns: Columns, rows: Rows) -> Taker:
    return lambda data, places: rows.extend(*columns.read(data, places))


class _Numbers:
    """Values of Longs and Integers by id."""

    def __init__(self, dump: Hprof, census: Census, wanted: "Iterable[array[int]]") -> None:
        ids = Rows()
        for each in wanted:
            ids.extend(each)
        ids.sort()
        unique = array("Q", (id_ for id_, _ in groupby(ids.ids)))
        self._find = IdIndex(unique)
        self._values = array("q", [LOST]) * len(unique)
        sweep(dump, self._choose, census)

    def _choose(self, classes: Classes) -> Takers:
        kinds: Mapping[str, int] = {"java.lang.Long": LONG, "java.lang.Integer": INT}
        return {
            each: self._take(Columns(classes, each, "value"))
            for name, kind in kinds.items()
            for each in classes.with_fields(classes.named(name), value=kind)
        }

    def _take(self, columns: Columns) -> Taker:
        def take(data: bytes, places: Sequence[int]) -> None:
            ids, values = columns.read(data, places)
            found = self._find.rows_of(ids)
            wanted = [place >= 0 for place in found]
            for place, value in zip(compress(found, wanted), compress(values, wanted), strict=True):
                self._values[place] = value

        return take

    def of(self, ids: "array[int]") -> "Iterable[int]":
        """Return the values of these ids, in order."""
        return (self._values[place] for place in self._find.rows_of(ids))
