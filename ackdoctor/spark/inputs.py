"""What the inputs are: parts of a trace, worker logs, or neither; each file that is not read is named with its reason.

Files are inspected without Spark: their size decides how it starts.  The files at an address (`hdfs://...`, `s3a://...`)
are listed by Spark (`events.with_addresses`).
"""

import errno
import hashlib
import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from ackdoctor.model import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.spark.file_kinds import (
    FileKind,
    ForeignFileError,
    UnreadableFileError,
    first_stamp_ns,
    is_expected,
    kind_of,
    last_stamp_ns,
)
from ackdoctor.tracer.trace_files import Stem, is_checkpoint

_MOST_NAMED = 3  # errors in one line
_BEST_FIRST = (".parquet", ".jsonl", ".jsonl.gz")
_BLOCK = 1 << 20
_GLOB = frozenset("*?[")
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_NOTHING = "it holds no part of a trace and no log"
EMPTY_FOLDER = "the directory is empty"
_BROKEN_LINK = "a symbolic link to nothing"
_PIPE = "neither a file nor a directory, and Spark reads nothing else: write it to a file first"
_HIDDEN = "hidden: Spark reads no name that begins with a dot or an underscore"
_HIDDEN_MARKS = (".", "_")
_NOTES = ("_meta.json", "_SUCCESS", "_spark_metadata", "_delta_log")  # beside a trace, or Spark's own
_LIVE_NAME = ".live-"
_LIVE = (
    "holds rows of a process that is running, or was killed: `ackdoctor trace report {}` makes them readable"
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class File:
    """A file that can be read."""

    path: str
    size: int
    kind: FileKind


@dataclass(slots=True, kw_only=True)
class Inputs:
    """The files to read, by kind, as paths or URIs; and those that cannot be read, or need not be."""

    files: dict[FileKind, list[str]] = field(default_factory=lambda: {kind: [] for kind in FileKind})
    addresses: list[str] = field(default_factory=list)  # for Spark to list
    unreadable: list[Unreadable] = field(default_factory=list)
    passed_over: list[Unreadable] = field(default_factory=list)
    begun: dict[str, int | None] = field(default_factory=dict)  # of local logs: their first stamp, in ns
    ended: dict[str, int | None] = field(default_factory=dict)  # and their last one
    size: int = 0  # bytes

    def count(self) -> int:
        """How many files there are to read."""
        return sum(map(len, self.files.values()))

    def local_logs(self) -> list[str]:
        """Return the worker logs that are no addresses, by worker, in the order of their first stamps."""
        logs = (name for name in self.files[FileKind.LOG] if local(name) is not None)
        return sorted(logs, key=lambda name: (run_and_worker(name)[1], self.begun.get(name) or 0, name))

    def need_some(self, folder: str) -> None:
        """Raise a UsageError if there is nothing to read; it names paths relative to this folder."""
        if self.count() or self.addresses:
            return
        named = (*self.unreadable, *self.passed_over)
        reasons = [f"{shorten(each.path, folder)}: {shorten(each.reason, folder)}" for each in named]
        first, more = reasons[:_MOST_NAMED] or [_NOTHING], len(reasons) - _MOST_NAMED
        raise UsageError(f"nothing to read: {'; '.join(first)}" + (f" (and {more} more)" if more > 0 else ""))

    def fail(self, path: str | Path, reason: str) -> None:
        """Note a file that cannot be read."""
        self.unreadable.append(Unreadable(path=str(path), line=0, column=0, reason=reason))

    def pass_over(self, path: str | Path, reason: str) -> None:
        """Note a file that need not be read."""
        self.passed_over.append(Unreadable(path=str(path), line=0, column=0, reason=reason))

    @contextmanager
    def errors_of(self, path: str, *, named: bool) -> Iterator[None]:
        """Note why a file is not read; a foreign one is an error if the user named it."""
        try:
            yield
        except ForeignFileError as foreign:
            (self.fail if named else self.pass_over)(path, str(foreign))
        except UnreadableFileError as error:
            self.fail(path, str(error))
        except OSError as error:
            self.fail(path, error.strerror or str(error))

    def add(self, found: Collection[File], asked: Mapping[str, Collection[str]]) -> None:
        """Add the files, each part of a trace once and in its best format; `asked` has the files of each argument."""
        readable = {file.path for file in found} | {each.path for each in self.unreadable}
        for argument, names in asked.items():
            if names and readable.isdisjoint(names):
                self.fail(argument, _NOTHING)
        same = _other_formats(found)
        same |= _same_bytes(file for file in found if file.path not in same)
        for file in found:
            if file.path in same:
                self.pass_over(file.path, same[file.path])
            else:
                self.files[file.kind].append(file.path)
                self.size += file.size


# ---- paths ----

_FILE_SCHEME = re.compile("^file:/+")
_PATTERN_MARKS = re.compile(r"[][*?{}\\]")
_ARTIFACTS = re.compile(r"/workers-artifacts/([^/]+)/\d+/[^/]+$")
_WORKER_FILE = re.compile(r"^(?:(?P<run>.+)-)?worker-\d+\.log")
_ROTATION = re.compile(r"(?:\.\d+)?(?:\.gz)?$")  # worker.log.3.gz


def literally(paths: Iterable[str]) -> list[str]:
    """Return patterns that match these paths and nothing else.

    Spark's `__globPaths__` option would do without that, and reads each of n such files n times.
    """
    return [_PATTERN_MARKS.sub(r"\\\g<0>", path) for path in paths]


def local(argument: str) -> Path | None:
    """Return the path, unless it is an address that only Spark reads."""
    scheme = urlsplit(argument).scheme
    if scheme and scheme != "file" and "://" in argument:
        return None
    return Path(unquote(urlsplit(argument).path) if scheme == "file" else argument)


def inside(place: str, folders: Iterable[str]) -> str | None:
    """Return the first of the folders that the place is in, or is; addresses are compared as text."""
    there = local(place)
    for folder in folders:
        around = local(folder)
        if there is None or around is None:
            if there is around and f"{place}/".startswith(f"{folder.rstrip('/')}/"):
                return folder
        elif around.is_dir() and Path(os.path.realpath(there)).is_relative_to(os.path.realpath(around)):
            return folder
    return None


def shorten(text: str, folder: str) -> str:
    """Make paths below the folder relative to it, in a path or a sentence."""
    return f" {text}".replace(f" {folder.rstrip('/')}/", " ")[1:]


def unescaped(uri: str) -> str:
    """Return the path, or the address, of a file as Spark names it beside its rows."""
    return unquote(_FILE_SCHEME.sub("/", uri))


def unzipped(path: Path) -> Path:
    """Return the path without `.gz`."""
    return path.with_name(path.name.removesuffix(".gz"))


def run_and_worker(file: str) -> tuple[str, str]:
    """Return the run of a log, if its path names the topology, and the worker: the path without the suffixes of rotation."""
    path = PurePosixPath(unquote(file))
    worker = str(path.with_name(_ROTATION.sub("", path.name)))
    if artifacts := _ARTIFACTS.search(str(path)):
        return artifacts[1], worker
    named = _WORKER_FILE.match(path.name)
    return (named["run"] or "") if named else "", worker


# ---- local files ----


def find_inputs(paths: Iterable[str | Path]) -> Inputs:
    """Find the files, folders and patterns; of most files this reads only the beginning and the end."""
    inputs = Inputs()
    seen: dict[Path, Path] = {}
    asked: defaultdict[str, list[str]] = defaultdict(list)
    named: set[str] = set()
    for path in map(str, paths):
        here = local(path)
        if here is None:
            inputs.addresses.append(path)
            continue
        if here.is_file():
            named.add(str(_absolute(here)))
        for each in _files(here, inputs):
            asked[path].append(str(seen.setdefault(each.resolve(), _absolute(each))))
    inputs.unreadable = list(dict.fromkeys(inputs.unreadable))  # arguments may overlap
    inputs.add([file for path in seen.values() for file in _inspect(path, inputs, named)], asked)
    for name in inputs.files[FileKind.LOG]:
        inputs.begun[name] = first_stamp_ns(Path(name))
        inputs.ended[name] = last_stamp_ns(Path(name))
    return inputs


def _absolute(path: Path) -> Path:
    """Return the absolute path with its links: a folder's name may say whose trace it holds."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _inspect(path: Path, inputs: Inputs, named: Container[str]) -> Iterator[File]:
    if path.name.startswith(_HIDDEN_MARKS) or path.parent.name.startswith(_HIDDEN_MARKS):
        if path.name.startswith(_LIVE_NAME):
            part = f"part-{path.name.removeprefix(_LIVE_NAME).removesuffix('.jsonl')}."
            if path.stat().st_size and not any(each.name.startswith(part) for each in path.parent.iterdir()):
                inputs.fail(path, _LIVE.format(path.parent))
        elif path.name not in _NOTES and path.suffix != ".crc":
            inputs.pass_over(path, _HIDDEN)
        return
    with inputs.errors_of(str(path), named=str(path) in named):
        size = path.stat().st_size
        yield File(path=str(path), size=size, kind=kind_of(path, size))


def _files(path: Path, inputs: Inputs) -> Iterator[Path]:
    """Yield the files of a file, folder or pattern, in the order of their names; note what is none."""
    if path.is_dir():
        if is_checkpoint(path):
            inputs.fail(path, "the checkpoint of `ackdoctor watch`, not a trace")
            return
        failures = len(inputs.unreadable)
        found = list(_below(path, inputs, set()))
        if not found and len(inputs.unreadable) == failures:
            inputs.fail(path, EMPTY_FOLDER)
        yield from found
    elif path.is_file():
        yield path
    elif path.is_symlink() and not path.exists():
        inputs.fail(path, _BROKEN_LINK)
    elif _GLOB.isdisjoint(str(path)):
        there = path.exists() or str(path) == "-"
        inputs.fail(path, _PIPE if there else "no such file or directory")
    else:
        anchor = Path(path.anchor)
        found = sorted(anchor.glob(str(path.relative_to(anchor))))
        if not found:
            inputs.fail(path, "nothing matches")
        for each in found:
            yield from _files(each, inputs)


def _below(folder: Path, inputs: Inputs, entered: set[Path]) -> Iterator[Path]:
    """Yield the files below a folder; links are followed, and each folder is entered once."""
    try:
        if (real := folder.resolve()) in entered:
            return
        entered.add(real)
        inside = sorted(folder.iterdir())
    except OSError as error:
        inputs.fail(folder, f"this directory cannot be listed: {error.strerror or error}")
        return
    for path in inside:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            broken = path.is_symlink() and error.errno in _NOWHERE
            note = inputs.pass_over if broken and not is_expected(path.name) else inputs.fail
            note(path, _BROKEN_LINK if broken else error.strerror or str(error))
            continue
        if stat.S_ISDIR(mode):
            if not is_checkpoint(path):
                yield from _below(path, inputs, entered)
        elif stat.S_ISREG(mode):
            yield path
        elif is_expected(path.name):
            inputs.fail(path, _PIPE)
        else:
            inputs.pass_over(path, "neither a file nor a directory")


# ---- the same rows in several files ----


def _other_formats(files: Iterable[File]) -> dict[str, str]:
    """Return the parts of a trace that exist in a better format too, and the reason to pass each over."""
    alike: defaultdict[tuple[str, Stem], list[str]] = defaultdict(list)
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if file.kind is not FileKind.LOG and _format(file.path) in _BEST_FIRST:
            with suppress(ValueError):  # not named like a part
                alike[folder, Stem.of(unzipped(Path(name)))].append(file.path)
    found: dict[str, str] = {}
    for paths in alike.values():
        best, *others = sorted(paths, key=lambda path: _BEST_FIRST.index(_format(path)))
        found |= dict.fromkeys(others, f"the same part as {best}")
    return found


def _format(path: str) -> str:
    return "".join(PurePosixPath(path).suffixes)


def _same_bytes(files: Iterable[File]) -> dict[str, str]:
    """Return the local parts of a trace that are copies; copies of logs are found by their rows."""
    by_size: defaultdict[int, list[str]] = defaultdict(list)
    for file in files:
        if file.kind is not FileKind.LOG and local(file.path) is not None:
            by_size[file.size].append(file.path)
    found: dict[str, str] = {}
    for alike in by_size.values():
        first: dict[bytes, str] = {}
        for path in alike if len(alike) > 1 else ():
            with suppress(OSError):
                original = first.setdefault(_digest(path), path)
                if original != path:
                    found[path] = f"the same bytes as {original}"
    return found


def _digest(path: str) -> bytes:
    digest = hashlib.blake2b()
    with Path(path).open("rb") as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.digest()
