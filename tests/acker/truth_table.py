"""Reference acker 4 as data: what each misuse leaves in the acker, and what the spout hears.

Entries are written as there: S(a) tracked, O(a) orphan, Of failed, "nil", "none".  A row whose `senders` are
empty needs executors or faults: the lab's tests play it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ackdoctor.model.message import AckAck, AckFail, AckInit, Message, ResetTimeout

__all__ = ["ROOT", "SPOUT", "TABLE", "A", "B", "E", "F", "Row", "interleavings", "j"]

ROOT, SPOUT = 1 << 40, 11
A, B, E, F = 1, 2, 4, 8  # a and b are the spout's edges, e and f the bolts'

INIT, INIT_AB = AckInit(ROOT, A, SPOUT), AckInit(ROOT, A ^ B, SPOUT)
FAIL, RESET = AckFail(ROOT), ResetTimeout(ROOT)

Order = tuple[Message, ...]
Senders = tuple[Order, ...]


def ack(value: int) -> AckAck:
    return AckAck(ROOT, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`when` picks the delivery orders that the row speaks of; `left_2` is given where 2.x differs from 1.x."""

    number: str
    misuse: str
    left: str
    heard: str
    loss: str = "no"
    senders: Senders = ()
    when: Callable[[Order], bool] = lambda _: True
    left_2: str | None = None

    def orders(self) -> Iterator[Order]:
        """Every order in which the row's messages may arrive."""
        return (order for order in interleavings(self.senders) if self.when(order))


def interleavings(senders: Sequence[Order]) -> Iterator[Order]:
    """All merges that keep the order of each sender."""
    if not any(senders):
        yield ()
    for number, sender in enumerate(senders):
        if sender:
            rest = [*senders[:number], sender[1:], *senders[number + 1 :]]
            yield from ((sender[0], *tail) for tail in interleavings(rest))


def j(order: Order, value: int) -> int:
    """How many acks of `value` arrive before the last other message of the tree (law L1b)."""
    last_other = max(place for place, message in enumerate(order) if message != ack(value))
    return order[:last_other].count(ack(value))


def before(first: Message, second: Message) -> Callable[[Order], bool]:
    return lambda order: order.index(first) < order.index(second)


def last(message: Message) -> Callable[[Order], bool]:
    return lambda order: order[-1] == message


def times(value: int, low: int, high: int) -> Callable[[Order], bool]:
    return lambda order: low <= j(order, value) <= high


def init_before_second(message: Message) -> Callable[[Order], bool]:
    return lambda order: order.index(INIT) < [i for i, m in enumerate(order) if m == message][1]


def completes_between(order: Order) -> bool:
    return set(order[:3]) == {INIT, ack(A ^ E), ack(E)}


def leaf(acks: int) -> Senders:
    return ((INIT,), (ack(A),) * acks)


def inner(acks: int) -> Senders:
    return ((INIT,), (ack(A ^ E),) * acks, (ack(E),))


def fork(acks: int) -> Senders:
    return ((INIT_AB,), (ack(A),) * acks, (ack(B),))


AE = A ^ E
ACK_FAIL = ((INIT,), (ack(A), FAIL))
FAIL_ACK = ((INIT,), (FAIL, ack(A)))
FORK_FAIL = ((INIT_AB,), (FAIL,), (ack(B),))
EMIT_AFTER = ((INIT,), (ack(A),), (ack(E),))
EMIT_BETWEEN = ((INIT,), (ack(AE), ack(AE ^ F)), (ack(E),), (ack(F),))

TABLE: tuple[Row, ...] = (
    Row(number="1", misuse="leaf acked 0x", left="S(a)", heard="TIMEOUT", senders=leaf(0)),
    Row(number="1", misuse="inner tuple acked 0x", left="S(a^e)", heard="TIMEOUT", senders=inner(0)),
    Row(number="2", misuse="leaf acked 1x", left="none", heard="ACK", senders=leaf(1)),
    Row(number="3", misuse="leaf acked 2x", left="O(a)", heard="ACK", senders=leaf(2), when=times(A, 0, 1)),
    Row(
        number="3b",
        misuse="leaf acked 2x",
        left="S(a)",
        heard="TIMEOUT",
        senders=leaf(2),
        when=times(A, 2, 2),
    ),
    Row(number="4", misuse="leaf acked 3x", left="O(0)", heard="ACK", senders=leaf(3), when=times(A, 0, 1)),
    Row(number="4b", misuse="leaf acked 3x", left="none", heard="ACK", senders=leaf(3), when=times(A, 2, 3)),
    Row(number="5", misuse="leaf acked 4x", left="O(a)", heard="ACK", senders=leaf(4), when=times(A, 0, 3)),
    Row(
        number="5b",
        misuse="leaf acked 4x",
        left="S(a)",
        heard="TIMEOUT",
        senders=leaf(4),
        when=times(A, 4, 4),
    ),
    Row(
        number="6",
        misuse="inner tuple acked 2x",
        left="O(a^e)",
        heard="ACK",
        senders=inner(2),
        when=times(AE, 0, 1),
    ),
    Row(
        number="6b",
        misuse="inner tuple acked 2x",
        left="S(a^e)",
        heard="TIMEOUT",
        senders=inner(2),
        when=times(AE, 2, 2),
    ),
    Row(
        number="7",
        misuse="branch of a fork acked 2x",
        left="O(a)",
        heard="ACK",
        senders=fork(2),
        when=times(A, 0, 1),
    ),
    Row(
        number="7",
        misuse="branch of a fork acked 2x",
        left="S(a)",
        heard="TIMEOUT",
        senders=fork(2),
        when=times(A, 2, 2),
    ),
    Row(
        number="8",
        misuse="row 6 with 3 acks",
        left="O(0)",
        heard="ACK",
        senders=inner(3),
        when=times(AE, 0, 1),
    ),
    Row(
        number="8",
        misuse="row 6 with 3 acks",
        left="none",
        heard="ACK",
        senders=inner(3),
        when=times(AE, 2, 3),
    ),
    Row(
        number="8", misuse="row 7 with 3 acks", left="O(0)", heard="ACK", senders=fork(3), when=times(A, 0, 1)
    ),
    Row(
        number="8", misuse="row 7 with 3 acks", left="none", heard="ACK", senders=fork(3), when=times(A, 2, 3)
    ),
    Row(
        number="8b",
        misuse="row 6 with 4 acks",
        left="O(a^e)",
        heard="ACK",
        senders=inner(4),
        when=times(AE, 0, 3),
    ),
    Row(
        number="8b",
        misuse="row 6 with 4 acks",
        left="S(a^e)",
        heard="TIMEOUT",
        senders=inner(4),
        when=times(AE, 4, 4),
    ),
    Row(
        number="8b",
        misuse="row 7 with 4 acks",
        left="O(a)",
        heard="ACK",
        senders=fork(4),
        when=times(A, 0, 3),
    ),
    Row(
        number="8b",
        misuse="row 7 with 4 acks",
        left="S(a)",
        heard="TIMEOUT",
        senders=fork(4),
        when=times(A, 4, 4),
    ),
    Row(
        number="9",
        misuse="ack then fail, leaf",
        left="Of",
        left_2="Of(0)",
        heard="ACK",
        loss="yes",
        senders=ACK_FAIL,
        when=before(INIT, FAIL),
    ),
    Row(
        number="9b",
        misuse="ack then fail, leaf",
        left="none",
        heard="ACK",
        loss="yes",
        senders=ACK_FAIL,
        when=last(INIT),
    ),
    Row(
        number="10",
        misuse="ack then fail, child outstanding",
        left="O(e)",
        heard="FAIL",
        senders=((INIT,), (ack(AE), FAIL), (ack(E),)),
        when=last(ack(E)),
    ),
    Row(
        number="11",
        misuse="fail then ack, leaf",
        left="O(a)",
        heard="FAIL",
        senders=FAIL_ACK,
        when=before(INIT, ack(A)),
    ),
    Row(
        number="11b",
        misuse="fail then ack, leaf",
        left="none",
        heard="ACK",
        loss="yes",
        senders=FAIL_ACK,
        when=last(INIT),
    ),
    Row(
        number="12",
        misuse="fail twice",
        left="Of",
        left_2="Of(0)",
        heard="FAIL",
        senders=((INIT,), (FAIL, FAIL)),
        when=init_before_second(FAIL),
    ),
    Row(
        number="12b",
        misuse="fail twice",
        left="none",
        heard="FAIL",
        senders=((INIT,), (FAIL, FAIL)),
        when=last(INIT),
    ),
    Row(
        number="13",
        misuse="correct fail in one branch, the other acks after it",
        left="O(b)",
        heard="FAIL",
        senders=FORK_FAIL,
        when=last(ack(B)),
    ),
    Row(
        number="13",
        misuse="correct fail in one branch, the other acks before it",
        left="none",
        heard="FAIL",
        senders=FORK_FAIL,
        when=lambda order: order[-1] != ack(B),
    ),
    Row(
        number="14",
        misuse="anchored emit after ack",
        left="O(e)",
        heard="ACK",
        loss="child untracked",
        senders=EMIT_AFTER,
        when=last(ack(E)),
    ),
    Row(
        number="14b",
        misuse="anchored emit after ack",
        left="S(e)",
        heard="TIMEOUT",
        senders=EMIT_AFTER,
        when=lambda order: order[-1] != ack(E),
    ),
    Row(
        number="14c",
        misuse="anchored emit after ack, child fails",
        left="Of",
        left_2="Of(0)",
        heard="ACK",
        loss="yes",
        senders=((INIT,), (ack(A),), (FAIL,)),
        when=last(FAIL),
    ),
    Row(
        number="14c",
        misuse="anchored emit after ack, child lost",
        left="none",
        heard="ACK",
        loss="yes",
        senders=leaf(1),
    ),
    Row(
        number="14d",
        misuse="emit e, ack, emit f, ack again",
        left="O(a^e)",
        heard="ACK",
        loss="f untracked",
        senders=EMIT_BETWEEN,
        when=completes_between,
    ),
    Row(
        number="14d",
        misuse="emit e, ack, emit f, ack again",
        left="S(a^e)",
        heard="TIMEOUT",
        senders=EMIT_BETWEEN,
        when=lambda order: not completes_between(order),
    ),
    Row(number="15", misuse="unanchored emit", left="none", heard="ACK", loss="yes", senders=leaf(1)),
    Row(
        number="16",
        misuse="same tuple listed twice as anchor",
        left="none",
        heard="ACK",
        senders=((INIT,), (ack(A ^ E ^ F),), (ack(E ^ F),)),
    ),
    Row(
        number="17",
        misuse="forked tuple acked once by each of two bolts",
        left="none",
        heard="ACK",
        senders=fork(1),
    ),
    Row(
        number="18",
        misuse="ack arrives before init",
        left="none",
        heard="ACK",
        senders=leaf(1),
        when=last(INIT),
    ),
    Row(
        number="19",
        misuse="duplicate INIT",
        left="O(a)",
        heard="ACK",
        loss="yes",
        senders=((INIT, INIT), (ack(A),)),
        when=last(ack(A)),
    ),
    Row(
        number="19b",
        misuse="duplicate INIT",
        left="S(a)",
        heard="ACK",
        senders=((INIT, INIT), (ack(A),)),
        when=last(INIT),
    ),
    Row(
        number="20",
        misuse="resetTimeout after completion",
        left="nil",
        left_2="O(0)",
        heard="ACK",
        senders=((INIT,), (ack(A), RESET)),
        when=last(RESET),
    ),
    Row(
        number="20b",
        misuse="resetTimeout before init",
        left="none",
        heard="ACK",
        senders=((INIT,), (ack(A), RESET)),
        when=last(INIT),
    ),
    Row(
        number="20b",
        misuse="resetTimeout before completion",
        left="none",
        heard="ACK",
        senders=((INIT,), (RESET, ack(A))),
    ),
    Row(number="21", misuse="acker restart with tree open", left="O(XOR of the later acks)", heard="TIMEOUT"),
    Row(
        number="22",
        misuse="spout restart with tree open",
        left="none",
        heard="nothing",
        loss="yes unless the source redelivers",
    ),
    Row(number="23", misuse="bolt crash before emit and ack", left="S(a)", heard="TIMEOUT"),
    Row(number="24", misuse="bolt crash after emit, before ack", left="S(a^e)", heard="TIMEOUT"),
    Row(number="25", misuse="bolt crash after ack", left="none", heard="ACK"),
    Row(number="26", misuse="completion after the spout's timeout, entry held", left="none", heard="TIMEOUT"),
    Row(
        number="26b",
        misuse="completion after the spout's timeout, entry dropped",
        left="O(late acks)",
        heard="TIMEOUT",
    ),
    Row(number="27", misuse="ackers=0 or zero targets", left="none", heard="ACK", loss="yes by design"),
    Row(
        number="28",
        misuse="spout emit without message id",
        left="none",
        heard="nothing",
        loss="yes by design",
    ),
    Row(
        number="29",
        misuse="multilang: second ack, ack after fail, anchor after ack",
        left="S(a) or none",
        heard="TIMEOUT",
    ),
)
