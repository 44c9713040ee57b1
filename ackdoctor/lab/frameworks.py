"""How the lab runs the components of each framework.

pystorm, storm.py, Petrel and pyleus talk to the JVM's side through a pipe.  A heronpy component has no pipe and no
guards: a Heron instance calls it as its delegate.  Read: apache/incubator-heron heron/instance/src/python/basics/
bolt_instance.py, spout_instance.py, utils/tuple.py, heronpy/api/serializer.py @ 1c5779d, reliability mode
ATLEAST_ONCE.  An exception stops the instance.  The instance does not record which tuples are acked.  Payloads pass
the real serializer.  Window bolts read the lab's clock instead of the wall clock.
"""

import inspect
import json
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Semaphore, current_thread, main_thread
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.dialects import load
from ackdoctor.lab.child import Child, Exit, Looped, ShellError, uncaught
from ackdoctor.lab.component import Bolt, Context, OutputCollector, Spout, SpoutOutputCollector, Tup
from ackdoctor.lab.messages import Setup, Transcript
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.components import belongs

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
_PYLEUS = ("component", "--pyleus-config", '{"serializer": "json"}', "--options", "{}")


class PystormChild(Child):
    """One Bolt, BatchingBolt, TicklessBatchingBolt, Spout or ReliableSpout, whose loop runs in the caller's thread."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self._module: ModuleType = sys.modules["pystorm.component"]
        self._started = False
        self._batcher = _Batcher()
        self._level = logging.getLogger("pystorm").level

    def go(self) -> None:
        """Run the loop as long as there is input."""
        if self.ended:
            return
        self.running = True
        try:
            with self.process_state.entered():
                if not self._started:
                    self._started = True
                    self._start()
                while self.busy:
                    self._step()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception ends a process
            self.ended = uncaught(error)
        finally:
            self.running = False

    @property
    def busy(self) -> bool:
        """Whether there is a tuple or a command; with task ids alone a step would wait for a tuple."""
        queued = self.component is not None and self.component._pending_commands  # noqa: SLF001 - what `read_command` looks at
        return not self.ended and (self.pipe.commanded or bool(queued))

    def _starved(self) -> bool:
        """Ask the JVM's side for task ids in the middle of a step.  Without them the component would wait for ever, so it ends."""
        self._answer()
        self.hung = not self.pipe.unread and not self.pipe.broken
        return self.pipe.unread

    def _start(self) -> None:
        """Create the component.  `streamparse_run` passes a serializer, a pystorm script nothing; the streams are defaults."""
        component: Any = object.__new__(self._class)
        component._exit = sys.exit  # noqa: SLF001
        component._batch_entry = self._batcher.entry(component)  # noqa: SLF001
        of_streamparse = any(base.__module__.startswith("streamparse.") for base in self._class.__mro__)
        with ExitStack() as stack:
            init = inspect.unwrap(self._module.Component.__init__)
            stack.callback(setattr, init, "__defaults__", init.__defaults__)
            init.__defaults__ = (self.pipe, self.pipe, None, "json")
            stack.callback(setattr, current_thread(), "name", current_thread().name)
            if current_thread() is main_thread() and hasattr(signal, "SIGUSR1"):
                # TicklessBatchingBolt replaces its handler; only the main thread can restore it
                stack.callback(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
            component.__init__(**{"serializer": "json"} if of_streamparse else {})
        conf, context = component.read_handshake()
        component._setup_component(conf, context)  # noqa: SLF001
        self.component = component
        component.initialize(conf, context)

    def _step(self) -> None:
        """Run the body of `run`'s loop."""
        went_away = self._module.StormWentAwayError
        component = self.component
        try:
            component._run()  # noqa: SLF001
        except went_away:
            component._exit(2)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - as in pystorm
            self._handle(error)

    def _handle(self, error: Exception) -> None:
        component = self.component
        log = logging.getLogger("pystorm.component")
        text = f"Exception in {type(component).__name__}.run()"
        try:
            component.logger.error(text, exc_info=error)
            component._handle_run_exception(error)  # noqa: SLF001
        except self._module.StormWentAwayError:
            log.error(text, exc_info=error)  # noqa: TRY400 - the first error, as in pystorm
            component._exit(2)  # noqa: SLF001
        except Exception:  # a bare except in pystorm
            log.error(text, exc_info=error)  # noqa: TRY400
            log.exception("While trying to handle previous exception...")
        if component.exit_on_exception:
            component._exit(1)  # noqa: SLF001

    def beat(self) -> None:
        """Run TicklessBatchingBolt's batcher once, in its own thread; its exception interrupts the loop."""
        if self.ended or self.component is None:
            return
        try:
            with self.process_state.entered():
                if self._batcher.beat(self.component):
                    try:
                        self.component._handle_worker_exception(None, None)  # noqa: SLF001 - as SIGUSR1 does
                    except Exception as error:  # noqa: BLE001
                        self._handle(error)
        except SystemExit as error:
            self.ended = uncaught(error)

    @property
    def period(self) -> float | None:
        """Seconds between two batches of a TicklessBatchingBolt."""
        return float(self.component.secs_between_batches) if hasattr(self.component, "_batcher") else None

    def close(self) -> None:
        """End the component and its timer thread, and restore pystorm's log level."""
        self.pipe.broken = True
        if self._started and not self.ended:
            self.ended = Exit()
        self._batcher.close()
        logging.getLogger("pystorm").setLevel(self._level)


class _Batcher:
    """TicklessBatchingBolt's timer thread, which waits for a semaphore instead of sleeping."""

    def __init__(self) -> None:
        self._gate = Semaphore(0)
        self._done = Semaphore(0)
        self._dead = False
        self._closed = False

    def entry(self, component: Any) -> Callable[[], None]:
        """Return the replacement of `_batch_entry`; the first exception ends the thread."""

        def run() -> None:
            try:
                while self._gate.acquire() and not self._closed:
                    with component._batch_lock:  # noqa: SLF001
                        component.process_batches()
                    self._done.release()
            except BaseException:  # noqa: BLE001 - a bare except in pystorm
                component.exc_info = sys.exc_info()
                self._dead = True
                self._done.release()

        return run

    def beat(self, component: Any) -> bool:
        """Run one batch; return whether the thread died."""
        if self._dead or not hasattr(component, "_batcher"):
            return False
        self._gate.release()
        self._done.acquire()
        return self._dead

    def close(self) -> None:
        self._closed = True
        self._gate.release()


class StormPyChild(Looped):
    """A Bolt, BasicBolt or Spout of Storm's storm.py, or of a copy in any package: its state is in globals of the module."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        modules = (sys.modules[base.__module__] for base in component_class.__mro__)
        self._module = next(vars(module) for module in modules if hasattr(module, "sendMsgToParent"))
        self._globals: dict[str, object] = {
            "MODE": None,
            "ANCHOR_TUPLE": None,
            "pending_commands": deque(),
            "pending_taskids": deque(),
        }

    def go(self) -> None:
        """Run the component with its own globals in the framework's module."""
        shared = {name: self._module[name] for name in self._globals}
        self._module.update(self._globals)
        try:
            super().go()
        finally:
            self._globals = {name: self._module[name] for name in shared}
            self._module.update(shared)


class PetrelChild(StormPyChild):
    """A Petrel component: its constructor gets the script, and standard output goes to a log.

    Petrel sleeps five seconds after an exception, so that Storm can read; the bench skips the sleep.
    """

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        logging.getLogger("storm").addHandler(logging.NullHandler())  # else it logs to itself without end
        clock = SimpleNamespace(sleep=lambda _seconds: None, time=time.time)
        self._globals.update(old_stdout=self.pipe.stdout, time=clock)

    def _make(self) -> Any:
        """Create the component in the script's directory, where EmitterBase looks for the script."""
        here = Path.cwd()
        os.chdir(Path(inspect.getfile(self._class)).parent)
        try:
            return super()._make()
        finally:
            os.chdir(here)


class PyleusChild(Looped):
    """A pyleus component with the JSON serializer, which the topology builder passes in `sys.argv`."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self.process_state.own["argv"] = list(_PYLEUS)


_Launcher: TypeAlias = Callable[[type, Callable[[], None]], Child]

_LAUNCHERS: dict[str, _Launcher] = {
    "pystorm": PystormChild,
    "petrel": PetrelChild,
    "pyleus": PyleusChild,
    "storm": StormPyChild,
}
"""Module of the framework that reads and writes messages -> its launcher."""


class NotAComponentError(TypeError):
    """The class is not a component of a framework that the lab can run."""


def descent(component_class: type) -> tuple[Dialect, Role]:
    """Return the framework of a class and the role of its base class; NotAComponentError if it has none."""
    found = belongs(component_class)
    if found is None:
        *titles, last = [dialect.title for dialect in load() if dialect.language == "python"]
        raise NotAComponentError(
            f"{component_class.__qualname__} is not a bolt or spout of {', '.join(titles)} or {last}"
        )
    return found


def launcher(component_class: type) -> _Launcher:
    """Return the launcher of a multilang component."""
    dialect, _ = descent(component_class)
    module = dialect.wire.modules[0] if dialect.wire is not None else ""
    if module not in _LAUNCHERS:
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs components of {dialect.title} behind a pipe"
        )
    launch = _LAUNCHERS[module]
    if launch is PystormChild and all(
        base.__module__ != "pystorm.component" for base in component_class.__mro__
    ):
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs this {dialect.title}: before 3.0 its classes are not pystorm's"
        )
    return launch


def command_line(component_class: type, options: object) -> tuple[str, ...]:
    """Return the end of the command line that passes a component the options in its topology's file."""
    dialect, _ = descent(component_class)
    module = dialect.wire.modules[0] if dialect.wire is not None else ""
    return ("--options", json.dumps(options)) if _LAUNCHERS.get(module) is PyleusChild else ()


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

    def _call(self, method: str, *arguments: object) -> None:
        with self._turn():
            getattr(self.component, method)(*arguments)

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
        if tup.is_tick:
            tick = HeronTuple("__tick", "__system", "__tick", None, None, self._now(), None)
            self._call("process_tick", tick)
            return
        delivery, values = str(tup.delivery), list(tup.values)
        self._call(
            "process", HeronTuple(delivery, tup.component, tup.stream, tup.task, values, self._now(), tup)
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
        self.transcript.messages.append(
            {"command": "emit", "tuple": values, "stream": stream, "anchors": ids}
        )
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
        self.transcript.messages.append({"command": command, "id": str(int(tup.id))})
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
        self._call("next_tuple")

    def ack(self, msg_id: object) -> None:
        """Call the component."""
        self._call("ack", msg_id)

    def fail(self, msg_id: object) -> None:
        """Call the component."""
        self._call("fail", msg_id)

    def activate(self) -> None:
        """Call the component."""
        self._call("activate")

    def deactivate(self) -> None:
        """Call the component."""
        self._call("deactivate")

    def close(self) -> None:
        """Call `close` of the component, if it is alive."""
        if not self.died:
            self._call("close")

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
        self.transcript.messages.append({"command": "emit", "tuple": values, "stream": stream, **ids})
        self.collector.emit(values, msg_id=tup_id, stream=stream, task=direct_task)
        return ([] if direct_task is None else [direct_task]) if need_task_ids else None
