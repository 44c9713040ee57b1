"""ACK109: a tick is completed where the framework does it, left over where the bolt must, or taken for data."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, given_names, mentions_any
from ackdoctor.checks.facts.spouts import calls_super
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, points_back
from ackdoctor.flow.expressions import mentions, subexpressions
from ackdoctor.flow.library import TICK
from ackdoctor.flow.state import Tick
from ackdoctor.flow.witness import leaving_step
from ackdoctor.model.advice import check_tick
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Global, Literal, Name, Return, Test, Unpack
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op

__all__ = ["check"]

_BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}


def check(context: RuleContext) -> Iterator[Finding]:
    """Everything that can go wrong with a tick in a bolt."""
    if not context.is_bolt:
        return
    yield from _completed_twice(context)
    for flow in context.flows:
        yield from _forgotten(context, flow)
        yield from _heartbeats(context, flow)
    yield from _nobody_takes_them(context)
    yield from _taken_over(context)
    yield from _taken_for_data(context)


# ---- completed by hand where the framework does it ----


def _completed_twice(context: RuleContext) -> Iterator[Finding]:
    duty, auto = context.discipline.tick, context.component.auto_ack
    if duty is TickDuty.AUTO and not auto:
        return
    if duty not in (TickDuty.AUTO, TickDuty.FRAMEWORK, TickDuty.FORBIDDEN):
        return
    told: set[int] = set()
    for flow, done in context.events(Completed, EntryKind.TICK, EntryKind.DATA):
        if done.op in _BY_HAND and done.tick is Tick.YES and id(done.step) not in told:
            told.add(id(done.step))
            yield _twice(context, done.function, done, flow)
    if duty is TickDuty.FRAMEWORK:
        yield from _in_owned_method(context)


def _twice(context: RuleContext, function: Function, done: Completed, flow: Flow) -> Finding:
    verb = _BY_HAND[done.op]
    who = (
        "ticks are not completed here"
        if context.discipline.tick is TickDuty.FORBIDDEN
        else "the framework acks it"
    )
    return context.finding(
        at=(function, done.step.span),
        message=f"the tick is {verb} by hand, and {who}",
        misuse=Misuse.TICK_TWICE,
        path=done.path,
        token=done.token,
        last=f"tick {verb}",
        flow=flow,
        help="remove this call",
    )


def _in_owned_method(context: RuleContext) -> Iterator[Finding]:
    """An override of the framework's own tick method that acks what the framework has acked already."""
    method = context.component.method("process_tick")
    given = method.params[1:] if method is not None else ()
    if method is None or not given or not calls_super(method):
        return
    tick = Name(given[0].name)
    for step in method.cfg.steps:
        if isinstance(step.op, Call) and step.op.args and step.op.args[0].value == tick:
            verb = context.verb(method, step.op)
            if verb is not None and verb.kind in (VerbKind.ACK, VerbKind.FAIL):
                yield context.finding(
                    at=(method, step.span),
                    message=f"the tick is {verb.kind.value}ed by hand, and the framework acks it",
                    misuse=Misuse.TICK_TWICE,
                    last="tick completed again",
                    help="remove this call",
                )


# ---- never completed where the bolt must ----


def _forgotten(context: RuleContext, flow: Flow) -> Iterator[Finding]:
    if flow.entry is None or flow.entry.kind not in (EntryKind.TICK, EntryKind.DATA) or flow.wrapped:
        return
    left = [s for s in flow.events if isinstance(s, Ended) and s.breach is not None and s.is_tick]
    if not left or flow.function.docstring_only:
        return
    token = left[0].token
    assert token is not None  # is_tick looked
    done = [s for s in flow.events if isinstance(s, Completed) and s.token == token and s.op in _BY_HAND]
    finished = [
        s for s in flow.events if isinstance(s, Ended) and s.breach is None and s.raised is None and s.is_tick
    ]
    if flow.entry.kind is EntryKind.DATA and not any(s for s in flow.events if isinstance(s, Completed)):
        return  # nothing is completed at all: missing-ack says so
    whole = flow.entry.kind is EntryKind.TICK and not done and not finished
    completing = frozenset({id(flow.function), *(id(s.function) for s in done)})
    told: set[object] = set()
    for ended in left[:1] if whole else left:
        where = (flow.function, flow.function.head) if whole else leaving_step(ended.path, completing)
        if where[1] in told:
            continue
        told.add(where[1])
        yield context.finding(
            at=where,
            message=f"the tick leaves {context.component.name}.{flow.function.name} without an ack",
            misuse=Misuse.TICK_NEVER,
            path=ended.path,
            token=token,
            last="returns to the framework",
            flow=flow,
            help=f"ack {token.words}: with acks by hand, ticks are yours to ack too",
        )


def _heartbeats(context: RuleContext, flow: Flow) -> Iterator[Finding]:
    """A path that takes a heartbeat and sends no sync: it is no tuple to ack, and no sync ends the worker."""
    answering = context.dialect.heartbeats
    if not answering or flow.entry is None or flow.entry.kind is not EntryKind.DATA or flow.wrapped:
        return
    told: set[object] = set()
    for ended in flow.events:
        if not isinstance(ended, Ended) or ended.tick is not Tick.HEARTBEAT or ended.raised is not None:
            continue
        where = leaving_step(ended.path, frozenset({id(flow.function)}))
        if where[1] in told or _syncs(context, ended):
            continue
        told.add(where[1])
        yield context.finding(
            at=where,
            message="the heartbeat leaves without a sync: before "
            f'{answering} the worker exits with "subprocess heartbeat timeout"',
            misuse=None,
            severity=Severity.WARNING,
            confidence=Confidence.MAY,
            path=ended.path,
            token=ended.token,
            last="returns to the framework, no sync is sent",
            flow=flow,
            help=f"use {answering} or later, which answers heartbeats itself, and remove this branch; "
            "never ack or fail a heartbeat",
        )


def _syncs(context: RuleContext, ended: Ended) -> bool:
    """Whether the path answers with a sync."""
    return any(
        isinstance(visit.step.op, Call) and context.verb_kind(visit.function, visit.step.op) is VerbKind.SYNC
        for visit, _, _ in points_back(ended.path)
    )


def _nobody_takes_them(context: RuleContext) -> Iterator[Finding]:
    """Ticks are switched on in the class, acks are by hand, and the inherited process_tick does nothing."""
    component = context.component
    entry = next((e for e in context.role.entries if e.kind is EntryKind.TICK), None)
    if entry is None or entry.subject is None or component.opaque or component.heirs:
        return
    if context.discipline.tick is not TickDuty.AUTO or component.auto_ack is not False:
        return
    if component.method(entry.method) is None and _ticks_on(context):
        yield context.finding(
            at=(_somewhere(context), component.cls.head),
            message=f"{component.name} asks for ticks and acks by hand, but has no {entry.method} to ack them",
            misuse=Misuse.TICK_NEVER,
            last="ticks arrive and stay",
            handler=entry.method,
            help=f"override {entry.method} and ack the tick there",
        )


def _somewhere(context: RuleContext) -> Function:
    """A function of the component's own file, to stand for the file."""
    return context.program.units[context.component.cls.path].body


def _ticks_on(context: RuleContext) -> bool:
    """Whether the class itself switches ticks on."""
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
                    if any(_names(arg.value) in settings for arg in args):
                        return True
                case _:
                    pass
    return False


def _names(expr: Expr) -> object:
    """A setting as text, or the constant that holds it."""
    match expr:
        case Literal(value=value):
            return value
        case Attr(name=name) | Global(id=name):
            return name
        case _:
            return None


# ---- the framework's own methods ----


def _taken_over(context: RuleContext) -> Iterator[Finding]:
    component = context.component
    for name, damage in context.role.owned.items():
        method = component.cls.methods.get(name)
        if method is None or calls_super(method) or method.docstring_only:
            continue
        yield context.finding(
            at=(method, method.head),
            message=f"{component.name}.{name} replaces the framework's own {name}: {damage}",
            misuse=None,
            severity=Severity.WARNING if context.discipline.advisory else Severity.ERROR,
            last="replaces the framework's own",
            help=f"call `super().{name}(...)`, or do this work in another method",
        )


# ---- ticks taken for data ----


def _taken_for_data(context: RuleContext) -> Iterator[Finding]:
    if not context.discipline.ticks_in_data or not _ticks_on(context):
        return
    for flow in context.flows:
        entry = flow.entry
        if entry is None or entry.kind is not EntryKind.DATA or entry.subject is None:
            continue
        if _asks(flow) or not _reads(flow):
            continue
        yield context.finding(
            at=(flow.function, flow.function.head),
            message=f"{context.component.name} asks for ticks, and {flow.function.name} reads every tuple as data",
            misuse=None,
            severity=Severity.WARNING,
            flow=flow,
            last="ticks arrive here too",
            help=check_tick(context.role, auto_ack=bool(context.component.auto_ack)),
        )


def _asks(flow: Flow) -> bool:
    """Whether some path has found out that the tuple is a tick."""
    for event in flow.events:
        if not isinstance(event, Ended) or event.token is None:
            continue
        token_state = event.state.tokens.get(event.token)
        if token_state is not None and token_state.tick is not Tick.MAYBE:
            return True
    return any(
        isinstance(step.op, Test) and _speaks_of_ticks(step.op.condition) for step in flow.function.cfg.steps
    )


def _speaks_of_ticks(condition: Expr) -> bool:
    for part in subexpressions(condition):
        match part:
            case Name(id=word) | Global(id=word) | Attr(name=word) | Literal(value=str() as word):
                if TICK.search(word):
                    return True
            case _:
                pass
    return False


def _reads(flow: Flow) -> bool:
    """Whether the handler looks into the values of its tuple."""
    names = given_names(flow, flow.function)
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
