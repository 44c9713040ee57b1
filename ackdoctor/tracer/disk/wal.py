"""A segment: the mapped file of fixed records that one process is writing.

The file is locked for as long as its process lives (the kernel lets go when it dies, however it dies),
so `recover` can tell a dead segment from a live one even where pids are used again.  Its space is
reserved first: a full disk is an OSError here, not a SIGBUS at some later row.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from mmap import mmap
from operator import length_hint
from pathlib import Path

from ackdoctor.model.event import SCHEMA
from ackdoctor.tracer.disk.codec import HEADER, RECORD, RECORDS, STAMP, Batch, FaultError, printable, too_new
from ackdoctor.tracer.disk.segments import CAPACITY, Stem, contents, parts, wals

__all__ = ["Segment", "load", "possess"]

_MAGIC = "ackdoctor trace segment"
_MOST_TEXTS = 64 << 20  # bytes of a side file


class Segment:
    """A segment that this process writes.

    `free` gives the place of the next free record, to one thread each; `sealed` is set when the segment is about
    to be read, and a record that was finished after that may have been missed: ask `holds`.
    """

    __slots__ = (
        "_codes",
        "_codes_end",
        "_finished",
        "_positions",
        "due",
        "folder",
        "free",
        "sealed",
        "stem",
        "view",
        "words",
    )

    def __init__(
        self, folder: Path, *, due: int, texts: Sequence[str], stamps: bytearray, room: int = CAPACITY
    ) -> None:
        """OSError if there is no room, or no such folder."""
        self.folder, self.due, self.sealed = folder, due, False
        end = RECORDS + room * RECORD.size
        self._codes = -1
        self.stem, reserved = _reserve(folder, end)
        try:
            self.view = mmap(reserved, end)  # which keeps the lock as well
            head = {"what": _MAGIC, "schema": SCHEMA, "record": RECORD.size, "room": room}
            self.view[:HEADER] = json.dumps(head).encode().ljust(HEADER, b"\n")
            self.view[HEADER : HEADER + len(stamps)] = stamps
            flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            self._codes = os.open(self.stem.codes(folder), flags, 0o666)
            self._codes_end = 0
            self._append("".join(json.dumps(text) + "\n" for text in texts))
            _unborn(folder, self.stem).rename(self.stem.wal(folder))
        except OSError:
            self.let_go()
            _remove(_unborn(folder, self.stem), self.stem.codes(folder))
            raise
        finally:
            os.close(reserved)
        self.free = iter(range(RECORDS, end, RECORD.size))
        self.words: list[str] = []  # deliveries that are no decimal numbers, and their positions
        self._positions: dict[str, int] = {}

    def name_text(self, text: str) -> None:
        """Put the next text into the side file."""
        self._append(json.dumps(text) + "\n")

    def add_stamp(self, number: int, stamp: bytes) -> None:
        """Put a stamp into the table, before a record names it."""
        place = HEADER + number * STAMP.size
        self.view[place : place + STAMP.size] = stamp

    def name_word(self, delivery: str) -> int:
        """The position by which the records of this segment name a delivery that is no decimal number."""
        known = self._positions.get(delivery)
        if known is None:
            self.words.append(printable(delivery))
            known = self._positions[delivery] = len(self.words) - 1
            self._append(json.dumps([self.words[-1]]) + "\n")
        return known

    def _append(self, lines: str) -> None:
        """A text that does not fit on the disk is kept in memory alone: only a crash would miss it."""
        if self._codes < 0:
            return
        data = lines.encode()
        try:
            whole = os.write(self._codes, data) == len(data)
        except OSError:
            whole = False
        if whole:
            self._codes_end += len(data)
        else:  # the next line must not take this one's place
            os.ftruncate(self._codes, self._codes_end)
            os.close(self._codes)
            self._codes = -1

    def finish(self, texts: Sequence[str], stamps: bytes) -> Batch:
        """Seal it and read what is there; threads that are in the middle of a record will ask `holds`."""
        self.sealed = True
        records = self.view[RECORDS : len(self.view) - length_hint(self.free) * RECORD.size]
        stem = self.stem
        batch = Batch.of(
            records, first=stem.first, pid=stem.pid, stamps=stamps, texts=texts, words=self.words
        )
        self._finished = batch.slots
        return batch

    def holds(self, place: int) -> bool:
        """Whether a record was whole when the segment was read."""
        return (place - RECORDS) // RECORD.size in self._finished

    def let_go(self) -> None:
        """Close the side file; the mapping, and its lock, go with the last reference to this."""
        if self._codes >= 0:
            os.close(self._codes)
            self._codes = -1

    def remove(self) -> None:
        """Nothing of it is needed any more."""
        self.let_go()
        _remove(self.stem.wal(self.folder), self.stem.codes(self.folder))


def _unborn(folder: Path, stem: Stem) -> Path:
    return folder / f".new-{stem}"


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _reserve(folder: Path, size: int) -> tuple[Stem, int]:
    """A file of our own, locked and with its space, under a name that nobody reads yet.

    The seq goes on after what an earlier process with our pid has left, so (worker, pid, seq) stays a key.
    """
    pid = os.getpid()
    first = max(
        (stem.first + CAPACITY for found in (parts, wals) for stem, _ in found(folder) if stem.pid == pid),
        default=0,
    )
    while True:
        stem = Stem(pid, first)
        path = _unborn(folder, stem)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except FileExistsError:  # the same pid in another container
            first += CAPACITY
            continue
        if not stem.taken(folder):
            break
        os.close(descriptor)
        _remove(path)
        first += CAPACITY
    try:
        with suppress(OSError):  # a file system without locks: such a segment always counts as live
            flock(descriptor, LOCK_EX | LOCK_NB)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.write(descriptor, bytes(size))
    except OSError:
        os.close(descriptor)
        _remove(path)
        raise
    return stem, descriptor


@contextmanager
def possess(path: Path) -> Iterator[bool]:
    """Hold a segment that nobody writes any more; False if somebody has it, or it is gone.  OSError for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _ours(descriptor, path)
    finally:
        os.close(descriptor)


def _ours(descriptor: int, path: Path) -> bool:
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:  # alive, or another recovery was faster
        return False


def load(folder: Path, stem: Stem) -> Batch:
    """What stands in a segment, live or dead; FaultError, or FileNotFoundError if it has become a part."""
    data = contents(stem.wal(folder), RECORDS + 2 * CAPACITY * RECORD.size)
    line, _, rest = data[:HEADER].partition(b"\n")
    try:
        head = json.loads(line)
        what, schema, size, room = head["what"], head["schema"], head["record"], head["room"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FaultError("this is no segment of a trace") from None
    if what != _MAGIC or not isinstance(schema, int):
        raise FaultError("this is no segment of a trace")
    if schema > SCHEMA:
        raise too_new(schema)
    if size != RECORD.size or rest.strip() or not isinstance(room, int) or not 0 < room <= CAPACITY:
        raise FaultError("its head is damaged")
    stamps, records = _filled(data[HEADER:RECORDS], STAMP.size), _filled(data[RECORDS:], RECORD.size)
    texts, words = _side_file(stem.codes(folder))
    batch = Batch.of(records, first=stem.first, pid=stem.pid, stamps=stamps, texts=texts, words=words)
    batch.forget_unstamped()
    batch.cut = len(data) < RECORDS + room * RECORD.size
    return batch


def _filled(data: bytes, size: int) -> bytes:
    """Up to the last item that was begun."""
    data = data.rstrip(b"\0")
    return data + bytes(-len(data) % size)


def _side_file(path: Path) -> tuple[list[str], list[str]]:
    """The texts and the words; a last line that was not finished names nothing yet.  FaultError for a damaged line."""
    texts: list[str] = []
    words: list[str] = []
    try:
        lines = contents(path, _MOST_TEXTS).split(b"\n")[:-1]
    except FileNotFoundError:
        return texts, words
    for number, line in enumerate(lines, 1):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        match said:
            case str():
                texts.append(printable(said))
            case [str() as word]:
                words.append(printable(word))
            case _:
                raise FaultError(f"its names are damaged: line {number} of {path.name}")
    return texts, words
