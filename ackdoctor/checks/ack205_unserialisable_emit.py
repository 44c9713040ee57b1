"""x"""

import builtins
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import origin
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path
from ackdoctor.model.cfg import Build, Call, Catch, Closure, Compare, Expr, IsType, Literal, Mix, Not, Star
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding

__all__ = ["check", "refused", "wrong_shape"]


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


def refused(context: RuleContext, visit: Path, expr: Expr, depth: int = 0) -> str | None:
    """What the dialect's serialiser refuses in a value that is given at `visit`, as a reader names it."""
    found = origin(visit, expr)
    if found is None or depth > DEEPEST:
        return None
    match found.made:
        case Build(kind="list" | "tuple" | "dict", items=items):
            inner = (refused(context, found.visit, item, depth + 1) for item in items)
            return next((word for word in inner if word), None)
        case Star():
            return None
        case _:
            word = _kind(context, found.visit, found.made)
            return word if word is not None and _refuses(context, found.visit, word) else None


def _refuses(context: RuleContext, visit: Path, word: str) -> bool:
    if word in _EVERYWHERE:
        return True
    serializer = context.discipline.serializer
    if word in _ONLY_PLAIN_JSON:
        python2 = context.program.units[visit.function.path].python2
        return serializer == "json" and not (python2 and word == "bytes")
    return serializer != "pickle"


def _kind(context: RuleContext, visit: Path, made: Expr | Call | Catch) -> str | None:
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
            symbols = context.resolve(visit.function, func)
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


def wrong_shape(context: RuleContext, visit: Path, expr: Expr) -> str | None:
    """What a payload is that should be a list of fields, as a reader names it; None where it is one, or may be."""
    found = origin(visit, expr)
    kind = _shape(found.made) if found is not None else None
    accepted = context.discipline.payload_types or ("list", "tuple")
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


_CURES = {
    "a set": "emit `sorted(...)` or `list(...)` of it",
    "a frozenset": "emit `sorted(...)` or `list(...)` of it",
    "a generator": "emit `list(...)` of it",
    "a datetime": "emit `.isoformat()` or a timestamp",
    "a date": "emit `.isoformat()`",
    "a time of day": "emit `.isoformat()`",
    "a timedelta": "emit `.total_seconds()`",
    "a UUID": "emit `str(...)` of it",
    "a Decimal": "emit `str(...)` of it",
    "an exception": "emit `str(...)` of it",
    "bytes": "decode it first",
}
_SERIALIZERS = {"json": "JSON", "simplejson": "JSON", "msgpack": "msgpack", "pickle": "pickle"}


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each emit call whose payload provably fails."""
    told: set[int] = set()
    for flow, emit in context.events(Emitted):
        payload = emit.args.get(emit.verb.subject or "")
        if payload is None or id(emit.step) in told:
            continue
        fault = _fault(context, emit, payload)
        if fault is None:
            continue
        told.add(id(emit.step))
        message, misuse, cure = fault
        yield context.finding(
            at=(emit.function, emit.step.span),
            message=message,
            misuse=misuse,
            path=emit.path,
            token=emit.subject,
            last="emitted here",
            flow=flow,
            help=cure,
        )


def _fault(context: RuleContext, emit: Emitted, payload: Expr) -> tuple[str, Misuse, str] | None:
    if emit.verb.kind is VerbKind.EMIT:
        shape = wrong_shape(context, emit.path, payload)
        if shape is not None:
            cure = "put it in a list, one element for each declared field"
            return f"the payload is {shape} instead of a list of fields", Misuse.PAYLOAD_SHAPE, cure
    word = refused(context, emit.path, payload)
    if word is None:
        return None
    wire = _SERIALIZERS.get(context.discipline.serializer, context.discipline.serializer)
    message = f"the payload holds {word}, which {wire} cannot carry"
    return message, Misuse.PAYLOAD_OPAQUE, _CURES.get(word, "emit plain values only")
