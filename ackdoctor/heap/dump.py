"""Read a heap dump: classes, ackers with their entries, other maps of tuples, and fields of bolts that hold tuples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ackdoctor.heap.jvm.class_dump import PRIMITIVES, Classes, Oops
from ackdoctor.heap.jvm.entries import Acker, entry_bytes, oops_of
from ackdoctor.heap.jvm.holders import TUPLES, Holder, Holders, Roles, bolts, roles
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.objects import Objects, settings_of
from ackdoctor.heap.jvm.pending import look_up
from ackdoctor.heap.jvm.sweep import Census, Taker, Takers, sweep
from ackdoctor.heap.jvm.walk import AckObjects, Clock, ClojureMaps, Entries, OldEntries, WalkSettings, walk

__all__ = ["ClassRow", "HeapDump", "Timeout", "held_bytes", "read_dump"]


_MANY_TUPLES = 1_000  # with fewer, the walk over bolts' fields is skipped
_DEFAULT_TIMEOUT_S = 30  # Storm's
_TIMEOUT, _TIMEOUTS = "topology.message.timeout.secs", "topology.enable.message.timeouts"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassRow:
    """A class of the dump; `size` is the modelled size of all instances in bytes."""

    name: str
    instances: int
    size: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Timeout:
    """The message timeout, which decides when an entry is old, and its source; `off`: the topology disabled timeouts."""

    seconds: int
    source: str
    off: bool = False


@dataclass(slots=True, kw_only=True)
class HeapDump:
    """The content of a dump. `faults` are the parts that could not be read; `storm`: some class is Storm's."""

    path: str
    version: str
    id_size: int
    taken_ms: int
    file_size: int
    objects: int
    oops: Oops
    classes: tuple[ClassRow, ...]  # largest first
    ackers: tuple[Acker, ...]
    holders: tuple[Holder, ...]
    storm: bool
    faults: tuple[str, ...] = ()
    timeout: Timeout
    pending: frozenset[int] = frozenset()  # sampled roots that a spout has pending

    @property
    def size(self) -> int:
        """Modelled bytes on the heap."""
        return sum(row.size for row in self.classes)

    @property
    def tuples(self) -> int:
        """Live tuples without those of ShellBolts, which the report lists separately."""
        alive = sum(row.instances for row in self.classes if row.name in TUPLES)
        return alive - sum(holder.entries for holder in self.holders if holder.role == "shell")

    @property
    def entries(self) -> int:
        """Entries in all ackers' maps."""
        return sum(acker.tally.entries for acker in self.ackers)


def held_bytes(acker: Acker, oops: Oops) -> int:
    """Bytes of an acker's entries."""
    return sum(
        amount * entry_bytes(kind, oops, clojure=acker.clojure) for kind, amount in acker.tally.kinds.items()
    )


def read_dump(path: Path, *, samples: int = 3, timeout_s: int | None = None) -> HeapDump:
    """Read a dump; raise HprofError if the file is not a dump.

    An entry is old after twice the message timeout, when its spout should have given it up. In 1.x it is old after the
    timeout: from 1.0.6 on the acker may drop an entry then. The timeout is that of the topology's configuration in the
    dump; `timeout_s` is for dumps without one.
    """
    with Hprof(path) as dump:
        first = _FirstPass()
        census = sweep(dump, first.choose)
        objects = Objects(dump, census)
        holders = Holders(census.classes, objects, samples)
        ackers = holders.ackers(first.roles)
        timeout = _timeout(first.roles, objects, timeout_s)
        old_entries: list[OldEntries] = []
        for entries in first.entries:
            same = [acker for acker in ackers if acker.clojure == entries.clojure and acker.maps]
            if same:
                age_ms = timeout.seconds * 1000 * (1 if entries.clojure else 2)
                settings = WalkSettings(samples, Clock(dump.taken_ms, dump.taken_ms - age_ms))
                old_entries += walk(
                    same, entries, dump=dump, census=census, objects=objects, settings=settings
                )
        others = list(holders.others(first.roles))
        spouts = [holder for holder in others if holder.role == "spout"]
        pending = look_up(old_entries, spouts, dump=dump, census=census, objects=objects)
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
            holders=(*others, *_bolts(census, first.roles, objects)),
            storm=any(
                name.startswith(("org.apache.storm.", "backtype.storm.", "com.alibaba.jstorm."))
                for name in census.classes.names.values()
            ),
            faults=tuple(_faults(dump, census, ackers)),
            timeout=timeout,
            pending=pending
            & {entry.root for acker in ackers for sample in acker.tally.samples.values() for entry in sample},
        )


def _timeout(found: Roles, objects: Objects, option_s: int | None) -> Timeout:
    settings = settings_of(found.contexts, (_TIMEOUT, _TIMEOUTS), objects)
    off = set(settings[_TIMEOUTS]) == {0}
    values = [seconds for seconds in settings[_TIMEOUT] if seconds > 0]
    if len(values) == 1:
        unused = f"; --message-timeout {option_s} is not used" if option_s not in {None, values[0]} else ""
        return Timeout(seconds=values[0], source=f"the dump's topology configuration{unused}", off=off)
    why = f"the dump has several: {', '.join(map(str, sorted(values)))}" if values else "none in the dump"
    if option_s is not None:
        return Timeout(seconds=option_s, source=f"--message-timeout; {why}", off=off)
    return Timeout(
        seconds=_DEFAULT_TIMEOUT_S, source=f"Storm's default; {why}: set --message-timeout", off=off
    )


def _faults(dump: Hprof, census: Census, ackers: Sequence[Acker]) -> Iterator[str]:
    yield from filter(None, (dump.cut, *dump.faults, *census.damage))
    yield from dict.fromkeys(census.classes.damage)
    unknown = sum(amount for each, amount in census.instances.items() if each not in census.classes.dumps)
    if unknown:
        yield f"{unknown:,} objects are of classes that the dump does not declare"
    for number, acker in enumerate(ackers, start=1):
        for bucket in acker.tally.buckets:
            if bucket.trouble:
                yield f"acker {number}, bucket {bucket.number}: {bucket.trouble}"


def _bolts(census: Census, found: Roles, objects: Objects) -> Iterator[Holder]:
    """Fields of bolts that lead to tuples, largest first."""
    ids = [each for name in TUPLES for each in census.classes.named(name)]
    if sum(census.instances.get(each, 0) for each in ids) < _MANY_TUPLES:
        return iter(())
    objects.disable_full_search()  # thousands of objects; missing some is acceptable
    return iter(sorted(bolts(found, census.classes, objects), key=lambda holder: -holder.entries))


@dataclass(slots=True)
class _FirstPass:
    """Choose what the first pass collects: holders of tuples, and the entries of each generation of ackers."""

    roles: Roles = field(default_factory=Roles)
    entries: list[Entries] = field(default_factory=list)

    def choose(self, classes: Classes) -> Takers:
        """Called once, when the classes are known."""
        self.roles, id_takers = roles(classes)
        takers: dict[int, Taker | None] = dict(id_takers)
        if self.roles.ack_objects:
            java = AckObjects()
            self.entries.append(java)
            takers.update({each: java.taker(classes, each) for each in self.roles.ack_objects})
        if self.roles.clojure:
            maps = ClojureMaps()
            self.entries.append(maps)
            takers.update({each: maps.taker(classes, each) for each in self.roles.array_maps})
            takers.update(
                {each: maps.keyword_taker(classes, each) for each in classes.named("clojure.lang.Keyword")}
            )
        return {each: take for each, take in takers.items() if take is not None}


def _rows(census: Census, oops: Oops) -> Iterator[ClassRow]:
    """One row for each class name; a dump separates classes of the same name from several loaders."""
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
