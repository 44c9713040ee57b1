"""A snapshot of a heap: counts, paths and bytes, and none of the objects, so that looking keeps nothing alive.

    acker._pending._buckets[0]: 3,000 entries, 176 bytes each, an int: AckObject

The objects are held by nobody but their holders while it is taken: what a frame of ours holds, guppy3 would
count for ours.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from ackdoctor.heap.python.guppy import Census, census
from ackdoctor.heap.python.holders import ACKER, Holder, containers
from ackdoctor.heap.python.weight import weigh
from ackdoctor.model.verdict import PendingEntry
from ackdoctor.tracer.ledger.holding import holders

__all__ = ["AckerMap", "Holding", "Snapshot", "take"]

_SAMPLES = 3


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Holding:
    """A container that a component keeps: `size` in bytes with all entries, `exact` unless only some were weighed.

    `tuples` is how many the component had seen, `owed` how many of its own it must still hold (None: unknown), and
    `open` how many open deliveries stand in the field where the path begins.
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

    The `census` counts the whole heap, which takes as long as the process is large; None where nobody asked for it.
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
