"""ACK403: a bolt stores tuples in a bounded or expiring container that evicts or refuses some without completing them."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any
from ackdoctor.checks.facts.fields import (
    LISTENERS,
    builders,
    initial_values,
    reads_field,
    stored_inputs,
    unreleased_fields,
    uses,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Stored, points_back
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.facts import normalise
from ackdoctor.libraries.vocabulary import CONTAINER_STORES
from ackdoctor.model.cfg import Bind, Build, Call, Closure, EdgeKind, Expr, Function, Literal, Name, Test
from ackdoctor.model.dialect import Misuse, VerbKind
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Stage

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
_OFFERS = frozenset({"offer", "offerFirst", "offerLast"})
_BOUNDED = frozenset(  # with a size, `offer` answers false when they are full
    f"java.util.concurrent.{name}"
    for name in "ArrayBlockingQueue LinkedBlockingQueue LinkedBlockingDeque".split()
)
_DEQUES = frozenset({"collections.deque", "deque"})
_RINGS = frozenset({"com.google.common.collect.EvictingQueue.create"})
_TAKES = frozenset("pop popleft poll pollFirst remove removeFirst".split())
_COMPLETES = (VerbKind.ACK, VerbKind.FAIL)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such container, at the first store."""
    never_drained = unreleased_fields(context)
    for flow, stored in stored_inputs(context):
        if stored.field in never_drained:
            continue
        if _may_be_refused(context, flow, stored) and context.is_first(stored.step):
            words = context.words("refused", tup=f"`{stored.token.name}`", field=f"self.{stored.field}")
            yield context.finding(words, Misuse.NEVER, stored, flow=flow, severity=Severity.WARNING)
        what = _eviction(context, stored)
        if what is not None and context.is_first(stored.field):
            words = context.words(field=f"self.{stored.field}", what=what)
            yield context.finding(words, Misuse.NEVER, stored, flow=flow, severity=Severity.WARNING)


def _may_be_refused(context: RuleContext, flow: Flow, stored: Stored) -> bool:
    """Whether a tuple is offered to a queue with a limit, and a path does nothing about a refusal."""
    call = stored.step.op
    if stored.how not in _OFFERS or not isinstance(call, Call):
        return False
    has_limit = any(
        isinstance(value, Call) and value.args and context.qualified_names(function, value.func) & _BOUNDED
        for function, value in initial_values(context, stored.field)
    )
    if not has_limit or _makes_room(context, stored):
        return False
    ends = (event for event in flow.events if isinstance(event, Ended) and event.raised is None)
    return call.dropped or any(_forgets_refusal(end, stored, call) for end in ends)


def _forgets_refusal(end: Ended, stored: Stored, call: Call) -> bool:
    """Whether a path learns that a queue refused a tuple, and ends with the tuple in no other place."""
    held = end.state.tokens.get(stored.token)
    if held is None or held.stage is not Stage.HELD or held.holder != f"self.{stored.field}":
        return False
    answers: set[Expr] = {call.result}
    refused, after_offer = False, []
    for visit, after, _ in points_back(end.path):
        if visit.step is stored.step:
            break
        after_offer.append((visit.step.op, after.via if after is not None else None))
    for op, via in reversed(after_offer):
        match op:
            case Bind(target=Name() as target, value=value) if value in answers:
                answers.add(target)
            case Test(condition=condition):
                fact, same = normalise(condition)
                refused = refused or (fact in answers and via is (EdgeKind.FALSE if same else EdgeKind.TRUE))
            case Call(func=func) if last_name(func) in CONTAINER_STORES:
                return False  # it tries again, or stores the tuple elsewhere
            case _:
                pass
    return refused


def _eviction(context: RuleContext, stored: Stored) -> str | None:
    """Return what evicts entries of the field, in words."""
    field = stored.field
    if any(methods & _BOUNDS and not methods & LISTENERS for methods in builders(context, field)):
        return "a cache with a limit"
    for function, value in initial_values(context, field):
        match value:
            case Call(func=func, args=args):
                names = context.qualified_names(function, func)
                if names & _CACHES or (names & _TIMED and len(args) == 1):
                    return "a cache with a limit"
                limits = any(arg.name == "maxlen" and arg.value != Literal(None) for arg in args)
                limited = names & _RINGS or (names & _DEQUES and (limits or len(args) > 1))
                if limited and not _makes_room(context, stored):
                    return "a queue with a limit" if names & _RINGS else "a deque with a limit"
            case Build(kind="object", items=items):
                closures = (function.closures.get(item.key) for item in items if isinstance(item, Closure))
                if any(
                    each and each.name == "removeEldestEntry" and not _acks(context, each)
                    for each in closures
                ):
                    return "a map that drops its eldest entry"
            case _:
                pass
    return "trimmed with popitem" if _is_trimmed(context, field) else None


def _acks(context: RuleContext, function: Function) -> bool:
    calls = calls_by_result(function).values()
    return any(context.verb_kind(function, call) in _COMPLETES for call in calls)


def _makes_room(context: RuleContext, stored: Stored) -> bool:
    """Whether the storing function tests the container, or the path to the store removes an entry or tests it."""
    steps = {(visit.function, visit.step) for visit, _, _ in points_back(stored.path)}
    removals = (use for use in uses(context, field=stored.field) if use.how in _TAKES)
    if any((use.function, use.step) in steps for use in removals):
        return True
    steps |= {(stored.function, step) for step in stored.function.cfg.steps}
    return any(
        isinstance(step.op, Test) and reads_field(context, function, step.op.condition, stored.field)
        for function, step in steps
    )


def _is_trimmed(context: RuleContext, field: str) -> bool:
    """Whether a method removes entries with popitem and does not complete them."""
    removals = (use for use in uses(context, field=field) if use.how == "popitem")
    return not all(_is_completed(context, use.function, use.result) for use in removals)


def _is_completed(context: RuleContext, function: Function, removed: str) -> bool:
    """Whether a function completes what a local holds, or passes it to a method of the component."""
    names = derived_names(function, frozenset({removed}))
    for call in calls_by_result(function).values():
        if any(mentions_any(arg.value, names) for arg in call.args):
            kind = context.verb_kind(function, call)
            if kind in _COMPLETES or (kind is None and context.own_method(function, call.func)):
                return True
    return False
