"""What is under way: FIFO from one sender to one receiver, in any order across senders (reference acker 2.1)."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from random import Random
from typing import NamedTuple, TypeAlias

from ackdoctor.lab.tup import Tup
from ackdoctor.model.message import Answer, Message

__all__ = ["Inbox", "Loses", "Parcel", "Route", "lossless", "lossy"]

Route: TypeAlias = tuple[int, int]  # sender task, receiver task


class Parcel(NamedTuple):
    """One message between two tasks; a tick comes from task -1.

    `delivery` is that of the tuple which a message to the acker is about, 0 if it is about none.
    """

    sender: int
    receiver: int
    content: Tup | Message | Answer
    delivery: int = 0


Loses: TypeAlias = Callable[[Parcel, Random], bool]


def lossless(_parcel: Parcel, _random: Random) -> bool:
    """A network that loses nothing."""
    return False


def lossy(rate: float) -> Loses:
    """A network that loses this share of its messages, `0 <= rate <= 1`; it never duplicates any."""
    return lambda _parcel, random: random.random() < rate


class Inbox:
    """An executor's arrivals.  The routes in `held` are stalled: their messages wait."""

    def __init__(self, held: set[Route]) -> None:
        self._held = held
        self._queues: dict[Route, deque[Parcel]] = {}
        self._open: list[Route] = []  # not empty, not held

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[Parcel]:
        return chain.from_iterable(self._queues.values())

    @property
    def open(self) -> int:
        """From how many routes something could arrive now."""
        return len(self._open)

    def put(self, parcel: Parcel) -> None:
        """Append to the queue of the parcel's route."""
        route = (parcel.sender, parcel.receiver)
        queue = self._queues.get(route)
        if queue is None:
            queue = self._queues[route] = deque()
        if not queue and route not in self._held:
            self._open.append(route)
        queue.append(parcel)

    def take(self, number: int) -> Parcel:
        """The oldest message of the `number`-th open route."""
        route = self._open[number]
        queue = self._queues[route]
        parcel = queue.popleft()
        if not queue:
            last = self._open.pop()
            if last != route:
                self._open[number] = last
        return parcel

    def clear(self) -> int:
        """Throws everything away, as a worker that dies does; how much that was."""
        lost = len(self)
        self._queues.clear()
        self._open.clear()
        return lost

    def reopen(self) -> None:
        """After a change of `held`."""
        self._open = [route for route, queue in self._queues.items() if queue and route not in self._held]
