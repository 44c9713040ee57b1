"""HPROF files: opening, header, top-level records, and the heads of the heap's sub-records."""

import errno
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

from ackdoctor.tracer.worker_log import GZIP, PACKED

_PATIENCE_S = 8.0  # wait for the first byte of a named pipe
_OF_SHELLS = ("/dev/", "/proc/")  # pipes of <(command), which have a writer
_STDIN = "-"  # in place of a path
STRING, LOAD_CLASS, _DUMP, _SEGMENT, _END = 0x01, 0x02, 0x0C, 0x1C, 0x2C
HEAP = frozenset({_DUMP, _SEGMENT})
# strings, classes, stacks, sites, threads, heap dumps, samples, settings, segments
_RECORDS = frozenset({*range(0x01, 0x08), *range(0x0A, 0x0F), _SEGMENT, _END})
CLASS, INSTANCE, OBJECTS, PRIMITIVE = 0x20, 0x21, 0x22, 0x23
OBJECT, BOOLEAN, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG = 2, *range(4, 12)
WIDTHS: Mapping[int, int] = {BOOLEAN: 1, CHAR: 2, FLOAT: 4, DOUBLE: 8, BYTE: 1, SHORT: 2, INT: 4, LONG: 8}
_SUB_RECORDS = frozenset({*range(0x01, 0x09), *range(0x20, 0x24), 0xFF})  # roots, classes, objects
_UNFINISHED: Mapping[int, str] = {
    0: "before its heap begins",
    _SEGMENT: "before the last of its heap's segments",
}
_WINDOW = 31  # zlib: gzip header, largest window
_STRETCH = 1 << 20
_PIECE = 1 << 12  # compressed bytes read at once; a damaged piece is lost as a whole
_RESERVE = 256 << 20  # bytes that a copy leaves free in the temporary directory
_LOOK = 64 << 20  # bytes written between two checks of the free space
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_MAGIC = b"JAVA PROFILE 1.0."
_VERSIONS = {b"1", b"2"}
_LONGEST_HEADER = 64
_HEAD = Struct(">BII")
_AHEAD = 1 << 16
_LONGEST_BODY = 4096
_LAST_MS = 253_402_300_799_999  # the end of the year 9999
_FOREIGN: Mapping[bytes, str] = {  # first bytes of other files that users may pass
    b"JAVA PROFILE 1.0.3": "a heap dump of Android, which has other records: convert it with hprof-conv",
    b"JAVA PROFILE": "an HPROF file of an unknown version (known: 1.0.1 and 1.0.2)",
    b"\x00\x12portable heap dump": "a PHD dump of OpenJ9: take one with -Xdump:system and convert it, or use HotSpot",
    b"\x7fELF": "a program or a core file: make a heap dump of a core file with jhsdb jmap --binaryheap --core FILE --exe JAVA",
    b"FLR\x00": "a recording of the flight recorder, not a heap dump",
    **PACKED,
}
_HISTOGRAM = re.compile(rb"\bnum +#instances")  # the line before it may be a time or a process id


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading; raise OSError (reason in `strerror`) for a directory, a device or a silent pipe."""
    mode = os.stat(path).st_mode  # noqa: PTH116  # follows links, as open() does
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(mode) and not str(path.absolute()).startswith(_OF_SHELLS):
        return _open_pipe(path)
    file = path.open("rb")
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or file.isatty():
        return file
    file.close()
    raise OSError(errno.EINVAL, "a device, not a file")


def _open_pipe(path: Path) -> BinaryIO:
    """Open a named pipe without blocking, because open() would wait for a writer without a limit."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    readable, _, _ = select.select([descriptor], [], [], _PATIENCE_S)
    if not readable:
        os.close(descriptor)
        raise OSError(
            errno.ETIMEDOUT,
            f"nothing was written into the pipe for {_PATIENCE_S:.0f} s; for a slow writer pass `-` and use standard input",
        )
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


class HprofError(Exception):
    """A file is not a heap dump or cannot be read; the message is the reason."""


class Record(NamedTuple):
    """A top-level record: where its body begins, and how much of it the file contains."""

    tag: int
    start: int
    length: int
    missing: int  # bytes missing from a truncated file
    body: bytes  # empty for a long record; HotSpot writes every symbol, and names are short


class Hprof:
    """An open dump of a file, or of standard input (`-`); `cut` is the reason why it ends early, '' for a complete one.

    A compressed or piped dump is copied to an anonymous temporary file as far as it is read, because a walk needs
    random access; `size` counts the bytes so far.
    """

    def __init__(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self.cut = ""
        self._progress = progress
        self.faults: list[str] = []  # of the header and of single records
        self.size = 0
        self._rest: Iterator[bytes] = iter(())  # what a copy lacks
        try:
            with ExitStack() as opened:
                source = opened.enter_context(sys.stdin.buffer if str(path) == _STDIN else open_file(path))
                begin = source.read(_PIECE)
                self._copied = begin.startswith(GZIP) or not source.seekable()
                if self._copied:
                    pieces = chain((begin,), iter(lambda: source.read(_PIECE), b""))
                    self._rest = self._unpacked(pieces) if begin.startswith(GZIP) else pieces
                    self._file: BinaryIO = opened.enter_context(tempfile.TemporaryFile())
                else:
                    self._file, self.size = source, os.fstat(source.fileno()).st_size
                self.version, self.id_size, self.taken_ms, self._start = self._header()
                self._opened = opened.pop_all()
        except OSError as error:
            raise HprofError(f"cannot be read: {error.strerror}") from None

    def __enter__(self) -> "Hprof":  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def read(self, at: int, length: int) -> bytes:
        """Read bytes at an offset; fewer at the end of the file, even if a damaged record claims more."""
        self._fill(at + length)
        return os.pread(self._file.fileno(), max(0, min(length, self.size - at)), at)

    def reached(self, at: int) -> None:
        """Report the progress of a pass over the dump; the size of a copy is not known before its end."""
        if self._progress is not None:
            self._progress(at, 0 if self._copied else self.size)

    def records(self) -> Iterator[Record]:
        """Yield the top-level records in order; set `cut` if the file ends before the heap does."""
        at, begin, data = self._start, 0, b""
        last = 0  # the last tag of a heap record
        while True:
            if at - begin + _HEAD.size + _LONGEST_BODY > len(data):
                begin, data = at, self.read(at, _AHEAD)
            if at >= self.size:
                break
            body = at - begin + _HEAD.size
            if body > len(data):
                self._cut(at)
                return
            tag, _, length = _HEAD.unpack_from(data, at - begin)
            if not self._is_plausible(at, tag, length):
                return
            at += _HEAD.size
            last = tag if tag in {*HEAP, _END} else last
            if tag == _DUMP and not length:  # the writer did not know the length at the start
                self._fill(sys.maxsize)
                length = self.size - at
            self._fill(at + length)
            missing = max(0, at + length - self.size)
            if missing:
                self._cut(at)
            short = length <= _LONGEST_BODY and not missing
            yield Record(tag, at, length - missing, missing, data[body : body + length] if short else b"")
            at += length
        if last in _UNFINISHED:
            self.cut = self.cut or f"cut off after {self.size:,} bytes, {_UNFINISHED[last]}"

    def _is_plausible(self, at: int, tag: int, length: int) -> bool:
        """Return whether the dump goes on here: one unknown record may be a damaged tag, two end it.

        A copy also ends at a long segment that begins with no sub-record, because it may be an archive of gigabytes.
        """
        inside = at + _HEAD.size
        if tag not in _RECORDS:
            following = self.read(inside + length, 1)
            known = bool(following) and following[0] in _RECORDS
            fault = f"byte {at:,}: no record has the tag {tag:#04x}; "
            if known:
                self.faults.append(f"{fault}its {length:,} bytes are left out")
            else:
                self.cut = self.cut or f"{fault}the rest is left out"
            return known
        first = self.read(inside, 1)
        if (
            self._copied
            and tag in HEAP
            and first
            and first[0] not in _SUB_RECORDS
            and not 0 < length <= _STRETCH
        ):
            self.cut = f"byte {inside:,}: no sub-record has the tag {first[0]:#04x}; the rest is left out"
            return False
        return True

    def _cut(self, at: int) -> None:
        self.cut = self.cut or f"cut off after {self.size:,} bytes, within the record at byte {at:,}"

    def _fill(self, end: int) -> None:
        """Extend a copy to `end` bytes, or to the end of its source; raise HprofError if the disk is full."""
        while self.size < end and (stretch := next(self._rest, None)) is not None:
            try:
                self._file.write(stretch)
                self._file.flush()
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                raise HprofError(_no_room(str(error.strerror))) from None
            before, self.size = self.size, self.size + len(stretch)
            crossed = before // _LOOK < self.size // _LOOK
            if crossed and shutil.disk_usage(tempfile.gettempdir()).free < _RESERVE:
                raise HprofError(_no_room(f"{self.size:,} bytes are copied, less than 256 MB are left"))

    def _unpacked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Decompress member after member in stretches; HotSpot writes many gzip members."""
        member, begun, data, read = zlib.decompressobj(_WINDOW), False, b"", 0
        try:
            while data or (data := next(pieces, b"")):
                if not member.unconsumed_tail:
                    read += len(data)
                begun = True
                yield member.decompress(data, _STRETCH)
                data = member.unconsumed_tail
                if member.eof:
                    data, begun = member.unused_data.lstrip(b"\0"), False
                    read -= len(data)
                    member = zlib.decompressobj(_WINDOW)
            if begun:
                yield member.flush()  # at most one code's output
            self.cut = "the compressed data end early" if begun and not member.eof else ""
        except zlib.error as error:
            self.cut = f"the compressed data are damaged before byte {read:,}: {error}"

    def _header(self) -> tuple[str, int, int, int]:
        """Return version, id size, time, and the offset of the first record."""
        head = self.read(0, _LONGEST_HEADER)
        name, end, _ = head.partition(b"\0")
        if not name.startswith(_MAGIC) or name[len(_MAGIC) :][:1] not in _VERSIONS or not end:
            raise HprofError(self._foreign(head))
        at = len(name) + 1
        numbers = head[at : at + 12]
        if len(numbers) < 12:  # noqa: PLR2004  # u4 and u8
            raise HprofError("the dump ends within its header")
        id_size, taken_ms = Struct(">IQ").unpack(numbers)
        if id_size not in (4, 8):
            raise HprofError(f"its header claims ids of {id_size} bytes, not 4 or 8: the header is damaged")
        if taken_ms > _LAST_MS:
            self.faults.append(
                f"byte {at + 4}: {taken_ms:,} ms is not a valid time: the ages of entries are unknown"
            )
            taken_ms = 0
        return name.decode("ascii", "replace").removeprefix("JAVA PROFILE "), id_size, taken_ms, at + 12

    def _foreign(self, head: bytes) -> str:
        if not head:
            return self.cut or "the file is empty"
        known = next((kind for magic, kind in _FOREIGN.items() if head.startswith(magic)), None)
        if _HISTOGRAM.search(head):
            known = "a class histogram: ackdoctor heap hist reads it"
        if known is not None:
            return f"not a heap dump of HotSpot, but {known}"
        return f"not a heap dump: it begins with {head[:12]!r}, not with 'JAVA PROFILE 1.0.2'"


def _no_room(reason: str) -> str:
    return f"there is no room for a copy of it in {tempfile.gettempdir()}: {reason}; set TMPDIR to another directory"


# ---- sub-records ----


class Heads:
    """The layout of sub-record heads for ids of 4 or 8 bytes.

    One read serves three kinds: the tag, then, after id and stack, 12 (or 8) bytes.  They are class and length of an
    instance, length and class of an object array, or length and type of a primitive array.
    """

    def __init__(self, id_size: int) -> None:
        wide = id_size == 8  # noqa: PLR2004
        self.read = Struct(">B12xQI" if wide else ">B8xII")
        self.small = 1 + id_size + 4 + 4 + 1  # bytes before the elements of a primitive array
        self.half = 32 if wide else 0  # right shift that yields a length
        self.mask = 0xFFFFFFFF if wide else 0
        self.width = id_size
        tails = {0xFF: 0, 1: id_size, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8}
        self.roots: Mapping[int, int] = {
            tag: 1 + id_size + tail for tag, tail in tails.items()
        }  # tag -> bytes

    def class_of_array(self, left: int, right: int) -> int:
        """Return the class of an object array."""
        return (left & self.mask) << 32 | right

    def type_of_array(self, left: int, right: int) -> int:
        """Return the HPROF type code of a primitive array."""
        return left >> 24 & 255 if self.half else right >> 24

    def size(self, tag: int, left: int, right: int) -> int:
        """Return the bytes of the whole record; 0 if it is not an object."""
        if tag == INSTANCE:
            return self.read.size + right
        if tag == OBJECTS:
            return self.read.size + (left >> self.half) * self.width
        width = WIDTHS.get(self.type_of_array(left, right)) if tag == PRIMITIVE else None
        return 0 if width is None else self.small + (left >> self.half) * width


class Damage(Exception):  # noqa: N818  # a part of the heap is skipped
    """The bytes at an offset cannot be read; `what` is the reason."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what


@dataclass(slots=True)
class ClassDump:
    """A class: superclass id (0 for none) and its own fields as (name id, type).

    `damage` is the reason why the fields are unknown, else ''.
    """

    id: int
    super_id: int
    fields: Sequence[tuple[int, int]]
    damage: str = ""


def parse_class(data: bytes, at: int, id_size: int) -> tuple[ClassDump, int] | None:
    """Parse the CLASS_DUMP whose tag is at `at`; return it and its end, or None if `data` ends before it does.

    Raises Damage for a static field of an invalid type, because the record's end is then unknown.
    """

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "big")

    begin, widths = at, {OBJECT: id_size, **WIDTHS}
    id_, super_id = number(at + 1, id_size), number(at + 5 + id_size, id_size)
    at += 9 + 7 * id_size
    for skipped in (2, id_size):  # constants: u2 index; static fields: name id
        amount, at = number(at, 2), at + 2
        for _ in range(amount):
            at += skipped + 1
            if at > len(data):
                return None
            if data[at - 1] not in widths:
                raise Damage(begin, f"a class with a field of type {data[at - 1]}")
            at += widths[data[at - 1]]
    end = at + 2 + number(at, 2) * (id_size + 1)
    if end > len(data):
        return None
    fields = [(number(each, id_size), data[each + id_size]) for each in range(at + 2, end, id_size + 1)]
    strange = next((kind for _, kind in fields if kind not in widths), None)
    if strange is not None:
        return ClassDump(id_, super_id, (), f"a class with a field of type {strange}"), end
    return ClassDump(id_, super_id, fields), end
