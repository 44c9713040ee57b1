"""ShellBolt and ShellSpout: the JVM's side of a component that speaks multilang (with ShellProcess and JsonSerializer)."""

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial

from ackdoctor.lab.child import HALTED, SUICIDE, Exit, ReportedError, ShellError
from ackdoctor.lab.component import Bolt, Context, OutputCollector, Spout, SpoutOutputCollector, Tup
from ackdoctor.lab.frameworks import launcher
from ackdoctor.lab.messages import (
    ILLEGAL_ARGUMENT,
    NULL_POINTER,
    RUNTIME,
    Setup,
    ShellMsg,
    Transcript,
    java_text,
    parse,
    shell_msg,
)

_HEARTBEAT_TIMEOUT = "topology.subprocess.timeout.secs"
_DEFAULT_TIMEOUT_SECS = 30  # supervisor.worker.timeout.secs
_HEARTBEAT_LOST = "subprocess heartbeat timeout"
_NO_OUTPUT = "org.apache.storm.multilang.NoOutputException"


class Shell:
    """One component class behind the JVM's side of multilang.

    Before each call it processes messages that a thread of the component sent meanwhile.
    """

    def __init__(self, component_class: type, *, setup: Setup | None = None) -> None:
        self._setup = setup or Setup()
        self._child = launcher(component_class)(component_class, self._catch_up)
        self._transcript = Transcript()
        self._died: ShellError | None = None
        self._running = True
        self._greeted = False

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
        return self._child.ended

    @property
    def component(self) -> object:
        """The author's object; None before its construction."""
        return self._child.component

    def _catch_up(self) -> None:
        """Process the component's messages; also called when it reads from an empty pipe."""
        raise NotImplementedError

    def _launch(self, context: Context) -> None:
        """Send the handshake, as ShellProcess.launch; ShellError if the component dies before it sends its pid."""
        try:
            with tempfile.TemporaryDirectory() as pid_dir:
                self._child.process_state.own["argv"] += self._setup.arguments
                conf = dict(self._setup.conf)
                self._write(
                    {"pidDir": pid_dir, "conf": conf, "context": _topology_context(self._setup, context)}
                )
                self._child.go()
            self._greet()
        except ShellError as error:
            self._halt(error)
            raise

    def _greet(self) -> None:
        """Read the pid, the first message, as JsonSerializer.connect does."""
        if self._greeted:
            return
        self._greeted = True
        text = self._next_frame(SUICIDE)
        error = ShellError(
            RUNTIME, f"Error when launching multilang subprocess\n{self._stderr}", exit_code=SUICIDE
        )
        try:
            hello = None if text is None else parse(text, self._setup.json)
        except ShellError:
            raise error from None
        if not isinstance(hello, dict):
            raise error

    def _write(self, message: object) -> None:
        """Write one message to the component, without running it."""
        self._child.pipe.send(json.dumps(message, separators=(",", ":")))

    def _take(self) -> str | None:
        """Return the next frame; None if the component is alive without output; NoOutputException if it has ended."""
        self._greet()
        return self._next_frame(HALTED)

    def _next_frame(self, exit_code: int) -> str | None:
        child = self._child
        text = child.pipe.take()
        if text is not None or not child.ended:
            return text
        output = f" Currently read output: {child.pipe.torn}\n" if child.pipe.torn else " No output read.\n"
        reported = self._transcript.errors[-1:]  # pyleus and storm.py send the traceback, and end
        raise ShellError(
            RUNTIME,
            f"{_NO_OUTPUT}: Pipe to subprocess seems to be broken!{output}Serializer Exception:\n{self._stderr}\n",
            exit_code=exit_code,
        ) from child.ended.cause or (ReportedError(*reported) if reported else None)

    @property
    def _stderr(self) -> str:
        """The traceback of the component's uncaught exception."""
        return self._child.ended.stderr if self._child.ended else ""

    def _halt(self, error: ShellError) -> None:
        """End the worker: it ignores later messages of the component, which gets a broken pipe."""
        self._died = error
        pipe = self._child.pipe
        pipe.broken = True
        while (text := pipe.take()) is not None:
            self._transcript.note(text)

    def _read(self, text: str) -> ShellMsg:
        """Parse one message, after recording it in the transcript."""
        self._transcript.note(text)
        return shell_msg(parse(text, self._setup.json), self._setup.json)

    def _emit(self, message: ShellMsg, emit: Callable[..., Sequence[int]], exit_code: int) -> None:
        """Emit, and send the task ids, unless the emit is direct."""
        if message.values is None:
            raise ShellError(NULL_POINTER, "", exit_code=exit_code)
        try:
            tasks = emit(message.values, stream=message.stream, task=message.task)
        except ValueError as error:  # an unknown stream, a regular emit on a direct one
            raise ShellError(ILLEGAL_ARGUMENT, str(error), exit_code=exit_code) from None
        if message.need_task_ids and message.task is None:
            self._write(list(tasks))

    def _report(self, message: ShellMsg) -> None:
        """Report an error or a metric, as handleError and handleMetrics; ShellError for a metric that is not registered."""
        if message.command == "error":
            self._transcript.errors.append(java_text(message.msg))
        elif message.metric is None:
            raise ShellError(NULL_POINTER, "")
        elif not message.metric:
            raise ShellError(RUNTIME, "Receive Metrics name is empty")
        elif message.metric not in self._setup.metrics:
            raise ShellError(RUNTIME, f"Could not find metric by name[{message.metric}] ")
        else:
            self._transcript.metrics.append((message.metric, message.params))

    def _end(self) -> None:
        self._catch_up()
        self._running = False
        self._child.close()


def _topology_context(setup: Setup, context: Context) -> dict[str, object]:
    """Return the topology context of the handshake, as TopologyContext.toJSONString."""
    names = {context.component: [context.task]} | {
        source: list(context.tasks_of(source)) for source in setup.input_fields
    }
    return {
        "task->component": {str(task): name for name, tasks in names.items() for task in tasks},
        "taskid": context.task,
        "componentid": context.component,
        "streams": list(setup.output_fields),
        "stream->outputfields": {stream: list(fields) for stream, fields in setup.output_fields.items()},
        "stream->target->grouping": {stream: {} for stream in setup.output_fields},
        "source->stream->grouping": {
            source: {stream: {"type": "SHUFFLE"} for stream in streams}
            for source, streams in setup.input_fields.items()
        },
        "source->stream->fields": {
            source: {stream: list(fields) for stream, fields in streams.items()}
            for source, streams in setup.input_fields.items()
        },
    }


class ShellBolt(Shell, Bolt):
    """One component class behind ShellBolt's rules.

    `inputs` is ShellBolt's `_inputs` map; `died` is None until the worker is dead.  The delivery id is the tuple's
    delivery number, as in the acker's rows of the trace; Storm draws it from java.util.Random.
    """

    def __init__(self, component_class: type, *, setup: Setup | None = None) -> None:
        super().__init__(component_class, setup=setup)
        self._unanswered_since: int | None = None
        self._inputs: dict[str, Tup] = {}

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Launch the component; ShellError if it does not survive its constructor."""
        super().prepare(context, collector)
        self._launch(context)
        self._go()

    def execute(self, tup: Tup) -> None:
        """Send one tuple and run the component; ShellError if the worker dies or is dead."""
        self._check()
        delivery = str(tup.delivery)
        self._inputs[delivery] = tup
        source = {"comp": tup.component, "stream": tup.stream, "task": tup.task}
        self._write({"id": delivery, **source, "tuple": list(tup.values)})
        self._go()

    def cleanup(self) -> None:
        """End the component and drop its open deliveries."""
        self._end()
        self._inputs.clear()

    def heartbeat(self) -> None:
        """Run ShellBolt's timer, which fires every second; the worker dies if the last heartbeat timed out."""
        self._check()
        now_ms = self.context.now_ms()
        timeout_secs = self._setup.conf.get(_HEARTBEAT_TIMEOUT, _DEFAULT_TIMEOUT_SECS)  # ShellBolt.java:123
        assert isinstance(timeout_secs, int), f"{_HEARTBEAT_TIMEOUT} must be an int"
        if self._unanswered_since is None:
            self._unanswered_since = now_ms
        elif now_ms - self._unanswered_since > 1000 * timeout_secs:
            error = ShellError(RUNTIME, _HEARTBEAT_LOST)
            self._halt(error)
            raise error
        source = {"comp": None, "stream": "__heartbeat", "task": -1}
        self._write({"id": "heartbeat", **source, "tuple": []})
        self._go()

    def beat(self) -> None:
        """Run the framework's timer thread once (TicklessBatchingBolt, after `secs_between_batches`)."""
        self._check()
        self._child.beat()
        self._go()

    @property
    def period(self) -> float | None:
        """Seconds between two beats; None if the framework has no timer thread."""
        return self._child.period

    @property
    def inputs(self) -> dict[str, Tup]:
        """The deliveries that are neither acked nor failed."""
        self._catch_up()
        return self._inputs

    # ---- the reader thread's work ----

    def _check(self) -> None:
        """Raise ShellError if the worker is dead."""
        if self.died:
            raise self.died

    def _go(self) -> None:
        """Run the component until it waits for a tuple, and process its messages."""
        while True:
            self._child.go()
            self._check()
            if not self._child.busy:
                return

    def _catch_up(self) -> None:
        try:
            while not self._died and self._running and self._read_one():
                pass
        except ShellError as error:
            self._halt(error)

    def _read_one(self) -> bool:
        if self._child.hung:
            raise ShellError(RUNTIME, _HEARTBEAT_LOST)
        text = self._take()
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
                anchors = [self._anchor(anchor) for anchor in message.anchors]
                self._emit(message, partial(self.collector.emit, anchors=anchors), HALTED)
            case "error" | "metrics":
                self._report(message)
            case _:
                pass

    def _remove_input(self, delivery: object, done: str) -> Tup:
        if delivery is None:
            raise ShellError(NULL_POINTER, "")  # ConcurrentHashMap.remove(null)
        tup = self._inputs.pop(delivery, None) if isinstance(delivery, str) else None
        if tup is None:
            text = f"{done} a non-existent or already acked/failed id: {java_text(delivery)}"
            raise ShellError(RUNTIME, text)
        return tup

    def _anchor(self, anchor: str | None) -> Tup:
        if anchor is None:
            raise ShellError(NULL_POINTER, "")  # ConcurrentHashMap.get(null)
        if anchor not in self._inputs:
            raise ShellError(RUNTIME, f"Anchored onto {anchor} after ack/fail")
        return self._inputs[anchor]


class ShellSpout(Shell, Spout):
    """One component class behind ShellSpout's rules; message ids are JSON values."""

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Launch the component; ShellError if it does not survive its constructor."""
        super().open(context, collector)
        self._launch(context)

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
        self._write({"command": command, "id": msg_id})
        try:
            while not self._read_one():
                pass
        except ShellError as error:
            if not self._died:
                self._halt(error)
            raise

    def _read_one(self) -> bool:
        """Process one message, running the component if there is none; return True for a sync."""
        text = self._take()
        if text is None:
            self._run_component()
            text = self._take()
        if text is None:
            raise ShellError(RUNTIME, _HEARTBEAT_LOST)
        return self._process_message(text)

    def _run_component(self) -> None:
        """Run the component, unless it waits for an answer itself; then both would wait for ever."""
        if not self._child.running:
            self._child.go()
        if self._died:
            raise self._died
        if self._child.hung:
            raise ShellError(RUNTIME, _HEARTBEAT_LOST)

    def _catch_up(self) -> None:
        """Process messages while the component waits for task ids in the middle of a command."""
        child = self._child
        try:
            while child.running and not child.pipe.unread and not self._died:
                text = self._take()
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
                self._emit(message, partial(self.collector.emit, msg_id=message.id), SUICIDE)
            case "error" | "metrics":
                self._report(message)
            case "log":
                pass
            case unknown:
                raise ShellError(RUNTIME, f"Unknown command received: {unknown}", exit_code=SUICIDE)
        return False
