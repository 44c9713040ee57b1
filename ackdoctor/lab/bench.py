"""Benches: a test drives one bolt or one spout by hand, in virtual time, against an acker."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

from ackdoctor.acker.executors import BoltCollector, MessageId, Reason, SpoutResult, make_collector
from ackdoctor.acker.versions import Schedule
from ackdoctor.lab.base_bench import SINK, SPOUT, BaseBench, Emitted
from ackdoctor.lab.component import Tup
from ackdoctor.lab.shell.child import ShellError
from ackdoctor.lab.shell.components import ShellBolt, ShellSpout
from ackdoctor.lab.shell.heron import HeronBolt, HeronSpout
from ackdoctor.lab.topology import DEFAULT_STREAM, SYSTEM, SYSTEM_TASK, TICK_STREAM
from ackdoctor.model.acker import AckAck, AckFail, Message
from ackdoctor.model.dialect import Kind
from ackdoctor.model.trace import PendingEntry, Verdict

__all__ = ["AUTO", "Bench", "Emitted", "SpoutBench"]


__tracebackhide__ = True  # pytest shows the line of the test, not of the bench

_VERDICTS = {Reason.ACK: Verdict.COMPLETE, Reason.FAIL: Verdict.FAILED, Reason.TIMEOUT: Verdict.EXPIRED}


class _Auto:
    def __repr__(self) -> str:
        return "AUTO"


AUTO: Final = _Auto()  # the bench counts message ids itself: 1, 2, 3, ...


class Bench(BaseBench):
    """A bolt between a spout and a sink.  `tick_secs` is its `topology.tick.tuple.freq.secs`."""

    kind = Kind.BOLT

    def __init__(self, component_class: type, *, tick_secs: int | None = None, **options: Any) -> None:
        super().__init__(component_class, tick_secs=tick_secs, **options)
        self._numbers = count(1)
        self._roots: dict[str, int] = {}  # delivery -> root
        self._verdicts: dict[int, Verdict] = {}  # by root, from the acker's answers to the spout
        self._sink_queue: deque[Tup] = deque()
        if tick_secs:
            self._core.every(Schedule(tick_secs * 1000, tick_secs * 1000), self._tick_if_alive)
        self._launch()
        period = self.bolt.period if isinstance(self.bolt, ShellBolt) else None
        if period:
            self._core.every(Schedule(round(period * 1000), round(period * 1000)), self._beat_if_alive)

    def feed(
        self,
        *values: object,
        stream: str = DEFAULT_STREAM,
        component: str = "spout",
        msg_id: Hashable = AUTO,
        beside: str | None = None,
    ) -> str:
        """Execute one tuple and return the delivery id that the bolt receives.

        Each tuple has its own root, or joins the tree of the delivery `beside`.  With `msg_id=None` it is untracked.
        If the worker dies, `died` holds the error, and the next call raises it.
        """
        number = next(self._numbers)
        message_id = self._spout_emits(number if msg_id is AUTO else msg_id, beside)
        tup = self._tup(number, values, stream, component, message_id)
        for root, edge in message_id.items():
            self._roots[str(number)] = root
            self._core.linked(
                root, edge, delivery=str(number), component=self._place.component, task=self._place.task
            )
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def tick(self) -> str:
        """Execute a tick tuple and return its delivery id."""
        number = next(self._numbers)
        seconds = self._setup.conf.get("topology.tick.tuple.freq.secs", 1)
        tup = self._tup(number, (seconds,), TICK_STREAM, SYSTEM, {}, task=SYSTEM_TASK)
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def heartbeat(self) -> None:
        """Send one heartbeat to the component."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.heartbeat)

    def beat(self) -> None:
        """Run the framework's timer thread once (TicklessBatchingBolt); `advance` runs it when it is due."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.beat)

    def restart(self) -> None:
        """Start a new worker with a new component.  The tuples of the old worker are lost and time out."""
        self._record_deaths()
        self.close()
        self._launch()

    def close(self) -> None:
        """End the component's process."""
        self.bolt.cleanup()

    @property
    def component(self) -> Any:
        """The component object."""
        return self.bolt.component

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages that the component wrote to the pipe, parsed, in order."""
        return self.bolt.transcript.messages

    @property
    def inputs(self) -> tuple[str, ...]:
        """The open deliveries in ShellBolt's `_inputs` map, ticks included; empty for Heron, which has no such map."""
        return tuple(self.bolt.inputs) if isinstance(self.bolt, ShellBolt) else ()

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """The acker's entries.  Messages that the bolt sent between two calls are processed first."""
        if not self._death:
            self._flow()
        return super().pending

    @property
    def roots(self) -> Mapping[str, int]:
        """The root of each tracked delivery."""
        return self._roots

    def verdict(self, delivery: str) -> Verdict:
        """The verdict of the delivery's tree; KeyError if it is untracked."""
        return self._verdicts.get(self._roots[delivery], Verdict.OPEN)

    @property
    def _death(self) -> ShellError | None:
        return self.bolt.died

    def _launch(self) -> None:
        self.bolt: ShellBolt | HeronBolt = (
            HeronBolt(self.component_class, setup=self._setup)
            if self._has_delegate
            else ShellBolt(self.component_class, setup=self._setup)
        )
        self._collector = make_collector(
            self.profile, ids=self._ids, clock=self.clock, message_timeout_s=self._timeout_secs
        )
        try:
            self.bolt.prepare(self._place, _BoltOutput(self._collector, self._emit, self._complete))
        except ShellError:
            return  # `died` holds the error
        self._flow()

    def _spout_emits(self, msg_id: Hashable, beside: str | None) -> Mapping[int, int]:
        if beside is not None:
            root, edge = self._roots[beside], self._ids.next_long()
            self._core.send(AckAck(root, edge))  # one ancestor emits both tuples
            return {root: edge}
        emission = self._core.spout.emit(SPOUT, msg_id, 1)
        if emission.init is not None:
            self._core.send(emission.init)
        return emission.message_ids[0]

    def _tup(
        self,
        number: int,
        values: Sequence[object],
        stream: str,
        component: str,
        message_id: Mapping[int, int],
        task: int = SPOUT,
    ) -> Tup:
        return Tup(
            message_id,
            values=values,
            fields=tuple(self._fields),
            component=component,
            task=task,
            stream=stream,
            delivery=number,
        )

    def _turn(self, action: Callable[[], None]) -> None:
        if self.died:
            raise self.died.with_traceback(None)  # the first call's traceback shows the place
        with suppress(ShellError):  # `died` holds the error
            action()
        self._flow()

    def _flow(self) -> None:
        """Ack all tuples in the sink's queue."""
        while self._sink_queue:
            tup = self._sink_queue.popleft()
            acks = self._collector.ack(tup)
            self._core.complete(acks, delivery=str(tup.delivery), component="sink", task=SINK)

    def _tick_if_alive(self) -> None:
        if not self._death:
            self.tick()

    def _beat_if_alive(self) -> None:
        if not self._death:
            self.beat()

    def _on_result(self, result: SpoutResult) -> None:
        self.results.append(result)
        if result.root is not None:
            self._verdicts[result.root] = _VERDICTS[result.reason]

    def _emit(
        self, values: Sequence[object], anchors: Sequence[Tup], stream: str, task: int | None
    ) -> Sequence[int]:
        """Emit the tuple to the sink."""
        self._check(values, stream)
        ids = tuple(str(anchor.delivery) for anchor in anchors)
        self.emitted.append(Emitted(values, stream, ids, task=task))
        emission = self._collector.emit(anchors, 1)
        self._core.send(*emission.messages)
        (message_id,) = emission.message_ids
        self._sink_queue.append(
            self._tup(
                len(self.emitted), values, stream, self._place.component, message_id, task=self._place.task
            )
        )
        return [SINK]

    def _complete(self, tup: Tup, messages: Iterable[Message]) -> None:
        place = self._place
        self._core.complete(messages, delivery=str(tup.delivery), component=place.component, task=place.task)


class _BoltOutput:
    """The bolt's OutputCollector."""

    def __init__(
        self,
        collector: BoltCollector,
        emit: Callable[[Sequence[object], Sequence[Tup], str, int | None], Sequence[int]],
        complete: Callable[[Tup, Iterable[Message]], None],
    ) -> None:
        self._collector = collector
        self._emit = emit
        self._complete = complete

    def emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        return self._emit(values, anchors, stream, task)

    def ack(self, tup: Tup) -> None:
        self._complete(tup, self._collector.ack(tup))

    def fail(self, tup: Tup) -> None:
        self._complete(tup, self._collector.fail(tup))

    def reset_timeout(self, tup: Tup) -> None:
        self._complete(tup, self._collector.reset_timeout(tup))


class _Tracked(NamedTuple):
    """A pending tuple of the spout's subscriber."""

    msg_id: object
    message_id: MessageId


class SpoutBench(BaseBench):
    """A spout whose subscriber is the test."""

    kind = Kind.SPOUT

    def __init__(self, component_class: type, **options: Any) -> None:
        super().__init__(component_class, **options)
        self._downstream: list[_Tracked] = []
        self._closed = False
        self._late_errors: tuple[str, ...] = ()
        self.spout: ShellSpout | HeronSpout = (
            HeronSpout(component_class, setup=self._setup)
            if self._has_delegate
            else ShellSpout(component_class, setup=self._setup)
        )
        self._attempt(lambda: self.spout.open(self._place, _SpoutOutput(self._emit)))
        if not self._death:
            self._attempt(self.spout.activate)

    def next_tuple(self) -> list[Emitted]:
        """Call next_tuple and return the tuples that it emitted."""
        before = len(self.emitted)
        self._turn(self.spout.next_tuple)
        return self.emitted[before:]

    def ack(self, msg_id: object) -> None:
        """Ack all tuples of a message id; KeyError if none is pending downstream."""
        acks = [AckAck(root, edge) for ids in self._take(msg_id) for root, edge in ids.items()]
        self._turn(partial(self._core.send, *acks))

    def fail(self, msg_id: object) -> None:
        """Fail all tuples of a message id; KeyError if none is pending downstream."""
        fails = [AckFail(root) for ids in self._take(msg_id) for root in ids]
        self._turn(partial(self._core.send, *fails))

    def activate(self) -> None:
        """Activate the topology.  A new bench is active."""
        self._turn(self.spout.activate)

    def deactivate(self) -> None:
        """Deactivate the topology."""
        self._turn(self.spout.deactivate)

    def close(self) -> None:
        """End the component's process."""
        self._late_errors = self.late_errors
        self._closed = True
        self.spout.close()

    @property
    def component(self) -> Any:
        """The component object."""
        return self.spout.component

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages that the component wrote to the pipe, parsed, in order."""
        return self.spout.transcript.messages

    @property
    def late_errors(self) -> tuple[str, ...]:
        """The exception that ended the process after its last sync; Storm notices it at the next command."""
        if self._closed or self._death or not isinstance(self.spout, ShellSpout):
            return self._late_errors
        cause = self.spout.ended.cause if self.spout.ended else None
        return () if cause is None else (f"{type(cause).__name__}: {cause}",)

    @property
    def waiting(self) -> list[object]:
        """The pending message ids, oldest first."""
        pending = self._core.spout.pending()
        return sorted((info.message_id for info in pending.values()), key=self._age)

    def _age(self, msg_id: object) -> int:
        return next(number for number, emitted in enumerate(self.emitted) if emitted.msg_id == msg_id)

    @property
    def _death(self) -> ShellError | None:
        return self.spout.died

    def _turn(self, action: Callable[[], None]) -> None:
        if self.died:
            raise self.died.with_traceback(None)  # the first call's traceback shows the place
        self._attempt(action)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except ShellError:
            assert self._death, "a dead worker has an error"

    def _take(self, msg_id: object) -> list[MessageId]:
        taken = [tracked.message_id for tracked in self._downstream if tracked.msg_id == msg_id]
        if not taken:
            raise KeyError(f"no tuple with message id {msg_id!r} is pending downstream")
        self._downstream = [tracked for tracked in self._downstream if tracked.msg_id != msg_id]
        return taken

    def _on_result(self, result: SpoutResult) -> None:
        """Call ack or fail of the spout, unless its worker is dead."""
        self.results.append(result)
        if self._death:
            return
        call = self.spout.ack if result.reason is Reason.ACK else self.spout.fail
        self._attempt(lambda: call(result.message_id))

    def _emit(self, values: Sequence[object], msg_id: Any, stream: str, task: int | None) -> Sequence[int]:
        self._check(values, stream)
        self.emitted.append(Emitted(values, stream, msg_id=msg_id, task=task))
        emission = self._core.spout.emit(SPOUT, msg_id, 1)
        if emission.init is not None:
            (message_id,) = emission.message_ids
            self._downstream.append(_Tracked(msg_id, message_id))
            self._core.send(emission.init)
        return [SINK]


class _SpoutOutput:
    """The spout's SpoutOutputCollector."""

    def __init__(self, emit: Callable[[Sequence[object], Any, str, int | None], Sequence[int]]) -> None:
        self._emit = emit

    def emit(
        self,
        values: Sequence[object],
        *,
        msg_id: object = None,
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        return self._emit(values, msg_id, stream, task)
