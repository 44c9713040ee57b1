"""One component on a bench: fed by hand, in virtual time, with an acker behind it.

    with Bench(WordCount, fields=("word",), tick_secs=5) as bench:
        delivery = bench.feed("dog")
        assert bench.emitted == [Emitted(values=["dog", 1], anchors=(delivery,))]
        assert bench.verdict(delivery) is Verdict.COMPLETE
        bench.advance(60)                 # ticks, timer threads and timeouts come when they are due
        assert not bench.pending          # what the acker holds
        assert bench.died is None         # or a ShellError in the JVM's own words

A bolt stands between a spout that emits what is fed, each tuple a root of its own, and a sink that acks whatever
the bolt emits, after the bolt has had its turn.  A spout (`SpoutBench`) is asked by hand, and its tuples are acked
and failed by hand.  Components are the author's own classes, unchanged, behind ShellBolt's and ShellSpout's
rules (heronpy's: in a Heron instance).
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final

from ackdoctor.acker.collector import BoltCollector, make_collector
from ackdoctor.acker.spout import Heard, Reason
from ackdoctor.acker.versions import Schedule
from ackdoctor.lab.shell.bolt import ShellBolt
from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.heron import HeronBolt
from ackdoctor.lab.spout_bench import SpoutBench
from ackdoctor.lab.topology import DEFAULT_STREAM, SYSTEM, SYSTEM_TASK, TICK_STREAM
from ackdoctor.lab.tup import Tup
from ackdoctor.lab.workplace import HERON, SINK, SPOUT, Emitted, Workplace
from ackdoctor.model.dialect import Kind
from ackdoctor.model.message import AckAck, Message
from ackdoctor.model.verdict import PendingEntry, Verdict

__all__ = ["AUTO", "Bench", "Emitted", "SpoutBench"]
__tracebackhide__ = True  # pytest shows the line of the test that asked too much

_VERDICTS = {Reason.ACK: Verdict.COMPLETE, Reason.FAIL: Verdict.FAILED, Reason.TIMEOUT: Verdict.EXPIRED}


class _Auto:
    def __repr__(self) -> str:
        return "AUTO"


AUTO: Final = _Auto()  # a message id of the bench's own: 1, 2, 3, ...


class Bench(Workplace):
    """A bolt between a spout and a sink.  `tick_secs` is its `topology.tick.tuple.freq.secs`."""

    kind = Kind.BOLT

    def __init__(self, component_class: type, *, tick_secs: int | None = None, **options: Any) -> None:
        super().__init__(component_class, tick_secs=tick_secs, **options)
        self._numbers = count(1)
        self._roots: dict[str, int] = {}  # delivery -> root
        self._fates: dict[int, Verdict] = {}  # root -> what the spout heard
        self._on_the_way: deque[Tup] = deque()
        if tick_secs:
            self._stand.every(Schedule(tick_secs * 1000, tick_secs * 1000), self._tick_if_alive)
        self._launch()
        period = self.bolt.period if isinstance(self.bolt, ShellBolt) else None
        if period:
            self._stand.every(Schedule(round(period * 1000), round(period * 1000)), self._beat_if_alive)

    # ---- what a test does ----

    def feed(
        self,
        *values: object,
        stream: str = DEFAULT_STREAM,
        component: str = "spout",
        msg_id: Hashable = AUTO,
        beside: str | None = None,
    ) -> str:
        """Deliver one tuple and let the bolt work; its delivery id, the one the bolt sees.

        Each tuple is a root of its own, or stands in the tree of the delivery `beside`; with `msg_id=None` it is
        untracked.  If the worker dies of it `died` says why, and the next call raises that.
        """
        number = next(self._numbers)
        message_id = self._spout_emits(number if msg_id is AUTO else msg_id, beside)
        tup = self._tup(number, values, stream, component, message_id)
        for root, edge in message_id.items():
            self._roots[str(number)] = root
            self._stand.linked(
                root, edge, delivery=str(number), component=self._place.component, task=self._place.task
            )
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def tick(self) -> str:
        """Deliver a tick tuple now; its delivery id."""
        number = next(self._numbers)
        seconds = self._setup.conf.get("topology.tick.tuple.freq.secs", 1)
        tup = self._tup(number, (seconds,), TICK_STREAM, SYSTEM, {}, task=SYSTEM_TASK)
        self._turn(lambda: self.bolt.execute(tup))
        return str(number)

    def heartbeat(self) -> None:
        """Storm asks whether the component is alive."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.heartbeat)

    def beat(self) -> None:
        """The framework's own timer thread passes once (TicklessBatchingBolt); `advance` does it when it is due."""
        if isinstance(self.bolt, ShellBolt):
            self._turn(self.bolt.beat)

    def restart(self) -> None:
        """A new worker with a new component; what the old one held is lost, and will time out."""
        self._bury()
        self.close()
        self._launch()

    def close(self) -> None:
        """End the component's process."""
        self.bolt.cleanup()

    # ---- what a test looks at ----

    @property
    def component(self) -> Any:
        """The author's object."""
        return self.bolt.component

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the component has written to the pipe, parsed, in order."""
        return self.bolt.transcript.messages

    @property
    def inputs(self) -> tuple[str, ...]:
        """The deliveries, ticks included, that ShellBolt still waits for; Heron keeps no such list."""
        return tuple(self.bolt.inputs) if isinstance(self.bolt, ShellBolt) else ()

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """What the acker holds when it has heard all that the bolt has said, in a turn or out of it."""
        if not self._death:
            self._flow()
        return super().pending

    @property
    def roots(self) -> Mapping[str, int]:
        """The root of each tracked delivery."""
        return self._roots

    def verdict(self, delivery: str) -> Verdict:
        """What became of the tree that this delivery belongs to; KeyError if it was untracked."""
        return self._fates.get(self._roots[delivery], Verdict.OPEN)

    # ---- the spout, the sink, the collector ----

    @property
    def _death(self) -> ShellError | None:
        return self.bolt.died

    def _launch(self) -> None:
        self.bolt: ShellBolt | HeronBolt = (
            HeronBolt(self.component_class, setup=self._setup)
            if self.dialect.name == HERON
            else ShellBolt(self.component_class, setup=self._setup)
        )
        self._collector = make_collector(
            self.profile, ids=self._ids, clock=self.clock, message_timeout_s=self._timeout_secs
        )
        try:
            self.bolt.prepare(self._place, _Output(self._collector, self._emit, self._complete))
        except ShellError:
            return  # `died` says why
        self._flow()

    def _spout_emits(self, msg_id: Hashable, beside: str | None) -> Mapping[int, int]:
        if beside is not None:
            root, edge = self._roots[beside], self._ids.next_long()
            self._stand.send(AckAck(root, edge))  # as if an ancestor had emitted it with the other
            return {root: edge}
        emission = self._stand.spout.emit(SPOUT, msg_id, 1)
        if emission.init is not None:
            self._stand.send(emission.init)
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
            raise self.died.with_traceback(None)  # the call before this one showed where it died
        with suppress(ShellError):  # `died` says why
            action()
        self._flow()

    def _flow(self) -> None:
        """The sink acks what has come to it."""
        while self._on_the_way:
            tup = self._on_the_way.popleft()
            acks = self._collector.ack(tup)
            self._stand.complete(acks, delivery=str(tup.delivery), component="sink", task=SINK)

    def _tick_if_alive(self) -> None:
        if not self._death:
            self.tick()

    def _beat_if_alive(self) -> None:
        if not self._death:
            self.beat()

    def _hear(self, heard: Heard) -> None:
        self.heard.append(heard)
        if heard.root is not None:
            self._fates[heard.root] = _VERDICTS[heard.reason]

    def _emit(
        self, values: Sequence[object], anchors: Sequence[Tup], stream: str, task: int | None
    ) -> Sequence[int]:
        """One copy for the sink."""
        self._check(values, stream)
        ids = tuple(str(anchor.delivery) for anchor in anchors)
        self.emitted.append(Emitted(values, stream, ids, task=task))
        emission = self._collector.emit(anchors, 1)
        self._stand.send(*emission.messages)
        (message_id,) = emission.message_ids
        self._on_the_way.append(
            self._tup(
                len(self.emitted), values, stream, self._place.component, message_id, task=self._place.task
            )
        )
        return [SINK]

    def _complete(self, tup: Tup, messages: Iterable[Message]) -> None:
        place = self._place
        self._stand.complete(messages, delivery=str(tup.delivery), component=place.component, task=place.task)


class _Output:
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
