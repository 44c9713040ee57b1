"""A component that runs in this process until it waits for input, and its pipe."""

import inspect
import io
import logging
import re
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread, current_thread
from typing import Any, SupportsFloat, SupportsIndex, TextIO

from ackdoctor.lab.component import WorkerDiedError

HALTED = 11  # ShellBolt.die, ShellSpout.die: System.exit(11)
SUICIDE = 1  # an exception that leaves an executor: Utils.mkSuicideFn, "Worker died"
THREAD_PREFIX = "component-"  # of the names of components' threads


class _Pipe(io.BufferedIOBase):
    """Both directions between the JVM's side and one component; as a stream it is the component's end, unbuffered.

    A read returns one frame, so that no wrapper reads ahead.  `close` does nothing: frameworks drop wrappers, which
    close their stream.  `stdin` and `stdout` are the component's, text in UTF-8.  `starved()` is called in the
    component's thread; False means end of file.
    """

    def __init__(self, starved: Callable[[], bool]) -> None:
        self.broken = False  # the JVM's side is gone: reading gives end of file, writing an OSError
        self._starved = starved
        self._to_component: deque[bytes] = deque()
        self._to_jvm: deque[str] = deque()
        self._unfinished = b""
        self._lines: list[bytes] = []
        self._lock = Lock()
        self.stdin: TextIO = io.TextIOWrapper(self, encoding="utf-8")  # type: ignore[type-var]
        # unbuffered, as under `python -u`
        self.stdout: TextIO = io.TextIOWrapper(self, encoding="utf-8", write_through=True)  # type: ignore[type-var]

    # ---- the JVM's side ----

    def send(self, text: str) -> None:
        """Write one frame to the component."""
        self._to_component.append(text.encode() + b"\nend\n")

    def take(self) -> str | None:
        """Return the component's next complete frame, or None."""
        return self._to_jvm.popleft() if self._to_jvm else None

    @property
    def unread(self) -> bool:
        """Whether the component has something to read."""
        return bool(self._to_component)

    @property
    def commanded(self) -> bool:
        """Whether the unread frames include a tuple or a command, which are JSON objects, not only task ids."""
        return any(frame.startswith(b"{") for frame in self._to_component)

    @property
    def torn(self) -> str:
        """The output after the last `end`, which Storm prints as "Currently read output"."""
        rest = [*self._lines, self._unfinished] if self._unfinished else self._lines
        return b"\n".join(rest).decode(errors="replace")

    # ---- the component's side ----

    def close(self) -> None:
        pass

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, _size: int | None = -1, /) -> bytes:
        """Wait for the next frame and return it; b'' at end of file."""
        while not self._to_component:
            if self.broken or not self._starved():
                return b""
        return self._to_component.popleft()

    def read1(self, _size: int = -1, /) -> bytes:
        return self.read()

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]  # any buffer
        """Receive bytes that the component wrote; a line `end` ends a frame."""
        if self.broken:
            raise BrokenPipeError(32, "Broken pipe")
        with self._lock:
            *lines, self._unfinished = (self._unfinished + bytes(data)).split(b"\n")
            for line in lines:
                if line.rstrip(b"\r") != b"end":
                    self._lines.append(line)
                    continue
                # BufferedReader joins lines, and skips blank ones at the start
                text = b"\n".join(self._lines).lstrip(b"\n")
                self._to_jvm.append(text.decode(errors="replace"))
                self._lines = []
        return len(data)


class ShellError(WorkerDiedError):
    """The component killed its worker.

    `kind` is the Java class of the exception ("java.lang.RuntimeException"), `message` its text in the
    worker's log, `exit_code` the worker's (11: ShellBolt halted it).  The component's exception, if any,
    is the `__cause__`.
    """

    def __init__(self, kind: str, message: str, *, exit_code: int = HALTED) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        self.exit_code = exit_code


class ReportedError(Exception):
    """The traceback that a component sent as a message before it ended."""


class ProcessState:
    """One component's own `sys.stdin`, `sys.stdout`, `sys.argv` and handlers of the root logger.

    `sys.stderr` stays the test's, so that it shows the component's errors, unless the component replaces it.
    """

    def __init__(self, *, stdin: TextIO, stdout: TextIO) -> None:
        self.own: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "argv": ["component"]}
        self._handlers: list[logging.Handler] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Set the component's state while it runs."""
        root = logging.getLogger()
        shared_handlers = list(root.handlers)
        shared = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr", "argv")}
        for name, value in self.own.items():
            setattr(sys, name, value)
        for handler in self._handlers:
            root.addHandler(handler)
        try:
            yield
        finally:
            self._handlers = [handler for handler in root.handlers if handler not in shared_handlers]
            for handler in self._handlers:
                root.removeHandler(handler)
            for name, value in shared.items():
                if name in self.own or getattr(sys, name) is not value:
                    self.own[name] = getattr(sys, name)
                setattr(sys, name, value)


@dataclass(slots=True, kw_only=True)
class Exit:
    """How the component's process ended: exception and standard error."""

    cause: BaseException | None = None
    stderr: str = ""


def uncaught(error: BaseException) -> Exit:
    """Return the exit of a process with an uncaught exception."""
    if isinstance(error, SystemExit):
        message = "" if isinstance(error.code, int | None) else f"{error.code}\n"
        return Exit(cause=error.__context__, stderr=message)
    return Exit(cause=error, stderr="".join(traceback.format_exception(error)))


class Child(ABC):
    """One running component.  It calls `answer` if it reads from an empty pipe."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        self.component: Any = None  # the author's object, once it exists
        self.ended: Exit | None = None
        self.running = False  # whether it is on this thread's stack
        self.hung = False  # whether it waits for an answer that never comes
        self.pipe = _Pipe(self._starved)
        self.process_state = ProcessState(stdin=self.pipe.stdin, stdout=self.pipe.stdout)
        self._class = component_class
        self._answer = answer

    @abstractmethod
    def go(self) -> None:
        """Run the component until it has read all its input or has ended."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether `go` would do anything."""

    @abstractmethod
    def close(self) -> None:
        """Send end of file, at which the component should end."""

    def beat(self) -> None:  # noqa: B027 - most frameworks have no such thread
        """Run the framework's timer thread once."""

    @property
    def period(self) -> float | None:
        """Seconds between two beats; None without a timer thread."""
        return None

    @abstractmethod
    def _starved(self) -> bool:
        """Handle a read from an empty pipe: return True to read again, False for end of file."""


class Looped(Child):
    """A component that runs as `B().run()`, in a thread that alternates with the caller's."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self._theirs, self._ours = Lock(), Lock()  # each thread waits for its own lock
        self._theirs.acquire()
        self._ours.acquire()
        self._thread: Thread | None = None
        self._escaped: BaseException | None = None

    def go(self) -> None:
        """Let the component's thread run, and wait until it reads from an empty pipe or ends."""
        if self.ended:
            return
        with self.process_state.entered():
            if self._thread is None:
                context = copy_context()
                self._thread = Thread(target=lambda: context.run(self._live), daemon=True)
                self._thread.name = f"{THREAD_PREFIX}{self._thread.name}"
                self._thread.start()
            else:
                self._theirs.release()
            self._ours.acquire()
        if self._escaped is not None:
            escaped, self._escaped = self._escaped, None
            raise escaped

    @property
    def busy(self) -> bool:
        """Whether the component has unread input."""
        return not self.ended and self.pipe.unread

    def close(self) -> None:
        """Send end of file and wait until the component leaves its loop."""
        self.pipe.broken = True
        if self._thread is not None and not self.ended:
            self.go()
            self._thread.join()

    def _make(self) -> Any:
        return self._class()

    def _live(self) -> None:
        try:
            self.component = self._make()
            self.component.run()
            self.ended = Exit()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception ends a process
            self.ended = uncaught(error)
        except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt, pytest.fail: raised again in the caller
            self.ended = uncaught(error)
            self._escaped = error
        finally:
            self._ours.release()

    def _starved(self) -> bool:
        self._ours.release()
        self._theirs.acquire()
        return True


# ---- the time that components see ----


_START_NS = 1_600_000_000 * 10**9  # what the clocks show at the start of a run
_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_QUICK = 1000  # readings in one call of a component
_READING_NS = 1_000_000  # what each further one takes: the component waits for a time
_OTHERS = sys.stdlib_module_names | {__name__.partition(".")[0]}  # modules that see the real time
_REAL = re.compile(rb"\b(?:datetime|date)\.(?:now|utcnow|today)\(")


class ComponentClock:
    """`now_ms` is the simulated time; `take` returns what the components have slept since its last call."""

    def __init__(self) -> None:
        self.now_ms: Callable[[], int] = lambda: 0
        self._slept_ns = 0
        self._readings = 0

    def take(self) -> float:
        """Return the seconds that passed in the last call of a component."""
        seconds, self._slept_ns, self._readings = self._slept_ns / 1e9, 0, 0
        return seconds

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Replace `time.sleep` and the clocks for the calling thread and the components' threads.

        Other threads, the standard library and this package see the real time.
        """
        real = {name: getattr(time, name) for name in ("sleep", *_CLOCKS)}
        ours, active = current_thread(), True

        def is_simulated() -> bool:
            """Whether a component called the function that calls this one."""
            frame = inspect.currentframe()
            caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
            module = str(caller.f_globals.get("__name__")) if caller is not None else ""
            thread = current_thread()
            is_ours = thread is ours or thread.name.startswith(THREAD_PREFIX)
            return active and is_ours and module.partition(".")[0] not in _OTHERS

        def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
            if is_simulated():
                self._slept_ns += max(0, round(float(seconds) * 1e9))
            else:
                real["sleep"](seconds)

        def read(name: str) -> object:
            if not is_simulated():
                return real[name]()
            now_ns = self._read_ns()
            return now_ns if name.endswith("_ns") else now_ns / 1e9

        time.sleep = sleep
        for name in _CLOCKS:
            setattr(time, name, partial(read, name))
        try:
            yield
        finally:
            active = False  # a module may keep one of the functions
            for name, function in real.items():
                setattr(time, name, function)

    def _read_ns(self) -> int:
        self._readings += 1
        if self._readings > _QUICK:
            self._slept_ns += _READING_NS
        return _START_NS + self.now_ms() * 1_000_000 + self._slept_ns


def real_time(file: Path) -> int:
    """Return the line of a Python file that first reads a clock of the module `datetime`, 0 if none does."""
    lines = file.read_bytes().splitlines()
    return next((number for number, line in enumerate(lines, 1) if _REAL.search(line)), 0)
