"""x"""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import own_field
from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.facts.provenance import field_values, given, provenance
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import assigned_targets, calls_by_result, last_name, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.transfer.liveness import read
from ackdoctor.model.cfg import (
    EXIT,
    Attr,
    Bind,
    Call,
    Catch,
    EdgeKind,
    Expr,
    Global,
    Literal,
    Name,
    Next,
    Step,
    Test,
    Throw,
)
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check", "endless_loop"]


# who makes it -> the library, and the argument that makes it end after all.  Read: kafka-python 2.0.2 consumer/group.py,
# pykafka 2.8.0 simpleconsumer.py and balancedconsumer.py, redis-py client.py `PubSub.listen`, pika 1.4.4 `BlockingChannel.consume`
_ENDLESS = {
    "KafkaConsumer": ("kafka.", "consumer_timeout_ms"),
    "get_simple_consumer": ("pykafka.", "consumer_timeout_ms"),
    "get_balanced_consumer": ("pykafka.", "consumer_timeout_ms"),
    "listen": ("redis.", ""),
    "consume": ("pika.", ""),
}
# thrown where somebody else ends the thread or the process, never by the work in the loop
_STOPS = frozenset("InterruptedException WakeupException KeyboardInterrupt SystemExit GeneratorExit".split())
_STOPPED = frozenset({"isInterrupted", "interrupted"})
_ANY = frozenset({"Exception", "BaseException", "Throwable"})
# what the framework calls before the loop, or on its thread between two calls.  Read: SpoutExecutor.java @ 04b753ef5,
# ExecutorShutdown.java @ 09e01231c: `close` comes once the thread has ended
_MEANWHILE_SILENT = (EntryKind.INIT, EntryKind.LIFE, EntryKind.ACKED, EntryKind.FAILED)
_BEGUN = frozenset({"<init>", "<clinit>", "__init__"})


def endless_loop(context: RuleContext, function: Function, index: int) -> int | None:
    """The head of the loop that a step is in, if no way leads from there to the function's end but an exception that nobody catches."""
    steps = function.cfg.steps
    heads = [head for head, body in function.cfg.bodies.items() if index in body]
    if not heads:
        return None
    endless = [
        head
        for head in heads
        if isinstance(op := steps[head].op, Next) and _never_ends(context, function, op.iterable)
    ]
    closed = {(head, EdgeKind.FALSE) for head in endless}
    closed |= {(at, EdgeKind.TRUE) for at in _handlers_of(function, _STOPS)}
    closed |= set(_interruptions(function)) | set(_flags(context, function, heads))
    if endless and not any(isinstance(steps[at].op, Throw) for at in function.cfg.bodies[endless[0]]):
        outside = set(_handlers_of(function, _ANY)) - set(function.cfg.bodies[endless[0]])
        closed |= {(at, EdgeKind.TRUE) for at in outside}  # it fails, it does not end
    onwards = reachable(function, [index], frozenset(closed))
    around = (head for head in heads if head in onwards)
    return None if EXIT in onwards else min(around, default=None)


def _handlers_of(function: Function, types: frozenset[str]) -> Iterator[int]:
    """The handlers of these types alone; a bare one is for any."""
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Catch):
            names = {name.rpartition(".")[2] for name in step.op.types} or {"BaseException"}
            if names <= types:
                yield at


def _interruptions(function: Function) -> Iterator[tuple[int, EdgeKind]]:
    """Where a function asks whether its thread is told to stop, and is."""
    made = calls_by_result(function)
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Test):
            fact, positive = normalise(step.op.condition)
            if fact in made and last_name(made[fact].func) in _STOPPED:
                yield at, EdgeKind.TRUE if positive else EdgeKind.FALSE


# ---- flags that nobody sets meanwhile ----


def _flags(context: RuleContext, function: Function, heads: list[int]) -> Iterator[tuple[int, EdgeKind]]:
    """The ways out of loops at whose head a flag is asked that nobody can set while they go round: who is in, stays in."""
    for head in heads:
        step = function.cfg.steps[head]
        if not isinstance(step.op, Test):
            continue
        field = own_field(context, function, normalise(step.op.condition)[0])
        if field is not None and _stays(context, field):
            yield from ((head, kind) for kind in _out(function, head, step))


def _out(function: Function, head: int, step: Step) -> Iterator[EdgeKind]:
    return (kind for kind, target in step.edges if target not in function.cfg.bodies[head])


def _stays(context: RuleContext, field: str) -> bool:
    """Whether a field is a flag, which nothing sets but what the framework calls when `next_tuple` is not running."""
    if context.component.opaque:
        return False
    entries = {
        entry.method
        for entry in context.role.entries
        if entry.kind in _MEANWHILE_SILENT and not entry.off_thread
    }
    methods = {
        id(function): function.name
        for cls in context.component.lineage
        for function in cls.methods.values()
        if function.name in entries | _BEGUN
    }
    values = [context.component.attribute(field)]
    setters: set[str] = set()
    for function in _all_functions(context):
        for step in function.cfg.steps:
            if any(isinstance(target, Attr) and target.name == field for target in assigned_targets(step.op)):
                if id(function) not in methods or not isinstance(step.op, Bind):
                    return False
                values.append(step.op.value)
                setters.add(methods[id(function)])
    known = [value for value in values if value is not None]
    flag = all(isinstance(value, Literal) and isinstance(value.value, bool) for value in known)
    return flag and bool(known) and not _handed_on(context, setters - _BEGUN)


def _handed_on(context: RuleContext, methods: set[str]) -> bool:
    """Whether the project calls one of these methods itself, or gives it or the component to somebody."""
    own_functions = {id(function) for function in context.functions()}
    for function in _all_functions(context):
        inside = id(function) in own_functions
        if not inside and function.path != context.component.cls.path:
            continue
        own = context.own_name(function) if inside else None
        for step in function.cfg.steps:
            parts = (part for expr in read(step.op) for part in subexpressions(expr))
            named = (part for part in parts if isinstance(part, Attr) and part.name in methods)
            if any(own is None or part.obj == own for part in named):
                return True
            match step.op:
                case Call(func=func, args=args) if own is not None and last_name(func) != "super":
                    if any(arg.value == own for arg in args):
                        return True
                case _:
                    pass
    return False


def _all_functions(context: RuleContext) -> Iterator[Function]:
    """Every function of the files that are read together."""
    for unit in context.program.units.values():
        tops = [unit.body, *unit.functions.values()]
        for cls in unit.classes.values():
            tops += cls.all_methods()
        for top in tops:
            yield from top.tree()


# ---- iterations ----


def _never_ends(context: RuleContext, function: Function, iterable: Expr) -> bool:
    """Whether an iteration waits for the next element, however long that takes."""
    made = list(_made(context, function, iterable))
    return bool(made) and all(_waits(context, maker, call) for maker, call in made)


def _waits(context: RuleContext, function: Function, call: Call) -> bool:
    match call.func:
        case Attr(name=name) | Global(id=name) if name in _ENDLESS:
            library, ending = _ENDLESS[name]
        case _:
            return False
    if any(arg.star == "**" or (ending and arg.name == ending) for arg in call.args):
        return False
    return any(behind.startswith(library) for behind in provenance(context, function, call.func))


def _made(context: RuleContext, function: Function, expr: Expr) -> Iterator[tuple[Function, Call]]:
    """The calls that give a local, or a field of the component, its value."""
    todo, seen = [(function, expr)], {expr}
    while todo:
        owner, place = todo.pop()
        for maker, value in _values(context, owner, place):
            if isinstance(value, Call):
                yield maker, value
            elif value not in seen:
                seen.add(value)
                todo.append((maker, value))


def _values(context: RuleContext, function: Function, place: Expr) -> Iterator[tuple[Function, Expr | Call]]:
    field = own_field(context, function, place)
    if field is not None:
        yield from field_values(context, context.functions(), field)
    elif isinstance(place, Name):
        yield from ((function, value) for value in given(function, place))


def check(context: RuleContext) -> Iterator[Finding]:
    """One finding for each loop without end that a spout emits in while the framework waits for it."""
    if Misuse.NEVER_RETURNS not in context.discipline.prices:
        return
    told: set[int] = set()
    for flow, emit in context.events(Emitted, EntryKind.NEXT):
        if emit.deferral is not None:
            continue
        for visit in emit.path.call_stack():
            loop = endless_loop(context, visit.function, visit.index)
            if loop is None:
                continue
            head = visit.function.cfg.steps[loop]
            if id(head) not in told:
                told.add(id(head))
                yield context.finding(
                    at=(visit.function, head.span),
                    message=f"`{flow.function.name}` of {context.component.name} never returns from this loop",
                    misuse=Misuse.NEVER_RETURNS,
                    path=visit,
                    last="emitted, and round again: nothing leaves the loop",
                    flow=flow,
                    help="emit what is there and return; the framework calls again at once",
                )
