"""Tick tuples: how they are completed, and emits that are anchored to them."""

from collections.abc import Iterator

from ackdoctor.checks.completions import BY_HAND, leaving_place, missed_completions
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, tuple_names
from ackdoctor.checks.facts.fields import INITIALISERS, Use, is_emptied, names_tick_frequency, uses
from ackdoctor.checks.facts.spouts import calls_super
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Completed, Emitted, Ended, Flow, points_back
from ackdoctor.flow.expressions import calls_by_result, last_name, operands, subexpressions
from ackdoctor.libraries.vocabulary import COLLECTION_WRAPPERS, CONTAINER_STORES, TICK
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Expr,
    Function,
    Global,
    Literal,
    Name,
    Test,
    Unpack,
)
from ackdoctor.model.dialect import EntryKind, Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Tick
from ackdoctor.rulebook.advice import test_tick

# ---- ACK109 tick-completion ----


def ack109_tick_completion(context: RuleContext) -> Iterator[Finding]:
    """Yield every mistake in the handling of ticks and heartbeats."""
    if not context.is_bolt:
        return
    yield from _completed_twice(context)
    for flow in context.flows:
        if (
            flow.entry is not None
            and flow.entry.kind in (EntryKind.TICK, EntryKind.DATA)
            and not flow.wrapped
        ):
            yield from _never_completed(context, flow, flow.entry.kind)
            if flow.entry.kind is EntryKind.DATA and context.dialect.heartbeats:
                yield from _heartbeats(context, flow)
    yield from _no_handler(context)
    yield from _owned_overrides(context)
    if context.discipline.ticks_in_data and _enables_ticks(context):
        yield from _treated_as_data(context)


# ---- ticks completed twice ----


def _completed_twice(context: RuleContext) -> Iterator[Finding]:
    duty = context.discipline.tick
    by_framework = duty is TickDuty.FRAMEWORK or (duty is TickDuty.AUTO and context.component.auto_ack)
    if not by_framework and duty is not TickDuty.FORBIDDEN:
        return
    reason = context.phrase("framework" if by_framework else "forbidden")
    for flow, done in context.events(Completed, EntryKind.TICK, EntryKind.DATA):
        if done.op in BY_HAND and done.tick is Tick.YES and context.is_first(done.step):
            words = context.words("twice", done=BY_HAND[done.op], reason=reason)
            yield context.finding(words, Misuse.TICK_TWICE, done, flow=flow)
    method = context.component.method("process_tick") if duty is TickDuty.FRAMEWORK else None
    if method is None or not method.params[1:] or not calls_super(method):
        return
    tick = Name(method.params[1].name)
    for step in method.cfg.steps:  # an override that calls the framework's own method, which acks
        if isinstance(step.op, Call) and step.op.args and step.op.args[0].value == tick:
            kind = context.verb_kind(method, step.op)
            if kind in (VerbKind.ACK, VerbKind.FAIL):
                words = context.words("twice in override", done=f"{kind.value}ed", reason=reason)
                yield context.finding(words, Misuse.TICK_TWICE, (method, step.span))


# ---- ticks and heartbeats that are never completed ----


def _never_completed(context: RuleContext, flow: Flow, kind: EntryKind) -> Iterator[Finding]:
    ticks = [event for event in flow.events if isinstance(event, Ended) and event.is_tick]
    missing = [ended for ended in ticks if ended.breach is not None]
    completed = [event for event in flow.events if isinstance(event, Completed)]
    if not missing or flow.function.docstring_only or (kind is EntryKind.DATA and not completed):
        return  # missing-ack reports a handler that completes nothing
    handler = f"{context.component.name}.{flow.function.name}"
    by_hand = any(done.token == missing[0].token and done.op in BY_HAND for done in completed)
    finished = any(ended.breach is None and ended.raised is None for ended in ticks)
    token, path = missing[0].token, missing[0].path
    words = context.words("never", handler=handler, tup=token.words if token is not None else "the tick")
    if kind is EntryKind.TICK and not by_hand and not finished:  # every path shows it
        at = flow.function
        yield context.finding(words, Misuse.TICK_NEVER, at, flow=flow, path=path, token=token)
    else:
        yield from missed_completions(context, words, Misuse.TICK_NEVER, flow, missing)


def _heartbeats(context: RuleContext, flow: Flow) -> Iterator[Finding]:
    """Yield the paths that take a heartbeat and send no sync: Storm then ends the worker."""
    for event in flow.events:
        if not isinstance(event, Ended) or event.tick is not Tick.HEARTBEAT or event.raised is not None:
            continue
        at = leaving_place(flow, event.path, event.token)
        calls = ((visit.function, visit.step.op) for visit, _, _ in points_back(event.path))
        if any(isinstance(op, Call) and context.verb_kind(f, op) is VerbKind.SYNC for f, op in calls):
            continue
        if context.is_first(("heartbeat", flow, at[1])):
            yield context.finding(
                context.words("heartbeat", version=context.dialect.heartbeats),
                None,
                at,
                flow=flow,
                path=event.path,
                token=event.token,
                confidence=Confidence.MAY,
            )


def _no_handler(context: RuleContext) -> Iterator[Finding]:
    """Yield a component that enables ticks and acks by hand, and inherits a tick method that does nothing."""
    component = context.component
    entry = next((e for e in context.role.entries if e.kind is EntryKind.TICK), None)
    if entry is None or entry.subject is None or component.opaque or component.heirs:
        return
    if context.discipline.tick is not TickDuty.AUTO or component.auto_ack is not False:
        return
    if component.method(entry.method) is None and _enables_ticks(context):
        words = context.words("no handler", component=component.name, method=entry.method)
        at = (context.module_body, component.cls.head)
        yield context.finding(words, Misuse.TICK_NEVER, at, handler=entry.method)


def _enables_ticks(context: RuleContext) -> bool:
    """Whether the class itself enables ticks."""
    value = context.component.attribute(context.role.config_attribute or "config")
    if value is not None and names_tick_frequency(context, value):
        return True
    return any(
        names_tick_frequency(context, expr)
        for function in context.functions
        if function.name == "getComponentConfiguration"
        for step in function.cfg.steps
        for expr in operands(step.op)
    )


# ---- overrides of the framework's own methods ----


def _owned_overrides(context: RuleContext) -> Iterator[Finding]:
    component = context.component
    for name, damage in context.role.owned.items():
        method = component.cls.methods.get(name)
        if method is None or calls_super(method):
            continue
        is_verb = any(verb.name == name for verb in context.role.verbs)
        if not method.docstring_only if not is_verb else _is_never_called(context, name):
            yield context.finding(
                context.words("owned method", component=component.name, method=name, damage=damage),
                None,
                method,
                severity=Severity.WARNING if context.discipline.advisory else Severity.ERROR,
            )


def _is_never_called(context: RuleContext, verb: str) -> bool:
    """Whether an override of a verb hides it from a framework that acks, and no code of the component reaches it."""
    reaching = (
        last_name(call.func) in (verb, "send_message")
        and isinstance(call.func, Attr)
        and context.own_method(function, call.func) is None
        for function, call in context.calls()
    )
    return bool(context.component.auto_ack) and not any(reaching)


# ---- ticks treated as data ----


_TICK_MARKS = (Literal("__tick"), Literal("__system"))  # not the words of a log record


def _treated_as_data(context: RuleContext) -> Iterator[Finding]:
    name = context.component.name
    for flow in context.tuple_handlers():
        if not _tests_for_tick(flow) and _reads_values(flow):
            advice = test_tick(context.role, auto_ack=bool(context.component.auto_ack))
            words = context.words("data", component=name, handler=flow.function.name, advice=advice)
            yield context.finding(words, None, flow.function, flow=flow)


def _tests_for_tick(flow: Flow) -> bool:
    """Whether some path decides whether the tuple is a tick, or a condition or a call's argument has a word for it."""
    if any(isinstance(event, Ended) and event.tick is not Tick.MAYBE for event in flow.events):
        return True
    ops = [step.op for step in flow.function.cfg.steps]
    tested = (op.condition for op in ops if isinstance(op, Test))
    passed = (arg.value for op in ops if isinstance(op, Call) for arg in op.args)
    return any(map(_names_tick, tested)) or any(
        (_names_tick(value) and not isinstance(value, Literal)) or value in _TICK_MARKS for value in passed
    )


def _names_tick(expr: Expr) -> bool:
    return any(
        TICK.search(str(part.value) if isinstance(part, Literal) else last_name(part))
        for part in subexpressions(expr)
    )


def _reads_values(flow: Flow) -> bool:
    """Whether the handler reads the values of its tuple."""
    derived = tuple_names(flow, flow.function)
    params = [Name(param.name) for param in flow.function.params]
    return any(
        mentions_any(value, derived) and value not in params
        for step in flow.function.cfg.steps
        if isinstance(step.op, (Bind, Unpack, Test, Call))
        for value in operands(step.op)
    )


# ---- ACK203 tick-anchored-emit ----
# The rows are in a list field that a data handler fills and another method empties.


_APPENDS = CONTAINER_STORES - {"update", "setdefault"}
_LISTS = frozenset(name for name in COLLECTION_WRAPPERS if not name.lower().endswith("set"))
_KEYED = frozenset(("putIfAbsent", "computeIfAbsent"))  # of these, those that return the value of a key
_EMPTIES = frozenset(
    "clear pop popleft get_nowait get poll pollFirst pollLast take removeFirst removeLast del".split()
)
_SORTS = frozenset(("sort", "most_common"))
_PACKS = COLLECTION_WRAPPERS | {"dumps", "join"}  # keep all rows in one value
_SUMMARIES = frozenset(("sum", "max", "min", "Counter"))  # reduce many rows to one value


def ack203_tick_anchored_emit(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit at a tick of rows that `process` stored one by one."""
    fields = _row_fields(context) if context.is_bolt else []
    for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.TICK) if fields else ():
        at_tick = flow.entry is not None and (flow.entry.kind is EntryKind.TICK or emit.tick is Tick.YES)
        if not at_tick or not _lacks_input_anchors(emit):
            continue
        field = next((field for field in fields if _sends_rows(context, flow, emit, field)), None)
        if field is not None and context.is_first(emit.step):
            severity = min(Severity.WARNING, context.severity(Misuse.UNANCHORED))
            by_hand = ""
            if context.component.auto_ack and context.role.by_hand:
                by_hand = f"{context.role.by_hand}: "
            words = context.words(field=f"self.{field}", by_hand=by_hand)
            yield context.finding(words, None, emit, flow=flow, severity=severity)


def _lacks_input_anchors(emit: Emitted) -> bool:
    if emit.anchors in (Anchors.NONE, Anchors.DEFAULT):
        return True
    return emit.anchors is Anchors.EXPLICIT and set(emit.anchored) == {emit.subject}


def _row_fields(context: RuleContext) -> list[str]:
    """Return the list fields to which a data handler appends values of its tuples, and that another method empties.

    A field that a method sorts is a summary.
    """
    filled, emptied, summaries = set[str](), set[str](), set[str]()
    for flow in context.tuple_handlers():
        derived = tuple_names(flow, flow.function)
        for use in uses(context, [flow.function]):
            if _adds_rows(use):
                filled.update(use.field for value in use.values if mentions_any(value, derived))
    for use in uses(context):
        if use.how in _SORTS:
            summaries.add(use.field)
        elif (is_emptied(context, use) or use.how in _EMPTIES) and use.function.name not in INITIALISERS:
            emptied.add(use.field)
    return sorted(filled & emptied - summaries)


def _adds_rows(use: Use) -> bool:
    """Whether a use adds a row to a field; the value of a key is a summary, unless rows are added to that."""
    if use.how not in _APPENDS or not isinstance(use.place, Attr):
        return False
    if use.how not in _KEYED and not (use.how == "put" and len(use.values) > 1):
        return True
    if use.how in _KEYED and not _makes_list(use.function, use.values[-1]):
        return False
    value = use.values[1] if use.how == "put" else Name(use.result)
    return any(
        isinstance(call.func, Attr)
        and call.func.obj == value
        and call.func.name in _APPENDS
        and len(call.args) == 1
        for call in calls_by_result(use.function).values()
    )


def _makes_list(function: Function, value: Expr) -> bool:
    """Whether a default value is a new list, or a closure that makes one."""
    made = function.closures[value.key] if isinstance(value, Closure) else function
    calls = calls_by_result(made).values()
    return any(
        last_name(call.func) in _LISTS and (made is not function or call.result == value) for call in calls
    )


def _sends_rows(context: RuleContext, flow: Flow, emit: Emitted, field: str) -> bool:
    """Whether an emit sends rows of a field, one by one or all at once."""
    payload = emit.payload
    if payload is None:
        return False
    parts = payload.items if isinstance(payload, Build) else (payload,)
    if any(context.field(emit.function, part) == field for part in parts):
        return True
    rows = _rows(context, emit.function, field) | _rows_of_closure(context, emit.function, field)
    if emit.function is not flow.function and _passes_rows(context, flow.function, field):
        rows |= derived_names(emit.function, frozenset(param.name for param in emit.function.params[1:]))
    return mentions_any(payload, rows)


def _rows(context: RuleContext, function: Function, field: str) -> frozenset[str]:
    """Return the locals that hold rows of a field: assigned, iterated or popped from it."""
    names: set[str] = set()
    for use in uses(context, [function], field):
        if use.how in ("alias", "for"):
            names.update(value.id for value in use.values if isinstance(value, Name))
        elif use.how in _EMPTIES or (use.how == "pass" and last_name(use.values[0]) in _PACKS):
            names.add(use.result)
    return derived_names(function, frozenset(names)) - {
        call.result.id
        for call in calls_by_result(function).values()
        if isinstance(call.func, Global) and call.func.id in _SUMMARIES
    }


def _rows_of_closure(context: RuleContext, closure: Function, field: str) -> frozenset[str]:
    """Return the locals with rows in a closure that a loop or a method of the field runs with them."""
    for function, call in context.calls():
        if not function.closures:
            continue
        run: list[Expr] = []
        if context.field(function, call.func) == field:
            run = [arg.value for arg in call.args]
        elif isinstance(call.func, Closure):
            rows = _rows(context, function, field)
            run = [call.func] if any(mentions_any(arg.value, rows) for arg in call.args) else []
        if any(isinstance(each, Closure) and function.closures.get(each.key) is closure for each in run):
            return derived_names(closure, frozenset(param.name for param in closure.params))
    return frozenset()


def _passes_rows(context: RuleContext, function: Function, field: str) -> bool:
    """Whether a handler passes the field's rows to a method of the component."""
    rows = _rows(context, function, field)
    return any(
        mentions_any(arg.value, rows) or context.field(function, arg.value) == field
        for call in calls_by_result(function).values()
        if context.own_method(function, call.func) is not None
        for arg in call.args
    )
