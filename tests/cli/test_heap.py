"""`ackdoctor heap`: what goes in, what comes out, and the exit code."""

import gzip
import json
import shlex
import shutil
from pathlib import Path

import pytest

from ackdoctor.cli import autopsy
from ackdoctor.model.errors import UsageError
from tests.heap.writing import Heap, acker_heap

ROOT = Path(__file__).parents[2]
HEAPS = ROOT / "fixtures" / "heaps"
TRACE = ROOT / "fixtures" / "traces" / "statements" / "v1"


def codes(outcome):
    *findings, _ = outcome.out.splitlines()  # the last line is the verdict
    return [line.partition(": ")[2].partition(" ")[0] for line in findings]


# ---- dump ----


def test_the_investigation_of_the_seed_ends_at_a_line(shell):
    shutil.copytree(ROOT / "fixtures", "fixtures")
    outcome = shell(
        "heap", "dump", "fixtures/heaps/statements-1.1.0.hprof", "--trace", "fixtures/traces/statements/v1",
        "--acker-version", "1.1.0", "--output-format", "json",
    )  # fmt: skip
    told = json.loads(outcome.out)
    named = [each for each in told["findings"] if each["code"] == "ACK601"]
    assert [(each["component"], each["path"], each["line"], each["entries"]) for each in named] == [
        ("audit", "fixtures/traces/statements/topology.py", 26, 3),
        ("sql", "fixtures/traces/statements/topology.py", 26, 12),
    ]
    assert told["notes"] == ["of 15 roots read, the trace knows 15 and explains 15"]
    assert outcome.code == 1


LEFT = [  # what logs/storm-2.8.3 leaves: its root, value and spout task
    (-3009258064162806601, -5698983284847307146, -1),  # leaf twice
    (-2649877735888617978, -5257881333274648441, 4),  # inner twice
    (2375429451940955981, -6708450004835953596, 4),  # leaf never
    (-6055594704504516774, 1826031668459276253, -1),  # fail with stragglers
]


def lines_of(outcome, word):
    return [line.strip() for line in outcome.out.splitlines() if word in line]


@pytest.mark.parametrize("logs", ["folder", "files"])
def test_a_worker_s_log_names_the_culprits_too(shell, logs):
    folder = ROOT / "fixtures" / "logs" / "storm-2.8.3"
    traces = [folder] if logs == "folder" else [folder / "worker.log", folder / "worker.log.1.gz"]
    Path("worker.hprof").write_bytes(acker_heap(held=LEFT).hprof())
    outcome = shell(
        "heap", "dump", "worker.hprof", *(word for each in traces for word in ("--trace", str(each)))
    )
    assert lines_of(outcome, "of 4 roots") == ["of 4 roots read, the log knows 4 and explains 3"]
    assert lines_of(outcome, "another") == [
        "another 1 is left by acks after a fail or a timeout, as correct programs leave them, too"
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
        "= left: acker: root -3009258064162806601 leaves an orphan, value -5698983284847307146; the spout heard ack"
    ]


def test_a_log_without_tuples_is_asked_for_debug(shell):
    Path("worker.hprof").write_bytes(acker_heap().hprof())
    Path("worker.log").write_text(
        "2026-11-21 20:22:17.710 o.a.s.e.Executor main [INFO] Loading executor tasks store:[7, 7]\n"
    )
    outcome = shell("heap", "dump", "worker.hprof", "--trace", "worker.log")
    assert lines_of(outcome, "debug") == ["a worker's log tells of tuples only where topology.debug is true"]
    assert lines_of(outcome, "knows 0") == ["of 5 roots read, the log knows 0 and explains 0"]


def test_a_file_that_is_neither_trace_nor_log_is_said(shell):
    Path("worker.hprof").write_bytes(acker_heap().hprof())
    Path("notes.txt").write_text("nothing\n")
    outcome = shell("heap", "dump", "worker.hprof", "--trace", "notes.txt")
    assert outcome.err == "notes.txt: no part of a trace, nor a worker's log\n"
    assert outcome.code == 2


def test_a_dump_without_a_trace_names_causes(shell):
    outcome = shell("heap", "dump", str(HEAPS / "statements-1.1.0.hprof"), "--output-format", "concise")
    assert (outcome.code, codes(outcome)) == (1, ["ACK601", "ACK602", "ACK603"])


def test_the_next_command_can_be_pasted(shell):
    Path("a worker's.hprof").write_bytes(acker_heap(held=LEFT).hprof())
    outcome = shell("heap", "dump", "a worker's.hprof")
    [command] = [line.partition("   ")[0] for line in lines_of(outcome, "--trace TRACE")]
    assert shlex.split(command) == ["ackdoctor", "heap", "dump", "a worker's.hprof", "--trace", "TRACE"]


def test_a_young_acker_is_under_way(shell):
    heap = acker_heap(entries=0)
    Path("worker.hprof").write_bytes(heap.hprof())
    outcome = shell("heap", "dump", "worker.hprof")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("OK: 0 entries in 1 acker, nothing is wrong\n")


def test_a_worker_without_an_acker_is_told_from_no_worker(shell):
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
        "EMPTY: no acker: no class of Storm's is loaded: this is not the dump of a worker",
        "EMPTY: no acker: this worker runs none; take the dump of a worker that does (__acker in the UI)",
    ]
    told = json.loads(shell("heap", "dump", "other.hprof", "--output-format", "json").out)
    assert told["verdict"] == other.out.partition("\n")[0]


def test_tuples_that_nobody_is_known_to_keep_are_told(shell):
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
    told = json.loads(shell("heap", "dump", "worker.hprof", "--output-format", "json").out)
    assert (told["verdict"], told["heap"]["tuples"]) == (lines[0], 10_000)


@pytest.mark.parametrize(
    ("timeout_s", "told"),
    [
        ("60", "error ACK601 never-zero-entry (may)  the acker keeps entries that never came to zero, and their spouts have given them up: "),
        ("100", "warning ACK601 never-zero-entry (may)  the acker keeps entries that never came to zero, and they are older than the message timeout: "),
        ("126", ""),
    ],
)  # fmt: skip
def test_an_entry_of_1_x_is_old_after_the_timeout_since_its_acker_may_drop_it_then(timeout_s, told, shell):
    file = str(HEAPS / "statements-1.1.0.hprof")  # whose entries are 125 s old
    lines = shell("heap", "dump", file, "--message-timeout", timeout_s).out.splitlines()
    found = [line.partition(":1:1  ")[2] for line in lines if "ACK601 never-zero-entry" in line]
    assert [line[: len(told)] for line in found] == ([told] if told else [])


def test_a_cut_dump_is_reported_as_far_as_it_goes(shell):
    Path("worker.hprof").write_bytes(acker_heap(entries=50).hprof()[:6000])
    outcome = shell("heap", "dump", "worker.hprof")
    assert outcome.code == 2
    assert outcome.err.startswith("worker.hprof: cut off after 6,000 bytes, within the record at byte ")
    assert "\n  incomplete: cut off after 6,000 bytes" in outcome.out
    assert "acker 1: Acker.pending.buckets" in outcome.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello", "no heap dump: it begins with b'hello', not with 'JAVA PROFILE 1.0.2'"),
        (b"", "the file is empty"),
    ],
)
def test_what_is_no_dump_is_one_line(content, said, shell):
    Path("worker.hprof").write_bytes(content)
    assert shell("heap", "dump", "worker.hprof") == (2, "", f"worker.hprof: {said}\n")


def test_a_missing_dump_is_one_line(shell):
    assert shell("heap", "dump", "no.hprof") == (
        2,
        "",
        "no.hprof: cannot be read: No such file or directory\n",
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
    assert [holder["entries"] for holder in heap["holders"]] == [13, 8]
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


# ---- hist ----


def test_growth_is_a_finding_with_the_time_that_is_left(shell):
    outcome = shell("heap", "hist", str(HEAPS / "histograms" / "growing-2.8.3.txt"), "--xmx", "768m")
    assert outcome.code == 1
    assert outcome.out.splitlines()[1:3] == [
        "  6 histograms over 10.1 s: 9.2 MB at first, 19.7 MB at last",
        "  768 MB are full in 13 minutes, at 1.0 MB a second (R2 0.97)",
    ]


def test_one_histogram_says_what_is_there(shell):
    text = (HEAPS / "histograms" / "growing-2.8.3.txt").read_text().partition("Total")[0]
    Path("one.txt").write_text(text + "Total 1 1\n")
    outcome = shell("heap", "hist", "one.txt")
    assert outcome.code == 0
    assert outcome.out.splitlines()[:2] == [
        "INCOMPLETE: 1 histogram cannot tell what grows: take three or more, some seconds apart",
        "  1 histogram: 1 bytes",
    ]
    assert "Acker$AckObject: entries of the acker's pending map (2.x)" in outcome.out


def histograms(**amounts):
    """A text of histograms a minute apart, of classes without a package."""
    for at, row in enumerate(zip(*amounts.values(), strict=True)):
        yield f"2026-11-21 22:{at:02}:00\n num     #instances         #bytes  class name\n"
        pairs = list(zip(amounts, row, strict=True))
        yield from (f"   1:  {amount}  {amount * 100}  {name}\n" for name, amount in pairs)
        yield f"Total  {sum(row)}  {sum(row) * 100}\n"


@pytest.mark.parametrize(
    ("amounts", "first"),
    [
        ([5_000, 6_000], "INCOMPLETE: 2 histograms cannot tell what grows: take three or more, some seconds apart"),
        ([5_000, 6_000, 7_000], "GROWING: the heap grows along a line, and no class of Storm's that is known here with it; most grows Session (+200,000 of +200,000 bytes)"),
        ([5_000, 6_000, 5_500], "OK: 3 histograms, nothing is wrong"),
        ([5_000, 5_001, 5_002], "OK: 3 histograms, nothing is wrong"),
    ],
)  # fmt: skip
def test_a_heap_that_fills_is_not_ok_whoever_fills_it(amounts, first, shell):
    Path("a.txt").write_text("".join(histograms(Order=[9] * len(amounts), Session=amounts)))
    outcome = shell("heap", "hist", "a.txt", "--xmx", "2m")
    assert (outcome.code, outcome.out.partition("\n")[0]) == (0, first)
    assert json.loads(shell("heap", "hist", "a.txt", "--output-format", "json").out)["verdict"] == first


@pytest.mark.parametrize(
    ("cut", "said"), [("2026", "  no times: say how far"), ("22:03", "  64 MB: not in sight")]
)
def test_that_a_heap_does_not_fill_is_said_where_it_can_be_known(cut, said, shell):
    told = "".join(histograms(Session=[5_000, 6_000, 5_500])).splitlines(keepends=True)
    Path("a.txt").write_text("".join(line for line in told if not line.startswith(cut)))
    outcome = shell("heap", "hist", "a.txt", "--xmx", "64m")
    assert outcome.out.splitlines()[2].startswith(said)
    assert ("not in sight" in outcome.out) == (cut == "22:03")


@pytest.mark.parametrize("count", [1, 3])
def test_more_than_the_jvm_may_have_is_said(count, shell):
    Path("a.txt").write_text("".join(histograms(Session=[15_000, 16_000, 17_000][:count])))
    outcome = shell("heap", "hist", "a.txt", "--xmx", "1m")
    assert outcome.out.splitlines()[2] == "  1 MB: what was counted last is more than that"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("zipped", [False, True])
def test_histograms_may_be_zipped_or_come_from_powershell(encoding, zipped, shell):
    data = "".join(histograms(Session=[5_000, 6_000, 7_000])).encode(encoding)
    Path("a.txt").write_bytes(gzip.compress(data) if zipped else data)
    assert "  3 histograms over 120.0 s: " in shell("heap", "hist", "a.txt").out


def test_histograms_of_two_workers_are_not_compared(shell):
    parts = list(histograms(Session=[5_000, 100, 6_000, 90, 7_000, 8_000]))
    jvms = iter(["17", "18", "17", "18", "17", "17"])
    Path("a.txt").write_text(
        "".join(part.replace("\n num", f"\n{next(jvms)}:\n num") if "num" in part else part for part in parts)
    )
    outcome = shell("heap", "hist", "a.txt")
    assert outcome.code == 2
    assert outcome.out.splitlines()[1] == "  4 histograms over 300.0 s: 500.0 kB at first, 800.0 kB at last"
    assert (
        outcome.err
        == "a.txt: 2 histograms of JVM 18 left out, since most are of 17: give each JVM's by themselves\n"
    )


def jcmd_that(monkeypatch, answers):
    """A jcmd that gives histograms of these amounts, and then raises what stands there."""
    given = iter(answers)

    def ask(pid, command, *_):
        if command == "VM.flags":
            return "-XX:MaxHeapSize=67108864 -XX:+UseG1GC"
        answer = next(given)
        if isinstance(answer, int):
            return "".join(histograms(Session=[answer]))
        raise answer

    monkeypatch.setattr(autopsy, "_jcmd", ask)


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (KeyboardInterrupt(), 0, "ackdoctor: interrupted: 3 histograms of 6 taken"),
        (UsageError("--pid 7: jcmd cannot reach it: no such process"), 2, "pid 7: gone after 3 histograms: --pid 7: jcmd cannot reach it: no such process"),
    ],
)  # fmt: skip
def test_what_was_taken_before_the_end_is_judged(end, code, said, shell, monkeypatch):
    jcmd_that(monkeypatch, [5_000, 6_000, 7_000, end])
    outcome = shell("heap", "hist", "--pid", "7", "--every", "0.1")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (code, said)
    assert outcome.out.startswith("GROWING: ")
    assert "  3 histograms over " in outcome.out
    assert "  64 MB are full in " in outcome.out


def test_what_a_bolt_may_keep_is_named_where_the_heap_fills(shell):
    kept = "org.apache.storm.tuple.TupleImpl"
    Path("a.txt").write_text("".join(histograms(Session=[5, 5, 5], **{kept: [5_000, 6_000, 7_000]})))
    outcome = shell("heap", "hist", "a.txt")
    assert (outcome.code, outcome.out.partition("\n")[0]) == (
        0,
        f"GROWING: the heap grows along a line, and with it {kept} (5,000 to 7,000): tuples that a bolt keeps, or that "
        "wait in a queue before a slow one",
    )


def test_a_jvm_that_was_never_reached_is_one_line(shell, monkeypatch):
    jcmd_that(monkeypatch, [UsageError("--pid 7: no such process")])
    assert shell("heap", "hist", "--pid", "7") == (2, "", "ackdoctor: --pid 7: no such process\n")


ROW = "[{at}.000s] GC(0) {row}\n"


def test_a_log_s_histograms_after_collections_are_compared_without_those_before(shell):
    held = "org.apache.storm.daemon.Acker$AckObject"
    with Path("gc.log").open("w") as log:
        for at in range(10, 80, 10):
            for when, amount in (("before", 90_000 - 1_000 * at), ("after", 5_000 * at)):
                rows = [f"Class Histogram ({when} full gc)", " num     #instances         #bytes  class name"]
                rows += [f"   1:  {amount}  {amount * 40}  {held}", f"Total  {amount}  {amount * 40}"]
                log.writelines(ROW.format(at=at, row=row) for row in rows)
    outcome = shell("heap", "hist", "gc.log")
    assert codes(shell("heap", "hist", "gc.log", "--output-format", "concise"))[:1] == ["ACK603"]
    assert "  7 histograms over 60.0 s: " in outcome.out
    assert "350,000" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "ackdoctor: name files with histograms, or a JVM with --pid PID\n"),
        (["a.txt", "--pid", "1"], "ackdoctor: --pid takes histograms itself: name no files with it\n"),
        (["a.txt"], "a.txt: cannot be read: No such file or directory\n"),
        (["4711"], "ackdoctor: 4711: no such file; a JVM is named with --pid 4711\n"),
        (["a.txt", "--xmx", "much"], "ackdoctor: --xmx must be like 768m or 4g, not 'much'\n"),
    ],
)
def test_a_histogram_that_cannot_be_had_is_one_line(arguments, said, shell):
    assert shell("heap", "hist", *arguments) == (2, "", said)


def test_a_text_without_rows_is_no_histogram(shell):
    Path("a.txt").write_text("hello\n")
    assert (
        shell("heap", "hist", "a.txt").err
        == "a.txt: no class histogram: no line like `1:  1000  40000  java.lang.Long`\n"
    )
