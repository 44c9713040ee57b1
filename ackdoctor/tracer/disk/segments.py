"""Where a trace stands on disk and what its files are called.

    trace/v1/run=<id>/worker=<w>/_meta.json                      who wrote here
                                 part-<pid>-<first>.parquet      finished rows (.jsonl without pyarrow)
                                 .wal-<pid>-<first>              rows of a live process, or of a dead one
                                 .codes-<pid>-<first>            the texts of that segment

`first` is the seq of a file's first row, so names sort as rows do, and a segment and the part that is
made of it have the same stem: whoever meets both knows that the part is whole, since it was renamed.
Names that begin with a dot or an underscore are not seen by Spark and pyarrow.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from ackdoctor.model.event import SCHEMA
from ackdoctor.tracer.disk.codec import FaultError

__all__ = ["CAPACITY", "SUFFIXES", "Stem", "begin", "contents", "home", "partition", "parts", "wals"]

CAPACITY = 65_536  # records of a segment, rows of a part
SUFFIXES = (".parquet", ".jsonl")

_MOST_PID, _MOST_FIRST = (1 << 31) - 1, (1 << 62) - 1  # what a column of a part holds, with room for its rows
_PART = re.compile(r"part-(\d+)-(\d+)(\.parquet|\.jsonl)")
_WAL = re.compile(r"\.wal-(\d+)-(\d+)")


@dataclass(slots=True, unsafe_hash=True, order=True)
class Stem:
    """A segment's name: the process, and the seq of its first row."""

    pid: int
    first: int

    def __str__(self) -> str:
        return f"{self.pid}-{self.first:012d}"

    @classmethod
    def of(cls, path: Path) -> "Stem":
        """What a file's name says; ValueError if it is no file of a trace."""
        found = _WAL.fullmatch(path.name) or _PART.fullmatch(path.name)
        if found and (stem := _stem(found)) is not None:
            return stem
        raise ValueError(f"{path} is no file of a trace")

    def wal(self, folder: Path) -> Path:
        """The live segment."""
        return folder / f".wal-{self}"

    def codes(self, folder: Path) -> Path:
        """Its texts."""
        return folder / f".codes-{self}"

    def part(self, folder: Path, suffix: str) -> Path:
        """What becomes of it."""
        return folder / f"part-{self}{suffix}"

    def finished(self, folder: Path) -> Path | None:
        """The part that was made of it, if it was."""
        return next((part for suffix in SUFFIXES if (part := self.part(folder, suffix)).exists()), None)

    def taken(self, folder: Path) -> bool:
        """Whether somebody has written under this name."""
        return self.wal(folder).exists() or self.finished(folder) is not None


def home(directory: Path, run: str, worker: str) -> Path:
    """The folder of one worker's files; what a path cannot hold is escaped as Hive and Spark do it."""
    return (
        directory / f"v{SCHEMA}" / f"run={quote(run, safe=' @+,')}" / f"worker={quote(worker, safe=' @+,')}"
    )


def partition(path: Path) -> tuple[str, str]:
    """Run and worker of a file, from the folders it stands in; '' where they do not say."""
    said = dict(folder.split("=", 1) for folder in path.parent.parts if "=" in folder)
    return unquote(said.get("run", "")), unquote(said.get("worker", ""))


def wals(folder: Path) -> Iterator[tuple[Stem, Path]]:
    """The live segments of a folder."""
    return _matching(folder, _WAL)


def parts(folder: Path) -> Iterator[tuple[Stem, Path]]:
    """The finished parts of a folder."""
    return _matching(folder, _PART)


def _matching(folder: Path, name: re.Pattern[str]) -> Iterator[tuple[Stem, Path]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = name.fullmatch(path.name)
        if found and (stem := _stem(found)) is not None:
            yield stem, path


def _stem(found: re.Match[str]) -> Stem | None:
    """The stem of a name; None where its numbers are none that a process writes."""
    pid, first = int(found[1]), int(found[2])
    return Stem(pid, first) if pid <= _MOST_PID and first <= _MOST_FIRST else None


def begin(draft: Path) -> None:
    """An empty file of our own in place of whatever has the name: a link there would lead our bytes elsewhere."""
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))


def contents(path: Path, most: int) -> bytes:
    """The bytes of a regular file of at most so many; FaultError for any other, OSError if it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would wait for a writer
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FaultError("not a regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise FaultError(f"larger than any such file: {status.st_size:,} bytes, the most are {most:,}")
    return data
