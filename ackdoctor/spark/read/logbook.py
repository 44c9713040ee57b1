"""What is known of worker logs as files: their order, the books of each, and when which acker was started.

Two files that tell the same are one log that was copied: only the first is used.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.errors import UsageError
from ackdoctor.model.event import EventKind
from ackdoctor.spark.read.stamps import stamped_ns
from ackdoctor.spark.read.stormline import CONTINUED, FOREIGN, LOADS, QUARANTINED, TIMELESS, TIMEOUT, USED

__all__ = [
    "CONTENT",
    "MOST_TURNS",
    "TURN_BITS",
    "Edge",
    "Log",
    "Passed",
    "Start",
    "Survey",
    "arranged",
    "names_of",
    "quoted",
    "starts",
    "survey",
    "worker_of",
]

CONTENT = "xxhash64(time_ns, kind, task, root, value, acker)"  # by which a row is known in another log

_ARTIFACTS = re.compile(r"/workers-artifacts/([^/]+)/\d+/[^/]+$")
_WORKER_FILE = re.compile(r"^(?:(?P<run>.+)-)?worker-\d+\.log")
_ROTATED = re.compile(r"(?:\.(\d+))?(?:\.gz)?$")  # worker.log.3.gz
_ENDS = {
    "first": "min(seq)",
    "last": "max(seq)",
    "first_content": f"min_by({CONTENT}, seq)",
    "last_content": f"max_by({CONTENT}, seq)",
}
_CLASSES = {USED: "used", CONTINUED: "continued", FOREIGN: "foreign", QUARANTINED: "quarantined"}
_BETWEEN = "\u0001"
_TICK = int(EventKind.ROTATED)
TURN_BITS, MOST_TURNS = 53, 1 << 10  # of `seq`: what is above the row in its file


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Log:
    """One file, and what became of its lines that were not passed over.  `turn` is its place in its worker's rotation, `place` among all.

    Where other logs tell some of it too (`overlaps`), what is told twice is counted as foreign, and said of it here.
    """

    file: str
    place: int = -1
    run: str = ""
    worker: str = ""
    turn: int = 0
    used: int = 0
    continued: int = 0
    foreign: int = 0
    quarantined: int = 0
    begin_ns: int | None = None
    end_ns: int | None = None
    first: "Edge | None" = None  # the first row that tells of a root, and the last
    last: "Edge | None" = None
    copy_of: str = ""
    # the `seq` of the rows that no earlier log has told, nor one that goes on from it tells
    fresh: range | None = None
    again: int = 0  # how many of its lines an earlier log has told
    after: str = ""  # the first file of the worker that it goes on from
    later: int = 0  # how many turns its worker had before its own
    of: str = ""  # the file that it is a piece of (`pieces`)


class Edge(NamedTuple):
    """A row at an end of a log: its place, and what it tells."""

    seq: int
    content: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Passed:
    """All lines that were read, and those of them that were seen at once to tell nothing.

    `dropped` counts the messages that the workers' connections say they gave up.
    """

    lines: int = 0
    foreign: int = 0
    continued: int = 0
    dropped: int = 0

    def __sub__(self, other: "Passed") -> "Passed":
        return Passed(
            lines=self.lines - other.lines,
            foreign=self.foreign - other.foreign,
            continued=self.continued - other.continued,
            dropped=self.dropped - other.dropped,
        )


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Start:
    """An executor that was started, or (`timeless`) said that it gets no ticks."""

    file: str
    seq: int
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
    passed: Passed = field(default_factory=Passed)  # of the logs that are no copies
    torn: tuple[tuple[str, str], ...] = ()  # files that overlap with another, and differ from it there
    # files that hold several logs, and what is said of them; and those that are read in another order
    pieces: tuple[tuple[str, str], ...] = ()
    disordered: tuple[tuple[str, str], ...] = ()
    left_out: int = 0  # lines that only one of such two has, and that are not used
    ticks_s: tuple[int, ...] = ()  # the periods of the ackers' ticks: Storm makes them the message timeout
    configured_s: tuple[int, ...] = ()  # topology.message.timeout.secs, as the workers dump it

    @property
    def timeouts_s(self) -> tuple[int, ...]:
        """The message timeouts that the logs name, in rising order; one topology has one."""
        return tuple(sorted({*self.ticks_s, *self.configured_s}))

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

    def fresh(self) -> str:
        """Whether no other log has told a row before, as SQL."""
        known = {log.place: _within(log.fresh) for log in self.logs if log.fresh is not None}
        return _of_log(known | {log.place: "false" for log in self.logs if log.copy_of}, else_="true")

    def seq(self) -> str:
        """The place of a row among all of its worker's, as SQL."""
        later = {log.place: f"seq + {log.later << TURN_BITS}L" for log in self.logs if log.later}
        return _of_log(later, else_="seq")

    def said(self, name: str, else_: str) -> str:
        """What each log says of itself, as SQL on `log`."""
        known = {log.place: str(getattr(log, name)) for log in self.logs if log.place >= 0}
        if not known:
            return else_
        texts = quoted(_BETWEEN.join(known.get(place, "") for place in range(max(known) + 1)))
        return f"if(log < 0, {else_}, element_at(split({texts}, '{_BETWEEN}'), log + 1))"

    def component(self, name: str, task: str) -> str:
        """That component, or where it is empty whose task that is, if a start has told, as SQL."""
        known = {
            number: start.component for start in self.starts for number in range(start.low, start.high + 1)
        }
        if not known:
            return name
        tasks = ", ".join(f"{number}, {quoted(component)}" for number, component in known.items())
        return f"if({name} != '', {name}, coalesce(try_element_at(map({tasks}), {task}), ''))"


def arranged(files: Iterable[str], begun: Mapping[str, int | None]) -> tuple[Log, ...]:
    """The logs in the order of their workers and of their rotation; `files` as Spark names them, `begun` by path or by that name."""
    by_worker: dict[str, list[Log]] = defaultdict(list)
    for file in sorted(re.sub(r"^file:/+", "file:/", name) for name in files):
        run, worker = _whose(file)  # `_metadata.file_path` has one slash, `inputFiles` three
        begin = next((begun[name] for name in names_of(file) if name in begun), None)
        by_worker[worker].append(Log(file=file, run=run, worker=worker, begin_ns=begin))
    found: list[Log] = []
    for rotated in by_worker.values():
        if len(rotated) > MOST_TURNS:
            raise UsageError(f"{rotated[0].worker}: {len(rotated)} files of one worker; at most {MOST_TURNS}")
        found += (replace(log, turn=turn) for turn, log in enumerate(_in_turn(rotated)))
    return tuple(replace(log, place=place) for place, log in enumerate(found))


def _in_turn(rotated: Iterable[Log]) -> list[Log]:
    """The files of one worker, the oldest first: by their numbers, and last the one that is written to.

    log4j numbers the oldest file 1, logback the newest: when most of them begin says which.  A clock that is put
    back in between changes the order of few.
    """
    numbered = sorted((_number(log.file), log.begin_ns or 0, log.file, log) for log in rotated)
    files = [log for number, *_, log in numbered if number]
    steps = [(a.begin_ns or 0) - (b.begin_ns or 0) for a, b in pairwise(files)]
    if sum(step > 0 for step in steps) > sum(step < 0 for step in steps):
        files.reverse()
    return files + [log for number, *_, log in numbered if not number]


def _number(file: str) -> int:
    """Of a rotated file; 0 of the one that is written to."""
    found = _ROTATED.search(file)
    return int(found[1] or 0) if found else 0


def survey(told: DataFrame, logs: Sequence[Log]) -> Survey:
    """The books of each log, and the starts that it tells of: TOLD is read twice, and should be kept."""
    rows = (
        told.groupBy("log", "file", "is")
        .agg(
            F.expr("count_if(first) as lines"),
            F.expr("min(time_ns) as begin_ns"),
            F.expr("max(time_ns) as end_ns"),
            F.expr(f"bit_xor(if(is = {USED}, {CONTENT}, null)) as content"),
            *(
                F.expr(f"{of} filter (where is = {USED} and root != 0) as {name}")
                for name, of in _ENDS.items()
            ),
            *(
                F.expr(f"{which}(value) filter (where kind = {_TICK} and value > 0) as {which}_tick")
                for which in ("min", "max")
            ),
        )
        .collect()
    )
    files = {log.place: log.file for log in logs}
    found: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        found[row["file"] or files[row["log"]]][row["is"]] = row
    known = {log.file: log for log in logs}
    for file in found.keys() - known.keys():  # Spark names a file otherwise than we thought: no line is lost
        known[file] = Log(file=file, worker=file)
    filled: list[Log] = []
    earlier: dict[tuple[object, ...], str] = {}
    for log in sorted(known.values(), key=lambda log: (not log.run, log.file)):
        counts = {_CLASSES[is_]: row["lines"] for is_, row in found[log.file].items()}
        used = found[log.file].get(USED)
        if used is None:
            filled.append(replace(log, **counts))
            continue
        same = (*counts.items(), used["content"], used["begin_ns"], used["end_ns"])
        original = earlier.setdefault(tuple(sorted(map(str, same))), log.file)
        filled.append(
            replace(
                log,
                **counts,
                begin_ns=min(log.begin_ns or used["begin_ns"], used["begin_ns"]),
                end_ns=used["end_ns"],
                first=_edge(used, "first"),
                last=_edge(used, "last"),
                copy_of="" if original == log.file else original,
            )
        )
    notable = _notable(told).collect()
    ticks = {row[f"{which}_tick"] for row in rows for which in ("min", "max")} - {None}
    configured = {int(said) for row in notable for said in re.findall(TIMEOUT, row["text"])[-1:]}
    return Survey(
        logs=tuple(filled),
        starts=tuple(_starts(notable, files)),
        ticks_s=tuple(sorted(ticks)),
        configured_s=tuple(sorted(configured)),
    )


def starts(told: DataFrame, places: Collection[int]) -> Iterator[tuple[int, Start]]:
    """The starts that the logs at these places tell of, with those places."""
    rows = _notable(told).where(F.col("log").isin([*places])).collect()
    for row in rows:
        yield from ((row["log"], start) for start in _starts([row], {row["log"]: ""}))


def _notable(told: DataFrame) -> DataFrame:
    return told.where(f"is = {FOREIGN} and text is not null").select("log", "file", "seq", "text")


def _edge(row: Row, end: str) -> Edge | None:
    return None if row[end] is None else Edge(row[end], row[f"{end}_content"])


def _starts(rows: Iterable[Row], files: Mapping[int, str]) -> Iterator[Start]:
    """Executors that were started."""
    for row in rows:
        for pattern, timeless in ((LOADS, False), (TIMELESS, True)):
            if told := re.search(pattern, row["text"]):
                yield Start(
                    file=row["file"] or files[row["log"]],
                    seq=row["seq"],
                    time_ns=stamped_ns(row["text"]) or 0,
                    component=told[1],
                    low=int(told[2]),
                    high=int(told[3]),
                    timeless=timeless,
                )


def names_of(file: str) -> tuple[str, ...]:
    """How a user may have named the file."""
    plain = unquote(file)
    return (file, plain, re.sub(r"^file:/+", "/", plain))


def worker_of(file: str) -> str:
    """The worker whose log it is: the path without what a rotation adds."""
    return _whose(file)[1]


def _whose(file: str) -> tuple[str, str]:
    """The run, where the path names the topology, and the worker: the path without what a rotation adds."""
    path = PurePosixPath(unquote(file))
    worker = str(path.with_name(_ROTATED.sub("", path.name)))
    if below := _ARTIFACTS.search(str(path)):
        return below[1], worker
    named = _WORKER_FILE.match(path.name)
    return (named["run"] or "") if named else "", worker


def _within(fresh: range) -> str:
    return f"seq between {fresh.start} and {fresh.stop - 1}"


def _of_log(said: Mapping[int, str], *, else_: str) -> str:
    """What is said of some logs, by their places, as SQL."""
    cases = (f"when {place} then {what}" for place, what in said.items())
    return " ".join(("case log", *cases, f"else {else_} end")) if said else else_


def quoted(text: str) -> str:
    """A literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
