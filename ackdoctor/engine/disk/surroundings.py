"""What a run looked at on disk: a result holds only while the next run would see the same.

Each look is remembered with what it saw, also where there was nothing.  A folder that was not changed holds the
same names, a file the same bytes; who changes either cannot help setting its time of change (`ctime`).
"""

import os
import stat

__all__ = ["Seen", "Surroundings", "seen"]

Seen = tuple[int, int, int, int, int] | None  # mode, mtime and ctime in ns, size, inode; None: nothing there


class Surroundings:
    """The looks of a run; with `status` and what builds on it, the same path is looked at once.

    It is `lasting` while nothing else than these looks decided what came of the run.
    """

    def __init__(self) -> None:
        self.looks: dict[str, Seen] = {}
        self.lasting = True
        self._names: dict[str, frozenset[str]] = {}

    def status(self, path: str) -> Seen:
        """What is there."""
        if path not in self.looks:
            self.looks[path] = seen(path)
        return self.looks[path]

    def note(self, path: str, status: os.stat_result) -> None:
        """What somebody else saw there."""
        self.looks[path] = _stamp(status)

    def is_file(self, path: str) -> bool:
        """Whether a file is there."""
        found = self.status(path)
        return found is not None and stat.S_ISREG(found[0])

    def names(self, folder: str) -> frozenset[str]:
        """What the folder holds; nothing where it cannot be listed."""
        if folder not in self._names:
            self.status(folder)  # before it is listed, so that a change in between shows
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]


def seen(path: str) -> Seen:
    """What is there now."""
    try:
        return _stamp(os.stat(path))
    except (OSError, ValueError):
        return None


def _stamp(status: os.stat_result) -> Seen:
    return status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
