"""Hostile input and files that are not logs are reported within bounded memory and time; partial reads exit with 2."""

import gzip
import json
import os
import random
import tracemalloc
from pathlib import Path

import pytest

from ackdoctor.diagnose import log_lines
from ackdoctor.diagnose.diagnosis import deaths
from ackdoctor.heap import hprof
from tests.diagnose.incidents import INCIDENTS
from tests.diagnose.test_threads import DUMP

DEEP = '{"a":' * 900 + '"x"' + "}" * 900
SEEDS = [
    *(each.text for each in INCIDENTS),
    DUMP,
    json.dumps({"thread": "Thread-1-a-executor[1, 1]", "level": "ERROR", "message": "x", "thrown": {"name": "a.B", "message": "c", "extendedStackTrace": [{"class": "a.B", "method": "c", "file": "B.java", "line": 1}], "cause": {"name": "d.E", "extendedStackTrace": "d.E: f\n\tat a.B.c(B.java:1)"}}}),
    DEEP,
    "{\n" + '"a": 1,\n' * 50 + "}\n",
    "0000-00-00 00:00:00,0 ERROR x\n99999-99-99T99:99:99 [ERROR] java.lang.Error\n",
]  # fmt: skip
TOKENS = [
    "\n", "\0", "\x1b[31m", "\r\n", "\tat ", "Caused by: ", "Traceback (most recent call last):\n", '  File "', "java.lang.NullPointerException", "{", "}", '"', "\\n\\tat ", "[ERROR] ", "2026-13-45 25:61:61.999 ", "pid:1, name:", "Command: [", "\ud800", "\u2028", "(" * 200, "a." * 500, " " * 300, "Worker Process x exited with code: ", "9" * 400, "BOLT - current time : 9, last heartbeat : 1, worker timeout",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def mutated(chance):
    text = chance.choice(SEEDS) + chance.choice(SEEDS)
    for _ in range(chance.randrange(1, 12)):
        at, to = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        match chance.randrange(5):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + chance.choice(TOKENS) + text[at:]
            case 2:
                text = text[:at] + text[at:to][:3_000] * chance.randrange(2, 5) + text[to:]
            case 3:
                text = text[:at] + chr(chance.randrange(1, 0x2FF)) + text[at + 1 :]
            case _:
                text = text[:at] + chance.choice(SEEDS)[: chance.randrange(400)] + text[at:]
        text = text[:200_000]
    content = text.encode(errors="surrogatepass")
    return gzip.compress(content)[: chance.choice([None, -7])] if chance.random() < 0.1 else content


def attack(seeds, shell):
    for seed in seeds:
        name = random.Random(seed).choice(["worker.log", "supervisor.log", "nimbus.log", "x.log"])
        Path(name).write_bytes(mutated(random.Random(seed)))
        form = "json" if seed % 2 else "full"
        outcome = shell("diagnose", name, "--output-format", form)
        assert outcome.code in {0, 1, 2}, seed
        assert "internal error" not in outcome.err, seed
        assert (outcome.code == 2) == bool(outcome.err), (seed, outcome.err)


def test_mutated_logs_are_read(shell):
    attack(range(60), shell)


@pytest.mark.minutes
def test_many_mutated_logs_are_read(shell):
    attack(range(1_000, 9_000), shell)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_very_long_line_is_cut_and_the_next_one_read(shell, monkeypatch, zipped):
    monkeypatch.setattr(log_lines, "_LONGEST_LINE", 1_000)
    monkeypatch.setattr(log_lines, "_MOST_OF_LINE", 100_000)
    said = b"x" * 50_000 + b"\nAnchored onto 7 after ack/fail\n"
    Path("worker.log").write_bytes(gzip.compress(said) if zipped else said)
    assert shell("diagnose", "worker.log").out.startswith("anchored too late  line 2\n")
    said = b"Anchored onto 7 after ack/fail\n" + b"x" * 500_000
    Path("worker.log").write_bytes(gzip.compress(said) if zipped else said)
    outcome = shell("diagnose", "worker.log")
    assert outcome.code == 2
    assert (
        outcome.err
        == "ackdoctor: worker.log: cannot be read: a line of more than 100,000 characters: this is not text\n"
    )
    assert outcome.out.startswith("anchored too late  line 1\n")


def test_a_gzip_bomb_is_reported_without_expanding_it(shell, monkeypatch):
    monkeypatch.setattr(log_lines, "_UNPACKED", 100_000)
    monkeypatch.setattr(log_lines, "_CHECK_EVERY", 100_000)
    Path("worker.log.gz").write_bytes(gzip.compress(b"2026-01-01 00:00:00 x [INFO] y\n" * 60_000))
    outcome = shell("diagnose", "worker.log.gz")
    assert outcome.code == 2
    assert "it unpacks to more than 200 times its size" in outcome.err
    assert int(outcome.out.partition("(")[2].partition(" ")[0].replace(",", "")) < 60_000


def test_a_well_compressed_log_is_no_bomb(shell, monkeypatch):
    monkeypatch.setattr(log_lines, "_UNPACKED", 100_000)
    monkeypatch.setattr(log_lines, "_CHECK_EVERY", 100_000)
    lines = (f"2026-01-01 00:00:00.{at:03d} o.a.s.d.task main [INFO] tuple {at * 7919 % 10_007}\n" for at in range(8_000))  # fmt: skip
    Path("worker.log.gz").write_bytes(gzip.compress("".join(lines).encode()))
    assert shell("diagnose", "worker.log.gz").code == 0


def test_a_device_is_named(shell):
    outcome = shell("diagnose", "/dev/zero")
    assert (outcome.code, outcome.err) == (2, "ackdoctor: /dev/zero: cannot be read: a device, not a file\n")


def test_a_pipe_without_a_writer_is_rejected(shell, monkeypatch):
    monkeypatch.setattr(hprof, "_PATIENCE_S", 0.2)
    os.mkfifo("worker.log")
    error = "ackdoctor: worker.log: cannot be read: nothing was written into the pipe for 0 s; for a slow writer pass `-` and use standard input\n"
    assert shell("diagnose", "worker.log").err == error
    Path("t").mkdir()
    os.mkfifo("t/a.log")
    Path("t/worker.log").write_text("all is well\n")
    outcome = shell("diagnose", "t")
    assert (outcome.code, outcome.err) == (0, "ackdoctor: t: 1 file ignored: not a log\n")


def test_the_log_of_a_database_is_skipped(shell):
    Path("t/storm_rocks").mkdir(parents=True)
    Path("t/storm_rocks/000004.log").write_bytes(random.Random(1).randbytes(3_000))
    Path("t/worker.log").write_text("all is well\n")
    outcome = shell("diagnose", "t")
    assert (outcome.code, outcome.err) == (0, "ackdoctor: t: 1 file ignored: not a log\n")
    Path("t/storm_rocks/000004.log").write_text("Anchored onto 7 after ack/fail\n")
    assert shell("diagnose", "t").code == 1


def test_impossible_dates_are_no_times(shell):
    Path("worker.log").write_text("2026-02-31 23:59:60,999 x [ERROR] subprocess heartbeat timeout\n")
    [sign] = json.loads(shell("diagnose", "worker.log", "--output-format", "json").out)["symptoms"]
    assert (sign["name"], sign["first"]) == ("heartbeat timeout", None)


def test_memory_is_bounded_over_many_deaths():
    frames = "".join(f"\tat com.acme.Deep{at}.call(Deep.java:{at})\n" for at in range(150))
    with Path("worker.log").open("w") as log:
        for at in range(150):
            log.write(
                f"2026-01-01 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d} o.a.s.util [ERROR] Async loop died!\n"
            )
            log.write(f"java.lang.IllegalStateException: {at} {'x' * 300}\n{frames}")
    tracemalloc.start()
    found = deaths([Path("worker.log")])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 150
    assert peak < 3_000_000
