"""Write a file completely or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

__all__ = ["replacing"]

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Yield a stream that replaces the file at the end; after an error the old file stays.

    A pipe or a device is written directly.  OSError for a symbolic link to a file: it may lead out of the tree.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    streams = any(path.absolute().is_relative_to(folder) for folder in ("/dev", "/proc"))
    if streams or (status is not None and not stat.S_ISREG(status.st_mode)):
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            yield stream
        return
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link; name its target", str(path))
    if status is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    handle = os.open(beside, _FLAGS, 0o666)
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:  # noqa: PTH123  # by number
            yield stream
            stream.flush()
            os.fsync(handle)
        if status is not None:
            beside.chmod(stat.S_IMODE(status.st_mode))
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
