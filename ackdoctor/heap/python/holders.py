"""What a known holder of tuples keeps, by which path, and how many bytes."""

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

_NODES = 5_000  # objects looked at for one holder
_DEPTH = 8
_MANY, _SOME = 64, 3  # of a container with more items than that, so many are looked at
_LONGEST_KEY = 40
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), range)
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType)
_TOLD = frozenset({"context", "storm_conf", "conf", "delegate"})  # the handshake's, and heronpy's machinery
_OPEN_MODULES = frozenset(
    {"collections", "queue", "builtins"}
)  # of the standard library: what may hold tuples
_SEQUENCES = (list, tuple, deque)
_SIZED = (dict, list, set, deque)
_TUPLE = frozenset(
    {"id", "component", "stream", "task"}
)  # what every framework's tuple has; nothing in it is a buffer


@dataclass(slots=True, kw_only=True, eq=False)
class Holder:
    """An object that may hold tuples: `tuples` is how many it has seen so far, `owed` those it must still hold.

    `owed` are a bolt's open deliveries, or the ids of the messages that a spout waits for; None if unknown.
    `file` and `line` are where its class begins, '' for an acker.
    """

    name: str
    kind: str
    holder: Any
    tuples: int = 0
    owed: Collection[Hashable] | None = None
    file: str = ""
    line: int = 0


class Container(NamedTuple):
    """A container that a holder keeps, with the expression that leads to it: "acker._pending._buckets[0]"."""

    path: str
    value: Any
    field: str  # the holder's own, where the path begins

    @property
    def first(self) -> str:
        """The path of its first entry; '' in a set, whose entries have none."""
        return next((self.path + step for step, _ in _items(self.value)), "")


class _Node(NamedTuple):
    value: Any
    path: str
    field: str
    depth: int
    above: int  # the place of the container around it, -1 for none


def containers(holder: Holder) -> list[Container]:
    """The containers where entries pile up, in the order in which they are met.

    Of containers in containers that is the one with the most items: the bucket, not the list of buckets.
    """
    sized = dict if holder.kind == ACKER else _SIZED
    nodes = list(_walked(holder, sized))
    most = [len(node.value) if isinstance(node.value, sized) else 0 for node in nodes]
    within = [0] * len(nodes)  # the most items of any container below
    for place in reversed(range(len(nodes))):
        above = nodes[place].above
        if above >= 0:
            within[above] = max(within[above], most[place], within[place])
    found = []
    beaten = [False] * len(nodes)  # whether a container around it has as many items
    for place, node in enumerate(nodes):
        above = node.above
        beaten[place] = above >= 0 and (beaten[above] or most[above] >= max(1, most[place], within[place]))
        if most[place] and within[place] <= most[place] and not beaten[place]:
            found.append(Container(node.path, node.value, node.field))
    return found


def _walked(holder: Holder, sized: type | tuple[type, ...]) -> Iterator[_Node]:
    seen = {id(holder.holder)}
    nodes = deque(
        _Node(value, f"{holder.name}.{name}", name, 1, -1)
        for name, value in _attributes(holder.holder)
        if name not in _TOLD
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
    """What is no place for tuples: plain values, code, and objects of the standard library such as loggers."""
    if isinstance(value, _PLAIN + _CODE):
        return True
    module = type(value).__module__.partition(".")[0]
    if {*getattr(value, "__dict__", ()), *getattr(type(value), "_fields", ())} >= _TUPLE:
        return True
    return module in sys.stdlib_module_names and module not in _OPEN_MODULES


def _steps(value: Any) -> Iterator[tuple[str, Any]]:
    """The objects one step further in, each with the text of the step."""
    yield from _items(value)
    for name, item in _attributes(value):
        yield f".{name}", item


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in _few(dict.items(value), len(value)):
            yield f"[{_shown(key)}]", item
    elif isinstance(value, _SEQUENCES):
        for place, item in enumerate(_few(value, len(value))):
            yield f"[{place}]", item


def _few(items: Any, amount: int) -> list[Any]:
    """At most so many of them; those of another thread's container may change under our hands."""
    try:
        return list(islice(iter(items), _SOME if amount > _MANY else None))
    except RuntimeError:
        return []


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Of an instance, in its `__dict__` or in slots; no property is run."""
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


def _shown(key: object) -> str:
    """A key as text of an expression; other than plain keys are abbreviated."""
    text = repr(key) if type(key) in (str, bytes, int, float, bool, type(None)) else f"<{type(key).__name__}>"
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 3]}..."


EXACT = 10_000  # entries of which each is weighed; of more, a thousand
_SAMPLE = 1_000
_OBJECTS = 200  # that one entry may bring along
_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, type(None), bool)
_SMALL_INTS = range(-5, 257)  # CPython keeps one of each


class Weight(NamedTuple):
    """`size` is that of the container with its entries; `exact` is False if only some were weighed.

    `what` names the types of one of them: "int: AckObject" in a dict, "Tuple" in a list.
    """

    size: int
    exact: bool
    what: str


def weigh(container: Any, around: Collection[int]) -> Weight:
    """The weight of a container; `around` are ids of objects that entries may refer to, and do not own."""
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
    """Every so many of them; none of a container that another thread is changing."""
    try:
        if isinstance(container, dict):
            return list(islice(iter(dict.items(container)), 0, None, step))
        return [(item,) for item in islice(iter(container), 0, None, step)]
    except RuntimeError:
        return []


def _bytes(value: Any, seen: set[int]) -> int:
    """What is reached from here and was not seen before."""
    return sum(sys.getsizeof(each) for each in islice(_reached(value, seen), _OBJECTS))


def _reached(value: Any, seen: set[int]) -> Iterator[Any]:
    edge = [value]
    while edge:
        node = edge.pop()
        if id(node) in seen or isinstance(node, _SHARED) or (type(node) is int and node in _SMALL_INTS):
            continue
        seen.add(id(node))
        yield node
        edge.extend(gc.get_referents(node))
