"""The wrappers that run for every message and every tuple, as long as nothing about them is unusual.

Each does its part in one function, `Book.received` and `Book.acked` in place, since a call costs as much as the rest
of it: only what is unusual goes to the listener.  Most often the component that spoke last speaks again, so they keep
its book as `latest`.  At `sites` and `trace` they look at variables of their own, which Python finds fastest; at
`counts` they need so few of them that one object is better: variables that a function closes over are copied at every call.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from inspect import signature
from threading import get_ident
from typing import Any

from ackdoctor.model.dialect import Entry
from ackdoctor.tracer.instrument.handlers import Visit, Visits
from ackdoctor.tracer.instrument.listener import SYSTEM, Listener, exception
from ackdoctor.tracer.instrument.live import CALM, LiveBook, id_of
from ackdoctor.tracer.instrument.rows import as_json
from ackdoctor.tracer.ledger.book import ACK
from ackdoctor.tracer.ledger.sites import NOWHERE, Way
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["UNWRITABLE", "Function", "Hot", "is_usual"]

__tracebackhide__ = True  # pytest leaves out the frames of this module

UNWRITABLE = (TypeError, OverflowError)  # what json, simplejson and msgpack raise
Function = Callable[..., Any]


class _Nobody:
    """No book of a component that lives."""

    owner = fresh = plain = None


class Hot:
    """Makes wrappers.  `loose` takes a message that a wrapper could not place, `attach` opens a new component's book.

    `reading` is the book of the component that has read a tuple last, `latest` at `counts` of the one that sent last.
    """

    __slots__ = ("_attach", "books", "clock", "latest", "listener", "loose", "reading", "visits", "windows")

    def __init__(
        self,
        listener: Listener,
        visits: Visits,
        books: dict[int, LiveBook],
        attach: Callable[[object], LiveBook | None],
        loose: Callable[[object, Any], None],
    ) -> None:
        self.listener = listener
        self.clock, self.windows = listener.ledger.now, listener.ledger.windows
        self.visits = visits
        self.books = books
        self._attach = attach
        self.loose = loose
        self.latest: Any = _Nobody
        self.reading: Any = _Nobody

    def send(self, original: Function) -> Function:
        """A method that takes a message."""
        if not self.listener.located:
            return self._counted(original)
        recorder = self.listener.recorder
        return self._located(original) if recorder is None else self._traced(original, recorder)

    def _counted(self, original: Function) -> Function:
        """At level `counts`: an emit is a number, and a completion is looked at."""
        hot = self

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            try:
                book = hot.latest
                if book.owner is not self:
                    book = hot.latest = hot.books[id(self)]
                if "anchors" in message:  # a bolt's emit, and nothing else
                    book.emits += 1
                elif message["command"] != "ack":
                    hot.listener.sent(book, message["command"], message)
                elif (delivery := message["id"]) is book.current and book.owed:
                    book.owed = False  # no call since the look: no other thread ran in between
                    book.acks += 1
                    book.done[delivery] = book.entry
                elif (opened := book.laid.pop(delivery, None)) is not None:
                    book.acks += 1
                    book.done[delivery] = (opened, ACK, NOWHERE, book.entry, None)
                else:
                    book.acked(id_of(delivery, book))
            except (LookupError, TypeError):  # a new component, or no command of the protocol's
                hot.loose(self, message)
            try:
                return original(self, message)
            except UNWRITABLE:
                hot.listener.unwritable(hot.books.get(id(self)), message)
                raise

        return send_message

    def _located(self, original: Function) -> Function:
        """At level `sites`: an emit with one open anchor, from the thread that receives, ends in here."""
        books, loose = self.books, self.loose
        sent, unwritable = self.listener.sent, self.listener.unwritable
        latest: Any = _Nobody
        acked, along, acks = self.listener.acked_at, self.listener.ledger.sites.along, Way()

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            nonlocal latest
            try:
                book = latest
                if book.owner is not self:
                    book = latest = books[id(self)]
                if "anchors" in message:  # a bolt's emit, and nothing else
                    anchors = message["anchors"]
                    if len(anchors) == 1 and anchors[0] in book.open and get_ident() == book.thread:
                        book.emits += 1
                    else:
                        sent(book, message["command"], message)
                elif message["command"] == "ack":
                    delivery, site = message["id"], along(acks)
                    usual = get_ident() == book.thread and exception() is None
                    if usual and (opened := book.open.pop(delivery, None)) is not None:
                        book.acks += 1
                        book.done[delivery] = (opened, ACK, site, book.entry, None)
                    else:
                        acked(book, delivery, site)
                else:
                    sent(book, message["command"], message)
            except Exception:  # noqa: BLE001 - a new component, or no command of the protocol's
                loose(self, message)
            try:
                return original(self, message)
            except UNWRITABLE:
                unwritable(books.get(id(self)), message)
                raise

        return send_message

    def _traced(self, original: Function, recorder: Recorder) -> Function:
        """At level `trace`: such an emit is a row as well."""
        books, loose = self.books, self.loose
        sent, unwritable = self.listener.sent, self.listener.unwritable
        latest: Any = _Nobody
        acked, along = self.listener.acked_at, self.listener.ledger.sites.along
        emits, acks = Way(), Way()

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            nonlocal latest
            try:
                book = latest
                if book.owner is not self:
                    book = latest = books[id(self)]
                if "anchors" in message:  # a bolt's emit, and nothing else
                    anchors = message["anchors"]
                    number = book.open[anchors[0]][2] if len(anchors) == 1 else None
                    if number is not None and get_ident() == book.thread:
                        site = along(emits)
                        stamp = book.emissions[(site, message["stream"]) if "stream" in message else site]
                        recorder.put(stamp, number)
                        book.emits += 1
                    else:
                        sent(book, message["command"], message)
                elif message["command"] == "ack":
                    acked(book, message["id"], along(acks))
                else:
                    sent(book, message["command"], message)
            except Exception:  # noqa: BLE001 - as above, or a late emit, or the first row of its kind
                loose(self, message)
            try:
                return original(self, message)
            except UNWRITABLE:
                unwritable(books.get(id(self)), message)
                raise

        return send_message

    def read(self, original: Function) -> Function:
        """A method that returns the next input tuple."""
        return self._noted(original) if self.listener.located else self._taken(original)

    def _taken(self, original: Function) -> Function:
        """At level `counts`: while nothing else is open, a tuple is in hand, and nobody asks when or in which thread."""
        hot = self

        @wraps(original)
        def read_tuple(self: object) -> Any:
            tup = original(self)
            try:
                book = hot.reading
                if book.owner is not self:
                    book = hot.find(self)
                    if book is None:
                        return tup
                    hot.reading = book
                if (book.fresh is not None or tup.stream in SYSTEM) and hot.listener.received_oddly(
                    book, tup
                ):
                    return tup
                book.fresh = tup
                delivery, entry = tup.id, book.entry + 1
                if entry < book.due and not book.owed and not book.laid:
                    book.entry, book.current, book.owed = entry, delivery, True
                elif entry < book.due and not book.owed and delivery not in book.laid:
                    now, laid = hot.clock(), book.laid
                    book.entry, book.current = entry, delivery
                    laid[delivery] = (now, entry, None)
                    if len(laid) > book.high_water:
                        book.rise()
                    if now >= hot.windows.due:
                        hot.listener.ledger.grow(now)
                else:
                    hot.look(book, delivery, entry)
            except Exception as error:  # noqa: BLE001 - ours, and never the author's
                hot.listener.trouble(error)
            return tup

        return read_tuple

    def _noted(self, original: Function) -> Function:
        """At the levels above: every tuple is in a dict, and at `trace` a row."""
        hot, find, listener = self, self.find, self.listener
        clock, windows, grow = self.clock, self.windows, listener.ledger.grow
        recorder, trouble, oddly, write = (
            listener.recorder,
            listener.trouble,
            listener.received_oddly,
            listener.arrived,
        )
        ended = listener.ended

        @wraps(original)
        def read_tuple(self: object) -> Any:
            try:
                tup = original(self)
            except BaseException:
                ended()
                raise
            try:
                book = hot.reading
                if book.owner is not self:
                    book = find(self)
                    if book is None:
                        return tup
                    hot.reading = book
                stream = tup.stream
                if (book.fresh is not None or stream in SYSTEM) and oddly(book, tup):
                    return tup
                book.fresh = tup
                book.thread = get_ident()
                now = clock()
                delivery = tup.id
                if recorder is None:
                    entry, open_ = book.entry + 1, book.open
                    if delivery in open_ or not entry & 1023:
                        book.received(delivery, now)
                    else:
                        book.entry, book.current = entry, delivery
                        open_[delivery] = (now, entry, None)
                        if len(open_) > book.high_water:
                            book.rise()
                else:
                    number = as_json(delivery)
                    book.received(delivery, now, number)
                    stamp = book.arrivals.get(stream)
                    if stamp is None:
                        write(book, delivery, stream)
                    else:
                        recorder.put(stamp, number)
                if now >= windows.due:
                    grow(now)
            except Exception as error:  # noqa: BLE001 - ours, and never the author's
                trouble(error)
            return tup

        return read_tuple

    def find(self, component: object) -> LiveBook | None:
        """The book of a component; None if it is no component, or all is undone."""
        return self.books.get(id(component)) or self._attach(component)

    def look(self, book: Any, delivery: Hashable, entry: int) -> None:
        """At level `counts`: the first tuple in a while, or after one that stays open."""
        now = self.clock()
        book.thread = get_ident()
        book.due = (entry | CALM) + 1
        book.received(delivery, now)
        if now >= self.windows.due:
            self.listener.ledger.grow(now)

    def handler(self, entry: Entry, original: Function, slowly: Function) -> Function:
        """A handler that takes one tuple, which the framework has just handed over, with no mocks in sight."""
        hot = self

        def handle(self: object, tup: Any) -> Any:
            book = hot.reading
            if tup is not book.fresh or book.plain is not self:
                return slowly(self, tup)
            book.handler = entry.method
            book.fresh = None
            try:
                result = original(self, tup)
            except BaseException:
                hot.visits.broken(book, Visit(entry, (tup.id,)))
                raise
            if result is not None:
                hot.visits.end(book, Visit(entry, (tup.id,)), result)
                return result
            book.handler = ""
            return None

        # a call may name its argument as the author does
        names = (*signature(original).parameters, *handle.__code__.co_varnames[2:])
        handle.__code__ = handle.__code__.replace(co_varnames=names)
        return wraps(original)(handle)


def is_usual(handler: Function) -> bool:
    """Whether a handler takes itself and one tuple, and nothing else."""
    params = signature(handler).parameters.values()
    return len(params) == 2 and all(  # noqa: PLR2004 - as it says
        param.kind is param.POSITIONAL_OR_KEYWORD and param.default is param.empty for param in params
    )
