"""ACK402: `self.pending[key] = tup` drops the tuple that waits under the same key."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import pending_fields, reads_field, stored_inputs, unreleased_fields
from ackdoctor.checks.facts.dataflow import definition
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Path, Stored, points_back
from ackdoctor.flow.expressions import mentions
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Call,
    Catch,
    Expr,
    Global,
    Instr,
    Item,
    Literal,
    Name,
    Return,
    Test,
)
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_LOOKS = frozenset(
    "get pop setdefault has_key __contains__ keys containsKey getIfPresent getOrDefault putIfAbsent computeIfAbsent "
    "compute merge remove".split()
)
_UNIQUE = frozenset(
    {"uuid1", "uuid4", "next", "token_hex", "getrandbits", "random", "monotonic", "time", "count"}
    | {
        "randomUUID",
        "incrementAndGet",
        "getAndIncrement",
        "nextLong",
        "nanoTime",
        "currentTimeMillis",
        "getMessageId",
    }
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each store under a key from the data that does not look up the key first."""
    if context.component.opaque:
        return
    fields = pending_fields(context) - unreleased_fields(context)
    reported: set[int] = set()
    for flow, stored in stored_inputs(context):
        field = stored.field
        if stored.how != "[]" or stored.key is None or field not in fields or id(stored.step) in reported:
            continue
        if (
            _is_multimap(context, field)
            or not _key_can_repeat(context, stored)
            or _looked_up(context, stored)
            or _returns_previous(stored)
        ):
            continue
        reported.add(id(stored.step))
        yield context.finding(
            context.words(field=f"self.{field}"),
            at=(stored.function, stored.step.span),
            misuse=Misuse.NEVER,
            path=stored.path,
            token=stored.token,
            flow=flow,
            severity=Severity.WARNING,
        )


def _is_multimap(context: RuleContext, field: str) -> bool:
    """Whether the field is declared as a multimap, such as Guava's."""
    found = context.component.declared(field)
    return found is not None and "multi" in found[1].lower()


def _key_can_repeat(context: RuleContext, stored: Stored) -> bool:
    """Whether the key comes from the data and is no id, counter or random number."""
    assert stored.key is not None  # the caller checks it
    visit, defined = _definition(stored.path, stored.key)
    function = visit.function
    while (inner := _operand(defined)) is not None:
        visit, defined = _definition(visit, inner)
    match defined:
        case Call(func=Attr(name=name) | Global(id=name) | Name(id=name)):
            return name not in _UNIQUE
        case Attr(name="id") | Literal():
            return False
        case Attr() | Item() if context.field(function, defined) is not None:
            return False
        case Item(obj=Name(id=name), key=Literal(value=0)) if name == stored.token.name:
            return False
        case _:
            return True


def _operand(defined: Expr | Call | Catch) -> Expr | None:
    """Return the operand of a conversion or of a part of a result: `id` of `Long.toString(id)` and `id.toString()`."""
    match defined:
        case Attr(obj=Name(id=name) as obj) | Item(obj=Name(id=name) as obj) if name.startswith("%"):
            return obj
        case Call(func=Attr(name="toString" | "valueOf"), args=(Arg(value=value),)):
            return value
        case Call(func=Attr(name="toString", obj=obj), args=()):
            return obj
        case _:
            return None


def _definition(visit: Path, expr: Expr) -> tuple[Path, Expr | Call | Catch]:
    """Return the definition of an expression's value and its visit; the expression itself if it has none."""
    found = definition(visit, expr)
    return (found.visit, found.value) if found is not None else (visit, expr)


def _returns_previous(stored: Stored) -> bool:
    """Whether the code uses the previous value that the store returns: `before = waiting.put(key, tuple)`."""
    call = stored.step.op
    if not isinstance(call, Call):
        return False
    return any(
        mentions(value, call.result) for step in stored.function.cfg.steps for value in _operands(step.op)
    )


def _operands(op: Instr) -> tuple[Expr, ...]:
    match op:
        case Bind(value=value) | Test(condition=value):
            return (value,)
        case Return(value=value) if value is not None:
            return (value,)
        case Call(func=func, args=args):
            return (func, *(arg.value for arg in args))
        case _:
            return ()


def _looked_up(context: RuleContext, stored: Stored) -> bool:
    """Whether the path to the store reads the field."""
    for visit, _, _ in points_back(stored.path):
        if visit is stored.path:
            continue
        match visit.step.op:
            case Test(condition=condition) | Bind(value=condition):
                if reads_field(context, visit.function, condition, stored.field):
                    return True
            case Call(func=Attr(obj=obj, name=name), args=args):
                if visit.step is stored.step:
                    continue
                if name in _LOOKS and context.field(visit.function, obj) == stored.field:
                    return True
                if any(reads_field(context, visit.function, arg.value, stored.field) for arg in args):
                    return True
            case _:
                pass
    return False
