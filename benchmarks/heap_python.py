"""Measure the heap report of a Python process with a leak of known size, beside guppy3 on the same heap.

    python benchmarks/heap_python.py [--entries 100000 1000000] [--rounds 3]

path     from the acker to an entry of its pending map; guppy3's `get_shpaths` must find the same expression
report   a snapshot (census, paths, bytes, kinds of entries) with its screen, beside one `heap()` with its rows
tests    27 small tests under `pytest --ackdoctor --ackdoctor-heap`, beside `pytest --ackdoctor`

Figures are CPU time, interleaved; a ratio is the median of the rounds' ratios.
"""

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from guppy import hpy

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.heap.python_heap import ACKER, Owner, containers, take
from ackdoctor.model.acker import AckInit
from ackdoctor.reporters import Context, Sources
from ackdoctor.reporters.heap import snapshots_screen

PATH_BAR, REPORT_BAR, TESTS_BAR = 0.01, 8.0, 3.0

TESTS = """
import pytest
from pystorm.bolt import Bolt

class Passes(Bolt):
    def process(self, tup):
        self.emit(tup.values)

@pytest.mark.parametrize("number", range(27))
def test_one(number, ackdoctor):
    bench = ackdoctor.bench(Passes)
    for _ in range(10):
        bench.feed("the")
    ackdoctor.assert_complete()
"""


def leaking(entries: int) -> Acker:
    """Return an acker with so many roots that never complete."""
    acker = make_acker(profile("storm-1.1.0"), VirtualClock())
    for number in range(entries):
        acker.receive(AckInit(2**40 + 7919 * number, 2**41 + number, 3))
    return acker


def our_path(acker: Acker) -> str:
    """Return our path to the first entry."""
    (found,) = containers(Owner(name="acker", kind=ACKER, value=acker))
    return found.first


def guppys_path(acker: Any) -> str:
    """Return guppy3's shortest path to the same entry."""
    heapy: Any = hpy()
    entry = next(iter(acker._pending._buckets[0].values()))  # noqa: SLF001 - the target of the search
    path = next(iter(heapy.iso(entry).get_shpaths(src=heapy.iso(acker)))).path
    steps = "".join(str(relation).replace("%s", "") for relation in path[1::2])
    return f"acker{steps}".replace(".__dict__['", ".").replace("']", "")


def our_report(acker: Acker) -> str:
    """Take a snapshot and render its screen."""
    snapshot = take("end", [Owner(name="acker", kind=ACKER, value=acker, tuples=len(acker))])
    stream = io.StringIO()
    snapshots_screen([snapshot], stream, Context(sources=Sources(root=Path())), width=120)
    return stream.getvalue()


def guppys_rows(_acker: Acker) -> str:
    """Run the guppy3 query that a user would type."""
    rows = list(hpy().heap().stat.get_rows())
    return "\n".join(f"{row.count} {row.size} {row.name}" for row in rows[:20])


def timed(action: Callable[[Acker], str], acker: Acker) -> tuple[float, str]:
    """Return the CPU seconds of an action and its result."""
    begin = time.process_time()
    text = action(acker)
    return time.process_time() - begin, text


def compared(
    ours: Callable[[Acker], str], guppys: Callable[[Acker], str], acker: Acker, rounds: int
) -> tuple[float, float, float]:
    """Return the medians of our seconds, of guppy3's seconds, and of their ratios."""
    pairs = []
    for number in range(rounds):
        order = [ours, guppys] if number % 2 else [guppys, ours]
        spent = {action: timed(action, acker)[0] for action in order}
        pairs.append((spent[ours], spent[guppys]))
    return (
        median(mine for mine, _ in pairs),
        median(its for _, its in pairs),
        median(mine / its for mine, its in pairs),
    )


def tests_compared(rounds: int) -> tuple[float, float, float]:
    """Return the median CPU seconds with the option and without, and the median of their ratios."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_bolts.py").write_text(TESTS, encoding="utf-8")
        for number in range(rounds + 1):
            both = [_cpu_of_pytest(folder, *flags) for flags in (("--ackdoctor-heap",), ())]
            if number:  # the first round compiles bytecode
                pairs.append(both)
    return (
        median(mine for mine, _ in pairs),
        median(its for _, its in pairs),
        median(mine / its for mine, its in pairs),
    )


def _cpu_of_pytest(folder: str, *flags: str) -> float:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ackdoctor", *flags]
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print a row for each measurement; exit with 1 if one misses its bar or the paths differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    seconds, beside, ratio = tests_compared(options.rounds)
    print(f"27 tests {seconds:8.2f} s   without {beside:8.2f} s   {ratio:8.2f} x   bar <= {TESTS_BAR} x")
    missed = ratio > TESTS_BAR
    for entries in options.entries:
        acker = leaking(entries)
        ours, its = our_path(acker), guppys_path(acker)
        print(f"{entries:,} entries; path {ours}: {'the same' if ours == its else f'guppy3 finds {its}'}")
        missed |= ours != its
        for what, mine, other, bar in (
            ("path", our_path, guppys_path, PATH_BAR),
            ("report", our_report, guppys_rows, REPORT_BAR),
        ):
            seconds, beside, ratio = compared(mine, other, acker, options.rounds)
            print(
                f"  {what:<8} {seconds * 1000:12.2f} ms   guppy3 {beside * 1000:10.1f} ms   {ratio:8.4f} x   bar <= {bar} x"
            )
            missed |= ratio > bar
        del acker
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
