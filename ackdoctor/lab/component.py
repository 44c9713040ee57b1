"""The shape of a component: IRichBolt, IRichSpout, their collectors, tuples, context and task hooks."""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.acker.collector import MessageId, TupleImpl
from ackdoctor.tracer.ledger.sites import Sites

__all__ = [
    "BasicBolt",
    "Bolt",
    "BoltInfo",
    "Context",
    "EmitInfo",
    "FailedError",
    "Feed",
    "Feeder",
    "OutputCollector",
    "Spout",
    "SpoutInfo",
    "SpoutOutputCollector",
    "TaskHook",
    "Time",
    "Tup",
    "WorkerDiedError",
    "author_sites",
    "called_from",
]


class Tup(TupleImpl):
    """Values with their names and origin, and what acking needs: `message_id` and `ack_val`.

    `delivery` counts the tuples of the run, so that tuples with equal values differ.
    """

    __slots__ = ("component", "delivery", "fields", "stream", "task", "values")

    def __init__(
        self,
        message_id: MessageId,
        *,
        values: Sequence[object],
        fields: Sequence[str],
        component: str,
        task: int,
        stream: str,
        delivery: int,
    ) -> None:
        super().__init__(message_id)
        self.values = values
        self.fields = fields
        self.component = component  # the source's
        self.task = task  # the source's
        self.stream = stream
        self.delivery = delivery

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
    """Raised by a component: its worker ends here and is started again.

    The executor gets new components; its queue and its pending map are lost.  Any other
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
    """The executor called `ack` or `fail` of a spout's task."""

    msg_id: Hashable
    task: int


class TaskHook:
    """Storm's ITaskHook; override what is wanted."""

    def emit(self, info: EmitInfo) -> None:
        """A tuple was emitted."""

    def spout_ack(self, info: SpoutInfo) -> None:
        """The executor called the spout's `ack`."""

    def spout_fail(self, info: SpoutInfo) -> None:
        """The executor called the spout's `fail`, after a FAIL or a timeout."""

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


class Feed:
    """The test's end.  It outlives the spout, so a feeder that was killed goes on with it.

    `acked` and `failed` hold message ids in the order of the calls.
    """

    def __init__(self) -> None:
        self.acked: list[Hashable] = []
        self.failed: list[Hashable] = []
        self.waiting: deque[tuple[Sequence[object], Hashable]] = deque()

    def __call__(self) -> "Feeder":
        """The factory of the spout."""
        return Feeder(self)

    def put(self, *values: object, msg_id: Hashable = None) -> None:
        """One tuple to emit; without a message id it is untracked."""
        self.waiting.append((values, msg_id))


class Feeder(Spout):
    """One tuple of the feed at a time."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed

    def next_tuple(self) -> None:
        """Emit what waits longest."""
        if self.feed.waiting:
            values, msg_id = self.feed.waiting.popleft()
            self.collector.emit(values, msg_id=msg_id)

    def ack(self, msg_id: Hashable) -> None:
        """Write it down."""
        self.feed.acked.append(msg_id)

    def fail(self, msg_id: Hashable) -> None:
        """Write it down."""
        self.feed.failed.append(msg_id)


_AUTO_ACK = f"{BasicBolt.__module__}.{BasicBolt.execute.__qualname__}"
_LOOP = "BoltThread.begin"  # beyond it are the cluster's callers, who are no authors of bolts


def author_sites() -> Sites:
    """Call sites of bolts in the lab."""
    return Sites(completes=(_AUTO_ACK, f"ackdoctor.lab.executors.{_LOOP}"))


def called_from(sites: Sites) -> str:
    """The line of the bolt that called its collector, three frames up; '' if a ShellBolt did it for its component."""
    site = sites[sites.here(3)]
    return "" if site is None or site.function == _LOOP else str(site)
