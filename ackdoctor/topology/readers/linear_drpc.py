"""The graph of a `LinearDRPCTopologyBuilder`: a chain of bolts between the components that Storm adds.

A spout takes the requests, a bolt prepares them, and two bolts behind the chain join the results and return them
(LinearDRPCTopologyBuilder.java @ v2.8.8).
"""

from collections.abc import Iterator, Sequence

from ackdoctor.model.topology import DEFAULT_STREAM, Edge, Node, Setting
from ackdoctor.topology.objects import Invocation, Obj
from ackdoctor.topology.readers.java_config import component_settings
from ackdoctor.topology.readers.storm_java import GROUPINGS
from ackdoctor.topology.readers.wiring import (
    Wired,
    declared_by,
    fields_text,
    identifier,
    node_of,
    wired_by_caller,
)

BUILDERS = {
    "org.apache.storm.drpc.LinearDRPCTopologyBuilder": "java-builder",
    "backtype.storm.drpc.LinearDRPCTopologyBuilder": "java-builder",
}
_USUAL = next(iter(BUILDERS))
WIRING = frozenset({"addBolt"})
_SPOUT, _PREPARE = "spout", "prepare-request"
_BY_FIELDS = ("fields", "partial-key")


def graph_of(builder: Obj, before: int, calls: Sequence[Invocation]) -> Wired:
    """The graph that the calls on a builder wire before the call with that order."""
    bolts = [call for call in builder.calls if call.order < before and call.name in WIRING and call.args]
    if not bolts:
        return Wired()
    package = next((name for name in builder.names if name in BUILDERS), _USUAL).rpartition(".")[0]
    first = bolts[0].place
    nodes = [
        Node(id=_SPOUT, role="spout", cls=f"{package}.DRPCSpout", place=first),
        Node(id=_PREPARE, role="bolt", cls=f"{package}.PrepareRequest", place=first),
    ]
    edges = [Edge(source=_SPOUT, target=_PREPARE, place=first, grouping="none")]
    settings: list[Setting] = []
    for index, call in enumerate(bolts):
        name, before_it = f"bolt{index}", f"bolt{index - 1}" if index else _PREPARE
        declared = declared_by(call, before)
        nodes.append(node_of(call, name, "bolt", 0))
        edges += list(_edges(before_it, name, declared)) or [
            Edge(source=before_it, target=name, place=call.place, grouping="none")
        ]
        settings += component_settings(declared, calls, name)
    last = bolts[-1].place
    for offset, cls in enumerate(("JoinResult", "ReturnResults")):
        name = f"bolt{len(bolts) + offset}"
        nodes.append(Node(id=name, role="bolt", cls=f"{package}.{cls}", place=last))
        edges.append(Edge(source=nodes[-2].id, target=name, place=last))
    edges.append(Edge(source=_PREPARE, target=f"bolt{len(bolts)}", place=last, stream="return"))
    return Wired(tuple(nodes), tuple(edges), tuple(settings), wired_by_caller(builder))


def _edges(source: str, target: str, declared: Sequence[Invocation]) -> Iterator[Edge]:
    """The subscriptions of a bolt to the one before it: a grouping names a stream, and no component."""
    for call in declared:
        kind = GROUPINGS.get(call.name)
        if kind is None:
            continue
        rest = call.args[:-1] if kind in _BY_FIELDS or kind == "custom" else call.args
        grouping = f"{kind}({fields_text(call.args[-1], call)})" if kind in _BY_FIELDS and call.args else kind
        stream = identifier(rest[0], call) if rest else DEFAULT_STREAM
        yield Edge(source=source, target=target, place=call.place, stream=stream, grouping=grouping)
