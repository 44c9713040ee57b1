"""How many bytes the entries of a container take, each with all that it alone brings along."""

import gc
import sys
from collections.abc import Collection, Iterator
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

__all__ = ["EXACT", "Weight", "weigh"]

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
