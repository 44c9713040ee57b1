"""ACK205: an emit whose payload has the wrong shape, or holds a value that the serialiser cannot carry.

A dialect's `serializer` is "json" (Python's own), "simplejson" (which knows Decimal and UTF-8 bytes), "msgpack" or "pickle".
"""

import builtins
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import definition
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path
from ackdoctor.model.cfg import (
    Build,
    Call,
    Catch,
    ClassInfo,
    Closure,
    Compare,
    Expr,
    Function,
    IsType,
    Literal,
    Mix,
    Not,
    Star,
)
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding
from ackdoctor.rulebook import Words

__all__ = ["check"]

_MAX_DEPTH = 6  # of nested containers
_KINDS = {
    "set": "a set",
    "frozenset": "a frozenset",
    "object": "a bare object",
    "open": "an open file",
    "io.open": "an open file",
    "codecs.open": "an open file",
    "decimal.Decimal": "a Decimal",
    "uuid.UUID": "a UUID",
    **{f"uuid.uuid{n}": "a UUID" for n in (1, 3, 4, 5, 6, 7, 8)},
    **{
        f"datetime.datetime{way}": "a datetime"
        for way in (
            "",
            ".now",
            ".utcnow",
            ".today",
            ".fromtimestamp",
            ".utcfromtimestamp",
            ".strptime",
            ".combine",
        )
    },
    **{f"datetime.date{way}": "a date" for way in ("", ".today", ".fromtimestamp", ".fromisoformat")},
    "datetime.time": "a time of day",
    "datetime.timedelta": "a timedelta",
}
_REJECTED_BY_ALL = frozenset(("a generator", "an open file"))
_REJECTED_BY_PLAIN_JSON = frozenset(("a Decimal", "bytes"))


def _rejected(context: RuleContext, visit: Path, expr: Expr, depth: int = 0) -> str | None:
    """Return the part of a payload that the dialect's serialiser rejects, in words; None for a payload it accepts."""
    found = definition(visit, expr)
    if found is None or depth > _MAX_DEPTH:
        return None
    match found.value:
        case Build(kind="list" | "tuple" | "dict", items=items):
            inner = (_rejected(context, found.visit, item, depth + 1) for item in items)
            return next((word for word in inner if word), None)
        case Star():
            return None
        case _:
            word = _kind(context, found.visit, found.value)
            return word if word is not None and _is_rejected(context, found.visit, word) else None


def _is_rejected(context: RuleContext, visit: Path, word: str) -> bool:
    if word in _REJECTED_BY_ALL:
        return True
    serializer = context.discipline.serializer
    if word in _REJECTED_BY_PLAIN_JSON:
        python2 = context.program.units[visit.function.path].python2
        return serializer == "json" and not (python2 and word == "bytes")
    return serializer != "pickle"


def _kind(context: RuleContext, visit: Path, defined: Expr | Call | Catch) -> str | None:
    match defined:
        case Build(kind="set"):
            return "a set"
        case Build(kind="generator"):
            return "a generator"
        case Closure():
            return "a function"
        case Literal(value=bytes()):
            return "bytes"
        case Catch():
            return "an exception"
        case Call(func=func):
            symbols = context.resolve(visit.function, func)
            return _kind_of_result(symbols[0]) if len(symbols) == 1 else None
        case _:
            return None


def _kind_of_result(symbol: ClassInfo | Function | str) -> str | None:
    if isinstance(symbol, Function):
        return "a generator" if symbol.is_generator and not symbol.decorators else None
    if isinstance(symbol, ClassInfo):
        return None
    kind = getattr(builtins, symbol, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return "an exception"
    return _KINDS.get(symbol)


_SHAPES = {
    "list": "a list",
    "tuple": "a tuple",
    "set": "a set",
    "dict": "a dict",
    "generator": "a generator",
}


def _wrong_shape(context: RuleContext, visit: Path, expr: Expr) -> str | None:
    """Return the shape of a payload in words; None if it is, or may be, a list of fields."""
    found = definition(visit, expr)
    kind = _shape(found.value) if found is not None else None
    accepted = context.discipline.payload_types or ("list", "tuple")
    return None if kind is None or kind in accepted else _SHAPES.get(kind, f"a {kind}")


def _shape(defined: Expr | Call | Catch) -> str | None:
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


_ADVICE = {  # phrases of the catalogue
    "a set": "sequence",
    "a frozenset": "sequence",
    "a generator": "iterator",
    "a datetime": "datetime",
    "a date": "date",
    "a time of day": "date",
    "a timedelta": "duration",
    "a UUID": "text",
    "a Decimal": "text",
    "an exception": "text",
    "bytes": "bytes",
}
_SERIALIZERS = {"json": "JSON", "simplejson": "JSON", "msgpack": "msgpack", "pickle": "pickle"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit call whose payload provably fails."""
    reported: set[int] = set()
    for flow, emit in context.events(Emitted):
        payload = emit.args.get(emit.verb.subject or "")
        if payload is None or id(emit.step) in reported:
            continue
        fault = _fault(context, emit, payload)
        if fault is None:
            continue
        reported.add(id(emit.step))
        words, misuse = fault
        yield context.finding(
            words,
            at=(emit.function, emit.step.span),
            misuse=misuse,
            path=emit.path,
            token=emit.subject,
            flow=flow,
        )


def _fault(context: RuleContext, emit: Emitted, payload: Expr) -> tuple[Words, Misuse] | None:
    if emit.verb.kind is VerbKind.EMIT:
        shape = _wrong_shape(context, emit.path, payload)
        if shape is not None:
            return context.words("shape", what=shape), Misuse.PAYLOAD_SHAPE
    kind = _rejected(context, emit.path, payload)
    if kind is None:
        return None
    serializer = _SERIALIZERS.get(context.discipline.serializer, context.discipline.serializer)
    advice = context.phrase(_ADVICE.get(kind, "plain"))
    return context.words("value", what=kind, serializer=serializer, advice=advice), Misuse.PAYLOAD_OPAQUE
