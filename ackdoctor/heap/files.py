"""Open a file or a pipe that a user names; refuse what never begins or never ends."""

import errno
import os
import select
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_file"]

_PATIENCE_S = 8.0  # for the first byte of a named pipe
_OF_SHELLS = ("/dev/", "/proc/")  # <(command): its writer is there


def open_file(path: Path) -> BinaryIO:
    """Open for reading; OSError, with the reason as its `strerror`, for a folder, a device or a silent pipe."""
    mode = os.stat(path).st_mode  # noqa: PTH116  # as open() will look at it
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(mode) and not str(path.absolute()).startswith(_OF_SHELLS):
        return _open_pipe(path)
    file = path.open("rb")
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or file.isatty():
        return file
    file.close()
    raise OSError(errno.EINVAL, "a device, not a file")


def _open_pipe(path: Path) -> BinaryIO:
    """A blocking open() of a named pipe waits for a writer, maybe for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(_PATIENCE_S * 1000):
        os.close(descriptor)
        raise OSError(
            errno.ETIMEDOUT,
            f"a pipe that delivers nothing for {_PATIENCE_S:.0f} s; of a slow writer read `-`, standard input",
        )
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")
