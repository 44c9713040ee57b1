"""Build a wired topology for the simulator: its components, streams, groupings and settings.

What the files do not decide, or the simulator does not model, is refused with its place.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackdoctor.lab.component import Bolt, Spout
from ackdoctor.lab.messages import Setup, json_of
from ackdoctor.lab.topology import (
    ALL,
    DIRECT,
    GLOBAL,
    LOCAL_OR_SHUFFLE,
    NONE,
    SHUFFLE,
    Grouping,
    InvalidTopologyError,
    Settings,
    TopologyBuilder,
    fields_of,
)
from ackdoctor.lab.topology import Topology as LabTopology
from ackdoctor.model.topology import UNREAD, Edge, Gap, Judged, Node
from ackdoctor.topology.settings import (
    ACKERS,
    ENABLE_TIMEOUTS,
    MAX_PENDING,
    MODE,
    TICKS,
    TIMEOUT,
    effective,
    key_of,
)

_WINDOW = "window.duration.secs"  # heronpy's window bolts
_WORKERS = "topology.workers"
_DEFAULT_TIMEOUT_S = 30
_NUMBERS = (ACKERS, MAX_PENDING, TIMEOUT)
_GROUPINGS: Mapping[str, Grouping] = {
    "shuffle": SHUFFLE,
    "local-or-shuffle": LOCAL_OR_SHUFFLE,
    "none": NONE,
    "all": ALL,
    "global": GLOBAL,
    "lowest": GLOBAL,
    "direct": DIRECT,
}


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What the files of a topology do not hold: settings, and the end of each component's command line."""

    conf: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    profile: str = ""


def build(
    judged: Judged,
    surroundings: Surroundings,
    make_spout: Callable[[Node, Setup], Callable[[], Spout]],
    make_bolt: Callable[[Node, Setup], Callable[[], Bolt]],
    *,
    max_spout_pending: int | None = None,
) -> LabTopology:
    """Wire the components as the files wire them; InvalidTopologyError if the simulator cannot.

    `max_spout_pending` applies where the files set none.
    """
    topology, builder = judged.topology, TopologyBuilder()
    _require_decided(judged)
    streams = {node.id: _streams(node, judged) for node in topology.nodes}
    for node in topology.nodes:
        setup = _setup(judged, node, streams, surroundings)
        common: dict[str, Any] = {
            "parallelism": node.parallelism or 1,
            "tasks": node.tasks,
            "outputs": streams[node.id],
        }
        if node.role == "spout":
            builder.set_spout(node.id, make_spout(node, setup), **common)
            continue
        ticks = number(judged, TICKS, node.id) or number(judged, _WINDOW, node.id)
        spec = builder.set_bolt(node.id, make_bolt(node, setup), tick_secs=ticks, **common)
        for edge in topology.edges:
            if edge.target == node.id:
                spec.grouping(edge.source, _grouping(edge), edge.stream)
    return builder.build(
        Settings(
            ackers=ackers_of(judged),
            max_spout_pending=number(judged, MAX_PENDING) or max_spout_pending,
            message_timeout_secs=timeout_of(judged),
            enable_message_timeouts=effective(topology, ENABLE_TIMEOUTS).value is not False,
        )
    )


def _require_decided(judged: Judged) -> None:
    """Raise InvalidTopologyError for wiring and settings that the files leave open, or that Storm refuses."""
    topology = judged.topology
    for gap in topology.gaps:
        raise InvalidTopologyError(f"{gap.place}: {gap.why}; the lab needs files that decide the wiring")
    for key in (*_NUMBERS, ENABLE_TIMEOUTS, MODE):
        setting = effective(topology, key)
        value = setting.value
        if isinstance(value, Gap):
            raise InvalidTopologyError(
                f"{value.place}: {key} is not decided: {value.why}; --conf {key}=VALUE sets it"
            )
        least = 0 if key == ACKERS else 1
        if key in _NUMBERS and value is not None and (type(value) is not int or value < least):
            raise InvalidTopologyError(
                f"{setting.place}: {key} is {value!r}; Storm wants a number from {least}"
            )


def timeout_of(judged: Judged) -> int:
    """Return the message timeout in seconds."""
    return number(judged, TIMEOUT) or _DEFAULT_TIMEOUT_S


def ackers_of(judged: Judged) -> int:
    """Return the number of ackers, 0 if tuples are not tracked."""
    at_most_once = effective(judged.topology, MODE).value == "ATMOST_ONCE"
    ackers = number(judged, ACKERS)
    if ackers is None:
        ackers = number(judged, _WORKERS) or 1  # one per worker
    return 0 if at_most_once else ackers


def number(judged: Judged, key: str, component: str = "") -> int | None:
    """Return the value of a setting: the topology's, or that of the component's class; None if it is no number."""
    value = effective(judged.topology, key, component).value
    if value is None and component:
        own = [each.value for each in judged.facts[component].settings if each.key == key]
        value = own[-1] if own else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _streams(node: Node, judged: Judged) -> Mapping[str, tuple[str, ...]]:
    declared = node.streams if node.streams is not None else judged.facts[node.id].streams
    if declared is None and any(edge.source == node.id for edge in judged.topology.edges):
        raise InvalidTopologyError(
            f"{node.place}: the files do not show which streams and fields `{node.id}` declares"
        )
    return {stream: tuple(names or ()) for stream, names in (declared or {}).items()}


def _grouping(edge: Edge) -> Grouping:
    name, what = edge.grouping, f"{edge.place}: `{edge.target}` subscribes to `{edge.source}`"
    if UNREAD in {edge.source, edge.stream}:
        raise InvalidTopologyError(
            f"{edge.place}: the files do not show to which stream `{edge.target}` subscribes"
        )
    fields = re.fullmatch(r"fields\((.*)\)", name)
    if fields is not None:
        names = re.split(r",\s*", fields[1]) if fields[1] else []
        if UNREAD in names:
            raise InvalidTopologyError(f"{what} by fields that the files do not show")
        return fields_of(*names) if names else GLOBAL  # as Storm: no fields, one task
    found = _GROUPINGS.get(re.sub(r"[ _]", "-", name.lower()))
    if found is None:
        by = "a grouping that the files do not show" if name in {"", UNREAD} else f"the grouping {name}"
        raise InvalidTopologyError(f"{what} by {by}, which the lab does not model")
    return found


def _setup(
    judged: Judged,
    node: Node,
    streams: Mapping[str, Mapping[str, tuple[str, ...]]],
    surroundings: Surroundings,
) -> Setup:
    topology = judged.topology
    conf: dict[str, object] = {
        key_of(topology, each): each.value
        for each in topology.settings
        if each.component in {"", node.id} and not isinstance(each.value, Gap | tuple | dict)
    }
    if window := number(judged, _WINDOW, node.id):
        conf["tumblingwindowbolt_duration_secs"] = window
    return Setup(
        conf={**conf, **surroundings.conf},
        input_fields=streams,
        arguments=tuple(surroundings.arguments.get(node.id, ())),
        json=json_of(surroundings.profile),
    )
