"""Abstract values and the abstract state of one path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.expressions import about, apart_from, memoize, names_in
from ackdoctor.model.cfg import Bind, Expr, Name, Next, Yield
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.protocol import State as Stage
from ackdoctor.model.protocol import Tick

__all__ = [
    "NOTHING",
    "Batch",
    "BoundMethod",
    "Coll",
    "Const",
    "Count",
    "External",
    "Field",
    "FunctionRef",
    "Generated",
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
    "ended",
    "paused",
    "taken_one_by_one",
    "tokens_in",
    "widened",
]


@unique
class TokenKind(Enum):
    """Where a tuple comes from."""

    INPUT = "input"
    ELEMENT = "element"
    STORED = "stored"


@dataclass(slots=True, unsafe_hash=True)
class Token:
    """One tuple: `name` is how the reader knows it; `field` and `path` say where a stored one lies."""

    kind: TokenKind
    name: str
    field: str = ""
    path: str = ""

    @property
    def words(self) -> str:
        """The tuple as a sentence names it."""
        return f"`{self.name}`" if self.kind is TokenKind.INPUT else f"a tuple of `{self.name}`"


class Holding(NamedTuple):
    """A token's stage in the protocol; `holder` names the field ("self.pending") or callee that holds it."""

    stage: Stage
    tick: Tick = Tick.MAYBE
    holder: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Generated:
    """What a generator has given so far, with the tuples' holdings at its last `yield`; or all that it gives, with those it leaves behind that.

    Only the tuples among its elements are in `items`; `nothing` says that it has no element at all.
    """

    items: "frozenset[Value]" = frozenset()
    holdings: "frozenset[tuple[Token, Holding]]" = frozenset()
    nothing: bool = False


NOTHING = Generated(nothing=True)


# ---- values ----


@dataclass(slots=True, unsafe_hash=True)
class TokenRef:
    """The tuple itself, or its id where `part` is "id"."""

    token: Token
    part: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Batch:
    """The list of tuples a batch handler receives; `token` stands for any one of them."""

    token: Token


@dataclass(slots=True, unsafe_hash=True)
class Zipped:
    """A batch zipped or enumerated: each round gives a row with the tuple in one column, and if `numbered` its index in the first."""

    token: Token
    column: int
    numbered: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Row:
    """One row of a `Zipped`."""

    token: Token
    column: int
    numbered: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Count:
    """How many tuples a batch or a list has, `less` a few, and the numbers from 0 up to that."""

    of: "Batch | Coll"
    less: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Index:
    """Where in its batch the tuple is that a round is about; without a token: at another place of a list than before."""

    token: Token | None = None


@dataclass(slots=True, unsafe_hash=True)
class Picked:
    """The tuple at a place of a batch that is the same in each round: `tups[0]`."""

    token: Token


@dataclass(slots=True, unsafe_hash=True)
class SelfRef:
    """The component."""


@dataclass(slots=True, unsafe_hash=True)
class SuperRef:
    """`super()` in a method of `cls`."""

    cls: ClassInfo | None


@dataclass(slots=True, unsafe_hash=True)
class BoundMethod:
    """`self.name`: a method of the component or one of the framework's verbs; `after` starts the search behind a class.

    `on` names the framework's object whose method it is instead.
    """

    name: str
    after: ClassInfo | None = None
    on: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Handle:
    """An object of the framework, by the name that its verbs know it by: a collector, a tuple nobody follows."""

    kind: str


@dataclass(slots=True, unsafe_hash=True, repr=False)
class Instance:
    """An object of a class of the project that is not the component; `given` are the fields its constructor filled, and what it captured."""

    cls: ClassInfo
    given: tuple[tuple[str, "Value"], ...] = ()

    def __repr__(self) -> str:
        return f"Instance({self.cls.path}, {self.cls.qualname}, {self.given!r})"


@dataclass(slots=True, unsafe_hash=True)
class Trait:
    """What a tuple's getter has read: "component", "stream" or "task"."""

    token: Token
    name: str


@dataclass(slots=True, unsafe_hash=True)
class FunctionRef:
    """A function of the project, with the captured variables that matter; `bare` of its decorators if so."""

    function: Function
    captured: tuple[tuple[str, "Value"], ...] = ()
    bare: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Partial:
    """`functools.partial(target, *args)`."""

    target: "Value"
    args: tuple["Value | None", ...]


@dataclass(slots=True, unsafe_hash=True)
class External:
    """A name that leads outside the project."""

    names: tuple[str, ...]


@dataclass(slots=True, unsafe_hash=True)
class Const:
    """A literal."""

    value: object


@dataclass(slots=True, unsafe_hash=True)
class Coll:
    """A local list, tuple, set, dict or object that holds these values; `order` is all that a `*args` has, place by place."""

    items: frozenset["Value"]
    order: tuple["Value | None", ...] | None = None


@dataclass(slots=True, unsafe_hash=True)
class Field:
    """What `self.name` holds (or a view of it)."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class TickTest:
    """The answer to "is this tuple a tick?", or another tuple of Storm's own."""

    token: Token
    kind: Tick = Tick.YES


@dataclass(slots=True, unsafe_hash=True)
class Thrown:
    """An exception object of that class (dotted, as written)."""

    name: str


Value: TypeAlias = (
    TokenRef
    | Batch
    | Zipped
    | Row
    | Count
    | Index
    | Picked
    | SelfRef
    | SuperRef
    | BoundMethod
    | Handle
    | Instance
    | Trait
    | FunctionRef
    | Partial
    | External
    | Const
    | Coll
    | Generated
    | Field
    | TickTest
    | Thrown
)


def tokens_in(value: Value | None) -> Iterator[Token]:
    """Every token that a value carries, itself or inside."""
    match value:
        case TokenRef(token=token) | Batch(token=token) | Zipped(token=token) | Row(token=token):
            yield token
        case Coll(items=items) | Generated(items=items):
            for item in sorted(items, key=repr):
                yield from tokens_in(item)
        case FunctionRef(captured=captured) | Instance(given=captured):
            for _, item in captured:
                yield from tokens_in(item)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from tokens_in(part)
        case _:
            return


_DEEPEST = 5  # collections in collections, closures that capture closures


def widened(value: Value) -> Value:
    """Widening: what lies deeper in a value than `_DEEPEST` becomes one collection of the tuples in it.

    `rows = [rows, *rows]` in a loop would nest one level deeper in every round, and double in size.
    """
    return _cut(value, _DEEPEST) if isinstance(value, _NESTED) else value


_NESTED = (Coll, FunctionRef, Instance, Partial, Count, Generated)


def _cut(value: Value, room: int) -> Value:
    if not isinstance(value, _NESTED):
        return value
    if room == 0:
        return Coll(frozenset(TokenRef(token) for token in tokens_in(value)))

    def inner(each: Value) -> Value:
        return _cut(each, room - 1)

    match value:
        case Coll(items=items, order=order):
            row = None if order is None else tuple(each if each is None else inner(each) for each in order)
            return Coll(frozenset(map(inner, items)), row)
        case FunctionRef(function=function, captured=captured, bare=bare):
            return FunctionRef(function, tuple((name, inner(each)) for name, each in captured), bare)
        case Instance(cls=cls, given=given):
            return Instance(cls, tuple((name, inner(each)) for name, each in given))
        case Partial(target=target, args=args):
            return Partial(inner(target), tuple(each if each is None else inner(each) for each in args))
        case Count(of=Coll() as whole, less=less):
            counted = inner(whole)
            return Count(counted, less) if isinstance(counted, Coll) else value
        case Generated(items=items, holdings=holdings, nothing=nothing):
            return Generated(frozenset(map(inner, items)), holdings, nothing)
        case _:
            return value


def paused(state: "State", so_far: Generated, generator: str) -> "tuple[State, Generated]":
    """The state at a generator's end as a loop over it finds it in each round, and what the generator gives."""
    if so_far.nothing:
        return state, so_far
    behind: list[tuple[Token, Holding]] = []
    known = dict(so_far.holdings)  # one out of a field is not known before something is done with it
    for token, now in state.tokens.items():
        before = known.get(token)
        undone = before is None or now.stage is not before.stage
        if undone and now.stage in (Stage.ACKED, Stage.FAILED):
            behind.append((token, now))
            state = state.hold(token, now._replace(stage=Stage.HELD, holder=generator))
    return state, Generated(so_far.items, frozenset(behind), so_far.nothing)


def ended(state: "State", given: Generated) -> "State":
    """The state when a generator has run to its end: what it still held is completed."""
    for token, holding in given.holdings:
        now = state.tokens.get(token)  # none: the loop has looked up another tuple in the field
        if now is not None and now.stage is Stage.HELD:
            state = state.hold(token, holding)
    return state


@memoize
def taken_one_by_one(function: Function) -> frozenset[Expr]:
    """The locals whose elements a loop or a `yield from` takes, one after the other."""
    taken: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=Name() as iterable) | Yield(value=Name() as iterable, delegate=True):
                taken.add(iterable)
            case _:
                pass
    copies = [step.op for step in function.cfg.steps if isinstance(step.op, Bind) and step.op.target in taken]
    return frozenset(taken | {copy.value for copy in copies})


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
