"""Measure the root ledger and the replay, as ratios to a plain dict XOR loop in the same run.

    python benchmarks/acker.py [--pending 500000] [--rounds 5]

Every root has one init and three acks.  The stream fills the pending map, then completes one root for each
new root, with shuffled acks, so the map stays full.  A figure is the CPU time of a loop.  The loops run
interleaved, in reverse order every other round; a ratio is the median of the rounds' ratios.  Bytes are the
growth of the resident set of a fresh process that fills the map with inits.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ackdoctor.acker.replay import RootLedger, replay
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckInit
from ackdoctor.model.trace import EventKind

ACKS = 3
INIT, ACK = int(EventKind.INIT), int(EventKind.ACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Messages as columns, like a trace."""

    kinds: list[int]
    roots: list[int]
    values: list[int]
    tasks: list[int]
    times_ms: list[int]


def stream(pending: int) -> Stream:
    """Fill the map with `pending` roots, then complete as many while new roots keep it full."""
    dice = random.Random(1)
    edges = {
        dice.getrandbits(64) - 2**63: [dice.getrandbits(63) for _ in range(ACKS)] for _ in range(2 * pending)
    }
    inits = [(INIT, root, own[0]) for root, own in edges.items()]
    first, second = inits[:pending], inits[pending:]
    messages = list(first)
    order = [root for _, root, _ in first]
    dice.shuffle(order)
    window: list[tuple[int, int, int]] = []
    for init, root in zip(second, order, strict=True):
        head, *children = edges[root]
        acks = [head ^ children[0] ^ children[1], *children]
        window += [init, *((ACK, root, value) for value in acks)]
        if len(window) >= 10_000:  # noqa: PLR2004 - acks of some thousand roots interleave
            dice.shuffle(window)
            messages += window
            window = []
    messages += window
    kinds, roots, values = map(list, zip(*messages, strict=True))
    count = len(messages)
    return Stream(
        kinds=kinds, roots=roots, values=values, tasks=[7] * count, times_ms=[n // 100 for n in range(count)]
    )


# ---- the loops ----


def plain(rows: Stream) -> int:
    """Run the yardstick: a dict and an XOR."""
    pending: dict[int, int] = {}
    for root, value in zip(rows.roots, rows.values, strict=True):
        if root in pending:
            left = pending[root] ^ value
            if left:
                pending[root] = left
            else:
                del pending[root]
        else:
            pending[root] = value
    return len(pending)


def live(version: str) -> Callable[[Stream], int]:
    """Return a loop that calls the root ledger for each message."""

    def run(rows: Stream) -> int:
        ledger = RootLedger(profile(version))
        for kind, root, value in zip(rows.kinds, rows.roots, rows.values, strict=True):
            ledger.play(kind, root, value, 7)
        return len(ledger)

    return run


def replayed(version: str, timeout_s: int | None) -> Callable[[Stream], int]:
    """Return a loop that replays the columns in a Storm version."""

    def run(rows: Stream) -> int:
        columns = zip(rows.kinds, rows.roots, rows.values, rows.tasks, rows.times_ms, strict=True)
        return replay(columns, profile(version), message_timeout_s=timeout_s, most_trees=0).pending

    return run


LOOPS: dict[str, Callable[[Stream], int]] = {
    "plain dict XOR loop": plain,
    "root ledger, 1.1.0": live("1.1.0"),
    "root ledger, 2.8": live("2.8"),
    "replay, 1.1.0": replayed("1.1.0", None),
    "replay, 2.8": replayed("2.8", 3600),
    "replay, 1.2": replayed("1.2", 3600),
}


def rounds(rows: Stream, count: int) -> dict[str, list[float]]:
    """Return the CPU seconds of every loop in every round; all must leave the same number of roots."""
    figures: dict[str, list[float]] = {name: [] for name in LOOPS}
    for number in range(count):
        for name in list(LOOPS)[:: 1 if number % 2 == 0 else -1]:
            begin = time.process_time()
            left = LOOPS[name](rows)
            figures[name].append(time.process_time() - begin)
            if left != plain_size(rows):
                raise SystemExit(f"{name}: {left} roots are left, {plain_size(rows)} expected")
    return figures


def plain_size(rows: Stream) -> int:
    """Return how many roots are pending at the end."""
    return rows.kinds.count(INIT) - rows.kinds.count(ACK) // ACKS


# ---- memory ----


def resident() -> int:
    """Return the resident set of this process in bytes."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(layout: str, pending: int) -> None:
    """Print the growth of the resident set in bytes per root."""
    dice = random.Random(2)
    draw = dice.getrandbits
    before = resident()
    if layout == "ledger":
        ledger = RootLedger(profile("2.8"))
        for _ in range(pending):
            ledger.receive(AckInit(draw(64) - 2**63, draw(64) - 2**63, 7))
    else:
        values = {draw(64) - 2**63: draw(64) - 2**63 for _ in range(pending)}
        assert len(values) == pending
    print((resident() - before) / pending)


def bytes_per_root(layout: str, pending: int) -> float:
    """Measure a layout in a process of its own."""
    argv = [sys.executable, __file__, "--fill", layout, "--pending", str(pending)]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


# ---- printing ----


def table(figures: dict[str, list[float]], rows: Stream, pending: int) -> Iterator[str]:
    """Yield each ratio, then the figures behind the ratios."""
    yield f"{'what':44s}{'value':>10s}"
    base = figures["plain dict XOR loop"]
    for name, seconds in figures.items():
        if seconds is not base:
            value = median(a / b for a, b in zip(seconds, base, strict=True))
            yield f"{f'{name} / plain loop':44s}{value:8.2f} x"
    for layout in ("ledger", "dict"):
        yield f"{f'bytes per root, {layout} (RSS)':44s}{bytes_per_root(layout, pending):8.0f} B"
    yield ""
    yield f"{'ns per message':44s}{'median':>10s}{'least':>9s}{'most':>9s}"
    for name, seconds in figures.items():
        each = [1e9 * value / len(rows.kinds) for value in seconds]
        yield f"{name:44s}{median(each):10.0f}{min(each):9.0f}{max(each):9.0f}"


def main() -> int:
    """Run all loops and print the tables."""
    parser = argparse.ArgumentParser(description="Cost of the root ledger and the replay.")
    parser.add_argument("--pending", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fill", choices=["ledger", "dict"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fill:
        fill(args.fill, args.pending)
        return 0
    rows = stream(args.pending)
    print(f"{len(rows.kinds)} messages, {args.pending} roots pending, {args.rounds} rounds\n")
    print("\n".join(table(rounds(rows, args.rounds), rows, args.pending)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
