"""ACK505: a setting that has no effect; most are found by the readers and by `settings`."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect
from ackdoctor.rulebook import DEAD_SETTING
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.readers.undecided import is_undecided
from ackdoctor.topology.settings import MAX_PENDING, TIMEOUT


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield a bound or a timeout of tuples that are not tracked."""
    if not wiring.is_untracked or wiring.tracking.checkpoints is not None:
        return
    reason = "no spout emits with a message id" if wiring.ids is False else "acking is off"
    windows = any(
        facts.windowed for facts in wiring.judged.facts.values()
    )  # Storm compares them to the timeout
    for key, kind in ((MAX_PENDING, "max-pending-without-effect"), (TIMEOUT, "timeout-without-effect")):
        setting = wiring.setting(key)
        if setting is None or setting.value is None or is_undecided(wiring.judged.topology, setting):
            continue
        if not (windows and key == TIMEOUT):
            yield wiring.defect(DEAD_SETTING, kind, "certain", setting.place, key=key, reason=reason)
