"""The worker: task assignment, routing, message queues, the agenda in virtual time, and shared state."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.acker.executors import MessageId
from ackdoctor.acker.runtime import IdSource, VirtualClock, acker_index
from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.lab.component import EmitInfo, TaskHook, Tup, author_sites, called_from
from ackdoctor.lab.topology import (
    ACKER,
    SYSTEM,
    SYSTEM_STREAM,
    SYSTEM_TASK,
    TICK_STREAM,
    BoltSpec,
    Chooser,
    Topology,
)
from ackdoctor.model.acker import AckFail, AckInit, Answer, Message, ResetTimeout, Tick
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.sites import Sites

__all__ = [
    "Action",
    "Agenda",
    "Assignment",
    "Executor",
    "Inbox",
    "InvalidEmitError",
    "LossModel",
    "Parcel",
    "Phases",
    "Record",
    "Route",
    "Router",
    "TaskContext",
    "Worker",
    "assign",
    "choose_weighted",
    "draw_speed",
    "in_phase",
    "lossy",
    "no_loss",
    "spread_phases",
]

_ACK_STREAMS = {AckInit: "__ack_init", AckFail: "__ack_fail", ResetTimeout: "__ack_reset_timeout"}


Route: TypeAlias = tuple[int, int]  # sender task, receiver task


class Parcel(NamedTuple):
    """One message between two tasks; a tick comes from task -1.

    For an ack or a fail, `delivery` is that of its tuple; otherwise it is 0.
    `site` is the line that sent it; '' without a trace.
    """

    sender: int
    receiver: int
    content: Tup | Message | Answer
    delivery: int = 0
    site: str = ""


LossModel: TypeAlias = Callable[[Parcel, Random], bool]


def no_loss(_parcel: Parcel, _random: Random) -> bool:
    """A network without loss."""
    return False


def lossy(rate: float) -> LossModel:
    """Return a network that loses this share of its messages, `0 <= rate <= 1`.  It duplicates none."""
    return lambda _parcel, random: random.random() < rate


class Inbox:
    """The queue of an executor.  Messages on the routes in `held` are stalled.

    Each route draws its speed once.  Some routes are far slower than others, so acks overtake inits
    and answers arrive late.
    """

    def __init__(self, held: set[Route], random: Random) -> None:
        self._held = held
        self._random = random
        self._queues: dict[Route, deque[Parcel]] = {}
        self._speeds: dict[Route, float] = {}
        self._first: deque[Parcel] = deque()
        self._open: list[Route] = []  # routes with messages that are not in `held`

    def __len__(self) -> int:
        return len(self._first) + sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[Parcel]:
        return chain(self._first, *self._queues.values())

    def ready(self) -> bool:
        """Whether a message can arrive now."""
        return bool(self._open or self._first)

    def put(self, parcel: Parcel) -> None:
        """Append to the queue of the parcel's route."""
        route = (parcel.sender, parcel.receiver)
        queue = self._queues.get(route)
        if queue is None:
            queue = self._queues[route] = deque()
            self._speeds[route] = draw_speed(self._random)
        if not queue and route not in self._held:
            self._open.append(route)
        queue.append(parcel)

    def put_first(self, parcel: Parcel) -> None:
        """Append to the queue that is served first."""
        self._first.append(parcel)

    def take(self) -> Parcel:
        """Remove and return the oldest message of a route, drawn by speed."""
        if self._first:
            return self._first.popleft()
        number = choose_weighted([self._speeds[route] for route in self._open], self._random)
        route = self._open[number]
        queue = self._queues[route]
        parcel = queue.popleft()
        if not queue:
            last = self._open.pop()
            if last != route:
                self._open[number] = last
        return parcel

    def clear(self) -> int:
        """Drop all messages, as the death of a worker does; return their number."""
        lost = len(self)
        self._first.clear()
        self._open.clear()
        for queue in self._queues.values():
            queue.clear()
        return lost

    def reopen(self) -> None:
        """Recompute the open routes after a change of `held`."""
        self._open = [route for route, queue in self._queues.items() if queue and route not in self._held]


def draw_speed(random: Random) -> float:
    """Draw a speed between 1/16 and 16."""
    return float(2 ** (8 * random.random() - 4))


def choose_weighted(speeds: Sequence[float], random: Random) -> int:
    """Draw an index, with probabilities in proportion to the speeds."""
    if len(speeds) == 1:
        return 0
    point = random.random() * sum(speeds)
    for number, width in enumerate(speeds):
        point -= width
        if point < 0:
            return number
    return len(speeds) - 1


Action: TypeAlias = Callable[[], object]
Phases: TypeAlias = Callable[[str, int, float], float]
"""(component, first task of the executor, tick period in seconds) -> start of the first period in seconds."""


def in_phase(_component: str, _task: int, _period: float) -> float:
    """Phase zero for every executor: ticks come at multiples of the period."""
    return 0.0


def spread_phases(component: str, task: int, period: float) -> float:
    """Spread the phases of executors over the period by the golden ratio."""
    return period * ((task * 0.6180339887498949 + len(component)) % 1.0)


class Agenda:
    """A queue of actions by time.  Actions with equal times run in order of entry."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Action]] = []
        self._entry = count()

    def enter(self, time_ms: int, action: Action) -> None:
        """Schedule an action."""
        heappush(self._due, (time_ms, next(self._entry), action))

    def next_time_ms(self) -> int | None:
        """Time of the next action; None if there is none."""
        return self._due[0][0] if self._due else None

    def pop(self) -> Action:
        """Remove and return the next action."""
        return heappop(self._due)[2]


class InvalidEmitError(ValueError):
    """An emit that Storm rejects with an IllegalArgumentException, with Storm's text."""


@dataclass(slots=True, kw_only=True)
class Assignment:
    """The task ids of all components, from 1 in order of component ids; so the ackers come first."""

    tasks: Mapping[str, tuple[int, ...]]  # component -> its tasks, ascending
    executors: Mapping[str, tuple[tuple[int, ...], ...]]  # component -> the tasks of each of its executors
    components: Mapping[int, str]


def assign(topology: Topology) -> Assignment:
    """Assign task ids, and spread the tasks evenly over executors; an acker executor has one task."""
    specs = (*topology.spouts.values(), *topology.bolts.values())
    shape = {spec.component: (spec.tasks, spec.parallelism) for spec in specs}
    ackers = topology.settings.ackers
    if ackers:
        shape[ACKER] = (ackers, ackers)
    tasks: dict[str, tuple[int, ...]] = {}
    executors: dict[str, tuple[tuple[int, ...], ...]] = {}
    components: dict[int, str] = {}
    first = 1
    for name in sorted(shape):
        count, parallelism = shape[name]
        tasks[name] = tuple(range(first, first + count))
        executors[name] = tuple(_split(tasks[name], min(parallelism, count)))
        components.update(dict.fromkeys(tasks[name], name))
        first += count
    return Assignment(tasks=tasks, executors=executors, components=components)


def _split(tasks: Sequence[int], parts: int) -> Iterator[tuple[int, ...]]:
    size, larger = divmod(len(tasks), parts)
    start = 0
    for part in range(parts):
        end = start + size + (part < larger)
        yield tuple(tasks[start:end])
        start = end


class Router:
    """Routes the emits of one task by the stream groupings."""

    def __init__(self, topology: Topology, assignment: Assignment, component: str, random: Random) -> None:
        self._components = assignment.components
        self.fields = topology.outputs(component)
        self._choosers: dict[str, dict[str, Chooser | None]] = {stream: {} for stream in self.fields}
        for bolt in topology.bolts.values():
            self._subscribe(bolt, assignment.tasks[bolt.component], component, random)

    def _subscribe(self, bolt: BoltSpec, tasks: tuple[int, ...], component: str, random: Random) -> None:
        for (source, stream), grouping in bolt.inputs.items():
            if source != component:
                continue
            chooser = grouping.prepare and grouping.prepare(tasks, self.fields[stream], random)
            self._choosers[stream][bolt.component] = chooser

    def targets(self, stream: str, values: Sequence[object]) -> list[int]:
        """Return the receiving tasks of a regular emit."""
        chosen: list[int] = []
        for chooser in self._stream(stream, values).values():
            if chooser is None:
                raise InvalidEmitError("Cannot do regular emit to direct stream")
            chosen.extend(chooser(values))
        return chosen

    def direct(self, stream: str, values: Sequence[object], task: int) -> list[int]:
        """Return the task of a direct emit; empty if its component does not subscribe."""
        subscribers = self._stream(stream, values)
        component = self._components.get(task, "")
        if component not in subscribers:
            return []
        if subscribers[component] is not None:
            raise InvalidEmitError("Cannot emitDirect to a task expecting a regular grouping")
        return [task]

    def _stream(self, stream: str, values: Sequence[object]) -> Mapping[str, Chooser | None]:
        if stream not in self._choosers:
            raise InvalidEmitError(f"Unknown stream ID: {stream}")
        if len(values) != len(self.fields[stream]):
            raise InvalidEmitError(
                f"Tuple created with wrong number of fields. Expected {len(self.fields[stream])} fields "
                f"but got {len(values)} fields"
            )
        return self._choosers[stream]


Record = Callable[[Event], None]


class Executor(Protocol):
    """One thread and its tasks."""

    component: str
    tasks: tuple[int, ...]
    inbox: Inbox
    running: Iterator[float] | None  # the work in progress
    speed: float  # relative to other executors

    def start(self) -> None:
        """Create the components and open them."""

    def ready(self) -> bool:
        """Whether it can run now."""

    def begin(self) -> Iterator[float]:
        """Run one step; yields the seconds that it takes."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """The state that all executors share."""

    topology: Topology
    assignment: Assignment
    profile: Profile
    clock: VirtualClock
    random: Random
    ids: Callable[[int], IdSource]
    loss: LossModel
    record: Record | None
    hooks: Sequence[TaskHook]
    inboxes: dict[int, Inbox] = field(default_factory=dict)
    held: set[Route] = field(default_factory=set)
    sites: Sites = field(default_factory=author_sites)
    lost: int = 0  # messages lost by the network or with a worker
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _rows: Iterator[int] = field(default_factory=count)

    @property
    def ackers(self) -> tuple[int, ...]:
        """The acker tasks; empty if acking is disabled."""
        return self.assignment.tasks.get(ACKER, ())

    def new_ids(self) -> IdSource:
        """Return a new source of ids for one executor."""
        return self.ids(self.random.getrandbits(48))

    def send(self, parcel: Parcel) -> None:
        """Put the parcel into the receiver's queue, unless the network loses it."""
        if self.loss(parcel, self.random):
            self.lost += 1
        else:
            self.inboxes[parcel.receiver].put(parcel)

    def next_delivery(self) -> int:
        """Return the next delivery number."""
        return next(self._numbers)

    def tick_tup(self, seconds: int) -> Tup:
        """Return a tick tuple."""
        return Tup(
            {},
            values=(seconds,),
            fields=("rate_secs",),
            component=SYSTEM,
            task=SYSTEM_TASK,
            stream=TICK_STREAM,
            delivery=self.next_delivery(),
        )

    def note(
        self,
        component: str,
        task: int,
        kind: EventKind,
        *,
        stream: str = "",
        delivery: str = "",
        root: int = 0,
        value: int = 0,
        site: str = "",
        flags: int = 0,
        note: str = "",
    ) -> None:
        """Record one row, if the run is traced."""
        if self.record is None:
            return
        row = Event(
            kind,
            time_ns=self.clock.now_ms() * 1_000_000,
            seq=next(self._rows),
            component=component,
            task=task,
            stream=stream,
            delivery=delivery,
            root=root,
            value=value,
            site=site,
            flags=flags,
            note=note,
        )
        self.record(row)


class TaskContext:
    """One task: its component's context, and its routes to other tasks."""

    def __init__(self, worker: Worker, component: str, task: int) -> None:
        self.worker = worker
        self.component = component
        self.task = task
        self.hooks = list(worker.hooks)
        self.note = partial(worker.note, component, task)
        self.router = Router(worker.topology, worker.assignment, component, worker.random)

    @property
    def task_index(self) -> int:
        """The task's index among those of its component, from 0."""
        return self.task - self.worker.assignment.tasks[self.component][0]

    def now_ms(self) -> int:
        """Virtual time."""
        return self.worker.clock.now_ms()

    def tasks_of(self, component: str) -> Sequence[int]:
        """The task ids of a component."""
        return self.worker.assignment.tasks[component]

    def add_task_hook(self, hook: TaskHook) -> None:
        """Storm's addTaskHook."""
        self.hooks.append(hook)

    def emit_startup(self) -> None:
        """Emit Storm 1.x's startup tuple on the system stream, unanchored (task.clj:187@v1.1.0)."""
        if self.worker.profile.engine is Engine.CLOJURE:
            values = ("startup",)
            for target in self.router.targets(SYSTEM_STREAM, values):
                self.send_tup(values, SYSTEM_STREAM, target, {})

    def targets(self, values: Sequence[object], stream: str, task: int | None) -> list[int]:
        """Return the receiving tasks of an emit, and call the hooks."""
        if task is None:
            targets = self.router.targets(stream, values)
        else:
            targets = self.router.direct(stream, values, task)
        for hook in self.hooks:
            hook.emit(EmitInfo(values, stream, self.task, targets))
        return targets

    def send_tup(self, values: Sequence[object], stream: str, target: int, message_id: MessageId) -> None:
        """Send one copy of an emitted tuple."""
        tup = Tup(
            message_id,
            values=values,
            fields=self.router.fields[stream],
            component=self.component,
            task=self.task,
            stream=stream,
            delivery=self.worker.next_delivery(),
        )
        self.worker.send(Parcel(self.task, target, tup))

    def site(self) -> str:
        """Return the line that called the collector; empty without a trace."""
        worker = self.worker
        return "" if worker.record is None else called_from(worker.sites)

    def send_message(self, message: Message, delivery: int = 0, site: str = "") -> None:
        """Send a message to the acker task of its root."""
        assert not isinstance(message, Tick), "ticks come from the agenda"
        ackers = self.worker.ackers
        acker = ackers[acker_index(message.root, len(ackers))]
        stream = _ACK_STREAMS.get(type(message), "__ack_ack")
        for hook in self.hooks:
            hook.emit(EmitInfo(tuple(message), stream, self.task, (acker,)))
        parcel = Parcel(self.task, acker, message, delivery, site)
        if isinstance(message, AckInit) and self.worker.profile.engine is Engine.HERON:
            self.worker.inboxes[acker].put_first(
                parcel
            )  # the stream manager also routes the tuples, so nothing overtakes the init
        else:
            self.worker.send(parcel)
