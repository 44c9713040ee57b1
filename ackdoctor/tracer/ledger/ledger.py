"""The delivery ledger: a book for each component, and what all of them come to.

Example: a bolt that acks in `process` and leaves `auto_ack` on.  Its book has the delivery open, acked
at the author's line, and acked again by `Bolt._run`; `settle` makes an Violation of that:
TWICE, with a life of three touches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from threading import RLock
from time import time_ns

from ackdoctor.model.dialect import Role
from ackdoctor.model.verdict import ComponentTally, GrowthPoint
from ackdoctor.model.violation import TracedComponent, Violation
from ackdoctor.tracer.ledger.book import CAP, Book
from ackdoctor.tracer.ledger.settling import tally, violations
from ackdoctor.tracer.ledger.sites import Sites
from ackdoctor.tracer.ledger.windows import Windows
from ackdoctor.tracer.levels import Level

__all__ = ["BOOKS", "Ledger", "Settlement", "merged"]

BOOKS = 4_096  # books open at once; the oldest is closed for the next


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settlement:
    """What a run, or one test of it, came to.

    `growth` is the number of open deliveries over time; `dropped` what did not fit under the caps;
    `unobserved` names the components that a mock hid from us, and why; `notes` is what else to say: a run with notes is
    not clean although it has no violations.
    """

    violations: tuple[Violation, ...] = ()
    tallies: tuple[ComponentTally, ...] = ()
    growth: tuple[GrowthPoint, ...] = ()
    dropped: int = 0
    unobserved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Ledger:
    """Keeps the books.  `now` is the clock, in nanoseconds since the epoch or virtual.

    `cap` is how many deliveries a book keeps; `test` goes into the violations of the next settlement.
    """

    def __init__(
        self, level: Level = Level.SITES, *, now: Callable[[], int] = time_ns, cap: int = CAP, test: str = ""
    ) -> None:
        self.level = level
        self.now = now
        self.cap = cap
        self.test = test
        self.sites = Sites()
        self.books: dict[int, Book] = {}
        self.windows = Windows()
        # told of a new book, and of what is pending after each window
        self.growing: Callable[[int], None] | None = None
        self._begun = 0
        self._unobserved: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._closed: list[tuple[tuple[Violation, ...], ComponentTally, int]] = []
        self._lock = RLock()

    def open(self, traced: TracedComponent, role: Role) -> Book:
        """A new book for a component that is known by its rows only."""
        book = Book(traced, role, cap=self.cap)
        self.keep(id(book), book)
        return book

    def keep(self, key: int, book: Book) -> None:
        """Takes in a book under a key: the `id` of a live component, which the book keeps alive."""
        with self._lock:
            self.books[key] = book
            if len(self.books) > BOOKS:
                self._close(self.books.pop(next(iter(self.books))))
        if self.growing is not None:
            self.growing(0)

    def unobserved(self, component: str, reason: str) -> None:
        """Says that a mock stands where we would have looked."""
        self._unobserved[f"{component}: {reason}"] = None

    def note(self, text: str) -> None:
        """Add what a reader of the settlement should know, once."""
        self._notes[text] = None

    def grow(self, now_ns: int) -> None:
        """Ends a window: `windows.due` has come."""
        with self._lock:
            books = list(self.books.values())
            pending = sum(len(book.open) for book in books)
            self.windows.close(
                now_ns,
                pending=pending,
                started=self._begun + sum(book.entry - book.ticks_seen for book in books),
            )
        if self.growing is not None:
            self.growing(pending)

    def settle(self) -> Settlement:
        """Says what became of every delivery so far, and closes the books."""
        with self._lock:
            if self.books:
                self.grow(self.now())
            for key in list(self.books):
                self._close(self.books.pop(key))
            rows, self._closed = self._closed, []
            settlement = Settlement(
                violations=tuple(violation for found, _, _ in rows for violation in found),
                tallies=merged(row for _, row, _ in rows),
                growth=tuple(self.windows.points),
                dropped=sum(dropped for _, _, dropped in rows),
                unobserved=tuple(self._unobserved),
                notes=tuple(self._notes),
            )
            self._unobserved.clear()
            self._notes.clear()
            self.windows.reset()
            self._begun = 0
        return settlement

    def _close(self, book: Book) -> None:
        now = self.now()
        hidden = book.close()
        if hidden:
            self.unobserved(book.traced.name, hidden)
        if kept := book.interrupted():
            for delivery in kept:
                book.excuse(delivery)
            what = "tuple was" if len(kept) == 1 else "tuples were"
            self.note(f"{book.traced.name}: {len(kept)} kept {what} open when an exception left a handler")
        found = tuple(violations(book, self.sites, now, self.test))
        self._begun += book.entry - book.ticks_seen
        self._closed.append((found, tally(book, now, found), book.dropped))
        if book.strays:
            many = "completion" if book.strays == 1 else "completions"
            self.note(f"{book.traced.name}: {book.strays} {many} of tuples that nobody was seen to hand over")


def merged(tallies: Iterable[ComponentTally]) -> tuple[ComponentTally, ...]:
    """One row per component class, however many of it there were; the high-water mark is the highest of one."""
    rows: dict[tuple[str, str], ComponentTally] = {}
    for one in tallies:
        key = (one.component, one.dialect)
        other = rows.get(key)
        rows[key] = one if other is None else _sum(other, one)
    return tuple(rows[key] for key in sorted(rows))


def _sum(one: ComponentTally, other: ComponentTally) -> ComponentTally:
    return replace(
        one,
        delivered=one.delivered + other.delivered,
        emitted=one.emitted + other.emitted,
        acked=one.acked + other.acked,
        failed=one.failed + other.failed,
        ticks=one.ticks + other.ticks,
        pending=one.pending + other.pending,
        high_water=max(one.high_water, other.high_water),
        oldest_ms=max(one.oldest_ms, other.oldest_ms),
        violations=one.violations + other.violations,
    )
