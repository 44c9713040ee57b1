"""What a file holds, by its name, its first and its last bytes; and why it cannot be read."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from enum import Enum, unique
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from ackdoctor.model.trace import SCHEMA
from ackdoctor.spark.read.log_lines import LOG_LINE
from ackdoctor.spark.read.paths import ZIPPED
from ackdoctor.tracer.worker_log import GZIP, LEVELS, PACKED, bare, encoding_of, open_log

__all__ = [
    "LONGEST_LINE",
    "FileKind",
    "ForeignFileError",
    "UnreadableFileError",
    "first_stamp_ns",
    "is_expected",
    "kind_by_name",
    "kind_of",
    "last_stamp_ns",
    "need_rows",
    "need_schema",
    "stamp_ns",
]

_HEAD = 1 << 16  # bytes
_HEAD_LINES = 200  # of a text, blank ones not counted
_TRACE_LINES = 100_000  # of stack traces at the beginning of a rotated log
_MAGIC = b"PAR1"
_FOOTER = re.compile(rb"ackdoctor\.schema\x18.(\d+)", re.DOTALL)  # a Thrift pair of strings
LONGEST_LINE = 1 << 24  # bytes
_BLOCK = 1 << 20
_MOST_UNPACKED = 1 << 30  # bytes
_MOST_RATIO = 250  # times the size of the file; logs compress to a tenth or a fiftieth
_BEGINNING = 512  # bytes that show whether a file is text
_RECORD_HEAD = 16  # bytes of a database's record
_OF_TEXT = bytes({*range(7, 14), 0x1B, *range(0x20, 0x7F), *range(0x80, 0x100)})
_DATABASE_NAME = re.compile(r"\d{6}(?:\d{14})?\.log")  # RocksDB, LevelDB, a segment of Kafka
_KIND, *_NEEDED = ("kind", "root", "delivery")  # columns
_JSON_SCHEMA = re.compile(r'^\{.*"schema": ?(\d+)')
_SCHEMA_FOLDER = re.compile(r"/v(\d+)/run=")
_LOG_LINE = re.compile(LOG_LINE)
_STAMP = re.compile(r"\W?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_OTHER_STAMP = re.compile(  # of a line with a level, and so of some log
    rf"(?=.*\b(?:{LEVELS})\b)(.{{0,30}}?\b\d{{1,2}}:\d\d:\d\d[^ \]]*(?: [AP]M\b)?)"
)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_BEFORE_STAMP = re.compile(r"(.+?)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_COLOURED = re.compile(  # from its beginning, or its first level
    rf"\x1b\[|(?:(?!\b(?:{LEVELS})\b).){{0,300}}?(?:\x1b\[[\d;]*m\[?(?:{LEVELS})\b|\b(?:{LEVELS})\]? *\x1b\[)"
)
_DOCKER_LINE = re.compile(r'\{"log": ?".*"(?:stream|time)": ?"')
_PART_NAME = re.compile(r"part-.*\.jsonl(?:\.gz)?")
_LOG_NAME = re.compile(r"(?:.+-)?worker(?:-\d+)?\.log")
_ROTATED_NAME = re.compile(rf"{_LOG_NAME.pattern}(?:\.\d+)?(?:\.gz)?")  # not `.err`, `.out`, `.metrics`
_TRACE_NAME = re.compile(r".*\.(?:parquet|jsonl|jsonl\.gz)")
_DEBUG = re.compile(  # only a worker with `topology.debug` writes this, in any layout
    r"(?:Processing received|BOLT (?:ack|fail)|TRANSFERR?ING tuple)[^\n]*source: [^\n]+:-?\d+, stream: [^\n]+, id: \{"
)

_NOT_OURS = "neither a trace nor a worker's log"
_NEITHER = f"{_NOT_OURS}: no line begins as Storm's do"
_OTHER_LAYOUT = (
    f"{_NOT_OURS}: its lines have a time, and no line continues as Storm's do: "
    "logger, thread, [LEVEL], or level and thread in another order and ` - ` after the logger"
)
_OTHER_STAMPS = (
    f"{_NOT_OURS}: line {{}} begins with {{!r}}; known stamps are those like 2026-11-21 20:22:17.710, "
    "2026-11-21T20:22:17.710+0000 and a LocalCluster's milliseconds"
)
_PREFIXED = (
    f"{_NOT_OURS}: line {{}} has {{!r}} before its stamp, which is no prefix of a log collector: remove it"
)
_COLOURS = r"its lines are coloured: `sed 's/\x1b\[[0-9;]*m//g' FILE > worker.log` removes the colours"
_NO_SCHEMA = "JSON without a schema, and so no part of a trace; logs are read as text, not as JSON"
_DOCKER = "Docker's own file, in JSON: `docker logs CONTAINER > worker.log` makes a log of it"
_EMPTY = "the file is empty"
_BINARY = "binary: a database, or another program's file"
_DAMAGED_LOG = "named like a worker's log, but binary"
_LONG_LINE = f"a line of more than {LONGEST_LINE >> 20} MiB, at {{}}: remove it"
_BOMB = "unpacks to more than {:,} MiB, {:,} times its size, as no log does: unpack it first"
_TAR_MAGIC, _TAR_AT, _TAR = b"ustar", 257, "a tar archive: unpack it first"
_UTF_16 = "UTF-16, and Spark reads UTF-8 only: `iconv -f {} -t UTF-8 FILE > worker.log` converts it"
_ZIPPED_NAME = "zipped, but its name does not end in .gz, by which Spark knows it: rename it"
_UNZIPPED_NAME = "its name ends in .gz, but it is not zipped: rename it"
_COLON = "a colon in its name: Hadoop, which reads for Spark, takes what is before it for a scheme"
_UTF_8 = "utf-8-sig"


class UnreadableFileError(Exception):
    """Why a file cannot be read."""


class ForeignFileError(UnreadableFileError):
    """A file of another program: an error if the user named it, passed over in a folder."""


@unique
class FileKind(Enum):
    """What a file holds."""

    PARQUET = "a trace as Parquet"
    JSON_LINES = "a trace as JSON lines"
    LOG = "a worker's log"


# ---- by name ----


def kind_by_name(name: str) -> FileKind | None:
    """Return the kind of a file that is named like a part of a trace or like a worker's log."""
    if name.endswith(".parquet"):
        return FileKind.PARQUET
    if _PART_NAME.fullmatch(name):
        return FileKind.JSON_LINES
    return FileKind.LOG if _ROTATED_NAME.fullmatch(name) else None


def is_expected(name: str) -> bool:
    """Whether a file of that name in a folder should be a trace or a log."""
    return bool(_ROTATED_NAME.fullmatch(name) or _TRACE_NAME.fullmatch(name))


def need_rows(name: str, size: int) -> None:
    """Raise an error for an empty file, as `worker.log.err` mostly is; a part of a trace is never empty."""
    if size == 0:
        raise (UnreadableFileError if _TRACE_NAME.fullmatch(name) else ForeignFileError)(_EMPTY)


def need_schema(path: str) -> None:
    """Raise an error if the folder's schema is newer than ours."""
    _need_known(_SCHEMA_FOLDER.search(path))


def _need_known(schema: re.Match[str] | re.Match[bytes] | None) -> None:
    if schema is not None and int(schema[1]) > SCHEMA:
        raise UnreadableFileError(f"schema {int(schema[1])}; this version of ackdoctor reads up to {SCHEMA}")


# ---- by content ----


def kind_of(path: Path, size: int) -> FileKind:
    """Return what a local file holds; an error says why it cannot be read."""
    need_rows(path.name, size)
    need_schema(path.as_posix())
    with path.open("rb") as opened:
        head = opened.read(_HEAD)
        opened.seek(max(0, size - _HEAD))
        end = opened.read()
    columnar = head.startswith(_MAGIC) or path.suffix == ".parquet"
    kind = _kind_of_parquet(head, end) if columnar else _kind_of_text(path, head, size)
    if ":" in path.name:
        raise UnreadableFileError(_COLON)
    return kind


def _kind_of_parquet(head: bytes, end: bytes) -> FileKind:
    if not head.startswith(_MAGIC):
        raise UnreadableFileError("named .parquet, but not Parquet")
    if not end.endswith(_MAGIC):
        raise UnreadableFileError("cut off: it has no Parquet footer")
    _need_known(_FOOTER.search(end))
    _need_columns(end)
    return FileKind.PARQUET


def _need_columns(end: bytes) -> None:
    """Raise an error for rows without the columns that `trace report` needs; of a long footer only the end is here."""
    footer = end[-8 - int.from_bytes(end[-8:-4], "little") :]

    def has(name: str) -> bool:
        return b"\x18%c%s" % (len(name), name.encode()) in footer  # as Thrift writes it

    if has(_KIND) and (missing := [name for name in _NEEDED if not has(name)]):
        raise UnreadableFileError(f"no part of a trace: it has no column {missing[0]!r}")


def _kind_of_text(path: Path, head: bytes, size: int) -> FileKind:
    """Return the kind of a text; one of ours is read as a whole, since Spark stops in the middle of a damaged one."""
    _need_no_database(path.name, head)
    zipped = head.startswith(GZIP)
    text = _unzipped_head(path.name, head) if zipped else head
    kind = _kind_of_head(path, text, zipped=zipped)
    with path.open("rb") as opened:
        _need_whole(opened, size) if zipped else _need_short_lines(opened, size)
    return kind


def _kind_of_head(path: Path, head: bytes, *, zipped: bool) -> FileKind:
    name = path.name
    _need_no_archive(name, head)
    encoding = encoding_of(head)
    text = head.decode(encoding, errors="replace")
    if len(head) < _HEAD and not _PART_NAME.fullmatch(name):  # a part may have no row
        need_rows(name, len(text.strip()))
    try:
        kind = _kind_of_lines(text.splitlines(), name)
    except ForeignFileError as foreign:
        if not (_LOG_NAME.match(name) and _has_log_line(path)):
            if _ROTATED_NAME.fullmatch(name) or _DEBUG.search(text):
                raise UnreadableFileError(str(foreign)) from foreign
            raise
        kind = FileKind.LOG
    if encoding != _UTF_8:
        raise UnreadableFileError(_UTF_16.format(encoding.upper().replace("16-", "16")))  # as iconv names it
    if zipped is not name.endswith(ZIPPED):
        raise UnreadableFileError(_ZIPPED_NAME if zipped else _UNZIPPED_NAME)
    return kind


def _kind_of_lines(lines: Iterable[str], name: str) -> FileKind:
    """Return JSON lines or a log: the first line decides that is a row, or has one of Storm's stamps."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    known = dict(islice(numbered, _HEAD_LINES))
    texts = list(known.values())
    for line in texts:
        if row := _JSON_SCHEMA.match(line):
            _need_known(row)
            return FileKind.JSON_LINES
        if _LOG_LINE.match(bare(_COLOUR.sub("", line))):
            if _COLOURED.match(line):
                raise UnreadableFileError(_COLOURS)
            return FileKind.LOG
    if texts and texts[0].startswith("{"):
        if _DOCKER_LINE.match(texts[0]):
            raise UnreadableFileError(_DOCKER)
        raise (UnreadableFileError if _TRACE_NAME.fullmatch(name) else ForeignFileError)(_NO_SCHEMA)
    if _PART_NAME.fullmatch(name):
        return FileKind.JSON_LINES
    if any(map(_STAMP.match, texts)):
        raise ForeignFileError(_OTHER_LAYOUT)
    others = ((number, _OTHER_STAMP.match(bare(line))) for number, line in known.items())
    raise ForeignFileError(
        next((_other_stamp(number, stamp[1]) for number, stamp in others if stamp), _NEITHER)
    )


def _other_stamp(number: int, beginning: str) -> str:
    before = _BEFORE_STAMP.match(beginning)
    return _PREFIXED.format(number, before[1]) if before else _OTHER_STAMPS.format(number, beginning)


def _has_log_line(path: Path) -> bool:
    with _gzip_errors(), open_log(path) as lines:
        for _ in range(_TRACE_LINES):
            line = lines.readline(LONGEST_LINE)
            if not line or len(line) == LONGEST_LINE:
                return False
            if _LOG_LINE.match(bare(line)):
                return True
    return False


# ---- files that are damaged, packed, or another program's ----


def _need_no_database(name: str, head: bytes) -> None:
    """Pass over a database's write-ahead log, even if its first bytes resemble text; a damaged worker log is an error."""
    if _DATABASE_NAME.fullmatch(name):
        if head[:_RECORD_HEAD].translate(None, _OF_TEXT):
            raise ForeignFileError(_BINARY)
    elif encoding_of(head) == _UTF_8 and not _is_packed(head) and _is_binary(head):
        first, *_ = _lines(head.lstrip(b"\0")) or ("",)
        if not _LOG_LINE.match(bare(first)):
            if _ROTATED_NAME.fullmatch(name):
                raise UnreadableFileError(_DAMAGED_LOG)
            raise ForeignFileError(_BINARY)


def _is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, *PACKED)) or head.startswith(_TAR_MAGIC, _TAR_AT)


def _is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text; zeros at its start are a hole that a rotation left."""
    first = head.lstrip(b"\0")[:_BEGINNING]
    return len(first.translate(None, _OF_TEXT)) > max(3, len(first) // 32)


def _need_no_archive(name: str, head: bytes) -> None:
    """Raise an error for an archive that is named like a log or shows that it holds one."""
    packed = next((reason for magic, reason in PACKED.items() if head.startswith(magic)), "")
    if reason := packed or (_TAR if head.startswith(_TAR_MAGIC, _TAR_AT) else ""):
        holds_log = ".log" in name or _DEBUG.search(head.decode("utf-8", errors="replace"))
        raise (UnreadableFileError if holds_log else ForeignFileError)(reason)


def _unzipped_head(name: str, head: bytes) -> bytes:
    """Return the beginning of a zipped file; damage is an error only in a file that is named like ours."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error as error:
        ours = ".log" in name or is_expected(name)
        raise (UnreadableFileError if ours else ForeignFileError)(f"cut off or damaged: {error}") from error


def _need_short_lines(opened: BinaryIO, size: int) -> None:
    """Raise an error for a line that is too long for Spark; this looks for the last line end of each 16 MiB."""
    at = 0  # where a line begins
    while size - at > LONGEST_LINE:
        end = at + LONGEST_LINE
        while end > at:
            begin = max(at, end - _HEAD)
            opened.seek(begin)
            if (found := opened.read(end - begin).rfind(b"\n")) >= 0:
                at = begin + found + 1
                break
            end = begin
        else:
            raise UnreadableFileError(_LONG_LINE.format(f"byte {at:,}"))


def _need_whole(opened: BinaryIO, size: int) -> None:
    """Raise an error for a zipped file that is damaged, has too long a line, or unpacks to more than a log does."""
    unpacked = at = 0  # `at` is where a line begins
    with _gzip_errors(), gzip.GzipFile(fileobj=opened) as lines:
        while some := lines.read(_BLOCK):
            if (end := some.rfind(b"\n")) >= 0:
                at = unpacked + end + 1
            unpacked += len(some)
            if unpacked - at > LONGEST_LINE:
                raise UnreadableFileError(_LONG_LINE.format(f"byte {at:,} of what it unpacks to"))
            if unpacked > max(_MOST_UNPACKED, size * _MOST_RATIO):
                raise UnreadableFileError(_BOMB.format(unpacked >> 20, unpacked // size))


@contextmanager
def _gzip_errors() -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFileError(f"cut off or damaged: {error}") from error


# ---- when a log begins and ends ----

_LINE_STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d+))?"
    r"(?: ?(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?\S* |(?P<ms>\d+) +\["
)


def stamp_ns(line: str) -> int | None:
    """Return when a line of a log was written, as UTC where it names no zone; None without a stamp."""
    if (stamp := _LINE_STAMP.match(bare(line))) is None:
        return None
    if stamp["ms"]:
        return int(stamp["ms"]) * 1_000_000
    try:
        at = datetime.fromisoformat(f"{stamp['day']} {stamp['time']}").replace(tzinfo=timezone.utc)
        if stamp["sign"]:
            ahead = timedelta(hours=int(stamp["hours"]), minutes=int(stamp["minutes"]))
            at += ahead if stamp["sign"] == "-" else -ahead
    except (ValueError, OverflowError):
        return None
    return int(at.timestamp()) * 1_000_000_000 + int((stamp["part"] or "0").ljust(3, "0")[:3]) * 1_000_000


def first_stamp_ns(path: Path) -> int | None:
    """Return the first stamp of a log; it may begin in the middle of a stack trace."""
    with open_log(path) as lines:
        return _first_stamp(lines)


def last_stamp_ns(path: Path, size: int) -> int | None:
    """Return the last stamp of a log."""
    with path.open("rb") as opened:
        if opened.read(len(GZIP)) != GZIP:
            opened.seek(max(0, size - _HEAD))
            return _first_stamp(reversed(_lines(opened.read())))
    end = b""
    with gzip.open(path) as unpacked:
        while more := unpacked.read(1 << 22):
            end = (end + more)[-_HEAD:]
    return _first_stamp(reversed(_lines(end)))


def _first_stamp(lines: Iterable[str]) -> int | None:
    return next(filter(None, map(stamp_ns, lines)), None)


def _lines(some: bytes) -> Sequence[str]:
    return some.decode(_UTF_8, errors="replace").splitlines()
