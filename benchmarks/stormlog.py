"""Measure reading a worker's debug log on Spark, as a ratio to Spark's text scan and count.

    python benchmarks/stormlog.py [LINES]

The log repeats that of a real 2.8.3 worker (fixtures/logs) with other root ids.  Figures are CPU seconds of one
warm JVM.  `spark.py --lines` measures the same in a process for each run.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ackdoctor.spark.events import row_counts
from ackdoctor.spark.logs import events, lines, read_logs
from ackdoctor.spark.session import Cache, session

LOG = Path(__file__).parents[1] / "fixtures" / "logs" / "storm-2.8.3" / "worker.log"
HERTZ = 100
REPEATS = 3


def main() -> None:
    """Print the cost of the scan and of reading."""
    lines_wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.log"
        count = write_log(path, lines_wanted)
        spark = session(master="local[2]", input_bytes=path.stat().st_size)
        pid = _jvm(spark)
        rows = {
            "text scan + count": lambda: spark.read.text(str(path)).count(),
            "ingest": lambda: ingest(spark, str(path)),
        }
        cost = _cpu(pid, rows)
        base = cost["text scan + count"]
        print(f"{count} lines, {path.stat().st_size / 1e6:.0f} MB")
        for name, seconds in cost.items():
            print(f"{name:24} {seconds:6.2f} CPU-s   {seconds / base:5.2f} x")


def ingest(spark: SparkSession, path: str) -> int:
    """Parse a log as `analyze` does, check that every line is accounted for, read EVENTS once; return the lines."""
    with Cache() as keep:
        rows, counts = read_logs(lines(spark, [path]), keep)
        ledger = row_counts(counts)
        assert ledger.balanced
        _read_to_the_end(events(rows, counts))
    return ledger.rows


def write_log(path: Path, lines_wanted: int) -> int:
    """Write a log of about so many lines and return the exact number."""
    text = LOG.read_text(encoding="utf-8")
    copies = lines_wanted // text.count("\n") + 1
    with path.open("w", encoding="utf-8") as out:
        for number in range(copies):
            out.write(re.sub(r"(?<=\d{12})\d{6}\b", f"{number:06d}", text))
    return copies * text.count("\n")


def _read_to_the_end(table: DataFrame) -> None:
    table.write.format("noop").mode("overwrite").save()


def _jvm(spark: SparkSession) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001


def _cpu(pid: int, rows: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least CPU seconds of each row after a warm-up; the rows run in turns, on the same load."""
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(REPEATS + 1):
        for name, run in rows.items():
            with _spending(pid) as seconds:
                run()
            spent[name].append(seconds[0])
    return {name: min(times[1:]) for name, times in spent.items()}


@contextmanager
def _spending(pid: int) -> Iterator[list[float]]:
    seconds = [0.0]
    before = _ticks(pid)
    yield seconds
    time.sleep(0.05)
    seconds[0] = (_ticks(pid) - before) / HERTZ


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()
