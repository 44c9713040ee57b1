"""ACK403: a bolt stores tuples in a bounded or expiring container whose eviction completes nothing."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import (
    LISTENERS,
    assigned_calls,
    chained_methods,
    reads_field,
    stored_inputs,
    unreleased_fields,
)
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Stored, points_back
from ackdoctor.model.cfg import Attr, Bind, Build, Call, Closure, Expr, Function, Literal, Name, Test
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_CACHES = frozenset(
    f"cachetools.{name}"
    for name in "Cache FIFOCache LFUCache LRUCache MRUCache RRCache TTLCache TLRUCache".split()
) | frozenset(
    f"org.apache.commons.{name}"
    for name in "collections.map.LRUMap collections4.map.LRUMap collections4.map.PassiveExpiringMap "
    "collections.buffer.CircularFifoBuffer collections4.queue.CircularFifoQueue".split()
)
_TIMED = frozenset(  # the second argument, if there is one, is the listener of expired entries
    f"{root}.storm.utils.TimeCacheMap" for root in ("backtype", "org.apache")
)
_BOUNDS = frozenset(
    "maximumSize maximumWeight expireAfterWrite expireAfterAccess expireAfter weakKeys weakValues softValues".split()
)
_DEQUES = frozenset({"collections.deque", "deque"})


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such container, at the first store."""
    never_drained = unreleased_fields(context)
    reported: set[str] = set()
    for flow, stored in stored_inputs(context):
        field = stored.field
        if field in reported or field in never_drained:
            continue
        what = _eviction(context, stored)
        if what is None:
            continue
        reported.add(field)
        yield context.finding(
            context.words(field=f"self.{field}", what=what),
            at=(stored.function, stored.step.span),
            misuse=Misuse.NEVER,
            path=stored.path,
            token=stored.token,
            flow=flow,
            severity=Severity.WARNING,
        )


def _eviction(context: RuleContext, stored: Stored) -> str | None:
    field = stored.field
    for function in context.functions():
        for call in assigned_calls(context, function, field):
            names = {symbol for symbol in context.resolve(function, call.func) if isinstance(symbol, str)}
            if names & _CACHES or (names & _TIMED and len(call.args) == 1):
                return "a cache with a limit"
            if _built_with_limit(function, call):
                return "a cache with a limit"
            if names & _DEQUES and _limited(call) and not _makes_room(context, stored):
                return "a deque with a limit"
    if _removes_eldest(context, field):
        return "a map that drops its eldest entry"
    return "trimmed with popitem" if _trimmed(context, field) else None


def _built_with_limit(function: Function, call: Call) -> bool:
    """Whether a call ends a builder chain that bounds a cache and registers no eviction listener."""
    words = chained_methods(function, call)
    return "newBuilder" in words and not LISTENERS & words and bool(_BOUNDS & words)


def _removes_eldest(context: RuleContext, field: str) -> bool:
    """Whether the field is a map of an anonymous class with a `removeEldestEntry` that completes nothing."""
    for function in context.functions():
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=Attr() as target, value=Build(kind="object", items=items)):
                    if context.field(function, target) != field:
                        continue
                    keys = [item.key for item in items if isinstance(item, Closure)]
                    inner = [function.closures[key] for key in keys if key in function.closures]
                    if any(each.name == "removeEldestEntry" and not _acks(context, each) for each in inner):
                        return True
                case _:
                    pass
    return False


def _acks(context: RuleContext, function: Function) -> bool:
    return any(
        isinstance(step.op, Call) and context.verb_kind(function, step.op) in (VerbKind.ACK, VerbKind.FAIL)
        for step in function.cfg.steps
    )


def _limited(call: Call) -> bool:
    return any(arg.name == "maxlen" and arg.value != Literal(None) for arg in call.args) or len(call.args) > 1


def _makes_room(context: RuleContext, stored: Stored) -> bool:
    """Whether the path to the store tests the container's size or removes an entry."""
    for visit, _, _ in points_back(stored.path):
        match visit.step.op:
            case Test(condition=condition) if reads_field(context, visit.function, condition, stored.field):
                return True
            case Call(func=Attr(obj=obj, name="popleft" | "pop")):
                if context.field(visit.function, obj) == stored.field:
                    return True
            case _:
                pass
    return any(
        isinstance(step.op, Test) and reads_field(context, stored.function, step.op.condition, stored.field)
        for step in stored.function.cfg.steps
    )


def _trimmed(context: RuleContext, field: str) -> bool:
    """Whether a method removes entries with popitem and does not complete them."""
    for function in context.functions():
        for step in function.cfg.steps:
            match step.op:
                case Call(func=Attr(obj=obj, name="popitem"), result=result):
                    if context.field(function, obj) == field and not _completed(context, function, result):
                        return True
                case _:
                    pass
    return False


def _completed(context: RuleContext, function: Function, result: Name) -> bool:
    names = derived_names(function, frozenset({result.id}))

    def completes(call: Call) -> bool:
        args: tuple[Expr, ...] = tuple(arg.value for arg in call.args)
        kind = context.verb_kind(function, call)
        helper = context.own_method(function, call.func)
        known = kind in (VerbKind.ACK, VerbKind.FAIL) or (kind is None and helper is not None)
        return known and any(mentions_any(value, names) for value in args)

    return any(isinstance(step.op, Call) and completes(step.op) for step in function.cfg.steps)
