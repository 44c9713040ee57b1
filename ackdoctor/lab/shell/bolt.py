"""ShellBolt: the JVM's side of a bolt that speaks multilang.

    bolt = ShellBolt(WordCount, setup=Setup(input_fields={"words": {"default": ["word"]}}))

It is a bolt of the lab: give it to a cluster, or to `ackdoctor.lab.bench.Bench`, which feeds it by hand.

Read: apache/storm storm-client/src/jvm/org/apache/storm/task/ShellBolt.java @ v2.8.8; the rules are those
of 0.9.3 to 2.8.8.  Every tuple, ticks included, gets a private id and stays in `inputs`
until it is acked or failed; breaking a rule halts the worker with exit code 11.  The JVM's reader and writer
threads are not modelled: messages are read, in order, whenever the component waits for input.
"""

from ackdoctor.acker.ids import IdSource
from ackdoctor.lab.component import Bolt, Context, OutputCollector
from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.java import RUNTIME, ShellMsg, java_text
from ackdoctor.lab.shell.process import Setup
from ackdoctor.lab.shell.shell import HEARTBEAT_LOST, Shell
from ackdoctor.lab.tup import Tup

__all__ = ["ShellBolt"]

_HEARTBEAT_STREAM = "__heartbeat"
_SYSTEM_TASK = -1
_NULL = "java.lang.NullPointerException"


class ShellBolt(Shell, Bolt):
    """One component class behind ShellBolt's rules.

    `inputs` is ShellBolt's own map; `transcript` what the component said; `died` is None until the worker
    is dead.  `ids` draws the private ids as Storm does, from java.util.Random; by default a tuple's id is its
    number in the run, which the acker's rows of the trace know as well.
    """

    def __init__(
        self, component_class: type, *, setup: Setup | None = None, ids: IdSource | None = None
    ) -> None:
        super().__init__(component_class, setup=setup)
        self._ids = ids
        self._unanswered_since: int | None = None
        self._inputs: dict[str, Tup] = {}

    # ---- Storm's IBolt ----

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Launch the component; ShellError if it does not survive its constructor."""
        super().prepare(context, collector)
        try:
            self._process.launch(self._setup, context)
        except ShellError as error:
            self._die(error)
        self._go()

    def execute(self, tup: Tup) -> None:
        """Hand over one tuple and let the component work; ShellError if the worker dies, or has died."""
        self._check()
        self.deliver(tup, str(self._ids.next_long() if self._ids else tup.delivery))

    def cleanup(self) -> None:
        """End the component; its open deliveries are forgotten."""
        self._end()
        self._inputs.clear()

    # ---- beyond Storm: what a test does ----

    def deliver(self, tup: Tup, delivery: str) -> None:
        """As `execute`, under a given id."""
        self._check()
        self._inputs[delivery] = tup
        self._process.write(
            {
                "id": delivery,
                "comp": tup.component,
                "stream": tup.stream,
                "task": tup.task,
                "tuple": list(tup.values),
            }
        )
        self._go()

    def heartbeat(self) -> None:
        """ShellBolt's timer, which fires every second: dies if the last heartbeat is unanswered too long."""
        self._check()
        now = self.context.now_ms()
        if self._unanswered_since is not None and now - self._unanswered_since > self._timeout_ms:
            self._die(ShellError(RUNTIME, HEARTBEAT_LOST))
        elif self._unanswered_since is None:
            self._unanswered_since = now
        self._process.write(
            {"id": "heartbeat", "comp": None, "stream": _HEARTBEAT_STREAM, "task": _SYSTEM_TASK, "tuple": []}
        )
        self._go()

    def beat(self) -> None:
        """Let the framework's own timer thread pass once (TicklessBatchingBolt: `secs_between_batches` are over)."""
        self._check()
        self._process.child.beat()
        self._go()

    @property
    def period(self) -> float | None:
        """Seconds between two beats; None if the framework has no timer thread."""
        return self._process.child.period

    @property
    def inputs(self) -> dict[str, Tup]:
        """The deliveries that are neither acked nor failed."""
        self._catch_up()
        return self._inputs

    # ---- the reader thread's work ----

    def _go(self) -> None:
        """Let the component run until it waits for a tuple, and heed what it says."""
        child = self._process.child
        while True:
            child.go()
            self._check()
            if not child.busy:
                return

    def _catch_up(self) -> None:
        try:
            while not self._died and self._running and self._read_one():
                pass
        except ShellError as error:
            self._halt(error)

    def _read_one(self) -> bool:
        child = self._process.child
        if child.hung:
            raise ShellError(RUNTIME, HEARTBEAT_LOST)
        text = self._process.take()
        if text is None:
            return False
        message = self._read(text)
        self._unanswered_since = None
        self._heed(message)
        return True

    def _heed(self, message: ShellMsg) -> None:
        """BoltReaderRunnable's switch; sync and unknown commands only show that the component lives."""
        match message.command:
            case "ack":
                self.collector.ack(self._completed(message.id, "Acked"))
            case "fail":
                self.collector.fail(self._completed(message.id, "Failed"))
            case "emit":
                self._emit(message)
            case "error":
                self._transcript.error(message)
            case "metrics":
                self._transcript.metric(message, self._setup.metrics)
            case _:
                pass

    def _completed(self, delivery: object, done: str) -> Tup:
        if delivery is None:
            raise ShellError(_NULL, "")  # ConcurrentHashMap.remove(null)
        tup = self._inputs.pop(delivery, None) if isinstance(delivery, str) else None
        if tup is None:
            text = f"{done} a non-existent or already acked/failed id: {java_text(delivery)}"
            raise ShellError(RUNTIME, text)
        return tup

    def _emit(self, message: ShellMsg) -> None:
        anchors = [self._anchor(anchor) for anchor in message.anchors]
        if message.values is None:
            raise ShellError(_NULL, "")
        try:
            if message.task is not None:
                self.collector.emit(message.values, anchors=anchors, stream=message.stream, task=message.task)
                return
            tasks = self.collector.emit(message.values, anchors=anchors, stream=message.stream)
        except ValueError as error:  # an unknown stream, a regular emit on a direct one
            raise ShellError("java.lang.IllegalArgumentException", str(error)) from None
        if message.need_task_ids:
            self._process.write(list(tasks))

    def _anchor(self, anchor: str | None) -> Tup:
        if anchor is None:
            raise ShellError(_NULL, "")  # ConcurrentHashMap.get(null)
        if anchor not in self._inputs:
            raise ShellError(RUNTIME, f"Anchored onto {anchor} after ack/fail")
        return self._inputs[anchor]

    def _die(self, error: ShellError) -> None:
        self._halt(error)
        raise error
