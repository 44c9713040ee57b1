"""Flux files whose graph is made by a class: `topologySource` is linked to what the code of that class wires.

The settings are those of the file.  What the class puts into the configuration that it is given is lost: Flux passes a copy
(FluxBuilder.java:400-415@v2.8.8).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers.flux import KIND, source_of
from ackdoctor.topology.readers.undecided import is_unsubmitted


def with_sources(topologies: Sequence[Topology]) -> tuple[Topology, ...]:
    """Put the graphs of classes into the Flux files that name them; such a class is no topology of its own."""
    parts = [each for each in topologies if is_unsubmitted(each)]
    linked: list[Topology] = []
    used: set[int] = set()
    for topology in topologies:
        cls = source_of(topology) if topology.kind == KIND else ""
        graphs = [part for part in parts if cls and _is_of(part, cls)]
        used.update(map(id, graphs))
        linked.extend(_joined(topology, graphs) if graphs else [topology])
    return tuple(each for each in linked if id(each) not in used)


def _is_of(part: Topology, cls: str) -> bool:
    file = cls.partition("$")[0].replace(".", "/")
    return f"/{part.place.path.rpartition('.')[0]}".endswith(f"/{file}")


def _joined(topology: Topology, graphs: Sequence[Topology]) -> Iterator[Topology]:
    for graph in graphs:
        own = tuple(each for each in graph.settings if each.component)
        yield replace(
            topology,
            kind=graph.kind,
            nodes=graph.nodes,
            edges=graph.edges,
            settings=(*own, *topology.settings),
            branch=graph.branch,
            gaps=(*topology.gaps[1:], *graph.gaps),
            defects=(*topology.defects, *graph.defects),
        )
