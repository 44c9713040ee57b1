"""A topology running in one process, in virtual time.

    cluster = Cluster(topology, profile="storm-1.1.0", seed=7)
    cluster.settle()          run until no executor is ready
    cluster.advance(60)       advance the clock by a minute
    cluster.kill("count")     kill the component's worker, which restarts
    cluster.kill("count", down=5)    the worker restarts after 5 seconds; messages to it are lost
    list(cluster.pending())   the entries of the ackers

Only a component that yields seconds takes time.  The seed decides the order of executors that are ready
at the same time.  Equal seeds give equal runs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from random import Random
from typing import TypeAlias

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.executors import TupleInfo
from ackdoctor.acker.runtime import IdSource, JavaRandom, VirtualClock
from ackdoctor.acker.versions import NEWEST, Profile, Schedule
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.lab.component import Bolt, Spout, TaskHook, WorkerDiedError
from ackdoctor.lab.executors import AckerThread, BoltThread, Executor, SpoutThread
from ackdoctor.lab.runtime import (
    Agenda,
    Death,
    LossModel,
    Parcel,
    Record,
    Route,
    Runtime,
    Transfer,
    choose_weighted,
)
from ackdoctor.lab.topology import SYSTEM_TASK, Topology, assign
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


class Cluster:
    """A running topology.

    Executors are dealt in turn to `workers` workers, as Storm's EvenScheduler does; all executors of a worker die
    together.  By default each executor has its own worker.  A dead worker restarts after `restart_s` seconds.
    With `flush_ms`, messages to other workers wait in a transfer buffer that the worker's death clears.

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
        workers: int | None = None,
        restart_s: float = 0,
        flush_ms: int = 0,
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
        self._restart_s = restart_s
        self._active = self._opened = False
        self._runtime = Runtime(
            topology=topology,
            assignment=assign(topology),
            profile=self.profile,
            clock=self.clock,
            agenda=self._agenda,
            random=self._random,
            ids=ids,
            loss=loss,
            record=record,
            hooks=hooks,
        )
        executors = self._runtime.assignment.executors
        self._ackers = [AckerThread(self._runtime, task, self._new_acker) for task in self._runtime.ackers]
        self._bolts = [
            BoltThread(self._runtime, name, tasks, spec.factory)
            for name, spec in topology.bolts.items()
            for tasks in executors[name]
        ]
        self._spouts = [
            SpoutThread(self._runtime, name, tasks, spec.factory)
            for name, spec in topology.spouts.items()
            for tasks in executors[name]
        ]
        self._threads: tuple[Executor, ...] = (*self._ackers, *self._bolts, *self._spouts)
        self._runtime.inboxes = {task: thread.inbox for thread in self._threads for task in thread.tasks}
        self._workers = _deal(self._threads, workers or len(self._threads))
        if flush_ms:
            self._runtime.transfer = Transfer(self._agenda, self.clock, flush_ms, self.workers)
        self._enter_ticks(phases)
        if active:
            self.activate()

    # -- run

    def step(self) -> bool:
        """Run one step of a ready executor; return False if none is ready at this time."""
        ready = [thread for thread in self._threads if thread.running is None and thread.ready()]
        if not ready:
            return False
        thread = ready[0]
        if len(ready) > 1:
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
                if not thread.down:
                    thread.start()
        for spout in self._spouts:
            if not spout.down:
                spout.activate()

    def deactivate(self) -> None:
        """Deactivate the topology: no executor calls `nextTuple`."""
        self._active = False
        for spout in self._spouts:
            spout.deactivate()

    def kill(self, component: str, task: int | None = None, down: float | None = None) -> None:
        """Kill the workers of a component, or of one of its tasks; they restart after `down` seconds.

        Their queues and their state are lost.  Messages that they sent still arrive; those to them are dropped until
        the restart.  `down` is `restart_s` by default.  Killing a worker that is down has no effect.  A component
        that is running kills itself with WorkerDiedError, not with this method.
        """
        for thread in self._of(component):
            if task is None or task in thread.tasks:
                self._die(self._worker_of(thread), "killed", down)

    def kill_worker(self, worker: int, down: float | None = None) -> None:
        """Kill one worker, by its index in `workers`, as `kill` does."""
        self._die(self._workers[worker], "killed", down)

    def hold(self, sender: str, receiver: str) -> None:
        """Stall all messages from component `sender` to `receiver`."""
        self._runtime.held.update(self._routes(sender, receiver))
        self._reopen()

    def release(self, sender: str, receiver: str) -> None:
        """End the stall: the messages may arrive."""
        self._runtime.held.difference_update(self._routes(sender, receiver))
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
    def workers(self) -> tuple[tuple[int, ...], ...]:
        """The tasks of each worker."""
        return tuple(
            tuple(sorted(task for thread in worker for task in thread.tasks)) for worker in self._workers
        )

    @property
    def ackers(self) -> tuple[Acker, ...]:
        """The acker of each acker task whose worker is up."""
        return tuple(thread.acker for thread in self._ackers if not thread.down)

    @property
    def lost(self) -> int:
        """How many messages the network lost, or were lost with a worker."""
        return self._runtime.lost + sum(death.lost + death.unsent + death.dropped for death in self.deaths)

    @property
    def dropped(self) -> int:
        """How many messages the network lost."""
        return self._runtime.lost

    def pending(self) -> Iterator[PendingEntry]:
        """The entries of all ackers."""
        return chain.from_iterable(acker.pending() for acker in self.ackers)

    def spout_pending(self, component: str) -> dict[int, TupleInfo]:
        """The pending maps of a spout's executors, by root."""
        found: dict[int, TupleInfo] = {}
        for thread in self._spouts:
            if thread.component == component:
                found.update(thread.pending())
        return found

    def spout_of(self, root: int) -> tuple[str, TupleInfo] | None:
        """Return the spout in whose pending map a root is, with the root's entry; None if it is in none."""
        found = ((thread.component, thread.executor.info(root)) for thread in self._spouts if not thread.down)
        return next(((component, info) for component, info in found if info is not None), None)

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
        tasks = self._runtime.assignment.tasks
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
            self._die(self._worker_of(thread), str(error) or "died", raised=thread)
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

    def _worker_of(self, thread: Executor) -> list[Executor]:
        return next(worker for worker in self._workers if thread in worker)

    def _die(
        self, worker: list[Executor], reason: str, down: float | None = None, raised: Executor | None = None
    ) -> None:
        """Stop all executors of a worker, and restart them later; `raised` is the one whose component raised."""
        if worker[0].down:
            return
        transfer = self._runtime.transfer
        unsent = transfer.clear(self._workers.index(worker)) if transfer else 0
        deaths = []
        for thread in worker:
            at_work = thread.running is not None or thread is raised
            death = Death(
                component=thread.component,
                tasks=thread.tasks,
                time_ms=self.clock.now_ms(),
                reason=reason,
                lost=thread.inbox.clear(),
                in_hand=int(at_work and isinstance(thread, BoltThread)),
                pending=thread.stop() if self._opened else 0,
                unsent=unsent if thread is worker[0] else 0,
            )
            deaths.append(death)
            thread.running, thread.down, thread.inbox.death = None, True, death
            for task in thread.tasks:
                self._runtime.note(thread.component, task, EventKind.DIED, note=reason)
        self.deaths += deaths
        down_ms = round((self._restart_s if down is None else down) * 1000)
        if down_ms:
            self._agenda.enter(self.clock.now_ms() + down_ms, lambda: self._restart(worker))
        else:
            self._restart(worker)

    def _restart(self, worker: list[Executor]) -> None:
        for thread in worker:
            if thread.inbox.death is not None:
                thread.inbox.death.until_ms = self.clock.now_ms()
            thread.down, thread.inbox.death = False, None
            if self._opened:
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
        if not self._opened or thread.down:
            return
        if isinstance(thread, BoltThread):
            for task in thread.tasks:
                tup = self._runtime.tick_tup(schedule.every_ms // 1000)
                thread.inbox.put(Parcel(SYSTEM_TASK, task, tup))
        else:
            thread.inbox.put(Parcel(SYSTEM_TASK, thread.tasks[0], Tick()))


def _deal(threads: Sequence[Executor], workers: int) -> list[list[Executor]]:
    """Deal the executors to the workers in turn, in order of their tasks (EvenScheduler.java@v2.8.8)."""
    ordered = sorted(threads, key=lambda thread: thread.tasks)
    return [ordered[number::workers] for number in range(min(workers, len(ordered)))]


def _effective_profile(profile: Profile | str, topology: Topology) -> Profile:
    chosen = profile_of(profile) if isinstance(profile, str) else profile
    if topology.settings.enable_message_timeouts or not chosen.spout_ticks:
        return chosen
    return chosen.without_timeouts()
