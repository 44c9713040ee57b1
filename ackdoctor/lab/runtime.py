"""What the executors of a cluster share: queues with loss, transfer buffers, virtual time, task contexts (Task.java)."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count
from random import Random
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.acker.executors import MessageId
from ackdoctor.acker.runtime import IdSource, VirtualClock, acker_index
from ackdoctor.acker.versions import Profile, Schedule
from ackdoctor.lab.component import BasicBolt, EmitInfo, TaskHook, Tup
from ackdoctor.lab.topology import (
    ACKER,
    SYSTEM,
    SYSTEM_STREAM,
    SYSTEM_TASK,
    TICK_STREAM,
    Assignment,
    Router,
    Topology,
)
from ackdoctor.model.acker import ACK_INIT, AckFail, AckInit, Answer, Engine, Message, ResetTimeout, Tick
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.sites import Sites

_ACK_STREAMS = {AckInit: ACK_INIT, AckFail: "__ack_fail", ResetTimeout: "__ack_reset_timeout"}
_LOOP = "BoltThread.begin"  # frames above it belong to the caller of the cluster
Route: TypeAlias = tuple[int, int]  # sender task, receiver task
Record: TypeAlias = Callable[[Event], None]


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


def lossy(rate: float) -> LossModel:
    """Return a network that loses this share of its messages, `0 <= rate <= 1`.  It duplicates none."""
    return lambda _parcel, random: random.random() < rate


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


def draw_speed(random: Random) -> float:
    """Draw a speed between 1/16 and 16."""
    return float(2 ** (8 * random.random() - 4))


@dataclass(slots=True, kw_only=True)
class Death:
    """The death of an executor, with its worker.

    `lost` messages were in its queue, `dropped` messages came while it was down.  A bolt had `in_hand` tuples in
    execution, 0 or 1.  `pending` is the size of an acker's or a spout's pending map.  `unsent` messages were in the
    worker's transfer buffer; only the first death of a worker's executors counts them.
    """

    component: str
    tasks: tuple[int, ...]
    time_ms: int
    reason: str
    lost: int
    in_hand: int = 0
    pending: int = 0
    unsent: int = 0
    dropped: int = 0
    until_ms: int | None = None  # the time of the restart


class Inbox:
    """The queue of an executor.  Messages on the routes in `held` are stalled.

    Each route draws its speed once.  Some routes are far slower than others, so acks overtake inits
    and answers arrive late.  With a `death`, the executor is down: its messages are dropped.
    """

    def __init__(self, held: set[Route], random: Random) -> None:
        self._held = held
        self._random = random
        self._queues: dict[Route, deque[Parcel]] = {}
        self._speeds: dict[Route, float] = {}
        self._first: deque[Parcel] = deque()
        self._open: list[Route] = []  # routes with messages that are not in `held`
        self.death: Death | None = None

    def __len__(self) -> int:
        return len(self._first) + sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[Parcel]:
        return chain(self._first, *self._queues.values())

    def ready(self) -> bool:
        """Whether a message can arrive now."""
        return bool(self._open or self._first)

    def put(self, parcel: Parcel) -> None:
        """Append to the queue of the parcel's route."""
        if self.death is not None:
            self.death.dropped += 1
            return
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
        if self.death is not None:
            self.death.dropped += 1
        else:
            self._first.append(parcel)

    def take(self) -> Parcel:
        """Remove and return the oldest message of a route, drawn by speed."""
        if self._first:
            return self._first.popleft()
        number = 0
        if len(self._open) > 1:
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


class Agenda:
    """Actions in virtual time.  Actions with equal times run in order of entry."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._entry = count()

    def enter(self, time_ms: int, action: Callable[[], object]) -> None:
        """Schedule an action."""
        heappush(self._due, (time_ms, next(self._entry), action))

    def every(self, schedule: Schedule, action: Callable[[], object], offset_ms: int = 0) -> None:
        """Schedule a periodic action from now on."""
        time_ms = self._clock.now_ms() + schedule.first_ms + offset_ms

        def do() -> None:
            nonlocal time_ms
            time_ms += schedule.every_ms
            self.enter(time_ms, do)
            action()

        self.enter(time_ms, do)

    def run(self, seconds: float) -> Iterator[None]:
        """Advance the clock; yield after the actions of each time."""
        end_ms = self._clock.now_ms() + round(seconds * 1000)
        while self._due and (due_ms := self._due[0][0]) <= end_ms:
            self._move_to(due_ms)
            while self._due and self._due[0][0] == due_ms:
                heappop(self._due)[2]()
            yield
        self._move_to(end_ms)

    def _move_to(self, time_ms: int) -> None:
        self._clock.advance((time_ms - self._clock.now_ms()) / 1000)


class Transfer:
    """The transfer buffers of the workers: a message to another worker leaves with the next flush.

    Storm flushes every millisecond (topology.flush.tuple.freq.millis).  A worker that dies loses its buffer.
    """

    def __init__(
        self, agenda: Agenda, clock: VirtualClock, flush_ms: int, workers: Sequence[Sequence[int]]
    ) -> None:
        self._worker_of = {task: number for number, tasks in enumerate(workers) for task in tasks}
        self._agenda = agenda
        self._clock = clock
        self._flush_ms = flush_ms
        self._buffers: dict[int, list[tuple[Parcel, Inbox]]] = {}

    def put(self, parcel: Parcel, inbox: Inbox) -> None:
        """Buffer a message; one to the same worker goes straight to its queue."""
        worker = self._worker_of[parcel.sender]
        if worker == self._worker_of[parcel.receiver]:
            inbox.put(parcel)
            return
        buffer = self._buffers.get(worker)
        if buffer is None:
            buffer = self._buffers[worker] = []
            self._agenda.enter(self._clock.now_ms() + self._flush_ms, partial(self._flush, worker, buffer))
        buffer.append((parcel, inbox))

    def clear(self, worker: int) -> int:
        """Drop the buffer of a worker; return the number of its messages."""
        return len(self._buffers.pop(worker, ()))

    def _flush(self, worker: int, buffer: list[tuple[Parcel, Inbox]]) -> None:
        if self._buffers.get(worker) is buffer:  # otherwise the worker died meanwhile
            del self._buffers[worker]
            for parcel, inbox in buffer:
                inbox.put(parcel)


def _sites() -> Sites:
    auto_ack = f"{BasicBolt.__module__}.{BasicBolt.execute.__qualname__}"
    return Sites(completes=(auto_ack, f"ackdoctor.lab.executors.{_LOOP}"))


@dataclass(slots=True, kw_only=True)
class Runtime:
    """The state that all executors share."""

    topology: Topology
    assignment: Assignment
    profile: Profile
    clock: VirtualClock
    agenda: Agenda
    random: Random
    ids: Callable[[int], IdSource]
    loss: LossModel | None
    record: Record | None
    hooks: Sequence[TaskHook]
    transfer: Transfer | None = None
    inboxes: dict[int, Inbox] = field(default_factory=dict)
    held: set[Route] = field(default_factory=set)
    sites: Sites = field(default_factory=_sites)
    lost: int = 0  # messages that the network lost
    deliveries: Iterator[int] = field(default_factory=lambda: count(1))
    _rows: Iterator[int] = field(default_factory=count)

    @property
    def ackers(self) -> tuple[int, ...]:
        """The acker tasks; empty if acking is disabled."""
        return self.assignment.tasks.get(ACKER, ())

    def new_ids(self) -> IdSource:
        """Return a new source of ids for one executor."""
        return self.ids(self.random.getrandbits(48))

    def send(self, parcel: Parcel) -> None:
        """Put the parcel into the receiver's queue or a transfer buffer, unless the network loses it."""
        if self.loss is not None and self.loss(parcel, self.random):
            self.lost += 1
        elif self.transfer is not None:
            self.transfer.put(parcel, self.inboxes[parcel.receiver])
        else:
            self.inboxes[parcel.receiver].put(parcel)

    def tick_tup(self, seconds: int) -> Tup:
        """Return a tick tuple."""
        return Tup(
            {},
            values=(seconds,),
            fields=("rate_secs",),
            component=SYSTEM,
            task=SYSTEM_TASK,
            stream=TICK_STREAM,
            delivery=next(self.deliveries),
        )

    def note(self, component: str, task: int, kind: EventKind, **columns: Any) -> None:
        """Record one row, if the run is traced; `columns` are further fields of an Event."""
        if self.record is not None:
            time_ns = self.clock.now_ms() * 1_000_000
            self.record(Event(kind, time_ns, next(self._rows), component, task, **columns))


class TaskContext:
    """One task: its component's context, and its routes to other tasks."""

    def __init__(self, runtime: Runtime, component: str, task: int) -> None:
        self.runtime = runtime
        self.component = component
        self.task = task
        self.hooks = list(runtime.hooks)
        self.note = partial(runtime.note, component, task)
        self._router = Router(runtime.topology, runtime.assignment, component, runtime.random)

    @property
    def task_index(self) -> int:
        """The task's index among those of its component, from 0."""
        return self.task - self.runtime.assignment.tasks[self.component][0]

    def now_ms(self) -> int:
        """Virtual time."""
        return self.runtime.clock.now_ms()

    def tasks_of(self, component: str) -> Sequence[int]:
        """The task ids of a component."""
        return self.runtime.assignment.tasks[component]

    def add_task_hook(self, hook: TaskHook) -> None:
        """Storm's addTaskHook."""
        self.hooks.append(hook)

    def emit_startup(self) -> None:
        """Emit Storm 1.x's startup tuple on the system stream, unanchored (task.clj:187@v1.1.0)."""
        if self.runtime.profile.engine is Engine.CLOJURE:
            values = ("startup",)
            for target in self._router.targets(values, SYSTEM_STREAM):
                self.send_tup(values, SYSTEM_STREAM, target, {})

    def targets(self, values: Sequence[object], stream: str, task: int | None) -> list[int]:
        """Return the receiving tasks of an emit, and call the hooks."""
        targets = self._router.targets(values, stream, task)
        for hook in self.hooks:
            hook.emit(EmitInfo(values, stream, self.task, targets))
        return targets

    def send_tup(self, values: Sequence[object], stream: str, target: int, message_id: MessageId) -> None:
        """Send one copy of an emitted tuple."""
        tup = Tup(
            message_id,
            values=values,
            fields=self._router.fields[stream],
            component=self.component,
            task=self.task,
            stream=stream,
            delivery=next(self.runtime.deliveries),
        )
        self.runtime.send(Parcel(self.task, target, tup))

    def site(self) -> str:
        """Return the line that called the collector, two frames up; '' without a trace and for a call by ShellBolt."""
        if self.runtime.record is None:
            return ""
        site = self.runtime.sites[self.runtime.sites.here(2)]
        return "" if site is None or site.function == _LOOP else str(site)

    def send_message(self, message: Message, delivery: int = 0, site: str = "") -> None:
        """Send a message to the acker task of its root."""
        assert not isinstance(message, Tick), "ticks come from the agenda"
        ackers = self.runtime.ackers
        acker = ackers[acker_index(message.root, len(ackers)) if len(ackers) > 1 else 0]
        stream = _ACK_STREAMS.get(type(message), "__ack_ack")
        for hook in self.hooks:
            hook.emit(EmitInfo(tuple(message), stream, self.task, (acker,)))
        parcel = Parcel(self.task, acker, message, delivery, site)
        if isinstance(message, AckInit) and self.runtime.profile.engine is Engine.HERON:
            # the stream manager also routes the tuples, so nothing overtakes the init
            self.runtime.inboxes[acker].put_first(parcel)
        else:
            self.runtime.send(parcel)
