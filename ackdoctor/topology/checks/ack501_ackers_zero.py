"""ACK501: acking is off, and the code relies on it; or it is on, and no tuple has an id."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect, Place
from ackdoctor.rulebook import ACKERS_ZERO
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import ACKERS, MODE
from ackdoctor.topology.tracking import number

_DURABLE = frozenset("kafka rabbitmq amqp sqs kinesis pulsar jms pubsub beanstalk rq".split())


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield the setting that turns acking off or on against the code."""
    off = wiring.tracking.reason
    if off is not None and _is_written(wiring, off.place):
        relying = [spout.id for spout in wiring.graph.spouts if _relies(wiring, spout.id)]
        if relying or wiring.is_trident:
            kind, sure = "ackers-zero-with-tracking-spout", "certain"
        else:
            kind, sure = "ackers-zero", "information"
        setting = MODE if off.fact == "reliability-off" else ACKERS
        spouts = ", ".join(relying) or "Trident"
        yield wiring.defect(ACKERS_ZERO, kind, sure, off.place, setting=setting, spouts=spouts)
        return
    ackers = wiring.setting(ACKERS)
    if ackers is not None and (number(ackers) or 0) > 0 and wiring.ids is False:
        yield wiring.defect(ACKERS_ZERO, "ackers-without-ids", "information", ackers.place)


def _is_written(wiring: Wiring, place: Place) -> bool:
    return any(place == setting.place for setting in wiring.judged.topology.settings)


def _relies(wiring: Wiring, spout: str) -> bool:
    """Whether a spout gives ids, or reads a source that can deliver a message again."""
    facts = wiring.judged.facts.get(spout)
    return bool(wiring.gives_ids(wiring.graph.nodes[spout])) or (
        facts is not None and facts.source in _DURABLE
    )
