"""Rotation schedules of each version's acker and spouts, from the facts in `model.acker`.

`profile("storm-1.1.0")`, `profile("2.8.3")`, `profile("jstorm-2.4.0")`, `profile("heron")`.  A series names its releases
if they all behave alike: `profile("1.2")`, but not "1.1", which changed with 1.1.2.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from ackdoctor.model.acker import NEWEST as NEWEST_VERSION
from ackdoctor.model.acker import AckerVersion, Engine, ackers, ambiguous

_WORKER_START_S = 120  # JStorm: supervisor.worker.start.timeout.secs


class Schedule(NamedTuple):
    """Times of periodic ticks, from the start of the executor."""

    first_ms: int
    every_ms: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Profile(AckerVersion):
    """A version with its schedules."""

    def acker_schedule(self, timeout_s: int) -> Schedule | None:
        """Return the acker's ticks; None if it gets none.  JStorm's acker rotates when messages arrive."""
        if not self.acker_ticks:
            return None
        period = timeout_s
        if self.engine is Engine.HERON:  # xor-manager.cpp: integers
            period = timeout_s // self.acker_buckets + timeout_s % self.acker_buckets
        return Schedule(timeout_s * 1000, period * 1000)

    def spout_schedule(self, timeout_s: int) -> Schedule | None:
        """Return when a spout executor checks for timeouts; None if never."""
        if not self.spout_ticks:
            return None
        match self.engine:
            case Engine.CLOJURE | Engine.JAVA:
                return Schedule(timeout_s * 1000, timeout_s * 1000)
            case Engine.JSTORM:
                return Schedule(_WORKER_START_S * 1000 + timeout_s * 500, timeout_s * 500)
            case Engine.HERON:
                return Schedule(timeout_s * 100, timeout_s * 100)

    def spout_rotations(self, tasks: int) -> int:
        """Return how often one tick rotates the pending map of a spout executor with `tasks` tasks."""
        return tasks if self.tick_per_task else 1


def profile(name: str) -> Profile:
    """Return the profile of a version; ConfigError if the name is unknown or ambiguous."""
    found = ackers(name)
    if len(found) != 1:
        raise ambiguous(name)
    return Profile(**asdict(found[0]))


NEWEST = Profile(**asdict(NEWEST_VERSION))
