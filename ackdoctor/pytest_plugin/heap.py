"""The heap of a test: snapshots at its start, when twice as much is pending as before, and at its end."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ackdoctor.acker.versions import NEWEST, profile
from ackdoctor.heap.python.album import Album
from ackdoctor.heap.python.growth import holding_rows
from ackdoctor.heap.python.holders import ACKER, Holder
from ackdoctor.heap.python.judge import findings
from ackdoctor.heap.python.session import components
from ackdoctor.heap.python.snapshot import Holding, Snapshot
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.model.finding import Finding
from ackdoctor.pytest_plugin.outcome import context_of
from ackdoctor.reporters.heap_python import snapshots_screen
from ackdoctor.tracer.judge.place import Places
from ackdoctor.tracer.ledger.ledger import Ledger

__all__ = ["Look", "TestHeap"]

_WIDTH = 120


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


class TestHeap:
    """One test's album; `benches` are added as the fixture makes them."""

    __test__ = False  # pytest takes the name for a test's

    def __init__(self, ledger: Ledger, version: str, folder: str) -> None:
        self.ledger = ledger
        self.benches: list[Bench | SpoutBench] = []
        self._keeper = profile(version) if version else NEWEST
        self._folder = folder
        self._album = Album(self._known)

    def begin(self) -> None:
        """The first snapshot; from now on the marks are looked for."""
        self._album.take("start")
        self.ledger.growing = self._look

    def watch(self, bench: Bench | SpoutBench) -> None:
        """Looks for the marks whenever the acker of a bench has heard something."""
        bench.observe(lambda: self._look(sum(len(each.acker) for each in self.benches)))

    def look(self, label: str) -> Look:
        """A snapshot now."""
        self._hear_all()
        self._album.take(label or f"look {len(self._album.snapshots) + 1}")
        return Look(self._album.snapshots, self.findings())

    def end(self) -> tuple[Finding, ...]:
        """The last snapshot, and what all of them show."""
        self.ledger.growing = None
        self._hear_all()
        self._album.take("end")
        return self.findings()

    def findings(self) -> tuple[Finding, ...]:
        """What the snapshots so far show."""
        return findings(self._album.snapshots, Places(folder=self._folder), self._keeper)

    def text(self) -> str:
        """The report."""
        return _shown(self._album.snapshots)

    def remark(self) -> str:
        """The report in a few words."""
        first, last = self._album.snapshots[0], self._album.snapshots[-1]
        rows = holding_rows(self._album.snapshots, top=1)
        most = f", most in {rows[0].last.path} ({rows[0].last.entries:,})" if rows else ""
        return f"heap {last.census.size - first.census.size:+,} bytes{most}"

    def _hear_all(self) -> None:
        """What components have said out of turn reaches the ackers when somebody asks for what is pending."""
        for bench in self.benches:
            assert bench.pending is not None

    def _look(self, pending: int) -> None:
        self._album.look(pending)

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
