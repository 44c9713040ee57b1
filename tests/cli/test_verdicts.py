"""The verdict of `heap` and `trace report` in formats that list findings: an empty list does not mean OK."""

import json
from pathlib import Path

import pytest

from tests.heap.hprof_writer import Heap, acker_heap

HISTOGRAM = """ num     #instances         #bytes  class name
   1:  5000  200000  org.apache.storm.daemon.Acker$AckObject
Total  5000  200000
"""


def other_heap():
    heap = Heap()
    heap.declare("java.lang.Object")
    heap.add(64, "java.lang.Object")
    return heap.hprof()


CASES = [
    (["heap", "hist", "few.txt"], "INCOMPLETE: 1 histogram cannot show growth"),
    (["heap", "dump", "other.hprof"], "EMPTY: no acker: no class of Storm is loaded"),
    (["heap", "dump", "cut.hprof"], "INCOMPLETE: nothing is wrong in what could be read"),
    (["trace", "report", "nowhere"], "INCOMPLETE: no row could be read"),
]


@pytest.fixture(autouse=True)
def _inputs(shell):
    Path("few.txt").write_text(HISTOGRAM)
    Path("other.hprof").write_bytes(other_heap())
    Path("cut.hprof").write_bytes(other_heap()[:-4])


@pytest.mark.parametrize(("command", "verdict"), CASES[:3])
def test_the_last_line_of_concise_is_the_verdict(command, verdict, shell):
    assert shell(*command, "--output-format", "concise").out.splitlines()[-1].startswith(verdict)


def test_concise_findings_precede_the_verdict(shell):
    Path("worker.hprof").write_bytes(acker_heap(held=[(5, 7, -1)] * 2).hprof())
    finding, verdict = shell("heap", "dump", "worker.hprof", "--output-format", "concise").out.splitlines()
    assert finding.startswith("worker.hprof:1:1: ACK602 orphan-entry ")
    assert verdict.startswith("BROKEN: ")


@pytest.mark.parametrize(("command", "verdict"), CASES)
@pytest.mark.parametrize("form", ["json-lines", "sarif"])
def test_other_formats_print_the_verdict_on_standard_error(command, verdict, form, shell):
    outcome = shell(*command, "--output-format", form)
    assert f"ackdoctor: {verdict}" in outcome.err
    if form == "sarif":
        [run] = json.loads(outcome.out)["runs"]
        notes = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
        assert [note for note in notes if note.startswith(verdict)]


def test_tuples_in_a_bolt_s_field_name_the_field(shell):
    heap = acker_heap(entries=0)
    for name in ("org.apache.storm.tuple.TupleImpl", "org.apache.storm.topology.base.BaseRichBolt"):
        heap.declare(name, {}, "java.lang.Object")
    heap.declare("com.acme.Sink", {"waiting": "object"}, "org.apache.storm.topology.base.BaseRichBolt")
    heap.declare("[Ljava.lang.Object;")
    for number in range(10_000):
        heap.add(0x10000 + 32 * number, "org.apache.storm.tuple.TupleImpl")
    heap.array(0x8000, "[Ljava.lang.Object;", *(0x10000 + 32 * number for number in range(10_000)))
    heap.add(0x9000, "com.acme.Sink", waiting=0x8000)
    Path("worker.hprof").write_bytes(heap.hprof())
    lines = shell("heap", "dump", "worker.hprof").out.splitlines()
    assert lines[0].endswith("but 10,000 tuples are alive elsewhere: Sink.waiting leads to 10,000 of them")
    assert "  Sink.waiting         10,000   10,000 ?" in lines


def test_hidden_findings_are_not_called_none(shell):
    Path("worker.hprof").write_bytes(acker_heap(held=[(5, 7, -1)] * 2).hprof())
    outcome = shell("heap", "dump", "worker.hprof", "--min-severity", "error")
    assert outcome.out.startswith("OK: 2 entries in 1 acker, nothing is wrong except 1 hidden finding\n")
