"""Damaged traces cause no internal error and no hang, and need bounded memory."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

ROOT = Path(__file__).parent.parent.parent


def fuzzed(first: int, cases: int) -> str:
    command = [sys.executable, "-m", "tests.tracer.fuzz", str(first), str(cases)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    return ended.stdout[-4_000:] + ended.stderr[-2_000:]


def test_a_few_damaged_traces_are_read():
    assert fuzzed(1, 12) == "12 cases, 0 wrong\n"


@pytest.mark.minutes
@pytest.mark.parametrize("first", range(10_000, 11_500, 500))
def test_many_damaged_traces_are_read(first):
    assert fuzzed(first, 500) == "500 cases, 0 wrong\n"
