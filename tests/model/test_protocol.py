"""The protocol table, row by row."""

from itertools import product

import pytest

from ackdoctor.model.protocol import TABLE, Breach, Op, Stage, move

OWED, HELD, ACKED, FAILED = Stage.OWED, Stage.HELD, Stage.ACKED, Stage.FAILED

ROWS = """
state   op         after   breach
owed    anchor     owed    -
owed    ack        acked   -
owed    fail       failed  -
owed    auto-ack   acked   -
owed    auto-fail  failed  -
owed    hold       held    -
owed    release    owed    -
owed    end        owed    missing ack
held    anchor     held    -
held    ack        acked   -
held    fail       failed  -
held    auto-ack   acked   -
held    auto-fail  failed  -
held    hold       held    -
held    release    owed    -
held    end        held    -
acked   anchor     acked   emit after ack
acked   ack        acked   double ack
acked   fail       acked   fail after ack
acked   auto-ack   acked   double ack
acked   auto-fail  acked   fail after ack
acked   hold       acked   -
acked   release    acked   -
acked   end        acked   -
failed  anchor     failed  emit after fail
failed  ack        failed  ack after fail
failed  fail       failed  double fail
failed  auto-ack   failed  ack after fail
failed  auto-fail  failed  double fail
failed  hold       failed  -
failed  release    failed  -
failed  end        failed  -
"""


def _rows() -> list[tuple[Stage, Op, Stage, Breach | None]]:
    rows = []
    for line in ROWS.strip().splitlines()[1:]:
        state, op, after, *breach = line.split()
        word = " ".join(breach)
        rows.append((Stage(state), Op(op), Stage(after), None if word == "-" else Breach(word)))
    return rows


@pytest.mark.parametrize(("state", "op", "after", "breach"), _rows())
def test_a_row_of_the_table(state, op, after, breach):
    assert move(state, op) == (after, breach)


def test_the_table_has_exactly_these_rows():
    assert set(TABLE) == set(product(Stage, Op))
    assert [(state, op) for state, op, _, _ in _rows()] == list(product(Stage, Op))


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize("done", [ACKED, FAILED])
def test_a_completion_is_never_lost(done, op):
    assert move(done, op).state is done


@pytest.mark.parametrize("op", [Op.ACK, Op.FAIL, Op.AUTO_ACK, Op.AUTO_FAIL])
def test_only_a_second_completion_is_a_breach(op):
    for state in Stage:
        assert (move(state, op).breach is not None) == (state in (ACKED, FAILED))


@pytest.mark.parametrize(("by_hand", "automatic"), [(Op.ACK, Op.AUTO_ACK), (Op.FAIL, Op.AUTO_FAIL)])
def test_automatic_completions_equal_manual_ones(by_hand, automatic):
    for state in Stage:
        assert move(state, by_hand) == move(state, automatic)


def test_only_an_owed_tuple_can_be_missing():
    assert [state for state in Stage if move(state, Op.END).breach is Breach.MISSING_ACK] == [OWED]
