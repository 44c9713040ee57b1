"""Snapshots of a Python heap: take, save beside the trace, load."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ackdoctor.heap.python.guppy import Census, census, missing
from ackdoctor.heap.python.holders import ACKER, BOLT, SPOUT, Holder, containers, weigh
from ackdoctor.model.dialect import Kind
from ackdoctor.model.trace import PendingEntry
from ackdoctor.tracer.components import holders
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.live import LiveRecord
from ackdoctor.tracer.recorder import at_exit

__all__ = [
    "LAST",
    "AckerMap",
    "Holding",
    "Snapshot",
    "SnapshotSeries",
    "attach",
    "components",
    "files",
    "load",
    "name_of",
    "save",
    "take",
]


LAST = "end"  # the label of the last snapshot; a killed process has none
_FIRST_MARK = 1_000  # pending entries; each further mark doubles
_SAMPLES = 3


def components(ledger: Ledger) -> Iterator[Holder]:
    """Yield each live component, with its number of tuples and, for a bolt, its open tuples."""
    for record in tuple(ledger.records.values()):
        if not isinstance(record, LiveRecord):
            continue
        spout = record.role.kind is Kind.SPOUT
        traced = record.traced_now
        yield Holder(
            name=type(record.component).__name__,
            kind=SPOUT if spout else BOLT,
            holder=record.component,
            tuples=record.emits if spout else record.entry - record.ticks_seen,
            owed=None if spout else _owed(record),
            file=traced.path,
            line=traced.line,
        )


def _owed(record: LiveRecord) -> list[Hashable]:
    """Return the open tuples, without those that the framework buffers and will complete itself."""
    deliveries = [delivery for delivery, _ in record.overdue()]
    if not record.buffers:
        return deliveries
    held = record.held(deliveries)
    return [delivery for delivery in deliveries if held.get(delivery) not in record.buffers]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Holding:
    """A container of a component; `size` is in bytes with all entries, `exact` is False if sampled.

    `tuples` counts the tuples the component had seen, `owed` those it must still hold (None: unknown).  `open` counts
    the open tuples in the field where the path begins.
    """

    component: str
    kind: str
    path: str
    field: str  # the component's field at the start of the path
    entries: int
    size: int
    exact: bool = True
    what: str = ""
    first: str = ""  # the path of its first entry
    tuples: int = 0
    owed: int | None = None
    open: int = 0
    file: str = ""  # the location of the component's class
    line: int = 0

    @property
    def each(self) -> int:
        """Bytes per entry, including its share of the container."""
        return round(self.size / self.entries) if self.entries else 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class AckerMap:
    """The entries of an acker's map; `tuples` counts the roots begun so far, `roots` samples those left."""

    component: str
    tracked: int = 0
    orphans: int = 0
    tuples: int = 0
    roots: tuple[int, ...] = ()

    @property
    def entries(self) -> int:
        """The number of all entries."""
        return self.tracked + self.orphans


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Snapshot:
    """One snapshot; `label` names its time: "start", "2,048 pending", "end".

    The `census` counts the whole heap, which is slow in a large process; None if not requested.
    """

    label: str
    census: Census | None
    holdings: tuple[Holding, ...] = ()
    ackers: tuple[AckerMap, ...] = ()

    def entries(self, path: str) -> int:
        """Return the number of entries of the container at a path; 0 if there is none."""
        return sum(holding.entries for holding in self.holdings if holding.path == path)


def take(label: str, known: Iterable[Holder], count: Callable[[], Census | None] = census) -> Snapshot:
    """Take a snapshot of the known holders; `count` counts the whole heap."""
    holdings: list[Holding] = []
    ackers: list[AckerMap] = []
    for holder in known:
        holdings += _holdings(holder)
        if holder.kind == ACKER:
            ackers.append(_acker(holder))
    return Snapshot(label=label, census=count(), holdings=tuple(holdings), ackers=tuple(ackers))


def _holdings(holder: Holder) -> Iterator[Holding]:
    owed = holder.owed
    fields = Counter(holders(holder.holder, owed).values()) if owed and holder.kind != ACKER else Counter()
    for container in containers(holder):
        weight = weigh(container.value, {id(holder.holder)})
        yield Holding(
            component=holder.name,
            kind=holder.kind,
            path=container.path,
            field=container.field,
            entries=len(container.value),
            size=weight.size,
            exact=weight.exact,
            what=weight.what,
            first=container.first,
            tuples=holder.tuples,
            owed=None if owed is None else len(owed),
            open=fields[container.field],
            file=holder.file,
            line=holder.line,
        )


def _acker(holder: Holder) -> AckerMap:
    tracked = orphans = 0
    kept: dict[bool, list[int]] = {True: [], False: []}  # by "is an orphan"
    entries: Iterator[PendingEntry] = holder.holder.pending()
    for entry in entries:
        orphan = entry.task is None
        if orphan:
            orphans += 1
        else:
            tracked += 1
        if len(kept[orphan]) < _SAMPLES:
            kept[orphan].append(entry.root)
    roots = islice((*kept[False], *kept[True]), _SAMPLES)
    return AckerMap(
        component=holder.name, tracked=tracked, orphans=orphans, tuples=holder.tuples, roots=tuple(roots)
    )


def name_of(pid: int) -> str:
    """Return the file name for a process; readers of traces ignore names that begin with an underscore."""
    return f"_heap-{pid}.json"


def files(folder: Path) -> Iterator[Path]:
    """Yield the snapshot files below a directory, sorted."""
    yield from sorted(folder.rglob(name_of(0).replace("0", "*")))


def save(snapshots: Sequence[Snapshot], file: Path) -> None:
    """Write the snapshots atomically; raise OSError if that fails."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(
        f".{os.urandom(8).hex()}.draft"
    )  # unpredictable, so no prepared link is followed
    draft.write_text(json.dumps([asdict(snapshot) for snapshot in snapshots]), encoding="utf-8")
    draft.replace(file)


def load(file: Path) -> tuple[Snapshot, ...]:
    """Load snapshots; raise ValueError for an invalid file, OSError for an unreadable one."""
    try:
        return tuple(_snapshot(row) for row in json.loads(file.read_text(encoding="utf-8")))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file}: no heap snapshots: {error}") from None


def _snapshot(row: dict[str, Any]) -> Snapshot:
    return Snapshot(
        label=str(row["label"]),
        census=None if row["census"] is None else _census(row["census"]),
        holdings=tuple(Holding(**each) for each in row["holdings"]),
        ackers=tuple(AckerMap(**{**each, "roots": tuple(each["roots"])}) for each in row["ackers"]),
    )


def _census(row: dict[str, Any]) -> Census:
    types = {name: (count, size) for name, (count, size) in row["types"].items()}
    return Census(objects=row["objects"], size=row["size"], types=types)


class SnapshotSeries:
    """The snapshots of a process; keeps no component alive.

    `known` returns the holders for each snapshot, `count` counts the whole heap.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[Holder]],
        first_mark: int = _FIRST_MARK,
        count: Callable[[], Census] = census,
    ) -> None:
        self.snapshots: list[Snapshot] = []
        self._known = known
        self._count = count
        self._mark = first_mark
        self._busy = False

    def take(self, label: str, count: Callable[[], Census | None] | None = None) -> Snapshot:
        """Take a snapshot now; `count` overrides the series' own setting."""
        self._busy = True
        try:
            snapshot = take(label, self._known(), count or self._count)
        finally:
            self._busy = False
        self.snapshots.append(snapshot)
        return snapshot

    def count(self, count: Callable[[], Census | None]) -> None:
        """Add a count of the whole heap to the last snapshot."""
        self.snapshots[-1] = replace(self.snapshots[-1], census=count())

    def look(self, pending: int) -> Snapshot | None:
        """Take a snapshot if `pending` reaches a new mark; else this is cheap."""
        if pending < self._mark or self._busy:
            return None
        while self._mark <= pending:
            self._mark *= 2
        return self.take(f"{pending:,} pending")


def attach(ledger: Ledger, folder: Path) -> None:
    """Take snapshots from the first component on; without guppy3 write a notice and take none."""
    if why := missing():
        sys.stderr.write(f"ackdoctor: {sys.executable} (pid {os.getpid()}): {why}\n")
        return
    snapshots = _Snapshots(ledger, folder)
    ledger.growing = snapshots.look
    at_exit(snapshots.end)


class _Snapshots:
    """Takes and saves the snapshots of a traced process; the first component triggers the first one."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder
        self._series = SnapshotSeries(partial(components, ledger))

    def look(self, pending: int) -> None:
        """React to a change of the number of pending entries."""
        if not self._series.snapshots:
            self._series.take("start")
        elif self._series.look(pending) is None:
            return
        self._save()

    def end(self) -> None:
        """Take the last snapshot at the end of the process, unless it ran no component."""
        if self._ledger.records:
            self._ledger.growing = None
            self._series.take(LAST)
            self._save()

    def _save(self) -> None:
        try:
            save(self._series.snapshots, self._folder / name_of(os.getpid()))
        except OSError as error:
            sys.stderr.write(f"ackdoctor: no heap snapshots: {error}\n")
