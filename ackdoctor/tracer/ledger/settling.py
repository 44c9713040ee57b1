"""From a book to violations and a tally: numbers become call sites, open deliveries become NEVER."""

from collections.abc import Hashable, Iterable, Iterator

from ackdoctor.model.dialect import EntryKind, Kind, Misuse
from ackdoctor.model.protocol import TABLE, Op, Stage
from ackdoctor.model.verdict import ComponentTally
from ackdoctor.model.violation import Access, AccessKind, TracedComponent, Violation
from ackdoctor.tracer.ledger.book import BREACHES, Book, Closed, Delivery, Incident, Mark, Opened
from ackdoctor.tracer.ledger.sites import Sites

__all__ = ["tally", "violations"]

_BREACH = TABLE[Stage.OWED, Op.END].breach
_DONE = {Op.ACK: AccessKind.ACKED, Op.FAIL: AccessKind.FAILED}


def violations(book: Book, sites: Sites, now_ns: int, test: str) -> Iterator[Violation]:
    """What went wrong with the deliveries of one book, in the order in which it was seen."""
    traced = book.accused
    for incident in book.incidents():
        yield _offence(book, incident, traced, sites, test)
    yield from _untracked(book, traced, sites, test)
    yield from _overdue(book, traced, now_ns, test)


def _offence(book: Book, incident: Incident, traced: TracedComponent, sites: Sites, test: str) -> Violation:
    answers = _handler(book)
    handler = answers if _is_batch(book, answers) and not incident.tick else incident.handler or answers
    life = [*_beginning(incident.opened), *_completion(incident.closed, sites)]
    life.append(_touch(incident.kind, incident.site, incident.entry, incident.mark, sites))
    return Violation(
        misuse=incident.misuse,
        traced=traced,
        handler=handler,
        delivery=_shown(incident.delivery),
        history=tuple(life),
        tick=incident.tick,
        batch=_is_batch(book, handler),
        note=incident.note,
        test=test,
        count=incident.count,
        discarded=incident.discarded,
    )


def _untracked(book: Book, traced: TracedComponent, sites: Sites, test: str) -> Iterator[Violation]:
    """A spout that waits to be told of its tuples, and emits none with a message id."""
    if book.untracked is None or book.reliable or not book.waits() or not book.prices(Misuse.NO_MESSAGE_ID):
        return
    site, entry = book.untracked
    yield Violation(
        misuse=Misuse.NO_MESSAGE_ID,
        traced=traced,
        handler=_handler(book),
        delivery="",
        history=(_touch(AccessKind.EMITTED, site, entry, None, sites),),
        test=test,
        count=book.emits,
    )


def _overdue(book: Book, traced: TracedComponent, now_ns: int, test: str) -> Iterator[Violation]:
    owed = book.overdue()
    held = book.held({delivery for delivery, _ in owed}) if owed else {}
    unheld = {delivery for delivery, _ in owed if delivery not in held}
    named = book.held(unheld, ids=True) if unheld else {}
    groups: dict[tuple[Misuse, str, str], list[tuple[Delivery, Opened]]] = {}
    for delivery, opened in owed:
        field, ids = held.get(delivery, ""), named.get(delivery, "")
        if {field, ids}.isdisjoint(book.buffers) and _BREACH is not None:
            groups.setdefault((BREACHES[_BREACH], field, ids), []).append((delivery, opened))
    for delivery, opened in book.ticks_owed():
        groups.setdefault((Misuse.TICK_NEVER, "", ""), []).append((delivery, opened))
    for (misuse, field, ids), members in groups.items():
        delivery, opened = members[0]
        tick = misuse is Misuse.TICK_NEVER
        handler = (_ticked(book) if tick else "") or _handler(book)
        if book.prices(misuse):
            yield Violation(
                misuse=misuse,
                traced=traced,
                handler=handler,
                delivery=_shown(delivery),
                history=(
                    *_beginning(opened),
                    Access(kind=AccessKind.ENDED, time_ns=now_ns, entry=book.entry),
                ),
                tick=tick,
                batch=_is_batch(book, handler),
                held=f"self.{field}" if field else "",
                named=f"self.{ids}" if ids else "",
                test=test,
                count=len(members),
            )


def tally(book: Book, now_ns: int, found: Iterable[Violation]) -> ComponentTally:
    """What one book counted."""
    oldest = next(iter(book.open.values()), None)
    return ComponentTally(
        component=book.traced.name,
        dialect=book.traced.dialect,
        delivered=book.entry - book.ticks_seen,
        emitted=book.emits,
        acked=book.acks,
        failed=book.fails,
        ticks=book.ticks_seen,
        pending=len(book.overdue()),
        high_water=book.high_water,
        oldest_ms=max(0, now_ns - oldest[0]) // 1_000_000 if oldest else 0,
        violations=sum(violation.count for violation in found),
    )


def _beginning(opened: Opened | None) -> Iterator[Access]:
    if opened is not None:
        yield Access(kind=AccessKind.RECEIVED, time_ns=opened.time_ns, entry=opened.entry)


def _completion(closed: Closed | None, sites: Sites) -> Iterator[Access]:
    if closed is not None:
        yield _touch(_DONE[closed.op], closed.site, closed.entry, closed.mark, sites)


def _touch(kind: AccessKind, site: int, entry: int, mark: Mark | None, sites: Sites) -> Access:
    mark = mark or Mark()
    return Access(
        kind=kind,
        site=sites[site],
        thread=mark.thread,
        time_ns=mark.time_ns,
        entry=entry,
        in_except=mark.in_except,
    )


def _shown(delivery: Hashable) -> str:
    return "" if delivery is None else str(delivery)


def _handler(book: Book) -> str:
    """The handler that answers for a delivery: the batch's where there are batches."""
    wanted = (EntryKind.BATCH, EntryKind.DATA) if book.role.kind is Kind.BOLT else (EntryKind.NEXT,)
    for kind in wanted:
        for entry in book.role.entries:
            if entry.kind is kind:
                return entry.method
    return ""


def _ticked(book: Book) -> str:
    """The handler that is given ticks only; '' where they come with the data."""
    return next((entry.method for entry in book.role.entries if entry.kind is EntryKind.TICK), "")


def _is_batch(book: Book, handler: str) -> bool:
    return any(entry.method == handler and entry.kind is EntryKind.BATCH for entry in book.role.entries)
