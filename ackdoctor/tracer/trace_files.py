"""The files of a trace: where they are, what their names mean, and how a row looks as a line of JSON.

    trace/v1/run=<id>/worker=<w>/_meta.json                      who wrote here
                                 part-<pid>-<first>.parquet      finished rows (.jsonl without pyarrow)
                                 .live-<pid>-<first>.jsonl       rows of a process that runs, or was killed

`first` is the `seq` of the file's first row, so names sort as rows do. A live file and its part share the stem.
Spark and pyarrow skip names that begin with a dot or an underscore.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from ackdoctor.model.trace import SCHEMA, Event, EventKind

ROWS_PER_PART = 65_536
PARQUET, JSON_LINES = ".parquet", ".jsonl"
SUFFIXES = (PARQUET, JSON_LINES)
LOCK, REQUEST = "lock", "request.json"  # files of a checkpoint of `ackdoctor watch`

_MAX_PID, _MAX_FIRST = (1 << 31) - 1, (1 << 62) - 1  # what the columns can hold
_PART = re.compile(r"part-(\d+)-(\d+)(\.parquet|\.jsonl)")
_LIVE = re.compile(r"\.live-(\d+)-(\d+)\.jsonl")
_TEXTS = ("component", "stream", "delivery", "site", "thread", "test", "note", "run", "worker")
_TYPES = {name: str if name in _TEXTS else int for name in Event._fields}
_KINDS = {int(kind): kind for kind in EventKind}
_MAX_LINE = 16 << 20  # bytes
_MIN_INT, _MAX_INT = -(1 << 63), (1 << 63) - 1
_MAX_SHOWN = 60  # characters of a wrong value
Events: TypeAlias = Callable[[], Iterable[Event]]
"""A trace that can be read more than once."""

quoted = json.encoder.encode_basestring_ascii


class FaultError(Exception):
    """A file of a trace that cannot be read, or cannot be read to its end.

    `line` counts from 1 and is 0 for files without lines. `torn`: the last line was not finished.
    """

    def __init__(self, reason: str, *, line: int = 0, torn: bool = False) -> None:
        super().__init__(reason)
        self.line, self.torn = line, torn


def newer_schema(schema: int, *, line: int = 0) -> FaultError:
    """The fault of rows that a later version wrote."""
    return FaultError(
        f"written by a newer ackdoctor: schema {schema}, this one reads up to {SCHEMA}", line=line
    )


# ---- names ----


@dataclass(slots=True, unsafe_hash=True, order=True)
class Stem:
    """What a live file and its part share: the process, and the seq of the first row."""

    pid: int
    first: int

    def __str__(self) -> str:
        return f"{self.pid}-{self.first:012d}"

    @classmethod
    def of(cls, path: Path) -> "Stem":
        """The stem of a file; ValueError if the file does not belong to a trace."""
        found = _LIVE.fullmatch(path.name) or _PART.fullmatch(path.name)
        if found and (stem := _stem(found)) is not None:
            return stem
        raise ValueError(f"{path} is no file of a trace")

    def live(self, folder: Path) -> Path:
        """The file that the process appends to."""
        return folder / f".live-{self}{JSON_LINES}"

    def part(self, folder: Path, suffix: str) -> Path:
        """The finished file."""
        return folder / f"part-{self}{suffix}"

    def finished(self, folder: Path) -> Path | None:
        """The part, if it is finished."""
        return next((part for suffix in SUFFIXES if (part := self.part(folder, suffix)).exists()), None)


def worker_folder(directory: Path, run: str, worker: str) -> Path:
    """The folder of one worker's files; characters that a path cannot hold are escaped as in Hive and Spark."""
    return (
        directory / f"v{SCHEMA}" / f"run={quote(run, safe=' @+,')}" / f"worker={quote(worker, safe=' @+,')}"
    )


def partition(path: Path) -> tuple[str, str]:
    """Run and worker of a file, from its folders; '' if the folders do not name them."""
    named = dict(folder.split("=", 1) for folder in path.parent.parts if "=" in folder)
    return unquote(named.get("run", "")), unquote(named.get("worker", ""))


def live_files(folder: Path) -> Iterator[tuple[Stem, Path]]:
    """The live files of a folder."""
    return ((stem, path) for stem, path in _matching(folder, _LIVE) if stem.live(folder) == path)


def parts(folder: Path) -> Iterator[tuple[Stem, Path]]:
    """The finished parts of a folder."""
    return _matching(folder, _PART)


def is_checkpoint(folder: Path) -> bool:
    """Whether `ackdoctor watch` keeps its checkpoint in this folder; False if the folder cannot be read."""
    return all(os.path.isfile(folder / name) for name in (REQUEST, LOCK))  # noqa: PTH113 - raises nothing


def _matching(folder: Path, name: re.Pattern[str]) -> Iterator[tuple[Stem, Path]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = name.fullmatch(path.name)
        if found and (stem := _stem(found)) is not None:
            yield stem, path


def _stem(found: re.Match[str]) -> Stem | None:
    """The stem in a name; None if no process can have these numbers."""
    pid, first = int(found[1]), int(found[2])
    return Stem(pid, first) if pid <= _MAX_PID and first <= _MAX_FIRST else None


def create(path: Path) -> int:
    """A descriptor of a new file to append to; an existing file or link of that name is an OSError."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o666)


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock of a live file. False: its process still runs, the file is gone, or it is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        yield _is_locked(descriptor, path)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, path: Path) -> bool:
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        status = os.fstat(descriptor)
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, path.stat())
    except OSError:
        return False


# ---- rows as lines of JSON ----


def printable(text: str) -> str:
    """The text with lone surrogates escaped: Parquet cannot hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def line(event: Event) -> str:
    """One row without the end of line; run and worker only if the event has them."""
    return (
        f'{{"schema":{SCHEMA},"kind":{event.kind:d},"time_ns":{event.time_ns},"seq":{event.seq},'
        f'"component":{quoted(event.component)},"task":{event.task},"stream":{quoted(event.stream)},'
        f'"delivery":{quoted(event.delivery)},"root":{event.root},"value":{event.value},'
        f'"site":{quoted(event.site)},"thread":{quoted(event.thread)},"flags":{event.flags},'
        f'"test":{quoted(event.test)},"note":{quoted(event.note)},"pid":{event.pid}'
        + (f',"run":{quoted(event.run)}' if event.run else "")
        + (f',"worker":{quoted(event.worker)}' if event.worker else "")
        + "}"
    )


def read_lines(path: Path, run: str, worker: str) -> Iterator[Event]:
    """The rows of a file in order; FaultError at the first line that is no row."""
    with path.open("rb") as lines:
        number = 0
        while data := lines.readline(_MAX_LINE):
            number += 1
            if len(data) == _MAX_LINE and not data.endswith(b"\n"):
                raise FaultError(f"a line of more than {_MAX_LINE >> 20} MB", line=number)
            yield _row(data, number, run, worker)


def _row(data: bytes, number: int, run: str, worker: str) -> Event:
    try:
        fields: Any = json.loads(data)
    except (ValueError, RecursionError):
        if data.endswith(b"\n"):
            raise FaultError("no JSON", line=number) from None
        raise FaultError("the last line was not finished", line=number, torn=True) from None
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if not isinstance(schema, int) or not _MIN_INT <= schema <= _MAX_INT:
        raise FaultError("no row of a trace", line=number)
    if schema > SCHEMA:
        raise newer_schema(schema, line=number)
    values = {name: fields[name] for name in Event._fields if name in fields}
    for name, value in values.items():
        if type(value) is not _TYPES[name] or (type(value) is int and not _MIN_INT <= value <= _MAX_INT):
            shown = repr(value) if isinstance(value, str) else str(value)
            raise FaultError(f"no row of a trace: {name} is {shown[:_MAX_SHOWN]}", line=number)
    if values.get("kind") not in _KINDS or "time_ns" not in values:
        raise FaultError("no row of a trace: its kind or its time is missing", line=number)
    values["kind"] = _KINDS[values["kind"]]
    return Event(**{"run": run, "worker": worker} | values)
