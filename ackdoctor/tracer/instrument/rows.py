"""What the listener writes into a trace: the numbers that stand for texts, looked up once each."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from ackdoctor.model.dialect import VerbKind
from ackdoctor.model.event import AUTO, RELIABLE, EventKind
from ackdoctor.tracer.disk.naming import UNOBSERVED, described
from ackdoctor.tracer.instrument.live import LiveBook
from ackdoctor.tracer.ledger.sites import Sites

__all__ = ["Presser", "Rows", "Writer"]


_STAMPS = 4_096  # of one book; streams and threads may have any number of names
_RECEIVED, _ACKED = int(EventKind.RECEIVED), int(EventKind.ACKED)
_FAILED, _WAITS = int(EventKind.FAILED), int(EventKind.WAITS)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)


class Writer(Protocol):
    """The recorder, as far as the listener uses it."""

    def code(self, text: str) -> int:
        """The number that stands for a text."""

    def write(
        self,
        kind: int,
        component: int,
        task: int,
        stream: int,
        delivery: int | str,
        root: int = 0,
        value: int = 0,
        site: int = 0,
        flags: int = 0,
        thread: int = 0,
        note: int = 0,
    ) -> None:
        """Writes one row."""


class Presser(Writer, Protocol):
    """A recorder that also takes rows by their stamps; `press` is the one of this moment."""

    press: Callable[[int, int], None]

    def stamp(
        self,
        kind: int,
        component: int,
        task: int,
        stream: int,
        site: int = 0,
        flags: int = 0,
        thread: int = 0,
        note: int = 0,
    ) -> int:
        """The number that stands for what many rows have in common."""

    def put(self, stamp: int, delivery: Hashable) -> None:
        """Writes one row by its stamp."""

    def roll(self) -> None:
        """Finishes what is there."""


class _Codes(dict[Any, int]):
    """The codes of what occurs as a text, each asked for once."""

    def __init__(self, recorder: Writer) -> None:
        super().__init__({None: 0, "": 0})
        self._recorder = recorder

    def __missing__(self, text: Any) -> int:
        code = self[text] = self._recorder.code(str(text))
        return code


class Rows:
    """Rows of live components."""

    def __init__(self, recorder: Presser, sites: Sites) -> None:
        self.recorder = recorder
        self._sites = sites
        self._streams = _Codes(recorder)
        self._threads = _Codes(recorder)
        self._places: dict[int, tuple[int, int]] = {0: (0, 0)}

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
        self.recorder.put(stamp, delivery if delivery.__class__ is str else str(delivery))

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
        self.recorder.write(
            EventKind.DIED, *(book.row or self._name(book)), 0, "", note=self.recorder.code(note)
        )

    def _stamp(self, book: LiveBook, kind: int, site: int, flags: int, stream: Any, thread: str) -> int:
        component, task = book.row or self._name(book)
        place, framework = self._places.get(site) or self._place(site)
        stamp = self.recorder.stamp(
            kind,
            component,
            task,
            self._streams[stream],
            site=place,
            flags=flags | framework,
            thread=self._threads[thread],
        )
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

    def _name(self, book: LiveBook) -> tuple[int, int]:
        traced = book.accused
        book.row = (self.recorder.code(traced.name), traced.task)
        self._named(book, book.row)
        return book.row

    def _named(self, book: LiveBook, row: tuple[int, int], more: str = "") -> None:
        traced = book.accused
        code = self.recorder.code
        site = code(f"{traced.path}:{traced.line} {traced.name}") if traced.path else 0
        self.recorder.write(EventKind.NAMED, *row, 0, "", 0, 0, site, note=code(described(traced) + more))

    def _place(self, site: int) -> tuple[int, int]:
        place = self._sites[site]
        found = (self.recorder.code(str(place)), AUTO if place.framework else 0) if place else (0, 0)
        self._places[site] = found
        return found
