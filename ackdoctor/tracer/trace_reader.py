"""Reading a trace: folders, globs, single parts and live files, in one order.

A file that cannot be read is reported with its line; the rows before that line are read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from filecmp import cmp
from heapq import merge
from itertools import chain
from os.path import isdir
from pathlib import Path
from stat import S_ISREG
from types import ModuleType
from typing import TypeAlias

from ackdoctor.model.finding import Unreadable
from ackdoctor.model.trace import IN_HAND, Event, EventKind
from ackdoctor.tracer.trace_files import (
    JSON_LINES,
    SUFFIXES,
    FaultError,
    Stem,
    is_checkpoint,
    live_files,
    lock,
    partition,
    parts,
    read_lines,
)
from ackdoctor.tracer.worker_log import is_log

_GLOB = frozenset("*?[")
_FOREIGN = "no part of a trace"
_LOG = "no part of a trace but a worker's log: `ackdoctor analyze` reads it"
_ZIPPED = "a zipped part: unzip it, or let `ackdoctor analyze` read it as it is"
_NO_PYARROW = "reading Parquet needs pyarrow: install ackdoctor[trace]"
_KILLED = "without closing its trace: killed, or by os._exit"

_Place: TypeAlias = tuple[tuple[str, str, int], int]  # run, worker and process; the seq of the first row


def parquet_module() -> ModuleType | None:
    """The module `parquet`, or None if pyarrow is missing or does not load."""
    try:
        from ackdoctor.tracer import parquet
    except Exception:  # noqa: BLE001 - a broken build of pyarrow raises anything
        return None
    return parquet


def read(paths: Iterable[Path | str]) -> "Reading":
    """Find the files of a trace; reads no row yet."""
    reading = Reading()
    for path in paths:
        reading.add(Path(path))
    return reading


def deaths(path: Path, rows: Iterable[Event]) -> list[Event]:
    """The rows that a killed process could not write: a DIED row for each component that has none.

    None if the process has begun another file after this one.
    """
    last: dict[tuple[str, int, str], Event] = {}
    end: Event | None = None
    for row in rows:
        end = row
        if row.component:
            last[row.component, row.task, row.test] = row
    stem, files = Stem.of(path), (*parts(path.parent), *live_files(path.parent))
    if end is None or any(other.pid == stem.pid and other.first > stem.first for other, _ in files):
        return []
    dead = [key for key, row in last.items() if row.kind is not EventKind.DIED]
    time_ns = max(row.time_ns for row in (end, *last.values()))
    died = end._replace(
        kind=EventKind.DIED, time_ns=time_ns, stream="", delivery="", root=0, value=0, site="", thread="",
        flags=IN_HAND, note=_KILLED,
    )  # fmt: skip
    return [
        died._replace(seq=end.seq + number, component=component, task=task, test=test)
        for number, (component, task, test) in enumerate(dead, 1)
    ]


@dataclass(slots=True, kw_only=True)
class Reading:
    """A trace that is being read: `unreadable` and `torn` are complete once `events` is exhausted.

    `torn` counts unfinished last lines: the process was killed while it wrote.
    """

    unreadable: list[Unreadable] = field(default_factory=list)
    torn: int = 0
    sources: dict[Path, _Place] = field(default_factory=dict)
    _places: dict[_Place, list[Path]] = field(default_factory=dict)

    def events(self) -> Iterator[Event]:
        """Every row once: by file order within a process, by time between processes."""
        processes: dict[tuple[str, str, int], list[Path]] = {}
        for path, (process, _) in sorted(self.sources.items(), key=lambda source: (source[1], source[0])):
            processes.setdefault(process, []).append(path)
        rows = [chain.from_iterable(map(self._rows, paths)) for paths in processes.values()]
        yield from merge(*rows, key=lambda row: row.time_ns)

    def add(self, path: Path) -> None:
        """Add one path of the user's."""
        if path.is_dir():
            self._add_folder(path)
        elif path.exists():
            self._add_file(path)
        elif _GLOB.isdisjoint(str(path)):
            self._fault(path, "no such file or directory")
        elif found := sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))):
            for each in found:
                self.add(each)
        else:
            self._fault(path, "nothing matches")

    def _rows(self, path: Path) -> Iterator[Event]:
        run, worker = partition(path)
        try:
            if not _is_regular_or_gone(path):
                self._fault(path, "not a regular file")
                return
            if path.name.startswith("."):
                yield from self._live_rows(path, run, worker)
            elif path.suffix == JSON_LINES:
                yield from read_lines(path, run, worker)
            else:
                yield from self._parquet_rows(path, run, worker)
        except FaultError as fault:
            self.torn += fault.torn
            self._fault(path, str(fault), fault.line)
        except OSError as error:
            self._fault(path, error.strerror or str(error))
        except Exception as error:  # noqa: BLE001 - a defect of ours must not hide the other parts
            self._fault(path, f"internal error: {type(error).__name__}: {error}")

    def _parquet_rows(self, path: Path, run: str, worker: str) -> Iterator[Event]:
        parquet = parquet_module()
        if parquet is None:
            self._fault(path, _NO_PYARROW)
            return
        seen = 0
        try:
            for row in parquet.read_parquet(path, run, worker):
                yield row
                seen += 1
        except FaultError as fault:
            self._fault(path, f"{fault} (after {seen} rows)" if seen else str(fault))

    def _live_rows(self, path: Path, run: str, worker: str) -> Iterator[Event]:
        """The rows of a live file, and the deaths of its components if its process was killed."""
        with lock(path) as is_killed:
            was_killed = is_killed
        rows: list[Event] = []
        try:
            for row in read_lines(path, run, worker):
                rows.append(row)
                yield row
        except FaultError as fault:
            if not fault.torn:
                raise
            self.torn += was_killed
        except FileNotFoundError:  # the process has finished the part meanwhile
            if finished := Stem.of(path).finished(path.parent):
                yield from self._rows(finished)
            return
        if was_killed:
            yield from deaths(path, rows)

    def _fault(self, path: Path, reason: str, line: int = 0) -> None:
        self.unreadable.append(Unreadable(path=str(path), line=line, column=0, reason=reason))

    def _add_folder(self, folder: Path) -> None:
        """Lists live files before parts, so that a file that becomes a part meanwhile is not missed."""
        faults, any_found = len(self.unreadable), False
        below = sorted(path for path in folder.rglob("*") if isdir(path))  # noqa: PTH112 - raises nothing
        checkpoints = set(filter(is_checkpoint, below))
        folders = [folder, *(path for path in below if checkpoints.isdisjoint((path, *path.parents)))]
        for place in folders:
            try:
                live = dict(live_files(place))
                done = dict(parts(place))
                foreign = [path for path in sorted(place.iterdir()) if _is_foreign(path)]
            except OSError as error:
                self._fault(place, error.strerror or str(error))
                continue
            any_found = any_found or bool(live or done)
            for stem, path in (live | done).items():
                self._add_source(stem.pid, stem.first, path)
            for path in foreign:
                self._fault(path, _why_foreign(path))
        if not any_found and len(self.unreadable) == faults:
            self._fault(folder, "no trace in this directory; `ackdoctor trace run` writes one")

    def _add_file(self, path: Path) -> None:
        try:
            stem = Stem.of(path)
        except ValueError:
            if path.suffix in SUFFIXES:  # renamed by the user
                self._add_source(0, 0, path)
            else:
                self._fault(path, _why_foreign(path))
        else:
            self._add_source(stem.pid, stem.first, path)

    def _add_source(self, pid: int, first: int, path: Path) -> None:
        """Add a file unless it is a copy of one that was added before."""
        place = ((*partition(path), pid), first)
        namesakes = self._places.setdefault(place, [])
        if path not in namesakes and not any(_is_same(path, other) for other in namesakes):
            namesakes.append(path)
            self.sources[path] = place


def _is_regular_or_gone(path: Path) -> bool:
    """Ask once: a live file may become a part at any time."""
    try:
        return S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _is_same(path: Path, other: Path) -> bool:
    """Whether two files have the same bytes; False if they cannot be compared: reading them reports why."""
    try:
        return path.samefile(other) or cmp(path, other, shallow=False)
    except OSError:
        return False


def _why_foreign(path: Path) -> str:
    if path.name.endswith(f"{JSON_LINES}.gz"):
        return _ZIPPED
    return _LOG if ".log" in path.suffixes and is_log(path) else _FOREIGN


def _is_foreign(path: Path) -> bool:
    """Whether a visible file does not belong to a trace."""
    if path.name.startswith((".", "_")) or not path.is_file():
        return False
    try:
        Stem.of(path)
    except ValueError:
        return True
    return False
