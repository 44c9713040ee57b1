"""Abstract values, and the tokens that stand for tuples.

A *token* is the abstract value of a tuple: the tuple that the framework passed in (INPUT), any element of a batch
(ELEMENT), or any tuple that a field holds (STORED).  The value None means "unknown, and not a tuple".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.model.cfg import ClassInfo, Function
from ackdoctor.model.protocol import Stage, Tick

TAKEN = "^"  # begins the path of a tuple from a collection that was taken out of its field
EACH = "[*]"  # in a path: any element of a collection that lies in a field
_MAX_PATH = 48  # characters of a path; a longer one is not extended


@unique
class TokenKind(Enum):
    """Where a tuple comes from."""

    INPUT = "input"
    ELEMENT = "element"
    STORED = "stored"


@dataclass(slots=True, unsafe_hash=True)
class Token:
    """One tuple: `name` is its name in the source; `field` and `path` locate a stored one."""

    kind: TokenKind
    name: str
    field: str = ""
    path: str = ""

    @property
    def collection(self) -> "Field":
        """The collection that holds a stored tuple, or the collection in the field that does."""
        inside = self.path.removeprefix(TAKEN)
        part = inside[: inside.rfind(EACH) + len(EACH)] if EACH in inside else ""
        return Field(self.field, taken=self.path.startswith(TAKEN), part=part)

    @property
    def members(self) -> "Field":
        """The collection that a stored object is: a list in a map of lists."""
        return self.at(EACH).collection

    def is_in(self, other: "Token") -> bool:
        """Whether it is another token, or a part of the stored object that the other one is."""
        stored = self.kind is TokenKind.STORED and (self.kind, self.field) == (other.kind, other.field)
        return self == other or (stored and self.path.startswith(f"{other.path}."))

    def at(self, step: str) -> "Token":
        """A part of a stored object."""
        return (
            self if len(self.path) > _MAX_PATH else Token(self.kind, self.name, self.field, self.path + step)
        )

    @property
    def words(self) -> str:
        """The tuple as a message names it."""
        return f"`{self.name}`" if self.kind is TokenKind.INPUT else f"a tuple of `{self.name}`"


class TokenState(NamedTuple):
    """The typestate of a token: its stage in the protocol; `holders`: fields ("self.pending") or a callee."""

    stage: Stage
    tick: Tick = Tick.MAYBE
    holders: tuple[str, ...] = ()


# ---- values ----


@dataclass(slots=True, unsafe_hash=True)
class TokenRef:
    """The tuple itself, or its id if `part` is "id"."""

    token: Token
    part: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Batch:
    """The list of tuples that a batch handler receives, or a part of it; `token` is any one of them."""

    token: Token
    whole: bool = True


@dataclass(slots=True, unsafe_hash=True)
class Zipped:
    """A batch zipped or enumerated: each row has the tuple in one column, and its index in the first if `numbered`."""

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
    """The length of a batch or list minus `less`, or the range from 0 up to that number."""

    of: "Batch | Container"
    less: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Index:
    """The index of the current tuple in its batch; without a token, an index that differs in each iteration."""

    token: Token | None = None


@dataclass(slots=True, unsafe_hash=True)
class Picked:
    """The tuple at a fixed index of a batch, the same in each iteration: `tups[0]`."""

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
    """`self.name`: a method of the component or a verb of the framework; the lookup starts after class `after`.

    If `on` is set, the method belongs to that framework object instead.
    """

    name: str
    after: ClassInfo | None = None
    on: str = ""


@dataclass(slots=True, unsafe_hash=True)
class FrameworkObject:
    """An object of the framework, by the name in its verbs' `on`: a collector, or a tuple without a token."""

    kind: str


@dataclass(slots=True, unsafe_hash=True, repr=False)
class Instance:
    """An object of a project class other than the component; `fields` holds constructor-assigned fields and captured locals."""

    cls: ClassInfo
    fields: tuple[tuple[str, "Value"], ...] = ()

    def __repr__(self) -> str:
        return f"Instance({self.cls.path}, {self.cls.qualname}, {self.fields!r})"


@dataclass(slots=True, unsafe_hash=True)
class TupleAttribute:
    """An attribute read from a tuple: "component", "stream" or "task"."""

    token: Token
    name: str


@dataclass(slots=True, unsafe_hash=True)
class FunctionRef:
    """A function of the project with the captured variables that matter; if `bare`, without its decorators."""

    function: Function
    captured: tuple[tuple[str, "Value"], ...] = ()
    bare: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Partial:
    """`functools.partial(target, *args)`; `names` are those of the arguments, with None for one by position."""

    target: "Value"
    args: tuple["Value | None", ...]
    names: tuple[str | None, ...] = ()


@dataclass(slots=True, unsafe_hash=True)
class OneOf:
    """One of these pieces of code: `{True: self.ack, False: self.fail}[ok]`."""

    items: frozenset["Value"]


@dataclass(slots=True, unsafe_hash=True)
class External:
    """A name that leads outside the project."""

    names: tuple[str, ...]


@dataclass(slots=True, unsafe_hash=True)
class Const:
    """A literal."""

    value: object


@dataclass(slots=True, unsafe_hash=True)
class Container:
    """A local list, tuple, set, dict or object that holds these values; `order` lists all elements if known, and `keys` those of a dict."""

    items: frozenset["Value"]
    order: tuple["Value | None", ...] | None = None
    keys: tuple[object, ...] = ()


@dataclass(slots=True, unsafe_hash=True)
class Field:
    """The value of `self.name`, or a view of it; `taken` if the field has got another collection since.

    `part` is the path of the elements of a collection inside it, such as a list in a map of lists.
    """

    name: str
    taken: bool = False
    part: str = ""

    @property
    def element(self) -> Token:
        """Any one tuple in this collection."""
        return Token(
            TokenKind.STORED, f"self.{self.name}", self.name, (TAKEN if self.taken else "") + self.part
        )

    @property
    def place(self) -> Token:
        """Where a collection inside a field lies: in any element of the collection around it."""
        return replace(self.element, path=self.element.path.removesuffix(EACH))

    def collection_is_in(self, token: Token) -> bool:
        """Whether a collection inside a field is a stored object, or a part of it."""
        return replace(self, part="").holds(token) and self.place.path.startswith(token.path)

    def holds(self, token: Token) -> bool:
        """Whether a tuple lies in this collection, perhaps in a part of it."""
        same = token.field == self.name and token.path.startswith(TAKEN) == self.taken
        return same and token.path.removeprefix(TAKEN).startswith(self.part)


@dataclass(slots=True, unsafe_hash=True)
class TickTest:
    """The result of testing whether a tuple is a tick, or another system tuple."""

    token: Token
    kind: Tick = Tick.YES


@dataclass(slots=True, unsafe_hash=True)
class ExceptionValue:
    """An exception object of that class (dotted, as written)."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class GeneratorResult:
    """What a generator has yielded, with the token states at its last `yield` or, once suspended, those after it.

    `items` holds only the tuples among the yielded values; `empty` is true if the generator yields no element.
    """

    items: "frozenset[Value]" = frozenset()
    token_states: frozenset[tuple[Token, TokenState]] = frozenset()
    empty: bool = False


EMPTY_GENERATOR = GeneratorResult(empty=True)


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
    | FrameworkObject
    | Instance
    | TupleAttribute
    | FunctionRef
    | Partial
    | OneOf
    | External
    | Const
    | Container
    | GeneratorResult
    | Field
    | TickTest
    | ExceptionValue
)


def tokens_in(value: Value | None) -> Iterator[Token]:
    """Every token in a value."""
    match value:
        case TokenRef(token=token) | Batch(token=token) | Zipped(token=token) | Row(token=token):
            yield token
        case Container(items=items) | GeneratorResult(items=items) | OneOf(items=items):
            for item in sorted(items, key=repr):
                yield from tokens_in(item)
        case FunctionRef(captured=parts) | Instance(fields=parts):
            for _, item in parts:
                yield from tokens_in(item)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from tokens_in(part)
        case _:
            return


def fields_in(value: Value | None) -> Iterator[str]:
    """Every field of the component that a value is, or from which a tuple in it comes."""
    if isinstance(value, Field):
        yield value.name
    yield from (token.field for token in tokens_in(value) if token.field)


# ---- widening ----

_NESTED = (Container, FunctionRef, Instance, Partial, Count, GeneratorResult)
_MAX_DEPTH = 5  # of containers in containers and closures that capture closures


def widen(value: Value) -> Value:
    """Replace what is nested deeper than `_MAX_DEPTH` by one container of the tuples in it.

    Without widening, `rows = [rows, *rows]` in a loop would nest one level deeper in each iteration.
    """
    return _truncate(value, _MAX_DEPTH) if isinstance(value, _NESTED) else value


def _truncate(value: Value, depth: int) -> Value:
    if not isinstance(value, _NESTED):
        return value
    if depth == 0:
        return Container(frozenset(TokenRef(token) for token in tokens_in(value)))

    def inner(each: Value) -> Value:
        return _truncate(each, depth - 1)

    match value:
        case Container(items=items, order=order, keys=keys):
            row = None if order is None else tuple(each if each is None else inner(each) for each in order)
            return Container(frozenset(map(inner, items)), row, keys)
        case FunctionRef(function=function, captured=captured, bare=bare):
            return FunctionRef(function, tuple((name, inner(each)) for name, each in captured), bare)
        case Instance(cls=cls, fields=fields):
            return Instance(cls, tuple((name, inner(each)) for name, each in fields))
        case Partial(target=target, args=args, names=names):
            return Partial(
                inner(target), tuple(each if each is None else inner(each) for each in args), names
            )
        case Count(of=Container() as whole, less=less):
            counted = inner(whole)
            return Count(counted, less) if isinstance(counted, Container) else value
        case GeneratorResult(items=items, token_states=token_states, empty=empty):
            return GeneratorResult(frozenset(map(inner, items)), token_states, empty)
        case _:
            return value
