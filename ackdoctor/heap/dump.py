"""Read a heap dump: classes, ackers with their entries, other maps of tuples, and fields of bolts that hold tuples."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from ackdoctor.heap.entries import STORM, AckObjects, ClojureMaps, Entries, entry_bytes
from ackdoctor.heap.hprof import INSTANCE, OBJECT, OBJECTS, Hprof
from ackdoctor.heap.objects import Objects, oops_of
from ackdoctor.heap.pending import Acker, Buffer, OldEntries, look_up, walk
from ackdoctor.heap.sweep import ARRAYS, Classes, Oops, Taker, Takers, sweep

_JSTORM = r"com\.alibaba\.jstorm\.task\."
_ACKER_2 = re.compile(rf"{STORM}daemon\.Acker|{_JSTORM}acker\.Acker")  # and JStorm's
_ACKER_1 = re.compile(rf"{STORM}daemon\.acker\$mk_acker_bolt\$reify__\d+")
_SPOUT = re.compile(
    rf"{STORM}(?:executor\.spout\.SpoutExecutor|daemon\.executor\$.*)|{_JSTORM}execute\.spout\.\w+SpoutExecutors"
)
_SHELL_BOLT = re.compile(rf"{STORM}task\.ShellBolt")
_BASE_OF_BOLTS = re.compile(rf"{STORM}topology\.base\.Base\w*Bolt")
_TASK = re.compile(rf"{STORM}daemon\.Task")
_CONTEXT = re.compile(rf"{STORM}task\.(?:Worker)?TopologyContext")
_MOST_BUCKETS = 64  # buckets of a RotatingMap; Storm uses two or three
_MOST_TASKS = 10_000  # tasks of an executor
_MOST_CELLS = 1_024  # counter cells of a ConcurrentHashMap: one per processor
_SHELL_SAMPLE = 1_000  # entries of a ShellBolt's map that are grouped by stream
_DEFAULT_TIMEOUT_S = 30  # Storm's
_TIMEOUT, _TIMEOUTS = "topology.message.timeout.secs", "topology.enable.message.timeouts"
_CONFS = ("_stormConf", "_topoConf", "topoConf", "stormConf")
_MOST_CONTEXTS, _MOST_SETTINGS = 200, 5_000
_NUMBERS = {f"java.lang.{name}" for name in ("Integer", "Long", "Short", "Boolean")}
_TUPLES = frozenset({"org.apache.storm.tuple.TupleImpl", "backtype.storm.tuple.TupleImpl"})
_MANY_TUPLES = 1_000  # with fewer, the walk over bolts' fields is skipped
# Storm's classes that buffer a bolt's tuples (windows, batches); other Storm classes refer to the whole worker
_BUFFERS = re.compile(
    rf"{STORM}(?:windowing\..*|topology\.\w*Executor|utils\.(?:RotatingMap|TimeCacheMap|BatchHelper)\b.*)"
)
_NOT_FOLLOWED = re.compile(
    rf"{STORM}.*|java\.lang\.(?:Thread|ClassLoader|String|Class|ref\..*)|sun\..*|jdk\..*"
)
_NEIGHBOURS = frozenset({"next", "prev", "after", "before", "left", "right", "parent"})
_MOST_BEFORE_TUPLE = 1_000  # objects examined below a field before the first tuple
_MOST_PER_FIELD = 3_000  # objects examined below each field in the first round
_MOST_IN_ALL = 150_000  # unfinished fields share the rest of this budget


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
    buffers: tuple[Buffer, ...]
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
        alive = sum(row.instances for row in self.classes if row.name in _TUPLES)
        return alive - sum(buffer.entries for buffer in self.buffers if buffer.role == "shell")

    @property
    def entries(self) -> int:
        """Entries in all ackers' maps."""
        return sum(acker.tally.entries for acker in self.ackers)


def held_bytes(acker: Acker, oops: Oops) -> int:
    """Bytes of an acker's entries."""
    return sum(
        amount * entry_bytes(kind, oops, clojure=acker.clojure) for kind, amount in acker.tally.kinds.items()
    )


def read_dump(
    path: Path,
    *,
    samples: int = 3,
    timeout_s: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> HeapDump:
    """Read a dump; raise HprofError if the file is not a dump.  `progress` gets the bytes read and in total, 0 if unknown.

    An entry is old after twice the message timeout, when its spout should have given it up. In 1.x it is old after the
    timeout: from 1.0.6 on the acker may drop an entry then. The timeout is that of the topology's configuration in the
    dump; `timeout_s` is for dumps without one.
    """
    with Hprof(path, progress) as dump:
        roles = Roles()
        census = sweep(dump, roles.choose)
        objects = Objects(dump, census)
        ackers = _ackers(roles, objects)
        timeout = _timeout(roles, objects, timeout_s)
        old_entries: list[OldEntries] = []
        for entries in roles.entries:
            same = [acker for acker in ackers if acker.clojure == entries.clojure and acker.maps]
            age_ms = timeout.seconds * 1000 * (1 if entries.clojure else 2)
            if same:
                old_entries += walk(same, entries, objects, samples=samples, age_ms=age_ms)
        others = list(_others(roles, objects, samples))
        pending = look_up(old_entries, [buffer for buffer in others if buffer.role == "spout"], objects)
        oops = oops_of(objects)
        rows = sorted(_class_rows(objects, oops), key=lambda row: (-row.size, row.name))
        sampled = {
            entry.root for acker in ackers for sample in acker.tally.samples.values() for entry in sample
        }
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
            buffers=(*others, *sorted(_bolts(roles, objects), key=lambda buffer: -buffer.entries)),
            storm=any(
                name.startswith(("org.apache.storm.", "backtype.storm.", "com.alibaba.jstorm."))
                for name in census.classes.names.values()
            ),
            faults=tuple(_faults(objects, ackers)),
            timeout=timeout,
            pending=pending & sampled,
        )


def _faults(objects: Objects, ackers: Sequence[Acker]) -> Iterator[str]:
    dump, census = objects.dump, objects.census
    yield from filter(None, (dump.cut, *dump.faults, *census.damage))
    yield from dict.fromkeys(census.classes.damage)
    unknown = sum(amount for each, amount in census.instances.items() if each not in census.classes.dumps)
    if unknown:
        yield f"{unknown:,} objects are of classes that the dump does not declare"
    for number, acker in enumerate(ackers, start=1):
        for bucket in acker.tally.buckets:
            if bucket.problem:
                yield f"acker {number}, bucket {bucket.number}: {bucket.problem}"


def _class_rows(objects: Objects, oops: Oops) -> Iterator[ClassRow]:
    """One row for each class name; a dump separates classes of the same name from several loaders."""
    census, classes = objects.census, objects.classes
    amounts, sizes = Counter[str](), Counter[str]()

    def add(name: str, amount: int, size: int) -> None:
        amounts[name] += amount
        sizes[name] += size

    for class_id, amount in census.instances.items():
        add(classes.name(class_id), amount, amount * classes.instance_bytes(class_id, oops))
    for class_id, amount in census.arrays.items():
        add(classes.name(class_id), amount, amount * oops.array + census.elements[class_id] * oops.reference)
    for kind, amount in census.primitives.items():
        add(ARRAYS[kind], amount, amount * oops.array + census.numbers[kind])
    return (ClassRow(name=name, instances=amount, size=sizes[name]) for name, amount in amounts.items())


# ---- the classes that matter ----


class Roles:
    """What the first pass collects: the ackers' entries, and the instances of the other classes that matter."""

    def __init__(self) -> None:
        self.entries: list[Entries] = []  # of each generation of ackers
        self.seen: list[tuple[int, int]] = []  # class and id of ackers, ShellBolts and spout executors
        self.bolts: list[int] = []  # bolts that extend one of Storm's base classes
        self.tasks: list[int] = []
        self.contexts: list[int] = []  # they hold the topology's configuration

    def choose(self, classes: Classes) -> Takers:
        """Return the takers of the first pass."""
        names = classes.names
        shells, bolts = (
            set(classes.family(*filter(base.fullmatch, names.values())))
            for base in (_SHELL_BOLT, _BASE_OF_BOLTS)
        )
        takers: dict[int, Taker] = {}
        for class_id, name in names.items():
            is_spout = _SPOUT.fullmatch(name) and ("pending", OBJECT) in classes.fields(class_id)
            if _is_acker(name) or class_id in shells or is_spout:
                takers |= classes.takers([class_id], partial(self._see, class_id))
            elif class_id in bolts:
                takers |= classes.takers([class_id], self.bolts.extend)
            elif _TASK.fullmatch(name):
                takers |= classes.takers([class_id], self.tasks.extend)
            elif _CONTEXT.fullmatch(name):
                takers |= classes.takers([class_id], self.contexts.extend)
        self.entries = [AckObjects()]
        if any(map(_ACKER_1.fullmatch, names.values())):
            self.entries.append(ClojureMaps())
        for entries in self.entries:
            takers |= entries.takers(classes)
        return takers

    def _see(self, class_id: int, ids: Sequence[int]) -> None:
        self.seen += ((class_id, id_) for id_ in ids)


def _is_acker(name: str) -> bool:
    return bool(_ACKER_2.fullmatch(name) or _ACKER_1.fullmatch(name))


def _timeout(roles: Roles, objects: Objects, option_s: int | None) -> Timeout:
    found = _settings(roles, objects)
    off = set(found[_TIMEOUTS]) == {0}
    values = [seconds for seconds in found[_TIMEOUT] if seconds > 0]
    if len(values) == 1:
        unused = f"; --message-timeout {option_s} is not used" if option_s not in {None, values[0]} else ""
        return Timeout(seconds=values[0], source=f"the dump's topology configuration{unused}", off=off)
    why = f"the dump has several: {', '.join(map(str, sorted(values)))}" if values else "none in the dump"
    if option_s is not None:
        return Timeout(seconds=option_s, source=f"--message-timeout; {why}", off=off)
    return Timeout(
        seconds=_DEFAULT_TIMEOUT_S, source=f"Storm's default; {why}: set --message-timeout", off=off
    )


def _settings(roles: Roles, objects: Objects) -> Mapping[str, Sequence[int]]:
    """Return the distinct values of the timeout settings in all configurations, booleans as 0 and 1."""
    found: dict[str, dict[int, None]] = {_TIMEOUT: {}, _TIMEOUTS: {}}
    fields = map(objects.fields, islice(roles.contexts, _MOST_CONTEXTS))
    for conf in dict.fromkeys(each[name] for each in fields for name in _CONFS if each.get(name)):
        for key, value in islice(objects.items(conf), _MOST_SETTINGS):
            name = objects.text(key)
            if name in found and objects.class_name(value) in _NUMBERS:
                found[name][int(objects.field(value, "value"))] = None
    return {name: list(values) for name, values in found.items()}


# ---- ackers, spouts and ShellBolts ----


def _ackers(roles: Roles, objects: Objects) -> list[Acker]:
    """Return every acker with its buckets, in the order of the dump; `problem` explains an unreachable map."""
    found = []
    for class_id, id_ in roles.seen:
        name = objects.classes.name(class_id)
        if not _is_acker(name):
            continue
        clojure = bool(_ACKER_1.fullmatch(name))
        steps = ("pending", "o") if clojure else ("pending",)
        pending = objects.field(id_, *steps)
        maps, field = _buckets(pending, objects)
        task = objects.fields(objects.field(id_, "collector", "delegate")).get("taskId")  # 2.x
        acker = Acker(id_, name, ".".join((_short(name), *steps, field)), maps, clojure, task)
        if not pending:
            acker.problem = "it has not been prepared: it has no map"
        elif not maps:
            acker.problem = "its map cannot be reached: the dump lacks an object on the path"
        found.append(acker)
    return found


def _others(roles: Roles, objects: Objects, samples: int) -> Iterator[Buffer]:
    """Yield ShellBolts and spout executors; a map shared by several closures is one buffer."""
    spouts: dict[int, Buffer] = {}
    for class_id, id_ in roles.seen:
        name = objects.classes.name(class_id)
        if _SPOUT.fullmatch(name):
            pending = objects.field(id_, "pending")
            if not pending:
                continue
            if pending not in spouts:
                spouts[pending] = _spout(name, id_, objects, samples)
            spouts[pending].tasks |= _tasks(id_, objects)
        elif not _is_acker(name):
            yield _shell(name, id_, objects)
    yield from spouts.values()


def _buckets(rotating_map: int, objects: Objects) -> tuple[tuple[int, ...], str]:
    """Return the HashMaps of a RotatingMap, newest first, and the name of its field."""
    fields = objects.fields(rotating_map)
    name = "buckets" if "buckets" in fields else "_buckets"
    return tuple(_linked(fields.get(name, 0), objects)), name


def _linked(linked_list: int, objects: Objects) -> Iterator[int]:
    """Yield the items of a java.util.LinkedList (Java 6: with a header node) or a LinkedBlockingDeque."""
    fields = objects.fields(linked_list)
    header = fields.get("header", 0)
    at = objects.field(header, "next") if header else fields.get("first", 0)
    seen: set[int] = set()
    for _ in range(min(_MOST_BUCKETS, fields.get("size", fields.get("count", 0)))):
        node = objects.fields(at)
        if not node or at in seen:
            return
        seen.add(at)
        yield node.get("item", node.get("element", 0))
        at = node.get("next", 0)


def _tasks(executor: int, objects: Objects) -> frozenset[int]:
    """Return an executor's tasks: SpoutExecutor.taskIds (2.x), task_datas or a closure's task_id (1.x), taskId (JStorm)."""
    fields = objects.fields(executor)
    one = objects.fields(fields.get("task_id", 0)).get("value", fields.get("taskId", 0))
    ids = [key for key, _ in islice(objects.items(fields.get("task_datas", 0)), _MOST_TASKS)]
    listed = objects.field(fields.get("taskIds", 0), "elementData")
    ids += islice(objects.elements(listed), _MOST_TASKS)
    return frozenset(filter(None, (one, *(objects.field(each, "value") for each in ids))))


def _spout(name: str, id_: int, objects: Objects, samples: int) -> Buffer:
    fields = objects.fields(id_)
    maps, field = _buckets(fields["pending"], objects)
    keys = (key for each in maps for key, _ in islice(objects.items(each), samples))
    return Buffer(
        "spout",
        objects.text(fields.get("componentId", fields.get("component_id", 0))),
        f"{_short(name)}.pending.{field}",
        sum(objects.field(each, "size") or _map_size(each, objects) for each in maps),
        roots=tuple(objects.field(key, "value") for key in islice(keys, samples)),
        maps=maps,
    )


def _shell(name: str, id_: int, objects: Objects) -> Buffer:
    """Return the inputs of a ShellBolt; its owner is its command: `python3 count.py`."""
    fields = objects.fields(id_)
    field = "inputs" if "inputs" in fields else "_inputs"
    inputs = fields.get(field, 0)
    command = objects.elements(fields.get("command", fields.get("_command", 0)))
    groups = Counter(
        objects.text(objects.field(value, "streamId")) or "?"
        for _, value in islice(objects.items(inputs), _SHELL_SAMPLE)
    )
    return Buffer(
        "shell",
        " ".join(filter(None, map(objects.text, command))),
        f"{_short(name)}.{field}",
        _map_size(inputs, objects),
        groups=groups,
        looked_at=groups.total(),
    )


def _map_size(map_id: int, objects: Objects) -> int:
    """Return the size of a ConcurrentHashMap (Java 8 or later): base count plus the cells of contended counts."""
    cells = islice(objects.elements(objects.field(map_id, "counterCells")), _MOST_CELLS)
    return objects.field(map_id, "baseCount") + sum(objects.field(cell, "value") for cell in cells)


def _short(name: str) -> str:
    """Return a class name without its package."""
    return name.rpartition(".")[2]


# ---- fields of bolts ----


def _bolts(roles: Roles, objects: Objects) -> Iterator[Buffer]:
    """Yield the bolts' fields that lead to tuples, in the order of each class's fields."""
    classes = objects.classes
    ids = [each for name in _TUPLES for each in classes.named(name)]
    if sum(objects.census.instances[each] for each in ids) < _MANY_TUPLES:
        return
    objects.disable_full_search()  # thousands of objects; missing some is acceptable
    names: dict[int, str] = {}
    for task in roles.tasks:
        fields = objects.fields(task)
        names[fields.get("taskObject", 0)] = objects.text(fields.get("componentId", 0))
    walks: list[_Walk] = []
    left = _MOST_IN_ALL
    for bolt in dict.fromkeys((*names, *roles.bolts)):
        found = objects.at(bolt)
        if found is None or found.kind != INSTANCE:
            continue
        for field in dict.fromkeys(name for name, kind in classes.fields(found.class_id) if kind == OBJECT):
            walk = _Walk(objects, bolt, field)
            walk.advance(min(left, _MOST_PER_FIELD))
            left -= walk.looked_at
            if walk.streams:
                walks.append(walk)
    unfinished = [walk for walk in walks if walk.waiting]
    for walk in unfinished:
        walk.advance(walk.looked_at + left // len(unfinished))
    for walk in walks:
        tuples = walk.streams.total()
        path = f"{_short(objects.class_name(walk.bolt))}.{walk.field}"
        yield Buffer(
            "bolt", names.get(walk.bolt, ""), path, tuples, walk.streams, tuples, more=bool(walk.waiting)
        )


class _Walk:
    """Walk over the objects reachable from one field of a bolt; `streams` counts the tuples among them.

    Depth first: the walk visits the contents of an entry before the next entry, else a large table would use up
    the budget.
    """

    def __init__(self, objects: Objects, bolt: int, field: str) -> None:
        self._objects, self.bolt, self.field = objects, bolt, field
        self._seen, self.waiting = {0, bolt}, [objects.field(bolt, field)]
        self._references: dict[int, Sequence[str]] = {}
        self.looked_at = 0
        self.streams: Counter[str] = Counter()

    def advance(self, most: int) -> None:
        """Walk until all objects or `most` are visited; stop early if the first ones include no tuple."""
        while self.waiting and self.looked_at < (most if self.streams else min(_MOST_BEFORE_TUPLE, most)):
            self.waiting += self._next(self.waiting.pop())

    def _next(self, id_: int) -> Iterator[int]:
        if id_ in self._seen:
            return
        self._seen.add(id_)
        found = self._objects.at(id_)
        self.looked_at += 1
        if found is None or found.kind not in (INSTANCE, OBJECTS):
            return
        if found.kind == OBJECTS:
            yield from (each for each in self._objects.elements(id_) if each not in self._seen)
            return
        name = self._objects.classes.name(found.class_id)
        if name in _TUPLES:
            self.streams[self._objects.text(self._objects.field(id_, "streamId")) or "?"] += 1
        elif _BUFFERS.fullmatch(name) or not _NOT_FOLLOWED.fullmatch(name):
            fields: Mapping[str, int] = self._objects.fields(id_)
            yield from (fields[each] for each in self._reference_fields(found.class_id) if each in fields)

    def _reference_fields(self, class_id: int) -> Sequence[str]:
        """Return the reference fields of a class, links to other entries first, because the stack pops them last."""
        if class_id not in self._references:
            names = [name for name, kind in self._objects.classes.fields(class_id) if kind == OBJECT]
            self._references[class_id] = sorted(names, key=lambda name: name not in _NEIGHBOURS)
        return self._references[class_id]
