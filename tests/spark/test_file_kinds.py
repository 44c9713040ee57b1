"""The reasons for unreadable texts."""

import gzip
import os
import zlib
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.file_kinds import LONGEST_LINE, FileKind
from ackdoctor.spark.inputs import find_inputs

LOG = "2026-11-21 20:22:08.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] Emitting: x default [1]\n"
ROW = '{"schema": 1, "kind": 10, "time_ns": 1}\n'


def reasons(inputs):
    return {Path(item.path).name: item.reason for item in inputs.unreadable}


def test_a_log_in_utf_16_is_unreadable_and_other_text_is_passed_over(tmp_path):
    (tmp_path / "worker.log").write_text(LOG, encoding="utf-16")
    (tmp_path / "part-1-0.jsonl").write_bytes(b"\xfe\xff" + ROW.encode("utf-16-be"))
    (tmp_path / "notes.txt").write_text("nothing of ours\n", encoding="utf-16")
    (tmp_path / "worker.log.1.gz").write_bytes(gzip.compress(LOG.encode("utf-16-be")))
    (tmp_path / "pod.txt").write_text(LOG, encoding="utf-16-le")
    reason = "UTF-16, and Spark reads UTF-8 only: `iconv -f {} -t UTF-8 FILE > worker.log` converts it"
    assert reasons(find_inputs([tmp_path])) == {
        "part-1-0.jsonl": reason.format("UTF-16"),
        "worker.log": reason.format("UTF-16"),
        "worker.log.1.gz": reason.format("UTF-16BE"),
        "pod.txt": reason.format("UTF-16LE"),
    }


def test_the_reason_for_an_unknown_layout_names_the_known_ones(tmp_path):
    (tmp_path / "worker.log").write_text("2026-11-21 20:22:17.710|INFO|main|o.a.s.d.Task|as a spreadsheet\n")
    reason = reasons(find_inputs([tmp_path / "worker.log"]))["worker.log"]
    assert reason.startswith(
        "neither a trace nor a worker's log: its lines have a time, and no line continues as Storm's do: "
    )


@pytest.mark.parametrize(
    ("stamp", "reason"),
    [
        ("23.11.2026 14:00:00,123", "23.11.2026 14:00:00,123"),
        ("11/23/2026 2:00:00 PM", "11/23/2026 2:00:00 PM"),
        ("Nov 23 14:00:00", "Nov 23 14:00:00"),
        ("2026/11/23 14:00:00.123", "2026/11/23 14:00:00.123"),
        ("[14:00:00.123]", "[14:00:00.123"),
    ],
)
def test_the_reason_for_unknown_stamps_names_the_line(tmp_path, stamp, reason):
    (tmp_path / "worker.log").write_text("\n" + LOG.replace("2026-11-21 20:22:08.403", stamp))
    (tmp_path / "notes.txt").write_text(f"we met at {stamp}\n")
    inputs = find_inputs([tmp_path])
    assert reasons(inputs)["worker.log"].startswith(
        f"neither a trace nor a worker's log: line 2 begins with {reason!r}; known stamps are those like "
    )
    assert [item.reason.endswith("no line begins as Storm's do") for item in inputs.passed_over] == [True]


@pytest.mark.parametrize(
    ("put", "reason"),
    [("worker.log:", "worker.log:"), ("17:", "17:"), ("    ", "    ")],
    ids=["grep -H", "grep -n", "a paste"],
)
def test_the_reason_for_a_prefix_names_it(tmp_path, put, reason):
    (tmp_path / "worker.log").write_text(put + LOG)
    assert reasons(find_inputs([tmp_path]))["worker.log"] == (
        f"neither a trace nor a worker's log: line 1 has {reason!r} before its stamp, which is no prefix of a log collector: remove it"
    )


@pytest.mark.parametrize(
    "coloured",
    [
        LOG.replace("[INFO]", "\x1b[32m[INFO]\x1b[0m"),
        LOG.replace("[INFO]", "[\x1b[1;32mINFO\x1b[m]"),
        f"\x1b[32m{LOG}\x1b[m",
        LOG.replace(
            "o.a.s.d.executor Thread-3-x-executor[3 3] [INFO]", "\x1b[32mINFO \x1b[m [main] o.a.s.d.Task -"
        ),
    ],
)
def test_a_coloured_log_is_unreadable(tmp_path, coloured):
    (tmp_path / "worker.log").write_text(coloured)
    (tmp_path / "painted.log").write_text(LOG.replace("default [1]", "default [\x1b[32m1, INFO\x1b[m]"))
    inputs = find_inputs([tmp_path])
    assert reasons(inputs) == {
        "worker.log": r"its lines are coloured: `sed 's/\x1b\[[0-9;]*m//g' FILE > worker.log` removes the colours"
    }
    assert inputs.count() == 1


def passed_over(inputs):
    return {Path(item.path).name: item.reason for item in inputs.passed_over}


BINARY = "binary: a database, or another program's file"
ROCKS = (
    bytes.fromhex("ed1e932d4d000101000000000000000001000000012601001d80c58100000000")
    + b"\0" * 60
    + b"St3-1-179561"
)
SEGMENT = bytes(9) + b"\x2c\x01\0\0\0\0\2\x7b\x8d\x10\xf9" + b"\0" * 40
DATABASES = {
    "000004.log": ROCKS,
    "000005.log": b"PK\x03\x04" + ROCKS,  # a checksum may begin like anything
    "000006.log": b"\x1f\x8b" + ROCKS,
    "000007.log": b"BZh" + ROCKS,
    "000008.log": b"\xff\xfe" + ROCKS,
    "00000000000000000000.log": SEGMENT,
    "00000000000000004711.log": SEGMENT + LOG.encode() * 9,  # a topic that logs are sent to
    "log.100000001": b"ZKLG\0\0\0\2" + ROCKS,
    "MANIFEST-000004": ROCKS,
    "db.sqlite": b"SQLite format 3\0" + bytes(60) + ROCKS,
    "core.17": b"\x7fELF\2\1\1" + ROCKS,
}


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_is_passed_over_in_a_folder_and_an_error_if_named(tmp_path, name):
    (tmp_path / name).write_bytes(DATABASES[name])
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert (passed_over(inputs), reasons(inputs), inputs.count()) == ({name: BINARY}, {}, 1)
    assert reasons(find_inputs([tmp_path / name])) == {name: BINARY}


OTHERS = {
    "gc.log": "[0.005s][info][gc] Using G1\n",
    "gc.log.0.current": "2026-11-25T10:00:00.123+0000: 0.5: [GC (Allocation Failure) [PSYoungGen: 65536K->10736K(76288K)]\n",
    "access.log": '10.0.0.1 - - [25/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12\n',
    "worker.log.metrics": "2026-11-25 10:00:00,123 12345  1764063600\thost:6700\t3:split\t__ack-count\t{default=20}\n",
    "worker.log.err": "SLF4J: Class path contains multiple bindings.\n",
    "worker.log.out": "",
    "jstack.log": "2026-11-25 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode):\n",
    "hs_err_pid7.log": "#\n# A fatal error has been detected by the Java Runtime Environment:\n",
    "rest.json.log": '{"time": "2026-11-25T10:00:00Z", "message": "x"}\n',
    "text.gz": "not zipped\n",
}


def test_files_of_other_programs_are_passed_over_in_a_folder(tmp_path):
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "backup.gz").write_bytes(gzip.compress(b"of something else\n" * 9)[:-12])
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert (reasons(inputs), inputs.count()) == ({}, 1)
    assert passed_over(inputs).keys() == {*OTHERS, "backup.gz"}


def test_a_damaged_worker_log_is_an_error(tmp_path):
    (tmp_path / "worker.log").write_bytes(ROCKS)
    (tmp_path / "worker.log.1.gz").write_text("not zipped\n")
    (tmp_path / "worker.log.2.gz").write_bytes(gzip.compress(LOG.encode() * 9)[:-12])
    trace = "\tat org.apache.storm.daemon.Task.sendUnanchored(Task.java:{})\n"
    late = "".join(map(trace.format, range(50_000))) + LOG
    (tmp_path / "worker.log.4.gz").write_bytes(gzip.compress(late.encode())[:-12])
    (tmp_path / "worker.log.3").write_text(LOG + "\0" * 4096)
    inputs = find_inputs([tmp_path])
    assert passed_over(inputs) == {}
    assert reasons(inputs) == {
        "worker.log": "named like a worker's log, but binary",
        "worker.log.1.gz": "neither a trace nor a worker's log: no line begins as Storm's do",
        "worker.log.2.gz": "cut off or damaged: Compressed file ended before the end-of-stream marker was reached",
        "worker.log.4.gz": "cut off or damaged: Compressed file ended before the end-of-stream marker was reached",
    }
    assert [Path(name).name for name in inputs.files[FileKind.LOG]] == ["worker.log.3"]


def test_pipes_and_devices_are_passed_over_in_a_folder_and_errors_if_named(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "zero.log").symlink_to("/dev/zero")
    (tmp_path / "again").symlink_to(".")
    (tmp_path / "worker.log.2").symlink_to("/dev/null")
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert passed_over(inputs) == dict.fromkeys(("pipe.log", "zero.log"), "neither a file nor a directory")
    assert reasons(inputs).keys() == {"worker.log.2"}
    assert reasons(find_inputs([tmp_path / "zero.log", tmp_path / "pipe.log"])).keys() == {
        "zero.log",
        "pipe.log",
    }


def bomb(path: Path, unit: bytes, times: int) -> None:
    packed = zlib.compressobj(9, wbits=31)
    with path.open("wb") as opened:
        opened.write(packed.compress(LOG.encode()))
        for _ in range(times):
            opened.write(packed.compress(unit))
        opened.write(packed.flush())


def test_too_long_lines_and_zip_bombs_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.file_kinds._MOST_UNPACKED", 32 << 20)
    bomb(tmp_path / "zeros.log.gz", bytes(1 << 20), 40)
    bomb(tmp_path / "lines.log.gz", b"\n" * (1 << 20), 40)
    bomb(tmp_path / "whole.log.gz", LOG.encode() * 1000, 20)
    (tmp_path / "long.log").write_text(LOG)
    os.truncate(tmp_path / "long.log", 1 << 30)
    (tmp_path / "wide.log").write_text(LOG + "x" * (LONGEST_LINE - 100) + "\n" + LOG * 9)
    inputs = find_inputs([tmp_path])
    long = "a line of more than 16 MiB, at byte {}: remove it"
    assert reasons(inputs).keys() == {"zeros.log.gz", "lines.log.gz", "long.log"}
    assert reasons(inputs)["zeros.log.gz"] == long.format("97 of what it unpacks to")
    assert reasons(inputs)["long.log"] == long.format("97")
    assert reasons(inputs)["lines.log.gz"].startswith("unpacks to more than 33 MiB, ")
    assert sorted(Path(name).name for name in inputs.files[FileKind.LOG]) == ["whole.log.gz", "wide.log"]
