"""A spout's executor (SpoutExecutor.java, SpoutOutputCollectorImpl.java)."""

from collections.abc import Callable, Hashable, Iterator, Sequence

from ackdoctor.acker.spout import Heard, Reason, SpoutExecutor
from ackdoctor.lab.component import Spout, SpoutInfo
from ackdoctor.lab.topology import DEFAULT_STREAM
from ackdoctor.lab.traffic import Inbox, pace
from ackdoctor.lab.worker import Place, Worker
from ackdoctor.model.event import RELIABLE, EventKind
from ackdoctor.model.message import Answer, Tick

__all__ = ["SpoutThread"]


class SpoutThread:
    """Asks its spouts for tuples, and tells them what became of those."""

    def __init__(
        self, worker: Worker, component: str, tasks: tuple[int, ...], factory: Callable[[], Spout]
    ) -> None:
        self.component = component
        self.tasks = tasks
        self.inbox = Inbox(worker.held, worker.random)
        self.pace = pace(worker.random)
        self.running: Iterator[float] | None = None
        self.spouts: dict[int, Spout] = {}
        self.active = False
        self.awake = True  # False after a turn that brought nothing, until something happens
        self._factory = factory
        self._worker = worker
        self._places: dict[int, Place] = {}
        self._emits = 0
        self._eagerness = worker.random.random()

    def start(self) -> None:
        """Make the components anew and open them; the pending map is new, too."""
        worker, settings = self._worker, self._worker.topology.settings
        self.executor = SpoutExecutor(
            worker.profile,
            tasks=self.tasks,
            ids=worker.new_ids(),
            clock=worker.clock,
            message_timeout_s=settings.message_timeout_secs,
            ackers=len(worker.ackers),
            max_spout_pending=settings.max_spout_pending,
        )
        self.active = False
        self._places = {task: Place(worker, self.component, task) for task in self.tasks}
        self.spouts = {task: self._factory() for task in self.tasks}
        for task, spout in self.spouts.items():
            place = self._places[task]
            place.say_startup()
            spout.open(place, _SpoutOutput(self, place))

    def activate(self) -> None:
        """Start to ask."""
        if not self.active:
            self.active = self.awake = True
            for spout in self.spouts.values():
                spout.activate()

    def deactivate(self) -> None:
        """Stop to ask; answers are still heard."""
        if self.active:
            self.active = False
            for spout in self.spouts.values():
                spout.deactivate()

    def ready(self) -> bool:
        """Whether an answer waits, or the spouts may be asked."""
        return self.running is None and (self.inbox.ready() or self._may_ask())

    def _may_ask(self) -> bool:
        return self.awake and self.active and self.executor.may_emit()

    def begin(self) -> Iterator[float]:
        """Hear an answer or a tick, or ask the spouts."""
        if self._may_ask() and (not self.inbox.ready() or self._worker.random.random() < self._eagerness):
            yield from self._next_tuples()
            return
        parcel = self.inbox.take()
        self.awake = True
        match parcel.content:
            case Answer() as answer:
                heard = self.executor.hear(answer)
                if heard is not None:
                    self.tell(heard)
            case Tick():
                for heard in self.executor.tick():
                    self.tell(heard)

    def _next_tuples(self) -> Iterator[float]:
        """One call for each task, then max.spout.pending is looked at again (SpoutExecutor.java:185@v2.8.8)."""
        emits, now_ms = self._emits, self._worker.clock.now_ms()
        for spout in self.spouts.values():
            yield from spout.next_tuple() or ()
        self.awake = self._emits > emits or self._worker.clock.now_ms() > now_ms

    def emit(
        self, place: Place, values: Sequence[object], msg_id: Hashable, stream: str, task: int | None
    ) -> Sequence[int]:
        """The tuples, then the init."""
        self._emits += 1
        targets = place.targets(values, stream, task)
        emission = self.executor.emit(place.task, msg_id, len(targets))
        place.note(
            EventKind.EMITTED,
            stream=stream,
            delivery="" if msg_id is None else str(msg_id),
            root=emission.root or 0,
            flags=0 if msg_id is None else RELIABLE,
        )
        for target, message_id in zip(targets, emission.message_ids, strict=True):
            place.send_tup(values, stream, target, message_id)
        if emission.init is not None:
            place.send_message(emission.init)
        if emission.heard is not None:
            self.tell(emission.heard)
        return targets

    def tell(self, heard: Heard) -> None:
        """Call the spout's ack or fail."""
        place, spout = self._places[heard.task], self.spouts[heard.task]
        if heard.reason is Reason.TIMEOUT:
            place.note(EventKind.TIMED_OUT, delivery=str(heard.message_id), root=heard.root or 0)
        info = SpoutInfo(heard.message_id, heard.task)
        if heard.reason is Reason.ACK:
            spout.ack(heard.message_id)
            for hook in place.hooks:
                hook.spout_ack(info)
        else:
            spout.fail(heard.message_id)
            for hook in place.hooks:
                hook.spout_fail(info)


class _SpoutOutput:
    """One task's SpoutOutputCollector."""

    def __init__(self, thread: SpoutThread, place: Place) -> None:
        self._thread = thread
        self._place = place

    def emit(
        self,
        values: Sequence[object],
        *,
        msg_id: Hashable = None,
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """A root, if there is a message id."""
        return self._thread.emit(self._place, values, msg_id, stream, task)
