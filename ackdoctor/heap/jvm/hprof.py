r"""The HPROF file: its header and its outermost records.

    "JAVA PROFILE 1.0.2\0"  u4 size of an id  u8 milliseconds since the epoch
    then records: u1 tag  u4 microseconds  u4 length  body

Strings and classes come first, then the heap: one record (1.0.1), or segments of sub-records, after the last of which a
record of its own says that it was the last.  The file is read by stretches,
never mapped as a whole: a dump of any size takes the same memory.
"""

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import BinaryIO, NamedTuple

from ackdoctor.heap.files import open_file
from ackdoctor.heap.jvm.unpack import DUMP, GZIP, HEAP, RECORDS, SEGMENT, HprofError, copied, unknown_record
from ackdoctor.tracer.trace.worker_log import PACKED

__all__ = ["HEAP", "LOAD_CLASS", "LONGEST_BODY", "STRING", "Hprof", "HprofError", "Record"]

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
_LAST_MS = 253_402_300_799_999  # of the year 9999
_FOREIGN: Mapping[bytes, str] = {  # how other files begin that people have at hand
    b"JAVA PROFILE 1.0.3": "a heap dump of Android, whose records are others: convert it with hprof-conv",
    b"JAVA PROFILE": "an HPROF file of a version that is none of 1.0.1 and 1.0.2",
    b"\x00\x12portable heap dump": "a PHD dump of OpenJ9: take one with -Xdump:system and convert it, or use HotSpot",
    b"\x7fELF": "a core file: make a heap dump of it with jhsdb jmap --binaryheap --core FILE --exe JAVA",
    b"FLR\x00": "a recording of the flight recorder, not a heap dump",
    **PACKED,
}


_STDIN = "-"  # in the place of a path
_HISTOGRAM = re.compile(rb"\bnum +#instances")  # the line before may say when, or which JVM


class Record(NamedTuple):
    """One of the outermost records: where its body begins, and how much of it the file has."""

    tag: int
    start: int
    length: int
    missing: int  # bytes that a cut file lacks
    body: bytes  # of a whole record of LONGEST_BODY at most


class Hprof:
    """An open dump, of a file or, called `-`, of standard input; `cut` says in words why it ends early, '' for a whole one.

    A compressed dump is unpacked into a file without a name first, and one out of a pipe is written to one, since a
    walk needs to jump.
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
        """Bytes from a place; fewer at the end of the file, whatever length a damaged record claims."""
        return os.pread(self._file.fileno(), max(0, min(length, self.size - at)), at)

    def records(self) -> Iterator[Record]:
        """The outermost records in order; ends where the file does, and sets `cut` if that is before the heap's end."""
        at, begin, data = self._start, 0, b""
        last = 0  # the tag that tells how far the heap has come
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
                length = self.size - at  # its length was not known when it was begun
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
                copy = copied(source, packed=packed)
            self._file, self.cut = copy.file, copy.cut

    def _header(self) -> tuple[str, int, int, int]:
        """Version, size of an id, time, and where the records begin."""
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
            raise HprofError(f"its ids are said to have {id_size} bytes, not 4 or 8: the header is damaged")
        if taken_ms > _LAST_MS:
            self.faults.append(
                f"byte {at + 4}: {taken_ms:,} ms is no time: the ages of entries are not known"
            )
            taken_ms = 0
        return name.decode("ascii", "replace").removeprefix("JAVA PROFILE "), id_size, taken_ms, at + 12

    def _foreign(self, head: bytes) -> str:
        if not head:
            return self.cut or "the file is empty"
        known = next((said for magic, said in _FOREIGN.items() if head.startswith(magic)), None)
        if _HISTOGRAM.search(head):
            known = "a class histogram: ackdoctor heap hist reads it"
        if known is not None:
            return f"no heap dump that can be read here, but {known}"
        return f"no heap dump: it begins with {head[:12]!r}, not with 'JAVA PROFILE 1.0.2'"
