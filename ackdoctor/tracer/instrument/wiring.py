"""The wrappers: one for each way in which a framework sends, receives and calls handlers.

Each calls the original with what it was given, and lets its result and its exceptions pass.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any

from ackdoctor.model.dialect import Entry, EntryKind, Verb, VerbKind, WireForm
from ackdoctor.tracer.instrument.handlers import Visits
from ackdoctor.tracer.instrument.hot import UNWRITABLE, Function, Hot, is_usual
from ackdoctor.tracer.instrument.listener import Listener
from ackdoctor.tracer.instrument.live import LiveBook, id_of
from ackdoctor.tracer.instrument.patches import Standing, ours
from ackdoctor.tracer.instrument.seats import Seats

__all__ = ["Wiring"]

_COMMANDS = {"emit", "ack", "fail"}


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
        self._hot = Hot(listener, visits, books, attach, self._met)

    def send(self, form: WireForm, original: Function) -> Function:
        """A method that takes messages."""
        if form is WireForm.COMMAND:
            return ours(self._command(original))
        if list(signature(original).parameters) != ["self", "message"]:
            return ours(self._loose_message(original))
        return ours(self._hot.send(original))

    def _loose_message(self, original: Function) -> Function:
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

    def _command(self, original: Function) -> Function:
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
            except UNWRITABLE:
                unwritable(book, {**(body or {}), "command": command})
                raise

        return send_command

    def send_of_module(self, original: Function) -> Function:
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
            except UNWRITABLE:
                unwritable(book, message)
                raise

        return ours(send)

    def delegate(self, verb: Verb, original: Function) -> Function:
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
                completed(book, id_of(subject, book))
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            listener.trouble(error)

    def receive(self, original: Function) -> Function:
        """A method that returns the next input tuple."""
        return ours(self._hot.read(original))

    def receive_of_module(self, original: Function, caller: Callable[[], object]) -> Function:
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

    def written(self, entry: Entry, raw: Any) -> Any:
        """What stands in a class under a handler's name, be it a function or anything else that is bound to an object."""
        if isinstance(raw, FunctionType):
            return self.handler(entry, raw)

        def bound(self: object, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return raw.__get__(self, type(self))(*args, **kwargs)

        return Standing(raw, self.handler(entry, bound))

    def handler(self, entry: Entry, original: Function) -> Function:
        """A method that the framework calls, of the author's or of the framework's own."""
        slowly = self._any(entry, original)
        if entry.kind is EntryKind.DATA and entry.subject == 0 and is_usual(original):
            return ours(self._hot.handler(entry, original, slowly))
        return ours(slowly)

    def _any(self, entry: Entry, original: Function) -> Function:
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

    def drop(self, original: Function, sender: Callable[[], tuple[object, object]]) -> Function:
        """What a serializer calls with a message that it drops."""
        books, unwritable = self._books, self._listener.unwritable

        @wraps(original)
        def dropped(*args: Any, **kwargs: Any) -> Any:
            component, message = sender()
            unwritable(books.get(id(component)), message)
            return original(*args, **kwargs)

        return ours(dropped)
