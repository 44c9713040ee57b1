"""Whether a topology tracks its tuples: ackers in Storm and JStorm, the reliability mode in Heron."""

from typing import NamedTuple

from ackdoctor.model.topology import Gap, Place, Reason, Setting, Topology
from ackdoctor.topology.graph import Graph

__all__ = ["ACKERS", "CHECKPOINT_INTERVAL", "MODE", "Tracking", "is_heron", "timeouts_off", "tracking_of"]

ACKERS = "topology.acker.executors"
MODE = "topology.reliability.mode"
CHECKPOINT_INTERVAL = "topology.stateful.checkpoint.interval.seconds"
_TIMEOUTS = "topology.enable.message.timeouts"
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
    return topology.framework.lower().startswith("heron") or topology.kind.startswith("heron")


def tracking_of(graph: Graph) -> Tracking:
    """Return whether a topology tracks its tuples."""
    topology = graph.topology
    if not is_heron(topology):
        return _by_ackers(graph.setting(ACKERS))
    mode = graph.setting(MODE)
    if mode is not None:
        return _by_mode(mode)
    if topology.kind.startswith("heron"):
        why = "no reliability mode is set, and Heron's default is ATMOST_ONCE"
    else:
        ackers = graph.setting(ACKERS)
        if ackers is not None:
            return _by_ackers(ackers)
        why = "Heron's Storm API tracks nothing unless topology.acker.executors is set"
    return Tracking(on=False, reason=Reason(fact="reliability-off", place=topology.place, why=why))


def _by_ackers(setting: Setting | None) -> Tracking:
    if setting is None:
        return Tracking(on=True, notes=(_FOOTNOTE,))
    if isinstance(setting.value, Gap):
        return Tracking(on=None, gaps=(setting.value,))
    if number(setting) == 0:
        why = "topology.acker.executors is 0: a message counts as done as soon as the spout has emitted it"
        return Tracking(on=False, reason=Reason(fact="ackers-zero", place=setting.place, why=why))
    return Tracking(on=True)


def _by_mode(setting: Setting) -> Tracking:
    if isinstance(setting.value, Gap):
        return Tracking(on=None, gaps=(setting.value,))
    mode = str(setting.value).rpartition(".")[2].upper()
    if mode == _ON:
        return Tracking(on=True)
    if mode == _EFFECTIVELY_ONCE:
        return Tracking(on=False, checkpoints=setting.place)
    if mode == _OFF:
        why = "the reliability mode is ATMOST_ONCE"
        return Tracking(on=False, reason=Reason(fact="reliability-off", place=setting.place, why=why))
    gap = Gap(f"{setting.value!r} is not a reliability mode that is known here", setting.place)
    return Tracking(on=None, gaps=(gap,))


def timeouts_off(graph: Graph) -> Setting | None:
    """Return the line that turns message timeouts off."""
    setting = graph.setting(_TIMEOUTS)
    if setting is None or is_heron(graph.topology):
        return None
    return setting if setting.value is False or str(setting.value).lower() == "false" else None


def number(setting: Setting | None) -> float | None:
    """Return the value of a setting as a number; None if it is not one."""
    value = setting.value if setting is not None else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
