"""What a million lines of a worker's debug log cost: EVENTS, and their books, against Spark's text scan and count.

    python benchmarks/stormlog.py [LINES]

The log repeats that of a real 2.8.3 worker (fixtures/logs) with other root ids.  CPU seconds of the whole JVM, warm;
spark.py has both as processes of their own, as it has all else.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ackdoctor.spark.frames import Cache
from ackdoctor.spark.read.events import books
from ackdoctor.spark.read.logs import events, lines, read_logs
from ackdoctor.spark.session import session

LOG = Path(__file__).parents[1] / "fixtures" / "logs" / "storm-2.8.3" / "worker.log"
HERTZ = 100
REPEATS = 3


def main() -> None:
    """Prints the cost of each step."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.log"
        count = written(path, wanted)
        spark = session(master="local[2]", input_bytes=path.stat().st_size)
        pid = _jvm(spark)
        rows = {
            "text scan + count": lambda: spark.read.text(str(path)).count(),
            "ingest": lambda: ingested(spark, str(path)),
        }
        cost = _cpu(pid, rows)
        base = cost["text scan + count"]
        print(f"{count} lines, {path.stat().st_size / 1e6:.0f} MB")
        for name, seconds in cost.items():
            print(f"{name:24} {seconds:6.2f} CPU-s   {seconds / base:5.2f} x")
        print("reach 6 x, moonshot 3 x")


def ingested(spark: SparkSession, path: str) -> int:
    """Parse and cache the text, count its lines, and read EVENTS once, as `analyze` does; return the number of lines."""
    with Cache() as cache:
        parsed, survey = read_logs(lines(spark, [path]), cache)
        rows = events(parsed, survey)
        ledger = books(survey)
        assert ledger.balanced
        _drain(rows)
    return ledger.rows


def written(path: Path, wanted: int) -> int:
    """Writes a log of about so many lines, and tells how many."""
    text = LOG.read_text(encoding="utf-8")
    again = wanted // text.count("\n") + 1
    with path.open("w", encoding="utf-8") as out:
        for number in range(again):
            out.write(re.sub(r"(?<=\d{12})\d{6}\b", f"{number:06d}", text))
    return again * text.count("\n")


def _drain(table: DataFrame) -> None:
    table.write.format("noop").mode("overwrite").save()


def _jvm(spark: SparkSession) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001


def _cpu(pid: int, rows: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The smallest of some runs of each, after one to warm up; one after the other, so that they share the machine's moods."""
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
