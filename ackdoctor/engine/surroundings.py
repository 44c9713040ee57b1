"""What a run looked for on disk beside the files that it was asked for: bases, mixins and helpers.

Each look is remembered with what it saw, since a result holds only while the next run would see the same.
"""

import os
import stat
from typing import TypeAlias

__all__ = ["Seen", "Surroundings", "seen"]

Seen: TypeAlias = tuple[int, int, int] | None  # mode, time in ns and size; None where there is nothing


class Surroundings:
    """The looks of a run in one language; the same path is looked at once."""

    def __init__(self) -> None:
        self.looks: dict[str, Seen] = {}
        self._names: dict[str, frozenset[str]] = {}

    def status(self, path: str) -> Seen:
        """What is there."""
        if path not in self.looks:
            self.looks[path] = seen(path)
        return self.looks[path]

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
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mode, status.st_mtime_ns, status.st_size
