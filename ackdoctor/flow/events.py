"""Paths through a component, and the events on them: completions, emits, stores, exits.

A `Path` is a linked list of visits: each visit knows the abstract state before its step and the visit before it.  A
path is as long as the code that it runs through, and a handler may have as many findings as lines.  So each visit also
links to the last *turn*: a visit where the path branched, raised, returned from a helper or changed the state of a
tuple.  Steps between two turns need no line in a witness.

The solver records events; a check reads events and never walks the graph itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.state import State
from ackdoctor.flow.values import Token, Value
from ackdoctor.model.cfg import (
    Arg,
    Bind,
    Call,
    Drop,
    EdgeKind,
    Expr,
    Function,
    Step,
    Throw,
    Unpack,
    Update,
    Yield,
)
from ackdoctor.model.dialect import Entry, Verb
from ackdoctor.model.protocol import Breach, Op, Tick

MAX_JOINED = 8  # ways that a visit remembers beside its own
_STRAIGHT = (Bind, Call, Drop, Unpack, Update, Yield)


# ---- paths ----

Start: TypeAlias = (
    "tuple[Path | None, EdgeKind | None, Path | None]"  # `before`, `via` and `inner` of a visit
)


class Path:
    """A path up to one visit of a step: the state before the step, the path before it, and the edge between them.

    After a helper call, `inner` is the path that left the helper.  On entry to a helper, `before` is the visit of the
    call and `via` is None.  `entry` is the visit that entered the current function.

    `widened` is true if the cap on states dropped facts since the entry, `assumes_raise` if an exception was assumed
    that no `raise` statement throws.  `turn` is the last visit after a turn since the entry.  `joined` are other ways to
    reach this visit in an equal state, at most `MAX_JOINED`.
    """

    __slots__ = (
        "assumes_raise",
        "before",
        "entry",
        "function",
        "index",
        "inner",
        "joined",
        "state",
        "turn",
        "via",
        "widened",
    )

    def __init__(
        self,
        function: Function,
        index: int,
        state: State,
        before: "Path | None" = None,
        via: EdgeKind | None = None,
        inner: "Path | None" = None,
        *,
        widened: bool = False,
    ) -> None:
        self.function = function
        self.index = index
        self.state = state
        self.before = before
        self.via = via
        self.inner = inner
        self.widened = widened
        self.assumes_raise = False
        self.entry: Path = self
        self.turn: Path | None = None
        self.joined: tuple[Start, ...] = ()
        if via is not None and before is not None:
            self._extend(before, via)

    def _extend(self, before: "Path", via: EdgeKind) -> None:
        op, inner = before.step.op, self.inner
        raised = via is EdgeKind.RAISE
        changed = self.state.tokens is not before.state.tokens
        self.entry = before.entry
        is_turn = raised or inner is not None or changed or not isinstance(op, _STRAIGHT)
        self.turn = self if is_turn else before.turn
        self.widened = self.widened or before.widened or (inner is not None and inner.widened)
        if inner is None:
            self.assumes_raise = before.assumes_raise or (raised and not isinstance(op, Throw))
        else:
            self.assumes_raise = before.assumes_raise or inner.assumes_raise

    @property
    def step(self) -> Step:
        """The step visited."""
        return self.function.cfg.steps[self.index]

    def with_state(self, state: State) -> "Path":
        """The same visit with another state."""
        return Path(self.function, self.index, state, self.before, self.via, self.inner, widened=self.widened)

    def join(self, before: "Path | None", via: EdgeKind | None, inner: "Path | None") -> None:
        """Remember another way to reach this visit in an equal state, which the solver does not follow."""
        if len(self.joined) < MAX_JOINED:
            self.joined += ((before, via, inner),)

    def call_stack(self) -> "Iterator[Path]":
        """This visit, the call that entered its function, the call that entered that function, and so on."""
        visit: Path | None = self
        while visit is not None:
            yield visit
            visit = visit.entry.before


def raised_at(end: Path, caught: Path, index: int) -> Path:
    """The path to `end` on which another step, `index`, raises the exception that arrives at `caught`.

    Paths that differ only in the step that raises are joined; this chooses the step that the reader should see.
    """
    before = caught.before
    if before is None:
        return end
    raiser = Path(caught.function, index, before.state, before, EdgeKind.NEXT)
    arrival = Path(caught.function, caught.index, caught.state, raiser, EdgeKind.RAISE)
    return _rebuilt(end, caught, arrival, None) or end


def with_other_start(end: Path, visit: Path, start: Start) -> Path | None:
    """The path to `end` that reaches `visit` in another way; None if the path does not visit `visit`."""
    joined = Path(visit.function, visit.index, visit.state, *start)
    return _rebuilt(end, visit, joined, None)


def _rebuilt(end: Path, old: Path, new: Path, stop: Path | None) -> Path | None:
    """The path to `end` with `new` in place of `old`; None if the path does not visit `old`."""
    later: list[Path] = []
    visit: Path | None = end
    while visit is not None and visit is not stop and visit is not old:
        inner = _rebuilt(visit.inner, old, new, visit.inner.entry.before) if visit.inner is not None else None
        if inner is not None:
            new = Path(visit.function, visit.index, visit.state, visit.before, visit.via, inner)
            old = visit
            break
        later.append(visit)
        visit = visit.before
    if visit is not old:
        return None
    for each in reversed(later):
        new = Path(each.function, each.index, each.state, new, each.via, each.inner, widened=each.widened)
    return new


class PathPoint(NamedTuple):
    """A visit on a path, the next visit in the same function (None for the last), and the depth in helper calls."""

    visit: Path
    after: Path | None
    depth: int


Skip: TypeAlias = Callable[[Path], bool]


def _never(_: Path) -> bool:
    return False


def points_back(end: Path) -> Iterator[PathPoint]:
    """All visits from `end` back to the receipt of the tuple, those of helpers in place."""
    for depth, visit in _by_depth(end):
        yield from _points_back(visit, depth)


def _points_back(end: Path, depth: int) -> Iterator[PathPoint]:
    visit, after = end, None
    while True:
        yield PathPoint(visit, after, depth)
        if visit.inner is not None:
            yield from _points_back(visit.inner, depth + 1)
        if visit is end.entry or visit.before is None:
            return
        visit, after = visit.before, visit


def is_longer(ends: Iterable[Path], most: int) -> bool:
    """Whether `points_back` of one of these paths yields more than so many points; helpers that share visits are not walked again."""
    known: dict[Path, int] = {}
    return any(sum(_length(visit, known) for visit in end.call_stack()) > most for end in ends)


def _length(end: Path, known: dict[Path, int]) -> int:
    """The number of points from a visit back to the entry of its function."""
    chain: list[Path] = []
    visit: Path | None = end
    while visit is not None and visit not in known:
        chain.append(visit)
        visit = visit.before if visit is not visit.entry else None
    length = known[visit] if visit is not None else 0
    for each in reversed(chain):
        length += 1 + (_length(each.inner, known) if each.inner is not None else 0)
        known[each] = length
    return length


def turns_back(end: Path, skip: Skip = _never) -> Iterator[PathPoint]:
    """The turns from `end` back to the receipt of the tuple, `end` included.

    A helper call is left out together with its turns if `skip` holds for the visit after the call.
    """
    for depth, visit in _by_depth(end):
        yield from _turns_back(visit, depth, skip)


def _turns_back(end: Path, depth: int, skip: Skip) -> Iterator[PathPoint]:
    yield PathPoint(end, None, depth)
    for visit, after in _turns(end):
        if after.inner is None or not skip(after):
            if after.inner is not None:
                yield from _turns_back(after.inner, depth + 1, skip)
            yield PathPoint(visit, after, depth)


def turns_forward(end: Path, skip: Skip = _never) -> Iterator[PathPoint]:
    """The turns of `turns_back` in the opposite order."""
    for depth, visit in reversed(list(_by_depth(end))):
        yield from _turns_forward(visit, depth, skip)


def _turns_forward(end: Path, depth: int, skip: Skip) -> Iterator[PathPoint]:
    for visit, after in reversed(list(_turns(end))):
        if after.inner is None or not skip(after):
            yield PathPoint(visit, after, depth)
            if after.inner is not None:
                yield from _turns_forward(after.inner, depth + 1, skip)
    yield PathPoint(end, None, depth)


def _turns(end: Path) -> Iterator[tuple[Path, Path]]:
    """The turns since the entry of the current function, last first: the visits before and after each."""
    after = end.turn
    while after is not None and after.before is not None:
        yield after.before, after
        after = after.before.turn


def _by_depth(end: Path) -> Iterator[tuple[int, Path]]:
    """The call stack of `end`, each visit with its depth in helper calls."""
    stack = list(end.call_stack())
    return zip(range(len(stack) - 1, -1, -1), stack, strict=True)


# ---- events ----


@unique
class Anchors(Enum):
    """How an emit gets its anchors."""

    EXPLICIT = "explicit"  # the code names tuples
    DEFAULT = "default"  # the framework anchors to the current tuple or batch
    EMPTY = "empty"  # the code passes an empty list (anchors=[])
    NONE = "none"  # neither the code nor the framework anchors it
    UNKNOWN = "unknown"  # the code passes a value that only a run can know


@dataclass(slots=True, eq=False)
class Deferral:
    """Code that runs later or on another thread: passed at `step` of `function` to `runner`.

    `thread` is true if the runner certainly uses another thread, `asynchronous` if it certainly returns before the
    code has run.
    """

    runner: str
    function: Function
    step: Step
    thread: bool
    asynchronous: bool


@dataclass(slots=True, eq=False, kw_only=True)
class _BaseEvent:
    """The path to the step of an event; `deferral` is set if the code runs later."""

    path: Path
    deferral: Deferral | None

    @property
    def function(self) -> Function:
        """The function of the step."""
        return self.path.function

    @property
    def step(self) -> Step:
        """The step."""
        return self.path.step


@dataclass(slots=True, eq=False, kw_only=True)
class Completed(_BaseEvent):
    """An ack or fail of `token` (None if unknown); `op` is AUTO_* if the framework does it."""

    op: Op
    token: Token | None
    tick: Tick
    breach: Breach | None
    verb: Verb | None
    value: Value | None


@dataclass(slots=True, eq=False, kw_only=True)
class Emitted(_BaseEvent):
    """An emit.  `args` maps the verb's parameters to the argument expressions, `values` to their abstract values.

    `late` are the anchors that were completed before the emit.  `unclear` is true if `*args` or `**kwargs` may hide
    arguments.
    """

    verb: Verb
    args: Mapping[str, Expr]
    extra: tuple[Arg, ...]
    anchors: Anchors
    anchored: tuple[Token, ...]
    late: tuple[tuple[Token, Breach], ...]
    subject: Token | None  # the current tuple
    tick: Tick
    values: Mapping[str, Value]
    unclear: bool

    @property
    def payload(self) -> Expr | None:
        """The argument with the values that are sent."""
        return self.args.get(self.verb.subject or "")

    @property
    def message_id(self) -> Expr | None:
        """The argument with the message id."""
        return self.args.get(self.verb.message_id or "")


@dataclass(slots=True, eq=False, kw_only=True)
class Stored(_BaseEvent):
    """A tuple goes into a field: `how` is the method, "=" or "[]"; `key` is the subscript."""

    field: str
    token: Token
    how: str
    key: Expr | None


@dataclass(slots=True, eq=False, kw_only=True)
class Released(_BaseEvent):
    """The tuples of a field are completed here, or passed to code that cannot be analysed."""

    field: str
    completed: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Dropped(_BaseEvent):
    """A field loses tuples that are still owed: all of them, or one that was `removed` from it."""

    field: str
    removed: bool


@dataclass(slots=True, eq=False, kw_only=True)
class CallbackPassed(_BaseEvent):
    """A callable of the component is passed to `deferral.runner`, which runs it later."""


@dataclass(slots=True, eq=False, kw_only=True)
class Ended(_BaseEvent):
    """The handler ends.  `raised` is None for a normal return, else the exception class or "" if unknown."""

    state: State
    raised: str | None
    token: Token | None
    breach: Breach | None

    @property
    def tick(self) -> Tick:
        """Whether the token is a tick, as far as the path knows."""
        known = None if self.token is None else self.state.tokens.get(self.token)
        return Tick.MAYBE if known is None else known.tick

    @property
    def is_tick(self) -> bool:
        """Whether the token is certainly a tick tuple."""
        return self.tick is Tick.YES

    @property
    def is_system(self) -> bool:
        """Whether the token is certainly a system tuple."""
        return self.tick.is_system


Event: TypeAlias = Completed | Emitted | Stored | Released | Dropped | CallbackPassed | Ended


@dataclass(slots=True, eq=False, kw_only=True)
class Flow:
    """All events from one entry of a component; `limited` is true if the solver reached a cap.

    `functions` are the functions analysed.  `wrapped` is true if a decorator that cannot be analysed wraps the
    handler.
    """

    entry: Entry | None
    function: Function
    events: tuple[Event, ...]
    functions: tuple[Function, ...] = ()
    limited: bool
    wrapped: bool
