"""What a spout emits and stores: its callbacks' effects, its message ids, and entries that stay after `ack` and `fail`.

The *reach* of a method is the method with every method of the component, closure and function of its file that it calls.
A method is *idle* if its reach has no lasting effect except counters and log lines.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import is_container, own_field, shrunk_fields
from ackdoctor.checks.facts.dataflow import canonical_forms, derived_names, mentions_any, without_casts
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES, LOGGING, PURE_CALLS
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Drop,
    Expr,
    Function,
    Global,
    Item,
    Name,
    Step,
    Throw,
    Unpack,
)
from ackdoctor.model.dialect import EntryKind, VerbKind

__all__ = [
    "REMOVALS",
    "calls_super",
    "data_emits",
    "effective_calls",
    "emits",
    "entry_method",
    "first_in_source",
    "has_id",
    "lasting_effects",
    "reach",
    "steps_of",
    "stored_for_ever",
    "stored_under_id",
]


REMOVALS = frozenset(
    "pop popleft popitem remove discard clear delete delete_one delete_many hdel srem zrem lrem expire unlink "
    "invalidate poll removeIf".split()
)
_IDLE_CALLS = (
    PURE_CALLS
    | LOGGING
    | frozenset(
        "get keys values items startswith endswith strip split join lower upper encode decode loads time now utcnow isoformat "
        "strftime round min max abs sorted list tuple dict set getattr currentframe getpid uuid4 super "
        "containsKey contains isEmpty size length equals trim substring".split()
    )
)


def entry_method(context: RuleContext, kind: EntryKind) -> Function | None:
    """Return the project's method for this entry, if it defines one."""
    for entry in context.role.entries:
        if entry.kind is kind:
            return context.component.method(entry.method)
    return None


def reach(context: RuleContext, method: Function | None) -> tuple[Function, ...]:
    """Return a method and all functions of the project that it calls, nearest first."""
    found: list[Function] = []
    todo = [method] if method is not None else []
    while todo:
        function = todo.pop(0)
        if function in found:
            continue
        found.append(function)
        todo += function.closures.values()
        for step in function.cfg.steps:
            if isinstance(step.op, Call):
                todo += _callees(context, function, step.op)
    return tuple(found)


def _callees(context: RuleContext, function: Function, call: Call) -> Iterator[Function]:
    for arg in call.args:
        callback = context.own_method(function, arg.value)
        if callback is not None:
            yield callback
    own = context.own_method(function, call.func)
    if own is not None:
        yield own
    elif _is_super(function, call.func):
        yield from _next_in_order(context, function)
    else:
        yield from (s for s in context.resolve(function, call.func) if isinstance(s, Function))


def _next_in_order(context: RuleContext, function: Function) -> Iterator[Function]:
    """Yield the next method of the same name in the resolution order."""
    found = False
    for cls in context.component.lineage:
        method = cls.methods.get(function.name)
        if found and method is not None:
            yield method
            return
        found = found or method is function


def _is_super(function: Function, func: Expr) -> bool:
    """Whether a callee is `super().name` or `Base.name` of the method's own name."""
    match func:
        case Attr(obj=Name(id=temp), name=name) if name == function.name and temp.startswith("%"):
            temporaries = (
                step.op
                for step in function.cfg.steps
                if isinstance(step.op, Call) and step.op.result.id == temp
            )
            return any(call.func == Global("super") for call in temporaries)
        case Attr(obj=Global() | Attr(), name=name):
            return name == function.name
        case _:
            return False


def calls_super(function: Function) -> bool:
    """Whether a method calls the one it overrides."""
    return any(isinstance(step.op, Call) and _is_super(function, step.op.func) for step in function.cfg.steps)


def steps_of(functions: tuple[Function, ...]) -> Iterator[tuple[Function, Step]]:
    """Yield every step of these functions."""
    for function in functions:
        for step in function.cfg.steps:
            yield function, step


# ---- emits ----


def emits(context: RuleContext, *kinds: EntryKind) -> list[Emitted]:
    """Return the emits reached from these entries, each call once, in source order."""
    found: dict[int, Emitted] = {}
    for _, emit in context.events(Emitted, *kinds):
        found.setdefault(id(emit.step), emit)
    return list(found.values())


def data_emits(context: RuleContext) -> list[Emitted]:
    """Return the emits of `next_tuple` and its callbacks; without any, those of callbacks that `initialize` registers."""
    found = emits(context, EntryKind.NEXT)
    return found or [emit for emit in emits(context, EntryKind.INIT) if emit.deferral is not None]


def has_id(emit: Emitted) -> bool | None:
    """Whether an emit passes a message id; None if only the caller knows."""
    if emit.verb.message_id is None:
        return None
    if emit.verb.message_id in emit.args:
        value = emit.args[emit.verb.message_id]
        return getattr(value, "value", value) is not None
    return None if emit.unclear else False


def first_in_source(found: list[Emitted]) -> Emitted:
    """Return the first emit in source order."""
    return min(found, key=lambda emit: (emit.function.path, emit.step.span))


# ---- what a method does ----


def lasting_effects(context: RuleContext, method: Function | None) -> list[str]:
    """Return the lasting effects of a callback: the names of calls, and "=" for assignments; [] for an idle one."""
    if method is None:
        return []
    return [
        word
        for function, step in steps_of(reach(context, method))
        if (word := _effect(context, function, step))
    ]


def effective_calls(context: RuleContext, method: Function | None) -> Iterator[tuple[Function, Call]]:
    """Yield the calls with a lasting effect in the reach of a callback."""
    for function, step in steps_of(reach(context, method)):
        if isinstance(step.op, Call) and _effect(context, function, step):
            yield function, step.op


def _effect(context: RuleContext, function: Function, step: Step) -> str:
    """Return the lasting effect of one step, or ""."""
    match step.op:
        case Throw():
            return "raise"
        case Drop(target=Item() | Attr()):
            return "del"
        case Bind(target=Item() | Attr()):
            return "="
        case Unpack(targets=targets) if any(isinstance(target, (Item, Attr)) for target in targets):
            return "="
        case Call() as call:
            return _call_effect(context, function, call)
        case _:
            return ""


def _call_effect(context: RuleContext, function: Function, call: Call) -> str:
    if context.verb_kind(function, call) in (VerbKind.LOG, VerbKind.REPORT):
        return ""
    if any(True for _ in _callees(context, function, call)):
        return ""  # its own steps count
    match call.func:
        case Attr(name=name) | Global(id=name) | Name(id=name):
            return "" if name in _IDLE_CALLS else name
        case _:
            return "call"


MANY = 50  # message ids followed to callers of helpers


def stored_under_id(context: RuleContext) -> Iterator[tuple[Function, Step, str]]:
    """Yield each store in the reach of `next_tuple` under, or together with, a message id."""
    functions = reach(context, entry_method(context, EntryKind.NEXT))
    yield from _stores(context, functions, _message_ids(context, data_emits(context), functions))


def _stored_under_new_id(context: RuleContext) -> Iterator[tuple[Function, Step, str]]:
    """Yield each store in the reach of `fail` under, or together with, a message id other than the failed one."""
    functions = reach(context, entry_method(context, EntryKind.FAILED))
    ids = _message_ids(context, emits(context, EntryKind.FAILED), functions)
    if not any(_derives_from_failed(functions[0], function, expr) for function, expr in ids):
        yield from _stores(context, functions, ids)


def stored_for_ever(context: RuleContext) -> Iterator[tuple[Function, Step, str]]:
    """Yield the stores of `_stored_under_new_id` whose field `fail` does not shrink: each failure adds an entry."""
    shrunk = shrunk_fields(context, reach(context, entry_method(context, EntryKind.FAILED)))
    for function, step, name in _stored_under_new_id(context):
        if name not in shrunk and is_container(context, name):
            yield function, step, name


def _derives_from_failed(fail: Function, function: Function, expr: Expr) -> bool:
    """Whether an id may derive from the argument of `fail`; a helper's parameters are resolved at its callers."""
    params = frozenset(param.name for param in function.params[1:])
    if function is not fail and isinstance(expr, Name) and expr.id in params:
        return False
    return mentions_any(expr, derived_names(function, params))


def _stores(
    context: RuleContext, functions: tuple[Function, ...], ids: list[tuple[Function, Expr]]
) -> Iterator[tuple[Function, Step, str]]:
    for function in functions:
        wanted = [expr for owner, expr in ids if owner is function]
        if not wanted:
            continue
        canonical = {without_casts(canonical_forms(function).of(expr)) for expr in wanted}
        for step in function.cfg.steps:
            name, keys = _store_of(context, function, step)
            if name is not None and any(
                without_casts(canonical_forms(function).of(key)) in canonical for key in keys
            ):
                yield function, step, name


def _store_of(context: RuleContext, function: Function, step: Step) -> tuple[str | None, list[Expr]]:
    """Return the field into which a step stores, and the expressions that could be the id."""
    match step.op:
        case Bind(target=Item(obj=place, key=key)):
            return own_field(context, function, place), [key]
        case Call(func=Attr(obj=place, name=verb), args=args) if verb in CONTAINER_STORES:
            keys: list[Expr] = []
            for arg in args:
                value = canonical_forms(function).of(arg.value)
                keys += (
                    value.items
                    if isinstance(value, Build) and value.kind in ("tuple", "list")
                    else (arg.value,)
                )
            return own_field(context, function, place), keys
        case _:
            return None, []


def _message_ids(
    context: RuleContext, sent: list[Emitted], functions: tuple[Function, ...]
) -> list[tuple[Function, Expr]]:
    """Return the message ids of these emits, also as the callers of an emitting helper pass them."""
    found = [
        (emit.function, emit.args[emit.verb.message_id])
        for emit in sent
        if has_id(emit) and emit.verb.message_id is not None
    ]
    for function, expr in found:  # the list grows during the loop
        params = [param.name for param in function.params]
        if isinstance(expr, Name) and expr.id in params and len(found) < MANY:
            found += _passed_values(context, functions, function, params.index(expr.id), expr.id)
    return found


def _passed_values(
    context: RuleContext, callers: tuple[Function, ...], helper: Function, position: int, name: str
) -> Iterator[tuple[Function, Expr]]:
    for caller in callers:
        for step in caller.cfg.steps:
            if not isinstance(step.op, Call) or context.own_method(caller, step.op.func) is not helper:
                continue
            plain = [arg.value for arg in step.op.args if arg.name is None]
            named = [arg.value for arg in step.op.args if arg.name == name]
            for value in named or plain[position - 1 : position]:
                yield caller, value
