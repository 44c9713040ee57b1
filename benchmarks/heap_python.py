"""Measures looking into a Python heap with a leak of known size, beside guppy3 alone on the same heap.

    python benchmarks/heap_python.py [--entries 100000 1000000] [--rounds 3]

Path: from the acker, the known holder, to an entry of its pending map; guppy3's is the shortest path from the
same holder (`get_shpaths`), and both must be the same expression.  Report: a snapshot (census, paths, bytes,
kinds of entries) with its screen, beside one `heap()` with its rows.  CPU time, interleaved, medians of ratios.
Tests: 27 small tests under `pytest --ackdoctor-heap`, beside the same tests under `pytest --ackdoctor`; CPU time of
the whole process, start included.
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
from ackdoctor.acker.rotating_map import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.heap.python.holders import ACKER, Holder, containers
from ackdoctor.heap.python.snapshot import take
from ackdoctor.model.message import AckInit
from ackdoctor.reporters import Context
from ackdoctor.reporters.context import Sources
from ackdoctor.reporters.heap_python import snapshots_screen

PATH_REACH, REPORT_REACH, TESTS_REACH = 0.01, 8.0, 3.0

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
    """An acker whose roots never complete."""
    acker = make_acker(profile("storm-1.1.0"), VirtualClock())
    for number in range(entries):
        acker.receive(AckInit(2**40 + 7919 * number, 2**41 + number, 3))
    return acker


def our_path(acker: Acker) -> str:
    """To the first entry."""
    (found,) = containers(Holder(name="acker", kind=ACKER, holder=acker))
    return found.first


def guppys_path(acker: Any) -> str:
    """To the same entry, by guppy3's own search."""
    heapy: Any = hpy()
    entry = next(iter(acker._pending._buckets[0].values()))  # noqa: SLF001 - it is what is looked for
    path = next(iter(heapy.iso(entry).get_shpaths(src=heapy.iso(acker)))).path
    steps = "".join(str(relation).replace("%s", "") for relation in path[1::2])
    return f"acker{steps}".replace(".__dict__['", ".").replace("']", "")


def our_report(acker: Acker) -> str:
    """Snapshot and screen."""
    snapshot = take("end", [Holder(name="acker", kind=ACKER, holder=acker, tuples=len(acker))])
    stream = io.StringIO()
    snapshots_screen([snapshot], stream, Context(sources=Sources(root=Path())), width=120)
    return stream.getvalue()


def guppys_rows(_acker: Acker) -> str:
    """What one would type."""
    rows = list(hpy().heap().stat.get_rows())
    return "\n".join(f"{row.count} {row.size} {row.name}" for row in rows[:20])


def timed(action: Callable[[Acker], str], acker: Acker) -> tuple[float, str]:
    """CPU seconds, and what came out."""
    begin = time.process_time()
    text = action(acker)
    return time.process_time() - begin, text


def compared(
    ours: Callable[[Acker], str], guppys: Callable[[Acker], str], acker: Acker, rounds: int
) -> tuple[float, float, float]:
    """Medians: our seconds, guppy3's, and of the ratios."""
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
    """CPU seconds of the tests with the option and without, and the median of the ratios."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_bolts.py").write_text(TESTS, encoding="utf-8")
        for number in range(rounds + 1):
            both = [_spent(folder, *flags) for flags in (("--ackdoctor-heap",), ())]
            if number:  # the first compiles
                pairs.append(both)
    return (
        median(mine for mine, _ in pairs),
        median(its for _, its in pairs),
        median(mine / its for mine, its in pairs),
    )


def _spent(folder: str, *flags: str) -> float:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ackdoctor", *flags]
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Prints a row for each measurement; exit code 1 if one misses its reach, or if the paths differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    seconds, beside, ratio = tests_compared(given.rounds)
    print(f"27 tests {seconds:8.2f} s   without {beside:8.2f} s   {ratio:8.2f} x   reach {TESTS_REACH} x")
    missed = ratio > TESTS_REACH
    for entries in given.entries:
        acker = leaking(entries)
        ours, its = our_path(acker), guppys_path(acker)
        print(f"{entries:,} entries; path {ours}: {'the same' if ours == its else f'guppy3 says {its}'}")
        missed |= ours != its
        for what, mine, other, reach in (
            ("path", our_path, guppys_path, PATH_REACH),
            ("report", our_report, guppys_rows, REPORT_REACH),
        ):
            seconds, beside, ratio = compared(mine, other, acker, given.rounds)
            print(
                f"  {what:<8} {seconds * 1000:12.2f} ms   guppy3 {beside * 1000:10.1f} ms   {ratio:8.4f} x   reach {reach} x"
            )
            missed |= ratio > reach
        del acker
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
