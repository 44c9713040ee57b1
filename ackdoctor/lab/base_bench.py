"""Base of both benches: an acker, a spout's pending map, the clock and the trace."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import NamedTuple, TypeVar

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.executors import SpoutExecutor, SpoutResult
from ackdoctor.acker.runtime import IdSource, JavaRandom, VirtualClock
from ackdoctor.acker.versions import NEWEST, Profile, Schedule
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.lab.component import TaskHook
from ackdoctor.lab.shell.child import ShellError
from ackdoctor.lab.shell.frameworks import NotAComponentError, descent
from ackdoctor.lab.shell.messages import json_of
from ackdoctor.lab.shell.process import Setup
from ackdoctor.lab.topology import DEFAULT_STREAM
from ackdoctor.lab.worker import Action, Agenda, InvalidEmitError
from ackdoctor.model.acker import AckAck, Answer, Message, Tick
from ackdoctor.model.dialect import Kind, WireForm
from ackdoctor.model.trace import PendingEntry
from ackdoctor.tracer.traced_acker import TracedAcker

__all__ = ["SINK", "SPOUT", "AckingCore", "BaseBench", "BenchContext", "Emitted"]


class AckingCore:
    """An acker and a spout executor that exchange messages at once; both tick on the version's schedule.

    `on_result` receives every result of the spout, timeouts included.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        clock: VirtualClock,
        ids: IdSource,
        task: int,
        message_timeout_secs: int,
        wrap_acker: Callable[[Acker], Acker] | None,
        on_result: Callable[[SpoutResult], None],
    ) -> None:
        acker = make_acker(profile, clock, message_timeout_secs)
        self.acker = wrap_acker(acker) if wrap_acker else acker
        self.answers: list[Answer] = []
        self.observer: Callable[[], None] | None = None  # called after each message
        self.spout = SpoutExecutor(
            profile, tasks=(task,), ids=ids, clock=clock, message_timeout_s=message_timeout_secs
        )
        self._clock = clock
        self._agenda = Agenda()
        self._on_result = on_result
        for schedule, action in (
            (profile.acker_schedule(message_timeout_secs), partial(self.send, Tick())),
            (profile.spout_schedule(message_timeout_secs), self._expire),
        ):
            if schedule is not None:
                self.every(schedule, action)

    def every(self, schedule: Schedule, action: Action) -> None:
        """Schedule a periodic action."""
        due_ms = self._clock.now_ms() + schedule.first_ms

        def do() -> None:
            nonlocal due_ms
            due_ms += schedule.every_ms
            self._agenda.enter(due_ms, do)
            action()

        self._agenda.enter(due_ms, do)

    def advance(self, seconds: float) -> None:
        """Advance the clock and run all actions that are due."""
        end_ms = self._clock.now_ms() + round(seconds * 1000)
        while (due_ms := self._agenda.next_time_ms()) is not None and due_ms <= end_ms:
            self._move_to(due_ms)
            self._agenda.pop()()
        self._move_to(end_ms)

    def _move_to(self, time_ms: int) -> None:
        self._clock.advance((time_ms - self._clock.now_ms()) / 1000)

    def send(self, *messages: Message) -> None:
        """Send messages to the acker, and its answers to the spout."""
        for message in messages:
            answer = self.acker.receive(message)
            if self.observer is not None:
                self.observer()
            if answer is None:
                continue
            self.answers.append(answer)
            result = self.spout.receive(answer)
            if result is not None:
                self._on_result(result)

    def linked(self, root: int, edge: int, *, delivery: str, component: str, task: int) -> None:
        """Record which delivery has an edge, if the acker is traced."""
        if isinstance(self.acker, TracedAcker):
            self.acker.linked(root, edge, delivery=delivery, component=component, task=task)

    def complete(self, messages: Iterable[Message], *, delivery: str, component: str, task: int) -> None:
        """Send the messages of an ack or a fail; a traced acker also records the delivery."""
        for message in messages:
            if isinstance(self.acker, TracedAcker) and isinstance(message, AckAck):
                self.acker.noted(
                    message.root, message.value, delivery=delivery, component=component, task=task
                )
            self.send(message)

    def _expire(self) -> None:
        for result in self.spout.tick():
            self._on_result(result)


W = TypeVar("W", bound="BaseBench")

SPOUT, _BOLT, SINK = 1, 2, 3  # task ids


class Emitted(NamedTuple):
    """One emit.  `anchors` are delivery ids, `msg_id` is a spout's message id, `task` the target of a direct emit."""

    values: Sequence[object]
    stream: str = DEFAULT_STREAM
    anchors: tuple[str, ...] = ()
    msg_id: object = None
    task: int | None = None


class BenchContext:
    """The component's context in a topology of spout, bolt and sink (`lab.component.Context`)."""

    def __init__(self, component: str, task: int, clock: VirtualClock) -> None:
        self.component = component
        self.task = task
        self.task_index = 0
        self._clock = clock

    def now_ms(self) -> int:
        """Virtual time."""
        return self._clock.now_ms()

    def tasks_of(self, component: str) -> Sequence[int]:
        """The task of this component, or of the spout."""
        return (self.task,) if component == self.component else (SPOUT,)

    def add_task_hook(self, hook: TaskHook) -> None:
        """Not supported on a bench."""
        raise NotImplementedError(f"a bench calls no task hooks: {hook}")


class BaseBench(ABC):
    """One component between a spout and an acker.

    `name` is the component's id, by default the name of its class.  `profile` names the acker's version
    ("storm-1.1.0").  `wrap_acker` maps the acker to the one to use.  `fields` names the input values.  `outputs`
    are the declared streams, or the fields of the default stream; without it, emits are not checked.  `conf` is
    the topology's configuration.  `metrics` are the names that the JVM's side registers.  `arguments` end the
    component's command line (pyleus: `("--options", json.dumps(options))`).  `message_timeout_secs` is Storm's T.
    """

    kind: Kind  # of the component
    death_seen = False  # whether the test has read `died`, or a call has raised it
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
        self.profile = self._choose_profile(profile)
        self.clock = clock or VirtualClock()
        self.results: list[SpoutResult] = []
        self.emitted: list[Emitted] = []
        self._ids = ids or JavaRandom(0)
        self._fields = fields
        self._name = name
        self._declared = (
            dict(outputs) if isinstance(outputs, Mapping) else {DEFAULT_STREAM: outputs} if outputs else {}
        )
        self._core = AckingCore(
            self.profile,
            clock=self.clock,
            ids=self._ids,
            task=SPOUT,
            message_timeout_secs=message_timeout_secs,
            wrap_acker=wrap_acker,
            on_result=self._on_result,
        )
        self._place = BenchContext(
            name or component_class.__name__, _BOLT if self.kind is Kind.BOLT else SPOUT, self.clock
        )
        self._timeout_secs = message_timeout_secs
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

    @abstractmethod
    def close(self) -> None:
        """End the component's process."""

    @property
    @abstractmethod
    def _death(self) -> ShellError | None:
        """Why the worker is dead, for the bench's own use."""

    @property
    def died(self) -> ShellError | None:
        """Why the worker is dead."""
        death = self._death
        self.death_seen |= death is not None
        return death

    @property
    def deaths(self) -> tuple[str, ...]:
        """The cause of each worker's death, such as "ValueError: no such column"."""
        death = self._death
        return (*self._deaths, *([_short_reason(death)] if death is not None else []))

    @property
    def late_errors(self) -> tuple[str, ...]:
        """Exceptions that ended a process which Storm has not used since."""
        return ()

    def _record_deaths(self) -> None:
        """Record the deaths so far, before a new worker starts."""
        self._deaths = self.deaths

    @abstractmethod
    def _on_result(self, result: SpoutResult) -> None:
        """Process the result of a message."""

    def _choose_profile(self, profile: Profile | str | None) -> Profile:
        if isinstance(profile, str):
            return profile_of(profile)
        return profile or (profile_of(self.dialect.acker) if self.dialect.acker else NEWEST)

    @property
    def _has_delegate(self) -> bool:
        """Whether the framework calls the component through a delegate, without a pipe."""
        wire = self.dialect.wire
        return wire is not None and wire.form is WireForm.DELEGATE

    def __enter__(self: W) -> W:  # noqa: PYI019 - Self is in typing from Python 3.11 on
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def acker(self) -> Acker:
        """The acker, as `wrap_acker` returned it."""
        return self._core.acker

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """The acker's entries."""
        return tuple(self.acker.pending())

    @property
    def answers(self) -> list[Answer]:
        """All answers of the acker."""
        return self._core.answers

    def observe(self, observer: Callable[[], None]) -> None:
        """Call the observer after each message to the acker."""
        self._core.observer = observer

    def advance(self, seconds: float) -> None:
        """Advance virtual time.  Ticks, batch timers, rotations and timeouts run when they are due."""
        self._core.advance(seconds)

    def _check(self, values: Sequence[object], stream: str) -> None:
        """Check an emit as Storm does, if the component declares outputs (Task.java:160, TupleImpl.java:56)."""
        if not self._declared:
            return
        if stream not in self._declared:
            raise InvalidEmitError(f"Unknown stream ID: {stream}")
        expected, got = len(self._declared[stream]), len(values)
        if got != expected:
            raise InvalidEmitError(
                f"Tuple created with wrong number of fields. Expected {expected} fields but got {got} fields"
            )


def _short_reason(death: ShellError) -> str:
    """Return the component's exception, or the first line of the JVM's error."""
    cause = death.__cause__
    text = f"{type(cause).__name__}: {cause}" if cause is not None else str(death)
    return text.strip().partition("\n")[0].rstrip(": ")
