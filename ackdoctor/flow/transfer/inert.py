"""Helpers that cannot matter: they neither see a tuple nor a collector, and change nothing that is known.

A method of the component that only computes (`String key = keyOf(url)`) is not looked into: what it leads to makes no
call of the framework, hands over no code, raises and catches nothing itself and touches no field that holds a tuple.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ackdoctor.flow.path.context import Context
from ackdoctor.flow.path.lattice import (
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
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Compare,
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

__all__ = ["about_locals", "inert"]


class _Reach(NamedTuple):
    """What a function leads to: whether it may matter by itself, and the fields it touches."""

    active: bool
    fields: frozenset[str]


_ACTIVE = _Reach(active=True, fields=frozenset())
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


def _reach(context: Context, function: Function) -> _Reach:
    known = context.reaches.get(id(function))
    if isinstance(known, _Reach):
        return known
    context.reaches[id(function)] = _Reach(active=False, fields=frozenset())  # while it is being looked at
    found = context.reaches[id(function)] = _look(context, function)
    return found


def _look(context: Context, function: Function) -> _Reach:
    if function.closures:
        return _ACTIVE
    verbs = {verb.name for verb in context.verbs()}
    own = function.params[0].name if function.params and function.binding == "instance" else ""
    fields: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Throw() | Catch():
                return _ACTIVE
            case Call(func=Attr(obj=obj, name=name)):
                if name in verbs or obj == Global("super"):
                    return _ACTIVE
                fields |= _fields(obj, own)
                callees = _callees(context, name) if obj == Name(own) else ()
                for callee in callees:
                    inner = _reach(context, callee)
                    if inner.active:
                        return _ACTIVE
                    fields |= inner.fields
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
    return _Reach(active=False, fields=frozenset(fields))


def _callees(context: Context, name: str) -> tuple[Function, ...]:
    return tuple(
        function
        for cls in context.component.lineage
        for function in cls.overloads.get(name, (cls.methods[name],) if name in cls.methods else ())
    )


def _fields(expr: Expr, own: str) -> set[str]:
    while isinstance(expr, (Attr, Item)):
        if isinstance(expr, Attr) and expr.obj == Name(own):
            return {expr.name}
        expr = expr.obj
    return set()


def about_locals(facts: Mapping[Expr, bool]) -> Mapping[Expr, bool]:
    """Facts about locals survive a helper call; what a field or a module's name holds may have changed in it."""
    return {fact: truth for fact, truth in facts.items() if not _reads_field(fact)}


def _reads_field(expr: Expr) -> bool:
    match expr:
        case Attr(name=name) | Global(id=name):
            return not name.isupper()  # a constant stays what it is
        case Item():
            return True
        case Compare(left=left, right=right):
            return _reads_field(left) or _reads_field(right)
        case Mix(op="call", parts=(Attr(obj=asked), *given)):
            return any(map(_reads_field, (asked, *given)))
        case Mix(parts=parts):
            return any(map(_reads_field, parts))
        case IsType(value=value) | Not(value=value):
            return _reads_field(value)
        case _:
            return False
