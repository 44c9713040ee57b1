"""Search for faults that a topology does not survive: random plans, and the smallest one that still fails.

`fails` runs a plan with a seed, in a topology that is loaded afresh.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

from ackdoctor.lab.faults import ACKERS, Drop, Kill, Plan, Raise, Slow

_MOST_FAULTS = 4
_MOST_TUPLES = 200  # the latest tuple at which a fault comes
_SHARES = (0.001, 0.01, 0.05)
_SLOWNESS = (0.5, 1.5)  # message timeouts
_SHRINKS = 60  # runs that shrinking may take
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
    """Try the plan without faults, then random plans until it is late; shrink the first one that fails."""
    random = Random(seed)  # noqa: S311 - it draws faults of a simulation
    if fails(Plan(), seed):
        return Found(tried=0, plan=Plan(), seed=seed)
    for tried in range(1, number + 1):
        if is_late():
            return Found(tried=tried - 1)
        if progress is not None:
            progress(tried, number)
        plan = draw(random)
        if fails(plan, seed):
            smallest = shrink(plan, lambda smaller: not is_late() and fails(smaller, seed))
            return Found(tried=tried, plan=smallest, seed=seed)
    return Found(tried=number)


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
        yield replace(fault, times=fault.times // 2)
    if fault.number > 1:
        yield replace(fault, number=1)
        yield replace(fault, number=fault.number // 2)


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
