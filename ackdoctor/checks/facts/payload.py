"""What a serialiser refuses, and how to tell that a value is such a thing.

A dialect's `serializer` says how it puts values on the wire: "json" (Python's own), "simplejson" (which
knows Decimal and UTF-8 bytes), "msgpack" or "pickle".
"""

import builtins

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.origin import origin
from ackdoctor.flow.events import Trail
from ackdoctor.model.cfg import Build, Call, Catch, Closure, Compare, Expr, IsType, Literal, Mix, Not, Star
from ackdoctor.model.component import ClassInfo, Function

__all__ = ["refused", "wrong_shape"]

DEEPEST = 6  # containers looked into

_MADE_BY = {
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
_EVERYWHERE = frozenset(("a generator", "an open file"))
_ONLY_PLAIN_JSON = frozenset(("a Decimal", "bytes"))


def refused(diagnosis: Diagnosis, visit: Trail, expr: Expr, depth: int = 0) -> str | None:
    """What the dialect's serialiser refuses in a value that is given at `visit`, as a reader names it."""
    found = origin(visit, expr)
    if found is None or depth > DEEPEST:
        return None
    match found.made:
        case Build(kind="list" | "tuple" | "dict", items=items):
            inner = (refused(diagnosis, found.visit, item, depth + 1) for item in items)
            return next((word for word in inner if word), None)
        case Star():
            return None
        case _:
            word = _kind(diagnosis, found.visit, found.made)
            return word if word is not None and _refuses(diagnosis, found.visit, word) else None


def _refuses(diagnosis: Diagnosis, visit: Trail, word: str) -> bool:
    if word in _EVERYWHERE:
        return True
    serializer = diagnosis.discipline.serializer
    if word in _ONLY_PLAIN_JSON:
        python2 = diagnosis.program.units[visit.function.path].python2
        return serializer == "json" and not (python2 and word == "bytes")
    return serializer != "pickle"


def _kind(diagnosis: Diagnosis, visit: Trail, made: Expr | Call | Catch) -> str | None:
    match made:
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
            symbols = diagnosis.resolve(visit.function, func)
            return _made(symbols[0]) if len(symbols) == 1 else None
        case _:
            return None


def _made(symbol: ClassInfo | Function | str) -> str | None:
    if isinstance(symbol, Function):
        return "a generator" if symbol.is_generator and not symbol.decorators else None
    if isinstance(symbol, ClassInfo):
        return None
    kind = getattr(builtins, symbol, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return "an exception"
    return _MADE_BY.get(symbol)


_SHAPES = {
    "list": "a list",
    "tuple": "a tuple",
    "set": "a set",
    "dict": "a dict",
    "generator": "a generator",
}


def wrong_shape(diagnosis: Diagnosis, visit: Trail, expr: Expr) -> str | None:
    """What a payload is that should be a list of fields, as a reader names it; None where it is one, or may be."""
    found = origin(visit, expr)
    kind = _shape(found.made) if found is not None else None
    accepted = diagnosis.discipline.payload_types or ("list", "tuple")
    return None if kind is None or kind in accepted else _SHAPES.get(kind, f"a {kind}")


def _shape(made: Expr | Call | Catch) -> str | None:
    match made:
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
