"""ACK305: `next_tuple` emits in a loop that never ends, so the framework's thread never returns.

A loop never ends if every way out is an exception that another thread causes, an iterator that never ends, or a flag that
no code sets while the loop runs.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.facts.spouts import provenance, values_of
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import calls_by_result, last_name, operands, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.symbols import attribute_assignments
from ackdoctor.libraries.vocabulary import STOPS
from ackdoctor.model.cfg import EXIT, Attr, Call, Catch, EdgeKind, Expr, Function, Literal, Next, Test, Throw
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding

# factory of an endless iterator -> its library, and the argument that makes it end.  Sources: kafka-python 2.0.2 consumer/group.py,
# pykafka 2.8.0 simpleconsumer.py and balancedconsumer.py, redis-py client.py `PubSub.listen`, pika 1.4.4 `BlockingChannel.consume`
_ENDLESS = {
    "KafkaConsumer": ("kafka.", "consumer_timeout_ms"),
    "get_simple_consumer": ("pykafka.", "consumer_timeout_ms"),
    "get_balanced_consumer": ("pykafka.", "consumer_timeout_ms"),
    "listen": ("redis.", ""),
    "consume": ("pika.", ""),
}
_STOPPED = frozenset({"isInterrupted", "interrupted"})
_ANY = frozenset({"Exception", "BaseException", "Throwable"})
# entries that the framework never calls while the loop runs on its thread.  Sources: SpoutExecutor.java @ 04b753ef5,
# ExecutorShutdown.java @ 09e01231c: `close` comes once the thread has ended
_NOT_DURING_LOOP = (EntryKind.INIT, EntryKind.LIFE, EntryKind.ACKED, EntryKind.FAILED)
_CONSTRUCTORS = frozenset({"<init>", "<clinit>", "__init__"})


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each endless loop in which a spout emits on the framework's thread."""
    if Misuse.NEVER_RETURNS not in context.discipline.prices:
        return
    for flow, emit in context.events(Emitted, EntryKind.NEXT):
        for visit in emit.path.call_stack() if emit.deferral is None else ():
            loop = _endless_loop(context, visit.function, visit.index)
            if loop is not None and context.is_first((visit.function, loop)):
                words = context.words(method=flow.function.name, component=context.component.name)
                at = (visit.function, visit.function.cfg.steps[loop].span)
                yield context.finding(words, Misuse.NEVER_RETURNS, at, flow=flow, path=visit)


def _endless_loop(context: RuleContext, function: Function, index: int) -> int | None:
    """Return the head of the loop around a step if only an uncaught exception leads from it to the function's exit."""
    heads = [head for head, body in function.cfg.bodies.items() if index in body]
    if not heads:
        return None
    closed = {*_interruptions(function)}
    closed |= {(at, EdgeKind.TRUE) for at in _handlers_of(function, STOPS)}
    for head in heads:
        step, body = function.cfg.steps[head], function.cfg.bodies[head]
        if isinstance(step.op, Next) and _never_ends(context, function, step.op.iterable):
            closed.add((head, EdgeKind.FALSE))
            if not any(isinstance(function.cfg.steps[at].op, Throw) for at in body):
                outside = set(_handlers_of(function, _ANY)) - set(body)
                closed |= {(at, EdgeKind.TRUE) for at in outside}  # an error, not an end
        elif isinstance(step.op, Test):
            field = context.own_field(function, normalise(step.op.condition)[0])
            if field is not None and _is_fixed(context, field):
                closed |= {(head, kind) for kind, target in step.edges if target not in body}
    onwards = reachable(function, [index], closed)
    return None if EXIT in onwards else min((head for head in heads if head in onwards), default=None)


def _handlers_of(function: Function, types: frozenset[str]) -> Iterator[int]:
    """Yield the exception handlers of these types alone; a bare one catches all."""
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Catch):
            names = {name.rpartition(".")[2] for name in step.op.types} or {"BaseException"}
            if names <= types:
                yield at


def _interruptions(function: Function) -> Iterator[tuple[int, EdgeKind]]:
    """Yield the branches on which a function finds its thread interrupted."""
    for at, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Test):
            fact, positive = normalise(step.op.condition)
            call = calls_by_result(function).get(fact)
            if call is not None and last_name(call.func) in _STOPPED:
                yield at, EdgeKind.TRUE if positive else EdgeKind.FALSE


# ---- flags that stay as they are ----


def _is_fixed(context: RuleContext, field: str) -> bool:
    """Whether a field is a flag that only entries set which the framework never calls during `next_tuple`."""
    entries = {
        entry.method
        for entry in context.role.entries
        if entry.kind in _NOT_DURING_LOOP and not entry.off_thread
    }
    methods = (method for cls in context.component.lineage for method in cls.methods.values())
    allowed = {method for method in methods if method.name in entries | _CONSTRUCTORS}
    assigned = [
        (function, each.value)
        for function in _all_functions(context)
        for each in attribute_assignments(function)
        if each.name == field
    ]
    default = context.component.attribute(field)
    values = [value for _, value in assigned] + ([default] if default is not None else [])
    is_flag = values and all(isinstance(each, Literal) and isinstance(each.value, bool) for each in values)
    if not is_flag or context.component.opaque or any(function not in allowed for function, _ in assigned):
        return False
    return not _calls_itself(context, {function.name for function, _ in assigned} - _CONSTRUCTORS)


def _calls_itself(context: RuleContext, methods: set[str]) -> bool:
    """Whether the project itself calls one of these methods, or passes it or the component to other code."""
    for function in _all_functions(context):
        inside = function in context.functions
        if not inside and function.path != context.component.cls.path:
            continue
        own = context.own_names.get(function) if inside else None
        for step in function.cfg.steps:
            for part in (part for expr in operands(step.op) for part in subexpressions(expr)):
                if isinstance(part, Attr) and part.name in methods and (own is None or part.obj == own):
                    return True
            passes = isinstance(step.op, Call) and last_name(step.op.func) != "super"
            if own is not None and passes and own in operands(step.op)[1:]:
                return True
    return False


def _all_functions(context: RuleContext) -> Iterator[Function]:
    """Yield every function of the files of the program."""
    for unit in context.program.units.values():
        methods = (method for cls in unit.classes.values() for method in cls.all_methods())
        for top in (unit.body, *unit.functions.values(), *methods):
            yield from top.tree()


# ---- iterators that never end ----


def _never_ends(context: RuleContext, function: Function, iterable: Expr) -> bool:
    """Whether an iterable always waits for the next element: every call whose result it may be makes such an iterator."""
    places, waiting = [(function, iterable)], False
    for owner, place in places:  # the list grows during the loop
        for maker, value in values_of(context, owner, place):
            if not isinstance(value, Call):
                if (maker, value) not in places:
                    places.append((maker, value))
            elif _waits(context, maker, value):
                waiting = True
            else:
                return False
    return waiting


def _waits(context: RuleContext, function: Function, call: Call) -> bool:
    library, ending = _ENDLESS.get(last_name(call.func), ("", ""))
    if not library or any(arg.star == "**" or (ending and arg.name == ending) for arg in call.args):
        return False
    return any(name.startswith(library) for name in provenance(context, function, call.func))
