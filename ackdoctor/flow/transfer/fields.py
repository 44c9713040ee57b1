"""Which fields of the component a helper may give another value, or change what is in them: of all others a path knows what it knew.

What a helper calls out of sight is taken to leave them alone but for the code that it is given, as where the handler itself calls it; a helper that hands out the
component, or calls a method or a function that nobody can look into, may change any.
"""

from collections.abc import Iterator

from ackdoctor.flow.aliases import closures, place
from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import last_name, subexpressions
from ackdoctor.flow.induction import targets_of
from ackdoctor.flow.invalidation import reopen
from ackdoctor.flow.library import LOGGING
from ackdoctor.flow.predicates import OWN, READERS, is_field, leaves_alone, unchanging
from ackdoctor.flow.state import BoundMethod, Coll, FunctionRef, Partial, State, Value
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.model.cfg import Attr, Bind, Call, Closure, Expr, Global, Instr, Item, Name
from ackdoctor.model.component import Function

__all__ = ["ANY", "by_given_code", "callees", "changed_fields"]

ANY = "*"  # among the fields: no one knows which


def changed_fields(context: Context, function: Function) -> frozenset[str]:
    """The fields that a function, and what it calls of the component, may change; `ANY` among them where that is open."""
    known = context.changes.get(id(function))
    if known is None:
        context.changes[id(function)] = frozenset({ANY})  # while it is being looked at
        found = frozenset(
            name
            for each in function.tree()
            for step in each.cfg.steps
            for name in _by(context, each, step.op)
        )
        known = context.changes[id(function)] = frozenset({ANY}) if ANY in found else found
    return known


def by_given_code(context: Context, function: Function, state: State, call: Call) -> State:
    """The state behind a call out of sight: what the methods and closures that it is given change of the fields may be changed by now."""
    if not call.args or not (state.facts or state.fields):
        return state
    given = (
        evaluate(context, function, state, arg.value)
        for arg in call.args
        if isinstance(arg.value, (Attr, Closure, Name))
    )
    fields = frozenset(
        name for value in given for each in _code(context, value) for name in changed_fields(context, each)
    )
    if not fields or ANY in fields:
        return state
    stale = [fact for fact in state.facts if any(_is_one(part, fields) for part in subexpressions(fact))]
    known = {name: value for name, value in state.fields.items() if name not in fields}
    state = reopen(state, stale)
    return state.but(fields=known) if len(known) < len(state.fields) else state


def _is_one(expr: Expr, fields: frozenset[str]) -> bool:
    return isinstance(expr, Attr) and is_field(expr) and expr.name in fields


def _code(context: Context, value: Value | None) -> tuple[Function, ...]:
    """The project's own code that a value is."""
    match value:
        case FunctionRef(function=function):
            return (function,)
        case BoundMethod(name=name, on=""):
            return callees(context, name)
        case Partial(target=target):
            return _code(context, target)
        case Coll(items=items):
            return tuple(item.function for item in items if isinstance(item, FunctionRef))
        case _:
            return ()


def callees(context: Context, name: str) -> tuple[Function, ...]:
    """The methods of that name that the component has."""
    return tuple(function for cls in context.component.lineage for function in cls.named(name))


def _by(context: Context, function: Function, op: Instr) -> Iterator[str]:
    for target in targets_of(op):
        yield from _field(function, target)
    match op:
        case Call():
            yield from _called(context, function, op)
        case Bind(target=Name() as local, value=value) if not unchanging(function, local):
            yield from _field(function, value)  # it has two names from here on
        case _:
            pass


def _called(context: Context, function: Function, call: Call) -> Iterator[str]:
    for arg in call.args:
        if isinstance(arg.value, Name) and arg.value.id in OWN:
            yield ANY
        elif not leaves_alone(call) and last_name(call.func) not in READERS:
            yield from _field(function, arg.value)
    match call.func:
        case Attr(obj=Name(id=own), name=name) if own in OWN:
            methods = callees(context, name)
            for method in methods:
                yield from changed_fields(context, method)
            if not methods and name not in LOGGING and name not in context.verb_names:
                yield ANY
        case Attr(obj=Global(id="super")) | Global(id="super"):
            yield ANY
        case Attr(obj=obj) if not leaves_alone(call):
            yield from _field(function, obj)
        case Name(id=local) if not local.startswith("%") and Name(local) not in closures(function):
            yield ANY
        case _:
            pass


def _field(function: Function, expr: Expr) -> Iterator[str]:
    """The field that an expression is, or lies in."""
    at = place(function, expr)
    while isinstance(at, (Attr, Item)):
        if isinstance(at, Attr) and isinstance(at.obj, Name) and at.obj.id in OWN:
            yield at.name
        at = at.obj
