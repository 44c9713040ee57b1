"""`ackdoctor analyze` as a shell sees it, in the session that all tests share."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tests.cli.running import Outcome, Shell
from tests.cli.test_analyze import PART, ROOT, TRACE

LOG = """\
2026-11-21 20:22:08.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] Emitting: x default [one
more]
2026-11-21 20:22:08.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] BOLT ack TASK: 3 TIME:  TUPLE: source: s:4, stream: default, id: {1=2}, [1]
2026-11-21 20:22:08.404 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] BOLT ack TASK: 3 TIME:  TUPLE: source: s:4, str
2026-11-21 20:22:08.405 com.example.Mine main [WARN] a tuple was late
\tat com.example.Mine.late(Mine.java:1)
"""

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def shell(shell: Shell, monkeypatch) -> Shell:
    monkeypatch.chdir(ROOT)
    return shell


def test_json_has_findings_verdict_and_every_table(shell):
    outcome = shell(
        *("analyze", TRACE, "--acker-version", "1.1.0", "--output-format", "json", "--isolated", "-q")
    )
    document = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (1, "")
    assert [finding["code"] for finding in document["findings"]] == ["ACK104", "ACK101", "ACK603"]
    assert document["verdict"].startswith(
        "BROKEN: sql: the tuple is completed again in every iteration of the loop"
    )
    assert document["analysis"]["row_counts"] == {
        "files": 1,
        "rows": 191,
        "used": 191,
        "continued": 0,
        "foreign": 0,
        "quarantined": 0,
        "silent": 2,
    }
    assert document["analysis"]["examples"][0]["culprits"][0]["component"] == "audit"


@pytest.mark.minutes
def test_an_address_gives_the_same_result(shell, spark):
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.same.link./fixtures", (ROOT / "fixtures").as_uri())
    request = ("--acker-version", "1.1.0", "--output-format", "json", "--isolated", "-q")
    here = shell("analyze", TRACE, "fixtures/logs/storm-1.1.0", *request)
    paths = (f"viewfs://same/{TRACE}", "viewfs://same/fixtures/logs/storm-1.1.0")
    there = shell("analyze", *paths, *request)
    assert (here.code, here.err) == (there.code, there.err) == (1, "")
    near, far = json.loads(here.out), json.loads(there.out)
    by_name = "neither named like a part of a trace nor like a worker's log"  # at an address
    [mine], [its] = (each["analysis"].pop("passed_over") for each in (near, far))
    assert its == {**mine, "path": f"viewfs://same/{mine['path']}", "reason": by_name}
    assert far["analysis"].pop("notes") == [
        note.replace("fixtures/logs", "viewfs://same/fixtures/logs").replace(mine["reason"], by_name)
        for note in near["analysis"].pop("notes")
    ]
    assert far["analysis"] == near["analysis"]
    assert [each["message"] for each in far["findings"]] == [each["message"] for each in near["findings"]]


@pytest.mark.minutes
def test_a_log_that_ends_while_a_tuple_is_in_hand_has_no_finding(shell, tmp_path):
    line = "2026-11-21 20:22:0{}.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] {} source: s:4, stream: default, id: {{{}=2}}, [1]\n"
    received, acked = "Processing received message FOR 3 TUPLE:", "BOLT ack TASK: 3 TIME:  TUPLE:"
    log = tmp_path / "worker.log"
    log.write_text(line.format(1, received, 1) + line.format(2, acked, 1) + line.format(3, received, 5))
    outcome = shell("analyze", str(log), "--isolated", "-q")
    verdict, _, _, missing, acker, note, *_ = outcome.out.splitlines()
    assert (outcome.code, verdict) == (
        0,
        "INCOMPLETE: nothing is wrong in what could be judged (2 deliveries); logs are missing",
    )
    assert missing == "  no line is of s[4]: give the logs of all workers"
    assert acker.startswith("  no line is of an acker: the logs do not say what became of the roots")
    assert note.startswith("  1 tuple was in hand where a log ends or its worker restarted, for less")


@pytest.mark.minutes
def test_a_component_whose_tuples_are_all_in_hand_is_not_ok(shell, tmp_path):
    line = "2026-11-21 20:22:0{}.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] Processing received message FOR 3 TUPLE: source: s:4, stream: default, id: {{{}=2}}, [1]\n"
    log = tmp_path / "worker.log"
    log.write_text(line.format(1, 1))
    outcome = shell("analyze", str(log), "--isolated", "-q")
    verdict, _, _, missing, _, note, *_ = outcome.out.splitlines()
    assert outcome.code == 0
    assert verdict == "INCOMPLETE: nothing is wrong in what could be judged (1 delivery); logs are missing"
    assert missing == "  no line is of s[4]: give the logs of all workers"
    assert note.startswith("  1 tuple was in hand where a log ends or its worker restarted, for less than")
    assert note.endswith("for less than 30 s: not judged, and so nothing of x")


@pytest.mark.minutes
def test_in_flight_tuples_of_a_restarted_worker_are_no_finding(shell, tmp_path):
    line = "2026-11-21 20:22:{:02}.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] {}\n"
    tuple_ = " source: s:4, stream: default, id: {{{}=2}}, [1]"
    received = "Processing received message FOR 3 TUPLE:" + tuple_
    acked = "BOLT ack TASK: 3 TIME:  TUPLE:" + tuple_
    loaded = ("Loading executor x:[3 3]", "Loading executor y:[5 5]")
    life = [*loaded, received.format(1), acked.format(1), received.format(2)]
    again = [*loaded, received.format(3), acked.format(3)]
    log = tmp_path / "worker.log"
    log.write_text("".join(line.format(at, text) for at, text in enumerate([*life, *life, *again])))
    outcome = shell("analyze", str(log), "--isolated", "-q")
    verdict, _, _, _, _, note, *_ = outcome.out.splitlines()
    assert (outcome.code, verdict.endswith("; restarted workers lost tuples that cannot be judged")) == (
        0,
        True,
    )
    assert note.startswith("  2 tuples were in hand where a log ends or its worker restarted, for")


@pytest.mark.minutes
def test_a_damaged_line_is_counted_and_the_rest_is_read(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")  # for the table
    lines = Path(PART).read_text(encoding="utf-8").splitlines()
    folder = tmp_path / "v1" / "run=lab" / "worker=main"
    folder.mkdir(parents=True)
    bad = [*lines[:40], lines[40][:50], '{"schema":1,"kind":77,"time_ns":1}', *lines[41:]]
    (folder / "part-1-000000000000.jsonl").write_text("\n".join(bad) + "\n", encoding="utf-8")
    outcome = shell("analyze", str(tmp_path / "v1"), "--fail-on", "never", "-q", "--isolated")
    assert outcome.code == 0
    assert "  192 rows of 1 file: 190 used, 2 quarantined, over" in outcome.out
    assert "a kind of row that this version does not know" in outcome.out


def test_tables_overwrite_neither_an_input_nor_a_foreign_file(shell, tmp_path):
    trace, notes = (
        tmp_path / "one" / "deliveries" / "part.jsonl",
        tmp_path / "two" / "growth" / "notes.txt",
    )
    for file in (trace, notes):
        file.parent.mkdir(parents=True)
        shutil.copy(PART, file)
    for path, folder, what in (
        (str(trace), "one", f"deliveries would overwrite an input: {trace}"),
        (PART, "two", "growth would overwrite another file: notes.txt"),
    ):
        outcome = shell("analyze", path, "--output-dir", f"{tmp_path}/{folder}", "-q", "--isolated")
        error = f"ackdoctor: --output-dir: the table {tmp_path}/{folder}/{what}\n"
        assert outcome == Outcome(2, "", error)
    assert sorted(each.name for each in tmp_path.rglob("*") if each.is_file()) == [
        notes.name,
        trace.name,
    ]


@pytest.mark.minutes
def test_every_row_of_damaged_inputs_is_counted_and_the_rest_is_judged(shell, tmp_path, monkeypatch):
    """Rows out of order or without columns, among damaged, foreign, duplicate, truncated and empty files."""
    first, *rows = Path(PART).read_text(encoding="utf-8").splitlines()
    bare = '{"schema":1,"kind":11,"time_ns":11000000000,"root":7,"value":5,"pid":1}'  # an ack without init
    torn = [
        rows[0][:60],
        '{"schema":1,"kind":77,"time_ns":1}',
        '{"schema":1,"kind":3}',
        rows[1] + rows[2],
    ]
    folder = tmp_path / "v1" / "run=lab" / "worker=main"
    folder.mkdir(parents=True)
    text = "\n".join([first, *reversed(rows), bare, *torn]) + "\n"
    (folder / "part-1-000000000000.jsonl").write_text(text, encoding="utf-8")
    (folder / "part-2-000000000000.jsonl").write_text(text, encoding="utf-8")
    (folder / "cut.parquet").write_bytes(b"PAR1 and so on")
    (folder / "new.jsonl").write_text('{"schema": 99, "kind": 1}\n', encoding="utf-8")
    (folder / "nothing.jsonl").write_bytes(b"")
    for name in ("README", "notes"):
        (tmp_path / name).write_text("prose", encoding="utf-8")
    log = gzip.compress(LOG.encode() * 2000)
    (tmp_path / "cut.log.gz").write_bytes(log[: len(log) // 2])
    (tmp_path / "worker.log").write_text(LOG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    folder = folder.relative_to(tmp_path)
    outcome = shell(
        *("analyze", str(tmp_path), "--acker-version", "1.1.0", "--output-format", "json"),
        *("--isolated", "-q"),
    )
    document = json.loads(outcome.out)
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        "ackdoctor: cut.log.gz: cut off or damaged: Compressed file ended before the end-of-stream marker was reached",
        f"ackdoctor: {folder}/cut.parquet: cut off: it has no Parquet footer",
        f"ackdoctor: {folder}/new.jsonl: schema 99; this version of ackdoctor reads up to 1",
        f"ackdoctor: {folder}/nothing.jsonl: the file is empty",
    ]
    assert document["verdict"].startswith("BROKEN: sql: ")
    assert [finding["code"] for finding in document["findings"]] == ["ACK104", "ACK101"]
    row_counts = document["analysis"]["row_counts"]
    assert row_counts == {
        "files": 2,
        "rows": 202,
        "used": 193,
        "continued": 2,
        "foreign": 2,
        "quarantined": 5,
        "silent": 2,
    }
    assert [(row["rows"], row["reason"]) for row in document["analysis"]["quarantine"]] == [
        (2, "not a row of a trace: kind or time is missing"),
        (1, "a kind of row that this version does not know"),
        (1, "damaged, or more than one row on a line"),
        (1, "the line is cut off, or no version of Storm writes it so"),
    ]
    assert document["analysis"]["roots"] == 15
    again = f"{folder}/part-2-000000000000.jsonl"
    assert [each["path"] for each in document["analysis"]["passed_over"]] == ["README", "notes", again]
    assert document["analysis"]["notes"] == [
        "passed over README and 1 more: neither a trace nor a worker's log: no line begins as Storm's do",
        f"passed over {again}: the same bytes as {folder}/part-1-000000000000.jsonl",
    ]


def test_a_file_that_spark_cannot_read_is_reported_in_one_line(shell, tmp_path):
    broken = tmp_path / "part-1-000000000000.parquet"
    broken.write_bytes(b"PAR1" + b"\x00" * 200 + b"\x10\x00\x00\x00PAR1")
    outcome = shell("analyze", str(broken), "-q")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"ackdoctor: nothing to read: {broken}: Spark: ")
    assert outcome.err.count(broken.name) == 1
    assert outcome.err.count("\n") == 1
