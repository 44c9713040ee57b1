"""Where open tuples are: in which field of a component, or in what it has given away.  Walks are bounded."""

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any

__all__ = ["NODES", "holders", "tuples_in"]

NODES = 20_000  # objects looked at per component
_DEPTH = 5  # containers within containers
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type, range)
_TOLD = frozenset({"context", "storm_conf", "conf"})  # by the handshake: its task ids look like deliveries
_FRAMEWORK = frozenset({"delegate"})  # heronpy's: it remembers all that went through it
_MOCKS = frozenset({"_mock_call_args_list", "call_args_list"})  # fields of what remembers its calls
_CONTAINERS = (list, tuple, set, frozenset, deque)


def holders(
    component: object, wanted: Collection[Hashable], besides: Collection[str] = (), *, ids: bool = False
) -> dict[Hashable, str]:
    """For each delivery in `wanted` whose tuple a field holds, the field: "pending"; not one of `besides`.

    With `ids` a field that holds the bare id counts as well: a number or a text may also be a value of the author's.
    """
    found: dict[Hashable, str] = {}
    budget = NODES
    for field, value in list(getattr(component, "__dict__", {}).items()):
        if field in _TOLD or field in _FRAMEWORK or field in besides:
            continue
        seen: set[int] = {id(component)}
        edge: list[tuple[Any, int]] = [(value, 0)]
        while edge and budget > 0 and len(found) < len(wanted):
            node, depth = edge.pop()
            budget -= 1
            delivery = _delivery(node, wanted, ids=ids)
            if delivery is not None:
                found.setdefault(delivery, field)
            elif depth < _DEPTH and not isinstance(node, _PLAIN) and id(node) not in seen:
                seen.add(id(node))
                edge.extend((inner, depth + 1) for inner in _inside(node))
    return found


def tuples_in(given: Any, wanted: Collection[Hashable]) -> Iterator[Hashable]:
    """The deliveries in `wanted` whose tuples a call was given, in containers, partials and closures too; an id alone is none."""
    seen: set[int] = set()
    edge: list[tuple[Any, int]] = [(given, 0)]
    while edge and len(seen) < NODES:
        node, depth = edge.pop()
        if _has_id(node):
            if isinstance(node.id, Hashable) and _is_in(node.id, wanted):
                yield node.id
        elif depth < _DEPTH and id(node) not in seen:
            seen.add(id(node))
            edge.extend((inner, depth + 1) for inner in _carried(node))


def _carried(node: Any) -> Iterable[Any]:
    """What comes along with an argument, and is nobody's field."""
    if isinstance(node, dict):
        return dict.values(node)
    if isinstance(node, _CONTAINERS):
        return list(node)
    if isinstance(node, partial):
        return (node.func, node.args, node.keywords)
    if isinstance(node, FunctionType):
        cells = node.__closure__ or ()
        return [*(node.__defaults__ or ()), *(cell.cell_contents for cell in cells if _is_filled(cell))]
    return ()


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # its variable has no value yet
        return False


def _delivery(node: Any, wanted: Collection[Hashable], *, ids: bool) -> Hashable:
    """The delivery that a node is: a tuple by its id, or with `ids` the id itself."""
    if _has_id(node):
        key = node.id
    elif ids or not isinstance(node, _PLAIN):  # a test's stand-in for a tuple may be its own id
        key = node
    else:
        return None
    return key if isinstance(key, Hashable) and _is_in(key, wanted) else None


def _is_in(key: Hashable, wanted: Collection[Hashable]) -> bool:
    try:
        return key is not None and key in wanted
    except TypeError:  # a tuple with a list in it
        return False


def _has_id(node: Any) -> bool:
    """Whether `node.id` is a plain attribute: a property of the author's is not for us to run."""
    return (
        "id" in getattr(node, "__dict__", ())
        or "id" in getattr(type(node), "_fields", ())
        or ("id" in getattr(type(node), "__slots__", ()))
    )


def _inside(node: Any) -> Iterable[Any]:
    if isinstance(node, Mapping) and isinstance(node, dict):
        return [*dict.keys(node), *dict.values(node)]
    if isinstance(node, _CONTAINERS):
        return list(node)
    if hasattr(type(node), "call_args_list"):  # what a mock remembers is no buffer
        return ()
    fields = getattr(node, "__dict__", None)
    if not isinstance(fields, dict) or not _MOCKS.isdisjoint(fields):
        return ()
    return list(fields.values())
