"""ACK102: a broad exception handler swallows a failure of the work, and the tuple is acked nevertheless."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import (
    derived_names,
    handler_only,
    mentions_any,
    raising_steps,
    tuple_params,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, PathPoint, points_back, turns_back
from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.library import LOGGING, PURE_CALLS
from ackdoctor.flow.transfer.effects import logged_calls
from ackdoctor.model.cfg import Bind, Call, Catch, EdgeKind, Function, Name, Return, Step, Throw, Unpack
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Stage
from ackdoctor.rulebook.advice import fail_as_well

__all__ = ["check"]

_BROAD = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})
_NO_REMEDY = (VerbKind.ACK, VerbKind.LOG, VerbKind.REPORT)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each broad exception handler after which the tuple is acked."""
    reported: set[int] = set()
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        if ended.raised is not None or ended.token is None or ended.deferral is not None or ended.is_system:
            continue
        if not _acked(context, ended):
            continue
        caught = _last_catch(ended)
        if caught is None or id(caught.visit.step) in reported:
            continue
        if _was_completed(caught, ended) or not _swallows(context, flow, caught):
            continue
        if _is_retried(context, flow, caught, ended):
            continue
        reported.add(id(caught.visit.step))
        tup = f"`{ended.token.name}`"
        advice = fail_as_well(
            context.role, tup, auto_ack=bool(context.component.auto_ack), raising=context.raising
        )
        yield context.finding(
            context.words(tup=tup, advice=advice),
            at=(caught.visit.function, caught.visit.step.span),
            misuse=Misuse.SWALLOWED,
            path=ended.path,
            token=ended.token,
            flow=flow,
            severity=Severity.WARNING,
            confidence=Confidence.MAY if flow.limited else Confidence.MUST,
        )


def _acked(context: RuleContext, ended: Ended) -> bool:
    if ended.token is None or ended.token not in ended.state.tokens:
        return bool(context.component.auto_ack)
    stage = ended.state.tokens[ended.token].stage
    return stage is Stage.ACKED or (stage is Stage.OWED and bool(context.component.auto_ack))


def _last_catch(ended: Ended) -> PathPoint | None:
    if ended.state.caught is None:
        return None
    for station in turns_back(ended.path):
        entered = station.after is not None and station.after.via is EdgeKind.TRUE
        if entered and isinstance(station.visit.step.op, Catch):
            return station
    return None


def _was_completed(caught: PathPoint, ended: Ended) -> bool:
    """Whether the tuple was already acked when the handler was entered."""
    token_state = caught.visit.state.tokens.get(ended.token) if ended.token is not None else None
    return token_state is not None and token_state.stage is not Stage.OWED


def _is_retried(context: RuleContext, flow: Flow, caught: PathPoint, ended: Ended) -> bool:
    """Whether the path repeats the same work after the handler, successfully."""
    function = caught.visit.function
    tried = raising_steps(function, caught.visit.index)
    derived = derived_names(function, tuple_params(flow, function))
    for visit, after, _ in points_back(ended.path):
        if visit is caught.visit:
            return False
        done = after is not None and after.via is not EdgeKind.RAISE and visit.function is function
        if done and visit.index in tried and _does_work(context, flow, function, visit.step, derived):
            return True
    return False


def _swallows(context: RuleContext, flow: Flow, caught: PathPoint) -> bool:
    function, index = caught.visit.function, caught.visit.index
    op = caught.visit.step.op
    if not isinstance(op, Catch):
        return False
    if op.types and not {name.rpartition(".")[2] for name in op.types} & _BROAD:
        return False
    steps = function.cfg.steps
    if function is not flow.function and any(_returns_value(steps[i]) for i in handler_only(function, index)):
        return False  # a helper that returns a value: the caller decides
    if not all(_ignores_failure(context, function, i) for i in handler_only(function, index)):
        return False
    derived = derived_names(function, tuple_params(flow, function))
    return any(_does_work(context, flow, function, steps[i], derived) for i in raising_steps(function, index))


def _ignores_failure(context: RuleContext, function: Function, index: int) -> bool:
    """Whether a step of the exception handler does nothing about the failure."""
    match function.cfg.steps[index].op:
        case Throw():
            return False
        case Call() as call:
            kind = context.verb_kind(function, call)
            getter = not call.args and index in logged_calls(function)
            return getter or kind in _NO_REMEDY or last_name(call.func) in LOGGING | PURE_CALLS
        case Bind(target=target):
            return isinstance(target, Name) and target.id.startswith("%")
        case Unpack():
            return False
        case _:
            return True


def _returns_value(step: Step) -> bool:
    return isinstance(step.op, Return) and step.op.value is not None


def _does_work(
    context: RuleContext, flow: Flow, function: Function, step: Step, derived: frozenset[str]
) -> bool:
    """Whether a step of the `try` does the tuple's real work: it emits, or uses a resource with the tuple's data."""
    if not isinstance(step.op, Call):
        return False
    call = step.op
    if context.verb_kind(function, call) in (VerbKind.EMIT, VerbKind.EMIT_MANY):
        return True
    if not any(mentions_any(arg.value, derived) for arg in call.args):
        return False
    if context.held_by_component(function, call.func):
        return True
    helper = context.own_method(function, call.func) or _decorated(context, flow, function, call)
    if helper is None:
        return False
    return any(
        isinstance(inner.op, Call)
        and (
            context.verb_kind(helper, inner.op) in (VerbKind.EMIT, VerbKind.EMIT_MANY)
            or context.held_by_component(helper, inner.op.func)
        )
        for inner in helper.cfg.steps
    )


def _decorated(context: RuleContext, flow: Flow, function: Function, call: Call) -> Function | None:
    """The handler itself, if the call is the decorator's call of the decorated function."""
    wrapper = function is not flow.function and context.own_name(function) is None
    decorated = isinstance(call.func, Name) and call.func.id in function.captures
    return flow.function if wrapper and decorated and flow.function.decorators else None
