"""What all executors of a cluster share: the wiring, the clock, the way to each other, and who watches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Protocol

from ackdoctor.acker.clock import VirtualClock
from ackdoctor.acker.collector import MessageId
from ackdoctor.acker.ids import IdSource, acker_index
from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.lab.component import EmitInfo, TaskHook
from ackdoctor.lab.naming import author_sites, called_from
from ackdoctor.lab.topology import ACKER, SYSTEM, SYSTEM_STREAM, SYSTEM_TASK, TICK_STREAM, Topology
from ackdoctor.lab.traffic import Inbox, Loses, Parcel, Route
from ackdoctor.lab.tup import Tup
from ackdoctor.lab.wiring import Assignment, Outlet
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.message import AckFail, AckInit, Message, ResetTimeout, Tick
from ackdoctor.tracer.ledger.sites import Sites

__all__ = ["Executor", "Place", "Record", "Worker"]

Record = Callable[[Event], None]

_ACK_STREAMS = {AckInit: "__ack_init", AckFail: "__ack_fail", ResetTimeout: "__ack_reset_timeout"}


class Executor(Protocol):
    """One thread with the tasks that share it."""

    component: str
    tasks: tuple[int, ...]
    inbox: Inbox
    running: Iterator[float] | None  # what takes time just now
    pace: float  # how often it has its turn, compared with the others

    def start(self) -> None:
        """Make the components anew and open them."""

    def ready(self) -> bool:
        """Whether it could do something now."""

    def begin(self) -> Iterator[float]:
        """Do it; yields the seconds that it takes."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """The surroundings of an executor."""

    topology: Topology
    assignment: Assignment
    profile: Profile
    clock: VirtualClock
    random: Random
    ids: Callable[[int], IdSource]
    loses: Loses
    record: Record | None
    hooks: Sequence[TaskHook]
    inboxes: dict[int, Inbox] = field(default_factory=dict)
    held: set[Route] = field(default_factory=set)
    sites: Sites = field(default_factory=author_sites)
    lost: int = 0  # messages that the network, or a death, cost
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _rows: Iterator[int] = field(default_factory=count)

    @property
    def ackers(self) -> tuple[int, ...]:
        """The acker tasks; empty if acking is disabled."""
        return self.assignment.tasks.get(ACKER, ())

    def new_ids(self) -> IdSource:
        """An executor's own source of ids."""
        return self.ids(self.random.getrandbits(48))

    def send(self, parcel: Parcel) -> None:
        """To the receiver's inbox, unless the network loses it."""
        if self.loses(parcel, self.random):
            self.lost += 1
        else:
            self.inboxes[parcel.receiver].put(parcel)

    def next_delivery(self) -> int:
        """A number that no other tuple has."""
        return next(self._numbers)

    def tick_tup(self, seconds: int) -> Tup:
        """A tick for a bolt."""
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
        """One row of the trace, if anybody records."""
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


class Place:
    """One task's place in the cluster: the context that its component is given, and its way out."""

    def __init__(self, worker: Worker, component: str, task: int) -> None:
        self.worker = worker
        self.component = component
        self.task = task
        self.hooks = list(worker.hooks)
        self.note = partial(worker.note, component, task)
        self.outlet = Outlet(worker.topology, worker.assignment, component, worker.random)

    @property
    def task_index(self) -> int:
        """The task's place among those of its component, from 0."""
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

    def say_startup(self) -> None:
        """Storm 1.x says so on the system stream, unanchored (task.clj:187@v1.1.0)."""
        if self.worker.profile.engine is Engine.CLOJURE:
            values = ("startup",)
            for target in self.outlet.targets(SYSTEM_STREAM, values):
                self.send_tup(values, SYSTEM_STREAM, target, {})

    def targets(self, values: Sequence[object], stream: str, task: int | None) -> list[int]:
        """Where an emit goes; the hooks hear of it."""
        if task is None:
            targets = self.outlet.targets(stream, values)
        else:
            targets = self.outlet.direct(stream, values, task)
        for hook in self.hooks:
            hook.emit(EmitInfo(values, stream, self.task, targets))
        return targets

    def send_tup(self, values: Sequence[object], stream: str, target: int, message_id: MessageId) -> None:
        """One copy of an emitted tuple."""
        tup = Tup(
            message_id,
            values=values,
            fields=self.outlet.fields[stream],
            component=self.component,
            task=self.task,
            stream=stream,
            delivery=self.worker.next_delivery(),
        )
        self.worker.send(Parcel(self.task, target, tup))

    def site(self) -> str:
        """Where the component's code called its collector, if anybody records."""
        worker = self.worker
        return "" if worker.record is None else called_from(worker.sites)

    def send_message(self, message: Message, delivery: int = 0, site: str = "") -> None:
        """To the acker task that its root belongs to."""
        assert not isinstance(message, Tick), "ticks come from the agenda"
        ackers = self.worker.ackers
        acker = ackers[acker_index(message.root, len(ackers))]
        stream = _ACK_STREAMS.get(type(message), "__ack_ack")
        for hook in self.hooks:
            hook.emit(EmitInfo(tuple(message), stream, self.task, (acker,)))
        parcel = Parcel(self.task, acker, message, delivery, site)
        if isinstance(message, AckInit) and self.worker.profile.engine is Engine.HERON:
            self.worker.inboxes[acker].put_first(parcel)  # the stream manager routes the tuples, too
        else:
            self.worker.send(parcel)
