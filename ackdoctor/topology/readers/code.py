"""The topologies that code wires: each reader of a language's topologies is asked."""

from ackdoctor.flow.program import Program
from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers import heronpy, java, petrel, streamparse


def from_program(program: Program, own: set[str]) -> tuple[Topology, ...]:
    """Return the topologies that the files of `own` wire."""
    return tuple(
        topology
        for reader in (java, streamparse, heronpy, petrel)
        for topology in reader.from_program(program, own)
    )
