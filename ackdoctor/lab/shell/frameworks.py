"""The frameworks that the lab runs: pystorm, storm.py, Petrel and pyleus, with their loops."""

import inspect
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore, current_thread, main_thread
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from ackdoctor.dialects import load
from ackdoctor.lab.shell.child import Child, Looped, Stepped, uncaught
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.components import belongs

__all__ = [
    "NotAComponentError",
    "PetrelChild",
    "PyleusChild",
    "PystormChild",
    "StormPyChild",
    "descent",
    "launcher",
]

_PYLEUS = ("component", "--pyleus-config", '{"serializer": "json"}', "--options", "{}")


class PystormChild(Stepped):
    """One Bolt, BatchingBolt, TicklessBatchingBolt, Spout or ReliableSpout."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._class = component_class
        self._module: ModuleType = sys.modules["pystorm.component"]
        self._instance: Any = None
        self._batcher = _Batcher()
        self._level = logging.getLogger("pystorm").level

    @property
    def component(self) -> object:
        """The component, after its `_setup_component`."""
        return self._instance

    @property
    def _backlog(self) -> bool:
        return bool(self._instance is not None and self._instance._pending_commands)  # noqa: SLF001 - what `read_command` looks at

    def _start(self) -> None:
        """Create the component.  `streamparse_run` passes a serializer, a pystorm script nothing; the streams are defaults."""
        component: Any = object.__new__(self._class)
        component._exit = sys.exit  # noqa: SLF001
        component._batch_entry = self._batcher.entry(component)  # noqa: SLF001
        of_streamparse = any(base.__module__.startswith("streamparse.") for base in self._class.__mro__)
        thread_name = current_thread().name
        with self._streams(), _restored_signals():
            component.__init__(**{"serializer": "json"} if of_streamparse else {})
        current_thread().name = thread_name
        conf, context = component.read_handshake()
        component._setup_component(conf, context)  # noqa: SLF001
        self._instance = component
        component.initialize(conf, context)

    @contextmanager
    def _streams(self) -> Iterator[None]:
        """Replace the default streams of Component.__init__ by the pipe's."""
        init = inspect.unwrap(self._module.Component.__init__)
        defaults = init.__defaults__
        init.__defaults__ = (self.pipe.raw_in, self.pipe.raw_out, None, "json")
        try:
            yield
        finally:
            init.__defaults__ = defaults

    def _step(self) -> None:
        """Run the body of `run`'s loop."""
        went_away = self._module.StormWentAwayError
        component = self._instance
        try:
            component._run()  # noqa: SLF001
        except went_away:
            component._exit(2)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - as in pystorm
            self._handle(error)

    def _handle(self, error: Exception) -> None:
        component = self._instance
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
        if self.ended or self._instance is None:
            return
        try:
            with self.process_state.entered():
                if self._batcher.beat(self._instance):
                    self._interrupt()
        except SystemExit as error:
            self.ended = uncaught(error)

    @property
    def period(self) -> float | None:
        """Seconds between two batches of a TicklessBatchingBolt."""
        return float(self._instance.secs_between_batches) if hasattr(self._instance, "_batcher") else None

    def _interrupt(self) -> None:
        """Do what SIGUSR1 does in the receiving thread."""
        try:
            self._instance._handle_worker_exception(None, None)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001
            self._handle(error)

    def close(self) -> None:
        """End the timer thread, and restore pystorm's log level."""
        super().close()
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


@contextmanager
def _restored_signals() -> Iterator[None]:
    """Restore the handler of SIGUSR1, which TicklessBatchingBolt replaces; only the main thread can."""
    if current_thread() is not main_thread() or not hasattr(signal, "SIGUSR1"):
        yield
        return
    handler = signal.getsignal(signal.SIGUSR1)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, handler)


class _ClassChild(Looped):
    """A component that runs as `B().run()`."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._class = component_class
        self._instance: Any = None

    @property
    def component(self) -> object:
        """The component, after its constructor."""
        return self._instance

    def _make(self) -> Any:
        return self._class()

    def _run(self) -> None:
        self._instance = self._make()
        self._instance.run()


class _ModuleChild(_ClassChild):
    """A component whose framework keeps its state in the globals of module `_module`."""

    def __init__(self, component_class: type, answer: Callable[[], None], module: ModuleType) -> None:
        super().__init__(component_class, answer)
        self._module = module
        self._globals: dict[str, object] = {**self._first_globals()}

    def _first_globals(self) -> Mapping[str, object]:
        return {
            "MODE": None,
            "ANCHOR_TUPLE": None,
            "pending_commands": deque(),
            "pending_taskids": deque(),
        }

    @contextmanager
    def _turn(self) -> Iterator[None]:
        before = {name: getattr(self._module, name) for name in self._globals}
        self._put(self._globals)
        try:
            yield
        finally:
            self._globals = {name: getattr(self._module, name) for name in before}
            self._put(before)

    def _put(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            setattr(self._module, name, value)

    def go(self) -> None:
        """Run the component with its own globals in the framework's module."""
        with self._turn():
            super().go()


class StormPyChild(_ModuleChild):
    """A Bolt, BasicBolt or Spout of Storm's storm.py, or of a copy in any package."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, _module_of(component_class, "sendMsgToParent"))


class PetrelChild(_ModuleChild):
    """A Petrel component: its constructor gets the script, and standard output goes to a log.

    Petrel sleeps five seconds after an exception, so that Storm can read; the bench skips the sleep.
    """

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, sys.modules["petrel.storm"])
        logging.getLogger("storm").addHandler(logging.NullHandler())  # else it logs to itself without end

    def _first_globals(self) -> Mapping[str, object]:
        clock = SimpleNamespace(sleep=lambda _seconds: None, time=time.time)
        return {**super()._first_globals(), "old_stdout": self.pipe.stdout, "time": clock}

    def _make(self) -> Any:
        """Create the component in the script's directory, where EmitterBase looks for the script."""
        here = Path.cwd()
        os.chdir(Path(inspect.getfile(self._class)).parent)
        try:
            return super()._make()
        finally:
            os.chdir(here)


class PyleusChild(_ClassChild):
    """A pyleus component with the JSON serializer, which the topology builder passes in `sys.argv`."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self.process_state.own["argv"] = list(_PYLEUS)


def _module_of(component_class: type, name: str) -> ModuleType:
    """Return the first base class's module that has a global of this name."""
    modules = (sys.modules[base.__module__] for base in component_class.__mro__)
    return next(module for module in modules if hasattr(module, name))


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
