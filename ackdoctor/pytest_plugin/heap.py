"""The heap of a test: snapshots at its start, when twice as much is pending as before, and at its end."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ackdoctor.acker.versions import NEWEST, profile
from ackdoctor.heap.python.guppy import Census, census
from ackdoctor.heap.python.holders import ACKER, Holder
from ackdoctor.heap.python.judge import findings, holding_rows
from ackdoctor.heap.python.snapshot import Holding, Snapshot, SnapshotSeries, components
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.model.finding import Finding
from ackdoctor.pytest_plugin.outcome import context_of
from ackdoctor.reporters.heap_python import snapshots_screen
from ackdoctor.tracer.judge.place import Places
from ackdoctor.tracer.ledger.ledger import Ledger

__all__ = ["Counts", "Look", "TestHeap"]

_WIDTH = 120
_MOST_COUNTS = 3  # in a session, for tests that have findings and did not ask for a look


class Look:
    """What `ackdoctor.heap()` gives: the heap at one moment; printed, it is the report so far."""

    def __init__(self, snapshots: Sequence[Snapshot], found: tuple[Finding, ...]) -> None:
        self._snapshots = tuple(snapshots)
        self.findings = found

    @property
    def holdings(self) -> tuple[Holding, ...]:
        """The containers of ackers, spouts and bolts, with entries and bytes."""
        return self._snapshots[-1].holdings

    def entries(self, path: str) -> int:
        """How many entries the container at a path has ("MySpout.buffer"); 0 where there is none."""
        return self._snapshots[-1].entries(path)

    def __str__(self) -> str:
        return _shown(self._snapshots)


class Counts:
    """Counts of the whole heap, of which a session takes few: one costs a microsecond for each object under pytest."""

    def __init__(self) -> None:
        self._last: Census | None = None
        self._spent = 0

    def last(self) -> Census:
        """The last one, whichever test it was taken for."""
        return self._last or self.count()

    def of_a_finding(self) -> Census | None:
        """Count now, for the first few tests with findings only."""
        self._spent += 1
        return self.count() if self._spent <= _MOST_COUNTS else None

    def count(self) -> Census:
        """Count now."""
        self._last = census()
        return self._last


class TestHeap:
    """One test's series; `benches` are added as the fixture makes them.

    The holders are looked at in every test.  The whole heap is counted where there is something to tell: a finding,
    a mark of the pending map, a look of the test's own.
    """

    __test__ = False  # pytest takes the name for a test's

    def __init__(self, ledger: Ledger, version: str, folder: str, counts: Counts) -> None:
        self.ledger = ledger
        self.benches: list[Bench | SpoutBench] = []
        self._keeper = profile(version) if version else NEWEST
        self._folder = folder
        self._counts = counts
        self._exact = False
        self._series = SnapshotSeries(self._known, count=counts.count)

    def begin(self, *, exact: bool) -> None:
        """The first snapshot, `exact` or with the last count of the session; from now on the marks are looked for."""
        self._exact = exact
        self._series.take("start", None if exact else self._counts.last)
        self.ledger.growing = self._look

    def watch(self, bench: Bench | SpoutBench) -> None:
        """Looks for the marks whenever the acker of a bench has heard something."""
        bench.observe(lambda: self._look(sum(len(each.acker) for each in self.benches)))

    def look(self, label: str) -> Look:
        """A snapshot now."""
        self._hear_all()
        self._series.take(label or f"look {len(self._series.snapshots) + 1}")
        return Look(self._series.snapshots, self.findings())

    def end(self) -> tuple[Finding, ...]:
        """The last snapshot, and what all of them show."""
        self.ledger.growing = None
        self._hear_all()
        counted = self._exact or len(self._series.snapshots) > 1
        self._series.take("end", None if counted else lambda: None)
        found = self.findings()
        if found and not counted:
            self._series.count(self._counts.of_a_finding)
        return found

    def findings(self) -> tuple[Finding, ...]:
        """What the snapshots so far show."""
        return findings(self._series.snapshots, Places(folder=self._folder), self._keeper)

    def text(self) -> str:
        """The report."""
        return _shown(self._series.snapshots)

    def remark(self) -> str:
        """The report in a few words; '' if nothing is held."""
        rows = holding_rows(self._series.snapshots, top=1)
        return f"heap: most in {rows[0].last.path} ({rows[0].last.entries:,})" if rows else ""

    def _hear_all(self) -> None:
        """What components have said out of turn reaches the ackers when somebody asks for what is pending."""
        for bench in self.benches:
            assert bench.pending is not None

    def _look(self, pending: int) -> None:
        self._series.look(pending)

    def _known(self) -> Iterator[Holder]:
        for bench in self.benches:
            name = "acker" if len(self.benches) == 1 else f"acker of {bench.component_class.__name__}"
            yield Holder(name=name, kind=ACKER, holder=bench.acker, tuples=_roots(bench))
        waiting = {
            id(bench.component): bench.waiting for bench in self.benches if isinstance(bench, SpoutBench)
        }
        for holder in components(self.ledger):
            yield (
                replace(holder, owed=waiting[id(holder.holder)]) if id(holder.holder) in waiting else holder
            )


def _shown(snapshots: Sequence[Snapshot]) -> str:
    stream = io.StringIO()
    snapshots_screen(snapshots, stream, context_of(Path()), width=_WIDTH)
    return stream.getvalue().rstrip("\n")


def _roots(bench: Bench | SpoutBench) -> int:
    if isinstance(bench, Bench):
        return len(bench.roots)
    return sum(emitted.msg_id is not None for emitted in bench.emitted)
