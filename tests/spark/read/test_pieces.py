"""One file of several logs, or of a log in another order, tells what the logs themselves tell; else the order of the lines stands."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.frames import Cache
from ackdoctor.spark.read.inputs import listed
from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.notes import copies, passed_over, put_together, told_twice
from ackdoctor.spark.read.quarantine import books
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.spark.read.stormlog import events, kept, lines

NAMES = ("time_ns", "kind", "task", "root", "value", "pid", "incarnation")


def log_of(task, begin=0, root=0):
    """A worker with an acker, which is started, and then takes an ack each second, of one root after the other."""
    thread = f"o.a.s.d.executor Thread-17-__acker-executor[{task} {task}] [INFO] Processing received message FOR {task} TUPLE: "
    said = [
        f"2026-11-21 20:{at // 60:02}:{at % 60:02}.000 {thread}source: b:5, stream: __ack_ack, id: {{}}, [{root + 200 * task + at} 1]"
        for at in range(begin, 120)
    ]
    if not begin:
        said[0] = (
            f"2026-11-21 20:00:00.000 o.a.s.d.executor main [INFO] Loading executor __acker:[{task} {task}]"
        )
    return said


WHOLE, OTHER = log_of(2), log_of(3)
A_QUARTER = [WHOLE[at : at + 30] for at in range(0, 120, 30)]
LATER_FIRST = "of which later ones come first: they are read in the order of their times"
IN_NO_ORDER = (
    "is not in the order of its times, and is read in that: what happened within a millisecond is in no order"
)


def told(spark, folder, said, name="a.log"):
    """(rows in the order of their workers, how many workers, what is said) of a file with these lines."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in said))
    inputs = listed([folder])
    table, surveyed = kept(lines(spark, inputs.files[Sort.LOG]), inputs.begun, Cache())
    rows = events(table, surveyed).orderBy("worker", "seq").collect()

    def near(file):
        return file.rpartition("/")[2]

    notes = [
        *passed_over(copies(surveyed, near)),
        *put_together(surveyed, near),
        *told_twice(surveyed, near),
    ]
    assert books(surveyed).balanced
    assert (books(surveyed).files, books(surveyed).used) == (1, len(rows))
    assert not Lives(surveyed).anew
    return [tuple(row[name] for name in NAMES) for row in rows], len({row["worker"] for row in rows}), notes


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory):
    rows, _, said = told(spark, tmp_path_factory.mktemp("whole"), WHOLE)
    assert not said
    return rows


@pytest.mark.parametrize(
    ("lines_", "said"),
    [
        (WHOLE + WHOLE, ["passed over a.log (part 2): a.log tells the same", "a.log holds 2 logs, one behind another"]),
        (
            WHOLE[:60] + WHOLE[30:],
            ["a.log holds 2 logs, one behind another", "a.log (part 2) goes on from a.log: 30 lines that both tell are used once"],
        ),
        (WHOLE[90:] + WHOLE[:90], [f"a.log holds 2 logs, one behind another, {LATER_FIRST}"]),
        (
            [line for piece in reversed(A_QUARTER) for line in piece],
            [f"a.log holds 4 logs, one behind another, {LATER_FIRST}"],
        ),
        (WHOLE[::-1], ["a.log stands newest first, and is read from its end"]),
        ([WHOLE[37 * at % 120] for at in range(120)], [f"a.log {IN_NO_ORDER}"]),
    ],
    ids=["twice", "a piece twice", "the newest first", "newer ones first", "from its end", "up and down"],
)  # fmt: skip
@pytest.mark.parametrize("few", [1 << 18, 0], ids=["small", "large"])
def test_whatever_was_made_of_a_log_tells_what_it_tells(
    spark, tmp_path, monkeypatch, whole, lines_, said, few
):
    monkeypatch.setattr("ackdoctor.spark.read.pieces._FEW_ROWS", few)
    monkeypatch.setattr("ackdoctor.spark.read.pieces._MANY_BITS", 2)
    rows, workers, notes = told(spark, tmp_path, lines_)
    assert (rows, workers) == (whole, 1)
    assert notes == said


def test_workers_whose_logs_stand_in_one_file_stay_apart_and_none_was_started_anew(spark, tmp_path, whole):
    rows, workers, notes = told(spark, tmp_path, [*WHOLE, *OTHER, *OTHER])
    assert rows[: len(whole)] == whole
    assert (len(rows), workers) == (2 * len(whole), 2)
    assert notes == [
        "passed over a.log (part 3): a.log (part 2) tells the same",
        "a.log holds 3 logs, one behind another, of 2 workers",
    ]


def test_where_the_clock_may_have_been_put_back_the_order_of_the_lines_stands(spark, tmp_path):
    rows, workers, notes = told(spark, tmp_path, [*WHOLE, *log_of(2, begin=60, root=1000)])
    assert [row[3] for row in rows] == [*range(401, 520), *range(1460, 1520)]
    assert workers == 1
    assert notes == [
        "a.log holds 2 logs, one behind another, or the clock was put back by up to 59 s: the order of the lines stands"
    ]


def test_times_that_fall_a_little_are_no_other_log(spark, tmp_path, whole):
    said = [
        WHOLE[0],
        *(line for pair in zip(WHOLE[2::2], WHOLE[1::2], strict=False) for line in pair),
        WHOLE[-1],
    ]
    rows, _, notes = told(spark, tmp_path, said)
    assert (len(rows), notes) == (len(whole), [])
