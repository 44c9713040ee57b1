"""Settings that turn acking or timeouts off, bound nothing, or have no effect."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect, Gap, Node, Place
from ackdoctor.rulebook import ACKERS_ZERO, DEAD_SETTING, TIMEOUTS_DISABLED, UNBOUNDED_PENDING
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.readers.undecided import is_undecided
from ackdoctor.topology.settings import ACKERS, MAX_PENDING, MODE, TIMEOUT, is_of_cluster
from ackdoctor.topology.tracking import number, timeouts_off

# ---- ACK501 ackers-zero ----


_DURABLE = frozenset("kafka rabbitmq amqp sqs kinesis pulsar jms pubsub beanstalk rq".split())


def ack501_ackers_zero(wiring: Wiring) -> Iterator[Defect]:
    """Yield the setting that turns acking off or on against the code."""
    off = wiring.tracking.reason
    if off is not None and _is_written(wiring, off.place):
        kind, sure, who = _reliance(wiring)
        setting = MODE if off.fact == "reliability-off" else ACKERS
        yield wiring.defect(ACKERS_ZERO, kind, sure, off.place, setting=setting, who=who)
        return
    ackers = wiring.setting(ACKERS)
    if wiring.tracking.on is None:
        yield from _possibly_off(wiring)
    if ackers is not None and (number(ackers) or 0) > 0 and wiring.ids is False:
        yield wiring.defect(ACKERS_ZERO, "ackers-without-ids", "information", ackers.place)


def _possibly_off(wiring: Wiring) -> Iterator[Defect]:
    """Yield the files that turn acking off if the code reads them."""
    kind, sure, who = _reliance(wiring)
    if sure == "certain":
        for setting in wiring.judged.topology.settings:
            if setting.key == ACKERS and number(setting) == 0 and setting.why:  # "if the code reads ..."
                yield wiring.defect(ACKERS_ZERO, kind, "likely", setting.place, setting=ACKERS, who=who)


def _reliance(wiring: Wiring) -> tuple[str, str, str]:
    """Return the kind of the defect, its certainty, and who relies on acking: `orders relies`, `orders, views rely`."""
    relying = [spout.id for spout in wiring.graph.spouts if _relies(wiring, spout)]
    if relying or wiring.is_trident:
        return "ackers-zero-with-tracking-spout", "certain", _who_relies(relying or ["Trident"])
    unknown = [spout.id for spout in wiring.graph.spouts if wiring.gives_ids(spout) is None]
    if unknown and wiring.setting(MAX_PENDING) is not None:  # which bounds tuples with ids only
        return "ackers-zero-with-tracking-spout", "likely", _who_relies(unknown)
    return "ackers-zero", "information", ""


def _who_relies(names: list[str]) -> str:
    return f"{', '.join(names)} {'relies' if len(names) == 1 else 'rely'}"


def _is_written(wiring: Wiring, place: Place) -> bool:
    return any(place == setting.place for setting in wiring.judged.topology.settings)


def _relies(wiring: Wiring, spout: Node) -> bool:
    """Whether a spout gives ids, or reads a source that can deliver a message again."""
    facts = wiring.facts(spout)
    return bool(wiring.gives_ids(spout)) or (facts is not None and facts.source in _DURABLE)


# ---- ACK502 timeouts-disabled ----


def ack502_timeouts_disabled(wiring: Wiring) -> Iterator[Defect]:
    """Yield the setting that turns timeouts off, if tuples are tracked."""
    off = timeouts_off(wiring.graph)
    if off is not None and not wiring.is_untracked:
        sure = "certain" if wiring.ids else "likely"
        yield wiring.defect(TIMEOUTS_DISABLED, "timeouts-off", sure, off.place)


# ---- ACK503 unbounded-pending ----


_NO_BOUND = 100_000  # per spout task: more tuples than bolts complete within a message timeout
_SHELL_PENDING = "topology.shellbolt.max.pending"  # at 1, a shell bolt takes one tuple at a time


def ack503_unbounded_pending(wiring: Wiring) -> Iterator[Defect]:
    """Yield a bound that is missing or too large to be one."""
    if wiring.is_untracked:
        return
    setting = wiring.setting(MAX_PENDING)
    if setting is not None:
        pending = number(setting)
        if pending is not None and pending >= _NO_BOUND:
            values = {"value": f"{pending:,.0f}"}
            yield wiring.defect(
                UNBOUNDED_PENDING, "max-pending-without-bound", "likely", setting.place, **values
            )
        if pending is not None or isinstance(setting.value, Gap):
            return
    if wiring.is_trident or not wiring.tracking.on:
        return
    spouts = [
        spout.id
        for spout in wiring.replaying()
        if wiring.graph.setting(MAX_PENDING, spout.id).value is None  # neither set nor injected
    ]
    if spouts:
        sure = "information" if wiring.graph.setting(_SHELL_PENDING).value == 1 else "likely"
        place = setting.place if setting is not None else wiring.graph.config
        yield wiring.defect(UNBOUNDED_PENDING, "max-pending-unset", sure, place, spouts=", ".join(spouts))


# ---- ACK505 dead-setting ----


def ack505_dead_setting(wiring: Wiring) -> Iterator[Defect]:
    """Yield a bound or a timeout of tuples that are not tracked."""
    if not wiring.is_untracked or wiring.tracking.checkpoints is not None:
        return
    reason = "no spout emits with a message id" if wiring.ids is False else "acking is off"
    # Storm compares windows to the timeout
    windows = any(facts.windowed for facts in wiring.judged.facts.values())
    for key, kind, sure in (
        (MAX_PENDING, "max-pending-without-effect", "certain"),
        (TIMEOUT, "timeout-without-effect", "likely"),  # `storm kill` waits as long
    ):
        setting = wiring.setting(key)
        if setting is None or setting.value is None or is_undecided(wiring.judged.topology, setting):
            continue
        if is_of_cluster(setting):  # other topologies may need it
            continue
        if not (windows and key == TIMEOUT):
            yield wiring.defect(DEAD_SETTING, kind, sure, setting.place, key=key, reason=reason)
