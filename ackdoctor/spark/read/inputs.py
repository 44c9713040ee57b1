"""What the inputs are: files of a trace, worker logs, or neither; nothing is left out without a word.

Local paths are looked at without Spark, since how much there is to read decides how Spark is started.  What lies at an
address (`hdfs://...`, `s3a://...`) is found by its Hadoop (`remote`).
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.spark.read.copies import Found, copies, forms
from ackdoctor.spark.read.paths import local, near
from ackdoctor.spark.read.remote import Remote, remote
from ackdoctor.spark.read.sorts import FaultError, ForeignError, Sort, ending, sort_of
from ackdoctor.spark.read.stamps import begun_ns, ended_ns
from ackdoctor.spark.read.unseen import HIDDEN, Unseen, is_unseen, unseen
from ackdoctor.spark.read.walking import Walk
from ackdoctor.tracer.trace.worker_log import open_log

__all__ = ["Inputs", "listed", "resolved"]

_TOLD = 3  # faults, in one line
_NOTHING = "no part of a trace and no log is there"
_LIVE = (
    "holds rows of a process that is running, or was killed: `ackdoctor trace report {}` makes them readable"
)
_LIVE_THERE = (
    "holds rows of a process that was killed: `ackdoctor trace report` of a local copy makes them readable"
)


@dataclass(slots=True, kw_only=True)
class Inputs:
    """The files to read, by sort, as paths or URIs; and those that nobody can read, or that were passed over."""

    files: dict[Sort, list[str]] = field(default_factory=lambda: {sort: [] for sort in Sort})
    remote: list[str] = field(default_factory=list)  # addresses, for Hadoop to list: `resolved`
    unreadable: list[Unreadable] = field(default_factory=list)
    passed_over: list[Unreadable] = field(default_factory=list)  # hidden files, and copies
    named: set[str] = field(default_factory=set)  # files that the user named, not a folder of theirs
    begun: dict[str, int | None] = field(default_factory=dict)  # of a log: the time of its first stamp, in ns
    ended: dict[str, Callable[[], int | None]] = field(default_factory=dict)  # asks for that of its last one
    size: int = 0  # bytes

    def count(self) -> int:
        """How many files there are to read."""
        return sum(map(len, self.files.values()))

    def need_some(self, folder: str) -> None:
        """UsageError if there is nothing that could be read; its paths are those from this folder."""
        if self.count() or self.remote:
            return
        named = (*self.unreadable, *self.passed_over)
        faults = [f"{near(each.path, folder)}: {near(each.reason, folder)}" for each in named]
        told, more = faults[:_TOLD] or [_NOTHING], len(faults) - _TOLD
        raise UsageError(f"nothing to read: {'; '.join(told)}" + (f" (and {more} more)" if more > 0 else ""))

    def fault(self, path: str, reason: str) -> None:
        """A file that cannot be read."""
        self.unreadable.append(Unreadable(path=path, line=0, column=0, reason=reason))

    def pass_over(self, path: str, reason: str) -> None:
        """A file that need not be read."""
        self.passed_over.append(Unreadable(path=path, line=0, column=0, reason=reason))


def listed(paths: Iterable[str | Path]) -> Inputs:
    """Looks at files, folders and globs; of most nothing is read but the head and the end."""
    inputs = Inputs()
    walk, seen = Walk(fault=inputs.fault, pass_over=inputs.pass_over), dict[Path, Path]()
    given: defaultdict[str, list[str]] = defaultdict(list)
    for path in map(str, paths):
        here = local(path)
        if here is None:
            inputs.remote.append(path)
            continue
        if here.is_file():
            inputs.named.add(str(_whole(here)))
        for each in walk.files(here):
            given[path].append(str(seen.setdefault(each.resolve(), _whole(each))))
    found = [file for path in seen.values() for file in _readable(path, inputs)]
    _need_some_of_each(given, {str(file.path) for file in found}, inputs)
    again = copies(found)
    for file in found:
        if file.path in again:
            inputs.pass_over(str(file.path), again[file.path])
        else:
            _add(file, inputs)
    return inputs


def _need_some_of_each(given: Mapping[str, Collection[str]], read: Container[str], inputs: Inputs) -> None:
    """A fault for what the user has given and whose files are all passed over; `given` has them by its path or address."""
    told = {each.path for each in inputs.unreadable}
    for path, files in given.items():
        if files and not any(file in read or file in told for file in files):
            inputs.fault(path, _NOTHING)


def _whole(path: Path) -> Path:
    """The path from the root.  Links stay: a folder's name may say whose trace it holds."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _readable(path: Path, inputs: Inputs) -> Iterator[Found]:
    """The file, if it can be read."""
    if is_unseen(path.name, path.parent.name):
        what = unseen(path.name, path.stat().st_size, (each.name for each in path.parent.iterdir()))
        _hidden(str(path), what, _LIVE.format(path.parent), inputs)
        return
    with _telling(str(path), inputs, named=str(path) in inputs.named):
        size = path.stat().st_size
        yield Found(path=path, size=size, sort=sort_of(path, size))


@contextmanager
def _telling(path: str, inputs: Inputs, *, named: bool) -> Iterator[None]:
    """Why a file that is looked at in here is not read, where that is so; foreign ones are a fault if `named`."""
    try:
        yield
    except ForeignError as foreign:
        (inputs.fault if named else inputs.pass_over)(path, str(foreign))
    except FaultError as fault:
        inputs.fault(path, str(fault))
    except OSError as error:
        inputs.fault(path, error.strerror or str(error))


def _add(file: Found, inputs: Inputs) -> None:
    path = str(file.path)
    inputs.files[file.sort].append(path)
    inputs.size += file.size
    if file.sort is Sort.LOG:
        with open_log(file.path) as lines:
            inputs.begun[path] = begun_ns(lines)
        inputs.ended[path] = partial(_ended, file)


def _ended(file: Found) -> int | None:
    try:
        return ended_ns(ending(file.path, file.size))
    except (OSError, EOFError, zlib.error):  # Spark has said what is wrong with it
        return None


def _hidden(path: str, what: Unseen, live: str, inputs: Inputs) -> None:
    """A file that Spark does not see: `live` is what is wrong where rows are missed."""
    if what is Unseen.ROWS:
        inputs.fault(path, live)
    elif what is Unseen.OTHER:
        inputs.pass_over(path, HIDDEN)


def resolved(spark: SparkSession, inputs: Inputs) -> Inputs:
    """The same inputs with the files of the addresses among them."""
    files: dict[str, Remote] = {}
    given: dict[str, list[str]] = {}
    for address in inputs.remote:
        found = list(remote(spark, address, inputs.fault))
        given[address] = [file.path for file in found]
        files |= {file.path: file for file in found if file.path not in files}
    said: dict[str, Sort] = {}
    for path, file in files.items():
        if is_unseen(file.name, file.folder):
            _hidden(path, unseen(file.name, file.size, file.beside), _LIVE_THERE, inputs)
            continue
        with _telling(path, inputs, named=file.named):
            said[path], inputs.begun[path] = file.sort()
            inputs.ended[path] = file.ended_ns
    _need_some_of_each(given, said, inputs)
    parts = [(path.removesuffix(files[path].name), files[path].name) for path in said]
    again = {"".join(other): "".join(best) for other, best in forms(parts)}
    for path, sort in said.items():
        if path in again:
            inputs.pass_over(path, f"the same part as {again[path]}")
            continue
        inputs.files[sort].append(path)
        inputs.size += files[path].size
    inputs.remote.clear()
    return inputs
