"""Reads a file's bytes without ever waiting for somebody to write them, and says which bytes they are."""

import errno
import os
import stat
from hashlib import blake2b

__all__ = ["digest_of", "read_file"]

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: str, limit: int) -> bytes:
    """The bytes of a regular file.  OSError for anything else, EFBIG for more than `limit` bytes."""
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a file")
        parts: list[bytes] = []
        left = limit + 1
        size = status.st_size + 1  # asking for one more than there is shows the end in the same call
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


def digest_of(data: bytes) -> str:
    """A digest that no other bytes have."""
    return blake2b(data, digest_size=20).hexdigest()
