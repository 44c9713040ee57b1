"""A topology running in one process, in virtual time.

    cluster = Cluster(topology, profile="storm-1.1.0", seed=7)
    cluster.settle()          run until no executor is ready
    cluster.advance(60)       advance the clock by a minute
    cluster.kill("count")     kill the component's worker, which restarts
    list(cluster.pending())   the entries of the ackers

Only a component that yields seconds takes time.  The seed decides the order of executors that are ready
at the same time.  Equal seeds give equal runs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from random import Random
from typing import NamedTuple, TypeAlias

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.executors import TupleInfo
from ackdoctor.acker.runtime import IdSource, JavaRandom, VirtualClock
from ackdoctor.acker.versions import NEWEST, Profile, Schedule
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.lab.component import Bolt, Spout, TaskHook, WorkerDiedError
from ackdoctor.lab.executors import AckerThread, BoltThread, Executor, SpoutThread
from ackdoctor.lab.topology import SYSTEM_TASK, Topology, assign
from ackdoctor.lab.worker import Agenda, LossModel, Parcel, Record, Route, Worker, choose_weighted
from ackdoctor.model.acker import Tick
from ackdoctor.model.trace import EventKind, PendingEntry

_MANY_STEPS = 1_000_000

Phases: TypeAlias = Callable[[str, int, float], float]
"""(component, first task of the executor, tick period in seconds) -> start of the first period in seconds."""


def in_phase(_component: str, _task: int, _period: float) -> float:
    """Phase zero for every executor: ticks come at multiples of the period."""
    return 0.0


def spread_phases(component: str, task: int, period: float) -> float:
    """Spread the phases of executors over the period by the golden ratio."""
    return period * ((task * 0.6180339887498949 + len(component)) % 1.0)


def _never() -> bool:
    return False


class RestlessError(RuntimeError):
    """A million steps without progress of the clock: some spout emits without end."""


class Death(NamedTuple):
    """The death and restart of a worker; its queue held `lost` messages."""

    component: str
    tasks: tuple[int, ...]
    time_ms: int
    lost: int
    reason: str


class Cluster:
    """A running topology.  Each executor is its own worker, so a component that dies kills no other.

    An `active` topology opens its components at once.  `wrap_acker` maps each new acker to the acker to use.
    `ids` maps a seed to an executor's source of ids.  `record` receives each row of the trace.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        profile: Profile | str = NEWEST,
        seed: int = 0,
        active: bool = True,
        wrap_acker: Callable[[Acker], Acker] | None = None,
        ids: Callable[[int], IdSource] = JavaRandom,
        phases: Phases = in_phase,
        loss: LossModel | None = None,
        hooks: Sequence[TaskHook] = (),
        record: Record | None = None,
        clock: VirtualClock | None = None,
    ) -> None:
        self.topology = topology
        self.profile = _effective_profile(profile, topology)
        self.clock = clock or VirtualClock()
        self.deaths: list[Death] = []
        self._wrap_acker = wrap_acker
        self._random = Random(seed)  # noqa: S311 - it decides an order
        self._agenda = Agenda(self.clock)
        self._worker = Worker(
            topology=topology,
            assignment=assign(topology),
            profile=self.profile,
            clock=self.clock,
            random=self._random,
            ids=ids,
            loss=loss,
            record=record,
            hooks=hooks,
        )
        executors = self._worker.assignment.executors
        self._ackers = [AckerThread(self._worker, task, self._new_acker) for task in self._worker.ackers]
        self._bolts = [
            BoltThread(self._worker, name, tasks, spec.factory)
            for name, spec in topology.bolts.items()
            for tasks in executors[name]
        ]
        self._spouts = [
            SpoutThread(self._worker, name, tasks, spec.factory)
            for name, spec in topology.spouts.items()
            for tasks in executors[name]
        ]
        self._threads: tuple[Executor, ...] = (*self._ackers, *self._bolts, *self._spouts)
        for thread in self._threads:
            self._worker.inboxes.update(dict.fromkeys(thread.tasks, thread.inbox))
        self._enter_ticks(phases)
        self._active = False
        self._opened = False
        if active:
            self.activate()

    # -- run

    def step(self) -> bool:
        """Run one step of a ready executor; return False if none is ready at this time."""
        ready = [thread for thread in self._threads if thread.ready()]
        if not ready:
            return False
        thread = ready[choose_weighted([thread.speed for thread in ready], self._random)]
        self._resume(thread, thread.begin())
        return True

    def settle(self, until: Callable[[], bool] = _never) -> bool:
        """Step until no executor is ready, or `until()` is true; return whether it is true."""
        for spout in self._spouts:
            spout.awake = True
        for _ in range(_MANY_STEPS):
            if until():
                return True
            if not self.step():
                return False
        raise RestlessError(
            f"{_MANY_STEPS} steps at {self.clock.now_ms()} ms and no end: if a spout always emits, "
            "set max_spout_pending, or let it yield the seconds between two tuples"
        )

    def advance(self, seconds: float, until: Callable[[], bool] = _never) -> bool:
        """Advance the clock and run all actions that are due.  Stop when `until()` is true; return whether it is."""
        if self.settle(until):
            return True
        for _ in self._agenda.run(seconds):
            if self.settle(until):
                return True
        return self.settle(until)

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        """Schedule an action `seconds` after virtual zero; `advance` runs it."""
        self._agenda.enter(round(seconds * 1000), action)

    # -- inject faults

    def activate(self) -> None:
        """Activate the topology.  The first call opens all components."""
        self._active = True
        if not self._opened:
            self._opened = True
            for thread in self._threads:
                thread.start()
        for spout in self._spouts:
            spout.activate()

    def deactivate(self) -> None:
        """Deactivate the topology: no executor calls `nextTuple`."""
        self._active = False
        for spout in self._spouts:
            spout.deactivate()

    def kill(self, component: str, task: int | None = None) -> None:
        """Kill the workers of a component, or of one of its tasks; they restart at once.

        Their queues and their state are lost.  Messages that they sent still arrive.
        """
        for thread in self._of(component):
            if task is None or task in thread.tasks:
                self._die(thread, "killed")

    def hold(self, sender: str, receiver: str) -> None:
        """Stall all messages from component `sender` to `receiver`."""
        self._worker.held.update(self._routes(sender, receiver))
        self._reopen()

    def release(self, sender: str, receiver: str) -> None:
        """End the stall: the messages may arrive."""
        self._worker.held.difference_update(self._routes(sender, receiver))
        self._reopen()

    def shutdown(self) -> None:
        """Clean up and close all components.  The cluster cannot run again."""
        for thread in self._bolts:
            for bolt in thread.instances.values():
                bolt.cleanup()
        for source in self._spouts:
            for spout in source.instances.values():
                spout.close()

    # -- inspect

    @property
    def ackers(self) -> tuple[Acker, ...]:
        """The acker of each acker task."""
        return tuple(thread.acker for thread in self._ackers)

    @property
    def lost(self) -> int:
        """How many messages the network lost, or died with a worker."""
        return self._worker.lost

    def pending(self) -> Iterator[PendingEntry]:
        """The entries of all ackers."""
        return chain.from_iterable(acker.pending() for acker in self.ackers)

    def spout_pending(self, component: str) -> dict[int, TupleInfo]:
        """The pending maps of a spout's executors, by root."""
        found: dict[int, TupleInfo] = {}
        for thread in self._spouts:
            if thread.component == component:
                found.update(thread.executor.pending())
        return found

    def instances(self, component: str) -> tuple[Bolt | Spout, ...]:
        """The running objects of a component's tasks, by task id."""
        found: dict[int, Bolt | Spout] = {}
        threads: Sequence[BoltThread | SpoutThread] = (*self._bolts, *self._spouts)
        for thread in threads:
            if thread.component == component:
                found.update(thread.instances)
        return tuple(found[task] for task in sorted(found))

    def under_way(self, sender: str, receiver: str) -> tuple[Parcel, ...]:
        """Messages from `sender` in the queue of `receiver`."""
        routes = self._routes(sender, receiver)
        return tuple(
            parcel
            for thread in self._of(receiver)
            for parcel in thread.inbox
            if (parcel.sender, parcel.receiver) in routes
        )

    # -- internals

    def _of(self, component: str) -> list[Executor]:
        found = [thread for thread in self._threads if thread.component == component]
        if not found:
            raise KeyError(f"no component {component!r} in this topology")
        return found

    def _routes(self, sender: str, receiver: str) -> set[Route]:
        tasks = self._worker.assignment.tasks
        return set(product(tasks[sender], tasks[receiver]))

    def _reopen(self) -> None:
        for thread in self._threads:
            thread.inbox.reopen()

    def _new_acker(self) -> Acker:
        acker = make_acker(self.profile, self.clock, self.topology.settings.message_timeout_secs)
        return self._wrap_acker(acker) if self._wrap_acker else acker

    def _resume(self, thread: Executor, running: Iterator[float]) -> None:
        try:
            seconds = next(running, None)
        except WorkerDiedError as error:
            self._die(thread, str(error) or "died")
            return
        if seconds is None:
            thread.running = None
        else:
            thread.running = running
            wake_ms = self.clock.now_ms() + round(seconds * 1000)
            # if the worker dies meanwhile, something else is running
            self._agenda.enter(
                wake_ms, lambda: self._resume(thread, running) if thread.running is running else None
            )

    def _die(self, thread: Executor, reason: str) -> None:
        lost = thread.inbox.clear()
        self._worker.lost += lost
        thread.running = None
        self.deaths.append(Death(thread.component, thread.tasks, self.clock.now_ms(), lost, reason))
        for task in thread.tasks:
            self._worker.note(thread.component, task, EventKind.DIED, note=reason)
        thread.start()
        if isinstance(thread, SpoutThread) and self._active:
            thread.activate()

    def _enter_ticks(self, phases: Phases) -> None:
        """Schedule ticks: each message timeout for ackers and spouts, `tick_secs` for bolts.  `phases` shifts each executor."""
        settings = self.topology.settings
        timeout = settings.message_timeout_secs
        for thread in self._threads:
            match thread:
                case AckerThread():
                    schedule = self.profile.acker_schedule(timeout)
                case SpoutThread():
                    schedule = self.profile.spout_schedule(timeout)
                case _:
                    own = self.topology.bolts[thread.component].tick_secs or settings.tick_tuple_freq_secs
                    schedule = Schedule(own * 1000, own * 1000) if own else None
            if schedule is not None:
                offset = phases(thread.component, thread.tasks[0], schedule.every_ms / 1000)
                self._agenda.every(
                    schedule, partial(self._tick, thread, schedule), offset_ms=round(offset * 1000)
                )

    def _tick(self, thread: Executor, schedule: Schedule) -> None:
        if not self._opened:
            return
        if isinstance(thread, BoltThread):
            for task in thread.tasks:
                tup = self._worker.tick_tup(schedule.every_ms // 1000)
                thread.inbox.put(Parcel(SYSTEM_TASK, task, tup))
        else:
            thread.inbox.put(Parcel(SYSTEM_TASK, thread.tasks[0], Tick()))


def _effective_profile(profile: Profile | str, topology: Topology) -> Profile:
    chosen = profile_of(profile) if isinstance(profile, str) else profile
    if topology.settings.enable_message_timeouts or not chosen.spout_ticks:
        return chosen
    return chosen.without_timeouts()
