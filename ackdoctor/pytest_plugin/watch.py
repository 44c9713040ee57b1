"""Tracing while tests run: one ledger, settled after each traced test."""

import threading
import time
from collections.abc import Collection
from math import ceil
from typing import TYPE_CHECKING

from ackdoctor.model.violation import Violation
from ackdoctor.tracer.instrument.install import Installation, install
from ackdoctor.tracer.ledger.ledger import Ledger, Settlement
from ackdoctor.tracer.ledger.settling import violations
from ackdoctor.tracer.levels import Level

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.files import Files

__all__ = ["Watch", "wait"]

_POLL_S = 0.005


class Watch:
    """Wraps the frameworks from the first traced test to the end of the session.

    They stay wrapped between traced tests: a component of a wider scope may outlive its test.  What
    happens in tests that nobody asked to trace is forgotten.
    """

    def __init__(self, files: "Files | None" = None) -> None:
        self._files = files
        self.ledger = Ledger(Level.OFF)
        self._installation: Installation | None = None
        self._threads = set(threading.enumerate())  # of the runner itself: not worth waiting for

    def begin(self, test: str, level: str) -> None:
        """From now on, what components receive is this test's."""
        wanted = Level.named(level)
        if self._installation is None or self.ledger.level is not wanted:
            self._unwrap()
            self.ledger = Ledger(wanted)
            self._installation = install(self.ledger, self._files.recorder if self._files else None)
        else:
            self.ledger.settle()
            self._installation.mend()
        self.ledger.test = test
        if self._files is not None:
            self._files.begin(test)

    def wait(self, seconds: float) -> None:
        """Gives threads that the tests have started time to complete what is open."""
        wait(self.ledger, self._threads, seconds)

    @property
    def pending(self) -> int:
        """How many deliveries are open."""
        return _pending(self.ledger)

    def look(self) -> tuple[Violation, ...]:
        """What is wrong so far; nothing is closed."""
        ledger = self.ledger
        books = tuple(ledger.books.values())
        return tuple(o for book in books for o in violations(book, ledger.sites, ledger.now(), ledger.test))

    def end(self) -> Settlement:
        """What became of the deliveries of the test; later completions of them are nobody's."""
        settlement = self.ledger.settle()
        self.ledger.test = ""
        return settlement

    def judged(self, *, failed: bool) -> tuple[str, ...]:
        """Keeps the trace of the test, or not; what to say of it."""
        return self._files.end(failed=failed) if self._files is not None else ()

    def close(self) -> None:
        """The frameworks are as they were, and the traces are on disk."""
        self._unwrap()
        if self._files is not None:
            self._files.close()

    def _unwrap(self) -> None:
        if self._installation is not None:
            self._installation.undo()
            self._installation = None


def wait(ledger: Ledger, threads: Collection[threading.Thread], seconds: float) -> None:
    """Gives all other threads time to complete what is open, no longer than they need.

    Looks are counted, since the clock may be a fixture's that stands still.
    """
    for _ in range(ceil(seconds / _POLL_S)):
        if not (_pending(ledger) and any(thread not in threads for thread in threading.enumerate())):
            return
        time.sleep(_POLL_S)


def _pending(ledger: Ledger) -> int:
    return sum(len(book.overdue()) for book in tuple(ledger.books.values()))
