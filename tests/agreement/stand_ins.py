"""Stand-ins for the business modules that the fixtures import, by topology.

The data selects the fault: `refused` is not stored, `away` has no database, `full` has no room.
"""

import io
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from types import SimpleNamespace
from typing import Any

__all__ = ["STAND_INS"]

UNAVAILABLE = "away"


class Unavailable(Exception):  # noqa: N818 - the fixtures' own name
    """The database is not available."""


class Database:
    def __init__(self, url: str) -> None:
        self.rows: Counter[Any] = Counter()

    def count(self, url: str, visitor: str) -> int:
        self.rows[url, visitor] += "refused" not in url
        return self.rows[url, visitor]

    def add(self, url: str, visitor: str) -> None:
        self.rows[url, visitor] += 1

    def insert(self, rows: Iterable[Any]) -> None:
        if any(UNAVAILABLE in str(row) for row in rows):
            raise Unavailable


class Ledger:
    def __init__(self, url: str) -> None:
        self.booked: dict[str, float] = {}

    def add(self, sku: str, amount: float) -> None:
        if sku == UNAVAILABLE:
            raise Unavailable
        self.booked[sku] = amount


class OrderQueue:
    def __init__(self, name: str) -> None:
        self.waiting = deque({"customer": "ann", "lines": [{"sku": "tea"}]} for _ in range(3))

    def take(self, timeout: float) -> Any:
        return self.waiting.popleft() if self.waiting else None

    def put(self, order: Any) -> None:
        self.waiting.append(order)


class Gateway:
    def __init__(self, host: str) -> None:
        self.journal = io.StringIO()
        self._readings = deque(
            SimpleNamespace(number=number, sensor="roof", value=20.5) for number in range(1, 4)
        )

    def take(self) -> Any:
        return self._readings.popleft() if self._readings else None

    def put_back(self, reading: Any) -> None:
        self._readings.append(reading)


class Offsets(dict[str, float]):
    def reload(self) -> None:
        self["cellar"] = 1.0


class Mailbox:
    def __init__(self) -> None:
        self._orders = deque(
            SimpleNamespace(number=number, country="CH", value=10.0) for number in range(1, 4)
        )

    def next(self) -> Any:
        return self._orders.popleft() if self._orders else None

    def delete(self, number: int) -> None: ...

    def unlock(self, number: int) -> None: ...


class Vault:
    def __init__(self, path: str) -> None:
        self.kept: list[Any] = []

    def write(self, values: Any) -> bool:
        if "full" in values:
            return False
        self.kept.append(values)
        return True


class Archive:
    def __init__(self, url: str) -> None:
        self.windows: list[Any] = []

    def write(self, start: object, rows: Any) -> None:
        self.windows.append((start, rows))


def _lines(path: str) -> Iterator[tuple[int, str]]:
    return ((position, '{"visitor": "ann", "url": "/", "ts": 1}') for position in count(1))


def _views(path: str) -> Iterator[Any]:
    return (SimpleNamespace(offset=offset, url="/") for offset in count(1))


def _page_views(path: str) -> Iterator[Any]:
    return ({"url": "/", "visitor": f"visitor {number}"} for number in range(3))


def _readings(url: str) -> Iterator[Any]:
    return (SimpleNamespace(id=number, sensor="roof", value=20.5) for number in count(1))


STAND_INS: Mapping[str, Mapping[str, object]] = {
    "streamparse/first-steps": {"site_stats": SimpleNamespace(Database=Database, follow=_page_views)},
    "streamparse/orders": {
        "shop": SimpleNamespace(),
        "shop.ledger": SimpleNamespace(Ledger=Ledger),
        "shop.queue": SimpleNamespace(OrderQueue=OrderQueue),
    },
    "pystorm/page-views": {
        "site_stats": SimpleNamespace(Database=Database),
        "access_log": SimpleNamespace(follow=_lines),
    },
    "storm_py/sensors": {
        "gateway": SimpleNamespace(Gateway=Gateway),
        "pager": SimpleNamespace(page=lambda text: None),
        "calibration": SimpleNamespace(load_offsets=lambda path: Offsets(roof=0.5)),
    },
    "pyleus/page-views": {
        "site_stats": SimpleNamespace(Database=Database, Unavailable=Unavailable),
        "page_views_log": SimpleNamespace(follow=_views),
    },
    "petrel/orders": {
        "mailbox": SimpleNamespace(open_mailbox=lambda path: Mailbox()),
        "vault": SimpleNamespace(Vault=Vault),
    },
    "heronpy/sensors": {
        "archive": SimpleNamespace(Archive=Archive),
        "broker": SimpleNamespace(subscribe=_readings),
    },
}
