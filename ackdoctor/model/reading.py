"""Read a file's bytes without waiting for a named pipe, opening a device, or filling the memory."""

import errno
import os
import stat

__all__ = ["read_file"]

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: str, limit: int) -> bytes:
    """Return the bytes of a regular file.  OSError for anything else, EFBIG for more than `limit` bytes."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "not a file")
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a file")
        parts: list[bytes] = []
        left = limit + 1
        size = status.st_size + 1  # one byte more than the file has: the same call sees the end
        while left > 0 and (part := os.read(handle, min(left, size))):
            parts.append(part)
            left -= len(part)
            if len(part) < size:
                break
    finally:
        os.close(handle)
    if left <= 0:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes")
    return parts[0] if len(parts) == 1 else b"".join(parts)
