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
from ackdoctor.tracer.worker_log import GZIP, LEVELS, LOG_LINE, PACKED, bare, encoding_of, open_log

_HEAD = 1 << 16  # bytes
_HEAD_LINES = 200  # of a text, blank ones not counted
_TRACE_LINES = 100_000  # of stack traces at the beginning of a rotated log
LONGEST_LINE = 1 << 24  # bytes
_BLOCK = 1 << 20
_MOST_UNPACKED = 1 << 30  # bytes
_MOST_RATIO = 250  # times the size of the file; logs compress to a tenth or a fiftieth
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

_PART_NAME = re.compile(r"part-.*\.jsonl(?:\.gz)?")
_LOG_NAME = re.compile(r"(?:.+-)?worker(?:-\d+)?\.log")
_ROTATED_NAME = re.compile(rf"{_LOG_NAME.pattern}(?:\.\d+)?(?:\.gz)?")  # not `.err`, `.out`, `.metrics`
_TRACE_NAME = re.compile(r".*\.(?:parquet|jsonl|jsonl\.gz)")
_SCHEMA_FOLDER = re.compile(r"/v(\d+)/run=")


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
        raise _error_for(_TRACE_NAME.fullmatch(name))("the file is empty")


def need_schema(path: str) -> None:
    """Raise an error if the folder's schema is newer than ours."""
    _need_known(_SCHEMA_FOLDER.search(path))


def _need_known(schema: re.Match[str] | re.Match[bytes] | None) -> None:
    if schema is not None and int(schema[1]) > SCHEMA:
        raise UnreadableFileError(f"schema {int(schema[1])}; this version of ackdoctor reads up to {SCHEMA}")


def _error_for(ours: object) -> type[UnreadableFileError]:
    """Return the error for a file that cannot be read, by whether it looks like one of ours."""
    return UnreadableFileError if ours else ForeignFileError


# ---- by content ----

_MAGIC = b"PAR1"
_FOOTER = re.compile(rb"ackdoctor\.schema\x18.(\d+)", re.DOTALL)  # a Thrift pair of strings
_KIND, *_NEEDED = ("kind", "root", "delivery")  # columns
_JSON_SCHEMA = re.compile(r'^\{.*"schema": ?(\d+)')
_DOCKER_LINE = re.compile(r'\{"log": ?".*"(?:stream|time)": ?"')
_LOG_LINE = re.compile(LOG_LINE)
_STAMP = re.compile(r"\W?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_OTHER_STAMP = re.compile(  # of a line with a level, and so of some log
    rf"(?=.*\b(?:{LEVELS})\b)(.{{0,30}}?\b\d{{1,2}}:\d\d:\d\d[^ \]]*(?: [AP]M\b)?)"
)
_BEFORE_STAMP = re.compile(r"(.+?)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_COLOURED = re.compile(  # from its beginning, or its first level
    rf"\x1b\[|(?:(?!\b(?:{LEVELS})\b).){{0,300}}?(?:\x1b\[[\d;]*m\[?(?:{LEVELS})\b|\b(?:{LEVELS})\]? *\x1b\[)"
)
_DEBUG = re.compile(  # only a worker with `topology.debug` writes this, in any layout
    r"(?:Processing received|BOLT (?:ack|fail)|TRANSFERR?ING tuple)[^\n]*source: [^\n]+:-?\d+, stream: [^\n]+, id: \{"
)
_NOT_OURS = "neither a trace nor a worker's log"


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
        raise UnreadableFileError(
            "a colon in its name: Hadoop, which reads for Spark, takes what is before it for a scheme"
        )
    return kind


def _kind_of_parquet(head: bytes, end: bytes) -> FileKind:
    """Raise an error for rows without the columns that `trace report` needs; of a long footer only the end is here."""
    if not head.startswith(_MAGIC):
        raise UnreadableFileError("named .parquet, but not Parquet")
    if not end.endswith(_MAGIC):
        raise UnreadableFileError("cut off: it has no Parquet footer")
    _need_known(_FOOTER.search(end))
    footer = end[-8 - int.from_bytes(end[-8:-4], "little") :]

    def has(name: str) -> bool:
        return b"\x18%c%s" % (len(name), name.encode()) in footer  # as Thrift writes it

    if has(_KIND) and (missing := [name for name in _NEEDED if not has(name)]):
        raise UnreadableFileError(f"no part of a trace: it has no column {missing[0]!r}")
    return FileKind.PARQUET


def _kind_of_text(path: Path, head: bytes, size: int) -> FileKind:
    """Return the kind of a text; one of ours is read as a whole, since Spark stops in the middle of a damaged one."""
    _need_no_database(path.name, head)
    if not head.startswith(GZIP):
        kind = _kind_of_head(path, head, zipped=False)
        with path.open("rb") as opened:
            _need_short_lines(opened, size)
        return kind
    try:
        unzipped = zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error as error:
        ours = ".log" in path.name or is_expected(path.name)
        raise _error_for(ours)(f"cut off or damaged: {error}") from error
    kind = _kind_of_head(path, unzipped, zipped=True)
    with path.open("rb") as opened:
        _need_whole(opened, size)
    return kind


def _kind_of_head(path: Path, head: bytes, *, zipped: bool) -> FileKind:
    name = path.name
    if packed := _packed(head):
        raise _error_for(".log" in name or _DEBUG.search(head.decode(errors="replace")))(packed)
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
        named = encoding.upper().replace("16-", "16")  # as iconv names it
        raise UnreadableFileError(
            f"UTF-16, and Spark reads UTF-8 only: `iconv -f {named} -t UTF-8 FILE > worker.log` converts it"
        )
    if zipped and not name.endswith(".gz"):
        raise UnreadableFileError(
            "zipped, but its name does not end in .gz, by which Spark knows it: rename it"
        )
    if name.endswith(".gz") and not zipped:
        raise UnreadableFileError("its name ends in .gz, but it is not zipped: rename it")
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
                raise UnreadableFileError(
                    r"its lines are coloured: `sed 's/\x1b\[[0-9;]*m//g' FILE > worker.log` removes the colours"
                )
            return FileKind.LOG
    if texts and texts[0].startswith("{"):
        if _DOCKER_LINE.match(texts[0]):
            raise UnreadableFileError(
                "Docker's own file, in JSON: `docker logs CONTAINER > worker.log` makes a log of it"
            )
        raise _error_for(_TRACE_NAME.fullmatch(name))(
            "JSON without a schema, and so no part of a trace; logs are read as text, not as JSON"
        )
    if _PART_NAME.fullmatch(name):
        return FileKind.JSON_LINES
    if any(map(_STAMP.match, texts)):
        raise ForeignFileError(
            f"{_NOT_OURS}: its lines have a time, and no line continues as Storm's do: "
            "logger, thread, [LEVEL], or level and thread in another order and ` - ` after the logger"
        )
    for number, line in known.items():
        if stamp := _OTHER_STAMP.match(bare(line)):
            raise ForeignFileError(f"{_NOT_OURS}: line {number} {_other_stamp(stamp[1])}")
    raise ForeignFileError(f"{_NOT_OURS}: no line begins as Storm's do")


def _other_stamp(beginning: str) -> str:
    if before := _BEFORE_STAMP.match(beginning):
        return f"has {before[1]!r} before its stamp, which is no prefix of a log collector: remove it"
    return (
        f"begins with {beginning!r}; known stamps are those like 2026-11-21 20:22:17.710, "
        "2026-11-21T20:22:17.710+0000 and a LocalCluster's milliseconds"
    )


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

_TAR_MAGIC, _TAR_AT = b"ustar", 257
_BEGINNING = 512  # bytes that show whether a file is text
_RECORD_HEAD = 16  # bytes of a database's record
_OF_TEXT = bytes({*range(7, 14), 0x1B, *range(0x20, 0x7F), *range(0x80, 0x100)})
_DATABASE_NAME = re.compile(r"\d{6}(?:\d{14})?\.log")  # RocksDB, LevelDB, a segment of Kafka
_BINARY = "binary: a database, or another program's file"


def _need_no_database(name: str, head: bytes) -> None:
    """Pass over a database's write-ahead log, even if its first bytes resemble text; a damaged worker log is an error."""
    if _DATABASE_NAME.fullmatch(name):
        if head[:_RECORD_HEAD].translate(None, _OF_TEXT):
            raise ForeignFileError(_BINARY)
        return
    if encoding_of(head) != _UTF_8 or head.startswith(GZIP) or _packed(head):
        return
    begun = head.lstrip(b"\0")  # zeros at the start are a hole that a rotation left
    first = begun[:_BEGINNING]
    if len(first.translate(None, _OF_TEXT)) > max(3, len(first) // 32):
        line, *_ = _lines(begun) or ("",)
        if not _LOG_LINE.match(bare(line)):
            if _ROTATED_NAME.fullmatch(name):
                raise UnreadableFileError("named like a worker's log, but binary")
            raise ForeignFileError(_BINARY)


def _packed(head: bytes) -> str:
    """Return the reason not to read an archive; '' for another file."""
    if head.startswith(_TAR_MAGIC, _TAR_AT):
        return "a tar archive: unpack it first"
    return next((reason for magic, reason in PACKED.items() if head.startswith(magic)), "")


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
            raise _too_long(f"byte {at:,}")


def _need_whole(opened: BinaryIO, size: int) -> None:
    """Raise an error for a zipped file that is damaged, has too long a line, or unpacks to more than a log does."""
    unpacked = at = 0  # `at` is where a line begins
    with _gzip_errors(), gzip.GzipFile(fileobj=opened) as lines:
        while some := lines.read(_BLOCK):
            if (end := some.rfind(b"\n")) >= 0:
                at = unpacked + end + 1
            unpacked += len(some)
            if unpacked - at > LONGEST_LINE:
                raise _too_long(f"byte {at:,} of what it unpacks to")
            if unpacked > max(_MOST_UNPACKED, size * _MOST_RATIO):
                raise UnreadableFileError(
                    f"unpacks to more than {unpacked >> 20:,} MiB, {unpacked // size:,} times its size, as no log does: unpack it first"
                )


def _too_long(place: str) -> UnreadableFileError:
    return UnreadableFileError(f"a line of more than {LONGEST_LINE >> 20} MiB, at {place}: remove it")


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


def last_stamp_ns(path: Path) -> int | None:
    """Return the last stamp of a log."""
    with path.open("rb") as opened:
        if opened.read(len(GZIP)) != GZIP:
            opened.seek(max(0, path.stat().st_size - _HEAD))
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
