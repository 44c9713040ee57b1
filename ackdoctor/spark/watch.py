"""A growing trace, batch by batch: Structured Streaming finds the new parts, `certain` says what they prove.

    CHECKPOINT/spark/              which parts belong to which batch: Spark's own
               state/N-.../        what batch N left for the next one: roots, deliveries, clock.json
               reports.jsonl       the lines that were reported, and which batches are done

Spark records the parts of a batch before it begins.  A batch that is not done when the process dies is done again,
over the same parts and the same state, and so with the same result; one that is done is skipped.

In `reports.jsonl` the lines of a batch come before one that marks the batch as done and names the folder of its state: so
one write commits both.  What follows the last such line was cut off, and is removed.
"""

import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from ackdoctor.dialects import known
from ackdoctor.model import UsageError
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import AUTO, EventKind
from ackdoctor.rulebook import NEVER_ZERO_ENTRY, ORPHAN_ENTRY, rule_name
from ackdoctor.spark import certain
from ackdoctor.spark.certain import ACKED_TWICE, NEVER_ZERO, OVER_ACKED, Clock, WatchRequest, read_so_far
from ackdoctor.spark.events import quarantined, refused, remove_unreadable, traces
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs, literally, unescaped, unzipped
from ackdoctor.spark.replay import messages
from ackdoctor.spark.schema import CARRIED, DONE, EVENTS, ROOT_KEY
from ackdoctor.spark.session import spark_errors
from ackdoctor.spark.tables import Quarantined
from ackdoctor.tracer.findings import RULE_MESSAGES, Case
from ackdoctor.tracer.sites import Places, parsed
from ackdoctor.tracer.trace_files import LOCK, REQUEST, SUFFIXES, Stem, is_checkpoint, partition

Line = Mapping[str, Any]

_INIT, _ACK, _ROTATED = int(EventKind.INIT), int(EventKind.ACK), int(EventKind.ROTATED)
_COMPLETED, _FAILED = int(EventKind.COMPLETED), int(EventKind.FAILED)


# ---- parts ----


@dataclass(slots=True, kw_only=True)
class Parts:
    """The parts of a batch, those that cannot be read, and why; `seen` has the names of all parts so far, by worker."""

    files: dict[FileKind, list[str]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    again: int = 0  # copies of a part that was read before
    gone: int = 0  # removed before they could be read, as a full trace removes its oldest
    seen: dict[str, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many parts are read."""
        return sum(map(len, self.files.values()))

    def events(self, session: SparkSession) -> DataFrame:
        """Return EVENTS."""
        tables = [traces(session, kind, files) for kind, files in self.files.items() if files]
        return reduce(DataFrame.unionByName, tables) if tables else session.createDataFrame([], EVENTS)

    def refused(self, session: SparkSession) -> tuple[Quarantined, ...]:
        """Return the rows that cannot be used."""
        return quarantined([refused(session, kind, files) for kind, files in self.files.items() if files])


def arrived(paths: Iterable[str], seen: Mapping[str, Sequence[str]]) -> Parts:
    """Inspect the beginning and end of each part, as `analyze` does."""
    parts = Parts(seen={worker: list(stems) for worker, stems in seen.items()})
    inputs = find_inputs(_new(sorted(paths), parts))
    logs = inputs.files.pop(FileKind.LOG)
    parts.files = inputs.files
    parts.faults |= {fault.path: fault.reason for fault in inputs.unreadable}
    parts.faults |= dict.fromkeys(logs, "is a worker's log, not a part of a trace")
    parts.again += len(inputs.passed_over)  # the same bytes under another name
    return parts


def _new(paths: Iterable[str], parts: Parts) -> Iterator[str]:
    for name in paths:
        path = Path(name)
        if any(map(is_checkpoint, path.parents)):  # the checkpoint of another watch
            continue
        if not path.exists():
            parts.gone += 1
            continue
        try:
            stem = str(Stem.of(unzipped(path)))
        except ValueError:
            parts.faults[name] = "is not a part of a trace: its name has no process and row"
            continue
        known = parts.seen.setdefault(_writer(path), [])
        if stem in known:
            parts.again += 1
            continue
        known.append(stem)
        yield name


def _empty(folder: Path, seen: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield new empty parts, which Spark does not list."""
    for suffix in (*SUFFIXES, ".jsonl.gz"):
        for path in folder.rglob(f"part-*{suffix}"):
            stem = unzipped(path).stem.removeprefix("part-")
            if not _size(path) and stem not in seen.get(_writer(path), ()):
                yield str(path)


def _writer(path: Path) -> str:
    run, worker = partition(path)
    return f"{run}/{worker}" if run or worker else str(path.parent)


def waiting(folder: Path) -> tuple[int, int]:
    """Return the bytes of the parts, and how many live files there are of processes that run or were killed."""
    size = sum(_size(path) for path in folder.rglob("part-*"))
    return size, sum(1 for _ in folder.rglob(".live-*"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a full trace removes its oldest part
        return 0


# ---- lines: flat objects ----

_MOST_NAMED = 1_000  # roots of a batch whose culprits are named
_MOST_SENT = 500  # messages of one root that are collected for that
_SENT = "struct(time_ns, kind, component, task, delivery, value, site)"
_VERBS: Mapping[int, str] = {int(EventKind.ACKED): "ack", _FAILED: "fail"}
_RULES: Mapping[str, str] = {
    NEVER_ZERO: NEVER_ZERO_ENTRY,
    OVER_ACKED: ORPHAN_ENTRY,
}  # by what its acker keeps


def part_lines(parts: Parts, bad: Iterable[Quarantined]) -> list[Line]:
    """Return the lines of what could not be read."""
    unreadable = [
        {"what": "unreadable", "file": file, "reason": reason} for file, reason in parts.faults.items()
    ]
    return unreadable + [
        {
            "what": "refused",
            "file": unescaped(row.file),
            "reason": row.reason,
            "rows": row.rows,
            "sample": row.sample,
        }
        for row in bad
    ]


def _root_lines(rows: DataFrame, found: Sequence[Row]) -> list[Line]:
    """Return the lines of JUDGED rows; `rows` are the messages that they were judged by."""
    if not found:
        return []
    named = {row["root"] for row in found[:_MOST_NAMED]}
    sent = (
        rows.where(F.col("root").isin(named) & F.col("kind").between(_INIT, _COMPLETED - 1))
        .groupBy(*ROOT_KEY)
        .agg(F.expr(f"slice(array_sort(collect_list({_SENT})), 1, {_MOST_SENT}) as sent"))
    )
    by_root = {_root(row): row["sent"] for row in sent.collect()}
    return [_root_line(row, by_root.get(_root(row), ())) for row in found]


def _root(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ROOT_KEY)


def _root_line(row: Row, sent: Sequence[Row]) -> Line:
    """Return the line of a root, with whose ack carries the value that is left (law L1), or created a new entry."""
    acks = [each for each in sent if each["kind"] == _ACK]
    if row["what"] == NEVER_ZERO:
        acks = [each for each in acks if each["value"] == row["value"]]
    else:
        acks = [each for each in acks if each["time_ns"] >= row["first_ns"]][:1]
    grouped: dict[tuple[Any, ...], list[str]] = {}
    for ack in acks:
        grouped.setdefault((ack["component"], ack["task"], ack["delivery"]), []).append(ack["site"])
    return {
        "what": row["what"],
        **_rule(_RULES[row["what"]]),
        **{name: row[name] for name in ROOT_KEY},
        "certain_ns": row["certain_ns"],
        "begin_ns": row["first_ns"],
        "value": row["value"],
        "messages": row["n"],
        "spout": next((each["component"] for each in sent if each["kind"] == _INIT), ""),
        "spout_task": row["spout_task"],
        "timed_out": row["timed_ns"] is not None,
        "order": row["order"],
        "by": [
            {
                "component": component,
                "task": task,
                "delivery": delivery,
                "acks": len(sites),
                "site": max(sites),
            }
            for (component, task, delivery), sites in grouped.items()
        ],
    }


def delivery_lines(found: Iterable[Row]) -> list[Line]:
    """Return the lines of DONE rows."""
    places = Places()
    names = ("run", "worker", "pid", "component", "task", "stream", "delivery", "test")
    return [
        {
            "what": ACKED_TWICE,
            **_rule(_broken(row["completions"], places)),
            **{name: row[name] for name in names},
            "certain_ns": row["completions"][-1]["time_ns"],
            "roots": row["roots"],
            "completions": [
                {"verb": _VERBS[each["kind"]], "site": each["site"], "time_ns": each["time_ns"]}
                for each in row["completions"]
            ],
        }
        for row in found
    ]


def _broken(done: Sequence[Row], places: Places) -> str:
    """Return the rule that two completions of a delivery break, as the judge of a run would find."""
    own = [each for each in done if (each["flags"] or 0) & AUTO]
    failed = any(each["kind"] == _FAILED for each in done)
    site = parsed(done[0]["site"]) if len({each["site"] for each in done}) == 1 else None
    again = site is not None and places.may_loop(site, *_handlers())
    turn = Case.FRAMEWORK if own else Case.ROUND if again else Case.PLAIN
    if any(each["kind"] == _FAILED for each in own):
        turn = Case.RESCUE
    return RULE_MESSAGES[Misuse.MIXED if failed else Misuse.TWICE, turn].code


@cache
def _handlers() -> frozenset[str]:
    """Return all methods that frameworks call: completions do not name the handler of their delivery."""
    return frozenset(entry.method for dialect in known() for role in dialect.roles for entry in role.entries)


def _rule(code: str) -> Line:
    return {"code": code, "name": rule_name(code)}


# ---- the checkpoint ----

_DONE = "done"
_REPORTS = "reports.jsonl"


@dataclass(slots=True, kw_only=True)
class Journal:
    """The last batch that is done, -1 before the first, its state and its totals; and which batch was shown last.

    Standard output cannot be taken back: what was not noted as shown when the process died is shown again.
    """

    place: Path
    batch: int = -1
    state: str = ""
    totals: Counter[str] = field(default_factory=Counter)
    unshown: list[Line] = field(default_factory=list)  # of batches that are done and may not have been shown

    @classmethod
    def opened(cls, folder: Path) -> "Journal":
        """Open the journal of a checkpoint; an unfinished batch is removed."""
        journal = cls(place=folder / _REPORTS)
        if journal.place.exists():
            journal._recall()
        return journal

    def _recall(self) -> None:
        shown = json.loads(self._shown.read_text()) if self._shown.exists() else -1
        whole = 0
        lines: list[Line] = []
        with self.place.open("r+b") as journal:
            while (text := journal.readline()).endswith(b"\n"):
                line = json.loads(text)
                if _DONE not in line:
                    lines.append(line)
                    continue
                whole = journal.tell()
                self.batch, self.state, self.totals = line[_DONE], line["state"], Counter(line["totals"])
                if self.batch > shown:
                    self.unshown += lines
                lines = []
            journal.truncate(whole)

    def commit(self, batch: int, lines: Sequence[Line], *, state: str, totals: Counter[str]) -> None:
        """Commit a batch."""
        end = {_DONE: batch, "state": state, "totals": totals}
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (*lines, end))
        with self.place.open("ab") as out:
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        self.batch, self.state, self.totals = batch, state, totals

    def show(self) -> None:
        """Note that everything that is done was shown."""
        _replace(self._shown, self.batch)

    @property
    def _shown(self) -> Path:
        return self.place.with_name("shown")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the checkpoint's folder; UsageError if another process has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise UsageError(f"{folder}: no place for a checkpoint: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another watch uses this checkpoint") from None
        yield


def check_checkpoint(folder: Path, request: Mapping[str, str]) -> None:
    """Raise a UsageError if the checkpoint was begun with other options, or lacks what Spark recorded."""
    place, reported, read = folder / REQUEST, (folder / _REPORTS).exists(), (folder / "spark").is_dir()
    if not place.exists() or not (reported or read):  # Spark never came up
        _replace(place, dict(request))
        return
    before = json.loads(place.read_text())
    for name, value in request.items():
        if before.get(name) != value:
            raise UsageError(
                f"{folder} was begun with {name} {before.get(name) or 'unset'}, and now it is {value or 'unset'}: "
                "name another --checkpoint, or remove this one"
            )
    if reported and not read:
        raise UsageError(f"{folder} has lost what was read: remove it to start again")


def _replace(place: Path, content: object) -> None:
    new = place.with_name(f"{place.name}.new")
    with new.open("w") as out:
        json.dump(content, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(place)


# ---- the watch ----

_PARTS_AT_ONCE = 64  # parts of a batch: 4 million rows
_LOOK_S = 0.2  # between looks for a signal and the end
_FEW = 200_000  # rows of a batch
_AT_ONCE = 2  # signals: the first lets the batch finish
_LISTING = "path string, modificationTime timestamp, length bigint, content binary"
_OF_ROOTS, _OF_DELIVERIES, _OF_CLOCK = "roots", "deliveries", "clock.json"


@dataclass(slots=True, kw_only=True)
class Watch:
    """A watch of one folder; `show` gets the lines of each batch, in order."""

    session: SparkSession
    folder: Path
    checkpoint: Path
    request: WatchRequest
    journal: Journal
    show: Callable[[Sequence[Line]], None]
    every_s: float = 5
    parts_at_once: int = _PARTS_AT_ONCE
    stopped: int = field(default=0, init=False)  # how many signals asked for the end
    busy: bool = field(default=False, init=False)
    reported: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    clock: Clock = field(default_factory=Clock, init=False)
    _seen: dict[str, list[str]] = field(default_factory=dict, init=False)
    _last: float = field(default_factory=monotonic, init=False)
    _failure: Exception | None = field(default=None, init=False)

    def run(self, *, once: bool = False, idle_s: float | None = None) -> None:
        """Run until all parts are read (`once`), none came for `idle_s`, or `stopped`; raise the error of a batch."""
        if self.journal.state:
            state = json.loads((self._state / _OF_CLOCK).read_text())
            self.clock, self._seen = Clock.from_json(state["clock"]), state["seen"]
        self._show(self.journal.unshown)
        try:
            query = self._started(once=once)
        except PySparkException:
            self._need_folder()
            raise
        try:
            while query.isActive and not self.stopped and self.folder.is_dir():
                sleep(_LOOK_S)
                if idle_s is not None and not self.busy and monotonic() - self._last > idle_s:
                    break
            while self.busy and query.isActive and self.stopped < _AT_ONCE:
                sleep(_LOOK_S)
        finally:
            query.stop()
        self._need_folder()
        if self._failure is not None:
            raise self._failure
        if (error := query.exception()) is not None and not self.stopped:
            raise error

    def _need_folder(self) -> None:
        if not self.folder.is_dir():
            raise UsageError(f"{self.folder} is gone")

    def _started(self, *, once: bool) -> StreamingQuery:
        paths = (
            self.session.readStream.format("binaryFile")
            .schema(_LISTING)
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "part-*.{parquet,jsonl,jsonl.gz}")
            .option("maxFilesPerTrigger", str(self.parts_at_once))
            .option("maxFileAge", "3650d")  # the parts of a killed process may be written late
            .load(*literally([str(self.folder)]))
            .select("path")
        )
        writer = paths.writeStream.foreachBatch(self._on_batch).option(
            "checkpointLocation", str(self.checkpoint / "spark")
        )
        if once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{round(self.every_s * 1000)} milliseconds").start()

    def _on_batch(self, rows: DataFrame, batch: int) -> None:
        """Process a batch, and keep its error: Spark would wrap it in a page of Java."""
        self.busy = True
        try:
            if batch > self.journal.batch:
                self._batch([row["path"].removeprefix("file:") for row in rows.collect()], batch)
        except Exception as error:
            self._failure = error
            raise
        finally:
            self.busy = False
            self._last = monotonic()

    def _batch(self, paths: Sequence[str], batch: int) -> None:
        parts = arrived({*paths, *_empty(self.folder, self._seen)}, self._seen)
        clock = Clock.from_json(self.clock.to_json())
        place = self.checkpoint / "state" / f"{batch}-{os.getpid()}"
        events = self._read(parts, clock)
        try:
            bad = parts.refused(self.session)
            found = self._deliveries(events, clock, place) + self._roots(events, clock, place)
        finally:
            events.unpersist()
        lines = [*part_lines(parts, bad), *sorted(found, key=lambda line: line["certain_ns"])]
        place.mkdir(parents=True, exist_ok=True)
        (place / _OF_CLOCK).write_text(json.dumps({"clock": clock.to_json(), "seen": parts.seen}))
        refused = len(parts.faults) + len(bad)
        totals = Counter(self.journal.totals)
        totals.update(
            parts=parts.count, reported=len(found), refused=refused, again=parts.again, gone=parts.gone
        )
        numbered = [{"batch": batch, "nr": nr, **line} for nr, line in enumerate(lines)]
        self.journal.commit(batch, numbered, state=place.name, totals=totals)
        self.clock, self._seen = clock, parts.seen
        self.reported += len(found)
        self.refused += refused
        self._show(numbered)
        for old in self._state.parent.iterdir():  # the next batch needs this state only
            if old.name != self.journal.state:
                shutil.rmtree(old, ignore_errors=True)

    def _show(self, lines: Sequence[Line]) -> None:
        if lines:
            self.show(lines)
        self.journal.show()

    def _read(self, parts: Parts, clock: Clock) -> DataFrame:
        """Return the new EVENTS, persisted, and advance the clock; parts that cannot be read are left out."""
        events = parts.events(self.session).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with spark_errors():
                clock.advance(read_so_far(events).collect(), self.request.patience_s)
        except UsageError:
            events.unpersist()
            faults = remove_unreadable(self.session, parts.files)
            if not faults:  # the parts are not the cause
                raise
            parts.faults |= faults
            return self._read(parts, clock)
        return events

    def _deliveries(self, events: DataFrame, clock: Clock, place: Path) -> list[Line]:
        if not clock.runs:  # no row has come yet
            return []
        rows = certain.delivery_rows(self._before(_OF_DELIVERIES, DONE), events)
        found = certain.done(self._together(rows, clock)).localCheckpoint()
        new = found.where(f"{certain.TWICE} and not tick and not reported").collect()
        oldest = {run: since for run, (_, since) in clock.ends(self.request.remember_s).items()}
        certain.remembered(found, oldest).write.mode("overwrite").parquet(str(place / _OF_DELIVERIES))
        return delivery_lines(new)

    def _roots(self, events: DataFrame, clock: Clock, place: Path) -> list[Line]:
        """Return what is new of roots and write their state; nothing if no acker has appeared yet."""
        if all(run.begin_ns is None for run in clock.runs.values()):
            return []
        timeout_s, bounds = self.request.message_timeout_s, None
        new = messages(events)
        if timeout_s is not None:
            new = new.where(F.col("kind") != _ROTATED)
            bounds = clock.bounds_ns(self.request.version, timeout_s)
        carried = self._before(_OF_ROOTS, CARRIED)
        rows = self._together(carried.union(new.withColumn("reported", F.lit(0))), clock)
        entries = certain.replayed_entries(rows, self.request, bounds).localCheckpoint()
        judged = certain.judged(rows, entries, clock.ends(self.request.remember_s)).localCheckpoint()
        lines = _root_lines(rows, judged.where("what is not null").collect())
        here = str(place / _OF_ROOTS)
        certain.carried_roots(rows, judged).write.mode("overwrite").parquet(here)
        self._note_open(self.session.read.schema(CARRIED).parquet(*literally([here])), clock)
        if timeout_s is None:
            needed = F.create_map(
                *(F.lit(part) for name, run in clock.runs.items() for part in (name, run.needed_ns))
            )
            ticks = rows.where((F.col("kind") == _ROTATED) & (F.col("time_ns") >= needed[F.col("run")]))
            ticks.write.mode("append").parquet(here)
        return lines

    def _together(self, rows: DataFrame, clock: Clock) -> DataFrame:
        """Put a few new rows in one partition, which needs no exchange."""
        return rows.coalesce(1) if clock.rows - self.clock.rows < _FEW else rows

    def _note_open(self, carried: DataFrame, clock: Clock) -> None:
        """Update the clock by the roots that are open now."""
        alive = carried.where(F.col("kind") != _COMPLETED).groupBy("run")
        figures = alive.agg(F.min("time_ns").alias("oldest_ns"), F.count_distinct("root").alias("open"))
        known = {row["run"]: (row["oldest_ns"], row["open"]) for row in figures.collect()}
        for name, run in clock.runs.items():
            run.oldest_ns, run.open = known.get(name, (None, 0))

    # ---- state ----

    @property
    def _state(self) -> Path:
        return self.checkpoint / "state" / self.journal.state

    def _before(self, name: str, schema: StructType) -> DataFrame:
        """Return what the last batch left."""
        place = self._state / name
        if not self.journal.state or not place.is_dir():
            return self.session.createDataFrame([], schema)
        return self.session.read.schema(schema).parquet(*literally([str(place)]))
