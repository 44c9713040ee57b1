"""Calls: the framework's, the project's own, and those that lead where nobody can look."""

from dataclasses import replace

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.library import AT_ONCE, HARMLESS, SEE_THROUGH
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    Coll,
    External,
    Field,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    Thrown,
    TokenRef,
    Value,
)
from ackdoctor.flow.transfer.containers import Done, arguments, method_call
from ackdoctor.flow.transfer.dispatch import (
    Method,
    captured_by,
    choose_functions,
    constructed,
    method_of,
    named,
    read,
    sort_of,
    task,
    type_text,
    verb_on,
)
from ackdoctor.flow.transfer.effects import about_locals, changed_fields, fails, inert
from ackdoctor.flow.transfer.evaluate import declared_result, evaluate, foreign_kind, stored
from ackdoctor.flow.transfer.heap_cells import held_value
from ackdoctor.flow.transfer.opaque_calls import Enter, enter, external, run_later, unknown
from ackdoctor.flow.transfer.verbs import apply_verb, external_verb, own_verb, quiet
from ackdoctor.model.cfg import Arg, Attr, Call, Global, Name
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.dialect import Verb

__all__ = ["Done", "apply_value", "resolve_call"]


def resolve_call(context: Context, trail: Trail, call: Call) -> Done | Enter:
    """What a call does, as far as it can be known from here."""
    call, trail = _spread(context, trail, call)
    function, state = trail.function, trail.state
    held = held_value(function, state, call, arguments(context, trail, call)) if state.fields else None
    if held is not None:
        return Done(*held, may_raise=False)
    if context.typed:
        known = _typed(context, trail, call)
        if known is not None:
            return known
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


def _typed(context: Context, trail: Trail, call: Call) -> Done | Enter | None:
    """What a call does that declared types tell about; None for any other."""
    values = arguments(context, trail, call)
    method = method_of(context, trail, call, values)
    if method is not None:
        return _enter_one(context, trail, call, method, values)
    got = read(context, trail, call)
    if got is not None:
        return Done(*got)
    if not isinstance(call.func, Attr) or isinstance(call.func.obj, Global):
        made = constructed(context, trail, call, values)
        if made is not None:
            run_later(context, trail, trail.state, (task(context, made),), "Thread")
            return Done(trail.state, made, may_raise=not isinstance(made, Thrown))
    if isinstance(call.func, Attr) and call.func.name in AT_ONCE:
        return _at_once(context, trail, call, values)
    target = _functional(context, trail, call)
    return _apply(context, trail, call, target, values) if target is not None else None


def _functional(context: Context, trail: Trail, call: Call) -> Value | None:
    """What `task.run()` calls, where `task` is a lambda, a method reference or an object of an anonymous class."""
    if not isinstance(call.func, Attr):
        return None
    match evaluate(context, trail.function, trail.state, call.func.obj):
        case FunctionRef() | BoundMethod() | Partial() as target if call.func.name not in HARMLESS:
            return target
        case Coll(items=items):
            functions = (item for item in items if isinstance(item, FunctionRef))
            return next((each for each in functions if each.function.name == call.func.name), None)
        case _:
            return None


def _enter_one(
    context: Context, trail: Trail, call: Call, method: Method, values: tuple[Value | None, ...]
) -> Done | Enter | None:
    functions = _overloads(context, trail, call, method.functions, values)
    if len(functions) > 1:  # the one that is running is asked for least
        functions = tuple(function for function in functions if function is not trail.function)
    result = declared_result(context, functions[0]) if functions else None
    if functions and all(function.docstring_only for function in functions):
        done = unknown(context, trail, call, values)  # abstract: an heir's, out of sight
        return done if result is None else replace(done, value=result)
    knowing = isinstance(method.receiver, Instance) and method.receiver.given
    seen = (*values, method.receiver) if knowing else values  # a getter of a record may give the tuple in it
    if functions and all(inert(context, trail.state, function, seen) for function in functions):
        fields = frozenset[str]().union(*(changed_fields(context, function) for function in functions))
        may_raise = any(fails(context, function) for function in functions)
        return Done(trail.state.but(facts=about_locals(trail.state.facts, fields)), result, may_raise)
    entered = [
        enter(context, trail, call, function, method.receiver, None, captured_by(function, method.receiver))
        for function in functions
    ]
    first = next((enter for enter in entered if isinstance(enter, Enter)), None)
    if first is None:
        return None
    return replace(
        first, others=tuple(enter for enter in entered if isinstance(enter, Enter) and enter is not first)
    )


def _overload(
    context: Context,
    trail: Trail,
    call: Call,
    functions: tuple[Function, ...],
    values: tuple[Value | None, ...],
) -> Function | None:
    return next(iter(_overloads(context, trail, call, functions, values)), None)


def _overloads(
    context: Context,
    trail: Trail,
    call: Call,
    functions: tuple[Function, ...],
    values: tuple[Value | None, ...],
) -> tuple[Function, ...]:
    if len(functions) < 2 or len(values) != len(call.args):  # noqa: PLR2004
        return functions[:1]
    sorts = [sort_of(context, trail.function, trail.state, arg.value) for arg in call.args]
    texts = [type_text(trail.function, arg.value) for arg in call.args]
    return choose_functions(functions, values, sorts, texts)


def _at_once(
    context: Context, trail: Trail, call: Call, values: tuple[Value | None, ...]
) -> Done | Enter | None:
    """`tuples.forEach(t -> ...)`: what is given runs before the call returns, here once."""
    target = next((value for value in values if isinstance(value, (FunctionRef, BoundMethod))), None)
    if target is None or not isinstance(call.func, Attr):
        return None
    element: Value | None = None
    match evaluate(context, trail.function, trail.state, call.func.obj):
        case Batch(token=token):
            element = TokenRef(token)
        case Field(name=name):
            element = stored(name)
        case Coll(items=items) if len(items) == 1:
            element = next(iter(items))
        case _:
            pass
    pair = isinstance(target, FunctionRef) and len(target.function.params) == 2  # noqa: PLR2004  a map's key and value
    return _apply(context, trail, call, target, (None, element) if pair else (element,))


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
        case BoundMethod(name=name, on=kind) if kind:
            spelt, at = (call, trail) if given is None else _spelled_out(trail, call, given)
            verb = verb_on(context, at, spelt, kind, name)
            if verb is not None:
                return _verb(context, at, spelt, verb, None)
            return Done(trail.state, None, may_raise=False)
        case BoundMethod(name=name, after=after) if (
            after is not None and after not in context.component.lineage
        ):
            return _inherited(context, trail, call, after, name, given)
        case BoundMethod(name=name, after=after):
            method = _method_after(context, name, after)
            verb = own_verb(context, name)
            if method is not None and context.typed and given is None:
                offered = named(_behind(context, after), name)
                method = _overload(context, trail, call, offered, arguments(context, trail, call)) or method
            if method is not None and _readable(context, method):
                return enter(context, trail, call, method, SelfRef(), given)
            if method is None and verb is not None:
                return _verb(context, trail, call, verb, given)
        case FunctionRef(function=function, captured=captured, bare=bare) if bare or _readable(
            context, function
        ):
            if (
                function.name in function.captures
            ):  # it can call itself, but was not yet bound when it captured
                captured = (*captured, (function.name, target))
            owner = context.program.owner(function) if context.typed and given is None else None
            if owner is not None and function.name in owner.overloads:
                offered = owner.overloads[function.name]
                function = (
                    _overload(context, trail, call, offered, arguments(context, trail, call)) or function
                )
            return enter(context, trail, call, function, None, given, captured)
        case External():
            verb = external_verb(context.verbs(), target.names)
            if verb is not None:
                return _verb(context, trail, call, verb, given)
            return external(context, trail, call, target, given)
        case _:
            pass
    return unknown(context, trail, call, given)


def _method_after(context: Context, name: str, after: object) -> Function | None:
    return next((cls.methods[name] for cls in _behind(context, after) if name in cls.methods), None)


def _behind(context: Context, after: object) -> tuple[ClassInfo, ...]:
    lineage = context.component.lineage
    if after is None:
        return lineage
    index = next((i for i, cls in enumerate(lineage) if cls is after), -1)
    return lineage[index + 1 :]


def _inherited(
    context: Context,
    trail: Trail,
    call: Call,
    after: ClassInfo,
    name: str,
    given: tuple[Value | None, ...] | None,
) -> Done | Enter:
    """`super.name(...)` in a class that is not the component."""
    values = arguments(context, trail, call) if given is None else given
    functions = named(context.program.lineage(after).order[1:], name)
    function = _overload(context, trail, call, functions, values)
    if function is not None and not function.docstring_only:
        return enter(context, trail, call, function, trail.state.env.get("this"), given)
    handle = foreign_kind(context, after)
    if handle is not None:
        return _apply(context, trail, call, BoundMethod(name, on=handle.kind), given)
    return unknown(context, trail, call, given)


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
    spelt = Call(call.result, call.func, args, call.awaited, call.dropped)
    return spelt, trail.knowing(trail.state.but(env=env))


def _spread(context: Context, trail: Trail, call: Call) -> tuple[Call, Trail]:
    """`f(*args, **kwargs)` with what is known to be in them, each an argument of its own."""
    if not any(arg.star for arg in call.args):
        return call, trail
    env = dict(trail.state.env)
    spread: list[Arg] = []
    for arg in call.args:
        whole = evaluate(context, trail.function, trail.state, arg.value) if arg.star else None
        if not isinstance(whole, Coll) or whole.order is None:
            spread.append(arg)
            continue
        for value in whole.order:
            name = f"%given{len(spread)}"
            spread.append(Arg(Name(name)))
            env.update({name: value} if value is not None else {})
    spelt = Call(call.result, call.func, tuple(spread), call.awaited, call.dropped)
    return spelt, trail.knowing(trail.state.but(env=env))


def _readable(context: Context, function: Function) -> bool:
    """Whether nothing that we cannot read stands around a function; where types are declared, annotations wrap nothing."""
    if context.typed:
        return True
    unit = context.unit(function)
    for decorator in function.decorators:
        names = context.program.qualify(unit, decorator)
        if not any(name.rpartition(".")[2] in SEE_THROUGH for name in names):
            return False
    return True
