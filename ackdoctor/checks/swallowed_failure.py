"""ACK102: a broad exception handler swallows a failure of the work, and the tuple is acked nevertheless."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import definition, handler_steps, raising_steps, reachable
from ackdoctor.checks.facts.handlers import (
    FailureBranch,
    advice,
    answers_with_refusal,
    does_work,
    failed_answers,
    failure_branch,
    has_no_remedy,
    is_acked,
    is_broad,
    is_for_effect,
    is_no_remedy,
    is_of_client,
    is_of_library,
    keeps_nothing,
    leaves,
    tuple_words,
)
from ackdoctor.checks.hidden_failures import hidden_failures, unread_tasks
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import (
    Completed,
    Ended,
    Flow,
    Path,
    points_back,
    raised_at,
    turns_back,
    with_other_start,
)
from ackdoctor.flow.expressions import calls_by_result, last_name, operands, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.transfer.buffer_loops import is_part
from ackdoctor.flow.values import Field, Token, TokenKind
from ackdoctor.flow.witness import completions
from ackdoctor.libraries.vocabulary import ERROR_STAGES
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Instr,
    Item,
    Literal,
    Name,
    Next,
    Return,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
    Way,
)
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage
from ackdoctor.model.source import Span

_ACCESSOR = re.compile("(get|set|is|has)(_|[A-Z])")


def ack102_swallowed_failure(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each exception handler, here or in a class that the bolt uses, after which the tuple is acked."""
    yield from _in_handlers(context)
    yield from _in_flushes(context)
    yield from _in_callbacks(context)
    yield from _in_answers(context)
    yield from hidden_failures(context)
    yield from unread_tasks(context)


def _in_handlers(context: RuleContext) -> Iterator[Finding]:
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        caught = _swallowing_visit(ended) if is_acked(context, ended) else None
        work = _hidden_work(context, flow, caught, ended.path) if caught is not None else []
        if ended.token is None or caught is None or not work:
            continue
        stage = caught.state.tokens[ended.token].stage if ended.token in caught.state.tokens else Stage.OWED
        if stage is not Stage.OWED or _learns_outcome(context, flow, caught, ended.path):
            continue  # it was completed before the exception, or its work was done after it
        if context.is_first(caught.step):
            yield _finding(context, flow, caught, ended.path, ended.token, work)


def _in_flushes(context: RuleContext) -> Iterator[Finding]:
    """Yield the exception handlers after which the tuples of a buffer are acked, outside of their own handler."""
    for flow, acked in context.events(Completed, EntryKind.TICK, EntryKind.DATA, EntryKind.BATCH):
        token = acked.token
        if acked.op is not Op.ACK or acked.breach is not None or token is None or acked.deferral is not None:
            continue
        caught = _swallowing_visit(acked) if token.kind is TokenKind.STORED else None
        if caught is None or _is_another_tuple(acked, caught):
            continue
        work = _hidden_work(context, flow, caught, acked.path, token.field)
        if not work:
            continue
        if not _learns_outcome(context, flow, caught, acked.path, token.field) and context.is_first(
            caught.step
        ):
            yield _finding(context, flow, caught, acked.path, token, work)


def _in_callbacks(context: RuleContext) -> Iterator[Finding]:
    """Yield where a callback gets the error of the work, or a value in its place, and acks the tuple nevertheless."""
    for flow in context.flows if context.component.auto_ack is False and context.is_bolt else ():
        done_by_handler = {
            event.token for event in flow.events if isinstance(event, Completed) and event.deferral is None
        }
        for ended in flow.events:
            if not isinstance(ended, Ended) or ended.deferral is None or ended.raised is not None:
                continue
            token = ended.token
            held = ended.state.tokens.get(token) if token is not None else None
            if token is None or held is None or held.stage is not Stage.ACKED or ended.is_system:
                continue
            if token in done_by_handler:  # ack-before-done reports the handler's ack
                continue
            done = next(completions(ended.path, token), None)
            found = _place_of_error(context, ended, done) if done is not None else None
            if found is not None and context.is_first((found.function, found.span)):
                yield context.finding(
                    context.words("callback", tup=tuple_words(token), advice=advice(context, token)),
                    Misuse.SWALLOWED,
                    (found.function, found.span),
                    flow=flow,
                    path=ended.path,
                    token=token,
                    severity=Severity.WARNING,
                    confidence=Confidence.MUST if found.sure and not flow.limited else Confidence.MAY,
                )


def _in_answers(context: RuleContext) -> Iterator[Finding]:
    """Yield where an answer of a library says that the work failed, and the tuple is acked nevertheless."""
    for flow, acked in context.events(Completed):
        token = acked.token
        if acked.op not in (Op.ACK, Op.AUTO_ACK) or token is None or acked.breach is not None:
            continue
        for visit in acked.path.call_stack():
            for branch in failed_answers(context, visit.function):
                if branch.test is None or visit.index not in branch.steps or acked.tick.is_system:
                    continue
                test = visit.function.cfg.steps[branch.test]
                if context.is_first(test):
                    yield context.finding(
                        context.words("answer", tup=tuple_words(token), advice=advice(context, token)),
                        Misuse.SWALLOWED,
                        (visit.function, test.span),
                        flow=flow,
                        path=_failing_path(acked.path, test, branch),
                        token=token,
                        severity=Severity.WARNING,
                        confidence=Confidence.MAY,
                    )


def _failing_path(end: Path, test: Step, branch: FailureBranch) -> Path:
    """The path, or one that was joined with it, on which the answer says that the work failed."""
    variants = (
        with_other_start(end, visit, start) for visit, _, _ in points_back(end) for start in visit.joined
    )
    for path in (end, *variants):
        for visit, after, _ in points_back(path) if path is not None else ():
            if visit.step is test and after is not None and after.via is branch.via:
                return path or end
    return end


class _Error(NamedTuple):
    """Where a callback, or a stage before it, learns of a failure, and whether it certainly gets one there."""

    function: Function
    span: Span
    sure: bool


def _place_of_error(context: RuleContext, ended: Ended, done: Path) -> _Error | None:
    """Return where a callback that acks learns of the failure, or where a stage before it discards the error."""
    branch = failure_branch(context, ended)
    if branch is not None and done.function is ended.path.function and done.index in branch.steps:
        learned = done.step if branch.test is None else done.function.cfg.steps[branch.test]
        return _Error(done.function, learned.span, branch.sure)
    if ended.deferral is None or _is_of_success(ended.path):
        return None
    function, stage = ended.deferral.function, ended.deferral.step.op
    while isinstance(stage, Call) and isinstance(stage.func, Attr):
        before = calls_by_result(function).get(stage.func.obj)
        if before is None:
            break
        if last_name(before.func) in ERROR_STAGES:
            code = _discarding_stage(context, function, before)
            return _Error(code, code.head, sure=False) if code is not None else None
        stage = before
    return None


def _discarding_stage(context: RuleContext, function: Function, call: Call) -> Function | None:
    """Return the code of a stage that only logs an error and gives null in place of a result."""
    for arg in call.args:
        code = function.closures.get(arg.value.key) if isinstance(arg.value, Closure) else None
        if code is None:
            continue
        steps = code.cfg.steps
        returned = {step.op.value for step in steps if isinstance(step.op, Return)}
        if has_no_remedy(context, code, range(len(steps))) and returned <= {None, Literal(None)}:
            return code
    return None


def _is_of_success(end: Path) -> bool:
    """Whether a path through a callback tests its argument, and it is not null."""
    params = {Name(param.name) for param in end.function.params}
    for visit, after, _ in turns_back(end):
        if not isinstance(visit.step.op, Test) or after is None or visit.function is not end.function:
            continue
        match normalise(visit.step.op.condition):
            case Compare(left=Name() as tested, op="is", right=Literal(value=None)), same if tested in params:
                if (after.via is EdgeKind.TRUE) != same:
                    return True
            case _:
                return True
    return False


def _is_another_tuple(acked: Completed, caught: Path) -> bool:
    """Whether the exception was about one tuple of a buffer, and the path acks another one, or a part of the buffer."""
    function, index = acked.path.function, acked.path.index
    loops = (function.cfg.steps[head].op for head, body in function.cfg.bodies.items() if index in body)
    if any(isinstance(op, Next) and is_part(function, op.iterable) for op in loops):
        return True
    field = acked.token.field if acked.token is not None else ""
    in_hand = any(token.field == field for token in caught.state.tokens)
    fields = (memory.field for memory in caught.state.loops.values() if memory.field is not None)
    if not in_hand and Field(field) not in fields:
        return False
    for visit, after, _ in points_back(acked.path):
        if visit is caught:
            return False
        if after is not None and after.via is EdgeKind.BACK:
            return True
    return False


def _finding(
    context: RuleContext, flow: Flow, caught: Path, path: Path, token: Token, work: list[int]
) -> Finding:
    op, function = caught.step.op, caught.function
    at, case = caught.step, "message"
    if not isinstance(op, Catch):
        steps = (function.cfg.steps[each] for each in sorted(_handling_steps(caught)))
        at, case = next((step for step in steps if leaves(step)), at), "finally"
    narrow = isinstance(op, Catch) and not is_broad(op)
    likely = any(_often_fails(context, function, function.cfg.steps[each].op) for each in work)
    raiser = caught.before
    if raiser is not None and caught.via is EdgeKind.RAISE and raiser.index not in work:
        path = raised_at(path, caught, next((each for each in work if each > raiser.index), work[0]))
    return context.finding(
        context.words(case, tup=tuple_words(token), advice=advice(context, token)),
        Misuse.SWALLOWED,
        (function, at.span),
        flow=flow,
        path=path,
        token=token,
        severity=Severity.WARNING,
        confidence=Confidence.MAY if flow.limited or narrow or not likely else Confidence.MUST,
    )


def _often_fails(context: RuleContext, function: Function, op: Instr) -> bool:
    """Whether a call is one that fails in practice: no getter or setter of an object of unknown origin, no unknown function."""
    match op:
        case Call() if is_for_effect(context, function, op):
            return False
        case Call(func=Attr(obj=obj, name=name)) if _ACCESSOR.match(name):
            own = f"{context.program.units[function.path].module}."
            is_own = any(each.startswith(own) for each in context.declared_names(function, obj))
            return context.is_remote(function, obj) and not is_own
        case _:
            return True


def _swallowing_visit(event: Ended | Completed) -> Path | None:
    """Return the last exception handler that the path entered, or the last `finally` that discards an exception."""
    state = event.state if isinstance(event, Ended) else event.path.state
    for visit, after, _ in turns_back(event.path):
        if isinstance(visit.step.op, Catch) and after is not None and after.via is EdgeKind.TRUE:
            return visit if state.caught is not None else None
        if after is not None and after.via is EdgeKind.RAISE and _enters_finally(visit, after):
            return after
    return None


def _enters_finally(visit: Path, after: Path) -> bool:
    return visit.step.way is not Way.RAISE and after.step.way is Way.RAISE


def _learns_outcome(context: RuleContext, flow: Flow, caught: Path, end: Path, field: str = "") -> bool:
    """Whether the path repeats the same work after the handler, successfully, or reads an array that the work has filled."""
    tried = raising_steps(caught.function, caught.index)
    calls = [step.op for each in tried if isinstance((step := caught.function.cfg.steps[each]).op, Call)]
    arrays = {arg.value for call in calls for arg in call.args if _is_new_list(caught, arg.value)}
    for visit, after, _ in points_back(end):
        if visit is caught:
            return False
        if visit.function is caught.function and _reads_element(visit.step.op, arrays):
            return True
        done = after is not None and after.via is not EdgeKind.RAISE and visit.function is caught.function
        if done and visit.index in tried and does_work(context, flow, caught, visit.step, field):
            return True
    return False


def _is_new_list(visit: Path, expr: Expr) -> bool:
    """Whether a local is a list or array that the code makes empty."""
    made = definition(visit, expr) if isinstance(expr, Name) else None
    return made is not None and isinstance(made.value, Build) and not made.value.items


def _reads_element(op: Instr, arrays: set[Expr]) -> bool:
    """Whether an instruction reads an element of one of these arrays."""
    parts = (part for expr in operands(op) for part in subexpressions(expr))
    return any(isinstance(part, Item) and part.obj in arrays for part in parts)


def _hidden_work(context: RuleContext, flow: Flow, caught: Path, end: Path, field: str = "") -> list[int]:
    """Return the steps that do the tuple's work and whose failure only this handler sees, without dealing with it."""
    function, index, op = caught.function, caught.index, caught.step.op
    if isinstance(op, Catch) and not (is_broad(op) or is_of_client(context, function, op)):
        return []
    steps = function.cfg.steps
    is_answered = _is_asked(caught) and not _ignores_answer(context, caught, end)
    if not all(
        _ignores_failure(context, caught, each, is_answered=is_answered) for each in _handling_steps(caught)
    ):
        return []
    tried = sorted(raising_steps(function, index))
    work = [each for each in tried if does_work(context, flow, caught, steps[each], field)]
    if not isinstance(op, Catch) or is_broad(op):
        return work
    returned = [step.op.value for step in steps if isinstance(step.op, Return)]
    if function is not flow.function and is_answered and returned.count(None) < len(returned):
        return []  # the caller of a helper decides by its result
    return [each for each in work if is_of_library(context, function, steps[each].op)]


def _handling_steps(caught: Path) -> set[int]:
    """Return the steps of an exception handler, or of a `finally` that runs because of an exception."""
    function, index = caught.function, caught.index
    if isinstance(caught.step.op, Catch):
        return handler_steps(function, index)
    return {each for each in reachable(function, [index]) if function.cfg.steps[each].way is Way.RAISE}


def _ignores_failure(context: RuleContext, caught: Path, index: int, *, is_answered: bool) -> bool:
    """Whether a step that handles the exception does nothing about the failure; `is_answered`: the caller reacts to the result."""
    function = caught.function
    match function.cfg.steps[index].op:
        case Throw() | Unpack():
            return False
        case Return(value=value):  # the caller of a helper decides by its result
            return value is None or not is_answered
        case Call() as call:
            return is_no_remedy(context, function, index, call)
        case Bind(target=Attr(), value=Literal()) if not isinstance(caught.step.op, Catch):
            return True  # a flag that `finally` resets, also after success
        case Bind() as op:
            return keeps_nothing(context, function, op)
        case _:
            return True


def _is_asked(caught: Path) -> bool:
    """Whether the caller of a helper uses its result."""
    caller = caught.entry.before
    return caller is not None and not (isinstance(caller.step.op, Call) and caller.step.op.dropped)


def _ignores_answer(context: RuleContext, caught: Path, end: Path) -> bool:
    """Whether a helper answers the failure with a refusal, and its caller only tests that, logs, and goes on to the ack."""
    if not answers_with_refusal(caught.function, _handling_steps(caught)):
        return False
    for visit, _, _ in points_back(end):
        function, op = visit.function, visit.step.op
        if visit is caught:
            return True
        match op:
            case Call() if function is not caught.function:
                acks = context.verb_kind(function, op) is VerbKind.ACK
                if not acks and not is_no_remedy(context, function, visit.index, op):
                    return False
            case Bind(target=Attr() | Item()) | Update() | Next():
                return False
            case _:
                pass
    return False
