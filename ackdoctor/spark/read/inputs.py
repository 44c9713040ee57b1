"""What the inputs are: parts of a trace, worker logs, or neither; each file that is not read is named with its reason.

Local files are inspected without Spark: their size decides how it starts.  Spark itself lists the files at an address
(`hdfs://...`, `s3a://...`), with its own credentials; they are recognized by their names.
"""

import errno
import hashlib
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pyspark.sql import SparkSession

from ackdoctor.model import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.spark.read.file_kinds import (
    FileKind,
    ForeignFileError,
    UnreadableFileError,
    first_stamp_ns,
    is_expected,
    kind_by_name,
    kind_of,
    last_stamp_ns,
    need_rows,
    need_schema,
)
from ackdoctor.spark.read.paths import local, shorten, unzipped
from ackdoctor.spark.session import spark_errors
from ackdoctor.tracer.trace_files import Stem, is_checkpoint

__all__ = ["Inputs", "files_at", "find_inputs", "with_addresses"]

_MOST_NAMED = 3  # errors in one line
_BEST_FIRST = (".parquet", ".jsonl", ".jsonl.gz")
_BLOCK = 1 << 20
_GLOB = frozenset("*?[")
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_NOTHING = "it holds no part of a trace and no log"
_NOT_FOUND = "no such file or directory"
_NO_MATCH = "nothing matches"
_EMPTY_FOLDER = "the directory is empty"
_BROKEN_LINK = "a symbolic link to nothing"
_PIPE = "neither a file nor a directory, and Spark reads nothing else: write it to a file first"
_SPECIAL = "neither a file nor a directory"
_CHECKPOINT = "the checkpoint of `ackdoctor watch`, not a trace"
_HIDDEN = "hidden: Spark reads no name that begins with a dot or an underscore"
_HIDDEN_MARKS = (".", "_")
_NOTES = ("_meta.json", "_SUCCESS", "_spark_metadata", "_delta_log")  # beside a trace, or Spark's own
_LIVE_NAME = ".live-"
_LIVE = (
    "holds rows of a process that is running, or was killed: `ackdoctor trace report {}` makes them readable"
)
_UNNAMED = "neither named like a part of a trace nor like a worker's log"


@dataclass(slots=True, kw_only=True)
class Inputs:
    """The files to read, by kind, as paths or URIs; and those that cannot be read, or need not be."""

    files: dict[FileKind, list[str]] = field(default_factory=lambda: {kind: [] for kind in FileKind})
    addresses: list[str] = field(default_factory=list)  # for Spark to list: `with_addresses`
    unreadable: list[Unreadable] = field(default_factory=list)
    passed_over: list[Unreadable] = field(default_factory=list)
    begun: dict[str, int | None] = field(default_factory=dict)  # of local logs: their first stamp, in ns
    ended: dict[str, int | None] = field(default_factory=dict)  # and their last one
    size: int = 0  # bytes

    def count(self) -> int:
        """How many files there are to read."""
        return sum(map(len, self.files.values()))

    def need_some(self, folder: str) -> None:
        """Raise a UsageError if there is nothing to read; it names paths relative to this folder."""
        if self.count() or self.addresses:
            return
        named = (*self.unreadable, *self.passed_over)
        reasons = [f"{shorten(each.path, folder)}: {shorten(each.reason, folder)}" for each in named]
        first, more = reasons[:_MOST_NAMED] or [_NOTHING], len(reasons) - _MOST_NAMED
        raise UsageError(f"nothing to read: {'; '.join(first)}" + (f" (and {more} more)" if more > 0 else ""))

    def fail(self, path: str, reason: str) -> None:
        """Note a file that cannot be read."""
        self.unreadable.append(Unreadable(path=path, line=0, column=0, reason=reason))

    def pass_over(self, path: str, reason: str) -> None:
        """Note a file that need not be read."""
        self.passed_over.append(Unreadable(path=path, line=0, column=0, reason=reason))

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

    def need_some_of_each(self, files_of: Mapping[str, Collection[str]], read: Container[str]) -> None:
        """Note each argument of the user, here with its files, of which none is read."""
        failed = {each.path for each in self.unreadable}
        for argument, files in files_of.items():
            if files and not any(file in read or file in failed for file in files):
                self.fail(argument, _NOTHING)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _File:
    """A file that can be read."""

    path: str
    size: int
    kind: FileKind


# ---- local files ----


def find_inputs(paths: Iterable[str | Path]) -> Inputs:
    """Find the files, folders and patterns; of most files this reads only the beginning and the end."""
    inputs = Inputs()
    walk, seen = _Walk(fail=inputs.fail, pass_over=inputs.pass_over), dict[Path, Path]()
    asked: defaultdict[str, list[str]] = defaultdict(list)
    named: set[str] = set()
    for path in map(str, paths):
        here = local(path)
        if here is None:
            inputs.addresses.append(path)
            continue
        if here.is_file():
            named.add(str(_absolute(here)))
        for each in walk.files(here):
            asked[path].append(str(seen.setdefault(each.resolve(), _absolute(each))))
    found = [file for path in seen.values() for file in _inspect(path, inputs, named)]
    inputs.need_some_of_each(asked, {file.path for file in found})
    same = {**_other_formats(found)}
    same |= _same_bytes([file for file in found if file.path not in same])
    for file in found:
        if file.path in same:
            inputs.pass_over(file.path, same[file.path])
            continue
        inputs.files[file.kind].append(file.path)
        inputs.size += file.size
        if file.kind is FileKind.LOG:
            inputs.begun[file.path] = first_stamp_ns(Path(file.path))
            inputs.ended[file.path] = last_stamp_ns(Path(file.path), file.size)
    return inputs


def _absolute(path: Path) -> Path:
    """Return the absolute path with its links: a folder's name may say whose trace it holds."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _inspect(path: Path, inputs: Inputs, named: Container[str]) -> Iterator[_File]:
    if path.name.startswith(_HIDDEN_MARKS) or path.parent.name.startswith(_HIDDEN_MARKS):
        if path.name.startswith(_LIVE_NAME):
            part = f"part-{path.name.removeprefix(_LIVE_NAME).removesuffix('.jsonl')}."
            if path.stat().st_size and not any(each.name.startswith(part) for each in path.parent.iterdir()):
                inputs.fail(str(path), _LIVE.format(path.parent))
        elif path.name not in _NOTES and path.suffix != ".crc":
            inputs.pass_over(str(path), _HIDDEN)
        return
    with inputs.errors_of(str(path), named=str(path) in named):
        size = path.stat().st_size
        yield _File(path=str(path), size=size, kind=kind_of(path, size))


def _other_formats(files: Iterable[_File]) -> dict[str, str]:
    """Return the parts of a trace that are there in a better format too, and the reason to pass each over."""
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


def _same_bytes(files: Iterable[_File]) -> dict[str, str]:
    """Return the parts of a trace that are copies; copies of logs are found by their rows."""
    by_size: defaultdict[int, list[_File]] = defaultdict(list)
    for file in files:
        if file.kind is not FileKind.LOG:
            by_size[file.size].append(file)
    found: dict[str, str] = {}
    for alike in by_size.values():
        first: dict[bytes, str] = {}
        for file in alike if len(alike) > 1 else ():
            with suppress(OSError):
                original = first.setdefault(_digest(file.path), file.path)
                if original != file.path:
                    found[file.path] = f"the same bytes as {original}"
    return found


def _digest(path: str) -> bytes:
    digest = hashlib.blake2b()
    with Path(path).open("rb") as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.digest()


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Finds the files of paths; `fail` gets what is no file, `pass_over` pipes and broken links with other names than ours.

    Links are followed, each folder is entered once.
    """

    fail: Callable[[str, str], None]
    pass_over: Callable[[str, str], None]
    _entered: set[Path] = field(default_factory=set, init=False)
    _failed: set[Path] = field(default_factory=set, init=False)
    _failures: int = field(default=0, init=False)

    def files(self, path: Path) -> Iterator[Path]:
        """Yield the files of a file, folder or pattern, in order of their names."""
        if path.is_dir():
            yield from self._folder(path)
        elif path.is_file():
            yield path
        elif path.is_symlink() and not path.exists():
            self._fail(path, _BROKEN_LINK)
        elif _GLOB.isdisjoint(str(path)):
            self._fail(path, _PIPE if path.exists() or str(path) == "-" else _NOT_FOUND)
        else:
            yield from self._matching(path)

    def _folder(self, path: Path) -> Iterator[Path]:
        if is_checkpoint(path):
            self._fail(path, _CHECKPOINT)
            return
        self._entered.clear()
        failures, empty = self._failures, True
        for each in self._below(path):
            empty = False
            yield each
        if empty and failures == self._failures:
            self._fail(path, _EMPTY_FOLDER)

    def _matching(self, pattern: Path) -> Iterator[Path]:
        anchor = Path(pattern.anchor) if pattern.anchor else Path()
        found = sorted(anchor.glob(str(pattern.relative_to(anchor))))
        if not found:
            self._fail(pattern, _NO_MATCH)
        for each in found:
            yield from self.files(each)

    def _below(self, folder: Path) -> Iterator[Path]:
        try:
            if (real := folder.resolve()) in self._entered:
                return
            self._entered.add(real)
            inside = sorted(folder.iterdir())
        except OSError as error:
            self._fail(folder, f"this directory cannot be listed: {error.strerror or error}")
            return
        for each in inside:
            yield from self._inside(each)

    def _inside(self, path: Path) -> Iterator[Path]:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            broken = path.is_symlink() and error.errno in _NOWHERE
            if broken and not is_expected(path.name):
                self.pass_over(str(path), _BROKEN_LINK)
            else:
                self._fail(path, _BROKEN_LINK if broken else error.strerror or str(error))
            return
        if stat.S_ISDIR(mode):
            if not is_checkpoint(path):
                yield from self._below(path)
        elif stat.S_ISREG(mode):
            yield path
        elif is_expected(path.name):
            self._fail(path, _PIPE)
        else:
            self.pass_over(str(path), _SPECIAL)

    def _fail(self, path: Path, reason: str) -> None:
        self._failures += 1
        if path not in self._failed:
            self._failed.add(path)
            self.fail(str(path), reason)


# ---- addresses ----


def with_addresses(spark: SparkSession, inputs: Inputs) -> Inputs:
    """Return the same inputs with the files at the addresses, which Spark lists."""
    files_of: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for address in inputs.addresses:
        try:
            there = files_at(spark, address)
        except UsageError as error:
            inputs.fail(address, str(error))
            continue
        if not there:
            inputs.fail(address, _EMPTY_FOLDER)
        files_of[address] = list(there)
        sizes |= there
    found: list[_File] = []
    for path, size in sizes.items():
        named = path in inputs.addresses
        with inputs.errors_of(path, named=named):
            found.append(_File(path=path, size=size, kind=_kind_at(path, size, named=named)))
    inputs.need_some_of_each(files_of, {file.path for file in found})
    same = _other_formats(found)
    for file in found:
        if file.path in same:
            inputs.pass_over(file.path, same[file.path])
        else:
            inputs.files[file.kind].append(file.path)
            inputs.size += file.size
    inputs.addresses.clear()
    return inputs


def files_at(spark: SparkSession, address: str) -> dict[str, int]:
    """Return the files at an address, which may be a pattern of Hadoop's, with their sizes; UsageError if there is no such place."""
    with spark_errors(""):
        listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(address)
        return {
            row["path"]: row["length"] for row in listing.select("path", "length").orderBy("path").collect()
        }


def _kind_at(path: str, size: int, *, named: bool) -> FileKind:
    name = path.rpartition("/")[2]
    need_rows(name, size)
    need_schema(path)
    kind = kind_by_name(name) or (FileKind.LOG if named else None)
    if kind is None:
        raise ForeignFileError(_UNNAMED)
    return kind
