"""Buffers of tuples that no handler completes, that evict tuples, or that only new tuples flush."""

from collections.abc import Iterator

from ackdoctor.checks.facts.batches import full_batches
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, reachable, tuple_names
from ackdoctor.checks.facts.fields import (
    INITIALISERS,
    LISTENERS,
    REMOVES_FROM_VIEW,
    Use,
    builders,
    initial_values,
    is_container,
    names_tick_frequency,
    reads_field,
    stored_inputs,
    unreleased_fields,
    uses,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Stored, points_back
from ackdoctor.flow.expressions import calls_by_result, last_name, mentions, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, CONTAINER_VIEWS
from ackdoctor.model.cfg import (
    ENTRY,
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Name,
    Test,
)
from ackdoctor.model.dialect import Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Stage

# ---- ACK401 undrained-buffer ----


def ack401_undrained_buffer(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such field, at its first store."""
    fields = frozenset[str]() if context.component.opaque else unreleased_fields(context)
    for flow, stored in stored_inputs(context) if fields else ():
        field = stored.field.partition(".")[0]
        if field not in fields or any(LISTENERS & methods for methods in builders(context, field)):
            continue  # the listener of a cache gets the evicted entries
        later = (
            event for event in flow.events if isinstance(event, Completed) and event.deferral is not None
        )
        if any(done.token == stored.token for done in later):
            continue  # a callback completes the tuple itself
        if context.is_first(field):
            component, tup = context.component.name, f"`{stored.token.name}`"
            words = context.words(tup=tup, field=f"self.{field}", component=component)
            yield context.finding(words, Misuse.NEVER, stored, flow=flow)


# ---- ACK403 evicting-buffer ----


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
_ROTATING = frozenset(  # `rotate()` drops the oldest entries and returns them; a listener may get them
    f"{root}.storm.utils.RotatingMap" for root in ("backtype", "org.apache")
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


def ack403_evicting_buffer(context: RuleContext) -> Iterator[Finding]:
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
    if held is None or held.stage is not Stage.HELD or held.holders != (f"self.{stored.field}",):
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
                if names & _ROTATING and _ignores_rotated(context, field, args):
                    return "a map whose `rotate` drops the oldest entries"
                limits = any(arg.name == "maxlen" and arg.value != Literal(None) for arg in args)
                limited = names & _RINGS or (names & _DEQUES and (limits or len(args) > 1))
                if limited and not _makes_room(context, stored):
                    return "a queue with a limit" if names & _RINGS else "a deque with a limit"
            case Build(kind="object", items=items):
                closures = (function.closures.get(item.key) for item in items if isinstance(item, Closure))
                if any(
                    each and each.name == "removeEldestEntry" and not _acks(context, each, function)
                    for each in closures
                ):
                    return "a map that drops its eldest entry"
            case _:
                pass
    inside = "." in field  # the object's class may give the evicted tuple to the component
    return "trimmed with popitem" if not inside and _is_trimmed(context, field) else None


def _ignores_rotated(context: RuleContext, field: str, args: tuple[Arg, ...]) -> bool:
    """Whether a rotating map has no listener, and the component ignores what `rotate` returns."""
    rotations = [use.step.op for use in uses(context, field=field) if use.how == "rotate"]
    has_listener = any(not isinstance(arg.value, Literal) for arg in args)
    ignored = [isinstance(op, Call) and op.dropped for op in rotations]
    return not has_listener and bool(ignored) and all(ignored)


def _acks(context: RuleContext, function: Function, around: Function) -> bool:
    calls = calls_by_result(function).values()
    return any(context.verb_kind(function, call, around) in _COMPLETES for call in calls)


def _makes_room(context: RuleContext, stored: Stored) -> bool:
    """Whether the storing function tests the container, or the path to the store removes an entry or tests it."""
    steps = {(visit.function, visit.step) for visit, _, _ in points_back(stored.path)}
    removals = (use for use in uses(context, field=stored.field) if use.how in _TAKES)
    if any((use.function, use.step) in steps for use in removals):
        return True
    holder, _, name = stored.field.rpartition(".")
    calls = {(visit.function, visit.step) for visit in stored.path.call_stack()}
    others = uses(context, field=holder) if holder else ()
    if any((use.function, use.step) in steps - calls for use in others):
        return True  # the component asks the object, or empties it
    steps |= {(stored.function, step) for step in stored.function.cfg.steps}
    return any(
        isinstance(step.op, Test) and mentions(step.op.condition, Attr(Name(function.receiver), name))
        for function, step in steps
    )


def _is_trimmed(context: RuleContext, field: str) -> bool:
    """Whether a method removes entries with popitem and does not complete them."""
    removals = (use for use in uses(context, field=field) if use.how == "popitem")
    return not all(
        any(_is_completed(context, use.function, local) for local in (use.result, *_read_in(context, use)))
        for use in removals
    )


def _read_in(context: RuleContext, removal: Use) -> Iterator[str]:
    """Yield what views of the field a function makes: it may read there what it removes."""
    return (
        use.result for use in uses(context, [removal.function], removal.field) if use.how in CONTAINER_VIEWS
    )


def _is_completed(context: RuleContext, function: Function, removed: str) -> bool:
    """Whether a function completes what a local holds, or passes it to a method of the component."""
    names = derived_names(function, frozenset({removed}))
    for call in calls_by_result(function).values():
        if any(mentions_any(arg.value, names) for arg in call.args):
            kind = context.verb_kind(function, call)
            if kind in _COMPLETES or (kind is None and context.own_method(function, call.func)):
                return True
    return False


# ---- ACK404 batch-without-timer ----
# A join buffer is a dict field that collects parts under a key from the data until an entry is complete.


_TRIMS = frozenset(("popitem", "clear", "expire"))
_PUTS = frozenset(
    "put setdefault putIfAbsent computeIfAbsent merge compute".split()
)  # the first argument is the key
_ENTRIES = _PUTS | {"get", "getOrDefault"}  # they return the entry


def ack404_batch_without_timer(context: RuleContext) -> Iterator[Finding]:
    """Yield batches without a flush at a tick, joins without an expiry, and batching bolts without ticks."""
    if not context.is_bolt:
        return
    yield from _full_batches(context)
    for flow in context.tuple_handlers() if context.component.auto_ack else ():
        for created in _unfinished_joins(context, flow):
            words = context.words("join", field=f"self.{created.field}")
            yield context.finding(words, None, (created.function, created.step.span))
    if context.role.batch_ticks and not context.component.heirs and not _sets_tick_frequency(context):
        setting = context.dialect.tick_settings[-1]
        words = context.words(
            "no ticks", component=context.component.name, advice=context.phrase("set", setting=setting)
        )
        at = (context.module_body, context.component.cls.head)
        yield context.finding(words, None, at, severity=Severity.INFO, handler="process_batch")


def _sets_tick_frequency(context: RuleContext) -> bool:
    """Whether the component, or any other file of the project, sets a tick frequency."""
    for unit in context.program.units.values():
        attributes = (value for cls in unit.classes.values() for value in cls.attrs.values())
        if any(names_tick_frequency(context, value) for value in (*unit.values.values(), *attributes)):
            return True
    return False


# ---- a batch that waits until it is full ----


def _full_batches(context: RuleContext) -> Iterator[Finding]:
    """Yield the size test that guards each release of a field's tuples."""
    acks_ticks = context.discipline.tick in (TickDuty.REQUIRED, TickDuty.AUTO)
    and_ack = context.phrase("and ack") if acks_ticks else ""
    for batch in full_batches(context):
        words = context.words("full", field=f"self.{batch.field}", and_ack=and_ack)
        yield context.finding(words, None, batch.tests[0], flow=batch.flow)


# ---- a join whose entry leaves only when it is complete ----


def _unfinished_joins(context: RuleContext, flow: Flow) -> Iterator[Use]:
    """Yield the creation of an entry of each join buffer in which nothing ends the wait for a missing part."""
    handler = flow.function
    derived = tuple_names(flow, handler)
    deletions: dict[str, list[int]] = {}
    for use in uses(context, [handler]):
        key = _deleted_key(use)
        if key is not None and mentions_any(key, derived):
            deletions.setdefault(use.field, []).append(handler.cfg.steps.index(use.step))
    for field, steps in sorted(deletions.items()):
        created = _creation(context, flow, field)
        if created is None or not is_container(context, field):
            continue
        others = (use for use in uses(context, field=field) if not _deletes(handler, use, steps))
        if not any(map(_removes, others)) and all(
            _guarded_by_completeness(context, handler, field, step) for step in steps
        ):
            yield created


def _deleted_key(use: Use) -> Expr | None:
    """Return the key of the entry that a use removes."""
    if use.how in ("pop", "remove") and use.whole:
        return next(iter(use.values), None)
    return use.key if use.how == "del" else None


def _deletes(handler: Function, use: Use, deletions: list[int]) -> bool:
    return use.function is handler and any(use.step is handler.cfg.steps[each] for each in deletions)


def _creation(context: RuleContext, flow: Flow, field: str) -> Use | None:
    """Return what creates an entry under a key from the data: an assignment, else setdefault, else an append."""
    derived = tuple_names(flow, flow.function)
    for methods in ({"="}, _PUTS, {"append", "add", "extend"}):
        for use in uses(context, [flow.function], field):
            key = next(iter(use.values), None) if use.how in _PUTS and use.whole else use.key
            if use.how in methods and key is not None and mentions_any(key, derived):
                return use
    return None


def _removes(use: Use) -> bool:
    """Whether a use may remove entries that wait: by a trim, through a view, or in a function that gets the field."""
    if use.how == "=":
        return isinstance(use.place, Attr) and use.function.name not in INITIALISERS
    if use.how == "pass":
        return use.whole and not isinstance(use.values[0], Attr)
    in_view = isinstance(use.place, Name) and use.how in REMOVES_FROM_VIEW
    return use.how in _TRIMS or in_view or _deleted_key(use) is not None


def _guarded_by_completeness(context: RuleContext, handler: Function, field: str, deletion: int) -> bool:
    """Whether a deletion is reached only after a test of the entry's own content."""
    entries: set[str] = set()  # the locals that hold one entry of the field, or a part of it
    for use in uses(context, [handler], field):
        if use.how == "alias" and isinstance(use.place, Item):
            entries.update(value.id for value in use.values if isinstance(value, Name))
        elif use.how in _ENTRIES:
            entries.add(use.result)
    names = derived_names(handler, frozenset(entries))

    def tests_entry(condition: Expr) -> bool:
        if not isinstance(condition, Compare) or condition.op in ("in", "not in"):
            return False
        if Literal(None) in (condition.left, condition.right):
            return False  # whether there is an entry, not whether it is complete
        items = (part for part in subexpressions(condition) if isinstance(part, Item))
        return mentions_any(condition, names) or any(
            reads_field(context, handler, item, field) for item in items
        )

    return any(
        deletion not in reachable(handler, [ENTRY], [(index, kind)])
        for index, step in enumerate(handler.cfg.steps)
        if isinstance(step.op, Test) and tests_entry(step.op.condition)
        for kind in (EdgeKind.TRUE, EdgeKind.FALSE)
    )
