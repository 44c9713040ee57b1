"""How a run ends that has nothing left to do, and what it says before."""

import os
import sys

__all__ = ["Finished", "leave", "say"]


class Finished(SystemExit):
    """All is written, no thread or process of ours is left, and nobody waits for the interpreter's end."""


def say(line: str) -> None:
    """A line on standard error.  Where nothing is taken any more (a full disk, no reader) the exit code alone tells."""
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        # or the interpreter tries again at its end, and makes an exit code of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def leave(end: Finished) -> None:
    """Ends the process as `end` says, without taking apart what it made: that would cost a seventh of a short run.

    Where a stream will not be flushed, or somebody traces or profiles the run, the interpreter ends as usual.
    """
    if _watched():
        raise end
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError, AttributeError):
        raise end from None
    os._exit(end.code if isinstance(end.code, int) else 0)


def _watched() -> bool:
    """Whether somebody traces, measures or profiles this run: since 3.12 cProfile and coverage do it by `sys.monitoring`."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
