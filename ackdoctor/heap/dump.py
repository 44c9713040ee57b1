"""A heap dump, read: classes, ackers with all their entries, the other maps that hold tuples, and the bolts' fields that lead to some.

What is damaged or cut off is said; what could be read is there all the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ackdoctor.heap.jvm.ackers import Holder, Holders, Roles, roles
from ackdoctor.heap.jvm.bolts import TUPLES, bolts
from ackdoctor.heap.jvm.bytes import entry_bytes, oops_of
from ackdoctor.heap.jvm.entries import Acker
from ackdoctor.heap.jvm.gather import AckObjects, ClojureMaps, Entries
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.layout import PRIMITIVES, Classes, Oops
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.sweep import Census, Choice, Take, sweep
from ackdoctor.heap.jvm.walk import Terms, walk

__all__ = ["ClassRow", "HeapDump", "held_bytes", "read_dump"]

_MANY_TUPLES = 1_000  # of fewer nobody asks who holds them


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassRow:
    """A class of the histogram; `size` is what its instances take together, as modelled."""

    name: str
    instances: int
    size: int


@dataclass(slots=True, kw_only=True)
class HeapDump:
    """What a dump holds.  `faults` says what could not be read; `storm` whether any class is Storm's."""

    path: str
    version: str
    id_size: int
    taken_ms: int
    file_size: int
    objects: int
    oops: Oops
    classes: tuple[ClassRow, ...]  # all, the largest first
    ackers: tuple[Acker, ...]
    holders: tuple[Holder, ...]
    storm: bool
    faults: tuple[str, ...] = ()
    timeout_s: int = 30

    @property
    def size(self) -> int:
        """Bytes on the heap, as modelled."""
        return sum(row.size for row in self.classes)

    @property
    def tuples(self) -> int:
        """Tuples that are alive, but for those that a ShellBolt keeps, which are told of it."""
        alive = sum(row.instances for row in self.classes if row.name in TUPLES)
        return alive - sum(holder.entries for holder in self.holders if holder.role == "shell")

    @property
    def entries(self) -> int:
        """Entries in all ackers' maps."""
        return sum(acker.tally.entries for acker in self.ackers)


def held_bytes(acker: Acker, oops: Oops) -> int:
    """What an acker's entries take."""
    return sum(
        amount * entry_bytes(kind, oops, clojure=acker.clojure) for kind, amount in acker.tally.kinds.items()
    )


def read_dump(path: Path, *, samples: int = 3, timeout_s: int = 30) -> HeapDump:
    """The dump in that file; HprofError if it is none.

    An entry is old after twice the message timeout, when its spout has given it up; in 1.x after the timeout, since from
    1.0.6 on its acker may drop an entry then, and has none that is twice as old.
    """
    with Hprof(path) as dump:
        first = _FirstPass(dump, timeout_s * 1000)
        census = sweep(dump, first.choose)
        objects = Objects(dump, census)
        holders = Holders(census.classes, objects, samples)
        ackers = holders.ackers(first.roles)
        for entries in first.entries:
            alike = [acker for acker in ackers if acker.clojure == entries.clojure and acker.maps]
            if alike:
                terms = Terms(samples, dump.taken_ms)
                walk(alike, entries, dump=dump, census=census, objects=objects, terms=terms)
        oops = oops_of(dump, census)
        rows = sorted(_rows(census, oops), key=lambda row: (-row.size, row.name))
        return HeapDump(
            path=path.as_posix(),
            version=dump.version,
            id_size=dump.id_size,
            taken_ms=dump.taken_ms,
            file_size=dump.size,
            objects=census.objects,
            oops=oops,
            classes=tuple(rows),
            ackers=tuple(ackers),
            holders=(*holders.others(first.roles), *_bolts(census, first.roles, objects)),
            storm=any(
                name.startswith(("org.apache.storm.", "backtype.storm.", "com.alibaba.jstorm."))
                for name in census.classes.names.values()
            ),
            faults=tuple(filter(None, (dump.cut, *census.damage))),
            timeout_s=timeout_s,
        )


def _bolts(census: Census, found: Roles, objects: Objects) -> Iterator[Holder]:
    """Those fields of bolts that lead to tuples, the most first."""
    ids = [each for name in TUPLES for each in census.classes.named(name)]
    if sum(census.instances.get(each, 0) for each in ids) < _MANY_TUPLES:
        return iter(())
    objects.hurry()  # for thousands of objects, each of which may be missed
    return iter(sorted(bolts(found, census.classes, objects), key=lambda holder: -holder.entries))


@dataclass(slots=True)
class _FirstPass:
    """Chooses what the first pass takes along: holders, and the entries of each generation of ackers."""

    dump: Hprof
    timeout_ms: int
    roles: Roles = field(default_factory=Roles)
    entries: list[Entries] = field(default_factory=list)

    def choose(self, classes: Classes) -> Choice:
        """Asked once, when the classes are known."""
        self.roles, noters = roles(classes)
        takers: dict[int, Take] = dict(noters)
        if self.roles.ack_objects:
            java = AckObjects(self.dump.taken_ms - 2 * self.timeout_ms)
            self.entries.append(java)
            takers.update({each: java.taker(classes, each) for each in self.roles.ack_objects})
        if self.roles.clojure:
            maps = ClojureMaps(self.dump.taken_ms - self.timeout_ms)
            self.entries.append(maps)
            takers.update({each: maps.taker(classes, each) for each in self.roles.array_maps})
            takers.update(
                {each: maps.keyword_taker(classes, each) for each in classes.named("clojure.lang.Keyword")}
            )
        return takers


def _rows(census: Census, oops: Oops) -> Iterator[ClassRow]:
    """By class; classes of one name from several loaders stand apart in the dump, and together here."""
    classes = census.classes
    totals: dict[str, tuple[int, int]] = {}

    def add(name: str, amount: int, size: int) -> None:
        known = totals.get(name, (0, 0))
        totals[name] = (known[0] + amount, known[1] + size)

    for class_id, amount in census.instances.items():
        add(classes.name(class_id), amount, amount * classes.instance_bytes(class_id, oops))
    for class_id, amount in census.arrays.items():
        add(classes.name(class_id), amount, amount * oops.array + census.elements[class_id] * oops.reference)
    for kind, amount in census.primitives.items():
        add(PRIMITIVES[kind], amount, amount * oops.array + census.numbers[kind])
    return (ClassRow(name=name, instances=amount, size=size) for name, (amount, size) in totals.items())
