"""The path behind a sighting: nodes linked to where they came from."""

from typing import NamedTuple

from ackdoctor.flow.lattice import State
from ackdoctor.model.cfg import EdgeKind, Step
from ackdoctor.model.component import Function

__all__ = ["Station", "Trail", "stations"]


class Trail:
    """One visit of a step: the state before it, the visit before, and the edge between.

    After a helper call `inner` is the visit that left the helper; the entry of a helper has the visit of
    the call as its `before` and no edge.  `forgot` says that the cap took knowledge away on arrival here.
    """

    __slots__ = ("before", "forgot", "function", "index", "inner", "state", "via")

    def __init__(
        self,
        function: Function,
        index: int,
        state: State,
        before: "Trail | None" = None,
        via: EdgeKind | None = None,
        inner: "Trail | None" = None,
    ) -> None:
        self.forgot = False
        self.function = function
        self.index = index
        self.state = state
        self.before = before
        self.via = via
        self.inner = inner

    @property
    def step(self) -> Step:
        """The step visited."""
        return self.function.cfg.steps[self.index]


class Station(NamedTuple):
    """A visit on a path, the next visit in the same function (None at its end), and the depth in helper calls."""

    visit: Trail
    after: Trail | None
    depth: int


def stations(end: Trail) -> tuple[Station, ...]:
    """The visits of a path from receipt to `end`, helper calls unfolded in place."""
    segments = [_segment(end)]
    while (outer := segments[-1][0].visit.before) is not None:
        segments.append(_segment(outer))
    segments.reverse()
    return tuple(
        station._replace(depth=station.depth + depth)
        for depth, segment in enumerate(segments)
        for station in segment
    )


def _segment(end: Trail) -> list[Station]:
    """The visits from the entry of the function that `end` is in, with the helpers called on the way."""
    backwards: list[Station] = []
    visit: Trail = end
    after: Trail | None = None
    while True:
        if visit.inner is not None:
            backwards.append(Station(visit, after, 0))
            backwards += [s._replace(depth=s.depth + 1) for s in reversed(_segment(visit.inner))]
        else:
            backwards.append(Station(visit, after, 0))
        if visit.via is None or visit.before is None:
            backwards.reverse()
            return backwards
        visit, after = visit.before, visit
