"""A live component: the tuples that it is handed and what it sends, in its record and, at level `trace`, as rows.

The wrappers call `read`, `sent` and `called`. They run for every tuple, and never raise into the component: the first
internal error becomes a note of the ledger.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Mapping, Sequence
from json import dumps
from threading import get_ident
from types import FrameType
from typing import Any

from ackdoctor.model.dialect import Dialect, EntryKind, Kind, Misuse, Role, Verb, VerbKind
from ackdoctor.model.trace import AUTO, BARE, RELIABLE, TICK, AccessKind, EventKind, TracedComponent
from ackdoctor.tracer.components import UNOBSERVED, describe, described, fields_holding, overrides
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.mocks import MockArguments, Mocked, WrittenMethods, is_ours, look
from ackdoctor.tracer.record import ComponentRecord, Delivery, Mark
from ackdoctor.tracer.recorder import Recorder, Template
from ackdoctor.tracer.sites import CallPath, called_function, passes
from ackdoctor.tracer.trace_files import printable, quoted

TICKS = "__tick"
HEARTBEAT = "__heartbeat"
_SYSTEM = frozenset({TICKS, HEARTBEAT})
_COMPLETES = (VerbKind.ACK, VerbKind.FAIL)
_TUPLE_FIELDS = 5  # id, component, stream, task and values; Heron's tuples have more
_MAX_TEMPLATES = 4_096  # of one component: streams may have any number of names
_RECEIVED, _ACKED = (
    int(EventKind.RECEIVED),
    int(EventKind.ACKED),
)  # an attribute of an Enum class is slow to read
_FAILED, _WAITS = int(EventKind.FAILED), int(EventKind.WAITS)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)
_exc_info = sys.exc_info
exception: Callable[[], BaseException | None] = getattr(sys, "exception", lambda: _exc_info()[1])
"""`sys.exception`, which Python 3.10 does not have."""
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class LiveRecord(ComponentRecord):
    """The record of a component of this process.

    `thread` receives the tuples; `batcher` is the framework's own batch thread. `fresh` is the tuple that was read
    and has reached no handler yet. `hidden` says, for each way to complete a tuple, what a test has put before the
    wire. `is_plain` is set once no more mocks are looked for. `raised` is the handler call that an exception last left.
    """

    def __init__(
        self,
        component: object,
        dialect: Dialect,
        role: Role,
        ledger: Ledger,
        recorder: Recorder | None,
        written: WrittenMethods,
    ) -> None:
        name = type(component).__qualname__
        traced = TracedComponent(name=name, dialect=dialect.name, role=role.name, path="", line=0)
        super().__init__(traced, role, ledger.sites, cap=ledger.cap)
        self.component = component
        self.dialect = dialect
        self.ledger = ledger
        self.written = written
        self.thread = self.batcher = 0
        self.fresh: Any = None
        self.is_plain = False
        self.mocked = Mocked()
        self.mock_arguments = MockArguments()
        self.hidden: dict[VerbKind, str] = {}
        self.raised = 0
        self._handed: dict[Hashable, str] = {}  # the mock that was called with a tuple
        self._played: Counter[VerbKind] = Counter()  # completions that nothing has sent
        self._read_counts: dict[VerbKind, int] = {}  # emits, acks and fails when mocks were read last
        self._is_spout = role.kind is Kind.SPOUT
        self._names_anchors: dict[int, bool] = {}  # by site
        self._now, self._windows, self._along = ledger.now, ledger.windows, ledger.sites.along
        self._emit_path, self._ack_path = CallPath(), CallPath()
        self._recorder = recorder
        self._row: tuple[str, int] | None = None  # component and task in its rows
        self._templates: dict[Hashable, Template] = {}

    # ---- what only a live component knows ----

    @property
    def traced_now(self) -> TracedComponent:
        """The component with its switches as they are now."""
        return describe(self.component, self.dialect, self.role)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Fields in which the framework keeps tuples that it completes itself."""
        return self.dialect.wire.buffers if self.dialect.wire else ()

    def held(self, deliveries: Collection[Hashable], *, ids: bool = False) -> Mapping[Hashable, str]:
        """The component's field that holds each delivery, except fields in which a test has put a mock for a verb."""
        wire = self.dialect.wire
        hands = wire.hands if wire and not self.handler else ()
        besides = {*hands, *(verb.name for verb in self.role.verbs)}
        return fields_holding(self.component, deliveries, besides, ids=ids)

    def waits(self) -> bool:
        """Whether a spout implements ack or fail."""
        kinds = (EntryKind.ACKED, EntryKind.FAILED)
        handlers = (entry.method for entry in self.role.entries if entry.kind in kinds)
        return any(overrides(type(self.component), self.role, method) for method in handlers)

    def interrupted(self) -> Collection[Hashable]:
        """The open deliveries in a field when an exception left a handler, which may have been flushing them."""
        came = {delivery for delivery, opened in self.overdue() if opened.entry <= self.raised}
        held = self.held(came) if came else {}
        return [delivery for delivery, field in held.items() if field not in self.buffers]

    # ---- input ----

    def read(self, tup: Any) -> None:
        """The framework has read a tuple and will call a handler with it."""
        try:
            stream = tup.stream
            if (self.fresh is not None or stream in _SYSTEM) and self._read_unusual(tup):
                return
            self.fresh = tup
            self.thread = get_ident()
            now = self._now()
            delivery = tup.id
            if self._recorder is None:
                self.received(delivery, now)
            else:
                text = _as_json(delivery)
                self.received(delivery, now, text)
                template = self._templates.get(stream) or self._keep(stream, _RECEIVED, 0, 0, stream)
                self._recorder.put(template, text)
            if now >= self._windows.due:
                self.ledger.grow(now)
        except Exception as error:  # noqa: BLE001 - never into the component
            self.ledger.note_internal_error(error)

    def _read_unusual(self, tup: Any) -> bool:
        """Whether it is a system tuple. The tuple before may have reached no handler."""
        if self.fresh is not None:
            self._skip_handler()
        if tup.stream not in _SYSTEM:
            return False
        self.fresh = tup
        self.thread = get_ident()
        if tup.stream == TICKS:
            self.tick_read(tup.id, tup.stream)
        return True

    def _skip_handler(self) -> None:
        """No handler was called with the tuple that was read: a test read it by hand, or has replaced the handler."""
        self.excuse(self.fresh.id)
        self.fresh = None
        for entry in self.role.entries:
            if entry.kind is EntryKind.DATA and not is_ours(getattr(self.component, entry.method, None)):
                self.hidden.setdefault(VerbKind.ACK, f"{entry.method} is replaced")

    def tick_read(self, delivery: Hashable, stream: Any) -> None:
        """A tick was read, or handed to a handler."""
        self.ticked(delivery, self._now())
        self._write(_RECEIVED, delivery, 0, TICK, stream)

    def handed(self, delivery: Hashable, stream: Any) -> None:
        """A handler was called with a tuple that the framework has not read."""
        self.received(delivery, self._now(), _as_json(delivery))
        self._write(_RECEIVED, delivery, 0, 0, stream)

    # ---- output ----

    def sent(self, message: Any) -> None:
        """The component sends a multilang message. First the usual one: an emit with one open anchor."""
        try:
            anchors = message.get("anchors")
            if anchors.__class__ is list and len(anchors) == 1 and anchors[0].__class__ is str:
                opened = self.open.get(anchors[0])
                if opened is not None and get_ident() == self.thread:
                    self.emits += 1
                    if self._recorder is not None:
                        site, stream = self._along(self._emit_path), message.get("stream")
                        key = (site, stream)
                        template = self._templates.get(key) or self._keep(
                            key, _EMITTED, site, RELIABLE, stream
                        )
                        self._recorder.put(template, opened[2])
                    return
            command = message["command"]
            if command == "ack":
                self._acks(message["id"], self._along(self._ack_path))
            elif command == "fail":
                self._fails(message["id"])
            elif command == "emit" and self._is_spout:
                self._spout_emits(message.get("id"), message.get("stream"))
            elif command == "emit":
                self._emits(message.get("anchors", ()), message.get("stream"), None)
        except Exception as error:  # noqa: BLE001 - never into the component
            if isinstance(message, dict) and "command" in message:  # else task ids, or no message at all
                self.ledger.note_internal_error(error)

    def called(self, verb: Verb, arguments: Mapping[str, Any]) -> None:
        """The component calls a verb, in a framework without messages (heronpy)."""
        try:
            if verb.kind is VerbKind.EMIT and verb.message_id is not None:
                self._spout_emits(arguments.get(verb.message_id), arguments.get("stream"))
            elif verb.kind is VerbKind.EMIT:
                anchors = arguments.get(verb.anchors or "")
                ids = [getattr(anchor, "id", anchor) for anchor in anchors or ()]
                self._emits(ids, arguments.get("stream"), verb.anchors not in arguments)
            elif verb.kind in _COMPLETES:
                delivery = id_of(arguments.get(verb.subject or ""), self)
                if verb.kind is VerbKind.ACK:
                    self._acks(delivery, self.sites.here())
                else:
                    self._fails(delivery)
        except Exception as error:  # noqa: BLE001 - never into the component
            self.ledger.note_internal_error(error)

    def _acks(self, delivery: Hashable, site: int) -> None:
        if delivery.__class__ is not str:
            delivery = id_of(delivery, self)
        if get_ident() != self.thread or exception() is not None:
            self._completes_unusually(_ACKED, delivery, site)
            return
        opened = self.acked(delivery, site)
        if self._recorder is not None:
            template = self._templates.get(site) or self._keep(site, _ACKED, site, 0, None)
            self._recorder.put(template, opened[2] if opened is not None else _as_json(delivery))

    def _fails(self, delivery: Hashable) -> None:
        self._completes_unusually(_FAILED, id_of(delivery, self), self.sites.here())

    def _completes_unusually(self, kind: int, delivery: Hashable, site: int) -> None:
        """A fail; or an ack from another thread or while an exception is handled.

        The row comes first: the end of a test waits until the record has nothing open.
        """
        thread = self._thread_name()
        place = self.sites[site] if site else None
        in_except = place is not None and not place.framework and self._is_handling()
        mark = Mark(thread=thread, in_except=in_except, time_ns=self._now()) if thread or in_except else None
        self._write(kind, delivery, site, 0, None, thread)
        (self.acked if kind == _ACKED else self.failed)(delivery, site, mark)

    def _emits(
        self,
        anchors: Sequence[Hashable],
        stream: Any,
        bare: bool | None,  # noqa: FBT001 - a property of the call
    ) -> None:
        """A bolt emits. `bare`: the call leaves the anchors to the framework; None if only the bytecode can tell."""
        if anchors and get_ident() == self.thread and _all_in(anchors, self.open):
            self.emits += 1
            if self._recorder is not None:
                self._write_emit(anchors, self.sites.here(), RELIABLE, stream, "")
            return
        site, thread = self.sites.here(), self._thread_name()
        if bare is None:
            bare = (not anchors or bool(thread)) and self._is_bare(site)
        mark = Mark(thread=thread, bare=bare, time_ns=self._now()) if thread or bare else None
        misuse = _anchor_misuse(anchors, self)
        ids = [id_of(anchor, self) for anchor in anchors]
        self.emitted(() if misuse else ids, site, mark)
        if misuse is not None:
            self.misused(misuse, AccessKind.EMITTED, self.current, site, mark)
        self._write_emit(ids, site, (RELIABLE if anchors else 0) | (BARE if bare else 0), stream, thread)

    def _spout_emits(self, message_id: Hashable, stream: Any) -> None:
        site = self.sites.here()
        self.spouted(message_id, site)
        ids, flags = ((), 0) if message_id is None else ((message_id,), RELIABLE)
        self._write_emit(ids, site, flags, stream, self._thread_name())

    def unwritable(self, message: Any) -> None:
        """The serializer could not write a message: it raises, or only logs."""
        try:
            is_emit = isinstance(message, dict) and message.get("command") == "emit"
            if is_emit and not (_has_stand_in(message) or _is_writable(message)):
                self.misused(Misuse.PAYLOAD_OPAQUE, AccessKind.EMITTED, self.current, self.sites.here())
        except Exception as error:  # noqa: BLE001 - never into the component
            self.ledger.note_internal_error(error)

    def play(self, kind: VerbKind, delivery: Hashable, site: int) -> None:
        """Do the framework's ack or fail after a direct call of a handler: neither wire nor mock sees it."""
        acks = kind is VerbKind.ACK
        (self.acked if acks else self.failed)(delivery, site)
        self._played[kind] += 1
        self._read_counts = self._counts()
        self._write(_ACKED if acks else _FAILED, delivery, site, 0)

    # ---- thread, exception, anchors ----

    def _thread_name(self) -> str:
        """The name of this thread; '' for the threads in which the framework runs the component."""
        if get_ident() in (self.thread, self.batcher) or not self.thread:
            return ""
        return threading.current_thread().name

    def _is_handling(self) -> bool:
        """Whether the author's own frames, up to the framework's, are inside an `except`.

        A traceback begins with the frame that caught the exception.
        """
        trace = _exc_info()[2]
        frame: FrameType | None = _getframe(1)
        author = False
        while trace is not None and frame is not None:
            foreign = self.sites.is_foreign(frame)
            if author and foreign:
                return False
            author = author or not foreign
            if frame is trace.tb_frame:
                return True
            frame = frame.f_back
        return False

    def _is_bare(self, site: int) -> bool:
        """Whether the call at `site` leaves the anchors to the framework. In doubt: no."""
        if site not in self._names_anchors:
            spot = self.sites.spot(site)
            name = called_function(spot[0]) if spot else ""
            emits = (VerbKind.EMIT, VerbKind.EMIT_MANY)
            verbs = (v for v in self.dialect.verbs_of(self.role) if v.name == name and v.kind in emits)
            verb = next(verbs, None)
            self._names_anchors[site] = (
                spot is None
                or verb is None
                or verb.anchors is None
                or passes(*spot, verb.anchors, verb.params.index(verb.anchors))
            )
        return not self._names_anchors[site]

    # ---- mocks ----

    def look_for_mocks(self) -> None:
        """Find the mocks that a test has put around this component."""
        component, dialect, role = self.component, self.dialect, self.role
        self.hidden |= look(component, dialect, role, self.mocked, self.written)
        self.mock_arguments.begin(component, dialect, role)
        if why := self.written.completes_unseen(component, dialect, role):
            self.hidden |= dict.fromkeys(_COMPLETES, why)

    def read_mocks(self) -> None:
        """Record the calls of mocked verbs since the last look.

        A spy calls the verb that it replaces: calls that came over the wire meanwhile are not recorded again.
        """
        if not self.mocked:
            return
        passed: Counter[tuple[VerbKind, Hashable]] = Counter()  # by verbs' mocks, maybe on to the wire's
        wired = {kind: count - self._read_counts.get(kind, 0) for kind, count in self._counts().items()}
        for call in self.mocked.calls(self.component):
            kind = call.verb.kind
            delivery = id_of(call.arguments.get(call.verb.subject or ""), self)
            emits = kind is VerbKind.EMIT
            key = (kind, None if emits else delivery)
            if call.wired and passed[key]:
                passed[key] -= 1
                continue
            passed[key] += not call.wired
            outside = self.mocked.shared and not (self.handler or call.own)
            is_open = not emits and delivery in self.open
            if outside and not is_open:
                continue  # another component's
            if self.mocked.shared and not outside:
                self.mocked.claim(call)
            if wired[kind] > 0 and not is_open:
                wired[kind] -= 1
                continue
            self._mock_called(call.verb, call.arguments, delivery)
        if self.mocked.forgotten:
            self.hidden |= dict.fromkeys(_COMPLETES, "the mock of its wire was reset")
        self.hidden |= {kind: why for kind, why in self.mocked.raised.items() if kind in _COMPLETES}
        self._read_counts = self._counts()

    def _mock_called(self, verb: Verb, arguments: Mapping[str, Any], delivery: Hashable) -> None:
        if verb.kind is VerbKind.ACK:
            self.acked(delivery)
            self._write(_ACKED, delivery, 0, 0)
        elif verb.kind is VerbKind.FAIL:
            self.failed(delivery)
            self._write(_FAILED, delivery, 0, 0)
        else:
            if verb.message_id is not None:
                message_id = arguments.get(verb.message_id)
                ids = [] if message_id is None else [message_id]
                self.spouted(message_id)
            else:
                anchors = [id_of(anchor, self) for anchor in arguments.get(verb.anchors or "") or ()]
                ids = [anchor for anchor in anchors if not self._is_just_done(anchor)]
                self.emitted(ids)
            self._write_emit(ids, 0, RELIABLE if ids else 0, None, "")

    def _is_just_done(self, delivery: Delivery) -> bool:
        """Whether it was completed in this handler call: the mock may have been called before that."""
        closed = self._closed(delivery)
        return closed is not None and closed.entry == self.entry

    def _counts(self) -> dict[VerbKind, int]:
        return {VerbKind.EMIT: self.emits, VerbKind.ACK: self.acks, VerbKind.FAIL: self.fails}

    def note_handed_tuples(self) -> None:
        """Note the tuples that this handler call has passed to a mock: its original may complete them."""
        if self.mock_arguments and self.open:
            self._handed |= self.mock_arguments.tuples(self.component, self.open)

    def close(self) -> str:
        """Read the mocks once more; returns what hid the component's completions, or ''."""
        self.read_mocks()
        if self.fresh is not None:
            self._skip_handler()
        to_mocks = [self._handed[delivery] for delivery in self.open if delivery in self._handed]
        for delivery in self._handed:
            self.excuse(delivery)
        counts = self._counts()
        seen = {kind for kind in _COMPLETES if counts[kind] > self._played[kind]}
        unseen = [why for kind, why in self.hidden.items() if kind not in seen]
        why = ""
        if unseen and (self.open or not seen):
            for delivery in self.open:
                self.excuse(delivery)
            why = unseen[0]
        elif to_mocks:
            why = f"{to_mocks[0]} is a mock"
        if why and self._row is not None:
            self._write_name(self._row, f"{UNOBSERVED}{why}")
        self.report_waiting()
        return why

    # ---- rows ----

    def report_waiting(self) -> None:
        """Write the deliveries that the framework keeps for a batch that will not come."""
        if self._recorder is not None and (owed := {delivery for delivery, _ in self.overdue()}):
            for delivery, field in self.held(owed).items():
                if field in self.buffers:
                    self._write(_WAITS, delivery, 0, 0)

    def write_death(self) -> None:
        """An exception has left a handler whose tuple the framework does not fail."""
        if self._recorder is not None:
            component, task = self._row or self._name()
            note = f"exception: {type(exception()).__name__}"
            self._recorder.write(EventKind.DIED, component, task, note=note)

    def _write(
        self, kind: int, delivery: Hashable, site: int, flags: int, stream: Any = None, thread: str = ""
    ) -> None:
        if self._recorder is not None:
            template = self._template(kind, site, flags, stream, thread)
            self._recorder.put(template, _as_json(delivery))

    def _write_emit(
        self, anchors: Sequence[Hashable], site: int, flags: int, stream: Any, thread: str
    ) -> None:
        """A row for the emit, and one for each anchor after the first."""
        self._write(_EMITTED, anchors[0] if anchors else "", site, flags, stream, thread)
        for anchor in anchors[1:]:
            self._write(_ANCHORED, anchor, site, flags, None, thread)

    def _keep(self, key: Hashable, kind: int, site: int, flags: int, stream: Any) -> Template:
        """Make the template of a frequent row: RECEIVED by its stream, ACKED by its site, EMITTED by both."""
        if len(self._templates) >= _MAX_TEMPLATES:
            self._templates.clear()
        template = self._templates[key] = self._template(kind, site, flags, stream, "")
        return template

    def _template(self, kind: int, site: int, flags: int, stream: Any, thread: str) -> Template:
        component, task = self._row or self._name()
        place = self.sites[site]
        flags |= AUTO if place is not None and place.framework else 0
        on = "" if stream is None else str(stream)
        return Recorder.template(kind, component, task, on, str(place or ""), flags, thread)

    def _name(self) -> tuple[str, int]:
        traced = self.traced_now
        self._row = (traced.name, traced.task)
        self._write_name(self._row)
        return self._row

    def _write_name(self, row: tuple[str, int], more: str = "") -> None:
        if self._recorder is not None:
            traced = self.traced_now
            site = f"{traced.path}:{traced.line} {traced.name}" if traced.path else ""
            self._recorder.write(EventKind.NAMED, *row, site=site, note=described(traced) + more)


def _as_json(delivery: Any) -> str:
    """A delivery as a row holds it."""
    text = delivery if delivery.__class__ is str else str(delivery)
    return quoted(text if text.isascii() else printable(text))


def _all_in(anchors: Sequence[Hashable], known: Container[Hashable]) -> bool:
    """Whether all anchors are known; an unhashable object is no id."""
    try:
        return all(anchor in known for anchor in anchors)
    except TypeError:
        return False


def id_of(delivery: Hashable, record: ComponentRecord) -> Hashable:
    """The id of a tuple; a test's stand-in arrives as an object."""
    if delivery.__class__ in (str, int) or _all_in((delivery,), record):
        return delivery
    known: Hashable = getattr(delivery, "id", delivery)
    try:
        hash(known)
    except TypeError:
        return str(known)
    return known


def _anchor_misuse(anchors: Sequence[Hashable], record: LiveRecord) -> Misuse | None:
    """`anchors=tup.id` arrives as the characters of an id, `anchors=tup` as the five fields of a tuple."""
    if len(anchors) > 1 and all(isinstance(anchor, str) and len(anchor) == 1 for anchor in anchors):
        return Misuse.ANCHOR_ID if "".join(map(str, anchors)) in record else None
    values = anchors[_TUPLE_FIELDS - 1] if len(anchors) >= _TUPLE_FIELDS else None
    return Misuse.ANCHOR_SHAPE if isinstance(values, tuple | list) and anchors[0] in record else None


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
