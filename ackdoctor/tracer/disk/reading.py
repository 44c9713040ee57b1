"""Reading a trace: folders, globs, single parts and live segments, in one order.

What cannot be read is told with its file and place, and everything before it is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from filecmp import cmp
from heapq import merge
from itertools import chain
from os.path import isdir
from pathlib import Path
from typing import TypeAlias

from ackdoctor.model.event import Event
from ackdoctor.model.finding import Unreadable
from ackdoctor.tracer.disk import jsonlines
from ackdoctor.tracer.disk.checkpoint import is_checkpoint
from ackdoctor.tracer.disk.codec import FaultError
from ackdoctor.tracer.disk.segments import SUFFIXES, Stem, partition, parts, wals
from ackdoctor.tracer.disk.storing import columnar
from ackdoctor.tracer.disk.wal import load
from ackdoctor.tracer.disk.workerlog import is_log

__all__ = ["Reading", "read"]

_GLOB = frozenset("*?[")
_FOREIGN, _LOG, _ZIPPED = (
    "no part of a trace",
    "no part of a trace but a worker's log: `ackdoctor analyze` reads it",
    "a zipped part: unzip it, or let `ackdoctor analyze` read it as it is",
)


_Place: TypeAlias = tuple[tuple[str, str, int], int]  # run, worker and process; the seq of the first row


@dataclass(slots=True, kw_only=True)
class Reading:
    """A trace that is being read: `unreadable` and `torn` are complete once `events` has been exhausted.

    `torn` counts rows that were begun and never finished: a process was killed in the middle of one.
    """

    unreadable: list[Unreadable] = field(default_factory=list)
    torn: int = 0
    sources: dict[Path, _Place] = field(default_factory=dict)
    _places: dict[_Place, list[Path]] = field(default_factory=dict)

    def events(self) -> Iterator[Event]:
        """Every row once: by seq within a process, by time between processes."""
        processes: dict[tuple[str, str, int], list[Path]] = {}
        for path, (process, _) in sorted(self.sources.items(), key=lambda source: (source[1], source[0])):
            processes.setdefault(process, []).append(path)
        rows = [chain.from_iterable(map(self._rows, paths)) for paths in processes.values()]
        yield from merge(*rows, key=lambda row: row.time_ns)

    def _rows(self, path: Path) -> Iterator[Event]:
        run, worker = partition(path)
        if path.exists() and not path.is_file():
            self._fault(path, "not a regular file")
            return
        try:
            if path.suffix == jsonlines.SUFFIX:
                yield from jsonlines.events(path, run, worker)
            elif path.suffix in SUFFIXES:
                yield from self._columns(path, run, worker)
            else:
                yield from self._segment(path, run, worker)
        except FaultError as fault:
            self.torn += fault.torn
            self._fault(path, str(fault), fault.line)
        except OSError as error:
            self._fault(path, error.strerror or str(error))
        except Exception as error:  # noqa: BLE001 - one part's trouble is that part's news
            self._fault(path, f"internal error: {type(error).__name__}: {error}")

    def _columns(self, path: Path, run: str, worker: str) -> Iterator[Event]:
        door = columnar()
        if door is None:
            self._fault(path, "reading Parquet needs pyarrow: install ackdoctor[trace]")
            return
        seen = 0
        try:
            for row in door.events(path, run, worker):
                yield row
                seen += 1
        except FaultError as fault:
            self._fault(path, f"{fault} (after {seen} rows)" if seen else str(fault))

    def _segment(self, path: Path, run: str, worker: str) -> Iterator[Event]:
        stem = Stem.of(path)
        try:
            batch = load(path.parent, stem)
        except FileNotFoundError:  # it has become a part since the folder was listed
            if finished := stem.finished(path.parent):
                yield from self._rows(finished)
            return
        yield from batch.events(run, worker)
        if batch.damage:
            self._fault(path, batch.damage)
        else:
            self.torn += batch.torn

    def _fault(self, path: Path, reason: str, line: int = 0) -> None:
        self.unreadable.append(Unreadable(path=str(path), line=line, column=0, reason=reason))

    def add(self, path: Path) -> None:
        """One path of the user's."""
        if path.is_dir():
            self._folder(path)
        elif path.exists():
            self._file(path)
        elif _GLOB.isdisjoint(str(path)):
            self._fault(path, "no such file or folder")
        elif found := _expand(path):
            for each in found:
                self.add(each)
        else:
            self._fault(path, "nothing matches")

    def _folder(self, folder: Path) -> None:
        """Segments are listed before parts, so one that becomes a part meanwhile is not missed."""
        told, any_found = len(self.unreadable), False
        below = sorted(path for path in folder.rglob("*") if isdir(path))  # noqa: PTH112 - no error where it may not look
        noted = set(filter(is_checkpoint, below))  # of a watch: no traces
        folders = [folder, *(path for path in below if noted.isdisjoint((path, *path.parents)))]
        for place in folders:
            try:
                live = dict(wals(place))
                done = dict(parts(place))
                strange = [path for path in sorted(place.iterdir()) if _strange(path)]
            except OSError as error:
                self._fault(place, error.strerror or str(error))
                continue
            any_found = any_found or bool(live or done)
            for stem, path in (live | done).items():
                self._source(stem.pid, stem.first, path)
            for path in strange:
                self._fault(path, _foreign(path))
        if not any_found and len(self.unreadable) == told:
            self._fault(folder, "no trace in this folder")

    def _file(self, path: Path) -> None:
        try:
            stem = Stem.of(path)
        except ValueError:
            if path.suffix in SUFFIXES:  # somebody gave it another name
                self._source(0, 0, path)
            else:
                self._fault(path, _foreign(path))
        else:
            self._source(stem.pid, stem.first, path)

    def _source(self, pid: int, first: int, path: Path) -> None:
        """A copy of what is read already is left out: its rows would count twice."""
        place = ((*partition(path), pid), first)
        namesakes = self._places.setdefault(place, [])
        if path not in namesakes and not any(_same(path, other) for other in namesakes):
            namesakes.append(path)
            self.sources[path] = place


def read(paths: Iterable[Path | str]) -> Reading:
    """Look for the parts of a trace; nothing is read yet."""
    reading = Reading()
    for path in paths:
        reading.add(Path(path))
    return reading


def _same(path: Path, other: Path) -> bool:
    """Whether two files hold the same bytes, or are one file; what cannot be compared is told when it is read."""
    try:
        return path.samefile(other) or cmp(path, other, shallow=False)
    except OSError:
        return False


def _expand(pattern: Path) -> list[Path]:
    fixed = Path(pattern.anchor) if pattern.anchor else Path()
    return sorted(fixed.glob(str(pattern.relative_to(fixed))))


def _foreign(path: Path) -> str:
    if path.name.endswith(f"{jsonlines.SUFFIX}.gz"):
        return _ZIPPED
    return _LOG if ".log" in path.suffixes and is_log(path) else _FOREIGN


def _strange(path: Path) -> bool:
    """Neither ours nor hidden, as Spark understands hidden."""
    if path.name.startswith((".", "_")) or not path.is_file():
        return False
    try:
        Stem.of(path)
    except ValueError:
        return True
    return False
