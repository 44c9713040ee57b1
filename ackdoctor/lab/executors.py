"""The executors of ackers, bolts and spouts (BoltExecutor.java, SpoutExecutor.java)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from math import ceil
from typing import Generic, TypeVar

from ackdoctor.acker.acker import Acker, StreamManagerError
from ackdoctor.acker.executors import (
    BoltCollector,
    Reason,
    SpoutExecutor,
    SpoutResult,
    TupleInfo,
    make_collector,
)
from ackdoctor.lab.component import Bolt, BoltInfo, Spout, SpoutInfo, Tup, WorkerDiedError
from ackdoctor.lab.runtime import Inbox, Parcel, Runtime, TaskContext, draw_speed
from ackdoctor.lab.topology import ACKER, DEFAULT_STREAM
from ackdoctor.model.acker import (
    AckAck,
    AckFail,
    AckInit,
    Answer,
    AnswerKind,
    Engine,
    Message,
    ResetTimeout,
    Tick,
)
from ackdoctor.model.dialect import Dialect, Discipline, Kind, Role
from ackdoctor.model.trace import RELIABLE, TICK, EventKind
from ackdoctor.tracer.components import belongs, describe, described

C = TypeVar("C", bound=Bolt | Spout)


_RECEIVED = {AckInit: EventKind.INIT, AckFail: EventKind.FAIL, ResetTimeout: EventKind.RESET}
_ANSWERED = {
    AnswerKind.ACK: EventKind.COMPLETED,
    AnswerKind.FAIL: EventKind.GAVE_UP,
    AnswerKind.RESET: EventKind.EXTENDED,
}
_BOLT = Role(
    name="IRichBolt", kind=Kind.BOLT, classes=(), entries=(), verbs=(), discipline=Discipline()
)  # a Python object with the methods of Storm's Java API
_STORM = Dialect(name="storm", language="java", title="Storm", words=(), roles=(_BOLT,))


class Executor(ABC):
    """One thread and its tasks."""

    def __init__(self, runtime: Runtime, component: str, tasks: tuple[int, ...]) -> None:
        self.component = component
        self.tasks = tasks
        self.inbox = Inbox(runtime.held, runtime.random)
        self.speed = draw_speed(runtime.random)  # relative to other executors
        self.running: Iterator[float] | None = None  # the work in progress
        self.down = False
        self._runtime = runtime

    @abstractmethod
    def start(self) -> None:
        """Create the components and open them."""

    def ready(self) -> bool:
        """Whether there is a message or a call to process, once no task is executing."""
        return self.inbox.ready()

    @abstractmethod
    def begin(self) -> Iterator[float]:
        """Run one step; yields the seconds that it takes."""

    @abstractmethod
    def stop(self) -> int:
        """End the components, as the death of the worker does; return the size of the pending map, which is lost."""


class AckerThread(Executor):
    """The executor of an acker task: passes each message to the acker, and the answer to the spout."""

    def __init__(self, runtime: Runtime, task: int, make: Callable[[], Acker]) -> None:
        super().__init__(runtime, ACKER, (task,))
        self._make = make

    def start(self) -> None:
        """Create an empty acker."""
        self.acker = self._make()

    def stop(self) -> int:
        """Return the number of entries, which are lost: `start` creates an empty acker."""
        return len(self.acker)

    def begin(self) -> Iterator[float]:
        """Process one message; takes no time."""
        parcel, (task,) = self.inbox.take(), self.tasks
        message = parcel.content
        assert not isinstance(message, Tup | Answer), "only messages are sent to ackers"
        self._trace_message(message, parcel)
        try:
            answer = self.acker.receive(message)
        except StreamManagerError as error:
            raise WorkerDiedError(str(error)) from error
        if answer is not None:
            self._runtime.note(ACKER, task, _ANSWERED[answer.kind], root=answer.root)
            self._runtime.send(Parcel(task, answer.task, answer))
        return iter(())

    def _trace_message(self, message: Message, parcel: Parcel) -> None:
        """Record the message under its sender's name, in the order in which the acker receives messages.

        A trace has one pending map, so only the first acker's rotations are recorded.
        """
        runtime, (task,) = self._runtime, self.tasks
        if runtime.record is None:
            return
        if isinstance(message, Tick):
            if task == runtime.ackers[0]:
                runtime.note(ACKER, task, EventKind.ROTATED)
            return
        runtime.note(
            runtime.assignment.components[parcel.sender],
            parcel.sender,
            _RECEIVED.get(type(message), EventKind.ACK),
            delivery=str(parcel.delivery or ""),
            root=message.root,
            value=message.value if isinstance(message, AckInit | AckAck) else 0,
            site=parcel.site,
        )


class _ComponentThread(Executor, Generic[C]):
    """The executor of a component's tasks."""

    def __init__(
        self, runtime: Runtime, component: str, tasks: tuple[int, ...], factory: Callable[[], C]
    ) -> None:
        super().__init__(runtime, component, tasks)
        self.instances: dict[int, C] = {}
        self._factory = factory
        self._places: dict[int, TaskContext] = {}

    def _create(self) -> Iterator[tuple[C, TaskContext]]:
        """Create the components; yield each with its task, once the task has started."""
        self._places = {task: TaskContext(self._runtime, self.component, task) for task in self.tasks}
        self.instances = {task: self._factory() for task in self.tasks}
        for task, place in self._places.items():
            place.emit_startup()
            yield self.instances[task], place

    def stop(self) -> int:
        """Drop the components."""
        self.instances = {}
        return 0


class BoltThread(_ComponentThread[Bolt]):
    """The executor of a bolt's tasks."""

    def start(self) -> None:
        """Create the components and prepare them."""
        runtime = self._runtime
        collector = make_collector(
            runtime.profile,
            ids=runtime.new_ids(),
            clock=runtime.clock,
            message_timeout_s=runtime.topology.settings.message_timeout_secs,
        )
        for bolt, place in self._create():
            bolt.prepare(place, _BoltOutput(place, collector))
            if runtime.record is not None:
                self._note_name(place, getattr(bolt, "component", bolt))  # a ShellBolt's is the author's

    def _note_name(self, place: TaskContext, component: object) -> None:
        """Record the class statement of a component, with its dialect and role."""
        cls: type = type(component)
        traced = describe(component, *(belongs(cls) or (_STORM, _BOLT)))
        site = f"{traced.path}:{traced.line} {cls.__qualname__}" if traced.path else ""
        place.note(EventKind.NAMED, site=site, note=described(traced))

    def begin(self) -> Iterator[float]:
        """Execute one tuple; yields the seconds that it takes."""
        parcel = self.inbox.take()
        tup = parcel.content
        assert isinstance(tup, Tup), "only tuples are sent to bolts"
        place = self._places[parcel.receiver]
        if self._runtime.record is not None:
            delivery = str(tup.delivery)
            flags = TICK if tup.is_tick else 0
            place.note(EventKind.RECEIVED, stream=tup.stream, delivery=delivery, flags=flags)
            for root, edge in tup.message_id.items():
                place.note(EventKind.LINKED, delivery=delivery, root=root, value=edge)
        yield from self.instances[parcel.receiver].execute(tup) or ()
        for hook in place.hooks:
            hook.bolt_execute(BoltInfo(tup, place.task))


class _BoltOutput:
    """One task's OutputCollector."""

    def __init__(self, place: TaskContext, collector: BoltCollector) -> None:
        self._place = place
        self._collector = collector
        runtime = place.runtime
        # without ackers, Storm 2.x returns from ack and fail at once
        self._disabled = not runtime.ackers and runtime.profile.engine is Engine.JAVA

    def emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """Emit to all targets, with a new edge id for each target and anchor."""
        place = self._place
        site = place.site()
        targets = place.targets(values, stream, task)
        first, *others = anchors or (None,)
        delivery, flags = (str(first.delivery), RELIABLE) if first else ("", 0)
        place.note(EventKind.EMITTED, stream=stream, delivery=delivery, site=site, flags=flags)
        for anchor in others:
            place.note(EventKind.ANCHORED, stream=stream, delivery=str(anchor.delivery), site=site)
        emission = self._collector.emit(anchors, len(targets))
        for message in emission.messages:
            place.send_message(message)
        for target, message_id in zip(targets, emission.message_ids, strict=True):
            place.send_tup(values, stream, target, message_id)
        return targets

    def ack(self, tup: Tup) -> None:
        """Send an ack for each root; a repeated ack is sent again."""
        self._complete(tup, EventKind.ACKED, self._collector.ack, self._place.site())

    def fail(self, tup: Tup) -> None:
        """Send a fail for each root."""
        self._complete(tup, EventKind.FAILED, self._collector.fail, self._place.site())

    def _complete(
        self, tup: Tup, kind: EventKind, complete: Callable[[Tup], tuple[Message, ...]], site: str
    ) -> None:
        if self._disabled:
            return
        place = self._place
        place.note(kind, stream=tup.stream, delivery=str(tup.delivery), site=site)
        for message in complete(tup):
            place.send_message(message, tup.delivery, site)
        for hook in place.hooks:
            call = hook.bolt_ack if kind is EventKind.ACKED else hook.bolt_fail
            call(BoltInfo(tup, place.task))

    def reset_timeout(self, tup: Tup) -> None:
        """Restart the timeouts of all roots, if the version supports it."""
        for message in self._collector.reset_timeout(tup):
            self._place.send_message(message, tup.delivery, self._place.site())


class SpoutThread(_ComponentThread[Spout]):
    """The executor of a spout's tasks: calls `nextTuple`, `ack` and `fail`."""

    def __init__(
        self, runtime: Runtime, component: str, tasks: tuple[int, ...], factory: Callable[[], Spout]
    ) -> None:
        super().__init__(runtime, component, tasks, factory)
        self.active = False
        self.awake = True  # False after a turn without emits, until the next event
        self.emits = 0
        self._due_ms = 0  # when a waiting spout is called again
        self._eagerness = runtime.random.random()

    def start(self) -> None:
        """Create the components and the pending map, and open the components."""
        runtime, settings = self._runtime, self._runtime.topology.settings
        self.executor = SpoutExecutor(
            runtime.profile,
            tasks=self.tasks,
            ids=runtime.new_ids(),
            clock=runtime.clock,
            message_timeout_s=settings.message_timeout_secs,
            ackers=len(runtime.ackers),
            max_spout_pending=settings.max_spout_pending,
        )
        self.active = False
        for spout, place in self._create():
            spout.open(place, _SpoutOutput(self, place))

    def stop(self) -> int:
        """Drop the components and the pending map; return its size."""
        pending = len(self.executor)
        super().stop()
        self.active = False
        return pending

    def pending(self) -> dict[int, TupleInfo]:
        """The pending map; empty while the executor is down."""
        return {} if self.down else self.executor.pending()

    def activate(self) -> None:
        """Start calling `nextTuple`."""
        if not self.active:
            self.active = self.awake = True
            for spout in self.instances.values():
                spout.activate()

    def deactivate(self) -> None:
        """Stop calling `nextTuple`; answers of the acker are still processed."""
        if self.active:
            self.active = False
            for spout in self.instances.values():
                spout.deactivate()

    def ready(self) -> bool:
        """Whether the queue has an answer, or `nextTuple` may be called."""
        return self.inbox.ready() or self._may_emit()

    def _may_emit(self) -> bool:
        return self.awake and self.active and self.executor.may_emit()

    def begin(self) -> Iterator[float]:
        """Process an answer or a tick, or call `nextTuple`."""
        if self._may_emit() and (not self.inbox.ready() or self._runtime.random.random() < self._eagerness):
            yield from self._next_tuples()
            return
        parcel = self.inbox.take()
        self.awake = True
        match parcel.content:
            case Answer() as answer:
                result = self.executor.receive(answer)
                if result is not None:
                    self.call_spout(result)
            case Tick():
                for result in self.executor.tick():
                    self.call_spout(result)

    def _next_tuples(self) -> Iterator[float]:
        """Call `nextTuple` of each task; max.spout.pending is checked afterwards (SpoutExecutor.java:185@v2.8.8)."""
        emits, now_ms = self.emits, self._runtime.clock.now_ms()
        for spout in self.instances.values():
            time = spout.next_tuple()
            if isinstance(time, float):
                self._wait(now_ms + max(1, ceil(time * 1000)))
            else:
                yield from time or ()
        self.awake = self.emits > emits or self._runtime.clock.now_ms() > now_ms

    def _wait(self, due_ms: int) -> None:
        """Have `nextTuple` called at a time; an earlier call may come first, and returns the remaining time."""
        if not self._runtime.clock.now_ms() < self._due_ms <= due_ms:
            self._due_ms = due_ms
            self._runtime.agenda.enter(due_ms, lambda: None)  # at every time of the agenda, all spouts awake

    def call_spout(self, result: SpoutResult) -> None:
        """Call the spout's ack or fail."""
        place, spout = self._places[result.task], self.instances[result.task]
        if result.reason is Reason.TIMEOUT:
            place.note(EventKind.TIMED_OUT, delivery=str(result.message_id), root=result.root or 0)
        acked = result.reason is Reason.ACK
        (spout.ack if acked else spout.fail)(result.message_id)
        for hook in place.hooks:
            (hook.spout_ack if acked else hook.spout_fail)(SpoutInfo(result.message_id, result.task))


class _SpoutOutput:
    """One task's SpoutOutputCollector."""

    def __init__(self, thread: SpoutThread, place: TaskContext) -> None:
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
        """Send the tuples, then the init; a message id makes the tuple a root."""
        place, thread = self._place, self._thread
        thread.emits += 1
        targets = place.targets(values, stream, task)
        emission = thread.executor.emit(place.task, msg_id, len(targets))
        delivery, flags = ("", 0) if msg_id is None else (str(msg_id), RELIABLE)
        place.note(EventKind.EMITTED, stream=stream, delivery=delivery, root=emission.root or 0, flags=flags)
        for target, message_id in zip(targets, emission.message_ids, strict=True):
            place.send_tup(values, stream, target, message_id)
        if emission.init is not None:
            place.send_message(emission.init)
        if emission.result is not None:
            thread.call_spout(emission.result)
        return targets
