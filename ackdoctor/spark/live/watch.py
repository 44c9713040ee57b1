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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from ackdoctor.model import UsageError
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.live import certain
from ackdoctor.spark.live.certain import CARRIED, DONE, Clock, LiveTerms, read_so_far
from ackdoctor.spark.live.lines import (
    PATTERN,
    Line,
    Parts,
    arrived,
    delivery_lines,
    empty,
    part_lines,
    root_lines,
)
from ackdoctor.spark.read.paths import literal
from ackdoctor.spark.replay.messages import messages
from ackdoctor.spark.schema import EVENTS, MESSAGES
from ackdoctor.spark.session import spark_errors
from ackdoctor.tracer.trace_files import LOCK, TERMS

__all__ = ["Journal", "Watch", "held", "same_terms"]

_DONE = "done"
_PARTS_AT_ONCE = 64  # parts of a batch: 4 million rows
_LOOK_S = 0.2  # between looks for a signal and the end
_FEW = 200_000  # rows of a batch
_AT_ONCE = 2  # signals: the first lets the batch finish
_ROTATED, _COMPLETED = int(EventKind.ROTATED), int(EventKind.COMPLETED)
_PARTS = "path string, modificationTime timestamp, length bigint, content binary"
_OF_ROOTS, _OF_DELIVERIES, _OF_CLOCK = "roots", "deliveries", "clock.json"


# ---- the journal ----


@dataclass(slots=True, kw_only=True)
class Journal:
    """The last batch that is done, -1 before the first, its state and its totals; and which batch was shown last.

    Standard output cannot be taken back: what was not noted as shown when the process died is shown again.
    """

    place: Path
    batch: int = -1
    state: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    _unshown: list[Line] = field(default_factory=list)

    @classmethod
    def opened(cls, folder: Path) -> "Journal":
        """Open the journal of a checkpoint; an unfinished batch is removed."""
        journal = cls(place=folder / "reports.jsonl")
        if journal.place.exists():
            journal._recall()
        return journal

    def _recall(self) -> None:
        shown = self._shown()
        whole = 0
        lines: list[Line] = []
        with self.place.open("r+b") as journal:
            while (text := journal.readline()).endswith(b"\n"):
                line = json.loads(text)
                if _DONE not in line:
                    lines.append(line)
                    continue
                whole = journal.tell()
                self.batch, self.state, self.totals = line[_DONE], line["state"], line["totals"]
                if self.batch > shown:
                    self._unshown += lines
                lines = []
            journal.truncate(whole)

    def unshown(self) -> Sequence[Line]:
        """Return the lines of batches that are done and may not have been shown."""
        lines, self._unshown = self._unshown, []
        return lines

    def commit(self, batch: int, lines: Sequence[Line], *, state: str, totals: Mapping[str, int]) -> None:
        """Commit a batch."""
        end = {_DONE: batch, "state": state, "totals": dict(totals)}
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (*lines, end))
        with self.place.open("ab") as out:
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        self.batch, self.state, self.totals = batch, state, dict(totals)

    def show(self) -> None:
        """Note that everything that is done was shown."""
        _replace(self.place.with_name("shown"), self.batch)

    def _shown(self) -> int:
        place = self.place.with_name("shown")
        return int(json.loads(place.read_text())) if place.exists() else -1


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


def same_terms(folder: Path, terms: Mapping[str, str]) -> None:
    """Raise a UsageError if the checkpoint was begun with other options, or lacks what Spark recorded."""
    place, reported, read = folder / TERMS, (folder / "reports.jsonl").exists(), (folder / "spark").is_dir()
    if not place.exists() or not (reported or read):  # Spark never came up
        _replace(place, dict(terms))
        return
    before = json.loads(place.read_text())
    for name, value in terms.items():
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


@dataclass(slots=True, kw_only=True)
class Watch:
    """A watch of one folder; `show` gets the lines of each batch, in order."""

    session: SparkSession
    folder: Path
    checkpoint: Path
    terms: LiveTerms
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
    _new: int = field(default=0, init=False)  # rows of the current batch
    _last: float = field(default_factory=monotonic, init=False)
    _failure: Exception | None = field(default=None, init=False)

    def run(self, *, once: bool = False, idle_s: float | None = None) -> None:
        """Run until all parts are read (`once`), none came for `idle_s`, or `stopped`; raise the error of a batch."""
        self._recall()
        self._shown(self.journal.unshown())
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
            .schema(_PARTS)
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", PATTERN)
            .option("maxFilesPerTrigger", str(self.parts_at_once))
            .option("maxFileAge", "3650d")  # the parts of a killed process may be written late
            .load(literal(str(self.folder)))
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
        parts = arrived({*paths, *empty(self.folder, self._seen)}, self._seen)
        clock = Clock.from_json(self.clock.to_json())
        place = self.checkpoint / "state" / f"{batch}-{os.getpid()}"
        with self._read(parts, clock) as events:
            bad = parts.refused(self.session)
            found = self._deliveries(events, clock, place) + self._roots(events, clock, place)
        lines = [*part_lines(parts, bad), *sorted(found, key=lambda line: line["certain_ns"])]
        place.mkdir(parents=True, exist_ok=True)
        (place / _OF_CLOCK).write_text(json.dumps({"clock": clock.to_json(), "seen": parts.seen}))
        refused = len(parts.faults) + len(bad)
        new_facts = len(found)
        before = self.journal.totals
        totals = {
            "parts": parts.count,
            "reported": new_facts,
            "refused": refused,
            "again": parts.again,
            "gone": parts.gone,
        }
        numbered = [{"batch": batch, "nr": nr, **line} for nr, line in enumerate(lines)]
        self.journal.commit(
            batch,
            numbered,
            state=place.name,
            totals={name: before.get(name, 0) + figure for name, figure in totals.items()},
        )
        self.clock, self._seen = clock, parts.seen
        self.reported += new_facts
        self.refused += refused
        self._shown(numbered)
        self._clear()

    def _shown(self, lines: Sequence[Line]) -> None:
        if lines:
            self.show(lines)
        self.journal.show()

    # ---- what has come ----

    @contextmanager
    def _read(self, parts: Parts, clock: Clock) -> Iterator[DataFrame | None]:
        """Read the new EVENTS, persisted while the batch lasts, and advance the clock; None if there are none."""
        events = parts.events(self.session)
        if events is None:
            yield None
            return
        events.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with spark_errors():
                clock.advance(read_so_far(events).collect(), self.terms.patience_s)
            self._new = clock.rows - self.clock.rows
        except UsageError:
            events.unpersist()
            found = parts.count
            parts.remove_unreadable(self.session)
            if parts.count == found:  # the parts are not the cause
                raise
            with self._read(parts, clock) as rest:
                yield rest
            return
        try:
            yield events
        finally:
            events.unpersist()

    def _deliveries(self, events: DataFrame | None, clock: Clock, place: Path) -> list[Line]:
        carried = self._before(_OF_DELIVERIES, DONE)
        if (events is None and carried is None) or not clock.runs:  # no row has come yet
            return []
        ends = clock.ends(self.terms.remember_s)
        rows = certain.delivery_rows(self._or_empty(carried, DONE), self._or_empty(events, EVENTS))
        found = certain.done(self._together(rows)).localCheckpoint()
        new = certain.completed_twice(found).where("not reported").collect()
        remembered = {run: since for run, (_, since) in ends.items()}
        certain.remembered(found, remembered).write.mode("overwrite").parquet(str(place / _OF_DELIVERIES))
        return delivery_lines(new)

    def _roots(self, events: DataFrame | None, clock: Clock, place: Path) -> list[Line]:
        """Return what is new of roots and write their state; nothing if no acker has appeared yet."""
        carried = self._before(_OF_ROOTS, CARRIED)
        if carried is None and all(run.begin_ns is None for run in clock.runs.values()):
            return []
        new = messages(self._or_empty(events, EVENTS))
        if self.terms.message_timeout_s is not None:
            new = new.where(F.col("kind") != _ROTATED)
        rows = self._together(certain.with_carried(self._or_empty(carried, CARRIED), new))
        entries = certain.replayed_lives(rows, self.terms, self._bounds(clock)).localCheckpoint()
        judged = certain.judged(rows, entries, clock.ends(self.terms.remember_s)).localCheckpoint()
        lines = root_lines(rows, judged.where("what is not null").collect())
        here = str(place / _OF_ROOTS)
        certain.carried_roots(rows, judged).write.mode("overwrite").parquet(here)
        self._note(self.session.read.schema(CARRIED).parquet(literal(here)), clock)
        needed = F.create_map(
            *(F.lit(part) for name, run in clock.runs.items() for part in (name, run.needed_ns))
        )
        ticks = rows.where((F.col("kind") == _ROTATED) & (F.col("time_ns") >= needed[F.col("run")]))
        if self.terms.message_timeout_s is None:
            ticks.write.mode("append").parquet(here)
        return lines

    def _together(self, rows: DataFrame) -> DataFrame:
        """Put a few rows in one partition, which needs no exchange."""
        return rows.coalesce(1) if self._new < _FEW else rows

    def _note(self, rows: DataFrame, clock: Clock) -> None:
        """Update the clock by what is open now."""
        alive = rows.where(F.col("kind") != _COMPLETED).groupBy("run")
        known = {
            row["run"]: row
            for row in alive.agg(
                F.min("time_ns").alias("oldest_ns"), F.count_distinct("root").alias("open")
            ).collect()
        }
        for name, run in clock.runs.items():
            run.oldest_ns = known[name]["oldest_ns"] if name in known else None
            run.open = known[name]["open"] if name in known else 0

    def _bounds(self, clock: Clock) -> DataFrame | None:
        if self.terms.message_timeout_s is None:
            return None
        spans = clock.bounds_ns(self.terms.version, self.terms.message_timeout_s)
        marks = [(run, time) for run, span in spans.items() for time in span]
        row = {"kind": _ROTATED, "acker": 0, "incarnation": 0, "root": 0}
        rows = [
            tuple({**row, "run": run, "time_ns": time}.get(name) for name in MESSAGES.names)
            for run, time in marks
        ]
        return self.session.createDataFrame(rows, MESSAGES)

    # ---- state ----

    def _recall(self) -> None:
        if not self.journal.state:
            return
        state = json.loads((self._state / _OF_CLOCK).read_text())
        self.clock, self._seen = Clock.from_json(state["clock"]), state["seen"]

    @property
    def _state(self) -> Path:
        return self.checkpoint / "state" / self.journal.state

    def _before(self, name: str, schema: StructType) -> DataFrame | None:
        """Return what the last batch left."""
        place = self._state / name
        if not self.journal.state or not place.is_dir():
            return None
        return self.session.read.schema(schema).parquet(literal(str(place)))

    def _or_empty(self, table: DataFrame | None, schema: StructType) -> DataFrame:
        return self.session.createDataFrame([], schema) if table is None else table

    def _clear(self) -> None:
        """Remove the states that the next batch does not need."""
        for old in self._state.parent.iterdir():
            if old.name != self.journal.state:
                shutil.rmtree(old, ignore_errors=True)
