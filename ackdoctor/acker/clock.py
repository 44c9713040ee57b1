"""Time, injected, so that a test or a replay says how late it is."""

from typing import Protocol

__all__ = ["Clock", "VirtualClock"]


class Clock(Protocol):
    """What tells an executor the time."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, or since a virtual zero."""


class VirtualClock:
    """Stands still until it is advanced."""

    __slots__ = ("_now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Milliseconds since virtual zero."""
        return self._now_ms

    def advance(self, seconds: float) -> None:
        """Goes forward, rounded to the millisecond; a negative step is a ValueError."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        self._now_ms += round(seconds * 1000)
