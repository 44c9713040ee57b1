"""What an expression is as far as the protocol cares: tuple tokens and abstract values.

A *token* stands for one tuple that the framework handed in (INPUT), for any one element of a batch (ELEMENT), or for
any one tuple that a field holds (STORED).  None as a value means "something else".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.path.generators import Generated
from ackdoctor.model.component import ClassInfo, Function
from ackdoctor.model.protocol import State as Stage
from ackdoctor.model.protocol import Tick

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
    "Partial",
    "Picked",
    "Row",
    "SelfRef",
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
