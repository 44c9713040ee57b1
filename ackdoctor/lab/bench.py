"""Benches: a test drives one bolt or one spout by hand, in virtual time, against an acker."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeVar

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.executors import MessageId, Reason, SpoutExecutor, SpoutResult, make_collector
from ackdoctor.acker.runtime import IdSource, JavaRandom, VirtualClock
from ackdoctor.acker.versions import NEWEST, Profile, Schedule
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.lab.child import ShellError
from ackdoctor.lab.component import TaskHook, Tup
from ackdoctor.lab.frameworks import HeronBolt, HeronSpout, NotAComponentError, descent
from ackdoctor.lab.messages import Setup, json_of
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from ackdoctor.lab.runtime import Agenda
from ackdoctor.lab.topology import DEFAULT_STREAM, SYSTEM, SYSTEM_TASK, TICK_STREAM, check_emit
from ackdoctor.model.acker import AckAck, AckFail, Answer, Message, Tick
from ackdoctor.model.dialect import Kind, WireForm
from ackdoctor.model.trace import PendingEntry, Verdict

__tracebackhide__ = True  # pytest shows the line of the test, not of the bench

_SPOUT, _BOLT, _SINK = 1, 2, 3  # task ids
_VERDICTS = {Reason.ACK: Verdict.COMPLETE, Reason.FAIL: Verdict.FAILED, Reason.TIMEOUT: Verdict.EXPIRED}
W = TypeVar("W", bound="BaseBench")


class _Auto:
    def __repr__(self) -> str:
        return "AUTO"


AUTO: Final = _Auto()  # the bench counts message ids itself: 1, 2, 3, ...


class Emitted(NamedTuple):
    """One emit.  `anchors` are delivery ids, `msg_id` is a spout's message id, `task` the target of a direct emit."""

    values: Sequence[object]
    stream: str = DEFAULT_STREAM
    anchors: tuple[str, ...] = ()
    msg_id: object = None
    task: int | None = None


class _Context:
    """The component's context in a topology of spout, bolt and sink (`lab.component.Context`)."""

    task_index = 0

    def __init__(self, component: str, task: int, clock: VirtualClock) -> None:
        self.component = component
        self.task = task
        self._clock = clock

    def now_ms(self) -> int:
        """Virtual time."""
        return self._clock.now_ms()

    def tasks_of(self, component: str) -> Sequence[int]:
        """The task of this component, or of the spout."""
        return (self.task,) if component == self.component else (_SPOUT,)

    def add_task_hook(self, hook: TaskHook) -> None:
        """Not supported on a bench."""
        raise NotImplementedError(f"a bench calls no task hooks: {hook}")


class BaseBench(ABC):
    """One component between a spout and an acker, which exchange messages at once and tick on the version's schedule.

    `name` is the component's id, by default the name of its class.  `profile` names the acker's version
    ("storm-1.1.0").  `wrap_acker` maps the acker to the one to use.  `fields` names the input values.  `outputs`
    are the declared streams, or the fields of the default stream; without it, emits are not checked.  `conf` is
    the topology's configuration.  `metrics` are the names that the JVM's side registers.  `arguments` end the
    component's command line (pyleus: `("--options", json.dumps(options))`).  `message_timeout_secs` is Storm's T.

    `acker` is the acker, as `wrap_acker` returned it.  `answers` are its answers, `results` the results of the spout,
    timeouts included.
    """

    kind: Kind  # of the component
    death_seen = False  # whether the test has read `died`, or a call has raised it
    _runner: ShellBolt | ShellSpout | HeronBolt | HeronSpout
    _deaths: tuple[str, ...] = ()  # of workers that the test replaced

    def __init__(
        self,
        component_class: type,
        *,
        profile: Profile | str | None = None,
        clock: VirtualClock | None = None,
        ids: IdSource | None = None,
        name: str = "",
        conf: Mapping[str, object] | None = None,
        fields: Sequence[str] = (),
        outputs: Mapping[str, Sequence[str]] | Sequence[str] = (),
        metrics: Collection[str] = (),
        arguments: Sequence[str] = (),
        message_timeout_secs: int = 30,
        tick_secs: int | None = None,
        wrap_acker: Callable[[Acker], Acker] | None = None,
    ) -> None:
        self.component_class = component_class
        self.dialect, self.role = descent(component_class)
        if self.role.kind is not self.kind:
            raise NotAComponentError(
                f"{component_class.__qualname__} is a {self.role.kind.value}, not a {self.kind.value}"
            )
        if isinstance(profile, str):
            profile = profile_of(profile)
        self.profile = profile or (profile_of(self.dialect.acker) if self.dialect.acker else NEWEST)
        self.clock = clock or VirtualClock()
        self.results: list[SpoutResult] = []
        self.emitted: list[Emitted] = []
        self._fields = fields
        self._declared = (
            dict(outputs) if isinstance(outputs, Mapping) else {DEFAULT_STREAM: outputs} if outputs else {}
        )
        task = _BOLT if self.kind is Kind.BOLT else _SPOUT
        self._place = _Context(name or component_class.__name__, task, self.clock)
        self._connect(ids or JavaRandom(0), message_timeout_secs, wrap_acker)
        defaults: dict[str, object] = {
            "topology.name": "bench",
            "topology.message.timeout.secs": message_timeout_secs,
        }
        if tick_secs is not None:
            defaults["topology.tick.tuple.freq.secs"] = tick_secs
        self._setup = Setup(
            conf={**defaults, **(conf or {})},
            input_fields={"spout": {DEFAULT_STREAM: fields}} if fields else {},
            output_fields=self._declared,
            metrics=frozenset(metrics),
            arguments=tuple(arguments),
            json=json_of(self.profile.name),
        )

    def _connect(self, ids: IdSource, timeout_secs: int, wrap_acker: Callable[[Acker], Acker] | None) -> None:
        """Create the acker and the spout's executor, and schedule their ticks."""
        self._ids = ids
        self._timeout_secs = timeout_secs
        acker = make_acker(self.profile, self.clock, timeout_secs)
        self.acker: Acker = wrap_acker(acker) if wrap_acker else acker
        self.answers: list[Answer] = []
        self._observer: Callable[[], object] | None = None
        self._executor = SpoutExecutor(
            self.profile, tasks=(_SPOUT,), ids=ids, clock=self.clock, message_timeout_s=timeout_secs
        )
        self._agenda = Agenda(self.clock)
        for schedule, action in (
            (self.profile.acker_schedule(timeout_secs), partial(self._send, Tick())),
            (self.profile.spout_schedule(timeout_secs), self._expire),
        ):
            if schedule is not None:
                self._agenda.every(schedule, action)

    def __enter__(self: W) -> W:  # noqa: PYI019 - Self is in typing from Python 3.11 on
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """End the component's process."""

    def advance(self, seconds: float) -> None:
        """Advance virtual time.  Ticks, batch timers, rotations and timeouts run when they are due."""
        for _ in self._agenda.run(seconds):
            pass

    def observe(self, observer: Callable[[], object]) -> None:
        """Call the observer after each message to the acker."""
        self._observer = observer

    @property
    def component(self) -> Any:
        """The component object."""
        return self._runner.component

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages that the component wrote to the pipe, parsed, in order."""
        return self._runner.transcript.messages

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """The acker's entries."""
        return tuple(self.acker.pending())

    @property
    def died(self) -> ShellError | None:
        """Why the worker is dead."""
        death = self._runner.died
        self.death_seen |= death is not None
        return death

    @property
    def deaths(self) -> tuple[str, ...]:
        """The cause of each worker's death, such as "ValueError: no such column"."""
        death = self._runner.died
        return (*self._deaths, *([_short_reason(death)] if death is not None else []))

    @property
    def late_errors(self) -> tuple[str, ...]:
        """Exceptions that ended a process which Storm has not used since."""
        return ()

    @property
    def _has_delegate(self) -> bool:
        """Whether the framework calls the component through a delegate, without a pipe."""
        wire = self.dialect.wire
        return wire is not None and wire.form is WireForm.DELEGATE

    def _turn(self, action: Callable[[], None]) -> None:
        """Run the component; if the worker dies, `died` holds the error, and the next turn raises it."""
        if self.died:
            raise self.died.with_traceback(None)  # the first call's traceback shows the place
        with suppress(ShellError):
            action()

    def _check(self, values: Sequence[object], stream: str) -> None:
        if self._declared:
            check_emit(self._declared, values, stream)

    def _send(self, *messages: Message) -> None:
        """Send messages to the acker, and its answers to the spout."""
        for message in messages:
            answer = self.acker.receive(message)
            if self._observer is not None:
                self._observer()
            if answer is None:
                continue
            self.answers.append(answer)
            result = self._executor.receive(answer)
            if result is not None:
                self._on_result(result)

    def _expire(self) -> None:
        for result in self._executor.tick():
            self._on_result(result)

    @abstractmethod
    def _on_result(self, result: SpoutResult) -> None:
        """Process the result of a message."""


def _short_reason(death: ShellError) -> str:
    """Return the component's exception, or the first line of the JVM's error."""
    cause = death.__cause__
    text = f"{type(cause).__name__}: {cause}" if cause is not None else str(death)
    return text.strip().partition("\n")[0].rstrip(": ")


class _BoltOutput(NamedTuple):
    """The bolt's OutputCollector."""

    emit: Callable[..., Sequence[int]]
    ack: Callable[[Tup], None]
    fail: Callable[[Tup], None]
    reset_timeout: Callable[[Tup], None]


class Bench(BaseBench):
    """A bolt between a spout and a sink.  `tick_secs` is its `topology.tick.tuple.freq.secs`."""

    kind = Kind.BOLT

    def __init__(self, component_class: type, *, tick_secs: int | None = None, **options: Any) -> None:
        super().__init__(component_class, tick_secs=tick_secs, **options)
        self._numbers = count(1)
        self._roots: dict[str, int] = {}  # delivery -> root
        self._verdicts: dict[int, Verdict] = {}  # by root, from the acker's answers to the spout
        self._sink_queue: deque[Tup] = deque()
        if tick_secs:
            self._every(tick_secs, self.tick)
        self._launch()
        if isinstance(self.bolt, ShellBolt) and self.bolt.period:
            self._every(self.bolt.period, self.beat)

    def feed(
        self,
        *values: object,
        stream: str = DEFAULT_STREAM,
        component: str = "spout",
        msg_id: Hashable = AUTO,
        beside: str | None = None,
    ) -> str:
        """Execute one tuple and return the delivery id that the bolt receives.

        Each tuple has its own root, or joins the tree of the delivery `beside`.  With `msg_id=None` it is untracked.
        If the worker dies, `died` holds the error, and the next call raises it.
        """
        number = next(self._numbers)
        message_id = self._spout_emits(number if msg_id is AUTO else msg_id, beside)
        tup = self._tup(number, values, stream, component, message_id)
        for root in message_id:
            self._roots[str(number)] = root
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def tick(self) -> str:
        """Execute a tick tuple and return its delivery id."""
        number = next(self._numbers)
        seconds = self._setup.conf.get("topology.tick.tuple.freq.secs", 1)
        tup = self._tup(number, (seconds,), TICK_STREAM, SYSTEM, {}, task=SYSTEM_TASK)
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def heartbeat(self) -> None:
        """Send one heartbeat to the component."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.heartbeat)

    def beat(self) -> None:
        """Run the framework's timer thread once (TicklessBatchingBolt); `advance` runs it when it is due."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.beat)

    def restart(self) -> None:
        """Start a new worker with a new component.  The tuples of the old worker are lost and time out."""
        self._deaths = self.deaths
        self.close()
        self._launch()

    def close(self) -> None:
        """End the component's process."""
        self.bolt.cleanup()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The open deliveries in ShellBolt's `_inputs` map, ticks included; empty for Heron, which has no such map."""
        return tuple(self.bolt.inputs) if isinstance(self.bolt, ShellBolt) else ()

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """The acker's entries.  Messages that the bolt sent between two calls are processed first."""
        if not self._runner.died:
            self._flow()
        return super().pending

    @property
    def roots(self) -> Mapping[str, int]:
        """The root of each tracked delivery."""
        return self._roots

    def verdict(self, delivery: str) -> Verdict:
        """The verdict of the delivery's tree; KeyError if it is untracked."""
        return self._verdicts.get(self._roots[delivery], Verdict.OPEN)

    def _every(self, seconds: float, action: Callable[[], object]) -> None:
        """Schedule a periodic action of the worker, while it is alive."""
        schedule = Schedule(round(seconds * 1000), round(seconds * 1000))
        self._agenda.every(schedule, lambda: self._runner.died or action())

    def _launch(self) -> None:
        self.bolt = self._runner = (HeronBolt if self._has_delegate else ShellBolt)(
            self.component_class, setup=self._setup
        )
        self._collector = collector = make_collector(
            self.profile, ids=self._ids, clock=self.clock, message_timeout_s=self._timeout_secs
        )
        calls = (collector.ack, collector.fail, collector.reset_timeout)
        output = _BoltOutput(self._emit, *(partial(self._complete, call) for call in calls))
        with suppress(ShellError):  # `died` holds the error
            self.bolt.prepare(self._place, output)
            self._flow()

    def _spout_emits(self, msg_id: Hashable, beside: str | None) -> MessageId:
        if beside is not None:
            root, edge = self._roots[beside], self._ids.next_long()
            self._send(AckAck(root, edge))  # one ancestor emits both tuples
            return {root: edge}
        emission = self._executor.emit(_SPOUT, msg_id, 1)
        if emission.init is not None:
            self._send(emission.init)
        return emission.message_ids[0]

    def _tup(
        self,
        number: int,
        values: Sequence[object],
        stream: str,
        component: str,
        message_id: MessageId,
        task: int = _SPOUT,
    ) -> Tup:
        return Tup(
            message_id,
            values=values,
            fields=tuple(self._fields),
            component=component,
            task=task,
            stream=stream,
            delivery=number,
        )

    def _turn(self, action: Callable[[], None]) -> None:
        super()._turn(action)
        self._flow()

    def _flow(self) -> None:
        """Ack all tuples in the sink's queue."""
        while self._sink_queue:
            tup = self._sink_queue.popleft()
            self._send(*self._collector.ack(tup))

    def _on_result(self, result: SpoutResult) -> None:
        self.results.append(result)
        if result.root is not None:
            self._verdicts[result.root] = _VERDICTS[result.reason]

    def _emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """Emit the tuple to the sink."""
        self._check(values, stream)
        ids = tuple(str(anchor.delivery) for anchor in anchors)
        self.emitted.append(Emitted(values, stream, ids, task=task))
        emission = self._collector.emit(anchors, 1)
        self._send(*emission.messages)
        place, (message_id,) = self._place, emission.message_ids
        self._sink_queue.append(
            self._tup(len(self.emitted), values, stream, place.component, message_id, place.task)
        )
        return [_SINK]

    def _complete(self, call: Callable[[Tup], Iterable[Message]], tup: Tup) -> None:
        self._send(*call(tup))


class _SpoutOutput(NamedTuple):
    """The spout's SpoutOutputCollector."""

    emit: Callable[..., Sequence[int]]


class SpoutBench(BaseBench):
    """A spout whose subscriber is the test."""

    kind = Kind.SPOUT

    def __init__(self, component_class: type, **options: Any) -> None:
        super().__init__(component_class, **options)
        self._downstream: list[tuple[object, MessageId]] = []  # message id, roots and edges
        self._late_errors: tuple[str, ...] | None = None  # when it was closed
        self.spout = self._runner = (HeronSpout if self._has_delegate else ShellSpout)(
            component_class, setup=self._setup
        )
        with suppress(ShellError):  # `died` holds the error
            self.spout.open(self._place, _SpoutOutput(self._emit))
            self.spout.activate()

    def next_tuple(self) -> list[Emitted]:
        """Call next_tuple and return the tuples that it emitted."""
        before = len(self.emitted)
        self._turn(self.spout.next_tuple)
        return self.emitted[before:]

    def ack(self, msg_id: object) -> None:
        """Ack all tuples of a message id; KeyError if none is pending downstream."""
        acks = [AckAck(root, edge) for ids in self._take(msg_id) for root, edge in ids.items()]
        self._turn(partial(self._send, *acks))

    def fail(self, msg_id: object) -> None:
        """Fail all tuples of a message id; KeyError if none is pending downstream."""
        fails = [AckFail(root) for ids in self._take(msg_id) for root in ids]
        self._turn(partial(self._send, *fails))

    def activate(self) -> None:
        """Activate the topology.  A new bench is active."""
        self._turn(self.spout.activate)

    def deactivate(self) -> None:
        """Deactivate the topology."""
        self._turn(self.spout.deactivate)

    def close(self) -> None:
        """End the component's process."""
        self._late_errors = self.late_errors
        self.spout.close()

    @property
    def late_errors(self) -> tuple[str, ...]:
        """The exception that ended the process after its last sync; Storm notices it at the next command."""
        if self._late_errors is not None:
            return self._late_errors
        if self.spout.died or not isinstance(self.spout, ShellSpout):
            return ()
        cause = self.spout.ended.cause if self.spout.ended else None
        return () if cause is None else (f"{type(cause).__name__}: {cause}",)

    @property
    def waiting(self) -> list[object]:
        """The pending message ids, oldest first."""
        order = [emitted.msg_id for emitted in self.emitted]
        return sorted((info.message_id for info in self._executor.pending().values()), key=order.index)

    def _take(self, msg_id: object) -> list[MessageId]:
        taken = [message_id for pending, message_id in self._downstream if pending == msg_id]
        if not taken:
            raise KeyError(f"no tuple with message id {msg_id!r} is pending downstream")
        self._downstream = [tracked for tracked in self._downstream if tracked[0] != msg_id]
        return taken

    def _on_result(self, result: SpoutResult) -> None:
        """Call ack or fail of the spout, unless its worker is dead."""
        self.results.append(result)
        if not self.spout.died:
            call = self.spout.ack if result.reason is Reason.ACK else self.spout.fail
            with suppress(ShellError):  # `died` holds the error
                call(result.message_id)

    def _emit(
        self,
        values: Sequence[object],
        *,
        msg_id: Any = None,
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        self._check(values, stream)
        self.emitted.append(Emitted(values, stream, msg_id=msg_id, task=task))
        emission = self._executor.emit(_SPOUT, msg_id, 1)
        if emission.init is not None:
            self._downstream.append((msg_id, emission.message_ids[0]))
            self._send(emission.init)
        return [_SINK]
