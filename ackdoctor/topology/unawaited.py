"""Effects that a handler starts and does not await: a client sends them later, and the tuple is acked at once.

`session.executeAsync(row)` returns a future.  If the code drops it, a failure after the ack is seen by no code, and a record
that waits in the client dies with the worker.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import mentions_any, tuple_names
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow
from ackdoctor.flow.expressions import last_name
from ackdoctor.libraries.vocabulary import ASYNC_SUFFIX
from ackdoctor.model.cfg import Attr, Call, Closure, Function
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import ACK_BEFORE_DONE
from ackdoctor.topology.early_acks import acks_on_arrival

_PRODUCERS = ("org.apache.kafka.clients.producer.", "kafka.KafkaProducer")  # whose `send` returns a future
_SEND = "send"
_AWAITS = frozenset("flush get join result getUninterruptibly gather wait".split())


def unawaited(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each call that sends the tuple's data later, in a bolt that acks on arrival.

    A call whose name ends in `async` certainly returns early.  A Kafka producer may be set up to send at once.
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
                must = name.lower().endswith(ASYNC_SUFFIX)
                yield Fault(ACK_BEFORE_DONE, must, Place(function.path, span.line), why)


def _starts(context: RuleContext, flow: Flow, function: Function, call: Call) -> bool:
    """Whether a call passes data of the tuple to a client that sends them later, and drops the future."""
    if not call.dropped or not isinstance(call.func, Attr) or context.verb_kind(function, call) is not None:
        return False
    given = [arg.value for arg in call.args]
    data = tuple_names(flow, function)
    if any(isinstance(value, Closure) for value in given) or not any(mentions_any(v, data) for v in given):
        return False
    name, obj = call.func.name, call.func.obj
    if context.project_class(function, obj) is not None:
        return False
    if name.lower().endswith(ASYNC_SUFFIX):
        return True
    names = context.declared_names(function, obj) if name == _SEND and len(given) == 1 else ()
    return any(each.startswith(_PRODUCERS) for each in names)
