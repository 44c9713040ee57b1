"""ACK503: nothing bounds the tuples that a replaying spout has in flight."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect, Gap
from ackdoctor.rulebook import UNBOUNDED_PENDING
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import MAX_PENDING
from ackdoctor.topology.tracking import number

_NO_BOUND = 100_000  # per spout task: more tuples than bolts complete within a message timeout
_SHELL_PENDING = "topology.shellbolt.max.pending"  # at 1, a shell bolt takes one tuple at a time


def check(wiring: Wiring) -> Iterator[Defect]:
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
