"""A Heron instance around a heronpy component: no pipe and no guards, so a delegate instead of ShellBolt.

Read: apache/incubator-heron heron/instance/src/python/basics/bolt_instance.py, spout_instance.py,
utils/tuple.py, heronpy/api/serializer.py @ 1c5779d.  Reliability mode ATLEAST_ONCE.
An exception stops the instance.  The instance does not record which tuples are acked.  Payloads pass the real
serializer.  Window bolts read the lab's clock instead of the wall clock.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

from ackdoctor.lab.component import Bolt, Context, OutputCollector, Spout, SpoutOutputCollector, Tup
from ackdoctor.lab.shell.child import ShellError
from ackdoctor.lab.shell.process import Setup, Transcript

__all__ = ["HeronBolt", "HeronSpout", "HeronTuple", "InstanceDiedError"]

_LOG = logging.getLogger("heron.instance")
_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    None: logging.INFO,
}
_WINDOWS = "heronpy.api.bolt.window_bolt"


class InstanceDiedError(ShellError):
    """The event looper logs an exception and ends; the instance exits with 0 and restarts."""


class HeronTuple(NamedTuple):
    """utils/tuple.py's HeronTuple; `roots` is the lab's tuple with the edges, None for a tick."""

    id: str
    component: str
    stream: str
    task: int | None
    values: Sequence[object] | None
    creation_time: float
    roots: Tup | None


class _Instance:
    """The delegate of a component."""

    def __init__(self, component_class: type, *, setup: Setup | None = None) -> None:
        self.logger = _LOG
        self.transcript = Transcript()
        self.died: InstanceDiedError | None = None
        self.component: Any = None
        self.context: Context
        self._class = component_class
        self._setup = setup or Setup()

    def log(self, message: object, level: str | None = None) -> None:
        """Log as base_instance.py:72 does."""
        if level not in _LEVELS:
            raise ValueError(f"{level} is not supported as logging level")
        self.logger.log(_LEVELS[level], message)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Run the component's code, with the lab's clock in window bolts."""
        if self.died:
            raise self.died
        windows: Any = sys.modules.get(_WINDOWS)
        clock = getattr(windows, "time", None)
        if windows:
            windows.time = SimpleNamespace(time=self._now)
        try:
            yield
        except Exception as error:
            self.died = InstanceDiedError(type(error).__name__, str(error), exit_code=0)
            raise self.died from error
        finally:
            if windows:
                windows.time = clock

    def _now(self) -> float:
        return self.context.now_ms() / 1000

    def _start(self, context: Context) -> None:
        self.context = context
        with self._turn():
            self.component = self._class(delegate=self)
            self.component.initialize(dict(self._setup.conf), context)

    def _checked(self, values: Sequence[object], stream: str) -> list[object]:
        """Check the emit as check_output_schema does, if outputs are declared; then serialize and deserialize the values."""
        declared = self._setup.output_fields
        if declared and stream not in declared:
            name = self.context.component
            raise RuntimeError(f"{name} emitting to stream {stream}but was not declared in output fields")
        if declared and len(values) != len(declared[stream]):
            raise RuntimeError(
                f"Number of fields emitted in stream {stream} does not matchwhat's expected. "
                f"Expected: {len(declared[stream])}, Observed: {len(values)}"
            )
        serializer = sys.modules["heronpy.api.serializer"].default_serializer
        return [serializer.deserialize(serializer.serialize(value)) for value in values]


class HeronBolt(_Instance, Bolt):
    """One heronpy bolt."""

    def prepare(self, context: Context, collector: OutputCollector) -> None:
        """Create and initialise the component."""
        self.collector = collector
        self._start(context)

    def execute(self, tup: Tup) -> None:
        """Process one tuple.  A tick goes to `process_tick`, with an id that is no number."""
        with self._turn():
            if tup.is_tick:
                self.component.process_tick(
                    HeronTuple("__tick", "__system", "__tick", None, None, self._now(), None)
                )
                return
            self.component.process(
                HeronTuple(
                    str(tup.delivery), tup.component, tup.stream, tup.task, list(tup.values), self._now(), tup
                )
            )

    def emit(
        self,
        tup: Sequence[object],
        stream: str = "default",
        anchors: Sequence[object] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,  # noqa: FBT001, FBT002 - heronpy's signature
    ) -> list[int] | None:
        """Emit a tuple.  Like Heron, ignore anchors that are not a HeronTuple with roots."""
        values = self._checked(tup, stream)
        handed = [anchor for anchor in anchors or () if isinstance(anchor, HeronTuple)]
        roots = [anchor.roots for anchor in handed if anchor.roots is not None]
        if direct_task is not None and not isinstance(direct_task, int):
            raise TypeError(f"direct_task argument needs to be an integer, given: {type(direct_task)}")
        ids = [str(root.delivery) for root in roots]
        self.transcript.say(command="emit", tuple=values, stream=stream, anchors=ids)
        self.collector.emit(values, anchors=roots, stream=stream, task=direct_task)
        return ([] if direct_task is None else [direct_task]) if need_task_ids else None

    def ack(self, tup: object) -> None:
        """Ack a HeronTuple; for a tick's id int() raises."""
        self._complete(tup, "ack", self.collector.ack)

    def fail(self, tup: object) -> None:
        """Fail a HeronTuple."""
        self._complete(tup, "fail", self.collector.fail)

    def _complete(self, tup: object, command: str, done: Callable[[Tup], None]) -> None:
        if not isinstance(tup, HeronTuple):
            self.logger.error("Only HeronTuple type is supported in %s()", command)
            return
        self.transcript.say(command=command, id=str(int(tup.id)))
        assert tup.roots is not None, "a tick has no number for an id"
        done(tup.roots)


class HeronSpout(_Instance, Spout):
    """One heronpy spout."""

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Create and initialise the component."""
        self.collector = collector
        self._start(context)

    def next_tuple(self) -> None:
        """Call next_tuple of the component."""
        with self._turn():
            self.component.next_tuple()

    def ack(self, msg_id: object) -> None:
        """Call the component."""
        with self._turn():
            self.component.ack(msg_id)

    def fail(self, msg_id: object) -> None:
        """Call the component."""
        with self._turn():
            self.component.fail(msg_id)

    def activate(self) -> None:
        """Call the component."""
        with self._turn():
            self.component.activate()

    def deactivate(self) -> None:
        """Call the component."""
        with self._turn():
            self.component.deactivate()

    def close(self) -> None:
        """Call `close` of the component, if it is alive."""
        if not self.died:
            with self._turn():
                self.component.close()

    def emit(
        self,
        tup: Sequence[object],
        tup_id: object = None,
        stream: str = "default",
        direct_task: int | None = None,
        need_task_ids: bool = False,  # noqa: FBT001, FBT002 - heronpy's signature
    ) -> list[int] | None:
        """Emit a tuple; it is tracked if it has an id."""
        values = self._checked(tup, stream)
        ids = {} if tup_id is None else {"id": tup_id}
        self.transcript.say(command="emit", tuple=values, stream=stream, **ids)
        self.collector.emit(values, msg_id=tup_id, stream=stream, task=direct_task)
        return ([] if direct_task is None else [direct_task]) if need_task_ids else None
