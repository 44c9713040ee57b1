"""ACK508: a component or a mode guarantees less than the topology around it needs."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect, Node, OnFail
from ackdoctor.rulebook import WEAK_GUARANTEE
from ackdoctor.topology.checks.wiring import Wiring

_GUARANTEE = "processingGuarantee"
_OFFSETS = "firstPollOffsetStrategy"
_WEAK = ("AT_MOST_ONCE", "NO_GUARANTEE")
_SKIPS = ("LATEST", "UNCOMMITTED_LATEST")


def check(wiring: Wiring) -> Iterator[Defect]:
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
    guarantee = _constant(spout, _GUARANTEE)
    if guarantee in _WEAK:
        kind, values = "kafka-not-at-least-once", {"name": spout.id, "guarantee": guarantee}
        yield wiring.defect(WEAK_GUARANTEE, kind, "likely", spout.place, spout.id, **values)
    offsets = _constant(spout, _OFFSETS)
    if offsets in _SKIPS:
        kind, values = "offsets-from-latest", {"name": spout.id, "offsets": offsets}
        yield wiring.defect(WEAK_GUARANTEE, kind, "likely", spout.place, spout.id, **values)
    facts = wiring.facts(spout)
    if facts is not None and facts.on_fail is OnFail.BOUNDED and spout.arguments:
        yield wiring.defect(WEAK_GUARANTEE, "bounded-retries", "likely", spout.place, spout.id, name=spout.id)


def _constant(spout: Node, name: str) -> str:
    """Return the last word of an argument: "LATEST" of `FirstPollOffsetStrategy.LATEST`."""
    return str(spout.arguments.get(name, "")).rpartition(".")[2]
