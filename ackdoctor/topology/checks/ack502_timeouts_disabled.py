"""ACK502: message timeouts are off, so that a lost tuple is never failed."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect
from ackdoctor.rulebook import TIMEOUTS_DISABLED
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.tracking import timeouts_off


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield the setting that turns timeouts off, if tuples are tracked."""
    off = timeouts_off(wiring.graph)
    if off is not None and not wiring.is_untracked:
        sure = "certain" if wiring.ids else "likely"
        yield wiring.defect(TIMEOUTS_DISABLED, "timeouts-off", sure, off.place)
