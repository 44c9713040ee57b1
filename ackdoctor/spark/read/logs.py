"""Worker logs with `topology.debug`, of Storm 0.9 to 2.x: LINES -> PARSED, and a Survey of the files.

`log_events` derives EVENTS and QUARANTINE from both.

Spark reads the text once: PARSED is cached, and all else is derived from it.  Most lines are of no use: they are counted
while Spark reads them (`observe`), and are not in PARSED.

A delivery is identified by its task and its edges, so its id is what the log prints: "root=edge, root=edge".  Rows of
an acker are in the order in which that acker received its messages, not in that of clocks.

A tuple's arrival is a RECEIVED row and a LINKED one for each root; a transfer to another task is an EMITTED
row with its root and its edge as `value`, without either if it is not anchored; ACKED and FAILED are a bolt's.
COMPLETED, GAVE_UP and TIMED_OUT are what a spout heard, with its own message id.  Storm 0.9 logs neither who receives a tuple
nor that a bolt acks it: such a log gives LINKED rows, and a SENT row for each message to an acker.

The files of a worker are ordered by the numbers that rotation gives them.  A copy of a log is read once.  If two logs hold
the same lines otherwise, only the one that holds more is used; the verdict is then INCOMPLETE, as with times that go back.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model import UsageError
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.frames import Persist, literal_table, quoted
from ackdoctor.spark.read import log_lines
from ackdoctor.spark.read.file_kinds import stamp_ns
from ackdoctor.spark.read.log_lines import CONTINUED, FOREIGN, LOADS, QUARANTINED, TIMELESS, TIMEOUT, USED
from ackdoctor.spark.read.paths import literally

__all__ = [
    "Log",
    "Passed",
    "Start",
    "Survey",
    "in_rotation_order",
    "lines",
    "observed",
    "parsed_lines",
    "read_logs",
    "worker_of",
]

_ROW_BITS = 33  # of `row`: the line in its task
_BLOCK_BITS = 20  # a block is a MiB; 20 bits of `row` are left for the blocks of a file
_TURN_BITS, _MOST_TURNS = 53, 1 << 10  # of `seq`: above the row in its file
_CONTENT = "xxhash64(time_ns, kind, task, root, value, acker)"  # identifies a row in another log
_ARTIFACTS = re.compile(r"/workers-artifacts/([^/]+)/\d+/[^/]+$")
_WORKER_FILE = re.compile(r"^(?:(?P<run>.+)-)?worker-\d+\.log")
_ROTATED = re.compile(r"(?:\.(\d+))?(?:\.gz)?$")  # worker.log.3.gz
_CLASSES = {USED: "used", CONTINUED: "continued", FOREIGN: "foreign", QUARANTINED: "quarantined"}
_TICK = int(EventKind.ROTATED)
_UNIQUE = f"kind in ({int(EventKind.LINKED)}, {int(EventKind.INIT)})"  # no log has such a row twice
_SECOND = 1_000_000_000
_FALL_S = 5  # threads of one process do not write their lines further apart
_MANY_ROWS = 1 << 18
_CHUNK_BITS = 10  # lines of a large log are compared by chunks
_SAMPLE = 1 << 20  # rows by which overlaps are found


# ---- what is known of the logs ----


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Log:
    """One file, with the number of parsed lines of each class.

    `number` is its number among all files, `turn` its place in its worker's rotation.
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
    repeats: bool = False  # it holds lines of another log, or lines twice, and is not used

    @property
    def is_used(self) -> bool:
        """Whether its rows are among EVENTS."""
        return not self.copy_of and not self.repeats

    def seq(self, row: int) -> int:
        """Return the position of one of its rows among all of its worker's."""
        return self.turn << _TURN_BITS | row


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Passed:
    """All lines of logs that are no copies, and how many of them were at once seen to be of no use.

    `dropped` counts the messages that the workers' connections say they dropped.
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
    """An executor that was loaded, or (`timeless`) an acker that said that it gets no ticks."""

    file: str
    seq: int
    time_ns: int
    component: str
    low: int
    high: int
    timeless: bool = False


@dataclass(kw_only=True)
class Survey:
    """What is known of the logs as files."""

    logs: tuple[Log, ...] = ()
    starts: tuple[Start, ...] = ()
    passed: Passed = field(default_factory=Passed)
    ticks_s: tuple[int, ...] = ()  # the periods of the ackers' ticks, which Storm makes the message timeout
    configured_s: tuple[int, ...] = ()  # topology.message.timeout.secs, as the workers dump it
    repeated: tuple[tuple[str, str], ...] = ()  # logs that are not used, and the log that holds their lines
    disordered: tuple[tuple[str, int], ...] = ()  # logs whose times go back, and by how many seconds at most

    @property
    def timeouts_s(self) -> tuple[int, ...]:
        """The message timeouts that the logs name, in rising order; one topology has one."""
        return tuple(sorted({*self.ticks_s, *self.configured_s}))

    @property
    def ticks_disabled(self) -> bool:
        """Whether an acker said that it never rotates: Storm 0.9.0-rc3 to 1.0.5, 1.1.0 and 1.1.1, or timeouts disabled."""
        return any(start.timeless for start in self.starts)

    @property
    def ackers(self) -> int:
        """How many acker tasks were started; 0 if no log begins early enough to show it."""
        tasks = {
            task
            for start in self.starts
            if start.component == "__acker"
            for task in range(start.low, start.high + 1)
        }
        return len(tasks)

    @property
    def left_out(self) -> int:
        """How many lines about tuples are not used since their log repeats others."""
        return sum(log.used for log in self.logs if log.repeats)

    def component(self, name: str, task: str) -> str:
        """SQL: the component, or if it is empty the one that started with that task."""
        known = {
            number: start.component for start in self.starts for number in range(start.low, start.high + 1)
        }
        if not known:
            return name
        tasks = ", ".join(f"{number}, {quoted(component)}" for number, component in known.items())
        return f"if({name} != '', {name}, coalesce(try_element_at(map({tasks}), {task}), ''))"

    def used_rows(self, parsed: DataFrame) -> DataFrame:
        """Return the PARSED rows of logs that are used, with `run`, `worker`, `path` and `seq`."""
        columns = "log: int, run: string, worker: string, path: string, turn: bigint, is_used: boolean"
        rows = [
            {
                "log": log.number,
                "run": log.run,
                "worker": log.worker,
                "path": log.file,
                "turn": log.turn,
                "is_used": log.is_used,
            }
            for log in self.logs
            if log.number >= 0
        ]
        known = literal_table(parsed.sparkSession, columns, rows)
        return (
            parsed.join(F.broadcast(known), ["log"], "left")
            .where("coalesce(is_used, true)")
            .selectExpr(
                *(name for name in parsed.columns if name not in {"file", "row"}),
                "coalesce(run, '') as run",
                "coalesce(worker, file) as worker",
                "coalesce(path, file) as path",
                f"shiftleft(coalesce(turn, 0L), {_TURN_BITS}) | row as seq",
            )
        )


# ---- LINES -> PARSED ----


def lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return LINES: text, file, and `row`, which orders the lines of a file over all its splits (1 MiB or larger)."""
    row = (
        f"shiftleft(shiftright(_metadata.file_block_start, {_BLOCK_BITS}), {_ROW_BITS}) "
        f"+ (monotonically_increasing_id() & {(1 << _ROW_BITS) - 1}L)"
    )
    text = spark.read.text(literally(paths))
    return text.selectExpr("value as text", "_metadata.file_path as file", f"{row} as row")


def parsed_lines(classified: DataFrame, files: Sequence[str]) -> DataFrame:
    """Return PARSED with the number `log` of each row's file; -1, and its name in `file`, if Spark names it otherwise."""
    numbers = [{"of": file, "log": number} for number, file in enumerate(files)]
    known = literal_table(classified.sparkSession, "of: string, log: int", numbers)
    rows = log_lines.parsed(classified).join(F.broadcast(known), F.col("file") == F.col("of"), "left")
    others = [name for name in rows.columns if name not in {"of", "file", "log"}]
    return rows.selectExpr(*others, "coalesce(log, -1) as log", "if(log is null, file, null) as file")


def read_logs(read: DataFrame, persist: Persist) -> tuple[DataFrame, Survey]:
    """Return PARSED, persisted, and the survey of its logs."""
    files = sorted(re.sub(r"^file:/+", "file:/", name) for name in read.inputFiles())  # as in `_metadata`
    classified, passed = observed(read)
    parsed = persist(parsed_lines(classified, files))
    counted = parsed.groupBy("log", "file", "is").agg(*_counts()).collect()
    logs = _without_repeats(parsed, in_rotation_order(_counted(counted, files)))
    notable = parsed.where(f"is = {FOREIGN} and text is not null").select("log", "file", "row", "text")
    rows = notable.collect()
    by_number = {log.number: log for log in logs.found}
    ticks = {row[f"{which}_tick"] for row in counted for which in ("min", "max")} - {None}
    configured = {int(value) for row in rows for value in re.findall(TIMEOUT, row["text"])[-1:]}
    survey = Survey(
        logs=logs.found,
        starts=tuple(_starts(rows, by_number)),
        passed=_passed(passed),
        ticks_s=tuple(sorted(ticks)),
        configured_s=tuple(sorted(configured)),
        repeated=logs.repeated,
        disordered=tuple(_disordered(parsed, logs.found)),
    )
    if copies := [log.file for log in survey.logs if log.copy_of]:
        again = log_lines.classified(read.where(F.col("file").isin(copies))).agg(*_pass_counts()).collect()
        survey.passed -= Passed(**again[0].asDict())
    return parsed, survey


def observed(read: DataFrame) -> tuple[DataFrame, Observation]:
    """Return the classified LINES, and the counts of those that pass, known once Spark has read them."""
    observation = Observation()
    return log_lines.classified(read).observe(observation, *_pass_counts()), observation


def _passed(observation: Observation) -> Passed:
    """Return what Spark counted; for a table that it knows to be empty it counts nothing, and raises."""
    try:
        return Passed(**observation.get)
    except Py4JJavaError:
        return Passed()


def _pass_counts() -> tuple[Column, ...]:
    counts = {"lines": "count(*)"} | {
        name: f"count_if(not likely and is = {is_})"
        for name, is_ in (("foreign", FOREIGN), ("continued", CONTINUED))
    }
    drops = f'try_cast(regexp_extract(text, r"{log_lines.DROPS}", 1) as bigint)'
    counts["dropped"] = f"coalesce(sum(if(not likely and {log_lines.DROPPED}, {drops}, 0L)), 0L)"
    return tuple(F.expr(count).alias(name) for name, count in counts.items())


# ---- files: order, copies, repeats, times that go back ----


def _counts() -> list[Column]:
    tick = f"filter (where kind = {_TICK} and value > 0)"
    counts = {
        "lines": "count_if(first)",
        "begin_ns": "min(time_ns)",
        "end_ns": "max(time_ns)",
        "content": f"bit_xor(if(is = {USED}, {_CONTENT}, null))",
        "first_row": f"min(row) filter (where is = {USED} and root != 0)",
        "min_tick": f"min(value) {tick}",
        "max_tick": f"max(value) {tick}",
    }
    return [F.expr(count).alias(name) for name, count in counts.items()]


def _counted(rows: Iterable[Row], files: Sequence[str]) -> list[Log]:
    """Return the logs with the counts of their lines; of logs with the same rows, all but the first are copies."""
    by_file: dict[str, dict[int, Row]] = {file: {} for file in files}
    for row in rows:
        by_file.setdefault(row["file"] or files[row["log"]], {})[row["is"]] = row
    logs: list[Log] = []
    originals: dict[tuple[object, ...], str] = {}
    numbers = {file: number for number, file in enumerate(files)}
    whose = {file: _run_and_worker(file) if file in numbers else ("", file) for file in by_file}
    for file in sorted(by_file, key=lambda file: (not whose[file][0], file)):
        run, worker = whose[file]
        counts = {_CLASSES[is_]: row["lines"] for is_, row in by_file[file].items()}
        log = Log(file=file, number=numbers.get(file, -1), run=run, worker=worker, **counts)
        if (used := by_file[file].get(USED)) is not None:
            content = (*sorted(counts.items()), used["content"], used["begin_ns"], used["end_ns"])
            original = originals.setdefault(content, file)
            log = replace(
                log,
                begin_ns=used["begin_ns"],
                end_ns=used["end_ns"],
                first_row=used["first_row"],
                copy_of="" if original == file else original,
            )
        logs.append(log)
    return logs


def in_rotation_order(logs: Iterable[Log]) -> list[Log]:
    """Number the files of each worker by their rotation, the oldest first, and last the one that is written to.

    log4j2 gives the oldest file the smallest number, logback the newest: the times of most decide.
    """
    by_worker: dict[str, list[Log]] = defaultdict(list)
    for log in logs:
        by_worker[log.worker].append(log)
    found: list[Log] = []
    for worker, its in by_worker.items():
        if len(its) > _MOST_TURNS:
            raise UsageError(f"{worker}: {len(its)} files of one worker; at most {_MOST_TURNS}")
        rotated = sorted(
            (log for log in its if _rotation(log.file)), key=lambda log: (_rotation(log.file), log.file)
        )
        begins = [log.begin_ns for log in rotated if log.begin_ns is not None]
        falls = sum(before > after for before, after in pairwise(begins))
        if falls > sum(before < after for before, after in pairwise(begins)):
            rotated.reverse()
        ordered = [*rotated, *(log for log in its if not _rotation(log.file))]
        found += (replace(log, turn=turn) for turn, log in enumerate(ordered))
    return found


def _rotation(file: str) -> int:
    """Return the number of a rotated file; 0 for the one that is written to."""
    found = _ROTATED.search(file)
    return int(found[1] or 0) if found else 0


def worker_of(file: str) -> str:
    """Return the worker of a log: the path without the suffixes of rotation."""
    return _run_and_worker(file)[1]


def _run_and_worker(file: str) -> tuple[str, str]:
    """Return the run, if the path names the topology, and the worker."""
    path = PurePosixPath(unquote(file))
    worker = str(path.with_name(_ROTATED.sub("", path.name)))
    if artifacts := _ARTIFACTS.search(str(path)):
        return artifacts[1], worker
    named = _WORKER_FILE.match(path.name)
    return (named["run"] or "") if named else "", worker


class _Logs(NamedTuple):
    found: tuple[Log, ...]
    repeated: tuple[tuple[str, str], ...]


def _without_repeats(parsed: DataFrame, logs: Sequence[Log]) -> _Logs:
    """Mark logs that share lines with one that holds more, or that hold lines twice.

    A row with a root is written once: the time, task, root and value identify it.  Within a log only an INIT or a tuple's
    arrival does, since a bolt may ack twice within a millisecond.
    """
    used = {log.number: log for log in logs if log.is_used and log.used}
    if not used:
        return _Logs(tuple(logs), ())
    every = sum(log.used for log in used.values()) // _SAMPLE + 1
    shared = (
        parsed.where(f"is = {USED} and root != 0 and pmod(root, {every}) = 0")
        .where(F.col("log").isin([*used]))
        .groupBy(F.expr(_CONTENT).alias("content"))
        .agg(
            F.expr("array_sort(collect_set(log)) as logs"),
            F.expr(f"count_if({_UNIQUE}) as unique"),
        )
        .where("size(logs) > 1 or unique > 1")
        .select("logs")
        .distinct()
        .collect()
    )
    kept: list[int] = []
    dropped: dict[int, str] = {}
    groups = [set(row["logs"]) for row in shared]
    for number in sorted(used, key=lambda number: (-used[number].used, number)):
        others = [other for other in kept if any({number, other} <= group for group in groups)]
        if others or {number} in groups:
            dropped[number] = used[others[0]].file if others else ""
        else:
            kept.append(number)
    found = tuple(replace(log, repeats=log.number in dropped) for log in logs)
    return _Logs(found, tuple(sorted((used[number].file, other) for number, other in dropped.items())))


def _disordered(parsed: DataFrame, logs: Sequence[Log]) -> Iterator[tuple[str, int]]:
    """Find logs whose times go back further than threads write apart, and files of a worker that overlap in time."""
    used = {log.number: log for log in logs if log.is_used and log.used}
    bits = _CHUNK_BITS if sum(log.used for log in used.values()) > _MANY_ROWS else 0
    before = "over (partition by log order by chunk rows between unbounded preceding and 1 preceding)"
    falls = (
        parsed.where(f"is = {USED} and time_ns is not null")
        .groupBy("log", F.expr(f"shiftright(row, {bits}) as chunk"))
        .agg(F.min("time_ns").alias("low"), F.max("time_ns").alias("high"))
        .selectExpr("log", f"max(high) {before} - low as fall")
        .groupBy("log")
        .agg(F.max("fall").alias("fall"))
        .where(f"fall > {_FALL_S * _SECOND}")
    )
    by_number = {row["log"]: row["fall"] for row in falls.collect()}
    ordered = sorted(used.values(), key=lambda log: (log.worker, log.turn))
    for older, newer in pairwise(ordered):
        fall = (older.end_ns or 0) - (newer.begin_ns or 0)
        if older.worker == newer.worker and fall > _FALL_S * _SECOND:
            by_number[newer.number] = max(fall, by_number.get(newer.number, 0))
    for log in ordered:
        if fall := by_number.get(log.number, 0):
            yield log.file, fall // _SECOND


def _starts(rows: Iterable[Row], logs: Mapping[int, Log]) -> Iterator[Start]:
    """Find the executors that were loaded, by logs that are used."""
    for row in rows:
        log = logs.get(row["log"])
        if log is None or not log.is_used:
            continue
        for pattern, timeless in ((LOADS, False), (TIMELESS, True)):
            if start := re.search(pattern, row["text"]):
                yield Start(
                    file=log.file,
                    seq=log.seq(row["row"]),
                    time_ns=stamp_ns(row["text"]) or 0,
                    component=start[1],
                    low=int(start[2]),
                    high=int(start[3]),
                    timeless=timeless,
                )
