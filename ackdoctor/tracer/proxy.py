"""`ackdoctor trace proxy -- COMMAND...`: runs between ShellBolt and a component, and records what passes.

    ShellBolt --stdin--> pump --> component
        ^                 | `- copies --> observer --> trace
        `----stdout------ `----------------------------------

The pump parses nothing; one loop serves both directions, so a tuple is recorded before its ack. The observer is
another process. Copies go to it through a bounded pipe (`Tap`) that never blocks the pump: if it is slow or dies, rows are
lost and counted, and nothing else happens. It cuts the bytes into messages (`Frames`: JSON, a line end, `end` and a line
end) and turns them into rows (`Conversation`). Bytes that are no message are counted and skipped.
"""

import fcntl
import json
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
from typing import Any, NamedTuple

from ackdoctor.model.trace import IN_HAND, RELIABLE, TICK, EventKind
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.run import KILLED, exit_code, forwarding, name_of_run, start

_HEAD = Struct("<BIIq")  # direction, messages missed before, length, time_ns
_ROOM = 1 << 20  # bytes asked of the kernel
_DRAIN_S = 2.0  # seconds for the last chunks, when the component has ended already


@unique
class Direction(IntEnum):
    """The direction of a chunk."""

    TO_COMPONENT = 0
    FROM_COMPONENT = 1
    ENDED = 2  # the exit code, as text
    CUT = 3  # the same, of a component whose input had not ended


class Chunk(NamedTuple):
    """Some bytes of the pipe; about `missed` messages before them are in no chunk."""

    direction: Direction
    missed: int
    time_ns: int
    data: bytes


class Tap:
    """The pump's end. `missed` counts the messages in dropped chunks, for each direction."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._rest = memoryview(b"")
        self.missed = dict.fromkeys(Direction, 0)
        os.set_blocking(descriptor, False)
        with suppress(AttributeError, OSError):  # not Linux, or more than this user may have
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)

    @property
    def alive(self) -> bool:
        """Whether the observer still reads."""
        return self._fd >= 0

    def offer(self, direction: Direction, data: bytes) -> None:
        """Pass a chunk on, if there is room; never blocks, never raises."""
        if self.alive and self._flush():
            head = _HEAD.pack(direction, self.missed[direction], len(data), time.time_ns())
            self.missed[direction] = 0
            self._rest = memoryview(head + data)
            if self._flush() or self.alive:
                return
        self.missed[direction] += max(data.count(b"\nend\n"), 1)

    def _flush(self) -> bool:
        """Write the rest of the chunk before; False if some is left."""
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
        """The component has ended; `how` is ENDED or CUT."""
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
    """The observer's end: the chunks, until the pump closes its end."""
    with os.fdopen(descriptor, "rb") as pipe:
        while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
            direction, missed, length, time_ns = _HEAD.unpack(head)
            data = pipe.read(length)
            if len(data) < length:
                return
            yield Chunk(Direction(direction), missed, time_ns, data)


LONGEST = 16 << 20  # bytes of a message that is still looked at
_END = b"\nend\n"


class Row(NamedTuple):
    """A message as a row of the trace."""

    kind: EventKind
    delivery: str = ""
    stream: str = ""
    flags: int = 0


class Frames:
    """Cuts one direction of the pipe into messages; `lost` counts skipped ones."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.lost = 0
        self._longest = longest
        self._open = bytearray(b"\n")  # so that an `end` right at the start has its line end
        self._in_step = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that these bytes complete."""
        looked = max(len(self._open) - len(_END), 0)
        self._open += data
        start = 0
        while (end := self._open.find(_END, max(start, looked))) >= 0:
            message = bytes(self._open[start:end])
            start = end + len(_END) - 1  # the last line end belongs to the next message as well
            if self._in_step:
                yield message
            else:
                self.lost, self._in_step = self.lost + 1, True
        del self._open[:start]
        if len(self._open) > self._longest:
            del self._open[: -len(_END)]
            self._in_step = False

    def skip(self) -> None:
        """Bytes are missing here: parsing starts again after the next `end`."""
        self._open[:] = b""
        self._in_step = False


def parse(data: bytes) -> object:
    """The JSON of a message; None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


class Conversation:
    """The rows of one component's messages, and its name from the handshake."""

    def __init__(self) -> None:
        self.component = ""
        self.task = 0
        self.last_error = ""  # the last error that the component reported
        self.junk = 0  # invalid messages

    def receive(self, message: object) -> Iterator[Row]:
        """A message from Storm to the component: the handshake, a tuple, a command to a spout, task ids."""
        if not isinstance(message, dict):
            self.junk += not isinstance(message, list)
        elif "tuple" in message:
            yield from self._read_tuple(message)
        elif isinstance(message.get("context"), dict):
            self._introduce(message["context"])
        elif message.get("command") == "ack":
            yield Row(EventKind.COMPLETED, _id(message.get("id")))
        elif message.get("command") == "fail":
            yield Row(EventKind.GAVE_UP, _id(message.get("id")))

    def say(self, message: object) -> Iterator[Row]:
        """A message from the component to Storm."""
        if not isinstance(message, dict):
            self.junk += 1
            return
        match message.get("command"):
            case "ack":
                yield Row(EventKind.ACKED, _id(message.get("id")))
            case "fail":
                yield Row(EventKind.FAILED, _id(message.get("id")))
            case "emit":
                yield from _emit(message)
            case "error":
                self.last_error = str(message.get("msg", "")).strip()

    def _read_tuple(self, message: dict[str, Any]) -> Iterator[Row]:
        stream = str(message.get("stream", ""))
        if stream == "__heartbeat":
            return
        tick = message.get("comp") == "__system" and stream == "__tick"
        yield Row(EventKind.RECEIVED, _id(message.get("id")), stream, TICK if tick else 0)

    def _introduce(self, context: dict[str, Any]) -> None:
        task = context.get("taskid")
        self.task = task if isinstance(task, int) else 0
        named = context.get("task->component")
        by_task = named.get(str(self.task)) if isinstance(named, dict) else None
        self.component = str(context.get("componentid") or by_task or "")


def _emit(message: dict[str, Any]) -> Iterator[Row]:
    """An emit: a bolt's first anchor is the delivery and the others follow; a spout's delivery is the message id."""
    stream = str(message.get("stream") or "default")
    anchors = message.get("anchors")
    named = [anchors] if isinstance(anchors, str) else anchors if isinstance(anchors, list) else []
    first, *others = [_id(anchor) for anchor in named] or [_id(message.get("id"))]
    yield Row(EventKind.EMITTED, first, stream, RELIABLE if first else 0)
    for anchor in others:
        yield Row(EventKind.ANCHORED, anchor, stream, RELIABLE)


def _id(message: object) -> str:
    """An id as text; a spout's message id may be any JSON."""
    if message is None:
        return ""
    return message if isinstance(message, str) else json.dumps(message, sort_keys=True)


def observe(passing: Iterable[Chunk], directory: Path, run: str, name: str) -> None:
    """Record the chunks until the pump has ended; `name` is the component's name before the handshake.

    The time of a row is the time of its bytes.
    """
    now_ns = seen = understood = 0
    talk = Conversation()
    frames = {side: Frames() for side in (Direction.TO_COMPONENT, Direction.FROM_COMPONENT)}
    recorder = Recorder(directory, run=run, worker=os.uname().nodename, level="proxy", clock=lambda: now_ns)

    def write(row: Row, value: int = 0, note: str = "") -> None:
        who = talk.component or name, talk.task
        recorder.write(row.kind, *who, row.stream, row.delivery, value=value, flags=row.flags, note=note)

    for side, missed, time_ns, data in passing:
        now_ns = time_ns
        if side in frames:
            seen += len(data)
            if missed:
                frames[side].skip()
                write(Row(EventKind.DROPPED), missed, "the tracer fell behind")
            for message in map(parse, frames[side].feed(data)):
                understood += isinstance(message, dict)
                for row in talk.receive(message) if side is Direction.TO_COMPONENT else talk.say(message):
                    write(row)
            recorder.flush()
            continue
        lost = talk.junk + sum(each.lost for each in frames.values())
        if lost or (seen and not understood):
            note = "no multilang JSON"
            write(Row(EventKind.DROPPED), lost, note if understood else _NO_STORM)
        last_error = talk.last_error.rpartition("\n")[2]
        note = f"{data.decode()}: {last_error}" if last_error else data.decode()
        write(Row(EventKind.DIED, flags=IN_HAND if side is Direction.CUT else 0), note=note)
    recorder.close()


_NO_STORM = "nothing on this pipe is multilang JSON: another serializer?"
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
            if lane.open:  # an idle sink is polled for a broken pipe only
                poll.register(lane.sink, _OUT if lane.rest else 0)
                if not lane.rest:
                    poll.register(lane.source, _IN)
        ready = dict(poll.poll(0 if over and not words.rest else None))
        if wake in ready:
            os.read(wake, _CHUNK)
        if over and not words.rest and words.source not in ready:
            return
        for lane in lanes:
            if not lane.open:
                continue
            if lane.rest:
                if lane.sink in ready:
                    lane.write()
            elif ready.get(lane.sink, 0) & (select.POLLERR | select.POLLNVAL):
                lane.end()
            elif lane.source in ready:
                lane.read(tap)


_Watch = Callable[[Iterable[Chunk], Path, str, str], None]

_OBSERVER_S = 2.0  # seconds that the observer may take to finish after the component has ended
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def proxy(argv: Sequence[str], directory: Path, *, run: str = "", watch: _Watch = observe) -> int:
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


def _observer(watch: _Watch, directory: Path, run: str, name: str) -> tuple[int, Tap]:
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
