"""The abstract value of an expression: from the state of a path, and from declared types where the language has them."""

import re
from collections.abc import Iterable, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.heap_cells import HEAP_CELLS
from ackdoctor.flow.expressions import is_slice, local_values, memoize, mentions
from ackdoctor.flow.program import may_reassign
from ackdoctor.flow.pure_calls import size_of
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.declared import (
    declared_field,
    declared_field_of,
    declared_local,
    enclosing_class,
    field_class,
    instance_attribute,
    makes_framework_calls,
)
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    External,
    Field,
    FrameworkObject,
    FunctionRef,
    Index,
    Instance,
    OneOf,
    Partial,
    Picked,
    Row,
    SelfRef,
    SuperRef,
    TickTest,
    Token,
    TokenKind,
    TokenRef,
    TupleAttribute,
    Value,
)
from ackdoctor.libraries.vocabulary import TICK
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Call,
    Closure,
    Compare,
    Component,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Star,
    Update,
)
from ackdoctor.model.protocol import Tick

TICK_MARKS = ("__tick", "__system", -1)
HEARTBEAT = "__heartbeat"
_SYSTEM = "__"  # a project may not name its streams so
_HEARTBEAT_TEST = re.compile(r"_?is_?heartbeat(_?tup(le)?)?", re.IGNORECASE)


def stored_tuple(field: str, path: str = "") -> TokenRef:
    """Return the abstract value of any one tuple that a field holds."""
    return TokenRef(Token(TokenKind.STORED, f"self.{field}", field, path))


def evaluate(context: Context, function: Function, state: State, expr: Expr) -> Value | None:
    """Return the abstract value of a pure expression; None if it does not matter to the protocol."""
    match expr:
        case Name(id=name):
            in_cell = HEAP_CELLS.evaluate(context, function, state, expr) if state.heap.cells else None
            value = in_cell or state.env.get(name)
            if value is not None or name.startswith("%"):
                return value
            return declared_local(context, function, name)
        case Literal(value=value):
            return Const(value)
        case Global():
            return _global(context, function, expr)
        case Attr(obj=obj, name=name):
            boxed = HEAP_CELLS.evaluate(context, function, state, expr)
            return boxed or _attribute(context, function, state, expr, obj, name)
        case Item(obj=obj, key=key):
            boxed = HEAP_CELLS.evaluate(context, function, state, expr)
            return boxed or _subscript(context, function, state, obj, key)
        case Build(kind="dict", items=items):
            return _dict(context, function, state, items)
        case Build(items=items):
            return _collection(context, function, state, items)
        case Star(value=value):
            return evaluate(context, function, state, value)
        case Closure(key=key):
            return _closure(context, function, state, key)
        case Compare():
            test = tick_comparison(context, function, state, expr)
            return test if test is not None and expr.op in ("==", "is", "in") else None
        case Mix(op="len", parts=(whole,)):
            counted = evaluate(context, function, state, whole)
            return Count(counted) if isinstance(counted, (Batch, Container)) else None
        case Mix(op="+" | "-" as sign, parts=(first, Literal(value=int() as step))):
            return offset_value(evaluate(context, function, state, first), sign, step)
        case Mix(op="+", parts=parts):
            return _concatenation(context, function, state, parts)
        case _:
            return None


def _global(context: Context, function: Function, expr: Expr) -> Value | None:
    unit = context.unit(function)
    constant = context.program.constant(unit, expr)
    if constant is not None:
        return Const(constant.value)
    symbols = context.program.resolve(unit, expr)
    functions = [symbol for symbol in symbols if isinstance(symbol, Function)]
    if functions:
        return FunctionRef(functions[0])
    names = tuple(symbol for symbol in symbols if isinstance(symbol, str))
    return External(names) if names else None


def _attribute(
    context: Context, function: Function, state: State, expr: Expr, obj: Expr, name: str
) -> Value | None:
    root: Expr = obj
    while isinstance(root, Attr):
        root = root.obj
    if isinstance(root, Global):
        return _global(context, function, expr)
    match evaluate(context, function, state, obj):
        case SelfRef():
            return _self_field(context, state, name)
        case Instance() as instance:
            found = _instance_field(context, state, instance, name)
            return found or _method_of(context, instance, name)
        case FrameworkObject(kind=kind):
            return BoundMethod(name, on=kind)
        case SuperRef(cls=cls):
            return BoundMethod(name, cls)
        case TokenRef(token=token, part=""):
            return _part(context, token, name)
        case Field(name=field):
            return _field_of_field(context, field, name)
        case Container() as collection:
            return Count(collection) if size_of(expr) is not None else collection
        case External(names=names):
            return External(tuple(f"{base}.{name}" for base in names))
        case _:
            return None


def _part(context: Context, token: Token, name: str) -> Value | None:
    """Return an attribute of a tuple: its id refers to the tuple, its data does not; an attribute of a stored object may hold the tuple."""
    shape = context.component.dialect.shape
    if name == shape.id:
        return TokenRef(token, "id")
    if any(verb.subject is not None for verb in context.verbs_of("tuple", name)):
        return Partial(BoundMethod(name, on="tuple"), (TokenRef(token),))
    if token.kind is not TokenKind.STORED or name in (
        shape.values,
        shape.stream,
        shape.component,
        shape.task,
    ):
        return None
    return TokenRef(token.at(f".{name}"))


def _field_of_field(context: Context, holder: str, name: str) -> Value:
    """Return a field of the object in a field: what its constructor got or its class declares, if that is no data."""
    instance = context.objects.get(holder)
    cls = field_class(context, holder)
    if instance is None and cls is not None:
        instance = Instance(cls)
    known = None
    if instance is not None:
        known = instance_attribute(context, instance, name) or _method_of(context, instance, name)
    return known or Field(f"{holder}.{name}")


def _method_of(context: Context, instance: Instance, name: str) -> Value | None:
    """Return a method of another object that makes framework calls, as a value: `target=self.worker.run`."""
    method = None if context.library.declared_types else context.program.find_method(instance.cls, name)
    if method is None or not makes_framework_calls(context, instance.cls):
        return None
    return Partial(FunctionRef(method), (instance,))


_A_TUPLE = FrameworkObject(
    "tuple"
)  # a field of the component that is declared as a tuple holds a stored tuple


def _self_field(context: Context, state: State, name: str) -> Value:
    """Return the value of `self.name` on this path."""
    if name in state.fields:
        return state.fields[name]
    if name not in context.field_values:
        context.field_values[name] = _declared_self_field(context, name)
    return context.field_values[name]


def _declared_self_field(context: Context, name: str) -> Value:
    """Return the value of `self.name` that the class alone determines."""
    component = context.component
    handle = declared_field(context, name)
    if handle is not None and handle != _A_TUPLE:
        return handle
    if component.declared(name) is not None:
        return _constant(component, name) or Field(name)
    if component.method(name) is not None:
        return BoundMethod(name)
    if name in context.own_verbs:
        return BoundMethod(name)
    match component.attribute(name):
        case Literal(value=value) if not may_reassign(context.program, component.lineage, name):
            return Const(value)
        case _:
            return Field(name)


def _constant(component: Component, name: str) -> Value | None:
    match component.attribute(name):
        case Literal(value=value) if name.isupper():
            return Const(value)
        case _:
            return None


def _instance_field(context: Context, state: State, instance: Instance, name: str) -> Value | None:
    """Return a field of another object of the project; in an inner class also a field of the class around it."""
    value = instance_attribute(context, instance, name)
    if value is not None or declared_field_of(context, instance.cls, name) is not None:
        return value
    outer = enclosing_class(context, instance.cls)
    if outer is not None and outer in context.component.lineage:
        return _self_field(context, state, name)
    return _instance_field(context, state, Instance(outer), name) if outer is not None else None


def _subscript(context: Context, function: Function, state: State, obj: Expr, key: Expr) -> Value | None:
    container = evaluate(context, function, state, obj)
    if isinstance(container, Batch) and is_slice(key):
        return _slice(context, container, [evaluate(context, function, state, p) for p in key.parts])
    inside = isinstance(container, (Batch, Container))
    return _item(container, key, evaluate(context, function, state, key) if inside else None)


def _item(container: Value | None, key: Expr, place: Value | None) -> Value | None:
    match container:
        case Field(name=field):
            if is_slice(key):
                return container
            return stored_tuple(field)
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return TokenRef(token.at(f"[{key.value if isinstance(key, Literal) else ''}]"))
        case TokenRef(token=token, part="") if key == Literal(0):
            return TokenRef(token, "id")
        case Row(token=token, column=column):
            return TokenRef(token) if key == Literal(column) else None
        case Container(items=items) if is_slice(key):
            return Container(items)
        case Container(keys=keys) as table if keys:
            return table_entry(table, place)
        case Container(order=tuple(order)) if isinstance(place, Const) and isinstance(place.value, int):
            return order[place.value] if -len(order) <= place.value < len(order) else None
        case Batch(token=token):
            return _batch_element(token, place)
        case Container() as listed:
            return one_of(listed.items) or single_item(listed, place)
        case _:
            return None


def _dict(context: Context, function: Function, state: State, items: tuple[Expr, ...]) -> Container:
    """Return a dict, with its keys if it has code under literal keys."""
    held = _collection(context, function, state, items[1::2])
    keys = tuple(key.value for key in items[::2] if isinstance(key, Literal))
    if one_of(held.items) and len(keys) == len(items) // 2:
        return Container(
            held.items, tuple(evaluate(context, function, state, item) for item in items[1::2]), keys
        )
    return held if held.items else _collection(context, function, state, items)


def table_entry(table: Container, key: Value | None = None, default: Value | None = None) -> Value | None:
    """Return what a dict has under a key, or any of its values if the key is unknown."""
    if not isinstance(key, Const):
        return one_of((*(table.order or ()), *((default,) if default else ())))
    return dict(zip(table.keys, table.order or (), strict=True)).get(key.value, default)


def is_empty_selection(context: Context, function: Function, state: State, expr: Expr) -> bool:
    """Return whether a path has chosen no tuple of a field: `found = [t for t in self.held if ...]` is empty."""
    if not isinstance(expr, Name) or state.env.get(expr.id) != Container(frozenset()):
        return False
    sources = selections(function).get(expr.id, ())
    return bool(sources) and all(
        isinstance(evaluate(context, function, state, source), Field) for source in sources
    )


@memoize
def selections(function: Function) -> Mapping[str, tuple[Expr, ...]]:
    """Return the collections of whose elements alone each local list is made, by the list's name."""
    operations = [step.op for step in function.cfg.steps]
    captured = {name for inner in function.closures.values() for name in inner.captures}
    found: dict[str, tuple[Expr, ...]] = {}
    for name, values in local_values(function).items():  # a temporary comes before the local it is bound to
        own = Name(name)
        loops = [op for op in operations if isinstance(op, Next) and op.iterable != own]
        added: list[Expr | Call] = []
        sources: list[tuple[Expr, ...]] = []
        for value in (*values, *operations):
            match value:
                case Build(kind="list" | "set", items=items):
                    added += items
                case Call(func=Attr(obj=obj, name="append" | "add"), args=(arg,)) if obj == own:
                    added.append(arg.value)
                case Call(func=func) if value in values or mentions(func, own):
                    added.append(value)
                case Update(target=target, value=more) if target == own:
                    added.append(more)
                case Name(id=other):
                    sources.append(found.get(other, ()))
                case _ if value in values:
                    added.append(value)
                case _:
                    pass
        sources += [tuple(op.iterable for op in loops if op.target == each) for each in added]
        if sources and all(sources) and name not in captured:
            found[name] = tuple(each for source in sources for each in source)
    return found


MAX_TABLE = 16  # handlers in a table, or with a prefix


def one_of(values: Iterable[Value | None]) -> OneOf | None:
    """Return any one of these values if all of them are code."""
    items = {item for value in values for item in (value.items if isinstance(value, OneOf) else (value,))}
    codes = frozenset(item for item in items if isinstance(item, _CODE))
    return OneOf(codes) if codes and len(codes) == len(items) else None


_CODE = (BoundMethod, FunctionRef, Partial, External)


def _slice(context: Context, batch: Batch, bounds: list[Value | None]) -> Value:
    """Return a slice of a batch: `tups[:]` is the batch, `tups[i:i + 100]` the part of this iteration; the contents of any other slice are unknown."""
    if context.component.auto_ack or all(bound == Const(None) for bound in bounds):
        return batch
    return Batch(batch.token, whole=False) if bounds[0] == Index(batch.token) else batch_part(batch)


def batch_part(batch: Batch) -> Container:
    """Return some tuples of a batch, at least one."""
    return Container(frozenset({Picked(batch.token)}))


def single_item(listed: Container, *places: Value | None) -> Value | None:
    """Return the single value of a local list, unless a different index was read before.

    One tuple of a batch represents all that the list holds; under an unknown key this may be any of them.
    """
    if len(listed.items) != 1 or Index() in places:
        return None
    item = next(iter(listed.items))
    is_any = isinstance(item, TokenRef) and item.token.kind is TokenKind.ELEMENT
    return None if is_any and None in places else item


def _batch_element(token: Token, place: Value | None) -> Value | None:
    """Return the element of a batch at an index."""
    if place == Index(token):
        return TokenRef(token)
    return Picked(token) if isinstance(place, Const) else None


def offset_value(number: Value | None, sign: str = "+", step: int = 1) -> Value | None:
    """Return a number after an addition or a subtraction; the sum itself is not tracked."""
    match number:
        case Count(of=whole, less=0) if sign == "-" and step == 1:
            return Count(whole, 1)
        case Const(value=int()) | Count() | Index():
            return Index()
        case _:
            return None


def _collection(context: Context, function: Function, state: State, items: tuple[Expr, ...]) -> Container:
    values = (as_stored_tuple(context, evaluate(context, function, state, item)) for item in items)
    members = frozenset(
        value
        for value in values
        if isinstance(value, (TokenRef, Container, Batch, FunctionRef, BoundMethod, Partial))
        or (isinstance(value, Instance) and value.fields)
        or (isinstance(value, External) and value.names[-1].rpartition(".")[2] in context.verb_names)
    )
    return Container(members)


def _concatenation(
    context: Context, function: Function, state: State, parts: tuple[Expr, ...]
) -> Value | None:
    """Return the value of `waiting + [tup]`: a collection with the contents of both operands; None if neither matters."""
    whole = _collection(context, function, state, parts)
    inner = [item.items if isinstance(item, Container) else frozenset({item}) for item in whole.items]
    return Container(frozenset[Value]().union(*inner)) if inner else None


def as_stored_tuple(context: Context, value: Value | None) -> Value | None:
    """Return a field that is known to hold tuples as one of these tuples."""
    return (
        TokenRef(value.element) if isinstance(value, Field) and value.name in context.stored_stages else value
    )


def _closure(context: Context, function: Function, state: State, key: str) -> Value | None:
    inner = function.closures.get(key)
    if inner is None:
        return None
    known = {name: state.env[name] for name in inner.captures if name in state.env}
    for name in inner.captures - known.keys():
        value = declared_local(context, function, name)
        if value is not None:
            known[name] = value
    captured = tuple(sorted(known.items(), key=lambda pair: pair[0]))
    return FunctionRef(inner, captured)


# ---- ticks ----


def tick_comparison(
    context: Context, function: Function, state: State, condition: Compare
) -> TickTest | None:
    """Return the test of a comparison such as `tup.stream == "__tick"`: whether the tuple is a tick or another system tuple."""
    names = context.component.dialect.shape.tick_names
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        match evaluate(context, function, state, one):
            case TupleAttribute(token=token) if kind := _system_kind(context, function, other, names):
                return TickTest(token, kind)
            case _:
                pass
        if isinstance(one, Attr) and (kind := _system_kind(context, function, other)):
            match evaluate(context, function, state, one.obj):
                case TokenRef(token=token, part="") if token.kind is not TokenKind.STORED:
                    return TickTest(token, kind)
                case _:
                    pass
    return None


def tick_test_of_name(name: str) -> Tick | None:
    """Return the test that a function or method of this name makes on its argument: `is_tick`, `is_heartbeat_tuple`."""
    if TICK.search(name):
        return Tick.YES
    return Tick.HEARTBEAT if _HEARTBEAT_TEST.fullmatch(name) else None


def _system_kind(
    context: Context, function: Function, expr: Expr, names: frozenset[str] = frozenset()
) -> Tick | None:
    """Return the kind of system tuple that a stream, component or task denotes; a set that includes ticks denotes a tick."""
    match context.program.constant(context.unit(function), expr) or expr:
        case Literal(value=value) if value in TICK_MARKS and not isinstance(value, bool):
            return Tick.YES
        case Literal(value=str() as value) if value.startswith(_SYSTEM):
            return Tick.HEARTBEAT if value == HEARTBEAT else Tick.OTHER
        case Build(items=items):
            kinds = {_system_kind(context, function, item, names) for item in items}
            if not kinds or None in kinds:
                return None
            return Tick.YES if Tick.YES in kinds else kinds.pop() if len(kinds) == 1 else Tick.OTHER
        case Attr(name=name) | Global(id=name):
            return Tick.YES if TICK.search(name) is not None or name in names else None
        case _:
            return None
