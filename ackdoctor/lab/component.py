"""The shape of a component: Storm's `IRichBolt` and `IRichSpout`, their collectors, context and task hooks.

A component's method may take (virtual) time, as one that sleeps or works does: written as a generator,
it yields the seconds that pass.  Its executor does nothing else meanwhile, nor does it hear ticks.

    class Slow(Bolt):
        def execute(self, tup):
            yield 8  # seconds
            self.collector.ack(tup)
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.lab.tup import Tup

__all__ = [
    "BasicBolt",
    "Bolt",
    "BoltInfo",
    "Context",
    "EmitInfo",
    "FailedError",
    "OutputCollector",
    "Spout",
    "SpoutInfo",
    "SpoutOutputCollector",
    "TaskHook",
    "Time",
    "WorkerDiedError",
]

Time: TypeAlias = Iterator[float] | None


class WorkerDiedError(Exception):
    """Raised by a component: its worker ends here and is started again.

    The executor's components are made anew; its queue and its pending map are lost.  Any other
    exception that escapes a component ends the run: it is the author's to see.
    """


class FailedError(Exception):
    """Storm's FailedException: a `BasicBolt` that raises it fails its tuple."""


class EmitInfo(NamedTuple):
    """One emit, messages to and from the acker included."""

    values: Sequence[object]
    stream: str
    task: int
    out_tasks: Sequence[int]


class BoltInfo(NamedTuple):
    """A bolt's task `task` executed, acked or failed `tup`."""

    tup: Tup
    task: int


class SpoutInfo(NamedTuple):
    """A spout's task heard of its message."""

    msg_id: Hashable
    task: int


class TaskHook:
    """Storm's ITaskHook; override what is wanted."""

    def emit(self, info: EmitInfo) -> None:
        """A tuple was emitted."""

    def spout_ack(self, info: SpoutInfo) -> None:
        """A spout has heard ACK."""

    def spout_fail(self, info: SpoutInfo) -> None:
        """A spout has heard FAIL or TIMEOUT."""

    def bolt_execute(self, info: BoltInfo) -> None:
        """`execute` has returned."""

    def bolt_ack(self, info: BoltInfo) -> None:
        """A bolt has acked."""

    def bolt_fail(self, info: BoltInfo) -> None:
        """A bolt has failed."""


class Context(Protocol):
    """What a component may ask about its place (`TopologyContext`)."""

    @property
    def component(self) -> str: ...  # noqa: D102
    @property
    def task(self) -> int: ...  # noqa: D102
    @property
    def task_index(self) -> int: ...  # noqa: D102
    def now_ms(self) -> int: ...  # noqa: D102
    def tasks_of(self, component: str) -> Sequence[int]: ...  # noqa: D102
    def add_task_hook(self, hook: TaskHook) -> None: ...  # noqa: D102


class OutputCollector(Protocol):
    """A bolt's verbs.  `emit` answers the tasks that the tuple went to; `task` makes it a direct emit."""

    def emit(  # noqa: D102
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = "default",
        task: int | None = None,
    ) -> Sequence[int]: ...
    def ack(self, tup: Tup) -> None: ...  # noqa: D102
    def fail(self, tup: Tup) -> None: ...  # noqa: D102
    def reset_timeout(self, tup: Tup) -> None: ...  # noqa: D102


class SpoutOutputCollector(Protocol):
    """A spout's verb.  Without `msg_id` the tuple is not tracked."""

    def emit(  # noqa: D102
        self,
        values: Sequence[object],
        *,
        msg_id: Hashable = None,
        stream: str = "default",
        task: int | None = None,
    ) -> Sequence[int]: ...


class Bolt:
    """Receives tuples, emits tuples, owes each one an ack or a fail."""

    collector: OutputCollector
    context: Context

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Called once, before the first tuple."""
        self.context = context
        self.collector = collector

    def execute(self, tup: Tup) -> Time:
        """One tuple, or a tick."""
        raise NotImplementedError

    def cleanup(self) -> None:
        """The cluster is shut down; a killed worker never calls it."""


class BasicBolt(Bolt):
    """Storm's BasicBoltExecutor: emits are anchored to the input, which is acked afterwards."""

    _current: Tup

    def process(self, tup: Tup) -> None:
        """One tuple; FailedError fails it."""
        raise NotImplementedError

    def emit(self, values: Sequence[object], *, stream: str = "default") -> Sequence[int]:
        """Emit, anchored to the current tuple."""
        return self.collector.emit(values, anchors=(self._current,), stream=stream)

    def execute(self, tup: Tup) -> None:
        """Ack after a normal return, fail after FailedError (BasicBoltExecutor.java:48-60@v2.8.8)."""
        self._current = tup
        try:
            self.process(tup)
        except FailedError:
            self.collector.fail(tup)
        else:
            self.collector.ack(tup)


class Spout:
    """Emits roots, hears what became of them."""

    collector: SpoutOutputCollector
    context: Context

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Called once, before the first `next_tuple`."""
        self.context = context
        self.collector = collector

    def activate(self) -> None:
        """The topology became active."""

    def deactivate(self) -> None:
        """The topology became inactive: `next_tuple` is not called."""

    def next_tuple(self) -> Time:
        """Emit something, or nothing."""
        raise NotImplementedError

    def ack(self, msg_id: Hashable) -> None:
        """The tuple tree of this message is complete."""

    def fail(self, msg_id: Hashable) -> None:
        """The tuple tree of this message failed, or was too late."""

    def close(self) -> None:
        """The cluster is shut down; a killed worker never calls it."""
