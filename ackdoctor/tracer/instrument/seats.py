"""Whose the calls of a module's functions are: storm.py's and Petrel's verbs do not say which component speaks."""

from threading import local

from ackdoctor.tracer.instrument.live import LiveBook

__all__ = ["Seats"]


class Seats:
    """Who speaks through a module's functions: the component that this thread runs, or the last that came."""

    def __init__(self) -> None:
        self._seat = _Seat()
        self._last: LiveBook | None = None

    def take(self, book: LiveBook | None) -> None:
        """A component begins to run in this thread."""
        if book is not None:
            self._seat.book = self._last = book

    def taken(self) -> LiveBook | None:
        """The component whose code this is."""
        return self._seat.book or self._last

    def clear(self) -> None:
        """All components have gone."""
        self._seat, self._last = _Seat(), None


class _Seat(local):
    """A thread's own, gone with its thread: the number of a thread that has ended is soon another's."""

    book: LiveBook | None = None
