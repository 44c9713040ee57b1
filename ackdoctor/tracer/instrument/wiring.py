"""The wrappers: one for each way in which a framework sends, receives and calls handlers.

Each calls the original with what it was given, and lets its result and its exceptions pass.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from threading import get_ident
from typing import Any

from ackdoctor.model.dialect import Entry, EntryKind, Verb, VerbKind, WireForm
from ackdoctor.model.event import EventKind
from ackdoctor.tracer.instrument.handlers import Visit, Visits
from ackdoctor.tracer.instrument.listener import Listener
from ackdoctor.tracer.instrument.live import LiveBook
from ackdoctor.tracer.instrument.patches import ours
from ackdoctor.tracer.instrument.seats import Seats
from ackdoctor.tracer.ledger.sites import Way

__all__ = ["Wiring"]

_NOTHING: Any = object()
_UNWRITABLE = (TypeError, OverflowError)  # what json, simplejson and msgpack raise
_EMITTED = int(EventKind.EMITTED)
_COMMANDS = {"emit", "ack", "fail"}
_Function = Callable[..., Any]


class _Nobody:
    """No book of a component that lives."""

    owner = fresh = None


class Wiring:
    """Makes wrappers.  `books` is the ledger's own dict, `attach` opens the book of a new component."""

    def __init__(
        self,
        listener: Listener,
        visits: Visits,
        books: dict[int, LiveBook],
        attach: Callable[[object], LiveBook | None],
        seats: Seats,
    ) -> None:
        self._listener = listener
        self._visits = visits
        self._books = books
        self._attach = attach
        self._seats = seats
        self._along = listener.ledger.sites.along
        self._latest: list[Any] = [
            _Nobody
        ]  # the book of the component that spoke last: most often, it speaks again

    def _book(self, component: object) -> LiveBook | None:
        """The book of a component, and the latest one from now on."""
        book = self._books.get(id(component)) or self._attach(component)
        if book is not None:
            self._latest[0] = book
        return book

    def send(self, form: WireForm, original: _Function) -> _Function:
        """A method that takes messages."""
        if form is WireForm.COMMAND:
            return ours(self._command(original))
        if list(signature(original).parameters) != ["self", "message"]:
            return ours(self._loose_message(original))
        return ours(self._message(original) if self._listener.located else self._counted_message(original))

    def _counted_message(self, original: _Function) -> _Function:
        """At level `counts`: an emit is a number, and a completion is looked at."""
        books, latest, sent, unwritable, loose = self._hot()

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            __tracebackhide__ = True
            try:
                command = message["command"]
                book = latest[0]
                if book.owner is not self:
                    book = latest[0] = books[id(self)]
                if command == "emit" and "anchors" in message:
                    book.emits += 1
                elif command == "ack":
                    book.acked(message["id"])
                else:
                    sent(book, command, message)
            except (LookupError, TypeError):  # a new component, or no command of the protocol's
                loose(self, message)
            try:
                return original(self, message)
            except _UNWRITABLE:
                unwritable(books.get(id(self)), message)
                raise

        return send_message

    def _message(self, original: _Function) -> _Function:
        """The hottest wrapper: an emit with one open anchor, from the thread that receives, ends in here."""
        books, latest, sent, unwritable, loose = self._hot()
        acked, along, recorder = self._listener.acked_at, self._along, self._listener.recorder
        emits, acks = Way(), Way()

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            __tracebackhide__ = True
            try:
                command = message["command"]
                book = latest[0]
                if book.owner is not self:
                    book = latest[0] = books[id(self)]
                if command == "emit" and "anchors" in message:
                    anchors = message["anchors"]
                    if len(anchors) == 1 and anchors[0] in book.open and get_ident() == book.thread:
                        if recorder is not None:
                            stamp = book.emissions[message.get("stream")][
                                along(emits)
                            ]  # but for the first one
                            press = recorder.press
                            press(stamp, anchors[0])
                        book.emits += 1
                    else:
                        sent(book, command, message)
                elif command == "ack":
                    acked(book, message["id"], along(acks))
                else:
                    sent(book, command, message)
            except Exception:  # noqa: BLE001 - a new component, no command of the protocol's, the first row of its kind
                loose(self, message)
            try:
                return original(self, message)
            except _UNWRITABLE:
                unwritable(books.get(id(self)), message)
                raise

        return send_message

    def _hot(self) -> tuple[Any, Any, Any, Any, Any]:
        """What the wrappers of messages look at: as their own variables, which Python finds fastest."""
        return self._books, self._latest, self._listener.sent, self._listener.unwritable, self._met

    def _loose_message(self, original: _Function) -> _Function:
        met = self._met

        @wraps(original)
        def send_message(self: object, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            met(self, (*args, *kwargs.values(), None)[0])
            return original(self, *args, **kwargs)

        return send_message

    def _met(self, component: object, message: Any) -> None:
        """A message off the hot path."""
        command = message.get("command") if isinstance(message, dict) else None
        if command not in _COMMANDS:  # a handshake, a log: who it is will be known later
            return
        book = self._books.get(id(component)) or self._attach(component)
        if book is not None:
            self._listener.sent(book, command, message)

    def _command(self, original: _Function) -> _Function:
        books, attach, sent, unwritable = (
            self._books,
            self._attach,
            self._listener.sent,
            self._listener.unwritable,
        )

        @wraps(original)
        def send_command(self: object, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            book = books.get(id(self)) or attach(self)
            if book is None:
                return original(self, *args, **kwargs)
            command, body = (*args, *kwargs.values(), None, None)[:2]
            sent(book, command, body or {})
            try:
                return original(self, *args, **kwargs)
            except _UNWRITABLE:
                unwritable(book, {**(body or {}), "command": command})
                raise

        return send_command

    def send_of_module(self, original: _Function) -> _Function:
        """A function of a module that takes messages: whose they are, the seats tell."""
        taken, sent, unwritable = self._seats.taken, self._listener.sent, self._listener.unwritable

        @wraps(original)
        def send(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            book = taken()
            message = (*args, *kwargs.values(), None)[0]
            if book is None or not isinstance(message, dict):
                return original(*args, **kwargs)
            sent(book, message.get("command"), message)
            try:
                return original(*args, **kwargs)
            except _UNWRITABLE:
                unwritable(book, message)
                raise

        return ours(send)

    def delegate(self, verb: Verb, original: _Function) -> _Function:
        """A verb itself, where there are no messages (heronpy)."""
        books, attach, spoken = self._books, self._attach, self._spoken

        @wraps(original)
        def speak(self: object, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            book = books.get(id(self)) or attach(self)
            if book is not None:
                spoken(book, verb, {**dict(zip(verb.params, args, strict=False)), **kwargs})
            return original(self, *args, **kwargs)

        return ours(speak)

    def _spoken(self, book: LiveBook, verb: Verb, arguments: dict[str, Any]) -> None:
        listener = self._listener
        try:
            if verb.kind is VerbKind.EMIT and verb.message_id is not None:
                listener.spouted(book, arguments.get(verb.message_id), arguments.get("stream"))
            elif verb.kind is VerbKind.EMIT:
                anchors = arguments.get(verb.anchors or "")
                ids = [getattr(anchor, "id", anchor) for anchor in anchors or ()]
                listener.emitted(book, ids, arguments.get("stream"), verb.anchors not in arguments)
            elif verb.kind in (VerbKind.ACK, VerbKind.FAIL):
                subject = arguments.get(verb.subject or "")
                completed = listener.acked if verb.kind is VerbKind.ACK else listener.failed
                completed(book, getattr(subject, "id", None))
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            listener.trouble(error)

    def receive(self, original: _Function) -> _Function:
        """A method that returns the next input tuple."""
        latest, find, received = self._latest, self._book, self._listener.received

        @wraps(original)
        def read(self: object) -> Any:
            __tracebackhide__ = True
            tup = original(self)
            book = latest[0]
            if book.owner is not self:
                book = find(self)
            if book is not None:
                received(book, tup)
            return tup

        return ours(read)

    def receive_of_module(self, original: _Function, caller: Callable[[], object]) -> _Function:
        """A function of a module that returns the next input tuple, to the component's `run`."""
        books, attach, received, take = self._books, self._attach, self._listener.received, self._seats.take

        @wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            tup = original(*args, **kwargs)
            component = caller()
            book = books.get(id(component)) or attach(component)
            if book is not None:
                take(book)
                received(book, tup)
            return tup

        return ours(read)

    def handler(self, entry: Entry, original: _Function) -> _Function:
        """A method that the framework calls, of the author's or of the framework's own."""
        if entry.kind is not EntryKind.DATA or entry.subject != 0:
            return ours(self._any(entry, original))
        return ours((self._usual if _is_usual(original) else self._plain)(entry, original))

    def _any(self, entry: Entry, original: _Function) -> _Function:
        books, attach, visits, take = self._books, self._attach, self._visits, self._seats.take

        @wraps(original)
        def handle(self: object, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            book = books.get(id(self)) or attach(self)
            if book is None:
                return original(self, *args, **kwargs)
            take(book)
            visit = visits.begin(book, entry, args, kwargs)
            if visit is None:
                return original(self, *args, **kwargs)
            try:
                result = original(self, *args, **kwargs)
            except BaseException:
                visits.broken(book, visit)
                raise
            visits.end(book, visit, result)
            return result

        return handle

    def _plain(self, entry: Entry, original: _Function) -> _Function:
        """The hot one: one tuple, which the framework has just handed over, and no mocks in sight."""
        books, visits, slowly, name = self._books, self._visits, self._any(entry, original), entry.method

        @wraps(original)
        def handle(self: object, tup: Any = _NOTHING, /, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            book = books.get(id(self))
            if args or kwargs or book is None or not book.plain or tup is not book.fresh:
                return _call(slowly, self, tup, args, kwargs)
            book.handler = name
            book.fresh = None
            try:
                result = original(self, tup)
            except BaseException:
                visits.broken(book, Visit(entry, (tup.id,)))
                raise
            if result is None:
                book.handler = ""
            else:
                visits.end(book, Visit(entry, (tup.id,)), result)
            return result

        return handle

    def _usual(self, entry: Entry, original: _Function) -> _Function:
        """`_plain`, for a handler whose parameters have the usual names: no call needs to be packed again."""
        latest, visits, slowly, name = self._latest, self._visits, self._any(entry, original), entry.method

        @wraps(original)
        def handle(self: object, tup: Any) -> Any:
            __tracebackhide__ = True
            book = latest[0]
            if tup is not book.fresh or book.owner is not self or not book.plain:
                return slowly(self, tup)
            book.handler = name
            book.fresh = None
            try:
                result = original(self, tup)
            except BaseException:
                visits.broken(book, Visit(entry, (tup.id,)))
                raise
            if result is None:
                book.handler = ""
            else:
                visits.end(book, Visit(entry, (tup.id,)), result)
            return result

        return handle

    def drop(self, original: _Function, sender: Callable[[], tuple[object, object]]) -> _Function:
        """What a serializer calls with a message that it drops."""
        books, unwritable = self._books, self._listener.unwritable

        @wraps(original)
        def dropped(*args: Any, **kwargs: Any) -> Any:
            component, message = sender()
            unwritable(books.get(id(component)), message)
            return original(*args, **kwargs)

        return ours(dropped)


def _is_usual(handler: _Function) -> bool:
    params = signature(handler).parameters.values()
    return [param.name for param in params] == ["self", "tup"] and all(
        param.kind is param.POSITIONAL_OR_KEYWORD and param.default is param.empty for param in params
    )


def _call(
    original: _Function, self: object, message: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call that is not the framework's own way of calling: passed on as it is."""
    return (
        original(self, *args, **kwargs) if message is _NOTHING else original(self, message, *args, **kwargs)
    )
