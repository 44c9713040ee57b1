"""ACK109: a bolt completes a tick that the framework completes, leaves one that it must ack, or treats one as data."""

from collections.abc import Iterator

from ackdoctor.checks.facts.completions import BY_HAND, leaving_place, missed_completions
from ackdoctor.checks.facts.dataflow import mentions_any, tuple_names
from ackdoctor.checks.facts.fields import names_tick_frequency
from ackdoctor.checks.facts.spouts import calls_super
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, points_back
from ackdoctor.flow.expressions import last_name, operands, subexpressions
from ackdoctor.libraries.vocabulary import TICK
from ackdoctor.model.cfg import Attr, Bind, Call, Literal, Name, Test, Unpack
from ackdoctor.model.dialect import EntryKind, Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Tick
from ackdoctor.rulebook.advice import test_tick


def check(context: RuleContext) -> Iterator[Finding]:
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


def _treated_as_data(context: RuleContext) -> Iterator[Finding]:
    name = context.component.name
    for flow in context.tuple_handlers():
        if not _tests_for_tick(flow) and _reads_values(flow):
            advice = test_tick(context.role, auto_ack=bool(context.component.auto_ack))
            words = context.words("data", component=name, handler=flow.function.name, advice=advice)
            yield context.finding(words, None, flow.function, flow=flow)


def _tests_for_tick(flow: Flow) -> bool:
    """Whether some path decides whether the tuple is a tick, or a condition has a word for it."""
    if any(isinstance(event, Ended) and event.tick is not Tick.MAYBE for event in flow.events):
        return True
    conditions = (step.op.condition for step in flow.function.cfg.steps if isinstance(step.op, Test))
    parts = (part for condition in conditions for part in subexpressions(condition))
    return any(
        TICK.search(str(part.value) if isinstance(part, Literal) else last_name(part)) for part in parts
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
