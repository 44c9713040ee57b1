"""The path behind a sighting: visits linked to where they came from.

A path is as long as the code it leads through, and a handler may have as many findings as lines.  So a visit knows
what most questions ask of its path, and is linked to where the path last *turned*: at a fork, by an exception,
through a helper, at a change of a tuple's holding.  What is between two turns has nothing to tell.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.state import State, Tick, Token, Value
from ackdoctor.model.cfg import Arg, Bind, Call, Drop, EdgeKind, Expr, Step, Throw, Unpack, Update, Yield
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import Entry, Verb
from ackdoctor.model.protocol import Breach, Op

__all__ = [
    "Anchors",
    "Completed",
    "Deferral",
    "Emitted",
    "Ended",
    "Flow",
    "Handed",
    "Released",
    "Sighting",
    "Station",
    "Stored",
    "Trail",
    "backwards",
    "turns_back",
    "turns_onwards",
]


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


@unique
class Anchors(Enum):
    """How an emit came by its anchors."""

    EXPLICIT = "explicit"  # the code names tuples
    DEFAULT = "default"  # the framework anchors to the current tuple or batch
    EMPTY = "empty"  # the code says: none (anchors=[])
    NONE = "none"  # nobody anchors it
    UNKNOWN = "unknown"  # the code names something only a run can know


@dataclass(slots=True, eq=False)
class Deferral:
    """Code that runs later or elsewhere: handed over at `step` of `function` to `runner`.

    `thread` says that the runner is known to run it on another thread; `asynchronous` that it is known to
    return before it has run.
    """

    runner: str
    function: Function
    step: Step
    thread: bool
    asynchronous: bool


@dataclass(slots=True, eq=False, kw_only=True)
class _At:
    """Where a sighting was made: the step of a function, on the path `trail`, perhaps in deferred code."""

    function: Function
    step: Step
    trail: Trail
    deferral: Deferral | None


@dataclass(slots=True, eq=False, kw_only=True)
class Completed(_At):
    """An ack or fail of `token` (None: of something unknown); `op` is AUTO_* where the framework does it."""

    op: Op
    token: Token | None
    tick: Tick
    breach: Breach | None
    verb: Verb | None
    value: Value | None


@dataclass(slots=True, eq=False, kw_only=True)
class Emitted(_At):
    """An emit.  `args` maps the verb's parameters to the expressions given; `late` are anchors already completed.

    `values` holds what is known of those expressions; `unclear` says that `*args` or `**kwargs` hide some.
    """

    verb: Verb
    args: Mapping[str, Expr]
    extra: tuple[Arg, ...]
    anchors: Anchors
    anchored: tuple[Token, ...]
    late: tuple[tuple[Token, Breach], ...]
    subject: Token | None  # the tuple being handled
    tick: Tick
    payload: Value | None
    values: Mapping[str, Value]
    unclear: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Stored(_At):
    """A tuple goes into a field: `how` is the method or "=" or "[]"; `key` the subscript."""

    field: str
    token: Token
    how: str
    key: Expr | None


@dataclass(slots=True, eq=False, kw_only=True)
class Released(_At):
    """Something happens to what a field holds: completed here, or handed to code that cannot be seen."""

    field: str
    completed: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Handed(_At):
    """A callable of the component is handed to `deferral.runner` to be run later."""


@dataclass(slots=True, eq=False, kw_only=True)
class Ended(_At):
    """The handler ends.  `raised` is None on a normal return, else the exception class or "" if unknown."""

    state: State
    raised: str | None
    token: Token | None
    breach: Breach | None

    @property
    def tick(self) -> Tick:
        """What is known of the token's being a tick."""
        held = None if self.token is None else self.state.tokens.get(self.token)
        return Tick.MAYBE if held is None else held.tick

    @property
    def is_tick(self) -> bool:
        """Whether the token is known to be a tick tuple."""
        return self.tick is Tick.YES

    @property
    def is_system(self) -> bool:
        """Whether the token is known to be a tuple of Storm's own."""
        return self.tick.is_system


Sighting: TypeAlias = Completed | Emitted | Stored | Released | Handed | Ended


@dataclass(slots=True, eq=False, kw_only=True)
class Flow:
    """Everything seen from one entry of a component; `limited` says that a cap was reached on the way.

    `functions` are those that were looked into; `wrapped` says that a decorator nobody could read stands around
    the handler.
    """

    entry: Entry | None
    function: Function
    sightings: tuple[Sighting, ...]
    functions: tuple[Function, ...] = ()
    limited: bool
    wrapped: bool
