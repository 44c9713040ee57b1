"""Worked examples: the value of a tree after each message, and the losses after a death."""

from itertools import permutations

import pytest

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.executors import Reason, SpoutExecutor, SpoutResult, TupleImpl, make_collector
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckInit, Answer, AnswerKind, Message
from tests.acker.messages import FixedIds, PowersOfTwo

versions = pytest.mark.parametrize("version", ["1.1.0", "1.2.4", "2.8.8"])


def values(version: str, order: list[Message]) -> tuple[list[int | None], list[int]]:
    """Return the value after each message, and the indices of the messages that the acker answers with ACK."""
    acker = make_acker(profile(version), VirtualClock())
    seen, acked = [], []
    for place, message in enumerate(order):
        answer = acker.receive(message)
        if answer is not None and answer.kind is AnswerKind.ACK:
            acked.append(place)
        seen.append(next((entry.value for entry in acker.pending()), 0))
    return seen, acked


def make_collector_of(version: str, ids):
    return make_collector(profile(version), ids=ids, clock=VirtualClock())


@versions
def test_the_value_after_each_message_of_a_tree(version):
    acker, bolt = make_acker(profile(version), VirtualClock()), make_collector_of(version, FixedIds(4, 7))
    assert acker.receive(AckInit(66, 8, 11)) is None
    tup = TupleImpl({66: 8})
    assert bolt.emit([tup], targets=2).message_ids == ({66: 4}, {66: 7})
    messages = [*bolt.ack(tup), AckAck(66, 4), AckAck(66, 7)]
    assert messages[0] == AckAck(66, 11)
    assert values(version, [AckInit(66, 8, 11), *messages]) == ([8, 3, 7, 0], [3])


@versions
def test_no_order_completes_the_tree_early(version):
    messages: list[Message] = [AckInit(66, 8, 11), AckAck(66, 11), AckAck(66, 4), AckAck(66, 7)]
    assert {tuple(values(version, list(order))[1]) for order in permutations(messages)} == {(3,)}


def messages_of(init: int, *acks: int) -> list[Message]:
    return [AckInit(9, init, 1), *(AckAck(9, value) for value in acks)]


SMALL_IDS = messages_of(1 ^ 2, 1 ^ 3, 2 ^ 4, 3, 4)


@versions
def test_dependent_ids_may_complete_in_order(version):
    assert values(version, SMALL_IDS) == ([3, 1, 7, 4, 0], [4])


@versions
def test_with_dependent_ids_twelve_of_120_orders_complete_early(version):
    early = [order for order in permutations(SMALL_IDS) if values(version, list(order))[1][0] < 4]
    assert len(early) == 12
    assert (SMALL_IDS[0], SMALL_IDS[3], *SMALL_IDS[1:3], SMALL_IDS[4]) in early


@versions
def test_with_powers_of_two_no_order_completes_early(version):
    messages = messages_of(1 ^ 2, 1 ^ 4, 2 ^ 8, 4, 8)
    assert {tuple(values(version, list(order))[1]) for order in permutations(messages)} == {(4,)}


@versions
def test_a_root_times_out_if_a_bolt_task_dies(version):
    _, spout = emitted(version)
    assert spout.tick() == ()
    assert spout.tick() == (SpoutResult(Reason.TIMEOUT, 11, "m", 1),)


@versions
def test_all_trees_time_out_if_the_acker_dies(version):
    acker, spout = emitted(version)
    restarted = make_acker(profile(version), VirtualClock())
    assert restarted.receive(AckAck(1, 2)) is None
    assert [(entry.task, entry.value) for entry in restarted.pending()] == [(None, 2)]
    assert len(acker) == 1
    assert [spout.tick(), spout.tick()] == [(), (SpoutResult(Reason.TIMEOUT, 11, "m", 1),)]


@versions
def test_a_restarted_spout_ignores_the_answer(version):
    acker, _ = emitted(version)
    restarted = SpoutExecutor(profile(version), tasks=[11], ids=PowersOfTwo(10), clock=VirtualClock())
    answer = acker.receive(AckAck(1, 2))
    assert answer == Answer(AnswerKind.ACK, 1, 11)
    assert restarted.receive(answer) is None
    assert len(acker) == 0


def emitted(version: str):
    """Return an acker and a spout executor with a pending root 1, edge 2."""
    clock = VirtualClock()
    acker = make_acker(profile(version), clock)
    spout = SpoutExecutor(profile(version), tasks=[11], ids=PowersOfTwo(), clock=clock)
    emission = spout.emit(11, "m", targets=1)
    assert emission.init is not None
    acker.receive(emission.init)
    return acker, spout


def sizes_after_each_step(version: str, acks: int) -> list[tuple[int, int]]:
    acker, spout = emitted(version)
    sizes = [(len(acker), len(spout))]
    for _ in range(acks):
        answer = acker.receive(AckAck(1, 2))
        if answer is not None:
            spout.receive(answer)
        sizes.append((len(acker), len(spout)))
    return sizes


def test_a_correct_tree_leaves_no_entry():
    assert sizes_after_each_step("1.1.0", acks=1) == [(1, 1), (0, 0)]


def test_a_second_ack_leaves_an_entry():
    assert sizes_after_each_step("1.1.0", acks=2) == [(1, 1), (0, 0), (1, 0)]


def test_an_ack_per_sql_statement_leaves_one_entry():
    sizes = sizes_after_each_step("1.1.0", acks=6)
    assert sizes[2:] == [(1, 0)] * 5


def test_an_anchored_tuple_per_statement_leaves_no_entry():
    bolt = make_collector_of("1.1.0", PowersOfTwo(2))
    acker, spout = emitted("1.1.0")
    tup = TupleImpl({1: 2})
    statements = [TupleImpl(bolt.emit([tup], targets=1).message_ids[0]) for _ in range(6)]
    answers = [acker.receive(message) for done in (tup, *statements) for message in bolt.ack(done)]
    assert answers == [None] * 6 + [Answer(AnswerKind.ACK, 1, 11)]
    assert spout.receive(Answer(AnswerKind.ACK, 1, 11)) == SpoutResult(Reason.ACK, 11, "m", 1)
    assert (len(acker), len(spout)) == (0, 0)
