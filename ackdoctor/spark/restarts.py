"""Restarts: the logs of workers, the executors that they load, and where a worker or an acker starts again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from ackdoctor.spark.deliveries import NO_PROCESS, WorkerProcess
from ackdoctor.spark.inputs import unescaped
from ackdoctor.spark.session import quoted

TURN_BITS, MOST_TURNS = 53, 1 << 10  # of `seq`: above the row in its file
ACKER = "__acker"
_LAST_SEQ = (1 << 63) - 1  # after every `seq`

_Worker: TypeAlias = tuple[str, str]  # its run and its name


@dataclass(slots=True, kw_only=True)
class Log:
    """One file, with the number of parsed lines of each class.

    `number` is its number among all files, -1 if Spark names it otherwise; `turn` its place in its worker's rotation.
    """

    file: str
    number: int = -1
    run: str = ""
    worker: str = ""
    turn: int = 0
    used: int = 0
    continued: int = 0
    foreign: int = 0
    quarantined: int = 0
    begin_ns: int | None = None
    end_ns: int | None = None
    first_row: int | None = None  # the first with a root
    copy_of: str = ""
    after_gap: str = ""  # the file before it in the rotation, if files between them are missing
    repeats: bool = False  # it holds lines of another log, or lines twice, and is not used

    @property
    def is_used(self) -> bool:
        """Whether its rows are among EVENTS."""
        return not self.copy_of and not self.repeats

    def seq(self, row: int) -> int:
        """Return the position of one of its rows among all of its worker's."""
        return self.turn << TURN_BITS | row


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Start:
    """An executor that was loaded, or (`timeless`) an acker that said that it gets no ticks."""

    file: str
    seq: int
    time_ns: int
    component: str
    low: int
    high: int
    timeless: bool = False

    @property
    def tasks(self) -> range:
        """The tasks of the executor."""
        return range(self.low, self.high + 1)


class _AckerStart(NamedTuple):
    """A start of an acker that was not its first: how many came before, and whether its worker is the same."""

    start: Start
    number: int
    same_worker: bool


class Restarts:
    """The restarts of workers, and of the ackers in them, which forget all their entries.

    A worker's log continues with its next process.  Executors are loaded only when a process starts: so the worker restarted
    where an executor is loaded that was already, or the first in a log that had roots before (its start was rotated away).
    """

    def __init__(self, logs: Iterable[Log], starts: Iterable[Start]) -> None:
        self._logs = {log.file: log for log in logs if log.is_used and log.number >= 0}
        self._starts = [start for start in starts if not start.timeless]

    def pid(self) -> str:
        """SQL: `NO_PROCESS`, and one less for each restart of the worker, or missing file, before the row."""
        cases = [
            f"when run = {quoted(run)} and worker = {quoted(worker)} and seq >= {seq} then {NO_PROCESS - number}"
            for (run, worker), begins in self._begins.items()
            for number, (seq, _) in reversed([*enumerate(begins, start=1)])
        ]
        return " ".join(("case", *cases, f"else {NO_PROCESS} end")) if cases else str(NO_PROCESS)

    def incarnation(self) -> str:
        """SQL: how often the acker of a row had been started before the start that precedes the row."""
        cases = [
            f"when acker = {task} and worker = {quoted(worker)} and seq >= {again.start.seq} then {again.number}"
            for (_, worker, task), starts in self._ackers.items()
            for again in reversed(starts)
        ]
        return " ".join(("cast(case when acker is null then null", *cases, "else 0 end as int)"))

    def of_ackers(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield run, acker, incarnation before it, and time in ns of each restart of an acker by its own worker."""
        for (run, _, task), starts in self._ackers.items():
            for again in starts:
                if again.same_worker:
                    yield run, task, again.number - 1, again.start.time_ns

    def log_ends(self, ended: Mapping[str, int | None]) -> dict[WorkerProcess, int]:
        """Return when the last line of each worker's last log was written, by the worker's last process; `ended` is by path."""
        found: dict[WorkerProcess, int] = {}
        for log in sorted(self._logs.values(), key=lambda log: log.turn):
            process = (log.run, log.worker, NO_PROCESS - len(self._begins.get((log.run, log.worker), ())))
            if log.used:
                found.pop(process, None)
                names = (log.file, unquote(log.file), unescaped(log.file))  # as the user may have named it
                if (end := next((ended[name] for name in names if name in ended), None)) is not None:
                    found[process] = end
        return found

    def next_starts(self) -> dict[WorkerProcess, int]:
        """Return when the next process of a worker began, in ns, by the process before it."""
        return {
            (*worker, NO_PROCESS - number): start.time_ns
            for worker, begins in self._begins.items()
            for number, (_, start) in enumerate(begins)
            if start is not None
        }

    @cached_property
    def _begins(self) -> dict[_Worker, list[tuple[int, Start | None]]]:
        """By worker, where its rows begin again: at a restart, or after a missing file."""
        found: defaultdict[_Worker, list[tuple[int, Start | None]]] = defaultdict(list)
        for worker, starts in self.workers.items():
            found[worker] += [(start.seq, start) for start in starts]
        for log in self._logs.values():
            if log.after_gap:
                found[log.run, log.worker].append((log.seq(0), None))
        return {worker: sorted(begins, key=lambda begin: begin[0]) for worker, begins in found.items()}

    @cached_property
    def workers(self) -> dict[_Worker, list[Start]]:
        """By worker, the first executor that was loaded at each restart."""
        found: defaultdict[_Worker, list[Start]] = defaultdict(list)
        running: defaultdict[_Worker, set[tuple[str, int]]] = defaultdict(set)
        for start in sorted(self._starts, key=lambda start: start.seq):
            log = self._logs[start.file]
            worker, executor = (log.run, log.worker), (start.component, start.low)
            now = running[worker]
            if executor in now or (not now and self._first_root(worker) < start.seq):
                found[worker].append(start)
                now.clear()
            now.add(executor)
        return dict(found)

    @cached_property
    def _ackers(self) -> dict[tuple[str, str, int], list[_AckerStart]]:
        """By run, worker and acker task, the starts that were not its first."""
        begun: defaultdict[tuple[str, int], list[tuple[int, str, int, Start]]] = defaultdict(list)
        for start in self._starts:
            if start.component == ACKER:
                log = self._logs[start.file]
                for task in start.tasks:
                    begun[log.run, task].append((start.time_ns, log.worker, start.seq, start))
        found: defaultdict[tuple[str, str, int], list[_AckerStart]] = defaultdict(list)
        for (run, task), starts in begun.items():
            before, number = "", 0
            for _, worker, seq, start in sorted(starts, key=lambda each: each[:3]):
                unseen = not before and self._first_root((run, worker)) < seq
                number += unseen
                if number:
                    same = unseen or worker == before
                    found[run, worker, task].append(_AckerStart(start, number, same_worker=same))
                before, number = worker, number + 1
        return found

    def _first_root(self, worker: _Worker) -> int:
        """Return the position of a worker's first row with a root, behind all others if it has none."""
        logs = (log for log in self._logs.values() if (log.run, log.worker) == worker)
        return min((log.seq(log.first_row) for log in logs if log.first_row is not None), default=_LAST_SEQ)
