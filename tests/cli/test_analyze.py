"""`ackdoctor analyze` as a shell sees it: exit codes, formats, one-line errors."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor.cli import analyze, commands
from ackdoctor.cli.analyze import Analyze
from ackdoctor.cli.commands import milliseconds_of
from ackdoctor.model import UsageError
from ackdoctor.model.trace import RunTally
from ackdoctor.spark.tables import Analysis, RowCounts
from tests.cli.running import Outcome, Shell

ROOT = Path(__file__).parent.parent.parent
TRACE = "fixtures/traces/statements/v1"
PART = f"{TRACE}/run=lab/worker=main/part-1-000000000000.jsonl"


@pytest.fixture
def shell(shell: Shell, monkeypatch) -> Shell:
    monkeypatch.chdir(ROOT)
    return shell


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heap", "many"], "--heap: 'many' is not a size; write 768m or 4g"),
        (["--window", "0s"], "--window: '0s' is not a time; write 500ms, 10s or 5m"),
        (["--window", "876001h"], "--window: '876001h' is more than the maximum, 876000h"),
        (["--heap", "1025t"], "--heap: '1025t' is more than the maximum, 1024t"),
        (["--conf", "spark.x"], "--conf: 'spark.x' is not KEY=VALUE"),
        (
            ["--conf", "fs.s3a.x=1"],
            "--conf: 'fs.s3a.x' does not begin with `spark.`; Hadoop's settings begin with `spark.hadoop.`",
        ),
        (
            ["--output-format", "htm"],
            "--output-format: 'htm' is not one of full, json, json-lines, sarif, parquet, html; did you mean `html`?",
        ),
        (["--output-format", "parquet"], "--output-format parquet needs --output-dir DIR"),
        ([""], "INPUT: the path is empty; write `.` for the current directory"),
        (["--output-dir", ""], "--output-dir: the path is empty"),
        (
            ["--output-dir", f"{TRACE}/out"],
            f"--output-dir: {TRACE}/out is inside the input {TRACE}, so tables would be read as traces",
        ),
        (
            ["--fail-on", "eror"],
            "--fail-on: 'eror' is neither a rule nor one of info, warning, error, incomplete, never; did you mean `error`?",
        ),
        (
            ["--fail-on", ""],
            "--fail-on: no word is given; use info, warning, error, incomplete, never or a rule",
        ),
        (
            ["--fail-on", " ,"],
            "--fail-on: no word is given; use info, warning, error, incomplete, never or a rule",
        ),
        (["--acker-version", "1.1"], "--acker-version: acker version '1.1' is ambiguous"),
    ],
)
def test_wrong_arguments_are_rejected_before_spark_starts(shell, arguments, message):
    outcome = shell("analyze", TRACE, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"ackdoctor: {message}")
    assert outcome.err.count("\n") == 1


def test_no_timeout_is_longer_than_storms(shell):
    outcome = shell("analyze", TRACE, "--message-timeout", "2147483648")
    assert outcome.code == 2
    assert "2147483648 is not in the range 1<=x<=2147483647" in outcome.err


def test_the_command_is_imported_without_spark():
    code = "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None; import ackdoctor.cli.analyze"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_spark_one_line_says_how_to_get_it(shell, monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda _name: None)
    assert shell("analyze", TRACE) == Outcome(
        2, "", "ackdoctor: analyze needs Spark, which is not installed: pip install 'ackdoctor[spark]'\n"
    )


def test_a_report_overwrites_no_input_and_needs_a_folder(shell, tmp_path):
    trace, link = tmp_path / "part.jsonl", tmp_path / "link.jsonl"
    shutil.copy(PART, trace)
    link.symlink_to(trace)
    for place, reason in {
        trace: " is an input; choose another file",
        link: " is an input; choose another file",
        tmp_path: " cannot be written: Is a directory",
        tmp_path / "none" / "x": " cannot be written: No such file or directory",
        trace / "x": " cannot be written: Not a directory",
    }.items():
        outcome = shell("analyze", str(tmp_path), "-o", str(place), "--isolated")
        assert outcome == Outcome(2, "", f"ackdoctor: --output-file: {place}{reason}\n")
    assert trace.read_bytes() == Path(PART).read_bytes()


def test_unreadable_inputs_are_named_and_no_jvm_starts(shell, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "cut.parquet").write_bytes(b"PAR1 and so on")
    (tmp_path / "bad" / "nothing.jsonl").write_bytes(b"")
    monkey = tmp_path / "prose.txt"
    monkey.write_text("once upon a time\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "_meta.json").write_text("{}")
    reasons = {
        "begun": f"{tmp_path}/begun: it holds no part of a trace and no log",
        "empty": f"{tmp_path}/empty: the directory is empty",
        "bad": f"{tmp_path}/bad/cut.parquet: cut off: it has no Parquet footer; {tmp_path}/bad/nothing.jsonl: the file is empty",
        "prose.txt": f"{monkey}: neither a trace nor a worker's log: no line begins as Storm's do",
        "*.gz": f"{tmp_path}/*.gz: nothing matches",
        "nowhere": f"{tmp_path}/nowhere: no such file or directory",
        "pipe": f"{tmp_path}/pipe: neither a file nor a directory, and Spark reads nothing else: write it to a file first",
    }
    for name, reason in reasons.items():
        outcome = shell("analyze", str(tmp_path / name))
        assert outcome == Outcome(2, "", f"ackdoctor: nothing to read: {reason}\n")


@pytest.mark.parametrize(("path", "least"), [(TRACE, 0), ("hdfs://namenode/trace", 100_000_000)])
def test_spark_expects_a_large_input_at_an_address(shell, starts, path, least):
    assert shell("analyze", path).err == "ackdoctor: enough\n"
    assert [how["input_bytes"] >= 100_000_000 for how in starts] == [bool(least)]


def test_tables_below_an_address_that_is_read_are_refused(shell):
    outcome = shell("analyze", "hdfs://namenode/trace/", "--output-dir", "hdfs://namenode/trace/out")
    assert outcome.err == (
        "ackdoctor: --output-dir: hdfs://namenode/trace/out is inside the input hdfs://namenode/trace/, so "
        "tables would be read as traces; choose another directory\n"
    )


def test_sizes_and_times_have_units():
    request = Analyze(inputs=["a"], heap="4g", conf=["spark.driver.memory=2g"])
    assert (request.heap_bytes, request.settings) == (4 << 30, {"spark.driver.memory": "2g"})
    assert Analyze(inputs=["a"]).heap_bytes == 768 << 20
    assert [milliseconds_of("--window", text) for text in ("5m", "500ms")] == [300_000, 500]
    with pytest.raises(UsageError, match="write 768m"):
        Analyze(inputs=["a"], heap="0m")


@pytest.mark.parametrize(
    ("row_counts", "code", "verdict"),
    [
        (
            RowCounts(files=1, rows=9, used=0, foreign=9),
            2,
            "EMPTY: none of 9 rows is about acking: a worker logs",
        ),
        (
            RowCounts(files=1, rows=9, used=0, quarantined=9),
            2,
            "INCOMPLETE: none of 9 rows is about acking: 9 in",
        ),
        (
            RowCounts(files=1, rows=9, used=8, quarantined=1),
            0,
            "INCOMPLETE: nothing is wrong in what could be used",
        ),
        (RowCounts(files=1, rows=9, used=8, foreign=1), 0, "OK: 9 rows, nothing is wrong"),
        (RowCounts(files=1, rows=9, used=8, foreign=1, silent=8), 2, "EMPTY: none of 9 rows is about acking"),
        (RowCounts(files=1, rows=0, used=0), 2, "EMPTY: the trace has no rows"),
    ],
    ids=["no debug", "quarantine", "partly", "used", "ticks", "no rows"],
)
def test_a_trace_without_rows_about_acking_is_not_ok(shell, monkeypatch, row_counts, code, verdict):
    found = Analysis(acker="storm-2.8", row_counts=row_counts, tally=RunTally())
    monkeypatch.setattr(analyze, "_analysis", lambda *_: found)
    outcome = shell("analyze", TRACE, "--fail-on", "never", "-q", "--isolated")
    assert (outcome.code, outcome.out.startswith(verdict)) == (code, True)
    assert outcome.err == (f"ackdoctor: {outcome.out.partition(chr(10))[0]}\n" if code else "")
    sarif = shell("analyze", TRACE, "--output-format", "sarif", "--isolated")
    assert (verdict in sarif.out) is (code == 2)


@pytest.mark.parametrize(
    ("form", "printed"),
    [("parquet", ("out/growth\n", "")), ("json-lines", ("", "ackdoctor: wrote out/growth\n"))],
)
def test_the_places_of_tables_are_printed_once(shell, monkeypatch, form, printed):
    found = Analysis(
        acker="storm-2.8",
        row_counts=RowCounts(files=1, rows=9, used=9),
        tally=RunTally(),
        written=("out/growth",),
    )
    monkeypatch.setattr(analyze, "_analysis", lambda *_: found)
    outcome = shell("analyze", TRACE, "--output-dir", "out", "--output-format", form, "--isolated")
    assert (outcome.out, outcome.err) == printed
