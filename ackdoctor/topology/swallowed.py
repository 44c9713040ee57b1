"""Exception handlers and callbacks of futures after which a failure is forgotten, and that lint leaves alone.

Lint reports a handler only if the hidden work certainly is the tuple's.  For the guarantee it is enough that the handler
is broad, or catches errors of a client, that it only logs, and that the tuple is acked: a record is dropped.

A future gives its callback the result or the failure.  If the callback acks the tuple without a look, a failure is lost.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import handler_steps, mentions_any, raising_steps, reachable, tuple_names
from ackdoctor.checks.facts.fields import uses_resource
from ackdoctor.checks.facts.handlers import is_broad, is_of_client
from ackdoctor.checks.hidden_failures import hides_failure
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Flow
from ackdoctor.flow.expressions import last_name, operands
from ackdoctor.libraries.vocabulary import LOGGING, PURE_CALLS, STOPS
from ackdoctor.model.cfg import EXIT, Call, Catch, EdgeKind, Function, Instr, Next, Return
from ackdoctor.model.dialect import EntryKind, VerbKind
from ackdoctor.model.protocol import Op
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import SWALLOWED_FAILURE

_CODE = SWALLOWED_FAILURE
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)
_MESSAGE = "this handler hides a failure, and the tuple is acked: its record is dropped"
_CALLBACK = (
    "this callback of a future never asks whether the work failed, and acks the tuple: its record is dropped"
)
_FUTURE_CALLBACKS = frozenset({"add_done_callback", "addBoth"})


def likely_swallowed(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each exception handler that drops a tuple."""
    acks = [
        done for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH) if done.op is Op.ACK
    ]
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        for function in context.functions_of(flow):
            for index, step in enumerate(function.cfg.steps):
                if isinstance(step.op, Catch) and _swallows(context, flow, function, index, acks):
                    yield Fault(
                        _CODE, must=False, place=Place(function.path, step.span.line), message=_MESSAGE
                    )


def _swallows(
    context: RuleContext, flow: Flow, function: Function, index: int, acks: list[Completed]
) -> bool:
    op = function.cfg.steps[index].op
    if not isinstance(op, Catch) or {name.rpartition(".")[2] for name in op.types} & STOPS:
        return False
    if not (is_broad(op) or is_of_client(context, function, op)):
        return False
    handling = handler_steps(function, index)
    if not all(_ignores(context, flow, function, each) for each in handling):
        return False
    steps, data = function.cfg.steps, tuple_names(flow, function)
    tried = raising_steps(function, index)
    entered = [edge.target for edge in steps[index].edges if edge.kind is EdgeKind.TRUE]
    after = reachable(function, entered) - tried
    if any(_is_work(context, function, steps[each].op, data) for each in after):
        return False  # it goes on with the record
    worked = any(_is_work(context, function, steps[each].op, data) for each in tried)
    return worked and _is_acked_after(context, function, after, acks)


def _ignores(context: RuleContext, flow: Flow, function: Function, index: int) -> bool:
    """Whether a step of the handler does nothing about the failure."""
    match function.cfg.steps[index].op:
        case Next():
            return False
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


def _is_acked_after(context: RuleContext, function: Function, after: set[int], acks: list[Completed]) -> bool:
    """Whether the tuple is acked behind the handler, or the bolt acks nothing anyway and only drops it."""
    if context.component.auto_ack:
        return True
    own = {function.cfg.steps.index(done.step) for done in acks if done.function is function}
    if own:
        return bool(own & after)
    return EXIT in after and (bool(acks) or context.component.auto_ack is False)


def unread_futures(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each ack in the callback of a future that never uses the future, which holds the result or the error."""
    for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is Op.ACK and done.deferral is not None and done.deferral.runner in _FUTURE_CALLBACKS:
            function = done.function
            names = frozenset(param.name for param in function.params if param.name != function.receiver)
            values = (value for step in function.cfg.steps for value in operands(step.op))
            if not any(mentions_any(value, names) for value in values):
                place = Place(function.path, done.step.span.line)
                yield Fault(_CODE, must=True, place=place, message=_CALLBACK)
