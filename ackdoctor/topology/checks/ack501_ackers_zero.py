"""ACK501: acking is off, and the code relies on it; or it is on, and no tuple has an id."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect, Node, Place
from ackdoctor.rulebook import ACKERS_ZERO
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import ACKERS, MAX_PENDING, MODE
from ackdoctor.topology.tracking import number

_DURABLE = frozenset("kafka rabbitmq amqp sqs kinesis pulsar jms pubsub beanstalk rq".split())


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield the setting that turns acking off or on against the code."""
    off = wiring.tracking.reason
    if off is not None and _is_written(wiring, off.place):
        kind, sure, spouts = _reliance(wiring)
        setting = MODE if off.fact == "reliability-off" else ACKERS
        yield wiring.defect(ACKERS_ZERO, kind, sure, off.place, setting=setting, spouts=spouts)
        return
    ackers = wiring.setting(ACKERS)
    if wiring.tracking.on is None:
        yield from _possibly_off(wiring)
    if ackers is not None and (number(ackers) or 0) > 0 and wiring.ids is False:
        yield wiring.defect(ACKERS_ZERO, "ackers-without-ids", "information", ackers.place)


def _possibly_off(wiring: Wiring) -> Iterator[Defect]:
    """Yield the files that turn acking off if the code reads them."""
    kind, sure, spouts = _reliance(wiring)
    if sure == "certain":
        for setting in wiring.judged.topology.settings:
            if setting.key == ACKERS and number(setting) == 0 and setting.why:  # "if the code reads ..."
                yield wiring.defect(ACKERS_ZERO, kind, "likely", setting.place, setting=ACKERS, spouts=spouts)


def _reliance(wiring: Wiring) -> tuple[str, str, str]:
    """Return the kind of the defect, its certainty, and who relies on acking."""
    relying = [spout.id for spout in wiring.graph.spouts if _relies(wiring, spout)]
    if relying or wiring.is_trident:
        return "ackers-zero-with-tracking-spout", "certain", ", ".join(relying) or "Trident"
    unknown = [spout.id for spout in wiring.graph.spouts if wiring.gives_ids(spout) is None]
    if unknown and wiring.setting(MAX_PENDING) is not None:  # which bounds tuples with ids only
        return "ackers-zero-with-tracking-spout", "likely", ", ".join(unknown)
    return "ackers-zero", "information", ""


def _is_written(wiring: Wiring, place: Place) -> bool:
    return any(place == setting.place for setting in wiring.judged.topology.settings)


def _relies(wiring: Wiring, spout: Node) -> bool:
    """Whether a spout gives ids, or reads a source that can deliver a message again."""
    facts = wiring.facts(spout)
    return bool(wiring.gives_ids(spout)) or (facts is not None and facts.source in _DURABLE)
