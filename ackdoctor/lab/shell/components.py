"""ShellBolt and ShellSpout: the JVM's side of a component that speaks multilang."""

from ackdoctor.acker.runtime import IdSource
from ackdoctor.lab.component import Bolt, Context, OutputCollector, Spout, SpoutOutputCollector, Tup
from ackdoctor.lab.shell.child import SUICIDE, Exit, ShellError
from ackdoctor.lab.shell.messages import RUNTIME, ShellMsg, java_text, parse, shell_msg
from ackdoctor.lab.shell.process import Setup, ShellProcess, Transcript, heartbeat_timeout

__all__ = ["HEARTBEAT_LOST", "Shell", "ShellBolt", "ShellSpout"]


HEARTBEAT_LOST = "subprocess heartbeat timeout"
_HEARTBEAT_STREAM = "__heartbeat"
_SYSTEM_TASK = -1
_NULL = "java.lang.NullPointerException"


class Shell:
    """One component class behind the JVM's side of multilang.

    Before each call it processes messages that a thread of the component sent meanwhile.
    """

    def __init__(self, component_class: type, *, setup: Setup | None = None) -> None:
        self._setup = setup or Setup()
        self._process = ShellProcess(component_class, self._catch_up, self._setup.json)
        self._timeout_ms = heartbeat_timeout(self._setup.conf)
        self._transcript = Transcript()
        self._died: ShellError | None = None
        self._running = True

    @property
    def transcript(self) -> Transcript:
        """The component's messages so far."""
        self._catch_up()
        return self._transcript

    @property
    def died(self) -> ShellError | None:
        """Why the worker is dead, or None."""
        self._catch_up()
        return self._died

    @property
    def ended(self) -> Exit | None:
        """How the component's process ended, even if Storm has not noticed; None while it runs."""
        return self._process.child.ended

    @property
    def component(self) -> object:
        """The author's object; None before its construction."""
        return self._process.child.component

    def _catch_up(self) -> None:
        """Process the component's messages; also called when it reads from an empty pipe."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise ShellError if the worker is dead."""
        self._catch_up()
        if self._died:
            raise self._died

    def _halt(self, error: ShellError) -> None:
        """End the worker: it ignores later messages of the component, which gets a broken pipe."""
        self._died = error
        pipe = self._process.child.pipe
        pipe.broken = True
        while (text := pipe.take()) is not None:
            self._transcript.note(text)

    def _read(self, text: str) -> ShellMsg:
        """Parse one message, after recording it in the transcript."""
        self._transcript.note(text)
        return shell_msg(parse(text, self._setup.json), self._setup.json)

    def _end(self) -> None:
        self._catch_up()
        self._running = False
        self._process.child.close()


class ShellBolt(Shell, Bolt):
    """One component class behind ShellBolt's rules.

    `inputs` is ShellBolt's `_inputs` map; `died` is None until the worker is dead.  `ids` draws delivery ids as
    Storm does, from java.util.Random; by default the id is the tuple's delivery number, as in the acker's rows of
    the trace.
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
        """Send one tuple and run the component; ShellError if the worker dies or is dead."""
        self._check()
        self.deliver(tup, str(self._ids.next_long() if self._ids else tup.delivery))

    def cleanup(self) -> None:
        """End the component and drop its open deliveries."""
        self._end()
        self._inputs.clear()

    # ---- for tests ----

    def deliver(self, tup: Tup, delivery: str) -> None:
        """Execute one tuple under a given delivery id."""
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
        """Run ShellBolt's timer, which fires every second; the worker dies if the last heartbeat timed out."""
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
        """Run the framework's timer thread once (TicklessBatchingBolt, after `secs_between_batches`)."""
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
        """Run the component until it waits for a tuple, and process its messages."""
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
        self._process_message(message)
        return True

    def _process_message(self, message: ShellMsg) -> None:
        """Dispatch as BoltReaderRunnable does; sync and unknown commands only show that the component is alive."""
        match message.command:
            case "ack":
                self.collector.ack(self._remove_input(message.id, "Acked"))
            case "fail":
                self.collector.fail(self._remove_input(message.id, "Failed"))
            case "emit":
                self._emit(message)
            case "error":
                self._transcript.error(message)
            case "metrics":
                self._transcript.metric(message, self._setup.metrics)
            case _:
                pass

    def _remove_input(self, delivery: object, done: str) -> Tup:
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


class ShellSpout(Shell, Spout):
    """One component class behind ShellSpout's rules; message ids are JSON values."""

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Launch the component; ShellError if it does not survive its constructor."""
        super().open(context, collector)
        try:
            self._process.launch(self._setup, context)
        except ShellError as error:
            self._halt(error)
            raise

    def activate(self) -> None:
        """Send `activate`; Storm 1.1 and later."""
        self._query("activate", "")

    def deactivate(self) -> None:
        """Send `deactivate`; Storm 1.1 and later."""
        self._query("deactivate", "")

    def next_tuple(self) -> None:
        """Send `next`."""
        self._query("next", "")

    def ack(self, msg_id: object) -> None:
        """Send `ack` for a message id."""
        self._query("ack", msg_id)

    def fail(self, msg_id: object) -> None:
        """Send `fail` for a message id."""
        self._query("fail", msg_id)

    def close(self) -> None:
        """End the component."""
        self._end()

    def _query(self, command: str, msg_id: object) -> None:
        """Send a command, as ShellSpout.querySubprocess; return at the first sync, even of an earlier command."""
        if self._died:
            raise self._died
        self._process.write({"command": command, "id": msg_id})
        try:
            while not self._read_one():
                pass
        except ShellError as error:
            if not self._died:
                self._halt(error)
            raise

    def _read_one(self) -> bool:
        """Process one message, running the component if there is none; return True for a sync."""
        text = self._process.take()
        if text is None:
            self._run_component()
            text = self._process.take()
        if text is None:
            raise ShellError(RUNTIME, HEARTBEAT_LOST)
        return self._process_message(text)

    def _run_component(self) -> None:
        """Run the component, unless it waits for an answer itself; then both would wait for ever."""
        child = self._process.child
        if not child.running:
            child.go()
        if self._died:
            raise self._died
        if child.hung:
            raise ShellError(RUNTIME, HEARTBEAT_LOST)

    def _catch_up(self) -> None:
        """Process messages while the component waits for task ids in the middle of a command."""
        child = self._process.child
        try:
            while child.running and not child.pipe.unread and not self._died:
                text = self._process.take()
                if text is None:
                    return
                self._process_message(text)
        except ShellError as error:
            self._halt(error)

    def _process_message(self, text: str) -> bool:
        message = self._read(text)
        match message.command:
            case "sync":
                return True
            case "emit":
                self._emit(message)
            case "metrics":
                self._transcript.metric(message, self._setup.metrics)
            case "error":
                self._transcript.error(message)
            case "log":
                pass
            case unknown:
                raise ShellError(RUNTIME, f"Unknown command received: {unknown}", exit_code=SUICIDE)
        return False

    def _emit(self, message: ShellMsg) -> None:
        if message.values is None:
            raise ShellError("java.lang.NullPointerException", "", exit_code=SUICIDE)
        try:
            if message.task is not None:
                self.collector.emit(
                    message.values, msg_id=message.id, stream=message.stream, task=message.task
                )
                return
            tasks = self.collector.emit(message.values, msg_id=message.id, stream=message.stream)
        except ValueError as error:
            raise ShellError("java.lang.IllegalArgumentException", str(error), exit_code=SUICIDE) from None
        if message.need_task_ids:
            self._process.write(list(tasks))
