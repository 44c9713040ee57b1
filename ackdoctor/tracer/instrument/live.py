"""The book of a component that runs in this process, and what the instrumentation remembers about it."""

from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Mapping, Sequence
from typing import Any

from ackdoctor.model.dialect import Dialect, EntryKind, Role, Verb, VerbKind
from ackdoctor.model.violation import TracedComponent
from ackdoctor.tracer.instrument.given import Given
from ackdoctor.tracer.instrument.mocks import Mocked
from ackdoctor.tracer.instrument.patches import is_ours
from ackdoctor.tracer.ledger.book import Book, Delivery
from ackdoctor.tracer.ledger.holding import holders
from ackdoctor.tracer.ledger.suspects import describe, overrides
from ackdoctor.tracer.trace.write import Template

__all__ = ["LiveBook", "all_in", "id_of"]

_COMPLETES = (VerbKind.ACK, VerbKind.FAIL)


class LiveBook(Book):
    """The book of a component of this process.

    `thread` receives the tuples; `batcher` is the framework's own batch thread. `fresh` is the tuple that was read
    and has reached no handler yet. `hidden` says, for each way to complete a tuple, what a test has put before the
    wire. `handed` names the mock that a tuple was given to. `played` counts completions that nothing has sent.
    `heard` are the numbers of emits, acks and fails when mocks were read last.
    """

    __slots__ = (
        "batcher",
        "component",
        "dialect",
        "fresh",
        "given",
        "handed",
        "heard",
        "hidden",
        "is_plain",
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
        self.given = Given()
        self.handed: dict[Hashable, str] = {}
        self.heard: dict[VerbKind, int] = {}
        self.hidden: dict[VerbKind, str] = {}
        self.played: Counter[VerbKind] = Counter()
        self.raised = 0  # in which call an exception last left a handler
        self.row: tuple[str, int] | None = None  # component and task in its rows
        self.templates: dict[Hashable, Template] = {}  # of its rows, see `Rows`
        self.on_mocked: Callable[[LiveBook, VerbKind, list[Hashable]], None] = _ignore
        self.on_hidden: Callable[[LiveBook, str], None] = _ignore
        self.on_waiting: Callable[[LiveBook, list[Hashable]], None] = _ignore

    @property
    def accused(self) -> TracedComponent:
        """The component with its switches as they are now."""
        return describe(self.component, self.dialect, self.role)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Fields in which the framework keeps tuples that it will complete in time."""
        return self.dialect.wire.buffers if self.dialect.wire else ()

    def held(self, deliveries: Collection[Hashable], *, ids: bool = False) -> Mapping[Hashable, str]:
        """The component's field that still holds each; what a test has put there in a verb's place is none."""
        wire = self.dialect.wire
        hands = wire.hands if wire and not self.handler else ()
        besides = {*hands, *(verb.name for verb in self.role.verbs)}
        return holders(self.component, deliveries, besides, ids=ids)

    def waits(self) -> bool:
        """Whether a spout does something when it is told of its tuples."""
        told = (
            entry.method for entry in self.role.entries if entry.kind in (EntryKind.ACKED, EntryKind.FAILED)
        )
        return any(overrides(type(self.component), self.role, method) for method in told)

    def read_mocks(self) -> None:
        """Enters what mocked verbs were called with since the last look.

        A mock may call the verb that it stands for, as a spy does: what came over the wire meanwhile is not entered again.
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
        told: list[Hashable] = [delivery]
        if verb.kind is VerbKind.ACK:
            self.acked(delivery)
        elif verb.kind is VerbKind.FAIL:
            self.failed(delivery)
        elif verb.message_id is not None:
            message_id = arguments.get(verb.message_id)
            told = [] if message_id is None else [message_id]
            self.spouted(message_id)
        else:
            anchors = [id_of(anchor, self) for anchor in arguments.get(verb.anchors or "") or ()]
            told = [anchor for anchor in anchors if not self._is_just_done(anchor)]
            self.emitted(told)
        self.on_mocked(self, verb.kind, told)

    def _is_just_done(self, delivery: Delivery) -> bool:
        """Whether it was completed in this handler call: what a mock was called with may have come before."""
        closed = self._closed(delivery)
        return closed is not None and closed.entry == self.entry

    def play(self, kind: VerbKind) -> None:
        """The last completion was the framework's part, played after a direct call: no wire and no mock has seen it."""
        self.played[kind] += 1
        self.heard = self._counts()

    def _counts(self) -> dict[VerbKind, int]:
        return {VerbKind.EMIT: self.emits, VerbKind.ACK: self.acks, VerbKind.FAIL: self.fails}

    def skip_handler(self) -> None:
        """No handler was called with the tuple that was handed over: it was read by hand, or something stands in the handler's place."""
        self.excuse(self.fresh.id)
        self.fresh = None
        for entry in self.role.entries:
            if entry.kind is EntryKind.DATA and not is_ours(getattr(self.component, entry.method, None)):
                self.hidden.setdefault(VerbKind.ACK, f"{entry.method} is replaced")

    def hand_on(self) -> None:
        """Notes whose tuples this handler call has given to a mock: that stands for somebody who may complete them."""
        if self.given and self.open:
            self.handed |= self.given.tuples(self.component, self.open)

    def close(self) -> str:
        """Reads what mocks still have; returns what hid the component's completions, if something did."""
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
        """The open deliveries that a field holds since an exception left a handler: that may have been flushing them."""
        came = {delivery for delivery, opened in self.overdue() if opened.entry <= self.raised}
        held = self.held(came) if came else {}
        return [delivery for delivery, field in held.items() if field not in self.buffers]

    def report_waiting(self) -> None:
        """Report the deliveries that the framework keeps for a batch that will not come."""
        if self.on_waiting is not _ignore and (owed := {delivery for delivery, _ in self.overdue()}):
            held = self.held(owed)
            self.on_waiting(self, [delivery for delivery, field in held.items() if field in self.buffers])


def _ignore(book: LiveBook, *facts: object) -> None:
    """Used where no rows are written."""


def all_in(anchors: Sequence[Hashable], known: Container[Hashable]) -> bool:
    """Whether all anchors are among the known; what cannot be hashed is no id."""
    try:
        for anchor in anchors:
            if anchor not in known:
                return False
    except TypeError:
        return False
    return True


def id_of(delivery: Hashable, book: LiveBook) -> Hashable:
    """What a component is handed a tuple under; frameworks send a test's own stand-in for a tuple whole."""
    if delivery.__class__ in (str, int) or all_in((delivery,), book):
        return delivery
    known: Hashable = getattr(delivery, "id", delivery)
    try:
        hash(known)
    except TypeError:
        return str(known)
    return known
