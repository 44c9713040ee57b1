"""The lives of workers, as their logs tell them: when one was started anew, and which acker remembers nothing since.

A worker's log goes on with its next process.  Executors are loaded only where a process begins: so one has begun where an
executor is loaded that was already, or the first in a log that has told of roots before (its own beginning was rotated away).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ackdoctor.spark.deliveries import NO_PROCESS, Life
from ackdoctor.spark.read.logbook import TURN_BITS, Log, Start, Survey, names_of, quoted

__all__ = ["Lives"]

_END = (1 << 63) - 1  # behind every `seq`
_Worker = tuple[str, str]  # its run and its name


class _Anew(NamedTuple):
    """An acker that was started, though not for the first time: how often before, and whether by the same worker."""

    start: Start
    number: int
    again: bool


class Lives:
    """What a Survey tells of them."""

    def __init__(self, surveyed: Survey) -> None:
        self._surveyed = surveyed
        self._placed = {log.file: log for log in surveyed.logs if not log.copy_of}

    def incarnation(self) -> str:
        """How often the acker of a row had been started before the start that the row comes after, as SQL."""
        worker_of_row = self._surveyed.said("worker", "file")
        places = [
            f"when acker = {task} and {worker_of_row} = {quoted(worker)} and seq >= {anew.start.seq} then {anew.number}"
            for (_, worker, task), restarts in self._ackers.items()
            for anew in reversed(restarts)
        ]
        return " ".join(("cast(case when acker is null then null", *places, "else 0 end as int)"))

    def forgotten(self) -> Iterator[tuple[str, int, int, int]]:
        """Run and task of an acker, how often it had been started before, and when it forgot all, in ns: its worker was started anew."""
        for (run, _, task), restarts in self._ackers.items():
            for anew in restarts:
                if anew.again:
                    yield run, task, anew.number - 1, anew.start.time_ns

    def process(self) -> str:
        """`NO_PROCESS`, and one less for each time that the worker of a row had been started anew before it, as SQL."""
        places = [
            f"when log in ({', '.join(map(str, (log.place for log in self.logs(worker))))}) and seq >= {start.seq} then {NO_PROCESS - number}"
            for worker, anew in self.anew.items()
            for number, start in reversed([*enumerate(anew, start=1)])
        ]
        return " ".join(("case", *places, f"else {NO_PROCESS} end")) if places else str(NO_PROCESS)

    def ends(self, ended: Mapping[str, Callable[[], int | None]]) -> dict[Life, int]:
        """When the last line was written of a worker's last log that tells something, whatever it says, by that life.

        `ended` has that by path, and is asked for these alone; not for a piece, which ends before its file does.
        """
        telling = sorted(
            (log for log in self._placed.values() if log.used and not log.of),
            key=lambda log: log.later + log.turn,
        )
        found: dict[Life, int] = {}
        for (run, worker), log in {(log.run, log.worker): log for log in telling}.items():
            ask = next((ended[name] for name in names_of(log.file) if name in ended), None)
            if (end := ask and ask()) is not None:
                found[run, worker, NO_PROCESS - len(self.anew.get((run, worker), ()))] = end
        return found

    def followed(self) -> dict[Life, int]:
        """When the next life of a worker began, in ns, by the one before."""
        return {
            (*worker, NO_PROCESS - number): start.time_ns
            for worker, starts in self.anew.items()
            for number, start in enumerate(starts)
        }

    @cached_property
    def anew(self) -> dict[_Worker, list[Start]]:
        """By worker, the first executor that was loaded each time that it was started anew."""
        loaded: defaultdict[_Worker, list[Start]] = defaultdict(list)
        for start in sorted(self._surveyed.starts, key=lambda start: start.seq):
            of = self._placed.get(start.file)
            if of is not None and of.place >= 0 and not start.timeless:
                loaded[of.run, of.worker].append(start)
        found: dict[_Worker, list[Start]] = {}
        for worker, starts in loaded.items():
            running: set[tuple[str, int]] = set()
            for start in starts:
                executor = start.component, start.low
                if executor in running or (not running and self._first_row(worker) < start.seq):
                    found.setdefault(worker, []).append(start)
                    running.clear()
                running.add(executor)
        return found

    def logs(self, worker: _Worker) -> list[Log]:
        """Of a worker, but for copies."""
        return [log for log in self._placed.values() if (log.run, log.worker) == worker and log.place >= 0]

    def file(self, start: Start) -> str:
        """Where the start is told, as it lies there: a piece has no file of its own."""
        return self._placed[start.file].of or start.file

    def _first_row(self, worker: _Worker) -> int:
        """The place of a worker's first row that tells of a root, behind all others if it has none."""
        firsts = (log.first.seq + (log.later << TURN_BITS) for log in self.logs(worker) if log.first)
        return min(firsts, default=_END)

    @cached_property
    def _ackers(self) -> dict[tuple[str, str, int], list[_Anew]]:
        """By run, worker and acker task the starts that were not its first."""
        begun: defaultdict[tuple[str, int], list[tuple[int, str, int, Start]]] = defaultdict(list)
        for start in self._surveyed.starts:
            log = self._placed.get(start.file)
            if start.component == "__acker" and not start.timeless and log is not None:
                for task in range(start.low, start.high + 1):
                    begun[log.run, task].append((start.time_ns, log.worker, start.seq, start))
        found: defaultdict[tuple[str, str, int], list[_Anew]] = defaultdict(list)
        for (run, task), starts in begun.items():
            before, number = "", 0
            for _, worker, seq, start in sorted(starts):
                unseen = not before and self._first_row((run, worker)) < seq
                number += unseen
                if number:
                    found[run, worker, task].append(_Anew(start, number, again=unseen or worker == before))
                before, number = worker, number + 1
        return found
