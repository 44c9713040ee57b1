"""A first look at worker logs: the books of each file, their order, and when which acker was started.

One pass over the text.  Two files with the same lines are one log that was copied: only the first is read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.read.stormline import CONTINUED, FOREIGN, QUARANTINED, USED, line_kind, parsed

__all__ = ["Log", "Start", "Survey", "survey"]

_ARTIFACTS = re.compile(r"/workers-artifacts/([^/]+)/\d+/[^/]+$")
_WORKER_FILE = re.compile(r"^(?:(?P<run>.+)-)?worker-\d+\.log")
_ROTATED = re.compile(r"(?:\.\d+)?(?:\.gz)?$")  # worker.log.3.gz
_LOADS = r"Loading executor (?:tasks )?(.+):\[(-?\d+),? (-?\d+)\]"
_DISABLED = r"Timeouts disabled for executor (__acker):\[(-?\d+),? (-?\d+)\]"
_STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:\.(?P<part>\d+))?\S* |(?P<ms>\d+) +\["
)
_CLASSES = (USED, CONTINUED, FOREIGN, QUARANTINED)
_TURN_BITS, _MOST_TURNS = 53, 1 << 10


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Log:
    """One file: lines = used + continued + foreign + quarantined.  `turn` is its place in its worker's rotation."""

    file: str
    run: str = ""
    worker: str = ""
    turn: int = 0
    lines: int = 0
    used: int = 0
    continued: int = 0
    foreign: int = 0
    quarantined: int = 0
    begin_ns: int | None = None
    end_ns: int | None = None
    copy_of: str = ""

    @property
    def balanced(self) -> bool:
        """Whether nothing was lost on the way."""
        return self.lines == self.used + self.continued + self.foreign + self.quarantined


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Start:
    """An executor that was started, or (`timeless`) said that it gets no ticks."""

    file: str
    row: int
    time_ns: int
    component: str
    low: int
    high: int
    timeless: bool = False


@dataclass(kw_only=True)
class Survey:
    """What is known of the logs before they are read."""

    logs: tuple[Log, ...]
    starts: tuple[Start, ...] = ()

    @property
    def ticks_disabled(self) -> bool:
        """Whether an acker said that it never rotates: Storm 0.9.0-rc3 to 1.0.5, 1.1.0 and 1.1.1, or timeouts switched off."""
        return any(start.timeless for start in self.starts)

    @property
    def ackers(self) -> int:
        """How many acker tasks were started; 0 if no log begins early enough to tell."""
        tasks = {
            task
            for start in self.starts
            if start.component == "__acker"
            for task in range(start.low, start.high + 1)
        }
        return len(tasks)

    @cached_property
    def _placed(self) -> dict[str, Log]:
        return {log.file: log for log in self.logs if not log.copy_of}

    def component(self, task: Column) -> Column:
        """Whose task that is, where a start has told; else null."""
        known = {
            number: start.component for start in self.starts for number in range(start.low, start.high + 1)
        }
        if not known:
            return F.lit(None).cast("string")
        return F.try_element_at(_literal_map(known.items()), task)

    def incarnation(self, acker: Column, worker: Column, seq: Column) -> Column:
        """How often the acker had been started before the start that this row comes after."""
        told: Column = F.lit(0)
        for (task, log), places in self._restarts().items():
            here = (acker == task) & (worker == log)
            for place, number in places:
                told = F.when(here & (seq >= place), number).otherwise(told)
        return told

    def _restarts(self) -> dict[tuple[int, str], list[tuple[int, int]]]:
        """By acker task and worker: the places of starts that are not the first, with their number."""
        begun: dict[tuple[str, int], list[tuple[int, str, int]]] = defaultdict(list)
        for start in self.starts:
            log = self._placed.get(start.file)
            if start.component == "__acker" and not start.timeless and log is not None:
                for task in range(start.low, start.high + 1):
                    place = (log.turn << _TURN_BITS) | start.row
                    begun[log.run, task].append((start.time_ns, log.worker, place))
        found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        for (_, task), starts in begun.items():
            for number, (_, worker, place) in enumerate(sorted(starts)):
                if number:
                    found[task, worker].append((place, number))
        return found


def survey(read: DataFrame) -> Survey:
    """Reads LINES once; files come back in the order of their workers and of their rotation."""
    told = parsed(read, "file", "row").select(
        "file", "text", "time_ns", line_kind(F.col("kind"), F.col("fault"), F.col("text")).alias("is")
    )
    found = (
        told.groupBy("file")
        .agg(
            F.count("*").alias("lines"),
            *(F.count_if(F.col("is") == name).alias(name) for name in _CLASSES),
            F.min("time_ns").alias("begin_ns"),
            F.max("time_ns").alias("end_ns"),
            F.bit_xor(F.xxhash64("text")).alias("hash"),
        )
        .collect()
    )
    starts = tuple(_starts(read))
    logs = []
    first: dict[tuple[int, int], str] = {}
    for row in sorted(found, key=lambda row: (not _whose(row["file"])[0], row["file"])):
        begun = [start.time_ns for start in starts if start.file == row["file"]]
        times = [time for time in (row["begin_ns"], *begun) if time is not None]
        run, worker = _whose(row["file"])
        logs.append(
            Log(
                file=row["file"],
                run=run,
                worker=worker,
                lines=row["lines"],
                **{name: row[name] for name in _CLASSES},
                begin_ns=min(times, default=None),
                end_ns=row["end_ns"],
                copy_of=first.setdefault((row["lines"], row["hash"]), row["file"]),
            )
        )
    return Survey(logs=tuple(_in_turn(logs)), starts=starts)


def _starts(read: DataFrame) -> Iterator[Start]:
    """Executors that were started; there are few such lines."""
    text = F.col("text")
    notable = text.contains("Loading executor ") | text.contains("Timeouts disabled for executor __acker")
    for row in read.where(notable).collect():
        for pattern, timeless in ((_LOADS, False), (_DISABLED, True)):
            if (told := re.search(pattern, row["text"])) and (stamp := _STAMP.match(row["text"])):
                yield Start(
                    file=row["file"],
                    row=row["row"],
                    time_ns=_nanoseconds(stamp),
                    component=told[1],
                    low=int(told[2]),
                    high=int(told[3]),
                    timeless=timeless,
                )


def _nanoseconds(stamp: re.Match[str]) -> int:
    if stamp["ms"]:
        return int(stamp["ms"]) * 1_000_000
    at = datetime.fromisoformat(f"{stamp['day']} {stamp['time']}").replace(tzinfo=timezone.utc)
    return int(at.timestamp()) * 1_000_000_000 + int((stamp["part"] or "0").ljust(3, "0")[:3]) * 1_000_000


def _whose(file: str) -> tuple[str, str]:
    """The run, where the path names the topology, and the worker: the path without what a rotation adds."""
    path = PurePosixPath(unquote(file))
    worker = str(path.with_name(_ROTATED.sub("", path.name)))
    if below := _ARTIFACTS.search(str(path)):
        return below[1], worker
    named = _WORKER_FILE.match(path.name)
    return (named["run"] or "") if named else "", worker


def _in_turn(logs: list[Log]) -> Iterator[Log]:
    """The logs of each worker by their first line: log4j numbers the oldest file 1, logback the newest."""
    by_worker: dict[str, list[Log]] = defaultdict(list)
    for log in logs:
        by_worker[log.worker].append(replace(log, copy_of="" if log.copy_of == log.file else log.copy_of))
    for rotated in by_worker.values():
        rotated.sort(key=lambda log: (log.begin_ns or 0, log.end_ns or 0, log.file))
        if len(rotated) > _MOST_TURNS:
            raise UsageError(
                f"{rotated[0].worker}: {len(rotated)} files of one worker; at most {_MOST_TURNS}"
            )
        yield from (replace(log, turn=turn) for turn, log in enumerate(rotated))


def _literal_map(pairs: Iterable[tuple[int, str]]) -> Column:
    return F.create_map(*(F.lit(each) for each in chain.from_iterable(pairs)))
