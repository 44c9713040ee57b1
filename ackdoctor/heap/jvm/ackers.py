"""Finds what keeps tuples in a worker's heap: ackers, the pending maps of spouts, the inputs of ShellBolts.

The paths are those of the sources: `Acker.pending.buckets` in 2.x and JStorm; in 1.x the reify of mk-acker-bolt with a
MutableObject, `acker$mk_acker_bolt$reify__972.pending.o._buckets`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from ackdoctor.heap.jvm.columns import Columns
from ackdoctor.heap.jvm.entries import Acker
from ackdoctor.heap.jvm.layout import OBJECT, Classes
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.sweep import Take

__all__ = ["Holder", "Holders", "Roles", "roles", "short"]

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
_MOST_BUCKETS = 64  # of a RotatingMap; Storm's have two or three
_MOST_TASKS = 10_000  # of an executor
_MOST_CELLS = 1_024  # of a ConcurrentHashMap's counter: one for each processor
_ARRAY_MAP = "clojure.lang.PersistentArrayMap"


@dataclass(slots=True)
class Roles:
    """Which classes of a dump play which part, and the instances that were seen of them."""

    ack_objects: list[int] = field(default_factory=list)
    array_maps: list[int] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)  # class, id
    bolts: list[int] = field(default_factory=list)  # by their base class
    tasks: list[int] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)  # they hold the topology's configuration
    clojure: bool = False


def _is_acker(name: str) -> bool:
    """Whether a class is an acker of Storm's."""
    return bool(_ACKER_2.fullmatch(name) or _ACKER_1.fullmatch(name))


def roles(classes: Classes) -> tuple[Roles, Mapping[int, Take]]:
    """The parts, and what notes each instance of a holder."""
    found = Roles()
    takers: dict[int, Take] = {}
    shells, bolts = _heirs(classes, _SHELL_BOLT), _heirs(classes, _BASE_OF_BOLTS)
    for class_id, name in classes.names.items():
        if _ACK_OBJECT.fullmatch(name):
            found.ack_objects.append(class_id)
        elif _is_acker(name) or class_id in shells or _is_spout(classes, class_id, name):
            takers[class_id] = _noter(classes, class_id, partial(_seen, found, class_id))
        elif class_id in bolts:
            takers[class_id] = _noter(classes, class_id, found.bolts.append)
        elif _TASK.fullmatch(name):
            takers[class_id] = _noter(classes, class_id, found.tasks.append)
        elif _CONTEXT.fullmatch(name):
            takers[class_id] = _noter(classes, class_id, found.contexts.append)
        if _ACKER_1.fullmatch(name):
            found.clojure = True
    if found.clojure:
        found.array_maps = classes.named(_ARRAY_MAP)
    return found, takers


def _seen(found: Roles, class_id: int, id_: int) -> None:
    found.seen.append((class_id, id_))


def _heirs(classes: Classes, base: re.Pattern[str]) -> frozenset[int]:
    """The classes of such names, and all that derive from them."""
    names = {name for name in classes.names.values() if base.fullmatch(name)}
    return frozenset(each for name in names for each in classes.family(name))


def _is_spout(classes: Classes, class_id: int, name: str) -> bool:
    return bool(_SPOUT.fullmatch(name)) and ("pending", OBJECT) in classes.fields(class_id)


def _noter(classes: Classes, class_id: int, note: Callable[[int], None]) -> Take:
    columns = Columns(classes, class_id)

    def take(data: bytes, places: Sequence[int]) -> None:
        (ids,) = columns.read(data, places)
        for id_ in ids:
            note(id_)

    return take


@dataclass(slots=True)
class Holder:
    """A map that holds tuples, other than an acker's, or a bolt's field that leads to some: how it is reached, and what it holds.

    `groups` counts a sample of `looked_at` by stream (ShellBolt, a bolt); there are `more` where the search
    was not ended.  `maps` are the buckets of a spout's map, `tasks` those of its executor, none where that is unknown.
    """

    role: str  # "shell", "spout" or "bolt"
    owner: str  # the component's name, where the heap tells it
    path: str
    entries: int
    groups: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0
    roots: tuple[int, ...] = ()
    more: bool = False
    maps: tuple[int, ...] = ()
    tasks: frozenset[int] = frozenset()


class Holders:
    """Reads the few objects that lead to the maps."""

    def __init__(self, classes: Classes, objects: Objects, samples: int) -> None:
        self._classes, self._objects, self._samples = classes, objects, samples

    def ackers(self, found: Roles) -> list[Acker]:
        """Every acker with its buckets, in the order of the dump; what cannot be followed has `trouble`."""
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
                acker.trouble = "it has not been prepared: its map is not there"
            elif not maps:
                acker.trouble = "its map cannot be followed: the dump lacks a part of the way"
            made.append(acker)
        return made

    def others(self, found: Roles) -> Iterator[Holder]:
        """ShellBolts and spout executors; a map that several closures refer to is told once."""
        told: dict[int, Holder] = {}
        for class_id, id_ in found.seen:
            name = self._classes.name(class_id)
            if _is_acker(name):
                continue
            if _SPOUT.fullmatch(name):
                pending = self._objects.fields(id_).get("pending", 0)
                if not pending:
                    continue
                if pending not in told:
                    told[pending] = self._spout(name, id_, pending)
                told[pending].tasks |= self._tasks(id_)
            else:
                yield self._shell(name, id_)
        yield from told.values()

    def _tasks(self, executor: int) -> frozenset[int]:
        """2.x: SpoutExecutor.taskIds, a list; 1.x: the keys of task_datas, or a closure's task_id; JStorm: taskId."""
        fields = self._objects.fields(executor)
        one = self._objects.fields(fields.get("task_id", 0)).get("value", fields.get("taskId", 0))
        datas = self._objects.fields(fields.get("task_datas", 0))
        ids = [key for key, _ in self._nodes(datas.get("table", 0), _MOST_TASKS)]
        listed = self._objects.fields(fields.get("taskIds", 0))
        ids += islice(self._objects.elements(listed.get("elementData", 0)), _MOST_TASKS)
        values = (self._objects.fields(each).get("value") for each in ids if each)
        return frozenset(filter(None, (one, *values)))

    def _task(self, acker: int) -> int | None:
        """2.x: Acker.collector.delegate.taskId."""
        collector = self._objects.fields(self._objects.fields(acker).get("collector", 0))
        return self._objects.fields(collector.get("delegate", 0)).get("taskId")

    def _buckets(self, rotating_map: int) -> tuple[list[int], str]:
        """The HashMaps of a RotatingMap, newest first, and what its field is called."""
        fields = self._objects.fields(rotating_map)
        name = "buckets" if "buckets" in fields else "_buckets"
        return list(self._linked(fields.get(name, 0))), name

    def _linked(self, linked_list: int) -> Iterator[int]:
        """The items of a java.util.LinkedList, of which Java 6's had a header node, or of a LinkedBlockingDeque."""
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
            sum(fields.get("size", 0) or self._counted(fields) for fields in tables),
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
            "shell", self._command(fields), f"{short(name)}.{field_name}", self._counted(map_fields)
        )
        table = map_fields.get("table", 0)
        for _, value in self._nodes(table, _LOOKED_AT):
            stream = self._objects.text(self._objects.fields(value).get("streamId", 0)) or "?"
            holder.groups[stream] = holder.groups.get(stream, 0) + 1
            holder.looked_at += 1
        return holder

    def _command(self, fields: Mapping[str, int]) -> str:
        """What the bolt runs: `python3 count.py`."""
        command = fields.get("command", fields.get("_command", 0))
        return " ".join(filter(None, map(self._objects.text, self._objects.elements(command))))

    def _counted(self, fields: Mapping[str, int]) -> int:
        """The size of a ConcurrentHashMap of Java 8 or later: its base, and cells for contended counts."""
        cells = islice(self._objects.elements(fields.get("counterCells", 0)), _MOST_CELLS)
        return fields.get("baseCount", 0) + sum(
            self._objects.fields(cell).get("value", 0) for cell in cells if cell
        )

    def _nodes(self, table: int, most: int) -> Iterator[tuple[int, int]]:
        """Some nodes of a hash table; of a ConcurrentHashMap the field is `val`."""
        left = most
        for head in self._objects.elements(table):
            at = head
            while at and left > 0:
                node = self._objects.fields(at)
                if "first" in node and "key" not in node:
                    node = self._objects.fields(node["first"])  # a bin that has become a tree
                if not node or "key" not in node:
                    break
                left -= 1
                yield node["key"], node.get("value", node.get("val", 0))
                at = node.get("next", 0)
            if left <= 0:
                return


_LOOKED_AT = 1_000


def short(name: str) -> str:
    """A class without its package."""
    return name.rpartition(".")[2]
