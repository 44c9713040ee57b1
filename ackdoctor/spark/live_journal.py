"""What a watch has told, and where: each batch once, also when the process dies in the middle of it."""

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ackdoctor.model.errors import UsageError

__all__ = ["Journal", "held", "same_terms"]

_NOTHING = -1


class Journal:
    """The last batch that was told, and how long the file was then: what follows in it was cut off, and goes.

    Standard output cannot be taken back: there, a process killed between a batch's lines and this note tells
    them once more.
    """

    def __init__(self, place: Path, file: Path | None) -> None:
        """UsageError if the file cannot be written."""
        self._place, self._file = place, file
        said = json.loads(place.read_text()) if place.exists() else {}
        self.batch: int = said.get("batch", _NOTHING)
        name = "" if file is None else str(file.resolve())
        self._name, self._size = name, said.get("size", 0)
        self.reader_left = False
        try:
            self._open(continued=said.get("file") == name)
        except OSError as error:
            raise UsageError(f"{file}: cannot be written: {error.strerror}") from error

    def _open(self, *, continued: bool) -> None:
        if self._file is not None:
            with self._file.open("ab") as out:
                size = out.tell()
                if continued and size >= self._size:
                    out.truncate(self._size)
                else:
                    self._size = size
        self._note()

    def tell(self, batch: int, lines: Sequence[str]) -> None:
        """Write a batch's lines, and that they are written."""
        text = "".join(f"{line}\n" for line in lines)
        if self._file is None:
            self._print(text)
        elif text:
            with self._file.open("ab") as out:
                out.write(text.encode())
                out.flush()
                os.fsync(out.fileno())
                self._size = out.tell()
        self.batch = batch
        self._note()

    def _print(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            self.reader_left = True
            raise

    def _note(self) -> None:
        _replace(self._place, {"batch": self.batch, "file": self._name, "size": self._size})


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The checkpoint's folder, for one process at a time; UsageError if another has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise UsageError(f"{folder}: no place for a checkpoint: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another watch is at work with this checkpoint") from None
        yield


def same_terms(place: Path, terms: Mapping[str, str], differ: Callable[[str, str, str], str]) -> None:
    """UsageError if the checkpoint was begun on other terms."""
    if not place.exists():
        _replace(place, terms)
        return
    before = json.loads(place.read_text())
    for name, value in terms.items():
        if before.get(name) != value:
            raise UsageError(differ(name, str(before.get(name)), value))


def _replace(place: Path, content: Mapping[str, object]) -> None:
    new = place.with_name(f"{place.name}.new")
    with new.open("w") as out:
        json.dump(content, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(place)
