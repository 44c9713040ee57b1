"""Helpers that cannot matter: they neither see a tuple nor a collector, and change nothing that is known.

A method of the component that only computes (`String key = keyOf(url)`) is not looked into: what it leads to makes no
call of the framework, hands over no code, raises and catches nothing itself and touches no field that holds a tuple.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ackdoctor.flow import aliases
from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.library import LOGGING, NO_RAISE
from ackdoctor.flow.predicates import is_field
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    FunctionRef,
    Handle,
    Instance,
    Partial,
    SelfRef,
    State,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.declared import declared_field
from ackdoctor.flow.transfer.fields import ANY, callees
from ackdoctor.flow.transfer.told import only_told
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Global,
    IsType,
    Item,
    Mix,
    Name,
    Not,
    Return,
    Throw,
)
from ackdoctor.model.component import Function

__all__ = ["about_locals", "fails", "inert"]


class _Reach(NamedTuple):
    """What a function leads to: whether it may matter by itself, the fields it touches, and whether it may raise."""

    active: bool
    fields: frozenset[str]
    fails: bool


_ACTIVE = _Reach(active=True, fields=frozenset(), fails=True)
_SEEN = (SelfRef, FunctionRef, BoundMethod, Partial, Batch, Instance)


def inert(context: Context, state: State, function: Function, values: tuple[Value | None, ...]) -> bool:
    """Whether a call of this function with these arguments can be passed over."""
    for value in values:
        if isinstance(value, _SEEN) or any(tokens_in(value)):
            return False
        if isinstance(value, Handle) and value.kind != "tuple":
            return False
    reach = _reach(context, function)
    if reach.active:
        return False
    return not any(field in context.held or field in state.fields for field in reach.fields)


def fails(context: Context, function: Function) -> bool:
    """Whether a helper that is passed over may raise: one that only gives a field, or writes a log line, does not."""
    return _reach(context, function).fails


def _reach(context: Context, function: Function) -> _Reach:
    known = context.reaches.get(id(function))
    if isinstance(known, _Reach):
        return known
    context.reaches[id(function)] = _Reach(
        active=False, fields=frozenset(), fails=False
    )  # while it is being looked at
    found = context.reaches[id(function)] = _look(context, function)
    return found


def _look(context: Context, function: Function) -> _Reach:
    if function.closures:
        return _ACTIVE
    own = function.params[0].name if function.params and function.binding == "instance" else ""
    fields: set[str] = set()
    raising = _raising(function)
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Throw() | Catch():
                return _ACTIVE
            case Call(func=Attr(obj=obj, name=name)):
                if name in context.verb_names or obj == Global("super"):
                    return _ACTIVE
                fields |= _fields(obj, own)
                helpers = callees(context, name) if obj == Name(own) else ()
                for callee in helpers:
                    inner = _reach(context, callee)
                    if inner.active:
                        return _ACTIVE
                    fields |= inner.fields
                if helpers and not any(_reach(context, callee).fails for callee in helpers):
                    raising.discard(index)
            case Call(func=Global(id="super")):
                return _ACTIVE
            case Call(args=args) if any(isinstance(arg.value, Closure) for arg in args):
                return _ACTIVE
            case Return(value=Attr() as value):
                returned = _fields(value, own)
                if any(declared_field(context, field) is not None for field in returned):
                    return _ACTIVE  # a getter of the collector
                fields |= returned
            case Bind(target=target, value=value):
                fields |= _fields(target, own) | _fields(value, own)
            case _:
                pass
    return _Reach(active=False, fields=frozenset(fields), fails=bool(raising))


def _raising(function: Function) -> set[int]:
    """The steps that may raise, as far as their own words tell."""
    found: set[int] = set()
    for index, step in enumerate(function.cfg.steps):
        if any(edge.kind is EdgeKind.RAISE for edge in step.edges) and index not in only_told(function):
            word = last_name(step.op.func) if isinstance(step.op, Call) else ""
            if word not in LOGGING and word not in NO_RAISE:
                found.add(index)
    return found


def _fields(expr: Expr, own: str) -> set[str]:
    while isinstance(expr, (Attr, Item)):
        if isinstance(expr, Attr) and expr.obj == Name(own):
            return {expr.name}
        expr = expr.obj
    return set()


def about_locals(facts: Mapping[Expr, bool], fields: frozenset[str]) -> Mapping[Expr, bool]:
    """Facts about locals survive a helper call, and those about fields that it cannot change; what a module's name holds may have changed in it."""
    return {fact: truth for fact, truth in facts.items() if not _reads_field(fact, fields)}


def _reads_field(expr: Expr, fields: frozenset[str]) -> bool:
    match expr:
        case Compare(op=aliases.ALSO):
            return False
        case Attr(name=name) if is_field(expr) and ANY not in fields:
            return name in fields
        case Attr(name=name) | Global(id=name):
            return not name.isupper()  # a constant stays what it is
        case Item():
            return True
        case Compare(left=left, right=right):
            return _reads_field(left, fields) or _reads_field(right, fields)
        case Mix(op="call", parts=(Attr(obj=asked), *given)):
            return any(_reads_field(each, fields) for each in (asked, *given))
        case Mix(parts=parts):
            return any(_reads_field(part, fields) for part in parts)
        case IsType(value=value) | Not(value=value):
            return _reads_field(value, fields)
        case _:
            return False
