"""What the solver saw: every completion, emit, store and exit, with the path that led there.

A check reads sightings; it never walks the graph itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import TypeAlias

from ackdoctor.flow.path.lattice import State, Tick, Token, Value
from ackdoctor.flow.path.trail import Trail
from ackdoctor.model.cfg import Arg, Expr, Step
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
    "Stored",
]


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
