"""A bolt's executor (BoltExecutor.java, BoltOutputCollectorImpl.java)."""

from collections.abc import Callable, Iterator, Sequence

from ackdoctor.acker.collector import BoltCollector, make_collector
from ackdoctor.acker.versions import Engine
from ackdoctor.lab.component import Bolt, BoltInfo
from ackdoctor.lab.naming import introduced
from ackdoctor.lab.topology import DEFAULT_STREAM
from ackdoctor.lab.traffic import Inbox, pace
from ackdoctor.lab.tup import Tup
from ackdoctor.lab.worker import Place, Worker
from ackdoctor.model.event import RELIABLE, TICK, EventKind

__all__ = ["BoltThread"]


class BoltThread:
    """Hands each task its tuples, one at a time."""

    def __init__(
        self, worker: Worker, component: str, tasks: tuple[int, ...], factory: Callable[[], Bolt]
    ) -> None:
        self.component = component
        self.tasks = tasks
        self.inbox = Inbox(worker.held, worker.random)
        self.pace = pace(worker.random)
        self.running: Iterator[float] | None = None
        self.bolts: dict[int, Bolt] = {}
        self._factory = factory
        self._worker = worker
        self._places: dict[int, Place] = {}

    def start(self) -> None:
        """Make the components anew and prepare them."""
        worker = self._worker
        collector = make_collector(
            worker.profile,
            ids=worker.new_ids(),
            clock=worker.clock,
            message_timeout_s=worker.topology.settings.message_timeout_secs,
        )
        self._places = {task: Place(worker, self.component, task) for task in self.tasks}
        self.bolts = {task: self._factory() for task in self.tasks}
        for task, bolt in self.bolts.items():
            place = self._places[task]
            place.say_startup()
            bolt.prepare(place, _BoltOutput(place, collector))
            if worker.record is not None:
                site, note = introduced(getattr(bolt, "component", bolt))  # of a ShellBolt, the author's
                place.note(EventKind.NAMED, site=site, note=note)

    def ready(self) -> bool:
        """Whether a tuple waits."""
        return self.running is None and self.inbox.ready()

    def begin(self) -> Iterator[float]:
        """Execute a tuple."""
        parcel = self.inbox.take()
        tup = parcel.content
        assert isinstance(tup, Tup), "only tuples are sent to bolts"
        place = self._places[parcel.receiver]
        delivery = str(tup.delivery)
        flags = TICK if tup.is_tick else 0
        place.note(EventKind.RECEIVED, stream=tup.stream, delivery=delivery, flags=flags)
        for root, edge in tup.message_id.items():
            place.note(EventKind.LINKED, delivery=delivery, root=root, value=edge)
        yield from self.bolts[parcel.receiver].execute(tup) or ()
        for hook in place.hooks:
            hook.bolt_execute(BoltInfo(tup, place.task))


class _BoltOutput:
    """One task's OutputCollector."""

    def __init__(self, place: Place, collector: BoltCollector) -> None:
        self._place = place
        self._collector = collector
        worker = place.worker
        self._deaf = (
            not worker.ackers and worker.profile.engine is Engine.JAVA
        )  # Storm 2.x then returns at once

    def emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
    ) -> Sequence[int]:
        """One new edge for each target and anchor."""
        place = self._place
        site = place.site()
        targets = place.targets(values, stream, task)
        first, *others = anchors or (None,)
        flags = RELIABLE if first else 0
        place.note(
            EventKind.EMITTED,
            stream=stream,
            delivery=str(first.delivery) if first else "",
            site=site,
            flags=flags,
        )
        for anchor in others:
            place.note(EventKind.ANCHORED, stream=stream, delivery=str(anchor.delivery), site=site)
        emission = self._collector.emit(anchors, len(targets))
        for message in emission.messages:
            place.send_message(message)
        for target, message_id in zip(targets, emission.message_ids, strict=True):
            place.send_tup(values, stream, target, message_id)
        return targets

    def ack(self, tup: Tup) -> None:
        """Tells each root's acker; nothing remembers that it was done before."""
        if self._deaf:
            return
        place = self._place
        site = place.site()
        place.note(EventKind.ACKED, stream=tup.stream, delivery=str(tup.delivery), site=site)
        for message in self._collector.ack(tup):
            place.send_message(message, tup.delivery, site)
        for hook in place.hooks:
            hook.bolt_ack(BoltInfo(tup, place.task))

    def fail(self, tup: Tup) -> None:
        """As ack."""
        if self._deaf:
            return
        place = self._place
        site = place.site()
        place.note(EventKind.FAILED, stream=tup.stream, delivery=str(tup.delivery), site=site)
        for message in self._collector.fail(tup):
            place.send_message(message, tup.delivery, site)
        for hook in place.hooks:
            hook.bolt_fail(BoltInfo(tup, place.task))

    def reset_timeout(self, tup: Tup) -> None:
        """Starts the timeouts of all its roots again, where the version knows how."""
        for message in self._collector.reset_timeout(tup):
            self._place.send_message(message, tup.delivery, self._place.site())
