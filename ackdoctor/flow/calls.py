"""Calls: the framework's, the project's own, and those that lead where nobody can look."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ackdoctor.flow.containers import Done, arguments, method_call
from ackdoctor.flow.context import Context, Later, tested_names
from ackdoctor.flow.evaluate import evaluate
from ackdoctor.flow.holding import escape, forget
from ackdoctor.flow.known import (
    BOTH_PYTHONS,
    HARMLESS,
    LATER,
    LAZY,
    LOGGING,
    NO_RAISE,
    SEE_THROUGH,
    THREADS,
    VIEWS,
)
from ackdoctor.flow.lattice import (
    Batch,
    BoundMethod,
    Coll,
    Const,
    External,
    Field,
    FunctionRef,
    LoopMemory,
    Partial,
    SelfRef,
    State,
    SuperRef,
    Thrown,
    TickTest,
    TokenRef,
    Value,
    Zipped,
    tokens_in,
)
from ackdoctor.flow.sighting import Deferral, Handed
from ackdoctor.flow.trail import Trail
from ackdoctor.flow.verbs import apply_verb, external_verb, own_verb, quiet
from ackdoctor.flow.wording import last_name
from ackdoctor.model.cfg import Arg, Attr, Call, Name
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import Kind, Verb

__all__ = ["Done", "Enter", "apply_value", "resolve_call"]

AROUND = 0  # stands for all loops around a helper's call; its own are counted from 1


@dataclass(slots=True, unsafe_hash=True)
class Enter:
    """The call enters a function of the project with this state."""

    function: Function
    state: State


def resolve_call(context: Context, trail: Trail, call: Call) -> Done | Enter:
    """What a call does, as far as it can be known from here."""
    function, state = trail.function, trail.state
    target = evaluate(context, function, state, call.func)
    if isinstance(target, Partial):
        return _apply(
            context, trail, call, target.target, tuple(target.args) + arguments(context, trail, call)
        )
    if isinstance(call.func, Attr) and not isinstance(target, (BoundMethod, FunctionRef, External)):
        receiver = evaluate(context, function, state, call.func.obj)
        done = method_call(context, trail, call, receiver, call.func)
        if done is not None:
            return done
    return _apply(context, trail, call, target, None)


def apply_value(
    context: Context, trail: Trail, call: Call, target: Value, given: tuple[Value | None, ...]
) -> Done | Enter:
    """What calling a value with these arguments does."""
    if isinstance(target, Partial):
        return apply_value(context, trail, call, target.target, target.args + given)
    return _apply(context, trail, call, target, given)


def _apply(
    context: Context, trail: Trail, call: Call, target: Value | None, given: tuple[Value | None, ...] | None
) -> Done | Enter:
    match target:
        case BoundMethod(name=name, after=after):
            method = _method_after(context, name, after)
            verb = own_verb(context, name)
            if method is not None and _readable(context, method):
                return _enter(context, trail, call, method, SelfRef(), given)
            if method is None and verb is not None:
                return _verb(context, trail, call, verb, given)
        case FunctionRef(function=function, captured=captured, bare=bare) if bare or _readable(
            context, function
        ):
            if (
                function.name in function.captures
            ):  # it can call itself, but was not yet bound when it captured
                captured = (*captured, (function.name, target))
            return _enter(context, trail, call, function, None, given, captured)
        case External():
            verb = external_verb(context.verbs(), target.names)
            if verb is not None:
                return _verb(context, trail, call, verb, given)
            return _external(context, trail, call, target, given)
        case _:
            pass
    return _unknown(context, trail, call, given)


def _method_after(context: Context, name: str, after: object) -> Function | None:
    lineage = context.component.lineage
    if after is not None:
        index = next((i for i, cls in enumerate(lineage) if cls is after), -1)
        lineage = lineage[index + 1 :]
    return next((cls.methods[name] for cls in lineage if name in cls.methods), None)


def _verb(
    context: Context, trail: Trail, call: Call, verb: Verb, given: tuple[Value | None, ...] | None
) -> Done:
    if given is not None:
        call, trail = _spelled_out(trail, call, given)
    state, value = apply_verb(context, trail, call, verb)
    return Done(state, value, not quiet(verb))


def _spelled_out(trail: Trail, call: Call, given: tuple[Value | None, ...]) -> tuple[Call, Trail]:
    """A call whose arguments are values rather than expressions, through temporaries of its own."""
    env = {**trail.state.env, **{f"%given{i}": value for i, value in enumerate(given) if value is not None}}
    args = tuple(Arg(Name(f"%given{i}")) for i in range(len(given)))
    at = Trail(trail.function, trail.index, trail.state.but(env=env), trail.before, trail.via, trail.inner)
    return Call(call.result, call.func, args, call.awaited, call.dropped), at


# ---- into the project's own functions ----


def _enter(
    context: Context,
    trail: Trail,
    call: Call,
    function: Function,
    receiver: Value | None,
    given: tuple[Value | None, ...] | None,
    captured: tuple[tuple[str, Value], ...] = (),
) -> Done | Enter:
    if function.is_async and not call.awaited:
        return _unknown(context, trail, call, given)
    env: dict[str, Value] = {"%return": Const(None), **dict(captured)}
    params = [param for param in function.params if param.kind == "positional"]
    if receiver is not None and function.binding != "static" and params:
        env[params.pop(0).name] = receiver
    args = call.args if given is None else tuple(Arg(Name("")) for _ in given)
    values = arguments(context, trail, call) if given is None else given
    filled: set[str | None] = set()
    for arg, value in zip(args, values, strict=True):
        name = arg.name
        if name is None and not arg.star and params:
            name = params.pop(0).name
        filled.add(name)
        if name is not None and _matters(function, name, value):
            env[name] = value  # type: ignore[assignment]  # _matters refuses None
        elif arg.star and value is not None and any(tokens_in(value)):
            return _unknown(context, trail, call, given)
    for param in function.params:
        if param.name not in filled and param.default is not None and not any(arg.star for arg in args):
            value = evaluate(context, function, State(), param.default)
            if isinstance(value, Const) and _matters(function, param.name, value):
                env[param.name] = value
    before = trail.state
    loops = _around(before)
    return Enter(
        function,
        State(env=env, tokens=before.tokens, fields=before.fields, loops=loops, caught=before.caught),
    )


def _around(before: State) -> Mapping[int, LoopMemory]:
    """What a helper called in a loop over a batch must know: that earlier rounds have left some element so."""
    rest = [memory.rest for memory in before.loops.values() if memory.rest is not None]
    return {AROUND: LoopMemory(None, rest[0])} if rest else {}


def _matters(function: Function, name: str, value: Value | None) -> bool:
    if isinstance(value, Const):
        return name in tested_names(function)
    return value is not None


def _readable(context: Context, function: Function) -> bool:
    """Whether nothing that we cannot read stands around a function."""
    unit = context.unit(function)
    for decorator in function.decorators:
        names = context.program.qualify(unit, decorator)
        if not any(name.rpartition(".")[2] in SEE_THROUGH for name in names):
            return False
    return True


# ---- into the unknown ----


def _external(
    context: Context, trail: Trail, call: Call, target: External, given: tuple[Value | None, ...] | None
) -> Done:
    name = target.names[-1].rpartition(".")[2]
    values = arguments(context, trail, call) if given is None else given
    state = trail.state
    if call.dropped and target.names == (name,) and name in LAZY and not _eager(context, trail.function):
        return Done(state, None, may_raise=False)
    if name == "partial" and values and values[0] is not None:
        return Done(state, Partial(values[0], values[1:]), may_raise=False)
    if name == "super":
        return Done(state, SuperRef(context.program.owner(_outermost(context, trail))), may_raise=False)
    if name == "wraps":
        return Done(state, External(("identity",)), may_raise=False)
    if name in SEE_THROUGH and values:
        return Done(state, values[0], may_raise=False)
    if name in ("zip", "enumerate", "izip", "zip_longest"):
        for column, value in enumerate(values):
            if isinstance(value, Batch):
                rows = Zipped(value.token, 1 if name == "enumerate" else column)
                return Done(state, rows, may_raise=False)
    if name in VIEWS:
        seen = [value for value in values if isinstance(value, (Batch, Coll, Field, TokenRef))]
        return Done(state, seen[0] if seen else Coll(frozenset()), may_raise=False)
    if name in HARMLESS or name in LOGGING:
        token = next((t for value in values for t in tokens_in(value)), None)
        if "tick" in name.lower() and token is not None:
            return Done(state, TickTest(token), may_raise=False)
        return Done(state, None, may_raise=name not in NO_RAISE and name not in LOGGING)
    if "tick" in name.lower() and len(values) == 1 and isinstance(values[0], TokenRef):
        return Done(state, TickTest(values[0].token), may_raise=False)
    if name.endswith(("Error", "Exception")):
        return Done(state, Thrown(target.names[-1]), may_raise=False)
    return _unknown(context, trail, call, given)


def _eager(context: Context, function: Function) -> bool:
    """Whether a function may well run on Python 2, whose `map` builds its list at once."""
    unit = context.unit(function)
    return unit.python2 or context.component.dialect.python2 or not BOTH_PYTHONS.isdisjoint(unit.imports)


def _outermost(context: Context, trail: Trail) -> Function:
    """The method that a trail is in: `super()` in a closure means the method around it."""
    visit: Trail | None = trail
    while visit is not None:
        if context.program.owner(visit.function) is not None:
            return visit.function
        visit = visit.before
    return trail.function


def _unknown(context: Context, trail: Trail, call: Call, given: tuple[Value | None, ...] | None) -> Done:
    name = last_name(call.func) or "a call"
    if name in LOGGING or name in HARMLESS:
        return Done(trail.state, None, may_raise=name not in LOGGING and name not in NO_RAISE)
    values = arguments(context, trail, call) if given is None else given
    if "tick" in name.lower() and len(values) == 1 and isinstance(values[0], TokenRef):
        return Done(trail.state, TickTest(values[0].token), may_raise=False)
    state = forget(trail.state, call.func.obj) if isinstance(call.func, Attr) else trail.state
    state = escape(context, trail, state, values, name)
    run_later(context, trail, state, values, name)
    carried = frozenset(value for value in values if value is not None and any(tokens_in(value)))
    result = Coll(carried) if carried and name[:1].isupper() else None
    return Done(state, result, may_raise=name not in NO_RAISE)


def run_later(
    context: Context,
    trail: Trail,
    state: State,
    values: tuple[Value | None, ...],
    runner: str,
) -> None:
    """Callables among the arguments are looked at as code that runs later."""
    for target in _callables(values):
        deferral = Deferral(
            runner, trail.function, trail.step, runner in THREADS, runner in THREADS or runner in LATER
        )
        args = tuple(
            item
            for value in values
            if value is not target
            for item in (sorted(value.items, key=repr) if isinstance(value, Coll) else (value,))
            if item is not None
        )
        context.see(
            Handed(function=trail.function, step=trail.step, trail=trail, deferral=deferral),
            repr(target),
            runner,
        )
        emits_later = context.component.role.kind is Kind.SPOUT  # a callback needs no tuple to emit one
        if emits_later or runner in THREADS or runner in LATER or any(map(_carries, (target, *args))):
            context.later.append(Later(target, args, state, deferral, trail))


def _carries(value: Value | None) -> bool:
    return any(tokens_in(value))


def _callables(values: tuple[Value | None, ...]) -> Iterator[Value]:
    for value in values:
        match value:
            case BoundMethod() | FunctionRef() | Partial():
                yield value
            case Coll(items=items):
                for item in sorted(items, key=repr):
                    if isinstance(item, (BoundMethod, FunctionRef)):
                        yield item
            case _:
                pass
