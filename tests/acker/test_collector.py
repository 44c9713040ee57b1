"""A bolt's collector: edges, several anchors, and the messages of ack and fail."""

import pytest

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.executors import Emission, TupleImpl, make_collector
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, ResetTimeout
from tests.acker.messages import PowersOfTwo

R, S = 1 << 40, 1 << 41


def collector(version: str, clock: VirtualClock | None = None):
    return make_collector(profile(version), ids=PowersOfTwo(4), clock=clock or VirtualClock())


@pytest.mark.parametrize("version", ["1.1.0", "2.8.8", "jstorm"])
def test_each_target_gets_an_edge_of_its_own(version):
    bolt, tup = collector(version), TupleImpl({R: 1})
    assert bolt.emit([tup], targets=2) == Emission(({R: 16}, {R: 32}))
    assert bolt.ack(tup) == (AckAck(R, 1 ^ 16 ^ 32),)


@pytest.mark.parametrize("version", ["1.1.0", "2.8.8", "jstorm"])
def test_each_anchor_gets_an_edge_and_passes_it_to_its_roots(version):
    bolt, one, two = collector(version), TupleImpl({R: 1}), TupleImpl({R: 2, S: 4})
    assert bolt.emit([one, two], targets=1) == Emission(({R: 16 ^ 32, S: 32},))
    assert bolt.ack(one) == (AckAck(R, 1 ^ 16),)
    assert bolt.ack(two) == (AckAck(R, 2 ^ 32), AckAck(S, 4 ^ 32))


@pytest.mark.parametrize("version", ["1.1.0", "2.8.8", "jstorm"])
def test_a_tuple_listed_twice_gets_two_edges_and_stays_balanced(version):
    bolt, tup = collector(version), TupleImpl({R: 1})
    (child,) = bolt.emit([tup, tup], targets=1).message_ids
    assert child == {R: 16 ^ 32}
    values = [message.value for message in (*bolt.ack(tup), *bolt.ack(TupleImpl(child)))]
    assert values[0] ^ values[1] == 1


@pytest.mark.parametrize("version", ["1.1.0", "2.8.8", "jstorm", "heron"])
def test_an_emit_without_anchors_or_roots_is_not_tracked(version):
    bolt, untracked = collector(version), TupleImpl({})
    assert bolt.emit([], targets=1) == Emission(({},))
    assert bolt.emit([untracked], targets=1) == Emission(({},))
    assert (bolt.ack(untracked), bolt.fail(untracked), bolt.reset_timeout(untracked)) == ((), (), ())


@pytest.mark.parametrize("version", ["1.1.0", "2.8.8", "jstorm", "heron"])
def test_zero_targets_add_nothing(version):
    bolt, tup = collector(version), TupleImpl({R: 1})
    assert bolt.emit([tup], targets=0) == Emission(())
    assert bolt.ack(tup) == (AckAck(R, 1),)


@pytest.mark.parametrize(
    ("version", "second"), [("1.1.0", 1 ^ 16), ("2.8.8", 1 ^ 16), ("jstorm", 1), ("heron", 1)]
)
def test_a_second_ack_repeats_the_first_except_in_jstorm(version, second):
    bolt, tup = collector(version), TupleImpl({R: 1})
    bolt.emit([tup], targets=1)
    bolt.ack(tup)
    assert bolt.ack(tup) == (AckAck(R, second),)


def test_an_emit_between_two_acks_changes_the_second():
    bolt, tup = collector("2.8"), TupleImpl({R: 1})
    bolt.emit([tup], targets=1)
    assert bolt.ack(tup) == (AckAck(R, 1 ^ 16),)
    bolt.emit([tup], targets=1)
    assert bolt.ack(tup) == (AckAck(R, 1 ^ 16 ^ 32),)


@pytest.mark.parametrize(
    ("version", "resets"),
    [("0.9.7", ()), ("1.0.0", (ResetTimeout(R), ResetTimeout(S))), ("jstorm", ()), ("heron", ())],
)
def test_fail_and_reset_send_a_message_per_root(version, resets):
    bolt, tup = collector(version), TupleImpl({R: 1, S: 2})
    assert bolt.fail(tup) == (AckFail(R), AckFail(S))
    assert bolt.reset_timeout(tup) == resets


@pytest.mark.parametrize(("held_s", "value"), [(47, 1 ^ 16), (48, 1)])
def test_jstorm_loses_the_children_of_a_tuple_that_is_held_too_long(held_s, value):
    clock = VirtualClock()
    bolt, tup = collector("jstorm", clock), TupleImpl({R: 1})
    bolt.emit([tup], targets=1)
    for _ in range(held_s):
        clock.advance(1)
        bolt.emit([], targets=1)  # rotates after 16, 32 and 48 s
    assert bolt.ack(tup) == (AckAck(R, value),)


def test_heron_announces_an_emitted_child_once_per_root():
    bolt, one, two = collector("heron"), TupleImpl({R: 1}), TupleImpl({R: 2, S: 4})
    emission = bolt.emit([one, two], targets=1)
    assert emission.message_ids == ({R: 16, S: 16},)
    assert emission.messages == (AckEmit(R, 16), AckEmit(S, 16))
    assert bolt.ack(one) == (AckAck(R, 1),)
