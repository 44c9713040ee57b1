"""Verdicts on logs of which some are missing, and of roots of which a message was lost between workers."""

import re

import pytest

pytest.importorskip("pyspark")

from ackdoctor.model.finding import Report
from ackdoctor.reporters.analysis import incomplete, verdict
from ackdoctor.spark.analysis import analyze
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request
from tests.spark.workers import Topology

ALL = ("spout", "split", "store", "audit", "__acker")
ONE = {"6700": ALL}
AFTER = "2026-11-21 20:05:00.000 o.a.s.d.worker main [INFO] still up\n"  # so that no root is young at the end
LOST = {
    "store": ("store", "__ack_ack"),
    "split": ("split", "__ack_ack"),
    "init": ("spout", "__ack_init"),
    "tuple": ("split", "audit"),
}


@pytest.fixture
def judged(spark, tmp_path):
    def judge(topology, workers, **rest):
        if topology is not None:
            topology.write(tmp_path, workers, **rest)
        for log in tmp_path.iterdir():
            with log.open("a") as opened:
                opened.write(AFTER)
        return analyze(find_inputs([tmp_path]), session=spark, request=Request())

    return judge


def word(analysis):
    report = Report(findings=analysis.findings, unreadable=(), files=(), components=0)
    assert incomplete(report, analysis) is (
        bool(analysis.missing) or analysis.gaps or analysis.unbegun or analysis.silent_ackers
    )
    return verdict(report, analysis).partition(":")[0]


def codes(analysis):
    return [(found.code, found.component, found.seen) for found in analysis.findings]


@pytest.mark.minutes
def test_complete_logs_of_a_healthy_topology_are_ok(judged):
    analysis = judged(Topology(), {"6700": ALL[:2], "6701": ALL[2:]})
    assert (word(analysis), analysis.missing, codes(analysis)) == ("OK", (), [])


@pytest.mark.minutes
def test_a_tuple_without_an_ack_is_one_finding(judged):
    analysis = judged(Topology(never={3: "audit", 9: "audit", 20: "split"}), ONE)
    assert codes(analysis) == [("ACK101", "audit", 2), ("ACK101", "split", 1)]


@pytest.mark.parametrize("old", [False, True], ids=["2.8", "0.9"])
@pytest.mark.minutes
def test_a_lost_message_blames_no_component(judged, old):
    what = [name for name in LOST if not (old and name == "tuple")]  # of which 0.9 logs no receiver
    analysis = judged(Topology(old=old, lost={3 + n: LOST[name] for n, name in enumerate(what)}), ONE)
    assert {(found.code, found.component) for found in analysis.findings} == {("ACK601", "acker")}
    messages = " ".join(found.message for found in analysis.findings)
    for sent in (
        "an ack that store sent never reached the acker",
        "an ack that split sent never reached the acker",
        "the __ack_init that spout sent never reached the acker",
        *(() if old else ("a tuple that split sent never reached its task",)),
    ):
        assert sent in messages
    assert analysis.tally.completed == 40 - len(what)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (["spout"], ("split[6]",)),
        pytest.param(["audit"], ("split[6]",), marks=pytest.mark.minutes),
        pytest.param(
            ["__acker"], ("audit[3]", "split[6]", "spout[5]", "store[8]"), marks=pytest.mark.minutes
        ),
        pytest.param(["spout", "store"], ("split[6]", "task 3"), marks=pytest.mark.minutes),
    ],
)
def test_missing_logs_are_incomplete_and_the_tasks_are_named(judged, given, missing):
    analysis = judged(Topology(never={3: "store"} if "__acker" in given else {}), {"6700": given})
    assert (word(analysis), codes(analysis)) == ("INCOMPLETE", [])
    assert any(note.startswith("no line is of ") for note in analysis.notes)
    assert analysis.silent_ackers is ("__acker" not in given)


@pytest.mark.minutes
def test_a_task_that_is_dead_or_stuck_is_not_missing(judged, tmp_path):
    Topology(times_out=False).write(tmp_path, {"6700": ("spout", "__acker")})
    log = tmp_path / "worker-6700.log"
    dead = "2026-11-21 20:00:00.000 o.a.s.u.Utils Thread-40-split-executor[6, 6] [ERROR] Halting process: Worker died\n"
    lines = [
        line
        for line in log.read_text().splitlines(keepends=True)
        if "__ack_ack" not in line and "SPOUT" not in line
    ]
    log.write_text(dead + "".join(lines))
    analysis = judged(None, {})
    assert (analysis.missing, word(analysis)) == ((), "BROKEN")
    assert {found.message.partition("(")[0] for found in analysis.findings if found.code == "ACK601"} == {
        "the acker keeps an entry that is not zero at the end: a tuple that spout sent never reached its task "
    }


@pytest.mark.minutes
def test_a_log_that_begins_in_the_middle_is_judged_without_older_roots(judged):
    analysis = judged(Topology(), ONE, since_s=10.15)
    assert (word(analysis), codes(analysis)) == ("OK", [])
    assert any(note.startswith("1 root has acks and no __ack_init") for note in analysis.notes)


@pytest.mark.minutes
def test_what_a_missing_rotated_file_may_have_ended_is_not_judged(judged, tmp_path):
    Topology().write(tmp_path, ONE)
    (log,) = tmp_path.glob("worker*.log")
    lines = log.read_text().splitlines(keepends=True)
    third = len(lines) // 3
    log.write_text("".join(lines[2 * third :]))
    log.with_name(f"{log.name}.2").write_text("".join(lines[:third]))
    analysis = judged(None, {})
    assert (word(analysis), codes(analysis)) == ("INCOMPLETE", [])
    assert any(note.startswith("a rotated file is missing between ") for note in analysis.notes)


@pytest.mark.minutes
def test_acks_without_inits_ask_for_the_other_logs(judged):
    inits = dict.fromkeys(range(40), ("spout", "__ack_init"))
    analysis = judged(Topology(lost=inits, times_out=False), {"6700": ["__acker"]})
    assert (word(analysis), codes(analysis)) == ("INCOMPLETE", [])
    assert analysis.notes[1] == (
        "40 roots have acks and no __ack_init: they began before the logs, or elsewhere; give the logs of all workers from "
        "their start. If the acker's log is complete, __ack_init never reaches it: look at the connections from the workers of "
        "the spouts"
    )


@pytest.mark.minutes
def test_storm_0_9_a_missing_acker_log_is_noted(judged):
    analysis = judged(Topology(old=True), {"6700": ["spout", "split"]})
    assert (word(analysis), codes(analysis)) == ("INCOMPLETE", [])
    assert analysis.silent_ackers


@pytest.mark.minutes
def test_a_topology_without_ackers_misses_no_acker_log(judged, tmp_path):
    log = Topology().write(tmp_path, {"6700": ALL[:4]}) / "worker-6700.log"
    log.write_text(
        "".join(
            re.sub(r"id: \{[^}]*\}", "id: {}", line)
            for line in log.read_text().splitlines(keepends=True)
            if "__ack_" not in line and "BOLT" not in line and "SPOUT" not in line
        )
        + "2026-11-21 20:00:40.000 o.a.s.e.s.SpoutExecutor Thread-9-spout-executor[5, 5] [INFO] SPOUT Acking message 0 m7\n"
    )
    analysis = judged(None, {})
    assert (word(analysis), analysis.silent_ackers, analysis.missing) == ("OK", False, ())
    assert analysis.notes[0].startswith("no tuple has a root id: ")


@pytest.mark.minutes
def test_the_missing_log_of_one_acker_is_noted(judged, tmp_path):
    log = Topology().write(tmp_path, ONE) / "worker-6700.log"
    of_other = {
        line.split("id: {")[1].split("=")[0] for line in log.read_text().splitlines() if "[x " in line
    }
    gone = set(sorted(of_other)[::2])
    lines = [
        line
        for line in log.read_text().splitlines(keepends=True)
        if "__acker" not in line or not any(root in line for root in gone)
    ]
    log.write_text("".join(lines))
    analysis = judged(None, {})
    assert (word(analysis), codes(analysis)) == ("INCOMPLETE", [])
    assert any(note.startswith("components handled about ") for note in analysis.notes)
