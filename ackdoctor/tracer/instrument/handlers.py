"""The author's handlers, watched: who works on which tuple, what comes back, and what a test calls directly.

A handler's tuple was handed over by the framework a moment ago, or a test calls the handler itself.  Then
the argument counts as received, and the framework's part is played when it returns: `auto_ack` closes it,
`auto_fail` after an exception, because the framework would.
"""

import sys
from collections.abc import Collection, Hashable
from inspect import unwrap
from threading import get_ident
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, NamedTuple

from ackdoctor.model.dialect import Entry, EntryKind, Misuse, Moment, Switch, TickDuty, VerbKind
from ackdoctor.model.violation import AccessKind, CallSite
from ackdoctor.tracer.instrument.listener import HEARTBEAT, TICKS, Listener, exception
from ackdoctor.tracer.instrument.live import LiveBook, id_of
from ackdoctor.tracer.instrument.mocks import look
from ackdoctor.tracer.instrument.written import Written
from ackdoctor.tracer.ledger.sites import stands_in
from ackdoctor.tracer.ledger.suspects import played_by, switched_on

__all__ = ["Visit", "Visits"]

# the handler calls of a framework in which the first mock is looked for; in a test's own it always is
_LOOKS = 64
_NEVER_RUN = (GeneratorType, CoroutineType, AsyncGeneratorType)
_INPUTS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK}
_OWN = f"{__name__.rpartition('.')[0]}."
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class Visit(NamedTuple):
    """One call of a handler: the deliveries it was given, and which of them nobody but us will complete."""

    entry: Entry
    deliveries: tuple[Hashable, ...] = ()
    direct: tuple[Hashable, ...] = ()
    outer: str = ""  # the handler that called this one: process_tick, for processWindow


class Visits:
    """Begins and ends the visits of every component."""

    def __init__(self, listener: Listener, written: Written) -> None:
        self._listener = listener
        self._ledger = listener.ledger
        self._written = written

    def begin(
        self, book: LiveBook, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Visit | None:
        """Before a handler runs; None where a handler calls its own super, or if we failed."""
        try:
            outer = book.handler
            if outer and (outer == entry.method or entry.kind is not EntryKind.BATCH):
                return None
            self._prepare(book, entry)
            tups = _tuples(entry, args, kwargs) if entry.kind in _INPUTS else ()
            deliveries = tuple(_delivery(tup, book) for tup in tups)
            fresh, book.fresh = book.fresh, None
            if len(tups) == 1 and fresh is not None and deliveries[0] == fresh.id:
                return Visit(entry, deliveries, (), outer)
            driven = self._is_driven(book, _caller(_getframe(2)))
            self._admit(book, entry, tups, deliveries)
            return Visit(entry, deliveries, () if driven else deliveries, outer)
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            self._listener.trouble(error)
            return None

    def end(self, book: LiveBook, visit: Visit, result: object) -> None:
        """After a handler has returned."""
        try:
            book.read_mocks()
            if isinstance(result, _NEVER_RUN):
                self._never_ran(book, visit)
            if visit.direct and self._closes(book, visit.entry):
                site = self._played(book, book.dialect.wire.completes if book.dialect.wire else ())
                for delivery in visit.direct:
                    self._listener.played_ack(book, delivery, site)
            book.hand_on()
            book.handler = visit.outer
        except Exception as error:  # noqa: BLE001 - as above
            self._listener.trouble(error)

    def broken(self, book: LiveBook, visit: Visit) -> None:
        """After a handler has raised: the framework fails what it was given, or the component dies with it.

        No framework fails a tuple for what is no Exception, such as SystemExit.
        """
        try:
            book.read_mocks()
            fails = self._on(book, book.role.discipline.auto_fail) and isinstance(exception(), Exception)
            if visit.direct and fails:
                site = self._played(book, book.dialect.wire.fails if book.dialect.wire else ())
                for delivery in visit.direct:
                    self._listener.played_fail(book, delivery, site)
            owes = not fails and any(delivery in book.open for delivery in visit.deliveries)
            if owes:
                self._listener.broke(book)
            for delivery in visit.deliveries:
                book.excuse(delivery)
            book.raised = book.entry
            self._ledger.note(_raised(book, visit, fails=fails))
            book.handler = visit.outer
        except Exception as error:  # noqa: BLE001 - as above
            self._listener.trouble(error)

    # ---- what a visit finds ----

    def _prepare(self, book: LiveBook, entry: Entry) -> None:
        called = book.fresh is None and entry.kind is EntryKind.DATA  # by a test
        if called or book.entry < _LOOKS or book.mocked:
            self._look(book)
        else:
            book.is_plain = True
        book.read_mocks()
        book.handler = entry.method
        if entry.kind is EntryKind.BATCH and entry.off_thread:
            book.batcher = get_ident()
        elif entry.kind is not EntryKind.BATCH:
            book.thread = get_ident()

    def _admit(
        self, book: LiveBook, entry: Entry, tups: tuple[Any, ...], deliveries: tuple[Hashable, ...]
    ) -> None:
        """Tuples that came past the framework's receive function."""
        for tup, delivery in zip(tups, deliveries, strict=True):
            stream = getattr(tup, "stream", None)
            if stream == HEARTBEAT:
                continue
            if stream == TICKS or entry.kind is EntryKind.TICK:
                self._listener.ticked(book, delivery, stream)
            elif entry.kind is EntryKind.DATA or delivery not in book.open:
                self._listener.handed(book, delivery, stream)

    def _is_driven(self, book: LiveBook, caller: FrameType) -> bool:
        """Whether the framework has called the handler, and will do what comes after it."""
        wire = book.dialect.wire
        on_bench = wire is not None and caller.f_globals.get("__name__") in wire.benches
        return not on_bench and self._ledger.sites.is_foreign(caller)

    def _never_ran(self, book: LiveBook, visit: Visit) -> None:
        function: Any = getattr(type(book.component), visit.entry.method, None)
        code = getattr(unwrap(function), "__code__", None)
        site = (
            self._ledger.sites.named(CallSite(code.co_filename, code.co_firstlineno, function.__qualname__))
            if code
            else 0
        )
        for delivery in visit.deliveries or (None,):
            book.offended(Misuse.NEVER_RUNS, AccessKind.RETURNED, delivery, site)
            if delivery is not None:
                book.excuse(delivery)

    def _closes(self, book: LiveBook, entry: Entry) -> bool:
        """Whether the framework would ack what this handler was given, now that it has returned."""
        discipline = book.role.discipline
        if discipline.completion is not Moment.RETURN or not self._on(book, discipline.auto_ack):
            return False
        if entry.kind is EntryKind.TICK:
            return discipline.tick is TickDuty.AUTO
        batches = any(other.kind is EntryKind.BATCH for other in book.role.entries)
        return entry.kind is EntryKind.BATCH or not batches

    def _on(self, book: LiveBook, switch: Switch) -> bool:
        return switched_on(book.component, switch)

    def _played(self, book: LiveBook, names: tuple[str, ...]) -> int:
        """The framework's function whose part we play."""
        cls: type = type(book.component)
        site = played_by(cls, names)
        return self._ledger.sites.named(site) if site else 0

    # ---- mocks ----

    def _look(self, book: LiveBook) -> None:
        component, dialect, role = book.component, book.dialect, book.role
        book.hidden |= look(component, dialect, role, book.mocked, self._written)
        book.given.begin(component, dialect, role)
        if why := self._written.completes_unseen(component, dialect, role):
            book.hidden |= dict.fromkeys((VerbKind.ACK, VerbKind.FAIL), why)


def _raised(book: LiveBook, visit: Visit, *, fails: bool) -> str:
    """What an exception that leaves a handler means for its tuple, once for each kind of exception."""
    what = f"{type(exception()).__name__} left {book.traced.name}.{visit.entry.method}"
    ticks = visit.entry.kind is EntryKind.TICK or all(one in book.ticks for one in visit.deliveries)
    if ticks:  # they belong to no tree: nothing is failed, nothing times out
        return what
    tup = "the batch" if visit.entry.kind is EntryKind.BATCH else "the tuple"
    if fails:
        return f"{what}: {book.dialect.title} fails {tup}, and ends the process unless it is set to go on"
    return f"{what}: {tup} stays open until it times out"


def _caller(frame: FrameType) -> FrameType:
    """Who called the handler: the first frame outside of the tracer and of a test's mocks."""
    while frame.f_back is not None and (
        frame.f_globals.get("__name__", "").startswith(_OWN) or stands_in(frame)
    ):
        frame = frame.f_back
    return frame


def _delivery(tup: Any, book: LiveBook) -> Hashable:
    """The id of an input tuple; what stands in for one may have none."""
    known: Hashable = getattr(tup, "id", tup)
    return known if known.__class__ is str else id_of(tup, book)


def _tuples(entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The input tuples among a handler's arguments, or what a test has put in their place."""
    if entry.subject is None:
        return ()
    given = (
        args[entry.subject] if len(args) > entry.subject else list(kwargs.values())[entry.subject - len(args)]
    )
    batch = given if isinstance(given, Collection) else ()  # a generator is the handler's to read
    tups = batch if entry.kind is EntryKind.BATCH else (given,)
    return tuple(tup for tup in tups if tup is not None)
