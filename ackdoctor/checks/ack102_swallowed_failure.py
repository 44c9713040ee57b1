"""ACK102: a broad exception handler swallows a failure of the work, and the tuple is acked nevertheless."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import handler_steps, mentions_any, raising_steps, tuple_names
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Path, points_back, turns_back
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.library import LOGGING, PURE_CALLS
from ackdoctor.flow.transfer.effects import logged_calls
from ackdoctor.model.cfg import Attr, Bind, Call, Catch, EdgeKind, Function, Name, Return, Step, Throw, Unpack
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Stage
from ackdoctor.rulebook.advice import fail_as_well

__all__ = ["check"]

_BROAD = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})
_NO_REMEDY = (VerbKind.ACK, VerbKind.LOG, VerbKind.REPORT)
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each broad exception handler after which the tuple is acked."""
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        caught = _last_catch(ended) if _is_acked(context, ended) else None
        if ended.token is None or caught is None or not _swallows(context, flow, caught):
            continue
        stage = caught.state.tokens[ended.token].stage if ended.token in caught.state.tokens else Stage.OWED
        if stage is not Stage.OWED or _is_retried(context, flow, caught, ended):
            continue  # it was completed before the exception, or its work was done after it
        if not context.is_first(caught.step):
            continue
        tup = f"`{ended.token.name}`"
        advice = fail_as_well(
            context.role, tup, auto_ack=bool(context.component.auto_ack), raising=context.raising
        )
        yield context.finding(
            context.words(tup=tup, advice=advice),
            Misuse.SWALLOWED,
            caught,
            flow=flow,
            path=ended.path,
            token=ended.token,
            severity=Severity.WARNING,
            confidence=Confidence.MAY if flow.limited else Confidence.MUST,
        )


def _is_acked(context: RuleContext, ended: Ended) -> bool:
    """Whether the handler returns and its data tuple is acked, by the code or by the framework."""
    token_state = ended.state.tokens.get(ended.token) if ended.token is not None else None
    if ended.raised is not None or ended.deferral is not None or ended.is_system or token_state is None:
        return False
    owed = token_state.stage is Stage.OWED and bool(context.component.auto_ack)
    return owed or token_state.stage is Stage.ACKED


def _last_catch(ended: Ended) -> Path | None:
    """Return the last exception handler that the path entered, if the exception is still the current one."""
    if ended.state.caught is None:
        return None
    for visit, after, _ in turns_back(ended.path):
        if isinstance(visit.step.op, Catch) and after is not None and after.via is EdgeKind.TRUE:
            return visit
    return None


def _is_retried(context: RuleContext, flow: Flow, caught: Path, ended: Ended) -> bool:
    """Whether the path repeats the same work after the handler, successfully."""
    tried = raising_steps(caught.function, caught.index)
    for visit, after, _ in points_back(ended.path):
        if visit is caught:
            return False
        done = after is not None and after.via is not EdgeKind.RAISE and visit.function is caught.function
        if done and visit.index in tried and _does_work(context, flow, visit.function, visit.step):
            return True
    return False


def _swallows(context: RuleContext, flow: Flow, caught: Path) -> bool:
    function, index, op = caught.function, caught.index, caught.step.op
    if not isinstance(op, Catch) or (
        op.types and not {name.rpartition(".")[2] for name in op.types} & _BROAD
    ):
        return False
    steps = function.cfg.steps
    inside = handler_steps(function, index)
    if not all(_ignores_failure(context, flow, function, each) for each in inside):
        return False
    return any(_does_work(context, flow, function, steps[each]) for each in raising_steps(function, index))


def _ignores_failure(context: RuleContext, flow: Flow, function: Function, index: int) -> bool:
    """Whether a step of the exception handler does nothing about the failure."""
    match function.cfg.steps[index].op:
        case Throw() | Unpack():
            return False
        case Return(value=value):
            return value is None or function is flow.function  # the caller of a helper decides by its result
        case Call() as call:
            kind = context.verb_kind(function, call)
            getter = not call.args and index in logged_calls(function)
            return getter or kind in _NO_REMEDY or last_name(call.func) in LOGGING | PURE_CALLS
        case Bind(target=target):
            return isinstance(target, Name) and target.id.startswith("%")
        case _:
            return True


def _does_work(context: RuleContext, flow: Flow, function: Function, step: Step) -> bool:
    """Whether a step of the `try` does the tuple's real work: it emits, or uses a resource with the tuple's data."""
    call = step.op
    if not isinstance(call, Call):
        return False
    if context.verb_kind(function, call) in _EMITS:
        return True
    derived = tuple_names(flow, function)
    if not any(mentions_any(arg.value, derived) for arg in call.args):
        return False
    helper = context.own_method(function, call.func)
    if (
        helper is None and function is not flow.function and function not in context.own_names
    ):  # of a decorator
        decorated = isinstance(call.func, Name) and call.func.id in function.captures
        helper = flow.function if decorated and flow.function.decorators else None
    if helper is None:
        return _uses_resource(context, function, call)
    inner = calls_by_result(helper).values()
    return any(context.verb_kind(helper, c) in _EMITS or _uses_resource(context, helper, c) for c in inner)


def _uses_resource(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call is a method of a field of the component: `self.table.insert(row)`."""
    return isinstance(call.func, Attr) and context.field(function, call.func.obj) is not None
