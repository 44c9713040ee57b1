"""A component's standard input and output: frames of one JSON text and a line `end`, both ways.

What the component writes waits in a queue until the JVM's side takes it, as it would in a pipe; any
thread may write.  What the JVM's side writes waits until the component reads; a component that reads
from an empty pipe calls `starved`, which lets the other side go on and says whether there is now
something to read.
"""

import io
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import TextIO

from ackdoctor.lab.component import WorkerDiedError

__all__ = ["HALTED", "SUICIDE", "Pipe", "ShellError"]


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
