"""Effects that a handler starts and does not await: a client sends them later, and the tuple is acked at once.

`session.executeAsync(row)` returns a future.  If the code drops it, a failure after the ack is seen by no code, and a record
that waits in the client dies with the worker.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.checks.facts.dataflow import mentions_any, tuple_names
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.libraries.vocabulary import ASYNC_SUFFIX
from ackdoctor.model.cfg import Attr, Call, Closure, Expr, Function
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import ACK_BEFORE_DONE
from ackdoctor.topology.early_acks import acks_on_arrival

_PRODUCERS = ("org.apache.kafka.clients.producer.", "kafka.KafkaProducer")  # whose `send` returns a future
_SEND = "send"
_AWAITS = frozenset("flush get join result getUninterruptibly gather wait commitTransaction".split())


def unawaited(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each call that sends the tuple's data later, in a bolt that acks on arrival.

    A callback that only learns of the failure comes too late: the tuple is acked by then.
    """
    if not acks_on_arrival(context):
        return
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        calls = [
            (function, step.op, step.span)
            for function in context.functions_of(flow)
            for step in function.cfg.steps
            if isinstance(step.op, Call)
        ]
        if any(last_name(call.func) in _AWAITS for _, call, _ in calls):
            continue
        for function, call, span in calls:
            if _starts(context, flow, function, call):
                name = last_name(call.func)
                why = f"`{name}` returns before its effect, and the tuple is acked: a failure after the ack loses it"
                yield Fault(ACK_BEFORE_DONE, True, Place(function.path, span.line), why)


def _starts(context: RuleContext, flow: Flow, function: Function, call: Call) -> bool:
    """Whether a call passes data of the tuple to a client that sends them later, and drops the future."""
    if not call.dropped or not isinstance(call.func, Attr) or context.verb_kind(function, call) is not None:
        return False
    given = [arg.value for arg in call.args]
    data = tuple_names(flow, function)
    if _completes(context, function, given) or not any(mentions_any(value, data) for value in given):
        return False
    name, obj = call.func.name, call.func.obj
    if context.project_class(function, obj) is not None:
        return False
    if name.lower().endswith(ASYNC_SUFFIX):
        return True
    names = context.declared_names(function, obj) if name == _SEND else ()
    return any(each.startswith(_PRODUCERS) for each in names)


def _completes(context: RuleContext, function: Function, given: Iterable[Expr]) -> bool:
    """Whether a callback among the arguments calls the framework: it may be the one that acks."""
    closures = (function.closures.get(value.key) for value in given if isinstance(value, Closure))
    return any(
        context.verb_kind(closure, call, around=function) is not None
        for closure in closures
        if closure is not None
        for call in calls_by_result(closure).values()
    )
