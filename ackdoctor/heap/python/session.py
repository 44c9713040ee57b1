"""The known holders of a traced process: the components that its ledger has met."""

from collections.abc import Hashable, Iterator

from ackdoctor.heap.python.holders import BOLT, SPOUT, Holder
from ackdoctor.model.dialect import Kind
from ackdoctor.tracer.instrument.live import LiveBook
from ackdoctor.tracer.ledger.ledger import Ledger

__all__ = ["components"]


def components(ledger: Ledger) -> Iterator[Holder]:
    """Each live component, with the tuples that it has seen and, of a bolt, those that it owes."""
    for book in tuple(ledger.books.values()):
        if not isinstance(book, LiveBook):
            continue
        spout = book.role.kind is Kind.SPOUT
        suspect = book.accused
        yield Holder(
            name=type(book.component).__name__,
            kind=SPOUT if spout else BOLT,
            holder=book.component,
            tuples=book.emits if spout else book.entry - book.ticks_seen,
            owed=None if spout else _owed(book),
            file=suspect.path,
            line=suspect.line,
        )


def _owed(book: LiveBook) -> list[Hashable]:
    """Open deliveries without those that wait for the framework, which will complete them in time."""
    deliveries = [delivery for delivery, _ in book.overdue()]
    if not book.buffers:
        return deliveries
    held = book.held(deliveries)
    return [delivery for delivery in deliveries if held.get(delivery) not in book.buffers]
