"""What a million lines of a worker's debug log cost: EVENTS, and their books, against Spark's text scan and count.

    python benchmarks/stormlog.py [LINES]

The log repeats that of a real 2.8.3 worker (fixtures/logs) with other root ids.  CPU seconds of the whole JVM, warm.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ackdoctor.spark.read.logbook import survey
from ackdoctor.spark.read.stormlog import events, lines
from ackdoctor.spark.session import session

LOG = Path(__file__).parents[1] / "fixtures" / "logs" / "storm-2.8.3" / "worker.log"
HERTZ = 100
REPEATS = 2


def main() -> None:
    """Prints the cost of each step."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.log"
        count = _write(path, wanted)
        spark = session(master="local[2]", input_bytes=path.stat().st_size)
        pid = _jvm(spark)
        read = lines(spark, [str(path)])
        surveyed = survey(read)
        rows = {
            "text scan + count": lambda: spark.read.text(str(path)).count(),
            "events of all lines": lambda: _drained(events(read, surveyed)),
            "events of ackers only": lambda: _drained(events(read, surveyed).where("kind between 10 and 14")),
            "books": lambda: survey(read),
        }
        cost = {name: _cpu(pid, run) for name, run in rows.items()}
        base = cost["text scan + count"]
        print(f"{count} lines, {path.stat().st_size / 1e6:.0f} MB, {surveyed.logs[0].used} used")
        for name, seconds in cost.items():
            print(f"{name:24} {seconds:6.2f} CPU-s   {seconds / base:5.2f} x")
        whole = cost["events of all lines"] + cost["books"]
        print(
            f"{'events and books':24} {whole:6.2f} CPU-s   {whole / base:5.2f} x   (reach 6 x, moonshot 3 x)"
        )


def _write(path: Path, wanted: int) -> int:
    text = LOG.read_text(encoding="utf-8")
    again = wanted // text.count("\n") + 1
    with path.open("w", encoding="utf-8") as out:
        for number in range(again):
            out.write(re.sub(r"(?<=\d{12})\d{6}\b", f"{number:06d}", text))
    return again * text.count("\n")


def _drained(table: DataFrame) -> None:
    table.write.format("noop").mode("overwrite").save()


def _jvm(spark: SparkSession) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001


def _cpu(pid: int, run: Callable[[], object]) -> float:
    """The smallest of some runs, after one to warm up."""
    run()
    spent = []
    for _ in range(REPEATS):
        with _spending(pid) as seconds:
            run()
        spent.append(seconds[0])
    return min(spent)


@contextmanager
def _spending(pid: int) -> Iterator[list[float]]:
    told = [0.0]
    before = _ticks(pid)
    yield told
    time.sleep(0.05)
    told[0] = (_ticks(pid) - before) / HERTZ


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()
