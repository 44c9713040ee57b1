"""What each version of Storm and its relatives does differently, as data.

`profile("storm-1.1.0")`, `profile("2.8.3")`, `profile("jstorm-2.4.0")`, `profile("heron")`; a series stands
for its releases where they all behave alike: `profile("1.2")`, but not "1.1", which changed with 1.1.2.
`-no-timeouts` at the end says `topology.enable.message.timeouts: false`.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NamedTuple

from ackdoctor.model.errors import ConfigError
from ackdoctor.model.message import Engine

__all__ = ["NEWEST", "PROFILES", "Age", "Engine", "NoTargets", "Profile", "Release", "Schedule", "profile"]

_NO_TIMEOUTS = "-no-timeouts"
_WORKER_START_S = 120  # JStorm: supervisor.worker.start.timeout.secs


@unique
class Age(Enum):
    """From when the acker counts the time delta in its answers."""

    NONE = "answers carry no time"
    INIT = "arrival of the init"
    CREATION = "creation of the entry, perhaps by an ack that overtook the init"


@unique
class NoTargets(Enum):
    """The end of a message that a spout emits with an id to a stream without subscribers."""

    ACK = "acked inside emit"
    INIT = "an init of value 0, which the acker answers at once"
    NOTHING = "neither acked nor failed"


class Schedule(NamedTuple):
    """When something rotates, from the start of its executor."""

    first_ms: int
    every_ms: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Profile:
    """How one version acks; `row` says it in words."""

    name: str
    row: str
    engine: Engine
    acker_buckets: int
    acker_ticks: bool  # a tick every `topology.message.timeout.secs` rotates the acker's map
    spout_buckets: int = 2
    spout_ticks: bool = True
    tick_per_task: bool = True  # a spout executor rotates once for each of its tasks (until STORM-3693)
    age: Age = Age.INIT
    resets: bool = True  # knows `__ack_reset_timeout`
    no_targets: NoTargets = NoTargets.ACK

    @property
    def forgets(self) -> bool:
        """Whether an entry that never completes is dropped in the end."""
        return self.acker_ticks or self.engine is Engine.JSTORM

    def without_timeouts(self) -> "Profile":
        """The same version with `topology.enable.message.timeouts: false`: 2.x acks without ticks, too."""
        if self.engine not in {Engine.CLOJURE, Engine.JAVA}:
            raise ConfigError(f"{self.name} has no setting that disables message timeouts")
        ticks = self.acker_ticks and self.engine is Engine.CLOJURE
        return replace(self, name=self.name + _NO_TIMEOUTS, acker_ticks=ticks, spout_ticks=False)

    def acker_schedule(self, timeout_s: int) -> Schedule | None:
        """When the acker gets ticks; None if never.  JStorm's rotates by itself, with its messages."""
        if not self.acker_ticks:
            return None
        period = timeout_s
        if self.engine is Engine.HERON:  # xor-manager.cpp: integers
            period = timeout_s // self.acker_buckets + timeout_s % self.acker_buckets
        return Schedule(timeout_s * 1000, period * 1000)

    def spout_schedule(self, timeout_s: int) -> Schedule | None:
        """When a spout executor looks for what has timed out; None if never."""
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
        """How often one tick rotates the pending map of a spout executor with so many tasks."""
        return tasks if self.tick_per_task else 1


class Release(NamedTuple):
    """The first and last version that behave so; between them are all that were released."""

    family: str
    first: str
    last: str
    profile: Profile


_EARLY = Profile(
    name="storm-0.8",
    row="2 buckets, ticks; every message refreshes an entry; life T..2T",
    engine=Engine.CLOJURE,
    acker_buckets=2,
    acker_ticks=True,
    age=Age.NONE,
    resets=False,
)
_BOLD = replace(
    _EARLY, name="storm-0.9", row="2 buckets, never a tick: entries live for ever", acker_ticks=False
)
_BOLD_1 = replace(_BOLD, name="storm-1.0", resets=True)
_BOLD_2 = replace(_BOLD_1, name="storm-1.1.1", age=Age.INIT)
_LATE_1 = replace(
    _BOLD_2,
    name="storm-1.2",
    row="2 buckets, ticks even without timeouts; every message refreshes; life T..2T",
    acker_ticks=True,
)
_TWO = Profile(
    name="storm-2.0",
    row="3 buckets, ticks unless timeouts are disabled; only creation, fail and reset refresh; life 2T..3T; a spout's tick rotates once per task",
    engine=Engine.JAVA,
    acker_buckets=3,
    acker_ticks=True,
    age=Age.CREATION,
    no_targets=NoTargets.INIT,
)
_TWO_EIGHT = replace(
    _TWO, name="storm-2.8", row=_TWO.row.replace("once per task", "once"), tick_per_task=False
)
_JSTORM = Profile(
    name="jstorm-2.4",
    row="3 buckets, rotated with the messages every T/2; only creation refreshes; life T..1.5T",
    engine=Engine.JSTORM,
    acker_buckets=3,
    acker_ticks=False,
    spout_buckets=3,
    tick_per_task=False,
    age=Age.NONE,
    resets=False,
    no_targets=NoTargets.NOTHING,
)
_HERON = Profile(
    name="heron",
    row="3 buckets, rotated after T and then every T/3; only creation refreshes; life 2T/3..T",
    engine=Engine.HERON,
    acker_buckets=3,
    acker_ticks=True,
    spout_buckets=0,  # a list in the order of emission
    tick_per_task=False,
    age=Age.NONE,
    resets=False,
    no_targets=NoTargets.NOTHING,
)

PROFILES: tuple[Release, ...] = (
    Release("storm", "0.8.0", "0.9.0-rc2", _EARLY),
    Release("storm", "0.9.0-rc3", "0.9.7", _BOLD),
    Release("storm", "0.10.0", "0.10.2", _BOLD),
    Release("storm", "1.0.0", "1.0.2", _BOLD_1),
    Release("storm", "1.0.3", "1.0.5", _BOLD_2),
    Release("storm", "1.0.6", "1.0.7", _LATE_1),
    Release("storm", "1.1.0", "1.1.1", _BOLD_2),
    Release("storm", "1.1.2", "1.1.4", _LATE_1),
    Release("storm", "1.2.0", "1.2.4", _LATE_1),
    Release("storm", "2.0.0", "2.7.1", _TWO),
    Release("storm", "2.8.0", "2.8.8", _TWO_EIGHT),
    Release("jstorm", "2.4.0", "2.4.0", _JSTORM),
    Release("heron", "0.20.0", "0.20.5", _HERON),
)
NEWEST = _TWO_EIGHT

_NAME = re.compile(r"(?:(?P<family>[a-z]+)(?:-|$))?v?(?P<version>\d+(?:\.\d+)*(?:-rc\d+)?)?")
_FINAL = 1 << 20  # a release comes after its candidates
_FULL = 3  # numbers of a complete version


def profile(name: str) -> Profile:
    """The profile of a version, under the name that was asked for; ConfigError for an unknown version."""
    plain = name.strip().lower()
    wanted = plain.removesuffix(_NO_TIMEOUTS)
    parts = _NAME.fullmatch(wanted)
    if not wanted or parts is None:
        raise ConfigError(_unknown(name))
    family, version = parts["family"] or "storm", parts["version"] or ""
    found = list(dict.fromkeys(release.profile for release in _matching(family, version, name)))
    if not version:
        found = found[-1:]
    if len(found) != 1:
        raise ConfigError(_ambiguous(name, family, version) if found else _unknown(name))
    chosen = replace(found[0], name=f"{family}-{version}" if version else found[0].name)
    return chosen.without_timeouts() if plain != wanted else chosen


def _matching(family: str, version: str, name: str) -> list[Release]:
    """The releases that a version, or a series of versions, belongs to."""
    if family == "storm" and _key(version)[:2] in {(0, 6), (0, 7)}:
        raise ConfigError(
            f"acker profile {name!r} is not modelled: before 0.8 Storm's acker had a TimeCacheMap and threads"
        )
    low, high = _key(version), _key(version)
    if version.count(".") + 1 < _FULL:
        high = (*low[: version.count(".") + 1 if version else 0], *(_FINAL,) * 4)[:4]
    return [
        release
        for release in PROFILES
        if release.family == family and _key(release.first) <= high and low <= _key(release.last)
    ]


def _key(version: str) -> tuple[int, ...]:
    """A version as numbers that sort; a missing number is 0, a candidate comes before its release."""
    plain, _, candidate = version.partition("-rc")
    numbers = [int(number) for number in plain.split(".") if number][:_FULL]
    return (*numbers, *(0,) * (_FULL - len(numbers)), int(candidate) if candidate else _FINAL)


def _unknown(name: str) -> str:
    known = ", ".join(
        f"{r.family}-{r.first}" + (f" to {r.last}" if r.last != r.first else "") for r in PROFILES
    )
    return f"unknown acker profile {name!r}; known are {known}"


def _ambiguous(name: str, family: str, version: str) -> str:
    choices = ", ".join(f"{r.first} to {r.last} ({r.profile.row})" for r in _matching(family, version, name))
    return f"acker profile {name!r} is ambiguous, its releases differ: {choices}; name one release"
