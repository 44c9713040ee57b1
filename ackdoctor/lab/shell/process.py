"""A component's process: launch it, write frames to it, read frames from it (ShellProcess and JsonSerializer)."""

import json
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackdoctor.lab.component import Context
from ackdoctor.lab.shell.child import HALTED, SUICIDE, Child, ShellError
from ackdoctor.lab.shell.frameworks import launcher
from ackdoctor.lab.shell.messages import RUNTIME, Json, ShellMsg, java_text, parse

__all__ = ["Setup", "ShellProcess", "Transcript", "heartbeat_timeout"]

_HEARTBEAT_TIMEOUT = "topology.subprocess.timeout.secs"
_DEFAULT_TIMEOUT_SECS = 30  # supervisor.worker.timeout.secs
_NO_OUTPUT = "org.apache.storm.multilang.NoOutputException"


class Transcript:
    """Every frame that a component wrote after the handshake, in order.

    `errors` and `metrics` are those that the JVM reports; an error does not kill the worker.  Frames after the
    worker's death are kept, although the worker ignores them.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.errors: list[str] = []
        self.metrics: list[tuple[str, object]] = []
        self._messages: list[dict[str, Any]] = []
        self._parsed = 0  # number of texts in `_messages`

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The texts that are JSON objects."""
        unread, self._parsed = self.texts[self._parsed :], len(self.texts)
        self._messages += filter(None, map(_parsed, unread))
        return self._messages

    def error(self, message: ShellMsg) -> None:
        """Report an error, as handleError does."""
        self.errors.append(java_text(message.msg))

    def note(self, text: str) -> None:
        """Keep one frame."""
        self.texts.append(text)

    def say(self, **message: object) -> None:
        """Keep a message of a component without a pipe."""
        self._messages.append(message)

    def metric(self, message: ShellMsg, registered: Collection[str]) -> None:
        """Report a metric, as handleMetrics does; ShellError if the JVM's side has not registered it."""
        if message.metric is None:
            raise ShellError("java.lang.NullPointerException", "")
        if not message.metric:
            raise ShellError(RUNTIME, "Receive Metrics name is empty")
        if message.metric not in registered:
            raise ShellError(RUNTIME, f"Could not find metric by name[{message.metric}] ")
        self.metrics.append((message.metric, message.params))


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        message = json.loads(text)
    except json.JSONDecodeError:
        return None
    return message if isinstance(message, dict) else None


@dataclass(slots=True, kw_only=True)
class Setup:
    """The content of the handshake, and the JVM's settings for the component.

    `input_fields` are source -> stream -> field names, the attributes of `tup.values`.
    `metrics` are the names registered on the JVM's side; any other kills the worker.  `arguments` end the command
    line, where pyleus reads its `options`.  `json` is the JVM's library, by default that of Storm 2.6 and later.
    """

    conf: Mapping[str, object] = field(default_factory=dict)
    input_fields: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    output_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: frozenset[str] = frozenset()
    arguments: Sequence[str] = ()
    json: Json = Json.SMART


def heartbeat_timeout(conf: Mapping[str, object]) -> int:
    """Return the heartbeat timeout in milliseconds (ShellBolt.java:123-127)."""
    seconds = conf.get(_HEARTBEAT_TIMEOUT, _DEFAULT_TIMEOUT_SECS)
    assert isinstance(seconds, int), f"{_HEARTBEAT_TIMEOUT} must be an int"
    return 1000 * seconds


class ShellProcess:
    """One component.  It calls `answer` if it reads from an empty pipe in the middle of its work."""

    def __init__(self, component_class: type, answer: Callable[[], None], json_library: Json) -> None:
        self.child: Child = launcher(component_class)(component_class, answer)
        self._greeted = False
        self._json = json_library

    def launch(self, setup: Setup, context: Context) -> None:
        """Send the handshake, as ShellProcess.launch; ShellError if the component dies before it sends its pid."""
        with tempfile.TemporaryDirectory() as pid_dir:
            self.child.process_state.add_arguments(setup.arguments)
            self.write(
                {"pidDir": pid_dir, "conf": dict(setup.conf), "context": _topology_context(setup, context)}
            )
            self.child.go()
        self._greet()

    def _greet(self) -> None:
        """Read the pid, the first message, as JsonSerializer.connect does."""
        if self._greeted:
            return
        self._greeted = True
        text = self._next(SUICIDE)
        message = f"Error when launching multilang subprocess\n{self.stderr}"
        try:
            hello = None if text is None else parse(text, self._json)
        except ShellError:
            raise ShellError(RUNTIME, message, exit_code=SUICIDE) from None
        if not isinstance(hello, dict):
            raise ShellError(RUNTIME, message, exit_code=SUICIDE)

    def write(self, message: object) -> None:
        """Write one message to the component, without running it."""
        self.child.pipe.send(json.dumps(message, separators=(",", ":")))

    def take(self) -> str | None:
        """Return the next frame; None if the component is alive without output; NoOutputException if it has ended."""
        self._greet()
        return self._next(HALTED)

    def _next(self, exit_code: int) -> str | None:
        child = self.child
        text = child.pipe.take()
        if text is not None or not child.ended:
            return text
        output = f" Currently read output: {child.pipe.torn}\n" if child.pipe.torn else " No output read.\n"
        raise ShellError(
            RUNTIME,
            f"{_NO_OUTPUT}: Pipe to subprocess seems to be broken!{output}Serializer Exception:\n{self.stderr}\n",
            exit_code=exit_code,
        ) from child.ended.cause

    @property
    def stderr(self) -> str:
        """The traceback of the component's uncaught exception."""
        return self.child.ended.stderr if self.child.ended else ""


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
