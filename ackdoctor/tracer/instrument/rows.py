"""What the listener writes into a trace: the numbers that stand for texts, looked up once each."""

from collections.abc import Hashable, Sequence
from typing import Any

from ackdoctor.model.dialect import VerbKind
from ackdoctor.model.event import AUTO, RELIABLE, EventKind
from ackdoctor.tracer.instrument.live import LiveBook
from ackdoctor.tracer.ledger.sites import Sites
from ackdoctor.tracer.trace.components import UNOBSERVED, described
from ackdoctor.tracer.trace.files import printable, quoted
from ackdoctor.tracer.trace.write import Recorder, Template

__all__ = ["Rows"]


_STAMPS = 4_096  # of one book; streams and threads may have any number of names
_RECEIVED, _ACKED = int(EventKind.RECEIVED), int(EventKind.ACKED)
_FAILED, _WAITS = int(EventKind.FAILED), int(EventKind.WAITS)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)


class Rows:
    """Rows of live components."""

    def __init__(self, recorder: Recorder, sites: Sites) -> None:
        self.recorder = recorder
        self._sites = sites
        self._places: dict[int, tuple[str, int]] = {0: ("", 0)}

    def write(
        self,
        book: LiveBook,
        kind: int,
        delivery: Hashable,
        site: int,
        flags: int,
        stream: Any = None,
        thread: str = "",
    ) -> None:
        """One row.  The usual ones come here once: their callers find the stamp in the book from then on."""
        key = (kind, site, flags, stream, thread)
        stamp = book.stamps.get(key) or self._stamp(book, *key)
        self.recorder.put(stamp, as_json(delivery))

    def emitted(
        self, book: LiveBook, anchors: Sequence[Hashable], site: int, flags: int, stream: Any, thread: str
    ) -> None:
        """A row for the emit, and one for each anchor after the first."""
        self.write(book, _EMITTED, anchors[0] if anchors else "", site, flags, stream, thread)
        for anchor in anchors[1:]:
            self.write(book, _ANCHORED, anchor, site, flags, None, thread)

    def mocked(self, book: LiveBook, kind: VerbKind, told: Sequence[Hashable]) -> None:
        """What a mock was called with: the delivery that it completes, the anchors of an emit, a spout's message id."""
        if kind is VerbKind.EMIT:
            self.emitted(book, told, 0, RELIABLE if told else 0, None, "")
        else:
            self.write(book, _ACKED if kind is VerbKind.ACK else _FAILED, told[0], 0, 0)

    def hidden(self, book: LiveBook, why: str) -> None:
        """A row for what stood between a component and the wire."""
        if book.row is not None:
            self._named(book, book.row, f"{UNOBSERVED}{why}")

    def waiting(self, book: LiveBook, deliveries: Sequence[Hashable]) -> None:
        """A row for each delivery that the framework still keeps for its next batch."""
        for delivery in deliveries:
            self.write(book, _WAITS, delivery, 0, 0)

    def died(self, book: LiveBook, note: str) -> None:
        """A row for the end of a component."""
        self.recorder.write(EventKind.DIED, *(book.row or self._name(book)), note=note)

    def _stamp(self, book: LiveBook, kind: int, site: int, flags: int, stream: Any, thread: str) -> Template:
        component, task = book.row or self._name(book)
        place, framework = self._places.get(site) or self._place(site)
        on = "" if stream is None else str(stream)
        stamp = self.recorder.template(kind, component, task, on, place, flags | framework, thread)
        if len(book.stamps) >= _STAMPS:
            book.forget_stamps()
        book.stamps[kind, site, flags, stream, thread] = stamp
        if kind == _RECEIVED and not flags:
            book.arrivals[stream] = stamp
        elif kind == _EMITTED and flags == RELIABLE and not thread:
            book.emissions[site if stream is None else (site, stream)] = stamp
        elif kind == _ACKED and not thread:
            book.endings[site] = stamp
        return stamp

    def _name(self, book: LiveBook) -> tuple[str, int]:
        traced = book.accused
        book.row = (traced.name, traced.task)
        self._named(book, book.row)
        return book.row

    def _named(self, book: LiveBook, row: tuple[str, int], more: str = "") -> None:
        traced = book.accused
        site = f"{traced.path}:{traced.line} {traced.name}" if traced.path else ""
        self.recorder.write(EventKind.NAMED, *row, site=site, note=described(traced) + more)

    def _place(self, site: int) -> tuple[str, int]:
        place = self._sites[site]
        found = (str(place), AUTO if place.framework else 0) if place else ("", 0)
        self._places[site] = found
        return found


def as_json(delivery: Hashable) -> str:
    """A delivery as a row holds it."""
    return quoted(printable(delivery if isinstance(delivery, str) else str(delivery)))
