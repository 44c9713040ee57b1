"""Copy a dump that is compressed or comes out of a pipe into a file without a name: a walk needs to jump.

The memory is bounded, whatever a compressed file expands to.  The copy ends at the first outermost record that HPROF
does not know, and while the folder for temporary files still has room.
"""

import errno
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import BinaryIO

__all__ = [
    "DUMP",
    "GZIP",
    "HEAP",
    "RECORDS",
    "SEGMENT",
    "Copied",
    "HprofError",
    "copied",
    "header_end",
    "unknown_record",
]

GZIP = b"\x1f\x8b"
# strings, classes, stacks, sites, threads, heap dumps, samples, settings, segments
RECORDS = frozenset({*range(0x01, 0x08), *range(0x0A, 0x0F), 0x1C, 0x2C})
DUMP, SEGMENT = 0x0C, 0x1C
HEAP = frozenset({DUMP, SEGMENT})
SUB_RECORDS = frozenset({*range(0x01, 0x09), *range(0x20, 0x24), 0xFF})  # roots, classes, objects
_NEVER = 1 << 62
_WINDOW = 31  # zlib: a gzip header, the largest window
_STRETCH = 1 << 20
_PIECE = 1 << 12  # compressed bytes: as much as a damage costs in front of it
_HEAD = Struct(">BII")
_LONGEST_HEADER = 64
_RESERVE = 256 << 20  # bytes that a copy leaves free in the folder for temporary files
_LOOK = 64 << 20  # bytes written between two looks at the room
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class HprofError(Exception):
    """A file that is no heap dump, or cannot be read: the reason in words."""


class Copied:
    """The copy, and why it ends before the original does, '' if it does not."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.cut = file, ""


def copied(source: BinaryIO, *, packed: bool) -> Copied:
    """Copy the source from where it is; HprofError without room.  What comes before a damage is kept."""
    copy = Copied(tempfile.TemporaryFile())  # noqa: SIM115  # the caller closes it
    try:
        _fill(copy, _unpacked(source, copy) if packed else iter(lambda: source.read(_STRETCH), b""))
    except BaseException:
        copy.file.close()
        raise
    copy.file.seek(0)
    return copy


def _fill(copy: Copied, stretches: Iterator[bytes]) -> None:
    outline, written, looked = _Outline(), 0, 0
    for stretch in stretches:
        with _room():
            copy.file.write(stretch)
        written += len(stretch)
        if strange := outline.strange(stretch):
            copy.cut = strange
            break
        if written - looked >= _LOOK:
            looked = written
            if shutil.disk_usage(tempfile.gettempdir()).free < _RESERVE:
                raise HprofError(_no_room(f"{written:,} bytes are copied, less than 256 MB are left"))
    with _room():
        copy.file.flush()


def _unpacked(source: BinaryIO, copy: Copied) -> Iterator[bytes]:
    """Every member in turn, as HotSpot writes many, a stretch at a time."""
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
            yield member.flush()  # at most what one code stands for
        copy.cut = "the compressed data end early" if begun and not member.eof else ""
    except zlib.error as error:
        copy.cut = f"the compressed data are damaged before byte {read:,}: {error}"


class _Outline:
    """Follows the outermost records of a dump that passes by."""

    def __init__(self) -> None:
        self._seen = 0  # bytes
        self._next = 0  # where the next record begins, 0 before the header is whole
        self._tail = b""  # a head that is not whole
        self._odd = ""  # one unknown record may be a damaged tag, two are none

    def strange(self, stretch: bytes) -> str:
        """In words the record that is none of HPROF's, if it begins in the stretch; or that it is no dump at all."""
        data, begin = self._tail + stretch, self._seen - len(self._tail)
        self._seen += len(stretch)
        if not self._next and len(data) >= _LONGEST_HEADER:
            self._next = header_end(data[:_LONGEST_HEADER])
            if not self._next:
                return "it is no heap dump"
        while self._next and self._next + _HEAD.size < self._seen:
            at = self._next - begin
            tag, _, length = _HEAD.unpack_from(data, at)
            if tag not in RECORDS and self._odd:
                return self._odd
            self._odd = "" if tag in RECORDS else unknown_record(self._next, tag, "the rest is left out")
            inside = data[at + _HEAD.size]
            if tag in HEAP and inside not in SUB_RECORDS and (length > _STRETCH or not length):
                return f"byte {self._next + _HEAD.size:,}: no sub-record has the tag {inside:#04x}; the rest is left out"
            if tag == DUMP and not length:
                length = _NEVER  # it ends with the file
            self._next += _HEAD.size + length
        self._tail = data[max(0, self._next - begin) :] if self._next < self._seen else b""
        return ""


def unknown_record(place: int, tag: int, then: str) -> str:
    """In words: what is there is no record, and what is done then."""
    return f"byte {place:,}: no record has the tag {tag:#04x}; {then}"


def header_end(head: bytes) -> int:
    """Where the records begin, 0 if the bytes do not begin as a dump does."""
    name, end, _ = head.partition(b"\0")
    return len(name) + 13 if end and name.startswith(b"JAVA PROFILE ") else 0


@contextmanager
def _room() -> Iterator[None]:
    """HprofError where the folder for files without names has no room: the dump itself can be read."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise HprofError(_no_room(str(error.strerror))) from None


def _no_room(reason: str) -> str:
    return (
        f"there is no room for a copy of it in {tempfile.gettempdir()}: {reason}; TMPDIR names another folder"
    )
