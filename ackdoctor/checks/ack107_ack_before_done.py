"""ACK107: a tuple is acked while its work can still fail: work on another thread, or an ack in `finally`."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import definition, derived_names, mentions_any, tuple_params
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.expressions import callee_text, last_name, memoize
from ackdoctor.flow.library import EXECUTORS, THREADS
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import completions, line_text, raising_visit
from ackdoctor.model.cfg import Attr, Build, Call, Closure, Expr, Function, Name, Throw, Way
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage
from ackdoctor.rulebook.advice import ack_after_try

__all__ = ["check"]

_STARTS = THREADS | {"create_task", "ensure_future", "run_async", "defer"} - {"add_done_callback"}
_WAITS = frozenset(
    "join result exception wait gather as_completed get run run_until_complete shutdown wait_for done __exit__ "
    "is_alive isAlive cancel".split()
)
_COROUTINES = frozenset("create_task ensure_future run_coroutine_threadsafe".split())
_LATER = {Op.ACK: ("acks", Misuse.TWICE), Op.FAIL: ("fails", Misuse.MIXED)}
_WORK = (None, "target", "function", "func", "fn")  # names of the parameter that takes the code to run


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each ack before started work ends, and for each ack in `finally` while an exception leaves."""
    if context.component.auto_ack:
        yield from _by_the_framework(context)
        return
    reported: set[tuple[object, int]] = set()
    for flow, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is not Op.ACK or done.token is None or done.tick.is_system or done.deferral is not None:
            continue
        if done.token.kind is TokenKind.STORED or (id(done.function), done.step.span.line) in reported:
            continue
        started = _started(flow, done)
        if started is not None:
            reported.add((id(done.function), done.step.span.line))
            yield _too_early(context, flow, done, started)
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        done_at = _in_finally(context, ended)
        if done_at is not None and (id(done_at.function), done_at.step.span.line) not in reported:
            reported.add((id(done_at.function), done_at.step.span.line))
            yield _while_raising(context, flow, ended, done_at)


# ---- work that still runs ----


def _by_the_framework(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each call that starts work for which the framework's ack does not wait."""
    reported: set[int] = set()
    for flow, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is not Op.AUTO_ACK or done.token is None or done.tick.is_system or done.breach is not None:
            continue
        started = _started(flow, done)
        if started is None or id(started.step) in reported:
            continue
        reported.add(id(started.step))
        assert isinstance(started.step.op, Call)
        yield context.finding(
            context.words(
                "auto-ack",
                tup=done.token.words,
                handler=flow.function.name,
                call=callee_text(started.step.op.func),
                by_hand=context.role.by_hand,
            ),
            at=(started.function, started.step.span),
            misuse=Misuse.EARLY,
            path=done.path,
            token=done.token,
            flow=flow,
            severity=_severity(context),
        )


def _started(flow: Flow, done: Completed) -> Path | None:
    """Return the last call before the ack that started work on the tuple's data; None if the path waited for it."""
    if not any(map(_starts, flow.functions)):
        return None
    for visit, after, _ in points_back(done.path):
        if after is None or not isinstance(visit.step.op, Call):
            continue
        call = visit.step.op
        name = last_name(call.func)
        if name in _WAITS:
            return None
        if (name in _STARTS and not _scoped(call.func) and _uses_tuple(flow, visit, call)) or (
            name in EXECUTORS and _runs_closure(flow, visit, call)
        ):
            return visit
    return None


@memoize
def _starts(function: Function) -> bool:
    """Whether a function has a call that may start work."""
    calls = (step.op for step in function.cfg.steps if isinstance(step.op, Call))
    return any(last_name(call.func) in _STARTS | EXECUTORS for call in calls)


def _scoped(func: Expr) -> bool:
    """Whether the runner is a local: the `with` block around it waits at its end."""
    return isinstance(func, Attr) and isinstance(func.obj, Name) and func.obj.id not in ("self", "loop")


def _runs_closure(flow: Flow, visit: Path, call: Call) -> bool:
    """Whether a runner gets a closure that reads the tuple's data."""
    derived = derived_names(visit.function, tuple_params(flow, visit.function))
    for arg in call.args:
        found = definition(visit, arg.value) if isinstance(arg.value, Name) else None
        work = found.value if found is not None else arg.value
        parts = work.items if isinstance(work, Build) else (work,)
        for part in parts:
            inner = visit.function.closures.get(part.key) if isinstance(part, Closure) else None
            if inner is not None and inner.captures & derived and call.dropped:
                return True
    return False


def _uses_tuple(flow: Flow, visit: Path, call: Call) -> bool:
    derived = derived_names(visit.function, tuple_params(flow, visit.function))
    return any(mentions_any(arg.value, derived) for arg in call.args) and _runs_code(visit, call, derived)


def _runs_code(visit: Path, call: Call, derived: frozenset[str]) -> bool:
    """Whether the call gets code to run; a client or a job queue (Celery) gets only data."""
    if last_name(call.func) in _COROUTINES:
        return True
    work = next((arg.value for arg in call.args if arg.name in _WORK and not arg.star), None)
    if work is None or not mentions_any(work, derived):
        return work is not None
    found = definition(visit, work)
    return found is not None and isinstance(found.value, Call) and last_name(found.value.func) == "partial"


def _too_early(context: RuleContext, flow: Flow, done: Completed, started: Path) -> Finding:
    assert done.token is not None  # the caller checks it
    assert isinstance(started.step.op, Call)
    return context.finding(
        context.words(
            tup=done.token.words,
            call=callee_text(started.step.op.func),
            line=line_text(started, done.function),
            again=_completed_again(context, started, done.token),
        ),
        at=(done.function, done.step.span),
        misuse=Misuse.EARLY,
        path=done.path,
        token=done.token,
        flow=flow,
        severity=_severity(context),
    )


def _completed_again(context: RuleContext, started: Path, token: Token) -> str:
    """The clause on a second completion by the started work; "" if it does not complete the tuple."""
    for _, later in context.events(Completed):
        if later.deferral is None or later.deferral.step is not started.step or later.op not in _LATER:
            continue
        verb, misuse = _LATER[later.op]
        if later.token == token:
            line = later.step.span.line
            return context.phrase("again", does=verb, line=line, price=context.price(misuse))
    return ""


# ---- an ack in finally ----


def _in_finally(context: RuleContext, ended: Ended) -> Path | None:
    """Return the ack in a `finally` through which an exception leaves, if the framework does not fail the tuple."""
    if ended.raised is None or context.component.auto_fail is not False or ended.deferral is not None:
        return None
    if ended.is_system:
        return None  # a system tuple has no tree
    token: Token | None = ended.token
    if token is None:
        return None
    last = next(completions(ended.path, token), None)
    if last is None or ended.state.tokens[token].stage is not Stage.ACKED:
        return None
    return last if last.step.way is Way.RAISE and not _raised_in_handler(ended.path) else None


def _raised_in_handler(end: Path) -> bool:
    """Whether the exception comes from an exception handler, so the work's own exception was caught."""
    thrown = raising_visit(end)
    return thrown is not None and thrown.state.caught is not None and not isinstance(thrown.step.op, Throw)


def _while_raising(context: RuleContext, flow: Flow, ended: Ended, done: Path) -> Finding:
    name = ended.token.name if ended.token is not None else "the tuple"
    return context.finding(
        context.words("finally", tup=f"`{name}`", advice=ack_after_try(f"`{name}`", context.catch)),
        at=(done.function, done.step.span),
        misuse=Misuse.EARLY,
        path=ended.path,
        token=ended.token,
        flow=flow,
        severity=_severity(context),
        confidence=Confidence.MUST,
    )


def _severity(context: RuleContext) -> Severity:
    return Severity.WARNING if context.discipline.advisory else Severity.ERROR
