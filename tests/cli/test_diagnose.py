"""`ackdoctor diagnose`, and the input that it shares with `heap hist`: files, pipes and exit codes."""

import errno
import gzip
import io
import json
import os
import random
import sys
from pathlib import Path

import pytest


def test_a_pasted_error_is_diagnosed(shell):
    outcome = shell("diagnose", "java.lang.RuntimeException: Anchored onto 12 after ack/fail")
    assert outcome.code == 1
    assert outcome.out.splitlines()[:4] == [
        "innermost cause: java.lang.RuntimeException: Anchored onto 12 after ack/fail",
        "",
        "anchored too late",
        "  an emit names an anchor that has been acked or failed; the bolt dies and the",
    ]


def test_the_words_of_an_error_need_no_quotes(shell):
    error = "java.lang.RuntimeException: Anchored onto 12 after ack/fail"
    assert shell("diagnose", *error.split()) == shell("diagnose", error)


def test_several_logs_are_read_in_time_order(shell):
    head = "2026-01-0{} 12:00:00.000 o.a.s.util Thread-8-count-executor[3, 3] [ERROR] Async loop died!\n"
    late, early = (
        "java.lang.RuntimeException: Anchored onto 7 after ack/fail",
        "java.lang.OutOfMemoryError: Java heap space",
    )
    Path("worker.log").write_text("\n\n" + head.format(2) + late)
    Path("worker.log.1.gz").write_bytes(gzip.compress((head.format(1) + early).encode()))
    Path("hs_err_pid1.log").write_text(
        "#  SIGSEGV (0xb) at pc=0x1, pid=1, tid=1\n"
    )  # no date: as old as the file
    outcome = shell("diagnose", "hs_err_pid1.log", "worker.log", "worker.log.1.gz")
    assert outcome.code == 1
    assert [line for line in outcome.out.splitlines() if ".log" in line][:5] == [
        f"innermost cause, worker.log.1.gz, line 2: {early}",
        "out of memory  worker.log.1.gz, line 2, in count",
        "anchored too late  worker.log, line 4, in count",
        f"  innermost cause, worker.log, line 4: {late}",
        "the JVM has crashed  hs_err_pid1.log, line 1",
    ]
    document = json.loads(shell("diagnose", "worker.log", "worker.log.1.gz", "--output-format", "json").out)
    assert [(each["file"], each["line"]) for each in document["symptoms"]] == [
        ("worker.log.1.gz", 2),
        ("worker.log", 4),
    ]
    assert document["innermost"] == {"file": "worker.log.1.gz", "line": 2, "text": early, "frames": []}


def test_words_without_an_exception_have_no_head(shell):
    assert shell("diagnose", "Anchored onto 12 after ack/fail").out.startswith("anchored too late\n")


def test_a_directory_means_the_logs_in_it(shell):
    line = "2026-01-0{} 12:00:00.000 o.a.s.util Thread-8 [ERROR] java.lang.RuntimeException: {}\n"
    Path("t/6700").mkdir(parents=True)
    Path("t/6700/worker.log").write_text(line.format(2, "Anchored onto 7 after ack/fail"))
    Path("t/6700/worker.log.1.gz").write_bytes(gzip.compress(b"2026-01-01 12:00:00.000 all is well\n"))
    Path("t/6700/worker.pid").write_text("17")
    Path("other.log").write_text(line.format(3, "subprocess heartbeat timeout"))
    for arguments in (["t", "other.log"], ["other.log", "t", "t/6700/worker.log"], ["t"]):
        outcome = shell("diagnose", *arguments)
        assert outcome.err == "ackdoctor: t: 1 file ignored: not a log\n"
        assert outcome.code == 1
        assert "\nanchored too late  t/6700/worker.log, line 1\n" in outcome.out
        assert ("other.log, line 1" in outcome.out) == (arguments != ["t"])


def test_an_unreadable_directory_is_named(shell, monkeypatch):
    def refused(folder, *_):
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    Path("t").mkdir()
    monkeypatch.setattr(os, "scandir", refused)
    assert shell("diagnose", "t") == (2, "", "ackdoctor: t: cannot be read: Permission denied\n")


def test_a_folder_without_logs_is_not_called_clean(shell):
    Path("t").mkdir()
    Path("t/notes.md").touch()
    error = "ackdoctor: t: the directory has no logs: *.err, *.log, *.out\n"
    assert shell("diagnose", "t") == (2, "", error)
    Path("t/notes.md").rename("t/worker.log")
    assert shell("diagnose", "t", "not") == (2, "", "ackdoctor: not: no such file\n")


def test_a_folder_of_thread_dumps_is_read(shell):
    Path("t").mkdir()
    Path("t/notes.txt").write_text("at 10:00 we took\na\nb\nFull thread dump\n")
    Path("t/jstack-1.txt").write_text(
        "2026-02-20 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM:\n\nFound one Java-level deadlock:\n"
    )
    outcome = shell("diagnose", "t")
    assert outcome.code == 1
    assert outcome.out.startswith("threads that wait for each other  line 4\n")
    assert outcome.err == "ackdoctor: t: 1 file ignored: not a log\n"


def test_logs_without_times_are_said_to_be_in_the_order_of_their_files(shell):
    Path("a.log").write_text("INFO second\n")
    Path("b.log").write_text("INFO first\n")
    Path("c.err").write_text("SLF4J: no binding\n")
    os.utime("b.log", (1_700_000_000, 1_700_000_000))
    note = "ackdoctor: 2 files without a time, such as a.log: ordered by the times of their last changes\n"
    assert shell("diagnose", "a.log", "b.log", "c.err").err == note
    Path("a.log").write_text("2026-02-20 10:00:00 INFO second\n")
    assert shell("diagnose", "a.log", "b.log", "c.err").err == ""


def test_rotated_logs_of_one_time_are_in_the_order_of_their_numbers(shell):
    Path("t").mkdir()
    for name, word in (("worker.log", "c"), ("worker.log.1", "b"), ("worker.log.2", "a")):
        Path("t", name).write_text(f"2026-02-20 10:00:00 b.s.util [ERROR] Async loop died!\njava.lang.IllegalStateException: {word}\n")  # fmt: skip
    found = json.loads(shell("diagnose", "t", "--output-format", "json").out)
    assert found["innermost"]["file"] == "t/worker.log.2"


SPY = 'Process 41: python -m streamparse.run bolts.fetch.FetchBolt\nPython v3.11.4 (/usr/bin/python3.11)\n\nThread 41 (idle): "MainThread"\n    process (bolts/fetch.py:41)\n    _run (pystorm/bolt.py:219)\n'
JCMD = '7\n2026-02-20T10:00:00Z\n21.0.2+13\n\n#44 "Thread-3-store-executor[9, 9]"\n      com.acme.StoreBolt.execute(StoreBolt.java:7)\n'
JSON = '{\n  "threadDump": {\n    "threadContainers": [{"threads": [{"tid": 44, "name": "Thread-3-store-executor[9, 9]", "state": "RUNNABLE",\n "stack": ["com.acme.StoreBolt.execute(StoreBolt.java:7)"]}]}]\n  }\n}\n'


@pytest.mark.parametrize(
    ("name", "text", "first"),
    [
        ("d.txt", SPY, "a Python component in its own code"),
        ("d.txt", JCMD, "a component in its own code"),
        ("d.json", JSON, "a component in its own code"),
    ],
)
def test_a_folder_of_dumps_of_other_tools_is_read(name, text, first, shell):
    Path("t").mkdir()
    Path("t", name).write_text(text)
    outcome = shell("diagnose", "t")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith(first)


def test_a_summary_of_a_python_heap_is_no_log(shell):
    Path("heap.txt").write_text("Partition of a set of 600018 objects. Total size = 37485224 bytes.\n")
    note = "ackdoctor: heap.txt: a summary of a Python heap: pytest --ackdoctor-heap shows which component holds what\n"
    assert shell("diagnose", "heap.txt") == (2, "", note)


def test_a_log_with_a_harmless_exception_begins_with_the_result(shell):
    start = "2026-03-05 03:12:01.339 o.a.s.m.n.Client client-boss-1 [ERROR] connection attempt 1 to Netty-Client-w2/10.0.0.12:6701 failed: java.net.ConnectException: Connection refused: w2/10.0.0.12:6701\n"
    Path("worker.log").write_text(start)
    assert shell("diagnose", "worker.log").out.startswith("no known symptom (1 line)\nif the topology")
    Path("worker.log").write_text(
        start + "2026-03-05 03:13:00.000 c.a.Geo [WARN] skipped\njava.io.IOException: no route\n"
    )
    assert shell("diagnose", "worker.log").out.startswith(
        "no known symptom (3 lines)\nthe first exception shows no fault in acking, and the log does not say that it "
        "ended anything\n  innermost cause, line 3: java.io.IOException: no route\n"
    )


@pytest.mark.parametrize("zipped", [False, True])
def test_noise_is_not_called_clean(shell, zipped):
    noise = random.Random(7).randbytes(5_000)
    Path("worker.log").write_bytes(gzip.compress(noise) if zipped else noise)
    assert shell("diagnose", "worker.log") == (2, "", "ackdoctor: worker.log: cannot be read: no text\n")


@pytest.mark.parametrize("encoding", ["utf-16", "gbk", "shift_jis", "koi8-r", "latin-1"])
def test_a_text_is_one_in_any_encoding(shell, encoding):
    words = {"gbk": "\u5904\u7406\u5931\u8d25", "shift_jis": "\u30a8\u30e9\u30fc", "koi8-r": "\u043e\u0448"}
    text = f"{words.get(encoding, 'x') * 40}\x1b[31m\a\nAcked a non-existent or already acked/failed id: 3\n"
    Path("worker.log").write_bytes(text.encode(encoding))
    assert shell("diagnose", "worker.log").out.startswith("acked twice  line 2\n")


def test_a_missing_log_among_several_is_named(shell):
    Path("worker.log").touch()
    for arguments in (("worker.log", "not.log"), ("not.log", "here.log")):
        assert shell("diagnose", *arguments) == (2, "", "ackdoctor: not.log: no such file\n")
    Path("dump.log").write_bytes(b"JAVA PROFILE 1.0.2")
    assert shell("diagnose", "worker.log", "dump.log").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["diagnose", "-"], 1, "acked twice  line 2"),
        (["heap", "hist", "-", "--output-format", "concise"], 2, "-: no class histogram: no line like"),
    ],
)
def test_a_pipe_may_carry_another_encoding_than_utf_8(shell, monkeypatch, arguments, code, message):
    data = b"f\xfcr\nAcked a non-existent or already acked/failed id: 3\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))
    outcome = shell(*arguments)
    assert outcome.code == code
    assert message in outcome.out + outcome.err
    assert "internal error" not in outcome.err


def test_a_rolled_log_is_diagnosed(shell):
    Path("worker.log.1.gz").write_bytes(gzip.compress(b"x\njava.lang.OutOfMemoryError: Java heap space\n"))
    outcome = shell("diagnose", "worker.log.1.gz", "--output-format", "json")
    assert [(each["name"], each["line"]) for each in json.loads(outcome.out)["symptoms"]] == [
        ("out of memory", 2)
    ]


def test_the_component_is_named(shell):
    died = "ShellBolt died. ProcessInfo pid:7, name:count exitCode:-1\n"
    Path("worker.log").write_text(died + "java.lang.RuntimeException: subprocess heartbeat timeout\n")
    assert "\nheartbeat timeout  line 2, in count\n" in shell("diagnose", "worker.log").out
    [symptom] = json.loads(shell("diagnose", "worker.log", "--output-format", "json").out)["symptoms"]
    assert symptom["components"] == ["count"]


HANGS = "if the topology hangs nevertheless: jstack PID > dump.txt; ackdoctor diagnose dump.txt"


def test_a_log_without_symptoms_is_clean(shell):
    Path("worker.log").write_text("all is well\n")
    assert shell("diagnose", "worker.log") == (0, f"no known symptom (1 line)\n{HANGS}\n", "")


@pytest.mark.parametrize(
    "name", ["worker.log", "worker.log.1", "worker.log.err", "6700/worker", "logs/6700/worker.log.3"]
)
def test_a_missing_log_is_named(name, shell):
    assert shell("diagnose", name) == (2, "", f"ackdoctor: {name}: no such file\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("worker", "ackdoctor: no file is called `worker`, so it was read as the words of an error\n"),
        ("java.lang.OutOfMemoryError: Java heap space", ""),
        ("all is well", ""),
    ],
)
def test_unknown_words_may_be_a_mistyped_file_name(words, message, shell):
    assert shell("diagnose", words).err == message


PACKED = [
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"BZh9", "compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ\0", "compressed with xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"JAVA PROFILE 1.0.2\0", "a heap dump: ackdoctor heap dump reads it"),
    (b"PAR1", "a part of a trace: ackdoctor trace report reads it"),
]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("command", [["diagnose"], ["heap", "hist"]])
@pytest.mark.parametrize(("magic", "reason"), PACKED)
def test_binary_files_are_not_called_clean(command, magic, reason, piped, zipped, shell, monkeypatch):
    content = magic + bytes(range(200))
    Path("worker.log").write_bytes(gzip.compress(content) if zipped else content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("worker.log").read_bytes())))
    name = "-" if piped else "worker.log"
    assert shell(*command, name) == (2, "", f"ackdoctor: {name}: cannot be read: {reason}\n")


ACKED_TWICE = b"x\nAcked a non-existent or already acked/failed id: 3\n"


def test_a_gzipped_log_is_read_from_a_pipe(shell, monkeypatch):
    packed = io.TextIOWrapper(io.BytesIO(gzip.compress(ACKED_TWICE)))
    monkeypatch.setattr(sys, "stdin", packed)
    assert "acked twice  line 2" in shell("diagnose", "-").out


def test_an_unreadable_log_is_reported_in_one_line(shell, monkeypatch):
    def refused(self, **_):
        raise PermissionError(errno.EACCES, "Permission denied")

    Path("worker.log").mkdir()
    monkeypatch.setattr(Path, "stat", refused)
    assert shell("diagnose", "worker.log") == (
        2,
        "",
        "ackdoctor: worker.log: cannot be read: Is a directory\n",
    )


def test_a_pipe_is_opened_once(shell):
    reader, writer = os.pipe()
    os.write(writer, ACKED_TWICE)
    os.close(writer)
    outcome = shell("diagnose", f"/dev/fd/{reader}")  # as a shell names `<(kubectl logs POD)`
    os.close(reader)
    assert (outcome.code, "acked twice  line 2" in outcome.out) == (1, True)


def test_a_cut_archive_is_diagnosed_as_far_as_it_goes(shell):
    tail = random.Random(0).randbytes(50_000).hex()
    Path("worker.log.1.gz").write_bytes(gzip.compress(ACKED_TWICE + tail.encode())[:-20_000])
    outcome = shell("diagnose", "worker.log.1.gz")
    assert outcome.code == 2
    assert "acked twice  line 2" in outcome.out
    assert outcome.err.startswith("ackdoctor: worker.log.1.gz: cannot be read: Compressed file ended")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("zipped", [False, True])
def test_utf_16_is_read_with_its_mark_and_without(encoding, zipped, shell):
    text = ACKED_TWICE.decode().encode(encoding)
    Path("worker.log").write_bytes(gzip.compress(text) if zipped else text)
    assert "acked twice  line 2" in shell("diagnose", "worker.log").out


HISTOGRAM = """7:
 num     #instances         #bytes  class name
   1:  5000  200000  java.lang.Long
"""
ROW = '{"schema":1,"kind":7,"time_ns":0,"seq":0,"component":"sql"}\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HISTOGRAM, "a class histogram: ackdoctor heap hist reads it"),
        (HISTOGRAM.partition("class name\n")[2], "a class histogram: ackdoctor heap hist reads it"),
        (ROW, "a part of a trace: ackdoctor trace report reads it"),
    ],
)
def test_a_file_for_another_command_is_not_called_clean(text, reason, shell):
    Path("some.txt").write_text(text)
    assert shell("diagnose", "some.txt") == (2, "", f"ackdoctor: some.txt: {reason}\n")


def test_a_log_with_a_histogram_in_it_is_a_log(shell):
    Path("worker.log").write_text(HISTOGRAM + ACKED_TWICE.decode())
    assert "acked twice  line 5" in shell("diagnose", "worker.log").out


def test_each_symptom_lists_its_causes(shell):
    texts = ["java.lang.RuntimeException: subprocess heartbeat timeout", "\tat org.apache.storm.task.ShellBolt.die(ShellBolt.java:3)", "x", "java.lang.RuntimeException: Anchored onto 7 after ack/fail"]  # fmt: skip
    Path("worker.log").write_text("\n".join(texts))
    lines = shell("diagnose", "worker.log").out.splitlines()
    assert [line for line in lines if "innermost" in line] == [
        f"innermost cause, line 1: {texts[0]}",
        f"  innermost cause, line 4: {texts[3]}",
    ]
    document = json.loads(shell("diagnose", "worker.log", "--output-format", "json").out)
    assert [symptom["innermost"] for symptom in document["symptoms"]] == [
        [
            {
                "file": "worker.log",
                "line": 1,
                "text": texts[0],
                "frames": [{"text": texts[1].strip(), "own": False}],
            }
        ],
        [{"file": "worker.log", "line": 4, "text": texts[3], "frames": []}],
    ]


@pytest.mark.parametrize("text", ["", " "])
def test_empty_words_do_not_name_a_folder(shell, text):
    error = "ackdoctor: diagnose: name a log, the words of an error, or - for standard input\n"

    assert shell("diagnose", text) == (2, "", error)


def test_empty_logs_are_no_healthy_logs(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("worker.log").touch()
    Path("worker.log.err").touch()

    for subject in ("worker.log", "."):
        outcome = shell("diagnose", subject)
        assert (outcome.code, outcome.err.count("worker.log")) == (2, 1)
        assert "nothing can be said" in outcome.err
