"""The laws of the acker's pending map, by enumeration or on random trees."""

import random
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations
from operator import xor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.acker.acker import AckEmit, Acker, make_acker
from ackdoctor.acker.executors import Reason, SpoutExecutor, SpoutResult, TupleImpl, make_collector
from ackdoctor.acker.runtime import JavaRandom, VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, AnswerKind, Message, Tick
from tests.acker.messages import (
    ROOT,
    SPOUT,
    A,
    B,
    E,
    F,
    PowersOfTwo,
    ack,
    entries_left,
    fork,
    inner,
    interleavings,
    j,
    leaf,
    play,
)

STORMS = ["0.8.2", "0.9.7", "1.1.0", "1.2.4", "2.8.8"]
versions = pytest.mark.parametrize("version", STORMS)


def answers_to(acker: Acker, messages: list[Message]) -> list[AnswerKind]:
    answers = [acker.receive(message) for message in messages]
    return [answer.kind for answer in answers if answer is not None]


@dataclass
class Tree:
    """A tree of tuples as collectors make it; `acks` counts the acks of each tuple."""

    init: AckInit
    acks: dict[TupleImpl, int] = field(default_factory=dict)
    ack_values: dict[TupleImpl, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)


def grow(seed: int, version: str) -> Tree:
    """Build a random tree of up to 24 tuples, each acked 0 to 4 times after its last emit."""
    dice = random.Random(seed)
    read, clock = profile(version), VirtualClock()
    spout = SpoutExecutor(read, tasks=[SPOUT], ids=JavaRandom(seed), clock=clock)
    bolt = make_collector(read, ids=JavaRandom(seed + 1), clock=clock)
    emission = spout.emit(SPOUT, "m", targets=dice.randint(1, 3))
    assert emission.init is not None
    tree = Tree(emission.init, messages=[emission.init])
    waiting = [TupleImpl(message_id) for message_id in emission.message_ids]
    while waiting:
        tup = waiting.pop()
        for _ in range(dice.randint(0, 2) if len(tree.acks) < 16 else 0):
            anchors = [tup, tup] if dice.random() < 0.1 else [tup]
            children = bolt.emit(anchors, targets=dice.randint(0, 2))
            waiting += [TupleImpl(message_id) for message_id in children.message_ids]
        tree.acks[tup] = dice.choice([0, 1, 1, 1, 1, 1, 1, 2, 3, 4])
        tree.ack_values[tup] = next(iter(tup.message_id.values())) ^ tup.ack_val
        for _ in range(tree.acks[tup]):
            tree.messages += bolt.ack(tup)
    dice.shuffle(tree.messages)
    return tree


@versions
@given(seed=st.integers(0, 2**32))
def test_law_l1_the_value_left_is_the_xor_of_tuples_acked_an_even_number_of_times(version, seed):
    tree = grow(seed, version)
    acker = make_acker(profile(version), VirtualClock())
    answers = answers_to(acker, tree.messages)
    even = reduce(xor, (tree.ack_values[tup] for tup, acks in tree.acks.items() if acks % 2 == 0), 0)
    entries = list(acker.pending())
    completions = [
        place
        for place in range(len(tree.messages))
        if tree.init in tree.messages[: place + 1]
        and not reduce(xor, (message.value for message in tree.messages[: place + 1]))
    ]
    if completions:
        after = len(tree.messages) - completions[0] - 1
        assert answers == [AnswerKind.ACK]
        assert [(entry.task, entry.value) for entry in entries] == ([(None, even)] if after else [])
    else:
        assert even != 0
        assert answers == []
        assert [(entry.task, entry.value) for entry in entries] == [(SPOUT, even)]


@given(seed=st.integers(0, 2**32))
def test_law_l1_in_jstorm_a_second_ack_leaves_the_edge(seed):
    dice, clock = random.Random(seed), VirtualClock()
    bolt = make_collector(profile("jstorm"), ids=PowersOfTwo(1), clock=clock)
    tup = TupleImpl({ROOT: A})
    (child,) = bolt.emit([tup], targets=1).message_ids
    messages = [AckInit(ROOT, A, SPOUT), *bolt.ack(tup), *bolt.ack(tup), *bolt.ack(TupleImpl(child))]
    order = dice.choice(list(permutations(messages)))
    acker = make_acker(profile("jstorm"), clock)
    answers_to(acker, list(order))
    assert [entry.value for entry in acker.pending()] == [A]


CHAIN = inner


@versions
@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize(
    ("shape", "value", "written"), [(leaf, A, "a"), (CHAIN, A ^ E, "a^e"), (fork, A, "a")]
)
def test_law_l1b_early_acks_decide_between_stuck_and_orphan(version, k, shape, value, written):
    for order in interleavings(shape(k)):
        early = j(order, value)
        if k % 2 == 0:
            expected = ([f"O({written})"], ["ACK"]) if early < k else ([f"S({written})"], ["TIMEOUT"])
        elif k > 1 and early <= k - 2:
            expected = (["O(0)"], ["ACK"])
        else:
            expected = ([], ["ACK"])
        assert play(profile(version), order) == expected, order


@versions
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_law_l2_surplus_acks_never_complete_a_tree_early(version, seed):
    tree = grow(seed, version)
    acker = make_acker(profile(version), VirtualClock())
    for place, message in enumerate(tree.messages):
        if acker.receive(message) is None:
            continue
        seen = tree.messages[: place + 1]
        assert tree.init in seen
        assert all(seen.count(AckAck(tree.init.root, value)) % 2 == 1 for value in tree.ack_values.values())


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ((AckInit(ROOT, A, SPOUT), ack(A)), "an unanchored emit: the child is not in the tree"),
        ((AckInit(ROOT, A, SPOUT), ack(A), ack(E)), "anchored emit after ack"),
        ((AckFail(ROOT), ack(A), AckInit(ROOT, A, SPOUT)), "a fail and an ack that arrive before the init"),
        ((AckInit(ROOT, A, SPOUT), AckInit(ROOT, A, SPOUT)), "a duplicate init"),
        (
            (AckInit(ROOT, 1 ^ 2, SPOUT), ack(3)),
            "coincidence: an edge 3 while 1 and 2 are pending, and 1 ^ 2 == 3",
        ),
    ],
)
@versions
def test_law_l2_five_ways_complete_a_tree_too_early(version, order, why):
    assert play(profile(version), order)[1] == ["ACK"], why


@versions
def test_law_l3_zero_beats_failed(version):
    both: list[Message] = [AckFail(ROOT), ack(A)]
    for order in permutations(both):
        assert play(profile(version), [*order, AckInit(ROOT, A, SPOUT)]) == ([], ["ACK"])


@versions
def test_law_l4_late_acks_of_a_failed_tree_leave_an_orphan(version):
    init = AckInit(ROOT, A ^ B ^ E ^ F, SPOUT)
    for stragglers in ([B], [B, E], [B, E, F]):
        late = [ack(edge) for edge in stragglers]
        entries, heard = play(profile(version), [init, AckFail(ROOT), *late])
        assert heard == ["FAIL"]
        assert entries == ["O(" + "^".join({B: "b", E: "e", F: "f"}[edge] for edge in stragglers) + ")"]


@versions
def test_law_l4_an_ack_after_the_expiry_leaves_an_orphan(version):
    acker = make_acker(profile(version), VirtualClock())
    answers_to(acker, [AckInit(ROOT, A, SPOUT), Tick(), Tick(), Tick(), ack(A)])
    assert entries_left(acker) == ["O(a)"]


def timed_out(version: str) -> tuple[Acker, SpoutExecutor]:
    """Return an acker and a spout with a root that timed out at the spout."""
    read, clock = profile(version), VirtualClock()
    acker, spout = make_acker(read, clock), SpoutExecutor(read, tasks=[SPOUT], ids=PowersOfTwo(), clock=clock)
    emission = spout.emit(SPOUT, "m", targets=1)
    assert emission.init is not None
    acker.receive(emission.init)
    clock.advance(60)
    assert spout.tick() == ()
    assert spout.tick() == (SpoutResult(Reason.TIMEOUT, SPOUT, "m", emission.init.root),)
    return acker, spout


@versions
def test_law_l5_a_timeout_sends_no_message_to_the_acker(version):
    acker, _ = timed_out(version)
    (entry,) = acker.pending()
    assert (entry.task, entry.value, entry.age_ms) == (SPOUT, 2, 60_000)


@versions
def test_law_l5_a_late_completion_removes_the_entry_and_the_spout_ignores_it(version):
    acker, spout = timed_out(version)
    answer = acker.receive(AckAck(1, 2))
    assert answer is not None
    assert answer.kind is AnswerKind.ACK
    assert spout.receive(answer) is None
    assert len(acker) == 0


@pytest.mark.parametrize(("version", "rotations"), [("0.8.2", 2), ("1.2.4", 2), ("2.8.8", 3)])
def test_law_l5_the_entry_stays_until_the_rotation(version, rotations):
    acker, _ = timed_out(version)
    lengths = [(acker.receive(Tick()), len(acker))[1] for _ in range(3)]
    assert lengths == [1] * (rotations - 1) + [0] * (4 - rotations)


@pytest.mark.parametrize(
    "version", ["0.9.0-rc3", "0.9.7", "0.10.2", "1.0.5", "1.1.0", "1.1.1", "2.8.8-no-timeouts"]
)
def test_law_l5_an_acker_without_ticks_keeps_the_entry_forever(version):
    assert profile(version).acker_schedule(30) is None
    assert not profile(version).forgets


def test_in_heron_an_announcement_that_makes_the_value_zero_kills_the_stream_manager():
    acker = make_acker(profile("heron"), VirtualClock())
    answers_to(acker, [AckInit(ROOT, A ^ E, SPOUT), ack(A)])
    with pytest.raises(RuntimeError, match=rf"^an emit made the value of root {ROOT} zero$"):
        acker.receive(AckEmit(ROOT, E))
