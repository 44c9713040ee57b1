"""The rows of the truth table that need one acker and one spout executor, in every message order."""

from dataclasses import replace
from operator import is_

import pytest

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, Engine, ResetTimeout
from tests.acker.messages import (
    ACK_FAIL,
    AE,
    FAIL,
    FAIL_ACK,
    FORK_FAIL,
    INIT,
    INIT_AB,
    RESET,
    ROOT,
    A,
    B,
    E,
    Row,
    ack,
    before,
    fork,
    interleavings,
    last,
    leaf,
    play,
    times,
)
from tests.acker.truth_table import TABLE

STORMS = ["0.8.2", "0.9.7", "1.0.2", "1.1.0", "1.2.4", "2.7.1", "2.8.8"]
PLAYABLE = [row for row in TABLE if row.senders]


def name(row: Row) -> str:
    return f"{row.number} {row.misuse}: {row.entry}"


def results(version: str, row: Row) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    orders = list(row.orders())
    assert orders, "the row accepts no order"
    played = (play(profile(version), order) for order in orders)
    return {(tuple(left) or ("none",), tuple(heard)) for left, heard in played}


def has_resets(row: Row) -> bool:
    return any(isinstance(message, ResetTimeout) for sender in row.senders for message in sender)


@pytest.mark.parametrize(
    ("version", "row"),
    [
        pytest.param(version, row, id=f"{version} row {name(row)}")
        for version in STORMS
        for row in PLAYABLE
        if profile(version).resets or not has_resets(row)
    ],
)
def test_a_row_of_the_truth_table_in_every_order(version, row):
    java = profile(version).engine is Engine.JAVA
    assert results(version, row) == {((row.entry_2 if java and row.entry_2 else row.entry,), (row.outcome,))}


def test_rows_that_are_split_by_order_cover_every_order():
    by_senders: dict[object, list[Row]] = {}
    for row in PLAYABLE:
        if row.number not in {"2", "15", "14c", "18", "10"}:
            by_senders.setdefault((row.number.rstrip("bcd"), row.senders), []).append(row)
    for rows in by_senders.values():
        for order in interleavings(rows[0].senders):
            if RESET in order or rows[0].number == "14":
                continue
            assert sum(row.when(order) for row in rows) == 1, (rows[0].number, order)


# ---- JStorm: rows 6, 8, 9, 11, 12, 13, 14c ----

BARE = ((INIT,), (ack(AE), ack(A)), (ack(E),))  # the second ack has lost the child
SAME_IN_JSTORM = [
    row
    for row in PLAYABLE
    if row.number not in {"6", "6b", "9", "11", "12", "12b", "13", "20", "20b"}
    and "row 6" not in row.misuse
    and "child fails" not in row.misuse
]
JSTORM = [
    Row(
        number="6",
        misuse="inner tuple acked 2x",
        entry="O(a)",
        outcome="ACK",
        senders=BARE,
        when=last(ack(A)),
    ),
    Row(
        number="6b",
        misuse="inner tuple acked 2x",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=BARE,
        when=lambda order: order[-1] != ack(A),
    ),
    Row(number="9", misuse="ack then fail: no orphan", entry="none", outcome="ACK", senders=ACK_FAIL),
    Row(
        number="11",
        misuse="fail then ack",
        entry="O(a)",
        outcome="FAIL",
        senders=FAIL_ACK,
        when=before(INIT, FAIL),
    ),
    Row(
        number="11",
        misuse="the fail overtakes the init and is lost",
        entry="none",
        outcome="ACK",
        senders=FAIL_ACK,
        when=before(FAIL, INIT),
    ),
    Row(
        number="12",
        misuse="fail twice: no orphan",
        entry="none",
        outcome="FAIL",
        senders=((INIT,), (FAIL, FAIL)),
        when=lambda order: order[-1] != INIT,
    ),
    Row(
        number="12b",
        misuse="both fails overtake the init",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=((INIT,), (FAIL, FAIL)),
        when=last(INIT),
    ),
    Row(
        number="13",
        misuse="correct fail, a straggler",
        entry="O(b)",
        outcome="FAIL",
        senders=FORK_FAIL,
        when=lambda order: order == (INIT_AB, FAIL, ack(B)),
    ),
    Row(
        number="13",
        misuse="a fail that overtakes everything is lost",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=FORK_FAIL,
        when=lambda order: order[0] == FAIL,
    ),
    Row(
        number="14c",
        misuse="anchored emit after ack, child fails",
        entry="none",
        outcome="ACK",
        senders=((INIT,), (ack(A),), (FAIL,)),
        when=last(FAIL),
    ),
]


@pytest.mark.parametrize("row", JSTORM + SAME_IN_JSTORM, ids=name)
def test_a_row_of_the_truth_table_in_jstorm(row):
    assert results("jstorm-2.4.0", row) == {((row.entry,), (row.outcome,))}


# ---- Heron: the init arrives first, emits announce children, and there are no orphans ----


def emit(value: int) -> AckAck:
    return AckEmit(ROOT, value)


def heron_inner(acks: int):
    return ((INIT, emit(E)), (ack(A),) * acks, (ack(E),))


def routed(row: Row) -> Row:
    """Restrict a row to the orders of the stream manager: the init and the announcements arrive first."""
    head = row.senders[0]  # compared by identity: an emit equals an ack as a tuple
    return replace(row, when=lambda order: all(map(is_, order, head)) and row.when(order))


HERON = [
    Row(number="1", misuse="leaf acked 0x", entry="S(a)", outcome="TIMEOUT", senders=leaf(0)),
    Row(number="1", misuse="inner tuple acked 0x", entry="S(a)", outcome="TIMEOUT", senders=heron_inner(0)),
    Row(number="2", misuse="leaf acked 1x", entry="none", outcome="ACK", senders=leaf(1)),
    Row(number="3", misuse="leaf acked 2x", entry="none", outcome="ACK", senders=leaf(2)),
    Row(number="4", misuse="leaf acked 3x", entry="none", outcome="ACK", senders=leaf(3)),
    Row(number="5", misuse="leaf acked 4x", entry="none", outcome="ACK", senders=leaf(4)),
    Row(
        number="6",
        misuse="inner tuple acked 2x",
        entry="none",
        outcome="ACK",
        senders=heron_inner(2),
        when=times(A, 0, 1),
    ),
    Row(
        number="6b",
        misuse="inner tuple acked 2x",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=heron_inner(2),
        when=times(A, 2, 2),
    ),
    Row(
        number="7", misuse="fork acked 2x", entry="none", outcome="ACK", senders=fork(2), when=times(A, 0, 1)
    ),
    Row(
        number="7",
        misuse="fork acked 2x",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=fork(2),
        when=times(A, 2, 2),
    ),
    Row(number="8", misuse="fork acked 3x", entry="none", outcome="ACK", senders=fork(3)),
    Row(
        number="8b", misuse="fork acked 4x", entry="none", outcome="ACK", senders=fork(4), when=times(A, 0, 3)
    ),
    Row(
        number="8b",
        misuse="fork acked 4x",
        entry="S(a)",
        outcome="TIMEOUT",
        senders=fork(4),
        when=times(A, 4, 4),
    ),
    Row(number="9", misuse="ack then fail", entry="none", outcome="ACK", senders=ACK_FAIL),
    Row(number="11", misuse="fail then ack", entry="none", outcome="FAIL", senders=FAIL_ACK),
    Row(number="12", misuse="fail twice", entry="none", outcome="FAIL", senders=((INIT,), (FAIL, FAIL))),
    Row(number="13", misuse="correct fail in one branch", entry="none", outcome="FAIL", senders=FORK_FAIL),
    Row(
        number="14",
        misuse="anchored emit after ack",
        entry="none",
        outcome="ACK",
        senders=((INIT,), (ack(A), emit(E), ack(E))),
    ),
    Row(number="17", misuse="fork acked once in each branch", entry="none", outcome="ACK", senders=fork(1)),
]


@pytest.mark.parametrize("row", [routed(row) for row in HERON], ids=name)
def test_a_row_of_the_truth_table_in_heron(row):
    assert results("heron", row) == {((row.entry,), (row.outcome,))}


def test_the_table_has_every_number():
    numbers = "1 2 3 3b 4 4b 5 5b 6 6b 7 8 8b 9 9b 10 11 11b 12 12b 13 14 14b 14c 14d 15 16 17 18 19 19b 20 20b 21 22 23 24 25 26 26b 27 28 29"
    assert list(dict.fromkeys(row.number for row in TABLE)) == numbers.split()


def test_storm_0_9_rejects_a_reset():
    with pytest.raises(ValueError, match=r"^storm-0.9.7 knows no __ack_reset_timeout$"):
        play(profile("0.9.7"), [ResetTimeout(ROOT)])
