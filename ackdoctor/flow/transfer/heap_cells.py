"""Abstract values in captured locals and in local boxes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, mentions, subexpressions
from ackdoctor.flow.invalidation import drop_facts
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.flow.state import Const, State, Value
from ackdoctor.flow.transfer.liveness import read, written
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
    Unpack,
    Update,
)
from ackdoctor.model.component import Function

__all__ = [
    "BOX",
    "asked_places",
    "bare",
    "beyond_a_call",
    "boxes",
    "emptied",
    "held_value",
    "in_box",
    "in_cell",
    "is_box",
    "left",
    "made",
    "own_method",
    "put",
    "set_in_box",
    "shared",
    "unboxed",
    "unsure",
    "where",
    "without",
]


def in_cell(function: Function, state: State, name: str) -> Value | None:
    """The constant that a local has in its cell, if any."""
    if not state.fields or not (function.closures or function.captures):
        return None
    cell = _cells(function).get(name)
    return state.fields.get(cell) if cell is not None else None


def put(function: Function, state: State, name: str, value: Value | None) -> State | None:
    """The state with a constant in the cell of a local, or None where the value goes to the other locals."""
    cell = _cells(function).get(name) if function.closures or function.captures else None
    if cell is None:
        return None
    if isinstance(value, Const):
        return state.bind(name, None).replace(fields={**state.fields, cell: value})
    return without(state, {cell}).bind(name, value) if cell in state.fields else None


def left(function: Function, state: State) -> State:
    """The state when the function is over: its own cells are gone."""
    if not state.fields or not function.closures:
        return state
    return without(state, {_cells(function)[name] for name in shared(function)})


def beyond_a_call(function: Function, state: State) -> State:
    """The state behind a call: what was decided about a local in a cell is open, since the call may have assigned it."""
    if not state.facts or not (function.closures or function.captures):
        return state
    names = [Name(name) for name in _cells(function)]
    return drop_facts(state, [fact for fact in state.facts if any(mentions(fact, name) for name in names)])


def without(state: State, cells: AbstractSet[str]) -> State:
    """The state in which nothing is known of what is in these cells, which are named as by `where`."""
    if cells.isdisjoint(state.fields):
        return state
    return state.replace(fields={field: old for field, old in state.fields.items() if field not in cells})


@memoize
def _cells(function: Function) -> Mapping[str, str]:
    """Where the locals are kept that have a cell, by their names; those around a closure are captured by it."""
    return {name: where(function, name) for name in shared(function) | function.captures}


def where(function: Function, name: str) -> str:
    """What a local is called for all functions that know it: it belongs to the outermost of them."""
    return f"{function.path}:{function.qualname.partition('.<locals>.')[0]}:{name}"


@memoize
def shared(function: Function) -> frozenset[str]:
    """The function's own locals that a closure assigns, or takes along although they are assigned several times."""
    if not function.closures:
        return frozenset()
    times = Counter(name for step in function.cfg.steps for name in written(step.op))
    shared: set[str] = set()
    for inner in function.tree():
        if inner is function:
            continue
        assigned = {name for step in inner.cfg.steps for name in written(step.op)}
        shared.update(name for name in inner.captures if name in assigned or times[name] > 1)
    return frozenset(shared - function.captures)


_EVENT = "Event"
_HOLDERS = {  # objects that hold one value, with the one that they begin with
    "AtomicBoolean": False,
    "AtomicInteger": 0,
    "AtomicLong": 0,
    "AtomicReference": None,
    "MutableBoolean": False,
    _EVENT: False,
}
_EMPTY = {"boolean": False, "int": 0, "long": 0}  # what Java's arrays begin with
_READS = frozenset("get getPlain getAcquire is_set isSet booleanValue isTrue getValue".split())
_SETS = frozenset("set lazySet setPlain setRelease setValue".split())
_TAKES = frozenset({"getAndSet", "compareAndSet", "clear"})
_OF_EVENTS = frozenset("is_set isSet set clear".split())
_METHODS = _READS | _SETS | _TAKES | CONTAINER_STORES  # no place is called so
_VALUE = "()"  # the place of an object that holds one value
_MARK, _HOLDS = "{}", "{()}"  # what says that there is a box, and that it is an object that holds one value
BOX = "box "  # no field of a component is called so
_FEW = 4  # places of a new array of which it is known what they begin with


def in_box(function: Function, state: State, expr: Expr) -> Value | None:
    """The constant in a place of a box, as far as the path knows."""
    if not state.fields:
        return None
    keys = _keys(function)
    if not keys:
        return None
    name, place = _place(expr)
    return state.fields.get(keys[name] + place) if place and name in keys else None


def made(function: Function, state: State, name: str, value: Expr) -> State:
    """The state in which a local is another box, with what it begins with in its places."""
    if name not in boxes(function):
        return state
    key = _key(function, name)
    state = _without(state, key)
    return state.replace(
        fields={**state.fields, key + _MARK: Const(value=True), **dict(_begun(function, key, name, value))}
    )


def set_in_box(function: Function, state: State, target: Expr, value: Value | None) -> State:
    """The state in which a place of a box is given a value."""
    name, place = _place(target)
    key = _keys(function).get(name)
    if key is None or key + _MARK not in state.fields:
        return state
    if not place:  # which one, nobody knows
        return emptied(state, where(function, name))
    fields = {known: old for known, old in state.fields.items() if known != key + place}
    return state.replace(fields={**fields, key + place: value} if isinstance(value, Const) else fields)


def held_value(
    function: Function, state: State, call: Call, values: tuple[Value | None, ...]
) -> tuple[State, Value | None] | None:
    """What a call on an object that holds one value does and gives; None for any other call."""
    if not state.fields or not isinstance(call.func, Attr) or not isinstance(call.func.obj, Name):
        return None
    if not own_method(function, state, call.func.obj.id, call.func.name):
        return None
    key = _key(function, call.func.obj.id)
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


def unsure(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """What is known of fields by the time that deferred code runs: nothing of what is in a box."""
    return {field: value for field, value in fields.items() if not field.startswith(BOX)}


def unboxed(function: Function, state: State) -> State:
    """The state when the function is over: its own boxes are gone."""
    own = boxes(function)
    if not own or not state.fields:
        return state
    for name in own:
        state = _without(state, _key(function, name))
    return state


def bare(exprs: Iterable[Expr]) -> Iterator[Expr]:
    """The locals and closures in expressions that stand there for themselves: not `done` in `done[0]`, but in `done.set`, a method."""
    stack = list(exprs)
    while stack:
        expr = stack.pop()
        match expr:
            case Name() | Closure():
                yield expr
            case Item(obj=obj, key=key):
                stack += ([] if isinstance(obj, Name) else [obj]) + [key]
            case Attr(obj=obj, name=name):
                stack += [] if isinstance(obj, Name) and name not in _METHODS else [obj]
            case Build(items=parts) | Mix(parts=parts):
                stack += parts
            case Star(value=value) | Not(value=value) | IsType(value=value):
                stack.append(value)
            case Compare(left=left, right=right):
                stack += (left, right)
            case _:
                pass


def is_box(function: Function, state: State, name: str) -> bool:
    """Whether a local is a box, as far as the path knows."""
    key = _keys(function).get(name)
    return key is not None and key + _MARK in state.fields


def own_method(function: Function, state: State, name: str, method: str) -> bool:
    """Whether a call of this method on a local does what is known of an object that holds one value, and nothing else."""
    key = _keys(function).get(name)
    holder = state.fields.get(key + _HOLDS) if key is not None else None
    if not isinstance(holder, Const):
        return False
    return method in (_OF_EVENTS if holder.value == _EVENT else _READS | _SETS | _TAKES)


def _put(state: State, key: str, value: Value | None) -> State:
    fields = {field: old for field, old in state.fields.items() if field != key + _VALUE}
    return state.replace(fields={**fields, key + _VALUE: value} if isinstance(value, Const) else fields)


def emptied(state: State, box: str) -> State:
    """The state in which nothing is known of the places of a box, which is named as by `where`."""
    key = f"{BOX}{box}:"
    return _without(state, key, but=(key + _MARK, key + _HOLDS))


def _without(state: State, key: str, but: tuple[str, ...] = ()) -> State:
    kept = {field: old for field, old in state.fields.items() if field in but or not field.startswith(key)}
    return state.replace(fields=kept) if len(kept) < len(state.fields) else state


@memoize
def _keys(function: Function) -> Mapping[str, str]:
    """Where the places of the boxes are kept that a function may know, by their names."""
    return {name: _key(function, name) for name in boxes(function) | function.captures}


def _key(function: Function, name: str) -> str:
    return f"{BOX}{where(function, name)}:"


def _place(expr: Expr) -> tuple[str, str]:
    """The local, and the place in it; no place where only a run knows which."""
    match expr:
        case Item(obj=Name(id=name), key=Literal(value=value)) if not _from_behind(value):
            return name, f"[{value!r}]"
        case Item(obj=Name(id=name)) | Name(id=name):
            return name, ""
        case Attr(obj=Name(id=name), name=field):
            return name, f".{field}"
        case _:
            return "", ""


def _from_behind(place: object) -> bool:
    """Whether a place is counted from the end, so that it has another name as well."""
    return isinstance(place, int) and place < 0


# ---- which locals are boxes ----


@memoize
def boxes(function: Function) -> frozenset[str]:
    """The function's own locals that are boxes."""
    tree = list(function.tree())
    steps = [step.op for each in tree for step in each.cfg.steps]
    asked = {name for each in tree for name in asked_places(each)}
    if not asked:
        return frozenset()
    own = {
        op.target.id
        for op in (step.op for step in function.cfg.steps)
        if isinstance(op, Bind) and isinstance(op.target, Name)
    }
    aliased = {
        expr.id for op in steps if not _only_reads(op) for expr in bare(_given(op)) if isinstance(expr, Name)
    }
    return frozenset((asked & own) - aliased - _set_otherwise(steps))


def _only_reads(op: Instr) -> bool:
    """Whether what stands in an instruction for itself gets no second name by it."""
    return isinstance(op, (Call, Test, Return)) or (isinstance(op, Next) and isinstance(op.iterable, Name))


def _set_otherwise(steps: Iterable[Instr]) -> set[str]:
    """The locals that an unpacking, a loop or the like gives another value, themselves or one of their places."""
    names: set[str] = set()
    for op in steps:
        if not isinstance(op, (Bind, Update)):
            names.update(written(op))
        targets = op.targets if isinstance(op, Unpack) else (op.target,) if isinstance(op, Next) else ()
        names.update(_place(target)[0] for target in targets if target is not None)
    return names


def _given(op: Instr) -> tuple[Expr, ...]:
    """What an instruction gives another name."""
    return tuple(expr for expr in read(op) if not (isinstance(op, (Bind, Update)) and expr == op.target))


def asked_places(function: Function) -> Iterator[str]:
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
            maker = calls_by_result(function).get(value)
            kind = last_name(maker.func) if maker is not None else ""
            if maker is not None and kind in _HOLDERS and len(maker.args) <= (kind != _EVENT):
                yield key + _HOLDS, Const(kind)
                first = maker.args[0].value if maker.args else Literal(_HOLDERS[kind])
                if isinstance(first, Literal):
                    yield key + _VALUE, Const(first.value)
        case _:
            pass
