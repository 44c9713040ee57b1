"""Mutated dumps and histograms: damage is reported in bounded memory, without internal errors or hangs."""

import gzip
import io
import resource
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from ackdoctor.cli.heap import Dump, Hist
from tests.heap.damage import damaged_dump, damaged_text

HEAPS = Path(__file__).parents[2] / "fixtures" / "heaps"
LONGEST_S = 10
MOST_MB = 400  # more than before; a length field may claim 4 GB
DUMPS = ("kinds-2.8.3.hprof", "statements-1.1.0.hprof", "kinds-1.1.0.hprof.gz", "wide-2.8.3.hprof.gz")
FORMS = ("json", "full", "concise")
TEXTS = ("growing-1.1.0.txt", "growing-2.8.3.txt")


def _whole(name: str) -> bytes:
    data = (HEAPS / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def _run(command) -> tuple[int, str]:
    """The exit code and the screen; an exception is the failure that is looked for."""
    out, said = io.StringIO(), io.StringIO()
    begun = time.process_time()
    with redirect_stdout(out), redirect_stderr(said):
        code = command()
    assert time.process_time() - begun < LONGEST_S
    assert code in {0, 1, 2}
    if code == 2:
        assert said.getvalue().strip()  # every fault is named
    return code, out.getvalue()


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _dump(path: Path, seed: int) -> None:
    wholes = [_whole(name) for name in DUMPS]
    path.write_bytes(damaged_dump(wholes[seed % len(wholes)], seed))
    form = FORMS[seed % len(FORMS)]
    _run(lambda: Dump(file=path, output_format=form, isolated=True).run())


def _text(path: Path, seed: int) -> None:
    wholes = [(HEAPS / "histograms" / name).read_text() for name in TEXTS]
    path.write_bytes(damaged_text(wholes[seed % len(wholes)], seed))
    form = FORMS[seed % len(FORMS)]
    _run(lambda: Hist(files=[path], output_format=form, xmx=1 << 30, isolated=True).run())


def _try(damage, path: Path, seeds: range) -> None:
    before = _peak_mb()
    for seed in seeds:
        try:
            damage(path, seed)
        except Exception as error:  # noqa: PERF203  # the seed makes the mutant again
            raise AssertionError(f"seed {seed}") from error
    assert _peak_mb() - before < MOST_MB


def test_damaged_dumps_are_read_as_far_as_possible(tmp_path):
    _try(_dump, tmp_path / "worker.hprof", range(120))


def test_damaged_histograms_are_read_as_far_as_possible(tmp_path):
    _try(_text, tmp_path / "worker.txt", range(120))


@pytest.mark.minutes
def test_thousands_of_damaged_dumps(tmp_path):
    _try(_dump, tmp_path / "worker.hprof", range(1_000, 4_000))


@pytest.mark.minutes
def test_thousands_of_damaged_histograms(tmp_path):
    _try(_text, tmp_path / "worker.txt", range(1_000, 3_500))
