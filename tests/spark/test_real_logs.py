"""Logs of real ackers (fixtures/logs): their answers and entries, and the replay of their log."""

import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.events import row_counts
from ackdoctor.spark.logs import Survey, events, lines, quarantine, read_logs
from ackdoctor.spark.replay import acker_version, messages, replay
from ackdoctor.spark.session import Cache
from tests.sampled import sampled
from tests.spark.real_logs import answers, replayed, spout_calls, text_of

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
VERSIONS = {"2.8.3": 13, "1.2.4": None, "1.1.0": None, "0.10.2": None}  # entries that the JVM counted
BOLD = ("1.1.0", "0.10.2")


def files(number: str) -> list[str]:
    return sorted(str(path) for path in (LOGS / f"storm-{number}").glob("*.log*"))


@pytest.fixture(scope="module")
def whole(spark):
    """Read all logs at once, as the planning of a read takes long."""
    paths = [path for number in VERSIONS for path in files(number)]
    with Cache() as keep:
        read, surveyed = read_logs(lines(spark, paths), keep)
        yield read, surveyed, keep(events(read, surveyed))


@pytest.fixture(params=sampled(VERSIONS, ["2.8.3"]))
def log(request, whole):
    read, surveyed, rows = whole
    folder = f"/storm-{request.param}/"
    own = Survey(
        logs=tuple(log for log in surveyed.logs if folder in log.file),
        starts=tuple(start for start in surveyed.starts if folder in start.file),
    )
    here = read["log"].isin([log.number for log in own.logs])
    return request.param, read.where(here), own, rows.where(rows["worker"].contains(folder))


def test_the_replay_agrees_with_the_real_acker(log):
    number, _, _, rows = log
    found = replay(messages(rows), acker_version(number)).entries.collect()
    text = text_of(files(number))
    assert replayed(found) == answers(text)
    pending = sum(row["outcome"] == "pending" for row in found)
    if VERSIONS[number] is not None:
        assert pending == VERSIONS[number]
    if number in BOLD:
        assert pending == len(found) - sum(answers(text).values())  # nothing ever expires


def test_the_answers_to_the_spout_are_in_the_events(log):
    number, _, _, rows = log
    answered = rows.where("kind in (20, 21, 23)").orderBy("worker", "seq").collect()
    calls = [("ack" if row["kind"] == 20 else "fail", row["delivery"]) for row in answered]
    assert calls == spout_calls((LOGS / f"storm-{number}" / "heard.txt").read_text(encoding="utf-8"))


def test_completions_are_in_the_events(log):
    _, _, _, rows = log
    by_root = {row["root"]: row["delivery"] for row in rows.where("kind in (20, 21, 23)").collect()}
    linked = {
        (row["component"], row["task"], row["delivery"]): by_root.get(row["root"], "")
        for row in rows.where("kind = 6").collect()
    }
    done: Counter[tuple[str, str, int]] = Counter()
    for row in rows.where("kind in (4, 5) and delivery != ''").collect():
        message = linked[row["component"], row["task"], row["delivery"]]
        done[message, row["component"], row["kind"]] += 1
    for case, at, acked, failed in (
        ("healthy", "store", 1, 0),
        ("leaf twice", "store", 2, 0),
        ("leaf thrice", "store", 3, 0),
        ("leaf never", "store", 0, 0),
        ("inner twice", "split", 2, 0),
        ("inner never", "split", 0, 0),
        ("ack then fail", "store", 1, 1),
        ("fail twice", "store", 0, 2),
    ):
        assert (done[f"{case}/first", at, 4], done[f"{case}/first", at, 5]) == (acked, failed), case


def test_every_line_of_every_file_is_counted(whole):
    _, surveyed, _ = whole
    found = row_counts(surveyed)
    assert found.rows == sum(text_of(files(number)).count("\n") for number in VERSIONS)
    assert found.balanced
    assert found.continued > 0


def test_nothing_is_in_quarantine(log):
    number, read, surveyed, _ = log
    assert [row.asDict() for row in quarantine(read, surveyed).collect()] == []
    assert surveyed.ackers == 2
    assert surveyed.ticks_disabled is (number in BOLD)


def test_values_that_look_like_lines_make_no_rows(log):
    _, _, _, rows = log
    assert rows.where("root in (66, 99) or value in (66, 99) or task > 7").count() == 0
    assert not re.search("66=99", " ".join(row["delivery"] for row in rows.select("delivery").collect()))
