"""ACK109: a bolt completes a tick that the framework completes, leaves one that it must ack, or treats one as data."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, tuple_params
from ackdoctor.checks.facts.spouts import calls_super
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, points_back
from ackdoctor.flow.expressions import mentions, subexpressions
from ackdoctor.flow.library import TICK
from ackdoctor.flow.state import Tick
from ackdoctor.flow.witness import leaving_step
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Function, Global, Literal, Name, Return, Test, Unpack
from ackdoctor.model.dialect import EntryKind, Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import test_tick

__all__ = ["check"]

_BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield every mistake in the handling of ticks and heartbeats."""
    if not context.is_bolt:
        return
    yield from _completed_twice(context)
    for flow in context.flows:
        yield from _never_completed(context, flow)
        yield from _heartbeats(context, flow)
    yield from _no_handler(context)
    yield from _owned_overrides(context)
    yield from _treated_as_data(context)


# ---- ticks completed twice ----


def _completed_twice(context: RuleContext) -> Iterator[Finding]:
    duty, auto = context.discipline.tick, context.component.auto_ack
    if duty is TickDuty.AUTO and not auto:
        return
    if duty not in (TickDuty.AUTO, TickDuty.FRAMEWORK, TickDuty.FORBIDDEN):
        return
    reported: set[int] = set()
    for flow, done in context.events(Completed, EntryKind.TICK, EntryKind.DATA):
        if done.op in _BY_HAND and done.tick is Tick.YES and id(done.step) not in reported:
            reported.add(id(done.step))
            yield _twice(context, done.function, done, flow)
    if duty is TickDuty.FRAMEWORK:
        yield from _twice_in_override(context)


def _twice(context: RuleContext, function: Function, done: Completed, flow: Flow) -> Finding:
    reason = "forbidden" if context.discipline.tick is TickDuty.FORBIDDEN else "framework"
    return context.finding(
        context.words("twice", done=_BY_HAND[done.op], reason=context.phrase(reason)),
        at=(function, done.step.span),
        misuse=Misuse.TICK_TWICE,
        path=done.path,
        token=done.token,
        flow=flow,
    )


def _twice_in_override(context: RuleContext) -> Iterator[Finding]:
    """Yield the explicit completions in an override of the framework's own tick method, which acks already."""
    method = context.component.method("process_tick")
    params = method.params[1:] if method is not None else ()
    if method is None or not params or not calls_super(method):
        return
    tick = Name(params[0].name)
    for step in method.cfg.steps:
        if isinstance(step.op, Call) and step.op.args and step.op.args[0].value == tick:
            verb = context.verb(method, step.op)
            if verb is not None and verb.kind in (VerbKind.ACK, VerbKind.FAIL):
                yield context.finding(
                    context.words(
                        "twice in override",
                        done=f"{verb.kind.value}ed",
                        reason=context.phrase("framework"),
                    ),
                    at=(method, step.span),
                    misuse=Misuse.TICK_TWICE,
                )


# ---- ticks and heartbeats that are never completed ----


def _never_completed(context: RuleContext, flow: Flow) -> Iterator[Finding]:
    if flow.entry is None or flow.entry.kind not in (EntryKind.TICK, EntryKind.DATA) or flow.wrapped:
        return
    missing = [s for s in flow.events if isinstance(s, Ended) and s.breach is not None and s.is_tick]
    if not missing or flow.function.docstring_only:
        return
    token = missing[0].token
    assert token is not None  # is_tick implies it
    done = [s for s in flow.events if isinstance(s, Completed) and s.token == token and s.op in _BY_HAND]
    finished = [
        s for s in flow.events if isinstance(s, Ended) and s.breach is None and s.raised is None and s.is_tick
    ]
    if flow.entry.kind is EntryKind.DATA and not any(s for s in flow.events if isinstance(s, Completed)):
        return  # missing-ack reports a handler that completes nothing
    every_path = flow.entry.kind is EntryKind.TICK and not done and not finished
    completing = frozenset({id(flow.function), *(id(s.function) for s in done)})
    reported: set[object] = set()
    for ended in missing[:1] if every_path else missing:
        where = (flow.function, flow.function.head) if every_path else leaving_step(ended.path, completing)
        if where[1] in reported:
            continue
        reported.add(where[1])
        yield context.finding(
            context.words("never", handler=f"{context.component.name}.{flow.function.name}", tup=token.words),
            at=where,
            misuse=Misuse.TICK_NEVER,
            path=ended.path,
            token=token,
            flow=flow,
        )


def _heartbeats(context: RuleContext, flow: Flow) -> Iterator[Finding]:
    """Yield the paths that take a heartbeat and send no sync: Storm then ends the worker."""
    version = context.dialect.heartbeats
    if not version or flow.entry is None or flow.entry.kind is not EntryKind.DATA or flow.wrapped:
        return
    reported: set[object] = set()
    for ended in flow.events:
        if not isinstance(ended, Ended) or ended.tick is not Tick.HEARTBEAT or ended.raised is not None:
            continue
        where = leaving_step(ended.path, frozenset({id(flow.function)}))
        if where[1] in reported or _syncs(context, ended):
            continue
        reported.add(where[1])
        yield context.finding(
            context.words("heartbeat", version=version),
            at=where,
            misuse=None,
            severity=Severity.WARNING,
            confidence=Confidence.MAY,
            path=ended.path,
            token=ended.token,
            flow=flow,
        )


def _syncs(context: RuleContext, ended: Ended) -> bool:
    """Whether the path sends a sync."""
    return any(
        isinstance(visit.step.op, Call) and context.verb_kind(visit.function, visit.step.op) is VerbKind.SYNC
        for visit, _, _ in points_back(ended.path)
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
        yield context.finding(
            context.words("no handler", component=component.name, method=entry.method),
            at=(_module_body(context), component.cls.head),
            misuse=Misuse.TICK_NEVER,
            handler=entry.method,
        )


def _module_body(context: RuleContext) -> Function:
    """The top level of the component's own file."""
    return context.program.units[context.component.cls.path].body


def _enables_ticks(context: RuleContext) -> bool:
    """Whether the class itself enables ticks."""
    settings = context.dialect.tick_settings
    attribute = context.role.config_attribute or "config"
    value = context.component.attribute(attribute)
    if value is not None and any(mentions(value, Literal(word)) for word in settings):
        return True
    for function in context.functions():
        if function.name != "getComponentConfiguration":
            continue
        for step in function.cfg.steps:
            match step.op:
                case Return(value=value) if value is not None:
                    if any(mentions(value, Literal(word)) for word in settings):
                        return True
                case Bind(target=target, value=value):
                    if any(mentions(e, Literal(word)) for word in settings for e in (target, value)):
                        return True
                case Call(args=args):
                    if any(_setting(arg.value) in settings for arg in args):
                        return True
                case _:
                    pass
    return False


def _setting(expr: Expr) -> object:
    """The name of a setting: a string, or the constant that holds it."""
    match expr:
        case Literal(value=value):
            return value
        case Attr(name=name) | Global(id=name):
            return name
        case _:
            return None


# ---- overrides of the framework's own methods ----


def _owned_overrides(context: RuleContext) -> Iterator[Finding]:
    component = context.component
    for name, damage in context.role.owned.items():
        method = component.cls.methods.get(name)
        if method is None or calls_super(method) or method.docstring_only:
            continue
        yield context.finding(
            context.words("owned method", component=component.name, method=name, damage=damage),
            at=(method, method.head),
            misuse=None,
            severity=Severity.WARNING if context.discipline.advisory else Severity.ERROR,
        )


# ---- ticks treated as data ----


def _treated_as_data(context: RuleContext) -> Iterator[Finding]:
    if not context.discipline.ticks_in_data or not _enables_ticks(context):
        return
    for flow in context.flows:
        entry = flow.entry
        if entry is None or entry.kind is not EntryKind.DATA or entry.subject is None:
            continue
        if _tests_for_tick(flow) or not _reads_values(flow):
            continue
        yield context.finding(
            context.words(
                "data",
                component=context.component.name,
                handler=flow.function.name,
                advice=test_tick(context.role, auto_ack=bool(context.component.auto_ack)),
            ),
            at=(flow.function, flow.function.head),
            misuse=None,
            severity=Severity.WARNING,
            flow=flow,
        )


def _tests_for_tick(flow: Flow) -> bool:
    """Whether some path decides whether the tuple is a tick."""
    for event in flow.events:
        if not isinstance(event, Ended) or event.token is None:
            continue
        token_state = event.state.tokens.get(event.token)
        if token_state is not None and token_state.tick is not Tick.MAYBE:
            return True
    return any(
        isinstance(step.op, Test) and _mentions_ticks(step.op.condition) for step in flow.function.cfg.steps
    )


def _mentions_ticks(condition: Expr) -> bool:
    for part in subexpressions(condition):
        match part:
            case Name(id=word) | Global(id=word) | Attr(name=word) | Literal(value=str() as word):
                if TICK.search(word):
                    return True
            case _:
                pass
    return False


def _reads_values(flow: Flow) -> bool:
    """Whether the handler reads the values of its tuple."""
    names = tuple_params(flow, flow.function)
    derived = derived_names(flow.function, names)

    def reads(expr: Expr) -> bool:
        return mentions_any(expr, derived) and expr not in [Name(name) for name in names]

    for step in flow.function.cfg.steps:
        match step.op:
            case Bind(value=value) | Unpack(value=value) | Test(condition=value) if reads(value):
                return True
            case Call(args=args) if any(reads(arg.value) for arg in args):
                return True
            case _:
                pass
    return False
