"""What the checks ask about a judged topology: its graph, whether it tracks tuples, and which spouts give ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ackdoctor.model.topology import (
    UNREAD,
    ComponentFacts,
    Defect,
    Edge,
    Judged,
    Node,
    OnFail,
    Place,
    Setting,
)
from ackdoctor.rulebook import BROKEN_WIRING, WEAK_GUARANTEE, words
from ackdoctor.topology.graph import Graph, is_name
from ackdoctor.topology.settings import LATE_STREAM, TICKS
from ackdoctor.topology.tracking import Tracking, tracking_of
from ackdoctor.topology.trident_guarantee import is_trident

__all__ = ["Wiring"]

_REPLAYS = frozenset((OnFail.REPLAYS, OnFail.SOURCE, OnFail.BOUNDED))


@dataclass(frozen=True)
class Wiring:
    """A judged topology, as the checks see it."""

    judged: Judged
    graph: Graph

    @classmethod
    def of(cls, judged: Judged) -> "Wiring":
        """Return the view of a judged topology."""
        return cls(judged, Graph(judged.topology, judged.facts))

    @cached_property
    def tracking(self) -> Tracking:
        """Whether the topology tracks tuples."""
        return tracking_of(self.graph)

    @property
    def is_trident(self) -> bool:
        """Whether the topology is a Trident topology, whose master emits each batch with an id."""
        return is_trident(self.judged.topology)

    def facts(self, node: Node) -> ComponentFacts | None:
        """Return what the code of a component shows."""
        return self.judged.facts.get(node.id)

    def setting(self, key: str, component: str = "") -> Setting | None:
        """Return the assignment of a setting that a file makes and that holds; None if there is none."""
        found = self.graph.setting(key, component)
        return found if self.graph.is_set(found) else None

    # ---- spouts ----

    def gives_ids(self, spout: Node) -> bool | None:
        """Whether a spout gives an id to a tuple that a component consumes; None if that is unknown."""
        if self.is_trident:
            return True
        facts = self.facts(spout)
        if facts is None:
            return None
        edges = self.graph.consumed(spout.id)
        ids = {each.has_id for each in facts.emits if not edges or self.graph.is_consumed(spout.id, each)}
        return True if True in ids else False if ids == {False} else None

    @cached_property
    def ids(self) -> bool | None:
        """Whether any spout gives ids; False if certainly none does."""
        known = {self.gives_ids(spout) for spout in self.graph.spouts}
        return True if True in known else False if known == {False} else None

    @property
    def is_untracked(self) -> bool:
        """Whether certainly no tuple of the topology is tracked."""
        return self.tracking.on is False or self.ids is False

    def replaying(self) -> Iterator[Node]:
        """Yield the spouts that give ids and emit a failed message again, or whose source does."""
        for spout in self.graph.spouts:
            facts = self.facts(spout)
            if facts is not None and facts.on_fail in _REPLAYS and self.gives_ids(spout):
                yield spout

    # ---- defects ----

    def defect(
        self, code: str, kind: str, sure: str, place: Place, component: str = "", **values: object
    ) -> Defect:
        """Return a defect in the words of the rule's page."""
        why = words(code, kind, **values).message
        return Defect(kind=kind, sure=sure, place=place, why=why, component=component)


# ---- ACK506 broken-wiring ----


_SYSTEM = ("__", "$")  # ids of Storm's own components and streams begin like this


def ack506_broken_wiring(wiring: Wiring) -> Iterator[Defect]:
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
    late = wiring.graph.setting(LATE_STREAM, node.id).value  # the framework declares it
    if streams is None or not isinstance(late, str | None):
        return None
    return frozenset(streams) | ({late} if late else frozenset())


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


# ---- ACK508 weak-guarantee ----


_GUARANTEE = "processingGuarantee"
_AUTO_COMMIT = "enable.auto.commit"
_OFFSETS = "firstPollOffsetStrategy"
_WEAK = ("AT_MOST_ONCE", "NO_GUARANTEE")
_SKIPS = ("LATEST", "UNCOMMITTED_LATEST")


def ack508_weak_guarantee(wiring: Wiring) -> Iterator[Defect]:
    """Yield weak guarantees of spouts, and reliability modes without what they need."""
    for spout in wiring.graph.spouts:
        yield from _spout(wiring, spout)
    off, checkpoints = wiring.tracking.reason, wiring.tracking.checkpoints
    if (
        off is not None
        and off.fact == "reliability-off"
        and wiring.setting("topology.reliability.mode") is None
    ):
        sure = "certain" if any(True for _ in wiring.replaying()) else "information"
        yield wiring.defect(WEAK_GUARANTEE, "heron-default", sure, off.place)
    if checkpoints is not None:
        lacks = [each.why for each in wiring.judged.verdict.reasons if each.fact == "not-stateful"]
        if lacks:
            kind = "effectively-once-without-state"
            yield wiring.defect(WEAK_GUARANTEE, kind, "certain", checkpoints, lacks="; ".join(lacks))


def _spout(wiring: Wiring, spout: Node) -> Iterator[Defect]:
    facts = wiring.facts(spout)
    guarantee, argument = _constant(spout, _GUARANTEE), _GUARANTEE
    committed = str(spout.arguments.get(_AUTO_COMMIT, "")).lower() == "true"
    if committed and facts is not None and facts.source == "kafka" and facts.on_fail is OnFail.NOTHING:
        guarantee, argument = guarantee or _AUTO_COMMIT, _AUTO_COMMIT
    if guarantee in (*_WEAK, _AUTO_COMMIT):
        kind, values = "kafka-not-at-least-once", {"name": spout.id, "guarantee": guarantee}
        place = spout.given.get(argument, spout.place)
        yield wiring.defect(WEAK_GUARANTEE, kind, "likely", place, spout.id, **values)
    offsets = _constant(spout, _OFFSETS)
    if offsets in _SKIPS:
        kind, values = "offsets-from-latest", {"name": spout.id, "offsets": offsets}
        place = spout.given.get(_OFFSETS, spout.place)
        yield wiring.defect(WEAK_GUARANTEE, kind, "likely", place, spout.id, **values)
    if facts is not None and facts.on_fail is OnFail.BOUNDED and spout.arguments:
        place = facts.on_fail_place or spout.place
        yield wiring.defect(WEAK_GUARANTEE, "bounded-retries", "likely", place, spout.id, name=spout.id)


def _constant(spout: Node, name: str) -> str:
    """Return the last word of an argument: "LATEST" of `FirstPollOffsetStrategy.LATEST`."""
    return str(spout.arguments.get(name, "")).rpartition(".")[2]
