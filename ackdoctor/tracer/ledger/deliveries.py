"""What a book keeps of one delivery, in numbers: sites are numbers of `Sites`."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.protocol import TABLE, Op, Stage
from ackdoctor.model.violation import AccessKind

__all__ = ["Closed", "Delivery", "Incident", "Mark", "Opened"]

Delivery = Hashable


class Mark(NamedTuple):
    """What was unusual about a call; `thread` is '' for the thread that receives."""

    thread: str = ""
    in_except: bool = False
    time_ns: int = 0
    bare: bool = False  # an emit that leaves its anchors to the framework


class Opened(NamedTuple):
    """When a delivery came, and in which handler call."""

    time_ns: int
    entry: int


class Closed(NamedTuple):
    """The first completion of a delivery."""

    opened: Opened
    op: Op
    site: int
    entry: int
    mark: Mark | None = None

    @property
    def state(self) -> Stage:
        """What the protocol calls it."""
        return TABLE[Stage.OWED, self.op].state


@dataclass(slots=True, kw_only=True)
class Incident:
    """One misuse, as the book keeps it: numbers of sites instead of sites; `count` deliveries share it."""

    misuse: Misuse
    delivery: Delivery
    kind: AccessKind
    opened: Opened | None
    closed: Closed | None
    site: int
    entry: int
    mark: Mark | None
    handler: str
    tick: bool = False
    note: str = ""
    count: int = 1
    discarded: int = 0
