"""PARSED -> EVENTS and QUARANTINE of worker logs: restarts of workers and ackers, tasks without a line, and notes."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from shlex import quote
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from pyspark.sql import DataFrame, Row

from ackdoctor.model.trace import EventKind
from ackdoctor.spark.deliveries import NO_PROCESS, Life
from ackdoctor.spark.frames import quoted
from ackdoctor.spark.read import log_lines
from ackdoctor.spark.read.log_lines import QUARANTINED, USED
from ackdoctor.spark.read.logs import Start, Survey
from ackdoctor.spark.schema import EVENTS, QUARANTINE

__all__ = ["Restarts", "events", "missing_tasks", "notes", "quarantine"]

_RECEIVED, _ROTATED = int(EventKind.RECEIVED), int(EventKind.ROTATED)
_LAST_SEQ = (1 << 63) - 1  # after every `seq`
_ACKER = "__acker"
_BEGINNING = 400  # characters of a line, with its thread
_THREAD = r"r'Thread-[0-9]+-[^\[]*\[[0-9]+,? [0-9]+\]'"
_NUMBERS = re.compile(r"\d+")
_MOST_NAMED = 3

_Worker: TypeAlias = tuple[str, str]  # its run and its name


def events(parsed: DataFrame, survey: Survey) -> DataFrame:
    """Return the EVENTS of the logs that are used."""
    anonymous = f"kind = {_RECEIVED} and task = 0"  # Storm 0.9 does not log who receives a tuple
    rows = survey.used_rows(parsed.where(f"is = {USED} and not ({anonymous})"))
    restarts = Restarts(survey)
    late = {
        "component": survey.component("component", "task"),
        "pid": restarts.pid(),
        "incarnation": restarts.incarnation(),
        **dict.fromkeys(("site", "test", "note"), "''"),
    }
    return rows.selectExpr(*(f"{late.get(name, name)} as {name}" for name in EVENTS.names))


def quarantine(parsed: DataFrame, survey: Survey) -> DataFrame:
    """Return QUARANTINE: each line that claims to be about a tuple and cannot be used."""
    rows = survey.used_rows(parsed.where(f"is = {QUARANTINED}"))
    columns = {"file": "path", "place": "seq", "text": "text", "reason": log_lines.reason("fault")}
    return rows.selectExpr(*(f"{columns[name]} as {name}" for name in QUARANTINE.names))


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

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._logs = {log.file: log for log in survey.logs if log.is_used and log.number >= 0}

    def pid(self) -> str:
        """SQL: `NO_PROCESS`, and one less for each restart of the worker before the row."""
        cases = [
            f"when run = {quoted(run)} and worker = {quoted(worker)} and seq >= {start.seq} then {NO_PROCESS - number}"
            for (run, worker), starts in self.workers.items()
            for number, start in reversed([*enumerate(starts, start=1)])
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

    def log_ends(self, ended: Mapping[str, int | None]) -> dict[Life, int]:
        """Return when the last line of each worker's last log was written, by the worker's last life; `ended` is by path."""
        found: dict[Life, int] = {}
        for log in sorted(self._logs.values(), key=lambda log: log.turn):
            life = (log.run, log.worker, NO_PROCESS - len(self.workers.get((log.run, log.worker), ())))
            if log.used:
                found.pop(life, None)
                if (
                    end := next((ended[name] for name in _names_of(log.file) if name in ended), None)
                ) is not None:
                    found[life] = end
        return found

    def next_starts(self) -> dict[Life, int]:
        """Return when the next life of a worker began, in ns, by the life before it."""
        return {
            (*worker, NO_PROCESS - number): start.time_ns
            for worker, starts in self.workers.items()
            for number, start in enumerate(starts)
        }

    @cached_property
    def workers(self) -> dict[_Worker, list[Start]]:
        """By worker, the first executor that was loaded at each restart."""
        loaded: defaultdict[_Worker, list[Start]] = defaultdict(list)
        for start in sorted(self._survey.starts, key=lambda start: start.seq):
            if not start.timeless:
                log = self._logs[start.file]
                loaded[log.run, log.worker].append(start)
        found: dict[_Worker, list[Start]] = {}
        for worker, starts in loaded.items():
            running: set[tuple[str, int]] = set()
            for start in starts:
                executor = start.component, start.low
                if executor in running or (not running and self._first_root(worker) < start.seq):
                    found.setdefault(worker, []).append(start)
                    running.clear()
                running.add(executor)
        return found

    @cached_property
    def _ackers(self) -> dict[tuple[str, str, int], list[_AckerStart]]:
        """By run, worker and acker task, the starts that were not its first."""
        begun: defaultdict[tuple[str, int], list[tuple[int, str, int, Start]]] = defaultdict(list)
        for start in self._survey.starts:
            if start.component == "__acker" and not start.timeless:
                log = self._logs[start.file]
                for task in range(start.low, start.high + 1):
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


def _names_of(file: str) -> tuple[str, ...]:
    """Return the names by which a user may have named the file."""
    plain = unquote(file)
    return (file, plain, re.sub(r"^file:/+", "/", plain))


def missing_tasks(read: DataFrame, parsed: DataFrame, survey: Survey) -> tuple[str, ...]:
    """Return tasks that send or receive tuples and have no line of their own, as `bolt[3]`: their workers' logs are missing.

    Task ids are unique in a topology.  Storm 0.9 does not log which task receives or acks: a component that sends
    messages to an acker counts as seen.
    """
    sent = int(EventKind.SENT)
    taken = f"acker is not null and kind != {_ROTATED}"
    own = f"coalesce(acker, task) as task, if(acker is not null, '{_ACKER}', component) as name"
    peer = f"if({taken}, task, peer) as task, if({taken}, component, peer_name) as name"
    pairs = survey.used_rows(parsed.where(f"is = {USED} and first")).selectExpr(
        "run",
        f"inline(array(struct({own}, true as seen, kind = {sent} as sends), struct({peer}, false as seen, false as sends)))",
    )
    by_run: defaultdict[str, list[Row]] = defaultdict(list)
    for row in pairs.distinct().collect():
        by_run[row["run"]].append(row)
    absent = {task: name for run, rows in by_run.items() for task, name in _absent(run, rows, survey)}
    if absent:  # an executor that is dead or stuck has lines about no tuple
        threads = read.selectExpr(
            f"regexp_extract_all(substring(text, 1, {_BEGINNING}), {_THREAD}, 0) as threads"
        )
        named = threads.where("size(threads) > 0").selectExpr("threads[0] as thread").distinct()
        for row in named.collect():
            low, high = map(int, _NUMBERS.findall(row["thread"])[-2:])
            absent = {task: name for task, name in absent.items() if not low <= task <= high}
    return tuple(sorted(absent.values()))


def _absent(run: str, rows: Sequence[Row], survey: Survey) -> Iterator[tuple[int, str]]:
    runs = {log.file: log.run for log in survey.logs}
    seen = {row["task"] for row in rows if row["seen"] and row["task"]}
    senders = {row["name"] for row in rows if row["sends"]}
    names = {row["task"]: row["name"] for row in rows if row["name"]}
    for start in survey.starts:
        if runs.get(start.file, "") == run:
            tasks = range(start.low, start.high + 1)
            seen.update(tasks)
            names.update(dict.fromkeys(tasks, start.component))
    named = {row["task"] for row in rows if not row["seen"] and (row["task"] or 0) > 0}
    for task in named - seen:
        name = names.get(task, "")
        if name not in senders:
            yield task, f"{name}[{task}]" if name else f"task {task}"


def notes(survey: Survey, restarts: Restarts, shorten: Callable[[str], str]) -> Iterator[str]:
    """Yield notes on workers that restarted, logs that repeat others, and times that go back."""
    often = sorted(restarts.workers.items(), key=lambda worker: (-len(worker[1]), worker[0]))
    for _, starts in often[:_MOST_NAMED]:
        log, times = shorten(starts[-1].file), "once" if len(starts) == 1 else f"{len(starts):,} times"
        yield f"the worker of {log} restarted {times}: `ackdoctor diagnose {quote(log)}` looks for the reason"
    if others := often[_MOST_NAMED:]:
        yield f"{len(others):,} more workers restarted, {sum(len(starts) for _, starts in others):,} times"
    for file, other in survey.repeated[:_MOST_NAMED]:
        if other:
            yield f"{shorten(file)} repeats lines of {shorten(other)}: only the latter is used"
        else:
            yield f"{shorten(file)} holds the same lines twice: it is not used"
    if more := survey.repeated[_MOST_NAMED:]:
        yield f"{len(more):,} more logs repeat lines: they are not used"
    for file, seconds in survey.disordered[:_MOST_NAMED]:
        yield (
            f"the times of {shorten(file)} go back by {seconds:,} s (joined or sorted files, or a clock that was set back): "
            "its lines are judged in their order"
        )
    if further := survey.disordered[_MOST_NAMED:]:
        yield f"the times of {len(further):,} more logs go back"
