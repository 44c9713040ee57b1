"""A spout on a bench: asked by hand, its tuples acked and failed by hand.

with SpoutBench(Words) as bench:
    bench.next_tuple()
    (first,) = bench.emitted
    bench.fail(first.msg_id)          # somebody downstream fails it; the spout hears of it
    bench.advance(60)                 # or nobody does anything, and it times out
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ackdoctor.acker.collector import MessageId
from ackdoctor.acker.spout import Heard, Reason
from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.heron import HeronSpout
from ackdoctor.lab.shell.spout import ShellSpout
from ackdoctor.lab.topology import DEFAULT_STREAM
from ackdoctor.lab.workplace import HERON, SINK, SPOUT, Emitted, Workplace
from ackdoctor.model.dialect import Kind
from ackdoctor.model.message import AckAck, AckFail

__all__ = ["SpoutBench"]
__tracebackhide__ = True  # pytest shows the line of the test that asked too much


class _Tracked(NamedTuple):
    """A tuple that waits downstream."""

    msg_id: object
    message_id: MessageId


class SpoutBench(Workplace):
    """A spout whose one subscriber is the test."""

    kind = Kind.SPOUT

    def __init__(self, component_class: type, **options: Any) -> None:
        super().__init__(component_class, **options)
        self._downstream: list[_Tracked] = []
        self._closed = False
        self._unheard: tuple[str, ...] = ()
        self.spout: ShellSpout | HeronSpout = (
            HeronSpout(component_class, setup=self._setup)
            if self.dialect.name == HERON
            else ShellSpout(component_class, setup=self._setup)
        )
        self._attempt(lambda: self.spout.open(self._place, _Output(self._emit)))
        if not self._death:
            self._attempt(self.spout.activate)

    # ---- what a test does ----

    def next_tuple(self) -> list[Emitted]:
        """Ask the spout for tuples; what it emitted."""
        before = len(self.emitted)
        self._turn(self.spout.next_tuple)
        return self.emitted[before:]

    def ack(self, msg_id: object) -> None:
        """Ack the tuples of a message that wait downstream; KeyError if none does."""
        acks = [AckAck(root, edge) for ids in self._take(msg_id) for root, edge in ids.items()]
        self._turn(partial(self._stand.send, *acks))

    def fail(self, msg_id: object) -> None:
        """Fail them."""
        fails = [AckFail(root) for ids in self._take(msg_id) for root in ids]
        self._turn(partial(self._stand.send, *fails))

    def activate(self) -> None:
        """The topology becomes active; it is, at first."""
        self._turn(self.spout.activate)

    def deactivate(self) -> None:
        """The topology becomes inactive."""
        self._turn(self.spout.deactivate)

    def close(self) -> None:
        """End the component's process."""
        self._unheard = self.unheard
        self._closed = True
        self.spout.close()

    # ---- what a test looks at ----

    @property
    def component(self) -> Any:
        """The author's object."""
        return self.spout.component

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the component has written to the pipe, parsed, in order."""
        return self.spout.transcript.messages

    @property
    def unheard(self) -> tuple[str, ...]:
        """What the component raised that ended its process after its last sync: the next command finds it dead."""
        if self._closed or self._death or not isinstance(self.spout, ShellSpout):
            return self._unheard
        cause = self.spout.ended.cause if self.spout.ended else None
        return () if cause is None else (f"{type(cause).__name__}: {cause}",)

    @property
    def waiting(self) -> list[object]:
        """The ids of the messages that the spout has heard nothing of yet, oldest first."""
        pending = self._stand.spout.pending()
        return sorted((info.message_id for info in pending.values()), key=self._age)

    def _age(self, msg_id: object) -> int:
        return next(number for number, emitted in enumerate(self.emitted) if emitted.msg_id == msg_id)

    # ---- the executor ----

    @property
    def _death(self) -> ShellError | None:
        return self.spout.died

    def _turn(self, action: Callable[[], None]) -> None:
        if self.died:
            raise self.died.with_traceback(None)  # the call before this one showed where it died
        self._attempt(action)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except ShellError:
            assert self._death, "a worker that dies says why"

    def _take(self, msg_id: object) -> list[MessageId]:
        taken = [tracked.message_id for tracked in self._downstream if tracked.msg_id == msg_id]
        if not taken:
            raise KeyError(f"nothing with message id {msg_id!r} waits downstream")
        self._downstream = [tracked for tracked in self._downstream if tracked.msg_id != msg_id]
        return taken

    def _hear(self, heard: Heard) -> None:
        """Call the spout; a spout that is dead is not called."""
        self.heard.append(heard)
        if self._death:
            return
        call = self.spout.ack if heard.reason is Reason.ACK else self.spout.fail
        self._attempt(lambda: call(heard.message_id))

    def _emit(self, values: Sequence[object], msg_id: Any, stream: str, task: int | None) -> Sequence[int]:
        self._check(values, stream)
        self.emitted.append(Emitted(values, stream, msg_id=msg_id, task=task))
        emission = self._stand.spout.emit(SPOUT, msg_id, 1)
        if emission.init is not None:
            (message_id,) = emission.message_ids
            self._downstream.append(_Tracked(msg_id, message_id))
            self._stand.send(emission.init)
        return [SINK]


class _Output:
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
