"""The faults of a lab run: what fails, where and when.

    --kill count@100    the bolt `count` dies before it handles its 100th tuple
    --kill count@40s    it dies 40 seconds after the start
    --kill acker=3      the ackers die three times, at equal intervals
    --raise count@100   the handler of `count` raises instead of handling its 100th tuple
    --drop 0.1%         the network loses this share of all messages
    --slow store=40s    each tuple takes `store` 40 seconds

The numbers count tuples (for a spout: calls of its `next_tuple`) over all tasks and restarts, without ticks.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TypeAlias

from ackdoctor.config import nearest
from ackdoctor.lab.topology import ACKER
from ackdoctor.model import UsageError

ACKERS = "acker"  # how a plan names the acker tasks
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_SECONDS = 1e6
_MAX_COUNT = 1_000_000


class InvalidFaultError(UsageError):
    """A fault that cannot be read, or that names no component; the message names the option."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A component dies: at its tuple `number`, or `seconds` after the start, or `times` at equal intervals."""

    component: str
    number: int = 0
    seconds: float = 0.0
    times: int = 0

    def moments(self, length: float) -> tuple[float, ...]:
        """The seconds of its deaths in a run of this length; none if a tuple decides."""
        if self.times:
            return tuple(length * n / (self.times + 1) for n in range(1, self.times + 1))
        return () if self.number else (self.seconds,)

    def __str__(self) -> str:
        if self.times:
            return f"--kill {self.component}={self.times}"
        return f"--kill {self.component}@{self.number or in_seconds(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Raise:
    """The handler of a component raises instead of handling its tuple `number`."""

    component: str
    number: int

    def __str__(self) -> str:
        return f"--raise {self.component}@{self.number}"


@dataclass(frozen=True, slots=True)
class Drop:
    """The network loses a share of all messages, 0 to 1."""

    share: float

    def __str__(self) -> str:
        return f"--drop {self.share * 100:g}%"


@dataclass(frozen=True, slots=True)
class Slow:
    """Each tuple takes a component so many seconds."""

    component: str
    seconds: float

    def __str__(self) -> str:
        return f"--slow {self.component}={in_seconds(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All faults of a run."""

    kills: tuple[Kill, ...] = ()
    raises: tuple[Raise, ...] = ()
    drops: tuple[Drop, ...] = ()
    slows: tuple[Slow, ...] = ()

    @property
    def faults(self) -> tuple[Kill | Raise | Drop | Slow, ...]:
        """All of them."""
        return (*self.kills, *self.raises, *self.drops, *self.slows)

    def __str__(self) -> str:
        return " ".join(map(str, self.faults)) or "none"

    def words(self) -> list[str]:
        """Return the options, for a command line."""
        return [word for fault in self.faults for word in str(fault).split(" ", 1)]

    def arguments(self) -> dict[str, list[str]]:
        """Return the arguments of `plan` that make it again."""
        found = {"kills": self.kills, "raises": self.raises, "drops": self.drops, "slows": self.slows}
        return {
            name: [str(each).partition(" ")[2] for each in faults] for name, faults in found.items() if faults
        }

    @property
    def share(self) -> float:
        """The share of messages that the network loses; the last one given counts."""
        return self.drops[-1].share if self.drops else 0.0

    def check(self, spouts: Collection[str], bolts: Collection[str]) -> None:
        """Raise InvalidFaultError if the topology lacks a component, or a fault does not suit it."""
        known = [*spouts, *bolts]
        for fault in self.faults:
            if isinstance(fault, Drop):
                continue
            name = fault.component
            if name in known:
                if isinstance(fault, Slow) and name in spouts:
                    raise InvalidFaultError(f"--slow: `{name}` is a spout; --rate sets how fast spouts emit")
                continue
            if name != ACKERS:
                raise InvalidFaultError(f"{fault}: no component is called `{name}`{nearest(name, known)}")
            if not isinstance(fault, Kill) or fault.number:
                raise InvalidFaultError(
                    f"{fault}: an acker can only be killed at a time (acker@40s) or several times (acker=3)"
                )


def in_seconds(seconds: float) -> str:
    """`40s`."""
    return f"{seconds:g}s"


def plan(
    kills: Iterable[str] = (),
    raises: Iterable[str] = (),
    drops: Iterable[str] = (),
    slows: Iterable[str] = (),
) -> Plan:
    """Parse the values of the options; InvalidFaultError names the one that cannot be read."""
    return Plan(
        kills=tuple(map(_kill, kills)),
        raises=tuple(map(_raise, raises)),
        drops=tuple(map(_drop, drops)),
        slows=tuple(map(_slow, slows)),
    )


def task_component(name: str, components: Collection[str]) -> str:
    """Return the component id of a name in a plan: `acker` is Storm's, unless the topology has one of that name."""
    return ACKER if name == ACKERS and name not in components else name


def _kill(value: str) -> Kill:
    component, sign, moment = _split(value, "@=")
    if sign == "=":
        return Kill(component, times=_count("--kill", value, moment))
    if moment.isdecimal():
        return Kill(component, number=_count("--kill", value, moment))
    if sign:
        return Kill(component, seconds=_seconds("--kill", value, moment))
    raise InvalidFaultError(f"--kill: {value!r} is not COMPONENT@NUMBER, COMPONENT@TIME or COMPONENT=TIMES")


def _raise(value: str) -> Raise:
    component, sign, number = _split(value, "@")
    if not sign:
        raise InvalidFaultError(f"--raise: {value!r} is not COMPONENT@NUMBER")
    return Raise(component, _count("--raise", value, number))


def _drop(value: str) -> Drop:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(%?)", value.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 < share < 1:
        raise InvalidFaultError(f"--drop: {value!r} is not a share of the messages; write 0.1% or 0.001")
    return Drop(share)


def _slow(value: str) -> Slow:
    component, sign, time = _split(value, "=")
    if not sign:
        raise InvalidFaultError(f"--slow: {value!r} is not COMPONENT=TIME")
    return Slow(component, _seconds("--slow", value, time))


def _split(value: str, signs: str) -> Sequence[str]:
    """Split at the last of these signs: a component id may hold others."""
    found = re.fullmatch(rf"(.+)([{signs}])([^{signs}]+)", value.strip(), re.DOTALL)
    return found.groups() if found else (value, "", "")


def _count(option: str, value: str, number: str) -> int:
    count = int(number) if re.fullmatch(r"[0-9]{1,9}", number) else 0
    if not 0 < count <= _MAX_COUNT:
        raise InvalidFaultError(f"{option}: {value!r} has no number from 1 to {_MAX_COUNT:,}")
    return count


def _seconds(option: str, value: str, time: str) -> float:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)", time.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= _MAX_SECONDS:
        raise InvalidFaultError(f"{option}: {value!r} has no time; write 500ms, 40s or 5m")
    return seconds


# ---- search for faults that a topology does not survive ----


_MOST_FAULTS = 4
_MOST_TUPLES = 200  # the latest tuple at which a fault comes
_SHARES = (0.001, 0.01, 0.05)
_SLOWNESS = (0.5, 1.5)  # message timeouts
_SHRINKS = 60  # runs that shrinking may take
_SEEDS = 20  # that are tried for the smallest plan
Fails: TypeAlias = Callable[[Plan, int], bool]


@dataclass(slots=True, kw_only=True)
class Found:
    """How many random plans were tried, and the smallest one that fails with its seed, or None."""

    tried: int
    plan: Plan | None = None
    seed: int = 0


def search(
    fails: Fails,
    number: int,
    seed: int,
    draw: Callable[[Random], Plan],
    *,
    is_late: Callable[[], bool],
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Try the plan without faults, then random plans, each with a seed of its own, until it is late.

    The first one that fails is shrunk: its faults, and then its seed.
    """
    random = Random(seed)  # noqa: S311 - it draws faults of a simulation
    if fails(Plan(), seed):
        return Found(tried=0, plan=Plan(), seed=_least_seed(Plan(), seed, fails, is_late))
    for tried in range(1, number + 1):
        if is_late():
            return Found(tried=tried - 1)
        if progress is not None:
            progress(tried, number)
        plan, own = draw(random), seed + tried - 1
        if fails(plan, own):
            smallest = shrink(plan, partial(_in_time, fails, is_late, own))
            return Found(tried=tried, plan=smallest, seed=_least_seed(smallest, own, fails, is_late))
    return Found(tried=number)


def _in_time(fails: Fails, is_late: Callable[[], bool], seed: int, plan: Plan) -> bool:
    return not is_late() and fails(plan, seed)


def _least_seed(plan: Plan, seed: int, fails: Fails, is_late: Callable[[], bool]) -> int:
    """Return the least of the first seeds with which the plan fails too."""
    first = range(min(seed, _SEEDS))
    return next((each for each in first if _in_time(fails, is_late, each, plan)), seed)


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Return the smallest plan that still fails, by one step at a time; a step removes a fault or makes it simpler."""
    left = _SHRINKS
    while True:
        for smaller in _smaller(plan):
            left -= 1
            if left < 0:
                return plan
            if fails(smaller):
                plan = smaller
                break
        else:
            return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    for name in ("kills", "raises", "drops", "slows"):
        faults = getattr(plan, name)
        for place in range(len(faults)):
            yield replace(plan, **{name: faults[:place] + faults[place + 1 :]})
    for name in ("kills", "raises"):
        faults = getattr(plan, name)
        for place, fault in enumerate(faults):
            for simpler in _simpler(fault):
                yield replace(plan, **{name: (*faults[:place], simpler, *faults[place + 1 :])})


def _simpler(fault: Kill | Raise) -> Iterator[Kill | Raise]:
    if isinstance(fault, Kill) and fault.times > 1:
        yield replace(fault, times=1)
        yield replace(fault, times=fault.times - 1)
    number = fault.number
    for smaller in sorted({1, number // 2, number * 3 // 4, number - 1}):
        if 0 < smaller < number:
            yield replace(fault, number=smaller)


def random_plan(random: Random, bolts: Sequence[str], *, timeout_s: float, has_acker: bool) -> Plan:
    """Draw one to four faults of bolts, ackers and the network.

    Spouts do not fail: what they have emitted may die with them in a sound topology.  A slow bolt may take longer than the
    message timeout.
    """
    kills: list[Kill] = []
    raises: list[Raise] = []
    drops: tuple[Drop, ...] = ()
    slows: list[Slow] = []
    for _ in range(random.randint(1, _MOST_FAULTS)):
        bolt, number = random.choice(bolts), random.randint(1, _MOST_TUPLES)
        match random.choice(("kill", "kill", "acker", "raise", "drop", "slow")):
            case "acker" if has_acker:
                kills.append(Kill(ACKERS, times=random.randint(1, 3)))
            case "raise":
                raises.append(Raise(bolt, number))
            case "drop":
                drops = (Drop(random.choice(_SHARES)),)
            case "slow" if not slows:
                slows.append(Slow(bolt, random.choice(_SLOWNESS) * timeout_s))
            case _:
                kills.append(Kill(bolt, number=number))
    return Plan(kills=tuple(kills), raises=tuple(raises), drops=drops, slows=tuple(slows))
