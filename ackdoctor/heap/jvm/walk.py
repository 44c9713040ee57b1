"""Walk from an acker's hash buckets to every entry, as columns: AckObjects of Storm 2.x and Clojure maps of 1.x."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, islice
from struct import Struct
from typing import NamedTuple

from ackdoctor.heap.jvm.class_dump import BOOLEAN, INT, LONG, OBJECT, Classes
from ackdoctor.heap.jvm.entries import Acker, Bucket, Kind, Tally, kind_of
from ackdoctor.heap.jvm.hprof import Hprof, heads
from ackdoctor.heap.jvm.objects import HeapObject, Objects
from ackdoctor.heap.jvm.sweep import (
    LONGEST_ARRAY,
    Census,
    Columns,
    IdIndex,
    Rows,
    Taker,
    Takers,
    strided_column,
    sweep,
)
from ackdoctor.model.trace import PendingEntry

__all__ = [
    "LOST",
    "NIL_ROW",
    "OLD",
    "AckObjects",
    "Clock",
    "ClojureMaps",
    "Entries",
    "OldEntries",
    "Reading",
    "WalkSettings",
    "hash_nodes",
    "mark",
    "walk",
]


OLD = 8  # added to the kind of an old entry
NIL_ROW = 0xFFFFFFFF  # the row of a node without a value
_WAITING, _ORPHAN, _ZERO, _FAILED, _NIL = map(int, list(Kind)[:5])
_NO_TASK = -1
_TIMES = 1 << 43  # a Long below this is a time or small; one root id in a million is below it
# an older entry uses another clock: simulated time, or a damaged header
_NO_AGE_MS = 10 * 365 * 86_400_000
_AT_ONCE = 1 << 16  # entries held as Python ints at a time
_CODES = 16  # number of codes: a kind, and whether the entry is old
LOST = -(1 << 63)  # the value of a Long that the dump lacks; no root has this id in practice


class Clock(NamedTuple):
    """The time of the dump, and the time before which an entry is old, both in ms since the epoch."""

    taken_ms: int
    old_before_ms: int

    def known(self, start: int) -> int:
        """Return the start of an entry; 0 if it uses another clock."""
        return start if self.taken_ms - _NO_AGE_MS < start else 0


class Reading(NamedTuple):
    """Columns of some entries: codes, start times (0: unknown), and spout tasks (1.x: ids of the Integers)."""

    codes: bytes
    starts: Sequence[int]
    tasks: Sequence[int]


class AckObjects:
    """Entries of Storm 2.x and JStorm: a row for every AckObject; rows of JStorm lack start and task."""

    clojure = False
    tasks_are_ids = False

    def __init__(self) -> None:
        self.rows = Rows("Bqi")

    def taker(self, classes: Classes, class_id: int) -> Taker | None:
        """Return a taker of the instances; None if the class lacks the fields of an AckObject."""
        if "startTime" not in classes.offsets(class_id):
            known = classes.with_fields([class_id], val=0, spout_task=OBJECT, failed=BOOLEAN)
            return (
                self._taker_of_jstorm(Columns(classes, class_id, "val", "spout_task", "failed"))
                if known
                else None
            )
        if not classes.with_fields([class_id], val=LONG, startTime=LONG, spoutTask=INT, failed=BOOLEAN):
            return None
        columns = Columns(classes, class_id, "val", "startTime", "spoutTask", "failed")

        def take(data: bytes, places: Sequence[int]) -> None:
            ids, vals, starts, tasks, fails = columns.read(data, places)
            kinds = [
                _WAITING if task != _NO_TASK else _FAILED if failed else _ORPHAN if val else _ZERO
                for val, task, failed in zip(vals, tasks, fails, strict=True)
            ]
            self.rows.extend(ids, array("B", kinds), starts, tasks)

        return take

    def _taker_of_jstorm(self, columns: Columns) -> Taker:
        def take(data: bytes, places: Sequence[int]) -> None:
            ids, vals, tasks, fails = columns.read(data, places)
            kinds = [
                _WAITING if task else _FAILED if failed else _ORPHAN if val else _ZERO
                for val, task, failed in zip(vals, tasks, fails, strict=True)
            ]
            self.rows.extend(
                ids, array("B", kinds), array("q", bytes(8 * len(ids))), array("i", [_NO_TASK]) * len(ids)
            )

        return take

    def takers(self, classes: Classes) -> Takers:
        """Return no takers: the first pass has read everything."""
        del classes
        return {}

    def read(self, rows: "array[int]", objects: Objects, clock: Clock) -> Reading:
        """Read the rows."""
        del objects
        kinds, begun, tasks = self.rows.columns
        starts = [clock.known(begun[row]) for row in rows]
        codes = bytes(
            kinds[row] + (OLD if 0 < start < clock.old_before_ms else 0)
            for row, start in zip(rows, starts, strict=True)
        )
        return Reading(codes, starts, [tasks[row] for row in rows])

    def read_one(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Return value, task, failed and start of one entry."""
        fields = objects.fields(id_)
        task = fields.get("spoutTask", objects.fields(fields.get("spout_task", 0)).get("value", _NO_TASK))
        return (
            fields.get("val"),
            None if task == _NO_TASK else task,
            bool(fields.get("failed")),
            fields.get("startTime", 0),
        )


class _Shape(NamedTuple):
    """The kind of an array with certain keys, and the indexes of its value, start and task; -1 for none."""

    kind: Kind
    val: int = -1
    start: int = -1
    task: int = -1


class ClojureMaps:
    """Entries of Storm 1.x: PersistentArrayMaps, the arrays that begin with a keyword, and Longs that are zero or a time."""

    clojure = True
    tasks_are_ids = True

    def __init__(self) -> None:
        self.rows = Rows("Q")
        self._keywords: set[int] = set()
        self._key_numbers: dict[tuple[int, ...], int] = {}  # keys of an array -> number of this key set
        self._arrays = Rows("QI")  # start in `_values`, number of the key set
        self._values = array("Q")
        self._zeros: set[int] = set()
        self._times = Rows("q")
        self._sorted: tuple[IdIndex, IdIndex] | None = None

    def taker(self, classes: Classes, class_id: int) -> Taker | None:
        """Return a taker of the references to the arrays; None if the class lacks the field."""
        if not classes.with_fields([class_id], array=OBJECT):
            return None
        columns = Columns(classes, class_id, "array")
        return lambda data, places: self.rows.extend(*columns.read(data, places))

    def keyword_taker(self, classes: Classes, class_id: int) -> Taker:
        """Return a taker of the ids of keywords."""
        columns = Columns(classes, class_id)
        return lambda data, places: self._keywords.update(*columns.read(data, places))

    def takers(self, classes: Classes) -> Takers:
        """Return takers of arrays that begin with a keyword, and of Longs that may be zero or a time."""
        longs = classes.with_fields(classes.named("java.lang.Long"), value=LONG)
        takers = {each: self._long_taker(classes, each) for each in longs}
        arrays = self._array_taker(classes.id_size)
        return takers | dict.fromkeys(classes.named("java.lang.Object[]"), arrays)

    def _long_taker(self, classes: Classes, class_id: int) -> Taker:
        columns = Columns(classes, class_id, "value")

        def take(data: bytes, places: Sequence[int]) -> None:
            ids, values = columns.read(data, places)
            times = [0 < value < _TIMES for value in values]
            self._times.extend(array("Q", compress(ids, times)), array("q", compress(values, times)))
            if 0 in values:
                self._zeros.update(id_ for id_, value in zip(ids, values, strict=True) if not value)

        return take

    def _array_taker(self, id_size: int) -> Taker:
        shape, code = heads(id_size), "Q" if id_size == 8 else "I"  # noqa: PLR2004
        between = shape.read.size - 1 - id_size
        forms = [Struct(f">x{code}{between}x{length}{code}") for length in range(LONGEST_ARRAY + 1)]

        def take(data: bytes, places: Sequence[int]) -> None:
            if isinstance(places, range):  # a run: all arrays have the same length
                length = shape.elements(shape.read.unpack_from(data, places[0])[1])
                ats = (1, *range(shape.read.size, shape.read.size + length * id_size, id_size))
                ids, *elements = (strided_column(data, places, at, id_size, "Q") for at in ats)
                if not self._record_uniform(ids, elements):
                    self._record(zip(ids, *elements, strict=True))
            else:
                lengths = (shape.elements(shape.read.unpack_from(data, at)[1]) for at in places)
                self._record(
                    forms[length].unpack_from(data, at)
                    for at, length in zip(places, lengths, strict=True)
                    if at + forms[length].size <= len(data)  # else the file ends within the array
                )

        return take

    def _record_uniform(self, ids: "array[int]", elements: "Sequence[array[int]]") -> bool:
        """Record all arrays at once if they have the same keys; return whether they do."""
        amount, keys, value_columns = (
            len(ids),
            tuple(column[0] for column in elements[::2]),
            elements[1::2],
        )
        if any(column != array("Q", [key]) * amount for column, key in zip(elements[::2], keys, strict=True)):
            return False
        if keys and len(keys) == len(value_columns) and keys[0] in self._keywords:
            begin, each = len(self._values), len(value_columns)
            values = array("Q", bytes(8 * amount * each))
            for place, column in enumerate(value_columns):
                values[place::each] = column
            number = self._key_numbers.setdefault(keys, len(self._key_numbers))
            self._arrays.extend(
                ids, array("Q", range(begin, begin + len(values), each)), array("I", [number]) * amount
            )
            self._values.extend(values)
        return True

    def _record(self, arrays: Iterable[tuple[int, ...]]) -> None:
        """Record the arrays that begin with a keyword; `arrays` are (id, *elements)."""
        ids, begins, numbers = array("Q"), array("Q"), array("I")
        keywords, keys, values = self._keywords, self._key_numbers, self._values
        for row in arrays:
            if len(row) % 2 and row[1:] and row[1] in keywords:
                ids.append(row[0])
                begins.append(len(values))
                numbers.append(keys.setdefault(row[1::2], len(keys)))
                values.extend(row[2::2])
        self._arrays.extend(ids, begins, numbers)

    def read(self, rows: "array[int]", objects: Objects, clock: Clock) -> Reading:
        """Read the rows, after both passes have collected the objects they refer to."""
        find_array, find_time = self._sorted = self._sorted or (self._arrays.sort(), self._times.sort())
        begins, numbers = self._arrays.columns
        refer = self.rows.columns[0]
        places = find_array.rows_of(array("Q", [refer[row] if row != NIL_ROW else 0 for row in rows]))
        keys = [numbers[place] if place >= 0 else -1 for place in places]
        codes, starts, tasks = bytearray([Kind.OTHER]) * len(rows), [0] * len(rows), [0] * len(rows)
        for number in set(keys) - {-1}:
            which = [at for at, each in enumerate(keys) if each == number]
            shape = _shape(self._key_set(number), objects)
            value_starts = [begins[places[at]] for at in which]
            begun = self._starts(shape, value_starts, find_time, clock)
            for at, begin, code, start in zip(
                which, value_starts, self._kinds(shape, value_starts), begun, strict=True
            ):
                codes[at] = code + (OLD if 0 < start < clock.old_before_ms else 0)
                starts[at] = start
                tasks[at] = self._values[begin + shape.task] if shape.task >= 0 else 0
        if NIL_ROW in rows:
            codes = bytearray(_NIL if row == NIL_ROW else code for row, code in zip(rows, codes, strict=True))
        return Reading(bytes(codes), starts, tasks)

    def _key_set(self, number: int) -> Sequence[int]:
        return next(islice(self._key_numbers, number, None))

    def _kinds(self, shape: "_Shape", begins: Sequence[int]) -> Sequence[int]:
        """Return the kind of each entry of this shape; `begins` are the starts of their values."""
        values, zeros = self._values, self._zeros
        if shape.kind is not Kind.ORPHAN:
            return [shape.kind] * len(begins)
        return [_ZERO if values[begin + shape.val] in zeros else _ORPHAN for begin in begins]

    def _starts(
        self, shape: "_Shape", begins: Sequence[int], find_time: IdIndex, clock: Clock
    ) -> Sequence[int]:
        if shape.start < 0:
            return [0] * len(begins)
        times = self._times.columns[0]
        places = find_time.rows_of(array("Q", [self._values[begin + shape.start] for begin in begins]))
        return [clock.known(times[place]) if place >= 0 else 0 for place in places]

    def read_one(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Return value, task, failed and start of one entry; unknown keys are ignored."""
        elements = list(objects.elements(objects.fields(id_).get("array", 0)))
        found = {
            keyword(key, objects): objects.fields(value).get("value")
            for key, value in zip(elements[::2], elements[1::2], strict=False)
        }
        return found.get("val"), found.get("spout-task"), "failed" in found, found.get("start-time") or 0


Entries = AckObjects | ClojureMaps


def _shape(keys: Sequence[int], objects: Objects) -> _Shape:
    """Return the shape of an array with these keys; an entry may lack keys, but has no unknown ones."""
    names = [keyword(key, objects) for key in keys]
    if not set(names) <= {"val", "spout-task", "failed", "start-time"}:
        return _Shape(Kind.OTHER)
    places = {name: place for place, name in enumerate(names)}
    value, task = ((1 if name in places else None) for name in ("val", "spout-task"))
    kind = kind_of(value, task, failed="failed" in places)
    return _Shape(kind, *(places.get(name, -1) for name in ("val", "start-time", "spout-task")))


def keyword(id_: int, objects: Objects) -> str:
    """Return the name of a clojure.lang.Keyword; '' for anything else."""
    symbol = objects.fields(objects.fields(id_).get("sym", 0))
    return objects.text(symbol.get("name", 0))


class WalkSettings(NamedTuple):
    """The settings of a walk: samples per kind, and the clock that defines old entries."""

    samples: int
    clock: Clock


class OldEntries(NamedTuple):
    """An acker's old tracked entries: ids of their keys, and their spouts' tasks (1.x: ids of the Integers)."""

    acker: Acker
    keys: "array[int]"
    tasks: "array[int]"
    tasks_are_ids: bool


def walk(
    ackers: Sequence[Acker],
    entries: Entries,
    *,
    dump: Hprof,
    census: Census,
    objects: Objects,
    settings: WalkSettings,
) -> list[OldEntries]:
    """Fill the tallies of the ackers, all of one Storm generation; this is one more pass over the dump."""
    find_entry = entries.rows.sort()
    nodes = Rows("IQQ")  # row of the entry, next node, key

    def choose(classes: Classes) -> Takers:
        return {
            **entries.takers(classes),
            **{each: _node_taker(classes, each, nodes, entries, find_entry) for each in hash_nodes(classes)},
        }

    sweep(dump, choose, census)
    find_node = nodes.sort()
    marks = array("I", bytes(4 * len(nodes)))  # bucket number of each node, counted over all ackers from 1
    buckets: list[tuple[Acker, Bucket]] = []
    tables: list[HeapObject | None] = []
    for acker in ackers:
        tally = acker.tally = Tally()
        for number, map_id in enumerate(acker.maps):
            fields = objects.fields(map_id)
            tally.buckets.append(Bucket(number, fields.get("size", 0)))
            tables.append(objects.at(fields.get("table", 0)))
            buckets.append((acker, tally.buckets[-1]))
            mark(fields.get("table", 0), len(buckets), marks, objects, nodes.columns[1], find_node)
    found = _EntryCounter(buckets, entries, objects, settings)
    for at in range(0, len(marks), _AT_ONCE):
        found.add(marks, nodes, at)
    found.read_samples()
    for (_, bucket), table in zip(buckets, tables, strict=True):
        _check(bucket, table.length if table is not None else 0)
    return [
        OldEntries(
            acker, array("Q", found.keys[acker.id]), array("Q", found.tasks[acker.id]), entries.tasks_are_ids
        )
        for acker in ackers
    ]


def _check(bucket: Bucket, table: int) -> None:
    """Check a bucket's size: a HashMap has at most as many entries as table slots, else its size is damaged."""
    walked = sum(bucket.kinds.values())
    if bucket.size < 0 or (table and bucket.size > max(table, walked)):
        bucket.trouble = (
            f"its map claims {bucket.size:,} entries in a table of {table:,}; {walked:,} are there"
        )
        bucket.size = walked
    elif bucket.size - walked > 1:
        bucket.trouble = f"{bucket.size - walked:,} of {bucket.size:,} entries are not in the dump"


def hash_nodes(classes: Classes) -> list[int]:
    """Return the node classes of HashMap, for any version of Java."""
    family = classes.family("java.util.HashMap$Node") | classes.family("java.util.HashMap$Entry")
    return classes.with_fields(sorted(family), key=OBJECT, value=OBJECT, next=OBJECT)


def _node_taker(classes: Classes, class_id: int, nodes: Rows, entries: Entries, find: IdIndex) -> Taker:
    """Return a taker of nodes whose value is an entry; in 1.x also of nodes without a value, which a reset leaves."""
    columns = Columns(classes, class_id, "value", "next", "key")
    nils = entries.clojure

    def take(data: bytes, places: Sequence[int]) -> None:
        ids, values, following, keys = columns.read(data, places)
        rows = find.rows_of(values)
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
    table: int, number: int, marks: "array[int]", objects: Objects, following: "array[int]", find: IdIndex
) -> None:
    """Mark every node of a hash table with the number: first the heads of its chains, then level by level."""
    for buckets in objects.chunks(table):
        level = array("Q", filter(None, buckets))
        while level:
            places = [place for place in find.rows_of(level) if place >= 0 and not marks[place]]
            for place in places:
                marks[place] = number
            level = array("Q", filter(None, map(following.__getitem__, places)))


class _EntryCounter:
    """Counts the marked nodes by bucket, kind and age, and samples each group."""

    def __init__(
        self,
        buckets: Sequence[tuple[Acker, Bucket]],
        entries: Entries,
        objects: Objects,
        settings: WalkSettings,
    ) -> None:
        self._buckets, self._entries, self._objects, self._settings = buckets, entries, objects, settings
        self._samples: defaultdict[int, list[int]] = defaultdict(list)
        self._oldest: dict[int, int] = {}  # earliest start in each bucket
        self.keys: defaultdict[int, array[int]] = defaultdict(lambda: array("Q"))  # by acker
        self.tasks: defaultdict[int, array[int]] = defaultdict(lambda: array("Q"))

    def add(self, marks: "array[int]", nodes: Rows, at: int) -> None:
        """Count _AT_ONCE nodes from `at`."""
        part = marks[at : at + _AT_ONCE]
        rows, _, keys = (
            array(each.typecode, compress(each[at : at + _AT_ONCE], part)) for each in nodes.columns
        )
        ids = array("Q", compress(nodes.ids[at : at + _AT_ONCE], part))
        codes, starts, tasks = self._entries.read(rows, self._objects, self._settings.clock)
        numbers = list(filter(None, part))
        both = [number * _CODES + code for number, code in zip(numbers, codes, strict=True)]
        for key, amount in Counter(both).items():
            bucket, kind = self._buckets[key // _CODES - 1][1], Kind(key % OLD)
            bucket.kinds[kind] += amount
            bucket.old[kind] += amount if key & OLD else 0
            room = self._settings.samples - len(self._samples[key])
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

    def read_samples(self) -> None:
        """Read the samples in full, old ones first, and set the age of each acker's oldest entry."""
        for key, nodes in sorted(self._samples.items(), key=lambda each: (each[0] % _CODES < OLD, each[0])):
            acker, bucket = self._buckets[key // _CODES - 1]
            for node in nodes:
                self._add_sample(acker.tally, Kind(key % OLD), node, bucket.number)
        for number, start in self._oldest.items():
            tally = self._buckets[number - 1][0].tally
            tally.oldest_ms = max(tally.oldest_ms, self._settings.clock.taken_ms - start)

    def _add_sample(self, tally: Tally, kind: Kind, node: int, bucket: int) -> None:
        known = tally.samples.setdefault(kind, [])
        fields = self._objects.fields(node)
        root = self._objects.fields(fields.get("key", 0)).get("value")
        if len(known) >= self._settings.samples or root is None or kind is Kind.OTHER:
            return
        value, task, failed, start = self._entries.read_one(fields["value"], self._objects)
        start = self._settings.clock.known(start)
        age_ms = max(0, self._settings.clock.taken_ms - start) if start > 0 else 0
        known.append(
            PendingEntry(root=root, value=value, task=task, failed=failed, age_ms=age_ms, bucket=bucket)
        )
