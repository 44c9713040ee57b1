"""`ackdoctor trace proxy -- COMMAND...`: stands between ShellBolt and a component, and writes down what passes.

    ShellBolt ──stdin──> pump ──> component
        ^                 │ └─ copies ──> observer ──> trace
        └────stdout────── └──────────────────────────────────

The pump knows no messages, the observer cannot touch the pipe.  The two are processes, so a tracer that
is slow or dead costs rows, which are counted, and nothing else.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from subprocess import PIPE, Popen

from ackdoctor.model.event import EventKind
from ackdoctor.tracer.process.child import KILLED, exit_code, forwarding, start
from ackdoctor.tracer.process.launch import name_of_run
from ackdoctor.tracer.process.observer import observe
from ackdoctor.tracer.process.pump import Lane, pump
from ackdoctor.tracer.process.tap import Chunk, Direction, Tap, chunks
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["Watch", "proxy"]

Watch = Callable[[Iterable[Chunk], Path, str, str], None]

_PATIENCE = 2.0  # seconds that the observer may take to finish after the component has ended
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
    deadline = time.monotonic() + _PATIENCE
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
