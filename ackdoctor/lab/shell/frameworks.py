"""Frameworks that the lab runs: the child of each, and the loops of pystorm, storm.py, Petrel and pyleus."""

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
from ackdoctor.tracer.ledger.components import belongs

__all__ = [
    "NotAComponentError",
    "PetrelChild",
    "PyleusChild",
    "PystormChild",
    "StormPyChild",
    "descent",
    "launcher",
]


class PystormChild(Stepped):
    """One Bolt, BatchingBolt, TicklessBatchingBolt, Spout or ReliableSpout."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._class = component_class
        self._module: ModuleType = sys.modules["pystorm.component"]
        self._made: Any = None
        self._batcher = _Batcher()
        self._level = logging.getLogger("pystorm").level

    @property
    def component(self) -> object:
        """Once its `_setup_component` has run."""
        return self._made

    @property
    def _backlog(self) -> bool:
        return bool(self._made is not None and self._made._pending_commands)  # noqa: SLF001 - what `read_command` looks at

    def _start(self) -> None:
        """`streamparse_run` hands over the serializer, a pystorm script nothing; the streams are defaults."""
        component: Any = object.__new__(self._class)
        component._exit = sys.exit  # noqa: SLF001
        component._batch_entry = self._batcher.entry(component)  # noqa: SLF001
        of_streamparse = any(base.__module__.startswith("streamparse.") for base in self._class.__mro__)
        thread_name = current_thread().name
        with self._streams(), _kept_signals():
            component.__init__(**{"serializer": "json"} if of_streamparse else {})
        current_thread().name = thread_name
        conf, context = component.read_handshake()
        component._setup_component(conf, context)  # noqa: SLF001
        self._made = component
        component.initialize(conf, context)

    @contextmanager
    def _streams(self) -> Iterator[None]:
        """Component.__init__'s defaults are the streams at the time of import; here they are the pipe's."""
        init = inspect.unwrap(self._module.Component.__init__)
        defaults = init.__defaults__
        init.__defaults__ = (self.pipe.raw_in, self.pipe.raw_out, None, "json")
        try:
            yield
        finally:
            init.__defaults__ = defaults

    def _step(self) -> None:
        """The body of `run`'s loop."""
        went_away = self._module.StormWentAwayError
        component = self._made
        try:
            component._run()  # noqa: SLF001
        except went_away:
            component._exit(2)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - as there
            self._handle(error)

    def _handle(self, error: Exception) -> None:
        component = self._made
        log = logging.getLogger("pystorm.component")
        text = f"Exception in {type(component).__name__}.run()"
        try:
            component.logger.error(text, exc_info=error)
            component._handle_run_exception(error)  # noqa: SLF001
        except self._module.StormWentAwayError:
            log.error(text, exc_info=error)  # noqa: TRY400 - the first error, as there
            component._exit(2)  # noqa: SLF001
        except Exception:  # there: a bare except
            log.error(text, exc_info=error)  # noqa: TRY400
            log.exception("While trying to handle previous exception...")
        if component.exit_on_exception:
            component._exit(1)  # noqa: SLF001

    def beat(self) -> None:
        """One pass of TicklessBatchingBolt's batcher, in its own thread; its exception interrupts the loop."""
        if self.ended or self._made is None:
            return
        try:
            with self.process_state.entered():
                if self._batcher.beat(self._made):
                    self._interrupt()
        except SystemExit as error:
            self.ended = uncaught(error)

    @property
    def period(self) -> float | None:
        """Of a TicklessBatchingBolt."""
        return float(self._made.secs_between_batches) if hasattr(self._made, "_batcher") else None

    def _interrupt(self) -> None:
        """What SIGUSR1 does in the receiving thread."""
        try:
            self._made._handle_worker_exception(None, None)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001
            self._handle(error)

    def close(self) -> None:
        """Its timer thread ends, and pystorm's log level is what it was."""
        super().close()
        self._batcher.close()
        logging.getLogger("pystorm").setLevel(self._level)


class _Batcher:
    """TicklessBatchingBolt's timer thread, with a gate where it would sleep."""

    def __init__(self) -> None:
        self._gate = Semaphore(0)
        self._done = Semaphore(0)
        self._dead = False
        self._closed = False

    def entry(self, component: Any) -> Callable[[], None]:
        """Replaces `_batch_entry`: the first exception ends the thread."""

        def run() -> None:
            try:
                while self._gate.acquire() and not self._closed:
                    with component._batch_lock:  # noqa: SLF001
                        component.process_batches()
                    self._done.release()
            except BaseException:  # noqa: BLE001 - there: a bare except
                component.exc_info = sys.exc_info()
                self._dead = True
                self._done.release()

        return run

    def beat(self, component: Any) -> bool:
        """Let it pass once; whether it died of it."""
        if self._dead or not hasattr(component, "_batcher"):
            return False
        self._gate.release()
        self._done.acquire()
        return self._dead

    def close(self) -> None:
        self._closed = True
        self._gate.release()


@contextmanager
def _kept_signals() -> Iterator[None]:
    """TicklessBatchingBolt takes SIGUSR1 for itself; only the main thread can."""
    if current_thread() is not main_thread() or not hasattr(signal, "SIGUSR1"):
        yield
        return
    handler = signal.getsignal(signal.SIGUSR1)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, handler)


_PYLEUS = ("component", "--pyleus-config", '{"serializer": "json"}', "--options", "{}")


class _ClassChild(Looped):
    """A component that is made and then run: `B().run()`."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._class = component_class
        self._made: Any = None

    @property
    def component(self) -> object:
        """Once its constructor has returned."""
        return self._made

    def _make(self) -> Any:
        return self._class()

    def _run(self) -> None:
        self._made = self._make()
        self._made.run()


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
        """Its turn, with its own globals in the framework's module."""
        with self._turn():
            super().go()


class StormPyChild(_ModuleChild):
    """A Bolt, BasicBolt or Spout of Storm's storm.py, in any package that it was copied to."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, _module_of(component_class, "sendMsgToParent"))


class PetrelChild(_ModuleChild):
    """A Petrel component: its constructor gets the script, standard output goes to a log.

    Petrel sleeps five seconds after an exception, so that Storm can read; the bench skips the sleep.
    """

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, sys.modules["petrel.storm"])
        logging.getLogger("storm").addHandler(logging.NullHandler())  # else it logs to itself, for ever

    def _first_globals(self) -> Mapping[str, object]:
        clock = SimpleNamespace(sleep=lambda _seconds: None, time=time.time)
        return {**super()._first_globals(), "old_stdout": self.pipe.stdout, "time": clock}

    def _make(self) -> Any:
        """EmitterBase wants the script in the current directory, as it is in a worker."""
        here = Path.cwd()
        os.chdir(Path(inspect.getfile(self._class)).parent)
        try:
            return super()._make()
        finally:
            os.chdir(here)


class PyleusChild(_ClassChild):
    """A pyleus component over the JSON serializer; `sys.argv` says so, as the topology builder does."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self.process_state.own["argv"] = list(_PYLEUS)


def _module_of(component_class: type, name: str) -> ModuleType:
    """The module of the base class that has a global of this name."""
    modules = (sys.modules[base.__module__] for base in component_class.__mro__)
    return next(module for module in modules if hasattr(module, name))


_Launcher: TypeAlias = Callable[[type, Callable[[], None]], Child]

_LAUNCHERS: dict[str, _Launcher] = {
    "pystorm": PystormChild,
    "petrel": PetrelChild,
    "pyleus": PyleusChild,
    "storm": StormPyChild,
}
"""How to run a component, by the module of the framework that reads and writes its messages."""


class NotAComponentError(TypeError):
    """A class that is no component of a framework that the lab can run."""


def descent(component_class: type) -> tuple[Dialect, Role]:
    """The framework of a class and which of its base classes it has; NotAComponentError if none."""
    found = belongs(component_class)
    if found is None:
        *titles, last = [dialect.title for dialect in load() if dialect.language == "python"]
        raise NotAComponentError(
            f"{component_class.__qualname__} is no bolt or spout of {', '.join(titles)} or {last}"
        )
    return found


def launcher(component_class: type) -> _Launcher:
    """What runs a component of a framework that speaks multilang."""
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
