"""Calls that block: how long code sleeps, and a spout that keeps its executor from its other callbacks."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import canonical_form, raises_to_handler, reachable
from ackdoctor.checks.facts.spouts import emits, has_id, provenance, values_of
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import (
    assigned_targets,
    callee_text,
    calls_by_result,
    last_name,
    operands,
    subexpressions,
)
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.symbols import attribute_assignments
from ackdoctor.libraries import LIBRARIES, Wait
from ackdoctor.libraries.vocabulary import CONSTRUCTORS, CONTAINER_READS, CONTAINER_STORES, LOGGING, STOPS
from ackdoctor.model.cfg import (
    EXIT,
    Attr,
    Call,
    Catch,
    EdgeKind,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Mix,
    Next,
    Step,
    Test,
    Throw,
    Yield,
)
from ackdoctor.model.dialect import EntryKind, Misuse, Price
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.rulebook import Words

# ---- sleeps ----


class Sleep(NamedTuple):
    """A call that sleeps for a constant time."""

    seconds: float
    function: Function
    step: Step


def sleeps(context: RuleContext, kinds: Collection[EntryKind]) -> Iterator[Sleep]:
    """Yield the calls that sleep in the handlers of these kinds, and in the helpers that these call."""
    for flow in context.flows_of(*kinds):
        for function in context.functions_of(flow):
            for step in function.cfg.steps:
                seconds = slept_seconds(context, function, step.op) if isinstance(step.op, Call) else None
                if seconds is not None:
                    yield Sleep(seconds, function, step)


def slept_seconds(context: RuleContext, function: Function, call: Call) -> float | None:
    """Return how long a call sleeps; None if it does not, or if only a run can know."""
    names = [*context.qualified_names(function, call.func)]
    units = [
        unit
        for end, unit in LIBRARIES[context.dialect.language].sleeps.items()
        if any(f".{name}".endswith(f".{end}") for name in names)
    ]
    if len(units) != 1 or len(call.args) != 1:
        return None
    slept = call.args[0].value
    field = context.own_field(function, slept)
    constant = context.component.attribute(field) if field is not None and field.isupper() else None
    match constant or canonical_form(function, slept):
        case Literal(value=int() | float() as number):
            return number * units[0]
        case Mix(
            op="*", parts=(Literal(value=int() | float() as one), Literal(value=int() | float() as two))
        ):
            return one * two * units[0]
        case _:
            return None


# ---- ACK305 blocking-next-tuple ----
# A loop never ends if every way out is an exception that another thread causes, an iterator that never ends, or a flag that
# no code sets while the loop runs.


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
_NOT_DURING_LOOP = (EntryKind.INIT, EntryKind.LIFECYCLE, EntryKind.ACKED, EntryKind.FAILED)


_DEEPEST = 4  # assignments from an object to its constructor
_LONGEST = 30  # seconds of a sleep: the defaults of `topology.message.timeout.secs` and `supervisor.worker.timeout.secs`
_ASKS = frozenset("empty qsize full size isEmpty peek poll remainingCapacity put offer add".split())


def ack305_blocking_next_tuple(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each endless loop in which a spout emits, and for each call that waits, on the framework's thread."""
    if Misuse.NEVER_RETURNS in context.discipline.prices:
        loops = list(_endless_loops(context))
        yield from loops or _waiting_calls(context)


def _endless_loops(context: RuleContext) -> Iterator[Finding]:
    for flow, emit in context.events(Emitted, EntryKind.NEXT):
        stack = [*emit.path.call_stack()] if emit.deferral is None else []
        for place, visit in enumerate(stack):
            loop = _endless_loop(context, visit.function, visit.index)
            is_source = loop is not None and isinstance(visit.function.cfg.steps[loop].op, Next)
            is_ended = not is_source and any(raises_to_handler(caller.step) for caller in stack[place + 1 :])
            if loop is not None and not is_ended and context.is_first((visit.function, loop)):
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


# ---- calls that wait ----


def _waiting_calls(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls of `next_tuple`, and of the helpers that it calls itself, that wait without a limit or sleep long."""
    for flow in context.flows_of(EntryKind.NEXT):
        for function in context.functions_of(flow):
            for step in function.cfg.steps:
                if not isinstance(step.op, Call):
                    continue
                words = _waiting_words(context, function, step.op, flow.function.name)
                if words is not None and context.is_first(step):
                    at = (function, step.span)
                    yield context.finding(words, None, at, flow=flow, severity=Severity.WARNING)


def _waiting_words(context: RuleContext, function: Function, call: Call, method: str) -> Words | None:
    seconds = slept_seconds(context, function, call)
    if seconds is not None:
        if _waits_in_loop(context, function, call):
            return context.words("waits", call="this loop", method=method, component=context.component.name)
        if seconds < _LONGEST or not _matters(context):
            return None
        return context.words(
            "sleeps", seconds=f"{seconds:g}", method=method, component=context.component.name
        )
    if not _waits_for_ever(context, function, call):
        return None
    text = callee_text(call.func)
    return context.words("waits", call=text, method=method, component=context.component.name)


def _waits_in_loop(context: RuleContext, function: Function, sleep: Call) -> bool:
    """Whether a sleep is in a loop that ends only once another thread changes a field: `while not self.rows: sleep(1)`."""
    for body in function.cfg.bodies.values():
        inside = [function.cfg.steps[at].op for at in body]
        calls = [op for op in inside if isinstance(op, Call)]
        tests = [op for op in inside if isinstance(op, Test)]
        changes = any(
            isinstance(op, Next | Throw | Yield)
            or any(isinstance(each, Attr) for each in assigned_targets(op))
            for op in inside
        )
        if sleep in calls and tests and not changes:
            return all(_asks_field(context, function, test) for test in tests) and all(
                call == sleep or last_name(call.func) in LOGGING | _ASKS - CONTAINER_STORES - CONTAINER_READS
                for call in calls
            )
    return False


def _asks_field(context: RuleContext, function: Function, test: Test) -> bool:
    """Whether a test asks a field of the component, its size, or whether it is empty."""
    asked = normalise(test.condition)[0]
    call = calls_by_result(function).get(asked)
    place = call.func.obj if call is not None and isinstance(call.func, Attr) else asked
    fields = [part for part in subexpressions(place) if isinstance(part, Attr)]
    return bool(fields) and all(context.own_field(function, part) is not None for part in fields)


def _matters(context: RuleContext) -> bool:
    """Whether a pause costs something: the worker's life, or the acks and fails that come meanwhile."""
    kills = Price.KILL in context.discipline.prices[Misuse.NEVER_RETURNS]
    return kills or any(has_id(emit) is not False for emit in emits(context, EntryKind.NEXT))


def _waits_for_ever(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call waits for another thread or process, and nothing limits the time."""
    if call.func == Global("next"):
        return len(call.args) == 1 and _never_ends(context, function, call.args[0].value)
    waits = [wait for wait in LIBRARIES[context.dialect.language].waits if wait.name == last_name(call.func)]
    if not waits or not isinstance(call.func, Attr):
        return False
    obj = call.func.obj
    names = {*origins(context, function, obj)}
    unlimited = (wait for wait in waits if _is_unlimited(wait, call) and not _may_be_set(context, wait))
    return any(name.startswith(wait.origin) for wait in unlimited for name in names) and not _is_limited(
        context, function, call, obj
    )


def origins(context: RuleContext, function: Function, expr: Expr, depth: int = 0) -> Iterator[str]:
    """Yield the qualified names of the constructors and the declared type of an object."""
    yield from context.declared_names(function, expr)
    made = list(_makers(context, function, expr)) if depth < _DEEPEST else []
    for owner, value in made:
        yield from origins(context, owner, value.func if isinstance(value, Call) else value, depth + 1)
    if not made and isinstance(expr, (Attr, Global, Item)):
        yield from context.qualified_names(function, expr)
        if isinstance(expr, (Attr, Item)):
            yield from origins(context, function, expr.obj, depth)


def _makers(context: RuleContext, function: Function, expr: Expr) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield what the code assigns to a local, global or field, with the calls behind temporaries."""
    for owner, value in values_of(context, function, expr):
        yield owner, value if isinstance(value, Call) else calls_by_result(owner).get(value, value)


def _is_unlimited(wait: Wait, call: Call) -> bool:
    """Whether no argument of a waiting call limits the time."""
    more = call.args[wait.needed :]
    return len(call.args) >= wait.needed and all(
        not arg.star and _is_endless(wait, arg.value) for arg in more
    )


def _may_be_set(context: RuleContext, wait: Wait) -> bool:
    """Whether the component's code limits the time by a setting, or leaves the settings to other code."""
    if not wait.setting:
        return False
    texts = {
        part.value
        for function in context.functions
        for step in function.cfg.steps
        for expr in operands(step.op)
        for part in subexpressions(expr)
        if isinstance(part, Literal)
    }
    return wait.setting in texts or wait.beside not in texts


def _is_endless(wait: Wait, value: Expr) -> bool:
    """Whether an argument is a value that sets no limit; `True` does not equal a timeout of 1."""
    if not isinstance(value, Literal):
        return False
    return any(type(value.value) is type(each) and value.value == each for each in wait.endless)


def _is_limited(context: RuleContext, function: Function, wait: Call, obj: Expr) -> bool:
    """Whether the component asks an object before it waits, fills it itself, or limits the time of all its calls."""
    limits = LIBRARIES[context.dialect.language].limits
    makers = (value for _, value in _makers(context, function, obj) if isinstance(value, Call))
    if any("timeout" in (arg.name or "").lower() or arg.star == "**" for call in makers for arg in call.args):
        return True
    field = context.own_field(function, obj)
    for each, call in context.calls():
        if call is wait:
            continue
        name = last_name(call.func)
        receiver = call.func.obj if isinstance(call.func, Attr) else call.func
        asks = name in limits or (each is function and name in _ASKS)
        places = [receiver] if asks else []
        places += [arg.value for arg in call.args] if each is function or name in limits else []
        if any(_is_same(context, each, place, function, obj, field) for place in places):
            return True
        if name in limits and isinstance(receiver, Global):  # of the module
            return True
    return False


def _is_same(
    context: RuleContext, each: Function, place: Expr, function: Function, obj: Expr, field: str | None
) -> bool:
    return context.field(each, place) == field if field is not None else (each, place) == (function, obj)


# ---- flags that stay as they are ----


def _is_fixed(context: RuleContext, field: str) -> bool:
    """Whether a field is a flag that only entries set which the framework never calls during `next_tuple`."""
    entries = {
        entry.method
        for entry in context.role.entries
        if entry.kind in _NOT_DURING_LOOP and not entry.off_thread
    }
    methods = (method for cls in context.component.lineage for method in cls.methods.values())
    allowed = {method for method in methods if method.name in entries | CONSTRUCTORS}
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
    return not _calls_itself(context, {function.name for function, _ in assigned} - CONSTRUCTORS)


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
