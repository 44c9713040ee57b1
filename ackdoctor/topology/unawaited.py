"""Effects that a handler starts and does not await: a client sends them later, and the tuple is acked at once.

`session.executeAsync(row)` returns a future.  If the code drops it, a failure after the ack is seen by no code, and a record
that waits in the client dies with the worker.  A callback that only learns of the failure comes too late: the tuple is acked.
"""

from collections.abc import Iterator

from ackdoctor.checks.blocking import origins
from ackdoctor.checks.facts.dataflow import data_params, derived_names, mentions_any, tuple_names
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.libraries.vocabulary import ASYNC_SUFFIX
from ackdoctor.model.cfg import Attr, Call, Closure, Function, Step
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import ACK_BEFORE_DONE
from ackdoctor.topology.early_acks import acks_on_arrival
from ackdoctor.topology.remote_writes import project_methods

_DEFERS = {  # methods that send later, by the class or package of the client
    "send": ("org.apache.kafka.clients.producer.", "kafka.KafkaProducer", "kafka.producer.KafkaProducer"),
    "produce": ("confluent_kafka.",),
    "mutate": ("org.apache.hadoop.hbase.client.BufferedMutator",),
    "add": ("org.elasticsearch.action.bulk.BulkProcessor", "org.opensearch.action.bulk.BulkProcessor"),
    "publish": ("google.cloud.pubsub", "com.google.cloud.pubsub."),
    "addUserRecord": ("com.amazonaws.services.kinesis.producer.",),
}
_DEPTH = 3  # calls followed from the bolt
_FLUSHES = frozenset("flush commitTransaction commit_transaction close".split())
_LISTENS = frozenset("add_callback add_errback add_both add_done_callback".split())  # on a dropped future


def unawaited(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each call that sends the tuple's data later, in a bolt that acks on arrival."""
    if not acks_on_arrival(context):
        return
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        functions = list(context.functions_of(flow))
        if any(map(_flushes, functions)):
            continue
        for function in functions:
            for where, step, name in _deferred(context, function, tuple_names(flow, function)):
                why = f"`{name}` returns before its effect, and the tuple is acked: a failure after the ack loses it"
                yield Fault(ACK_BEFORE_DONE, True, Place(where.path, step.span.line), why)


def _flushes(function: Function) -> bool:
    return any(last_name(call.func) in _FLUSHES for call in calls_by_result(function).values())


def _deferred(
    context: RuleContext, function: Function, data: frozenset[str], depth: int = 0
) -> Iterator[tuple[Function, Step, str]]:
    """Yield the calls that send data later: also in methods of other classes of the project."""
    for step in function.cfg.steps:
        call = step.op
        if not isinstance(call, Call) or not any(mentions_any(arg.value, data) for arg in call.args):
            continue
        methods = project_methods(context, function, call)
        if methods is None and _starts(context, function, call):
            yield function, step, last_name(call.func)
        for method in methods or () if depth < _DEPTH else ():
            if method not in context.functions and not _flushes(method):
                names = derived_names(method, frozenset(data_params(method)))
                yield from _deferred(context, method, names, depth + 1)


def _starts(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call is one of a client that sends later, and the code drops the future."""
    if not isinstance(call.func, Attr) or not _is_dropped(function, call):
        return False
    if _completes(context, function, call) or context.verb_kind(function, call) is not None:
        return False
    name = call.func.name
    if name.lower().endswith(ASYNC_SUFFIX):
        return True
    clients = _DEFERS.get(name)
    return clients is not None and any(
        each.startswith(clients) for each in origins(context, function, call.func.obj)
    )


def _is_dropped(function: Function, call: Call) -> bool:
    """Whether no code asks for the result of a call; listeners may be added to it."""
    if call.dropped:
        return True
    users = [
        each
        for each in calls_by_result(function).values()
        if isinstance(each.func, Attr) and each.func.obj == call.result
    ]
    return bool(users) and all(
        last_name(each.func) in _LISTENS and _is_dropped(function, each) for each in users
    )


def _completes(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a callback among the arguments calls the framework: it may be the one that acks."""
    keys = (arg.value.key for arg in call.args if isinstance(arg.value, Closure))
    return any(
        context.verb_kind(closure, inner, around=function) is not None
        for closure in map(function.closures.get, keys)
        if closure is not None
        for inner in calls_by_result(closure).values()
    )
