"""Find the holders of tuples in a worker's heap: ackers, spouts' pending maps, ShellBolts' inputs, bolts' fields."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from ackdoctor.heap.jvm.class_dump import OBJECT, Classes
from ackdoctor.heap.jvm.entries import Acker
from ackdoctor.heap.jvm.hprof import INSTANCE, OBJECTS
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.sweep import Columns, Taker

__all__ = ["TUPLES", "Holder", "Holders", "Roles", "bolts", "roles", "short"]


_STORM = r"(?:org\.apache|backtype)\.storm\."
_JSTORM = r"com\.alibaba\.jstorm\.task\."
_ACKER_2 = re.compile(rf"{_STORM}daemon\.Acker|{_JSTORM}acker\.Acker")  # and JStorm's
_ACK_OBJECT = re.compile(rf"{_STORM}daemon\.Acker\$AckObject|{_JSTORM}acker\.AckObject")
_ACKER_1 = re.compile(rf"{_STORM}daemon\.acker\$mk_acker_bolt\$reify__\d+")
_SPOUT = re.compile(
    rf"{_STORM}(?:executor\.spout\.SpoutExecutor|daemon\.executor\$.*)|{_JSTORM}execute\.spout\.\w+SpoutExecutors"
)
_SHELL_BOLT = re.compile(rf"{_STORM}task\.ShellBolt")
_BASE_OF_BOLTS = re.compile(rf"{_STORM}topology\.base\.Base\w*Bolt")
_TASK = re.compile(rf"{_STORM}daemon\.Task")
_CONTEXT = re.compile(rf"{_STORM}task\.(?:Worker)?TopologyContext")
_MOST_BUCKETS = 64  # buckets of a RotatingMap; Storm uses two or three
_MOST_TASKS = 10_000  # tasks of an executor
_MOST_CELLS = 1_024  # counter cells of a ConcurrentHashMap: one per processor
_ARRAY_MAP = "clojure.lang.PersistentArrayMap"
_SHELL_SAMPLE = 1_000  # entries of a ShellBolt's map that are grouped by stream
TUPLES = frozenset({"org.apache.storm.tuple.TupleImpl", "backtype.storm.tuple.TupleImpl"})
# Storm's classes that buffer a bolt's tuples (windows, batches); other Storm classes refer to the whole worker
_BUFFERS = re.compile(
    r"(?:org\.apache|backtype)\.storm\.(?:windowing\..*|topology\.\w*Executor|utils\.(?:RotatingMap|TimeCacheMap|BatchHelper)\b.*)"
)
_NOT_FOLLOWED = re.compile(
    r"(?:org\.apache|backtype)\.storm\..*|java\.lang\.(?:Thread|ClassLoader|String|Class|ref\..*)|sun\..*|jdk\..*"
)
_NEIGHBOURS = frozenset({"next", "prev", "after", "before", "left", "right", "parent"})
_MOST_BEFORE_TUPLE = 1_000  # objects examined below a field before the first tuple
_MOST_PER_FIELD = 3_000  # objects examined below each field in the first round
_MOST_IN_ALL = 150_000  # unfinished fields share the rest of this budget


@dataclass(slots=True)
class Roles:
    """The classes of a dump that matter, by role, and the instances of them seen so far."""

    ack_objects: list[int] = field(default_factory=list)
    array_maps: list[int] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)  # class, id
    bolts: list[int] = field(default_factory=list)  # bolts that extend one of Storm's base classes
    tasks: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)  # they hold the topology's configuration
    clojure: bool = False


def _is_acker(name: str) -> bool:
    """Return whether the class is one of Storm's ackers."""
    return bool(_ACKER_2.fullmatch(name) or _ACKER_1.fullmatch(name))


def roles(classes: Classes) -> tuple[Roles, Mapping[int, Taker]]:
    """Return the roles of the classes, and a taker that records each instance of a holder."""
    found = Roles()
    takers: dict[int, Taker] = {}
    shells, bolts = _subclasses(classes, _SHELL_BOLT), _subclasses(classes, _BASE_OF_BOLTS)
    for class_id, name in classes.names.items():
        if _ACK_OBJECT.fullmatch(name):
            found.ack_objects.append(class_id)
        elif _is_acker(name) or class_id in shells or _is_spout(classes, class_id, name):
            takers[class_id] = _id_taker(classes, class_id, partial(_seen, found, class_id))
        elif class_id in bolts:
            takers[class_id] = _id_taker(classes, class_id, found.bolts.append)
        elif _TASK.fullmatch(name):
            takers[class_id] = _id_taker(classes, class_id, found.tasks.append)
        elif _CONTEXT.fullmatch(name):
            takers[class_id] = _id_taker(classes, class_id, found.contexts.append)
        if _ACKER_1.fullmatch(name):
            found.clojure = True
    if found.clojure:
        found.array_maps = classes.named(_ARRAY_MAP)
    return found, takers


def _seen(found: Roles, class_id: int, id_: int) -> None:
    found.seen.append((class_id, id_))


def _subclasses(classes: Classes, base: re.Pattern[str]) -> frozenset[int]:
    """Return the classes whose names match, and all their subclasses."""
    names = {name for name in classes.names.values() if base.fullmatch(name)}
    return frozenset(each for name in names for each in classes.family(name))


def _is_spout(classes: Classes, class_id: int, name: str) -> bool:
    return bool(_SPOUT.fullmatch(name)) and ("pending", OBJECT) in classes.fields(class_id)


def _id_taker(classes: Classes, class_id: int, record: Callable[[int], None]) -> Taker:
    columns = Columns(classes, class_id)

    def take(data: bytes, places: Sequence[int]) -> None:
        (ids,) = columns.read(data, places)
        for id_ in ids:
            record(id_)

    return take


@dataclass(slots=True)
class Holder:
    """A map of a ShellBolt or spout, or a bolt's field, that holds tuples; `path` leads to it.

    `groups` counts a sample of `looked_at` tuples by stream (ShellBolt, bolt).  `more`: the search hit its limit.
    `maps` are the buckets of a spout's map; `tasks` are the tasks of its executor, empty if unknown.
    """

    role: str  # "shell", "spout" or "bolt"
    owner: str  # the component's name, '' if unknown
    path: str
    entries: int
    groups: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0
    roots: tuple[int, ...] = ()
    more: bool = False
    maps: tuple[int, ...] = ()
    tasks: frozenset[int] = frozenset()


class Holders:
    """Follows references from the holders to their maps."""

    def __init__(self, classes: Classes, objects: Objects, samples: int) -> None:
        self._classes, self._objects, self._samples = classes, objects, samples

    def ackers(self, found: Roles) -> list[Acker]:
        """Return every acker with its buckets, in the order of the dump; `trouble` explains an unreachable map."""
        made = []
        for class_id, id_ in found.seen:
            name = self._classes.name(class_id)
            if not _is_acker(name):
                continue
            clojure = not _ACKER_2.fullmatch(name)
            pending = self._objects.fields(id_).get("pending", 0)
            path = f"{short(name)}.pending"
            if clojure:
                pending = self._objects.fields(pending).get("o", 0)
                path += ".o"
            maps, field_name = self._buckets(pending)
            acker = Acker(id_, name, f"{path}.{field_name}", tuple(maps), clojure, self._task(id_))
            if not pending:
                acker.trouble = "it has not been prepared: it has no map"
            elif not maps:
                acker.trouble = "its map cannot be reached: the dump lacks an object on the path"
            made.append(acker)
        return made

    def others(self, found: Roles) -> Iterator[Holder]:
        """Yield ShellBolts and spout executors; a map shared by several closures is one holder."""
        spouts: dict[int, Holder] = {}
        for class_id, id_ in found.seen:
            name = self._classes.name(class_id)
            if _is_acker(name):
                continue
            if _SPOUT.fullmatch(name):
                pending = self._objects.fields(id_).get("pending", 0)
                if not pending:
                    continue
                if pending not in spouts:
                    spouts[pending] = self._spout(name, id_, pending)
                spouts[pending].tasks |= self._tasks(id_)
            else:
                yield self._shell(name, id_)
        yield from spouts.values()

    def _tasks(self, executor: int) -> frozenset[int]:
        """Return an executor's tasks: SpoutExecutor.taskIds (2.x), task_datas or a closure's task_id (1.x), taskId (JStorm)."""
        fields = self._objects.fields(executor)
        one = self._objects.fields(fields.get("task_id", 0)).get("value", fields.get("taskId", 0))
        datas = self._objects.fields(fields.get("task_datas", 0))
        ids = [key for key, _ in self._nodes(datas.get("table", 0), _MOST_TASKS)]
        listed = self._objects.fields(fields.get("taskIds", 0))
        ids += islice(self._objects.elements(listed.get("elementData", 0)), _MOST_TASKS)
        values = (self._objects.fields(each).get("value") for each in ids if each)
        return frozenset(filter(None, (one, *values)))

    def _task(self, acker: int) -> int | None:
        """Return an acker's task: Acker.collector.delegate.taskId (2.x)."""
        collector = self._objects.fields(self._objects.fields(acker).get("collector", 0))
        return self._objects.fields(collector.get("delegate", 0)).get("taskId")

    def _buckets(self, rotating_map: int) -> tuple[list[int], str]:
        """Return the HashMaps of a RotatingMap, newest first, and the name of its field."""
        fields = self._objects.fields(rotating_map)
        name = "buckets" if "buckets" in fields else "_buckets"
        return list(self._linked(fields.get(name, 0))), name

    def _linked(self, linked_list: int) -> Iterator[int]:
        """Yield the items of a java.util.LinkedList (Java 6: with a header node) or a LinkedBlockingDeque."""
        fields = self._objects.fields(linked_list)
        header = fields.get("header", 0)
        at = self._objects.fields(header).get("next", 0) if header else fields.get("first", 0)
        seen: set[int] = set()
        for _ in range(min(_MOST_BUCKETS, fields.get("size", fields.get("count", 0)))):
            node = self._objects.fields(at)
            if not node or at in seen:
                return
            seen.add(at)
            yield node.get("item", node.get("element", 0))
            at = node.get("next", 0)

    def _spout(self, name: str, id_: int, pending: int) -> Holder:
        maps, field_name = self._buckets(pending)
        fields_of = self._objects.fields(id_)
        tables = [self._objects.fields(each) for each in maps]
        holder = Holder(
            "spout",
            self._objects.text(fields_of.get("componentId", fields_of.get("component_id", 0))),
            f"{short(name)}.pending.{field_name}",
            sum(fields.get("size", 0) or self._map_size(fields) for fields in tables),
        )
        roots: list[int] = []
        for fields in tables:
            for key, _ in self._nodes(fields.get("table", 0), self._samples - len(roots)):
                roots.append(self._objects.fields(key).get("value", 0))
        holder.roots = tuple(roots)
        holder.maps = tuple(maps)
        return holder

    def _shell(self, name: str, id_: int) -> Holder:
        fields = self._objects.fields(id_)
        field_name = "inputs" if "inputs" in fields else "_inputs"
        map_fields = self._objects.fields(fields.get(field_name, 0))
        holder = Holder(
            "shell", self._command(fields), f"{short(name)}.{field_name}", self._map_size(map_fields)
        )
        table = map_fields.get("table", 0)
        for _, value in self._nodes(table, _SHELL_SAMPLE):
            stream = self._objects.text(self._objects.fields(value).get("streamId", 0)) or "?"
            holder.groups[stream] = holder.groups.get(stream, 0) + 1
            holder.looked_at += 1
        return holder

    def _command(self, fields: Mapping[str, int]) -> str:
        """Return the bolt's command: `python3 count.py`."""
        command = fields.get("command", fields.get("_command", 0))
        return " ".join(filter(None, map(self._objects.text, self._objects.elements(command))))

    def _map_size(self, fields: Mapping[str, int]) -> int:
        """Return the size of a ConcurrentHashMap (Java 8 or later): base count plus the cells of contended counts."""
        cells = islice(self._objects.elements(fields.get("counterCells", 0)), _MOST_CELLS)
        return fields.get("baseCount", 0) + sum(
            self._objects.fields(cell).get("value", 0) for cell in cells if cell
        )

    def _nodes(self, table: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield key and value of up to `most` nodes of a hash table; ConcurrentHashMap calls the value `val`."""
        left = most
        for head in self._objects.elements(table):
            at = head
            while at and left > 0:
                node = self._objects.fields(at)
                if "first" in node and "key" not in node:
                    node = self._objects.fields(node["first"])  # a tree bin
                if not node or "key" not in node:
                    break
                left -= 1
                yield node["key"], node.get("value", node.get("val", 0))
                at = node.get("next", 0)
            if left <= 0:
                return


def short(name: str) -> str:
    """Return a class name without its package."""
    return name.rpartition(".")[2]


def bolts(found: Roles, classes: Classes, objects: Objects) -> Iterator[Holder]:
    """Yield the bolts' fields that lead to tuples, in the order of each class's fields."""
    names: dict[int, str] = {}
    for task in found.tasks:
        fields = objects.fields(task)
        names[fields.get("taskObject", 0)] = objects.text(fields.get("componentId", 0))
    walks = []
    left = _MOST_IN_ALL
    for bolt in dict.fromkeys((*names, *found.bolts)):
        for walk in _field_walks(bolt, classes, objects):
            walk.advance(min(left, _MOST_PER_FIELD))
            left -= walk.looked_at
            if walk.tuples:
                walks.append((bolt, walk))
    unfinished = [walk for _, walk in walks if walk.more]
    for walk in unfinished:
        walk.advance(walk.looked_at + left // len(unfinished))
    for bolt, walk in walks:
        groups = dict(walk.streams)
        yield Holder("bolt", names.get(bolt, ""), walk.path, walk.tuples, groups, walk.tuples, more=walk.more)


def _field_walks(bolt: int, classes: Classes, objects: Objects) -> "Iterator[_Walk]":
    """Yield a walk for each reference field of a bolt."""
    seen = objects.at(bolt)
    if seen is None or seen.kind != INSTANCE:
        return
    title, values = short(classes.name(seen.class_id)), objects.fields(bolt)
    for name in dict.fromkeys(name for name, kind in classes.fields(seen.class_id) if kind == OBJECT):
        yield _Walk(classes, objects, f"{title}.{name}", [bolt, values.get(name, 0)])


class _Walk:
    """Walk over the objects reachable from one field; `more` if some are left.

    Depth first: the walk visits the contents of an entry before the next entry, else a large table would use up
    the budget.
    """

    def __init__(self, classes: Classes, objects: Objects, path: str, begin: list[int]) -> None:
        self._classes, self._objects = classes, objects
        self.path = path
        self._seen, self._waiting = {0, begin[0]}, begin[1:]
        self._names: dict[int, str] = {}
        self._references: dict[int, tuple[str, ...]] = {}
        self.looked_at = self.tuples = 0
        self.streams: Counter[str] = Counter()

    @property
    def more(self) -> bool:
        """Whether unvisited objects are left."""
        return bool(self._waiting)

    def advance(self, most: int) -> None:
        """Walk until all objects or `most` are visited; stop early if the first ones include no tuple."""
        while self._waiting and self.looked_at < (most if self.tuples else min(_MOST_BEFORE_TUPLE, most)):
            self._waiting += self._next(self._waiting.pop())

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
        name = self._classes.name(found.class_id)
        if name in TUPLES:
            self.tuples += 1
            stream = self._objects.fields(id_).get("streamId", 0)
            if stream not in self._names:
                self._names[stream] = self._objects.text(stream) or "?"
            self.streams[self._names[stream]] += 1
        elif _BUFFERS.fullmatch(name) or not _NOT_FOLLOWED.fullmatch(name):
            fields: Mapping[str, int] = self._objects.fields(id_)
            yield from (fields[each] for each in self._reference_fields(found.class_id) if each in fields)

    def _reference_fields(self, class_id: int) -> tuple[str, ...]:
        """Return the reference fields of a class, links to other entries first, because the stack pops them last."""
        if class_id not in self._references:
            names = [name for name, kind in self._classes.fields(class_id) if kind == OBJECT]
            self._references[class_id] = tuple(sorted(names, key=lambda name: name not in _NEIGHBOURS))
        return self._references[class_id]
