"""Abstract values in captured locals and in local boxes.

A *cell* is a local that several functions share: a closure reads its value at the time it runs, and its assignments are
seen by the others.  A *box* is a local array, dict or object whose places the code sets and tests, and which has no alias
in the function: `boolean[] done`, `AtomicBoolean done`, `state = {"done": False}`.  A *place* is `done[0]`, `result.ok` or
`done.get()`.  Cells and places are tracked beside the component's fields; a place with an unknown value has no entry.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, mentions, subexpressions
from ackdoctor.flow.invalidation import drop_facts
from ackdoctor.flow.state import Const, State, Value
from ackdoctor.flow.transfer.liveness import assigned_locals, operands
from ackdoctor.libraries.vocabulary import (
    ARRAY_ZEROES,
    CONTAINER_STORES,
    EVENT,
    EVENT_METHODS,
    VALUE_HOLDERS,
    VALUE_READS,
    VALUE_SETS,
    VALUE_TAKES,
)
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    Expr,
    Function,
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


def cell_value(function: Function, state: State, name: str) -> Value | None:
    """Return the constant in a local's cell, if it is known."""
    if not state.fields or not (function.closures or function.captures):
        return None
    cell = _cell_keys(function).get(name)
    return state.fields.get(cell) if cell is not None else None


def assign_cell(function: Function, state: State, name: str, value: Value | None) -> State | None:
    """Return the state with a constant in the cell of a local; None if the local has no cell."""
    cell = _cell_keys(function).get(name) if function.closures or function.captures else None
    if cell is None:
        return None
    if isinstance(value, Const):
        return state.bind(name, None).replace(fields={**state.fields, cell: value})
    return forget_cells(state, {cell}).bind(name, value) if cell in state.fields else None


def drop_cells(function: Function, state: State) -> State:
    """Return the state at a function's exit, without its own cells."""
    if not state.fields or not function.closures:
        return state
    return forget_cells(state, {_cell_keys(function)[name] for name in shared_locals(function)})


def after_call(function: Function, state: State) -> State:
    """Return the state after a call, without the facts about locals in cells: the call may have assigned them."""
    if not state.facts or not (function.closures or function.captures):
        return state
    names = [Name(name) for name in _cell_keys(function)]
    return drop_facts(state, [fact for fact in state.facts if any(mentions(fact, name) for name in names)])


def forget_cells(state: State, cells: AbstractSet[str]) -> State:
    """Return the state without the contents of these cells, which are named as by `cell_name`."""
    if cells.isdisjoint(state.fields):
        return state
    return state.replace(fields={field: old for field, old in state.fields.items() if field not in cells})


@memoize
def _cell_keys(function: Function) -> Mapping[str, str]:
    """Map the names of the locals that have a cell to their keys; the cells around a closure are those it captures."""
    return {name: cell_name(function, name) for name in shared_locals(function) | function.captures}


def cell_name(function: Function, name: str) -> str:
    """Return the name of a local for all functions that share it: it belongs to the outermost of them."""
    return f"{function.path}:{function.qualname.partition('.<locals>.')[0]}:{name}"


@memoize
def shared_locals(function: Function) -> frozenset[str]:
    """Return the function's own locals that a closure assigns, or captures although they are assigned several times."""
    if not function.closures:
        return frozenset()
    times = Counter(name for step in function.cfg.steps for name in assigned_locals(step.op))
    shared: set[str] = set()
    for inner in function.tree():
        if inner is function:
            continue
        assigned = {name for step in inner.cfg.steps for name in assigned_locals(step.op)}
        shared.update(name for name in inner.captures if name in assigned or times[name] > 1)
    return frozenset(shared - function.captures)


_METHODS = VALUE_READS | VALUE_SETS | VALUE_TAKES | CONTAINER_STORES  # no place has one of these names
_VALUE = "()"  # the place of an object that holds one value
_MARK, _HOLDS = "{}", "{()}"  # mark a box, and a box that is an object with one value
BOX = "box "  # no field of a component has this name
_FEW = 4  # places of a new array whose initial value is tracked


def box_value(function: Function, state: State, expr: Expr) -> Value | None:
    """Return the constant in a place of a box, if the path knows it."""
    if not state.fields:
        return None
    keys = _box_keys(function)
    if not keys:
        return None
    name, place = _place(expr)
    return state.fields.get(keys[name] + place) if place and name in keys else None


def new_box(function: Function, state: State, name: str, value: Expr) -> State:
    """Return the state in which a local is a new box, with the initial values of its places."""
    if name not in local_boxes(function):
        return state
    key = _box_key(function, name)
    state = _drop_places(state, key)
    return state.replace(
        fields={
            **state.fields,
            key + _MARK: Const(value=True),
            **dict(_initial_places(function, key, name, value)),
        }
    )


def assign_place(function: Function, state: State, target: Expr, value: Value | None) -> State:
    """Return the state after an assignment to a place of a box."""
    name, place = _place(target)
    key = _box_keys(function).get(name)
    if key is None or key + _MARK not in state.fields:
        return state
    if not place:  # an unknown place
        return forget_box(state, cell_name(function, name))
    fields = {known: old for known, old in state.fields.items() if known != key + place}
    return state.replace(fields={**fields, key + place: value} if isinstance(value, Const) else fields)


def apply_value_object(
    function: Function, state: State, call: Call, values: tuple[Value | None, ...]
) -> tuple[State, Value | None] | None:
    """Apply a call on an object that holds one value: return the state after it and its value; None for any other call."""
    if not state.fields or not isinstance(call.func, Attr) or not isinstance(call.func.obj, Name):
        return None
    if not is_value_method(function, state, call.func.obj.id, call.func.name):
        return None
    key = _box_key(function, call.func.obj.id)
    now = state.fields.get(key + _VALUE)
    match call.func.name, values:
        case name, () if name in VALUE_READS:
            return state, now
        case "set", ():
            return _set_value(state, key, Const(value=True)), None
        case "clear", ():
            return _set_value(state, key, Const(value=False)), None
        case name, (value,) if name in VALUE_SETS:
            return _set_value(state, key, value), None
        case "getAndSet", (value,):
            return _set_value(state, key, value), now
        case "compareAndSet", (Const() as wanted, value):
            if not isinstance(now, Const):
                return _set_value(state, key, None), None
            return (
                (_set_value(state, key, value), Const(value=True))
                if now == wanted
                else (state, Const(value=False))
            )
        case _:
            return None


def without_boxes(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return what is known of fields when deferred code runs: nothing of the contents of boxes."""
    return {field: value for field, value in fields.items() if not field.startswith(BOX)}


def drop_boxes(function: Function, state: State) -> State:
    """Return the state at a function's exit, without its own boxes."""
    own = local_boxes(function)
    if not own or not state.fields:
        return state
    for name in own:
        state = _drop_places(state, _box_key(function, name))
    return state


def value_operands(exprs: Iterable[Expr]) -> Iterator[Expr]:
    """Yield the locals and closures that expressions use as values: not `done` in `done[0]`, but in `done.set`, a method."""
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
    """Whether the path knows a local to be a box."""
    key = _box_keys(function).get(name)
    return key is not None and key + _MARK in state.fields


def is_value_method(function: Function, state: State, name: str, method: str) -> bool:
    """Whether a call of this method on a local has only the known effect of an object that holds one value."""
    key = _box_keys(function).get(name)
    holder = state.fields.get(key + _HOLDS) if key is not None else None
    if not isinstance(holder, Const):
        return False
    return method in (EVENT_METHODS if holder.value == EVENT else VALUE_READS | VALUE_SETS | VALUE_TAKES)


def _set_value(state: State, key: str, value: Value | None) -> State:
    fields = {field: old for field, old in state.fields.items() if field != key + _VALUE}
    return state.replace(fields={**fields, key + _VALUE: value} if isinstance(value, Const) else fields)


def forget_box(state: State, box: str) -> State:
    """Return the state without the contents of a box, which is named as by `cell_name`."""
    key = f"{BOX}{box}:"
    return _drop_places(state, key, but=(key + _MARK, key + _HOLDS))


def _drop_places(state: State, key: str, but: tuple[str, ...] = ()) -> State:
    fields = {field: old for field, old in state.fields.items() if field in but or not field.startswith(key)}
    return state.replace(fields=fields) if len(fields) < len(state.fields) else state


@memoize
def _box_keys(function: Function) -> Mapping[str, str]:
    """Map the names of the boxes that a function may access to their keys."""
    return {name: _box_key(function, name) for name in local_boxes(function) | function.captures}


def _box_key(function: Function, name: str) -> str:
    return f"{BOX}{cell_name(function, name)}:"


def _place(expr: Expr) -> tuple[str, str]:
    """Return a local and its place; the place is "" if it is known only at run time."""
    match expr:
        case Item(obj=Name(id=name), key=Literal(value=value)) if not _is_negative(value):
            return name, f"[{value!r}]"
        case Item(obj=Name(id=name)) | Name(id=name):
            return name, ""
        case Attr(obj=Name(id=name), name=field):
            return name, f".{field}"
        case _:
            return "", ""


def _is_negative(place: object) -> bool:
    """Whether an index counts from the end, so that the place has a second name."""
    return isinstance(place, int) and place < 0


# ---- which locals are boxes ----


@memoize
def local_boxes(function: Function) -> frozenset[str]:
    """Return the function's own locals that are boxes."""
    tree = list(function.tree())
    steps = [step.op for each in tree for step in each.cfg.steps]
    tested = {name for each in tree for name in tested_places(each)}
    if not tested:
        return frozenset()
    own = {
        op.target.id
        for op in (step.op for step in function.cfg.steps)
        if isinstance(op, Bind) and isinstance(op.target, Name)
    }
    aliased = {
        expr.id
        for op in steps
        if not _only_reads(op)
        for expr in value_operands(_aliased_operands(op))
        if isinstance(expr, Name)
    }
    return frozenset((tested & own) - aliased - _assigned_otherwise(steps))


def _only_reads(op: Instr) -> bool:
    """Whether an instruction creates no alias of its operands."""
    return isinstance(op, (Call, Test, Return)) or (isinstance(op, Next) and isinstance(op.iterable, Name))


def _assigned_otherwise(steps: Iterable[Instr]) -> set[str]:
    """Return the locals to which, or to whose places, an unpacking, a loop or the like assigns."""
    names: set[str] = set()
    for op in steps:
        if not isinstance(op, (Bind, Update)):
            names.update(assigned_locals(op))
        targets = op.targets if isinstance(op, Unpack) else (op.target,) if isinstance(op, Next) else ()
        names.update(_place(target)[0] for target in targets if target is not None)
    return names


def _aliased_operands(op: Instr) -> tuple[Expr, ...]:
    """Return the operands to which an instruction gives another name."""
    return tuple(expr for expr in operands(op) if not (isinstance(op, (Bind, Update)) and expr == op.target))


def tested_places(function: Function) -> Iterator[str]:
    """Yield the locals whose places a function sets or tests."""
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=condition):
                exprs = list(subexpressions(condition))
            case Bind(value=value):
                exprs = list(subexpressions(value))
            case Call(func=Attr(obj=Name(id=name), name=method)) if method in VALUE_READS | VALUE_TAKES:
                yield name
                continue
            case _:
                continue
        yield from (name for name, place in map(_place, exprs) if place)


def _initial_places(function: Function, key: str, name: str, value: Expr) -> Iterator[tuple[str, Value]]:
    match value:
        case Build(kind="dict", items=items):
            for place, held in zip(items[::2], items[1::2], strict=False):
                if isinstance(place, Literal) and isinstance(held, Literal):
                    yield f"{key}[{place.value!r}]", Const(held.value)
        case Build(items=()) if function.types.get(name) in ARRAY_ZEROES:
            for number in range(_FEW):
                yield f"{key}[{number}]", Const(ARRAY_ZEROES[function.types[name]])
        case Build(items=items):
            for number, held in enumerate(items):
                if isinstance(held, Literal):
                    yield f"{key}[{number}]", Const(held.value)
        case Name():
            maker = calls_by_result(function).get(value)
            kind = last_name(maker.func) if maker is not None else ""
            if maker is not None and kind in VALUE_HOLDERS and len(maker.args) <= (kind != EVENT):
                yield key + _HOLDS, Const(kind)
                first = maker.args[0].value if maker.args else Literal(VALUE_HOLDERS[kind])
                if isinstance(first, Literal):
                    yield key + _VALUE, Const(first.value)
        case _:
            pass
