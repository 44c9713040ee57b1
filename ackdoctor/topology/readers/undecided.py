"""Settings whose keys the files do not decide: a mapping that is computed, read from a file, or passed in.

Any key may be in such a mapping.  A reader states the gap for the keys that decide a guarantee.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.model.topology import Gap, Place, Setting, Topology, Value
from ackdoctor.topology.objects import Data, Ref, plain

_OF_TOPOLOGY = (
    "topology.acker.executors",
    "topology.message.timeout.secs",
    "topology.enable.message.timeouts",
    "topology.max.spout.pending",
)
_OF_COMPONENT = ("topology.tick.tuple.freq.secs", "topology.max.spout.pending")


def undecided_settings(gap: Gap, component: str = "") -> Iterator[Setting]:
    """The settings that an unread mapping may hold, for the whole topology or for one component."""
    for key in _OF_COMPONENT if component else _OF_TOPOLOGY:
        yield Setting(key=key, value=gap, place=gap.place, component=component)


RELIABILITY_MODES = {name: name for name in "ATMOST_ONCE ATLEAST_ONCE EFFECTIVELY_ONCE".split()}  # of Heron
RELIABILITY_MODES["EXACTLY_ONCE"] = "EFFECTIVELY_ONCE"  # its name before 0.15.2


def value_of(data: Data, place: Place) -> Value:
    """The value of a setting: a reliability mode by its name; another constant of a class that is not read is a gap."""
    if not isinstance(data, Ref) or data.cls is not None or data.literal:
        return plain(data, place)
    name = ".".join(data.names[-1].split(".")[-2:]) if data.names else "a constant"
    return RELIABILITY_MODES.get(data.last) or Gap(f"{name} is not in these files", place)


def is_undecided(topology: Topology, setting: Setting) -> bool:
    """Whether a mapping that is not read may set a key: the same gap is the value of several keys."""
    same = (each for each in topology.settings if each.place == setting.place and each.key != setting.key)
    return isinstance(setting.value, Gap) and any(each.value == setting.value for each in same)


# ---- topologies that no code submits ----

_UNSUBMITTED = "no code of the run submits this topology with its configuration"


def unsubmitted_settings(place: Place) -> tuple[Setting, ...]:
    """The settings of a topology that the code builds and does not submit."""
    return tuple(undecided_settings(Gap(_UNSUBMITTED, place)))


def is_unsubmitted(topology: Topology) -> bool:
    """Whether the code builds a topology and does not submit it."""
    return any(isinstance(each.value, Gap) and each.value.why == _UNSUBMITTED for each in topology.settings)


def without_fragments(topologies: Iterable[Topology]) -> tuple[Topology, ...]:
    """Leave out what code builds with arguments that are not known, if a program reaches the same builder with its own.

    Such code submits nothing, or no `main` is on the way to it.
    """
    found = tuple(topologies)
    submitted = {(each.kind, each.place) for each in found if not is_unsubmitted(each)}
    programs = {(each.kind, each.place) for each in found if each.main is not None}
    return tuple(
        each
        for each in found
        if (not is_unsubmitted(each) or (each.kind, each.place) not in submitted)
        and (each.main is not None or (each.kind, each.place) not in programs)
    )
