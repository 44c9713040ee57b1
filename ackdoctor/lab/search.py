"""Search for faults that a topology does not survive: random plans, and the smallest one that still fails.

`fails` runs a plan with a seed, in a topology that is loaded afresh.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TypeAlias

from ackdoctor.lab.faults import ACKERS, Drop, Kill, Plan, Raise, Slow

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
