"""Exception handlers and callbacks of futures after which a failure is forgotten, and that lint leaves alone.

Lint reports a handler only if the hidden work certainly is the tuple's.  For the guarantee it is enough that the handler
is broad, or catches errors of a client, that it only logs, and that the tuple is acked: a record is dropped.

A future gives its callback the result or the failure.  If the callback acks the tuple without a look, a failure is lost.
So it is if a task on another thread acks in `finally`.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.checks.facts.dataflow import (
    derived_names,
    edges_after_success,
    handler_steps,
    mentions_any,
    raising_steps,
    reachable,
    tuple_names,
)
from ackdoctor.checks.facts.fields import uses_resource
from ackdoctor.checks.facts.handlers import is_broad, is_of_client
from ackdoctor.checks.hidden_failures import hides_failure
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Flow
from ackdoctor.flow.expressions import assigned_locals, calls_by_result, last_name, names_in, operands
from ackdoctor.flow.transfer.effects import cleanup_calls
from ackdoctor.libraries.vocabulary import LOGGING, PURE_CALLS, STOPS
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    Bind,
    Call,
    Catch,
    EdgeKind,
    Function,
    Instr,
    Literal,
    Name,
    Next,
    Return,
    Test,
    Update,
    Way,
)
from ackdoctor.model.dialect import EntryKind, VerbKind
from ackdoctor.model.protocol import Op
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import SWALLOWED_FAILURE
from ackdoctor.topology.remote_writes import project_methods, remote_calls

_CODE = SWALLOWED_FAILURE
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)
_MESSAGE = "this handler hides a failure, and the tuple is acked: its record is dropped"
_CALLBACK = (
    "this callback of a future never asks whether the work failed, and acks the tuple: its record is dropped"
)
_FINALLY = "this callback acks the tuple in `finally`, also if the work failed: its record is dropped"
_FUTURE_CALLBACKS = frozenset({"add_done_callback", "addBoth"})


def likely_swallowed(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each exception handler that drops a tuple; it is certain around a write to a store or service."""
    acks = [
        done for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH) if done.op is Op.ACK
    ]
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        for function in context.functions_of(flow):
            for index, step in enumerate(function.cfg.steps):
                work = (
                    _hidden_work(context, flow, function, index, acks)
                    if isinstance(step.op, Catch)
                    else set()
                )
                if work:
                    place = Place(function.path, step.span.line)
                    yield Fault(_CODE, must=_writes(context, function, work), place=place, message=_MESSAGE)


def _hidden_work(
    context: RuleContext, flow: Flow, function: Function, index: int, acks: list[Completed]
) -> set[int]:
    """Return the steps whose failure an exception handler hides although the tuple is acked."""
    op, steps = function.cfg.steps[index].op, function.cfg.steps
    if not isinstance(op, Catch) or {name.rpartition(".")[2] for name in op.types} & STOPS:
        return set()
    if not (is_broad(op) or is_of_client(context, function, op)):
        return set()
    handling = handler_steps(function, index)
    if not all(_ignores(context, flow, function, each) for each in handling):
        return set()
    data, tried = tuple_names(flow, function), raising_steps(function, index)
    entered = [edge.target for edge in steps[index].edges if edge.kind is EdgeKind.TRUE]
    near = (tried | reachable(function, entered)) - cleanup_calls(function)
    work = {each for each in near if _is_work(context, function, steps[each].op, data)}
    if not work <= tried:
        return set()  # it goes on with the record
    return work if _is_acked_after(context, flow, function, index, work, acks) else set()


def _ignores(context: RuleContext, flow: Flow, function: Function, index: int) -> bool:
    """Whether a step of the handler does nothing about the failure."""
    match function.cfg.steps[index].op:
        case Next():
            return False
        case Update(target=Name(), value=Literal()):
            return True  # it counts the attempts; a test of the counter decides later
        case Return(value=Literal()) if function is not flow.function:
            return True  # the caller may ask for it
        case Return(value=value):
            return value is None or function is flow.function
        case _:
            return hides_failure(context, function, index)


def _is_work(context: RuleContext, function: Function, op: Instr, data: frozenset[str]) -> bool:
    """Whether a step emits, uses a resource or passes data of the tuple on."""
    if not isinstance(op, Call) or last_name(op.func) in LOGGING | PURE_CALLS:
        return False
    kind = context.verb_kind(function, op)
    if kind is not None:
        return kind in _EMITS
    given = any(mentions_any(arg.value, data) for arg in op.args)
    return given or uses_resource(context, function, op)


def _writes(context: RuleContext, function: Function, work: set[int]) -> bool:
    """Whether one of these steps, or code of the project that it calls, writes to a store or a service."""
    own = {call.step for call in remote_calls(context, [function]) if call.writes}
    for each in work:
        step = function.cfg.steps[each]
        methods = project_methods(context, function, step.op) if isinstance(step.op, Call) else None
        if step in own or any(call.writes for call in remote_calls(context, methods or ())):
            return True
    return False


def _is_acked_after(
    context: RuleContext, flow: Flow, function: Function, index: int, work: set[int], acks: list[Completed]
) -> bool:
    """Whether the tuple is acked behind a handler without another try, and no test of the outcome decides about it."""
    steps, ends = function.cfg.steps, _ends(context, function, acks)
    closed = [*_fails(context, function), *edges_after_success(work)]
    undone = reachable(function, [ENTRY], closed)
    names = frozenset(
        name for each, step in enumerate(steps) if each not in undone for name in assigned_locals(step.op)
    )
    closed += [(index, EdgeKind.FALSE), *_ways_out(function, index, names)]
    behind = reachable(function, [index], closed)
    if ends.isdisjoint(behind):
        return False
    counted = (steps[each].op for each in behind)
    names |= {op.target.id for op in counted if isinstance(op, Update) and isinstance(op.target, Name)}
    if _decides(function, behind, names, ends, closed):
        return False
    return function is flow.function or not any(
        _is_asked(context, caller, call, acks)
        for caller in context.functions_of(flow)
        for call in calls_by_result(caller).values()
        if context.own_method(caller, call.func) is function
    )


def _ways_out(function: Function, index: int, names: frozenset[str]) -> list[tuple[int, EdgeKind]]:
    """Return the edges that leave the loops around a step because the work was done: `while not done`."""
    steps, loops = function.cfg.steps, [body for body in function.cfg.bodies.values() if index in body]
    return [
        (each, edge.kind)
        for body in loops
        for each in body
        if isinstance(test := steps[each].op, Test) and mentions_any(test.condition, names)
        for edge in steps[each].edges
        if edge.target not in body
    ]


def _is_asked(context: RuleContext, caller: Function, call: Call, acks: list[Completed]) -> bool:
    """Whether the result of a helper decides if its caller acks the tuple, or goes where this is not seen."""
    names, closed = derived_names(caller, frozenset(names_in(call.result))), _fails(context, caller)
    steps = {
        index: step.op
        for index, step in enumerate(caller.cfg.steps)
        if any(mentions_any(value, names) for value in operands(step.op))
    }
    others = (op for op in steps.values() if not isinstance(op, (Test, Bind)) and op is not call)
    return any(not isinstance(op, Call) or last_name(op.func) not in LOGGING for op in others) or _decides(
        caller, steps, names, _ends(context, caller, acks), closed
    )


def _decides(
    function: Function,
    steps: Iterable[int],
    names: frozenset[str],
    ends: set[int],
    closed: list[tuple[int, EdgeKind]],
) -> bool:
    """Whether one of these steps tests one of these locals, and one side of the test leads to no ack."""
    tests = (function.cfg.steps[each] for each in steps)
    return any(
        ends.isdisjoint(reachable(function, [edge.target], closed))
        for step in tests
        if isinstance(step.op, Test) and mentions_any(step.op.condition, names)
        for edge in step.edges
    )


def _ends(context: RuleContext, function: Function, acks: list[Completed]) -> set[int]:
    """Return the steps of a function that ack the tuple; its end, if the framework or other code acks it, or no code does."""
    if context.component.auto_ack:
        return {EXIT}
    own = {function.cfg.steps.index(done.step) for done in acks if done.function is function}
    return own or ({EXIT} if acks or context.component.auto_ack is False else set())


def _fails(context: RuleContext, function: Function) -> list[tuple[int, EdgeKind]]:
    steps = enumerate(function.cfg.steps)
    calls = {index: step.op for index, step in steps if isinstance(step.op, Call)}
    return edges_after_success(
        index for index, op in calls.items() if context.verb_kind(function, op) is VerbKind.FAIL
    )


def callback_acks(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each ack in a callback that hides a failure.

    The callback of a future may never use the future, which holds the result or the error; another may ack in `finally`.
    """
    for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is not Op.ACK or done.deferral is None:
            continue
        function = done.function
        catches = any(isinstance(step.op, Catch) for step in function.cfg.steps)
        if done.step.way is Way.RAISE and not catches:
            yield Fault(_CODE, must=True, place=Place(function.path, done.step.span.line), message=_FINALLY)
        elif done.deferral.runner in _FUTURE_CALLBACKS:
            names = frozenset(param.name for param in function.params if param.name != function.receiver)
            values = (value for step in function.cfg.steps for value in operands(step.op))
            if not any(mentions_any(value, names) for value in values):
                place = Place(function.path, done.step.span.line)
                yield Fault(_CODE, must=True, place=place, message=_CALLBACK)
