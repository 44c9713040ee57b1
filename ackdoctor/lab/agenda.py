"""What is due when, in virtual time."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

__all__ = ["Action", "Agenda", "Phases", "apart", "together"]

Action: TypeAlias = Callable[[], object]
Phases: TypeAlias = Callable[[str, int, float], float]
"""Component, the executor's first task, tick period in seconds -> when its first period begins, in seconds."""


def together(_component: str, _task: int, _period: float) -> float:
    """Every executor starts at zero: its ticks come at multiples of the period."""
    return 0.0


def apart(component: str, task: int, period: float) -> float:
    """Every executor starts at its own time within a period, spread by the golden ratio."""
    return period * ((task * 0.6180339887498949 + len(component)) % 1.0)


class Agenda:
    """Actions by time; those due at the same time run in the order in which they were entered."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Action]] = []
        self._entry = count()

    def enter(self, time_ms: int, action: Action) -> None:
        """Do this then."""
        heappush(self._due, (time_ms, next(self._entry), action))

    def next_time_ms(self) -> int | None:
        """When the next action is due; None if there is none."""
        return self._due[0][0] if self._due else None

    def pop(self) -> Action:
        """The next action."""
        return heappop(self._due)[2]
