"""`ackdoctor analyze` on executors of their own, one of which is killed at work: the same answer as in one process."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep

import pytest

ROOT = Path(__file__).parent.parent.parent
INPUTS = ("fixtures/logs/storm-2.8.3", "fixtures/traces/statements/v1")
EXECUTOR = b"CoarseGrainedExecutorBackend"
AT_WORK_S = 4.0  # of CPU; an executor that only starts takes less
SLEPT_S = 0.05
CLUSTER = "local-cluster[2,1,1024]"  # executors, cores and MiB of each
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java"),
    pytest.mark.skipif(
        not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="who is whose child is not told"
    ),
]


def analyze(master: str, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ackdoctor", "analyze", *INPUTS, "--output-format", "json", "-q"]
    command += ["--master", master, "--conf", f"spark.local.dir={folder}"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from below(child)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def executors(pid: int) -> Iterator[int]:
    for child in below(pid):
        with suppress(OSError):
            if EXECUTOR in Path(f"/proc/{child}/cmdline").read_bytes() and cpu_s(child) >= AT_WORK_S:
                yield child


def test_an_executor_dies_and_the_answer_is_the_same(tmp_path):
    with analyze("local[2]", tmp_path) as alone:
        expected, _ = alone.communicate()
    with analyze(CLUSTER, tmp_path) as process:
        while (victim := next(executors(process.pid), None)) is None:
            assert process.poll() is None, "no executor had so much to do"
            sleep(SLEPT_S)
        os.kill(victim, signal.SIGKILL)
        assert process.poll() is None, "it was done before"
        answer, said = process.communicate()
    assert (process.returncode, alone.returncode) == (1, 1), said
    assert "Traceback" not in said
    assert json.loads(answer) == json.loads(expected)
