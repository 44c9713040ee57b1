"""`ackdoctor analyze` on separate executors gives the result of one process, even if one executor is killed."""

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

from tests.cli.running import Shell

ROOT = Path(__file__).parent.parent.parent
INPUTS = ("fixtures/logs/storm-2.8.3", "fixtures/traces/statements/v1")
FORM = ("--output-format", "json", "-q")
EXECUTOR = b"CoarseGrainedExecutorBackend"
AT_WORK_S = 4.0  # of CPU; an executor that only starts takes less
SLEPT_S = 0.05
CLUSTER = "local-cluster[2,1,1024]"  # executors, cores and MiB of each
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # as for a small input in one process
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",  # one for each executor
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

pytestmark = [
    pytest.mark.minutes,
    pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java"),
    pytest.mark.skipif(
        not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
        reason="this system does not list child processes",
    ),
]


def analyze(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ackdoctor", "analyze", *INPUTS, *FORM, "--master", CLUSTER]
    for name, value in {**SETTINGS, "spark.local.dir": str(folder)}.items():
        command += ["--conf", f"{name}={value}"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def shell(spark, shell: Shell, monkeypatch) -> Shell:
    """In the session that all tests share."""
    monkeypatch.chdir(ROOT)
    return shell


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


def test_a_dead_executor_does_not_change_the_result(tmp_path, shell):
    with analyze(tmp_path) as process:
        while (victim := next(executors(process.pid), None)) is None:
            assert process.poll() is None, "no executor had so much to do"
            sleep(SLEPT_S)
        os.kill(victim, signal.SIGKILL)
        assert process.poll() is None, "it was done before"
        answer, output = process.communicate()
    alone = shell("analyze", *INPUTS, *FORM)
    assert (process.returncode, alone.code) == (1, 1), output
    assert "Traceback" not in output
    assert json.loads(answer) == json.loads(alone.out)
