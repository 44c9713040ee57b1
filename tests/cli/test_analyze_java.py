"""How `ackdoctor analyze` starts a JVM, and how both end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tests.cli.test_analyze import ROOT, TRACE
from tests.sampled import sampled

NEEDS_JAVA = pytest.mark.skipif(
    not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java"
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java that could be hidden")
@pytest.mark.parametrize("environment", [{"PATH": ""}, {"JAVA_HOME": "/nowhere"}], ids=["no java", "no home"])
def test_without_java_one_line_says_what_to_install(environment):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE]
    inherited = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        command, cwd=ROOT, env=inherited | environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "install one (Debian: apt install openjdk-17-jre-headless" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.java
@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("spark.driver.memory=1k", ["Too small maximum heap", "ackdoctor: Spark: the JVM did not start"]),
        pytest.param(
            "spark.sql.shuffle.partitions=many",
            ["ackdoctor: Spark: ", "spark.sql.shuffle.partitions", "int", "many"],
            marks=pytest.mark.minutes,
        ),
    ],
)
def test_an_invalid_setting_is_reported_as_such(setting, words):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE, "--conf", setting]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(word in done.stdout + done.stderr for word in words)  # the JVM writes to either stream


@pytest.mark.java
@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.parametrize("seconds", sampled([0, 2], [2]))
def test_ctrl_c_ends_it_as_the_shell_expects(seconds):
    pytest.importorskip("pyspark")
    # background processes of a shell and their children ignore Ctrl-C
    listening = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", listening, "-m", "ackdoctor", "analyze", TRACE]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        _wait_for_a_child_of(process.pid)  # the JVM
        sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if "incubator modules" not in line] == []


def _wait_for_a_child_of(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        sleep(3)
        return
    while not children.read_text():
        sleep(0.02)
