"""What the transfer functions share while one component is solved."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ackdoctor.flow.events import Deferral, Sighting, Trail
from ackdoctor.flow.program import Program
from ackdoctor.flow.state import Holding, State, Tick, Token, TokenKind, Value
from ackdoctor.model.component import Component, Function, Unit
from ackdoctor.model.dialect import Verb
from ackdoctor.model.protocol import State as Stage

__all__ = ["Context", "Later"]


@dataclass(slots=True, unsafe_hash=True)
class Later:
    """A callable that was handed over, and the state it will find."""

    target: Value
    args: tuple[Value | None, ...]
    state: State
    deferral: Deferral
    trail: Trail


@dataclass(slots=True, eq=False)
class Context:
    """One component being solved from one entry.

    `subject` is the tuple (or batch element) the framework handed in; `held` the fields known to hold
    tuples, with the stage those tuples are in once their own handler has returned.
    """

    program: Program
    component: Component
    subject: Token | None
    held: dict[str, Stage]
    deferral: Deferral | None = None
    sightings: dict[object, Sighting] = field(default_factory=dict)
    later: list[Later] = field(default_factory=list)
    limited: bool = False
    steps_left: int = 20_000
    entered: dict[int, Function] = field(default_factory=dict)  # functions looked into, by id
    offers: dict[tuple[str, str], tuple[Verb, ...]] = field(default_factory=dict)  # calls by place and name
    own: dict[str, Value] = field(default_factory=dict)  # what fields are of which a path knows nothing more
    changes: dict[int, frozenset[str]] = field(
        default_factory=dict
    )  # fields that functions may change, by id
    reaches: dict[int, object] = field(default_factory=dict)  # what functions lead to, by id
    settings: frozenset[str] | None = (
        None  # fields that nothing fills while the component runs, if looked for
    )
    verb_names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Nearly every call is asked whether it may be one of them."""
        self.verb_names = frozenset(verb.name for verb in self.verbs())

    def unit(self, function: Function) -> Unit:
        """The file that a function stands in."""
        return self.program.units[function.path]

    def see(self, sighting: Sighting, *key: object) -> None:
        """Keep a sighting unless the same was seen on a shorter path."""
        full = (type(sighting), id(sighting.step), id(sighting.deferral), *key)
        self.sightings.setdefault(full, sighting)

    def holding(self, state: State, token: Token) -> Holding:
        """A token's holding; a tuple read from a field starts in the stage its own handler left it in."""
        if token in state.tokens:
            return state.tokens[token]
        if token.kind is TokenKind.STORED:
            return Holding(self.held.get(token.field, Stage.OWED), Tick.NO)
        return Holding(Stage.OWED)

    @property
    def typed(self) -> bool:
        """Whether the framework's objects are known by their declared types."""
        return bool(self.component.dialect.objects)

    def verbs(self) -> Iterable[Verb]:
        """The framework's calls that this component may make."""
        return (*self.component.role.verbs, *self.component.dialect.verbs)

    def verbs_of(self, on: str, name: str) -> tuple[Verb, ...]:
        """The calls of that name on one of the framework's objects."""
        key = (on, name)
        if key not in self.offers:
            self.offers[key] = tuple(verb for verb in self.verbs() if verb.on == on and verb.name == name)
        return self.offers[key]
