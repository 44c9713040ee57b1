"""`ackdoctor lint --watch`: run again after each change of a file.

Files are compared by time, size and inode, which also works on network drives and in containers.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from time import monotonic, sleep

from ackdoctor.cli.output import can_clear, complain
from ackdoctor.model import AckdoctorError, UsageError

_INTERVAL_S = 0.5
_MAX_SHARE = 10  # the wait is at least this many times as long as a look
_INTERRUPTED = 130  # the exit code of a shell after Ctrl-C

State = Mapping[str, tuple[int, int, int]]


def rerun(run: Callable[[set[str]], object], look: Callable[[], State], *, quiet: bool) -> int:
    """Run until Ctrl-C: now, and whenever a file changes that `look` finds or the run adds to its set; return the exit code.

    An error is shown and watched on, except a wrong argument, with which every run would fail.
    """
    try:
        read: set[str] = set()
        for number in count():
            before = {**state_of(read), **look()}
            _clear_screen()
            try:
                run(read)
            except AckdoctorError as error:
                if number == 0 and isinstance(error, UsageError):
                    raise
                complain(str(error))
            if not quiet:
                complain("watching; Ctrl-C ends it")
            _wait({**state_of(read - before.keys()), **before}, lambda: {**state_of(read), **look()})
    except KeyboardInterrupt:
        pass
    return _INTERRUPTED


def state_of(paths: Iterable[str]) -> State:
    """Return what changes when a file is written, replaced, created or removed."""
    found = {}
    for path in paths:
        with suppress(OSError, ValueError):
            status = os.stat(path)  # noqa: PTH116  # a Path object per file costs more than looking at the file
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def _wait(before: State, look: Callable[[], State]) -> None:
    while True:
        begin = monotonic()
        if look() != before:
            return
        sleep(max(_INTERVAL_S, _MAX_SHARE * (monotonic() - begin)))


def _clear_screen() -> None:
    """Clear a terminal, so that the screen has only the last run."""
    if can_clear(sys.stdout):
        sys.stdout.write("\x1b[2J\x1b[H")
        sys.stdout.flush()
