"""Small traces, and processes that die while they write one."""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.trace_reader import read

__all__ = ["Ticking", "die_writing", "files", "recorder", "rows", "say"]

K = EventKind


class Ticking:
    """A clock that adds one nanosecond per reading."""

    def __init__(self, start: int = 1_000) -> None:
        self.now = start

    def __call__(self) -> int:
        self.now += 1
        return self.now


def recorder(directory: Path, **how: Any) -> Recorder:
    given: dict[str, Any] = {"run": "r", "worker": "w", "clock": Ticking(), "seconds": 3600}
    return Recorder(directory, **(given | how))


def say(to: Recorder, count: int, *, start: int = 0) -> None:
    """A bolt receives `count` tuples."""
    for number in range(start, start + count):
        to.put(to.template(K.RECEIVED, "bolt", 3, "default"), f'"{number}"')


def rows(*paths: Path | str) -> list[Event]:
    """Return all rows of an undamaged trace."""
    reading = read(paths)
    found = list(reading.events())
    assert reading.unreadable == []
    return found


def files(folder: Path) -> list[str]:
    """Return the file names in a worker's folder, without pids."""
    return sorted(path.name.replace(str(os.getpid()), "PID") for path in folder.iterdir())


def die_writing(work: Callable[[], Iterable[object]], *, after: int) -> int:
    """Run `work` in a fork that kills itself with SIGKILL after these steps; return its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            for step, _ in enumerate(work(), 1):
                if step == after:
                    os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    return pid
