"""What the fixture `ackdoctor` gives a test: benches for its components, and a look at what they owe."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ackdoctor.acker.residue import residue
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.lab.shell.frameworks import descent
from ackdoctor.model.dialect import Kind, Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.verdict import Culprit, PendingEntry, TupleTree, Verdict
from ackdoctor.model.violation import Violation
from ackdoctor.pytest_plugin.outcome import one_line
from ackdoctor.tracer.ledger.holding import holders
from ackdoctor.tracer.ledger.ledger import Ledger

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.heap import Look, TestHeap

__all__ = ["BenchOutcome", "Fixture"]


class BenchOutcome(NamedTuple):
    """`deaths` are the workers that died although the test has not looked at `died`; `doubts` are all dead workers, and the roots that are open or have timed out."""

    deaths: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


class Fixture:
    """`ackdoctor`: what is asked of it never changes what the test is told at its end."""

    def __init__(
        self,
        ledger: Ledger,
        look: Callable[[], tuple[Finding, ...]],
        profile: str,
        open_heap: "Callable[[], TestHeap] | None" = None,
        heap: "TestHeap | None" = None,
    ) -> None:
        self.ledger = ledger
        self._open_heap = open_heap
        self._heap = heap
        self._look = look
        self._profile = profile
        self._benches: list[Bench | SpoutBench] = []
        if heap is not None:
            heap.benches = self._benches

    def bench(self, component_class: type, **options: Any) -> Any:
        """A `Bench` (of a spout: a `SpoutBench`) with the acker version of the test's mark; it is closed with the test."""
        if self._profile:
            options.setdefault("profile", self._profile)
        kind = Bench if descent(component_class)[1].kind is Kind.BOLT else SpoutBench
        bench = kind(component_class, **options)
        self._benches.append(bench)
        if self._heap is not None:
            self._heap.watch(bench)
        return bench

    def heap(self, label: str = "") -> "Look":
        """A look into the heap now: what ackers, spouts and bolts hold; printed, the report since the first look."""
        if self._heap is None:
            assert self._open_heap is not None, "only tests of the plugin have a heap"
            self._heap = self._open_heap()
            self._heap.benches = self._benches
        return self._heap.look(label)

    @property
    def open(self) -> tuple[str, ...]:
        """The deliveries that nobody has completed yet, oldest first, as "SplitBolt 3"."""
        books = list(self.ledger.books.values())
        return tuple(f"{book.traced.name} {delivery}" for book in books for delivery, _ in book.overdue())

    @property
    def pending(self) -> tuple[PendingEntry, ...]:
        """What the ackers of all benches hold."""
        return tuple(entry for bench in self._benches for entry in bench.pending)

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong so far, open tuples included."""
        return self._look()

    def assert_complete(self) -> None:
        """AssertionError unless every worker is alive and every tuple so far was completed, exactly once."""
        __tracebackhide__ = True
        wrong = [*self.outcome().deaths, *(one_line(finding) for finding in self.findings())]
        wrong = wrong or [*self._ended(Verdict.OPEN, "open")]
        if wrong:
            raise AssertionError("\n".join(wrong))

    def outcome(self) -> BenchOutcome:
        """What became of the benches, whatever their components' books say."""
        unseen = tuple(
            _died(bench, why) for bench in self._benches if not bench.death_seen for why in bench.deaths
        )
        deaths = tuple(
            _died(bench, why) for bench in self._benches for why in (*bench.deaths, *bench.late_errors)
        )
        timed_out = self._ended(Verdict.EXPIRED, "timed out")
        return BenchOutcome(unseen, (*deaths, *self._ended(Verdict.OPEN, "open"), *timed_out))

    def _ended(self, verdict: Verdict, word: str) -> Iterator[str]:
        for bench in self._bolts():
            roots = {root for delivery, root in bench.roots.items() if bench.verdict(delivery) is verdict}
            if roots:
                yield f"{_name(bench)}: {len(roots)} {'root' if len(roots) == 1 else 'roots'} {word}"

    def linked(self, violations: Sequence[Violation]) -> tuple[Sequence[Violation], Sequence[TupleTree]]:
        """Offences with the roots that the benches gave their tuples, and the roots that the ackers still hold."""
        rooted = [replace(violation, root=self._root(violation)) for violation in violations]
        return rooted, [tree for bench in self._bolts() for tree in _trees(bench, rooted)]

    def _bolts(self) -> Iterator[Bench]:
        return (bench for bench in self._benches if isinstance(bench, Bench))

    def _root(self, violation: Violation) -> int | None:
        """The root of the violation's tuple; of two benches with the same bolt the first that knows the delivery."""
        for bench in self._bolts():
            if (
                bench.component_class.__qualname__ == violation.traced.name
                and violation.delivery in bench.roots
            ):
                return bench.roots[violation.delivery]
        return violation.root

    def close(self) -> None:
        """Ends the components."""
        for bench in self._benches:
            bench.close()


def _died(bench: Bench | SpoutBench, why: str) -> str:
    return f"the worker of {_name(bench)} died: {why}"


def _name(bench: Bench | SpoutBench) -> str:
    return bench.component_class.__qualname__.rpartition(".")[2]


def _trees(bench: Bench, violations: Sequence[Violation]) -> Iterator[TupleTree]:
    """The roots that the acker of a bench still holds.

    A violation names one of the deliveries that it counts; the others' roots are charged to it as well.  What
    waits for the framework's next batch is no fault, and what a dead worker held is replayed: of its open roots
    the oldest are those of the tuples that it forgot before.
    """
    name = bench.component_class.__qualname__
    accused = {o.root for o in violations}
    waiting = _waiting(bench)
    forgotten = [o for o in violations if o.misuse is Misuse.NEVER and o.traced.name == name and o.count > 1]
    owed = sum(o.count for o in forgotten)
    deliveries = {root: delivery for delivery, root in bench.roots.items()}
    for entry in bench.pending:
        delivery = deliveries.get(entry.root)
        verdict = Verdict.ORPHAN if delivery is None else bench.verdict(delivery)
        if verdict is Verdict.OPEN:
            owed -= 1
            gone = bool(bench.deaths) and owed < 0
            if entry.root not in accused and (gone or delivery in waiting):
                continue
        culprits = tuple(
            Culprit(delivery=o.delivery, component=name, task=o.traced.task, value=entry.value or 0, acks=0)
            for o in forgotten[: verdict is Verdict.OPEN]
        )
        yield TupleTree(
            root=entry.root, verdict=verdict, entry=entry, residue=residue(entry, verdict), culprits=culprits
        )


def _waiting(bench: Bench) -> set[Hashable]:
    """The deliveries that the framework's own fields hold."""
    buffers = bench.dialect.wire.buffers if bench.dialect.wire is not None else ()
    held = holders(bench.component, bench.roots)
    return {delivery for delivery, field in held.items() if field in buffers}
