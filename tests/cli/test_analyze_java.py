"""How `ackdoctor analyze` comes by a JVM, and how both end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tests.cli.test_analyze import ROOT, TRACE


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java that could be hidden")
@pytest.mark.parametrize("environment", [{"PATH": ""}, {"JAVA_HOME": "/nowhere"}], ids=["no java", "no home"])
def test_without_java_one_line_says_what_to_install(environment):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE]
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "install one (Debian: apt install openjdk-17-jre-headless" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("spark.driver.memory=1k", ["the JVM did not start: Too small maximum heap"]),
        ("spark.sql.shuffle.partitions=many", ["spark.sql.shuffle.partitions", "int", "many"]),
    ],
)
def test_a_setting_that_cannot_be_is_to_blame_and_no_input(setting, said):
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "ackdoctor", "analyze", TRACE, "--conf", setting]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("ackdoctor: Spark: ")
    assert all(word in done.stderr for word in said)  # each Spark says it in its own words


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.parametrize("seconds", [0, 2])
def test_ctrl_c_ends_it_as_the_shell_expects(seconds):
    pytest.importorskip("pyspark")
    # what a shell starts in the background ignores Ctrl-C, and so does what that starts
    listening = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", listening, "-m", "ackdoctor", "analyze", TRACE]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        _wait_for_a_child_of(process.pid)  # the JVM
        sleep(seconds)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert (process.returncode, *said) == (130, "", "")


def _wait_for_a_child_of(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        sleep(3)
        return
    while not children.read_text():
        sleep(0.02)
