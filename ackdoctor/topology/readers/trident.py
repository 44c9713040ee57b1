"""The graph of a Trident topology: fluent chains of streams, read from the calls on the `TridentTopology`.

The nodes are the spouts, the states, and the functions whose effect leaves the topology: `peek`, and the last function of
a stream that ends without a state.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ackdoctor.flow.expressions import last_name
from ackdoctor.model.cfg import ClassInfo
from ackdoctor.model.topology import Edge, Node, Place, Value
from ackdoctor.topology.objects import Code, Data, Invocation, Obj, Ref, describe, root
from ackdoctor.topology.readers.component_arguments import arguments_of
from ackdoctor.topology.readers.wiring import (
    Class,
    Wired,
    component_of,
    fields_text,
    identifier,
    library_name,
    node_of,
    variable_of,
    wired_by_caller,
)

BUILDERS = {
    "org.apache.storm.trident.TridentTopology": "trident",
    "storm.trident.TridentTopology": "trident",
}
WIRING = frozenset({"newStream", "newDRPCStream", "newStaticState"})
_PERSISTS = frozenset({"partitionPersist", "persistentAggregate"})
_FUNCTIONS = frozenset(
    "each map flatMap filter peek partitionAggregate aggregate reduce multiReduce stateQuery minBy maxBy min max".split()
)
_REPARTITIONS = {
    "shuffle": "shuffle",
    "global": "global",
    "batchGlobal": "batch-global",
    "broadcast": "all",
    "localOrShuffle": "local-or-shuffle",
    "partition": "custom",
}
_BY_FIELDS = frozenset({"groupBy", "partitionBy"})
_JOINS = frozenset({"merge", "join", "multiReduce"})
_WINDOWS = frozenset({"window", "tumblingWindow", "slidingWindow"})
_STORE = "WindowsStoreFactory"
_IN_MEMORY = f"InMemory{_STORE}"  # Stream.java:704-709 @ v2.8.8: `window` without a store uses it
_WITHOUT_STORE = 4  # arguments of `window`: configuration, fields, aggregator, fields
_EFFECT = "peek"
_VALUES = "newValuesStream"


@dataclass(slots=True)
class _Stream:
    """The sources of a stream, and how its tuples are distributed and which functions they pass since."""

    sources: tuple[str, ...] = ()
    grouping: str = "shuffle"
    requests: Node | None = None  # the source, if requests of DRPC make the stream
    functions: tuple[Invocation, ...] = ()


@dataclass(slots=True)
class _Graph:
    """The graph as far as the calls were read."""

    before: int
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    streams: dict[int, _Stream] = field(default_factory=dict)  # by the object of the stream
    used: set[int] = field(default_factory=set)  # streams that something consumes
    last: dict[int, Invocation] = field(default_factory=dict)  # the last function on the way to a stream

    def add(self, node: Node, stream: _Stream, place: Place) -> str:
        """Add a node that consumes a stream and return its id; a second one with the same name gets a number."""
        same = [
            each
            for each in self.nodes.values()
            if each.id.partition("#")[0] == node.id and each.place != node.place
        ]
        if same:
            node = replace(node, id=f"{node.id}#{len(same) + 1}")
        passed = (_function(each) for each in stream.functions if each.name != _EFFECT)
        self.nodes[node.id] = replace(node, functions=tuple(f for f in passed if f.place != node.place))
        requests = stream.requests
        if requests is not None:
            self.nodes.setdefault(requests.id, requests)
            self.edges.append(Edge(source=requests.id, target=node.id, place=place, grouping=stream.grouping))
        for source in stream.sources:
            self.edges.append(Edge(source=source, target=node.id, place=place, grouping=stream.grouping))
        return node.id


def graph_of(builder: Obj, before: int, calls: Sequence[Invocation]) -> Wired:
    """The graph that the calls on a `TridentTopology` wire before the call with that order."""
    graph = _Graph(before)
    for call in calls:
        if call.order < before and call.kind == "call" and not call.inlined:
            _read(graph, builder, call)
    _add_sinks(graph, calls)
    if not graph.nodes:  # requests of DRPC alone
        for stream in graph.streams.values():
            if stream.requests is not None:
                graph.nodes.setdefault(stream.requests.id, stream.requests)
    return Wired(tuple(graph.nodes.values()), tuple(graph.edges), gaps=wired_by_caller(builder))


def _read(graph: _Graph, builder: Obj, call: Invocation) -> None:
    """Follow one call: on the topology, on a stream, or on a state."""
    receiver, result = call.receiver, call.result
    if not isinstance(result, Obj):
        return
    if receiver is builder:
        stream = _new_stream(graph, call)
    elif receiver is not None and id(receiver) in graph.streams:
        stream = _next_stream(graph, call, graph.streams[id(receiver)])
        graph.used.add(id(receiver))
    else:
        return
    if stream is None:
        return
    if call.name in _FUNCTIONS:
        stream = replace(stream, functions=(*stream.functions, call))
        graph.last[id(result)] = call
    elif id(receiver) in graph.last:
        graph.last[id(result)] = graph.last[id(receiver)]
    graph.streams[id(result)] = stream


def _new_stream(graph: _Graph, call: Invocation) -> _Stream | None:
    if call.name == "newDRPCStream":
        return _Stream(
            requests=_requests(call)
        )  # a query reads the states, and is a source only if it writes
    if call.name in _JOINS:
        return _joined(graph, call)
    if call.name != "newStream" or not call.args:
        return None
    node = replace(node_of(call, identifier(call.args[0], call), "spout"), parallelism=_parallelism(call))
    graph.nodes[node.id] = node
    return _Stream((node.id,))


def _requests(call: Invocation) -> Node:
    """The spout of a DRPC stream; it is called after the function."""
    names = call.receiver.names if call.receiver is not None else ()
    package = "backtype.storm" if any(name.startswith("storm.") for name in names) else "org.apache.storm"
    return Node(
        id=identifier(call.args[0], call) if call.args else "drpc",
        role="spout",
        cls=f"{package}.drpc.DRPCSpout",
        place=call.place,
    )


def _parallelism(call: Invocation) -> int | None:
    """The hint that follows a call in its chain."""
    following = call.result
    while isinstance(following, Obj) and following.calls:
        each = following.calls[0]
        if each.name == "parallelismHint" and each.args:
            return each.args[0] if isinstance(each.args[0], int) else None
        if each.name != "name":
            return None
        following = each.result
    return None


def _joined(graph: _Graph, call: Invocation) -> _Stream:
    """The stream of several: its sources are all of theirs."""
    sources: dict[str, None] = {}
    functions: dict[int, Invocation] = {}
    requests: Node | None = None
    for arg in _flat(call.args):
        if isinstance(arg, Obj) and id(arg) in graph.streams:
            graph.used.add(id(arg))
            stream = graph.streams[id(arg)]
            sources |= dict.fromkeys(stream.sources)
            functions |= {each.order: each for each in stream.functions}
            requests = requests or stream.requests
    grouping = "fields" if call.name == "join" else "shuffle"
    return _Stream(tuple(sources), grouping, requests, tuple(functions.values()))


def _flat(args: Sequence[Data]) -> Iterator[Data]:
    for arg in args:
        if isinstance(arg, Obj) and isinstance(arg.content, list):
            yield from arg.content
        else:
            yield arg


def _next_stream(graph: _Graph, call: Invocation, stream: _Stream) -> _Stream:
    """The stream after an operation on another one."""
    name = call.name
    if name in _PERSISTS:
        return _Stream((graph.add(_state(call), stream, call.place),))
    if name in _WINDOWS and (window := _window(call)) is not None:
        return replace(stream, sources=(graph.add(window, stream, call.place),))
    if name == _EFFECT and (stream.sources or stream.requests):
        graph.add(_function(call), stream, call.place)
    if name in _BY_FIELDS and call.args:
        fields = fields_text(call.args[0], call)
        return replace(stream, grouping=f"{name if name == 'groupBy' else 'fields'}({fields})")
    if name in _REPARTITIONS:
        return replace(stream, grouping=_REPARTITIONS[name])
    return stream


# ---- states ----


def _state(call: Invocation) -> Node:
    """The state behind a `partitionPersist` or a `persistentAggregate`."""
    factory = call.args[0] if call.args else None
    if (
        isinstance(factory, Obj)
        and factory.args
        and any(name.endswith("StateSpec") for name in factory.names)
    ):
        factory = factory.args[0]
    found, method = _factory(factory, call)
    updater = next((arg for arg in call.args[1:] if isinstance(arg, Obj) and not _is_fields(arg)), None)
    arguments: dict[str, Value] = {"factory": found.cls, "operation": call.name}
    if method:
        arguments["kind"] = method
    if updater is not None:
        arguments["updater"] = component_of(updater, "bolt", call).cls
    if isinstance(factory, Obj):
        arguments |= arguments_of(factory, call.order)
    return Node(
        id=variable_of(call) or f"({call.name} {describe_class(factory)})",
        role="state",
        cls=f"{found.cls}.{method}" if method else found.cls,
        place=call.place,
        code=found.code,
        parallelism=_parallelism(call),
        arguments=arguments,
        unread=found.unread,
        repeated=call.repeated,
    )


def _window(call: Invocation) -> Node | None:
    """The state of a window that keeps its tuples or results in memory; None for another store."""
    objects = [arg for arg in call.args if isinstance(arg, Obj)]
    stores = [arg for arg in objects if any(name.endswith(_STORE) for name in arg.names)]
    in_memory = [arg for arg in stores if any(name.endswith(_IN_MEMORY) for name in arg.names)]
    if not in_memory and (stores or call.name != "window" or len(call.args) != _WITHOUT_STORE):
        return None
    return Node(
        id=variable_of(call) or f"({call.name} {_IN_MEMORY})",
        role="state",
        cls=f"org.apache.storm.trident.windowing.{_IN_MEMORY}",
        place=call.place,
        parallelism=_parallelism(call),
        repeated=call.repeated,
    )


def _factory(factory: Data, call: Invocation) -> tuple[Class, str]:
    """The class of a state's factory, and the factory method that made it."""
    made = root(factory).made if isinstance(factory, Obj) else None
    if made is not None and made.receiver is None and not made.name[:1].isupper() and made.names:
        owner = library_name(made.names).rpartition(".")[0]
        if owner.rpartition(".")[2][:1].isupper():
            return Class(owner), made.name
    return component_of(factory, "state", call, 0), ""


def _is_fields(obj: Obj) -> bool:
    return bool(obj.names) and obj.names[-1].rpartition(".")[2] == "Fields"


# ---- functions ----


def describe_class(data: Data) -> str:
    """The simple name of an object's class."""
    match data:
        case Obj(cls=ClassInfo(name=name, bases=(base, *_))) if name.startswith("$"):
            return last_name(base)
        case Obj(names=(*_, name)) | Ref(names=(*_, name)):
            return name.rpartition(".")[2]
        case Code():
            return "a lambda"
        case _:
            return describe(data)


def _function(call: Invocation) -> Node:
    """A function with an effect, as a bolt."""
    data = next((arg for arg in call.args if _is_function(arg)), None)
    found = component_of(data, "bolt", call)
    if isinstance(data, Code):
        found = Class("", found.code)
    name = f"({call.name} {describe_class(data)})" if data is not None else f"({call.name})"
    return Node(id=name, role="bolt", cls=found.cls, place=call.place, code=found.code, unread=found.unread)


def _is_function(data: Data) -> bool:
    """Whether an argument is a lambda or a new object, but no list of fields."""
    if not isinstance(data, Obj) or _is_fields(data):
        return isinstance(data, (Code, Ref))
    made = root(data).made
    return data.cls is not None or (
        made is not None and made.name[:1].isupper() and made.name != "TridentTopology"
    )


def _add_sinks(graph: _Graph, calls: Sequence[Invocation]) -> None:
    """Add the last function of each stream that ends without a state."""
    for call in calls:
        result = call.result
        if not isinstance(result, Obj) or id(result) not in graph.streams or id(result) in graph.used:
            continue
        stream = graph.streams[id(result)]
        last = graph.last.get(id(result))
        states = any(graph.nodes[source].role == "state" for source in stream.sources)
        if last is not None and stream.sources and not states and last.name != _EFFECT:
            graph.add(_function(last), stream, last.place)
