"""What a trace, or a worker's log, of the same run tells of the roots that a dump holds."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ackdoctor.acker.residue import blame, residue, suspicions
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.verdict import TupleTree, Verdict
from ackdoctor.tracer.trace.read import read
from ackdoctor.tracer.trace.worker_log import WorkerLogs, is_log

__all__ = ["Testimony", "testimony"]

_ANSWERS = {
    EventKind.COMPLETED: Verdict.COMPLETE,
    EventKind.GAVE_UP: Verdict.FAILED,
    EventKind.TIMED_OUT: Verdict.EXPIRED,
}
_FOREIGN = "no part of a trace"
_LOGS = ("*.log", "*.log.*")


@dataclass(slots=True, kw_only=True)
class Testimony:
    """`trees` are the roots that were told of, with their culprits; `logs` whether a worker's log was among the files."""

    trees: tuple[TupleTree, ...]
    logs: bool
    unreadable: tuple[Unreadable, ...]

    @property
    def named(self) -> int:
        """Of how many the culprits are known."""
        return sum(bool(tree.culprits) for tree in self.trees)

    @property
    def expected(self) -> int:
        """How many others are orphans that correct programs leave, too: acks after a fail or a timeout (L4)."""
        return sum(
            not tree.culprits and tree.verdict in {Verdict.FAILED, Verdict.EXPIRED} and _orphan(tree)
            for tree in self.trees
        )


def _orphan(tree: TupleTree) -> bool:
    return tree.entry is not None and tree.entry.task is None


def testimony(paths: Iterable[Path], wanted: Mapping[int, TupleTree]) -> Testimony:
    """What those files tell of the wanted trees; a folder is one of logs, if it has any, else one of traces."""
    traces, logs = _sorted(paths)
    reading, told = read(traces), WorkerLogs(logs, wanted.keys())
    heard = _Heard(wanted)
    seen = suspicions(heard.noted(reading.events, told.events), wanted)
    trees = (heard.tree(wanted[root]) for root in wanted if seen[root] or root in heard)
    return Testimony(
        trees=tuple(blame(tree, seen[tree.root]) for tree in trees),
        logs=bool(logs),
        unreadable=(*map(_neither, reading.unreadable), *told.unreadable),
    )


def _neither(fault: Unreadable) -> Unreadable:
    """The reader of traces does not know that a log would do."""
    return replace(fault, reason=fault.reason + ", nor a worker's log") if fault.reason == _FOREIGN else fault


def _sorted(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Traces, and worker logs."""
    traces: list[Path] = []
    logs: list[Path] = []
    for path in paths:
        within = sorted({each for form in _LOGS for each in path.rglob(form)}) if path.is_dir() else [path]
        found = [each for each in within if each.is_file() and is_log(each)]
        logs += found
        if not found:
            traces.append(path)
    return traces, logs


class _Heard:
    """What became of each root, as far as it is told: by an answer to its spout, else by the messages themselves."""

    def __init__(self, wanted: Mapping[int, TupleTree]) -> None:
        self._wanted = wanted
        self._answers: dict[int, Verdict] = {}
        self._sums: dict[int, int] = {}  # the values so far
        self._asked: set[int] = set()  # an init came
        self._ends: dict[int, Verdict] = {}  # the sum came to zero, or a fail was there

    def __contains__(self, root: int) -> bool:
        return root in self._asked or root in self._answers

    def noted(self, *readings: Callable[[], Iterator[Event]]) -> Iterator[Event]:
        """All events, as they are read."""
        for event in chain.from_iterable(reading() for reading in readings):
            if event.root in self._wanted:
                self._note(event)
            yield event

    def _note(self, event: Event) -> None:
        root, kind = event.root, event.kind
        if kind in _ANSWERS:
            self._answers.setdefault(root, _ANSWERS[kind])
        elif kind in {EventKind.INIT, EventKind.ACK}:
            self._sums[root] = self._sums.get(root, 0) ^ event.value
            if kind is EventKind.INIT:
                self._asked.add(root)
            if root in self._asked and not self._sums[root]:
                self._ends.setdefault(root, Verdict.COMPLETE)
        elif kind is EventKind.FAIL:
            self._ends.setdefault(root, Verdict.FAILED)

    def tree(self, tree: TupleTree) -> TupleTree:
        """The tree with what its spout has heard; who had asked for an orphan and got no answer has timed out."""
        verdict = self._answers.get(tree.root)
        if _orphan(tree):
            ended = self._ends.get(tree.root, Verdict.EXPIRED) if tree.root in self._asked else None
            verdict = verdict or ended
        elif verdict is not Verdict.EXPIRED:
            return tree
        return replace(tree, verdict=verdict, residue=residue(tree.entry, verdict)) if verdict else tree
