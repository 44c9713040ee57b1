"""The parts that came with a batch: which of them can be read, and their rows as `analyze` reads them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ackdoctor.spark.read.inputs import Inputs, listed
from ackdoctor.spark.read.paths import ZIPPED, unzipped
from ackdoctor.spark.read.quarantine import quarantined
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.sound import sifted
from ackdoctor.spark.read.traces import refused, traces
from ackdoctor.spark.tables import Quarantined
from ackdoctor.tracer.trace.files import SUFFIXES, Stem, is_checkpoint, partition

__all__ = ["PATTERN", "Parts", "arrived", "empty", "waiting"]

PATTERN = "part-*.{parquet,jsonl,jsonl.gz}"  # of names

_SORTS = (Sort.PARQUET, Sort.JSON_LINES)


@dataclass(slots=True, kw_only=True)
class Parts:
    """What a batch reads, what of it nobody can read, and why; `seen` has the names of all parts so far, by worker."""

    files: dict[Sort, list[str]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    again: int = 0  # copies of a part that was read before
    gone: int = 0  # removed before they could be read, as a full trace removes its oldest
    seen: dict[str, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many are read."""
        return sum(map(len, self.files.values()))

    def events(self, session: SparkSession) -> DataFrame | None:
        """EVENTS; None if there is nothing to read."""
        tables = [traces(session, sort, files) for sort, files in self.files.items() if files]
        return reduce(DataFrame.unionByName, tables) if tables else None

    def refused(self, session: SparkSession) -> tuple[Quarantined, ...]:
        """Rows that are none."""
        tables = [refused(session, sort, files) for sort, files in self.files.items() if files]
        return quarantined(reduce(DataFrame.unionByName, tables)) if tables else ()

    def sift(self, session: SparkSession) -> None:
        """Puts those aside that Spark cannot read to their end."""
        self.faults |= sifted(session, self.files)


def arrived(paths: Iterable[str], seen: dict[str, list[str]]) -> Parts:
    """Looks at the head and end of each part, as `analyze` does."""
    parts = Parts(seen={worker: list(stems) for worker, stems in seen.items()})
    inputs = listed(_new(sorted(paths), parts))
    parts.files = {sort: inputs.files[sort] for sort in _SORTS}
    parts.faults |= dict(_faults(inputs))
    parts.again += len(inputs.passed_over)  # the same bytes under another name
    return parts


def _new(paths: Iterable[str], parts: Parts) -> Iterator[str]:
    for name in paths:
        path = Path(name)
        if any(map(is_checkpoint, path.parents)):  # of a watch of a folder in here
            continue
        if not path.exists():
            parts.gone += 1
            continue
        try:
            stem = _stem(path)
        except ValueError:
            parts.faults[name] = "is no part of a trace: its name has no process and row"
            continue
        known = parts.seen.setdefault(_writer(path), [])
        if stem in known:
            parts.again += 1
            continue
        known.append(stem)
        yield name


def _stem(path: Path) -> str:
    """Process and first row, zipped or not; ValueError if the name is that of no part."""
    return str(Stem.of(unzipped(path)))


def _faults(inputs: Inputs) -> Iterator[tuple[str, str]]:
    for fault in inputs.unreadable:
        yield fault.path, fault.reason
    for file in inputs.files[Sort.LOG]:
        yield file, "is a worker's log and no part of a trace"


def empty(folder: Path, seen: Mapping[str, Sequence[str]]) -> list[str]:
    """Parts without a byte, of which Spark says nothing."""
    suffixes = (*SUFFIXES, f".jsonl{ZIPPED}")
    found = [path for suffix in suffixes for path in folder.rglob(f"part-*{suffix}") if not _size(path)]
    return [
        str(path)
        for path in found
        if unzipped(path).stem.removeprefix("part-") not in seen.get(_writer(path), ())
    ]


def _writer(path: Path) -> str:
    run, worker = partition(path)
    return f"{run}/{worker}" if run or worker else str(path.parent)


def waiting(folder: Path) -> tuple[int, int]:
    """Bytes of the parts that are there, and how many segments of processes that live or died."""
    size = sum(_size(path) for path in folder.rglob("part-*"))
    return size, sum(1 for _ in folder.rglob(".live-*"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the oldest part of a full trace has just gone
        return 0
