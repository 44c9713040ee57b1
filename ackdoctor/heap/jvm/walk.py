"""From the buckets of an acker's map to every entry: HashMap.table -> Node {key value next} -> entry.

A second pass over the dump collects the nodes whose value is an entry (`gather`); then each table is read
and its chains are followed, so what is counted is what the map holds, neither more nor less.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ackdoctor.heap.jvm.entries import Acker, Bucket, Kind, Tally
from ackdoctor.heap.jvm.gather import NIL_ROW, OLD, Entries
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.layout import Classes
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.rows import Rows
from ackdoctor.heap.jvm.sweep import Census, Choice, Take, sweep
from ackdoctor.model.verdict import PendingEntry

__all__ = ["Terms", "walk"]

Find = Callable[[int], int]


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
        takers, arrays = entries.takers(classes)
        hash_nodes = {
            each: _node_taker(classes, each, nodes, entries, find_entry)
            for each in classes.family("java.util.HashMap$Node") | classes.family("java.util.HashMap$Entry")
        }
        return {**takers, **hash_nodes}, arrays

    sweep(dump, choose, census)
    find_node = nodes.sort()
    codes = entries.codes(objects)
    for acker in ackers:
        tally = acker.tally = Tally()
        for number, map_id in enumerate(acker.maps):
            fields = objects.fields(map_id)
            bucket = Bucket(number, fields.get("size", 0))
            found, kept = _followed(
                objects.elements(fields.get("table", 0)), nodes, find_node, codes, terms.samples
            )
            for kind in Kind:
                old = found.count(kind | OLD)
                bucket.kinds[kind] = found.count(kind) + old
                bucket.old[kind] = old
            tally.buckets.append(bucket)
            for kind, node in kept:
                _keep(tally, kind, node, bucket.number, entries, objects, terms)
        if entries.oldest and tally.entries:
            tally.oldest_ms = max(0, terms.taken_ms - entries.oldest)


def _node_taker(classes: Classes, class_id: int, nodes: Rows, entries: Entries, find: Find) -> Take:
    """Nodes whose value is an entry; of 1.x those without a value, too, as a reset leaves them."""
    reader, places = classes.unpacker(class_id)
    unpack, value, following = reader.unpack_from, places["value"], places["next"]
    push_id, push_row, push_next = nodes.push
    nils = entries.clojure

    def take(data: bytes, at: int) -> None:
        fields = unpack(data, at)
        held = fields[value]
        row = find(held) if held else NIL_ROW if nils else -1
        if row >= 0:
            push_id(fields[0])
            push_row(row)
            push_next(fields[following])

    return take


def _followed(
    table: Iterable[int], nodes: Rows, find: Find, codes: "array[int]", samples: int
) -> tuple[bytearray, list[tuple[Kind, int]]]:
    """What every node of a table holds, and some nodes of each kind."""
    rows, nexts = nodes.columns
    found = bytearray()
    push = found.append
    kept: list[tuple[Kind, int]] = []
    left = [samples] * 16
    for head in table:
        at = head
        while at:
            place = find(at)
            if place < 0:
                break
            row = rows[place]
            code = codes[row] if row != NIL_ROW else int(Kind.NIL)
            push(code)
            if left[code]:
                left[code] -= 1
                kept.append((Kind(code & ~OLD), at))
            at = nexts[place]
    return found, kept


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
