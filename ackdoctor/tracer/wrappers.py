"""The wrappers: one for each way in which a framework sends, receives and calls handlers.

A wrapper calls the original with the same arguments, and passes its result and its exceptions on.

Usually the framework has just read a handler's tuple. If a test calls the handler itself, the argument counts as
received, and the tracer does the framework's part when the handler returns: `auto_ack` acks it, `auto_fail` fails it
after an exception.
"""

import sys
import threading
from collections.abc import Callable, Collection, Hashable
from functools import wraps
from inspect import signature, unwrap
from threading import get_ident
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any, NamedTuple

from ackdoctor.model.dialect import Entry, EntryKind, Misuse, Moment, TickDuty, Verb, VerbKind, WireForm
from ackdoctor.model.trace import AccessKind, CallSite
from ackdoctor.tracer.components import played_by, switched_on
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.live import HEARTBEAT, TICKS, LiveRecord, exception, id_of
from ackdoctor.tracer.mocks import Standing, ours
from ackdoctor.tracer.recorder import Recorder, ignoring_interrupts
from ackdoctor.tracer.sites import is_mock_frame

__tracebackhide__ = True  # pytest leaves out the frames of this module

# the handler calls of a framework that look for a first mock; a test's own calls always do
_LOOKS = 64
_NEVER_RUN = (GeneratorType, CoroutineType, AsyncGeneratorType)
_INPUTS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK}
_COMMANDS = {"emit", "ack", "fail"}
_UNWRITABLE = (TypeError, OverflowError)  # what json, simplejson and msgpack raise
_OWN = f"{__name__.rpartition('.')[0]}."
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller
Function = Callable[..., Any]


class Wrappers:
    """Makes wrappers. `records` is the ledger's own dict; `attach` adds the record of a new component.

    The calls of a module's ack() and emit() belong to the component that their thread runs, or to the last one.
    """

    def __init__(
        self,
        ledger: Ledger,
        records: dict[int, LiveRecord],
        attach: Callable[[object], LiveRecord | None],
        recorder: Recorder | None,
    ) -> None:
        self._ledger = ledger
        self._records = records
        self._attach = attach
        self._recorder = recorder
        self.forget_running()

    def forget_running(self) -> None:
        """Forget which components run."""
        self._here = threading.local()
        self._last: LiveRecord | None = None

    def _begin_to_run(self, record: LiveRecord) -> None:
        self._here.record = self._last = record

    # ---- output ----

    def send(self, form: WireForm, original: Function) -> Function:
        """A method that takes messages."""
        if form is WireForm.COMMAND:
            return ours(self._send_any(original, _command_message))
        if list(signature(original).parameters) == ["self", "message"]:
            return ours(self._send_message(original))
        return ours(self._send_any(original, _first))

    def _send_message(self, original: Function) -> Function:
        """The usual form, which runs for every emit."""
        records, new = self._records, self._new

        @wraps(original)
        def send_message(self: object, message: Any) -> Any:
            record = records.get(id(self)) or new(self, message)
            if record is not None:
                record.sent(message)
            try:
                return original(self, message)
            except _UNWRITABLE:
                if record is not None:
                    record.unwritable(message)
                raise

        return send_message

    def _send_any(self, original: Function, message_of: Callable[..., Any]) -> Function:
        records, new = self._records, self._new

        @wraps(original)
        def send_command(self: object, *args: Any, **kwargs: Any) -> Any:
            message = message_of(*args, *kwargs.values())
            record = records.get(id(self)) or new(self, message)
            if record is None:
                return original(self, *args, **kwargs)
            record.sent(message)
            try:
                return original(self, *args, **kwargs)
            except _UNWRITABLE:
                record.unwritable(message)
                raise

        return send_command

    def _new(self, component: object, message: Any) -> LiveRecord | None:
        """The record of a component that sends its first message; a handshake and a log come before it is ready."""
        command = message.get("command") if isinstance(message, dict) else None
        return self._attach(component) if command in _COMMANDS else None

    def send_of_module(self, original: Function) -> Function:
        """A function of a module that takes messages."""

        @wraps(original)
        def send(*args: Any, **kwargs: Any) -> Any:
            record = getattr(self._here, "record", None) or self._last
            message = _first(*args, *kwargs.values())
            if record is None or not isinstance(message, dict):
                return original(*args, **kwargs)
            record.sent(message)
            try:
                return original(*args, **kwargs)
            except _UNWRITABLE:
                record.unwritable(message)
                raise

        return ours(send)

    def verb(self, verb: Verb, original: Function) -> Function:
        """A verb itself, in a framework without messages (heronpy)."""
        records, attach = self._records, self._attach

        @wraps(original)
        def call(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self)) or attach(self)
            if record is not None:
                record.called(verb, {**dict(zip(verb.params, args, strict=False)), **kwargs})
            return original(self, *args, **kwargs)

        return ours(call)

    def drop(self, original: Function) -> Function:
        """What a serializer calls with a message that it drops."""

        @wraps(original)
        def dropped(*args: Any, **kwargs: Any) -> Any:
            component, message = _sending()
            record = self._records.get(id(component))
            if record is not None:
                record.unwritable(message)
            return original(*args, **kwargs)

        return ours(dropped)

    # ---- input ----

    def receive(self, original: Function) -> Function:
        """A method that returns the next input tuple."""
        records, attach, ended = self._records, self._attach, self._ended

        @wraps(original)
        def read_tuple(self: object) -> Any:
            try:
                tup = original(self)
            except BaseException:
                ended()
                raise
            record = records.get(id(self)) or attach(self)
            if record is not None:
                record.read(tup)
            return tup

        return ours(read_tuple)

    def _ended(self) -> None:
        """The input has ended. pystorm leaves by `os._exit` if a thread of its own still runs: finish the trace now."""
        try:
            if self._recorder is not None and threading.active_count() > 1:
                with ignoring_interrupts():
                    for record in tuple(self._records.values()):
                        record.report_waiting()
                    self._recorder.roll()
        except Exception as error:  # noqa: BLE001 - never into the component
            self._ledger.note_internal_error(error)

    def receive_of_module(self, original: Function) -> Function:
        """A function of a module that returns the next input tuple to the component's `run`."""

        @wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            tup = original(*args, **kwargs)
            component = _getframe(1).f_locals.get("self")
            record = self._records.get(id(component)) or self._attach(component)
            if record is not None:
                self._begin_to_run(record)
                record.read(tup)
            return tup

        return ours(read)

    # ---- handlers ----

    def method(self, entry: Entry, raw: Any) -> Any:
        """What a class has under a handler's name, of the author's or of the framework's own: a function, or any other descriptor."""
        if isinstance(raw, FunctionType):
            return ours(self._handler(entry, raw))

        def bound(self: object, *args: Any, **kwargs: Any) -> Any:
            return raw.__get__(self, type(self))(*args, **kwargs)

        return Standing(raw, ours(self._handler(entry, bound)))

    def _handler(self, entry: Entry, original: Function) -> Function:
        """Usually the framework has just read the tuple, and the test has no mocks: then there is nothing to look at."""
        records, attach, begin_to_run = self._records, self._attach, self._begin_to_run
        is_data = entry.kind is EntryKind.DATA and entry.subject == 0
        name = entry.method

        @wraps(original)
        def handle(self: object, *args: Any, **kwargs: Any) -> Any:
            record = records.get(id(self)) or attach(self)
            if record is None:
                return original(self, *args, **kwargs)
            usual = record.is_plain and is_data and len(args) == 1 and args[0] is record.fresh and not kwargs
            call = None
            if usual:
                record.handler, record.fresh = name, None
            else:
                begin_to_run(record)
                call = _begin(record, entry, args, kwargs)
                if call is None:
                    return original(self, *args, **kwargs)
            try:
                result = original(self, *args, **kwargs)
            except BaseException:
                _break(record, call or HandlerCall(entry, (args[0].id,)))
                raise
            if usual and result is None:
                record.handler = ""
            else:
                _end(record, call or HandlerCall(entry, (args[0].id,)), result)
            return result

        return handle


def _first(*arguments: Any) -> Any:
    """The message: the first argument."""
    return arguments[0] if arguments else None


def _command_message(command: Any = None, body: Any = None, *_: Any) -> dict[str, Any]:
    """The message of a command and its body."""
    return {**(body or {}), "command": command}


def _sending() -> tuple[object, object]:
    """The component and the message that a serializer is dropping, from the sender's frame."""
    frame: FrameType | None = _getframe(2)
    while frame is not None:
        if frame.f_code.co_name in ("send_message", "send_command") and "record" in frame.f_locals:
            return frame.f_locals["self"], frame.f_locals.get("message")
        frame = frame.f_back
    return None, None


# ---- handler calls ----


class HandlerCall(NamedTuple):
    """One call of a handler: its deliveries, and those for which the tracer must do the framework's part."""

    entry: Entry
    deliveries: tuple[Hashable, ...] = ()
    direct: tuple[Hashable, ...] = ()
    outer: str = ""  # the handler that called this one: process_tick, for processWindow


def _begin(
    record: LiveRecord, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> HandlerCall | None:
    """Before a handler runs; None if a handler calls its own super, or after an error of ours."""
    try:
        outer = record.handler
        if outer and (outer == entry.method or entry.kind is not EntryKind.BATCH):
            return None
        called = record.fresh is None and entry.kind is EntryKind.DATA  # by a test
        if called or record.entry < _LOOKS or record.mocked:
            record.look_for_mocks()
        else:
            record.is_plain = True
        record.read_mocks()
        record.handler = entry.method
        if entry.kind is EntryKind.BATCH and entry.off_thread:
            record.batcher = get_ident()
        elif entry.kind is not EntryKind.BATCH:
            record.thread = get_ident()
        tups = _tuples(entry, args, kwargs) if entry.kind in _INPUTS else ()
        deliveries = tuple(_delivery(tup, record) for tup in tups)
        fresh, record.fresh = record.fresh, None
        if len(tups) == 1 and fresh is not None and deliveries[0] == fresh.id:
            return HandlerCall(entry, deliveries, (), outer)
        driven = _is_driven(record, _getframe(2))
        for tup, delivery in zip(tups, deliveries, strict=True):  # the framework has not read them
            stream = getattr(tup, "stream", None)
            if stream == HEARTBEAT:
                continue
            if stream == TICKS or entry.kind is EntryKind.TICK:
                record.tick_read(delivery, stream)
            elif entry.kind is EntryKind.DATA or delivery not in record.open:
                record.handed(delivery, stream)
        return HandlerCall(entry, deliveries, () if driven else deliveries, outer)
    except Exception as error:  # noqa: BLE001 - ours, and never the author's
        record.ledger.note_internal_error(error)
        return None


def _end(record: LiveRecord, call: HandlerCall, result: object) -> None:
    """After a handler has returned."""
    try:
        record.read_mocks()
        if isinstance(result, _NEVER_RUN):
            _never_ran(record, call)
        if call.direct and _closes(record, call.entry):
            _do_frameworks_part(record, call, VerbKind.ACK)
        record.note_handed_tuples()
        record.handler = call.outer
    except Exception as error:  # noqa: BLE001 - as above
        record.ledger.note_internal_error(error)


def _break(record: LiveRecord, call: HandlerCall) -> None:
    """After a handler has raised: the framework fails the tuple, or the component dies.

    No framework fails a tuple for SystemExit or any other BaseException that is no Exception.
    """
    try:
        record.read_mocks()
        raised = exception()
        auto_fail = switched_on(record.component, record.role.discipline.auto_fail)
        fails = auto_fail and isinstance(raised, Exception)
        if call.direct and fails:
            _do_frameworks_part(record, call, VerbKind.FAIL)
        if not fails and any(delivery in record.open for delivery in call.deliveries):
            record.write_death()
        for delivery in call.deliveries:
            record.excuse(delivery)
        record.raised = record.entry
        what = f"{type(raised).__name__} left {record.traced.name}.{call.entry.method}"
        tick = call.entry.kind is EntryKind.TICK or all(one in record.ticks for one in call.deliveries)
        if not tick:  # a tick belongs to no tree: nothing is failed, nothing times out
            tup = "the batch" if call.entry.kind is EntryKind.BATCH else "the tuple"
            what += (
                f": {record.dialect.title} fails {tup}, and ends the process unless it is set to go on"
                if fails
                else f": {tup} stays open until it times out"
            )
        record.ledger.note(what)
        record.handler = call.outer
    except Exception as error:  # noqa: BLE001 - as above
        record.ledger.note_internal_error(error)


def _do_frameworks_part(record: LiveRecord, call: HandlerCall, kind: VerbKind) -> None:
    """Ack or fail the tuples of a direct call, at the function by which the framework would have done it."""
    wire = record.dialect.wire
    names = () if wire is None else wire.completes if kind is VerbKind.ACK else wire.fails
    cls: type = type(record.component)
    place = played_by(cls, names)
    site = record.sites.named(place) if place else 0
    for delivery in call.direct:
        record.play(kind, delivery, site)


def _is_driven(record: LiveRecord, frame: FrameType) -> bool:
    """Whether the framework has called the handler, and will complete the tuple itself.

    The caller is the first frame outside of the tracer and of a test's mocks.
    """
    while frame.f_back is not None and (
        frame.f_globals.get("__name__", "").startswith(_OWN) or is_mock_frame(frame)
    ):
        frame = frame.f_back
    wire = record.dialect.wire
    on_bench = wire is not None and frame.f_globals.get("__name__") in wire.benches
    return not on_bench and record.sites.is_foreign(frame)


def _never_ran(record: LiveRecord, call: HandlerCall) -> None:
    function: Any = getattr(type(record.component), call.entry.method, None)
    code = getattr(unwrap(function), "__code__", None)
    site = 0
    if code is not None:
        site = record.sites.named(CallSite(code.co_filename, code.co_firstlineno, function.__qualname__))
    for delivery in call.deliveries or (None,):
        record.misused(Misuse.NEVER_RUNS, AccessKind.RETURNED, delivery, site)
        if delivery is not None:
            record.excuse(delivery)


def _closes(record: LiveRecord, entry: Entry) -> bool:
    """Whether the framework would ack the tuple now that the handler has returned."""
    discipline = record.role.discipline
    if discipline.completion is not Moment.RETURN or not switched_on(record.component, discipline.auto_ack):
        return False
    if entry.kind is EntryKind.TICK:
        return discipline.tick is TickDuty.AUTO
    batches = any(other.kind is EntryKind.BATCH for other in record.role.entries)
    return entry.kind is EntryKind.BATCH or not batches


def _delivery(tup: Any, record: LiveRecord) -> Hashable:
    """The id of an input tuple; a stand-in may have none."""
    known: Hashable = getattr(tup, "id", tup)
    return known if known.__class__ is str else id_of(tup, record)


def _tuples(entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The input tuples among a handler's arguments, or a test's stand-ins."""
    if entry.subject is None:
        return ()
    argument = (
        args[entry.subject] if len(args) > entry.subject else list(kwargs.values())[entry.subject - len(args)]
    )
    batch = argument if isinstance(argument, Collection) else ()  # a generator is the handler's to read
    tups = batch if entry.kind is EntryKind.BATCH else (argument,)
    return tuple(tup for tup in tups if tup is not None)
