"""`ackdoctor trace proxy -- COMMAND...`: runs between ShellBolt and a component, and records what passes.

    ShellBolt --stdin--> pump --> component
        ^                 | `- copies --> observer --> trace
        `----stdout------ `----------------------------------

The pump parses nothing; one loop serves both directions, so a tuple is recorded before its ack. The observer is
another process: if it is slow or dies, rows are lost and counted, and nothing else happens.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen

from ackdoctor.model.trace import EventKind
from ackdoctor.tracer.process.multilang import observe
from ackdoctor.tracer.process.run import KILLED, exit_code, forwarding, name_of_run, start
from ackdoctor.tracer.process.tap import Chunk, Direction, Tap, chunks
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["Lane", "Watch", "proxy", "pump"]


_CHUNK = 65_536
_IN, _OUT = select.POLLIN, select.POLLOUT


@dataclass(slots=True)
class Lane:
    """One direction: what is read from `source` is written to `sink`.

    `step` is the most that a write may take: a pipe that is ready takes `PIPE_BUF` bytes without blocking,
    a non-blocking one any number. `shut` closes a descriptor.
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
        """Read once; an end is passed on."""
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
        """Write as much as the sink takes; a broken pipe is passed on to the writer."""
        try:
            self.rest = self.rest[os.write(self.sink, self.rest[: self.step]) :]
        except BlockingIOError:
            return
        except OSError:
            self.end()

    def end(self) -> None:
        """Close both ends."""
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
    """Register a lane; an idle sink is polled for a broken pipe only."""
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

    `watch` handles the chunks; a test may replace `observe`.
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
    os.set_blocking(into, False)  # this end is ours alone; the parent shares our stdout
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
    """Close a descriptor; a standard one is replaced by /dev/null."""
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
    except BaseException:  # noqa: BLE001 - no exception may reach the component
        os._exit(70)
    os._exit(0)


def _leave(observer: int, tap: Tap, directory: Path, run: str) -> None:
    """Wait a moment for the observer; if it died, record how many messages it missed."""
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
