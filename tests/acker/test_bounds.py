"""The size of the pending map under a steady stream of misuse, simulated: 20 roots per second, T = 30."""

import pytest

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.executors import SpoutExecutor
from ackdoctor.acker.runtime import JavaRandom, VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Message, Tick

Q, T, LENGTH = 20, 30, 600


def double_ack(root: int) -> list[Message]:
    return [AckInit(root, root, 1), AckAck(root, root), AckAck(root, root)]


def fail_with_straggler(root: int) -> list[Message]:
    return [AckInit(root, root, 1), AckFail(root), AckAck(root, root)]


def never_acked(root: int) -> list[Message]:
    return [AckInit(root, root, 1)]


def pending_by_second(version: str, misuse) -> list[int]:
    """Return the size of the pending map at each second, after the tick and before the messages."""
    read, clock, ids = profile(version), VirtualClock(), JavaRandom(1)
    acker, schedule, sizes = make_acker(read, clock, T), read.acker_schedule(T), []
    ticks = range(schedule.first_ms, LENGTH * 1000, schedule.every_ms) if schedule else range(0)
    for second in range(LENGTH):
        if second * 1000 in ticks:
            acker.receive(Tick())
        sizes.append(len(acker))
        for _ in range(Q):
            for message in misuse(ids.next_long()):
                acker.receive(message)
            clock.advance(1 / Q)
    return sizes


STEADY = [
    ("0.8.2", 600, 1180),
    ("1.0.7", 600, 1180),
    ("1.1.2", 600, 1180),
    ("1.2.4", 600, 1180),
    ("1.2.4-no-timeouts", 600, 1180),
    ("2.0.0", 1200, 1780),
    ("2.8.8", 1200, 1780),
]


@pytest.mark.parametrize("misuse", [double_ack, fail_with_straggler, never_acked])
@pytest.mark.parametrize(("version", "least", "most"), STEADY)
def test_an_acker_with_ticks_keeps_its_map_within_bounds(version, least, most, misuse):
    steady = pending_by_second(version, misuse)[3 * T :]
    assert (min(steady), max(steady)) == (least, most)


@pytest.mark.parametrize("misuse", [double_ack, fail_with_straggler, never_acked])
@pytest.mark.parametrize("version", ["0.9.7", "0.10.0", "1.0.5", "1.1.0", "1.1.1", "2.8.8-no-timeouts"])
def test_without_ticks_the_map_grows_by_every_root(version, misuse):
    assert pending_by_second(version, misuse) == [Q * second for second in range(LENGTH)]


@pytest.mark.parametrize("misuse", [double_ack, fail_with_straggler, never_acked])
def test_a_busy_jstorm_acker_keeps_roots_for_t_to_one_and_a_half_t(misuse):
    steady = pending_by_second("jstorm-2.4.0", misuse)[3 * T :]
    assert min(steady) >= Q * T
    assert max(steady) <= Q * T * 1.5 + Q  # it rotates with the first message after T/2


@pytest.mark.parametrize("misuse", [double_ack, fail_with_straggler])
def test_heron_keeps_no_completed_or_failed_root(misuse):
    assert pending_by_second("heron", misuse) == [0] * LENGTH


def test_heron_keeps_a_never_acked_root_for_two_thirds_of_t_to_t():
    steady = pending_by_second("heron", never_acked)[3 * T :]
    assert (min(steady), max(steady)) == (Q * 20, Q * 29)


def test_an_idle_jstorm_acker_never_rotates():
    clock = VirtualClock()
    acker = make_acker(profile("jstorm"), clock, T)
    acker.receive(AckInit(1, 1, 1))
    clock.advance(10 * T)
    assert len(acker) == 1


@pytest.mark.parametrize("version", ["0.9.7", "1.1.0", "1.2.4", "2.8.8"])
def test_never_acked_roots_stay_in_the_spouts_map_for_t_to_two_t(version):
    clock = VirtualClock()
    spout = SpoutExecutor(profile(version), tasks=[1], ids=JavaRandom(1), clock=clock)
    sizes = []
    for second in range(LENGTH):
        if second and second % T == 0:
            spout.tick()
        sizes.append(len(spout))
        for _ in range(Q):
            spout.emit(1, "m", targets=1)
    assert (min(sizes[2 * T :]), max(sizes[2 * T :])) == (Q * T, Q * (2 * T - 1))
