"""A component that runs in this process until it asks for input, and the pipe that it reads and writes."""

import io
import logging
import sys
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, TextIO

from ackdoctor.lab.component import WorkerDiedError

__all__ = [
    "HALTED",
    "SUICIDE",
    "Child",
    "Exit",
    "Looped",
    "Pipe",
    "ProcessState",
    "ShellError",
    "Stepped",
    "uncaught",
]


class _Raw(io.BufferedIOBase):
    """Frameworks wrap a stream and drop the wrapper, which would close it."""

    def close(self) -> None:
        pass


class _Incoming(_Raw):
    """Standard input: one frame for each read, so that no wrapper reads ahead."""

    def __init__(self, pipe: "Pipe") -> None:
        self._pipe = pipe

    def readable(self) -> bool:
        return True

    def read(self, _size: int | None = -1, /) -> bytes:
        return self._pipe.next_frame()

    def read1(self, _size: int = -1, /) -> bytes:
        return self._pipe.next_frame()


class _Outgoing(_Raw):
    """Standard output, unbuffered."""

    def __init__(self, pipe: "Pipe") -> None:
        self._pipe = pipe

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]  # any buffer
        self._pipe.receive(bytes(data))
        return len(data)


class Pipe:
    """Both directions between the JVM's side and one component.

    `stdin` and `stdout` are the component's, text in UTF-8; `raw_in` and `raw_out` the same in bytes.  `starved()` is called in the component's
    thread; False means end of file.
    """

    def __init__(self, starved: Callable[[], bool]) -> None:
        self.broken = False  # the JVM's side is gone: reading gives end of file, writing an OSError
        self._starved = starved
        self._to_component: deque[bytes] = deque()
        self._to_jvm: deque[str] = deque()
        self._unfinished = b""
        self._lines: list[bytes] = []
        self._lock = Lock()
        self.raw_in = _Incoming(self)
        self.raw_out = _Outgoing(self)
        self.stdin: TextIO = io.TextIOWrapper(self.raw_in, encoding="utf-8")  # type: ignore[type-var]
        # print reaches the pipe at once, as under `python -u`
        self.stdout: TextIO = io.TextIOWrapper(self.raw_out, encoding="utf-8", write_through=True)  # type: ignore[type-var]

    # ---- the JVM's side ----

    def send(self, text: str) -> None:
        """Write one frame to the component."""
        self._to_component.append(text.encode() + b"\nend\n")

    def take(self) -> str | None:
        """The text of the component's next whole frame, or None."""
        return self._to_jvm.popleft() if self._to_jvm else None

    @property
    def unread(self) -> bool:
        """Whether the component has something to read."""
        return bool(self._to_component)

    @property
    def commanded(self) -> bool:
        """Whether more than task ids is among it: a tuple or a command, which are JSON objects."""
        return any(frame.startswith(b"{") for frame in self._to_component)

    @property
    def torn(self) -> str:
        """What the component wrote after its last `end`: "Currently read output" if it ends here."""
        rest = [*self._lines, self._unfinished] if self._unfinished else self._lines
        return b"\n".join(rest).decode(errors="replace")

    # ---- the component's side ----

    def next_frame(self) -> bytes:
        """One frame; waits for it; b'' at the end of file."""
        while not self._to_component:
            if self.broken or not self._starved():
                return b""
        return self._to_component.popleft()

    def receive(self, data: bytes) -> None:
        """Bytes as they were written: frames end with a line that is `end`."""
        if self.broken:
            raise BrokenPipeError(32, "Broken pipe")
        with self._lock:
            *lines, self._unfinished = (self._unfinished + data).split(b"\n")
            for line in lines:
                if line.rstrip(b"\r") != b"end":
                    self._lines.append(line)
                    continue
                # BufferedReader joins lines, and forgets blank ones at the head
                text = b"\n".join(self._lines).lstrip(b"\n")
                self._to_jvm.append(text.decode(errors="replace"))
                self._lines = []


HALTED = 11  # ShellBolt.die, ShellSpout.die: System.exit(11)


SUICIDE = 1  # an exception that leaves an executor: Utils.mkSuicideFn, "Worker died"


class ShellError(WorkerDiedError):
    """The worker has died of its component.

    `kind` is the Java class of the exception ("java.lang.RuntimeException"), `message` its text as the
    worker's log has it, `exit_code` the worker's (11: ShellBolt halted it).  What the component raised,
    if it did, is the `__cause__`.
    """

    def __init__(self, kind: str, message: str, *, exit_code: int = HALTED) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        self.exit_code = exit_code


class ProcessState:
    """One component's own `sys.stdin`, `sys.stdout`, `sys.argv` and handlers of the root logger.

    `sys.stderr` stays the test's, where a component's last words are wanted, unless the component itself replaces it.
    """

    def __init__(self, *, stdin: TextIO, stdout: TextIO, argv: Sequence[str] = ("component",)) -> None:
        self.own: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "argv": list(argv)}
        self._handlers: list[logging.Handler] = []

    def add_arguments(self, arguments: Sequence[str]) -> None:
        """Before its first turn."""
        self.own["argv"] += arguments

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The component's turn."""
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
    """How the component's process ended: its status, what it raised, and what it left on standard error."""

    status: int = 0
    cause: BaseException | None = None
    stderr: str = ""


def uncaught(error: BaseException) -> Exit:
    """What the interpreter does with an uncaught exception."""
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        said = "" if isinstance(error.code, int | None) else f"{error.code}\n"
        return Exit(status=status, cause=error.__context__, stderr=said)
    return Exit(status=1, cause=error, stderr="".join(traceback.format_exception(error)))


class Child(ABC):
    """One running component.  `answer` is called when the component reads and there is nothing to read."""

    def __init__(self, answer: Callable[[], None]) -> None:
        self.ended: Exit | None = None
        self.running = False  # somewhere below on this thread's stack
        self.hung = False  # it waits for an answer that will never come
        self.pipe = Pipe(self._starved)
        self.process_state = ProcessState(stdin=self.pipe.stdin, stdout=self.pipe.stdout)
        self._answer = answer

    @property
    @abstractmethod
    def component(self) -> object:
        """The author's object, once it exists."""

    @abstractmethod
    def go(self) -> None:
        """Let the component run until it has read all its input and wants more, or has ended."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether `go` would do anything."""

    @abstractmethod
    def close(self) -> None:
        """End of file; the component ends if it is well-behaved."""

    def beat(self) -> None:  # noqa: B027 - most frameworks have no such thread
        """Let a timer thread of the framework's own do what it does once."""

    @property
    def period(self) -> float | None:
        """Seconds between two beats; None without such a thread."""
        return None

    @abstractmethod
    def _starved(self) -> bool:
        """The component reads from an empty pipe: True if there may be something now, False for end of file."""


class Stepped(Child):
    """A component whose loop is driven from outside, in the caller's thread."""

    def __init__(self, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._started = False

    @abstractmethod
    def _start(self) -> None:
        """Make the component, shake hands, initialise."""

    @abstractmethod
    def _step(self) -> None:
        """The body of the framework's loop, its handling of exceptions included; SystemExit ends the process."""

    @property
    @abstractmethod
    def _backlog(self) -> bool:
        """Whether the framework itself has kept back input that it has read."""

    def go(self) -> None:
        """Step as long as there is input."""
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
        """Task ids alone are no reason for a step: it would wait for a tuple."""
        return not self.ended and (self.pipe.commanded or self._backlog)

    def close(self) -> None:
        """It is never called again."""
        self.pipe.broken = True
        if self._started and not self.ended:
            self.ended = Exit()

    def _starved(self) -> bool:
        """In the middle of a step: the JVM's side may have task ids.  If not, it waits for ever; so it ends."""
        self._answer()
        self.hung = not self.pipe.unread and not self.pipe.broken
        return self.pipe.unread


class Looped(Child):
    """A component whose endless loop runs in a thread that alternates with the caller's."""

    def __init__(self, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._theirs, self._ours = Lock(), Lock()  # whose turn it is: the other one is held
        self._theirs.acquire()
        self._ours.acquire()
        self._thread: Thread | None = None
        self._escaped: BaseException | None = None

    @abstractmethod
    def _run(self) -> None:
        """The whole life of the component's process."""

    def go(self) -> None:
        """Give the component its turn, and wait until it gives it back."""
        if self.ended:
            return
        with self.process_state.entered():
            if self._thread is None:
                context = copy_context()
                self._thread = Thread(target=lambda: context.run(self._live), daemon=True)
                self._thread.name = f"component-{self._thread.name}"
                self._thread.start()
            else:
                self._theirs.release()
            self._ours.acquire()
        if self._escaped is not None:
            escaped, self._escaped = self._escaped, None
            raise escaped

    @property
    def busy(self) -> bool:
        """Let it read all input."""
        return not self.ended and self.pipe.unread

    def close(self) -> None:
        """It reads the end of its input and leaves its loop."""
        self.pipe.broken = True
        if self._thread is not None and not self.ended:
            self.go()
            self._thread.join()

    def _live(self) -> None:
        try:
            self._run()
            self.ended = Exit()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as in Stepped.go
            self.ended = uncaught(error)
        except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt, pytest.fail: the caller's to see
            self.ended = uncaught(error)
            self._escaped = error
        finally:
            self._ours.release()

    def _starved(self) -> bool:
        self._ours.release()
        self._theirs.acquire()
        return True
