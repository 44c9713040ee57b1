"""Snapshots of a Python heap: take them, write them beside the trace, read them back."""

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
from ackdoctor.model.verdict import PendingEntry
from ackdoctor.tracer.instrument.live import LiveRecord
from ackdoctor.tracer.ledger.components import holders
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.trace.write import at_exit

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


def components(ledger: Ledger) -> Iterator[Holder]:
    """Each live component, with the tuples that it has seen and, of a bolt, those that it owes."""
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
    """Open deliveries without those that wait for the framework, which will complete them in time."""
    deliveries = [delivery for delivery, _ in record.overdue()]
    if not record.buffers:
        return deliveries
    held = record.held(deliveries)
    return [delivery for delivery in deliveries if held.get(delivery) not in record.buffers]


_SAMPLES = 3


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Holding:
    """A container that a component keeps: `size` in bytes with all entries, `exact` unless only some were weighed.

    `tuples` is how many the component had seen, `owed` how many of its own it must still hold (None: unknown), and
    `open` is the number of open deliveries in the field where the path begins.
    """

    component: str
    kind: str
    path: str
    field: str  # of the component, where the path begins
    entries: int
    size: int
    exact: bool = True
    what: str = ""
    first: str = ""  # the path of its first entry
    tuples: int = 0
    owed: int | None = None
    open: int = 0
    file: str = ""  # where the class of the component begins
    line: int = 0

    @property
    def each(self) -> int:
        """Bytes an entry, its share of the container included."""
        return round(self.size / self.entries) if self.entries else 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class AckerMap:
    """What an acker's map holds; `tuples` are the roots begun so far, `roots` samples of those that stay."""

    component: str
    tracked: int = 0
    orphans: int = 0
    tuples: int = 0
    roots: tuple[int, ...] = ()

    @property
    def entries(self) -> int:
        """All of them."""
        return self.tracked + self.orphans


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Snapshot:
    """What was there; `label` says when: "start", "2,048 pending", "end".

    The `census` counts the whole heap, which takes as long as the process is large; None if not requested.
    """

    label: str
    census: Census | None
    holdings: tuple[Holding, ...] = ()
    ackers: tuple[AckerMap, ...] = ()

    def entries(self, path: str) -> int:
        """How many entries the container at a path has; 0 where there is none."""
        return sum(holding.entries for holding in self.holdings if holding.path == path)


def take(label: str, known: Iterable[Holder], count: Callable[[], Census | None] = census) -> Snapshot:
    """What the known holders keep, and what `count` says of the whole heap."""
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
    kept: dict[bool, list[int]] = {True: [], False: []}  # of orphans, of tracked ones
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
    """The file of a process; readers of traces look past names that begin with an underscore."""
    return f"_heap-{pid}.json"


def files(folder: Path) -> Iterator[Path]:
    """Those below a folder, in order."""
    yield from sorted(folder.rglob(name_of(0).replace("0", "*")))


def save(snapshots: Sequence[Snapshot], file: Path) -> None:
    """Writes them, whole or not at all; OSError if that cannot be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.urandom(8).hex()}.draft")  # no link can wait under that name
    draft.write_text(json.dumps([asdict(snapshot) for snapshot in snapshots]), encoding="utf-8")
    draft.replace(file)


def load(file: Path) -> tuple[Snapshot, ...]:
    """Reads them; ValueError if the file is none of ours, OSError if it cannot be read."""
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


LAST = "end"  # the label of the last; a process that is killed has none
_FIRST_MARK = 1_000  # pending; each further mark is twice the one before


class SnapshotSeries:
    """`known` finds the holders for each snapshot; no component is kept alive here.

    `count` counts the whole heap.
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
        """Count the whole heap for the last snapshot, which has been taken without."""
        self.snapshots[-1] = replace(self.snapshots[-1], census=count())

    def look(self, pending: int) -> Snapshot | None:
        """One if so much was never pending before; cheap if not."""
        if pending < self._mark or self._busy:
            return None
        while self._mark <= pending:
            self._mark *= 2
        return self.take(f"{pending:,} pending")


def attach(ledger: Ledger, folder: Path) -> None:
    """From its first component on; where guppy3 is not installed for the process, it says so and runs without."""
    if why := missing():
        sys.stderr.write(f"ackdoctor: {sys.executable} (pid {os.getpid()}): {why}\n")
        return
    snapshots = _Snapshots(ledger, folder)
    ledger.growing = snapshots.look
    at_exit(snapshots.end)


class _Snapshots:
    """The first at the first look, which comes with the first component."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder
        self._series = SnapshotSeries(partial(components, ledger))

    def look(self, pending: int) -> None:
        """Pending has changed."""
        if not self._series.snapshots:
            self._series.take("start")
        elif self._series.look(pending) is None:
            return
        self._save()

    def end(self) -> None:
        """The process ends; one that has run no component has nothing to show."""
        if self._ledger.records:
            self._ledger.growing = None
            self._series.take(LAST)
            self._save()

    def _save(self) -> None:
        try:
            save(self._series.snapshots, self._folder / name_of(os.getpid()))
        except OSError as error:
            sys.stderr.write(f"ackdoctor: no heap snapshots: {error}\n")
