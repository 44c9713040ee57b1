"""ACK506: a subscription to a component or a stream that does not exist, a stream that no component consumes."""

from collections.abc import Iterator

from ackdoctor.model.topology import UNREAD, Defect, Edge, Node
from ackdoctor.rulebook import BROKEN_WIRING
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.graph import is_name
from ackdoctor.topology.settings import TICKS

_SYSTEM = ("__", "$")  # ids of Storm's own components and streams begin like this


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield the edges that Storm refuses, and what no component receives."""
    topology = wiring.judged.topology
    if wiring.is_trident or topology.kind == "storm-streams":
        return  # the ids and streams are generated
    for edge in topology.edges:
        if _is_plain(edge.source) and _is_plain(edge.stream):
            yield from _broken(wiring, edge)
    if not topology.gaps:
        for node in topology.nodes:
            yield from _unfed(wiring, node)
            yield from _unconsumed(wiring, node)


def _is_plain(name: str) -> bool:
    """Whether a name is known, and not one of Storm's own."""
    return not name.startswith(_SYSTEM) and is_name(name)


def _broken(wiring: Wiring, edge: Edge) -> Iterator[Defect]:
    nodes, topology = wiring.graph.nodes, wiring.judged.topology
    for end, name in (("source", edge.source), ("target", edge.target)):
        if name not in nodes:
            if not topology.gaps and all(_is_plain(node) for node in nodes):
                kind = "unknown-component" if end == "source" else "unknown-bolt-in-stream"
                other = edge.target if end == "source" else edge.source
                yield wiring.defect(BROKEN_WIRING, kind, "certain", edge.place, other, name=name, other=other)
            return
    declared = _declared(wiring, nodes[edge.source])
    if declared is not None and edge.stream not in declared and UNREAD not in declared:
        values = {"stream": edge.stream, "source": edge.source, "target": edge.target}
        kind = "undeclared-stream"
        yield wiring.defect(BROKEN_WIRING, kind, "certain", edge.place, edge.target, **values)


def _declared(wiring: Wiring, node: Node) -> frozenset[str] | None:
    """Return the streams that a component declares, in the wiring or in its class; None if that is unknown."""
    facts = wiring.facts(node)
    streams = node.streams if node.streams is not None else facts.streams if facts is not None else None
    return frozenset(streams) if streams is not None else None


def _unfed(wiring: Wiring, node: Node) -> Iterator[Defect]:
    """Yield a bolt that no component feeds; one that ticks may work without input."""
    fed = any(edge.target in (node.id, UNREAD) for edge in wiring.judged.topology.edges)
    if node.role == "bolt" and not fed and wiring.graph.setting(TICKS, node.id).value is None:
        yield wiring.defect(BROKEN_WIRING, "bolt-without-input", "likely", node.place, node.id, name=node.id)


def _unconsumed(wiring: Wiring, node: Node) -> Iterator[Defect]:
    """Yield the streams of a component to which no other subscribes, if it has other consumers or is a spout."""
    edges = [edge for edge in wiring.judged.topology.edges if edge.source in (node.id, UNREAD)]
    consumed = {edge.stream for edge in edges}
    if UNREAD in consumed or (not edges and node.role != "spout"):
        return
    facts = wiring.facts(node)
    for emit in {each.stream: each for each in (facts.emits if facts is not None else ())}.values():
        if _is_plain(emit.stream) and emit.stream not in consumed:
            values = {"name": node.id, "stream": emit.stream}
            yield wiring.defect(
                BROKEN_WIRING, "unconsumed-stream", "information", emit.place, node.id, **values
            )
