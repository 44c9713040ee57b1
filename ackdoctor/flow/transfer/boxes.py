"""Flags in a box: `boolean[] done = {false}`, `AtomicBoolean done`, `state = {"done": False}`, `result.ok = True`.

What a function knows of the places in a local array, dict or object is kept beside the fields of the component, as for the
locals of `cells`: a lambda or a nested function that sets `done[0]` sets it for all who look.

Terms.  A *box* is a local whose places are both set and asked about, and which has no second name in the function.  A *place* is `done[0]`,
`result.ok` or, of an object that holds one value, `done.get()`.  A place of which nothing is known is not kept.
"""

from collections.abc import Iterable, Iterator, Mapping

from ackdoctor.flow.graph.expressions import subexpressions
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.graph.wording import last_name
from ackdoctor.flow.path.lattice import Const, FunctionRef, State, Value
from ackdoctor.flow.path.questions import leaves_alone
from ackdoctor.flow.transfer.holding import forget
from ackdoctor.flow.transfer.liveness import read
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    Expr,
    Instr,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Test,
    Update,
)
from ackdoctor.model.component import Function

__all__ = ["behind", "behind_own", "held_value", "in_box", "made", "set_in_box", "unboxed", "unsure"]

_HOLDERS = {  # objects that hold one value, with the one that they begin with
    "AtomicBoolean": False,
    "AtomicInteger": 0,
    "AtomicLong": 0,
    "AtomicReference": None,
    "MutableBoolean": False,
    "Event": False,
}
_EMPTY = {"boolean": False, "int": 0, "long": 0}  # what Java's arrays begin with
_READS = frozenset("get getPlain getAcquire is_set isSet booleanValue isTrue getValue".split())
_SETS = frozenset("set lazySet setPlain setRelease setValue".split())
_TAKES = frozenset({"getAndSet", "compareAndSet", "clear"})
_VALUE = "()"  # the place of an object that holds one value
_MARK, _HOLDS = "{}", "{()}"  # what says that there is a box, and that it is an object that holds one value
_BOX = "box "  # no field of a component is called so
_FEW = 4  # places of a new array of which it is known what they begin with


def in_box(function: Function, state: State, expr: Expr) -> Value | None:
    """The constant in a place of a box, as far as the path knows."""
    if not state.fields:
        return None
    name, place = _place(expr)
    return state.fields.get(f"{_key(function, name)}{place}") if place else None


def made(function: Function, state: State, name: str, value: Expr) -> State:
    """The state in which a local is another box, with what it begins with in its places."""
    if name not in _boxes(function):
        return state
    key = _key(function, name)
    state = _without(state, key)
    return state.but(
        fields={**state.fields, key + _MARK: Const(value=True), **dict(_begun(function, key, name, value))}
    )


def set_in_box(function: Function, state: State, target: Expr, value: Value | None) -> State:
    """The state in which a place of a box is given a value."""
    name, place = _place(target)
    key = _key(function, name)
    if not name or key + _MARK not in state.fields:
        return state
    if not place:  # which one, nobody knows
        return _emptied(state, key)
    fields = {known: old for known, old in state.fields.items() if known != key + place}
    return state.but(fields={**fields, key + place: value} if isinstance(value, Const) else fields)


def held_value(
    function: Function, state: State, call: Call, values: tuple[Value | None, ...]
) -> tuple[State, Value | None] | None:
    """What a call on an object that holds one value does and gives; None for any other call."""
    if not state.fields or not isinstance(call.func, Attr) or not isinstance(call.func.obj, Name):
        return None
    key = _key(function, call.func.obj.id)
    if key + _HOLDS not in state.fields:
        return None
    now = state.fields.get(key + _VALUE)
    match call.func.name, values:
        case name, () if name in _READS:
            return state, now
        case "set", ():
            return _put(state, key, Const(value=True)), None
        case "clear", ():
            return _put(state, key, Const(value=False)), None
        case name, (value,) if name in _SETS:
            return _put(state, key, value), None
        case "getAndSet", (value,):
            return _put(state, key, value), now
        case "compareAndSet", (Const() as wanted, value):
            if not isinstance(now, Const):
                return _put(state, key, None), None
            return (
                (_put(state, key, value), Const(value=True)) if now == wanted else (state, Const(value=False))
            )
        case _:
            return None


def behind(function: Function, state: State, call: Call) -> State:
    """The state behind a call out of sight: what it was given, itself or in a closure, may have other things in its places."""
    if not (_names(function) or function.closures or _any_box(state)):
        return state
    return _opened(state, (*_handed(function, state, call), *_known_to_closures(function, state, call)))


def behind_own(function: Function, state: State, call: Call) -> State:
    """The state behind a call of the project's own code, which knows a box that it was given by another name."""
    return _opened(state, _handed(function, state, call)) if _names(function) or _any_box(state) else state


def _any_box(state: State) -> bool:
    return any(field.startswith(_BOX) for field in state.fields)


def _opened(state: State, boxes: Iterable[tuple[Function, str]]) -> State:
    for function, name in boxes:
        state = _emptied(state, _key(function, name)) if _any_box(state) else state
        state = forget(state, Name(name)) if name in _names(function) else state
    return state


def unsure(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """What is known of fields by the time that deferred code runs: nothing of what is in a box."""
    return {field: value for field, value in fields.items() if not field.startswith(_BOX)}


def unboxed(function: Function, state: State) -> State:
    """The state when the function is over: its own boxes are gone."""
    own = _boxes(function)
    if not own or not state.fields:
        return state
    for name in own:
        state = _without(state, _key(function, name))
    return state


def _handed(function: Function, state: State, call: Call) -> Iterator[tuple[Function, str]]:
    """The boxes that others get hold of in a call."""
    for expr in _bare(arg.value for arg in call.args):
        if isinstance(expr, Name):
            yield function, expr.id
    if isinstance(call.func, Attr) and isinstance(call.func.obj, Name) and not leaves_alone(call):
        known = f"{_key(function, call.func.obj.id)}{_HOLDS}" in state.fields
        if not (known and call.func.name in _READS | _SETS | _TAKES):
            yield function, call.func.obj.id


def _known_to_closures(function: Function, state: State, call: Call) -> Iterator[tuple[Function, str]]:
    """The boxes that the closures know which others get hold of in a call."""
    for expr in _bare(arg.value for arg in call.args):
        inner = function.closures.get(expr.key) if isinstance(expr, Closure) else None
        known = state.env.get(expr.id) if isinstance(expr, Name) else None
        if isinstance(known, FunctionRef):
            inner = known.function
        if inner is not None:
            yield from ((inner, name) for name in inner.captures)


def _bare(exprs: Iterable[Expr]) -> Iterator[Expr]:
    """The locals and closures in expressions that stand there for themselves: not `done` in `done[0]`."""
    stack = list(exprs)
    while stack:
        expr = stack.pop()
        match expr:
            case Name() | Closure():
                yield expr
            case Item(obj=obj, key=key):
                stack += ([] if isinstance(obj, Name) else [obj]) + [key]
            case Attr(obj=obj):
                stack += [] if isinstance(obj, Name) else [obj]
            case Build(items=parts) | Mix(parts=parts):
                stack += parts
            case Star(value=value) | Not(value=value) | IsType(value=value):
                stack.append(value)
            case Compare(left=left, right=right):
                stack += (left, right)
            case _:
                pass


def _put(state: State, key: str, value: Value | None) -> State:
    fields = {field: old for field, old in state.fields.items() if field != key + _VALUE}
    return state.but(fields={**fields, key + _VALUE: value} if isinstance(value, Const) else fields)


def _emptied(state: State, key: str) -> State:
    """The state in which nothing is known of the places of a box."""
    return _without(state, key, but=(key + _MARK, key + _HOLDS))


def _without(state: State, key: str, but: tuple[str, ...] = ()) -> State:
    kept = {field: old for field, old in state.fields.items() if field in but or not field.startswith(key)}
    return state.but(fields=kept) if len(kept) < len(state.fields) else state


def _key(function: Function, name: str) -> str:
    return f"{_BOX}{function.path}:{function.qualname.partition('.<locals>.')[0]}:{name}:"


def _place(expr: Expr) -> tuple[str, str]:
    """The local, and the place in it; no place where only a run knows which."""
    match expr:
        case Item(obj=Name(id=name), key=Literal(value=value)):
            return name, f"[{value!r}]"
        case Item(obj=Name(id=name)):
            return name, ""
        case Attr(obj=Name(id=name), name=field):
            return name, f".{field}"
        case _:
            return "", ""


# ---- which locals are boxes ----


@once
def _boxes(function: Function) -> frozenset[str]:
    """The function's own locals that are boxes."""
    tree = list(_tree(function))
    steps = [step.op for each in tree for step in each.cfg.steps]
    asked = {name for each in tree for name in _asked(each)}
    if not asked:
        return frozenset()
    own = {
        op.target.id
        for op in (step.op for step in function.cfg.steps)
        if isinstance(op, Bind) and isinstance(op.target, Name)
    }
    aliased = {
        expr.id
        for op in steps
        if not isinstance(op, (Call, Test, Return, Next))
        for expr in _bare(_given(op))
        if isinstance(expr, Name)
    }
    return frozenset((asked & own) - aliased)


def _given(op: Instr) -> tuple[Expr, ...]:
    """What an instruction gives another name."""
    return tuple(expr for expr in read(op) if not (isinstance(op, (Bind, Update)) and expr == op.target))


def _asked(function: Function) -> Iterator[str]:
    """The locals whose places are set or asked about in a function."""
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=condition):
                exprs = list(subexpressions(condition))
            case Bind(value=value):
                exprs = list(subexpressions(value))
            case Call(func=Attr(obj=Name(id=name), name=method)) if method in _READS | _TAKES:
                yield name
                continue
            case _:
                continue
        yield from (name for name, place in map(_place, exprs) if place)


@once
def _names(function: Function) -> frozenset[str]:
    return _boxes(function) | function.captures


def _tree(function: Function) -> Iterator[Function]:
    yield function
    for inner in function.closures.values():
        yield from _tree(inner)


def _begun(function: Function, key: str, name: str, value: Expr) -> Iterator[tuple[str, Value]]:
    match value:
        case Build(kind="dict", items=items):
            for place, held in zip(items[::2], items[1::2], strict=False):
                if isinstance(place, Literal) and isinstance(held, Literal):
                    yield f"{key}[{place.value!r}]", Const(held.value)
        case Build(items=()) if function.types.get(name) in _EMPTY:
            for number in range(_FEW):
                yield f"{key}[{number}]", Const(_EMPTY[function.types[name]])
        case Build(items=items):
            for number, held in enumerate(items):
                if isinstance(held, Literal):
                    yield f"{key}[{number}]", Const(held.value)
        case Name():
            maker = _makers(function).get(value)
            kind = last_name(maker.func) if maker is not None else ""
            if maker is not None and kind in _HOLDERS and len(maker.args) <= 1:
                yield key + _HOLDS, Const(value=True)
                first = maker.args[0].value if maker.args else Literal(_HOLDERS[kind])
                if isinstance(first, Literal):
                    yield key + _VALUE, Const(first.value)
        case _:
            pass


@once
def _makers(function: Function) -> Mapping[Expr, Call]:
    return {step.op.result: step.op for step in function.cfg.steps if isinstance(step.op, Call)}
