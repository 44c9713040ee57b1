"""Transfer function of calls: of the framework, of the project's own code, and of opaque code."""

from dataclasses import replace
from itertools import zip_longest
from typing import TypeAlias

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.heap_cells import HEAP_CELLS
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.transfer.containers import CallEffect, arguments, method_call
from ackdoctor.flow.transfer.declared import declared_result, framework_kind, makes_framework_calls
from ackdoctor.flow.transfer.decorators import decorated
from ackdoctor.flow.transfer.dispatch import (
    MethodTarget,
    argument_type,
    captured_by_class,
    choose_functions,
    choose_verb,
    constructor_may_raise,
    method_of,
    methods_named,
    new_instance,
    read_getter,
    thread_task,
    type_text,
)
from ackdoctor.flow.transfer.effects import changed_fields, helper_may_raise, is_skippable, surviving_facts
from ackdoctor.flow.transfer.evaluate import evaluate, stored_tuple
from ackdoctor.flow.transfer.opaque_calls import Enter, enter, library_call, opaque_call, run_later
from ackdoctor.flow.transfer.verbs import apply_verb, external_verb, never_raises, own_verb, unbound_verb
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Container,
    External,
    Field,
    FunctionRef,
    Instance,
    OneOf,
    Partial,
    SelfRef,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import COROUTINE_RUNS, IMMEDIATE_CALLBACKS, PURE_CALLS, THREAD
from ackdoctor.model.cfg import Arg, Attr, Call, ClassInfo, Function, Global, Name
from ackdoctor.model.dialect import Verb

Outcomes: TypeAlias = tuple[CallEffect | Enter, ...]


def resolve_call(context: Context, path: Path, call: Call) -> Outcomes:
    """Return the effect of a call, or the function of the project that it enters; several if it may mean several."""
    call, path = _expand_stars(context, path, call)
    function, state = path.function, path.state
    values = arguments(context, path, call)
    held = HEAP_CELLS.call_method(function, state, call, values)
    if held is not None:
        return (CallEffect(*held, may_raise=False),)
    by_type = _declared_call if context.library.declared_types else _object_call
    known = by_type(context, path, call, values)
    if known is not None:
        return known
    if call.args and last_name(call.func) in COROUTINE_RUNS:
        coroutine = evaluate(context, function, state, call.args[0].value)
        if isinstance(coroutine, Partial) and not isinstance(call.func, Name):
            return (apply_value(context, path, replace(call, awaited=True), coroutine, ()),)
    target = evaluate(context, function, state, call.func)
    if isinstance(target, (OneOf, Partial)):
        return _apply_each(context, path, call, target)
    if isinstance(call.func, Attr) and not isinstance(target, (BoundMethod, FunctionRef, External)):
        receiver = evaluate(context, function, state, call.func.obj)
        done = method_call(context, path, call, receiver, call.func)
        if done is not None:
            return (done,)
    return (apply_value(context, path, call, target, None),)


def _apply_each(context: Context, path: Path, call: Call, target: Value) -> Outcomes:
    """Apply a piece of code, or each of those that the target may be."""
    codes = sorted(target.items, key=repr) if isinstance(target, OneOf) else (target,)
    return tuple(apply_value(context, path, call, each, None) for each in codes)


def _declared_call(
    context: Context, path: Path, call: Call, values: tuple[Value | None, ...]
) -> Outcomes | None:
    """Return the effect of a call that declared types resolve; None for any other."""
    method = method_of(context, path, call, values)
    if method is not None:
        return _enter_one(context, path, call, method, values)
    getter = read_getter(context, path, call)
    if getter is not None:
        return (CallEffect(*getter),)
    if not isinstance(call.func, Attr) or isinstance(call.func.obj, Global):
        instance = new_instance(context, path, call, values)
        if instance is not None:
            run_later(context, path, path.state, (thread_task(context, instance),), THREAD, threaded=True)
            return (CallEffect(path.state, instance, constructor_may_raise(context, call, instance)),)
    if isinstance(call.func, Attr) and call.func.name in IMMEDIATE_CALLBACKS:
        return _run_callback_now(context, path, call, values)
    target = _functional_call(context, path, call)
    return _apply_each(context, path, call, target) if target is not None else None


def _object_call(
    context: Context, path: Path, call: Call, values: tuple[Value | None, ...]
) -> Outcomes | None:
    """Return the effect of a call on another object of the project that makes framework calls for the component."""
    method = method_of(context, path, call, values)
    if method is not None:
        if not isinstance(method.receiver, (Field, Instance)):
            return None
        if isinstance(method.receiver, Instance) and not makes_framework_calls(context, method.receiver.cls):
            return None
        return _enter_one(context, path, call, method._replace(functions=method.functions[:1]), values)
    tokens = [token for value in values for token in tokens_in(value)]
    instance = new_instance(context, path, call, values) if SelfRef() in values or not tokens else None
    if not isinstance(instance, Instance) or not makes_framework_calls(context, instance.cls):
        return None
    return (replace(opaque_call(context, path, call, None), value=instance),)


def _functional_call(context: Context, path: Path, call: Call) -> Value | None:
    """Return the code that `task.run()` calls if `task` is a lambda, a method reference or an object of an anonymous class."""
    if not isinstance(call.func, Attr):
        return None
    match evaluate(context, path.function, path.state, call.func.obj):
        case FunctionRef() | BoundMethod() | OneOf() | Partial() as target if (
            call.func.name not in PURE_CALLS
        ):
            return target
        case Container(items=items):
            functions = (item for item in items if isinstance(item, FunctionRef))
            return next((each for each in functions if each.function.name == call.func.name), None)
        case _:
            return None


def _enter_one(
    context: Context, path: Path, call: Call, method: MethodTarget, values: tuple[Value | None, ...]
) -> Outcomes | None:
    functions = _overloads(context, path, call, method.functions, values)
    if len(functions) > 1:  # prefer a function that is not running yet
        functions = tuple(function for function in functions if function is not path.function)
    result = declared_result(context, functions[0]) if functions else None
    if functions and all(function.docstring_only for function in functions):
        done = opaque_call(context, path, call, values)  # abstract: a subclass defines it, out of sight
        return (done if result is None else replace(done, value=result),)
    knowing = isinstance(method.receiver, Instance) and method.receiver.fields
    seen = (
        (*values, method.receiver) if knowing else values
    )  # a getter of a record may return the tuple in it
    is_kept = isinstance(method.receiver, Field)  # its methods complete or return the tuples in it
    if not is_kept and functions and all(is_skippable(context, path.state, each, seen) for each in functions):
        fields = frozenset[str]().union(*(changed_fields(context, function) for function in functions))
        may_raise = any(helper_may_raise(context, function) for function in functions)
        facts = surviving_facts(path.function, path.state, fields)
        return (CallEffect(path.state.replace(facts=facts), result, may_raise),)
    outcomes = (
        enter(
            context, path, call, function, method.receiver, None, captured_by_class(function, method.receiver)
        )
        for function in functions
    )
    return tuple(outcome for outcome in outcomes if isinstance(outcome, Enter)) or None


def _overload(
    context: Context,
    path: Path,
    call: Call,
    functions: tuple[Function, ...],
    values: tuple[Value | None, ...],
) -> Function | None:
    return next(iter(_overloads(context, path, call, functions, values)), None)


def _overloads(
    context: Context,
    path: Path,
    call: Call,
    functions: tuple[Function, ...],
    values: tuple[Value | None, ...],
) -> tuple[Function, ...]:
    if len(functions) < 2 or len(values) != len(call.args):  # noqa: PLR2004
        return functions[:1]
    type_words = [argument_type(context, path.function, path.state, arg.value) for arg in call.args]
    texts = [type_text(path.function, arg.value) for arg in call.args]
    return choose_functions(functions, values, type_words, texts)


def _run_callback_now(
    context: Context, path: Path, call: Call, values: tuple[Value | None, ...]
) -> Outcomes | None:
    """Apply `tuples.forEach(t -> ...)`: the callback runs before the call returns, here once."""
    target = next((value for value in values if isinstance(value, (FunctionRef, BoundMethod))), None)
    if target is None or not isinstance(call.func, Attr):
        return None
    element: Value | None = None
    match evaluate(context, path.function, path.state, call.func.obj):
        case Batch(token=token):
            element = TokenRef(token)
        case Field(name=name):
            element = stored_tuple(name)
        case Container(items=items) if len(items) == 1:
            element = next(iter(items))
        case _:
            pass
    given: tuple[Value | None, ...] = (element,)
    match target:
        case FunctionRef(function=function) if len(function.params) == 2:  # noqa: PLR2004  a map's key and value
            key = Name(function.params[0].name)
            given = (element, None) if _completes_argument(context, function, key) else (None, element)
        case _:
            pass
    return (apply_value(context, path, call, target, given),)


def _completes_argument(context: Context, function: Function, param: Name) -> bool:
    """Whether a function acks or fails what it gets for a parameter."""
    calls = calls_by_result(function).values()
    done = (call for call in calls if last_name(call.func) in context.completing_names)
    return any(call.args[:1] == (Arg(param),) for call in done)


def _apply_partial(context: Context, path: Path, call: Call, target: Partial) -> CallEffect | Enter:
    """Return the effect of calling a partial with the call's own arguments."""
    given, path = _with_temporaries(path, call, target.args, "%given", target.names)
    first = tuple(arg for arg in given.args if arg.name is None)
    named = tuple(arg for arg in given.args if arg.name is not None)
    return apply_value(context, path, replace(call, args=(*first, *call.args, *named)), target.target, None)


def apply_value(
    context: Context, path: Path, call: Call, target: Value | None, preset: tuple[Value | None, ...] | None
) -> CallEffect | Enter:
    """Return the effect of calling a value with the call's own arguments, or with those that replace them."""
    match target:
        case Partial():
            rewritten, at = _with_temporaries(path, call, preset)
            return _apply_partial(context, at, rewritten, target)
        case BoundMethod(name=name, on=kind) if kind:
            rewritten, at = _with_temporaries(path, call, preset)
            verb = choose_verb(context, at.function, at.state, rewritten.args, context.verbs_of(kind, name))
            if verb is not None:
                return _verb(context, at, rewritten, verb, None)
            return CallEffect(path.state, None, may_raise=False)
        case BoundMethod(name=name, after=after) if (
            after is not None and after not in context.component.lineage
        ):
            return _super_method(context, path, call, after, name, preset)
        case BoundMethod(name=name, after=after):
            offered = methods_named(_behind(context, after), name)
            method = next(iter(offered), None)
            verb = own_verb(context, name)
            if preset is None and len(offered) > 1:
                method = _overload(context, path, call, offered, arguments(context, path, call)) or method
            run = decorated(context, method) if method is not None else None
            if method is not None and run is not None:
                own = SelfRef() if method.binding != "static" else None
                return enter(context, path, call, run.function, own, preset, run.captured)
            if method is None and verb is not None:
                return _verb(context, path, call, verb, preset)
        case FunctionRef(function=function) as written:
            run = written if written.bare else decorated(context, function)
            if run is not None:
                return _enter_function(
                    context, path, call, run if run.function is not function else written, preset
                )
        case External():
            verb = external_verb(context.verbs(), target.names)
            if verb is not None:
                return _verb(context, path, call, verb, preset)
            verb = unbound_verb(context, target.names)
            values = arguments(context, path, call, preset)
            if verb is not None and values[:1] == (SelfRef(),):
                rest = replace(call, args=call.args[1:])
                return _verb(context, path, rest, verb, preset and preset[1:])
            return library_call(context, path, call, target, preset)
        case _:
            pass
    return opaque_call(context, path, call, preset)


def _enter_function(
    context: Context, path: Path, call: Call, target: FunctionRef, preset: tuple[Value | None, ...] | None
) -> CallEffect | Enter:
    function, captured = target.function, target.captured
    if function.name in function.captures:
        # a closure can call itself, but was not yet bound when it captured its own name
        captured = (*captured, (function.name, target))
    owner = context.program.owner(function) if preset is None else None
    if owner is not None and owner.overloads and function.name in owner.overloads:
        offered = owner.overloads[function.name]
        function = _overload(context, path, call, offered, arguments(context, path, call)) or function
    return enter(context, path, call, function, None, preset, captured)


def _behind(context: Context, after: object) -> tuple[ClassInfo, ...]:
    lineage = context.component.lineage
    if after is None:
        return lineage
    index = next((i for i, cls in enumerate(lineage) if cls is after), -1)
    return lineage[index + 1 :]


def _super_method(
    context: Context,
    path: Path,
    call: Call,
    after: ClassInfo,
    name: str,
    preset: tuple[Value | None, ...] | None,
) -> CallEffect | Enter:
    """Resolve `super.name(...)` in a class that is not the component."""
    values = arguments(context, path, call, preset)
    functions = methods_named(context.program.lineage(after).order[1:], name)
    function = _overload(context, path, call, functions, values)
    if function is not None and not function.docstring_only:
        return enter(context, path, call, function, path.state.env.get(path.function.receiver), preset)
    handle = framework_kind(context, after)
    if handle is not None:
        return apply_value(context, path, call, BoundMethod(name, on=handle.kind), preset)
    return opaque_call(context, path, call, preset)


def _verb(
    context: Context, path: Path, call: Call, verb: Verb, preset: tuple[Value | None, ...] | None
) -> CallEffect:
    call, path = _with_temporaries(path, call, preset)
    state, value = apply_verb(context, path, call, verb)
    return CallEffect(state, value, not never_raises(verb))


def _with_temporaries(
    path: Path,
    call: Call,
    preset: tuple[Value | None, ...] | None,
    prefix: str = "%preset",
    names: tuple[str | None, ...] = (),
) -> tuple[Call, Path]:
    """Return a call whose arguments are these abstract values, through fresh temporaries; without any, the call itself."""
    if preset is None:
        return call, path
    known = {f"{prefix}{i}": value for i, value in enumerate(preset) if value is not None}
    env = {**path.state.env, **known}
    args = tuple(Arg(Name(f"{prefix}{i}"), name) for i, (_, name) in enumerate(zip_longest(preset, names)))
    return replace(call, args=args), path.with_state(path.state.replace(env=env))


def _expand_stars(context: Context, path: Path, call: Call) -> tuple[Call, Path]:
    """Expand `f(*args, **kwargs)` into one argument for each known element."""
    if not any(arg.star for arg in call.args):
        return call, path
    env = dict(path.state.env)
    spread: list[Arg] = []
    for arg in call.args:
        whole = evaluate(context, path.function, path.state, arg.value) if arg.star else None
        if not isinstance(whole, Container) or whole.order is None or (arg.star == "*" and whole.keys):
            spread.append(arg)
            continue
        for value, key in zip_longest(whole.order, whole.keys):
            name = f"%preset{len(spread)}"
            spread.append(Arg(Name(name), key if isinstance(key, str) else None))
            env.update({name: value} if value is not None else {})
    return replace(call, args=tuple(spread)), path.with_state(path.state.replace(env=env))
