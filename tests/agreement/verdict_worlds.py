"""The outside of each Python fixture topology, for runs with failures: a source of messages, and a sink that counts effects.

A source keeps what it has not delivered over the death of its spout.  One that locks a message delivers it again to a new
spout until it is deleted.  The first messages are plain; each fifth one after them takes another way through the bolts.
A world may also spoil later messages: a record is bad, or a service refuses it, when it comes for the first time.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

__all__ = ["MESSAGES", "WORLDS", "World"]

MESSAGES = 3
BUSY_PAGE = 50  # from here on, each view is one of this page


@dataclass(slots=True)
class World:
    """The messages that a source still has, and how often each message had its effect."""

    waiting: deque[int] = field(default_factory=lambda: deque(range(1, MESSAGES + 1)))
    locked: dict[int, int] = field(default_factory=dict)  # message -> number of the connection that has it
    effects: Counter[int] = field(default_factory=Counter)
    connections: int = 0

    def restart(self) -> None:
        """Start with an empty world."""
        self.waiting, self.locked, self.effects = deque(range(1, MESSAGES + 1)), {}, Counter()

    def take(self) -> int | None:
        """Deliver the next message and forget it."""
        return self.waiting.popleft() if self.waiting else None

    def is_odd(self, message: int) -> bool:
        """Whether a message takes another way through the bolts."""
        return message > MESSAGES and message % 5 == 0

    def spoils(self, _message: int, _remainder: int) -> bool:
        """Whether a message with this remainder of ten is bad, or is refused, this time."""
        return False

    def poisons(self, _message: int) -> bool:
        """Whether a message is bad each time."""
        return False

    def missing(self) -> set[int]:
        """Return the messages without an effect."""
        return set(range(1, MESSAGES + 1)) - set(self.effects)

    def follow(self) -> Iterator[int]:
        """Yield each message once; afterwards the run must not ask."""
        while True:
            message = self.take()
            assert message is not None, "a source was asked for more than it has"
            yield message


class _Sink:
    """A database, ledger or vault: `where` tells which part of what is written names the message."""

    def __init__(self, world: World) -> None:
        self._world = world

    def note(self, message: object) -> None:
        self._world.effects[int(str(message).strip("/s"))] += 1


def first_steps(world: World) -> Mapping[str, object]:
    class Database(_Sink):
        def count(self, url: str, visitor: str) -> int:
            if world.spoils(int(url.strip("/")), 7):
                return 0
            self.note(url)
            return 1

    def follow(_path: str) -> Iterator[Any]:
        while (message := world.take()) is not None:
            url = {"url": f"/{message}"}
            view = {"visitor": "ann", **({} if world.spoils(message, 3) else url)}
            yield view
            view.update(url)  # before it comes again

    return {"site_stats": SimpleNamespace(Database=lambda _url: Database(world), follow=follow)}


def orders(world: World) -> Mapping[str, object]:
    class Ledger(_Sink):
        def add(self, sku: str, _amount: float) -> None:
            if world.spoils(int(sku.strip("s")), 7):
                raise RuntimeError("the ledger is away")
            self.note(sku)

    class OrderQueue:
        def take(self, timeout: float) -> Any:
            message = world.take()
            if message is None:
                return None
            line = {"sku": f"s{message}", "quantity": 1, "price": 1.0}
            customer = "test" if world.is_odd(message) else "ann"
            lines = [line] * (2 if message > MESSAGES and message % 2 else 1)
            if world.poisons(message):
                lines = []
            return {"customer": customer, "lines": lines, "number": message}

        def put(self, order: Any) -> None:
            world.waiting.append(order["number"])

    return {
        "shop": SimpleNamespace(),
        "shop.ledger": SimpleNamespace(Ledger=lambda _url: Ledger(world)),
        "shop.queue": SimpleNamespace(OrderQueue=lambda _name: OrderQueue()),
    }


def page_views_of_pystorm(world: World) -> Mapping[str, object]:
    class Database(_Sink):
        def add(self, url: str, _visitor: str) -> None:
            self.note(url)

    def follow(_path: str) -> Iterator[Any]:
        for message in world.follow():
            visitor = message if message <= MESSAGES else MESSAGES + message % 10
            view = f'{{"visitor": "v{visitor}", "url": "/{message}", "ts": 1}}'
            yield message, "no JSON" if world.is_odd(message) else view

    return {
        "site_stats": SimpleNamespace(Database=lambda _url: Database(world)),
        "access_log": SimpleNamespace(follow=follow),
    }


def page_views_of_pyleus(world: World) -> Mapping[str, object]:
    class Database(_Sink):
        def insert(self, rows: Any) -> None:
            known = list(rows)
            refused = [world.spoils(int(url.strip("/")), 7) for url, _views in known]
            if any(refused):
                raise RuntimeError("the database is away")
            for url, _views in known:
                self.note(url)

    def follow(_path: str) -> Iterator[Any]:
        for message in world.follow():
            page = min(message, BUSY_PAGE)
            yield SimpleNamespace(offset=message, url=f"{'' if world.is_odd(message) else '/'}{page}")

    database = SimpleNamespace(Database=lambda _url: Database(world), Unavailable=RuntimeError)
    return {"site_stats": database, "page_views_log": SimpleNamespace(follow=follow)}


def petrel_orders(world: World) -> Mapping[str, object]:
    class Mailbox:
        def __init__(self) -> None:
            world.waiting.extendleft(world.locked)  # a new connection releases what the last one locked
            world.locked.clear()

        def next(self) -> Any:
            message = world.take()
            if message is None:
                return None
            world.locked[message] = 1
            country = "DE" if world.is_odd(message) else "CH"
            return SimpleNamespace(number=message, country=country, value=10.0)

        def delete(self, number: int) -> None:
            world.locked.pop(number, None)

        def unlock(self, number: int) -> None:
            if world.locked.pop(number, None):
                world.waiting.append(number)

    class Vault(_Sink):
        def write(self, values: Any) -> bool:
            if world.spoils(values[0], 7):
                return False
            self.note(values[0])
            return True

    return {
        "mailbox": SimpleNamespace(open_mailbox=lambda _path: Mailbox()),
        "vault": SimpleNamespace(Vault=lambda _path: Vault(world)),
    }


def sensors_of_heronpy(world: World) -> Mapping[str, object]:
    class Archive(_Sink):
        def write(self, _start: object, rows: Any) -> None:
            for sensor, _value in rows:
                self.note(sensor)

    def subscribe(_url: str) -> Iterator[Any]:
        for message in world.follow():
            value = None if world.is_odd(message) else 20.5
            yield SimpleNamespace(id=message, sensor=f"s{message}", value=value)

    return {
        "archive": SimpleNamespace(Archive=lambda _url: Archive(world)),
        "broker": SimpleNamespace(subscribe=subscribe),
    }


def sensors_of_storm_py(world: World) -> Mapping[str, object]:
    class Gateway:
        journal = SimpleNamespace(write=lambda _text: None)

        def take(self) -> Any:
            message = world.take()
            if message is None:
                return None
            value = "warm" if world.spoils(message, 3) else 95.0
            return SimpleNamespace(number=message, sensor=f"s{message}", value=value)

        def put_back(self, reading: Any) -> None:
            world.waiting.append(reading.number)

    class Offsets(dict[str, float]):
        def __missing__(self, sensor: str) -> float:
            if world.is_odd(int(sensor.removeprefix("s"))):
                raise KeyError(sensor)
            return 0.5

        def reload(self) -> None: ...

    return {
        "gateway": SimpleNamespace(Gateway=lambda _host: Gateway()),
        "pager": SimpleNamespace(page=lambda text: _Sink(world).note(text.split()[1])),
        "calibration": SimpleNamespace(load_offsets=lambda _path: Offsets()),
    }


WORLDS = {
    "streamparse/first-steps": first_steps,
    "streamparse/orders": orders,
    "pystorm/page-views": page_views_of_pystorm,
    "pyleus/page-views": page_views_of_pyleus,
    "petrel/orders": petrel_orders,
    "heronpy/sensors": sensors_of_heronpy,
    "storm_py/sensors": sensors_of_storm_py,
}
