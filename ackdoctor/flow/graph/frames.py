"""What the graph builder keeps in mind: ends without a target, and the blocks around the next step."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ackdoctor.model.cfg import EdgeKind, Way
from ackdoctor.model.source import Span

__all__ = [
    "TO_END",
    "TO_RAISE",
    "TO_RETURN",
    "Duty",
    "End",
    "Ends",
    "Fork",
    "Goal",
    "Handler",
    "Loop",
    "Net",
    "Region",
    "goal_order",
]

End: TypeAlias = tuple[int, EdgeKind]
Ends: TypeAlias = list[End]


class Fork(NamedTuple):
    """Where a condition leads."""

    true: Ends
    false: Ends

    def swapped(self) -> "Fork":
        """The fork of the negated condition."""
        return Fork(self.false, self.true)


class Handler(NamedTuple):
    """One catch clause; `total` says that nothing gets past it."""

    types: tuple[str, ...]
    name: str | None
    span: Span
    body: Callable[[], None]
    total: bool = False


class Loop:
    """An enclosing loop: where `continue` goes, and the ends that leave it by `break`.

    In a loop with something to do before the next turn, `again` collects the ends that go on to that.
    """

    __slots__ = ("again", "breaks", "head", "label", "span")

    def __init__(self, head: int, span: Span, label: str | None, again: Ends | None = None) -> None:
        self.head = head
        self.span = span
        self.label = label
        self.breaks: Ends = []
        self.again = again


class Region:
    """An enclosing block that `break` leaves: by its label, or a `plain` one (a switch) without."""

    __slots__ = ("breaks", "head", "label", "plain")

    def __init__(self, head: int, label: str | None, *, plain: bool) -> None:
        self.head = head
        self.label = label
        self.plain = plain
        self.breaks: Ends = []


class Net:
    """An enclosing try body with handlers: the ends that raise into it."""

    __slots__ = ("raises",)

    def __init__(self) -> None:
        self.raises: Ends = []


class Goal(NamedTuple):
    """Where control is bound for when it leaves a block; `loop` belongs to 'break' and 'continue'."""

    word: str
    loop: Loop | Region | None = None

    @property
    def way(self) -> Way:
        """How it enters a finally on the way."""
        return _WAYS.get(self.word, Way.RETURN)


TO_RAISE, TO_RETURN, TO_END = Goal("raise"), Goal("return"), Goal("normal")


class Duty:
    """An enclosing try body with a finally: the ends that must run it, by where they are bound for."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[Goal, Ends] = {}


_WAYS = {"normal": Way.NORMAL, "raise": Way.RAISE}
_ORDER = ("normal", "return", "break", "continue", "raise")


def goal_order(goal: Goal) -> tuple[int, int]:
    """The order in which the copies of a finally body are laid out."""
    return _ORDER.index(goal.word), goal.loop.head if goal.loop is not None else 0
