"""HPROF files: opening, header, records and sub-records; compressed and piped dumps are copied to a temporary file."""

import errno
import io
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import BinaryIO, NamedTuple

from ackdoctor.heap.jvm.class_dump import WIDTHS
from ackdoctor.tracer.worker_log import PACKED

__all__ = [
    "CLASS",
    "DUMP",
    "GZIP",
    "HEAP",
    "INSTANCE",
    "LOAD_CLASS",
    "LONGEST_BODY",
    "OBJECTS",
    "PRIMITIVE",
    "RECORDS",
    "SEGMENT",
    "STRING",
    "DumpCopy",
    "Heads",
    "Hprof",
    "HprofError",
    "Record",
    "copy_dump",
    "header_end",
    "heads",
    "open_file",
    "unknown_record",
]


_PATIENCE_S = 8.0  # wait for the first byte of a named pipe
_OF_SHELLS = ("/dev/", "/proc/")  # pipes of <(command), which have a writer
CLASS, INSTANCE, OBJECTS, PRIMITIVE = 0x20, 0x21, 0x22, 0x23
GZIP = b"\x1f\x8b"
# strings, classes, stacks, sites, threads, heap dumps, samples, settings, segments
RECORDS = frozenset({*range(0x01, 0x08), *range(0x0A, 0x0F), 0x1C, 0x2C})
DUMP, SEGMENT = 0x0C, 0x1C
HEAP = frozenset({DUMP, SEGMENT})
SUB_RECORDS = frozenset({*range(0x01, 0x09), *range(0x20, 0x24), 0xFF})  # roots, classes, objects
_NEVER = 1 << 62
_WINDOW = 31  # zlib: gzip header, largest window
_STRETCH = 1 << 20
_PIECE = 1 << 12  # compressed bytes read at once; a damaged piece is lost as a whole
_RESERVE = 256 << 20  # bytes that a copy leaves free in the temporary directory
_LOOK = 64 << 20  # bytes written between two checks of the free space
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
STRING, LOAD_CLASS = 0x01, 0x02
_END = 0x2C
_PROGRESS = HEAP | {_END}
_UNFINISHED: Mapping[int, str] = {
    0: "before its heap begins",
    SEGMENT: "before the last of its heap's segments",
}
_MAGIC = b"JAVA PROFILE 1.0."
_VERSIONS = {b"1", b"2"}
_LONGEST_HEADER = 64
_HEAD = Struct(">BII")
_AHEAD = 1 << 16
LONGEST_BODY = 4096
_SHORT = _HEAD.size + LONGEST_BODY
_LAST_MS = 253_402_300_799_999  # the end of the year 9999
_FOREIGN: Mapping[bytes, str] = {  # first bytes of other files that users may pass
    b"JAVA PROFILE 1.0.3": "a heap dump of Android, which has other records: convert it with hprof-conv",
    b"JAVA PROFILE": "an HPROF file of an unknown version (known: 1.0.1 and 1.0.2)",
    b"\x00\x12portable heap dump": "a PHD dump of OpenJ9: take one with -Xdump:system and convert it, or use HotSpot",
    b"\x7fELF": "a program or a core file: make a heap dump of a core file with jhsdb jmap --binaryheap --core FILE --exe JAVA",
    b"FLR\x00": "a recording of the flight recorder, not a heap dump",
    **PACKED,
}
_STDIN = "-"  # in place of a path
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
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(_PATIENCE_S * 1000):
        os.close(descriptor)
        raise OSError(
            errno.ETIMEDOUT,
            f"nothing was written into the pipe for {_PATIENCE_S:.0f} s; for a slow writer pass `-` and use standard input",
        )
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


class Heads(NamedTuple):
    """The layout of sub-record heads for one id size.

    One read serves three kinds: the tag, then, after id and stack, 12 (or 8) bytes.  They are class and length of an
    instance, length and class of an object array, or length and type of a primitive array.
    """

    read: Struct
    kind: int  # offset of class and length
    small: int  # bytes before the elements of a primitive array
    half: int  # right shift that yields a length
    mask: int
    width: int  # bytes of an id
    roots: Mapping[int, int]  # tag -> bytes

    def elements(self, left: int) -> int:
        """Return the length of an array."""
        return left >> self.half

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
            return self.read.size + self.elements(left) * self.width
        width = WIDTHS.get(self.type_of_array(left, right)) if tag == PRIMITIVE else None
        return 0 if width is None else self.small + self.elements(left) * width


def heads(id_size: int) -> Heads:
    """Return the layout for ids of 4 or 8 bytes."""
    wide = id_size == 8  # noqa: PLR2004
    tails = {0xFF: 0, 1: id_size, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8}
    return Heads(
        read=Struct(">B12xQI" if wide else ">B8xII"),
        kind=1 + id_size + 4,
        small=1 + id_size + 4 + 4 + 1,
        half=32 if wide else 0,
        mask=0xFFFFFFFF if wide else 0,
        width=id_size,
        roots={tag: 1 + id_size + tail for tag, tail in tails.items()},
    )


class HprofError(Exception):
    """A file is not a heap dump or cannot be read; the message is the reason."""


class DumpCopy:
    """The copy; `cut` is the reason why it ends before the original, '' for a full copy."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.cut = file, ""


def copy_dump(source: BinaryIO, *, packed: bool) -> DumpCopy:
    """Copy the rest of the source, up to the first damage; raise HprofError if the disk is full."""
    copy = DumpCopy(tempfile.TemporaryFile())  # noqa: SIM115  # the caller closes it
    try:
        _write_copy(copy, _unpacked(source, copy) if packed else iter(lambda: source.read(_STRETCH), b""))
    except BaseException:
        copy.file.close()
        raise
    copy.file.seek(0)
    return copy


def _write_copy(copy: DumpCopy, stretches: Iterator[bytes]) -> None:
    check, written, looked = _RecordCheck(), 0, 0
    for stretch in stretches:
        with _report_full_disk():
            copy.file.write(stretch)
        written += len(stretch)
        if fault := check.fault(stretch):
            copy.cut = fault
            break
        if written - looked >= _LOOK:
            looked = written
            if shutil.disk_usage(tempfile.gettempdir()).free < _RESERVE:
                raise HprofError(_no_room(f"{written:,} bytes are copied, less than 256 MB are left"))
    with _report_full_disk():
        copy.file.flush()


def _unpacked(source: BinaryIO, copy: DumpCopy) -> Iterator[bytes]:
    """Decompress member after member in stretches; HotSpot writes many gzip members."""
    member, begun, data = zlib.decompressobj(_WINDOW), False, b""
    read = 0
    try:
        while data or (data := source.read(_PIECE)):
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
        copy.cut = "the compressed data end early" if begun and not member.eof else ""
    except zlib.error as error:
        copy.cut = f"the compressed data are damaged before byte {read:,}: {error}"


class _RecordCheck:
    """Checks the top-level records of a dump while it is copied."""

    def __init__(self) -> None:
        self._seen = 0  # bytes
        self._next = 0  # offset of the next record, 0 until the header is complete
        self._tail = b""  # an incomplete record head
        self._unknown = ""  # one unknown record may be a damaged tag; two end the copy

    def fault(self, stretch: bytes) -> str:
        """Return the reason to stop: an unknown record begins in the stretch, or the file is not a dump; else ''."""
        data, begin = self._tail + stretch, self._seen - len(self._tail)
        self._seen += len(stretch)
        if not self._next and len(data) >= _LONGEST_HEADER:
            self._next = header_end(data[:_LONGEST_HEADER])
            if not self._next:
                return "it is not a heap dump"
        while self._next and self._next + _HEAD.size < self._seen:
            at = self._next - begin
            tag, _, length = _HEAD.unpack_from(data, at)
            if tag not in RECORDS and self._unknown:
                return self._unknown
            self._unknown = "" if tag in RECORDS else unknown_record(self._next, tag, "the rest is left out")
            inside = data[at + _HEAD.size]
            if tag in HEAP and inside not in SUB_RECORDS and (length > _STRETCH or not length):
                return f"byte {self._next + _HEAD.size:,}: no sub-record has the tag {inside:#04x}; the rest is left out"
            if tag == DUMP and not length:
                length = _NEVER  # it ends with the file
            self._next += _HEAD.size + length
        self._tail = data[max(0, self._next - begin) :] if self._next < self._seen else b""
        return ""


def unknown_record(place: int, tag: int, then: str) -> str:
    """Return the message for an unknown record; `then` is the consequence."""
    return f"byte {place:,}: no record has the tag {tag:#04x}; {then}"


def header_end(head: bytes) -> int:
    """Return the offset of the first record; 0 if the bytes are not a dump's header."""
    name, end, _ = head.partition(b"\0")
    return len(name) + 13 if end and name.startswith(b"JAVA PROFILE ") else 0


@contextmanager
def _report_full_disk() -> Iterator[None]:
    """Raise HprofError if the temporary directory is full, because the dump itself is readable."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise HprofError(_no_room(str(error.strerror))) from None


def _no_room(reason: str) -> str:
    return f"there is no room for a copy of it in {tempfile.gettempdir()}: {reason}; set TMPDIR to another directory"


class Record(NamedTuple):
    """A top-level record: where its body begins, and how much of it the file contains."""

    tag: int
    start: int
    length: int
    missing: int  # bytes missing from a truncated file
    body: bytes  # empty for a record that is longer than LONGEST_BODY or truncated


class Hprof:
    """An open dump of a file, or of standard input (`-`); `cut` is the reason why it ends early, '' for a complete one.

    Compressed and piped dumps are first copied to an anonymous temporary file, because a walk needs random access.
    """

    def __init__(self, path: Path) -> None:
        self.cut = ""
        self.faults: list[str] = []  # of the header
        try:
            self._file: BinaryIO = sys.stdin.buffer if str(path) == _STDIN else open_file(path)
        except OSError as error:
            raise HprofError(f"cannot be read: {error.strerror}") from None
        try:
            self._copy()
            self.size = os.fstat(self._file.fileno()).st_size
            self.version, self.id_size, self.taken_ms, self._start = self._header()
        except OSError as error:
            self._file.close()
            raise HprofError(f"cannot be read: {error.strerror}") from None
        except HprofError:
            self._file.close()
            raise

    def __enter__(self) -> "Hprof":  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, at: int, length: int) -> bytes:
        """Read bytes at an offset; fewer at the end of the file, even if a damaged record claims more."""
        return os.pread(self._file.fileno(), max(0, min(length, self.size - at)), at)

    def records(self) -> Iterator[Record]:
        """Yield the top-level records in order; set `cut` if the file ends before the heap does."""
        at, begin, data = self._start, 0, b""
        last = 0  # the last tag of a heap record
        while at < self.size:
            if at - begin + _SHORT > len(data):
                begin, data = at, self.read(at, _AHEAD)
            body = at - begin + _HEAD.size
            if body > len(data):
                self._cut(at)
                return
            tag, _, length = _HEAD.unpack_from(data, at - begin)
            if tag not in RECORDS:
                following = self.read(at + _HEAD.size + length, 1)
                if not following or following[0] not in RECORDS:
                    self.cut = self.cut or unknown_record(at, tag, "the rest is left out")
                    return
                self.faults.append(unknown_record(at, tag, f"its {length:,} bytes are left out"))
            at += _HEAD.size
            last = tag if tag in _PROGRESS else last
            if tag == DUMP and not length:
                length = self.size - at  # the writer did not know the length at the start
            missing = 0
            if at + length > self.size:
                missing = at + length - self.size
                self._cut(at)
            short = length <= LONGEST_BODY and not missing
            yield Record(tag, at, length - missing, missing, data[body : body + length] if short else b"")
            at += length
        if last in _UNFINISHED:
            self.cut = self.cut or f"cut off after {self.size:,} bytes, {_UNFINISHED[last]}"

    def _cut(self, at: int) -> None:
        self.cut = self.cut or f"cut off after {self.size:,} bytes, within the record at byte {at:,}"

    def _copy(self) -> None:
        file = self._file
        source = file if isinstance(file, io.BufferedReader) else io.BufferedReader(io.BytesIO(file.read()))
        packed = source.peek(2).startswith(GZIP)
        if packed or not source.seekable():
            with source:
                copy = copy_dump(source, packed=packed)
            self._file, self.cut = copy.file, copy.cut

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
