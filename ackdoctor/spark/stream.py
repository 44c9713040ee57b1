"""A growing trace, batch by batch: Structured Streaming says which parts are new, `live` what they mean.

    CHECKPOINT/spark/               which parts have been taken into which batch
               carry/batch=N/       messages that batch N left for the next one, as Parquet
               runs/batch=N/        how far the clock of each run has come
               results/batch=N/     FOUND: what batch N told
               told.json terms.json lock

A batch writes all of its own before it tells anything, and everything by its number: one that a killed
process did not end is done again, with the same parts and so with the same result.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from ackdoctor.spark import live
from ackdoctor.spark.live import CARRIED, FOUND, RUNS, LiveTerms
from ackdoctor.spark.live_journal import Journal
from ackdoctor.spark.live_parts import parts
from ackdoctor.spark.messages import messages
from ackdoctor.spark.schema import ROOT_KEY

__all__ = ["FILES_AT_ONCE", "Watch"]

FILES_AT_ONCE = 64  # parts of a batch: 4 million rows
_LOOK_S = 1  # for a signal
_EVERY_S = 1  # looks for new parts


@dataclass(slots=True, kw_only=True)
class Watch:
    """One process that watches one folder."""

    folder: Path
    checkpoint: Path
    terms: LiveTerms
    journal: Journal
    line: Callable[[Row], str]
    refused: Callable[[str, int], None]  # a file, and how many of its lines are no rows
    files_at_once: int = FILES_AT_ONCE
    told: int = field(default=0, init=False)
    failure: Exception | None = field(default=None, init=False)

    def run(self, session: SparkSession, *, once: bool) -> None:
        """Until there is nothing new, or until a KeyboardInterrupt; raises what went wrong in a batch."""
        query = self._started(session, once=once)
        try:
            while not query.awaitTermination(_LOOK_S):
                pass
        except KeyboardInterrupt:
            pass
        except Exception:
            if self.journal.reader_left:
                return
            if self.failure is not None:
                raise self.failure from None
            raise
        finally:
            query.stop()

    def _started(self, session: SparkSession, *, once: bool) -> StreamingQuery:
        rows = parts(session, self.folder, files_at_once=self.files_at_once)
        writer = (
            rows.writeStream.foreachBatch(self._noted)
            .option("checkpointLocation", str(self.checkpoint / "spark"))
            .queryName(f"ackdoctor watch {self.folder}")
        )
        if once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{_EVERY_S} seconds").start()

    def _noted(self, rows: DataFrame, batch: int) -> None:
        """A batch; what it raises would else arrive as a page of Java."""
        try:
            if batch > self.journal.batch:
                self._batch(rows, batch)
        except Exception as error:
            self.failure = error
            raise

    def _batch(self, rows: DataFrame, batch: int) -> None:
        for row in rows.where("kind is null").groupBy("file").count().collect():
            self.refused(row["file"], row["count"])
        new = messages(rows.where("kind is not null"))
        runs = self._stored("runs", RUNS, batch, live.runs(self._before(rows, "runs", RUNS), new))
        carried = self._before(rows, "carry", CARRIED)
        with (
            _held(live.taken(carried, new, self.terms)) as taken,
            _held(live.judged(taken, runs, self.terms)) as judged,
        ):
            self._stored("carry", CARRIED, batch, live.kept(taken, judged))
            found = self._stored("results", FOUND, batch, live.found(taken, judged))
        lines = [self.line(row) for row in found.orderBy("certain_ns", *ROOT_KEY).toLocalIterator()]
        self.journal.tell(batch, lines)
        self.told += len(lines)
        self._clear(batch, told=bool(lines))

    def _before(self, rows: DataFrame, name: str, schema: StructType) -> DataFrame:
        """What the last batch left."""
        session = rows.sparkSession
        last = self._place(name, self.journal.batch)
        if not last.exists():
            return session.createDataFrame([], schema)
        return session.read.schema(schema).parquet(str(last))

    def _stored(self, name: str, schema: StructType, batch: int, table: DataFrame) -> DataFrame:
        place = str(self._place(name, batch))
        table.write.mode("overwrite").parquet(place)
        return table.sparkSession.read.schema(schema).parquet(place)

    def _clear(self, batch: int, *, told: bool) -> None:
        """Only what the next batch needs, and results, are kept."""
        for name in ("carry", "runs"):
            for old in (self.checkpoint / name).iterdir():
                if old != self._place(name, batch):
                    shutil.rmtree(old)
        if not told:
            shutil.rmtree(self._place("results", batch))

    def _place(self, name: str, batch: int) -> Path:
        return self.checkpoint / name / f"batch={batch}"


@contextmanager
def _held(table: DataFrame) -> Iterator[DataFrame]:
    table.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield table
    finally:
        table.unpersist()
