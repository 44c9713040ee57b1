"""The output streams that a component declares with their fields, and the number of values in a payload.

A class attribute lists the fields of the default stream, or streams, or maps streams to fields.  A method returns the
fields of the default stream, or passes streams to its parameter: `declarer.declareStream("late", new Fields("id"))`.
Whatever cannot be read makes the whole declaration unknown.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ackdoctor.checks.facts.dataflow import (
    Definition,
    argument_of,
    canonical_form,
    definition,
    earlier_visits,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path
from ackdoctor.flow.expressions import assigned_targets, last_name, mentions, operands
from ackdoctor.libraries.vocabulary import ARRAYS, COLLECTION_LITERALS, LOGGING, PURE_CALLS
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    Jump,
    Literal,
    Mark,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Test,
    Unit,
)
from ackdoctor.model.dialect import VerbKind

DEFAULT = "default"  # the stream of an emit without a stream
Stream: TypeAlias = str | Expr  # an expression in canonical form if its value is unknown
Fields: TypeAlias = (
    tuple[str, ...] | None
)  # names, "?" for one that is computed; None if the number is unknown
Streams: TypeAlias = Mapping[Stream, Fields]

_COMPUTED = "?"
_NAMEDTUPLES = frozenset(("collections.namedtuple",))


class _UnknownError(Exception):
    """The declaration cannot be read."""


def declared_streams(context: RuleContext) -> Streams | None:
    """Return the streams that the component declares; None if it declares none, or unreadable ones."""
    name, component = context.dialect.outputs, context.component
    owner = next((cls for cls in component.lineage if name in cls.attrs or name in cls.methods), None)
    if owner is None or (component.opaque and owner is not component.cls) or component.cls.decorators:
        return None
    try:
        if name in owner.methods:
            return _of_method(context, owner.methods[name])
        return _of_attribute(context, context.program.units[owner.path], owner.attrs[name])
    except _UnknownError:
        return None


def emitted_stream(context: RuleContext, emit: Emitted) -> Stream | None:
    """Return the stream of an emit; None if it is unknown."""
    name = next((param for param in ("stream", "streamId") if param in emit.args), "")
    if not name:
        return None if emit.unclear or emit.extra else DEFAULT
    expr = emit.args[name]
    return DEFAULT if expr == Literal(None) else _stream(context, emit.function, expr)


def _stream(context: RuleContext, function: Function, expr: Expr) -> Stream:
    """Return the name of a stream, or the expression if it has no known value."""
    expr = canonical_form(function, expr)
    if isinstance(expr, (Attr, Global)) and last_name(expr) in ("DEFAULT_STREAM_ID", "DEFAULT_STREAM"):
        return DEFAULT
    own = context.own_field(function, expr)
    unit = context.program.units[function.path]
    value = context.component.attribute(own) if own is not None else context.program.constant(unit, expr)
    found = _followed(context, unit, value or expr)[1]
    return found.value if isinstance(found, Literal) and isinstance(found.value, str) else expr


def _followed(context: RuleContext, unit: Unit, expr: Expr) -> tuple[Unit, Expr]:
    """Return the value that a module of the project assigns to a name, and the module."""
    for _ in range(4):  # hops
        names = context.program.qualify(unit, expr) if isinstance(expr, (Global, Attr)) else ()
        found = context.program.module_value(unit, names[0]) if len(names) == 1 else None
        if found is None:
            break
        unit, expr = found
    return unit, expr


# ---- a class attribute ----


def _of_attribute(context: RuleContext, unit: Unit, value: Expr) -> Streams | None:
    """Return the streams of `["word"]`, `[Stream(["word"], "late")]` and `{"late": ["word"]}`."""
    unit, value = _followed(context, unit, value)
    if value == Literal(None):
        return None
    body = context.program.units[unit.path].body
    if isinstance(value, Build) and value.kind == "dict":
        pairs = zip(value.items[::2], value.items[1::2], strict=False)
        return {_stream(context, body, key): _names(context, unit, fields) for key, fields in pairs}
    if isinstance(value, Mix) and value.op == "call":
        return {DEFAULT: _names(context, unit, value)}
    streams: dict[Stream, Fields] = {}
    fields: list[str] = []
    for where, item in _items(context, unit, value):
        match item:
            case Literal(value=str() as field):
                fields.append(field)
            case Mix(op="call", parts=(func, *parts)) if _is_stream(context, where, func):
                given = dict(zip(("fields", "name"), parts, strict=False))
                given.update(
                    (part.op[:-1], part.parts[0])
                    for part in parts
                    if isinstance(part, Mix) and part.op in ("fields=", "name=")
                )
                body = context.program.units[where.path].body
                stream = _stream(context, body, given.get("name", Literal(DEFAULT)))
                streams[stream] = _names(context, where, given.get("fields", Build("list", ())))
            case _:
                raise _UnknownError
    return {**streams, DEFAULT: tuple(fields)} if fields else streams


def _is_stream(context: RuleContext, unit: Unit, func: Expr) -> bool:
    return not set(context.program.qualify(unit, func)).isdisjoint(context.dialect.stream_classes)


def _names(context: RuleContext, unit: Unit, fields: Expr) -> Fields:
    """Return the names in a list, a tuple or a namedtuple; None if their number is unknown."""
    unit, fields = _followed(context, unit, fields)
    match fields:
        case Mix(op="call", parts=(func, _, names, *_)):
            if _NAMEDTUPLES.isdisjoint(context.program.qualify(unit, func)):
                return None
            unit, names = _followed(context, unit, names)
            if isinstance(names, Literal) and isinstance(names.value, str):
                return tuple(names.value.replace(",", " ").split())
            fields = names
        case _:
            pass
    try:
        return tuple(_text(item) for _, item in _items(context, unit, fields))
    except _UnknownError:
        return None


def _items(context: RuleContext, unit: Unit, value: Expr) -> Iterator[tuple[Unit, Expr]]:
    """Yield the elements of a list or tuple, also of a sum of such."""
    unit, value = _followed(context, unit, value)
    match value:
        case Mix(op="+", parts=parts):
            for part in parts:
                yield from _items(context, unit, part)
        case Build(kind="list" | "tuple", items=items):
            for item in items:
                if isinstance(item, Star):
                    yield from _items(context, unit, item.value)
                else:
                    yield _followed(context, unit, item)
        case _:
            raise _UnknownError


# ---- a method ----


def _of_method(context: RuleContext, method: Function) -> Streams:
    """Return the streams of a method without branches that returns fields, or declares streams on its parameter."""
    unit = context.program.units[method.path]
    declarer = next((Name(param.name) for param in method.params if param.type), None)
    streams: dict[Stream, Fields] = {}
    for step in method.cfg.steps:
        match step.op:
            case Return(value=value) if value is not None and declarer is None:
                streams[DEFAULT] = _names(context, unit, canonical_form(method, value))
            case Call(func=Attr(obj=obj, name="declare" | "declareStream" as name), args=args) if (
                obj == declarer
            ):
                values = [arg.value for arg in args]
                stream = _stream(context, method, values.pop(0)) if name == "declareStream" else DEFAULT
                streams[stream] = _fields_made(context, method, values[-1])
            case Call(func=func, args=args) if declarer not in (func, *(arg.value for arg in args)):
                pass
            case Return() | Bind() | Mark() | Jump():
                pass
            case _:
                raise _UnknownError
    return streams


def _fields_made(context: RuleContext, method: Function, value: Expr) -> Fields:
    """Return the fields of `new Fields("id", "text")`."""
    match canonical_form(method, value):
        case Mix(op="call", parts=(func, *names)) if last_name(func) == "Fields":
            if len(names) == 1 and not _is_text(context, method, names[0]):
                return None  # an array or a list
            return tuple(_text(_stream(context, method, name)) for name in names)
        case _:
            return None


def _text(value: Stream) -> str:
    """Return a text that is known, else "?"."""
    if isinstance(value, str):
        return value
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else _COMPUTED


def _is_text(context: RuleContext, method: Function, expr: Expr) -> bool:
    return isinstance(_stream(context, method, expr), str) or (isinstance(expr, Mix) and expr.op == "+")


# ---- payloads ----


def payload_size(context: RuleContext, emit: Emitted) -> int | None:
    """Return the number of values that an emit certainly sends; None if it is unknown."""
    payload = emit.payload
    found = definition(emit.path, payload) if payload is not None else None
    if payload is None or found is None or not _is_untouched(context, emit.path, payload, found.visit):
        return None
    match found.value:
        case Build(kind="list" | "tuple", items=items):
            return None if any(isinstance(item, Star) for item in items) else len(items)
        case Mix(op="+", parts=parts) if all(isinstance(part, Build) for part in parts):
            items = tuple(item for part in parts if isinstance(part, Build) for item in part.items)
            return None if any(isinstance(item, Star) for item in items) else len(items)
        case Call(func=func, args=args) if last_name(func) in COLLECTION_LITERALS:
            return _number_of_values(context, found, last_name(func), args)
        case _:
            return None


def _number_of_values(
    context: RuleContext, found: Definition, name: str, args: tuple[Arg, ...]
) -> int | None:
    """Return the number of arguments of `new Values(...)` or `Arrays.asList(...)`, unless the only one may be an array."""
    if any(arg.star or arg.name for arg in args):
        return None
    spreads = len(args) == 1 and (name in ARRAYS or name == "Values")
    return None if spreads and not _is_one_value(context, found.visit, args[0].value) else len(args)


_SCALARS = frozenset(
    "toString valueOf trim toLowerCase toUpperCase substring replace replaceAll concat join format "
    "incrementAndGet getAndIncrement currentTimeMillis nanoTime size length "
    "intValue longValue doubleValue getTime nextInt nextLong randomUUID".split()
)


def _is_one_value(context: RuleContext, visit: Path, expr: Expr) -> bool:
    """Whether an argument is certainly no array."""
    found = definition(visit, expr)
    if found is None:
        return isinstance(expr, Name) and is_part_of_split(visit, expr)
    match found.value:
        case Literal(value=value):
            return value is not None
        case Compare() | Not():
            return True
        case Mix(op=op):
            return op in ("+", "-", "*", "/", "%")
        case Call(func=func):
            name = last_name(func)
            return name in _SCALARS or (name in context.dialect.shape.keyed and "Value" not in name)
        case _:
            return False


def is_part_of_split(visit: Path, local: Name) -> bool:
    """Whether a local is a string of `for (String word : line.split(" "))`."""
    for earlier in earlier_visits(visit):
        match earlier.step.op:
            case Next(target=target, iterable=iterable) if target == local:
                found = definition(earlier, iterable)
                return found is not None and isinstance(found.value, Call) and _splits(found.value)
            case op if local in assigned_targets(op):
                return False
            case _:
                pass
    return False


def _splits(call: Call) -> bool:
    """Whether a call gives parts of a text: `line.split()`, or `re.findall("[a-z]+", line)`, whose pattern has no groups."""
    match call:
        case Call(
            func=Attr(obj=Global(id="re"), name="findall"),
            args=(Arg(value=Literal(value=str() as pattern)), *_),
        ):
            return "(" not in pattern
        case _:
            return last_name(call.func) == "split"


def _is_untouched(context: RuleContext, end: Path, payload: Expr, made: Path) -> bool:
    """Whether no step between the definition of a payload and the emit may change it: `row.append(count)`."""
    if not isinstance(payload, Name):
        return True
    for visit in earlier_visits(end):
        match visit.step.op:
            case Bind(target=target, value=Name() as value) if target == payload:
                payload = value
            case op if visit is not made and any(mentions(value, payload) for value in operands(op)):
                if not _only_reads(context, visit, payload):
                    return False
            case _:
                pass
        if visit is made:
            return True
    caller = end.entry.before
    call = caller.step.op if caller is not None else None
    argument = argument_of(call, end.function, payload.id) if isinstance(call, Call) else None
    return argument is not None and caller is not None and _is_untouched(context, caller, argument, made)


def _only_reads(context: RuleContext, visit: Path, payload: Name) -> bool:
    match visit.step.op:
        case Test():
            return True
        case Call(func=func) as call:
            if mentions(func, payload):
                return False
            kind = context.verb_kind(visit.function, call)
            return kind is VerbKind.EMIT or last_name(func) in LOGGING | PURE_CALLS
        case _:
            return False
