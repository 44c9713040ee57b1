"""The graph of a `TopologyBuilder` in Java: Storm's, JStorm's and Heron's.

`builder.setBolt(id, bolt, parallelism)` gives a declarer; its grouping methods are the edges.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackdoctor.model.topology import DEFAULT_STREAM, Defect, Edge, Gap, Node, Setting
from ackdoctor.topology.objects import Data, Invocation, Obj, describe
from ackdoctor.topology.readers.component_arguments import window_settings
from ackdoctor.topology.readers.java_config import component_settings
from ackdoctor.topology.readers.wiring import (
    Wired,
    declared_by,
    fields_text,
    identifier,
    node_of,
    wired_by_caller,
)

_TRANSACTIONAL = frozenset(
    f"{package}.transactional.TransactionalTopologyBuilder"
    for package in ("org.apache.storm", "backtype.storm")
)
BUILDERS = dict.fromkeys(_TRANSACTIONAL, "java-transactional") | {
    "org.apache.storm.topology.TopologyBuilder": "java-builder",
    "backtype.storm.topology.TopologyBuilder": "java-builder",
    "com.alibaba.jstorm.batch.BatchTopologyBuilder": "jstorm",
    "com.twitter.heron.api.topology.TopologyBuilder": "heron-java",
    "org.apache.heron.api.topology.TopologyBuilder": "heron-java",
}
WIRING = frozenset({"setSpout", "setBolt"})
_ROLES = {"setSpout": "spout", "setBolt": "bolt"}
GROUPINGS = {
    "shuffleGrouping": "shuffle",
    "fieldsGrouping": "fields",
    "globalGrouping": "global",
    "noneGrouping": "none",
    "allGrouping": "all",
    "directGrouping": "direct",
    "localOrShuffleGrouping": "local-or-shuffle",
    "localFirstGrouping": "local-or-shuffle",
    "partialKeyGrouping": "partial-key",
    "customGrouping": "custom",
    "applyGrouping": "custom",
    "grouping": "custom",
}
_WITH_ARGUMENT = frozenset({"fields", "partial-key", "custom"})


def graph_of(builder: Obj, before: int, calls: Sequence[Invocation]) -> Wired:
    """The graph that the calls on a builder wire before the call with that order."""
    nodes: dict[str, Node] = {}
    edges: list[tuple[Edge, Data]] = []
    computed: list[tuple[Data, Gap, str]] = []
    settings: list[Setting] = []
    gaps = [*wired_by_caller(builder)]
    defects: list[Defect] = []
    if builder.is_one_of(_TRANSACTIONAL) and builder.made is not None:
        spout = node_of(builder.made, identifier(builder.made.argument(1), builder.made, 1), "spout", 2)
        nodes[spout.id] = spout
    for call in builder.calls:
        if call.order >= before or call.name not in WIRING or not call.args:
            continue
        node = node_of(call, identifier(call.args[0], call), _ROLES[call.name])
        if not isinstance(call.args[0], str) and not node.repeated:
            gap = Gap(f"the id of this {node.role} is computed: {node.id}", call.place)
            computed.append((call.args[0], gap, node.id))
        is_again = node.id in nodes and not node.repeated and isinstance(call.args[0], str)
        if is_again and not _is_delegated(builder, call):
            why = f"`{node.id}` is declared twice: the builder refuses the second one"
            defects.append(
                Defect(
                    kind="duplicate-component", sure="certain", place=node.place, why=why, component=node.id
                )
            )
        nodes[node.id] = node
        declared = declared_by(call, before)
        edges += _edges(node.id, declared)
        settings += window_settings(call.argument(1), call.order, node.id)
        settings += component_settings(declared, calls, node.id)
    found = _with_sources(nodes, edges, [(data, name) for data, _, name in computed]) if not gaps else None
    if found is None:
        gaps += (gap for _, gap, _ in computed)
    plain = tuple(found or (edge for edge, _ in edges))
    return Wired(tuple(nodes.values()), plain, tuple(settings), tuple(gaps), tuple(defects))


def _with_sources(
    nodes: dict[str, Node], edges: Sequence[tuple[Edge, Data]], computed: Sequence[tuple[Data, str]]
) -> list[Edge] | None:
    """The edges, each with the component that feeds it; None if an id that only a run knows may be meant by several.

    Storm refuses a source that is no component, so that the only one that is left is the source.
    """
    names = [name for _, name in computed]
    if len(set(names)) < len(names) or any(node.repeated for node in nodes.values()):
        return None
    found: list[Edge] = []
    for edge, data in edges:
        same = [name for value, name in computed if value is data is not None]
        among = names if isinstance(data, str) else nodes
        known = [data] if isinstance(data, str) and data in nodes else same
        left = known or [name for name in among if name != edge.target]
        if len(left) != 1 and names:
            return None
        found.append(replace(edge, source=left[0]) if len(left) == 1 else edge)
    return found


def _is_delegated(builder: Obj, call: Invocation) -> bool:
    """Whether a wiring method of the project's own builder makes the call, for the id that it got."""
    return any(
        outer.order < call.order < outer.until and outer.name in WIRING and outer.args[:1] == call.args[:1]
        for outer in builder.calls
    )


# ---- subscriptions ----


def _edges(target: str, declared: Sequence[Invocation]) -> Iterator[tuple[Edge, Data]]:
    """The subscriptions of a bolt, each with the value that names its source."""
    for call in declared:
        kind = GROUPINGS.get(call.name)
        if kind is None or not call.args:
            continue
        source, stream, rest, data = _subscription(call, with_argument=kind in _WITH_ARGUMENT)
        detail = _detail(kind, rest, call)
        yield Edge(source=source, target=target, place=call.place, stream=stream, grouping=detail), data


def _subscription(call: Invocation, *, with_argument: bool) -> tuple[str, str, Data, Data]:
    """The source, the stream and the argument of a grouping, and the value that names the source."""
    first, *others = call.args
    argument = others.pop() if with_argument and others else None
    stream = DEFAULT_STREAM if not others else identifier(others[0], call, 1)
    if isinstance(first, Obj) and first.made is not None and first.made.name == "GlobalStreamId":
        parts = first.made.args
        texts = [identifier(part, first.made, index) for index, part in enumerate(parts[:2])]
        return texts[0], texts[1] if len(texts) > 1 else DEFAULT_STREAM, argument, parts[0] if parts else None
    return identifier(first, call), stream, argument, first


def _detail(kind: str, argument: Data, call: Invocation) -> str:
    if kind == "custom":
        return f"custom {_grouping_class(argument)}".strip()
    if kind not in _WITH_ARGUMENT:
        return kind
    return f"{kind}({fields_text(argument, call)})"


def _grouping_class(argument: Data) -> str:
    if isinstance(argument, Obj) and argument.names:
        return argument.names[-1].rpartition(".")[2]
    return "" if argument is None else describe(argument)
