"""Calls of opaque code, and entry into the project's own functions.

An opaque call is judged by the last part of its name: it may read its arguments, store them, run callbacks now or later,
or let tuples escape.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ackdoctor.flow.context import Context, DeferredCall
from ackdoctor.flow.domains.aliases import collections, measured_collections
from ackdoctor.flow.domains.invalidation import invalidate_receiver
from ackdoctor.flow.events import CallbackPassed, Deferral, Path
from ackdoctor.flow.expressions import last_name, names_in, renamed, subexpressions
from ackdoctor.flow.facts import tested_names
from ackdoctor.flow.pure_calls import is_immutable
from ackdoctor.flow.state import CAUGHT_BEFORE, LoopState, State
from ackdoctor.flow.transfer.containers import CallEffect, arguments, elements, packed_arguments
from ackdoctor.flow.transfer.dispatch import callbacks, object_of
from ackdoctor.flow.transfer.escape import escape
from ackdoctor.flow.transfer.evaluate import MAX_TABLE, batch_part, evaluate, one_of, tick_test_of_name
from ackdoctor.flow.transfer.origins import is_remote, may_raise, runs_on_thread
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    ExceptionValue,
    External,
    Field,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    SuperRef,
    TickTest,
    TokenRef,
    Value,
    Zipped,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import (
    ASYNC_SUFFIX,
    ATTRIBUTE_READS,
    COLLECTION_WRAPPERS,
    EXCEPTION_SUFFIXES,
    LOGGING,
    NUMBERING,
    PAIRING,
    PARTIALS,
    PARTS,
    PURE_CALLS,
    RANGES,
    RUN,
    THREAD_CLASSES,
    THREAD_STARTS,
    TRANSPARENT_DECORATORS,
    WRAPS,
)
from ackdoctor.model.cfg import (
    SUPER,
    Arg,
    Attr,
    Build,
    Call,
    Closure,
    Compare,
    Expr,
    Function,
    Global,
    Literal,
    Mix,
    Name,
)
from ackdoctor.model.dialect import Kind

_CODE = (BoundMethod, FunctionRef, Partial)


def library_call(
    context: Context, path: Path, call: Call, target: External, preset: tuple[Value | None, ...] | None
) -> CallEffect:
    """Return the effect of a call of library code, as far as its qualified name determines it."""
    name = target.names[-1].rpartition(".")[2]
    values = arguments(context, path, call, preset)
    state = path.state
    if (
        isinstance(call.func, Attr)
        and name in COLLECTION_WRAPPERS
        and is_remote(context, path.function, call.func.obj)
    ):
        return opaque_call(context, path, call, preset)
    if (
        call.dropped
        and target.names == (name,)
        and name in context.library.lazy - context.unit(path.function).eager
    ):
        return CallEffect(state, None, may_raise=False)
    if name in ATTRIBUTE_READS:
        read = _read_attribute(context, path, call, values)
        return CallEffect(state, read, may_raise(context, path.function, call))
    code = _made_code(context, path, name, call, values)
    if code is not None:
        return CallEffect(state, code, may_raise=False)
    if name in TRANSPARENT_DECORATORS and values:
        return CallEffect(state, values[0], may_raise=False)
    iterable = _batch_iterable(name, values)
    if iterable is not None:
        return CallEffect(state, iterable, may_raise=False)
    if name in context.library.literals:
        if len(values) == 1 and name in context.library.arrays and isinstance(values[0], (Batch, Container)):
            return CallEffect(state, values[0], may_raise=False)
        return CallEffect(state, Container(elements(context, values)), may_raise=False)
    if name in COLLECTION_WRAPPERS:
        seen = [value for value in values if isinstance(value, (Batch, Container, Count, Field, TokenRef))]
        return CallEffect(state, seen[0] if seen else Container(frozenset()), may_raise=False)
    if name in PURE_CALLS or name in LOGGING:
        token = next((t for value in values for t in tokens_in(value)), None)
        if token is not None and (kind := tick_test_of_name(name)):
            return CallEffect(state, TickTest(token, kind), may_raise=False)
        return CallEffect(state, None, may_raise=may_raise(context, path.function, call))
    if name.endswith(EXCEPTION_SUFFIXES):
        return CallEffect(state, ExceptionValue(target.names[-1]), may_raise=False)
    return opaque_call(context, path, call, preset)


def _made_code(
    context: Context, path: Path, name: str, call: Call, values: tuple[Value | None, ...]
) -> Value | None:
    """Return the code, or the view of the component, that a call of this name makes."""
    if name in PARTIALS and values and values[0] is not None:
        names = tuple(arg.name for arg in call.args[1:]) if len(call.args) == len(values) else ()
        return Partial(values[0], values[1:], names)
    if name == SUPER:
        return SuperRef(context.program.owner(_outermost(context, path)))
    return External(("identity",)) if name in WRAPS else None


def _read_attribute(
    context: Context, path: Path, call: Call, values: tuple[Value | None, ...]
) -> Value | None:
    """Return the attribute of an object that a call names; where it has a default, only a method or a verb."""
    match call.args, values:
        case (obj, _, *default), (_, Const(value=str() as name), *_):
            value = evaluate(context, path.function, path.state, Attr(obj.value, name))
            return value if not default or isinstance(value, BoundMethod) else None
        case (obj, Arg(value=Mix(op="+" | "f" | "%", parts=(Literal(value=str() as prefix), *_))), *_), (
            SelfRef(),
            *_,
        ):
            names = _handlers_named(context, prefix.partition("%")[0])
            return one_of(
                evaluate(context, path.function, path.state, Attr(obj.value, each)) for each in names
            )
        case _:
            return None


def _handlers_named(context: Context, prefix: str) -> list[str]:
    """Return the component's methods that `getattr(self, "on_" + kind)` may name, if all take as many arguments."""
    entries = {entry.method for entry in context.component.role.entries}
    methods = {
        name: method
        for cls in reversed(context.component.lineage)
        for name, method in cls.methods.items()
        if name.startswith(prefix) and name not in entries
    }
    alike = len({len(method.params) for method in methods.values()}) == 1
    return sorted(methods) if len(prefix) > 1 and alike and len(methods) <= MAX_TABLE else []


def _batch_iterable(name: str, values: tuple[Value | None, ...]) -> Zipped | Count | Container | None:
    """Return the iterable that the standard library makes of a batch: `enumerate`, `reversed`, `zip`."""
    match values:
        case (Batch() as batch, _, *_) if name in PARTS:
            return batch_part(batch)
        case (Batch(token=token), *start) if name in NUMBERING:
            return Zipped(token, 1, numbered=not start)
        case (Count(less=0) as count,) | (Const(value=0), Count(less=0) as count) if name in RANGES:
            return count
        case (Const(value=0), Count(of=Batch(), less=0) as count, _) if name in RANGES:  # in parts
            return count
        case (Count(of=whole, less=1), Const(value=-1), Const(value=-1)) if name in RANGES:
            return Count(whole)
        case _ if name in PAIRING:
            batches = ((column, each) for column, each in enumerate(values) if isinstance(each, Batch))
            return next((Zipped(batch.token, column) for column, batch in batches), None)
        case _:
            return None


def _outermost(context: Context, path: Path) -> Function:
    """Return the method that a path is in: `super()` in a closure means the method around it."""
    visit: Path | None = path
    while visit is not None:
        if context.program.owner(visit.function) is not None:
            return visit.function
        visit = visit.before
    return path.function


def opaque_call(
    context: Context, path: Path, call: Call, preset: tuple[Value | None, ...] | None
) -> CallEffect:
    """Return the effect of a call of which at most the last part of the name is known."""
    name = last_name(call.func) or "a call"
    if name in LOGGING or name in PURE_CALLS:
        return CallEffect(path.state, None, may_raise=may_raise(context, path.function, call))
    values = arguments(context, path, call, preset)
    if len(values) == 1 and isinstance(values[0], TokenRef) and (kind := tick_test_of_name(name)):
        return CallEffect(path.state, TickTest(values[0].token, kind), may_raise=False)
    state = path.state
    if isinstance(call.func, Attr) and not is_immutable(path.function, call.func.obj):
        state = _touch_receiver(context, path, invalidate_receiver(state, call), call.func.obj)
    if isinstance(call.func, Attr):
        receiver = evaluate(context, path.function, path.state, call.func.obj)
        if isinstance(receiver, Instance) or (
            isinstance(receiver, Container) and any(_callables((receiver,)))
        ):
            values = (*values, receiver)
    takes_over = any(isinstance(value, _CODE) and _carries(value) for value in values)
    if takes_over or not _is_question(context, name):
        state = escape(context, path, state, values, name)
        state = _forget_emptiness(state, call, values)
    run_later(context, path, state, values, name, threaded=runs_on_thread(context, path.function, call))
    carried = frozenset(value for value in values if value is not None and any(tokens_in(value)))
    result = Container(carried) if carried and name[:1].isupper() else None
    return CallEffect(state, result, may_raise=may_raise(context, path.function, call))


def _touch_receiver(context: Context, path: Path, state: State, obj: Expr) -> State:
    """Return the state after an unknown method of a field: it may change what the field holds."""
    receiver = evaluate(context, path.function, state, obj) if context.stored_stages else None
    return context.touch(state, receiver) if isinstance(receiver, Field) else state


def _forget_emptiness(state: State, call: Call, values: tuple[Value | None, ...]) -> State:
    """Forget that an empty collection is empty after it escapes: other code may add to it and remove from it."""
    for arg, value in zip(call.args, values, strict=False):
        if isinstance(arg.value, Name) and isinstance(value, Container) and not value.items:
            state = state.bind(arg.value.id, None)
    return state


def _is_question(context: Context, name: str) -> bool:
    """Whether a call's name says that it only reads its arguments: `getKey(tuple)`, `isValid(tuple)`."""
    word = next((word for word in context.library.questions if name.startswith(word)), "")
    return bool(word) and (name == word or name[len(word) : len(word) + 1].isupper())


def run_later(
    context: Context,
    path: Path,
    state: State,
    values: tuple[Value | None, ...],
    runner: str,
    *,
    threaded: bool,
) -> None:
    """Record the callables among the arguments as code that runs later."""
    started = _started(context, path)
    threaded = threaded or bool(started)
    awaited = runner in context.library.schedulers or runner.lower().endswith(ASYNC_SUFFIX)
    own = (BoundMethod(RUN),) if SelfRef() in values and runner in context.library.runners else ()
    targets = started or (*_callables(values), *(own if context.component.method(RUN) else ()))
    args_of = [tuple(_passed_on(context, path, target, values)) for target in targets]
    carries = any(map(_carries, (*targets, *(arg for args in args_of for arg in args))))
    for target, args in zip(targets, args_of, strict=True):
        deferral = Deferral(runner, path.function, path.step, threaded, threaded or awaited)
        context.record(
            CallbackPassed(path=path, deferral=deferral),
            repr(target),
            runner,
        )
        emits_later = context.component.role.kind is Kind.SPOUT  # a callback needs no tuple to emit one
        if emits_later or threaded or awaited or carries:  # `onError` beside `onSuccess`
            context.deferred_calls.append(DeferredCall(target, args, state, deferral, path))


def _started(context: Context, path: Path) -> tuple[Value, ...]:
    """Return the `run` of a thread that a call starts: of the component itself, or of another object of the project."""
    match path.step.op:
        case Call(func=Attr(obj=obj, name=name)) if name in THREAD_STARTS:
            thread = evaluate(context, path.function, path.state, obj)
            thread = thread if isinstance(thread, SelfRef) else object_of(context, path, obj)
        case _:
            return ()
    if thread is None:
        return ()
    cls = thread.cls if isinstance(thread, Instance) else context.component.cls
    run, foreign = context.program.find_method(cls, RUN), context.program.lineage(cls).foreign
    if run is None or not any(each.rpartition(".")[2] in THREAD_CLASSES for each in foreign):
        return ()
    return (Partial(FunctionRef(run, bare=True), (thread,)),)


def _passed_on(
    context: Context, path: Path, target: Value, values: tuple[Value | None, ...]
) -> Iterator[Value | None]:
    """Return the arguments with which opaque code may call a callable.

    They are those behind it, in order, if one of them is a tuple: `submit(work, url, tup)`; else the tuples that came
    with it.  With declared types, there is no other code among them.
    """
    own = target.args if isinstance(target, Partial) else ()
    start = values.index(target) + 1 if target in values else len(values)
    in_order = any(map(_carries, values[start:]))
    written = path.step.op.args if isinstance(path.step.op, Call) else ()
    for index, value in enumerate(values):
        if in_order and index < start:
            continue
        items: tuple[Value | None, ...] = (value,)
        match written[index].value if in_order and len(written) == len(values) else None:
            case Build(items=parts):
                items = tuple(evaluate(context, path.function, path.state, part) for part in parts)
            case _ if isinstance(value, Container):
                items = tuple(sorted(value.items, key=repr))
            case _:
                pass
        for item in items:
            is_code = isinstance(item, _CODE) or item in own
            if item is target or (is_code and context.library.closed_callbacks):
                continue
            if in_order or _carries(item):
                yield item


def _carries(value: Value | None) -> bool:
    return any(tokens_in(value))


def _callables(values: tuple[Value | None, ...]) -> Iterator[Value]:
    for value in values:
        match value:
            case BoundMethod() | FunctionRef() | Partial():
                yield value
            case Instance():
                yield from callbacks(value)
            case Container(items=items):
                for item in sorted(items, key=repr):
                    if isinstance(item, (BoundMethod, FunctionRef)):
                        yield item
                    else:
                        yield from callbacks(item)
            case _:
                pass


_AROUND = 0  # all loops around the call of a helper; its own are counted from 1


@dataclass(slots=True, unsafe_hash=True)
class Enter:
    """The call enters a function of the project with this state."""

    function: Function
    state: State


def enter(
    context: Context,
    path: Path,
    call: Call,
    function: Function,
    receiver: Value | None,
    preset: tuple[Value | None, ...] | None,
    captured: tuple[tuple[str, Value], ...] = (),
) -> CallEffect | Enter:
    """Return the state at the entry of this function; `preset` are values in place of the call's own arguments."""
    if function.is_async and not call.awaited:
        return _coroutine(context, path, call, function, receiver, preset, captured)
    env: dict[str, Value] = {"%return": Const(None), **dict(captured)}
    params = [param for param in function.params if param.kind == "positional"]
    own = [receiver] if receiver is not None and function.binding != "static" else []
    env.update(zip((param.name for param in params[:1]), own, strict=False))
    more: list[Value | None] = [*own] if not params else []  # `*args` of a decorator's inner function
    params = params[len(own) :]
    args = call.args if preset is None else tuple(Arg(Name("")) for _ in preset)
    values = arguments(context, path, call, preset)
    filled: set[str | None] = set()
    named: dict[str, Value | None] = {}
    passed: dict[str, Expr] = {}
    names = {param.name for param in function.params}
    for arg, value in zip(args, values, strict=True):
        name = arg.name
        if name is None and not arg.star:
            if params:
                name = params.pop(0).name
            else:
                more.append(value)
        if name is not None and name not in names:
            named[name] = value
            continue
        filled.add(name)
        if name is not None and isinstance(arg.value, (Name, Attr)) and preset is None:
            passed[name] = arg.value
        if name is not None and _matters(function, name, value):
            env[name] = value  # type: ignore[assignment]  # _matters refuses None
        elif arg.star and value is not None and any(tokens_in(value)):
            return opaque_call(context, path, call, preset)
    if not any(arg.star for arg in args):
        env.update(_defaults(context, function, filled))
        env.update(packed_arguments(context, function, more, named))
    before = path.state
    entered = State(
        env=env,
        tokens=before.tokens,
        fields=before.fields,
        contents=before.contents,
        final=before.final,
        heap=before.heap,
        facts={**_facts_about(path, function, passed), **_own_collections(path, function, call)},
        loops=_loops_in_callee(before),
        caught=before.caught and CAUGHT_BEFORE,
    )
    return Enter(function, entered)


def _coroutine(
    context: Context,
    path: Path,
    call: Call,
    function: Function,
    receiver: Value | None,
    preset: tuple[Value | None, ...] | None,
    captured: tuple[tuple[str, Value], ...],
) -> CallEffect:
    """Return the effect of a call that makes a coroutine: what awaits the coroutine runs it."""
    plain = preset is not None or all(arg.name is None and not arg.star for arg in call.args)
    if not plain or call.dropped:  # it never runs
        return opaque_call(context, path, call, preset)
    given = arguments(context, path, call, preset)
    first = () if receiver is None or function.binding == "static" else (receiver,)
    coroutine = Partial(FunctionRef(function, captured, bare=True), (*first, *given))
    return CallEffect(path.state, coroutine, may_raise=False)


def _defaults(context: Context, function: Function, filled: set[str | None]) -> Iterator[tuple[str, Value]]:
    """Yield the default values of the parameters that a call leaves out."""
    for param in function.params:
        if param.name not in filled and param.default is not None:
            value = evaluate(context, function, State(), param.default)
            if isinstance(value, Const) and _matters(function, param.name, value):
                yield param.name, value


def _facts_about(path: Path, function: Function, passed: Mapping[str, Expr]) -> Mapping[Expr, bool]:
    """Return the facts about the arguments of a call, restated for the parameters."""
    known: dict[Expr, bool] = {}
    names = {expr.id: name for name, expr in passed.items() if isinstance(expr, Name)}
    for fact, truth in path.state.facts.items() if passed else ():
        read = set(names_in(fact))
        if read and read <= names.keys() and _holds_in_callee(path, function, fact):
            known[renamed(fact, names)] = truth
        for name, expr in passed.items():
            if fact == expr:
                known[Name(name)] = truth
            elif (
                isinstance(fact, Compare)
                and fact.left == expr
                and not any(names_in(fact.right))
                and _holds_in_callee(path, function, fact.right)
            ):
                known[Compare(Name(name), fact.op, fact.right)] = truth
    return known


def _own_collections(path: Path, function: Function, call: Call) -> Mapping[Expr, bool]:
    """Return the facts about the size of the component's fields, for the collections that a method of it uses."""
    own = Name(function.receiver)
    if not own.id or path.function.receiver != own.id or call.func != Attr(own, last_name(call.func)):
        return {}
    sizes = {expr for expr in collections(function) if isinstance(expr, Attr) and expr.obj == own}
    return {
        fact: truth
        for fact, truth in path.state.facts.items()
        if (fact in sizes or not sizes.isdisjoint(measured_collections(fact)))
        and set(names_in(fact)) == {own.id}
    }


def _holds_in_callee(path: Path, function: Function, fact: Expr) -> bool:
    """Whether what a fact names beside the arguments means the same in the callee."""
    kinds = {type(part) for part in subexpressions(fact)}
    return Closure not in kinds and (path.function.path == function.path or Global not in kinds)


def _loops_in_callee(before: State) -> Mapping[int, LoopState]:
    """Return the loop memory for a helper that is called in a loop over a batch: earlier iterations left some element so."""
    rest = [
        memory.rest for memory in before.loops.values() if memory.rest is not None and memory.field is None
    ]
    return {_AROUND: LoopState(None, rest[0])} if rest else {}


def _matters(function: Function, name: str, value: Value | None) -> bool:
    if isinstance(value, Const):
        return name in tested_names(function)
    return value is not None
