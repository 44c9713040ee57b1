"""The rows that the listener writes at level `trace`, with a template for each frequent kind."""

from collections.abc import Hashable, Sequence
from typing import Any

from ackdoctor.model.dialect import VerbKind
from ackdoctor.model.event import AUTO, RELIABLE, EventKind
from ackdoctor.tracer.instrument.live import LiveBook
from ackdoctor.tracer.ledger.sites import Sites
from ackdoctor.tracer.trace.components import UNOBSERVED, described
from ackdoctor.tracer.trace.files import printable, quoted
from ackdoctor.tracer.trace.write import Recorder, Template

__all__ = ["Rows", "as_json"]

_MAX_TEMPLATES = 4_096  # of one component: streams may have any number of names
_RECEIVED, _ACKED = int(EventKind.RECEIVED), int(EventKind.ACKED)
_FAILED, _WAITS = int(EventKind.FAILED), int(EventKind.WAITS)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)


class Rows:
    """Rows of live components."""

    def __init__(self, recorder: Recorder, sites: Sites) -> None:
        self.recorder = recorder
        self._put = recorder.put
        self._sites = sites
        self._places: dict[int, tuple[str, int]] = {0: ("", 0)}

    # ---- frequent rows: `delivery` is JSON ----

    def received(self, book: LiveBook, stream: Any, delivery: str) -> None:
        """A tuple was received."""
        template = book.templates.get(stream)
        if template is None:
            template = self._keep(book, stream, self._template(book, _RECEIVED, 0, 0, stream, ""))
        self._put(template, delivery)

    def emitted(self, book: LiveBook, site: int, stream: Any, delivery: str) -> None:
        """An anchored emit from the component's thread."""
        template = book.templates.get((site, stream))
        if template is None:
            made = self._template(book, _EMITTED, site, RELIABLE, stream, "")
            template = self._keep(book, (site, stream), made)
        self._put(template, delivery)

    def acked(self, book: LiveBook, site: int, delivery: str) -> None:
        """An ack from the component's thread."""
        template = book.templates.get(site)
        if template is None:
            template = self._keep(book, site, self._template(book, _ACKED, site, 0, None, ""))
        self._put(template, delivery)

    # ---- rows ----

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
        """Any row."""
        self._put(self._template(book, kind, site, flags, stream, thread), as_json(delivery))

    def emitted_unusual(
        self, book: LiveBook, anchors: Sequence[Hashable], site: int, flags: int, stream: Any, thread: str
    ) -> None:
        """Any emit: a row for it, and one for each anchor after the first."""
        self.write(book, _EMITTED, anchors[0] if anchors else "", site, flags, stream, thread)
        for anchor in anchors[1:]:
            self.write(book, _ANCHORED, anchor, site, flags, None, thread)

    def mocked(self, book: LiveBook, kind: VerbKind, ids: Sequence[Hashable]) -> None:
        """A call of a mock: the delivery that it completes, the anchors of an emit, or a spout's message id."""
        if kind is VerbKind.EMIT:
            self.emitted_unusual(book, ids, 0, RELIABLE if ids else 0, None, "")
        else:
            self.write(book, _ACKED if kind is VerbKind.ACK else _FAILED, ids[0], 0, 0)

    def unobserved(self, book: LiveBook, why: str) -> None:
        """What stood between a component and the wire."""
        if book.row is not None:
            self._named(book, book.row, f"{UNOBSERVED}{why}")

    def waiting(self, book: LiveBook, deliveries: Sequence[Hashable]) -> None:
        """The deliveries that the framework keeps for its next batch."""
        for delivery in deliveries:
            self.write(book, _WAITS, delivery, 0, 0)

    def died(self, book: LiveBook, note: str) -> None:
        """The end of a component."""
        self.recorder.write(EventKind.DIED, *(book.row or self._name(book)), note=note)

    def _keep(self, book: LiveBook, key: Hashable, template: Template) -> Template:
        if len(book.templates) >= _MAX_TEMPLATES:
            book.templates.clear()
        book.templates[key] = template
        return template

    def _template(
        self, book: LiveBook, kind: int, site: int, flags: int, stream: Any, thread: str
    ) -> Template:
        component, task = book.row or self._name(book)
        place, framework = self._places.get(site) or self._place(site)
        on = "" if stream is None else str(stream)
        return self.recorder.template(kind, component, task, on, place, flags | framework, thread)

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


def as_json(delivery: Any) -> str:
    """A delivery as a row holds it."""
    text = delivery if delivery.__class__ is str else str(delivery)
    return quoted(text if text.isascii() else printable(text))
