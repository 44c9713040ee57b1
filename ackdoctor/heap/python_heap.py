"""Snapshots of a Python process's heap: the containers of ackers and components, and object counts by type.

The counts come from guppy3, which no other module imports.  Snapshots are saved beside the trace.
"""

import gc
import json
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from ackdoctor.model.dialect import Kind
from ackdoctor.tracer.components import fields_holding
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.live import LiveRecord
from ackdoctor.tracer.recorder import at_exit

ACKER, BOLT, SPOUT = "acker", "bolt", "spout"
LAST = "end"  # the label of the last snapshot; a killed process has none
_INSTALL = "pip install 'ackdoctor[heap]'"
_FIRST_MARK = 1_000  # pending entries; each further mark doubles
_SAMPLES = 3
_NODES = 5_000  # objects visited for one owner
_DEPTH = 8
_MANY, _SOME = 64, 3  # a container with more than _MANY items is sampled: _SOME items
_LONGEST_KEY = 40
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), range)
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType)
_SHARED = (*_CODE, type(None), bool)
_SMALL_INTS = range(-5, 257)  # CPython shares these ints
_SKIPPED_FIELDS = frozenset(
    {"context", "storm_conf", "conf", "delegate"}
)  # the handshake, heronpy's internals
_OPEN_MODULES = frozenset({"collections", "queue", "builtins"})  # standard library modules with containers
_SIZED = (dict, list, set, deque)
# fields of a tuple in every framework; a tuple contains no buffer
_TUPLE = frozenset({"id", "component", "stream", "task"})
EXACT = 10_000  # entries that are all weighed; larger containers are sampled
_WEIGHED = 1_000  # entries of a sample
_OBJECTS = 200  # objects that one entry may own


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Census:
    """All objects, with (count, bytes) of each type: {"int": (201435, 6444132)}."""

    objects: int
    size: int
    types: Mapping[str, tuple[int, int]]


def missing() -> str:
    """Return the reason why heap snapshots are impossible here, with the remedy; '' if they work."""
    try:
        import guppy  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "guppy":
            return f"guppy3 cannot be loaded: {error}"
        return f"heap snapshots need guppy3, which is not installed: {_INSTALL}"
    except ImportError as error:  # PyPy, or a subinterpreter without its own lock
        return f"guppy3 cannot be loaded: {error}"
    return ""


def census() -> Census:
    """Count the reachable objects; takes about 1 us per object and blocks all other threads.

    It sets no baseline, because a baseline would hide the growth of older containers.
    """
    from guppy import hpy

    heap = hpy().heap()
    types = {row.name: (row.count, row.size) for row in heap.stat.get_rows()}
    counted = Census(objects=heap.count, size=heap.size, types=types)
    del heap  # guppy3's set of all objects would keep them alive until the next collection
    gc.collect()
    return counted


# ---- containers ----


@dataclass(slots=True, kw_only=True, eq=False)
class Owner:
    """An object that may hold tuples; `tuples` counts those it has seen, `owed` are those it must still hold.

    `owed` has a bolt's open tuples, or the pending message ids of a spout; None if unknown.
    `file` and `line` locate its class, '' for an acker.
    """

    name: str
    kind: str
    value: Any
    tuples: int = 0
    owed: Collection[Hashable] | None = None
    file: str = ""
    line: int = 0


class Container(NamedTuple):
    """An object in an owner, with the expression that leads to it: "acker._pending._buckets[0]"."""

    path: str
    value: Any
    field: str  # the owner's field at the start of the path
    depth: int
    above: int  # index of the enclosing container in the walk, -1 for none

    @property
    def first(self) -> str:
        """The path of its first entry; '' for a set, whose entries have no path."""
        return next((self.path + step for step, _ in _items(self.value)), "")


def containers(owner: Owner) -> list[Container]:
    """Return the containers in which entries accumulate, in the order of the walk.

    Among nested containers only the one with the most items counts: the bucket, not the list of buckets.
    """
    sized = dict if owner.kind == ACKER else _SIZED
    nodes = list(_walk(owner, sized))
    most = [len(node.value) if isinstance(node.value, sized) else 0 for node in nodes]
    most_inside = [0] * len(nodes)  # most items of any container inside
    for place in reversed(range(len(nodes))):
        above = nodes[place].above
        if above >= 0:
            most_inside[above] = max(most_inside[above], most[place], most_inside[place])
    found = []
    dominated = [False] * len(nodes)  # whether an enclosing container has at least as many items
    for place, node in enumerate(nodes):
        least = max(1, most[place], most_inside[place])
        dominated[place] = node.above >= 0 and (dominated[node.above] or most[node.above] >= least)
        if most[place] == least and not dominated[place]:
            found.append(node)
    return found


def _walk(owner: Owner, sized: type | tuple[type, ...]) -> Iterator[Container]:
    seen = {id(owner.value)}
    nodes = deque(
        Container(f"{owner.name}.{name}", value, name, 1, -1)
        for name, value in _attributes(owner.value)
        if name not in _SKIPPED_FIELDS
    )
    number = 0
    while nodes and number < _NODES:
        node = nodes.popleft()
        if id(node.value) in seen or _is_leaf(node.value):
            continue
        seen.add(id(node.value))
        yield node
        if node.depth < _DEPTH:
            above = number if isinstance(node.value, sized) else node.above
            attributes = ((f".{name}", value) for name, value in _attributes(node.value))
            nodes.extend(
                Container(node.path + step, value, node.field, node.depth + 1, above)
                for step, value in (*_items(node.value), *attributes)
            )
        number += 1


def _is_leaf(value: Any) -> bool:
    """Return whether the walk ends here: plain values, code, tuples, and standard library objects such as loggers."""
    if isinstance(value, _PLAIN + _CODE):
        return True
    module = type(value).__module__.partition(".")[0]
    if {*getattr(value, "__dict__", ()), *getattr(type(value), "_fields", ())} >= _TUPLE:
        return True
    return module in sys.stdlib_module_names and module not in _OPEN_MODULES


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all items, or a few of many, each with its step of the path."""
    if not isinstance(value, (dict, list, tuple, deque)):
        return
    some = None if len(value) <= _MANY else _SOME
    if isinstance(value, dict):
        yield from ((f"[{_key_text(key)}]", item) for key, item in _entries(dict.items(value), some))
    else:
        yield from ((f"[{place}]", item) for place, item in enumerate(_entries(value, some)))


def _entries(items: Iterable[Any], most: int | None = None, step: int = 1) -> list[Any]:
    """Return every `step`-th item; none if another thread changes the container meanwhile."""
    try:
        return list(islice(iter(items), 0, most, step))
    except RuntimeError:
        return []


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes in `__dict__` and slots; properties are not evaluated."""
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict):
        yield from list(fields.items())
    for cls in type(value).__mro__:
        for name, member in vars(cls).items() if cls.__module__ != "builtins" else ():
            if isinstance(member, MemberDescriptorType):
                try:
                    yield name, member.__get__(value)
                except AttributeError:  # an unset slot
                    continue


def _key_text(key: object) -> str:
    """Return a key as text of an expression; keys that are not plain values are abbreviated."""
    text = repr(key) if type(key) in (str, bytes, int, float, bool, type(None)) else f"<{type(key).__name__}>"
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 3]}..."


class Weight(NamedTuple):
    """`size` includes the container and its entries; `exact` is False if only a sample was weighed.

    `what` names the types of one entry: "int: AckObject" in a dict, "Tuple" in a list.
    """

    size: int
    exact: bool
    what: str


def weigh(container: Any, around: Collection[int]) -> Weight:
    """Weigh a container; `around` has the ids of objects that entries refer to but do not own."""
    amount = len(container)
    step = 1 if amount <= EXACT else amount // _WEIGHED
    if isinstance(container, dict):
        entries = _entries(dict.items(container), step=step)
    else:
        entries = [(item,) for item in _entries(container, step=step)]
    seen = {id(container), *around}
    reachable = (islice(_reachable(part, seen), _OBJECTS) for entry in entries for part in entry)
    held = sum(sys.getsizeof(each) for some in reachable for each in some)
    size = sys.getsizeof(container) + (held if step == 1 else round(held * amount / max(1, len(entries))))
    what = ": ".join(type(part).__name__ for part in entries[0]) if entries else ""
    return Weight(size, step == 1, what)


def _reachable(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the objects reachable from here that are not in `seen`."""
    edge = [value]
    while edge:
        node = edge.pop()
        if id(node) in seen or isinstance(node, _SHARED) or (type(node) is int and node in _SMALL_INTS):
            continue
        seen.add(id(node))
        yield node
        edge.extend(gc.get_referents(node))


# ---- snapshots ----


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Holding:
    """A container of a component; `size` is in bytes with all entries, `exact` is False if sampled.

    `tuples` counts the tuples the component had seen, `owed` those it must still hold (None: unknown).  `open` counts
    the open tuples in the field where the path begins.
    """

    component: str
    kind: str
    path: str
    field: str  # the component's field at the start of the path
    entries: int
    size: int
    exact: bool = True
    what: str = ""
    first: str = ""  # the path of its first entry
    tuples: int = 0
    owed: int | None = None
    open: int = 0
    file: str = ""  # the location of the component's class
    line: int = 0

    @property
    def each(self) -> int:
        """Bytes per entry, including its share of the container."""
        return round(self.size / self.entries) if self.entries else 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class AckerMap:
    """The entries of an acker's map; `tuples` counts the roots begun so far, `roots` samples those left."""

    component: str
    tracked: int = 0
    orphans: int = 0
    tuples: int = 0
    roots: tuple[int, ...] = ()

    @property
    def entries(self) -> int:
        """The number of all entries."""
        return self.tracked + self.orphans


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Snapshot:
    """One snapshot; `label` names its time: "start", "2,048 pending", "end".

    The `census` counts the whole heap, which is slow in a large process; None if not requested.
    """

    label: str
    census: Census | None
    holdings: tuple[Holding, ...] = ()
    ackers: tuple[AckerMap, ...] = ()

    def entries(self, path: str) -> int:
        """Return the number of entries of the container at a path; 0 if there is none."""
        return sum(holding.entries for holding in self.holdings if holding.path == path)


def take(label: str, known: Iterable[Owner], count: Callable[[], Census | None] = census) -> Snapshot:
    """Take a snapshot of the known owners; `count` counts the whole heap."""
    holdings: list[Holding] = []
    ackers: list[AckerMap] = []
    for owner in known:
        holdings += _holdings(owner)
        if owner.kind == ACKER:
            ackers.append(_acker(owner))
    return Snapshot(label=label, census=count(), holdings=tuple(holdings), ackers=tuple(ackers))


def _holdings(owner: Owner) -> Iterator[Holding]:
    owed = owner.owed
    fields = (
        Counter(fields_holding(owner.value, owed).values()) if owed and owner.kind != ACKER else Counter()
    )
    for container in containers(owner):
        weight = weigh(container.value, {id(owner.value)})
        yield Holding(
            component=owner.name,
            kind=owner.kind,
            path=container.path,
            field=container.field,
            entries=len(container.value),
            size=weight.size,
            exact=weight.exact,
            what=weight.what,
            first=container.first,
            tuples=owner.tuples,
            owed=None if owed is None else len(owed),
            open=fields[container.field],
            file=owner.file,
            line=owner.line,
        )


def _acker(owner: Owner) -> AckerMap:
    amounts: Counter[bool] = Counter()  # by "is an orphan"
    roots: dict[bool, list[int]] = {False: [], True: []}
    for entry in owner.value.pending():
        orphan = entry.task is None
        amounts[orphan] += 1
        if len(roots[orphan]) < _SAMPLES:
            roots[orphan].append(entry.root)
    return AckerMap(
        component=owner.name,
        tracked=amounts[False],
        orphans=amounts[True],
        tuples=owner.tuples,
        roots=tuple([*roots[False], *roots[True]][:_SAMPLES]),
    )


class SnapshotSeries:
    """The snapshots of a process; keeps no component alive.

    `known` returns the owners for each snapshot, `count` counts the whole heap.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[Owner]],
        first_mark: int = _FIRST_MARK,
        count: Callable[[], Census] = census,
    ) -> None:
        self.snapshots: list[Snapshot] = []
        self._known = known
        self._count = count
        self._mark = first_mark
        self._busy = False

    def take(self, label: str, count: Callable[[], Census | None] | None = None) -> Snapshot:
        """Take a snapshot now; `count` overrides the series' own setting."""
        self._busy = True
        try:
            self.snapshots.append(take(label, self._known(), count or self._count))
        finally:
            self._busy = False
        return self.snapshots[-1]

    def count(self, count: Callable[[], Census | None]) -> None:
        """Add a count of the whole heap to the last snapshot."""
        self.snapshots[-1] = replace(self.snapshots[-1], census=count())

    def look(self, pending: int) -> Snapshot | None:
        """Take a snapshot if `pending` reaches a new mark; else this is cheap."""
        if pending < self._mark or self._busy:
            return None
        while self._mark <= pending:
            self._mark *= 2
        return self.take(f"{pending:,} pending")


# ---- snapshots of a traced process ----


def components(ledger: Ledger) -> Iterator[Owner]:
    """Yield each live component, with its number of tuples and, for a bolt, its open tuples.

    Tuples that the framework buffers and will complete itself are not open.
    """
    for record in tuple(ledger.records.values()):
        if not isinstance(record, LiveRecord):
            continue
        spout = record.role.kind is Kind.SPOUT
        owed: list[Hashable] = [] if spout else [delivery for delivery, _ in record.overdue()]
        if owed and record.buffers:
            held = record.held(owed)
            owed = [delivery for delivery in owed if held.get(delivery) not in record.buffers]
        traced = record.traced_now
        yield Owner(
            name=type(record.component).__name__,
            kind=SPOUT if spout else BOLT,
            value=record.component,
            tuples=record.emits if spout else record.entry - record.ticks_seen,
            owed=None if spout else owed,
            file=traced.path,
            line=traced.line,
        )


def attach(ledger: Ledger, folder: Path) -> None:
    """Take and save snapshots from the first component to the end of the process; without guppy3 write a notice."""
    if why := missing():
        sys.stderr.write(f"ackdoctor: {sys.executable} (pid {os.getpid()}): {why}\n")
        return
    series = SnapshotSeries(partial(components, ledger))

    def keep() -> None:
        try:
            save(series.snapshots, folder / name_of(os.getpid()))
        except OSError as error:
            sys.stderr.write(f"ackdoctor: no heap snapshots: {error}\n")

    def look(pending: int) -> None:
        if not series.snapshots:
            series.take("start")
            keep()
        elif series.look(pending) is not None:
            keep()

    def end() -> None:
        if ledger.records:
            ledger.growing = None
            series.take(LAST)
            keep()

    ledger.growing = look
    at_exit(end)


def name_of(pid: int) -> str:
    """Return the file name for a process; readers of traces ignore names that begin with an underscore."""
    return f"_heap-{pid}.json"


def files(folder: Path) -> Iterator[Path]:
    """Yield the snapshot files below a directory, sorted."""
    yield from sorted(folder.rglob("_heap-*.json"))


def save(snapshots: Sequence[Snapshot], file: Path) -> None:
    """Write the snapshots atomically; raise OSError if that fails."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(
        f".{os.urandom(8).hex()}.draft"
    )  # unpredictable, so no prepared link is followed
    draft.write_text(json.dumps([asdict(snapshot) for snapshot in snapshots]), encoding="utf-8")
    draft.replace(file)


def load(file: Path) -> tuple[Snapshot, ...]:
    """Load snapshots; raise ValueError for an invalid file, OSError for an unreadable one."""
    try:
        return tuple(_snapshot(row) for row in json.loads(file.read_text(encoding="utf-8")))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file}: no heap snapshots: {error}") from None


def _snapshot(row: dict[str, Any]) -> Snapshot:
    counted = row["census"]
    if counted is not None:
        counted = Census(
            **{**counted, "types": {name: tuple(each) for name, each in counted["types"].items()}}
        )
    return Snapshot(
        label=str(row["label"]),
        census=counted,
        holdings=tuple(Holding(**each) for each in row["holdings"]),
        ackers=tuple(AckerMap(**{**each, "roots": tuple(each["roots"])}) for each in row["ackers"]),
    )
