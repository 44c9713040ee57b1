"""What a file holds, told by its first and last bytes; and why it cannot be read, where that is so."""

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, unique
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from ackdoctor.model.event import SCHEMA
from ackdoctor.spark.read.paths import ZIPPED
from ackdoctor.spark.read.stormline import LOG_LINE
from ackdoctor.tracer.trace.worker_log import GZIP, LEVELS, PACKED, bare, encoding_of, open_log

__all__ = [
    "HEAD",
    "LONGEST_LINE",
    "MAGIC",
    "FaultError",
    "ForeignError",
    "Sort",
    "ending",
    "is_missed",
    "need_rows",
    "need_version_of",
    "sort_of",
    "sort_of_name",
    "sort_of_text",
    "text_of",
    "unzipped",
]

HEAD = 1 << 16  # bytes that tell what a file is
_HEAD_LINES = 200  # of a text, not blank
_TRACE_LINES = 100_000  # of a log that begins with stack traces, before its first line with a stamp
MAGIC = b"PAR1"
_FOOTER = re.compile(rb"ackdoctor\.schema\x18.(\d+)", re.DOTALL)  # a Thrift pair of strings
LONGEST_LINE = 1 << 24  # bytes
_BLOCK = 1 << 20
_MOST_UNPACKED, _MOST_RATIO = (
    1 << 30,
    250,
)  # bytes, and times the size of the file; logs shrink to a tenth or a fiftieth
_FIRST, _OF_RECORD = 512, 16  # bytes that tell a text, and the head of a database's record
_OF_TEXT = bytes({*range(7, 14), 0x1B, *range(0x20, 0x7F), *range(0x80, 0x100)})
_DATABASE_NAME = re.compile(r"\d{6}(?:\d{14})?\.log")  # RocksDB's and LevelDB's, and a segment of Kafka
_KIND, *_NEEDED = ("kind", "root", "delivery")  # columns
_JSON_SCHEMA = re.compile(r'^\{.*"schema": ?(\d+)')
_VERSIONED = re.compile(r"/v(\d+)/run=")
_LOG_LINE = re.compile(LOG_LINE)
_STAMP = re.compile(r"\W?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_OTHER_STAMP = re.compile(  # of a line with a level, and so of some log
    rf"(?=.*\b(?:{LEVELS})\b)(.{{0,30}}?\b\d{{1,2}}:\d\d:\d\d[^ \]]*(?: [AP]M\b)?)"
)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_BEHIND = re.compile(r"(.+?)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_COLOURED = re.compile(  # from its beginning, or its first level
    rf"\x1b\[|(?:(?!\b(?:{LEVELS})\b).){{0,300}}?(?:\x1b\[[\d;]*m\[?(?:{LEVELS})\b|\b(?:{LEVELS})\]? *\x1b\[)"
)
_DOCKER_LINE = re.compile(r'\{"log": ?".*"(?:stream|time)": ?"')
_PART_NAME = re.compile(r"part-.*\.jsonl(?:\.gz)?")
_LOG_NAME = re.compile(r"(?:.+-)?worker(?:-\d+)?\.log")
_ROTATED_NAME = re.compile(
    rf"{_LOG_NAME.pattern}(?:\.\d+)?(?:\.gz)?"
)  # `.err`, `.out` and `.metrics` are none
_TRACE_NAME = re.compile(r".*\.(?:parquet|jsonl|jsonl\.gz)")
_DEBUG = re.compile(  # what a worker writes with `topology.debug` alone, in whatever layout
    r"(?:Processing received|BOLT (?:ack|fail)|TRANSFERR?ING tuple)[^\n]*source: [^\n]+:-?\d+, stream: [^\n]+, id: \{"
)


_NEITHER = "neither a trace nor a worker's log: no line begins as Storm's do"
_OTHER_LAYOUT = (
    "neither a trace nor a worker's log: its lines have a time, and no line then goes on as Storm's do: "
    "logger, thread, [LEVEL], or level and thread in another order and ` - ` behind the logger"
)
_STAMPED_OTHERWISE = (
    "neither a trace nor a worker's log: line {} begins with {!r}, and of stamps only those like 2026-11-21 20:22:17.710, "
    "2026-11-21T20:22:17.710+0000 and a LocalCluster's milliseconds are known: write them so"
)
_PUT_BEFORE = "neither a trace nor a worker's log: line {} has {!r} before its stamp, which no collector of logs puts there: take it away"
_COLOURS = r"its lines are coloured: `sed 's/\x1b\[[0-9;]*m//g' FILE > worker.log` takes the colours out"
_NO_ROW = "JSON, but no row of a trace: it names no schema; logs are read as text, not as JSON"
_DOCKERS = "Docker's own file, in JSON: `docker logs CONTAINER > worker.log` makes a log of it"
_EMPTY = "the file is empty"
_BINARY = "binary: a database, or another program's file"
_DAMAGED = "called a worker's log, and binary: it is damaged, or no log"
_LONG_LINE = f"a line of more than {LONGEST_LINE >> 20} MiB, at {{}}: take it out"
_BOMB = "unpacks to more than {:,} MiB, {:,} times its size, as no log does: unpack it first"
_TAR_MARK, _TAR_AT, _TAR = b"ustar", 257, "a tar archive: unpack it first"
_WIDE = "UTF-16, and Spark reads UTF-8 only: `iconv -f {} -t UTF-8 FILE > worker.log` writes it so"
_UTF_8 = "utf-8-sig"


class FaultError(Exception):
    """Why a file cannot be read."""


class ForeignError(FaultError):
    """A text that is none of ours: a fault where it was named, passed over where it lies in a folder."""


@unique
class Sort(Enum):
    """What a file holds."""

    PARQUET = "a trace as Parquet"
    JSON_LINES = "a trace as JSON lines"
    LOG = "a worker's log"


def is_missed(name: str) -> bool:
    """Whether a file of a folder that is called so should be one of ours."""
    return bool(_ROTATED_NAME.fullmatch(name) or _TRACE_NAME.fullmatch(name))


def need_version_of(path: str) -> None:
    """A fault where the folder's schema is newer than ours."""
    _need(_VERSIONED.search(path))


def _need(said: re.Match[str] | re.Match[bytes] | None) -> None:
    if said is not None and int(said[1]) > SCHEMA:
        raise FaultError(f"schema {int(said[1])}; this version of ackdoctor reads up to {SCHEMA}")


def sort_of(path: Path, size: int) -> Sort:
    """What the file holds; a fault if that is nothing for us."""
    need_rows(path.name, size)
    need_version_of(path.as_posix())
    with path.open("rb") as opened:
        head = opened.read(HEAD)
        opened.seek(max(0, size - HEAD))
        end = opened.read()
    columnar = head.startswith(MAGIC) or path.suffix == ".parquet"
    sort = _parquet(head, end) if columnar else _text(path, head, size)
    if ":" in path.name:
        raise FaultError(
            "a colon in its name, and Hadoop, which reads for Spark, takes what is before it for a scheme"
        )
    return sort


def need_rows(name: str, size: int) -> None:
    """A fault for a file without any, as `worker.log.err` mostly is; a part of a trace is never made so."""
    if size == 0:
        raise (FaultError if _TRACE_NAME.fullmatch(name) else ForeignError)(_EMPTY)


def ending(path: Path, size: int) -> Sequence[str]:
    """The last lines of a text, unzipped."""
    with path.open("rb") as opened:
        if opened.read(len(GZIP)) != GZIP:
            opened.seek(max(0, size - HEAD))
            return text_of(opened.read())
    end = b""
    with gzip.open(path) as unpacked:
        while more := unpacked.read(1 << 22):
            end = (end + more)[-HEAD:]
    return text_of(end)


def text_of(some: bytes) -> Sequence[str]:
    """The lines of a part of a log."""
    return some.decode(_UTF_8, errors="replace").splitlines()


def _parquet(head: bytes, end: bytes) -> Sort:
    if not head.startswith(MAGIC):
        raise FaultError("is called Parquet and is none")
    if not end.endswith(MAGIC):
        raise FaultError("cut off: it has no Parquet footer")
    _need(_FOOTER.search(end))
    _need_columns(end)
    return Sort.PARQUET


def _need_columns(end: bytes) -> None:
    """A fault for rows that say what happened and not to what, as `trace report` has it; of a long footer only the end is here."""
    footer = end[-8 - int.from_bytes(end[-8:-4], "little") :]

    def has(name: str) -> bool:
        return b"\x18%c%s" % (len(name), name.encode()) in footer  # as Thrift writes it

    if has(_KIND) and (lacks := [name for name in _NEEDED if not has(name)]):
        raise FaultError(f"no part of a trace: it has no column {lacks[0]!r}")


def _text(path: Path, head: bytes, size: int) -> Sort:
    """The sort of a text; a file of ours is then looked at as a whole, since Spark gives up in the middle of a damaged one."""
    _need_no_database(path.name, head)
    zipped = head.startswith(GZIP)
    begun = _first_unzipped(path.name, head) if zipped else head
    sort = sort_of_text(path.name, begun, zipped=zipped, stamped_later=lambda: _has_log_line(path))
    with path.open("rb") as opened:
        need_whole(opened, size) if zipped else need_short_lines(opened, size)
    return sort


def _need_no_database(name: str, head: bytes) -> None:
    """A database's write-ahead log is passed over, whatever its first bytes resemble; a damaged log of a worker is a fault."""
    if _DATABASE_NAME.fullmatch(name):
        if head[:_OF_RECORD].translate(None, _OF_TEXT):
            raise ForeignError(_BINARY)
    elif encoding_of(head) == _UTF_8 and not _is_packed(head) and is_binary(head):
        first, *_ = text_of(head.lstrip(b"\0")) or ("",)
        if not _LOG_LINE.match(bare(first)):
            raise FaultError(_DAMAGED) if _ROTATED_NAME.fullmatch(name) else ForeignError(_BINARY)


def _is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, *PACKED)) or head.startswith(_TAR_MARK, _TAR_AT)


def _first_unzipped(name: str, head: bytes) -> bytes:
    """The beginning of a zipped file; if that is damaged, only a file that is called like ours is a fault."""
    try:
        return unzipped(head, HEAD)
    except FaultError as fault:
        if ".log" in name or is_missed(name):
            raise
        raise ForeignError(str(fault)) from fault


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text; zeros at its very start are a hole that a rotation has left."""
    first = head.lstrip(b"\0")[:_FIRST]
    return len(first.translate(None, _OF_TEXT)) > max(3, len(first) // 32)


def need_short_lines(opened: BinaryIO, size: int) -> None:
    """A fault for a line that is too long for Spark; of each 16 MiB only the last line end is looked for."""
    at = 0  # where a line begins
    while size - at > LONGEST_LINE:
        end = at + LONGEST_LINE
        while end > at:
            begin = max(at, end - HEAD)
            opened.seek(begin)
            if (found := opened.read(end - begin).rfind(b"\n")) >= 0:
                at = begin + found + 1
                break
            end = begin
        else:
            raise FaultError(_LONG_LINE.format(f"byte {at:,}"))


def need_whole(opened: BinaryIO, size: int) -> None:
    """A fault for a zipped file that is damaged, holds a line that is too long, or unpacks to more than any log does."""
    unpacked = at = 0  # `at` is where a line begins
    with _damage_told(), gzip.GzipFile(fileobj=opened) as lines:
        while some := lines.read(_BLOCK):
            if (end := some.rfind(b"\n")) >= 0:
                at = unpacked + end + 1
            unpacked += len(some)
            if unpacked - at > LONGEST_LINE:
                raise FaultError(_LONG_LINE.format(f"byte {at:,} of what it unpacks to"))
            if unpacked > max(_MOST_UNPACKED, size * _MOST_RATIO):
                raise FaultError(_BOMB.format(unpacked >> 20, unpacked // size))


def sort_of_text(name: str, head: bytes, *, zipped: bool, stamped_later: Callable[[], bool]) -> Sort:
    """What a text of this name holds, of which this is the beginning, unzipped."""
    _need_no_archive(name, head)
    encoding = encoding_of(head)
    text = head.decode(encoding, errors="replace")
    if len(head) < HEAD and not _PART_NAME.fullmatch(name):  # a part may have no row
        need_rows(name, len(text.strip()))
    try:
        sort = _sort_of_lines(text.splitlines(), name)
    except ForeignError as foreign:
        if not (_LOG_NAME.match(name) and stamped_later()):
            if _ROTATED_NAME.fullmatch(name) or _DEBUG.search(text):
                raise FaultError(str(foreign)) from foreign
            raise
        sort = Sort.LOG
    if encoding != _UTF_8:
        raise FaultError(_WIDE.format(encoding.upper().replace("16-", "16")))  # as iconv calls it
    if zipped is not name.endswith(ZIPPED):
        raise FaultError(_MISNAMED[zipped])
    return sort


def _need_no_archive(name: str, head: bytes) -> None:
    """A fault for what is packed, if it is called a log or shows that it holds one."""
    packed = next((said for magic, said in PACKED.items() if head.startswith(magic)), "")
    if said := packed or (_TAR if head.startswith(_TAR_MARK, _TAR_AT) else ""):
        holds = ".log" in name or _DEBUG.search(head.decode("utf-8", errors="replace"))
        raise (FaultError if holds else ForeignError)(said)


def sort_of_name(name: str) -> Sort | None:
    """What a file holds that is called like a part of a trace."""
    if name.endswith(".parquet"):
        return Sort.PARQUET
    return Sort.JSON_LINES if _PART_NAME.fullmatch(name) else None


_MISNAMED = {
    True: "zipped, and its name does not end in .gz, by which Spark would know it: rename it",
    False: "its name ends in .gz and it is not zipped, which Spark would take it for: rename it",
}


def unzipped(head: bytes, most: int) -> bytes:
    """The beginning of what a zipped file holds, of which this is the beginning."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, most)
    except zlib.error as error:
        raise FaultError(f"cut off or damaged: {error}") from error


def _has_log_line(path: Path) -> bool:
    with _damage_told(), open_log(path) as lines:
        for _ in range(_TRACE_LINES):
            line = lines.readline(LONGEST_LINE)
            if not line or len(line) == LONGEST_LINE:
                return False
            if _LOG_LINE.match(bare(line)):
                return True
    return False


@contextmanager
def _damage_told() -> Iterator[None]:
    """A fault for what gzip cannot unpack."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FaultError(f"cut off or damaged: {error}") from error


def _sort_of_lines(lines: Iterable[str], name: str) -> Sort:
    """JSON lines of ours, or a log: the first line tells that is a row, or has one of Storm's stamps."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    known = dict(islice(numbered, _HEAD_LINES))
    said = list(known.values())
    for line in said:
        if row := _JSON_SCHEMA.match(line):
            _need(row)
            return Sort.JSON_LINES
        if _LOG_LINE.match(bare(_COLOUR.sub("", line))):
            if _COLOURED.match(line):
                raise FaultError(_COLOURS)
            return Sort.LOG
    if said and said[0].startswith("{"):
        if _DOCKER_LINE.match(said[0]):
            raise FaultError(_DOCKERS)
        raise (FaultError if _TRACE_NAME.fullmatch(name) else ForeignError)(_NO_ROW)
    if _PART_NAME.fullmatch(name):
        return Sort.JSON_LINES
    if any(map(_STAMP.match, said)):
        raise ForeignError(_OTHER_LAYOUT)
    others = ((number, _OTHER_STAMP.match(bare(line))) for number, line in known.items())
    raise ForeignError(next((_otherwise(number, stamp[1]) for number, stamp in others if stamp), _NEITHER))


def _otherwise(number: int, begin: str) -> str:
    """What is said of a line that begins so, and shows that it is some log's."""
    behind = _BEHIND.match(begin)
    return _PUT_BEFORE.format(number, behind[1]) if behind else _STAMPED_OTHERWISE.format(number, begin)
