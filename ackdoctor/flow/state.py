"""The abstract state of one path.

A `State` is what one path knows.  The abstract state at a step is the set of the states of all paths to it; equal
states are joined, so the analysis is path-sensitive (property simulation).  `State.widen` bounds it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ackdoctor.flow.expressions import facts_about, mentions, names_in, without_facts
from ackdoctor.flow.values import Batch, Const, Field, Token, TokenKind, TokenState, Value, widen
from ackdoctor.model.cfg import Expr, Name
from ackdoctor.model.protocol import Stage


class Contents(NamedTuple):
    """What a path has done with the tuples in a collection: all of them, or some, are in this stage."""

    stage: Stage | None
    every: bool


EMPTY = Contents(None, every=True)  # the field is empty
FOUND = Contents(Stage.OWED, every=False)  # its tuples, if there are any, are as the handler found them
OWED = Contents(Stage.OWED, every=True)  # the same, and there is one
LEFT = Contents(Stage.HELD, every=False)  # some are completed, and the path left others as it found them
UNKNOWN = Contents(None, every=False)  # its tuples have different stages


class Cell(NamedTuple):
    """A place that a path knows: in the object of a local, by the local's shared name, or "" for the local itself."""

    local: str
    place: str = ""


_NO_CELLS: Mapping[Cell, "Const"] = {}
_NO_OBJECTS: Mapping[str, str] = {}


class Heap(NamedTuple):
    """What a path knows of memory that several functions share.

    `cells` holds the known constants.  `objects` maps each local with an unaliased object to the object's class if it holds one value, or to "".
    Opaque code may write the locals that have `escaped`.
    """

    cells: Mapping[Cell, "Const"] = _NO_CELLS
    objects: Mapping[str, str] = _NO_OBJECTS
    escaped: frozenset[str] = frozenset()

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

    def without(self, objects: frozenset[str]) -> "Heap":
        """This memory without these unaliased objects."""
        return Heap(
            {cell: held for cell, held in self.cells.items() if cell.local not in objects},
            {local: kind for local, kind in self.objects.items() if local not in objects},
            self.escaped - objects,
        )


NO_HEAP = Heap()


class Live(NamedTuple):
    """What later steps read: locals by name, and the subjects of facts; `ended` are the unaliased objects that none reads."""

    names: frozenset[str]
    subjects: frozenset[Expr]
    ended: frozenset[str] = frozenset()


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
CAUGHT_BEFORE = ("", 0)  # `State.caught` in a helper, if the code around its call has entered a handler


class State:
    """What one path knows at one step; immutable.

    `env` maps the locals of the current function to values, `fields` the component's fields; `tokens` maps each
    tuple to its state; `contents` maps each collection that the path has worked on to what it did with all tuples in it;
    `facts` are the conditions that the path has decided; `aliases` are pairs of access paths of one object;
    `final` are the conditions on final fields that other functions may test; `heap` is shared memory;
    `loops` are the enclosing loops;
    `caught` is the handler (path, line) that it last entered, or CAUGHT_BEFORE;
    `raising` is the class of the exception in flight.
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
                frozenset(self.heap.objects.items()),
                self.heap.escaped,
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

    def enter_loop(self, loop: int, memory: LoopState) -> "State":
        """This state in an iteration of a loop."""
        return self.replace(loops={**self.loops, loop: memory})

    def leave_loop(self, loop: int) -> "State":
        """This state after a loop has ended."""
        return self.replace(loops={each: memory for each, memory in self.loops.items() if each != loop})

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
