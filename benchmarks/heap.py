"""A dump's histogram pass against `cat`, its memory, and the walk over an acker's entries, exact to the entry.

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
from ackdoctor.heap.jvm.hprof import Hprof
from ackdoctor.heap.jvm.sweep import sweep

MB = 1_000_000
FLOOR_RATE, FLOOR_MEMORY, FLOOR_WALK = 120, 400, 8.0  # MB/s, MB, s


def main() -> int:
    """Prints each figure with its floor; 1 if one is missed or a count is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--expect", type=int, help="entries that the ackers hold")
    asked = parser.parse_args()
    size = asked.dump.stat().st_size / MB
    cat = min(_wall(["cat", str(asked.dump)]) for _ in range(asked.rounds))
    passes = [_pass(asked.dump) for _ in range(asked.rounds)]
    wholes = [_of_a_process(asked.dump) for _ in range(asked.rounds)]
    rate, walk = size / min(passes), min(whole for whole, _, _ in wholes) - min(passes)
    memory, entries = max(peak for _, peak, _ in wholes), wholes[0][2]
    wrong = asked.expect is not None and entries != asked.expect
    print(f"{asked.dump.name}: {size:,.0f} MB; CPU time, the best of {asked.rounds}")
    print(f"  cat              {size / cat:8,.0f} MB/s (wall)")
    print(f"  histogram pass   {rate:8,.0f} MB/s   floor {FLOOR_RATE}")
    print(f"  all but that     {walk:8.1f} s      floor {FLOOR_WALK:.0f} at 2,000,000 entries")
    print(f"  peak memory      {memory:8,.0f} MB     floor {FLOOR_MEMORY} at 300 MB")
    print(f"  entries          {entries:8,}{'   WRONG' if wrong else ''}")
    return int(wrong or rate < FLOOR_RATE or memory > FLOOR_MEMORY or walk > FLOOR_WALK)


def _wall(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def _pass(path: Path) -> float:
    """Seconds of counting all classes, and nothing else."""
    begin = time.process_time()
    with Hprof(path) as dump:
        sweep(dump, lambda _: {})
    return time.process_time() - begin


def _of_a_process(path: Path) -> tuple[float, float, int]:
    """Seconds and peak resident set of a process that does all that `heap dump` does, and the entries it finds."""
    code = "import sys; sys.path.insert(0, 'benchmarks'); import heap; heap.alone(sys.argv[1])"
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, peak, entries = ran.stdout.split()
    return float(seconds), float(peak), int(entries)


def alone(path: str) -> None:
    """What the process of a round does."""
    begin = time.process_time()
    dump = read_dump(Path(path))
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    print(seconds, peak, dump.entries)


if __name__ == "__main__":
    sys.exit(main())
