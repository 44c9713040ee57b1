"""The state of one path, and the values that it holds, which are those of `values`.

A `State` is one path's knowledge; the abstract state at a step is the set of them (states that differ in nothing are
one, which is the join).
"""

from collections.abc import Mapping
from typing import NamedTuple

from ackdoctor.flow.graph.expressions import about, apart_from, names_in
from ackdoctor.flow.path.values import (
    Batch,
    BoundMethod,
    Coll,
    Const,
    Count,
    External,
    Field,
    FunctionRef,
    Handle,
    Holding,
    Index,
    Instance,
    Partial,
    Picked,
    Row,
    SelfRef,
    SuperRef,
    Thrown,
    Tick,
    TickTest,
    Token,
    TokenKind,
    TokenRef,
    Trait,
    Value,
    Zipped,
    tokens_in,
    widened,
)
from ackdoctor.model.cfg import Expr, Name

__all__ = [
    "Batch",
    "BoundMethod",
    "Coll",
    "Const",
    "Count",
    "External",
    "Field",
    "FunctionRef",
    "Handle",
    "Holding",
    "Index",
    "Instance",
    "LoopMemory",
    "Partial",
    "Picked",
    "Row",
    "SelfRef",
    "State",
    "SuperRef",
    "Thrown",
    "Tick",
    "TickTest",
    "Token",
    "TokenKind",
    "TokenRef",
    "Trait",
    "Value",
    "Zipped",
    "tokens_in",
]


class LoopMemory(NamedTuple):
    """What a loop remembers: a batch's holding before it and the locals it was among, the worst an earlier round left, the rounds of a known list."""

    base: Holding | None
    rest: Holding | None
    position: int = 0
    among: frozenset[str] = frozenset()


_EMPTY: Mapping[str, Value] = {}


class State:
    """One path's knowledge at one step; never changed once made.

    `env` holds the locals of the current function, `fields` what fields are known to hold, `tokens` the
    holding of each tuple, `facts` the conditions this path has decided, `loops` the loops it is inside,
    `caught` the handler (path, line) it last went through, `raising` the exception class under way.
    """

    __slots__ = ("about", "caught", "env", "facts", "fields", "keyed", "loops", "raising", "tokens")

    def __init__(
        self,
        *,
        env: Mapping[str, Value] = _EMPTY,
        tokens: Mapping[Token, Holding] | None = None,
        fields: Mapping[str, Value] = _EMPTY,
        facts: Mapping[Expr, bool] | None = None,
        loops: Mapping[int, LoopMemory] | None = None,
        caught: tuple[str, int] | None = None,
        raising: str | None = None,
    ) -> None:
        self.env = env
        self.tokens = tokens if tokens is not None else {}
        self.fields = fields
        self.facts = facts if facts is not None else {}
        self.loops = loops if loops is not None else {}
        self.caught = caught
        self.raising = raising
        self.keyed: object = None
        self.about: frozenset[str] | None = None  # the locals that the facts read

    def key(self) -> object:
        """What makes two states the same; hashable."""
        if self.keyed is None:
            self.keyed = (
                frozenset(self.env.items()),
                frozenset(self.tokens.items()),
                frozenset(self.fields.items()),
                frozenset(self.facts.items()),
                frozenset(self.loops.items()),
                self.caught,
                self.raising,
            )
        return self.keyed

    def but(self, **changes: object) -> "State":
        """This state with some parts replaced."""
        made = State.__new__(State)
        made.env, made.tokens, made.fields, made.facts = self.env, self.tokens, self.fields, self.facts
        made.loops, made.caught, made.raising, made.keyed = self.loops, self.caught, self.raising, None
        made.about = self.about if changes.get("facts", self.facts) is self.facts else None
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    def bind(self, name: str, value: Value | None) -> "State":
        """The local `name` now is `value`; facts about it die."""
        if self.about is None:
            self.about = frozenset(each for fact in self.facts for each in names_in(fact))
        stale = about(self.facts, Name(name)) if name in self.about else ()
        facts = apart_from(self.facts, stale)
        if value is None:
            if name not in self.env:
                return self if facts is self.facts else self.but(facts=facts)
            env = {key: old for key, old in self.env.items() if key != name}
        else:
            env = {**self.env, name: widened(value)}
        return self.but(env=env, facts=facts)

    def hold(self, token: Token, holding: Holding) -> "State":
        """The token's holding from here on."""
        if self.tokens.get(token) == holding:
            return self
        return self.but(tokens={**self.tokens, token: holding})

    def weakened(self) -> "State":
        """The state without what only prunes: the cap's first resort."""
        env = {name: value for name, value in self.env.items() if not isinstance(value, Const)}
        return self.but(facts={}, env=env)
