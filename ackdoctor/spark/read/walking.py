"""Which local files a path stands for: itself, all below it, or what it matches; nothing is left out without a word."""

import errno
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ackdoctor.spark.read.sorts import is_missed
from ackdoctor.tracer.trace.files import is_checkpoint

__all__ = ["CHECKPOINT", "Walk"]

_GLOB = frozenset("*?[")
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_BROKEN = "a symbolic link to nothing"
_PIPE = "neither a file nor a folder, and Spark reads nothing else: write it to a file first"
_NO_FILE = "neither a file nor a folder"
CHECKPOINT = "what `ackdoctor watch` has noted, and no trace"


@dataclass(slots=True, kw_only=True)
class Walk:
    """Finds files; `fault` gets what is none, and why, `pass_over` pipes and links to nothing in a folder whose names are not ours.

    A link is followed, each folder is entered once.
    """

    fault: Callable[[str, str], None]
    pass_over: Callable[[str, str], None]
    _entered: set[Path] = field(default_factory=set, init=False)
    _faults: int = field(default=0, init=False)
    _named: set[Path] = field(default_factory=set, init=False)

    def files(self, path: Path) -> Iterator[Path]:
        """The files of a file, folder or pattern, in order of their names."""
        if path.is_dir():
            yield from self._folder(path)
        elif path.is_file():
            yield path
        elif path.is_symlink() and not path.exists():
            self._told(path, _BROKEN)
        elif _GLOB.isdisjoint(str(path)):
            self._told(path, _PIPE if path.exists() or str(path) == "-" else "no such file or folder")
        else:
            yield from self._matching(path)

    def _folder(self, path: Path) -> Iterator[Path]:
        if is_checkpoint(path):
            self._told(path, CHECKPOINT)
            return
        self._entered.clear()
        faults, empty = self._faults, True
        for each in self._below(path):
            empty = False
            yield each
        if empty and faults == self._faults:
            self._told(path, "the folder is empty")

    def _matching(self, pattern: Path) -> Iterator[Path]:
        anchor = Path(pattern.anchor) if pattern.anchor else Path()
        found = sorted(anchor.glob(str(pattern.relative_to(anchor))))
        if not found:
            self._told(pattern, "nothing matches")
        for each in found:
            yield from self.files(each)

    def _below(self, folder: Path) -> Iterator[Path]:
        try:
            if (real := folder.resolve()) in self._entered:
                return
            self._entered.add(real)
            inside = sorted(folder.iterdir())
        except OSError as error:
            self._told(folder, f"this folder cannot be listed: {error.strerror or error}")
            return
        for each in inside:
            yield from self._inside(each)

    def _inside(self, path: Path) -> Iterator[Path]:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            leads_nowhere = path.is_symlink() and error.errno in _NOWHERE
            if leads_nowhere and not is_missed(path.name):
                self.pass_over(str(path), _BROKEN)
            else:
                self._told(path, _BROKEN if leads_nowhere else error.strerror or str(error))
            return
        if stat.S_ISDIR(mode):
            if not is_checkpoint(path):
                yield from self._below(path)
        elif stat.S_ISREG(mode):
            yield path
        elif is_missed(path.name):
            self._told(path, _PIPE)
        else:
            self.pass_over(str(path), _NO_FILE)

    def _told(self, path: Path, reason: str) -> None:
        self._faults += 1
        if path not in self._named:
            self._named.add(path)
            self.fault(str(path), reason)
