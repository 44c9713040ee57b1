"""The delivery ledger: a book for each component, and what all of them come to.

Example: a bolt that acks in `process` and leaves `auto_ack` on.  Its book has the delivery open, acked
at the author's line, and acked again by `Bolt._run`; `settle` makes an Offence of that:
TWICE, with a life of three touches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from time import time_ns

from ackdoctor.model.dialect import Role
from ackdoctor.model.offence import Offence, Suspect
from ackdoctor.model.tally import ComponentTally, GrowthPoint
from ackdoctor.tracer.book import CAP, Book
from ackdoctor.tracer.levels import Level
from ackdoctor.tracer.sites import Sites

__all__ = ["Ledger", "Settlement"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settlement:
    """What a run, or one test of it, came to.

    `growth` is the number of open deliveries over time; `dropped` what did not fit under the cap;
    `unobserved` names the components that a mock hid from us, and why; `notes` is what else to say.
    """

    offences: tuple[Offence, ...] = ()
    tallies: tuple[ComponentTally, ...] = ()
    growth: tuple[GrowthPoint, ...] = ()
    dropped: int = 0
    unobserved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Ledger:
    """Keeps the books.  `now` is the clock, in nanoseconds since the epoch or virtual."""

    def __init__(
        self,
        level: Level = Level.SITES,
        *,
        now: Callable[[], int] = time_ns,
        cap: int = CAP,
        test: str = "",
    ) -> None:
        self.level = level
        self.now = now
        self.test = test
        self.sites = Sites()
        self.books: dict[int, Book] = {}
        self._cap = cap
        self._unobserved: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._lock = RLock()

    def open(self, suspect: Suspect, role: Role, *, component: object | None = None) -> Book:
        """A new book.  A live component is kept alive until `settle`, so that its fields can be searched."""
        book = Book(suspect, role, component=component, cap=self._cap)
        with self._lock:
            self.books[id(book if component is None else component)] = book
        return book

    def unobserved(self, component: str, reason: str) -> None:
        """Says that a mock stands where we would have looked."""
        self._unobserved[f"{component}: {reason}"] = None

    def note(self, text: str) -> None:
        """Something a reader of the settlement should know; told once."""
        self._notes[text] = None

    def settle(self) -> Settlement:
        """Says what became of every delivery so far, and closes the books."""
        with self._lock:
            books, self.books = list(self.books.values()), {}
            unobserved, self._unobserved = tuple(self._unobserved), {}
            notes, self._notes = tuple(self._notes), {}
        return Settlement(dropped=sum(book.dropped for book in books), unobserved=unobserved, notes=notes)
