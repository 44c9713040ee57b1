"""The state table: the effect of each message on each kind of entry."""

import pytest

from ackdoctor.acker.acker import AckEmit, Acker, make_acker
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Answer, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.trace import PendingEntry
from tests.acker.messages import entries_left

INIT, ACK, FAIL, RESET = AckInit(1, 8, 11), AckAck(1, 4), AckFail(1), ResetTimeout(1)


def entries_after(version: str, *messages: Message) -> tuple[list[str], AnswerKind | None]:
    """Return the entries and the answer to the last message."""
    acker = make_acker(profile(version), VirtualClock())
    answer = None
    for message in messages:
        answer = acker.receive(message)
    return entries_left(acker), answer.kind if answer else None


@pytest.mark.parametrize(
    ("messages", "storm_1", "storm_2", "answer"),
    [
        ((INIT,), "S(f)", "S(f)", None),
        ((ACK,), "O(e)", "O(e)", None),
        ((FAIL,), "Of", "Of(0)", None),
        ((RESET,), "nil", "O(0)", None),
        ((ACK, INIT), "S(e^f)", "S(e^f)", None),
        ((ACK, ACK), "O(0)", "O(0)", None),
        ((ACK, FAIL), "Of(e)", "Of(e)", None),
        ((ACK, RESET), "O(e)", "O(e)", None),
        ((FAIL, ACK), "Of(e)", "Of(e)", None),
        ((RESET, ACK), "O(e)", "O(e)", None),
        ((RESET, FAIL), "Of", "Of(0)", None),
        ((INIT, ACK), "S(e^f)", "S(e^f)", None),
        ((INIT, RESET), "S(f)", "S(f)", AnswerKind.RESET),
        ((INIT, INIT), "", "", AnswerKind.ACK),
        ((INIT, FAIL), "", "", AnswerKind.FAIL),
        ((INIT, AckAck(1, 8)), "", "", AnswerKind.ACK),
        ((FAIL, INIT), "", "", AnswerKind.FAIL),
        ((FAIL, AckAck(1, 8), INIT), "", "", AnswerKind.ACK),
        ((RESET, INIT), "S(f)", "S(f)", None),
    ],
)
@pytest.mark.parametrize("version", ["1.1.0", "1.2.4", "2.8.8"])
def test_the_state_table_of_storm(version, messages, storm_1, storm_2, answer):
    entry = storm_1 if version.startswith("1") else storm_2
    assert entries_after(version, *messages) == ([entry] if entry else [], answer)


@pytest.mark.parametrize(
    ("messages", "entry", "answer"),
    [
        ((INIT,), "S(f)", None),
        ((ACK,), "O(e)", None),
        ((FAIL,), "", None),
        ((RESET,), "", None),
        ((ACK, FAIL), "Of(e)", None),
        ((INIT, FAIL), "", AnswerKind.FAIL),
        ((INIT, RESET), "S(f)", None),
        ((INIT, Tick(), Tick(), Tick()), "S(f)", None),
        ((INIT, AckAck(1, 8)), "", AnswerKind.ACK),
    ],
)
def test_the_state_table_of_jstorm(messages, entry, answer):
    assert entries_after("jstorm", *messages) == ([entry] if entry else [], answer)


@pytest.mark.parametrize(
    ("messages", "entry", "answer"),
    [
        ((INIT,), "S(f)", None),
        ((ACK,), "", None),
        ((FAIL,), "", None),
        ((INIT, AckEmit(1, 4)), "S(e^f)", None),
        ((INIT, FAIL), "", AnswerKind.FAIL),
        ((INIT, AckAck(1, 8)), "", AnswerKind.ACK),
        ((INIT, Tick(), Tick(), Tick()), "", None),
        ((INIT, RESET), "S(f)", None),
    ],
)
def test_the_state_table_of_heron(messages, entry, answer):
    assert entries_after("heron", *messages) == ([entry] if entry else [], answer)


def buckets(acker: Acker) -> dict[int, int]:
    return {entry.root: entry.bucket for entry in acker.pending()}


@pytest.mark.parametrize(
    ("version", "bucket_after"),
    [
        ("1.1.0", {"ack": 0, "init": 0, "fail": 0, "reset": 0}),
        ("2.8.8", {"ack": 1, "init": 1, "fail": 0, "reset": 0}),
    ],
)
def test_which_messages_move_an_entry_to_the_newest_bucket(version, bucket_after):
    touches: dict[str, Message] = {"ack": ACK, "init": INIT, "fail": FAIL, "reset": RESET}
    seen = {}
    for name, message in touches.items():
        acker = make_acker(profile(version), VirtualClock())
        acker.receive(AckAck(1, 2))
        acker.receive(Tick())
        acker.receive(message)
        seen[name] = buckets(acker)[1]
    assert seen == bucket_after


@pytest.mark.parametrize(
    ("version", "age_ms"), [("1.0.2", 0), ("1.1.0", 3000), ("2.8.8", 5000), ("jstorm", 0)]
)
def test_the_age_in_an_answer_starts_at_the_init_or_at_the_entry(version, age_ms):
    clock = VirtualClock()
    acker = make_acker(profile(version), clock)
    acker.receive(AckAck(1, 4))
    clock.advance(2)
    acker.receive(AckInit(1, 4 ^ 8, 11))
    clock.advance(3)
    assert acker.receive(AckAck(1, 8)) == Answer(AnswerKind.ACK, 1, 11, age_ms)


def test_pending_lists_every_detail_of_an_entry():
    clock = VirtualClock()
    acker = make_acker(profile("2.8"), clock)
    acker.receive(INIT)
    clock.advance(7)
    acker.receive(Tick())
    acker.receive(AckFail(2))
    assert list(acker.pending()) == [
        PendingEntry(root=2, value=0, task=None, failed=True, age_ms=0, bucket=0),
        PendingEntry(root=1, value=8, task=11, failed=False, age_ms=7000, bucket=1),
    ]
    assert len(acker) == 2


def test_jstorm_rotates_at_the_first_known_root_after_half_the_timeout():
    clock = VirtualClock()
    acker = make_acker(profile("jstorm"), clock, 30)
    acker.receive(INIT)
    clock.advance(15)
    acker.receive(AckAck(2, 1))
    assert buckets(acker) == {1: 0, 2: 0}
    clock.advance(0.001)
    acker.receive(AckFail(3))
    assert buckets(acker) == {1: 0, 2: 0}
    acker.receive(AckAck(3, 1))
    assert buckets(acker) == {1: 1, 2: 1, 3: 1}
