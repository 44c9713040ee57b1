"""What the inputs are: files of a trace, worker logs, or neither; nothing is left out without a word.

Local paths are looked at without Spark, since how much there is to read decides how Spark is started.  A URI
(`hdfs://...`, `s3a://...`) is listed by Spark itself, which does not see hidden files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.spark.read.copies import Found, copies
from ackdoctor.spark.read.logbook import stamped_ns
from ackdoctor.spark.read.paths import literal, local
from ackdoctor.spark.read.sorts import (
    HEAD_LINES,
    MAGIC,
    FaultError,
    ForeignError,
    Sort,
    need_version_of,
    sort_of,
    sort_of_lines,
)
from ackdoctor.spark.read.walking import Walk
from ackdoctor.tracer.disk.workerlog import open_log

__all__ = ["Inputs", "listed", "resolved"]

_SILENT = ("_meta.json", "_SUCCESS", "_spark_metadata", "_delta_log")
_LIVE = (
    "holds rows of a process that is running, or was killed: `ackdoctor trace recover {}` makes them readable"
)


@dataclass(slots=True, kw_only=True)
class Inputs:
    """The files to read, by sort, as paths or URIs; and those that nobody can read, or that were passed over."""

    files: dict[Sort, list[str]] = field(default_factory=lambda: {sort: [] for sort in Sort})
    remote: list[str] = field(default_factory=list)  # for Spark to list: `resolved`
    unreadable: list[Unreadable] = field(default_factory=list)
    passed_over: list[Unreadable] = field(default_factory=list)  # hidden files, and copies
    named: set[str] = field(default_factory=set)  # files that the user named, not a folder of theirs
    begun: dict[str, int | None] = field(default_factory=dict)  # of a log: the time of its first stamp, in ns
    size: int = 0  # bytes

    def count(self) -> int:
        """How many files there are to read."""
        return sum(map(len, self.files.values()))

    def need_some(self) -> None:
        """UsageError if there is nothing that could be read."""
        if self.count() or self.remote:
            return
        first = next(iter((*self.unreadable, *self.passed_over)), None)
        why = f"{first.path}: {first.reason}" if first else "no input was named"
        more = len(self.unreadable) + len(self.passed_over) - 1
        raise UsageError(f"nothing to read: {why}" + (f" (and {more} more)" if more > 0 else ""))

    def fault(self, path: str, reason: str) -> None:
        """A file that cannot be read."""
        self.unreadable.append(Unreadable(path=path, line=0, column=0, reason=reason))

    def pass_over(self, path: str, reason: str) -> None:
        """A file that need not be read."""
        self.passed_over.append(Unreadable(path=path, line=0, column=0, reason=reason))


def listed(paths: Iterable[str | Path]) -> Inputs:
    """Looks at files, folders and globs; of most nothing is read but the head and the end."""
    inputs = Inputs()
    walk, seen = Walk(fault=inputs.fault), dict[Path, Path]()
    for path in map(str, paths):
        here = local(path)
        if here is None:
            inputs.remote.append(path)
            continue
        if here.is_file():
            inputs.named.add(str(_whole(here)))
        for each in walk.files(here):
            seen.setdefault(each.resolve(), _whole(each))
    found = [file for path in seen.values() for file in _readable(path, inputs)]
    again = copies(found)
    for file in found:
        if file.path in again:
            inputs.pass_over(str(file.path), again[file.path])
        else:
            _add(file, inputs)
    return inputs


def _whole(path: Path) -> Path:
    """The path from the root.  Links stay: a folder's name may say whose trace it holds."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _readable(path: Path, inputs: Inputs) -> Iterator[Found]:
    """The file, if it can be read."""
    name = path.name
    if name.startswith((".", "_")) or any(part.startswith((".", "_")) for part in path.parent.parts[-1:]):
        _hidden(path, inputs)
        return
    try:
        size = path.stat().st_size
        yield Found(path=path, size=size, sort=sort_of(path, size))
    except ForeignError as foreign:
        (inputs.fault if str(path) in inputs.named else inputs.pass_over)(str(path), str(foreign))
    except FaultError as fault:
        inputs.fault(str(path), str(fault))
    except OSError as error:
        inputs.fault(str(path), error.strerror or str(error))


def _add(file: Found, inputs: Inputs) -> None:
    path = str(file.path)
    inputs.files[file.sort].append(path)
    inputs.size += file.size
    if file.sort is Sort.LOG:
        inputs.begun[path] = _begun(file.path)


def _begun(path: Path) -> int | None:
    """When a log begins; rotated in the middle of a stack trace, its first lines may have no stamp."""
    with open_log(path) as lines:
        return next(filter(None, map(stamped_ns, lines)), None)


def _hidden(path: Path, inputs: Inputs) -> None:
    """A live segment is rows that somebody misses; a note beside a trace is not."""
    if path.name.startswith(".wal-"):
        if path.stat().st_size and not any(path.parent.glob(f"part-{path.name.removeprefix('.wal-')}.*")):
            inputs.fault(str(path), _LIVE.format(path.parent))
    elif not path.name.startswith(".codes-") and path.name not in _SILENT and path.suffix != ".crc":
        inputs.pass_over(str(path), "hidden: Spark reads no name that begins with a dot or an underscore")


def resolved(spark: SparkSession, inputs: Inputs) -> Inputs:
    """The same inputs with Spark's own listing of the URIs among them."""
    for uri in inputs.remote:
        try:
            found = (
                spark.read.format("binaryFile")
                .option("recursiveFileLookup", "true")
                .load(uri)
                .select("path", "length")
                .collect()
            )
        except (AnalysisException, PySparkException) as error:
            inputs.fault(uri, _first_line(error))
            continue
        if not found:
            inputs.fault(uri, "no file there that Spark reads")
        for row in sorted(found, key=lambda row: str(row["path"])):
            _add_remote(spark, row["path"], row["length"], inputs)
    inputs.remote.clear()
    return inputs


def _add_remote(spark: SparkSession, path: str, size: int, inputs: Inputs) -> None:
    try:
        sort, inputs.begun[path] = _remote_sort(spark, path, size)
        inputs.files[sort].append(path)
        inputs.size += size
    except FaultError as fault:
        inputs.fault(path, str(fault))


def _remote_sort(spark: SparkSession, path: str, size: int) -> tuple[Sort, int | None]:
    """What the file holds, and when it begins."""
    if size == 0:
        raise FaultError("the file is empty")
    need_version_of(path)
    if path.endswith(".parquet"):
        return Sort.PARQUET, None
    try:
        rows: Sequence[str] = [
            row[0] for row in spark.read.text(literal(path)).select(F.col("value")).head(HEAD_LINES)
        ]
    except PySparkException as error:
        raise FaultError(_first_line(error)) from error
    if rows and rows[0].startswith(MAGIC.decode()):
        return Sort.PARQUET, None
    return sort_of_lines(rows, path.rpartition("/")[2]), next(filter(None, map(stamped_ns, rows)), None)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
