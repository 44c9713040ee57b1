"""What a text is refused for, and in which words."""

import gzip
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.read.inputs import listed

LOG = "2026-11-21 20:22:08.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] Emitting: x default [1]\n"
ROW = '{"schema": 1, "kind": 10, "time_ns": 1}\n'


def reasons(inputs):
    return {Path(told.path).name: told.reason for told in inputs.unreadable}


def test_a_log_as_powershell_writes_it_is_told_and_what_is_none_is_passed_over(tmp_path):
    (tmp_path / "worker.log").write_text(LOG, encoding="utf-16")
    (tmp_path / "part-1-0.jsonl").write_bytes(b"\xfe\xff" + ROW.encode("utf-16-be"))
    (tmp_path / "notes.txt").write_text("nothing of ours\n", encoding="utf-16")
    (tmp_path / "worker.log.1.gz").write_bytes(gzip.compress(LOG.encode("utf-16-be")))
    (tmp_path / "pod.txt").write_text(LOG, encoding="utf-16-le")
    told = "UTF-16, and Spark reads UTF-8 only: `iconv -f {} -t UTF-8 FILE > worker.log` writes it so"
    assert reasons(listed([tmp_path])) == {
        "part-1-0.jsonl": told.format("UTF-16"),
        "worker.log": told.format("UTF-16"),
        "worker.log.1.gz": told.format("UTF-16BE"),
        "pod.txt": told.format("UTF-16LE"),
    }


def test_of_a_log_in_an_unknown_layout_the_reason_says_which_are_known(tmp_path):
    (tmp_path / "worker.log").write_text("2026-11-21 20:22:17.710|INFO|main|o.a.s.d.Task|as a spreadsheet\n")
    reason = reasons(listed([tmp_path / "worker.log"]))["worker.log"]
    assert reason.startswith(
        "neither a trace nor a worker's log: its lines have a time, and no line then goes on as Storm's do: "
    )


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        ("23.11.2026 14:00:00,123", "23.11.2026 14:00:00,123"),
        ("11/23/2026 2:00:00 PM", "11/23/2026 2:00:00 PM"),
        ("Nov 23 14:00:00", "Nov 23 14:00:00"),
        ("2026/11/23 14:00:00.123", "2026/11/23 14:00:00.123"),
        ("[14:00:00.123]", "[14:00:00.123"),
    ],
)
def test_of_a_log_with_another_country_s_stamps_the_reason_says_that_and_where(tmp_path, stamp, said):
    (tmp_path / "worker.log").write_text("\n" + LOG.replace("2026-11-21 20:22:08.403", stamp))
    (tmp_path / "notes.txt").write_text(f"we met at {stamp}\n")
    inputs = listed([tmp_path])
    assert reasons(inputs)["worker.log"].startswith(
        f"neither a trace nor a worker's log: line 2 begins with {said!r}, and of stamps only those like "
    )
    assert [told.reason.endswith("no line begins as Storm's do") for told in inputs.passed_over] == [True]


@pytest.mark.parametrize(
    ("put", "said"),
    [("worker.log:", "worker.log:"), ("17:", "17:"), ("    ", "    ")],
    ids=["grep -H", "grep -n", "a paste"],
)
def test_of_a_log_with_something_before_its_stamps_the_reason_says_what(tmp_path, put, said):
    (tmp_path / "worker.log").write_text(put + LOG)
    assert reasons(listed([tmp_path]))["worker.log"] == (
        f"neither a trace nor a worker's log: line 1 has {said!r} before its stamp, which no collector of logs puts there: take it away"
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
def test_a_coloured_log_is_told_and_not_called_empty(tmp_path, coloured):
    (tmp_path / "worker.log").write_text(coloured)
    (tmp_path / "painted.log").write_text(LOG.replace("default [1]", "default [\x1b[32m1, INFO\x1b[m]"))
    inputs = listed([tmp_path])
    assert reasons(inputs) == {
        "worker.log": r"its lines are coloured: `sed 's/\x1b\[[0-9;]*m//g' FILE > worker.log` takes the colours out"
    }
    assert inputs.count() == 1
