"""The known holders of a traced process: the components that its ledger has met."""

from collections.abc import Iterator

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
            owed=None if spout else [delivery for delivery, _ in book.overdue()],
            file=suspect.path,
            line=suspect.line,
        )
