"""From a book to offences and a tally: numbers become call sites, open deliveries become NEVER."""

from collections.abc import Hashable, Iterable, Iterator

from ackdoctor.model.dialect import EntryKind, Kind, Misuse
from ackdoctor.model.offence import Offence, Suspect, Touch, TouchKind
from ackdoctor.model.protocol import TABLE, Op, Stage
from ackdoctor.model.tally import ComponentTally
from ackdoctor.tracer.ledger.book import BREACHES, Book, Closed, Delivery, Incident, Mark, Opened
from ackdoctor.tracer.ledger.sites import Sites

__all__ = ["offences", "tally"]

_BREACH = TABLE[Stage.OWED, Op.END].breach
_DONE = {Op.ACK: TouchKind.ACKED, Op.FAIL: TouchKind.FAILED}


def offences(book: Book, sites: Sites, now_ns: int, test: str) -> Iterator[Offence]:
    """What went wrong with the deliveries of one book, in the order in which it was seen."""
    suspect = book.accused
    for incident in book.incidents():
        yield _offence(book, incident, suspect, sites, test)
    yield from _untracked(book, suspect, sites, test)
    yield from _overdue(book, suspect, now_ns, test)


def _offence(book: Book, incident: Incident, suspect: Suspect, sites: Sites, test: str) -> Offence:
    answers = _handler(book)
    handler = answers if _is_batch(book, answers) and not incident.tick else incident.handler or answers
    life = [*_beginning(incident.opened), *_completion(incident.closed, sites)]
    life.append(_touch(incident.kind, incident.site, incident.entry, incident.mark, sites))
    return Offence(
        misuse=incident.misuse,
        suspect=suspect,
        handler=handler,
        delivery=_shown(incident.delivery),
        life=tuple(life),
        tick=incident.tick,
        batch=_is_batch(book, handler),
        note=incident.note,
        test=test,
        count=incident.count,
        discarded=incident.discarded,
    )


def _untracked(book: Book, suspect: Suspect, sites: Sites, test: str) -> Iterator[Offence]:
    """A spout that waits to be told of its tuples, and emits none with a message id."""
    if book.untracked is None or book.reliable or not book.waits() or not book.prices(Misuse.NO_MESSAGE_ID):
        return
    site, entry = book.untracked
    yield Offence(
        misuse=Misuse.NO_MESSAGE_ID,
        suspect=suspect,
        handler=_handler(book),
        delivery="",
        life=(_touch(TouchKind.EMITTED, site, entry, None, sites),),
        test=test,
        count=book.emits,
    )


def _overdue(book: Book, suspect: Suspect, now_ns: int, test: str) -> Iterator[Offence]:
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
            yield Offence(
                misuse=misuse,
                suspect=suspect,
                handler=handler,
                delivery=_shown(delivery),
                life=(*_beginning(opened), Touch(kind=TouchKind.ENDED, time_ns=now_ns, entry=book.entry)),
                tick=tick,
                batch=_is_batch(book, handler),
                held=f"self.{field}" if field else "",
                named=f"self.{ids}" if ids else "",
                test=test,
                count=len(members),
            )


def tally(book: Book, now_ns: int, found: Iterable[Offence]) -> ComponentTally:
    """What one book counted."""
    oldest = next(iter(book.open.values()), None)
    return ComponentTally(
        component=book.suspect.name,
        dialect=book.suspect.dialect,
        delivered=book.entry - book.ticks_seen,
        emitted=book.emits,
        acked=book.acks,
        failed=book.fails,
        ticks=book.ticks_seen,
        pending=len(book.overdue()),
        high_water=book.high_water,
        oldest_ms=max(0, now_ns - oldest[0]) // 1_000_000 if oldest else 0,
        offences=sum(offence.count for offence in found),
    )


def _beginning(opened: Opened | None) -> Iterator[Touch]:
    if opened is not None:
        yield Touch(kind=TouchKind.RECEIVED, time_ns=opened.time_ns, entry=opened.entry)


def _completion(closed: Closed | None, sites: Sites) -> Iterator[Touch]:
    if closed is not None:
        yield _touch(_DONE[closed.op], closed.site, closed.entry, closed.mark, sites)


def _touch(kind: TouchKind, site: int, entry: int, mark: Mark | None, sites: Sites) -> Touch:
    mark = mark or Mark()
    return Touch(
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
