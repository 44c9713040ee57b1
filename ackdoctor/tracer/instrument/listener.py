"""From a framework's messages to the books: what every wrapper calls.

Nothing here may raise into the component or change what it does: an error of ours is caught, counted and
told once as a note of the ledger.  `received` and `sent` are the hot ones.
"""

import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from json import dumps
from threading import get_ident
from types import FrameType
from typing import Any

from ackdoctor.model.dialect import Kind, Misuse, Verb, VerbKind
from ackdoctor.model.event import BARE, RELIABLE, TICK, EventKind
from ackdoctor.model.violation import AccessKind
from ackdoctor.tracer.instrument.arguments import passes
from ackdoctor.tracer.instrument.live import LiveBook, all_in, id_of
from ackdoctor.tracer.instrument.misshapen import misuse_of
from ackdoctor.tracer.instrument.rows import Rows, as_json
from ackdoctor.tracer.ledger.book import Mark
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.ledger.sites import NOWHERE
from ackdoctor.tracer.levels import Level
from ackdoctor.tracer.trace.write import ignoring_interrupts

__all__ = ["HEARTBEAT", "SYSTEM", "TICKS", "Listener", "exception"]

TICKS = "__tick"
HEARTBEAT = "__heartbeat"
SYSTEM = frozenset({TICKS, HEARTBEAT})
_SPOUT = Kind.SPOUT  # members of an Enum are looked up slowly
_RECEIVED, _EMITTED = int(EventKind.RECEIVED), int(EventKind.EMITTED)
_ACKED, _FAILED = int(EventKind.ACKED), int(EventKind.FAILED)
_exc_info = sys.exc_info
exception: Callable[[], BaseException | None] = getattr(sys, "exception", lambda: _exc_info()[1])
"""What `sys.exception` is since 3.11."""
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class Listener:
    """Feeds the books of one ledger, and the recorder's rows if there is one."""

    def __init__(self, ledger: Ledger, rows: Rows | None = None) -> None:
        self.ledger = ledger
        self._rows = rows
        self._here = ledger.sites.here
        self._now = ledger.now
        self._windows = ledger.windows
        self.located = ledger.level >= Level.SITES
        self.recorder = rows.recorder if rows is not None else None
        self._write: Any = rows.write if rows is not None else None
        self._names: dict[int, bool] = {}  # site -> whether the call there names its anchors
        self._errors = 0

    # ---- what comes in ----

    def received(self, book: LiveBook, tup: Any) -> None:
        """The framework has read a tuple and will call a handler with it."""
        try:
            if self.received_oddly(book, tup):
                return
            book.fresh = tup
            book.thread = get_ident()
            self.handed(book, tup.id, tup.stream)
            now = self._now()
            if now >= self._windows.due:
                self.ledger.grow(now)
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            self.trouble(error)

    def received_oddly(self, book: LiveBook, tup: Any) -> bool:
        """Whether it was a system tuple; it may also come although no handler was called with the one before."""
        if book.fresh is not None:
            book.pass_over()
        if tup.stream not in SYSTEM:
            return False
        book.fresh = tup
        book.thread = get_ident()
        if tup.stream == TICKS:
            self.ticked(book, tup.id, tup.stream)
        return True

    def ended(self) -> None:
        """Nothing more will be read: pystorm leaves by `os._exit` where a thread of its own still runs."""
        try:
            if self.recorder is not None and threading.active_count() > 1:
                with ignoring_interrupts():
                    for book in tuple(self.ledger.books.values()):
                        if isinstance(book, LiveBook):
                            book.tell_what_waits()
                    self.recorder.roll()
        except Exception as error:  # noqa: BLE001 - as above
            self.trouble(error)

    def ticked(self, book: LiveBook, delivery: Hashable, stream: Any) -> None:
        """A tick has come."""
        book.ticked(delivery, self._now())
        if self._rows is not None:
            self._rows.write(book, _RECEIVED, delivery, 0, TICK, stream)

    def handed(self, book: LiveBook, delivery: Hashable, stream: Any) -> None:
        """A handler was called with a tuple that was not read before."""
        number = None if self._rows is None else as_json(delivery)
        book.received(delivery, self._now(), number)
        if self._rows is not None:
            self._rows.write(book, _RECEIVED, delivery, 0, 0, stream)

    def arrived(self, book: LiveBook, delivery: Hashable, stream: Any) -> None:
        """The first row of its kind."""
        self._write(book, _RECEIVED, delivery, 0, 0, stream)

    # ---- what goes out ----

    def sent(self, book: LiveBook, command: object, body: Mapping[str, Any]) -> None:
        """The component has sent a command."""
        try:
            if command == "emit":
                if book.role.kind is _SPOUT:
                    self.spouted(book, body.get("id"), body.get("stream"), 3)
                else:
                    self.emitted(book, body.get("anchors", ()), body.get("stream"), None, 3)
            elif command == "ack":
                self.acked(book, body["id"], 3)
            elif command == "fail":
                self.failed(book, body["id"], 3)
        except Exception as error:  # noqa: BLE001 - as above
            self.trouble(error)

    def acked(self, book: LiveBook, delivery: Hashable, depth: int = 1) -> None:
        """An ack; the author is at least `depth` frames up."""
        self.acked_at(book, delivery, self._here(depth) if self.located else NOWHERE)

    def acked_at(self, book: LiveBook, delivery: Hashable, site: int) -> None:
        """An ack by a wrapper that knows the site."""
        try:
            if delivery.__class__ is not str:
                delivery = id_of(delivery, book)
            if get_ident() != book.thread or (self.located and exception() is not None):
                self._acked_oddly(book, delivery, site)
                return
            opened = book.acked(delivery, site)
            recorder = self.recorder
            if recorder is None:
                return
            stamp = book.endings.get(site)
            if stamp is None or opened is None or opened[2] is None:
                self._write(book, _ACKED, delivery, site, 0)
            else:
                recorder.put(stamp, opened[2])
        except Exception as error:  # noqa: BLE001 - as above
            self.trouble(error)

    def _acked_oddly(self, book: LiveBook, delivery: Hashable, site: int) -> None:
        """An ack from another thread, or while an exception is handled.

        Its row comes first: who waits for the thread goes on as soon as the book has nothing open.
        """
        mark = self._mark(book, site)
        self._ended(book, _ACKED, delivery, site, mark)
        book.acked(delivery, site, mark)

    def failed(self, book: LiveBook, delivery: Hashable, depth: int = 1) -> None:
        """A fail; the author is at least `depth` frames up."""
        site = self._here(depth) if self.located else NOWHERE
        mark = self._mark(book, site)
        delivery = id_of(delivery, book)
        self._ended(book, _FAILED, delivery, site, mark)
        book.failed(delivery, site, mark)

    def _ended(self, book: LiveBook, kind: int, delivery: Hashable, site: int, mark: Mark | None) -> None:
        if self._rows is not None:
            self._rows.write(book, kind, delivery, site, 0, None, mark.thread if mark else "")

    def emitted(
        self,
        book: LiveBook,
        anchors: Sequence[Hashable],
        stream: Any,
        bare: bool | None,  # noqa: FBT001 - a fact about the call
        depth: int = 1,
    ) -> None:
        """A bolt emits; `bare` is whether it left the anchors to the framework, None where the call must tell."""
        if anchors and get_ident() == book.thread and all_in(anchors, book.open):
            book.emits += 1
            rows = self._rows
            if rows is None:
                return
            if len(anchors) == 1:
                rows.write(book, _EMITTED, anchors[0], self._here(depth), RELIABLE, stream)
            else:
                rows.emitted(book, anchors, self._here(depth), RELIABLE, stream, "")
            return
        thread = self._thread(book)
        asked = not anchors or bool(thread)
        site = self._here(depth + 1) if self.located or asked else NOWHERE
        if bare is None:
            bare = asked and self._is_bare(book, site)
        mark = Mark(thread=thread, bare=bare, time_ns=self._now()) if thread or bare else None
        misuse = misuse_of(anchors, book)
        ids = [id_of(anchor, book) for anchor in anchors]
        book.emitted(() if misuse else ids, self.shown(site), mark)
        if misuse is not None:
            book.offended(misuse, AccessKind.EMITTED, book.current, self.shown(site), mark)
        if self._rows is not None:
            flags = (RELIABLE if anchors else 0) | (BARE if bare else 0)
            self._rows.emitted(book, ids, site, flags, stream, thread)

    def spouted(self, book: LiveBook, message_id: Hashable, stream: Any, depth: int = 1) -> None:
        """A spout emits."""
        site = self._here(depth) if self.located else NOWHERE
        book.spouted(message_id, site)
        if self._rows is not None:
            ids, flags = ((), 0) if message_id is None else ((message_id,), RELIABLE)
            self._rows.emitted(book, ids, site, flags, stream, self._thread(book))

    def unwritable(self, book: LiveBook | None, message: Any) -> None:
        """The serializer could not write a message; it raises, or tells nobody but its log."""
        try:
            if book is not None and _is_emit(message) and not (_stands_in(message) or _is_writable(message)):
                site = self._here(1) if self.located else NOWHERE
                book.offended(Misuse.PAYLOAD_OPAQUE, AccessKind.EMITTED, book.current, site)
        except Exception as error:  # noqa: BLE001 - as above
            self.trouble(error)

    def played_ack(self, book: LiveBook, delivery: Hashable, site: int) -> None:
        """The ack that the framework would have sent after a direct call."""
        book.acked(delivery, site)
        book.play(VerbKind.ACK)
        if self._rows is not None:
            self._rows.write(book, _ACKED, delivery, site, 0)

    def played_fail(self, book: LiveBook, delivery: Hashable, site: int) -> None:
        """The fail that the framework would have sent after a direct call that raised."""
        book.failed(delivery, site)
        book.play(VerbKind.FAIL)
        if self._rows is not None:
            self._rows.write(book, _FAILED, delivery, site, 0)

    def broke(self, book: LiveBook) -> None:
        """An exception has left a handler that still owes what the framework does not fail."""
        if self._rows is not None:
            self._rows.died(book, f"exception: {type(exception()).__name__}")

    # ---- circumstances ----

    def shown(self, site: int) -> int:
        """A site as the level lets it be seen."""
        return site if self.located else NOWHERE

    def trouble(self, error: Exception) -> None:
        """An error of ours: told once."""
        self._errors += 1
        if self._errors == 1:
            self.ledger.note(
                f"the tracer met an error of its own and went on: {type(error).__name__}: {error}"
            )

    def _thread(self, book: LiveBook) -> str:
        """'' for the threads in which the framework runs the component, else the name of this one."""
        me = get_ident()
        if me in (book.thread, book.batcher) or not book.thread:
            return ""
        if not self.located and self._runs(book):  # the thread of most tuples was not looked at
            book.thread = me
            return ""
        return threading.current_thread().name

    def _runs(self, book: LiveBook) -> bool:
        """Whether this thread is in the framework's code for the component, other than the verbs that anybody may call."""
        verbs = {verb.name for verb in (*book.role.verbs, *book.dialect.verbs)}
        senders = {path.rpartition(".")[2] for path in book.dialect.wire.send} if book.dialect.wire else set()
        frame: FrameType | None = _getframe(1)
        while frame is not None:
            if (
                frame.f_locals.get("self") is book.component
                and frame.f_code.co_name not in verbs | senders
                and self.ledger.sites.is_foreign(frame)
            ):
                return True
            frame = frame.f_back
        return False

    def _mark(self, book: LiveBook, site: int) -> Mark | None:
        thread = self._thread(book)
        place = self.ledger.sites[site] if site else None
        in_except = place is not None and not place.framework and self._is_handling()
        return Mark(thread=thread, in_except=in_except, time_ns=self._now()) if thread or in_except else None

    def _is_handling(self) -> bool:
        """Whether the author's own frames, up to the framework's, are inside an `except`.

        A traceback begins with the frame that caught the exception.
        """
        trace = _exc_info()[2]
        frame: FrameType | None = _getframe(1)
        author = False
        while trace is not None and frame is not None:
            foreign = self.ledger.sites.is_foreign(frame)
            if author and foreign:
                return False
            author = author or not foreign
            if frame is trace.tb_frame:
                return True
            frame = frame.f_back
        return False

    def _is_bare(self, book: LiveBook, site: int) -> bool:
        """Whether the call at `site` leaves the anchors to the framework.  In doubt: no."""
        if site not in self._names:
            spot = self.ledger.sites.spot(site)
            verb = _emit_verb(book, _called_from(spot[0])) if spot else None
            self._names[site] = (
                spot is None
                or verb is None
                or verb.anchors is None
                or passes(*spot, verb.anchors, verb.params.index(verb.anchors))
            )
        return not self._names[site]


def _is_emit(message: Any) -> bool:
    return isinstance(message, dict) and message.get("command") == "emit"


def _is_writable(message: Mapping[str, Any]) -> bool:
    """Whether the stream is to blame, such as a StringIO or a mock: any serializer could write the message."""
    try:
        dumps(message)
    except (TypeError, ValueError):
        return False
    return not isinstance(exception(), OverflowError)  # msgpack's, of a number


def _stands_in(message: Mapping[str, Any]) -> bool:
    """Whether an emit has something in it that a test put in the place of a tuple, or of a value."""
    values = message.get("tuple")
    return any(hasattr(anchor, "id") for anchor in message.get("anchors") or ()) or any(
        hasattr(value, "mock_calls") for value in (values if isinstance(values, (list, tuple)) else ())
    )


def _emit_verb(book: LiveBook, name: str) -> Verb | None:
    """The emit that the framework's function `name` implements."""
    verbs: Iterable[Verb] = (*book.role.verbs, *book.dialect.verbs)
    return next((v for v in verbs if v.name == name and v.kind in (VerbKind.EMIT, VerbKind.EMIT_MANY)), None)


def _called_from(code: object) -> str:
    """The name of the function that the innermost frame of `code` has called."""
    frame: FrameType | None = _getframe(0)
    name = ""
    while frame is not None and frame.f_code is not code:
        name = frame.f_code.co_name
        frame = frame.f_back
    return name
