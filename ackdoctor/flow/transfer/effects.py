"""Side effects of the project's functions: fields they change, exceptions they may raise."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow import aliases
from ackdoctor.flow.aliases import access_path, named_closures
from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import assigned_targets, last_name, memoize, names_in, subexpressions
from ackdoctor.flow.invalidation import drop_facts
from ackdoctor.flow.library import CLEANUP, LOGGING, NEVER_RAISES
from ackdoctor.flow.pure_calls import PURE_FUNCTIONS, SELF_NAMES, is_field, is_immutable, is_read_only
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    Container,
    FrameworkObject,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    State,
    Value,
    tokens_in,
)
from ackdoctor.flow.transfer.evaluate import declared_field, evaluate
from ackdoctor.flow.transfer.liveness import read
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
    Instr,
    IsType,
    Item,
    Mix,
    Name,
    Not,
    Return,
    Throw,
)
from ackdoctor.model.component import Function

__all__ = [
    "ANY",
    "about_locals",
    "by_given_code",
    "callees",
    "changed_fields",
    "fails",
    "inert",
    "only_told",
    "taken_to_work",
]


@memoize
def taken_to_work(function: Function) -> frozenset[int]:
    """The calls (by step) that are taken not to raise once a tuple was completed.

    What a `finally` closes or releases is closed as behind a `try` with resources, where the close that nobody wrote raises nothing either.
    """
    endings = {
        index
        for index, step in enumerate(function.cfg.steps)
        if step.way is not None
        and isinstance(step.op, Call)
        and step.op.dropped
        and not step.op.args
        and last_name(step.op.func) in CLEANUP
    }
    return only_told(function) | endings


@memoize
def only_told(function: Function) -> frozenset[int]:
    """The calls (by step) whose result is given to log lines and to nothing else, directly or through such a call."""
    steps = function.cfg.steps
    takers: dict[str, set[int]] = {}
    for index, step in enumerate(steps):
        for expr in read(step.op):
            for name in names_in(expr):
                takers.setdefault(name, set()).add(index)
    lines: set[int] = set()
    told: set[int] = set()
    for index in range(len(steps) - 1, -1, -1):  # what is given is worked out before it is given
        op = steps[index].op
        if not isinstance(op, Call):
            continue
        if op.dropped and last_name(op.func) in LOGGING:
            lines.add(index)
        elif takers.get(op.result.id, set()) and takers[op.result.id] <= lines | told:
            told.add(index)
    return frozenset(told)


ANY = "*"  # among the fields: no one knows which


def changed_fields(context: Context, function: Function) -> frozenset[str]:
    """The fields that a function, and what it calls of the component, may change; `ANY` among them where that is open."""
    known = context.changed_fields.get(id(function))
    if known is None:
        context.changed_fields[id(function)] = frozenset({ANY})  # while it is being looked at
        found = frozenset(
            name
            for each in function.tree()
            for step in each.cfg.steps
            for name in _by(context, each, step.op)
        )
        known = context.changed_fields[id(function)] = frozenset({ANY}) if ANY in found else found
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
    state = drop_facts(state, stale)
    return state.replace(fields=known) if len(known) < len(state.fields) else state


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
        case Container(items=items):
            return tuple(item.function for item in items if isinstance(item, FunctionRef))
        case _:
            return ()


def callees(context: Context, name: str) -> tuple[Function, ...]:
    """The methods of that name that the component has."""
    return tuple(function for cls in context.component.lineage for function in cls.named(name))


def _by(context: Context, function: Function, op: Instr) -> Iterator[str]:
    for target in assigned_targets(op):
        yield from _field(function, target)
    match op:
        case Call():
            yield from _called(context, function, op)
        case Bind(target=Name() as local, value=value) if not is_immutable(function, local):
            yield from _field(function, value)  # it has two names from here on
        case _:
            pass


def _called(context: Context, function: Function, call: Call) -> Iterator[str]:
    for arg in call.args:
        if isinstance(arg.value, Name) and arg.value.id in SELF_NAMES:
            yield ANY
        elif not is_read_only(call) and last_name(call.func) not in PURE_FUNCTIONS:
            yield from _field(function, arg.value)
    match call.func:
        case Attr(obj=Name(id=own), name=name) if own in SELF_NAMES:
            methods = callees(context, name)
            for method in methods:
                yield from changed_fields(context, method)
            if not methods and name not in LOGGING and name not in context.verb_names:
                yield ANY
        case Attr(obj=Global(id="super")) | Global(id="super"):
            yield ANY
        case Attr(obj=obj) if not is_read_only(call):
            yield from _field(function, obj)
        case Name(id=local) if not local.startswith("%") and Name(local) not in named_closures(function):
            yield ANY
        case _:
            pass


def _field(function: Function, expr: Expr) -> Iterator[str]:
    """The field that an expression is, or lies in."""
    at = access_path(function, expr)
    while isinstance(at, (Attr, Item)):
        if isinstance(at, Attr) and isinstance(at.obj, Name) and at.obj.id in SELF_NAMES:
            yield at.name
        at = at.obj


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
        if isinstance(value, FrameworkObject) and value.kind != "tuple":
            return False
    reach = _reach(context, function)
    if reach.active:
        return False
    return not any(field in context.stored_stages or field in state.fields for field in reach.fields)


def fails(context: Context, function: Function) -> bool:
    """Whether a helper that is passed over may raise: one that only gives a field, or writes a log line, does not."""
    return _reach(context, function).fails


def _reach(context: Context, function: Function) -> _Reach:
    known = context.reachable.get(id(function))
    if isinstance(known, _Reach):
        return known
    context.reachable[id(function)] = _Reach(
        active=False, fields=frozenset(), fails=False
    )  # while it is being looked at
    found = context.reachable[id(function)] = _look(context, function)
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
            if word not in LOGGING and word not in NEVER_RAISES:
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
        case Compare(op=aliases.ALIAS):
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
