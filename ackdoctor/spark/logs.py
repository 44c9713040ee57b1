"""Worker logs with `topology.debug`, of Storm 0.9 to 2.x: LINES -> PARSED and a Survey of the files -> EVENTS and QUARANTINE.

Spark reads the text once: PARSED is cached, and all else is derived from it.  Most lines are of no use: they are counted
while Spark reads them (`observe`), and are not in PARSED.

A delivery is identified by its task and its edges, so its id is what the log prints: "root=edge, root=edge".  Rows of
an acker are in the order in which that acker received its messages, not in that of clocks.

A tuple's arrival is a RECEIVED row and a LINKED one for each root; a transfer to another task is an EMITTED
row with its root and its edge as `value`, without either if it is not anchored; ACKED and FAILED are a bolt's.
COMPLETED, GAVE_UP and TIMED_OUT are what a spout received, with its own message id.  Storm 0.9 logs neither who receives a
tuple nor that a bolt acks it: such a log gives LINKED rows, and a SENT row for each message to an acker.

The files of a worker are ordered by the numbers that rotation gives them.  A copy of a log is read once.  If two logs hold
the same lines otherwise, only the one that holds more is used; the verdict is then INCOMPLETE, as with times that go back.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from shlex import quote

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model import UsageError
from ackdoctor.model.trace import EventKind
from ackdoctor.spark import log_lines
from ackdoctor.spark.file_kinds import stamp_ns
from ackdoctor.spark.inputs import literally, run_and_worker
from ackdoctor.spark.log_lines import CONTINUED, FOREIGN, QUARANTINED, TIMELESS, TIMEOUT, USED
from ackdoctor.spark.restarts import ACKER, MOST_TURNS, TURN_BITS, Log, Restarts, Start
from ackdoctor.spark.schema import EVENTS, QUARANTINE
from ackdoctor.spark.session import Persist, as_table, expressions, literal_table, quoted
from ackdoctor.tracer.worker_log import LOADS

_ROW_BITS = 33  # of `row`: the line in its task
_BLOCK_BITS = 20  # a block is a MiB; 20 bits of `row` are left for the blocks of a file
_CONTENT = "xxhash64(time_ns, kind, task, root, value, acker)"  # identifies a row in another log
_NUMBER = re.compile(r"\.(\d+)(?:\.gz)?$")  # of a rotated file: worker.log.3.gz
_CLASSES = {USED: "used", CONTINUED: "continued", FOREIGN: "foreign", QUARANTINED: "quarantined"}
_RECEIVED, _ROTATED, _SENT = int(EventKind.RECEIVED), int(EventKind.ROTATED), int(EventKind.SENT)
_UNIQUE = f"kind in ({int(EventKind.LINKED)}, {int(EventKind.INIT)})"  # no log has such a row twice
_SECOND = 1_000_000_000
_FALL_S = 5  # threads of one process do not write their lines further apart
_MANY_ROWS = 1 << 18
_CHUNK_BITS = 10  # lines of a large log are compared by chunks
_SAMPLE = 1 << 20  # rows by which overlaps are found
_BEGINNING = 400  # characters of a line, with its thread
_THREAD = r"r'Thread-[0-9]+-[^\[]*\[[0-9]+,? [0-9]+\]'"
_MOST_NAMED = 3


# ---- what is known of the logs ----


@dataclass(kw_only=True)
class Survey:
    """What is known of the logs as files.

    `passed` counts all `lines` of logs that are no copies; those that were at once seen to be `foreign` or `continued`; and
    the messages that the workers' connections `dropped`.
    """

    logs: Sequence[Log] = ()
    starts: Sequence[Start] = ()
    passed: Counter[str] = field(default_factory=Counter)
    ticks_s: Sequence[int] = ()  # the periods of the ackers' ticks, which Storm makes the message timeout
    configured_s: Sequence[int] = ()  # topology.message.timeout.secs, as the workers dump it
    repeated: Sequence[tuple[str, str]] = ()  # logs that are not used, and the log that holds their lines
    disordered: Sequence[tuple[str, int]] = ()  # logs whose times go back, and by how many seconds at most

    @property
    def ticks_disabled(self) -> bool:
        """Whether an acker said that it never rotates: Storm 0.9.0-rc3 to 1.0.5, 1.1.0 and 1.1.1, or timeouts disabled."""
        return any(start.timeless for start in self.starts)

    @property
    def gaps(self) -> list[Log]:
        """The logs that follow a missing file of their worker's rotation."""
        return [log for log in self.logs if log.after_gap and log.is_used]

    @property
    def ackers(self) -> int:
        """How many acker tasks were started; 0 if no log begins early enough to show it."""
        return len({task for start in self.starts if start.component == ACKER for task in start.tasks})

    @property
    def left_out(self) -> int:
        """How many lines about tuples are not used since their log repeats others."""
        return sum(log.used for log in self.logs if log.repeats)

    @cached_property
    def restarts(self) -> "Restarts":
        """The restarts of workers and ackers."""
        return Restarts(self.logs, self.starts)

    def component(self, name: str, task: str) -> str:
        """SQL: the component, or if it is empty the one that started with that task."""
        known = {number: start.component for start in self.starts for number in start.tasks}
        if not known:
            return name
        tasks = ", ".join(f"{number}, {quoted(component)}" for number, component in known.items())
        return f"if({name} != '', {name}, coalesce(try_element_at(map({tasks}), {task}), ''))"

    def used_rows(self, parsed: DataFrame) -> DataFrame:
        """Return the PARSED rows of logs that are used, with `run`, `worker`, `path` and `seq`."""
        columns = "number: int, run: string, worker: string, file: string, turn: bigint, is_used: boolean"
        names = [column.partition(":")[0] for column in columns.split(", ")]
        rows = [{name: getattr(log, name) for name in names} for log in self.logs if log.number >= 0]
        known = literal_table(parsed.sparkSession, columns, rows).withColumnRenamed("file", "path")
        return (
            parsed.join(F.broadcast(known), F.col("log") == F.col("number"), "left")
            .where("coalesce(is_used, true)")
            .selectExpr(
                *(name for name in parsed.columns if name not in {"file", "row"}),
                "coalesce(run, '') as run",
                "coalesce(worker, file) as worker",
                "coalesce(path, file) as path",
                f"shiftleft(coalesce(turn, 0L), {TURN_BITS}) | row as seq",
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
    classified, observation = observed(read)
    parsed = persist(parsed_lines(classified, files))
    counted = parsed.groupBy("log", "file", "is").agg(*_counts()).collect()
    logs = in_rotation_order(_counted(counted, files))
    repeated = _mark_repeats(parsed, logs)
    notable = parsed.where(f"is = {FOREIGN} and text is not null").select("log", "row", "text").collect()
    ticks = {row[f"{which}_tick"] for row in counted for which in ("min", "max")} - {None}
    configured = {int(value) for row in notable for value in re.findall(TIMEOUT, row["text"])[-1:]}
    passed = _passed(observation)
    if copies := [log.file for log in logs if log.copy_of]:
        again = log_lines.classified(read.where(F.col("file").isin(copies))).agg(*_pass_counts()).collect()
        passed.subtract(again[0].asDict())
    return parsed, Survey(
        logs=logs,
        starts=list(_starts(notable, {log.number: log for log in logs if log.is_used})),
        passed=passed,
        ticks_s=sorted(ticks),
        configured_s=sorted(configured),
        repeated=repeated,
        disordered=list(_disordered(parsed, logs)),
    )


def observed(read: DataFrame) -> tuple[DataFrame, Observation]:
    """Return the classified LINES, and the counts of those that pass, known once Spark has read them."""
    observation = Observation()
    return log_lines.classified(read).observe(observation, *_pass_counts()), observation


def _passed(observation: Observation) -> Counter[str]:
    """Return what Spark counted; for a table that it knows to be empty it counts nothing, and raises."""
    try:
        return Counter(observation.get)
    except Py4JJavaError:
        return Counter()


def _pass_counts() -> list[Column]:
    drops = f'try_cast(regexp_extract(text, r"{log_lines.DROPS}", 1) as bigint)'
    counts = {
        "lines": "count(*)",
        "foreign": f"count_if(not likely and is = {FOREIGN})",
        "continued": f"count_if(not likely and is = {CONTINUED})",
        "dropped": f"coalesce(sum(if(not likely and {log_lines.DROPPED}, {drops}, 0L)), 0L)",
    }
    return expressions(counts)


# ---- files: order, copies, repeats, times that go back ----


def _counts() -> list[Column]:
    tick = f"filter (where kind = {_ROTATED} and value > 0)"
    counts = {
        "lines": "count_if(first)",
        "begin_ns": "min(time_ns)",
        "end_ns": "max(time_ns)",
        "content": f"bit_xor(if(is = {USED}, {_CONTENT}, null))",
        "first_row": f"min(row) filter (where is = {USED} and root != 0)",
        "min_tick": f"min(value) {tick}",
        "max_tick": f"max(value) {tick}",
    }
    return expressions(counts)


def _counted(rows: Iterable[Row], files: Sequence[str]) -> list[Log]:
    """Return the logs with the counts of their lines; of logs with the same rows, all but the first are copies."""
    by_file: dict[str, dict[int, Row]] = {file: {} for file in files}
    for row in rows:
        by_file.setdefault(row["file"] or files[row["log"]], {})[row["is"]] = row
    numbers = {file: number for number, file in enumerate(files)}
    logs: list[Log] = []
    for file in by_file:
        run, worker = run_and_worker(file) if file in numbers else ("", file)
        logs.append(Log(file=file, number=numbers.get(file, -1), run=run, worker=worker))
    logs.sort(key=lambda log: (not log.run, log.file))
    originals: dict[tuple[object, ...], str] = {}
    for log in logs:
        by_class = by_file[log.file]
        for is_, row in by_class.items():
            setattr(log, _CLASSES[is_], row["lines"])
        if (used := by_class.get(USED)) is not None:
            log.begin_ns, log.end_ns, log.first_row = used["begin_ns"], used["end_ns"], used["first_row"]
            lines_of = (log.used, log.continued, log.foreign, log.quarantined)
            original = originals.setdefault((*lines_of, used["content"], log.begin_ns, log.end_ns), log.file)
            log.copy_of = "" if original == log.file else original
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
        if len(its) > MOST_TURNS:
            raise UsageError(f"{worker}: {len(its)} files of one worker; at most {MOST_TURNS}")
        numbers = {log.file: int(number[1]) for log in its if (number := _NUMBER.search(log.file))}
        rotated = [log for log in its if numbers.get(log.file)]
        rotated.sort(key=lambda log: (numbers[log.file], log.file))
        begins = [log.begin_ns for log in rotated if log.begin_ns is not None]
        rises = [(before < after) - (before > after) for before, after in pairwise(begins)]
        if sum(rises) < 0:
            rotated.reverse()
        ordered = [*rotated, *(log for log in its if not numbers.get(log.file))]
        for turn, log in enumerate(ordered):
            log.turn = turn
        _mark_gaps(ordered, [numbers.get(log.file, 0) for log in ordered], newest_first=sum(rises) <= 0)
        found += ordered
    return found


def _mark_gaps(ordered: Sequence[Log], numbers: Sequence[int], *, newest_first: bool) -> None:
    """Mark the logs of a worker that follow a missing file; if its newest rotated file has number 1, also the last log."""
    if max(numbers) > MOST_TURNS:  # dates or ports
        return
    for (older, newer), (before, after) in zip(pairwise(ordered), pairwise(numbers), strict=True):
        if abs(before - after) > 1 and (after or newest_first):
            newer.after_gap = older.file


def _mark_repeats(parsed: DataFrame, logs: Sequence[Log]) -> list[tuple[str, str]]:
    """Mark logs that share lines with one that holds more, or that hold lines twice; return them with the other log.

    A row with a root is written once: the time, task, root and value identify it.  Within a log only an INIT or a tuple's
    arrival does, since a bolt may ack twice within a millisecond.
    """
    used = {log.number: log for log in logs if log.is_used and log.used}
    if not used:
        return []
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
    groups = [set(row["logs"]) for row in shared]
    kept: list[int] = []
    repeated: list[tuple[str, str]] = []
    for number in sorted(used, key=lambda number: (-used[number].used, number)):
        others = [other for other in kept if any({number, other} <= group for group in groups)]
        if others or {number} in groups:
            used[number].repeats = True
            repeated.append((used[number].file, used[others[0]].file if others else ""))
        else:
            kept.append(number)
    return sorted(repeated)


def _disordered(parsed: DataFrame, logs: Sequence[Log]) -> Iterator[tuple[str, int]]:
    """Find logs whose times go back further than threads write apart, and files of a worker that overlap in time."""
    used = sorted((log for log in logs if log.is_used and log.used), key=lambda log: (log.worker, log.turn))
    bits = _CHUNK_BITS if sum(log.used for log in used) > _MANY_ROWS else 0
    before = "over (partition by log order by chunk rows between unbounded preceding and 1 preceding)"
    falls = (
        parsed.where(f"is = {USED} and time_ns is not null")
        .groupBy("log", F.expr(f"shiftright(row, {bits}) as chunk"))
        .agg(F.min("time_ns").alias("low"), F.max("time_ns").alias("high"))
        .selectExpr("log", f"max(high) {before} - low as fall")
        .groupBy("log")
        .agg(F.max("fall").alias("fall"))
    )
    by_number = {row["log"]: row["fall"] or 0 for row in falls.collect()}
    for older, newer in pairwise(used):
        if older.worker == newer.worker:
            fall = (older.end_ns or 0) - (newer.begin_ns or 0)
            by_number[newer.number] = max(fall, by_number.get(newer.number, 0))
    for log in used:
        if (fall := by_number.get(log.number, 0)) > _FALL_S * _SECOND:
            yield log.file, fall // _SECOND


# ---- starts ----


def _starts(rows: Iterable[Row], used: Mapping[int, Log]) -> Iterator[Start]:
    """Find the executors that were loaded, by logs that are used."""
    for row in rows:
        if (log := used.get(row["log"])) is None:
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


# ---- PARSED -> EVENTS and QUARANTINE ----


def events(parsed: DataFrame, survey: Survey) -> DataFrame:
    """Return the EVENTS of the logs that are used."""
    anonymous = f"kind = {_RECEIVED} and task = 0"  # Storm 0.9 does not log who receives a tuple
    rows = survey.used_rows(parsed.where(f"is = {USED} and not ({anonymous})"))
    late = {
        "component": survey.component("component", "task"),
        "pid": survey.restarts.pid(),
        "incarnation": survey.restarts.incarnation(),
        **dict.fromkeys(("site", "test", "note"), "''"),
    }
    return as_table(rows, EVENTS, late)


def quarantine(parsed: DataFrame, survey: Survey) -> DataFrame:
    """Return QUARANTINE: each line that claims to be about a tuple and cannot be used."""
    rows = survey.used_rows(parsed.where(f"is = {QUARANTINED}"))
    columns = {"file": "path", "place": "seq", "reason": log_lines.reason("fault")}
    return as_table(rows, QUARANTINE, columns)


def missing_tasks(read: DataFrame, parsed: DataFrame, survey: Survey) -> tuple[str, ...]:
    """Return tasks that send or receive tuples and have no line of their own, as `bolt[3]`: their workers' logs are missing.

    Task ids are unique in a topology.  Storm 0.9 does not log which task receives or acks: a component that sends
    messages to an acker counts as seen.
    """
    taken = f"acker is not null and kind != {_ROTATED}"
    own = f"coalesce(acker, task) as task, if(acker is not null, '{ACKER}', component) as name"
    peer = f"if({taken}, task, peer) as task, if({taken}, component, peer_name) as name"
    pairs = survey.used_rows(parsed.where(f"is = {USED} and first")).selectExpr(
        "run",
        f"inline(array(struct({own}, true as seen, kind = {_SENT} as sends), struct({peer}, false as seen, false as sends)))",
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
            low, high = map(int, re.findall(r"\d+", row["thread"])[-2:])
            absent = {task: name for task, name in absent.items() if not low <= task <= high}
    return tuple(sorted(absent.values()))


def _absent(run: str, rows: Sequence[Row], survey: Survey) -> Iterator[tuple[int, str]]:
    runs = {log.file: log.run for log in survey.logs}
    seen = {row["task"] for row in rows if row["seen"] and row["task"]}
    senders = {row["name"] for row in rows if row["sends"]}
    names = {row["task"]: row["name"] for row in rows if row["name"]}
    for start in survey.starts:
        if runs.get(start.file, "") == run:
            seen.update(start.tasks)
            names.update(dict.fromkeys(start.tasks, start.component))
    named = {row["task"] for row in rows if not row["seen"] and (row["task"] or 0) > 0}
    for task in named - seen:
        name = names.get(task, "")
        if name not in senders:
            yield task, f"{name}[{task}]" if name else f"task {task}"


def notes(survey: Survey, shorten: Callable[[str], str]) -> Iterator[str]:
    """Yield notes on workers that restarted, logs that repeat others, and times that go back."""
    often = sorted(survey.restarts.workers.items(), key=lambda worker: (-len(worker[1]), worker[0]))
    for _, starts in often[:_MOST_NAMED]:
        log, times = shorten(starts[-1].file), "once" if len(starts) == 1 else f"{len(starts):,} times"
        yield f"the worker of {log} restarted {times}: `ackdoctor diagnose {quote(log)}` looks for the reason"
    if others := often[_MOST_NAMED:]:
        yield f"{len(others):,} more workers restarted, {sum(len(starts) for _, starts in others):,} times"
    for gap in survey.gaps[:_MOST_NAMED]:
        yield (
            f"a rotated file is missing between {shorten(gap.after_gap)} and {shorten(gap.file)}: what is open at the end of the "
            "first may have ended in it"
        )
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
