"""What the wrappers report: every tuple received, every emit, ack and fail, by component.

The listener feeds the ledgers of the components and, at level `trace`, writes rows. It never raises into the
component: the first internal error becomes a note of the ledger. `received` and `sent` run for every tuple.
"""

import dis
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from json import dumps
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from ackdoctor.model.dialect import Kind, Misuse, Verb, VerbKind
from ackdoctor.model.trace import BARE, RELIABLE, TICK, AccessKind, EventKind
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.live import LiveRecord, Rows, all_in, as_json, id_of
from ackdoctor.tracer.record import Mark
from ackdoctor.tracer.recorder import ignoring_interrupts
from ackdoctor.tracer.sites import CallPath

__all__ = ["HEARTBEAT", "SYSTEM", "TICKS", "Listener", "exception", "passes"]


TICKS = "__tick"
HEARTBEAT = "__heartbeat"
SYSTEM = frozenset({TICKS, HEARTBEAT})
_TUPLE_FIELDS = 5  # id, component, stream, task and values; Heron's tuples have more
_SPOUT = Kind.SPOUT  # an attribute of an Enum class is slow to read
_RECEIVED, _EMITTED = int(EventKind.RECEIVED), int(EventKind.EMITTED)
_ACKED, _FAILED = int(EventKind.ACKED), int(EventKind.FAILED)
_exc_info = sys.exc_info
exception: Callable[[], BaseException | None] = getattr(sys, "exception", lambda: _exc_info()[1])
"""`sys.exception`, which Python 3.10 does not have."""
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class Listener:
    """Feeds one ledger, and writes rows if there are any to write."""

    def __init__(self, ledger: Ledger, rows: Rows | None = None) -> None:
        self.ledger = ledger
        self.recorder = rows.recorder if rows is not None else None
        self.rows = rows
        self.along = ledger.sites.along
        self._here = ledger.sites.here
        self._ack_path = CallPath()
        self._now = ledger.now
        self._windows = ledger.windows
        self._names_anchors: dict[int, bool] = {}  # by site
        self._errors = 0

    # ---- input ----

    def received(self, record: LiveRecord, tup: Any) -> None:
        """The framework has read a tuple and will call a handler with it."""
        try:
            stream = tup.stream
            if (record.fresh is not None or stream in SYSTEM) and self._received_unusual(record, tup):
                return
            record.fresh = tup
            record.thread = get_ident()
            now = self._now()
            delivery = tup.id
            rows = self.rows
            if rows is None:
                record.received(delivery, now)
            else:
                text = as_json(delivery)
                record.received(delivery, now, text)
                rows.received(record, stream, text)
            if now >= self._windows.due:
                self.ledger.grow(now)
        except Exception as error:  # noqa: BLE001 - never into the component
            self.trouble(error)

    def _received_unusual(self, record: LiveRecord, tup: Any) -> bool:
        """Whether it is a system tuple. The tuple before may have reached no handler."""
        if record.fresh is not None:
            record.skip_handler()
        if tup.stream not in SYSTEM:
            return False
        record.fresh = tup
        record.thread = get_ident()
        if tup.stream == TICKS:
            self.ticked(record, tup.id, tup.stream)
        return True

    def ended(self) -> None:
        """The input has ended. pystorm leaves by `os._exit` if a thread of its own still runs: finish the trace now."""
        try:
            if self.recorder is not None and threading.active_count() > 1:
                with ignoring_interrupts():
                    for record in tuple(self.ledger.records.values()):
                        if isinstance(record, LiveRecord):
                            record.report_waiting()
                    self.recorder.roll()
        except Exception as error:  # noqa: BLE001
            self.trouble(error)

    def ticked(self, record: LiveRecord, delivery: Hashable, stream: Any) -> None:
        """A tick was received."""
        record.ticked(delivery, self._now())
        if self.rows is not None:
            self.rows.write(record, _RECEIVED, delivery, 0, TICK, stream)

    def handed(self, record: LiveRecord, delivery: Hashable, stream: Any) -> None:
        """A handler was called with a tuple that the framework has not read."""
        text = as_json(delivery)
        record.received(delivery, self._now(), text)
        if self.rows is not None:
            self.rows.received(record, stream, text)

    # ---- output ----

    def sent(self, record: LiveRecord, message: Any) -> None:
        """The component sends a multilang message."""
        try:
            command = message["command"]
            if command == "ack":
                self._acked(record, message["id"], self.along(self._ack_path))
            elif command == "fail":
                self.failed(record, message["id"])
            elif command == "emit" and record.role.kind is _SPOUT:
                self.spouted(record, message.get("id"), message.get("stream"))
            elif command == "emit":
                self.emitted(record, message.get("anchors", ()), message.get("stream"), None)
        except Exception as error:  # noqa: BLE001 - never into the component
            if isinstance(message, dict) and "command" in message:  # else task ids, or no message at all
                self.trouble(error)

    def acked(self, record: LiveRecord, delivery: Hashable) -> None:
        """The component acks."""
        self._acked(record, delivery, self._here(2))

    def _acked(self, record: LiveRecord, delivery: Hashable, site: int) -> None:
        if delivery.__class__ is not str:
            delivery = id_of(delivery, record)
        if get_ident() != record.thread or exception() is not None:
            self._completed_unusual(record, _ACKED, delivery, site)
            return
        opened = record.acked(delivery, site)
        if self.rows is not None:
            self.rows.acked(record, site, opened[2] if opened is not None else as_json(delivery))

    def failed(self, record: LiveRecord, delivery: Hashable) -> None:
        """The component fails a tuple."""
        self._completed_unusual(record, _FAILED, id_of(delivery, record), self._here(2))

    def _completed_unusual(self, record: LiveRecord, kind: int, delivery: Hashable, site: int) -> None:
        """A fail; or an ack from another thread or while an exception is handled.

        The row comes first: the end of a test waits until the record has nothing open.
        """
        mark = self._mark(record, site)
        if self.rows is not None:
            self.rows.write(record, kind, delivery, site, 0, None, mark.thread if mark else "")
        (record.acked if kind == _ACKED else record.failed)(delivery, site, mark)

    def emitted(
        self,
        record: LiveRecord,
        anchors: Sequence[Hashable],
        stream: Any,
        bare: bool | None,  # noqa: FBT001 - a property of the call
    ) -> None:
        """A bolt emits. `bare`: the call leaves the anchors to the framework; None if only the bytecode can tell."""
        rows = self.rows
        if anchors and get_ident() == record.thread and all_in(anchors, record.open):
            record.emits += 1
            if rows is not None:
                rows.emitted_unusual(record, anchors, self._here(2), RELIABLE, stream, "")
            return
        thread = self._thread(record)
        site = self._here(2)
        if bare is None:
            bare = (not anchors or bool(thread)) and self._is_bare(record, site)
        mark = Mark(thread=thread, bare=bare, time_ns=self._now()) if thread or bare else None
        misuse = misuse_of(anchors, record)
        ids = [id_of(anchor, record) for anchor in anchors]
        record.emitted(() if misuse else ids, site, mark)
        if misuse is not None:
            record.offended(misuse, AccessKind.EMITTED, record.current, site, mark)
        if rows is not None:
            flags = (RELIABLE if anchors else 0) | (BARE if bare else 0)
            rows.emitted_unusual(record, ids, site, flags, stream, thread)

    def spouted(self, record: LiveRecord, message_id: Hashable, stream: Any) -> None:
        """A spout emits."""
        site = self._here(2)
        record.spouted(message_id, site)
        if self.rows is not None:
            ids, flags = ((), 0) if message_id is None else ((message_id,), RELIABLE)
            self.rows.emitted_unusual(record, ids, site, flags, stream, self._thread(record))

    def unwritable(self, record: LiveRecord | None, message: Any) -> None:
        """The serializer could not write a message: it raises, or only logs."""
        try:
            if (
                record is not None
                and _is_emit(message)
                and not (_has_stand_in(message) or _is_writable(message))
            ):
                record.offended(Misuse.PAYLOAD_OPAQUE, AccessKind.EMITTED, record.current, self._here(1))
        except Exception as error:  # noqa: BLE001
            self.trouble(error)

    def played_ack(self, record: LiveRecord, delivery: Hashable, site: int) -> None:
        """The ack that the framework would have sent after a direct call of the handler."""
        record.acked(delivery, site)
        record.play(VerbKind.ACK)
        if self.rows is not None:
            self.rows.write(record, _ACKED, delivery, site, 0)

    def played_fail(self, record: LiveRecord, delivery: Hashable, site: int) -> None:
        """The fail that the framework would have sent after a direct call that raised."""
        record.failed(delivery, site)
        record.play(VerbKind.FAIL)
        if self.rows is not None:
            self.rows.write(record, _FAILED, delivery, site, 0)

    def broke(self, record: LiveRecord) -> None:
        """An exception has left a handler whose tuple the framework does not fail."""
        if self.rows is not None:
            self.rows.died(record, f"exception: {type(exception()).__name__}")

    def trouble(self, error: Exception) -> None:
        """Report the first error of the tracer's own."""
        self._errors += 1
        if self._errors == 1:
            self.ledger.note(f"the tracer continues after an internal error: {type(error).__name__}: {error}")

    # ---- thread, exception, anchors ----

    def _thread(self, record: LiveRecord) -> str:
        """The name of this thread; '' for the threads in which the framework runs the component."""
        if get_ident() in (record.thread, record.batcher) or not record.thread:
            return ""
        return threading.current_thread().name

    def _mark(self, record: LiveRecord, site: int) -> Mark | None:
        thread = self._thread(record)
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

    def _is_bare(self, record: LiveRecord, site: int) -> bool:
        """Whether the call at `site` leaves the anchors to the framework. In doubt: no."""
        if site not in self._names_anchors:
            spot = self.ledger.sites.spot(site)
            verb = _emit_verb(record, _function_called_by(spot[0])) if spot else None
            self._names_anchors[site] = (
                spot is None
                or verb is None
                or verb.anchors is None
                or passes(*spot, verb.anchors, verb.params.index(verb.anchors))
            )
        return not self._names_anchors[site]


def misuse_of(anchors: Sequence[Hashable], record: LiveRecord) -> Misuse | None:
    """`anchors=tup.id` arrives as the characters of an id, `anchors=tup` as the five fields of a tuple."""
    if len(anchors) > 1 and all(isinstance(anchor, str) and len(anchor) == 1 for anchor in anchors):
        return Misuse.ANCHOR_ID if "".join(map(str, anchors)) in record else None
    values = anchors[_TUPLE_FIELDS - 1] if len(anchors) >= _TUPLE_FIELDS else None
    return Misuse.ANCHOR_SHAPE if isinstance(values, tuple | list) and anchors[0] in record else None


def _is_emit(message: Any) -> bool:
    return isinstance(message, dict) and message.get("command") == "emit"


def _is_writable(message: Mapping[str, Any]) -> bool:
    """Whether any serializer could write the message: then the stream is at fault, such as a StringIO or a mock."""
    try:
        dumps(message)
    except (TypeError, ValueError):
        return False
    return not isinstance(exception(), OverflowError)  # msgpack's, of a number


def _has_stand_in(message: Mapping[str, Any]) -> bool:
    """Whether a test has put something in the place of a tuple or of a value."""
    values = message.get("tuple")
    return any(hasattr(anchor, "id") for anchor in message.get("anchors") or ()) or any(
        hasattr(value, "mock_calls") for value in (values if isinstance(values, list | tuple) else ())
    )


def _emit_verb(record: LiveRecord, name: str) -> Verb | None:
    """The emit that the framework's function `name` implements."""
    verbs: Iterable[Verb] = record.dialect.verbs_of(record.role)
    return next((v for v in verbs if v.name == name and v.kind in (VerbKind.EMIT, VerbKind.EMIT_MANY)), None)


def _function_called_by(code: CodeType) -> str:
    """The name of the function that the innermost frame of `code` has called."""
    frame: FrameType | None = _getframe(0)
    name = ""
    while frame is not None and frame.f_code is not code:
        name = frame.f_code.co_name
        frame = frame.f_back
    return name


# ---- which arguments a call passes ----
#
# On the wire, `emit(values)` and `emit(values, anchors=[])` are the same message; only the first is an oversight.


def passes(code: CodeType, lasti: int, name: str, position: int) -> bool:
    """Whether the call at `lasti` passes the parameter `name`, the `position`th after self. In doubt: yes."""
    before = [step for step in dis.get_instructions(code) if step.offset <= lasti]
    for index in range(len(before) - 1, -1, -1):
        step = before[index]
        if step.opname.startswith("CALL") and step.opname != "CALL_INTRINSIC_1":
            if step.opname == "CALL_FUNCTION_EX" or not isinstance(step.arg, int):
                return True
            named = _keywords(code, before, index)
            return name in named or step.arg - len(named) > position
        if step.opname not in {"CACHE", "PRECALL"}:
            return True
    return True


def _keywords(code: CodeType, before: list[dis.Instruction], index: int) -> tuple[str, ...]:
    """The keywords of a call: the constant right before it."""
    for step in reversed(before[max(0, index - 3) : index]):
        if step.opname == "KW_NAMES" or (
            step.opname == "LOAD_CONST" and before[index].opname in {"CALL_KW", "CALL_FUNCTION_KW"}
        ):
            names = step.argval
            if not isinstance(names, tuple) and step.arg is not None:  # 3.11 and 3.12 give KW_NAMES no value
                names = code.co_consts[step.arg]
            return names if isinstance(names, tuple) else ()
        if step.opname not in {"CACHE", "PRECALL"}:
            break
    return ()
