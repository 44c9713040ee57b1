"""tmp"""

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum, unique
from pathlib import Path
from struct import Struct
from subprocess import PIPE, Popen
from typing import NamedTuple

from ackdoctor.model.event import EventKind
from ackdoctor.tracer.process.multilang import observe
from ackdoctor.tracer.process.run import KILLED, exit_code, forwarding, name_of_run, start
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["Chunk", "Direction", "Lane", "Tap", "Watch", "chunks", "proxy", "pump"]


_HEAD = Struct("<BIIq")  # direction, messages missed before, length, time_ns
_ROOM = 1 << 20  # bytes asked of the kernel
_DRAIN_S = 2.0  # seconds for the last chunks, when the component has ended already


@unique
class Direction(IntEnum):
    """Whose words they are."""

    TO_COMPONENT = 0
    FROM_COMPONENT = 1
    ENDED = 2  # the exit code, as text
    CUT = 3  # the same, of a component whose input had not ended


class Chunk(NamedTuple):
    """Some bytes that passed; before them, `missed` messages or so that are not in any chunk."""

    direction: Direction
    missed: int
    time_ns: int
    data: bytes


class Tap:
    """The pump's end.  `missed` counts the message ends in what nobody saw, for each direction."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._rest = memoryview(b"")
        self.missed = dict.fromkeys(Direction, 0)
        os.set_blocking(descriptor, False)
        with suppress(AttributeError, OSError):  # not Linux, or more than this user may have
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)

    @property
    def alive(self) -> bool:
        """Whether the observer listens."""
        return self._fd >= 0

    def offer(self, direction: Direction, data: bytes) -> None:
        """Show a chunk, if there is room; never blocks, never raises."""
        if self.alive and self._flush():
            head = _HEAD.pack(direction, self.missed[direction], len(data), time.time_ns())
            self.missed[direction] = 0
            self._rest = memoryview(head + data)
            if self._flush() or self.alive:
                return
        self.missed[direction] += max(data.count(b"\nend\n"), 1)

    def _flush(self) -> bool:
        """Whether nothing is left of the chunk before."""
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            return False
        except OSError:  # the observer is gone
            self._shut()
            return False
        return True

    def close(self, status: str, how: Direction = Direction.ENDED) -> None:
        """The component has ended, `how` is ENDED or CUT: the last words, then no more."""
        deadline = time.monotonic() + _DRAIN_S
        self._wait(deadline)
        for direction in (Direction.TO_COMPONENT, Direction.FROM_COMPONENT):
            if self.missed[direction]:
                self.offer(direction, b"")
                self._wait(deadline)
        self.offer(how, status.encode())
        self._wait(deadline)
        self._shut()

    def _wait(self, deadline: float) -> None:
        while self.alive and not self._flush() and (left := deadline - time.monotonic()) > 0:
            select.select((), (self._fd,), (), left)

    def _shut(self) -> None:
        if self.alive:
            os.close(self._fd)
            self._fd, self._rest = -1, memoryview(b"")


def chunks(descriptor: int) -> Iterator[Chunk]:
    """The observer's end: what passes, until the pump closes its own."""
    with os.fdopen(descriptor, "rb") as pipe:
        while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
            direction, missed, length, time_ns = _HEAD.unpack(head)
            data = pipe.read(length)
            if len(data) < length:
                return
            yield Chunk(Direction(direction), missed, time_ns, data)


_CHUNK = 65_536
_IN, _OUT = select.POLLIN, select.POLLOUT


@dataclass(slots=True)
class Lane:
    """One direction: what is read from `source` is written to `sink`.

    `step` is the most that a write may take: a pipe that is ready takes `PIPE_BUF` bytes without blocking,
    one that was made non-blocking any number.  `shut` closes a descriptor for whoever is at its other end.
    `exhausted` is whether it was the source that ended, not the sink.
    """

    direction: Direction
    source: int
    sink: int
    step: int = select.PIPE_BUF
    shut: Callable[[int], None] = os.close
    rest: memoryview = field(default_factory=lambda: memoryview(b""))
    open: bool = True
    exhausted: bool = False

    def read(self, tap: Tap) -> None:
        """One read; an end is passed on."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.exhausted = True
            self.end()
            return
        self.rest = memoryview(data)
        self.write()
        tap.offer(self.direction, data)

    def write(self) -> None:
        """As much as the sink takes now; a break is passed on to the writer."""
        try:
            self.rest = self.rest[os.write(self.sink, self.rest[: self.step]) :]
        except BlockingIOError:
            return
        except OSError:
            self.end()

    def end(self) -> None:
        """Nothing more comes, or nobody listens any more."""
        self.open, self.rest = False, memoryview(b"")
        self.shut(self.sink)
        self.shut(self.source)


def pump(lanes: tuple[Lane, Lane], tap: Tap, *, ended: Callable[[], bool], wake: int) -> None:
    """Serve the lanes until the component has ended and what it wrote has been passed on.

    `wake` becomes readable when it may have ended.  The last lane is the component's own words.
    """
    words = lanes[-1]
    while True:
        over = ended()
        if over and not words.open:
            return
        poll = select.poll()
        poll.register(wake, _IN)
        for lane in lanes:
            if lane.open:
                _watch(poll, lane)
        ready = dict(poll.poll(0 if over and not words.rest else None))
        if wake in ready:
            os.read(wake, _CHUNK)
        if over and not words.rest and words.source not in ready:
            return
        for lane in lanes:
            if lane.open:
                _serve(lane, ready, tap)


def _watch(poll: "select.poll", lane: Lane) -> None:
    """A sink with nothing to take is watched for the break alone."""
    poll.register(lane.sink, _OUT if lane.rest else 0)
    if not lane.rest:
        poll.register(lane.source, _IN)


def _serve(lane: Lane, ready: dict[int, int], tap: Tap) -> None:
    if lane.rest:
        if lane.sink in ready:
            lane.write()
    elif ready.get(lane.sink, 0) & (select.POLLERR | select.POLLNVAL):
        lane.end()
    elif lane.source in ready:
        lane.read(tap)


Watch = Callable[[Iterable[Chunk], Path, str, str], None]

_OBSERVER_S = 2.0  # seconds that the observer may take to finish after the component has ended
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def proxy(argv: Sequence[str], directory: Path, *, run: str = "", watch: Watch = observe) -> int:
    """Run a component with its standard streams joined to ours; its exit code, 128 + n for signal n.

    `watch` is what the observer does with the chunks: `observe`, unless a test breaks it.
    """
    run = run or name_of_run()
    observer, tap = _observer(watch, directory, run, Path(argv[-1]).name)
    process = start(argv, stdin=PIPE, stdout=PIPE)
    if isinstance(process, tuple):
        code, reason = process
        print(f"ackdoctor trace proxy: {reason}", file=sys.stderr)  # noqa: T201
        tap.close(f"never started: {reason}")
        return code
    how = _join(process, tap)
    code = exit_code(process.wait())
    tap.close(_said(code), how)
    _leave(observer, tap, directory, run)
    return code


def _join(process: "Popen[bytes]", tap: Tap) -> Direction:
    """Joins the streams until the component has ended; ENDED if its input had come to an end before, else CUT."""
    assert process.stdin is not None
    assert process.stdout is not None
    wake, alarm = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(alarm, False)
    into, out = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
    process.stdin.close()
    process.stdout.close()
    os.set_blocking(into, False)  # this end is ours alone; stdout is shared with whoever started us
    lanes = (
        Lane(Direction.TO_COMPONENT, 0, into, step=sys.maxsize, shut=_shut),
        Lane(Direction.FROM_COMPONENT, out, 1, shut=_shut),
    )
    before = signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # for the wake-up alone
    try:
        with forwarding(process):
            pump(lanes, tap, ended=lambda: process.poll() is not None, wake=wake)
    finally:
        signal.set_wakeup_fd(before)
        for lane in lanes:
            if lane.open:
                lane.end()
    return Direction.ENDED if lanes[0].exhausted else Direction.CUT


def _shut(descriptor: int) -> None:
    """Close it for the other side; the standard descriptors stay taken, by nothing."""
    if descriptor > 1:
        os.close(descriptor)
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _observer(watch: Watch, directory: Path, run: str, name: str) -> tuple[int, Tap]:
    """Start the observer, before there is any pipe that it could keep open."""
    theirs, ours = os.pipe()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, Tap(ours)
    try:
        os.close(ours)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for descriptor in (0, 1, 2):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, descriptor)
            os.close(nothing)
        watch(chunks(theirs), directory, run, name)
    except BaseException:  # noqa: BLE001 - whatever it was, it must not reach the component
        os._exit(70)
    os._exit(0)


def _leave(observer: int, tap: Tap, directory: Path, run: str) -> None:
    """Wait for the observer, but not for long; if it died, say what it did not see."""
    deadline = time.monotonic() + _OBSERVER_S
    while (done := os.waitpid(observer, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.002)
    if done == (observer, 0) or done[0] == 0:
        return
    recorder = Recorder(directory, run=run, worker=os.uname().nodename)
    note = "the tracer ended before the component did"
    recorder.write(EventKind.DROPPED, value=sum(tap.missed.values()), note=note)
    recorder.close()


def _said(code: int) -> str:
    killed = {KILLED + number: number.name for number in signal.Signals}
    return f"killed by {killed[code]}" if code in killed else f"exit code {code}"
