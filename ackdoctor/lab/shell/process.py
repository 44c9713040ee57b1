"""ShellProcess and JsonSerializer: launch a component, write to it, read from it.

Read: apache/storm storm-client/src/jvm/org/apache/storm/utils/ShellProcess.java and
multilang/JsonSerializer.java @ v2.8.8.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ackdoctor.lab.component import Context
from ackdoctor.lab.shell.child import Child
from ackdoctor.lab.shell.drivers import launcher
from ackdoctor.lab.shell.error import HALTED, SUICIDE, ShellError
from ackdoctor.lab.shell.java import RUNTIME, Json, parse

__all__ = ["Setup", "ShellProcess", "heartbeat_timeout"]

_HEARTBEAT_TIMEOUT = "topology.subprocess.timeout.secs"
_DEFAULT_TIMEOUT_SECS = 30  # supervisor.worker.timeout.secs
_NO_OUTPUT = "org.apache.storm.multilang.NoOutputException"


@dataclass(slots=True, kw_only=True)
class Setup:
    """What a component is told in the handshake, and what the JVM's side knows of it.

    `input_fields` are source -> stream -> field names: what gives `tup.values` its attributes.
    `metrics` are the names registered on the JVM's side; reporting any other kills the worker.  `arguments` end its
    command line: a pyleus component has its `options` from there.  `json` is the library with which the JVM reads,
    by default that of Storm 2.6 and later.
    """

    conf: Mapping[str, object] = field(default_factory=dict)
    input_fields: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    output_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: frozenset[str] = frozenset()
    arguments: Sequence[str] = ()
    json: Json = Json.SMART


def heartbeat_timeout(conf: Mapping[str, object]) -> int:
    """Milliseconds a component may leave a heartbeat unanswered (ShellBolt.java:123-127)."""
    seconds = conf.get(_HEARTBEAT_TIMEOUT, _DEFAULT_TIMEOUT_SECS)
    assert isinstance(seconds, int), f"{_HEARTBEAT_TIMEOUT} must be an int"
    return 1000 * seconds


class ShellProcess:
    """One component.  `answer` is called when it reads in the middle of its work and nothing is there."""

    def __init__(self, component_class: type, answer: Callable[[], None], json_library: Json) -> None:
        self.child: Child = launcher(component_class)(component_class, answer)
        self._greeted = False
        self._json = json_library

    def launch(self, setup: Setup, context: Context) -> None:
        """ShellProcess.launch: the handshake; ShellError if the component does not live to give its pid."""
        with tempfile.TemporaryDirectory() as pid_dir:
            self.child.surroundings.add_arguments(setup.arguments)
            self.write({"pidDir": pid_dir, "conf": dict(setup.conf), "context": _told(setup, context)})
            self.child.go()
        self._greet()

    def _greet(self) -> None:
        """JsonSerializer.connect: the first message is the pid."""
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
        """Write one message to the component, which does not run yet."""
        self.child.pipe.send(json.dumps(message, separators=(",", ":")))

    def take(self) -> str | None:
        """The next frame, or None if the component is alive and says nothing; NoOutputException at its end."""
        self._greet()
        return self._next(HALTED)

    def _next(self, exit_code: int) -> str | None:
        child = self.child
        text = child.pipe.take()
        if text is not None or not child.ended:
            return text
        said = f" Currently read output: {child.pipe.torn}\n" if child.pipe.torn else " No output read.\n"
        raise ShellError(
            RUNTIME,
            f"{_NO_OUTPUT}: Pipe to subprocess seems to be broken!{said}Serializer Exception:\n{self.stderr}\n",
            exit_code=exit_code,
        ) from child.ended.cause

    @property
    def stderr(self) -> str:
        """What the interpreter would print of an exception that nobody caught."""
        return self.child.ended.stderr if self.child.ended else ""


def _told(setup: Setup, context: Context) -> dict[str, object]:
    """TopologyContext.toJSONString: what of the topology a component hears."""
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
