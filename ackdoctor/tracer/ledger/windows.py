"""Growth over time: what was pending at the end of each window, in a bounded number of windows."""

from collections.abc import Sequence
from dataclasses import replace

from ackdoctor.model.verdict import GrowthPoint

__all__ = ["POINTS", "Windows", "halved"]

POINTS = 512  # not reached: then neighbours are merged and windows become twice as long
_SECOND = 1_000_000_000


class Windows:
    """The windows of one map.  `due` is the time at which the open one ends, in nanoseconds."""

    __slots__ = ("_first", "_length", "_started", "due", "points")

    def __init__(self, length_ns: int = _SECOND) -> None:
        self._first = self._length = length_ns
        self._started = 0
        self.due = 0
        self.points: list[GrowthPoint] = []

    def reset(self) -> None:
        """Begins anew."""
        self._length, self._started, self.due = self._first, 0, 0
        self.points = []

    def close(self, now_ns: int, *, pending: int, started: int, orphans: int = 0) -> None:
        """Ends the open window; `started` counts from the beginning of the run."""
        begun, self._started = started - self._started, started
        self.points.append(
            GrowthPoint(time_ms=now_ns // 1_000_000, pending=pending, orphans=orphans, started=begun)
        )
        if len(self.points) == POINTS:
            self._length *= 2
            self.points = halved(self.points)
        self.due = now_ns + self._length


def halved(points: Sequence[GrowthPoint]) -> list[GrowthPoint]:
    """An even number of windows as half as many: what was pending last, and the load of both."""
    pairs = zip(points[::2], points[1::2], strict=True)
    return [replace(last, started=first.started + last.started) for first, last in pairs]
