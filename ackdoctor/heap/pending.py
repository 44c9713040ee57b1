"""Walk from the ackers of a dump to every pending entry, and look old entries up at the spouts."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import NamedTuple

from ackdoctor.heap.entries import NIL_ROW, Entries, Kind
from ackdoctor.heap.hprof import INT, LONG, OBJECT
from ackdoctor.heap.objects import Objects
from ackdoctor.heap.sweep import Classes, Rows, Takers, sweep
from ackdoctor.model.trace import PendingEntry

_HASH_NODES = ("java.util.HashMap$Node", "java.util.HashMap$Entry")  # Java 8 or later, and before
_OLD = 8  # added to the kind of an old entry
_OLD_WAITING = _OLD + Kind.WAITING.value
_CODES = 16  # number of codes: a kind, and whether the entry is old
_NO_AGE_MS = 10 * 365 * 86_400_000  # an older entry uses another clock: simulated time, or a damaged header
_AT_ONCE = 1 << 16  # entries held as Python ints at a time
_NEVER = 1 << 63
_LOST = -_NEVER  # the value of a Long that the dump lacks; no root has this id in practice


@dataclass(slots=True)
class Bucket:
    """One bucket of a pending map (0 is the newest): the size its map claims, and the entries the walk found.

    `old` counts the entries that began before the age limit.
    """

    number: int
    size: int
    kinds: Counter[Kind] = field(default_factory=Counter)
    old: Counter[Kind] = field(default_factory=Counter)
    problem: str = ""

    @property
    def lost(self) -> int:
        """Entries that the map counts but the dump lacks."""
        return max(0, self.size - self.kinds.total())

    def check(self, table: int) -> None:
        """Check the size: a HashMap has at most as many entries as slots in its `table`, else its size is damaged."""
        walked = self.kinds.total()
        if self.size < 0 or (table and self.size > max(table, walked)):
            self.problem = (
                f"its map claims {self.size:,} entries in a table of {table:,}; {walked:,} are there"
            )
            self.size = walked
        elif self.size - walked > 1:
            self.problem = f"{self.size - walked:,} of {self.size:,} entries are not in the dump"


@dataclass(slots=True)
class Waits:
    """Old tracked entries, counted by state at their spout: given up, still pending, or unknown."""

    given_up: int = 0
    pending: int = 0
    unknown: int = 0


@dataclass(slots=True)
class Tally:
    """The result of a walk over an acker's map; `oldest_ms` is 0 if no entry has a start time."""

    buckets: list[Bucket] = field(default_factory=list)
    samples: dict[Kind, list[PendingEntry]] = field(default_factory=dict)
    oldest_ms: int = 0
    waits: Waits = field(default_factory=Waits)

    @property
    def kinds(self) -> Counter[Kind]:
        """Entries by kind, over all buckets."""
        return sum((bucket.kinds for bucket in self.buckets), Counter[Kind]())

    @property
    def old(self) -> Counter[Kind]:
        """Old entries by kind, over all buckets."""
        return sum((bucket.old for bucket in self.buckets), Counter[Kind]())

    @property
    def entries(self) -> int:
        """The number of entries that the maps claim."""
        return sum(bucket.size for bucket in self.buckets)

    @property
    def lost(self) -> int:
        """Entries that the dump lacks."""
        return sum(bucket.lost for bucket in self.buckets)


@dataclass(slots=True)
class Acker:
    """An acker of the dump; `path` leads to its map: `Acker.pending.buckets`."""

    id: int
    class_name: str
    path: str
    maps: tuple[int, ...]  # its buckets' HashMaps, newest first
    clojure: bool
    task: int | None = None
    tally: Tally = field(default_factory=Tally)
    problem: str = ""


@dataclass(slots=True)
class Buffer:
    """A map of a ShellBolt or spout, or a bolt's field, that holds tuples; `path` leads to it.

    `groups` counts a sample of `looked_at` tuples by stream (ShellBolt, bolt).  `more`: the search hit its limit.
    `maps` are the buckets of a spout's map; `tasks` are the tasks of its executor, empty if unknown.
    """

    role: str  # "shell", "spout" or "bolt"
    owner: str  # the component's name, '' if unknown
    path: str
    entries: int
    groups: Mapping[str, int] = field(default_factory=dict)
    looked_at: int = 0
    roots: tuple[int, ...] = ()
    more: bool = False
    maps: tuple[int, ...] = ()
    tasks: frozenset[int] = frozenset()


class OldEntries(NamedTuple):
    """An acker's old tracked entries: ids of their keys, and their spouts' tasks (1.x: ids of the Integers)."""

    acker: Acker
    keys: "array[int]"
    tasks: "array[int]"


def walk(
    ackers: Sequence[Acker], entries: Entries, objects: Objects, *, samples: int, age_ms: int
) -> Sequence[OldEntries]:
    """Fill the tallies of the ackers, all of one Storm generation; this is one more pass over the dump.

    An entry older than `age_ms` is old.  `samples` entries of each kind are read in full.
    """
    entries.sort()
    nodes = Rows("IQQ")  # row of the entry, next node, key

    def take(ids: Sequence[int], values: Sequence[int], *columns: Sequence[int]) -> None:
        rows: Sequence[int] = entries.rows.find(values)
        if entries.clojure:  # a reset leaves nodes without a value
            rows = [row if value else NIL_ROW for row, value in zip(rows, values, strict=True)]
        wanted = [row >= 0 for row in rows]
        nodes.extend(*(compress(each, wanted) for each in (ids, rows, *columns)))

    def choose(classes: Classes) -> Takers:
        of_nodes = classes.family(*_HASH_NODES)
        takers = classes.takers(of_nodes, take, value=OBJECT, next=OBJECT, key=OBJECT)
        return {**entries.takers_of_walk(objects), **takers}

    sweep(objects.dump, choose, objects.census)
    entries.sort()
    nodes.sort()
    counter, marks = _EntryCounter(entries, objects, samples, age_ms), _Marks(nodes, objects)
    for acker in ackers:
        acker.tally = Tally()
        for number, map_id in enumerate(acker.maps):
            acker.tally.buckets.append(Bucket(number, objects.field(map_id, "size")))
            marks.mark(map_id)
            counter.buckets.append((acker, acker.tally.buckets[-1]))
    for at in range(0, len(nodes), _AT_ONCE):
        counter.add(marks.numbers, nodes, at)
    counter.read_samples()
    for acker in ackers:
        for bucket, map_id in zip(acker.tally.buckets, acker.maps, strict=True):
            table = objects.at(objects.field(map_id, "table"))
            bucket.check(table.length if table is not None else 0)
    return [counter.old[acker.id] for acker in ackers if acker.id in counter.old]


class _Marks:
    """The number of the map to which each node belongs, from 1 on; 0 for none.  `nodes` has their successors in column 1."""

    def __init__(self, nodes: Rows, objects: Objects) -> None:
        self.numbers = array("I", bytes(4 * len(nodes)))
        self._nodes, self._objects, self._last = nodes, objects, 0

    def mark(self, *maps: int) -> None:
        """Mark every node of some maps with the next number: the heads of the chains, then level by level."""
        self._last += 1
        for map_id in maps:
            for heads in self._objects.chunks(self._objects.field(map_id, "table")):
                level = list(filter(None, heads))
                while level:
                    places = [
                        place for place in self._nodes.find(level) if place >= 0 and not self.numbers[place]
                    ]
                    for place in places:
                        self.numbers[place] = self._last
                    level = list(filter(None, map(self._nodes.columns[1].__getitem__, places)))


class _EntryCounter:
    """Counts the marked nodes by bucket, kind and age, and samples each group."""

    def __init__(self, entries: Entries, objects: Objects, samples: int, age_ms: int) -> None:
        self._entries, self._objects, self._most = entries, objects, samples
        self._taken_ms = objects.dump.taken_ms
        self._old_before_ms = self._taken_ms - age_ms
        self.buckets: list[tuple[Acker, Bucket]] = []
        self._samples: defaultdict[int, list[int]] = defaultdict(list)
        self._oldest: dict[int, int] = {}  # earliest start in each bucket
        self.old: dict[int, OldEntries] = {}  # by acker

    def add(self, marks: "array[int]", nodes: Rows, at: int) -> None:
        """Count _AT_ONCE nodes from `at`."""
        part = marks[at : at + _AT_ONCE]
        rows, _, keys = (list(compress(each[at : at + _AT_ONCE], part)) for each in nodes.columns)
        ids = list(compress(nodes.ids[at : at + _AT_ONCE], part))
        kinds, begun, tasks = self._entries.read(rows)
        starts = list(map(self._known, begun))
        old = [_OLD if 0 < start < self._old_before_ms else 0 for start in starts]
        numbers = list(filter(None, part))
        codes = [number * _CODES + age + kind for number, age, kind in zip(numbers, old, kinds, strict=True)]
        for code, amount in Counter(codes).items():
            bucket, kind = self.buckets[code // _CODES - 1][1], Kind(code % _OLD)
            bucket.kinds[kind] += amount
            bucket.old[kind] += amount if code & _OLD else 0
            room = self._most - len(self._samples[code])
            same = (id_ for each, id_ in zip(codes, ids, strict=True) if each == code)
            self._samples[code] += islice(same, room)
        for number, start, code, key, task in zip(numbers, starts, codes, keys, tasks, strict=True):
            if 0 < start < self._oldest.get(number, _NEVER):
                self._oldest[number] = start
            if code % _CODES == _OLD_WAITING:
                acker = self.buckets[number - 1][0]
                if acker.id not in self.old:
                    self.old[acker.id] = OldEntries(acker, array("Q"), array("Q"))
                self.old[acker.id].keys.append(key)
                self.old[acker.id].tasks.append(max(0, task))

    def _known(self, start: int) -> int:
        """Return the start of an entry; 0 if it uses another clock."""
        return start if self._taken_ms - _NO_AGE_MS < start else 0

    def read_samples(self) -> None:
        """Read the samples in full, old ones first, and set the age of each acker's oldest entry."""
        for code, nodes in sorted(self._samples.items(), key=lambda each: (not each[0] & _OLD, each[0])):
            acker, bucket = self.buckets[code // _CODES - 1]
            for node in nodes:
                self._add_sample(acker.tally, Kind(code % _OLD), node, bucket.number)
        for number, start in self._oldest.items():
            tally = self.buckets[number - 1][0].tally
            tally.oldest_ms = max(tally.oldest_ms, self._taken_ms - start)

    def _add_sample(self, tally: Tally, kind: Kind, node: int, bucket: int) -> None:
        known = tally.samples.setdefault(kind, [])
        fields = self._objects.fields(node)
        root = self._objects.fields(fields.get("key", 0)).get("value")
        if len(known) >= self._most or root is None or kind is Kind.OTHER:
            return
        value, task, failed, begun = self._entries.read_one(fields["value"], self._objects)
        start = self._known(begun)
        age_ms = max(0, self._taken_ms - start) if start > 0 else 0
        known.append(
            PendingEntry(root=root, value=value, task=task, failed=failed, age_ms=age_ms, bucket=bucket)
        )


# ---- old entries at their spouts ----


def look_up(old_entries: Sequence[OldEntries], spouts: Sequence[Buffer], objects: Objects) -> frozenset[int]:
    """Fill `waits` of each acker and return the roots that spouts have pending; up to one more pass over the dump."""
    known = [spout for spout in spouts if spout.tasks or spout.entries]
    for old in old_entries:
        old.acker.tally.waits = Waits(unknown=len(old.keys))
    if not known or not old_entries:
        return frozenset()
    nodes, numbers = Rows("QQ"), Rows("q")  # key and next node; the values of Longs and Integers

    def choose(classes: Classes) -> Takers:
        of_maps = classes.family(*_HASH_NODES, "java.util.concurrent.ConcurrentHashMap$Node")
        return {
            **classes.takers(of_maps, nodes.extend, key=OBJECT, next=OBJECT),
            **classes.takers(classes.named("java.lang.Long"), numbers.extend, value=LONG),
            **classes.takers(classes.named("java.lang.Integer"), numbers.extend, value=INT),
        }

    def values(ids: Iterable[int]) -> Iterator[int]:
        column = numbers.columns[0]
        return (column[place] if place >= 0 else _LOST for place in numbers.find(ids))

    sweep(objects.dump, choose, objects.census)
    nodes.sort()
    numbers.sort()
    marks = _Marks(nodes, objects)
    for spout in known:
        marks.mark(*spout.maps)
    found = Counter(marks.numbers)
    complete = [spout for number, spout in enumerate(known, start=1) if found[number] >= spout.entries]
    complete_tasks = {task for spout in complete for task in spout.tasks}
    pending = frozenset(values(compress(nodes.columns[0], marks.numbers))) - {_LOST}
    for old in old_entries:
        tasks = values(old.tasks) if old.acker.clojure else old.tasks
        waits = old.acker.tally.waits = Waits()
        for root, task in zip(values(old.keys), tasks, strict=True):
            if root in pending:
                waits.pending += 1
            elif task in complete_tasks and root != _LOST:
                waits.given_up += 1
            else:
                waits.unknown += 1
    return pending
