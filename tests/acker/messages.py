"""Messages to an acker in every order in which they may arrive, and their effect on an acker and a spout."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.executors import SpoutExecutor, SpoutResult
from ackdoctor.acker.runtime import VirtualClock, signed
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Message, ResetTimeout
from ackdoctor.model.trace import PendingEntry

ROOT, SPOUT = 1 << 40, 11
A, B, E, F = 1, 2, 4, 8  # a and b are the spout's edges, e and f the bolts'

INIT, INIT_AB = AckInit(ROOT, A, SPOUT), AckInit(ROOT, A ^ B, SPOUT)
FAIL, RESET = AckFail(ROOT), ResetTimeout(ROOT)


class PowersOfTwo:
    """The ids 1, 2, 4, ..., linearly independent under XOR (1, 2 and 3 are not: 1 ^ 2 == 3)."""

    def __init__(self, first_exponent: int = 0) -> None:
        self._ids = iter([signed(1 << exponent) for exponent in range(first_exponent, 64)])

    def next_long(self) -> int:
        return next(self._ids)


Order = tuple[Message, ...]
Senders = tuple[Order, ...]


def ack(value: int) -> AckAck:
    return AckAck(ROOT, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One misuse: the entry that stays and the call of the spout, for the message orders that `when` accepts.

    `entry_2` is the entry in Storm 2.x if it differs from 1.x.
    """

    number: str
    misuse: str
    entry: str
    outcome: str
    loss: str = "no"
    senders: Senders = ()
    when: Callable[[Order], bool] = lambda _: True
    entry_2: str | None = None

    def orders(self) -> Iterator[Order]:
        """Yield every order in which the row's messages may arrive."""
        return (order for order in interleavings(self.senders) if self.when(order))


def interleavings(senders: Sequence[Order]) -> Iterator[Order]:
    """Yield all merges that keep the order of each sender."""
    if not any(senders):
        yield ()
    for number, sender in enumerate(senders):
        if sender:
            rest = [*senders[:number], sender[1:], *senders[number + 1 :]]
            yield from ((sender[0], *tail) for tail in interleavings(rest))


def j(order: Order, value: int) -> int:
    """Return how many acks of `value` arrive before the last other message of the tree (law L1b)."""
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


NAMES = {A: "a", B: "b", E: "e", F: "f"}


class FixedIds:
    """Returns the given ids in order."""

    def __init__(self, *ids: int) -> None:
        self._ids = list(ids)

    def next_long(self) -> int:
        return self._ids.pop(0)


def play(profile: Profile, messages: Iterable[Message]) -> tuple[list[str], list[str]]:
    """Play messages about ROOT, a root of task SPOUT; return the entries that stay and the calls of the spout."""
    acker = make_acker(profile, VirtualClock())
    spout = SpoutExecutor(profile, tasks=[SPOUT], ids=FixedIds(ROOT, A), clock=(clock := VirtualClock()))
    spout.emit(SPOUT, "message", targets=1)
    heard: list[SpoutResult | None] = []
    for message in messages:
        answer = acker.receive(message)
        if answer is not None:
            heard.append(spout.receive(answer))
    clock.advance(60)
    for _ in range(3):
        heard += spout.tick()
    return entries_left(acker), [each.reason.name for each in heard if each is not None]


def entries_left(acker: Acker) -> list[str]:
    return [notation(entry) for entry in acker.pending()]


def notation(entry: PendingEntry) -> str:
    """Return an entry in the notation of the truth table."""
    mark = "O" if entry.task is None else "S"
    if entry.value is None:
        return f"{mark}f" if entry.failed else "nil"
    return f"{mark}{'f' if entry.failed else ''}({edge_names(entry.value)})"


def edge_names(value: int) -> str:
    return "^".join(name for edge, name in NAMES.items() if value & edge) or "0"
