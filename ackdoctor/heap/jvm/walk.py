"""From the buckets of an acker's map to every entry: HashMap.table -> Node {key value next} -> entry.

A second pass over the dump collects the nodes whose value is an entry (`gather`); then each table is read
and its chains are followed, so what is counted is what the map holds, neither more nor less.  A node that has been
reached is marked with its bucket; what the entries are is then asked in the order of the heap, where neighbours refer
to neighbours.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from typing import NamedTuple

from ackdoctor.heap.jvm.columns import Columns
from ackdoctor.heap.jvm.entries import Acker, Bucket, Kind, Tally
from ackdoctor.heap.jvm.gather import NIL_ROW, OLD, Entries
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.layout import Classes
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.rows import Find, Rows
from ackdoctor.heap.jvm.sweep import Census, Choice, Take, sweep
from ackdoctor.model.verdict import PendingEntry

__all__ = ["Terms", "walk"]

_AT_ONCE = 1 << 16  # entries whose ids are numbers of Python's at a time
_CODES = 16  # a kind, and whether it is old


class Terms(NamedTuple):
    """How many samples of each kind are kept, and when the dump was taken, in ms since the epoch."""

    samples: int
    taken_ms: int


def walk(
    ackers: Sequence[Acker], entries: Entries, *, dump: Hprof, census: Census, objects: Objects, terms: Terms
) -> None:
    """Fills the tallies of the ackers, all of one generation; reads the dump once more."""
    find_entry = entries.rows.sort()
    nodes = Rows("IQ")  # row of the entry, next node

    def choose(classes: Classes) -> Choice:
        hash_nodes = classes.family("java.util.HashMap$Node") | classes.family("java.util.HashMap$Entry")
        return {
            **entries.takers(classes),
            **{each: _node_taker(classes, each, nodes, entries, find_entry) for each in hash_nodes},
        }

    sweep(dump, choose, census)
    find_node = nodes.sort()
    marks = array(
        "I", bytes(4 * len(nodes))
    )  # the number of a node's bucket, counted over all ackers, from 1
    buckets: list[tuple[Acker, Bucket]] = []
    for acker in ackers:
        tally = acker.tally = Tally()
        for number, map_id in enumerate(acker.maps):
            fields = objects.fields(map_id)
            tally.buckets.append(Bucket(number, fields.get("size", 0)))
            buckets.append((acker, tally.buckets[-1]))
            _mark(fields.get("table", 0), len(buckets), marks, objects, nodes, find_node)
    for key, amount, kept in _told(marks, nodes, entries, objects, terms.samples):
        acker, bucket = buckets[key // _CODES - 1]
        kind = Kind(key % OLD)
        bucket.kinds[kind] += amount
        bucket.old[kind] += amount if key & OLD else 0
        for node in kept:
            _keep(acker.tally, kind, node, bucket.number, entries, objects, terms)
    for acker in ackers:
        if entries.oldest and acker.tally.entries:
            acker.tally.oldest_ms = max(0, terms.taken_ms - entries.oldest)


def _node_taker(classes: Classes, class_id: int, nodes: Rows, entries: Entries, find: Find) -> Take:
    """Nodes whose value is an entry; of 1.x those without a value, too, as a reset leaves them."""
    columns = Columns(classes, class_id, "value", "next")
    nils = entries.clojure

    def take(data: bytes, places: Sequence[int]) -> None:
        ids, values, following = columns.read(data, places)
        rows = find.all(values)
        if nils and 0 in values:
            rows = array("q", [row if value else NIL_ROW for row, value in zip(rows, values, strict=True)])
        wanted = [row >= 0 for row in rows]
        nodes.extend(
            array("Q", compress(ids, wanted)),
            array("I", compress(rows, wanted)),
            array("Q", compress(following, wanted)),
        )

    return take


def _mark(table: int, number: int, marks: "array[int]", objects: Objects, nodes: Rows, find: Find) -> None:
    """Every node of a table gets the number: the heads of its chains, then the next of each, as long as there are."""
    following = nodes.columns[1]
    for heads in objects.parts(table):
        level = array("Q", filter(None, heads))
        while level:
            places = [place for place in find.all(level) if place >= 0 and not marks[place]]
            for place in places:
                marks[place] = number
            level = array("Q", filter(None, map(following.__getitem__, places)))


def _told(
    marks: "array[int]", nodes: Rows, entries: Entries, objects: Objects, samples: int
) -> Iterator[tuple[int, int, list[int]]]:
    """The entries of each bucket and code: its number times _CODES plus the code, how many, and some of the nodes."""
    counts: Counter[int] = Counter()
    kept: defaultdict[int, list[int]] = defaultdict(list)
    for at in range(0, len(marks), _AT_ONCE):
        part = marks[at : at + _AT_ONCE]
        rows = array("I", compress(nodes.columns[0][at : at + _AT_ONCE], part))
        codes = entries.codes(rows, objects)
        keys = [mark * _CODES + code for mark, code in zip(filter(None, part), codes, strict=True)]
        counts.update(keys)
        ids = array("Q", compress(nodes.ids[at : at + _AT_ONCE], part))
        for key in set(keys):
            room = samples - len(kept[key])
            kept[key] += islice((id_ for each, id_ in zip(keys, ids, strict=True) if each == key), room)
    return ((key, amount, kept[key]) for key, amount in sorted(counts.items()))


def _keep(
    tally: Tally, kind: Kind, node: int, bucket: int, entries: Entries, objects: Objects, terms: Terms
) -> None:
    """Reads one entry in full."""
    known = tally.samples.setdefault(kind, [])
    fields = objects.fields(node)
    root = objects.fields(fields.get("key", 0)).get("value")
    if len(known) >= terms.samples or root is None or kind is Kind.OTHER:
        return
    value, task, failed, start = entries.plain(fields["value"], objects)
    age_ms = max(0, terms.taken_ms - start) if start else 0
    known.append(PendingEntry(root=root, value=value, task=task, failed=failed, age_ms=age_ms, bucket=bucket))
