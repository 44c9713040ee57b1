"""Settings whose keys the files do not decide: a mapping that is computed, read from a file, or passed in.

Any key may be in such a mapping.  A reader states the gap for the keys that decide a guarantee.
"""

from collections.abc import Iterator

from ackdoctor.model.topology import Gap, Setting

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
