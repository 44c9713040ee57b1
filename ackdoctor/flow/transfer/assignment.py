"""Transfer function of assignments: to a local, a field, an item of either, or several targets at once."""

from collections import Counter

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.heap_cells import HEAP_CELLS
from ackdoctor.flow.domains.intervals import INTERVALS
from ackdoctor.flow.domains.invalidation import drop_facts, invalidate_size
from ackdoctor.flow.domains.tuples import (
    empty_buffer,
    forget_place,
    is_listed,
    is_named,
    is_whole_slice,
    other_tuple,
    put_back,
    take_buffer,
)
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import calls_by_result, is_slice, last_name, memoize, operands, subexpressions
from ackdoctor.flow.facts import tested_names
from ackdoctor.flow.induction import counted_loops, induction_variables
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.buffer_loops import holds_rest
from ackdoctor.flow.transfer.escape import escape, release, store
from ackdoctor.flow.transfer.evaluate import evaluate, offset_value, stored_tuple
from ackdoctor.flow.transfer.liveness import indexed_containers
from ackdoctor.flow.values import (
    BoundMethod,
    Const,
    Container,
    Count,
    Field,
    FunctionRef,
    Index,
    Instance,
    Row,
    SelfRef,
    TokenKind,
    TokenRef,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import COLLECTION_WRAPPERS, CONTAINER_READS, RUN, SAME_PART
from ackdoctor.model.cfg import (
    SUPER,
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    Instr,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Star,
    Unpack,
    Update,
)
from ackdoctor.model.protocol import Stage

_LOOKUPS = frozenset("get pop setdefault".split())  # with a key: of one entry


def assign(context: Context, path: Path, state: State, target: Expr | None, value: Value | None) -> State:
    """Apply `target = value`."""
    match target:
        case Name(id=name):
            return _assign_local(path, _forget_looked_up(context, path, state, name), name, value)
        case Attr(obj=obj, name=name):
            return _assign_attribute(context, path, state, target, obj, name, value)
        case Item(obj=obj, key=key):
            return _assign_item(
                context, path, _mark_nonempty(state.forget(target), obj, key), obj, key, value
            )
        case Star(value=inner):
            return assign(context, path, state, inner, None)
        case Global(id=name) if value is not None:
            return escape(context, path, state, (value,), f"global {name}")
        case _:
            return state


def _assign_local(path: Path, state: State, name: str, value: Value | None) -> State:
    in_cell = HEAP_CELLS.assign_shared(path.function, state, name, value)
    if in_cell is not None:
        return in_cell
    if isinstance(value, Const) and name not in tested_names(path.function) and not name.startswith("%"):
        value = None
    if isinstance(value, TokenRef) and value.token.kind is TokenKind.STORED:
        state = state if _copies(path.step.op, value, state) else forget_place(state, value.token)
        source = path.step.op.value if isinstance(path.step.op, Bind) else None
        is_alias = isinstance(source, Name) and is_named(source.id)
        state = other_tuple(state, value) if is_named(name) and not is_alias else state
    return state.bind(name, value)


def _forget_looked_up(context: Context, path: Path, state: State, name: str) -> State:
    """Forget what a field holds under `name` after an assignment to it: `self.pending[name]` is now another tuple."""
    if not any(token.field for token in state.tokens):
        return state
    looked = (evaluate(context, path.function, state, obj) for obj in indexed_containers(path.function, name))
    wholes = [
        stored_tuple(value.name).token if isinstance(value, Field) else value.token
        for value in looked
        if isinstance(value, (Field, TokenRef))
    ]
    for whole in wholes:
        state = forget_place(state, whole)
    return state


def _copies(op: Instr, value: TokenRef, state: State) -> bool:
    """Whether a step gives a known tuple a name: `a = b` does, and a removal; `a = self.f[k]` reads the field again."""
    match op:
        case Bind(value=Name(id=name)):
            return state.env.get(name) == value
        case Unpack(value=Name()):
            return value.token.path == ""
        case Next():
            return value.token == Field(value.token.field).element and is_listed(state, value.token.field)
        case Call(func=func, args=args):
            held = state.tokens.get(value.token)
            is_getter = last_name(func) not in CONTAINER_READS - SAME_PART and not args
            return (is_getter and value.token.path != "") or (held is not None and held.stage is Stage.OWED)
        case _:
            return False


def _assign_attribute(
    context: Context, path: Path, state: State, target: Attr, obj: Expr, name: str, value: Value | None
) -> State:
    state = state.forget(target)
    match evaluate(context, path.function, state, obj):
        case SelfRef():
            state = _assign_field(context, path, state, target, name, value)
            fields = {field: old for field, old in state.fields.items() if field != name}
            if isinstance(value, (TokenRef, Const, BoundMethod, FunctionRef)) or (
                value and _is_runnable(value)
            ):
                fields[name] = value
            return state.replace(fields=fields)
        case Field(name=field):
            return _assign_field(context, path, state, target, f"{field}.{name}", value)
        case TokenRef(token=token) if token.kind is TokenKind.STORED:
            state = forget_place(state, token.at(f".{name}"))
            return store(context, path, state, token.field, value, how="=", key=None) if value else state
        case Container(items=items) if value is not None and any(tokens_in(value)) and isinstance(obj, Name):
            return state.bind(obj.id, Container(items | {value}))
        case _:
            return escape(context, path, state, (value,), "an object") if value is not None else state


def _assign_field(
    context: Context, path: Path, state: State, target: Attr, field: str, value: Value | None
) -> State:
    tokens = list(tokens_in(value))
    if value is not None and tokens:
        state = store(context, path, state, field, value, how="=", key=None)
        if any(token.collection == Field(field, taken=True) for token in tokens):
            state = put_back(context, path, state, field)
    elif field in context.stored_stages:
        state = _replaced(context, path, state, target, field)
    if isinstance(value, Field) and not value.taken and value.name != field:
        release(context, path, value.name)  # another field has these tuples now
        state = context.touch(state, value)
    return _store_empty_collection(path, state, value, Field(field))


def _replaced(context: Context, path: Path, state: State, target: Attr, field: str) -> State:
    """Return the state after a field that held tuples got a value without any: it is empty, or unknown."""
    expr: Expr | None = None
    match path.step.op:
        case Bind(value=value):
            expr = value
        case Unpack(targets=targets, value=Build(items=items)) if len(targets) == len(items):
            expr = items[targets.index(target)]
        case _:
            pass
    made = calls_by_result(path.function).get(expr) if expr is not None else None
    is_new = isinstance(expr, Build) or (
        made is not None
        and last_name(made.func) in COLLECTION_WRAPPERS
        and all(isinstance(arg.value, (Literal, Global)) for arg in made.args)
    )
    if is_new or (
        isinstance(expr, Name)
        and state.env.get(expr.id) == Container(frozenset())
        and not holds_rest(context, path, state, expr, field)
    ):
        return empty_buffer(context, path, state, field)
    return context.touch(take_buffer(context, path, state, field), Field(field))


def _store_empty_collection(path: Path, state: State, value: Value | None, holder: Field | TokenRef) -> State:
    """Store an empty local collection in a field: what is added to it later is held there too."""
    if not isinstance(value, Container) or any(tokens_in(value)) or not isinstance(path.step.op, Bind):
        return state
    source = path.step.op.value
    for fact in state.facts:
        match fact:
            case Compare(left=Name(id=name), op="is", right=right) if right == source:
                state = state.bind(name, holder)
            case _:
                pass
    return state.bind(source.id, holder) if isinstance(source, Name) else state


def _is_runnable(value: Value) -> bool:
    """Whether a value is an object that was constructed with code to run: a thread that starts later."""
    match value:
        case Instance(fields=fields):
            return bool(fields) and RUN in value.cls.methods
        case Container(items=items):
            return any(isinstance(item, FunctionRef) and item.function.name == RUN for item in items)
        case _:
            return False


def _mark_nonempty(state: State, obj: Expr, key: Expr) -> State:
    """Record that an empty container has an entry now; after the replacement of a slice this is unknown."""
    state = invalidate_size(state, obj, key)
    known = state.facts.get(obj)
    if known is None or (known and not is_slice(key)):
        return state
    return drop_facts(state, [obj])


def _assign_item(
    context: Context, path: Path, state: State, obj: Expr, key: Expr, value: Value | None
) -> State:
    if value is None or not any(tokens_in(value)):
        found = evaluate(context, path.function, state, key)
        if isinstance(found, TokenRef) and _may_complete_by_key(context, path.function, obj):
            state = escape(context, path, state, (found,), "a key")
        match evaluate(context, path.function, state, obj):
            case Field(name=field) if value == Field(field, taken=True):
                return put_back(context, path, state, field)
            case Field(name=field, taken=False) if is_whole_slice(Item(obj, key)):
                return empty_buffer(context, path, state, field, in_place=True)
            case Field(name=field):
                return _store_empty_collection(path, state, value, stored_tuple(field))
            case Container(items=items, keys=keys) if keys and isinstance(obj, Name):
                return state.bind(obj.id, Container(items if value is None else items | {value}))
            case _:
                return state
    match evaluate(context, path.function, state, obj):
        case Field(name=field):
            return store(context, path, state, field, value, how="[]", key=key)
        case TokenRef(token=token) if token.kind is TokenKind.STORED:
            return store(context, path, state, token.field, value, how="[]", key=key)
        case Container(items=items) if isinstance(obj, Name):
            return state.bind(obj.id, Container(items | {value}))
        case _:
            return escape(context, path, state, (value,), "a container")


def _may_complete_by_key(context: Context, function: Function, obj: Expr) -> bool:
    """Whether code that finds an id among the keys of a container may complete its tuple.

    If the component only looks entries up by their keys, no code finds an id there.
    """
    methods = [method for cls in context.component.lineage for method in cls.all_methods()]
    own = isinstance(obj, Attr) and obj.obj == Name(function.receiver) and function in methods
    places = (_whole_places(each) for method in methods for each in method.tree())
    if own and not any(obj in each or Name(function.receiver) in each for each in places):
        return False
    return context.component.role.discipline.accepts_id and any(map(context.names_completion, methods))


@memoize
def _whole_places(function: Function) -> frozenset[Expr]:
    """The fields that a function uses in another way than to read, store, remove or test one entry by its key.

    The object itself is among them if the function passes it on.
    """
    found, own = Counter[Expr](), Name(function.receiver)
    for step in function.cfg.steps:
        parts = [part for expr in operands(step.op) for part in subexpressions(expr)]
        found.update(part for part in parts if isinstance(part, Attr) or part == own)
        for part in parts:
            match part:
                case Attr(obj=place) if place == own:
                    found[own] -= 1
                case (
                    Item(obj=place) | Compare(op="in" | "not in", right=place) | Mix(op="len", parts=(place,))
                ):
                    found[place] -= 1
                case _:
                    pass
        match step.op:
            case Call(func=func, args=args):
                if isinstance(func, Attr) and args and func.name in _LOOKUPS:
                    found[func.obj] -= 1
                if last_name(func) == SUPER:
                    found.subtract(arg.value for arg in args)
            case Bind(target=Attr() as place):
                found[place] -= 1
            case _:
                pass
    return frozenset(place for place, count in found.items() if count > 0)


def unpack(context: Context, path: Path, targets: tuple[Expr | None, ...], value: Expr) -> State:
    """Apply `a, b = value`."""
    function, state = path.function, path.state
    plain = not any(isinstance(target, Star) for target in targets)
    if isinstance(value, Build) and plain and len(value.items) == len(targets):
        values = [evaluate(context, function, state, item) for item in value.items]
    else:
        values = _unpacked_values(evaluate(context, function, state, value), len(targets))
    for target, part in zip(targets, values, strict=True):
        state = assign(context, path, state, target, part)
    return assign_next_number(context, path, path.state, state, value)


def assign_next_number(context: Context, path: Path, before: State, after: State, row: Expr | None) -> State:
    """Return the state in which a loop over numbers has produced the next one, which `row` is or is unpacked into."""
    for loop, (name, start, stop, element, step) in counted_loops(path.function).items():
        if element == row and loop in before.loops and name in induction_variables(path.function):
            if before.loops[loop].position:
                return INTERVALS.increment(context, path.with_state(before), after, name, step)
            after = after.bind(name, evaluate(context, path.function, before, start))
            return after.replace(facts={**after.facts, Compare(Name(name), "<", stop): True})
    return after


def _unpacked_values(whole: Value | None, count: int) -> list[Value | None]:
    """Yield the value of each target of an unpacking."""
    match whole:
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return [TokenRef(token.at(f"#{index}")) for index in range(count)]
        case Row(token=token, column=column, numbered=numbered):
            first = Index(token) if numbered else None
            return [TokenRef(token) if index == column else first for index in range(count)]
        case TokenRef(token=token, part=""):
            return [TokenRef(token, "id"), *[None] * (count - 1)]
        case Field(name=name):
            return [stored_tuple(name, f"#{index}") for index in range(count)]
        case Container(order=tuple(order), keys=()) if len(order) == count:
            return list(order)
        case Container(items=items) if len(items) == 1:
            return [next(iter(items))] * count
        case _:
            return [None] * count


def _count_on(context: Context, path: Path, after: State, name: str) -> State:
    """Update the facts about a counter that a step increments."""
    match path.step.op:
        case Update(op="+" | "-" as sign, value=Literal(value=int() as step)):
            by = step if sign == "+" else -step
            return INTERVALS.increment(context, path, after, name, by)
        case _:
            return after


def update(context: Context, path: Path, target: Expr, value: Value | None) -> State:
    """Apply `target += value`."""
    state = path.state.forget(target)
    if isinstance(target, Item):
        state = invalidate_size(state, target.obj, target.key)
    if value is None or not any(tokens_in(value)):
        match evaluate(context, path.function, state, target), value:
            case Field(name=field, taken=False), Field(name=added, taken=True) if added == field:
                return put_back(context, path, state, field)
            case Field() as changed, _:
                state = context.touch(state, changed)
            case _:
                pass
        if isinstance(target, Name):
            before = evaluate(context, path.function, state, target)
            if isinstance(before, (Const, Count, Index)):
                after = offset_value(before)
                in_cell = HEAP_CELLS.assign_shared(path.function, state, target.id, after)
                state = in_cell if in_cell is not None else state.bind(target.id, after)
            state = _count_on(context, path, state, target.id)
            return _forget_looked_up(context, path, state, target.id)
        match target:
            case Attr(obj=obj, name=name) if evaluate(context, path.function, state, obj) == SelfRef():
                return state.replace(
                    fields={field: old for field, old in state.fields.items() if field != name}
                )
            case _:
                return state
    match evaluate(context, path.function, state, target):
        case Field(name=field):
            return store(context, path, state, field, value, how="+=", key=None)
        case Container(items=items) if isinstance(target, Name):
            extra = value.items if isinstance(value, Container) else frozenset({value})
            return state.bind(target.id, Container(items | extra))
        case _ if isinstance(target, Name):
            return state.bind(target.id, value)
        case _:
            return escape(context, path, state, (value,), "a container")
