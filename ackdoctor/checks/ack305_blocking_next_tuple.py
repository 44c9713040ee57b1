"""ACK305: `next_tuple` emits in a loop that never ends, so the framework's thread never returns.

A loop never ends if every way out is an exception that another thread causes, an iterator that never ends, or a flag that
no code sets while the loop runs.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import own_field
from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.facts.provenance import assigned_values, field_values, provenance
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import assigned_targets, calls_by_result, last_name, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.transfer.liveness import operands
from ackdoctor.model.cfg import (
    EXIT,
    Attr,
    Bind,
    Call,
    Catch,
    EdgeKind,
    Expr,
    Function,
    Global,
    Literal,
    Name,
    Next,
    Step,
    Test,
    Throw,
)
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


# factory of an endless iterator -> its library, and the argument that makes it end.  Sources: kafka-python 2.0.2 consumer/group.py,
# pykafka 2.8.0 simpleconsumer.py and balancedconsumer.py, redis-py client.py `PubSub.listen`, pika 1.4.4 `BlockingChannel.consume`
_ENDLESS = {
    "KafkaConsumer": ("kafka.", "consumer_timeout_ms"),
    "get_simple_consumer": ("pykafka.", "consumer_timeout_ms"),
    "get_balanced_consumer": ("pykafka.", "consumer_timeout_ms"),
    "listen": ("redis.", ""),
    "consume": ("pika.", ""),
}
# raised when another thread ends this one or the process, never by the loop's own work
_STOPS = frozenset("InterruptedException WakeupException KeyboardInterrupt SystemExit GeneratorExit".split())
_STOPPED = frozenset({"isInterrupted", "interrupted"})
_ANY = frozenset({"Exception", "BaseException", "Throwable"})
# entries that the framework never calls while the loop runs on its thread.  Sources: SpoutExecutor.java @ 04b753ef5,
# ExecutorShutdown.java @ 09e01231c: `close` comes once the thread has ended
_NOT_DURING_LOOP = (EntryKind.INIT, EntryKind.LIFE, EntryKind.ACKED, EntryKind.FAILED)
_CONSTRUCTORS = frozenset({"<init>", "<clinit>", "__init__"})


def _endless_loop(context: RuleContext, function: Function, index: int) -> int | None:
    """Return the head of the loop around a step if only an uncaught exception leads from it to the function's exit."""
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
        closed |= {(at, EdgeKind.TRUE) for at in outside}  # an error, not an end
    onwards = reachable(function, [index], frozenset(closed))
    around = (head for head in heads if head in onwards)
    return None if EXIT in onwards else min(around, default=None)


def _handlers_of(function: Function, types: frozenset[str]) -> Iterator[int]:
    """Yield the exception handlers of these types alone; a bare one catches all."""
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Catch):
            names = {name.rpartition(".")[2] for name in step.op.types} or {"BaseException"}
            if names <= types:
                yield at


def _interruptions(function: Function) -> Iterator[tuple[int, EdgeKind]]:
    """Yield the branches on which a function finds its thread interrupted."""
    calls = calls_by_result(function)
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Test):
            fact, positive = normalise(step.op.condition)
            if fact in calls and last_name(calls[fact].func) in _STOPPED:
                yield at, EdgeKind.TRUE if positive else EdgeKind.FALSE


# ---- flags that stay as they are ----


def _flags(context: RuleContext, function: Function, heads: list[int]) -> Iterator[tuple[int, EdgeKind]]:
    """Yield the exits of loops whose head tests a flag that no code can set while the loop runs."""
    for head in heads:
        step = function.cfg.steps[head]
        if not isinstance(step.op, Test):
            continue
        field = own_field(context, function, normalise(step.op.condition)[0])
        if field is not None and _is_fixed(context, field):
            yield from ((head, kind) for kind in _exits(function, head, step))


def _exits(function: Function, head: int, step: Step) -> Iterator[EdgeKind]:
    return (kind for kind, target in step.edges if target not in function.cfg.bodies[head])


def _is_fixed(context: RuleContext, field: str) -> bool:
    """Whether a field is a flag that only entries set which the framework never calls during `next_tuple`."""
    if context.component.opaque:
        return False
    entries = {
        entry.method
        for entry in context.role.entries
        if entry.kind in _NOT_DURING_LOOP and not entry.off_thread
    }
    methods = {
        id(function): function.name
        for cls in context.component.lineage
        for function in cls.methods.values()
        if function.name in entries | _CONSTRUCTORS
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
    return flag and bool(known) and not _calls_itself(context, setters - _CONSTRUCTORS)


def _calls_itself(context: RuleContext, methods: set[str]) -> bool:
    """Whether the project itself calls one of these methods, or passes it or the component to other code."""
    own_functions = {id(function) for function in context.functions()}
    for function in _all_functions(context):
        inside = id(function) in own_functions
        if not inside and function.path != context.component.cls.path:
            continue
        own = context.own_name(function) if inside else None
        for step in function.cfg.steps:
            parts = (part for expr in operands(step.op) for part in subexpressions(expr))
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
    """Yield every function of the files of the program."""
    for unit in context.program.units.values():
        tops = [unit.body, *unit.functions.values()]
        for cls in unit.classes.values():
            tops += cls.all_methods()
        for top in tops:
            yield from top.tree()


# ---- iterators that never end ----


def _never_ends(context: RuleContext, function: Function, iterable: Expr) -> bool:
    """Whether an iterable always waits for the next element."""
    calls = list(_producers(context, function, iterable))
    return bool(calls) and all(_waits(context, maker, call) for maker, call in calls)


def _waits(context: RuleContext, function: Function, call: Call) -> bool:
    match call.func:
        case Attr(name=name) | Global(id=name) if name in _ENDLESS:
            library, ending = _ENDLESS[name]
        case _:
            return False
    if any(arg.star == "**" or (ending and arg.name == ending) for arg in call.args):
        return False
    return any(behind.startswith(library) for behind in provenance(context, function, call.func))


def _producers(context: RuleContext, function: Function, expr: Expr) -> Iterator[tuple[Function, Call]]:
    """Yield the calls whose result a local or a field of the component may hold."""
    todo, seen = [(function, expr)], {expr}
    while todo:
        owner, place = todo.pop()
        for maker, value in _assigned_values(context, owner, place):
            if isinstance(value, Call):
                yield maker, value
            elif value not in seen:
                seen.add(value)
                todo.append((maker, value))


def _assigned_values(
    context: RuleContext, function: Function, place: Expr
) -> Iterator[tuple[Function, Expr | Call]]:
    field = own_field(context, function, place)
    if field is not None:
        yield from field_values(context, context.functions(), field)
    elif isinstance(place, Name):
        yield from ((function, value) for value in assigned_values(function, place))


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each endless loop in which a spout emits on the framework's thread."""
    if Misuse.NEVER_RETURNS not in context.discipline.prices:
        return
    reported: set[int] = set()
    for flow, emit in context.events(Emitted, EntryKind.NEXT):
        if emit.deferral is not None:
            continue
        for visit in emit.path.call_stack():
            loop = _endless_loop(context, visit.function, visit.index)
            if loop is None:
                continue
            head = visit.function.cfg.steps[loop]
            if id(head) not in reported:
                reported.add(id(head))
                yield context.finding(
                    context.words(method=flow.function.name, component=context.component.name),
                    at=(visit.function, head.span),
                    misuse=Misuse.NEVER_RETURNS,
                    path=visit,
                    flow=flow,
                )
