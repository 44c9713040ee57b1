"""Measure reading a JVM heap dump: the histogram pass beside `cat`, peak memory, and the walk over pending entries.

    python benchmarks/heap.py worker.hprof [--rounds 3] [--expect 2000000]

Make the dump with tests/heap/java/HeapDriver.java: `many twice 1000000 1`, `many tracked 1000000 2`, `dump FILE`.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.hprof import Hprof
from ackdoctor.heap.sweep import sweep

MB = 1_000_000
LEAST_RATE, MOST_MEMORY, LONGEST_WALK = 120, 400, 8.0  # MB/s, MB, s


def main() -> int:
    """Print each figure with its bar; return 1 if a figure misses its bar or a count is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--expect", type=int, help="number of pending entries in the dump")
    options = parser.parse_args()
    size = options.dump.stat().st_size / MB
    cat = min(_wall(["cat", str(options.dump)]) for _ in range(options.rounds))
    passes = [_pass(options.dump) for _ in range(options.rounds)]
    runs = [_in_a_process(options.dump) for _ in range(options.rounds)]
    rate, walk = size / min(passes), min(seconds for seconds, _, _ in runs) - min(passes)
    memory, entries = max(peak for _, peak, _ in runs), runs[0][2]
    wrong = options.expect is not None and entries != options.expect
    print(f"{options.dump.name}: {size:,.0f} MB; CPU time, the best of {options.rounds}")
    print(f"  cat              {size / cat:8,.0f} MB/s (wall)")
    print(f"  histogram pass   {rate:8,.0f} MB/s   bar >= {LEAST_RATE}")
    print(f"  everything else  {walk:8.1f} s      bar <= {LONGEST_WALK:.0f} at 2,000,000 entries")
    print(f"  peak memory      {memory:8,.0f} MB     bar <= {MOST_MEMORY} at 300 MB")
    print(f"  entries          {entries:8,}{'   WRONG' if wrong else ''}")
    return int(wrong or rate < LEAST_RATE or memory > MOST_MEMORY or walk > LONGEST_WALK)


def _wall(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def _pass(path: Path) -> float:
    """Return the CPU seconds of counting all classes."""
    begin = time.process_time()
    with Hprof(path) as dump:
        sweep(dump, lambda _: {})
    return time.process_time() - begin


def _in_a_process(path: Path) -> tuple[float, float, int]:
    """Return the seconds, peak resident set and entries of a process that reads the dump as `heap dump` does."""
    code = "import sys; sys.path.insert(0, 'benchmarks'); import heap; heap.alone(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, peak, entries = done.stdout.split()
    return float(seconds), float(peak), int(entries)


def alone(path: str) -> None:
    """Read a dump and print seconds, peak MB and entries; runs in a process of its own."""
    begin = time.process_time()
    dump = read_dump(Path(path))
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    print(seconds, peak, dump.entries)


if __name__ == "__main__":
    sys.exit(main())
