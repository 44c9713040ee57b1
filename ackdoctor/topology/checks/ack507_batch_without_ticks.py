"""ACK507: a bolt completes its tuples at ticks, and no setting turns ticks on."""

from collections.abc import Iterator

from ackdoctor.model.topology import Defect
from ackdoctor.rulebook import BATCH_WITHOUT_TICKS
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import TICKS


def check(wiring: Wiring) -> Iterator[Defect]:
    """Yield each component that waits for ticks and gets none."""
    for node in wiring.graph.nodes.values():
        facts = wiring.facts(node)
        if facts is None or not facts.flushes_at_ticks:
            continue
        ticks = wiring.graph.setting(TICKS, node.id)
        if ticks.value is None or ticks.value == 0:
            kind = "batch-without-ticks"
            yield wiring.defect(BATCH_WITHOUT_TICKS, kind, "certain", node.place, node.id, name=node.id)
