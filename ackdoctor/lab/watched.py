"""Spouts and bolts of a lab run: paced in virtual time, killed by the plan, and watched."""

import inspect
import signal
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from threading import current_thread, main_thread
from typing import Any

from ackdoctor.acker.executors import TupleInfo
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.lab.child import ComponentClock, ShellError
from ackdoctor.lab.component import (
    Bolt,
    Context,
    OutputCollector,
    Spout,
    SpoutOutputCollector,
    Tup,
    WorkerDiedError,
)
from ackdoctor.lab.fates import DIED, FAILED, Messages
from ackdoctor.lab.faults import Kill, Plan, Raise
from ackdoctor.lab.frameworks import HeronBolt, HeronSpout, descent
from ackdoctor.lab.messages import Setup
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from ackdoctor.lab.topology import DEFAULT_STREAM
from ackdoctor.model.dialect import EntryKind, WireForm
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.record import ComponentRecord

TUPLE_S = 0.001  # a bolt's time for a tuple
_HANDLERS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.NEXT}
_IDLE_S = 1.0  # the longest pause between two calls of a spout that emits nothing
_THINNING = 500  # after the faults, a pause is at least the time since then through this
_QUICK_FAILS = 10  # of a message, after the faults
_SLOWER = 10  # further ones come after the time since then through this
GRACE_S = 5  # wall seconds beyond the limit before a component is interrupted


class OverdueError(BaseException):
    """The code of a component used up the wall time."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise OverdueError in code that does not return, if the platform can."""

    def ring(_number: int, _frame: object) -> None:
        raise OverdueError

    if current_thread() is not main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    again_s = 1  # the interpreter ignores an exception in a destructor
    signal.setitimer(signal.ITIMER_REAL, seconds, again_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class CannotStartError(Exception):
    """A component does not survive its start."""


class InjectedError(Exception):
    """The exception of `--raise`."""


@dataclass(slots=True, kw_only=True)
class Watch:
    """What the components of a run share.

    `seen` counts the tuples of each component while there are faults, `sent` the untracked copies by source, target and
    stream.  `causes` are the exceptions behind the deaths of workers.  `ended_ms` is when the faults were over.
    """

    plan: Plan
    rate: float
    clock: VirtualClock
    ledger: Ledger
    messages: Messages
    tracks: bool  # whether there is an acker
    component_of: Callable[[int], str]
    spout_of: Callable[[int], tuple[str, TupleInfo] | None]  # of a pending root
    later: Callable[[float, Callable[[], object]], None]  # schedule an action in so many seconds
    kill: Callable[[str, int], object]  # of a component and its task
    time: ComponentClock
    seen: Counter[str] = field(default_factory=Counter)
    sent: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    causes: dict[tuple[str, str], BaseException] = field(default_factory=dict)
    ended_ms: int | None = None
    busy: str = ""  # the component that was called last
    _due: set[str] = field(default_factory=set)  # components whose next handler call raises
    _raised: set[str] = field(default_factory=set)  # components whose handler has just raised
    _running: dict[int, tuple[str, Any]] = field(default_factory=dict)  # task -> component and its runner

    def count(self, component: str) -> None:
        """Count one tuple of a component; WorkerDiedError if the plan kills it now."""
        if self.ended_ms is not None:
            return
        self.seen[component] += 1
        number = self.seen[component]
        if any(kill.component == component and kill.number == number for kill in self.plan.kills):
            raise WorkerDiedError("killed")
        if any(each.component == component and each.number == number for each in self.plan.raises):
            self._due.add(component)

    def missed(self) -> Iterator[str]:
        """Yield the faults that wait for a tuple which never came."""
        faults: tuple[Kill | Raise, ...] = (*self.plan.kills, *self.plan.raises)
        for fault in faults:
            if fault.number > self.seen[fault.component]:
                yield str(fault)

    def count_untracked(self, source: str, targets: Iterable[int], stream: str) -> None:
        """Count the copies of a tuple without a root that a component sent to these tasks."""
        for target in targets:
            self.sent[source, self.component_of(target), stream] += 1

    def breaks(self, tup: Tup, component: str, why: str) -> None:
        """Note that a bolt failed a tuple, or died on it."""
        for root in tup.message_id:
            found = self.spout_of(root)
            if found is not None:
                spout, info = found
                self.messages.broken(spout, info.task, info.message_id, component, why)

    def is_due(self, component: object) -> bool:
        """Whether the handler of this object raises now; only once."""
        name = next((name for name, runner in self._running.values() if runner.component is component), "")
        if name not in self._due:
            return False
        self._due.discard(name)
        self._raised.add(name)
        return True

    def forget(self, component: str) -> None:
        """The handler has returned: what it raised has had its effect."""
        self._raised.discard(component)

    def starts(self, name: str, task: int, runner: object) -> bool:
        """Register the runner of a task; return whether it replaces one that has died."""
        before = self._running.get(task)
        if before is not None:
            self._excuse(before[1])
        self._running[task] = (name, runner)
        return before is not None

    def runs(self, task: int, runner: object) -> bool:
        """Whether the task has this runner, which has not died."""
        return self._running[task][1] is runner and not getattr(runner, "died", None)

    def holds_old(self) -> bool:
        """Whether a component holds a tuple from before the end of the faults."""
        end_ns = (self.ended_ms or 0) * 1_000_000
        return any(
            received_ns < end_ns
            for _, runner in self._running.values()
            if (record := self._record(runner)) is not None
            for received_ns, *_ in record.open.values()
        )

    def _record(self, runner: Any) -> ComponentRecord | None:
        return self.ledger.records.get(id(runner.component))

    def _excuse(self, runner: Any) -> None:
        """A component that has died need not complete what it held."""
        record = self._record(runner)
        if record is not None:
            for delivery in list(record.open):
                record.excuse(delivery)

    def failing(self, component: str, error: ShellError) -> None:
        """Keep the exception of a component that killed its worker."""
        planned = component in self._raised
        cause = InjectedError("raised by the lab") if planned else error.__cause__ or error
        self.causes.setdefault((component, str(error)), cause)


def arm(watch: Watch, classes: Iterable[type]) -> None:
    """Let the handlers of these classes raise when the plan says so; the tracer, which comes later, sees it."""
    for cls in classes:
        _, role = descent(cls)
        for entry in role.entries:
            handler = getattr(cls, entry.method, None)
            if entry.kind in _HANDLERS and inspect.isfunction(handler):
                setattr(cls, entry.method, _raising(watch, handler))


def _raising(watch: Watch, handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    def handle(*arguments: Any, **keywords: Any) -> Any:
        if watch.is_due(arguments[0]):
            raise InjectedError("raised by the lab")
        return handler(*arguments, **keywords)

    return handle


@contextmanager
def _starting(component: str) -> Iterator[None]:
    """Raise CannotStartError for what kills the component."""
    try:
        yield
    except ShellError as error:
        raise CannotStartError(component) from (error.__cause__ or error)


class WatchedBolt(Bolt):
    """A bolt of the user's."""

    def __init__(self, watch: Watch, name: str, cls: type, setup: Setup) -> None:
        self._watch, self._name = watch, name
        self._runner = (HeronBolt if _has_delegate(cls) else ShellBolt)(cls, setup=setup)
        slow = [each.seconds for each in watch.plan.slows if each.component == name]
        self._seconds = slow[-1] if slow else TUPLE_S

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Start the component; CannotStartError if it does not survive that."""
        self.context, runner = context, self._runner
        self._watch.busy = self._name
        self._watch.starts(self._name, context.task, runner)
        with _starting(self._name):
            runner.prepare(context, _BoltOutput(self._watch, self._name, collector))
        if isinstance(runner, ShellBolt) and runner.period:
            self._watch.later(runner.period, partial(self._beat, runner, runner.period))

    def execute(self, tup: Tup) -> Iterator[float]:
        """Handle one tuple or tick, at the end of the time that it takes."""
        watch = self._watch
        if tup.is_tick:
            yield TUPLE_S
        else:
            yield self._seconds if watch.ended_ms is None else TUPLE_S
            watch.count(self._name)
            if not tup.message_id:
                watch.sent[tup.component, self._name, tup.stream] -= 1
        watch.busy = self._name
        try:
            self._runner.execute(tup)
        except ShellError as error:
            watch.breaks(tup, self._name, DIED)
            watch.failing(self._name, error)
            raise
        finally:
            watch.forget(self._name)
            seconds = watch.time.take()
        if seconds:
            yield seconds

    def cleanup(self) -> None:
        """End the component."""
        self._runner.cleanup()

    def _beat(self, runner: ShellBolt, period: float) -> None:
        """Run the timer thread of the framework."""
        if runner.died:
            return
        try:
            runner.beat()
        except ShellError as error:
            self._watch.failing(self._name, error)
            self._watch.kill(self._name, self.context.task)
        else:
            self._watch.later(period, partial(self._beat, runner, period))
        finally:
            self._watch.forget(self._name)


class _BoltOutput:
    """A bolt's collector, which counts the copies that no root tracks."""

    def __init__(self, watch: Watch, name: str, collector: OutputCollector) -> None:
        self._watch, self._name, self._collector = watch, name, collector
        self.ack, self.reset_timeout = collector.ack, collector.reset_timeout

    def fail(self, tup: Tup) -> None:
        """Fail a tuple."""
        self._watch.breaks(tup, self._name, FAILED)
        self._collector.fail(tup)

    def emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """Emit."""
        targets = self._collector.emit(values, anchors=anchors, stream=stream, task=task)
        if not any(anchor.message_id for anchor in anchors):
            self._watch.count_untracked(self._name, targets, stream)
        return targets


class WatchedSpout(Spout):
    """A spout of the user's, called `rate` times a second while it emits."""

    def __init__(self, watch: Watch, name: str, cls: type, setup: Setup) -> None:
        self._watch, self._name = watch, name
        self._runner = (HeronSpout if _has_delegate(cls) else ShellSpout)(cls, setup=setup)
        self._due_ms = 0.0
        self._pause_s = 1 / watch.rate
        self._output: _SpoutOutput

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Start the component; CannotStartError if it does not survive that."""
        self.context, watch = context, self._watch
        watch.busy = self._name
        if watch.starts(self._name, context.task, self._runner):
            watch.messages.died(self._name, context.task)
        self._output = _SpoutOutput(watch, self._name, context.task, collector)
        with _starting(self._name):
            self._runner.open(context, self._output)

    def activate(self) -> None:
        """Activate the component; CannotStartError if it does not survive that."""
        with _starting(self._name):
            self._runner.activate()

    def deactivate(self) -> None:
        """Deactivate the component."""
        self._runner.deactivate()

    def next_tuple(self) -> float:
        """Call the component, unless it is too early; return the seconds until the next call."""
        watch, now_ms = self._watch, self.context.now_ms()
        if now_ms < self._due_ms:
            return (self._due_ms - now_ms) / 1000
        watch.count(self._name)
        before = self._output.emits
        try:
            self._call(self._runner.next_tuple)
        finally:
            watch.forget(self._name)
            slept = watch.time.take()
        busy = self._output.emits > before
        self._pause_s = 1 / watch.rate if busy else min(_IDLE_S, 2 * self._pause_s)
        pause = max(self._pause_s, slept)
        if watch.ended_ms is not None:
            pause = max(pause, (now_ms - watch.ended_ms) / 1000 / _THINNING)
        self._due_ms = max(self._due_ms, now_ms - 1) + pause * 1000
        return max(0.001, (self._due_ms - now_ms) / 1000)

    def ack(self, msg_id: Hashable) -> None:
        """The tree of a message is complete."""
        self._watch.messages.acked(self._name, self.context.task, msg_id)
        self._call(partial(self._runner.ack, msg_id))

    def fail(self, msg_id: Hashable) -> None:
        """The tree of a message failed or timed out."""
        watch, fail = self._watch, partial(self._runner.fail, msg_id)
        emits = watch.messages.failed(self._name, self.context.task, msg_id)
        if emits < _QUICK_FAILS or watch.ended_ms is None:
            self._call(fail)
            return
        # a message that fails each time comes again ever more slowly, or the run would not end
        wait_s = (self.context.now_ms() - watch.ended_ms) / 1000 / _SLOWER
        watch.later(wait_s, partial(self._fail_late, fail))

    def _fail_late(self, fail: Callable[[], object]) -> None:
        if not self._watch.runs(self.context.task, self._runner):
            return  # the task has died
        try:
            self._call(fail)
        except ShellError:
            self._watch.kill(self._name, self.context.task)

    def close(self) -> None:
        """End the component."""
        self._runner.close()

    def _call(self, action: Callable[[], object]) -> None:
        self._watch.busy = self._name
        try:
            action()
        except ShellError as error:
            self._watch.failing(self._name, error)
            raise


class _SpoutOutput:
    """A spout's collector, which follows its messages."""

    def __init__(self, watch: Watch, name: str, task: int, collector: SpoutOutputCollector) -> None:
        self._watch, self._name, self._task, self._collector = watch, name, task, collector
        self.emits = 0

    def emit(
        self,
        values: Sequence[object],
        *,
        msg_id: Any = None,
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """Emit."""
        watch = self._watch
        self.emits += 1
        tracked = None if not watch.tracks else msg_id
        watch.messages.emitted(self._name, self._task, stream, values, tracked)
        targets = self._collector.emit(values, msg_id=msg_id, stream=stream, task=task)
        if tracked is None:
            watch.count_untracked(self._name, targets, stream)
        return targets


def _has_delegate(cls: type) -> bool:
    wire = descent(cls)[0].wire
    return wire is not None and wire.form is WireForm.DELEGATE
