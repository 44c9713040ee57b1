"""Messages to an acker in every order in which they may come: what the rows of the truth table are written in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ackdoctor.model.message import AckAck, AckFail, AckInit, Message, ResetTimeout

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
