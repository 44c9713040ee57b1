"""The graph of a topology of Storm's Streams API: fluent chains that start at a `StreamBuilder`.

Storm runs consecutive operations in one bolt.  A node is a run of operations: it ends before an operation that keeps state
or joins streams, and at `to(bolt)`.  Its id lists the operations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ackdoctor.model.topology import Edge, Node, Place, Value
from ackdoctor.topology.objects import Invocation, Obj
from ackdoctor.topology.readers.component_arguments import as_settings, window_of
from ackdoctor.topology.readers.wiring import Wired, node_of, wired_by_caller

BUILDERS = {"org.apache.storm.streams.StreamBuilder": "storm-streams"}
WIRING = frozenset({"newStream"})
_STATEFUL = frozenset({"updateStateByKey", "stateQuery"})
_JOINS = frozenset("join leftOuterJoin rightOuterJoin fullOuterJoin union coGroupByKey".split())
_BOUNDARIES = _STATEFUL | _JOINS | {"repartition"}
_WINDOW = "window"
_SINK = "to"
_SILENT = frozenset({"toPairStream", "print", "[]"})  # operations that no id lists
_PACKAGE = "org.apache.storm.streams"


@dataclass(slots=True, frozen=True)
class _Stream:
    """The nodes that feed a stream, and the operations since."""

    sources: tuple[str, ...]
    operations: tuple[str, ...] = ()
    place: Place | None = None  # of the first operation
    window: tuple[tuple[str, Value], ...] = ()


@dataclass(slots=True)
class _Graph:
    """The graph as far as the calls were read."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    streams: dict[int, _Stream] = field(default_factory=dict)  # by the object of the stream
    used: set[int] = field(default_factory=set)  # streams that something consumes
    closed: dict[_Stream, tuple[str, ...]] = field(default_factory=dict)

    def add(self, node: Node) -> str:
        """Add a node and return its id; a second one with the same name gets a number."""
        same = sum(each.partition("#")[0] == node.id for each in self.nodes)
        name = f"{node.id}#{same + 1}" if same else node.id
        self.nodes[name] = replace(node, id=name)
        return name

    def close(self, stream: _Stream) -> tuple[str, ...]:
        """End a run of operations; return the nodes that feed what follows."""
        if not stream.operations or stream.place is None:
            return stream.sources
        if stream not in self.closed:
            shown = [name for name in stream.operations if name not in _SILENT]
            stateful = not _STATEFUL.isdisjoint(stream.operations)
            kind = (
                "StatefulProcessorBolt"
                if stateful
                else "WindowedProcessorBolt"
                if stream.window
                else "ProcessorBolt"
            )
            name = f"({', '.join(shown or stream.operations)})"
            cls, window = f"{_PACKAGE}.{kind}", dict(stream.window)
            node = Node(id=name, role="bolt", cls=cls, place=stream.place, arguments=window)
            self.connect(stream, self.add(node), stream.place)
        return self.closed[stream]

    def connect(self, stream: _Stream, name: str, place: Place) -> None:
        """Let a node consume a stream."""
        for source in stream.sources:
            self.edges.append(Edge(source=source, target=name, place=place, grouping="shuffle"))
        self.closed[stream] = (name,)


def graph_of(builder: Obj, before: int, calls: Sequence[Invocation]) -> Wired:
    """The graph that the calls on a `StreamBuilder` wire before the call with that order."""
    graph = _Graph()
    for call in calls:
        if call.order < before and not call.inlined and call.kind != "set" and isinstance(call.result, Obj):
            stream = _read(graph, builder, call)
            if stream is not None:
                graph.streams[id(call.result)] = stream
    for name, stream in graph.streams.items():
        if name not in graph.used:
            graph.close(stream)
    windows = (
        setting
        for node in graph.nodes.values()
        for setting in as_settings(node.arguments, node.place, node.id)
    )
    return Wired(tuple(graph.nodes.values()), tuple(graph.edges), tuple(windows), wired_by_caller(builder))


def _read(graph: _Graph, builder: Obj, call: Invocation) -> _Stream | None:
    """The stream that a call on the builder or on a stream returns."""
    receiver = call.receiver
    if receiver is builder and call.name == "newStream":
        return _Stream((graph.add(node_of(call, "(spout)", "spout", 0)),))
    if receiver is None or id(receiver) not in graph.streams:
        return None
    graph.used.add(id(receiver))
    stream = graph.streams[id(receiver)]
    if call.name == _SINK:
        _sink(graph, call, stream)
        return None
    if call.name in _BOUNDARIES:
        sources = [*graph.close(stream)]
        for arg in call.args:
            if call.name in _JOINS and isinstance(arg, Obj) and id(arg) in graph.streams:
                graph.used.add(id(arg))
                sources += graph.close(graph.streams[id(arg)])
        return _Stream(tuple(dict.fromkeys(sources)), (call.name,), call.place)
    windows = (tuple(_window(arg).items()) for arg in call.args if call.name.lower().endswith(_WINDOW))
    window = next((each for each in windows if each), stream.window)
    return replace(
        stream, operations=(*stream.operations, call.name), place=stream.place or call.place, window=window
    )


def _window(data: object) -> Mapping[str, Value]:
    """The length and the interval in `TumblingWindows.of(...)` or `SlidingWindows.of(...)`."""
    if not isinstance(data, Obj) or data.made is None or not any("Windows." in name for name in data.names):
        return {}
    tumbling = any("TumblingWindows" in name for name in data.names)
    return dict(window_of(data.made.args, data.place, tumbling=tumbling))


def _sink(graph: _Graph, call: Invocation, stream: _Stream) -> None:
    """A bolt of its own at the end of a stream."""
    node = node_of(call, "", "bolt", 0)
    node = replace(node, id=f"(to {node.cls.rpartition('.')[2]})")
    graph.connect(_Stream(graph.close(stream)), graph.add(node), call.place)
