"""An acker's executor: the one place that every message to an acker passes."""

from collections.abc import Callable, Iterator
from functools import partial

from ackdoctor.acker.acker import Acker, StreamManagerError
from ackdoctor.lab.component import WorkerDiedError
from ackdoctor.lab.topology import ACKER
from ackdoctor.lab.traffic import Inbox, Parcel, pace
from ackdoctor.lab.tup import Tup
from ackdoctor.lab.worker import Worker
from ackdoctor.model.event import EventKind
from ackdoctor.model.message import AckAck, AckFail, AckInit, Answer, AnswerKind, Message, ResetTimeout, Tick

__all__ = ["AckerThread"]

_ANSWERED = {
    AnswerKind.ACK: EventKind.COMPLETED,
    AnswerKind.FAIL: EventKind.GAVE_UP,
    AnswerKind.RESET: EventKind.EXTENDED,
}
_RECEIVED = {
    AckInit: EventKind.INIT,
    AckFail: EventKind.FAIL,
    ResetTimeout: EventKind.RESET,
}


class AckerThread:
    """Gives each message to the acker, and the answer to the spout."""

    def __init__(self, worker: Worker, task: int, make: Callable[[], Acker]) -> None:
        self.component = ACKER
        self.tasks: tuple[int, ...] = (task,)
        self.inbox = Inbox(worker.held, worker.random)
        self.pace = pace(worker.random)
        self.running: Iterator[float] | None = None
        self._make = make
        self._worker = worker
        self._note = partial(worker.note, ACKER, task)

    def start(self) -> None:
        """An acker that knows nothing."""
        self.acker = self._make()

    def ready(self) -> bool:
        """Whether a message waits."""
        return self.inbox.ready()

    def begin(self) -> Iterator[float]:
        """Receive a message; takes no time."""
        parcel = self.inbox.take()
        message = parcel.content
        assert not isinstance(message, Tup | Answer), "only messages are sent to ackers"
        self._write_down(message, parcel)
        try:
            answer = self.acker.receive(message)
        except StreamManagerError as error:
            raise WorkerDiedError(str(error)) from error
        if answer is not None:
            self._note(_ANSWERED[answer.kind], root=answer.root)
            self._worker.send(Parcel(self.tasks[0], answer.task, answer))
        return iter(())

    def _write_down(self, message: Message, parcel: Parcel) -> None:
        """Rows in the order in which the acker sees the messages, with the sender's name.

        A trace knows one map, so of several ackers only the first one's rotations are written down.
        """
        worker = self._worker
        if isinstance(message, Tick):
            if self.tasks[0] == worker.ackers[0]:
                self._note(EventKind.ROTATED)
            return
        sender = worker.assignment.components[parcel.sender]
        value = message.value if isinstance(message, AckInit | AckAck) else 0
        worker.note(
            sender,
            parcel.sender,
            _RECEIVED.get(type(message), EventKind.ACK),
            delivery=str(parcel.delivery or ""),
            root=message.root,
            value=value,
            site=parcel.site,
        )
