"""The wrappers: one for each way in which a framework sends, receives and calls handlers.

A wrapper calls the original with the same arguments, and passes its result and its exceptions on.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from threading import get_ident, local
from types import FunctionType
from typing import Any

from ackdoctor.model.dialect import Entry, EntryKind, Verb, VerbKind, WireForm
from ackdoctor.tracer.handlers import HandlerCall, HandlerCalls
from ackdoctor.tracer.listener import Listener
from ackdoctor.tracer.live import LiveRecord, id_of
from ackdoctor.tracer.patches import Standing, ours
from ackdoctor.tracer.sites import CallPath

__all__ = ["Attribution", "Wrappers"]


__tracebackhide__ = True  # pytest leaves out the frames of this module

_COMMANDS = {"emit", "ack", "fail"}
_UNWRITABLE = (TypeError, OverflowError)  # what json, simplejson and msgpack raise
Function = Callable[..., Any]


class Attribution:
    """Attributes calls of a module's ack() and emit() to a component: the one that this thread runs, or the last one."""

    def __init__(self) -> None:
        self._here = _Running()
        self._last: LiveRecord | None = None

    def begin(self, record: LiveRecord) -> None:
        """A component begins to run in this thread."""
        self._here.record = self._last = record

    def current(self) -> LiveRecord | None:
        """The component whose code calls."""
        return self._here.record or self._last

    def clear(self) -> None:
        """Forget all components."""
        self._here, self._last = _Running(), None


class _Running(local):
    record: LiveRecord | None = None


class Wrappers:
    """Makes wrappers. `records` is the ledger's own dict; `attach` adds the record of a new component."""

    def __init__(
        self,
        listener: Listener,
        calls: HandlerCalls,
        records: dict[int, LiveRecord],
        attach: Callable[[object], LiveRecord | None],
        attribution: Attribution,
    ) -> None:
        self._listener = listener
        self._visits = calls
        self._records = records
        self._attach = attach
        self._attribution = attribution

    # ---- output ----

    def send(self, form: WireForm, original: Function) -> Function:
        """A method that takes messages."""
        if form is WireForm.COMMAND:
            return ours(self._send_command(original))
        if list(signature(original).parameters) == ["self", "message"]:
            return ours(self._send_message(original))
        return ours(self._send_any(original))

    def _send_message(self, original: Function) -> Function:
        """The usual emit, with one open anchor and from the thread that receives, is handled right here."""
        records, new, listener = self._records, self._new, self._listener
        sent, unwritable, rows, along = listener.sent, listener.unwritable, listener.rows, listener.along
        path = CallPath()

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            record = records.get(id(self)) or new(self, message)
            if record is not None:
                opened = None
                try:
                    if "anchors" in message:
                        (anchor,) = message["anchors"]
                        opened = record.open.get(anchor)
                except (TypeError, ValueError):  # not a message, or not one anchor
                    pass
                if opened is None or get_ident() != record.thread:
                    sent(record, message)
                else:
                    record.emits += 1
                    if rows is not None:
                        rows.emitted(record, along(path), message.get("stream"), opened[2])
            try:
                return original(self, message)
            except _UNWRITABLE:
                unwritable(records.get(id(self)), message)
                raise

        return send_message

    def _send_any(self, original: Function) -> Function:
        records, new, sent = self._records, self._new, self._listener.sent

        @wraps(original)
        def send_message(self: object, *args: Any, **kwargs: Any) -> Any:
            message = (*args, *kwargs.values(), None)[0]
            record = records.get(id(self)) or new(self, message)
            if record is not None:
                sent(record, message)
            return original(self, *args, **kwargs)

        return send_message

    def _new(self, component: object, message: Any) -> LiveRecord | None:
        """The record of a component that sends its first message; a handshake and a log come before it is ready."""
        command = message.get("command") if isinstance(message, dict) else None
        return self._attach(component) if command in _COMMANDS else None

    def _send_command(self, original: Function) -> Function:
        records, attach, sent, unwritable = (
            self._records,
            self._attach,
            self._listener.sent,
            self._listener.unwritable,
        )

        @wraps(original)
        def send_command(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self)) or attach(self)
            if record is None:
                return original(self, *args, **kwargs)
            command, body = (*args, *kwargs.values(), None, None)[:2]
            message = {**(body or {}), "command": command}
            sent(record, message)
            try:
                return original(self, *args, **kwargs)
            except _UNWRITABLE:
                unwritable(record, message)
                raise

        return send_command

    def send_of_module(self, original: Function) -> Function:
        """A function of a module that takes messages."""
        current, sent, unwritable = (
            self._attribution.current,
            self._listener.sent,
            self._listener.unwritable,
        )

        @wraps(original)
        def send(*args: Any, **kwargs: Any) -> Any:
            record = current()
            message = (*args, *kwargs.values(), None)[0]
            if record is None or not isinstance(message, dict):
                return original(*args, **kwargs)
            sent(record, message)
            try:
                return original(*args, **kwargs)
            except _UNWRITABLE:
                unwritable(record, message)
                raise

        return ours(send)

    def verb(self, verb: Verb, original: Function) -> Function:
        """A verb itself, in a framework without messages (heronpy)."""
        records, attach, called = self._records, self._attach, self._called

        @wraps(original)
        def call(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self)) or attach(self)
            if record is not None:
                called(record, verb, {**dict(zip(verb.params, args, strict=False)), **kwargs})
            return original(self, *args, **kwargs)

        return ours(call)

    def _called(self, record: LiveRecord, verb: Verb, arguments: dict[str, Any]) -> None:
        listener = self._listener
        try:
            if verb.kind is VerbKind.EMIT and verb.message_id is not None:
                listener.spouted(record, arguments.get(verb.message_id), arguments.get("stream"))
            elif verb.kind is VerbKind.EMIT:
                anchors = arguments.get(verb.anchors or "")
                ids = [getattr(anchor, "id", anchor) for anchor in anchors or ()]
                listener.emitted(record, ids, arguments.get("stream"), verb.anchors not in arguments)
            elif verb.kind in (VerbKind.ACK, VerbKind.FAIL):
                subject = arguments.get(verb.subject or "")
                completed = listener.acked if verb.kind is VerbKind.ACK else listener.failed
                completed(record, id_of(subject, record))
        except Exception as error:  # noqa: BLE001 - never into the component
            listener.trouble(error)

    def drop(self, original: Function, sender: Callable[[], tuple[object, object]]) -> Function:
        """What a serializer calls with a message that it drops."""
        records, unwritable = self._records, self._listener.unwritable

        @wraps(original)
        def dropped(*args: Any, **kwargs: Any) -> Any:
            component, message = sender()
            unwritable(records.get(id(component)), message)
            return original(*args, **kwargs)

        return ours(dropped)

    # ---- input ----

    def receive(self, original: Function) -> Function:
        """A method that returns the next input tuple."""
        records, attach, received, ended = (
            self._records,
            self._attach,
            self._listener.received,
            self._listener.ended,
        )

        @wraps(original)
        def read_tuple(self: object) -> Any:
            try:
                tup = original(self)
            except BaseException:
                ended()
                raise
            record = records.get(id(self)) or attach(self)
            if record is not None:
                received(record, tup)
            return tup

        return ours(read_tuple)

    def receive_of_module(self, original: Function, caller: Callable[[], object]) -> Function:
        """A function of a module that returns the next input tuple to the component's `run`."""
        records, attach, received, begin = (
            self._records,
            self._attach,
            self._listener.received,
            self._attribution.begin,
        )

        @wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            tup = original(*args, **kwargs)
            component = caller()
            record = records.get(id(component)) or attach(component)
            if record is not None:
                begin(record)
                received(record, tup)
            return tup

        return ours(read)

    # ---- handlers ----

    def method(self, entry: Entry, raw: Any) -> Any:
        """What a class has under a handler's name: a function, or any other descriptor."""
        if isinstance(raw, FunctionType):
            return self.handler(entry, raw)

        def bound(self: object, *args: Any, **kwargs: Any) -> Any:
            return raw.__get__(self, type(self))(*args, **kwargs)

        return Standing(raw, self.handler(entry, bound))

    def handler(self, entry: Entry, original: Function) -> Function:
        """A method that the framework calls, of the author's or of the framework's own."""
        if entry.kind is EntryKind.DATA and entry.subject == 0:
            return ours(self._data_handler(entry, original))
        return ours(self._any_handler(entry, original))

    def _data_handler(self, entry: Entry, original: Function) -> Function:
        """A handler of one tuple: usually the framework has just read it, and the test has no mocks."""
        records, calls, slowly, name = (
            self._records,
            self._visits,
            self._any_handler(entry, original),
            entry.method,
        )

        @wraps(original)
        def handle(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self))
            if (
                record is None
                or not record.is_plain
                or len(args) != 1
                or args[0] is not record.fresh
                or kwargs
            ):
                return slowly(self, *args, **kwargs)
            record.handler = name
            record.fresh = None
            try:
                result = original(self, *args)
            except BaseException:
                calls.broken(record, HandlerCall(entry, (args[0].id,)))
                raise
            if result is not None:
                calls.end(record, HandlerCall(entry, (args[0].id,)), result)
            else:
                record.handler = ""
            return result

        return handle

    def _any_handler(self, entry: Entry, original: Function) -> Function:
        records, attach, calls, begin = self._records, self._attach, self._visits, self._attribution.begin

        @wraps(original)
        def handle(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self)) or attach(self)
            if record is None:
                return original(self, *args, **kwargs)
            begin(record)
            call = calls.begin(record, entry, args, kwargs)
            if call is None:
                return original(self, *args, **kwargs)
            try:
                result = original(self, *args, **kwargs)
            except BaseException:
                calls.broken(record, call)
                raise
            calls.end(record, call, result)
            return result

        return handle
