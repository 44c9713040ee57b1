"""Hand-built topologies: `words -> count` with whatever facts a test needs."""

from collections.abc import Mapping
from typing import Any

from ackdoctor.model.topology import (
    DEFAULT_STREAM,
    Anchors,
    ComponentFacts,
    Edge,
    Emit,
    Fault,
    Node,
    OnFail,
    Place,
    Setting,
    SourceAck,
    Topology,
    Verdict,
    Word,
)
from ackdoctor.topology.guarantee import verdict

HERE = Place("topology.py", 1)
ACKERS = "topology.acker.executors"
MODE = "topology.reliability.mode"
AT_MOST, AT_LEAST, EXACTLY = Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, Word.EXACTLY_ONCE


def node(name: str, role: str = "bolt", **more: Any) -> Node:
    """Return a node whose class has its name."""
    return Node(
        **{"id": name, "role": role, "cls": name.capitalize(), "place": Place("topology.py", 2), **more}
    )


def emit(
    line: int = 10,
    anchors: Anchors = Anchors.ALL,
    *,
    stream: str = DEFAULT_STREAM,
    has_id: bool | None = None,
    path: str = "code.py",
) -> Emit:
    """Return an emit on a line of `code.py`."""
    return Emit(stream=stream, place=Place(path, line), anchors=anchors, has_id=has_id)


def spout(**more: Any) -> ComponentFacts:
    """Return the facts of a spout that gives ids and replays, and whose source waits for the ack."""
    known: Mapping[str, Any] = {
        "cls": "Words",
        "role": "spout",
        "dialect": "storm_java",
        "place": Place("words.py", 1),
        "emits": (emit(5, has_id=True, path="words.py"),),
        "on_fail": OnFail.REPLAYS,
        "on_fail_place": Place("words.py", 8),
        "source_ack": SourceAck.ON_ACK,
    }
    return ComponentFacts(**{**known, **more})


def bolt(**more: Any) -> ComponentFacts:
    """Return the facts of a bolt that anchors its emit and completes each tuple."""
    known: Mapping[str, Any] = {
        "cls": "Count",
        "role": "bolt",
        "dialect": "storm_java",
        "place": Place("count.py", 1),
        "emits": (emit(),),
        "auto_ack": False,
        "completes": True,
    }
    return ComponentFacts(**{**known, **more})


def fault(code: str, line: int = 20, *, must: bool = True, **more: bool) -> Fault:
    """Return a finding about a bolt."""
    return Fault(code, must=must, place=Place("code.py", line), message=code, **more)


def setting(key: str, value: Any, **more: Any) -> Setting:
    """Return a setting on line 30 of `topology.py`."""
    return Setting(**{"key": key, "value": value, "place": Place("topology.py", 30), **more})


def topology(*wires: str, **more: Any) -> Topology:
    """Return a topology: `topology("words -> count", "count:big -> store")`; the sources of no wire are spouts."""
    pairs = [wire.split(" -> ") for wire in wires]
    edges = [
        Edge(
            source=source.partition(":")[0],
            target=target,
            stream=source.partition(":")[2] or DEFAULT_STREAM,
            place=Place("topology.py", 3),
        )
        for source, target in pairs
    ]
    targets = {edge.target for edge in edges}
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    nodes = tuple(node(name, "bolt" if name in targets else "spout") for name in names)
    known: Mapping[str, Any] = {
        "name": "test",
        "kind": "java-builder",
        "framework": "storm 2.8.8",
        "place": HERE,
        "nodes": nodes,
        "edges": tuple(edges),
    }
    return Topology(**{**known, **more})


ONE_BOLT = topology("words -> count")
TWO_BOLTS = topology("words -> count", "count -> store")


def judge(top: Any = ONE_BOLT, /, **facts: ComponentFacts) -> Verdict:
    """Return the verdict; components without facts are faultless."""
    known = {each.id: spout() if each.role == "spout" else bolt() for each in top.nodes}
    return verdict(top, {**known, **facts})


def facts_of(found: Verdict) -> list[str]:
    """Return the reasons as "fact component file:line"."""
    return [f"{reason.fact} {reason.component or '-'} {reason.place}" for reason in found.reasons]
