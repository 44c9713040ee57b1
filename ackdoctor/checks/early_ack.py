"""ACK107: a tuple is acked while its work can still fail: on another thread, after the ack, or before a `finally`."""

from collections.abc import Iterator
from itertools import takewhile

from ackdoctor.checks.facts.dataflow import definition, mentions_any, tuple_names
from ackdoctor.checks.facts.fields import uses_resource
from ackdoctor.checks.facts.handlers import has_no_remedy, is_of_library
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back
from ackdoctor.flow.expressions import (
    assigned_targets,
    callee_text,
    calls_by_result,
    last_name,
    memoize,
    name_words,
    operands,
    subexpressions,
)
from ackdoctor.flow.transfer.effects import cleanup_calls
from ackdoctor.flow.values import Token, TokenKind
from ackdoctor.flow.witness import completions, line_text, raising_visit
from ackdoctor.libraries.vocabulary import (
    AMBIGUOUS_EXECUTORS,
    CLIENT_CALLBACKS,
    EXECUTORS,
    LOGGING,
    METRICS,
    PURE_CALLS,
    TASK_METHODS,
    THREAD_CLASSES,
    THREADS,
)
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    ClassInfo,
    Closure,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Name,
    Test,
    Throw,
    Way,
)
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage
from ackdoctor.rulebook import Words
from ackdoctor.rulebook.advice import ack_after_try

_STARTS = THREADS | {"create_task", "ensure_future", "run_async", "defer"} - {"add_done_callback"}
_WAITS = frozenset(
    "join result exception wait gather as_completed get run run_until_complete shutdown wait_for done __exit__ "
    "is_alive isAlive isDone cancel invokeAll invokeAny await awaitTermination getUnchecked".split()
)
_COROUTINES = frozenset("create_task ensure_future run_coroutine_threadsafe".split())
_WRITES = frozenset(
    "insert insertOne insertMany insert_one insert_many insert_row update_one updateOne upsert replace_one replaceOne "
    "write writeRow write_row save store persist put_item putItem put_record putRecord put_object putObject "
    "execute executemany executeUpdate execute_async executeAsync post publish upload index bulk".split()
)
_FILE_WRITES = frozenset("write append".split())  # they may keep the data in memory
_REMOTE_WRITES = frozenset(  # names of collections and of requests, too
    "set setex psetex setnx mset hset hsetnx hmset sadd zadd xadd rpush lpush update append put patch "
    "send send_message sendmail produce incr incrby incrBy incrbyfloat incrByFloat decr decrby decrBy "
    "hincrby hincrBy hincrbyfloat hincrByFloat zincrby".split()
)
_ERRBACKS = frozenset({"add_errback"})  # of a future of a client, which calls them on its own thread
_DELIVERY = frozenset({"on_delivery", "callback"})  # parameters of `produce` of confluent-kafka
_LATER = {Op.ACK: ("acks", Misuse.TWICE), Op.FAIL: ("fails", Misuse.MIXED)}
_WORK = (None, "target", "function", "func", "fn")  # names of the parameter that takes the code to run


def ack107_ack_before_done(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each ack before the work begins or ends, and for each in `finally` while an exception leaves.

    If the framework acks, the finding is at the call that starts the work.
    """
    auto = context.component.auto_ack
    for flow, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        token = done.token
        if token is None or done.tick.is_system or token.kind is TokenKind.STORED:
            continue
        early = done.breach is None if auto else done.deferral is None
        started = (
            _started(context, flow, done) if early and done.op is (Op.AUTO_ACK if auto else Op.ACK) else None
        )
        if started is None:
            continue
        at, op = started if auto else done, started.step.op
        sent = isinstance(op, Call) and is_of_library(context, started.function, op)  # most sends arrive
        if context.is_first((at.function, at.step.span.line)):
            yield context.finding(
                _words(context, flow, done, token, started),
                Misuse.EARLY,
                at,
                flow=flow,
                path=done.path,
                token=token,
                severity=_severity(context),
                confidence=Confidence.MAY if sent else None,
            )
    if not auto:
        for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
            yield from _in_finally(context, flow, ended)
            yield from _before_work(context, flow, ended)
            yield from _before_close(context, flow, ended)


def _severity(context: RuleContext) -> Severity:
    return Severity.WARNING if context.discipline.advisory else Severity.ERROR


# ---- work that still runs ----


def _words(context: RuleContext, flow: Flow, done: Completed, token: Token, started: Path) -> Words:
    op, tup = started.step.op, token.words
    call = callee_text(op.func) if isinstance(op, Call) else "this"
    if context.component.auto_ack:
        handler, by_hand = flow.function.name, context.role.by_hand
        return context.words("auto-ack", tup=tup, handler=handler, call=call, by_hand=by_hand)
    again = ""
    for _, later in context.events(Completed):
        runs = later.deferral is not None and later.deferral.step is started.step
        if not again and runs and later.op in _LATER and later.token == token:
            does, misuse = _LATER[later.op]
            line, price = later.step.span.line, context.price(misuse)
            again = context.phrase("again", does=does, line=line, price=price)
    return context.words(tup=tup, call=call, line=line_text(started, done.function), again=again)


def _started(context: RuleContext, flow: Flow, done: Completed) -> Path | None:
    """Return the last call before the ack that started work on the tuple's data; None if the path waited for it."""
    late = {id(each.deferral.step) for each in _completions_later(flow, done) if each.deferral is not None}
    if not late and not any(map(_may_start, flow.functions)):
        return None
    flushed = False
    for visit, after, _ in points_back(done.path):
        call = visit.step.op
        if after is None or not isinstance(call, Call):
            continue
        name = last_name(call.func)
        if id(visit.step) in late and after.via is not EdgeKind.RAISE and not _lacks_callback(visit, call):
            return visit
        if name in _WAITS:
            return None
        flushed = flushed or name == "flush"
        sent = None if flushed else _sent_with_listener(context, flow, visit, call)
        if sent is not None:
            return sent
        if (name in _STARTS and not is_scoped(call.func) and _runs_code(context, flow, visit, call)) or (
            _may_run_later(context, visit.function, call) and _runs_closure(flow, visit, call)
        ):
            return visit
    return None


def _sent_with_listener(context: RuleContext, flow: Flow, visit: Path, call: Call) -> Path | None:
    """Return the call of a client that sends the tuple's data later, if its listener for errors only logs."""
    if not isinstance(call.func, Attr):
        return None
    sent: Path | None = visit
    listeners = [arg.value for arg in call.args if arg.name in _DELIVERY]
    if call.func.name in _ERRBACKS:
        listeners = [arg.value for arg in call.args[:1]]
        found = definition(visit, call.func.obj)
        while (
            found is not None
            and isinstance(found.value, Call)
            and last_name(found.value.func) in CLIENT_CALLBACKS
        ):
            future = found.value.func
            found = definition(found.visit, future.obj) if isinstance(future, Attr) else None
        sent = found.visit if found is not None else None
    if not listeners or sent is None or not isinstance(sent.step.op, Call):
        return None
    data = tuple_names(flow, sent.function)
    with_data = any(mentions_any(arg.value, data) for arg in sent.step.op.args)
    remote = isinstance(sent.step.op.func, Attr) and context.is_remote(sent.function, sent.step.op.func.obj)
    return (
        sent
        if with_data and remote and all(_only_logs(context, visit.function, each) for each in listeners)
        else None
    )


def _only_logs(context: RuleContext, function: Function, listener: Expr) -> bool:
    """Whether code of the project that a client calls does nothing about a failure."""
    code = context.code_of(function, listener)
    if code is None:
        return False
    steps = code.cfg.steps
    keeps = any(isinstance(each, Attr | Item) for step in steps for each in assigned_targets(step.op))
    throws = any(isinstance(step.op, Throw) for step in steps)
    return not keeps and not throws and has_no_remedy(context, code, range(len(steps)))


def _lacks_callback(visit: Path, call: Call) -> bool:
    """Whether an argument of a call is a local that is null on this path: it passes no callback."""
    values = (definition(visit, arg.value) for arg in call.args if isinstance(arg.value, Name))
    return any(found is not None and found.value == Literal(None) for found in values)


def _may_run_later(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether code among the arguments may still run when the handler acks, which has kept nothing to wait for."""
    name = last_name(call.func)
    if name in AMBIGUOUS_EXECUTORS and not context.runs_on_thread(function, call):
        return False
    return name in EXECUTORS | THREAD_CLASSES and (call.dropped or not _is_kept(function, call))


def _is_kept(function: Function, call: Call) -> bool:
    """Whether a function stores, returns or passes on the result of a call, or compares it."""
    names = {call.result.id}
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Name(id=target), value=Name(id=value)) if value in names:
                names.add(target)
            case Call(func=Attr(obj=Name(id=receiver)), args=args) if receiver in names:
                if any(mentions_any(arg.value, frozenset(names)) for arg in args):
                    return True
            case op if any(mentions_any(value, frozenset(names)) for value in operands(op)):
                return True
            case _:
                pass
    return any(names & inner.captures for inner in function.closures.values())


def _completions_later(flow: Flow, done: Completed) -> Iterator[Completed]:
    """Yield the completions of the same tuple in callbacks that run after the call which got them."""
    for event in flow.events:
        later = isinstance(event, Completed) and event.deferral is not None and event.deferral.asynchronous
        if later and isinstance(event, Completed) and event.op in _LATER and event.token == done.token:
            yield event


@memoize
def _may_start(function: Function) -> bool:
    """Whether a function has a call that may start work."""
    names = _STARTS | EXECUTORS | _ERRBACKS | {"produce"}
    return any(last_name(call.func) in names for call in calls_by_result(function).values())


def is_scoped(func: Expr) -> bool:
    """Whether the runner is a local: the `with` block around it waits at its end."""
    return isinstance(func, Attr) and isinstance(func.obj, Name) and func.obj.id not in ("self", "loop")


def _runs_closure(flow: Flow, visit: Path, call: Call) -> bool:
    """Whether a runner gets a closure that reads the tuple's data."""
    derived = tuple_names(flow, visit.function)
    for arg in call.args:
        found = definition(visit, arg.value)
        work = found.value if found is not None else arg.value
        for part in work.items if isinstance(work, Build) else (work,):
            inner = visit.function.closures.get(part.key) if isinstance(part, Closure) else None
            if inner is not None and inner.captures & derived:
                return True
    return False


def _runs_code(context: RuleContext, flow: Flow, visit: Path, call: Call) -> bool:
    """Whether the call gets the tuple's data and code to run; a client or a job queue (Celery) gets only data."""
    derived = tuple_names(flow, visit.function)
    if not any(mentions_any(arg.value, derived) for arg in call.args):
        return False
    if last_name(call.func) in _COROUTINES:
        return True
    work = next((arg.value for arg in call.args if arg.name in _WORK and not arg.star), None)
    if work is None or not mentions_any(work, derived):
        return work is not None
    found = definition(visit, work)
    if found is None or not isinstance(found.value, Call):
        return False
    classes = context.resolve(found.visit.function, found.value.func)
    is_task = any(isinstance(each, ClassInfo) and each.methods.keys() & set(TASK_METHODS) for each in classes)
    return is_task or last_name(found.value.func) == "partial"


# ---- an ack in finally ----


def _in_finally(context: RuleContext, flow: Flow, ended: Ended) -> Iterator[Finding]:
    """Yield the ack in a `finally` through which an exception leaves, if the framework does not fail the tuple."""
    token = ended.token
    if ended.raised is None or context.component.auto_fail is not False or ended.deferral is not None:
        return
    if token is None or ended.is_system:
        return
    done = next(completions(ended.path, token), None)
    if done is None or done.step.way is not Way.RAISE or ended.state.tokens[token].stage is not Stage.ACKED:
        return
    thrown = raising_visit(ended.path)
    if thrown is not None and thrown.state.caught is not None and not isinstance(thrown.step.op, Throw):
        return  # the exception comes from an exception handler: that of the work was caught
    if thrown is not None and thrown.index in cleanup_calls(thrown.function):
        return  # the work has ended
    after = takewhile(lambda visit: visit is not thrown, (visit for visit, _, _ in points_back(ended.path)))
    is_caught = any(isinstance(visit.step.op, Catch) for visit in after)  # unless it is of another class
    if context.is_first((done.function, done.step.span.line)):
        yield context.finding(
            context.words(
                "finally",
                tup=f"`{token.name}`",
                advice=ack_after_try(f"`{token.name}`", context.notation.catch),
            ),
            Misuse.EARLY,
            done,
            flow=flow,
            path=ended.path,
            token=token,
            severity=_severity(context),
            confidence=Confidence.MAY if is_caught else Confidence.MUST,
        )


# ---- an ack before the work ----


def _before_close(context: RuleContext, flow: Flow, ended: Ended) -> Iterator[Finding]:
    """Yield the ack inside a block at whose end a file is closed that may still hold the tuple's data in memory."""
    token = ended.token
    if token is None or ended.raised is not None or ended.is_system or ended.deferral is not None:
        return
    acks = list(completions(ended.path, token)) if any(map(_may_close, flow.functions)) else []
    if len(acks) != 1:
        return
    [done] = acks
    visits = [visit for visit, _, _ in points_back(ended.path)]  # last first
    at = visits.index(done)
    calls = [call for visit in visits[:at] if (call := _call_on_local(visit)) is not None]
    closed = {local for local, name, _ in calls if name == "close"}
    for visit in visits[at:] if closed else ():
        local, name, args = _call_on_local(visit) or (None, "", ())
        if name in ("flush", "close"):
            closed.discard(local)
        if (
            local is None
            or local not in closed
            or name not in _FILE_WRITES
            or visit.function is not done.function
        ):
            continue
        derived = tuple_names(flow, visit.function)
        with_data = any(mentions_any(arg.value, derived) for arg in args)
        if (
            with_data
            and context.is_remote(visit.function, local)
            and context.is_first((done.function, done.step.span.line))
        ):
            yield context.finding(
                context.words("close", tup=token.words, name=local.id),
                Misuse.EARLY,
                done,
                flow=flow,
                path=ended.path,
                token=token,
                severity=_severity(context),
                confidence=Confidence.MAY,
            )


@memoize
def _may_close(function: Function) -> bool:
    """Whether a function closes something."""
    return any(last_name(call.func) == "close" for call in calls_by_result(function).values())


def _call_on_local(visit: Path) -> tuple[Name, str, tuple[Arg, ...]] | None:
    """Return the local, the method and the arguments of a call."""
    match visit.step.op:
        case Call(func=Attr(obj=Name() as local, name=name), args=args):
            return local, name, args
        case _:
            return None


def _before_work(context: RuleContext, flow: Flow, ended: Ended) -> Iterator[Finding]:
    """Yield the ack before all work on a tuple, if the first work after it writes the tuple's data to a resource."""
    token = ended.token
    if token is None or token.kind is not TokenKind.INPUT or ended.raised is not None or ended.is_system:
        return
    acks = list(completions(ended.path, token))
    if not acks or ended.deferral is not None or ended.state.tokens[token].stage is not Stage.ACKED:
        return
    done = acks[-1]
    visits = [visit for visit, _, _ in points_back(ended.path)]  # last first
    at = visits.index(done)
    if any(_is_work(context, flow, visit) or _asks_field(context, visit) for visit in visits[at + 1 :]):
        return  # what follows is of less importance, such as a notice; or a setting chooses the early ack
    work = next((visit for visit in reversed(visits[:at]) if _is_write(context, flow, visit)), None)
    if work is not None and context.is_first((done.function, done.step.span.line)):
        call = callee_text(work.step.op.func) if isinstance(work.step.op, Call) else ""
        words = context.words("work", tup=f"`{token.name}`", call=call, line=line_text(work, done.function))
        yield context.finding(
            words,
            Misuse.EARLY,
            done,
            flow=flow,
            path=ended.path,
            token=token,
            severity=Severity.WARNING,
            confidence=Confidence.MAY,
        )


def _asks_field(context: RuleContext, visit: Path) -> bool:
    """Whether a step tests a field of the component."""
    op = visit.step.op
    parts = subexpressions(op.condition) if isinstance(op, Test) else ()
    return any(context.field(visit.function, part) is not None for part in parts)


def _is_work(context: RuleContext, flow: Flow, visit: Path) -> bool:
    """Whether a step emits, or passes data of the tuple to a resource or to code whose result it drops."""
    call, function = visit.step.op, visit.function
    if not isinstance(call, Call) or context.own_method(function, call.func) is not None:
        return False  # the path has the steps of its own methods
    if context.verb_kind(function, call) in (VerbKind.EMIT, VerbKind.EMIT_MANY):
        return True
    derived = tuple_names(flow, function)
    if last_name(call.func) in LOGGING | PURE_CALLS or not any(
        mentions_any(arg.value, derived) for arg in call.args
    ):
        return False
    return call.dropped or uses_resource(context, function, call, visit.entry.before)


def _is_write(context: RuleContext, flow: Flow, visit: Path) -> bool:
    """Whether a step writes data of the tuple, more than its id, to a resource that may fail."""
    call, function = visit.step.op, visit.function
    if not isinstance(call, Call) or not isinstance(call.func, Attr):
        return False
    derived, name = tuple_names(flow, function), call.func.name
    data = [arg.value for arg in call.args if not (isinstance(arg.value, Attr) and arg.value.name == "id")]
    if not any(mentions_any(value, derived) for value in data):
        return False
    if not uses_resource(context, function, call, visit.entry.before):
        return False
    words = {word for part in subexpressions(call.func) for word in name_words(last_name(part))}
    if words & METRICS or context.project_class(function, call.func.obj) is not None:
        return False
    remote = name in _REMOTE_WRITES and context.is_remote(function, call.func.obj)
    return context.verb_kind(function, call) is None and (name in _WRITES or remote)
