"""Roots that timed out: `analyze` says why, and names the bolt that is slower than the message timeout."""

import dataclasses

import pytest

pytest.importorskip("pyspark")

from ackdoctor.acker.versions import profile
from ackdoctor.model.finding import Confidence, Report, Severity
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import EventKind
from ackdoctor.reporters.analysis import verdict
from ackdoctor.reporters.trace import About
from ackdoctor.reporters.trace import verdict as verdict_of_run
from ackdoctor.spark.analysis import analyze
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request
from ackdoctor.spark.replay import acker_version
from ackdoctor.spark.tables import Analysis
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.trace_reader import read
from tests.spark.worker_log import WorkerLog
from tests.trace_rows import slow_trace, write_lines

pytestmark = pytest.mark.minutes

TASKS = {"events": 3, "parse": 4, "batch": 2}
T = 10  # the message timeout, in seconds


def analysis_of(spark, folder, log: WorkerLog, **request) -> Analysis:
    (folder / "worker.log").write_text(log.text())
    return analyze(find_inputs([str(folder)]), session=spark, request=Request(folder=str(folder), **request))


def verdict_of(analysis: Analysis) -> str:
    return verdict(Report(findings=analysis.findings, files=analysis.files), analysis)


def batches(flush_s: int, timeout_s: int, seconds: int = 75) -> WorkerLog:
    """A root per second goes through `parse` to `batch`, which acks its tuples every `flush_s` seconds; the spout's map rotates."""
    log = WorkerLog(TASKS)
    log.start(0)
    for second in range(seconds):
        root, edge, child = 100 + second, 1000 + second, 5000 + second
        at = second + 0.5
        flushed = (second // flush_s + 1) * flush_s + 0.25
        dropped = (second // timeout_s + 2) * timeout_s + 0.1
        log.emit(at, root, edge, "parse")
        log.receive(at, root, edge, "parse")
        log.emit(at, root, child, "batch", by="parse")
        log.ack(at, root, edge, "parse", value=edge ^ child)
        log.receive(at, root, child, "batch", source="parse")
        if flushed < seconds + 1:
            log.ack(flushed, root, child, "batch", source="parse")
        if dropped < min(flushed, seconds + 1):
            log.failed(dropped, root)
        elif flushed < seconds + 1:
            log.acked(flushed, root)
    for tick in range(timeout_s, seconds + 2, timeout_s):
        log.tick(tick, timeout_s)
    return log


def test_a_batch_flushed_less_often_than_the_timeout_is_a_finding(spark, tmp_path):
    analysis = analysis_of(
        spark, tmp_path, batches(flush_s=25, timeout_s=T, seconds=93)
    )  # its tuples in hand at the end are no missing acks
    (found,) = (finding for finding in analysis.findings if finding.severity > Severity.INFO)
    expired = {one.cause: one.roots for one in analysis.expired}["completed too late"]
    assert (found.code, found.component, found.seen) == ("ACK504", "batch", expired)
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MUST)
    assert 0 < expired < analysis.roots
    assert found.message.startswith("it holds tuples for up to 24.8 s (")
    assert "in bursts 25 s apart), longer than the message timeout of 10 s: " in found.message
    assert (
        found.help
        == "flush more often, well within 10 s, or set topology.message.timeout.secs to more than 25"
    )
    assert verdict_of(analysis).startswith("BROKEN: batch: it holds tuples for up to 24.8 s")


def test_a_batch_flushed_within_the_timeout_is_ok(spark, tmp_path):
    log = batches(flush_s=5, timeout_s=30)
    log.emit(3, 7, 8, "batch")  # an explicit fail is no timeout
    log.receive(3, 7, 8, "batch")
    log.fail(3, 7, 8, "batch")
    log.failed(3, 7, reason="FAIL-STREAM")
    analysis = analysis_of(spark, tmp_path, log)
    assert (analysis.findings, analysis.expired) == ((), ())
    assert verdict_of(analysis).startswith("OK: 76 roots")


def test_other_causes_are_distinguished_and_never_ok(spark, tmp_path):
    log = WorkerLog(TASKS)
    log.start(0, timeout_s=T)
    log.emit(1, 11, 21, "batch")  # never arrives
    log.failed(20, 11)
    log.emit(1, 12, 22, "batch")  # its ack does not reach the acker
    log.receive(1, 12, 22, "batch")
    log.ack(2, 12, 22, "batch")
    log.lines = [line for line in log.lines if "__ack_ack" not in line[2]]
    log.failed(20, 12)
    log.emit(1, 13, 23, "batch")  # waits in the queue of `batch`
    log.receive(39, 13, 23, "batch")
    log.ack(40, 13, 23, "batch")
    log.failed(20, 13)
    log.say(5, "o.a.s.m.n.Client Worker-Transfer [INFO] Dropping 2 messages")
    log.say(5, "o.a.s.m.n.Client client-worker-1 [ERROR] failed to send 3 messages to Netty-Client-h/1: x")
    for tick in range(T, 70, T):
        log.tick(tick, T)
    analysis = analysis_of(spark, tmp_path, log)
    assert {one.cause: one.roots for one in analysis.expired} == {
        "a tuple was sent and no log shows its arrival": 1,
        "acks reached the acker too late or never": 1,
        "completed too late": 1,
    }
    (slow,) = (finding for finding in analysis.findings if finding.code == "ACK504")
    assert slow.message.startswith("tuples wait for up to 38.0 s before it receives them")
    assert (slow.component, slow.confidence) == ("batch", Confidence.MAY)
    assert slow.help.startswith("give batch more executors, or lower topology.max.spout.pending")
    assert (
        "1 root expired: a tuple was sent and no log shows its arrival (the workers' connections dropped 5 messages)"
        in analysis.notes
    )
    alone = dataclasses.replace(analysis, findings=())
    assert verdict_of(alone).startswith("INCOMPLETE: 3 roots expired: ")


def test_the_timeout_is_read_from_the_log_and_skipped_tuples_are_missing_acks(spark, tmp_path):
    """A worker runs for 16 s, and its bolt loses every tenth tuple, young and old."""
    log = WorkerLog({"events": 3, "words": 2})
    log.start(0, timeout_s=T)
    for number in range(153):
        root, edge, at = 100 + number, 1000 + number, number / 10
        log.emit(at, root, edge, "words")
        log.receive(at, root, edge, "words")
        if number % 10:
            log.ack(at + 0.25, root, edge, "words")
            log.acked(at + 0.25, root)
    analysis = analysis_of(spark, tmp_path, log)
    (lost,) = (finding for finding in analysis.findings if finding.code == "ACK101")
    assert lost.seen == 15  # the sixteenth tuple may be in hand
    assert any("for less than 10 s" in note for note in analysis.notes)
    other = analysis_of(spark, tmp_path, log, message_timeout_s=30)
    assert "the logs say topology.message.timeout.secs is 10: --message-timeout 30 is not used" in other.notes
    assert [finding.seen for finding in other.findings if finding.code == "ACK101"] == [15]


def test_a_fail_that_comes_after_the_spout_s_timeout_is_too_late(spark, tmp_path):
    """Every fifth tuple fails after 23 s; young tuples at the end of the log are not missing acks."""
    log = WorkerLog(TASKS)
    log.start(0, timeout_s=T)
    for second in range(60):
        root, edge, at = 100 + second, 1000 + second, second + 0.5
        log.emit(at, root, edge, "batch")
        log.receive(at, root, edge, "batch")
        if second % 5:
            log.ack(at + 0.1, root, edge, "batch")
            log.acked(at + 0.1, root)
            continue
        if at + 23 < 60:
            log.fail(at + 23, root, edge, "batch")
        if (dropped := (second // T + 2) * T + 0.1) < 60:
            log.failed(dropped, root)
    for tick in range(T, 60, T):
        log.tick(tick, T)
    analysis = analysis_of(spark, tmp_path, log)
    found = [(one.code, one.component, one.seen) for one in analysis.findings if one.severity > Severity.INFO]
    assert found == [("ACK504", "batch", 8)]


def test_a_lost_answer_of_the_acker_blames_no_bolt(spark, tmp_path):
    log = WorkerLog(TASKS)
    log.start(0, timeout_s=T)
    for second in range(30):
        root, edge, at = 100 + second, 1000 + second, second + 0.5
        log.emit(at, root, edge, "batch")
        log.receive(at, root, edge, "batch")
        log.ack(at + 0.1, root, edge, "batch")
        if second == 3:
            log.failed(20.1, root)
        else:
            log.acked(at + 0.2, root)
    for tick in range(T, 60, T):
        log.tick(tick, T)
    analysis = analysis_of(spark, tmp_path, log)
    reason = "completed in time, and the acker's answer reached the spout too late or never"
    assert [(one.cause, one.roots) for one in analysis.expired] == [(reason, 1)]
    assert verdict_of(analysis).startswith(f"INCOMPLETE: 1 root expired: {reason}")


def test_a_slow_batch_in_hand_at_the_end_is_not_missing(spark, tmp_path):
    """The acker has dropped those roots before, so that their age proves nothing."""
    log = batches(flush_s=40, timeout_s=T, seconds=75)
    analysis = analysis_of(spark, tmp_path, log)
    assert {one.code for one in analysis.findings if one.severity > Severity.INFO} == {"ACK504"}


@pytest.mark.parametrize(
    ("flush_s", "timeout_s", "linked"),
    [
        (35, T, True),
        (35, None, True),
        (35, T, False),
        (5, T, True),
    ],
)
def test_the_trace_report_agrees_on_expired_roots(spark, tmp_path, flush_s, timeout_s, linked):
    part = tmp_path / "v1" / "run=r" / "worker=w" / "part-1-000000000000.jsonl"
    part.parent.mkdir(parents=True)
    rows = slow_trace(flush_s=flush_s, ticks=True)
    write_lines([row for row in rows if linked or row.kind is not EventKind.LINKED], part)
    request = Request(
        version=acker_version("storm-2.8.8"),
        folder=str(tmp_path),
        nowhere="trace",
        message_timeout_s=timeout_s,
    )
    mine = analyze(find_inputs([str(tmp_path / "v1")]), session=spark, request=request)
    theirs = judge_trace(
        lambda: read([tmp_path / "v1"]).events(),
        profile("storm-2.8.8"),
        message_timeout_s=timeout_s,
        patience_s=timeout_s or 30,
        places=Places(folder=str(tmp_path), nowhere="trace"),
        nowhere=Site("trace", NOWHERE),
    )
    assert [finding for finding in mine.findings if finding.code == "ACK504"] == [
        finding for finding in theirs.findings if finding.code == "ACK504"
    ]
    assert tuple((one.cause, one.roots) for one in mine.expired) == theirs.expired
    about = About(
        tally=theirs.tally,
        acker="storm-2.8.8",
        rows=theirs.rows,
        roots=theirs.roots,
        expired=theirs.expired,
    )
    visible = [finding for finding in theirs.findings if finding.severity > Severity.INFO]
    first_line = verdict_of_run(Report(findings=tuple(visible)), about)
    assert first_line == verdict(
        Report(findings=tuple(one for one in mine.findings if one.severity > Severity.INFO)), mine
    )
    assert first_line.partition(":")[0] == ("OK" if flush_s < T else "BROKEN" if linked else "INCOMPLETE")
