"""Operators of the abstract interpreter on values: arithmetic, truth and comparisons; what is not known stays open."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from ackdoctor.model.cfg import ClassInfo
from ackdoctor.model.topology import Gap
from ackdoctor.topology.library_calls import MISSING, concatenated, new_list
from ackdoctor.topology.objects import Code, Data, Obj, Ref

ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: one // other if isinstance(one, int) and isinstance(other, int) else one / other,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
}
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MAX_BITS = 4096  # of a number; a larger one is not computed


def arithmetic(op: str, one: Data, other: Data) -> Data:
    """The result of an operator on two values; MISSING if it is not known."""
    if op == "+" and (isinstance(one, str) or isinstance(other, str)):
        return concatenated((one, other))
    if op == "%" and isinstance(one, str):
        parts = other.content if isinstance(other, Obj) else (other,)
        known = isinstance(parts, (list, tuple)) and all(
            isinstance(each, (str, int, float)) for each in parts
        )
        return _attempt(operator.mod, one, tuple(parts)) if known and parts is not None else MISSING
    if op == "+" and isinstance(one, Obj) and isinstance(other, Obj):
        if isinstance(one.content, list) and isinstance(other.content, list):
            return new_list([*one.content, *other.content], one.kind, is_open=one.open or other.open)
        return MISSING
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return MISSING
    sizes = (abs(each) for each in (one, other) if isinstance(each, int))
    if any(size.bit_length() > _MAX_BITS for size in sizes) or (op == "<<" and other > _MAX_BITS):
        return MISSING
    return _attempt(ARITHMETIC[op], one, other)


def _attempt(call: Callable[[Any, Any], Any], one: Any, other: Any) -> Data:
    try:
        result: Data = call(one, other)
    except (ArithmeticError, TypeError, ValueError):
        result = MISSING
    return result


def truth(data: Data) -> bool | None:
    """The truth of a value, or None if it is not decided."""
    match data:
        case None | bool() | int() | float() | str() | bytes():
            return bool(data)
        case Obj(content=list() | dict() as content, kind=kind) if kind:
            return True if content else None if data.open else False
        case Obj(made=None):
            return None if data.given else True
        case Obj(cls=ClassInfo()):
            return True
        case Ref(cls=ClassInfo()) | Code():
            return True
        case _:
            return None


def _is_null(data: Data) -> bool | None:
    match data:
        case None:
            return True
        case Gap():
            return None
        case Obj(given=True):
            return False
        case Obj(cls=None, made=made) if made is not None and not made.name[:1].isupper():
            return None  # the result of an unknown function
        case Ref(cls=None):
            return None
        case _:
            return False


def compared(left: Data, op: str, right: Data) -> bool | None:
    """The result of a comparison, or None if it is not decided."""
    if right is None and op in ("is", "is not", "==", "!="):
        null = _is_null(left)
        return None if null is None else null is (op in ("is", "=="))
    if op in ("in", "not in"):
        found = _is_in(left, right)
        return None if found is None else found is (op == "in")
    if op in ("==", "!=", "is", "is not"):
        same = _same(left, right)
        return None if same is None else same is (op in ("==", "is"))
    known = (bool, int, float, str)
    if not isinstance(left, known) or not isinstance(right, known):
        return None
    try:
        result: bool = _ORDER[op](left, right)
    except (TypeError, KeyError):
        return None
    return result


def _same(left: Data, right: Data) -> bool | None:
    constants = (bool, int, float, str, bytes)
    if isinstance(left, constants) and isinstance(right, constants):
        return left == right
    if isinstance(left, Obj) and isinstance(right, Obj):
        return left is right if (left.constant and right.constant) or left is right else None
    if isinstance(left, Ref) and isinstance(right, Ref):
        return True if left == right else False if left.cls and right.cls else None
    if isinstance(left, Obj) and left.constant and isinstance(right, str):
        return left.constant == right
    if left is None or right is None:
        other = right if left is None else left
        return _is_null(other)
    return None


def _is_in(item: Data, collection: Data) -> bool | None:
    if isinstance(item, str) and isinstance(collection, str):
        return item in collection
    if not isinstance(collection, Obj) or collection.content is None:
        return None
    if not isinstance(item, (bool, int, float, str)):
        return None
    if item in collection.content:
        return True
    return None if collection.open or any(isinstance(each, Gap) for each in collection.content) else False
