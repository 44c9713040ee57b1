"""`ackdoctor watch` in a shell: invalid arguments, the output of a batch, and its end."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from ackdoctor.cli import commands
from ackdoctor.cli.watch import _NO_PARTS, sentences
from ackdoctor.model import UsageError
from tests.cli.running import Outcome, Shell
from tests.spark.conftest import a_session, spark  # noqa: F401 - fixtures

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def shell(shell: Shell) -> Shell:
    Path("trace").mkdir()
    return shell


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such directory"),
        ([__file__], f"{__file__}: not a directory"),
        ([""], "DIR: the path is empty; write `.` for the current directory"),
        (["trace", "--conf", "spark.x"], "--conf: 'spark.x' is not KEY=VALUE"),
        (
            ["trace", "--output-format", "fulll"],
            "--output-format: 'fulll' is not one of full, json-lines; did you mean `full`?",
        ),
        (["trace", "--once", "--until-idle", "3"], "--once and --until-idle exclude each other"),
        (["trace", "--acker-version", "1.1"], "--acker-version: acker version '1.1' is ambiguous"),
    ],
)
def test_wrong_arguments_are_rejected_before_spark_starts(shell, arguments, message):
    pytest.importorskip("pyspark")
    outcome = shell("watch", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"ackdoctor: {message}")
    assert outcome.err.count("\n") == 1


def test_without_spark_one_line_says_how_to_get_it(shell, monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda _name: None)
    assert shell("watch", "trace") == Outcome(
        2, "", "ackdoctor: watch needs Spark, which is not installed: pip install 'ackdoctor[spark]'\n"
    )


def test_a_checkpoint_among_the_traces_is_refused(shell, tmp_path):
    outcome = shell("watch", "trace", "--checkpoint", "trace/here")
    place = tmp_path / "trace" / "here"
    assert outcome == Outcome(
        2,
        "",
        f"ackdoctor: --checkpoint: {place} is inside the watched directory and would be read as a trace; choose another directory\n",
    )


def test_a_checkpoint_refuses_other_options(shell, tmp_path):
    pytest.importorskip("pyspark")
    place = tmp_path / "trace.watch"
    (place / "spark").mkdir(parents=True)
    request = {"DIR": str(tmp_path / "trace"), "--acker-version": "storm-1.1.0", "--message-timeout": "10"}
    (place / "request.json").write_text(json.dumps(request), encoding="utf-8")
    outcome = shell("watch", "trace", "--acker-version", "1.1.0")
    assert outcome == Outcome(
        2,
        "",
        f"ackdoctor: {place} was begun with --message-timeout 10, and now it is unset: name another --checkpoint, "
        "or remove this one\n",
    )


def test_no_options_are_stored_if_spark_does_not_start(tmp_path):
    pytest.importorskip("pyspark")
    from ackdoctor.spark.watch import check_checkpoint

    for version in ("storm-1.1.0", "storm-2.8"):
        check_checkpoint(tmp_path, {"--acker-version": version})
    assert json.loads((tmp_path / "request.json").read_text(encoding="utf-8")) == {
        "--acker-version": "storm-2.8"
    }
    (tmp_path / "spark").mkdir()
    with pytest.raises(UsageError, match=r"was begun with --acker-version storm-2\.8"):
        check_checkpoint(tmp_path, {"--acker-version": "storm-1.1.0"})


def test_findings_with_one_cause_are_one_line():
    twice = {
        "what": "acked-twice",
        "code": "ACK106",
        "name": "ack-and-fail",
        "component": "sql",
        "task": 4,
        "delivery": "1",
        "roots": [77],
        "certain_ns": 1_000_000_000,
        "completions": [{"verb": "ack", "site": "b.py:3 f"}, {"verb": "fail", "site": ""}],
    }
    lost = {
        "what": "never-zero",
        "code": "ACK601",
        "name": "never-zero-entry",
        "run": "r",
        "root": 9,
        "spout": "lines",
        "timed_out": False,
        "messages": 3,
        "value": -5,
        "certain_ns": 2_000_000_000,
        "by": [{"component": "sql", "task": 4, "delivery": "", "acks": 2, "site": "b.py:3 f"}],
    }
    torn = {"what": "unreadable", "file": "part-1", "reason": "cut off"}
    assert list(sentences([twice, {**twice, "delivery": "2"}, lost, torn])) == [
        "1970-01-01T00:00:01Z  acked-twice  ACK106 ack-and-fail  sql[4] delivery 1: ack at b.py:3 f, then fail at ?, of root 77 (and 1 more like this)",
        "1970-01-01T00:00:02Z  never-zero   ACK601 never-zero-entry  root 9 of lines: the acker dropped it after 3 messages, value -5, by sql[4] at b.py:3 f",
        "                      unreadable   part-1: cut off",
    ]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
@pytest.mark.minutes
def test_sigterm_ends_it_with_a_summary(tmp_path):
    pytest.importorskip("pyspark")
    (tmp_path / "trace").mkdir()
    command = [sys.executable, "-m", "ackdoctor", "watch", str(tmp_path / "trace"), "--every", "0.5"]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        while process.poll() is None and not (tmp_path / "trace.watch" / "spark" / "metadata").exists():
            sleep(0.1)
        sleep(1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert [line for line in err.splitlines() if "incubator modules" not in line] == [
        f"ackdoctor: watching {tmp_path / 'trace'}; Ctrl-C ends it",
        f"ackdoctor: {_NO_PARTS.format(folder=tmp_path / 'trace')}",
        "ackdoctor: reported 0 in this run, 0 since the checkpoint was created; read 0 rows of 0 parts; 0 roots are open",
    ]


@pytest.mark.java
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("spark")
def test_a_folder_of_logs_is_not_called_clean(shell, tmp_path):
    folder = tmp_path / "trace"
    (folder / "worker.log").write_text(
        "2026-11-21 20:22:08.403 o.a.s.d.executor main [INFO] x\n", encoding="utf-8"
    )
    outcome = shell("watch", str(folder), "--once", "--quiet")
    assert outcome == Outcome(2, "", f"ackdoctor: {_NO_PARTS.format(folder=folder)}\n")
