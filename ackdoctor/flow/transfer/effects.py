"""Effect summaries of the project's functions: the fields they may change, whether they may raise, whether they can be skipped.

A method of the component that only computes (`String key = keyOf(url)`) is skipped: neither it nor its callees call the
framework, pass code on, raise or catch an exception themselves, or touch a field that holds a tuple.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import access_path, named_closures
from ackdoctor.flow.domains.invalidation import drop_facts
from ackdoctor.flow.expressions import (
    assigned_targets,
    last_name,
    memoize,
    names_in,
    operands,
    subexpressions,
)
from ackdoctor.flow.pure_calls import PURE_FUNCTIONS, is_field, is_immutable, is_read_only
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.declared import declared_field
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.origins import may_raise
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Container,
    FrameworkObject,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import CLEANUP, LOGGING
from ackdoctor.model.cfg import (
    SUPER,
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Global,
    Instr,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
    Return,
    Throw,
)


@memoize
def cleanup_calls(function: Function) -> frozenset[int]:
    """Return the calls (by step) that are assumed not to raise after a tuple was completed.

    They close or release a resource in a `finally`, like the implicit close of a `try` with resources.
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
    return logged_calls(function) | endings


@memoize
def logged_calls(function: Function) -> frozenset[int]:
    """Return the calls (by step) whose result goes to log lines only, directly or through another such call."""
    steps = function.cfg.steps
    takers: dict[str, set[int]] = {}
    for index, step in enumerate(steps):
        for expr in operands(step.op):
            for name in names_in(expr):
                takers.setdefault(name, set()).add(index)
    lines: set[int] = set()
    logged: set[int] = set()
    for index in range(len(steps) - 1, -1, -1):  # arguments are evaluated before the call
        op = steps[index].op
        if not isinstance(op, Call):
            continue
        uses = takers.get(op.result.id, set())
        is_result = all(isinstance(steps[use].op, Return) for use in uses)  # of a lambda
        if (op.dropped or is_result) and last_name(op.func) in LOGGING:
            lines.add(index)
        elif uses and uses <= lines | logged:
            logged.add(index)
    return frozenset(logged)


ANY = "*"  # in a set of fields: unknown fields


def changed_fields(context: Context, function: Function) -> frozenset[str]:
    """Return the fields that a function and its callees in the component may change; with `ANY` if more may change."""
    known = context.changed_fields.get(id(function))
    if known is None:
        context.changed_fields[id(function)] = frozenset({ANY})  # during the search, for recursion
        found = frozenset(
            name
            for each in function.tree()
            for step in each.cfg.steps
            for name in _changed_by(context, each, step.op)
        )
        known = context.changed_fields[id(function)] = frozenset({ANY}) if ANY in found else found
    return known


def forget_changed_fields(context: Context, function: Function, state: State, call: Call) -> State:
    """Return the state after an opaque call: without the fields that the methods and closures among its arguments may change."""
    if not call.args or not (state.facts or state.aliases or state.fields):
        return state
    values = (
        evaluate(context, function, state, arg.value)
        for arg in call.args
        if isinstance(arg.value, (Attr, Closure, Name))
    )
    fields = frozenset(
        name for value in values for each in _code(context, value) for name in changed_fields(context, each)
    )
    if not fields or ANY in fields:
        return state
    stale = [fact for fact in state.facts if _reads_one(function, fact, fields)]
    aliases = frozenset(
        pair for pair in state.aliases if not any(_reads_one(function, side, fields) for side in pair)
    )
    known = {name: value for name, value in state.fields.items() if name not in fields}
    state = drop_facts(state, stale)
    state = state.replace(aliases=aliases) if len(aliases) < len(state.aliases) else state
    return state.replace(fields=known) if len(known) < len(state.fields) else state


def _reads_one(function: Function, expr: Expr, fields: frozenset[str]) -> bool:
    """Whether an expression reads one of these fields."""
    parts = (part for part in subexpressions(expr) if isinstance(part, Attr))
    return any(is_field(function, part) and part.name in fields for part in parts)


def _code(context: Context, value: Value | None) -> tuple[Function, ...]:
    """Return the project's own functions that a value denotes."""
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
    """Return the methods of that name that the component has."""
    return tuple(function for cls in context.component.lineage for function in cls.named(name))


def _changed_by(context: Context, function: Function, op: Instr) -> Iterator[str]:
    for target in assigned_targets(op):
        yield from _field(function, target)
    match op:
        case Call():
            yield from _changed_by_call(context, function, op)
        case Bind(target=Name() as local, value=value) if not is_immutable(function, local):
            yield from _field(function, value)  # an alias from here on
        case _:
            pass


def _changed_by_call(context: Context, function: Function, call: Call) -> Iterator[str]:
    for arg in call.args:
        if arg.value == Name(function.receiver):
            yield ANY
        elif not is_read_only(call) and last_name(call.func) not in PURE_FUNCTIONS:
            yield from _field(function, arg.value)
    match call.func:
        case Attr(obj=Name(id=own), name=name) if own == function.receiver:
            methods = callees(context, name)
            for method in methods:
                yield from changed_fields(context, method)
            if not methods and name not in LOGGING and name not in context.verb_names:
                yield ANY
        case Attr(obj=Global(id=name)) | Global(id=name) if name == SUPER:
            yield ANY
        case Attr(obj=obj) if not is_read_only(call):
            yield from _field(function, obj)
        case Name(id=local) if not local.startswith("%") and Name(local) not in named_closures(function):
            yield ANY
        case _:
            pass


def _field(function: Function, expr: Expr) -> Iterator[str]:
    """Yield the field that an expression is, or lies in."""
    at = access_path(function, expr)
    while isinstance(at, (Attr, Item)):
        if isinstance(at, Attr) and is_field(function, at):
            yield at.name
        at = at.obj


class _Summary(NamedTuple):
    """The summary of a function: whether it may matter to the protocol, the fields it touches, and whether it may raise."""

    active: bool
    fields: frozenset[str]
    may_raise: bool


_ACTIVE = _Summary(active=True, fields=frozenset(), may_raise=True)
_SEEN = (SelfRef, FunctionRef, BoundMethod, Partial, Batch, Instance)


def is_skippable(
    context: Context, state: State, function: Function, values: tuple[Value | None, ...]
) -> bool:
    """Whether a call of this function with these arguments can be skipped."""
    for value in values:
        if isinstance(value, _SEEN) or any(tokens_in(value)):
            return False
        if isinstance(value, FrameworkObject) and value.kind != "tuple":
            return False
    reach = _summary(context, function)
    if reach.active:
        return False
    return not any(context.keeps(field) or field in state.fields for field in reach.fields)


def helper_may_raise(context: Context, function: Function) -> bool:
    """Whether a skipped helper may raise; one that only returns a field, or logs, does not."""
    return _summary(context, function).may_raise


def _summary(context: Context, function: Function) -> _Summary:
    known = context.reachable.get(id(function))
    if isinstance(known, _Summary):
        return known
    context.reachable[id(function)] = _Summary(
        active=False, fields=frozenset(), may_raise=False
    )  # during the search, for recursion
    found = context.reachable[id(function)] = _summarise(context, function)
    return found


def _summarise(context: Context, function: Function) -> _Summary:
    if function.closures:
        return _ACTIVE
    own = function.params[0].name if function.params and function.binding == "instance" else ""
    fields: set[str] = set()
    raising = _raising_steps(context, function)
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Throw() | Catch():
                return _ACTIVE
            case Call(func=Attr(obj=obj, name=name)):
                if name in context.verb_names or obj == Global(SUPER):
                    return _ACTIVE
                fields |= _fields(obj, own)
                helpers = callees(context, name) if obj == Name(own) else ()
                for callee in helpers:
                    inner = _summary(context, callee)
                    if inner.active:
                        return _ACTIVE
                    fields |= inner.fields
                if helpers and not any(_summary(context, callee).may_raise for callee in helpers):
                    raising.discard(index)
            case Call(func=Global(id=name)) if name == SUPER:
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
    return _Summary(active=False, fields=frozenset(fields), may_raise=bool(raising))


def _raising_steps(context: Context, function: Function) -> set[int]:
    """Return the steps that may raise, judged by the step alone."""
    found: set[int] = set()
    for index, step in enumerate(function.cfg.steps):
        raises = any(edge.kind is EdgeKind.RAISE for edge in step.edges)
        if raises and index not in logged_calls(function):
            found |= (
                {index} if not isinstance(step.op, Call) or may_raise(context, function, step.op) else set()
            )
    return found


def _fields(expr: Expr, own: str) -> set[str]:
    while isinstance(expr, (Attr, Item)):
        if isinstance(expr, Attr) and expr.obj == Name(own):
            return {expr.name}
        expr = expr.obj
    return set()


def surviving_facts(function: Function, state: State, fields: frozenset[str]) -> Mapping[Expr, bool]:
    """Return the facts that survive a call of a helper: about locals, tuples, and fields that it cannot change; globals may change."""
    tuples = frozenset(name for name, value in state.env.items() if isinstance(value, TokenRef))
    return {
        fact: truth
        for fact, truth in state.facts.items()
        if not _reads_changing(function, fact, fields, tuples)
    }


def _reads_changing(function: Function, expr: Expr, fields: frozenset[str], tuples: frozenset[str]) -> bool:
    """Whether an expression reads one of the fields, a global variable, or a part of an object that is no tuple."""
    match expr:
        case Attr() | Item(key=Literal()) if _is_part_of(expr, tuples):
            return False
        case Attr(name=name) if is_field(function, expr) and ANY not in fields:
            return name in fields
        case Attr(name=name) | Global(id=name):
            return not name.isupper()  # a constant does not change
        case Item():
            return True
        case Compare(left=left, right=right):
            parts: tuple[Expr, ...] = (left, right)
        case Mix(op="call", parts=(Attr(obj=func), *args)):
            parts = (func, *args)
        case Mix(parts=parts):
            pass
        case IsType(value=value) | Not(value=value):
            parts = (value,)
        case _:
            return False
    return any(_reads_changing(function, part, fields, tuples) for part in parts)


def _is_part_of(expr: Expr, names: frozenset[str]) -> bool:
    """Whether an expression reads a part of one of these locals: `tup.values[0]`."""
    while isinstance(expr, Attr) or (isinstance(expr, Item) and isinstance(expr.key, Literal)):
        expr = expr.obj
    return isinstance(expr, Name) and expr.id in names
