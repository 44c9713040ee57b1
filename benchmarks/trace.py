"""Measure the trace on disk: writing, converting to Parquet, reading, the proxy, and what `kill -9` loses.

    python benchmarks/trace.py [--rounds 15] [--kills 100] [--writers 6]

Figures are CPU time of this process, medians over rounds; a round trip is wall time.
"""

import argparse
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from mmap import mmap
from pathlib import Path
from unittest.mock import patch

from ackdoctor.model.trace import RELIABLE, EventKind
from ackdoctor.tracer.recorder import BATCH, Recorder, finish_killed
from ackdoctor.tracer.trace_files import ROWS_PER_PART, quoted
from ackdoctor.tracer.trace_reader import read

K = EventKind
TUPLES = ROWS_PER_PART // 5 * 5


def ids(count: int) -> list[str]:
    """Return delivery ids as ShellBolt makes them: 64 random bits as decimal text."""
    dice = random.Random(1)
    return [str(dice.getrandbits(64) - (1 << 63)) for _ in range(count)]


def bolt(recorder: Recorder, deliveries: list[str]) -> None:
    """Record a bolt that receives each tuple, makes three anchored emits, and acks it."""
    received = recorder.template(K.RECEIVED, "count", 4, "default")
    emitted = recorder.template(K.EMITTED, "count", 4, "default", "/src/bolts.py:12 Count.process", RELIABLE)
    acked = recorder.template(K.ACKED, "count", 4, "", "/src/bolts.py:15 Count.process")
    for delivery in map(quoted, deliveries):
        recorder.put(received, delivery)
        recorder.put(emitted, delivery)
        recorder.put(emitted, delivery)
        recorder.put(emitted, delivery)
        recorder.put(acked, delivery)
    recorder.flush()


def acker(recorder: Recorder, roots: list[int]) -> None:
    """Record an init and four acks of each root; no two rows are equal."""
    for root in roots:
        recorder.write(K.INIT, "__acker", 4, root=root, value=root)
        for edge in range(4):
            recorder.write(K.ACK, "__acker", root=root, value=edge)
    recorder.flush()


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU time of some work in nanoseconds."""
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


@contextmanager
def without_pyarrow() -> Iterator[None]:
    """Write as in a process without pyarrow."""
    with patch("ackdoctor.tracer.recorder.parquet_module", lambda: None):
        yield


def cost(rounds: int) -> dict[str, list[float]]:
    """Return the costs per event: write, convert a full file to Parquet, both, bytes on disk, read."""
    figures: dict[str, list[float]] = {
        "write": [],
        "acker": [],
        "convert": [],
        "both": [],
        "bytes": [],
        "read": [],
    }
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as directory:
            recorder = Recorder(Path(directory), run="r", seconds=3600)
            recorder.write(K.RECEIVED)
            recorder.roll()  # imports pyarrow
            deliveries = ids(TUPLES // 5)
            figures["write"].append(cpu(partial(bolt, recorder, deliveries)) / TUPLES)
            figures["convert"].append(cpu(recorder.roll) / TUPLES)
            figures["both"].append(figures["write"][-1] + figures["convert"][-1])
            largest = max(path.stat().st_size for path in recorder.folder.glob("part-*"))
            figures["bytes"].append(largest / TUPLES)
            figures["read"].append(cpu(partial(count, directory)) / TUPLES)
            roots = [int(delivery) for delivery in deliveries]
            figures["acker"].append(cpu(partial(acker, recorder, roots)) / TUPLES)
            recorder.close()
    return figures


def count(directory: str) -> int:
    """Read the rows of a trace one by one and count them."""
    return sum(1 for _ in read([directory]).events())


def killed(directory: Path, writers: int, seed: int) -> tuple[int, int]:
    """Kill all writers at a random moment; return how many events they had written and how many are lost."""
    counts = mmap(-1, 8 * writers)
    pids = []
    for writer in range(writers):
        pid = os.fork()
        if pid == 0:
            recorder = Recorder(directory, run="r", worker="w", events=4096)
            for number in range(1 << 40):
                delivery = f"text {number}" if number % 10 == 0 else str(number)
                recorder.write(K.ACKED, task=writer, delivery=delivery)
                struct.pack_into("<q", counts, 8 * writer, number + 1)
        pids.append(pid)
    time.sleep(random.Random(seed).uniform(0.02, 0.3))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    assert not finish_killed(directory)
    found: dict[int, list[str]] = {writer: [] for writer in range(writers)}
    for row in read([directory]).events():
        if row.kind is K.ACKED:
            found[row.task].append(row.delivery.removeprefix("text "))
    written = struct.unpack(f"<{writers}q", counts)
    lost = 0
    for writer, count in enumerate(written):
        read_back = len(found[writer])
        assert found[writer] == [str(number) for number in range(read_back)]
        assert read_back >= count - BATCH
        lost += max(0, count - read_back)
    return sum(written), lost


def round_trips(argv: list[str], count: int) -> float:
    """Return the wall time of a message to a component and its answer, in microseconds."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        times = []
        for number in range(count):
            message = b'{"command":"ack","id":"%d"}\nend\n' % number
            start = time.perf_counter_ns()
            process.stdin.write(message)
            answer = b""
            while len(answer) < len(message):
                answer += process.stdout.read(65_536)
            times.append((time.perf_counter_ns() - start) / 1e3)
        process.stdin.close()
    return statistics.median(times[count // 10 :])


def show(name: str, values: list[float], unit: str) -> None:
    """Print the median of the rounds, the least and the most."""
    print(
        f"{name:44} {statistics.median(values):8.1f} {unit:9} (least {min(values):.1f}, most {max(values):.1f})"
    )


def main() -> None:
    """Run all measurements."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--writers", type=int, default=6)
    arguments = options.parse_args()
    figures = cost(arguments.rounds)
    show("an event: written", figures["write"], "ns")
    show("an acker's event: written", figures["acker"], "ns")
    show("an event: converted to Parquet", figures["convert"], "ns")
    show("an event: both", figures["both"], "ns")
    show("an event on disk, Parquet", figures["bytes"], "bytes")
    show("an event read back as an Event", figures["read"], "ns")
    with without_pyarrow():
        lines = cost(max(arguments.rounds // 3, 1))
    show("an event: both, JSON lines", lines["both"], "ns")
    show("an event on disk, JSON lines", lines["bytes"], "bytes")
    echo = [sys.executable, "-uc", "import os\nwhile d := os.read(0, 65536): os.write(1, d)"]
    with tempfile.TemporaryDirectory() as directory:
        proxy = "import sys, pathlib\nfrom ackdoctor.tracer.proxy import proxy\nproxy(sys.argv[2:], pathlib.Path(sys.argv[1]))"
        argv = [sys.executable, "-c", proxy, directory, *echo]
        show("a round trip without the proxy", [round_trips(echo, 5000) for _ in range(3)], "us wall")
        show("a round trip through the proxy", [round_trips(argv, 5000) for _ in range(3)], "us wall")
    events = lost = 0
    for seed in range(arguments.kills):
        with tempfile.TemporaryDirectory() as directory:
            written, missing = killed(Path(directory), arguments.writers, seed)
            events, lost = events + written, lost + missing
    print(
        f"kill -9 of {arguments.writers} writers, {arguments.kills} rounds: {events:,} events written, "
        f"{lost} of them lost (at most {BATCH} a writer)"
    )


if __name__ == "__main__":
    main()
