"""Whether a topology tracks its tuples: ackers in Storm and JStorm, the reliability mode in Heron."""

from typing import NamedTuple

from ackdoctor.model.topology import Gap, Place, Reason, Setting, Topology
from ackdoctor.topology.frameworks import parsed
from ackdoctor.topology.graph import Graph
from ackdoctor.topology.readers.undecided import is_undecided
from ackdoctor.topology.settings import ACKERS, ENABLE_TIMEOUTS, MODE, TICKS, number_of

__all__ = [
    "CHECKPOINT_INTERVAL",
    "Tracking",
    "is_heron",
    "lacks_ticks",
    "number",
    "timeouts_off",
    "tracking_of",
    "undecided_timeouts",
]

CHECKPOINT_INTERVAL = "topology.stateful.checkpoint.interval.seconds"
_OFF = "ATMOST_ONCE"
_ON = "ATLEAST_ONCE"
_EFFECTIVELY_ONCE = "EFFECTIVELY_ONCE"
_FOOTNOTE = (
    "this holds unless the command line or the cluster's storm.yaml sets topology.acker.executors to 0"
)


class Tracking(NamedTuple):
    """Whether tuples are tracked (None: not decided), and why not.

    `checkpoints` is the line that turns on Heron's effectively once, which restores state instead of tracking tuples.
    """

    on: bool | None
    reason: Reason | None = None
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    checkpoints: Place | None = None


def is_heron(topology: Topology) -> bool:
    """Whether the topology runs on Heron, also through Heron's Storm API."""
    return "heron" in parsed(topology.framework).parts or topology.kind.startswith("heron")


def tracking_of(graph: Graph) -> Tracking:
    """Return whether a topology tracks its tuples."""
    if is_heron(graph.topology):
        return _by_mode(graph, graph.setting(MODE))
    setting = graph.setting(ACKERS)
    if isinstance(setting.value, Gap):
        return Tracking(on=None, gaps=(setting.value,))
    if number(setting) == 0:
        why = f"{ACKERS} is 0: a message counts as done as soon as the spout has emitted it"
        return Tracking(on=False, reason=Reason(fact="ackers-zero", place=setting.place, why=why))
    return Tracking(on=True, notes=() if graph.is_set(setting) else (_FOOTNOTE,))


def _by_mode(graph: Graph, setting: Setting) -> Tracking:
    if isinstance(setting.value, Gap):
        return Tracking(on=None, gaps=(setting.value,))
    mode = str(setting.value).rpartition(".")[2].upper()
    is_set = graph.is_set(setting)
    if mode == _ON:
        return Tracking(on=True)
    if mode == _EFFECTIVELY_ONCE:
        return Tracking(on=False, checkpoints=setting.place)
    if mode == _OFF:
        why = "the reliability mode is ATMOST_ONCE"
        if not is_set:
            why = f"no reliability mode is set, and the default is ATMOST_ONCE{f': {setting.why}' if setting.why else ''}"
        place = setting.place if is_set else graph.config
        return Tracking(on=False, reason=Reason(fact="reliability-off", place=place, why=why))
    gap = Gap(f"{setting.value!r} is not a reliability mode that is known here", setting.place)
    return Tracking(on=None, gaps=(gap,))


def timeouts_off(graph: Graph) -> Setting | None:
    """Return the line that turns message timeouts off."""
    setting = graph.setting(ENABLE_TIMEOUTS)
    off = setting.value is False or str(setting.value).lower() == "false"
    return setting if off and not is_heron(graph.topology) else None


def undecided_timeouts(graph: Graph) -> Gap | None:
    """Return why it is open whether a line turns message timeouts off: no mapping that may hold any key."""
    setting = graph.setting(ENABLE_TIMEOUTS)
    if isinstance(setting.value, Gap) and not is_undecided(graph.topology, setting):
        return setting.value
    return None


def lacks_ticks(graph: Graph, component: str) -> bool | None:
    """Whether a component completes tuples at ticks only, and no setting turns ticks on; None if that is open."""
    facts = graph.facts.get(component)
    if facts is None or not facts.flushes_at_ticks:
        return False
    ticks = graph.setting(TICKS, component)
    if isinstance(ticks.value, Gap):  # a computed frequency is one; a mapping that is not read may have none
        return None if is_undecided(graph.topology, ticks) else False
    return ticks.value is None or ticks.value == 0


def number(setting: Setting) -> float | None:
    """Return the value of a setting as a number; None if it is not one."""
    return number_of(setting.value)
