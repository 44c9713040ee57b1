"""`analyze` counts the deaths of workers by cause, and reports a finding if a completion caused them."""

import gzip

import pytest

pytest.importorskip("pyspark")

from ackdoctor.cli.analyze import add_deaths
from ackdoctor.model.finding import Confidence, Finding, Report, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import RunTally
from ackdoctor.reporters.analysis import incomplete, verdict
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.tables import Analysis, RowCounts

DEATH = """\
2026-11-25 14:{minute}:37.503 o.a.s.t.ShellBolt Thread-19 [ERROR] Halting process: ShellBolt died. Command: [python, bolt.py], ProcessInfo pid:1936, name:words exitCode:-1, errorString: 
java.lang.RuntimeException: {what}
\tat org.apache.storm.task.ShellBolt.handleAck(ShellBolt.java:218)
\tat org.apache.storm.task.ShellBolt$BoltReaderRunnable.run(ShellBolt.java:348)
\tat java.base/java.lang.Thread.run(Thread.java:840)
2026-11-25 14:{minute}:37.504 o.a.s.e.e.ReportError Thread-19 [ERROR] Error
java.lang.RuntimeException: {what}
\tat org.apache.storm.task.ShellBolt.handleAck(ShellBolt.java:218)
\tat org.apache.storm.task.ShellBolt$BoltReaderRunnable.run(ShellBolt.java:348)
2026-11-25 14:{minute}:44.000 o.a.s.d.w.Worker main [INFO] Launching worker for crashy-1 on h-1:6701 with id 2 and conf {{}}
"""  # noqa: W291 - as Storm writes it
TWICE = "Acked a non-existent or already acked/failed id: 61956181140535506"
HANGS = "subprocess heartbeat timeout"


def died(folder, *causes: str) -> Analysis:
    """The logs of one worker; the first is rotated and gzipped."""
    lines = [DEATH.format(minute=minute, what=what) for minute, what in enumerate(causes, start=10)]
    (folder / "worker.log.1.gz").write_bytes(gzip.compress(lines[0].encode()))
    (folder / "worker.log").write_text("".join(lines[1:]))
    analysis = Analysis(acker="storm-2.8", row_counts=RowCounts(files=2, rows=9, used=9), tally=RunTally())
    add_deaths(analysis, find_inputs([str(folder)]))
    return analysis


def test_deaths_by_a_double_ack_are_one_finding_that_counts_each_once(tmp_path):
    analysis = died(tmp_path, f"{TWICE}1", f"{TWICE}2", f"{TWICE}3")
    (found,) = analysis.findings
    assert (found.code, found.component, found.seen) == ("ACK103", "words", 3)
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MAY)
    assert isinstance(found.evidence, TreeWitness)
    assert [line.rpartition(": ")[2] for line in found.evidence.left] == [
        f"61956181140535506{n}" for n in (1, 2, 3)
    ]
    line = verdict(Report(findings=analysis.findings), analysis)
    assert line.startswith("BROKEN: words: it acks a tuple that ShellBolt no longer knows")
    assert line.endswith("; 3 deaths of workers: acked twice in words 3")


def test_a_finding_that_explains_the_deaths_names_them(tmp_path):
    finding = Finding(
        code="ACK105",
        name="ack-with-auto-ack",
        severity=Severity.ERROR,
        confidence=Confidence.MUST,
        site=Site("logs", NOWHERE),
        message="words acks by itself",
        component="words",
        handler="execute",
        dialect="storm",
        evidence=TreeWitness(steps=(), seen=7),
        cause="",
    )
    (tmp_path / "worker.log").write_text(DEATH.format(minute=10, what=f"{TWICE}1"))
    analysis = Analysis(
        acker="storm-2.8",
        row_counts=RowCounts(files=1, rows=9, used=9),
        tally=RunTally(),
        findings=(finding,),
    )
    add_deaths(analysis, find_inputs([str(tmp_path)]))
    (found,) = analysis.findings
    assert (found.code, found.seen) == ("ACK105", 7)
    assert "61956181140535506" in found.evidence.left[0]


def test_a_death_of_another_cause_is_in_the_verdict_only(tmp_path):
    analysis = died(tmp_path, HANGS, HANGS)
    assert analysis.findings == ()
    assert incomplete(Report(), analysis)
    line = verdict(Report(), analysis)
    assert line.startswith("INCOMPLETE: nothing is wrong in what could be judged")
    assert line.endswith("; 2 deaths of workers: heartbeat timeout in words 2")


def test_logs_without_a_death_have_no_finding(tmp_path):
    (tmp_path / "worker.log").write_text(
        "2026-11-25 14:10:37.503 o.a.s.d.w.Worker main [INFO] Launching worker\n"
    )
    analysis = Analysis(acker="storm-2.8", row_counts=RowCounts(files=1, rows=9, used=9), tally=RunTally())
    add_deaths(analysis, find_inputs([str(tmp_path)]))
    assert (analysis.deaths, analysis.findings) == ((), ())
    assert verdict(Report(), analysis).startswith("OK: ")
