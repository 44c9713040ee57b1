"""Find the containers that a component or acker keeps, with their paths and sizes in bytes."""

import gc
import sys
from collections import deque
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

__all__ = ["ACKER", "BOLT", "EXACT", "SPOUT", "Container", "Holder", "Weight", "containers", "weigh"]


ACKER, BOLT, SPOUT = "acker", "bolt", "spout"

_NODES = 5_000  # objects visited for one holder
_DEPTH = 8
_MANY, _SOME = 64, 3  # a container with more than _MANY items is sampled: _SOME items
_LONGEST_KEY = 40
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), range)
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType)
_SKIPPED_FIELDS = frozenset(
    {"context", "storm_conf", "conf", "delegate"}
)  # of the handshake, and heronpy internals
_OPEN_MODULES = frozenset({"collections", "queue", "builtins"})  # standard library modules with containers
_SEQUENCES = (list, tuple, deque)
_SIZED = (dict, list, set, deque)
# fields of a tuple in every framework; a tuple contains no buffer
_TUPLE = frozenset({"id", "component", "stream", "task"})
EXACT = 10_000  # entries that are all weighed; larger containers are sampled
_SAMPLE = 1_000
_OBJECTS = 200  # objects that one entry may own
_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, type(None), bool)
_SMALL_INTS = range(-5, 257)  # CPython shares these ints


@dataclass(slots=True, kw_only=True, eq=False)
class Holder:
    """An object that may hold tuples; `tuples` counts those it has seen, `owed` are those it must still hold.

    `owed` has a bolt's open tuples, or the pending message ids of a spout; None if unknown.
    `file` and `line` locate its class, '' for an acker.
    """

    name: str
    kind: str
    holder: Any
    tuples: int = 0
    owed: Collection[Hashable] | None = None
    file: str = ""
    line: int = 0


class Container(NamedTuple):
    """A container of a holder, with the expression that leads to it: "acker._pending._buckets[0]"."""

    path: str
    value: Any
    field: str  # the holder's field at the start of the path

    @property
    def first(self) -> str:
        """The path of its first entry; '' for a set, whose entries have no path."""
        return next((self.path + step for step, _ in _items(self.value)), "")


class _Node(NamedTuple):
    value: Any
    path: str
    field: str
    depth: int
    above: int  # index of the enclosing container, -1 for none


def containers(holder: Holder) -> list[Container]:
    """Return the containers in which entries accumulate, in the order of the walk.

    Among nested containers only the one with the most items counts: the bucket, not the list of buckets.
    """
    sized = dict if holder.kind == ACKER else _SIZED
    nodes = list(_walk(holder, sized))
    most = [len(node.value) if isinstance(node.value, sized) else 0 for node in nodes]
    most_inside = [0] * len(nodes)  # most items of any container inside
    for place in reversed(range(len(nodes))):
        above = nodes[place].above
        if above >= 0:
            most_inside[above] = max(most_inside[above], most[place], most_inside[place])
    found = []
    dominated = [False] * len(nodes)  # whether an enclosing container has at least as many items
    for place, node in enumerate(nodes):
        above = node.above
        dominated[place] = above >= 0 and (
            dominated[above] or most[above] >= max(1, most[place], most_inside[place])
        )
        if most[place] and most_inside[place] <= most[place] and not dominated[place]:
            found.append(Container(node.path, node.value, node.field))
    return found


def _walk(holder: Holder, sized: type | tuple[type, ...]) -> Iterator[_Node]:
    seen = {id(holder.holder)}
    nodes = deque(
        _Node(value, f"{holder.name}.{name}", name, 1, -1)
        for name, value in _attributes(holder.holder)
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
            nodes.extend(
                _Node(value, node.path + step, node.field, node.depth + 1, above)
                for step, value in _steps(node.value)
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


def _steps(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects directly inside, each with its step of the path."""
    yield from _items(value)
    for name, item in _attributes(value):
        yield f".{name}", item


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in _first_items(dict.items(value), len(value)):
            yield f"[{_key_text(key)}]", item
    elif isinstance(value, _SEQUENCES):
        for place, item in enumerate(_first_items(value, len(value))):
            yield f"[{place}]", item


def _first_items(items: Any, amount: int) -> list[Any]:
    """Return all items, or a few of many; none if another thread changes the container meanwhile."""
    try:
        return list(islice(iter(items), _SOME if amount > _MANY else None))
    except RuntimeError:
        return []


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes in `__dict__` and slots; properties are not evaluated."""
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict):
        yield from list(fields.items())
    for cls in type(value).__mro__:
        if cls.__module__ == "builtins":
            continue
        for name, member in vars(cls).items():
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
    step = 1 if amount <= EXACT else amount // _SAMPLE
    entries = _entries(container, step)
    seen = {id(container), *around}
    held = sum(_bytes(part, seen) for entry in entries for part in entry)
    own = sys.getsizeof(container)
    size = own + (held if step == 1 else round(held * amount / max(1, len(entries))))
    what = ": ".join(type(part).__name__ for part in entries[0]) if entries else ""
    return Weight(size, step == 1, what)


def _entries(container: Any, step: int) -> list[tuple[Any, ...]]:
    """Return every `step`-th entry; none if another thread changes the container meanwhile."""
    try:
        if isinstance(container, dict):
            return list(islice(iter(dict.items(container)), 0, None, step))
        return [(item,) for item in islice(iter(container), 0, None, step)]
    except RuntimeError:
        return []


def _bytes(value: Any, seen: set[int]) -> int:
    """Return the bytes of all objects reachable from here that are not in `seen`."""
    return sum(sys.getsizeof(each) for each in islice(_reachable(value, seen), _OBJECTS))


def _reachable(value: Any, seen: set[int]) -> Iterator[Any]:
    edge = [value]
    while edge:
        node = edge.pop()
        if id(node) in seen or isinstance(node, _SHARED) or (type(node) is int and node in _SMALL_INTS):
            continue
        seen.add(id(node))
        yield node
        edge.extend(gc.get_referents(node))
