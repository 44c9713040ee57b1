"""What the tracer costs on a driven pystorm bolt: one delivery, three emits, one ack, JSON over memory.

    python benchmarks/tracer.py [--rounds 31] [--deliveries 2000] [--memray PYTHON]

CPU time of this process, pinned to one core; every loop runs beside an untraced one; memray's rows come from another interpreter (`--memray`), since
it is no dependency of ours.
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

from ackdoctor.tracer.instrument.install import install
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.levels import Level
from ackdoctor.tracer.trace.write import Recorder

WARM = 200
BOUNDS = {"counts": (6, 3), "sites": (15, 10), "trace": (40, 30)}


class Split(Bolt):
    """Three emits and an ack."""

    auto_ack = False

    def process(self, tup: Any) -> None:
        """Splits a sentence."""
        for word in tup.values[0].split():
            self.emit([word])
        self.ack(tup)


def frames(count: int) -> bytes:
    """What ShellBolt would write."""
    row = {"comp": "spout", "stream": "default", "task": 4, "tuple": ["snow white dwarfs"]}
    return "".join(
        f"{json.dumps({'id': str(-6955786537413359385 + number), **row})}\nend\n" for number in range(count)
    ).encode()


def loop(text: bytes, count: int) -> float:
    """Nanoseconds per delivery."""
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
    """The loop under a level."""
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
    """The loop under tracemalloc, one frame deep."""
    tracemalloc.start(1)
    yield
    tracemalloc.stop()


def pair(
    watched: Callable[[], Any],
    text: bytes,
    count: int,
    first: bool,  # noqa: FBT001 - who goes first, in turns
) -> tuple[float, float]:
    """The loop by itself and watched, one right after the other: a core's speed changes within seconds."""
    base = loop(text, count) if first else 0.0
    with watched():
        value = loop(text, count)
    return base or loop(text, count), value


def under_memray(python: str, text: bytes, count: int) -> tuple[float, float] | None:
    """The loop by itself and under memray, in another interpreter that has both."""
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
    """Prints a table."""
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
        "counts": lambda: traced(Level.COUNTS),
        "sites": lambda: traced(Level.SITES),
        "trace": lambda: traced(Level.TRACE),
        "tracemalloc": allocations,
    }
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for number in range(options.rounds):
        for name, watched in rows.items():
            pairs[name].append(pair(watched, text, options.deliveries, number % 2 == 0))
    bare = [base for several in pairs.values() for base, _ in several]
    print(f"Python {sys.version.split()[0]}, {options.rounds} rounds of {options.deliveries} deliveries")
    print(f"{'untraced':12} {median(bare):8.0f} ns per delivery (3 emits, 1 ack; least {min(bare):.0f})")
    for name, several in pairs.items():
        ratios = sorted(100 * (value / base - 1) for base, value in several)
        low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
        bound = "  reach +{}, moonshot +{} %".format(*BOUNDS[name]) if name in BOUNDS else ""
        time = median(value for _, value in several)
        print(
            f"{name:12} {time:8.0f} ns  {median(ratios):+6.1f} % (half of them {low:+.1f} to {high:+.1f}){bound}"
        )
    if options.memray:
        found = [under_memray(options.memray, text, options.deliveries) for _ in range(3)]
        ratios = [100 * (value / base - 1) for base, value in filter(None, found)]
        print(f"{'memray':12} {median(ratios):+18.1f} %" if ratios else "memray: not there")


if __name__ == "__main__":
    main()
