"""Acker tasks: their messages, and the facts about the versions of Storm and its relatives.

All ids and values are Java longs: signed 64-bit integers, combined by XOR.  A spout that emits root 66
to two tasks with edges 1 and 2 sends `AckInit(66, 3, task)`; a bolt that received edge 1 and anchored
child 4 to it sends `AckAck(66, 5)`; a value of 0 means that every edge was seen exactly twice.

The acker model and the replay on Spark both read the versions.  `ackers("2.8.3")` returns the versions that a name
matches: a release, or a series such as "1.2" or "jstorm".  `-no-timeouts` at the end means
`topology.enable.message.timeouts: false`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NamedTuple, TypeAlias, TypeVar

from ackdoctor.model import ConfigError

ACK_INIT = "__ack_init"  # the stream of a spout to its acker


class AckInit(NamedTuple):
    """`__ack_init`: a spout task emitted a root; `value` is the XOR of its edges."""

    root: int
    value: int
    task: int


class AckAck(NamedTuple):
    """`__ack_ack`: a tuple was acked; `value` is its own edge XOR the edges of its children."""

    root: int
    value: int


class AckFail(NamedTuple):
    """`__ack_fail`: a tuple was failed."""

    root: int


class ResetTimeout(NamedTuple):
    """`__ack_reset_timeout` (Storm 1.0 and later)."""

    root: int


class Tick(NamedTuple):
    """A tick tuple: the acker rotates its pending map."""


Message: TypeAlias = AckInit | AckAck | AckFail | ResetTimeout | Tick


@unique
class AnswerKind(Enum):
    """The stream of an answer to the spout."""

    ACK = "ack"
    FAIL = "fail"
    RESET = "reset"


class Answer(NamedTuple):
    """An answer of the acker to spout task `task`; `age_ms` is the time since the root was emitted."""

    kind: AnswerKind
    root: int
    task: int
    age_ms: int = 0


@unique
class Engine(Enum):
    """The implementation that tracks the roots."""

    CLOJURE = "acker.clj"
    JAVA = "Acker.java"
    JSTORM = "com.alibaba.jstorm.task.acker.Acker"
    HERON = "stream manager"


@unique
class Age(Enum):
    """From when the acker counts the time delta in its answers."""

    NONE = "answers carry no time"
    INIT = "arrival of the init"
    CREATION = "creation of the entry, perhaps by an ack that overtook the init"


@unique
class NoTargets(Enum):
    """What becomes of a message that a spout emits with an id on a stream without subscribers."""

    ACK = "acked inside emit"
    INIT = "an init of value 0, which the acker answers at once"
    NOTHING = "neither acked nor failed"


_NO_TIMEOUTS = "-no-timeouts"
_Version = TypeVar("_Version", bound="AckerVersion")


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class AckerVersion:
    """How one version acks; `row` is its row in a table for people."""

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
        """Whether the acker drops an entry that never completes."""
        return self.acker_ticks or self.engine is Engine.JSTORM

    @property
    def acker_rules(self) -> tuple[object, ...]:
        """What its acker does with messages and ticks: versions that share this differ elsewhere."""
        return self.engine, self.acker_buckets, self.acker_ticks, self.resets

    def without_timeouts(self: _Version) -> _Version:  # noqa: PYI019 - Python 3.10 has no Self
        """Return the version with timeouts disabled: 2.x then sends its acker no ticks, 1.x still does."""
        if self.engine not in {Engine.CLOJURE, Engine.JAVA}:
            raise ConfigError(f"{self.name} has no setting that disables message timeouts")
        ticks = self.acker_ticks and self.engine is Engine.CLOJURE
        return replace(self, name=self.name + _NO_TIMEOUTS, acker_ticks=ticks, spout_ticks=False)


class Release(NamedTuple):
    """The first and last version that behave so; between them are all that were released."""

    family: str
    first: str
    last: str
    version: AckerVersion


_0_8 = AckerVersion(
    name="storm-0.8",
    row="2 buckets, ticks; every message refreshes an entry; life T..2T",
    engine=Engine.CLOJURE,
    acker_buckets=2,
    acker_ticks=True,
    age=Age.NONE,
    resets=False,
)
_0_9 = replace(
    _0_8, name="storm-0.9", row="2 buckets, never a tick: entries live for ever", acker_ticks=False
)
_1_0 = replace(_0_9, name="storm-1.0", resets=True)
_1_1_1 = replace(_1_0, name="storm-1.1.1", age=Age.INIT)
_1_2 = replace(
    _1_1_1,
    name="storm-1.2",
    row="2 buckets, ticks even without timeouts; every message refreshes; life T..2T",
    acker_ticks=True,
)
_2_0 = AckerVersion(
    name="storm-2.0",
    row="3 buckets, ticks unless timeouts are disabled; only creation, fail and reset refresh; life 2T..3T; a spout's tick rotates once per task",
    engine=Engine.JAVA,
    acker_buckets=3,
    acker_ticks=True,
    age=Age.CREATION,
    no_targets=NoTargets.INIT,
)
_2_8 = replace(_2_0, name="storm-2.8", row=_2_0.row.replace("once per task", "once"), tick_per_task=False)
_JSTORM = AckerVersion(
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
_HERON = AckerVersion(
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

RELEASES: tuple[Release, ...] = (
    Release("storm", "0.8.0", "0.9.0-rc2", _0_8),
    Release("storm", "0.9.0-rc3", "0.9.7", _0_9),
    Release("storm", "0.10.0", "0.10.2", _0_9),
    Release("storm", "1.0.0", "1.0.2", _1_0),
    Release("storm", "1.0.3", "1.0.5", _1_1_1),
    Release("storm", "1.0.6", "1.0.7", _1_2),
    Release("storm", "1.1.0", "1.1.1", _1_1_1),
    Release("storm", "1.1.2", "1.1.4", _1_2),
    Release("storm", "1.2.0", "1.2.4", _1_2),
    Release("storm", "2.0.0", "2.7.1", _2_0),
    Release("storm", "2.8.0", "2.8.8", _2_8),
    Release("jstorm", "2.4.0", "2.4.0", _JSTORM),
    Release("heron", "0.20.0", "0.20.5", _HERON),
)
NEWEST = _2_8

_NAME = re.compile(r"(?:(?P<family>[a-z]+)(?:-|$))?v?(?P<number>\d+(?:\.\d+)*(?:-rc\d+)?)?")
_FINAL = 1 << 20  # a release comes after its candidates
_FULL = 3  # numbers of a complete version


def ackers(name: str) -> Sequence[AckerVersion]:
    """Return the different versions that a name matches, at least one, under that name; ConfigError for an unknown one."""
    plain = name.strip().lower()
    wanted = plain.removesuffix(_NO_TIMEOUTS)
    parts = _NAME.fullmatch(wanted)
    if not wanted or parts is None:
        raise ConfigError(_unknown(name))
    family, number = parts["family"] or "storm", parts["number"] or ""
    found = list(dict.fromkeys(release.version for release in _matching(family, number, name)))
    if not found:
        raise ConfigError(_unknown(name))
    found = [replace(version, name=f"{family}-{number}") for version in found] if number else found[-1:]
    return [version.without_timeouts() for version in found] if plain != wanted else found


def ambiguous(name: str) -> ConfigError:
    """Return the error for a name that matches versions which differ."""
    parts = _NAME.fullmatch(name.strip().lower().removesuffix(_NO_TIMEOUTS))
    family, number = (parts["family"] or "storm", parts["number"] or "") if parts else ("", "")
    releases = _matching(family, number, name)
    choices = ", ".join(f"{release.first} to {release.last} ({release.version.row})" for release in releases)
    return ConfigError(
        f"acker version {name!r} is ambiguous, its releases differ: {choices}; name one release"
    )


def _matching(family: str, number: str, name: str) -> list[Release]:
    """Return the releases that a version, or a series of versions, belongs to."""
    if family == "storm" and _key(number)[:2] in {(0, 6), (0, 7)}:
        raise ConfigError(
            f"acker version {name!r} is not modelled: before 0.8 Storm's acker had a TimeCacheMap and threads"
        )
    low, high = _key(number), _key(number)
    if number.count(".") + 1 < _FULL:
        high = (*low[: number.count(".") + 1 if number else 0], *(_FINAL,) * 4)[:4]
    return [
        release
        for release in RELEASES
        if release.family == family and _key(release.first) <= high and low <= _key(release.last)
    ]


def _key(number: str) -> tuple[int, ...]:
    """Return a version as numbers that sort; a missing number is 0, a candidate comes before its release."""
    plain, _, candidate = number.partition("-rc")
    numbers = [int(part) for part in plain.split(".") if part][:_FULL]
    return (*numbers, *(0,) * (_FULL - len(numbers)), int(candidate) if candidate else _FINAL)


def _unknown(name: str) -> str:
    known = ", ".join(
        f"{release.family}-{release.first}" + (f" to {release.last}" if release.last != release.first else "")
        for release in RELEASES
    )
    return f"unknown acker version {name!r}; known are {known}"
