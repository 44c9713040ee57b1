"""What the checks ask about a judged topology: its graph, whether it tracks tuples, and which spouts give ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ackdoctor.model.topology import ComponentFacts, Defect, Judged, Node, OnFail, Place, Setting
from ackdoctor.rulebook import words
from ackdoctor.topology.graph import Graph
from ackdoctor.topology.tracking import Tracking, tracking_of
from ackdoctor.topology.trident_guarantee import is_trident

__all__ = ["Wiring"]

_REPLAYS = frozenset((OnFail.REPLAYS, OnFail.SOURCE, OnFail.BOUNDED))
_BATCHES = ("transactional", "opaque")


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
