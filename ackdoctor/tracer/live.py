"""The record of a component of this process, and the rows that it writes at level `trace`."""

from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Mapping, Sequence
from typing import Any

from ackdoctor.model.dialect import Dialect, EntryKind, Role, Verb, VerbKind
from ackdoctor.model.trace import AUTO, RELIABLE, EventKind, TracedComponent
from ackdoctor.tracer.components import UNOBSERVED, describe, described, holders, overrides
from ackdoctor.tracer.mocks import MockArguments, Mocked
from ackdoctor.tracer.patches import is_ours
from ackdoctor.tracer.record import ComponentRecord, Delivery
from ackdoctor.tracer.recorder import Recorder, Template
from ackdoctor.tracer.sites import Sites
from ackdoctor.tracer.trace_files import printable, quoted

__all__ = ["LiveRecord", "Rows", "all_in", "as_json", "id_of"]


_COMPLETES = (VerbKind.ACK, VerbKind.FAIL)


class LiveRecord(ComponentRecord):
    """The record of a component of this process.

    `thread` receives the tuples; `batcher` is the framework's own batch thread. `fresh` is the tuple that was read
    and has reached no handler yet. `hidden` says, for each way to complete a tuple, what a test has put before the
    wire. `handed` names the mock that was called with a tuple. `played` counts completions that nothing has sent.
    `heard` are the numbers of emits, acks and fails when mocks were read last.
    """

    __slots__ = (
        "batcher",
        "component",
        "dialect",
        "fresh",
        "handed",
        "heard",
        "hidden",
        "is_plain",
        "mock_arguments",
        "mocked",
        "on_hidden",
        "on_mocked",
        "on_waiting",
        "played",
        "raised",
        "row",
        "templates",
        "thread",
    )

    def __init__(self, component: object, dialect: Dialect, role: Role, *, cap: int) -> None:
        name = type(component).__qualname__
        traced = TracedComponent(name=name, dialect=dialect.name, role=role.name, path="", line=0)
        super().__init__(traced, role, cap=cap)
        self.component = component
        self.dialect = dialect
        self.thread = self.batcher = 0
        self.fresh: Any = None
        self.is_plain = False  # once no more mocks are looked for
        self.mocked = Mocked()
        self.mock_arguments = MockArguments()
        self.handed: dict[Hashable, str] = {}
        self.heard: dict[VerbKind, int] = {}
        self.hidden: dict[VerbKind, str] = {}
        self.played: Counter[VerbKind] = Counter()
        self.raised = 0  # in which call an exception last left a handler
        self.row: tuple[str, int] | None = None  # component and task in its rows
        self.templates: dict[Hashable, Template] = {}  # of its rows, see `Rows`
        self.on_mocked: Callable[[LiveRecord, VerbKind, list[Hashable]], None] = _ignore
        self.on_hidden: Callable[[LiveRecord, str], None] = _ignore
        self.on_waiting: Callable[[LiveRecord, list[Hashable]], None] = _ignore

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
        return holders(self.component, deliveries, besides, ids=ids)

    def waits(self) -> bool:
        """Whether a spout implements ack or fail."""
        handlers = (
            entry.method for entry in self.role.entries if entry.kind in (EntryKind.ACKED, EntryKind.FAILED)
        )
        return any(overrides(type(self.component), self.role, method) for method in handlers)

    def read_mocks(self) -> None:
        """Record the calls of mocked verbs since the last look.

        A spy calls the verb that it replaces: calls that came over the wire meanwhile are not recorded again.
        """
        if not self.mocked:
            return
        passed: Counter[tuple[VerbKind, Hashable]] = Counter()  # by verbs' mocks, maybe on to the wire's
        wired = {kind: count - self.heard.get(kind, 0) for kind, count in self._counts().items()}
        for call in self.mocked.calls(self.component):
            verb, arguments = call.verb, call.arguments
            subject = arguments.get(verb.subject or "")
            delivery = id_of(subject, self)
            key = (verb.kind, None if verb.kind is VerbKind.EMIT else delivery)
            if call.wired and passed[key]:
                passed[key] -= 1
                continue
            passed[key] += not call.wired
            outside = self.mocked.shared and not (self.handler or call.own)
            if outside and (verb.kind is VerbKind.EMIT or delivery not in self.open):
                continue  # another component's
            if self.mocked.shared and not outside:
                self.mocked.claim(call)
            if wired[verb.kind] > 0 and (verb.kind is VerbKind.EMIT or delivery not in self.open):
                wired[verb.kind] -= 1
                continue
            self._mocked(verb, arguments, delivery)
        if self.mocked.forgotten:
            self.hidden |= dict.fromkeys(_COMPLETES, "the mock of its wire was reset")
        self.hidden |= {kind: why for kind, why in self.mocked.raised.items() if kind in _COMPLETES}
        self.heard = self._counts()

    def _mocked(self, verb: Verb, arguments: Mapping[str, Any], delivery: Hashable) -> None:
        ids: list[Hashable] = [delivery]
        if verb.kind is VerbKind.ACK:
            self.acked(delivery)
        elif verb.kind is VerbKind.FAIL:
            self.failed(delivery)
        elif verb.message_id is not None:
            message_id = arguments.get(verb.message_id)
            ids = [] if message_id is None else [message_id]
            self.spouted(message_id)
        else:
            anchors = [id_of(anchor, self) for anchor in arguments.get(verb.anchors or "") or ()]
            ids = [anchor for anchor in anchors if not self._is_just_done(anchor)]
            self.emitted(ids)
        self.on_mocked(self, verb.kind, ids)

    def _is_just_done(self, delivery: Delivery) -> bool:
        """Whether it was completed in this handler call: the mock may have been called before that."""
        closed = self._closed(delivery)
        return closed is not None and closed.entry == self.entry

    def play(self, kind: VerbKind) -> None:
        """The tracer did the framework's last completion after a direct call: neither wire nor mock has seen it."""
        self.played[kind] += 1
        self.heard = self._counts()

    def _counts(self) -> dict[VerbKind, int]:
        return {VerbKind.EMIT: self.emits, VerbKind.ACK: self.acks, VerbKind.FAIL: self.fails}

    def skip_handler(self) -> None:
        """No handler was called with the tuple that was read: a test read it by hand, or has replaced the handler."""
        self.excuse(self.fresh.id)
        self.fresh = None
        for entry in self.role.entries:
            if entry.kind is EntryKind.DATA and not is_ours(getattr(self.component, entry.method, None)):
                self.hidden.setdefault(VerbKind.ACK, f"{entry.method} is replaced")

    def hand_on(self) -> None:
        """Note the tuples that this handler call has passed to a mock: its original may complete them."""
        if self.mock_arguments and self.open:
            self.handed |= self.mock_arguments.tuples(self.component, self.open)

    def close(self) -> str:
        """Read the mocks once more; returns what hid the component's completions, or ''."""
        self.read_mocks()
        if self.fresh is not None:
            self.skip_handler()
        to_mocks = [self.handed[delivery] for delivery in self.open if delivery in self.handed]
        for delivery in self.handed:
            self.excuse(delivery)
        counts = self._counts()
        seen = {kind for kind in _COMPLETES if counts[kind] > self.played[kind]}
        unseen = [why for kind, why in self.hidden.items() if kind not in seen]
        why = ""
        if unseen and (self.open or not seen):
            for delivery in self.open:
                self.excuse(delivery)
            why = unseen[0]
        elif to_mocks:
            why = f"{to_mocks[0]} is a mock"
        if why:
            self.on_hidden(self, why)
        self.report_waiting()
        return why

    def interrupted(self) -> Collection[Hashable]:
        """The open deliveries in a field when an exception left a handler, which may have been flushing them."""
        came = {delivery for delivery, opened in self.overdue() if opened.entry <= self.raised}
        held = self.held(came) if came else {}
        return [delivery for delivery, field in held.items() if field not in self.buffers]

    def report_waiting(self) -> None:
        """Report the deliveries that the framework keeps for a batch that will not come."""
        if self.on_waiting is not _ignore and (owed := {delivery for delivery, _ in self.overdue()}):
            held = self.held(owed)
            self.on_waiting(self, [delivery for delivery, field in held.items() if field in self.buffers])


def _ignore(record: LiveRecord, *facts: object) -> None:
    """Used where no rows are written."""


def all_in(anchors: Sequence[Hashable], known: Container[Hashable]) -> bool:
    """Whether all anchors are known; an unhashable object is no id."""
    try:
        for anchor in anchors:
            if anchor not in known:
                return False
    except TypeError:
        return False
    return True


def id_of(delivery: Hashable, record: LiveRecord) -> Hashable:
    """The id of a tuple; a test's stand-in arrives as an object."""
    if delivery.__class__ in (str, int) or all_in((delivery,), record):
        return delivery
    known: Hashable = getattr(delivery, "id", delivery)
    try:
        hash(known)
    except TypeError:
        return str(known)
    return known


_MAX_TEMPLATES = 4_096  # of one component: streams may have any number of names
_RECEIVED, _ACKED = int(EventKind.RECEIVED), int(EventKind.ACKED)
_FAILED, _WAITS = int(EventKind.FAILED), int(EventKind.WAITS)
_EMITTED, _ANCHORED = int(EventKind.EMITTED), int(EventKind.ANCHORED)


class Rows:
    """Rows of live components."""

    def __init__(self, recorder: Recorder, sites: Sites) -> None:
        self.recorder = recorder
        self._put = recorder.put
        self._sites = sites
        self._places: dict[int, tuple[str, int]] = {0: ("", 0)}

    # ---- frequent rows: `delivery` is JSON ----

    def received(self, record: LiveRecord, stream: Any, delivery: str) -> None:
        """A tuple was received."""
        template = record.templates.get(stream)
        if template is None:
            template = self._keep(record, stream, self._template(record, _RECEIVED, 0, 0, stream, ""))
        self._put(template, delivery)

    def emitted(self, record: LiveRecord, site: int, stream: Any, delivery: str) -> None:
        """An anchored emit from the component's thread."""
        template = record.templates.get((site, stream))
        if template is None:
            made = self._template(record, _EMITTED, site, RELIABLE, stream, "")
            template = self._keep(record, (site, stream), made)
        self._put(template, delivery)

    def acked(self, record: LiveRecord, site: int, delivery: str) -> None:
        """An ack from the component's thread."""
        template = record.templates.get(site)
        if template is None:
            template = self._keep(record, site, self._template(record, _ACKED, site, 0, None, ""))
        self._put(template, delivery)

    # ---- rows ----

    def write(
        self,
        record: LiveRecord,
        kind: int,
        delivery: Hashable,
        site: int,
        flags: int,
        stream: Any = None,
        thread: str = "",
    ) -> None:
        """Any row."""
        self._put(self._template(record, kind, site, flags, stream, thread), as_json(delivery))

    def emitted_unusual(
        self, record: LiveRecord, anchors: Sequence[Hashable], site: int, flags: int, stream: Any, thread: str
    ) -> None:
        """Any emit: a row for it, and one for each anchor after the first."""
        self.write(record, _EMITTED, anchors[0] if anchors else "", site, flags, stream, thread)
        for anchor in anchors[1:]:
            self.write(record, _ANCHORED, anchor, site, flags, None, thread)

    def mocked(self, record: LiveRecord, kind: VerbKind, ids: Sequence[Hashable]) -> None:
        """A call of a mock: the delivery that it completes, the anchors of an emit, or a spout's message id."""
        if kind is VerbKind.EMIT:
            self.emitted_unusual(record, ids, 0, RELIABLE if ids else 0, None, "")
        else:
            self.write(record, _ACKED if kind is VerbKind.ACK else _FAILED, ids[0], 0, 0)

    def unobserved(self, record: LiveRecord, why: str) -> None:
        """The component is not observed, and why."""
        if record.row is not None:
            self._named(record, record.row, f"{UNOBSERVED}{why}")

    def waiting(self, record: LiveRecord, deliveries: Sequence[Hashable]) -> None:
        """The deliveries that the framework keeps for its next batch."""
        for delivery in deliveries:
            self.write(record, _WAITS, delivery, 0, 0)

    def died(self, record: LiveRecord, note: str) -> None:
        """The end of a component."""
        self.recorder.write(EventKind.DIED, *(record.row or self._name(record)), note=note)

    def _keep(self, record: LiveRecord, key: Hashable, template: Template) -> Template:
        if len(record.templates) >= _MAX_TEMPLATES:
            record.templates.clear()
        record.templates[key] = template
        return template

    def _template(
        self, record: LiveRecord, kind: int, site: int, flags: int, stream: Any, thread: str
    ) -> Template:
        component, task = record.row or self._name(record)
        place, framework = self._places.get(site) or self._place(site)
        on = "" if stream is None else str(stream)
        return self.recorder.template(kind, component, task, on, place, flags | framework, thread)

    def _name(self, record: LiveRecord) -> tuple[str, int]:
        traced = record.traced_now
        record.row = (traced.name, traced.task)
        self._named(record, record.row)
        return record.row

    def _named(self, record: LiveRecord, row: tuple[str, int], more: str = "") -> None:
        traced = record.traced_now
        site = f"{traced.path}:{traced.line} {traced.name}" if traced.path else ""
        self.recorder.write(EventKind.NAMED, *row, site=site, note=described(traced) + more)

    def _place(self, site: int) -> tuple[str, int]:
        place = self._sites[site]
        found = (str(place), AUTO if place.framework else 0) if place else ("", 0)
        self._places[site] = found
        return found


def as_json(delivery: Any) -> str:
    """A delivery as a row holds it."""
    text = delivery if delivery.__class__ is str else str(delivery)
    return quoted(text if text.isascii() else printable(text))
