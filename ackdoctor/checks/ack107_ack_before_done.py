"""ACK107: the tuple is acked while its work can still fail."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, given_names, mentions_any, origin
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.expressions import callee_text, last_name, memoize
from ackdoctor.flow.library import EXECUTORS, THREADS
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import completions, line_text, raising_visit
from ackdoctor.model.advice import ack_after_try
from ackdoctor.model.cfg import Attr, Build, Call, Closure, Expr, Name, Throw, Way
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage

__all__ = ["check"]

_STARTS = THREADS | {"create_task", "ensure_future", "run_async", "defer"} - {"add_done_callback"}
_WAITS = frozenset(
    "join result exception wait gather as_completed get run run_until_complete shutdown wait_for done __exit__ "
    "is_alive isAlive cancel".split()
)
_COROUTINES = frozenset("create_task ensure_future run_coroutine_threadsafe".split())
_LATER = {Op.ACK: ("acks", Misuse.TWICE), Op.FAIL: ("fails", Misuse.MIXED)}
_WORK = (None, "target", "function", "func", "fn")  # how the parameter is called that is to be run


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each ack that does not wait for work started, or that a finally gives while raising."""
    if context.component.auto_ack:
        yield from _by_the_framework(context)
        return
    told: set[tuple[object, int]] = set()
    for flow, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is not Op.ACK or done.token is None or done.tick.is_system or done.deferral is not None:
            continue
        if done.token.kind is TokenKind.STORED or (id(done.function), done.step.span.line) in told:
            continue
        started = _started(flow, done)
        if started is not None:
            told.add((id(done.function), done.step.span.line))
            yield _too_early(context, flow, done, started)
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        done_at = _in_finally(context, ended)
        if done_at is not None and (id(done_at.function), done_at.step.span.line) not in told:
            told.add((id(done_at.function), done_at.step.span.line))
            yield _while_raising(context, flow, ended, done_at)


# ---- work that still runs ----


def _by_the_framework(context: RuleContext) -> Iterator[Finding]:
    """One finding for each start of work that the framework's own ack does not wait for."""
    told: set[int] = set()
    for flow, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is not Op.AUTO_ACK or done.token is None or done.tick.is_system or done.breach is not None:
            continue
        started = _started(flow, done)
        if started is None or id(started.step) in told:
            continue
        told.add(id(started.step))
        assert isinstance(started.step.op, Call)
        yield context.finding(
            at=(started.function, started.step.span),
            message=f"{done.token.words} is acked when {flow.function.name} returns, while the work that "
            f"{callee_text(started.step.op.func)} starts still runs",
            misuse=Misuse.EARLY,
            path=done.path,
            token=done.token,
            last="the framework acks, nothing waited for the work",
            flow=flow,
            severity=_severity(context),
            help=f"{context.role.by_hand}: keep tuple and future together and complete them at a later tick; or wait first",
        )


def _started(flow: Flow, done: Completed) -> Path | None:
    """The last visit on the way to the ack that started work with the tuple's data, if nothing waited for it."""
    if not any(map(_starts, flow.functions)):
        return None
    for visit, after, _ in points_back(done.path):
        if after is None or not isinstance(visit.step.op, Call):
            continue
        call = visit.step.op
        name = last_name(call.func)
        if name in _WAITS:
            return None
        if (name in _STARTS and not _scoped(call.func) and _about_tuple(flow, visit, call)) or (
            name in EXECUTORS and _runs_closure(flow, visit, call)
        ):
            return visit
    return None


@memoize
def _starts(function: Function) -> bool:
    """Whether there is a call in a function that may start work."""
    calls = (step.op for step in function.cfg.steps if isinstance(step.op, Call))
    return any(last_name(call.func) in _STARTS | EXECUTORS for call in calls)


def _scoped(func: Expr) -> bool:
    """Whether the runner is a local one: a `with` block around it waits at its end."""
    return isinstance(func, Attr) and isinstance(func.obj, Name) and func.obj.id not in ("self", "loop")


def _runs_closure(flow: Flow, visit: Path, call: Call) -> bool:
    """Whether a call that runs what it is given is given code that reads the tuple's data and completes nothing itself."""
    derived = derived_names(visit.function, given_names(flow, visit.function))
    for arg in call.args:
        found = origin(visit, arg.value) if isinstance(arg.value, Name) else None
        work = found.made if found is not None else arg.value
        parts = work.items if isinstance(work, Build) else (work,)
        for part in parts:
            inner = visit.function.closures.get(part.key) if isinstance(part, Closure) else None
            if inner is not None and inner.captures & derived and call.dropped:
                return True
    return False


def _about_tuple(flow: Flow, visit: Path, call: Call) -> bool:
    derived = derived_names(visit.function, given_names(flow, visit.function))
    return any(mentions_any(arg.value, derived) for arg in call.args) and _runs_here(visit, call, derived)


def _runs_here(visit: Path, call: Call, derived: frozenset[str]) -> bool:
    """Whether the call is given something to run: a client and a job queue (Celery) are given the data alone."""
    if last_name(call.func) in _COROUTINES:
        return True
    work = next((arg.value for arg in call.args if arg.name in _WORK and not arg.star), None)
    if work is None or not mentions_any(work, derived):
        return work is not None
    found = origin(visit, work)
    return found is not None and isinstance(found.made, Call) and last_name(found.made.func) == "partial"


def _too_early(context: RuleContext, flow: Flow, done: Completed, started: Path) -> Finding:
    assert done.token is not None  # the caller looked
    assert isinstance(started.step.op, Call)
    work = callee_text(started.step.op.func)
    return context.finding(
        at=(done.function, done.step.span),
        message=f"{done.token.words} is acked while the work that {work} started on {line_text(started, done.function)} still runs"
        f"{_and_again(context, started, done.token)}",
        misuse=Misuse.EARLY,
        path=done.path,
        token=done.token,
        last="acked, nothing waited for the work",
        flow=flow,
        severity=_severity(context),
        help="wait for the result first, or keep tuple and future together and complete them at a later tick",
    )


def _and_again(context: RuleContext, started: Path, token: Token) -> str:
    """What is said where the work that was started completes the tuple as well."""
    for _, later in context.events(Completed):
        if later.deferral is None or later.deferral.step is not started.step or later.op not in _LATER:
            continue
        verb, misuse = _LATER[later.op]
        if later.token == token:
            return f", and {verb} it on line {later.step.span.line} ({context.price(misuse)})"
    return ""


# ---- an ack in finally ----


def _in_finally(context: RuleContext, ended: Ended) -> Path | None:
    """The ack in a finally block through which an exception leaves, where the framework does not fail the tuple."""
    if ended.raised is None or context.component.auto_fail is not False or ended.deferral is not None:
        return None
    if ended.is_system:
        return None  # it has no tree: its ack promises nothing
    token: Token | None = ended.token
    if token is None:
        return None
    last = next(completions(ended.path, token), None)
    if last is None or ended.state.tokens[token].stage is not Stage.ACKED:
        return None
    return last if last.step.way is Way.RAISE and not _from_a_handler(ended.path) else None


def _from_a_handler(end: Path) -> bool:
    """Whether all that leaves is what a handler might raise by itself: the work's own exception was caught."""
    thrown = raising_visit(end)
    return thrown is not None and thrown.state.caught is not None and not isinstance(thrown.step.op, Throw)


def _while_raising(context: RuleContext, flow: Flow, ended: Ended, done: Path) -> Finding:
    name = ended.token.name if ended.token is not None else "the tuple"
    return context.finding(
        at=(done.function, done.step.span),
        message=f"`finally` acks `{name}` although an exception is on its way out",
        misuse=Misuse.EARLY,
        path=ended.path,
        token=ended.token,
        last="the exception leaves, the ack is out",
        flow=flow,
        severity=_severity(context),
        confidence=Confidence.MUST,
        help=ack_after_try(f"`{name}`", context.catch),
    )


def _severity(context: RuleContext) -> Severity:
    return Severity.WARNING if context.discipline.advisory else Severity.ERROR
