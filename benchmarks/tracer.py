"""Measure the overhead of the tracer on a pystorm bolt: one tuple, three emits, one ack, JSON in memory.

    python benchmarks/tracer.py [--rounds 31] [--deliveries 2000] [--memray PYTHON]

Figures are CPU time of this process, pinned to one core.  Each traced loop runs right beside an untraced one,
since the speed of a core changes within seconds.  `--memray` names another interpreter that has memray.
"""

import argparse
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import process_time_ns
from typing import Any

from pystorm import Bolt

from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder

WARM = 200
BARS = {"sites": 20, "trace": 45}  # % over the untraced loop


class Split(Bolt):
    """Three emits and an ack."""

    auto_ack = False

    def process(self, tup: Any) -> None:
        """Split a sentence."""
        for word in tup.values[0].split():
            self.emit([word])
        self.ack(tup)


def frames(count: int) -> bytes:
    """Return what ShellBolt writes to the bolt."""
    row = {"comp": "spout", "stream": "default", "task": 4, "tuple": ["snow white dwarfs"]}
    return "".join(
        f"{json.dumps({'id': str(-6955786537413359385 + number), **row})}\nend\n" for number in range(count)
    ).encode()


def loop(text: bytes, count: int) -> float:
    """Return CPU nanoseconds per tuple."""
    bolt = Split(input_stream=io.BytesIO(text), output_stream=io.BytesIO(), rdb_signal=None)
    for _ in range(WARM):
        bolt._run()  # noqa: SLF001 - "separated out so it can be properly unit tested"
    gc.collect()
    begin = process_time_ns()
    for _ in range(count):
        bolt._run()  # noqa: SLF001
    return (process_time_ns() - begin) / count


@contextmanager
def traced(level: Level) -> Iterator[None]:
    """Trace at a level."""
    with ExitStack() as stack:
        recorder = None
        if level is Level.TRACE:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            recorder = Recorder(Path(folder), run="benchmark")
            stack.callback(recorder.close)
        ledger = Ledger(level)
        installation = install(ledger, recorder)
        yield
        installation.undo()
        settlement = ledger.settle()
        assert (settlement.violations, settlement.notes, settlement.dropped) == ((), (), 0)


@contextmanager
def allocations() -> Iterator[None]:
    """Run tracemalloc, one frame deep."""
    tracemalloc.start(1)
    yield
    tracemalloc.stop()


def pair(
    overhead: Callable[[], Any],
    text: bytes,
    count: int,
    first: bool,  # noqa: FBT001 - the untraced loop goes first
) -> tuple[float, float]:
    """Return the loop's time by itself and with the overhead, one right after the other."""
    base = loop(text, count) if first else 0.0
    with overhead():
        value = loop(text, count)
    return base or loop(text, count), value


def under_memray(python: str, text: bytes, count: int) -> tuple[float, float] | None:
    """Return the loop's time by itself and under memray, in another interpreter that has both."""
    script = (
        "import sys, runpy, tempfile, pathlib\n"
        "import memray\n"
        f"bench = runpy.run_path({__file__!r}, run_name='bench')\n"
        "text = sys.stdin.buffer.read()\n"
        f"print(bench['loop'](text, {count}))\n"
        "with tempfile.TemporaryDirectory() as folder, memray.Tracker(pathlib.Path(folder) / 'out.bin'):\n"
        f"    print(bench['loop'](text, {count}))\n"
    )
    done = subprocess.run([python, "-c", script], input=text, capture_output=True, check=False)
    lines = done.stdout.split()
    return (float(lines[0]), float(lines[1])) if done.returncode == 0 else None


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--deliveries", type=int, default=2000)
    parser.add_argument(
        "--memray", metavar="PYTHON", help="an interpreter with ackdoctor, pystorm and memray"
    )
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    text = frames(options.deliveries + WARM)
    rows: dict[str, Callable[[], Any]] = {
        "sites": lambda: traced(Level.SITES),
        "trace": lambda: traced(Level.TRACE),
        "tracemalloc": allocations,
    }
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for number in range(options.rounds):
        for name, overhead in rows.items():
            pairs[name].append(pair(overhead, text, options.deliveries, number % 2 == 0))
    bare = [base for several in pairs.values() for base, _ in several]
    print(f"Python {sys.version.split()[0]}, {options.rounds} rounds of {options.deliveries} tuples")
    print(f"{'untraced':12} {median(bare):8.0f} ns per tuple (3 emits, 1 ack; least {min(bare):.0f})")
    for name, several in pairs.items():
        ratios = sorted(100 * (value / base - 1) for base, value in several)
        low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
        bar = f"  bar <= +{BARS[name]} %" if name in BARS else ""
        time = median(value for _, value in several)
        print(
            f"{name:12} {time:8.0f} ns  {median(ratios):+6.1f} % (half of them {low:+.1f} to {high:+.1f}){bar}"
        )
    if options.memray:
        found = [under_memray(options.memray, text, options.deliveries) for _ in range(3)]
        ratios = [100 * (value / base - 1) for base, value in filter(None, found)]
        print(f"{'memray':12} {median(ratios):+18.1f} %" if ratios else "memray: not installed")


if __name__ == "__main__":
    main()
