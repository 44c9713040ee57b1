"""Every row of the truth table that one acker and one spout executor can show, in every delivery order."""

from dataclasses import replace
from operator import is_

import pytest

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.versions import Engine, profile
from ackdoctor.model.message import AckAck, ResetTimeout
from tests.acker.orders import (
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
    times,
)
from tests.acker.playing import play
from tests.acker.truth_table import TABLE

STORMS = ["0.8.2", "0.9.7", "1.0.2", "1.1.0", "1.2.4", "2.7.1", "2.8.8"]
PLAYED = [row for row in TABLE if row.senders]


def name(row: Row) -> str:
    return f"{row.number} {row.misuse}: {row.left}"


def shown(version: str, row: Row) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    orders = list(row.orders())
    assert orders, "the row speaks of no order"
    played = (play(profile(version), order) for order in orders)
    return {(tuple(left) or ("none",), tuple(heard)) for left, heard in played}


def speaks_of_resets(row: Row) -> bool:
    return any(isinstance(message, ResetTimeout) for sender in row.senders for message in sender)


@pytest.mark.parametrize(
    ("version", "row"),
    [
        pytest.param(version, row, id=f"{version} row {name(row)}")
        for version in STORMS
        for row in PLAYED
        if profile(version).resets or not speaks_of_resets(row)
    ],
)
def test_a_row_of_the_truth_table_in_every_order(version, row):
    java = profile(version).engine is Engine.JAVA
    assert shown(version, row) == {((row.left_2 if java and row.left_2 else row.left,), (row.heard,))}


def test_the_rows_that_are_split_by_order_cover_every_order():
    by_senders: dict[object, list[Row]] = {}
    for row in PLAYED:
        if row.number not in {"2", "15", "14c", "18", "10"}:
            by_senders.setdefault((row.number.rstrip("bcd"), row.senders), []).append(row)
    for rows in by_senders.values():
        for order in interleavings(rows[0].senders):
            if RESET in order or rows[0].number == "14":
                continue
            assert sum(row.when(order) for row in rows) == 1, (rows[0].number, order)


# ---- JStorm: rows 6, 8, 9, 11, 12, 13, 14c ----

BARE = ((INIT,), (ack(AE), ack(A)), (ack(E),))  # a second ack has forgotten the child
SAME_IN_JSTORM = [
    row
    for row in PLAYED
    if row.number not in {"6", "6b", "9", "11", "12", "12b", "13", "20", "20b"}
    and "row 6" not in row.misuse
    and "child fails" not in row.misuse
]
JSTORM = [
    Row(number="6", misuse="inner tuple acked 2x", left="O(a)", heard="ACK", senders=BARE, when=last(ack(A))),
    Row(
        number="6b",
        misuse="inner tuple acked 2x",
        left="S(a)",
        heard="TIMEOUT",
        senders=BARE,
        when=lambda order: order[-1] != ack(A),
    ),
    Row(number="9", misuse="ack then fail: no orphan", left="none", heard="ACK", senders=ACK_FAIL),
    Row(
        number="11",
        misuse="fail then ack",
        left="O(a)",
        heard="FAIL",
        senders=FAIL_ACK,
        when=before(INIT, FAIL),
    ),
    Row(
        number="11",
        misuse="the fail overtakes the init and is lost",
        left="none",
        heard="ACK",
        senders=FAIL_ACK,
        when=before(FAIL, INIT),
    ),
    Row(
        number="12",
        misuse="fail twice: no orphan",
        left="none",
        heard="FAIL",
        senders=((INIT,), (FAIL, FAIL)),
        when=lambda order: order[-1] != INIT,
    ),
    Row(
        number="12b",
        misuse="both fails overtake the init",
        left="S(a)",
        heard="TIMEOUT",
        senders=((INIT,), (FAIL, FAIL)),
        when=last(INIT),
    ),
    Row(
        number="13",
        misuse="correct fail, a straggler",
        left="O(b)",
        heard="FAIL",
        senders=FORK_FAIL,
        when=lambda order: order == (INIT_AB, FAIL, ack(B)),
    ),
    Row(
        number="13",
        misuse="a fail that overtakes everything is lost",
        left="S(a)",
        heard="TIMEOUT",
        senders=FORK_FAIL,
        when=lambda order: order[0] == FAIL,
    ),
    Row(
        number="14c",
        misuse="anchored emit after ack, child fails",
        left="none",
        heard="ACK",
        senders=((INIT,), (ack(A),), (FAIL,)),
        when=last(FAIL),
    ),
]


@pytest.mark.parametrize("row", JSTORM + SAME_IN_JSTORM, ids=name)
def test_jstorm_agrees_but_for_fails_and_forgotten_children(row):
    assert shown("jstorm-2.4.0", row) == {((row.left,), (row.heard,))}


# ---- Heron: the init comes first, children are announced, and there are no orphans ----


def emit(value: int) -> AckAck:
    return AckEmit(ROOT, value)


def heron_inner(acks: int):
    return ((INIT, emit(E)), (ack(A),) * acks, (ack(E),))


def routed(row: Row) -> Row:
    """The orders in which the init and the announcements come first, as the stream manager sees to."""
    head = row.senders[0]  # by identity: as tuples, an emit equals an ack
    return replace(row, when=lambda order: all(map(is_, order, head)) and row.when(order))


HERON = [
    Row(number="1", misuse="leaf acked 0x", left="S(a)", heard="TIMEOUT", senders=leaf(0)),
    Row(number="1", misuse="inner tuple acked 0x", left="S(a)", heard="TIMEOUT", senders=heron_inner(0)),
    Row(number="2", misuse="leaf acked 1x", left="none", heard="ACK", senders=leaf(1)),
    Row(number="3", misuse="leaf acked 2x", left="none", heard="ACK", senders=leaf(2)),
    Row(number="4", misuse="leaf acked 3x", left="none", heard="ACK", senders=leaf(3)),
    Row(number="5", misuse="leaf acked 4x", left="none", heard="ACK", senders=leaf(4)),
    Row(
        number="6",
        misuse="inner tuple acked 2x",
        left="none",
        heard="ACK",
        senders=heron_inner(2),
        when=times(A, 0, 1),
    ),
    Row(
        number="6b",
        misuse="inner tuple acked 2x",
        left="S(a)",
        heard="TIMEOUT",
        senders=heron_inner(2),
        when=times(A, 2, 2),
    ),
    Row(number="7", misuse="fork acked 2x", left="none", heard="ACK", senders=fork(2), when=times(A, 0, 1)),
    Row(
        number="7", misuse="fork acked 2x", left="S(a)", heard="TIMEOUT", senders=fork(2), when=times(A, 2, 2)
    ),
    Row(number="8", misuse="fork acked 3x", left="none", heard="ACK", senders=fork(3)),
    Row(number="8b", misuse="fork acked 4x", left="none", heard="ACK", senders=fork(4), when=times(A, 0, 3)),
    Row(
        number="8b",
        misuse="fork acked 4x",
        left="S(a)",
        heard="TIMEOUT",
        senders=fork(4),
        when=times(A, 4, 4),
    ),
    Row(number="9", misuse="ack then fail", left="none", heard="ACK", senders=ACK_FAIL),
    Row(number="11", misuse="fail then ack", left="none", heard="FAIL", senders=FAIL_ACK),
    Row(number="12", misuse="fail twice", left="none", heard="FAIL", senders=((INIT,), (FAIL, FAIL))),
    Row(number="13", misuse="correct fail in one branch", left="none", heard="FAIL", senders=FORK_FAIL),
    Row(
        number="14",
        misuse="anchored emit after ack",
        left="none",
        heard="ACK",
        senders=((INIT,), (ack(A), emit(E), ack(E))),
    ),
    Row(number="17", misuse="fork acked once in each branch", left="none", heard="ACK", senders=fork(1)),
]


@pytest.mark.parametrize("row", [routed(row) for row in HERON], ids=name)
def test_heron_has_no_orphans(row):
    assert shown("heron", row) == {((row.left,), (row.heard,))}


def test_every_number_of_the_table_is_there_once_or_split():
    numbers = "1 2 3 3b 4 4b 5 5b 6 6b 7 8 8b 9 9b 10 11 11b 12 12b 13 14 14b 14c 14d 15 16 17 18 19 19b 20 20b 21 22 23 24 25 26 26b 27 28 29"
    assert list(dict.fromkeys(row.number for row in TABLE)) == numbers.split()


def test_a_reset_is_no_message_of_storm_0_9():
    with pytest.raises(ValueError, match=r"^storm-0.9.7 knows no __ack_reset_timeout$"):
        play(profile("0.9.7"), [ResetTimeout(ROOT)])
