"""A topology as a graph: consumers, paths from the spouts, and the settings that apply."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ackdoctor.model.topology import UNREAD, ComponentFacts, Edge, Emit, Gap, Node, Place, Setting, Topology
from ackdoctor.topology.settings import effective

__all__ = ["Graph", "is_name"]

_NAME = re.compile(r"(?![A-Z0-9_]+$)[\w$:/-]+")  # a word in capitals may be a constant
_MAX_STEPS = 10_000  # of a search for heavy paths


def is_name(text: str) -> bool:
    """Whether a stream or an id is known by its name, and not by an expression such as `Words.STREAM` or `ids.get(0)`."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Graph:
    """The nodes and edges of a topology, and the facts of its components by id."""

    topology: Topology
    facts: Mapping[str, ComponentFacts]

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by id."""
        return {node.id: node for node in self.topology.nodes}

    @cached_property
    def spouts(self) -> tuple[Node, ...]:
        """The spouts, in their order."""
        return tuple(node for node in self.topology.nodes if node.role == "spout")

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges of each source between known nodes; each pair of source, target and stream once."""
        found: dict[str, dict[tuple[str, str], Edge]] = {}
        for edge in self.topology.edges:
            if edge.source in self.nodes and edge.target in self.nodes:
                found.setdefault(edge.source, {}).setdefault((edge.target, edge.stream), edge)
        return {source: tuple(edges.values()) for source, edges in found.items()}

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What the files leave open: the topology's gaps, and the subscriptions whose source they do not decide."""
        unknown = (
            Gap(f"it is not known what {edge.target} subscribes to", edge.place)
            for edge in self.topology.edges
            if edge.source not in self.nodes and not is_name(edge.source)
        )
        return (*self.topology.gaps, *unknown)

    def consumed(self, node: str) -> tuple[Edge, ...]:
        """Return the edges that leave a node."""
        return self.outgoing.get(node, ())

    def emits_to(self, edge: Edge) -> tuple[Emit, ...]:
        """Return the emits of the source that reach the edge's target; a computed stream may be any stream."""
        facts = self.facts.get(edge.source)
        emits = facts.emits if facts is not None else ()
        exact = tuple(emit for emit in emits if emit.stream in (edge.stream, UNREAD))
        return emits if not exact and not is_name(edge.stream) else exact

    def is_consumed(self, node: str, emit: Emit) -> bool:
        """Whether a component may subscribe to the stream of an emit."""
        return any(emit in self.emits_to(edge) for edge in self.consumed(node))

    def paths_from(self, start: str) -> Mapping[str, tuple[str, ...]]:
        """Return the shortest path to each node that a spout reaches, by node, nearest first."""
        paths: dict[str, tuple[str, ...]] = {start: (start,)}
        queue = deque((start,))
        while queue:
            source = queue.popleft()
            for edge in self.consumed(source):
                if edge.target not in paths:
                    paths[edge.target] = (*paths[source], edge.target)
                    queue.append(edge.target)
        return paths

    def longest_paths(self, start: str, weights: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
        """Yield the heaviest path to each node that a spout reaches; a path visits each node once."""
        best: dict[str, tuple[float, tuple[str, ...]]] = {start: (weights.get(start, 0), (start,))}
        queue = deque((start,))
        steps = 0
        while queue and steps < _MAX_STEPS:
            steps += 1
            source = queue.popleft()
            weight, path = best[source]
            for edge in self.consumed(source):
                if edge.target in path:
                    continue
                total = weight + weights.get(edge.target, 0)
                if edge.target not in best or total > best[edge.target][0]:
                    best[edge.target] = total, (*path, edge.target)
                    queue.append(edge.target)
        yield from (path for _, path in best.values())

    def setting(self, key: str, component: str = "") -> Setting:
        """Return the assignment of a setting that holds for a component or the topology, or its default."""
        return effective(self.topology, key, component)

    def is_set(self, setting: Setting) -> bool:
        """Whether a file assigns a setting; otherwise it is a default."""
        return any(setting.place == each.place for each in self.topology.settings)

    @cached_property
    def config(self) -> Place:
        """Where the configuration begins: the place to report what it lacks."""
        return self.topology.config or self.topology.place

    def feeding(self, node: str) -> Iterator[Node]:
        """Yield the spouts from which a path leads to a node."""
        return (spout for spout in self.spouts if node in self.paths_from(spout.id))
