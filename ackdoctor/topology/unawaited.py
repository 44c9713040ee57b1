"""Effects that a handler starts and does not await: a client sends them later, and the tuple is acked at once.

`session.executeAsync(row)` returns a future.  If the code drops it, a failure after the ack is seen by no code, and a record
that waits in the client dies with the worker.  A callback that only learns of the failure comes too late: the tuple is acked.
"""

from collections.abc import Iterator

from ackdoctor.checks.blocking import origins
from ackdoctor.checks.facts.dataflow import (
    data_params,
    derived_names,
    edges_past,
    mentions_any,
    reachable,
    tuple_names,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.libraries.vocabulary import ASYNC_SUFFIX
from ackdoctor.model.cfg import EXIT, Attr, Call, Closure, Function, Step
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import ACK_BEFORE_DONE
from ackdoctor.topology.early_acks import acks_on_arrival
from ackdoctor.topology.remote_writes import project_methods

_DEFERS = {  # methods that send later, by the class or package of the client
    "send": ("org.apache.kafka.clients.producer.", "kafka.KafkaProducer", "kafka.producer.KafkaProducer"),
    "produce": ("confluent_kafka.", "pykafka."),
    "mutate": ("org.apache.hadoop.hbase.client.BufferedMutator",),
    "add": ("org.elasticsearch.action.bulk.BulkProcessor", "org.opensearch.action.bulk.BulkProcessor"),
    "publish": ("google.cloud.pubsub", "com.google.cloud.pubsub."),
    "addUserRecord": ("com.amazonaws.services.kinesis.producer.",),
}
_AWAITS, _AWAITING = "get_sync_producer", "sync"  # a method and an option that make a client which waits
_DEPTH = 3  # calls followed from the bolt
_FLUSHES = frozenset("flush commitTransaction commit_transaction close".split())
_LISTENS = frozenset("add_callback add_errback add_both add_done_callback".split())  # on a dropped future
_STAGES = frozenset("exceptionally handle thenAccept thenRun whenComplete".split())  # of one, with a lambda


def unawaited(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each call that sends the tuple's data later, in a bolt that acks on arrival."""
    if not acks_on_arrival(context):
        return
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        functions = list(context.functions_of(flow))
        for function in functions:
            flushes = _flushing_steps(context, function)
            elsewhere = any(_flushes(each) for each in functions if each is not function)
            if elsewhere and not (function is flow.function and flushes):
                continue
            for at, where, step, name in _deferred(context, function, tuple_names(flow, function)):
                if EXIT in reachable(function, [at], edges_past(function, flushes)):
                    why = f"`{name}` returns before its effect, and the tuple is acked: a failure after the ack loses it"
                    place = Place(where.path, step.span.line)
                    yield Fault(ACK_BEFORE_DONE, must=not flushes, place=place, message=why)


def _flushing_steps(context: RuleContext, function: Function) -> set[int]:
    """Return the steps that flush a client, by themselves or in another function of the component."""
    calls = {index: step.op for index, step in enumerate(function.cfg.steps) if isinstance(step.op, Call)}
    methods = {index: context.called_function(function, call.func) for index, call in calls.items()}
    return {
        index
        for index, call in calls.items()
        if last_name(call.func) in _FLUSHES or ((method := methods[index]) is not None and _flushes(method))
    }


def _flushes(function: Function) -> bool:
    return any(last_name(call.func) in _FLUSHES for call in calls_by_result(function).values())


def _deferred(
    context: RuleContext, function: Function, data: frozenset[str], depth: int = 0
) -> Iterator[tuple[int, Function, Step, str]]:
    """Yield the index of each call that sends data later, and where it does: also in methods of other classes of the project."""
    for index, step in enumerate(function.cfg.steps):
        call = step.op
        if not isinstance(call, Call) or not any(mentions_any(arg.value, data) for arg in call.args):
            continue
        methods = project_methods(context, function, call)
        if methods is None and _starts(context, function, call):
            yield index, function, step, last_name(call.func)
        for method in methods or () if depth < _DEPTH else ():
            if method not in context.functions and not _flushes(method):
                names = derived_names(method, frozenset(data_params(method)))
                for _, where, inner, name in _deferred(context, method, names, depth + 1):
                    yield index, where, inner, name


def _starts(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call is one of a client that sends later, and the code drops the future."""
    if not isinstance(call.func, Attr) or not _is_dropped(context, function, call):
        return False
    if _completes(context, function, call) or context.verb_kind(function, call) is not None:
        return False
    name = call.func.name
    if name.lower().endswith(ASYNC_SUFFIX):
        return True
    clients = _DEFERS.get(name)
    deferred = clients is not None and any(
        each.startswith(clients) for each in origins(context, function, call.func.obj)
    )
    return deferred and not _awaits(context, function)


def _awaits(context: RuleContext, function: Function) -> bool:
    """Whether the class of a call, or the component, makes a client that waits for each record."""
    cls = context.program.owner(function)
    code = (*context.functions, *(cls.methods.values() if cls is not None else ()))
    calls = (call for each in code for call in calls_by_result(each).values())
    return any(
        last_name(call.func) == _AWAITS or any(arg.name == _AWAITING for arg in call.args) for call in calls
    )


def _is_dropped(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether no code asks for the result of a call; listeners that complete no tuple may be added to it."""
    if call.dropped:
        return True
    users = [
        each
        for each in calls_by_result(function).values()
        if isinstance(each.func, Attr) and each.func.obj == call.result
    ]
    return bool(users) and all(
        _listens(each) and not _completes(context, function, each) and _is_dropped(context, function, each)
        for each in users
    )


def _listens(call: Call) -> bool:
    name, codes = last_name(call.func), [isinstance(arg.value, Closure) for arg in call.args]
    return name in _LISTENS or (name in _STAGES and all(codes))


def _completes(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a callback among the arguments calls the framework: it may be the one that acks."""
    keys = (arg.value.key for arg in call.args if isinstance(arg.value, Closure))
    return any(
        context.verb_kind(closure, inner, around=function) is not None
        for closure in map(function.closures.get, keys)
        if closure is not None
        for inner in calls_by_result(closure).values()
    )
