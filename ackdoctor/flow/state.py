"""The abstract domain: abstract values, the state of each tuple, and the abstract state of one path.

A *token* is the abstract value of a tuple: the tuple that the framework passed in (INPUT), any element of a batch
(ELEMENT), or any tuple that a field holds (STORED).  The value None means "unknown, and not a tuple".

A `State` is what one path knows.  The abstract state at a step is the set of the states of all paths to it; equal
states are joined, so the analysis is path-sensitive (property simulation).  `State.widen` and `widen` bound it.

A generator of the project is solved to its end where it is called, but a loop over it runs in the middle of it:

    def words(self, tup):
        for word in tup.values[0].split():
            yield word                          `tup` is owed while the loop below runs
        self.ack(tup)                           and acked after the loop

    for word in self.words(tup):
        self.emit([word])

So in the loop body, the generator holds the tuples that it completes after its last `yield`; after the loop they are
completed (`suspend_generator`, `finish_generator`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.expressions import facts_about, memoize, mentions, names_in, without_facts
from ackdoctor.model.cfg import Bind, ClassInfo, Expr, Function, Name, Next, Yield
from ackdoctor.model.protocol import Stage, Tick

# ---- tokens ----

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
    """The typestate of a token: its stage in the protocol; `holder` is the field ("self.pending") or callee that holds it."""

    stage: Stage
    tick: Tick = Tick.MAYBE
    holder: str = ""


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


# ---- widening of values ----

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


# ---- the state of one path ----


class Contents(NamedTuple):
    """What a path has done with the tuples in a collection: all of them, or some, are in this stage."""

    stage: Stage | None
    every: bool


EMPTY = Contents(None, every=True)  # the field is empty
FOUND = Contents(Stage.OWED, every=False)  # its tuples, if there are any, are as the handler found them
OWED = Contents(Stage.OWED, every=True)  # the same, and there is one
LEFT = Contents(Stage.HELD, every=False)  # some are completed, and an exception left others as it found them
UNKNOWN = Contents(None, every=False)  # its tuples have different stages


class Cell(NamedTuple):
    """A place that a path knows: in the object of a local, by the local's shared name, or "" for the local itself."""

    local: str
    place: str = ""


_NO_CELLS: Mapping[Cell, "Const"] = {}
_NO_BOXES: Mapping[str, str] = {}


class Heap(NamedTuple):
    """What a path knows of memory that several functions share.

    `cells` holds the known constants.  `boxes` maps each box to the class of an object that holds one value, or "".
    Opaque code may write the locals that are `exposed`.
    """

    cells: Mapping[Cell, "Const"] = _NO_CELLS
    boxes: Mapping[str, str] = _NO_BOXES
    exposed: frozenset[str] = frozenset()

    def store(self, cell: Cell, value: "Value | None") -> "Heap":
        """This memory with another value in one cell; only constants are kept."""
        cells = {each: held for each, held in self.cells.items() if each != cell}
        if isinstance(value, Const):
            cells[cell] = value
        return self._replace(cells=cells)

    def without_places(self, local: str) -> "Heap":
        """This memory without the places in the object of a local."""
        cells = {cell: held for cell, held in self.cells.items() if cell.local != local or not cell.place}
        return self._replace(cells=cells)


NO_HEAP = Heap()


class Live(NamedTuple):
    """What later steps read: locals by name, and the subjects of facts."""

    names: frozenset[str]
    subjects: frozenset[Expr]


class LoopState(NamedTuple):
    """What a path remembers of a loop.

    `base` is the state of the batch's token before the loop, `rest` the worst state in which an earlier iteration left
    it.  `containers` are the locals that held the token in a container before the loop.  In a loop over known elements,
    `position` is the index of the next one; in a loop with a body counter, whether iterations were missed, and `counted`
    whether the current one has been counted.  In a loop over a field, `field` is that collection and `before` its contents before the loop.
    """

    base: TokenState | None
    rest: TokenState | None
    position: int = 0
    counted: bool = False
    containers: frozenset[str] = frozenset()
    field: Field | None = None
    before: Contents | None = None


_EMPTY: Mapping[str, Value] = {}


class State:
    """What one path knows at one step; immutable.

    `env` maps the locals of the current function to values, `fields` the component's fields; `tokens` maps each
    tuple to its state; `contents` maps each collection that the path has worked on to what it did with all tuples in it;
    `facts` are the conditions that the path has decided; `aliases` are pairs of access paths of one object;
    `final` are the conditions on final fields that other functions may test; `heap` is shared memory;
    `loops` are the enclosing loops;
    `caught` is the handler (path, line) that it last entered; `raising` is the class of the exception in flight.
    """

    __slots__ = (
        "aliases",
        "cached_key",
        "caught",
        "contents",
        "env",
        "facts",
        "facts_read",
        "fields",
        "final",
        "heap",
        "loops",
        "raising",
        "tokens",
    )

    def __init__(
        self,
        *,
        env: Mapping[str, Value] = _EMPTY,
        tokens: Mapping[Token, TokenState] | None = None,
        fields: Mapping[str, Value] = _EMPTY,
        contents: Mapping[Field | Batch, Contents] | None = None,
        facts: Mapping[Expr, bool] | None = None,
        aliases: frozenset[tuple[Expr, Expr]] = frozenset(),
        final: Mapping[Expr, bool] | None = None,
        heap: Heap = NO_HEAP,
        loops: Mapping[int, LoopState] | None = None,
        caught: tuple[str, int] | None = None,
        raising: str | None = None,
    ) -> None:
        self.env = env
        self.tokens = tokens if tokens is not None else {}
        self.fields = fields
        self.contents = contents if contents is not None else {}
        self.facts = facts if facts is not None else {}
        self.aliases = aliases
        self.final = final if final is not None else {}
        self.heap = heap
        self.loops = loops if loops is not None else {}
        self.caught = caught
        self.raising = raising
        self.cached_key: object = None
        self.facts_read: frozenset[str] | None = None  # the locals in the facts and aliases

    def key(self) -> object:
        """A hashable key; two states with equal keys are joined."""
        if self.cached_key is None:
            self.cached_key = (
                frozenset(self.env.items()),
                frozenset(self.tokens.items()),
                frozenset(self.fields.items()),
                frozenset(self.contents.items()),
                frozenset(self.facts.items()),
                self.aliases,
                frozenset(self.final.items()),
                frozenset(self.heap.cells.items()),
                frozenset(self.heap.boxes.items()),
                self.heap.exposed,
                frozenset(self.loops.items()),
                self.caught,
                self.raising,
            )
        return self.cached_key

    def replace(self, **changes: object) -> "State":
        """This state with some attributes replaced."""
        new = State.__new__(State)
        new.env, new.tokens, new.fields, new.facts = self.env, self.tokens, self.fields, self.facts
        new.contents, new.aliases, new.final, new.heap = self.contents, self.aliases, self.final, self.heap
        new.loops, new.caught, new.raising, new.cached_key = self.loops, self.caught, self.raising, None
        new.facts_read = None if "facts" in changes or "aliases" in changes else self.facts_read
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def bind(self, name: str, value: Value | None) -> "State":
        """Assign a value to a local; facts about the local are dropped."""
        if self.facts_read is None:
            read = (*self.facts, *(side for pair in self.aliases for side in pair))
            self.facts_read = frozenset(each for expr in read for each in names_in(expr))
        state = self.forget(Name(name)) if name in self.facts_read else self
        if value is not None:
            return state.replace(env={**self.env, name: widen(value)})
        if name not in self.env:
            return state
        return state.replace(env={key: old for key, old in self.env.items() if key != name})

    def forget(self, target: Expr) -> "State":
        """This state without the facts and aliases that mention the target."""
        stale = facts_about(self.facts, target)
        aliases = [pair for pair in self.aliases if not any(mentions(side, target) for side in pair)]
        if not stale and len(aliases) == len(self.aliases):
            return self
        return self.replace(facts=without_facts(self.facts, stale), aliases=frozenset(aliases))

    def with_token(self, token: Token, token_state: TokenState) -> "State":
        """This state with another state of one token."""
        if self.tokens.get(token) == token_state:
            return self
        return self.replace(tokens={**self.tokens, token: token_state})

    def with_contents(self, collection: Field | Batch, contents: Contents | None) -> "State":
        """This state with other contents of one collection; None if its tuples are as the handler found them.

        What the path knew of the collections in it is forgotten.
        """
        others = {
            each: known
            for each, known in self.contents.items()
            if not (
                isinstance(each, Field) and isinstance(collection, Field) and collection.holds(each.element)
            )
            and each != collection
        }
        if contents is not None:
            others[collection] = contents
        return self if others == self.contents else self.replace(contents=others)

    def known_contents(self, collection: "Field") -> Contents | None:
        """What the path has done with the tuples in a collection, or with all in the collection around it."""
        known = self.contents.get(collection)
        if known is not None or not collection.part:
            return known
        around = self.known_contents(collection.place.collection)
        return around if around is not None and around.stage in (None, Stage.ACKED, Stage.FAILED) else None

    def without_buffers(self) -> "State":
        """This state without what it knows of the tuples in fields, unless they are completed."""
        tokens = {
            token: held
            for token, held in self.tokens.items()
            if token.kind is not TokenKind.STORED or held.stage in (Stage.ACKED, Stage.FAILED)
        }
        return self.replace(contents={}, tokens=tokens)

    def widen(self) -> "State":
        """This state without facts, aliases and constants, which only prune paths."""
        env = {name: value for name, value in self.env.items() if not isinstance(value, Const)}
        return self.replace(facts={}, aliases=frozenset(), env=env)


# ---- generators ----


def suspend_generator(state: State, result: GeneratorResult, generator: str) -> tuple[State, GeneratorResult]:
    """The state that a loop body sees, from the state at the generator's end, and the result of the generator."""
    if result.empty:
        return state, result
    pending: list[tuple[Token, TokenState]] = []
    known = dict(result.token_states)  # a tuple from a field is in it only once the generator has used it
    for token, now in state.tokens.items():
        before = known.get(token)
        changed = before is None or now.stage is not before.stage
        if changed and now.stage in (Stage.ACKED, Stage.FAILED):
            pending.append((token, now))
            state = state.with_token(token, now._replace(stage=Stage.HELD, holder=generator))
    return state, GeneratorResult(result.items, frozenset(pending), result.empty)


def finish_generator(state: State, result: GeneratorResult) -> State:
    """The state after the generator's end: the tuples that it held are completed."""
    for token, token_state in result.token_states:
        now = state.tokens.get(token)  # None if the loop has looked up another tuple in the field
        if now is not None and now.stage is Stage.HELD:
            state = state.with_token(token, token_state)
    return state


@memoize
def iterated_locals(function: Function) -> frozenset[Expr]:
    """The locals that a loop or a `yield from` iterates over, and the locals copied into them."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=Name() as iterable) | Yield(value=Name() as iterable, delegate=True):
                found.add(iterable)
            case _:
                pass
    copies = [step.op for step in function.cfg.steps if isinstance(step.op, Bind) and step.op.target in found]
    return frozenset(found | {copy.value for copy in copies})
