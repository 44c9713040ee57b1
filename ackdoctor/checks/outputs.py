"""What a component emits: values that cannot be serialised, and streams and fields that it does not declare."""

import builtins
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import Definition, definition
from ackdoctor.checks.facts.fields import uses
from ackdoctor.checks.facts.outputs import (
    Streams,
    declared_streams,
    emitted_stream,
    is_part_of_split,
    payload_size,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path
from ackdoctor.flow.expressions import calls_by_result
from ackdoctor.flow.values import Const
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Call,
    Catch,
    ClassInfo,
    Closure,
    Compare,
    Expr,
    Function,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
)
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding, counted
from ackdoctor.rulebook import Words

# ---- ACK205 unserialisable-emit ----
# A dialect's `serializer` is "json" (Python's own), "simplejson" (which knows Decimal and UTF-8 bytes), "msgpack" or "pickle".


_MAX_DEPTH = 6  # of nested containers
_KINDS = {
    "set": "a set",
    "frozenset": "a frozenset",
    "object": "a bare object",
    **dict.fromkeys(("open", "io.open", "codecs.open"), "an open file"),
    "decimal.Decimal": "a Decimal",
    **dict.fromkeys(("uuid.UUID", *(f"uuid.uuid{n}" for n in (1, 3, 4, 5, 6, 7, 8))), "a UUID"),
    "datetime.datetime": "a datetime",
    **{
        f"datetime.datetime.{way}": "a datetime"
        for way in "now utcnow today fromtimestamp utcfromtimestamp strptime combine".split()
    },
    "datetime.date": "a date",
    **{f"datetime.date.{way}": "a date" for way in "today fromtimestamp fromisoformat".split()},
    "datetime.time": "a time of day",
    "datetime.timedelta": "a timedelta",
    "collections.deque": "a deque",
    **{
        f"numpy.{way}": "a numpy array"
        for way in "array asarray zeros ones full empty arange linspace".split()
    },
    **{f"numpy.{kind}": "a numpy number" for kind in "int8 int16 int32 int64 uint8 float16 float32".split()},
    **{f"pandas.{kind}": f"a pandas {kind}" for kind in ("DataFrame", "Series", "Timestamp")},
    "re.compile": "a compiled pattern",
}
_BINARY = frozenset(  # their first bytes, or random ones, are no UTF-8
    "hashlib.digest hmac.digest os.urandom secrets.token_bytes zlib.compress gzip.compress lzma.compress".split()
)
_SETS = ("a set", "a frozenset")
_RESULTS: Mapping[
    tuple[str | None, ...], str
] = {  # what the method of such a value, or an operation with another one, makes of it
    ("a datetime", "date"): "a date",
    ("a datetime", "time"): "a time of day",
    **dict.fromkeys((("a datetime", "replace"), ("a datetime", "astimezone")), "a datetime"),
    ("a datetime", "-", "a datetime"): "a timedelta",
    ("a date", "-", "a date"): "a timedelta",
    **{(kind, op, "a timedelta"): kind for kind in ("a datetime", "a date", "a timedelta") for op in "+-"},
    **{("a set", way): "a set" for way in "union intersection difference symmetric_difference copy".split()},
    **{(kind, op, other): kind for kind in _SETS for op in "|&-^" for other in _SETS},
}
_ITERATORS = frozenset(("map", "filter", "zip", "reversed", "enumerate", "range"))  # lists in Python 2
_REJECTED_BY_ALL = frozenset(("a generator", "an open file"))
_REJECTED_BY_PLAIN_JSON = frozenset(("a Decimal", "bytes"))
_ADVICE = {  # phrases of the catalogue
    "a set": "sequence",
    "a frozenset": "sequence",
    "a generator": "iterator",
    "an iterator": "iterator",
    "a view of a dict": "iterator",
    "a deque": "iterator",
    "a numpy array": "array",
    "a numpy number": "number",
    "a pandas Timestamp": "datetime",
    "a datetime": "datetime",
    "a date": "date",
    "a time of day": "date",
    "a timedelta": "duration",
    "a UUID": "text",
    "a Decimal": "text",
    "an exception": "text",
    "bytes": "bytes",
    "binary data": "binary",
}


def ack205_unserialisable_emit(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call whose payload provably fails."""
    for flow, emit in context.events(Emitted):
        payload = emit.payload
        fault = _fault(context, emit, payload) if payload is not None else None
        if fault is not None and context.is_first(emit.step):
            yield context.finding(*fault[:2], emit, flow=flow, details=fault.details)


class _Fault(NamedTuple):
    """A payload that fails; `details` are the number of the field at fault and the phrase of its advice."""

    words: Words
    misuse: Misuse
    details: tuple[str, ...] = ()


def _fault(context: RuleContext, emit: Emitted, payload: Expr) -> _Fault | None:
    found = definition(emit.path, payload)
    shape = None
    if found is not None and emit.verb.kind is VerbKind.EMIT:
        shape = "string" if _returns_string(context, found) else _shape(found.value)
    elif (
        isinstance(payload, Name) and emit.verb.kind is VerbKind.EMIT and is_part_of_split(emit.path, payload)
    ):
        shape = "string"
    if shape is not None and shape not in (context.discipline.payload_types or ("list", "tuple")):
        return _Fault(context.words("shape", what=f"a {shape}"), Misuse.PAYLOAD_SHAPE)
    kind = _rejected(context, emit.path, payload)
    if kind is None:
        return None
    types = context.discipline.payload_types
    if types and found is not None and not isinstance(found.value, Build):
        return _Fault(context.words("shape", what=kind), Misuse.PAYLOAD_SHAPE)
    serializer = context.discipline.serializer
    title = "JSON" if serializer in ("json", "simplejson") else serializer
    advice = _ADVICE.get(kind, "plain")
    fields = payload.items if isinstance(payload, Build) else ()
    rejected = [
        str(place) for place, item in enumerate(fields) if _rejected(context, emit.path, item) == kind
    ]
    words = context.words("value", what=kind, serializer=title, advice=context.phrase(advice))
    return _Fault(words, Misuse.PAYLOAD_OPAQUE, (rejected[0], advice) if rejected else ())


def _shape(defined: Expr | Call | Catch) -> str | None:
    """Return the shape of a payload; None if it is unknown or `None`."""
    match defined:
        case Build(kind=kind):
            return kind
        case Literal(value=None):
            return None
        case Literal(value=str() | bytes()) | Mix(op="f"):
            return "string"
        case Mix(op="%" | "+", parts=(Literal(value=str() | bytes()), *_)):
            return "string"
        case Literal(value=bool()) | Compare() | IsType() | Not() | Mix(op="bool" | "isinstance"):
            return "truth value"
        case Literal(value=int() | float()) | Mix(op="len" | "id"):
            return "number"
        case _:
            return None


_STRING_METHODS = frozenset("strip lower upper isoformat strftime hexdigest".split())


def _returns_string(context: RuleContext, found: Definition) -> bool:
    if not isinstance(found.value, Call):
        return False
    match found.value.func:
        case Global(id="str") | Attr(obj=Global(id="json" | "simplejson"), name="dumps"):
            return True
        case Attr(obj=Literal(value=str()), name="format" | "join"):
            return True
        case Attr(obj=Name() | Attr() | Item(), name=name) as func:
            return name in _STRING_METHODS and context.own_field(found.visit.function, func) is None
        case _:
            return False


def _rejected(context: RuleContext, visit: Path, expr: Expr, depth: int = 0) -> str | None:
    """Return the part of a payload that the dialect's serialiser rejects, in words; None for a payload it accepts."""
    found = definition(visit, expr)
    if found is None or depth > _MAX_DEPTH:
        return None
    if isinstance(found.value, Build) and found.value.kind in ("list", "tuple", "dict"):
        inner = (_rejected(context, found.visit, item, depth + 1) for item in found.value.items)
        return next((word for word in inner if word), None)
    word = _kind(context, found)
    serializer = context.discipline.serializer
    if word in _REJECTED_BY_PLAIN_JSON:
        python2 = context.program.units[found.visit.function.path].python2
        return word if serializer == "json" and not (python2 and word == "bytes") else None
    if word == "binary data" and (serializer == "msgpack" or not context.is_python3(found.visit.function)):
        return None
    return word if word in _REJECTED_BY_ALL or serializer != "pickle" else None


def _kind(context: RuleContext, found: Definition) -> str | None:
    """Return what a value is, in words, if some serialiser may reject it."""
    match found.value:
        case Build(kind="set" | "generator" as kind):
            return f"a {kind}"
        case Closure():
            return "a function"
        case Literal(value=bytes()):
            return "bytes"
        case Catch():
            return "an exception"
        case Call(func=Attr(obj=obj, name="keys" | "values" | "items")) if _is_dict(found.visit, obj):
            return "a view of a dict" if context.is_python3(found.visit.function) else None
        case Attr() as place if (field := context.own_field(found.visit.function, place)) is not None:
            return _kind_of_field(context, field)
        case Mix(op=op, parts=(left, right)):
            return _RESULTS.get(
                (_kind_at(context, found.visit, left), op, _kind_at(context, found.visit, right))
            )
        case Call(func=func):
            return _kind_of_result(context, found.visit, func)
        case _:
            return None


def _kind_of_result(context: RuleContext, visit: Path, func: Expr) -> str | None:
    """Return what a call returns, in words, if some serialiser may reject it."""
    match context.resolve(visit.function, func):
        case (Function(is_generator=True, decorators=()),):
            return "a generator"
        case (ClassInfo() as cls,) if _is_plain_object(context, cls):
            return f"an instance of {cls.name}"
        case (str() as name,) if name in _ITERATORS:
            return "an iterator" if context.is_python3(visit.function) else None
        case (str() as name,):
            made = getattr(builtins, name, None)
            raised = isinstance(made, type) and issubclass(made, BaseException)
            return "an exception" if raised else "binary data" if name in _BINARY else _KINDS.get(name)
        case () if isinstance(func, Attr):
            owner = definition(visit, func.obj)
            makers = _makers(context, owner) if owner is not None else ()
            is_binary = any(f"{maker.partition('.')[0]}.{func.name}" in _BINARY for maker in makers)
            return (
                "binary data" if is_binary else _RESULTS.get((_kind_at(context, visit, func.obj), func.name))
            )
        case _:
            return None


def _kind_at(context: RuleContext, visit: Path, expr: Expr) -> str | None:
    found = definition(visit, expr)
    return _kind(context, found) if found is not None else None


def _makers(context: RuleContext, found: Definition) -> frozenset[str]:
    """Return the qualified names of the function that makes a value."""
    func = found.value.func if isinstance(found.value, Call) else None
    return context.qualified_names(found.visit.function, func) if func is not None else frozenset()


def _is_plain_object(context: RuleContext, cls: ClassInfo) -> bool:
    """Whether the instances of a project class are no strings, numbers or containers, and serialise in no way of their own."""
    lineage = context.program.lineage(cls)
    own = any("_asdict" in each.methods or "__new__" in each.methods for each in lineage.order)
    return set(lineage.foreign) <= {"object"} and not own and not cls.decorators


def _is_dict(visit: Path, obj: Expr) -> bool:
    found = definition(visit, obj)
    return found is not None and isinstance(found.value, Build) and found.value.kind == "dict"


def _kind_of_field(context: RuleContext, field: str) -> str | None:
    """Return what a field certainly is: a set or a deque that every assignment makes."""
    kinds = set[str | None]()
    for use in uses(context, field=field):
        if use.whole and use.how.endswith("="):
            value = use.values[0]
            made = calls_by_result(use.function).get(value)
            names = context.qualified_names(use.function, made.func) if made is not None else frozenset()
            kinds.add(
                "a set"
                if isinstance(value, Build) and value.kind == "set"
                else _KINDS.get(min(names, default=""))
            )
    return kinds.pop() if len(kinds) == 1 else None


# ---- ACK207 undeclared-emit ----


def ack207_undeclared_emit(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call that certainly differs from the declaration."""
    streams = declared_streams(context)
    for flow, emit in context.events(Emitted):
        if flow.entry is None and context.program.owner(flow.function) is not context.component.cls:
            continue  # a method of a base class that this component may never call
        fault = _type(context, emit) or (_undeclared(context, streams, emit) if streams is not None else None)
        if fault is not None and fault[1] in context.discipline.costs and context.is_first(emit.step):
            yield context.finding(*fault, emit, flow=flow)


def _type(context: RuleContext, emit: Emitted) -> tuple[Words, Misuse] | None:
    match emit.values.get("stream"):
        case Const(value=int() | float() | bytes() as value):
            return context.words("type", value=repr(value)), Misuse.STREAM_TYPE
        case _:
            return None


def _undeclared(context: RuleContext, streams: Streams, emit: Emitted) -> tuple[Words, Misuse] | None:
    if emit.verb.kind is not VerbKind.EMIT:
        return None
    stream = emitted_stream(context, emit)
    declaration = context.dialect.outputs
    if stream in context.dialect.own_streams:
        return None
    if stream is None or stream not in streams:
        known = isinstance(stream, str) and streams and all(isinstance(each, str) for each in streams)
        return (
            (context.words("stream", stream=stream, declaration=declaration), Misuse.STREAM)
            if known
            else None
        )
    fields, got = streams[stream], payload_size(context, emit)
    if fields is None or got is None or len(fields) == got:
        return None
    values = counted(got, "value")
    name = f"`{stream}`" if isinstance(stream, str) else "this stream"
    words = context.words("fields", values=values, stream=name, want=len(fields), declaration=declaration)
    return words, Misuse.FIELDS
