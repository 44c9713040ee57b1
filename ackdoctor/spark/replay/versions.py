"""What each version of Storm's acker and its relatives does differently, as data.

Written down a second time: `ackdoctor.acker` says the same of its models, and a test that they agree.
"""

import re
from dataclasses import dataclass, replace

from ackdoctor.model.errors import ConfigError
from ackdoctor.model.message import Engine

__all__ = ["NEWEST", "Version", "version"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Version:
    """How one version keeps its roots.

    With message timeout T the first rotation comes `first` * T after the start, the next every `every` * T,
    which is a whole number of seconds with Heron; None if it never rotates by itself.
    """

    name: str
    engine: Engine
    buckets: int
    first: float | None
    resets: bool = True  # knows `__ack_reset_timeout`

    def schedule_ms(self, timeout_s: int) -> tuple[int, int] | None:
        """When it rotates first, and how often then."""
        if self.first is None:
            return None
        if self.engine is Engine.HERON:  # xor-manager.cpp: integers
            return timeout_s * 1000, (timeout_s // self.buckets + timeout_s % self.buckets) * 1000
        period = int(timeout_s * 1000 * self.first)
        return period, period


_EARLY = Version(name="storm-0.8", engine=Engine.CLOJURE, buckets=2, first=1.0, resets=False)
_BOLD = replace(_EARLY, name="storm-0.9", first=None)
_BOLD_1 = replace(_BOLD, name="storm-1.0", resets=True)
_LATE_1 = replace(_BOLD_1, name="storm-1.2", first=1.0)
_TWO = Version(name="storm-2.8", engine=Engine.JAVA, buckets=3, first=1.0)
_JSTORM = Version(name="jstorm-2.4", engine=Engine.JSTORM, buckets=3, first=0.5, resets=False)
_HERON = Version(name="heron", engine=Engine.HERON, buckets=3, first=1.0, resets=False)

NEWEST = _TWO
_NO_TIMEOUTS = "-no-timeouts"
_FINAL = 1 << 20  # a release comes after its candidates
_SERIES: tuple[tuple[str, str, str, Version], ...] = (  # family, first, last release
    ("storm", "0.8.0", "0.9.0-rc2", _EARLY),
    ("storm", "0.9.0-rc3", "0.10.2", _BOLD),
    ("storm", "1.0.0", "1.0.5", _BOLD_1),
    ("storm", "1.0.6", "1.0.7", _LATE_1),
    ("storm", "1.1.0", "1.1.1", _BOLD_1),
    ("storm", "1.1.2", "1.2.4", _LATE_1),
    ("storm", "2.0.0", "2.8.8", _TWO),
    ("jstorm", "2.4.0", "2.4.0", _JSTORM),
    ("heron", "0.20.0", "0.20.5", _HERON),
)
_NAME = re.compile(r"(?:(?P<family>[a-z]+)(?:-|$))?v?(?P<version>\d+(?:\.\d+)*(?:-rc\d+)?)?")
_FULL = 3  # numbers of a complete version


def version(name: str) -> Version:
    """A version by name, "storm-1.1.0", "2.8", "jstorm", "1.2-no-timeouts"; ConfigError if nobody has read it."""
    plain = name.strip().lower()
    wanted = plain.removesuffix(_NO_TIMEOUTS)
    parts = _NAME.fullmatch(wanted)
    if not wanted or parts is None:
        raise ConfigError(f"unknown acker version {name!r}; known are {_known()}")
    family, number = parts["family"] or "storm", parts["version"] or ""
    low = high = _key(number)
    if number.count(".") + 1 < _FULL:
        high = (*low[: number.count(".") + 1 if number else 0], *(_FINAL,) * 4)[:4]
    found = list(
        dict.fromkeys(
            made
            for of, first, last, made in _SERIES
            if of == family and _key(first) <= high and low <= _key(last)
        )
    )
    if not number:
        found = found[-1:]
    if len(found) != 1:
        raise ConfigError(
            f"acker version {name!r} stands for several; known are {_known()}"
            if found
            else f"unknown acker version {name!r}; known are {_known()}"
        )
    chosen = replace(found[0], name=f"{family}-{number}" if number else found[0].name)
    return _without_timeouts(chosen) if plain != wanted else chosen


def _without_timeouts(of: Version) -> Version:
    """`topology.enable.message.timeouts: false`: 2.x then never rotates, 1.x does not mind."""
    if of.engine in {Engine.JSTORM, Engine.HERON}:
        raise ConfigError(f"{of.name} has no setting that disables message timeouts")
    first = None if of.engine is Engine.JAVA else of.first
    return replace(of, name=of.name + _NO_TIMEOUTS, first=first)


def _key(number: str) -> tuple[int, ...]:
    """A version as numbers that sort."""
    plain, _, candidate = number.partition("-rc")
    numbers = [int(part) for part in plain.split(".") if part][:_FULL]
    return (*numbers, *(0,) * (_FULL - len(numbers)), int(candidate) if candidate else _FINAL)


def _known() -> str:
    return ", ".join(
        f"{of}-{first}" + (f" to {last}" if last != first else "") for of, first, last, _ in _SERIES
    )
