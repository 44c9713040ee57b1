"""Heap cells: constants in memory that several functions share, and which of them opaque code may write.

A *cell* is a place with a known constant.  It may be a local that several functions share: a closure reads its value at
the time it runs, and its assignments are seen by the others.  Or it is a place in an *unaliased object*: a local array, dict
or instance whose places the code sets and tests, and which has no alias in the function: `boolean[] done`, `AtomicBoolean done`,
`state = {"done": False}`.  A place is `done[0]`, `result.ok` or `done.get()`.

A closure that an opaque call gets may run at any later opaque call.  It may write the objects and the cells that it
captures, so their contents are unknown after each such call: they have *escaped*.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.domains.invalidation import invalidate_contents
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import (
    assigned_locals,
    calls_by_result,
    last_name,
    memoize,
    operands,
    subexpressions,
)
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.flow.state import Cell, Heap, Live, State
from ackdoctor.flow.values import Const, Container, FunctionRef, Instance, Partial, Value
from ackdoctor.libraries.vocabulary import (
    ARRAY_ZEROES,
    COLLECTION_WRAPPERS,
    CONTAINER_STORES,
    EVENT,
    EVENT_METHODS,
    LOGGING,
    NEVER_RAISES,
    PURE_CALLS,
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

_METHODS = VALUE_READS | VALUE_SETS | VALUE_TAKES | CONTAINER_STORES  # no place has one of these names
_VALUE = "()"  # the place of an object that holds one value
_FEW = 4  # places of a new array whose initial value is tracked
_CODE = (FunctionRef, Partial, Container, Instance)
# while this thread sleeps, others run
_RUNS_NOTHING = (LOGGING | PURE_CALLS | NEVER_RAISES | COLLECTION_WRAPPERS) - {"sleep"}


class HeapCells(Domain):
    """What a path knows of `State.heap`."""

    def evaluate(self, context: Context, function: Function, state: State, expr: Expr) -> Value | None:
        """The constant in a shared local, or in a place of an unaliased object."""
        del context
        if not state.heap.cells:
            return None
        if isinstance(expr, Name):
            local = _shared_names(function).get(expr.id)
            return state.heap.cells.get(Cell(local)) if local is not None else None
        name, place = _place(expr)
        local = _object_names(function).get(name) if place else None
        return state.heap.cells.get(Cell(local, place)) if local is not None else None

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """A local may get a new object; a place of an object gets a value; what stored code captures escapes."""
        del context
        if isinstance(target, Name):
            after = _new_object(path.function, after, target.id, source)
        else:
            after = self.assign_place(path.function, after, target, value)
        if isinstance(target, Name) and not (isinstance(source, Build) and source.kind != "object"):
            return after
        return _let_escape(after, frozenset(_captured_names(value))) if isinstance(value, _CODE) else after

    def assign_place(self, function: Function, state: State, target: Expr, value: Value | None) -> State:
        """The state after an assignment to a place of an object; the value is None if it is unknown."""
        name, place = _place(target)
        local = _object_names(function).get(name)
        if local is None or local not in state.heap.objects:
            return state
        if not place:  # an unknown place
            return state.replace(heap=state.heap.without_places(local))
        return state.replace(heap=state.heap.store(Cell(local, place), value))

    def assign_shared(self, function: Function, state: State, name: str, value: Value | None) -> State | None:
        """The state after an assignment to a local that several functions share; None for any other local.

        A constant goes into the cell, any other value into the environment.
        """
        local = _shared_names(function).get(name)
        if local is None:
            return None
        heap = state.heap.store(Cell(local), value)
        bound = state if heap == state.heap else state.replace(heap=heap)
        if isinstance(value, Const):
            return bound.bind(name, None)
        return bound.bind(name, value) if Cell(local) in state.heap.cells else None

    def havoc(self, context: Context, path: Path, after: State, call: Call, callee: Function | None) -> State:
        """Opaque code may write what has escaped, and more escapes to it; a function of the project may keep an object that it gets."""
        function = path.function
        passed = _passed_by_call(function)[call.result.id]
        if callee is None:
            return _after_opaque_call(context, function, after, call, passed)
        after = _let_escape(after, _unaliased_in(function, after, passed.names))
        changed = after.heap.escaped | _receiver(function, after, call, passed)
        after = _forget(function, after, call, changed)
        for name in _shared_names(function) if after.facts or after.aliases else ():
            after = after.forget(Name(name))  # the call may have assigned it
        return after

    def join(self, state: State, live: Live) -> State:
        """An object ends with the last step that reads its local."""
        if live.ended.isdisjoint(state.heap.objects) and live.ended.isdisjoint(state.heap.escaped):
            return state
        return state.replace(heap=state.heap.without(live.ended))

    def leave(self, function: Function, state: State) -> State:
        """The function's own cells and objects end with it."""
        if not state.heap.cells and not state.heap.objects:
            return state
        shared = {cell_name(function, name) for name in shared_locals(function)}
        objects = {cell_name(function, name) for name in _unaliased_locals(function)}
        if not shared and not objects:
            return state
        cells = {
            cell: held
            for cell, held in state.heap.cells.items()
            if cell.local not in (objects if cell.place else shared)
        }
        kept = {local: kind for local, kind in state.heap.objects.items() if local not in objects}
        return state.replace(heap=state.heap._replace(cells=cells, objects=kept))

    def call_method(
        self, function: Function, state: State, call: Call, values: tuple[Value | None, ...]
    ) -> tuple[State, Value | None] | None:
        """Apply a call on an object that holds one value: the state after it, and its value; None for any other call."""
        if not state.heap.objects or not isinstance(call.func, Attr) or not isinstance(call.func.obj, Name):
            return None
        if not _is_value_method(function, state, call.func.obj.id, call.func.name):
            return None
        cell = Cell(cell_name(function, call.func.obj.id), _VALUE)
        now = state.heap.cells.get(cell)

        def holding(value: Value | None) -> State:
            return state.replace(heap=state.heap.store(cell, value))

        match call.func.name, values:
            case name, () if name in VALUE_READS:
                return state, now
            case "set" | "clear" as name, ():
                return holding(Const(value=name == "set")), None
            case name, (value,) if name in VALUE_SETS:
                return holding(value), None
            case "getAndSet", (value,):
                return holding(value), now
            case "compareAndSet", (Const() as wanted, value):
                if now is None:
                    return holding(None), None
                return (holding(value) if now == wanted else state), Const(value=now == wanted)
            case _:
                return None


HEAP_CELLS = HeapCells()


def when_deferred(heap: Heap) -> Heap:
    """What is known of memory when deferred code runs: nothing of the contents of unaliased objects."""
    return Heap(cells={cell: held for cell, held in heap.cells.items() if not cell.place})


def cell_name(function: Function, name: str) -> str:
    """The name of a local for all functions that share it: it belongs to the outermost of them."""
    return f"{function.path}:{function.qualname.partition('.<locals>.')[0]}:{name}"


# ---- shared locals ----


@memoize
def _shared_names(function: Function) -> Mapping[str, str]:
    """The shared names of the locals that have a cell; the cells around a closure are those it captures."""
    if not (function.closures or function.captures):
        return {}
    return {name: cell_name(function, name) for name in shared_locals(function) | function.captures}


@memoize
def shared_locals(function: Function) -> frozenset[str]:
    """The function's own locals that a closure assigns, or captures although they are assigned several times."""
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


# ---- unaliased objects ----


def _new_object(function: Function, state: State, name: str, value: Expr) -> State:
    """The state in which a local holds a new object, with the initial values of its places."""
    if name not in _unaliased_locals(function):
        return state
    local = cell_name(function, name)
    holder, places = _initial_places(function, name, value)
    heap = state.heap.without_places(local)
    cells = {**heap.cells, **{Cell(local, place): Const(held) for place, held in places.items()}}
    return state.replace(heap=heap._replace(cells=cells, objects={**heap.objects, local: holder}))


def _initial_places(function: Function, name: str, value: Expr) -> tuple[str, dict[str, object]]:
    """The class of a new object that holds one value, or "", and the literals in its places."""
    match value:
        case Build(kind="dict", items=items):
            pairs = zip(items[::2], items[1::2], strict=False)
            literals = [(at, held) for at, held in pairs if isinstance(at, Literal)]
            return "", {f"[{at.value!r}]": held.value for at, held in literals if isinstance(held, Literal)}
        case Build(items=()) if function.types.get(name) in ARRAY_ZEROES:
            return "", dict.fromkeys((f"[{at}]" for at in range(_FEW)), ARRAY_ZEROES[function.types[name]])
        case Build(items=items):
            return "", {f"[{at}]": held.value for at, held in enumerate(items) if isinstance(held, Literal)}
        case Name():
            maker = calls_by_result(function).get(value)
            kind = last_name(maker.func) if maker is not None else ""
            if maker is None or kind not in VALUE_HOLDERS or len(maker.args) > (kind != EVENT):
                return "", {}
            first = maker.args[0].value if maker.args else Literal(VALUE_HOLDERS[kind])
            return kind, {_VALUE: first.value} if isinstance(first, Literal) else {}
        case _:
            return "", {}


@memoize
def private_objects(function: Function) -> Mapping[str, str]:
    """The shared names of the function's own unaliased objects that no closure captures."""
    captured = {name for inner in function.closures.values() for name in inner.captures}
    return {name: cell_name(function, name) for name in _unaliased_locals(function) - captured}


def _is_unaliased(function: Function, state: State, name: str) -> bool:
    """Whether the path knows that a local holds an unaliased object."""
    return _object_names(function).get(name) in state.heap.objects


def _is_value_method(function: Function, state: State, name: str, method: str) -> bool:
    """Whether a call of this method on a local has only the known effect of an object that holds one value."""
    holder = state.heap.objects.get(_object_names(function).get(name, ""))
    if not holder:
        return False
    return method in (EVENT_METHODS if holder == EVENT else VALUE_READS | VALUE_SETS | VALUE_TAKES)


@memoize
def _object_names(function: Function) -> Mapping[str, str]:
    """The shared names of the unaliased objects that a function may access."""
    return {name: cell_name(function, name) for name in _unaliased_locals(function) | function.captures}


def _place(expr: Expr) -> tuple[str, str]:
    """A local and its place; the place is "" if it is known only at run time."""
    match expr:
        case Item(obj=Name(id=name), key=Literal(value=value)) if not (isinstance(value, int) and value < 0):
            return name, f"[{value!r}]"  # a negative index is a second name of a place
        case Item(obj=Name(id=name)) | Name(id=name):
            return name, ""
        case Attr(obj=Name(id=name), name=field):
            return name, f".{field}"
        case _:
            return "", ""


# ---- which locals are unaliased ----


@memoize
def _unaliased_locals(function: Function) -> frozenset[str]:
    """The function's own locals that hold unaliased objects."""
    tree = list(function.tree())
    steps = [step.op for each in tree for step in each.cfg.steps]
    tested = {name for each in tree for name in _tested_places(each)}
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
        for expr in _value_operands(_aliased_operands(op))
        if isinstance(expr, Name)
    }
    return frozenset((tested & own) - aliased - _assigned_otherwise(steps))


def _only_reads(op: Instr) -> bool:
    """Whether an instruction creates no alias of its operands."""
    return isinstance(op, (Call, Test, Return)) or (isinstance(op, Next) and isinstance(op.iterable, Name))


def _assigned_otherwise(steps: Iterable[Instr]) -> set[str]:
    """The locals to which, or to whose places, an unpacking, a loop or the like assigns."""
    names: set[str] = set()
    for op in steps:
        if not isinstance(op, (Bind, Update)):
            names.update(assigned_locals(op))
        targets = op.targets if isinstance(op, Unpack) else (op.target,) if isinstance(op, Next) else ()
        names.update(_place(target)[0] for target in targets if target is not None)
    return names


def _aliased_operands(op: Instr) -> tuple[Expr, ...]:
    """The operands to which an instruction gives another name."""
    return tuple(expr for expr in operands(op) if not (isinstance(op, (Bind, Update)) and expr == op.target))


def _value_operands(exprs: Iterable[Expr]) -> Iterator[Expr]:
    """The locals and closures that expressions use as values: not `done` in `done[0]`, but in `done.set`, a method."""
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


def _tested_places(function: Function) -> Iterator[str]:
    """The locals whose places a function sets or tests."""
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


# ---- escape ----


class _Passed(NamedTuple):
    """What a call passes on: locals, by name, and the captures of closures written in its arguments; and what it may change or run."""

    names: tuple[str, ...]
    captured: frozenset[str]
    receiver: (
        str  # the local that it is called on, directly or through an attribute, if the call may change it
    )
    runs: str  # the local that it calls, or whose method
    quiet: bool  # whether its name says that it runs no code that other calls got


@memoize
def _passed_by_call(function: Function) -> Mapping[str, _Passed]:
    """What each call of a function passes on, by its result."""
    return {
        step.op.result.id: _passed(function, step.op)
        for step in function.cfg.steps
        if isinstance(step.op, Call)
    }


def _passed(function: Function, call: Call) -> _Passed:
    passed = list(_value_operands(arg.value for arg in call.args))
    closures = (function.closures.get(expr.key) for expr in passed if isinstance(expr, Closure))
    func: Expr = call.func.obj if isinstance(call.func, Attr) else call.func
    root = func
    while isinstance(root, (Attr, Item)):
        root = root.obj
    changes = isinstance(call.func, Attr) and isinstance(root, Name) and not is_read_only(call)
    return _Passed(
        names=tuple(expr.id for expr in passed if isinstance(expr, Name)),
        captured=frozenset(
            cell_name(each, name) for each in closures if each is not None for name in each.captures
        ),
        receiver=root.id if changes and isinstance(root, Name) else "",
        runs=func.id if isinstance(func, Name) else "",
        quiet=last_name(call.func) in _RUNS_NOTHING or is_read_only(call),
    )


def _after_opaque_call(
    context: Context, function: Function, state: State, call: Call, passed: _Passed
) -> State:
    escaping = passed.captured
    for name in (*passed.names, passed.runs):
        value = state.env.get(name)
        if isinstance(value, _CODE):
            escaping |= frozenset(_captured_names(value))
    escaping |= _unaliased_in(function, state, passed.names)
    if not escaping and not passed.receiver and not state.heap.escaped:
        return state
    state = _let_escape(state, escaping)
    changed = escaping | _receiver(function, state, call, passed)
    if not _runs_nothing(context, function, state, call, passed):
        changed |= state.heap.escaped
    return _forget(function, state, call, changed, escaping)


def _unaliased_in(function: Function, state: State, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(cell_name(function, name) for name in names if _is_unaliased(function, state, name))


def _let_escape(state: State, captured: frozenset[str]) -> State:
    """The state in which opaque code may write these locals."""
    if captured <= state.heap.escaped:
        return state
    return state.replace(heap=state.heap._replace(escaped=state.heap.escaped | captured))


def _forget(
    function: Function,
    state: State,
    call: Call,
    changed: AbstractSet[str],
    escaping: AbstractSet[str] = frozenset(),
) -> State:
    """The state without the contents of these objects and cells, and of every argument of the call."""
    if not changed:
        return state
    cells = {cell: held for cell, held in state.heap.cells.items() if cell.local not in changed}
    if len(cells) < len(state.heap.cells):
        state = state.replace(heap=state.heap._replace(cells=cells))
    for local in changed:
        name = local.rpartition(":")[2]
        if cell_name(function, name) == local and (local in escaping or name in _tracked_locals(function)):
            own = _is_unaliased(function, state, name) and name not in shared_locals(function)
            state = invalidate_contents(state, Name(name), call) if own else state.forget(Name(name))
    return state


def _receiver(function: Function, state: State, call: Call, passed: _Passed) -> frozenset[str]:
    """The unaliased object on which a call is made that may change it in an unknown way."""
    name = passed.receiver
    if not name or not _is_unaliased(function, state, name) or _is_known_method(function, state, call):
        return frozenset()
    return frozenset({cell_name(function, name)})


def _runs_nothing(context: Context, function: Function, state: State, call: Call, passed: _Passed) -> bool:
    """Whether a call is known to run none of the project's code that other calls got."""
    if passed.quiet or _is_known_method(function, state, call):
        return True
    return last_name(call.func) in context.verb_names


def _is_known_method(function: Function, state: State, call: Call) -> bool:
    match call.func:
        case Attr(obj=Name(id=local), name=method):
            return _is_value_method(function, state, local, method)
        case _:
            return False


def _captured_names(value: Value | None) -> Iterator[str]:
    """The shared names of what the code captures that a value is, or contains."""
    match value:
        case FunctionRef(function=inner):
            yield from (cell_name(inner, name) for name in inner.captures)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from _captured_names(part)
        case Container(items=items):
            for item in items:
                yield from _captured_names(item)
        case Instance(cls=cls):
            yield from (cell_name(inner, name) for inner in cls.methods.values() for name in inner.captures)
        case _:
            pass


@memoize
def _tracked_locals(function: Function) -> frozenset[str]:
    """The locals whose contents the state tracks, or that a condition tests in another function."""
    tested = function.captures.intersection(_tested_places(function))
    return _unaliased_locals(function) | shared_locals(function) | tested
