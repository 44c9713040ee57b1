"""Handler calls: which handler runs on which tuple, what it returns, and what a test calls directly.

Usually the framework has just read the handler's tuple. If a test calls the handler itself,
the argument counts as received, and the tracer does the framework's part when the handler returns: `auto_ack` acks it,
`auto_fail` fails it after an exception.
"""

import sys
from collections.abc import Collection, Hashable
from inspect import unwrap
from threading import get_ident
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, NamedTuple

from ackdoctor.model.dialect import Entry, EntryKind, Misuse, Moment, Switch, TickDuty, VerbKind
from ackdoctor.model.trace import AccessKind, CallSite
from ackdoctor.tracer.components import played_by, switched_on
from ackdoctor.tracer.listener import HEARTBEAT, TICKS, Listener, exception
from ackdoctor.tracer.live import LiveRecord, id_of
from ackdoctor.tracer.mocks import WrittenMethods, look
from ackdoctor.tracer.sites import is_mock_frame

__all__ = ["HandlerCall", "HandlerCalls"]


# the handler calls of a framework that look for a first mock; a test's own calls always do
_LOOKS = 64
_NEVER_RUN = (GeneratorType, CoroutineType, AsyncGeneratorType)
_INPUTS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK}
_OWN = f"{__name__.rpartition('.')[0]}."
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class HandlerCall(NamedTuple):
    """One call of a handler: its deliveries, and those for which the tracer must do the framework's part."""

    entry: Entry
    deliveries: tuple[Hashable, ...] = ()
    direct: tuple[Hashable, ...] = ()
    outer: str = ""  # the handler that called this one: process_tick, for processWindow


class HandlerCalls:
    """Begins and ends the handler calls of every component."""

    def __init__(self, listener: Listener, written: WrittenMethods) -> None:
        self._listener = listener
        self._ledger = listener.ledger
        self._written = written

    def begin(
        self, record: LiveRecord, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HandlerCall | None:
        """Before a handler runs; None if a handler calls its own super, or after an error of ours."""
        try:
            outer = record.handler
            if outer and (outer == entry.method or entry.kind is not EntryKind.BATCH):
                return None
            self._prepare(record, entry)
            tups = _tuples(entry, args, kwargs) if entry.kind in _INPUTS else ()
            deliveries = tuple(_delivery(tup, record) for tup in tups)
            fresh, record.fresh = record.fresh, None
            if len(tups) == 1 and fresh is not None and deliveries[0] == fresh.id:
                return HandlerCall(entry, deliveries, (), outer)
            driven = self._is_driven(record, _caller(_getframe(2)))
            self._admit(record, entry, tups, deliveries)
            return HandlerCall(entry, deliveries, () if driven else deliveries, outer)
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            self._listener.trouble(error)
            return None

    def end(self, record: LiveRecord, call: HandlerCall, result: object) -> None:
        """After a handler has returned."""
        try:
            record.read_mocks()
            if isinstance(result, _NEVER_RUN):
                self._never_ran(record, call)
            if call.direct and self._closes(record, call.entry):
                site = self._played(record, record.dialect.wire.completes if record.dialect.wire else ())
                for delivery in call.direct:
                    self._listener.played_ack(record, delivery, site)
            record.hand_on()
            record.handler = call.outer
        except Exception as error:  # noqa: BLE001 - as above
            self._listener.trouble(error)

    def broken(self, record: LiveRecord, call: HandlerCall) -> None:
        """After a handler has raised: the framework fails the tuple, or the component dies.

        No framework fails a tuple for SystemExit or any other BaseException that is no Exception.
        """
        try:
            record.read_mocks()
            fails = self._on(record, record.role.discipline.auto_fail) and isinstance(exception(), Exception)
            if call.direct and fails:
                site = self._played(record, record.dialect.wire.fails if record.dialect.wire else ())
                for delivery in call.direct:
                    self._listener.played_fail(record, delivery, site)
            owes = not fails and any(delivery in record.open for delivery in call.deliveries)
            if owes:
                self._listener.broke(record)
            for delivery in call.deliveries:
                record.excuse(delivery)
            record.raised = record.entry
            self._ledger.note(_raised(record, call, fails=fails))
            record.handler = call.outer
        except Exception as error:  # noqa: BLE001 - as above
            self._listener.trouble(error)

    # ---- what a call finds ----

    def _prepare(self, record: LiveRecord, entry: Entry) -> None:
        called = record.fresh is None and entry.kind is EntryKind.DATA  # by a test
        if called or record.entry < _LOOKS or record.mocked:
            self._look(record)
        else:
            record.is_plain = True
        record.read_mocks()
        record.handler = entry.method
        if entry.kind is EntryKind.BATCH and entry.off_thread:
            record.batcher = get_ident()
        elif entry.kind is not EntryKind.BATCH:
            record.thread = get_ident()

    def _admit(
        self, record: LiveRecord, entry: Entry, tups: tuple[Any, ...], deliveries: tuple[Hashable, ...]
    ) -> None:
        """Tuples that the framework's receive function has not read."""
        for tup, delivery in zip(tups, deliveries, strict=True):
            stream = getattr(tup, "stream", None)
            if stream == HEARTBEAT:
                continue
            if stream == TICKS or entry.kind is EntryKind.TICK:
                self._listener.ticked(record, delivery, stream)
            elif entry.kind is EntryKind.DATA or delivery not in record.open:
                self._listener.handed(record, delivery, stream)

    def _is_driven(self, record: LiveRecord, caller: FrameType) -> bool:
        """Whether the framework has called the handler, and will complete the tuple itself."""
        wire = record.dialect.wire
        on_bench = wire is not None and caller.f_globals.get("__name__") in wire.benches
        return not on_bench and self._ledger.sites.is_foreign(caller)

    def _never_ran(self, record: LiveRecord, call: HandlerCall) -> None:
        function: Any = getattr(type(record.component), call.entry.method, None)
        code = getattr(unwrap(function), "__code__", None)
        site = (
            self._ledger.sites.named(CallSite(code.co_filename, code.co_firstlineno, function.__qualname__))
            if code
            else 0
        )
        for delivery in call.deliveries or (None,):
            record.offended(Misuse.NEVER_RUNS, AccessKind.RETURNED, delivery, site)
            if delivery is not None:
                record.excuse(delivery)

    def _closes(self, record: LiveRecord, entry: Entry) -> bool:
        """Whether the framework would ack the tuple now that the handler has returned."""
        discipline = record.role.discipline
        if discipline.completion is not Moment.RETURN or not self._on(record, discipline.auto_ack):
            return False
        if entry.kind is EntryKind.TICK:
            return discipline.tick is TickDuty.AUTO
        batches = any(other.kind is EntryKind.BATCH for other in record.role.entries)
        return entry.kind is EntryKind.BATCH or not batches

    def _on(self, record: LiveRecord, switch: Switch) -> bool:
        return switched_on(record.component, switch)

    def _played(self, record: LiveRecord, names: tuple[str, ...]) -> int:
        """The framework's function whose part the tracer does."""
        cls: type = type(record.component)
        site = played_by(cls, names)
        return self._ledger.sites.named(site) if site else 0

    # ---- mocks ----

    def _look(self, record: LiveRecord) -> None:
        component, dialect, role = record.component, record.dialect, record.role
        record.hidden |= look(component, dialect, role, record.mocked, self._written)
        record.mock_arguments.begin(component, dialect, role)
        if why := self._written.completes_unseen(component, dialect, role):
            record.hidden |= dict.fromkeys((VerbKind.ACK, VerbKind.FAIL), why)


def _raised(record: LiveRecord, call: HandlerCall, *, fails: bool) -> str:
    """The note for an exception that leaves a handler: what it means for the tuple."""
    what = f"{type(exception()).__name__} left {record.traced.name}.{call.entry.method}"
    ticks = call.entry.kind is EntryKind.TICK or all(one in record.ticks for one in call.deliveries)
    if ticks:  # they belong to no tree: nothing is failed, nothing times out
        return what
    tup = "the batch" if call.entry.kind is EntryKind.BATCH else "the tuple"
    if fails:
        return f"{what}: {record.dialect.title} fails {tup}, and ends the process unless it is set to go on"
    return f"{what}: {tup} stays open until it times out"


def _caller(frame: FrameType) -> FrameType:
    """The caller of the handler: the first frame outside of the tracer and of a test's mocks."""
    while frame.f_back is not None and (
        frame.f_globals.get("__name__", "").startswith(_OWN) or is_mock_frame(frame)
    ):
        frame = frame.f_back
    return frame


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
