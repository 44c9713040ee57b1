"""pystorm and streamparse: `Component.run` in steps, in the caller's thread.

Read: pystorm/pystorm pystorm/component.py:415-470 (`run`), bolt.py:430-520 (TicklessBatchingBolt) @ v3.1.4;
streamparse/run.py:47-50 @ 5.0.1.  Exchanged for the length of a run: `_exit`, which calls os._exit when any
thread is alive, and TicklessBatchingBolt's `_batch_entry`, which sleeps and tells errors by SIGUSR1.
"""

import inspect
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Semaphore, current_thread, main_thread
from types import ModuleType
from typing import Any

from ackdoctor.lab.shell.child import Stepped, uncaught

__all__ = ["PystormChild"]


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
