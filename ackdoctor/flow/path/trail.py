"""The path behind a sighting: visits linked to where they came from.

A path is as long as the code it leads through, and a handler may have as many findings as lines.  So a visit knows
what most questions ask of its path, and is linked to where the path last *turned*: at a fork, by an exception,
through a helper, at a change of a tuple's holding.  What is between two turns has nothing to tell.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.path.lattice import State
from ackdoctor.model.cfg import Bind, Call, Drop, EdgeKind, Step, Throw, Unpack, Update, Yield
from ackdoctor.model.component import Function

__all__ = ["Station", "Trail", "backwards", "turns_back", "turns_onwards"]

_STRAIGHT = (Bind, Call, Drop, Unpack, Update, Yield)


class Trail:
    """One visit of a step: the state before it, the visit before, and the edge between.

    After a helper call `inner` is the visit that left the helper; the entry of a helper has the visit of
    the call as its `before` and no edge.  `entry` is the visit that began this run of the function.

    Of the path from there: `forgot` says that the cap took knowledge away on it, `assumed` that something raised
    which does not say so, and `turn` is the last visit on it that came out of a turn.
    """

    __slots__ = ("assumed", "before", "entry", "forgot", "function", "index", "inner", "state", "turn", "via")

    def __init__(
        self,
        function: Function,
        index: int,
        state: State,
        before: "Trail | None" = None,
        via: EdgeKind | None = None,
        inner: "Trail | None" = None,
        *,
        forgot: bool = False,
    ) -> None:
        self.function = function
        self.index = index
        self.state = state
        self.before = before
        self.via = via
        self.inner = inner
        self.forgot = forgot
        self.assumed = False
        self.entry: Trail = self
        self.turn: Trail | None = None
        if via is not None and before is not None:
            self._follow(before, via)

    def _follow(self, before: "Trail", via: EdgeKind) -> None:
        op, inner = before.step.op, self.inner
        raised = via is EdgeKind.RAISE
        told = raised or inner is not None or self.state.tokens is not before.state.tokens
        self.entry = before.entry
        self.turn = self if told or not isinstance(op, _STRAIGHT) else before.turn
        self.forgot = self.forgot or before.forgot or (inner is not None and inner.forgot)
        if inner is None:
            self.assumed = before.assumed or (raised and not isinstance(op, Throw))
        else:
            self.assumed = before.assumed or inner.assumed

    @property
    def step(self) -> Step:
        """The step visited."""
        return self.function.cfg.steps[self.index]

    def knowing(self, state: State) -> "Trail":
        """The same visit with another state."""
        return Trail(self.function, self.index, state, self.before, self.via, self.inner, forgot=self.forgot)

    def around(self) -> "Iterator[Trail]":
        """This visit, the call of the function it is in, the call of the function that is in, and so on."""
        visit: Trail | None = self
        while visit is not None:
            yield visit
            visit = visit.entry.before


class Station(NamedTuple):
    """A visit on a path, the next visit in the same function (None at its end), and the depth in helper calls."""

    visit: Trail
    after: Trail | None
    depth: int


Hides: TypeAlias = Callable[[Trail], bool]


def _nothing(_: Trail) -> bool:
    return False


def backwards(end: Trail) -> Iterator[Station]:
    """The visits of a path from `end` to receipt, helper calls unfolded in place."""
    for depth, visit in _by_depth(end):
        yield from _visits_back(visit, depth)


def _visits_back(end: Trail, depth: int) -> Iterator[Station]:
    visit, after = end, None
    while True:
        yield Station(visit, after, depth)
        if visit.inner is not None:
            yield from _visits_back(visit.inner, depth + 1)
        if visit is end.entry or visit.before is None:
            return
        visit, after = visit.before, visit


def turns_back(end: Trail, hides: Hides = _nothing) -> Iterator[Station]:
    """Those of them at which the path turned, and `end`.

    Where `hides` holds for the visit behind a helper call, the call and what it led to are left out.
    """
    for depth, visit in _by_depth(end):
        yield from _turns_back(visit, depth, hides)


def _turns_back(end: Trail, depth: int, hides: Hides) -> Iterator[Station]:
    yield Station(end, None, depth)
    for visit, after in _turns(end):
        if after.inner is None or not hides(after):
            if after.inner is not None:
                yield from _turns_back(after.inner, depth + 1, hides)
            yield Station(visit, after, depth)


def turns_onwards(end: Trail, hides: Hides = _nothing) -> Iterator[Station]:
    """The same from receipt to `end`."""
    for depth, visit in reversed(list(_by_depth(end))):
        yield from _turns_onwards(visit, depth, hides)


def _turns_onwards(end: Trail, depth: int, hides: Hides) -> Iterator[Station]:
    for visit, after in reversed(list(_turns(end))):
        if after.inner is None or not hides(after):
            yield Station(visit, after, depth)
            if after.inner is not None:
                yield from _turns_onwards(after.inner, depth + 1, hides)
    yield Station(end, None, depth)


def _turns(end: Trail) -> Iterator[tuple[Trail, Trail]]:
    """The turns since the function that `end` is in was entered, the last one first: the visits before and behind."""
    after = end.turn
    while after is not None and after.before is not None:
        yield after.before, after
        after = after.before.turn


def _by_depth(end: Trail) -> Iterator[tuple[int, Trail]]:
    """`end`, and the calls it is inside of, with their depth."""
    around = list(end.around())
    return zip(range(len(around) - 1, -1, -1), around, strict=True)
