"""What is under way: FIFO from one sender to one receiver, in any order across senders."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from random import Random
from typing import NamedTuple, TypeAlias

from ackdoctor.lab.component import Tup
from ackdoctor.model.message import Answer, Message

__all__ = ["Inbox", "Loses", "Parcel", "Route", "choose", "lossless", "lossy", "pace"]

Route: TypeAlias = tuple[int, int]  # sender task, receiver task


class Parcel(NamedTuple):
    """One message between two tasks; a tick comes from task -1.

    `delivery` is that of the tuple which a message to the acker is about, 0 if it is about none;
    `site` is the line that sent it; '' without a trace.
    """

    sender: int
    receiver: int
    content: Tup | Message | Answer
    delivery: int = 0
    site: str = ""


Loses: TypeAlias = Callable[[Parcel, Random], bool]


def lossless(_parcel: Parcel, _random: Random) -> bool:
    """A network that loses nothing."""
    return False


def lossy(rate: float) -> Loses:
    """A network that loses this share of its messages, `0 <= rate <= 1`; it never duplicates any."""
    return lambda _parcel, random: random.random() < rate


class Inbox:
    """An executor's arrivals.  The routes in `held` are stalled: their messages wait.

    Each route has a pace of its own, drawn once, so that over many seeds some are far slower than others:
    acks overtake inits, and answers lag behind.
    """

    def __init__(self, held: set[Route], random: Random) -> None:
        self._held = held
        self._random = random
        self._queues: dict[Route, deque[Parcel]] = {}
        self._paces: dict[Route, float] = {}
        self._first: deque[Parcel] = deque()
        self._open: list[Route] = []  # not empty, not held

    def __len__(self) -> int:
        return len(self._first) + sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[Parcel]:
        return chain(self._first, *self._queues.values())

    def ready(self) -> bool:
        """Whether something could arrive now."""
        return bool(self._open or self._first)

    def put(self, parcel: Parcel) -> None:
        """Append to the queue of the parcel's route."""
        route = (parcel.sender, parcel.receiver)
        queue = self._queues.get(route)
        if queue is None:
            queue = self._queues[route] = deque()
            self._paces[route] = pace(self._random)
        if not queue and route not in self._held:
            self._open.append(route)
        queue.append(parcel)

    def put_first(self, parcel: Parcel) -> None:
        """Nothing overtakes this one."""
        self._first.append(parcel)

    def take(self) -> Parcel:
        """The oldest message of one of the routes."""
        if self._first:
            return self._first.popleft()
        number = choose([self._paces[route] for route in self._open], self._random)
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
        self._first.clear()
        self._open.clear()
        for queue in self._queues.values():
            queue.clear()
        return lost

    def reopen(self) -> None:
        """After a change of `held`."""
        self._open = [route for route, queue in self._queues.items() if queue and route not in self._held]


def pace(random: Random) -> float:
    """How fast something is: the fastest are 256 times as fast as the slowest."""
    return float(2 ** (8 * random.random() - 4))


def choose(paces: Sequence[float], random: Random) -> int:
    """One of several, each as often as it is fast."""
    if len(paces) == 1:
        return 0
    point = random.random() * sum(paces)
    for number, width in enumerate(paces):
        point -= width
        if point < 0:
            return number
    return len(paces) - 1
