"""From the buckets of an acker's map to every entry: HashMap.table -> Node {key value next} -> entry.

A second pass over the dump collects the nodes whose value is an entry (`gather`); then each table is read
and its chains are followed, so what is counted is what the map holds, neither more nor less.  A node that has been
reached is marked with its bucket; what the entries are is then asked in the order of the heap, where neighbours refer
to neighbours.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import compress, islice
from typing import NamedTuple

from ackdoctor.heap.jvm.columns import Columns
from ackdoctor.heap.jvm.entries import Acker, Bucket, Kind, Tally
from ackdoctor.heap.jvm.gather import NIL_ROW, OLD, Clock, Entries
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.layout import OBJECT, Classes
from ackdoctor.heap.jvm.objects import Found, Objects
from ackdoctor.heap.jvm.rows import Find, Rows
from ackdoctor.heap.jvm.sweep import Census, Choice, Take, sweep
from ackdoctor.model.verdict import PendingEntry

__all__ = ["Old", "Terms", "hash_nodes", "mark", "walk"]

_AT_ONCE = 1 << 16  # entries whose ids are numbers of Python's at a time
_CODES = 16  # a kind, and whether it is old


class Terms(NamedTuple):
    """How many samples of each kind are kept, and which entries are old."""

    samples: int
    clock: Clock


class Old(NamedTuple):
    """An acker's old tracked entries: the ids of their keys, and their spouts' tasks (1.x: the ids of Integers)."""

    acker: Acker
    keys: "array[int]"
    tasks: "array[int]"
    tasks_are_ids: bool


def walk(
    ackers: Sequence[Acker], entries: Entries, *, dump: Hprof, census: Census, objects: Objects, terms: Terms
) -> list[Old]:
    """Fills the tallies of the ackers, all of one generation; reads the dump once more."""
    find_entry = entries.rows.sort()
    nodes = Rows("IQQ")  # row of the entry, next node, key

    def choose(classes: Classes) -> Choice:
        return {
            **entries.takers(classes),
            **{each: _node_taker(classes, each, nodes, entries, find_entry) for each in hash_nodes(classes)},
        }

    sweep(dump, choose, census)
    find_node = nodes.sort()
    marks = array(
        "I", bytes(4 * len(nodes))
    )  # the number of a node's bucket, counted over all ackers, from 1
    buckets: list[tuple[Acker, Bucket]] = []
    tables: list[Found | None] = []
    for acker in ackers:
        tally = acker.tally = Tally()
        for number, map_id in enumerate(acker.maps):
            fields = objects.fields(map_id)
            tally.buckets.append(Bucket(number, fields.get("size", 0)))
            tables.append(objects.at(fields.get("table", 0)))
            buckets.append((acker, tally.buckets[-1]))
            mark(fields.get("table", 0), len(buckets), marks, objects, nodes.columns[1], find_node)
    found = _Told(buckets, entries, objects, terms)
    for at in range(0, len(marks), _AT_ONCE):
        found.add(marks, nodes, at)
    found.keep()
    for (_, bucket), table in zip(buckets, tables, strict=True):
        _check(bucket, table.length if table is not None else 0)
    return [
        Old(acker, array("Q", found.keys[acker.id]), array("Q", found.tasks[acker.id]), entries.tasks_are_ids)
        for acker in ackers
    ]


def _check(bucket: Bucket, table: int) -> None:
    """A HashMap has no more entries than places in its table, else its size is damaged."""
    walked = sum(bucket.kinds.values())
    if bucket.size < 0 or (table and bucket.size > max(table, walked)):
        bucket.trouble = (
            f"its map says that it has {bucket.size:,} entries, in a table of {table:,}; {walked:,} are there"
        )
        bucket.size = walked
    elif bucket.size - walked > 1:
        bucket.trouble = f"{bucket.size - walked:,} of {bucket.size:,} entries are not in the dump"


def hash_nodes(classes: Classes) -> list[int]:
    """The classes of a HashMap's nodes, by any version of Java."""
    family = classes.family("java.util.HashMap$Node") | classes.family("java.util.HashMap$Entry")
    return classes.with_fields(sorted(family), key=OBJECT, value=OBJECT, next=OBJECT)


def _node_taker(classes: Classes, class_id: int, nodes: Rows, entries: Entries, find: Find) -> Take:
    """Nodes whose value is an entry; of 1.x those without a value, too, as a reset leaves them."""
    columns = Columns(classes, class_id, "value", "next", "key")
    nils = entries.clojure

    def take(data: bytes, places: Sequence[int]) -> None:
        ids, values, following, keys = columns.read(data, places)
        rows = find.all(values)
        if nils and 0 in values:
            rows = array("q", [row if value else NIL_ROW for row, value in zip(rows, values, strict=True)])
        wanted = [row >= 0 for row in rows]
        nodes.extend(
            array("Q", compress(ids, wanted)),
            array("I", compress(rows, wanted)),
            array("Q", compress(following, wanted)),
            array("Q", compress(keys, wanted)),
        )

    return take


def mark(
    table: int, number: int, marks: "array[int]", objects: Objects, following: "array[int]", find: Find
) -> None:
    """Every node of a table gets the number: the heads of its chains, then the next of each, as long as there are."""
    for heads in objects.parts(table):
        level = array("Q", filter(None, heads))
        while level:
            places = [place for place in find.all(level) if place >= 0 and not marks[place]]
            for place in places:
                marks[place] = number
            level = array("Q", filter(None, map(following.__getitem__, places)))


class _Told:
    """Counts the marked nodes by bucket, kind and age, and keeps some of each."""

    def __init__(
        self, buckets: Sequence[tuple[Acker, Bucket]], entries: Entries, objects: Objects, terms: Terms
    ) -> None:
        self._buckets, self._entries, self._objects, self._terms = buckets, entries, objects, terms
        self._samples: defaultdict[int, list[int]] = defaultdict(list)
        self._oldest: dict[int, int] = {}  # the least start of each bucket
        self.keys: defaultdict[int, array[int]] = defaultdict(lambda: array("Q"))  # by acker
        self.tasks: defaultdict[int, array[int]] = defaultdict(lambda: array("Q"))

    def add(self, marks: "array[int]", nodes: Rows, at: int) -> None:
        """Counts the nodes from there on, _AT_ONCE of them."""
        part = marks[at : at + _AT_ONCE]
        rows, _, keys = (
            array(each.typecode, compress(each[at : at + _AT_ONCE], part)) for each in nodes.columns
        )
        ids = array("Q", compress(nodes.ids[at : at + _AT_ONCE], part))
        codes, starts, tasks = self._entries.read(rows, self._objects, self._terms.clock)
        numbers = list(filter(None, part))
        both = [number * _CODES + code for number, code in zip(numbers, codes, strict=True)]
        for key, amount in Counter(both).items():
            bucket, kind = self._buckets[key // _CODES - 1][1], Kind(key % OLD)
            bucket.kinds[kind] += amount
            bucket.old[kind] += amount if key & OLD else 0
            room = self._terms.samples - len(self._samples[key])
            self._samples[key] += islice(
                (id_ for each, id_ in zip(both, ids, strict=True) if each == key), room
            )
        for number, start in zip(numbers, starts, strict=True):
            if 0 < start < self._oldest.get(number, start + 1):
                self._oldest[number] = start
        for number, code, id_, task in zip(numbers, codes, keys, tasks, strict=True):
            if code == Kind.WAITING + OLD:
                acker = self._buckets[number - 1][0].id
                self.keys[acker].append(id_)
                self.tasks[acker].append(max(0, task))

    def keep(self) -> None:
        """Reads the samples in full, old ones first, and says how old the oldest entry of each acker is."""
        for key, nodes in sorted(self._samples.items(), key=lambda each: (each[0] % _CODES < OLD, each[0])):
            acker, bucket = self._buckets[key // _CODES - 1]
            for node in nodes:
                self._keep(acker.tally, Kind(key % OLD), node, bucket.number)
        for number, start in self._oldest.items():
            tally = self._buckets[number - 1][0].tally
            tally.oldest_ms = max(tally.oldest_ms, self._terms.clock.taken_ms - start)

    def _keep(self, tally: Tally, kind: Kind, node: int, bucket: int) -> None:
        known = tally.samples.setdefault(kind, [])
        fields = self._objects.fields(node)
        root = self._objects.fields(fields.get("key", 0)).get("value")
        if len(known) >= self._terms.samples or root is None or kind is Kind.OTHER:
            return
        value, task, failed, start = self._entries.plain(fields["value"], self._objects)
        start = self._terms.clock.known(start)
        age_ms = max(0, self._terms.clock.taken_ms - start) if start > 0 else 0
        known.append(
            PendingEntry(root=root, value=value, task=task, failed=failed, age_ms=age_ms, bucket=bucket)
        )
