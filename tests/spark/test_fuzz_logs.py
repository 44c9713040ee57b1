"""Damaged logs, with lines and bytes that no worker writes, are read, skipped or refused with a reason."""

import gzip
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.model import UsageError
from ackdoctor.spark.analysis import analyze
from ackdoctor.spark.file_kinds import stamp_ns
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request
from ackdoctor.tracer.worker_log import WorkerLogs, is_log
from tests.spark.workers import Topology, lines_of

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
SLOWEST_S = 10.0
ROOTS = {0, 1, -1, -(1 << 63), (1 << 63) - 1}


def seeds() -> list[list[bytes]]:
    """Lines of real logs of each version, and of 0.9."""
    real = [path.read_bytes().splitlines()[:60] for path in sorted(LOGS.glob("*/worker.log"))]
    return [*real, [line.encode() for line in lines_of(Topology(roots=4, old=True))]]


SEEDS = seeds()


def _numbers(dice: random.Random, lines: list[bytes]) -> None:
    place = dice.randrange(len(lines))
    for digit in b"0123456789":
        if dice.random() < 0.3:
            lines[place] = lines[place].replace(
                b"%c" % digit, dice.choice([b"", b"-", b"99999999999999999999", b"\xd9\xa3"]), 2
            )


def _cut(dice: random.Random, lines: list[bytes]) -> None:
    place = dice.randrange(len(lines))
    lines[place] = lines[place][: dice.randrange(len(lines[place]) + 1)]


def _spliced(dice: random.Random, lines: list[bytes]) -> None:
    one, other = dice.choice(lines), dice.choice(lines)
    lines.insert(
        dice.randrange(len(lines)),
        one[: dice.randrange(len(one) + 1)] + other[dice.randrange(len(other) + 1) :],
    )


def _shuffled(dice: random.Random, lines: list[bytes]) -> None:
    dice.shuffle(lines)


def _repeated(dice: random.Random, lines: list[bytes]) -> None:
    place = dice.randrange(len(lines))
    lines[place] = dice.choice([b" ", b"{", b"[", b", ", b"id: {1=2}", b"TUPLE: "]).join(
        [lines[place]] * dice.choice([2, 50])
    )


def _garbage(dice: random.Random, lines: list[bytes]) -> None:
    place = dice.randrange(len(lines))
    at = dice.randrange(len(lines[place]) + 1)
    lines[place] = (
        lines[place][:at]
        + dice.choice([dice.randbytes(9), b"\0" * 40, b"\r", b"\xff\xfe", b"\x1b[31m"])
        + lines[place][at:]
    )


def _widened(dice: random.Random, lines: list[bytes]) -> None:
    place = dice.randrange(len(lines))
    lines[place] += dice.choice([b"a", b"[", b"(", b"{1=", b"source: ", b"\xf0\x9f\x98\x80"]) * 20_000


MUTATIONS: tuple[Callable[[random.Random, list[bytes]], None], ...] = (
    _numbers, _cut, _spliced, _shuffled, _repeated, _garbage, _widened,
)  # fmt: skip


def damaged(seed: int) -> bytes:
    """Write a file, always the same for one seed."""
    dice = random.Random(seed)
    lines = list(dice.choice(SEEDS))
    for _ in range(dice.randrange(1, 6)):
        dice.choice(MUTATIONS)(dice, lines)
    text = b"\n".join(line for line in lines if line) + b"\n"
    if dice.random() < 0.3:
        text = gzip.compress(text, mtime=0)
    if dice.random() < 0.3:
        at = dice.randrange(len(text))
        text = text[:at] + dice.randbytes(dice.randrange(1, 9)) + text[at + dice.randrange(9) :]
    return text[: dice.randrange(len(text))] if dice.random() < 0.2 else text


def names(seed: int) -> str:
    return random.Random(seed).choice(
        [
            "worker.log",
            "worker.log.1.gz",
            "pod.txt",
            "000007.log",
            "a.gz",
            "part-1-0.jsonl",
            "w-worker-6700.log",
        ]
    )


def files(folder: Path, seeds: range) -> Iterator[Path]:
    for seed in seeds:
        path = folder / str(seed) / names(seed)
        path.parent.mkdir()
        path.write_bytes(damaged(seed))
        yield path


def _is_named(path: Path) -> None:
    """Each file is read, or has a reason; nothing is raised, and nothing takes long."""
    begun = time.process_time()
    inputs = find_inputs([path.parent])
    paths = [*(name for each in inputs.files.values() for name in each)]
    paths += [each.path for each in (*inputs.unreadable, *inputs.passed_over)]
    assert str(path) in paths
    assert all(each.reason for each in (*inputs.unreadable, *inputs.passed_over))
    if is_log(path):
        logs = WorkerLogs([path], ROOTS)
        assert all(row.root in ROOTS for row in logs.events())
    for line in path.read_bytes().decode(errors="replace").splitlines()[:20]:
        stamp_ns(line)
    assert time.process_time() - begun < SLOWEST_S


def test_a_damaged_log_is_read_or_refused_with_a_reason(tmp_path):
    for path in files(tmp_path, range(150)):
        _is_named(path)


@pytest.mark.minutes
def test_thousands_of_damaged_logs_are_read_or_refused_with_a_reason(tmp_path):
    for path in files(tmp_path, range(1_000, 6_000)):
        _is_named(path)


@pytest.mark.minutes
def test_spark_counts_every_line_of_damaged_logs(spark, tmp_path):
    for path in files(tmp_path, range(10_000, 10_020)):
        try:
            analysis = analyze(find_inputs([path.parent]), session=spark, request=Request())
        except UsageError:
            continue
        assert analysis.row_counts.balanced
