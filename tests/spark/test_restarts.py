"""A worker restarts in the middle of its log: tuples in hand are no violation, older open tuples are."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.analysis import analyze
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request
from ackdoctor.spark.replay import acker_version

REQUEST = Request(version=acker_version("2.8.8"), nowhere="log")
TUPLE = "source: s:4, stream: default, id: {{{0}={0}7}}, [w]"
TO_ACKER = "Processing received TUPLE: source: {}, stream: {}, id: {{}}, [{}] for TASK: 1 "
ACKER, BOLT, SPOUT = (
    "Thread-1-__acker-executor[1, 1]",
    "Thread-3-x-executor[3, 3]",
    "Thread-4-s-executor[4, 4]",
)
MOMENT = "2 roots were young where a log ends or a worker restarted, less than 30 s away: not judged"
EXPIRED = "2 roots expired: a worker, or its log, ended first"
IN_HAND = "1 tuple was in hand where a log ends or its worker restarted, for less than 30 s: not judged"

RESTARTED = (
    "the worker of {0}/worker.log restarted once: `ackdoctor diagnose {0}/worker.log` looks for the reason"
)


def line(second: float, thread: str, text: str) -> str:
    at = datetime(2026, 11, 21, 20, tzinfo=timezone.utc) + timedelta(seconds=second)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} o.a.s.e.Executor {thread} [INFO] {text}\n"


def tree(second: float, root: int, steps: int = 6) -> list[str]:
    """Return the log lines of a root, or the first steps: the spout and the bolt send, ack, and inform the acker."""
    tuple_ = TUPLE.format(root)
    lines = (
        (SPOUT, f"TRANSFERRING tuple [dest: 3 tuple: {tuple_}]"),
        (ACKER, TO_ACKER.format("s:4", "__ack_init", f"{root}, {root}7, 4")),
        (BOLT, f"Processing received TUPLE: {tuple_} for TASK: 3 "),
        (BOLT, f"BOLT ack TASK: 3 TIME: -1 TUPLE: {tuple_}"),
        (ACKER, TO_ACKER.format("x:3", "__ack_ack", f"{root}, {root}7")),
        (SPOUT, f"SPOUT Acking message {root} m"),
    )
    return [line(second + at / 100, *step) for at, step in enumerate(lines[:steps])]


def started(second: float, *executors: str) -> list[str]:
    return [line(second, "main", f"Loading executor tasks {name}") for name in executors]


def run(begin: int, end: int) -> list[str]:
    ticks = {
        at: line(at, ACKER, "Processing received TUPLE: source: __system:-1, stream: __tick, id: {}, [30]")
        for at in range(begin, end, 30)
    }
    return [
        each
        for at in range(begin, end, 10)
        for each in (*tree(at + 1, 1000 + at), *([ticks[at]] if at in ticks else []))
    ]


ALL = ("__acker:[1, 1]", "s:[4, 4]", "x:[3, 3]")
FIRST_RUN = [*run(0, 200), *tree(201, 51, steps=3), *tree(202, 52, steps=2)]


def analyze_logs(spark, folder, **logs: list[str]):
    for name, lines in logs.items():
        (folder / name).mkdir()
        (folder / name / "worker.log").write_text("".join(lines))
    return analyze(find_inputs([str(folder)]), session=spark, request=replace(REQUEST, folder=str(folder)))


@pytest.mark.parametrize(
    "head",
    [started(0, *ALL), []],
    ids=["whole", "its start was rotated away"],
)
@pytest.mark.minutes
def test_tuples_in_hand_at_a_restart_are_no_finding(spark, tmp_path, head):
    found = analyze_logs(spark, tmp_path, a=[*head, *FIRST_RUN, *started(230, *ALL), *run(240, 400)])
    assert (found.findings, found.notes) == ((), (IN_HAND, MOMENT, EXPIRED, RESTARTED.format("a")))
    assert (found.tally.pending, found.tally.high_water, found.taken) == (0, 2, True)
    assert [kind.left for kind in found.trees] == [0, 0]


@pytest.mark.minutes
def test_tuples_sent_to_a_worker_that_is_down_are_lost(spark, tmp_path):
    first_run = [*FIRST_RUN, *tree(220, 53, steps=2), *run(240, 400)]
    bolt = [each for each in first_run if BOLT in each and each < line(203, "", "")]
    again = [each for each in first_run if BOLT in each and each > line(203, "", "")]
    others = [*started(0, *ALL[:2]), *(each for each in first_run if BOLT not in each)]
    found = analyze_logs(spark, tmp_path, a=others, b=[*bolt, *started(230, ALL[2]), *again])
    assert (found.findings, found.notes) == (
        (),
        (IN_HAND, *(one.replace("2", "3", 1) for one in (MOMENT, EXPIRED)), RESTARTED.format("b")),
    )
    assert (found.tally.pending, found.taken) == (0, True)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("mine", "taken"), [((BOLT,), True), ((BOLT, ACKER, SPOUT), False)], ids=["no acker", "nothing"]
)
def test_a_restart_without_tuples_in_hand_excuses_nothing(spark, tmp_path, mine, taken):
    """Young roots at the end of the log, long after the restart, are not lost with the worker."""
    first_run = FIRST_RUN if taken else run(0, 200)
    end = [*tree(401, 53, steps=3), *tree(402, 54, steps=2)]
    lines = [*started(0, *ALL), *first_run, *started(230, *ALL), *run(240, 400), *end]
    each = [line for line in lines if "main" in line or any(thread in line for thread in mine)]
    assert analyze_logs(spark, tmp_path, a=each).taken is taken


@pytest.mark.minutes
def test_a_log_ends_with_its_last_line_if_the_clock_goes_back(spark, tmp_path):
    found = analyze_logs(spark, tmp_path, a=[*started(0, *ALL), *run(3600, 3700), *tree(201, 51, steps=3)])
    assert (found.findings, found.notes[0]) == ((), IN_HAND)
