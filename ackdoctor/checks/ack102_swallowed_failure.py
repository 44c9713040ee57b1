"""ACK102: a broad exception handler swallows a failure of the work, and the tuple is acked nevertheless."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import (
    derived_names,
    handler_steps,
    mentions_any,
    raising_steps,
    tuple_names,
)
from ackdoctor.checks.facts.fields import reads_field
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back, turns_back
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.library import LOGGING, PURE_CALLS
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.transfer.effects import logged_calls
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    EdgeKind,
    Function,
    Literal,
    Name,
    Next,
    Return,
    Step,
    Throw,
    Unpack,
    Update,
)
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage
from ackdoctor.rulebook.advice import fail_as_well

__all__ = ["check"]

_BROAD = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})
_NO_REMEDY = (VerbKind.ACK, VerbKind.LOG, VerbKind.REPORT)
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each exception handler, here or in a class that the bolt uses, after which the tuple is acked."""
    yield from _in_handlers(context)
    yield from _in_flushes(context)
    yield from _in_collaborators(context)


def _in_handlers(context: RuleContext) -> Iterator[Finding]:
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        caught = _last_catch(ended) if _is_acked(context, ended) else None
        if ended.token is None or caught is None or not _swallows(context, flow, caught):
            continue
        stage = caught.state.tokens[ended.token].stage if ended.token in caught.state.tokens else Stage.OWED
        if stage is not Stage.OWED or _is_retried(context, flow, caught, ended.path):
            continue  # it was completed before the exception, or its work was done after it
        if context.is_first(caught.step):
            yield _finding(context, flow, caught, ended.path, ended.token)


def _in_flushes(context: RuleContext) -> Iterator[Finding]:
    """Yield the exception handlers after which the tuples of a buffer are acked, outside of their own handler."""
    for flow, acked in context.events(Completed, EntryKind.TICK, EntryKind.DATA, EntryKind.BATCH):
        token = acked.token
        if acked.op is not Op.ACK or acked.breach is not None or token is None or acked.deferral is not None:
            continue
        caught = _last_catch(acked) if token.kind is TokenKind.STORED else None
        if caught is None or not _swallows(context, flow, caught, token.field):
            continue
        if not _is_retried(context, flow, caught, acked.path, token.field) and context.is_first(caught.step):
            yield _finding(context, flow, caught, acked.path, token)


def _finding(context: RuleContext, flow: Flow, caught: Path, path: Path, token: Token) -> Finding:
    narrow = isinstance(caught.step.op, Catch) and not _is_broad(caught.step.op)
    return context.finding(
        context.words(tup=_words(token), advice=_advice(context, token)),
        Misuse.SWALLOWED,
        caught,
        flow=flow,
        path=path,
        token=token,
        severity=Severity.WARNING,
        confidence=Confidence.MAY if flow.limited or narrow else Confidence.MUST,
    )


def _words(token: Token) -> str:
    return token.words if token.kind is TokenKind.STORED else f"`{token.name}`"


def _advice(context: RuleContext, token: Token) -> str:
    by_hand = bool(context.component.auto_ack) and token.kind is not TokenKind.STORED
    return fail_as_well(context.role, _words(token), auto_ack=by_hand, raising=context.raising)


def _is_acked(context: RuleContext, ended: Ended) -> bool:
    """Whether the handler returns and its data tuple is acked, by the code or by the framework."""
    token_state = ended.state.tokens.get(ended.token) if ended.token is not None else None
    if ended.raised is not None or ended.deferral is not None or ended.is_system or token_state is None:
        return False
    owed = token_state.stage is Stage.OWED and bool(context.component.auto_ack)
    return owed or token_state.stage is Stage.ACKED


def _last_catch(event: Ended | Completed) -> Path | None:
    """Return the last exception handler that the path entered, if the exception is still the current one."""
    state = event.state if isinstance(event, Ended) else event.path.state
    if state.caught is None:
        return None
    for visit, after, _ in turns_back(event.path):
        if isinstance(visit.step.op, Catch) and after is not None and after.via is EdgeKind.TRUE:
            return visit
    return None


def _is_retried(context: RuleContext, flow: Flow, caught: Path, end: Path, field: str = "") -> bool:
    """Whether the path repeats the same work after the handler, successfully."""
    tried = raising_steps(caught.function, caught.index)
    for visit, after, _ in points_back(end):
        if visit is caught:
            return False
        done = after is not None and after.via is not EdgeKind.RAISE and visit.function is caught.function
        if done and visit.index in tried and _does_work(context, flow, visit.function, visit.step, field):
            return True
    return False


def _swallows(context: RuleContext, flow: Flow, caught: Path, field: str = "") -> bool:
    function, index, op = caught.function, caught.index, caught.step.op
    if not isinstance(op, Catch) or not (_is_broad(op) or _is_of_client(context, function, op)):
        return False
    steps = function.cfg.steps
    inside = handler_steps(function, index)
    if not all(_ignores_failure(context, flow, function, each) for each in inside):
        return False
    tried = raising_steps(function, index)
    work = [steps[each] for each in tried if _does_work(context, flow, function, steps[each], field)]
    if _is_broad(op):
        return bool(work)
    has_result = function is not flow.function and any(_returns_value(step) for step in steps)
    return not has_result and any(_calls_client(context, function, step) for step in work)


def _returns_value(step: Step) -> bool:
    return isinstance(step.op, Return) and step.op.value is not None


def _calls_client(context: RuleContext, function: Function, step: Step) -> bool:
    match step.op:
        case Call(func=Attr(obj=obj)):
            return context.is_remote(function, obj)
        case _:
            return False


def _is_broad(op: Catch) -> bool:
    return not op.types or not _BROAD.isdisjoint(name.rpartition(".")[2] for name in op.types)


def _is_of_client(context: RuleContext, function: Function, op: Catch) -> bool:
    """Whether an exception handler catches only the errors of a client library: `requests.RequestException`."""
    return all(context.is_remote_error(function, name) for name in op.types)


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


def _does_work(context: RuleContext, flow: Flow, function: Function, step: Step, field: str = "") -> bool:
    """Whether a step of the `try` does the tuple's real work: it emits, or uses a resource with the tuple's data.

    With a field, the data are those of the tuples in it.
    """
    call = step.op
    if not isinstance(call, Call):
        return False
    if context.verb_kind(function, call) in _EMITS:
        return True
    derived = _names_from(context, function, field) if field else tuple_names(flow, function)
    own = [arg.value for arg in call.args if field and reads_field(context, function, arg.value, field)]
    if not own and not any(mentions_any(arg.value, derived) for arg in call.args):
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


def _names_from(context: RuleContext, function: Function, field: str) -> frozenset[str]:
    """Return the locals of a function that derive from a field."""
    names: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name), value=value) | Next(target=Name(id=name), iterable=value):
                if reads_field(context, function, value, field):
                    names.add(name)
            case Unpack(targets=targets, value=Build(items=items)) if len(targets) == len(items):
                for target, item in zip(targets, items, strict=True):
                    if isinstance(target, Name) and reads_field(context, function, item, field):
                        names.add(target.id)
            case Call(result=result, args=args, func=func):
                if any(
                    reads_field(context, function, each, field) for each in (func, *(a.value for a in args))
                ):
                    names.add(result.id)
            case _:
                pass
    if function not in context.own_names:
        return derived_names(function, frozenset(names))
    params = (
        {param.name for param in function.params[1:]} if function.name not in _entries(context) else set()
    )
    return derived_names(function, frozenset(names | params))


def _entries(context: RuleContext) -> set[str]:
    return {entry.method for entry in context.role.entries}


def _uses_resource(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call is a method of a field of the component or of a client: `self.table.insert(row)`, `requests.post()`."""
    if not isinstance(call.func, Attr):
        return False
    return context.field(function, call.func.obj) is not None or context.is_remote(function, call.func.obj)


# ---- classes of the project that the bolt uses ----


def _in_collaborators(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls of another class of the project that hides a failure of the work from the bolt."""
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        if ended.token is None or not _is_acked(context, ended):
            continue
        for visit, _, _ in points_back(ended.path):
            call = visit.step.op
            if not isinstance(call, Call) or visit.function not in context.own_names:
                continue
            derived = tuple_names(flow, visit.function)
            if not any(mentions_any(arg.value, derived) for arg in call.args):
                continue
            method = _called_method(context, visit.function, call)
            handler = _hiding_handler(method) if method is not None else None
            if method is None or handler is None or not context.is_first(visit.step):
                continue
            yield context.finding(
                context.words(
                    "collaborator",
                    method=f"{method.qualname}",
                    line=f"line {handler.span.line} of {method.path.rpartition('/')[2]}",
                    tup=_words(ended.token),
                    name=method.name,
                    advice=_advice(context, ended.token),
                ),
                Misuse.SWALLOWED,
                (visit.function, visit.step.span),
                flow=flow,
                path=ended.path,
                token=ended.token,
                severity=Severity.WARNING,
                confidence=Confidence.MAY if flow.limited else Confidence.MUST,
            )


def _called_method(context: RuleContext, function: Function, call: Call) -> Function | None:
    """Return the method of another class of the project that a call runs."""
    if not isinstance(call.func, Attr):
        return None
    cls = context.project_class(function, call.func.obj)
    if cls is None or cls in context.component.lineage:
        return None
    name = call.func.name
    return next(
        (each.methods[name] for each in context.program.lineage(cls).order if name in each.methods), None
    )


def _hiding_handler(method: Function) -> Step | None:
    """Return the broad exception handler in which a method only logs that its work on its arguments failed."""
    steps = method.cfg.steps
    derived = derived_names(method, frozenset(param.name for param in method.params[1:]))
    for index, step in enumerate(steps):
        if not isinstance(step.op, Catch) or not _is_broad(step.op):
            continue
        if not all(_only_logs(steps[each]) for each in handler_steps(method, index)):
            continue
        if any(_works_on(method, steps[each], derived) for each in raising_steps(method, index)):
            return step
    return None


def _only_logs(step: Step) -> bool:
    match step.op:
        case Throw() | Unpack() | Update():
            return False
        case Return(value=value):
            return value is None or value == Literal(None)
        case Call() as call:
            return last_name(call.func) in LOGGING | PURE_CALLS
        case Bind(target=target):
            return isinstance(target, Name) and target.id.startswith("%")
        case _:
            return True


def _works_on(method: Function, step: Step, derived: frozenset[str]) -> bool:
    """Whether a step is a call on a field of the object with data from the arguments."""
    match step.op:
        case Call(func=Attr(obj=Attr(obj=Name(id=own))), args=args) if method.params:
            return own == method.params[0].name and any(mentions_any(arg.value, derived) for arg in args)
        case _:
            return False
