"""The fixture `ackdoctor`: benches for a test's components, their pending tuples, and the heap."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackdoctor.acker.residue import residue
from ackdoctor.acker.versions import NEWEST, profile
from ackdoctor.heap.python_heap import (
    ACKER,
    Census,
    Holding,
    Owner,
    Snapshot,
    SnapshotSeries,
    census,
    components,
)
from ackdoctor.heap.python_judge import findings, holding_rows
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.lab.frameworks import descent
from ackdoctor.model.dialect import Kind, Misuse
from ackdoctor.model.finding import Finding, counted
from ackdoctor.model.trace import Culprit, PendingEntry, TupleTree, Verdict, Violation
from ackdoctor.pytest_plugin.outcome import context_of, one_line
from ackdoctor.reporters.heap import snapshots_screen
from ackdoctor.tracer.components import fields_holding
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.sites import Places

_WIDTH = 120
_MOST_COUNTS = 3  # per session, for tests with findings that did not call `heap()`


class Look:
    """The result of `ackdoctor.heap()`: a snapshot of the heap.  Its text is the report so far."""

    def __init__(self, snapshots: Sequence[Snapshot], found: tuple[Finding, ...]) -> None:
        self._snapshots = tuple(snapshots)
        self.findings = found

    @property
    def holdings(self) -> tuple[Holding, ...]:
        """The containers of ackers, spouts and bolts, with entries and bytes."""
        return self._snapshots[-1].holdings

    def entries(self, path: str) -> int:
        """Return the number of entries in the container at a path ("MySpout.buffer"); 0 if there is no such container."""
        return self._snapshots[-1].entries(path)

    def __str__(self) -> str:
        return _shown(self._snapshots)


class Counts:
    """Counts of the whole heap.  A session takes few, since one takes a microsecond per object."""

    def __init__(self) -> None:
        self._last: Census | None = None
        self._spent = 0

    def last(self) -> Census:
        """Return the last count, perhaps of another test."""
        return self._last or self.count()

    def of_a_finding(self) -> Census | None:
        """Count now, for the first few tests with findings; None for later ones."""
        self._spent += 1
        return self.count() if self._spent <= _MOST_COUNTS else None

    def count(self) -> Census:
        """Count now."""
        self._last = census()
        return self._last


class TestHeap:
    """The snapshots of one test; the fixture adds its `benches`.

    Every test inspects the owners.  The whole heap is counted only for a finding, a high-water mark of the
    pending map, or a call of `heap()`.
    """

    __test__ = False  # pytest would collect a class of this name

    def __init__(self, ledger: Ledger, version: str, folder: str, counts: Counts) -> None:
        self.ledger = ledger
        self.benches: list[Bench | SpoutBench] = []
        self._keeper = profile(version) if version else NEWEST
        self._folder = folder
        self._counts = counts
        self._exact = False
        self._series = SnapshotSeries(self._known, count=counts.count)

    def begin(self, *, exact: bool) -> None:
        """Take the first snapshot, `exact` or with the session's last count, and begin to watch for high-water marks."""
        self._exact = exact
        self._series.take("start", None if exact else self._counts.last)
        self.ledger.growing = self._series.look

    def watch(self, bench: Bench | SpoutBench) -> None:
        """Check for high-water marks after each message to the acker of a bench."""
        bench.observe(lambda: self._series.look(sum(len(each.acker) for each in self.benches)))

    def look(self, label: str) -> Look:
        """Take a snapshot now."""
        self._process_messages()
        self._series.take(label or f"look {len(self._series.snapshots) + 1}")
        return Look(self._series.snapshots, self.findings())

    def end(self) -> tuple[Finding, ...]:
        """Take the last snapshot; return the findings of all."""
        self.ledger.growing = None
        self._process_messages()
        counted = self._exact or len(self._series.snapshots) > 1
        self._series.take("end", None if counted else lambda: None)
        found = self.findings()
        if found and not counted:
            self._series.count(self._counts.of_a_finding)
        return found

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the snapshots so far."""
        return findings(self._series.snapshots, Places(folder=self._folder), self._keeper)

    def text(self) -> str:
        """Return the report."""
        return _shown(self._series.snapshots)

    def remark(self) -> str:
        """Return a summary of the report; '' if no container has entries."""
        rows = holding_rows(self._series.snapshots, top=1)
        return f"heap: most in {rows[0].last.path} ({rows[0].last.entries:,})" if rows else ""

    def _process_messages(self) -> None:
        """Process messages that components sent between calls; reading `pending` does so."""
        for bench in self.benches:
            assert bench.pending is not None

    def _known(self) -> Iterator[Owner]:
        for bench in self.benches:
            name = "acker" if len(self.benches) == 1 else f"acker of {bench.component_class.__name__}"
            if isinstance(bench, Bench):
                roots = len(bench.roots)
            else:
                roots = sum(emitted.msg_id is not None for emitted in bench.emitted)
            yield Owner(name=name, kind=ACKER, value=bench.acker, tuples=roots)
        spouts = [bench for bench in self.benches if isinstance(bench, SpoutBench)]
        waiting = {id(bench.component): bench.waiting for bench in spouts}
        for owner in components(self.ledger):
            owed = waiting.get(id(owner.value))
            yield owner if owed is None else replace(owner, owed=owed)


def _shown(snapshots: Sequence[Snapshot]) -> str:
    stream = io.StringIO()
    snapshots_screen(snapshots, stream, replace(context_of(Path()), width=_WIDTH))
    return stream.getvalue().rstrip("\n")


class Fixture:
    """The fixture `ackdoctor`.  Its methods do not change the verdict of the test."""

    def __init__(
        self,
        ledger: Ledger,
        look: Callable[[], tuple[Finding, ...]],
        profile: str,
        open_heap: Callable[[], TestHeap] | None = None,
        heap: TestHeap | None = None,
    ) -> None:
        self.ledger = ledger
        self._look = look
        self._profile = profile
        self._open_heap = open_heap
        self._heap = heap
        self._benches: list[Bench | SpoutBench] = heap.benches if heap is not None else []

    def bench(self, component_class: type, **options: Any) -> Any:
        """Return a `Bench`, or a spout's `SpoutBench`, with the acker version of the test's mark; it closes with the test."""
        if self._profile:
            options.setdefault("profile", self._profile)
        kind = Bench if descent(component_class)[1].kind is Kind.BOLT else SpoutBench
        bench = kind(component_class, **options)
        self._benches.append(bench)
        if self._heap is not None:
            self._heap.watch(bench)
        return bench

    def heap(self, label: str = "") -> Look:
        """Take a snapshot of the containers of ackers, spouts and bolts.  Its text is the report since the first snapshot."""
        if self._heap is None:
            assert self._open_heap is not None, "only tests of the plugin have a heap"
            self._heap = self._open_heap()
            self._heap.benches = self._benches
        return self._heap.look(label)

    @property
    def open(self) -> tuple[str, ...]:
        """The pending deliveries, oldest first, as "SplitBolt 3"."""
        records = list(self.ledger.records.values())
        return tuple(f"{each.traced.name} {delivery}" for each in records for delivery, _ in each.overdue())

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """The entries in the ackers of all benches."""
        return tuple(entry for bench in self._benches for entry in bench.pending)

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings so far, open tuples included."""
        return self._look()

    def assert_complete(self) -> None:
        """Raise AssertionError unless every worker is alive and every tuple so far is completed exactly once."""
        __tracebackhide__ = True
        wrong = [*self.outcome()[0], *(one_line(finding) for finding in self.findings())]
        wrong = wrong or [*self._ended(Verdict.OPEN, "open")]
        if wrong:
            raise AssertionError("\n".join(wrong))

    def outcome(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the deaths of workers that the test did not read; and all deaths, open roots and timeouts."""
        unseen = [
            _died(bench, why) for bench in self._benches if not bench.death_seen for why in bench.deaths
        ]
        deaths = [_died(bench, why) for bench in self._benches for why in (*bench.deaths, *bench.late_errors)]
        open_roots = self._ended(Verdict.OPEN, "open")
        return tuple(unseen), (*deaths, *open_roots, *self._ended(Verdict.EXPIRED, "timed out"))

    def _ended(self, verdict: Verdict, word: str) -> Iterator[str]:
        for bench in self._bolts():
            roots = {root for delivery, root in bench.roots.items() if bench.verdict(delivery) is verdict}
            if roots:
                yield f"{_name(bench)}: {counted(len(roots), 'root')} {word}"

    def linked(self, violations: Sequence[Violation]) -> tuple[Sequence[Violation], Sequence[TupleTree]]:
        """Return the violations with the roots of their tuples, and the roots that are pending in the ackers."""
        rooted = [replace(violation, root=self._root(violation)) for violation in violations]
        return rooted, [tree for bench in self._bolts() for tree in _trees(bench, rooted)]

    def _bolts(self) -> Iterator[Bench]:
        return (bench for bench in self._benches if isinstance(bench, Bench))

    def _root(self, violation: Violation) -> int | None:
        """Return the root of the violation's tuple.  If two benches run the same bolt, the first with that delivery counts."""
        for bench in self._bolts():
            same = bench.component_class.__qualname__ == violation.traced.name
            if same and violation.delivery in bench.roots:
                return bench.roots[violation.delivery]
        return violation.root

    def close(self) -> None:
        """Close the benches."""
        for bench in self._benches:
            bench.close()


def _died(bench: Bench | SpoutBench, why: str) -> str:
    return f"the worker of {_name(bench)} died: {why}"


def _name(bench: Bench | SpoutBench) -> str:
    return bench.component_class.__qualname__.rpartition(".")[2]


def _trees(bench: Bench, violations: Sequence[Violation]) -> Iterator[TupleTree]:
    """Yield the roots that are pending in the acker of a bench.

    A violation names one of the deliveries that it counts; the roots of the others belong to it as well.  Tuples that
    wait for the framework's next batch are no violation.  Storm replays the open tuples of a dead worker, except the
    oldest: those belong to the violations before its death.
    """
    name = bench.component_class.__qualname__
    traced_now = {o.root for o in violations}
    buffers = bench.dialect.wire.buffers if bench.dialect.wire is not None else ()
    held = fields_holding(bench.component, bench.roots)
    waiting = {delivery for delivery, field in held.items() if field in buffers}
    forgotten = [o for o in violations if o.misuse is Misuse.NEVER and o.traced.name == name and o.count > 1]
    owed = sum(o.count for o in forgotten)
    deliveries = {root: delivery for delivery, root in bench.roots.items()}
    for entry in bench.pending:
        delivery = deliveries.get(entry.root)
        verdict = Verdict.ORPHAN if delivery is None else bench.verdict(delivery)
        if verdict is Verdict.OPEN:
            owed -= 1
            gone = bool(bench.deaths) and owed < 0
            if entry.root not in traced_now and (gone or delivery in waiting):
                continue
        culprits = tuple(
            Culprit(delivery=o.delivery, component=name, task=o.traced.task, value=entry.value or 0, acks=0)
            for o in forgotten[: verdict is Verdict.OPEN]
        )
        yield TupleTree(
            root=entry.root, verdict=verdict, entry=entry, residue=residue(entry, verdict), culprits=culprits
        )
