"""Pieces of one worker's log that overlap tell what the whole log tells, once; pieces of two workers' logs are never joined."""

import gzip

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.frames import Cache
from ackdoctor.spark.read.inputs import listed
from ackdoctor.spark.read.notes import copies, passed_over, told_twice
from ackdoctor.spark.read.quarantine import books
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.stormlog import events, kept, lines, quarantine

NAMES = ("time_ns", "kind", "task", "root", "value", "run", "pid", "incarnation")
ANEW = 30  # the line at which the worker is started once more


def log_of(task):
    """60 lines; two are a tick, two say the same at the same time, one cannot be used, and one has a stack below it."""
    thread = f"o.a.s.d.executor Thread-17-__acker-executor[{task} {task}] [INFO] Processing received message FOR {task} TUPLE: "
    acked = thread + "source: b:5, stream: __ack_ack, id: {}, [%d 1]"
    said = [f"2026-11-21 20:00:{at:02}.000 {acked % (at + 1)}" for at in range(60)]
    for at in (0, ANEW):
        said[at] = (
            f"2026-11-21 20:00:{at:02}.000 o.a.s.d.executor main [INFO] Loading executor __acker:[{task} {task}]"
        )
    for at in (20, 40):
        said[at] = f"2026-11-21 20:00:{at:02}.000 {thread}source: __system:-1, stream: __tick, id: {{}}, [30]"
    said[16] = said[15]
    said[22] = f"2026-11-21 20:00:22.000 {thread}source: b:5, stream: __ack_ack, id: {{}}, [oops 1]"
    said[45] += "\njava.lang.IllegalStateException: no\n\tat x.Y.z(Y.java:1)"
    return said


WHOLE = log_of(2)


def told(spark, folder, files):
    """(rows in the order of their worker, books, what is said, those of quarantine) of a folder with these files."""
    for name, said in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line}\n" for line in said).encode()
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    inputs = listed([folder])
    table, surveyed = kept(lines(spark, inputs.files[Sort.LOG]), inputs.begun, Cache())
    rows = events(table, surveyed).orderBy("worker", "seq", "kind").collect()

    def near(file):
        return file.rpartition(f"{folder.name}/")[2]

    said = [*passed_over(copies(surveyed, near)), *told_twice(surveyed, near)]
    assert books(surveyed).balanced
    assert books(surveyed).used == len(rows)
    return rows, books(surveyed), said, quarantine(table, surveyed).count()


def as_told(rows):
    return [tuple(row[name] for name in NAMES) for row in rows]


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory):
    rows, *_ = told(spark, tmp_path_factory.mktemp("whole"), {"worker.log": WHOLE})
    assert {row["pid"] for row in rows} == {0, -1}
    assert {row["incarnation"] for row in rows} == {0, 1}
    return as_told(rows)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (
            {"a.log": WHOLE[:30], "b.log": WHOLE[10:]},
            ["b.log goes on from a.log: 20 lines that both tell are used once"],
        ),
        (
            {"z.log": WHOLE[:35], "a.log": WHOLE[16:]},
            ["a.log goes on from z.log: 18 lines that both tell are used once"],
        ),
        (
            {"b.log": WHOLE[25:50], "a.log": WHOLE[:26], "c.log": WHOLE[24:]},
            ["c.log goes on from a.log: 2 lines that both tell are used once", "passed over b.log: c.log tells the same"],
        ),
        (
            {"1.log": WHOLE[:20], "2.log": WHOLE[15:38], "3.log": WHOLE[18:45], "4.log": WHOLE[42:]},
            [
                "2.log goes on from 1.log: 5 lines that both tell are used once",
                "3.log goes on from 2.log: 19 lines that both tell are used once",
                "4.log goes on from 3.log: 3 lines that both tell are used once",
            ],
        ),
        ({"a.log": WHOLE[1:30], "b.log": WHOLE}, ["passed over a.log: b.log tells the same"]),
        (
            {"worker.log.1.gz": WHOLE[:25], "worker.log": WHOLE[25:], "kubectl.log": WHOLE[12:44]},
            ["passed over kubectl.log: worker.log.1.gz tells the same"],
        ),
        (
            {"old/worker.log.1": WHOLE[:15], "old/worker.log": WHOLE[15:33], "new/worker.log.1.gz": WHOLE[15:40], "new/worker.log": WHOLE[40:]},
            ["new/worker.log.1.gz goes on from old/worker.log.1: 17 lines that both tell are used once"],
        ),
    ],
)  # fmt: skip
def test_pieces_tell_what_the_whole_tells(spark, tmp_path, whole, pieces, said):
    rows, _, notes, bad = told(spark, tmp_path, pieces)
    assert as_told(rows) == whole
    assert len({row["worker"] for row in rows}) == 1
    assert sorted(notes) == sorted(said)
    assert bad == 1


def without(places, begin=0, end=60):
    return [line for at, line in enumerate(WHOLE[:end]) if at >= begin and at not in places]


@pytest.mark.parametrize(
    ("pieces", "again"),
    [
        ({"a.log": WHOLE[:30], "b.log": without([12], 10)}, "b.log goes on from a.log: 19 lines that both tell are used once"),
        ({"a.log": without([12, 25], 0, 30), "b.log": WHOLE[10:]}, "b.log goes on from a.log: 18 lines that both tell are used once"),
        ({"a.log": WHOLE[:30], "b.log": without([12])}, "b.log goes on from a.log: 28 lines that both tell are used once"),
        ({"a.log": WHOLE, "b.log": without([21], 10, 40)}, "passed over b.log: a.log tells the same"),
    ],
    ids=["in the later one", "in the earlier one", "in the longer one", "in one within the other"],
)  # fmt: skip
def test_where_lines_are_missing_the_log_that_has_more_is_used_and_it_is_said(
    spark, tmp_path, whole, pieces, again
):
    rows, _, said, bad = told(spark, tmp_path, pieces)
    assert as_told(rows) == whole
    assert bad == 1
    assert said == [
        again,
        "b.log and a.log differ where they overlap, as if lines were missing: what they tell there is taken from one of them",
    ]


def test_of_what_is_missing_in_both_nothing_is_told_twice(spark, tmp_path, whole):
    pieces = {"a.log": without([12, 25], 0, 30), "b.log": without([13, 26], 10)}
    rows, _, said, _ = told(spark, tmp_path, pieces)
    begin_ns = whole[0][0] - 1_000_000_000  # of the log, whose first line tells of an executor
    missing = {begin_ns + at * 1_000_000_000 for at in (12, 25)}
    assert as_told(rows) == [row for row in whole if row[0] not in missing]
    assert said[-1].startswith("b.log and a.log differ")
    assert said[-1].endswith("taken from one of them, and 2 lines that only another has are not used")


def test_of_three_that_differ_where_they_overlap_each_is_counted_once(spark, tmp_path, whole):
    pieces = {"a.log": without([25], 0, 35), "b.log": without([33], 10, 48), "c.log": without([28], 18)}
    rows, _, said, _ = told(spark, tmp_path, pieces)
    assert set(as_told(rows)) < set(whole)
    assert len(rows) == len(whole) - 1
    assert said[-1].startswith("b.log, a.log and 1 more differ")


def test_a_log_of_all_workers_has_what_the_log_of_one_tells(spark, tmp_path):
    everything = [line for both in zip(WHOLE, log_of(3), strict=True) for line in both]
    rows, *_ = told(spark, tmp_path / "alone", {"all.log": everything})
    again, _, said, _ = told(spark, tmp_path / "beside", {"all.log": everything, "one.log": WHOLE[5:50]})
    assert as_told(again) == as_told(rows)
    assert said[0] == "passed over one.log: all.log tells the same"


@pytest.mark.minutes
def test_lines_that_tell_of_no_root_may_stand_at_the_ends(spark, tmp_path):
    """They are the same for many tuples of the same time, and so no proof; and none is lost that only one side has."""
    dull = [
        f"2026-11-21 20:00:{at:02}.000 o.a.s.e.Executor Thread-9-b-executor[5, 5] [INFO] Processing received TUPLE: source: a:4, "
        "stream: default, id: {}, [x]"
        for at in range(60)
        for _ in range(3)
    ]
    said = [
        line for at, told in enumerate(WHOLE) for line in (dull[3 * at], told, *dull[3 * at + 1 : 3 * at + 3])
    ]
    apart = tmp_path / "apart", tmp_path / "whole"
    pieces, _, notes, bad = told(spark, apart[0], {"a.log": said[:122], "b.log": said[79:]})
    whole, *_ = told(spark, apart[1], {"a.log": said})
    assert as_told(pieces) == as_told(whole)
    assert len(notes) == bad == 1


def test_workers_that_ran_at_the_same_time_stay_apart(spark, tmp_path):
    """Of two topologies even the ticks of two tasks of the same number."""
    ticks = WHOLE[20:21]
    files = {"a.log": WHOLE[:20] + ticks, "b.log": ticks + WHOLE[50:], "c.log": log_of(3)}
    rows, _, said, _ = told(spark, tmp_path, files)
    assert not said
    assert len({row["worker"] for row in rows}) == 3
