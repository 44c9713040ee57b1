"""The spout executor: its messages, its pending map, and its calls of the spout."""

import pytest

from ackdoctor.acker.executors import Reason, SpoutEmission, SpoutExecutor, SpoutResult, TaskMismatchError
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckInit, Answer, AnswerKind
from tests.acker.messages import FixedIds, PowersOfTwo

ALL = ["0.9.7", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron"]


def executor(version: str, *, tasks=(7,), clock=None, ids=None, **settings) -> SpoutExecutor:
    return SpoutExecutor(
        profile(version), tasks=tasks, ids=ids or PowersOfTwo(), clock=clock or VirtualClock(), **settings
    )


@pytest.mark.parametrize("version", ALL)
def test_an_emit_gives_each_target_an_edge_and_sends_the_init(version):
    emission = executor(version).emit(7, "m", targets=2)
    assert emission == SpoutEmission(({1: 2}, {1: 4}), 1, AckInit(1, 2 ^ 4, 7))


@pytest.mark.parametrize("version", ALL)
def test_an_emit_without_message_id_is_not_tracked(version):
    spout = executor(version)
    assert spout.emit(7, None, targets=2) == SpoutEmission(({}, {}))
    assert len(spout) == 0


@pytest.mark.parametrize("version", ALL)
def test_without_ackers_a_message_is_acked_inside_emit(version):
    spout = executor(version, ackers=0)
    assert spout.emit(7, "m", targets=1) == SpoutEmission(({},), result=SpoutResult(Reason.ACK, 7, "m", None))
    assert len(spout) == 0


@pytest.mark.parametrize(
    ("version", "emission", "pending"),
    [
        ("1.2.4", SpoutEmission((), result=SpoutResult(Reason.ACK, 7, "m", None)), 0),
        ("2.8.8", SpoutEmission((), 1, AckInit(1, 0, 7)), 1),
        ("jstorm", SpoutEmission(()), 0),
    ],
)
def test_zero_targets(version, emission, pending):
    spout = executor(version)
    assert spout.emit(7, "m", targets=0) == emission
    assert len(spout) == pending


@pytest.mark.parametrize("version", ALL)
def test_the_spout_receives_one_answer_per_root(version):
    spout = executor(version)
    spout.emit(7, "m", targets=1)
    answers = [Answer(AnswerKind.ACK, 1, 7), Answer(AnswerKind.FAIL, 1, 7), Answer(AnswerKind.ACK, 1, 7)]
    assert [spout.receive(answer) for answer in answers] == [SpoutResult(Reason.ACK, 7, "m", 1), None, None]


def test_a_failed_root_calls_fail():
    spout = executor("2.8")
    spout.emit(7, "m", targets=1)
    assert spout.receive(Answer(AnswerKind.FAIL, 1, 7)) == SpoutResult(Reason.FAIL, 7, "m", 1)


def test_an_answer_for_another_task_ends_the_worker():
    spout = executor("2.8", tasks=(7, 8))
    spout.emit(7, "m", targets=1)
    with pytest.raises(TaskMismatchError, match=r"^Fatal error, mismatched task ids: 8 7$"):
        spout.receive(Answer(AnswerKind.ACK, 1, 8))


def test_a_reset_restarts_the_timeout_of_a_pending_root():
    spout = executor("2.8")
    spout.emit(7, "m", targets=1)
    assert spout.tick() == ()
    assert spout.receive(Answer(AnswerKind.RESET, 1, 7)) is None
    assert spout.receive(Answer(AnswerKind.RESET, 99, 7)) is None
    assert spout.tick() == ()
    assert spout.tick() == (SpoutResult(Reason.TIMEOUT, 7, "m", 1),)
    assert len(spout) == 0


@pytest.mark.parametrize(("version", "ticks"), [("0.9.7", 1), ("1.1.0", 1), ("2.7.1", 1), ("2.8.0", 2)])
def test_storm_3693_before_2_8_0_five_tasks_rotate_five_times_per_tick(version, ticks):
    spout = executor(version, tasks=(1, 2, 3, 4, 5))
    spout.emit(3, "m", targets=1)
    heard = [spout.tick() for _ in range(ticks)]
    assert heard == [()] * (ticks - 1) + [(SpoutResult(Reason.TIMEOUT, 3, "m", 1),)]


def test_jstorm_keeps_a_root_for_three_rotations():
    spout = executor("jstorm")
    spout.emit(7, "m", targets=1)
    assert [spout.tick(), spout.tick(), spout.tick()] == [(), (), (SpoutResult(Reason.TIMEOUT, 7, "m", 1),)]


def test_heron_compares_the_age_of_each_root():
    clock = VirtualClock()
    spout = executor("heron", clock=clock, message_timeout_s=30)
    spout.emit(7, "early", targets=1)
    clock.advance(20)
    spout.emit(7, "late", targets=1)
    clock.advance(9)
    assert spout.tick() == ()
    clock.advance(1)
    assert spout.tick() == (SpoutResult(Reason.TIMEOUT, 7, "early", 1),)
    assert [info.message_id for info in spout.pending().values()] == ["late"]


def test_max_spout_pending_counts_for_each_task():
    spout = executor("1.1.0", tasks=(1, 2), max_spout_pending=1)
    allowed = []
    for task in (1, 2, 1):
        allowed.append(spout.may_emit())
        spout.emit(task, "m", targets=1)
    assert allowed == [True, True, False]


def test_without_max_spout_pending_the_spout_is_always_asked():
    spout = executor("1.1.0")
    for _ in range(20):
        spout.emit(7, "m", targets=1)
    assert spout.may_emit()


@pytest.mark.parametrize(
    ("version", "pending"), [("1.1.0", {5: "second"}), ("jstorm", {5: "first", 9: "second"})]
)
def test_a_colliding_root_overwrites_except_in_jstorm(version, pending):
    spout = executor(version, ids=FixedIds(5, 1, 5, 9, 2))
    spout.emit(7, "first", targets=1)
    spout.emit(7, "second", targets=1)
    assert {root: info.message_id for root, info in spout.pending().items()} == pending
