"""The user's own cache folder, `ackdoctor` in the system's cache root (~/.cache), and the folders inside it.

A repository must never supply a cached file.  So a folder is used only if it belongs to the user, if no other user can
write to it, if no link leads to it from the cache root, and if it is outside the linted tree.
"""

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ackdoctor.model import AckdoctorError

_CLOSED = getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSED
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK | _CLOSED
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _CLOSED
_PART = ".part-"  # prefix of a file that is not complete
_PART_S = 3600  # seconds after which its writer is dead
_USED_S = 86_400  # seconds; the time of the last use is that exact


class NoCacheError(AckdoctorError):
    """The reason why no cache folder can be used; a run continues without one."""


class CacheFolder:
    """`<cache root>/ackdoctor/<names>`, opened once; its files are opened relative to that descriptor only.

    Missing folders are made with mode 0700.  The cache must not be inside one of the folders `outside`.
    """

    def __init__(self, *names: str, outside: Iterable[Path] = ()) -> None:
        """NoCacheError if the folder cannot be trusted, read or made."""
        if os.name != "posix":
            raise NoCacheError("this system has no owners and modes that could be checked")
        root = _root()
        self.path = root.parent
        try:
            _check_place(root, outside)
            _make_root(self.path)
            self._handle = os.open(self.path, _FOLDER)  # the user's choice: it may be a link
            _check_owner(os.fstat(self._handle), self.path)
            for name in (root.name, *names):
                self._enter(name)
        except OSError as error:
            raise NoCacheError(f"{self.path}: {error.strerror}") from error
        except ValueError as error:  # a name with a zero byte
            raise NoCacheError(str(error)) from error

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            os.close(self._handle)

    def _enter(self, name: str) -> None:
        self.path /= name
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self._handle)
        handle = os.open(name, _FOLDER | _NO_LINK, dir_fd=self._handle)
        os.close(self._handle)
        self._handle = handle
        found = os.fstat(handle)
        _check_owner(found, self.path)
        if found.st_mode & 0o022:
            raise NoCacheError(f"{self.path}: other users can write to it")
        if found.st_mode & 0o077:
            os.fchmod(handle, 0o700)

    def read(self, name: str, limit: int) -> bytes | None:
        """Return the bytes of a file; None if it is missing, larger, or not the user's own."""
        try:
            handle = os.open(name, _READ, dir_fd=self._handle)
        except OSError:
            return None
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                return None
            if time.time() - found.st_mtime > _USED_S:
                os.utime(handle)
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(min(limit, found.st_size) + 1)
        except OSError:
            return None
        finally:
            os.close(handle)
        return data if len(data) <= limit else None

    def write(self, name: str, data: bytes) -> None:
        """Write a file completely or not at all, and replace what has its name.  OSError if that fails."""
        part = f"{_PART}{os.urandom(8).hex()}"
        handle = os.open(part, _CREATE, 0o600, dir_fd=self._handle)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(part, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except OSError:
            with suppress(OSError):
                os.unlink(part, dir_fd=self._handle)
            raise

    def prune(self, *, days: int, files: int, size: int) -> None:
        """Delete files unused for `days`, then the oldest ones, until at most `files` with `size` bytes remain."""
        now = time.time()
        with os.scandir(self._handle) as entries:
            found = [
                (entry.name, entry.stat(follow_symlinks=False)) for entry in entries if not entry.is_dir()
            ]
        total = 0
        for number, (name, status) in enumerate(sorted(found, key=lambda item: -item[1].st_mtime)):
            total += status.st_size
            oldest = _PART_S if name.startswith(_PART) else days * 86_400
            if number >= files or total > size or now - status.st_mtime > oldest:
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._handle)


def _root() -> Path:
    """Return the folder `ackdoctor` in the cache root.  A relative path would lead into the current folder."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME", "")
    if not os.path.isabs(home):  # noqa: PTH117 - "" is no Path
        raise NoCacheError("neither HOME nor XDG_CACHE_HOME is an absolute path")
    from platformdirs import user_cache_path  # only a run with a cache needs it

    root = user_cache_path("ackdoctor", appauthor=False)
    if not root.is_absolute():
        raise NoCacheError(f"{root}: not an absolute path")
    return root


def _check_place(root: Path, outside: Iterable[Path]) -> None:
    real = Path(os.path.realpath(root))  # unlike `resolve` it accepts links that lead back to themselves
    for folder in outside:
        if real.is_relative_to(os.path.realpath(folder)):
            raise NoCacheError(f"{root}: it is in the linted tree")


def _make_root(root: Path) -> None:
    """Make a missing cache root, but only in the user's own folder: `sudo` must not leave a folder of root's there."""
    if not root.exists():
        _check_owner(root.parent.stat(), root.parent)
        root.mkdir(0o700, exist_ok=True)


def _check_owner(found: os.stat_result, path: Path) -> None:
    if found.st_uid != os.geteuid():
        raise NoCacheError(f"{path}: belongs to another user")
