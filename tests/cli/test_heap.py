"""Input, output and exit codes of `ackdoctor heap`."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.heap.hprof_writer import Heap, acker_heap

ROOT = Path(__file__).parents[2]
HEAPS = ROOT / "fixtures" / "heaps"
TRACE = ROOT / "fixtures" / "traces" / "statements" / "v1"


def codes(outcome):
    *findings, _ = outcome.out.splitlines()  # the last line is the verdict
    return [line.partition(": ")[2].partition(" ")[0] for line in findings]


def test_the_seed_is_traced_to_one_line(shell):
    shutil.copytree(ROOT / "fixtures", "fixtures")
    outcome = shell(
        "heap", "dump", "fixtures/heaps/statements-1.1.0.hprof", "--trace", "fixtures/traces/statements/v1",
        "--acker-version", "1.1.0", "--output-format", "json",
    )  # fmt: skip
    document = json.loads(outcome.out)
    named = [each for each in document["findings"] if each["code"] == "ACK601"]
    assert [(each["component"], each["path"], each["line"], each["entries"]) for each in named] == [
        ("audit", "fixtures/traces/statements/topology.py", 26, 3),
        ("sql", "fixtures/traces/statements/topology.py", 26, 12),
    ]
    assert document["notes"] == ["of 15 roots read, the trace knows 15 and explains 15"]
    assert outcome.code == 1


LEFT = [  # entries that logs/storm-2.8.3 leaves: root, value and spout task
    (-3009258064162806601, -5698983284847307146, -1),  # leaf twice
    (-2649877735888617978, -5257881333274648441, 4),  # inner twice
    (2375429451940955981, -6708450004835953596, 4),  # leaf never
    (-6055594704504516774, 1826031668459276253, -1),  # fail with stragglers
]


def lines_of(outcome, word):
    return [line.strip() for line in outcome.out.splitlines() if word in line]


@pytest.mark.parametrize("logs", ["folder", "files"])
def test_a_worker_log_names_the_culprits_too(shell, logs):
    folder = ROOT / "fixtures" / "logs" / "storm-2.8.3"
    traces = [folder] if logs == "folder" else [folder / "worker.log", folder / "worker.log.1.gz"]
    Path("worker.hprof").write_bytes(acker_heap(held=LEFT).hprof())
    outcome = shell(
        "heap", "dump", "worker.hprof", *(word for each in traces for word in ("--trace", str(each)))
    )
    assert lines_of(outcome, "of 4 roots") == ["of 4 roots read, the log knows 4 and explains 3"]
    assert lines_of(outcome, "another") == [
        "acks after a fail or a timeout explain another 1: correct programs leave such entries too"
    ]
    assert lines_of(outcome, "law L1:") == [
        "= left: law L1: -5257881333274648441 is what split[5] delivery -2649877735888617978=8022097691311572814 sends; "
        "acked twice",
        "= left: law L1: -5698983284847307146 is what store[7] delivery -3009258064162806601=-5698983284847307146 sends; "
        "acked twice",
        "= left: law L1: -6708450004835953596 is what store[7] delivery 2375429451940955981=-6708450004835953596 sends; "
        "never acked",
    ]
    assert lines_of(outcome, "leaves an orphan") == [
        "= left: acker: root -3009258064162806601 leaves an orphan, value -5698983284847307146; the spout got ack"
    ]


def test_a_log_without_tuples_suggests_topology_debug(shell):
    Path("worker.hprof").write_bytes(acker_heap().hprof())
    Path("worker.log").write_text(
        "2026-11-21 20:22:17.710 o.a.s.e.Executor main [INFO] Loading executor tasks store:[7, 7]\n"
    )
    outcome = shell("heap", "dump", "worker.hprof", "--trace", "worker.log")
    assert lines_of(outcome, "debug") == ["a worker logs tuples only with topology.debug=true"]
    assert lines_of(outcome, "knows 0") == ["of 5 roots read, the log knows 0 and explains 0"]


def test_a_file_that_is_neither_trace_nor_log_is_named(shell):
    Path("worker.hprof").write_bytes(acker_heap().hprof())
    Path("notes.txt").write_text("nothing\n")
    outcome = shell("heap", "dump", "worker.hprof", "--trace", "notes.txt")
    assert outcome.err == "ackdoctor: notes.txt: no part of a trace, nor a worker's log\n"
    assert outcome.code == 2


def test_a_dump_without_a_trace_names_causes(shell):
    outcome = shell("heap", "dump", str(HEAPS / "statements-1.1.0.hprof"), "--output-format", "concise")
    assert (outcome.code, codes(outcome)) == (1, ["ACK601", "ACK602", "ACK603"])


def test_the_next_command_can_be_pasted(shell):
    Path("a worker's.hprof").write_bytes(acker_heap(held=LEFT).hprof())
    outcome = shell("heap", "dump", "a worker's.hprof")
    [command] = [line.partition("   ")[0] for line in lines_of(outcome, "--trace TRACE")]
    assert shlex.split(command) == ["ackdoctor", "heap", "dump", "a worker's.hprof", "--trace", "TRACE"]


def test_entries_of_a_young_acker_are_under_way(shell):
    heap = acker_heap(entries=0)
    Path("worker.hprof").write_bytes(heap.hprof())
    outcome = shell("heap", "dump", "worker.hprof")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("OK: 0 entries in 1 acker, nothing is wrong\n")


def test_a_worker_without_an_acker_differs_from_another_process(shell):
    heap = Heap()
    heap.declare("java.lang.Object")
    heap.add(64, "java.lang.Object")
    Path("other.hprof").write_bytes(heap.hprof())
    heap.declare("org.apache.storm.task.ShellBolt", {"inputs": "object"}, "java.lang.Object")
    heap.add(96, "org.apache.storm.task.ShellBolt", inputs=0)
    Path("worker.hprof").write_bytes(heap.hprof())
    other, worker = shell("heap", "dump", "other.hprof"), shell("heap", "dump", "worker.hprof")
    assert (other.code, worker.code) == (0, 0)
    assert [each.out.partition("\n")[0] for each in (other, worker)] == [
        "EMPTY: no acker: no class of Storm is loaded; this is not the dump of a worker",
        "EMPTY: no acker: this worker runs none; take the dump of a worker that runs one (__acker in the UI)",
    ]
    document = json.loads(shell("heap", "dump", "other.hprof", "--output-format", "json").out)
    assert document["verdict"] == other.out.partition("\n")[0]


def test_live_tuples_outside_known_buffers_are_counted(shell):
    heap = acker_heap(entries=0)
    heap.declare("org.apache.storm.tuple.TupleImpl", {}, "java.lang.Object")
    for number in range(10_000):
        heap.add(4096 + 16 * number, "org.apache.storm.tuple.TupleImpl")
    Path("worker.hprof").write_bytes(heap.hprof())
    lines = shell("heap", "dump", "worker.hprof").out.splitlines()
    assert (
        lines[0]
        == "OK: 0 entries in 1 acker, nothing is wrong with them, but 10,000 tuples are alive elsewhere"
    )
    assert lines[3].startswith("  10,000 tuples (TupleImpl) are alive: a bolt keeps them, acked or not, or ")
    document = json.loads(shell("heap", "dump", "worker.hprof", "--output-format", "json").out)
    assert (document["verdict"], document["heap"]["tuples"]) == (lines[0], 10_000)


@pytest.mark.parametrize(
    ("timeout_s", "prefix"),
    [
        ("60", "error ACK601 never-zero-entry (may)  the acker keeps entries that never became zero, and are older than twice the message timeout; their spouts are not in this dump and may still wait for them: "),
        ("100", "warning ACK601 never-zero-entry (may)  the acker keeps entries that never became zero, and are older than the message timeout; their spouts are not in this dump and may still wait for them: "),
        ("126", ""),
    ],
)  # fmt: skip
def test_an_entry_of_storm_1_x_is_old_after_the_timeout(timeout_s, prefix, shell):
    file = str(HEAPS / "statements-1.1.0.hprof")  # whose entries are 125 s old
    lines = shell("heap", "dump", file, "--message-timeout", timeout_s).out.splitlines()
    found = [line.partition(":1:1  ")[2] for line in lines if "ACK601 never-zero-entry" in line]
    assert [line[: len(prefix)] for line in found] == ([prefix] if prefix else [])


def test_a_cut_dump_is_reported_as_far_as_it_goes(shell):
    Path("worker.hprof").write_bytes(acker_heap(entries=50).hprof()[:6000])
    outcome = shell("heap", "dump", "worker.hprof")
    assert outcome.code == 2
    assert outcome.err.startswith(
        "ackdoctor: worker.hprof: cut off after 6,000 bytes, within the record at byte "
    )
    assert "\n  incomplete: cut off after 6,000 bytes" in outcome.out
    assert "acker 1: Acker.pending.buckets" in outcome.out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello", "not a heap dump: it begins with b'hello', not with 'JAVA PROFILE 1.0.2'"),
        (b"", "the file is empty"),
    ],
)
def test_a_file_that_is_not_a_dump_is_reported_in_one_line(content, reason, shell):
    Path("worker.hprof").write_bytes(content)
    assert shell("heap", "dump", "worker.hprof") == (2, "", f"ackdoctor: worker.hprof: {reason}\n")


def test_a_missing_dump_is_reported_in_one_line(shell):
    assert shell("heap", "dump", "no.hprof") == (
        2,
        "",
        "ackdoctor: no.hprof: cannot be read: No such file or directory\n",
    )


def test_json_holds_what_the_screen_shows(shell):
    outcome = shell(
        "heap", "dump", str(HEAPS / "kinds-1.1.0.hprof.gz"), "--output-format", "json", "--top", "1"
    )
    heap = json.loads(outcome.out)["heap"]
    [acker] = heap["ackers"]
    assert (heap["id_size"], heap["compressed_oops"], heap["format"]) == (8, True, "1.0.2")
    assert [bucket["kinds"] for bucket in acker["buckets"]] == [
        {"waiting": 6},
        {"waiting": 1, "orphan": 6, "zero": 4, "failed": 1, "nil": 1},
    ]
    assert [buffer["entries"] for buffer in heap["buffers"]] == [13, 8]
    assert len(heap["classes"]) == 1


def test_sarif_names_the_heap_as_witness(shell):
    outcome = shell("heap", "dump", str(HEAPS / "kinds-2.8.3.hprof"), "--output-format", "sarif")
    results = json.loads(outcome.out)["runs"][0]["results"]
    assert [
        (each["ruleId"], each["properties"]["evidence"], each["properties"]["entries"]) for each in results
    ] == [
        ("ACK401", "heap", 13),
        ("ACK602", "heap", 12),
    ]


@pytest.mark.parametrize("name", ["worker.hprof", "there"])
def test_a_file_without_a_command_names_both_commands(name, shell):
    Path("there").write_text("")
    outcome = shell("heap", name)
    both = f"`ackdoctor heap dump {name}` reads a heap dump, `ackdoctor heap hist {name}` class histograms"
    assert (outcome.code, outcome.err.startswith(f"ackdoctor: {both};")) == (2, True)


def test_an_unknown_command_is_refused(shell):
    assert "ackdoctor: no such command 'dmp'" in shell("heap", "dmp").err
