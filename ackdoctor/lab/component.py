"""Interfaces of components: IRichBolt, IRichSpout, their collectors, tuples, context and task hooks."""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.acker.executors import TupleImpl


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Tup(TupleImpl):
    """A tuple: values, field names, source, and for acking `message_id` and `ack_val`."""

    values: Sequence[object]
    fields: Sequence[str]
    component: str  # the source's
    task: int  # the source's
    stream: str
    delivery: int  # its number in the run

    def __getitem__(self, name: str) -> object:
        return self.values[self.fields.index(name)]

    def __repr__(self) -> str:
        ids = ", ".join(f"{root}={edge}" for root, edge in self.message_id.items())
        values = ", ".join(map(str, self.values))
        return f"source: {self.component}:{self.task}, stream: {self.stream}, id: {{{ids}}}, [{values}]"

    @property
    def is_tick(self) -> bool:
        """Whether it is a tick tuple, which has no roots."""
        return self.component == "__system" and self.stream == "__tick"


Time: TypeAlias = Iterator[float] | None


class WorkerDiedError(Exception):
    """Raised by a component to kill its worker, which restarts.

    The executor gets new components; its queue and its pending map are lost.  Any other exception that
    escapes a component ends the run, so that its author sees it.
    """


class FailedError(Exception):
    """Storm's FailedException.  If a `BasicBolt` raises it, its tuple fails."""


class EmitInfo(NamedTuple):
    """One emit.  Messages to and from the acker are emits, too."""

    values: Sequence[object]
    stream: str
    task: int
    out_tasks: Sequence[int]


class BoltInfo(NamedTuple):
    """A bolt's task `task` executed, acked or failed `tup`."""

    tup: Tup
    task: int


class SpoutInfo(NamedTuple):
    """The executor called `ack` or `fail` of a spout's task."""

    msg_id: Hashable
    task: int


class TaskHook:
    """Storm's ITaskHook; override the methods that you need."""

    def emit(self, info: EmitInfo) -> None:
        """The task emitted a tuple."""

    def spout_ack(self, info: SpoutInfo) -> None:
        """The executor called the spout's `ack`."""

    def spout_fail(self, info: SpoutInfo) -> None:
        """The executor called the spout's `fail`, after a FAIL or a timeout."""

    def bolt_execute(self, info: BoltInfo) -> None:
        """`execute` returned."""

    def bolt_ack(self, info: BoltInfo) -> None:
        """A bolt acked a tuple."""

    def bolt_fail(self, info: BoltInfo) -> None:
        """A bolt failed a tuple."""


class Context(Protocol):
    """A task's `TopologyContext`."""

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
    """A bolt's collector.  `emit` returns the receiving tasks; with `task` it is a direct emit."""

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
    """A spout's collector.  Without `msg_id` the tuple is not tracked."""

    def emit(  # noqa: D102
        self,
        values: Sequence[object],
        *,
        msg_id: Hashable = None,
        stream: str = "default",
        task: int | None = None,
    ) -> Sequence[int]: ...


class Bolt:
    """A bolt: it receives tuples, emits tuples, and must ack or fail each one."""

    collector: OutputCollector
    context: Context

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Initialise, before the first tuple."""
        self.context = context
        self.collector = collector

    def execute(self, tup: Tup) -> Time:
        """Process one tuple or tick; yield the seconds that this takes."""
        raise NotImplementedError

    def cleanup(self) -> None:
        """Release resources at the shutdown of the cluster.  A killed worker does not call it."""


class BasicBolt(Bolt):
    """Storm's BasicBoltExecutor: it anchors emits to the input tuple, and acks that tuple afterwards."""

    _current: Tup

    def process(self, tup: Tup) -> None:
        """Process one tuple; FailedError fails it."""
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
    """A spout: it emits roots, and gets an ack or a fail for each message id."""

    collector: SpoutOutputCollector
    context: Context

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Initialise, before the first `next_tuple`."""
        self.context = context
        self.collector = collector

    def activate(self) -> None:
        """The topology becomes active."""

    def deactivate(self) -> None:
        """The topology becomes inactive: no more calls of `next_tuple`."""

    def next_tuple(self) -> Time | float:
        """Emit tuples, if there are any; yield the seconds that this takes.

        Or return the seconds until the next tuple: the executor processes answers meanwhile.
        """
        raise NotImplementedError

    def ack(self, msg_id: Hashable) -> None:
        """The tuple tree of this message is complete."""

    def fail(self, msg_id: Hashable) -> None:
        """The tuple tree of this message failed or timed out."""

    def close(self) -> None:
        """Release resources at the shutdown of the cluster.  A killed worker does not call it."""


class Feed:
    """The tuples that a test queues for its spout.  A restarted `Feeder` continues with the same feed.

    `acked` and `failed` hold message ids in the order of the calls.
    """

    def __init__(self) -> None:
        self.acked: list[Hashable] = []
        self.failed: list[Hashable] = []
        self.waiting: deque[tuple[Sequence[object], Hashable]] = deque()

    def __call__(self) -> "Feeder":
        """Create the spout."""
        return Feeder(self)

    def put(self, *values: object, msg_id: Hashable = None) -> None:
        """Queue one tuple; without a message id it is untracked."""
        self.waiting.append((values, msg_id))


class Feeder(Spout):
    """A spout that emits the tuples of a feed, one per call."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed

    def next_tuple(self) -> None:
        """Emit the oldest tuple of the queue."""
        if self.feed.waiting:
            values, msg_id = self.feed.waiting.popleft()
            self.collector.emit(values, msg_id=msg_id)

    def ack(self, msg_id: Hashable) -> None:
        """Record the message id."""
        self.feed.acked.append(msg_id)

    def fail(self, msg_id: Hashable) -> None:
        """Record the message id."""
        self.feed.failed.append(msg_id)
