"""The context of one analysis: the component, the events recorded so far, and caches shared by the transfer functions."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ackdoctor.flow.events import Deferral, Event, Path
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.program import Program
from ackdoctor.flow.state import UNKNOWN, State
from ackdoctor.flow.values import Field, FrameworkObject, Instance, Token, TokenKind, TokenState, Value
from ackdoctor.libraries import Library, library_of
from ackdoctor.model.cfg import ClassInfo, Component, Function, Unit
from ackdoctor.model.dialect import OWN, Verb, VerbKind
from ackdoctor.model.protocol import Stage, Tick


@dataclass(slots=True, unsafe_hash=True)
class DeferredCall:
    """A callable that was passed to a runner, its arguments, and the state at that point."""

    target: Value
    args: tuple[Value | None, ...]
    state: State
    deferral: Deferral
    path: Path


@dataclass(slots=True, eq=False)
class Context:
    """The analysis of one component from one entry.

    `subject` is the tuple (or batch element) that the framework passes in.  `stored_stages` maps each field that holds
    tuples to the stage of those tuples after their own handler has returned.
    """

    program: Program
    component: Component
    subject: Token | None
    stored_stages: dict[str, Stage]
    deferral: Deferral | None = None
    events: dict[object, Event] = field(default_factory=dict)
    deferred_calls: list[DeferredCall] = field(default_factory=list)
    limited: bool = False
    steps_left: int = 20_000
    entered: dict[int, Function] = field(default_factory=dict)  # functions analysed, by id
    library: Library = field(init=False)
    verb_names: frozenset[str] = field(init=False)
    own_verbs: frozenset[str] = field(init=False)  # of these, those of the component itself
    completing_names: frozenset[str] = field(init=False)  # of these, ack and fail
    # caches
    declared_objects: dict[tuple[str, str], FrameworkObject | None] = field(default_factory=dict)
    objects: dict[str, Instance | None] = field(default_factory=dict)  # the project's objects in fields
    field_values: dict[str, Value] = field(default_factory=dict)  # of fields that the path does not know
    field_classes: dict[str, ClassInfo | None] = field(default_factory=dict)  # of the project
    changed_fields: dict[int, frozenset[str]] = field(default_factory=dict)  # by id of the function
    reachable: dict[int, object] = field(default_factory=dict)  # effects, by id of the function
    final_fields: frozenset[str] | None = None
    _verbs: dict[tuple[str, str], tuple[Verb, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Collect the verbs' names: almost every call is compared with them."""
        self.library = library_of(self.component.dialect)
        self.verb_names = frozenset(verb.name for verb in self.verbs())
        self.own_verbs = frozenset(verb.name for verb in self.verbs() if verb.on == OWN)
        self.completing_names = frozenset(
            verb.name for verb in self.verbs() if verb.kind in (VerbKind.ACK, VerbKind.FAIL)
        )

    def names_completion(self, function: Function) -> bool:
        """Whether a function makes a call with the name of a verb that completes a tuple."""
        calls = calls_by_result(function).values()
        return any(last_name(call.func) in self.completing_names for call in calls)

    def unit(self, function: Function) -> Unit:
        """The file that defines a function."""
        return self.program.units[function.path]

    def record(self, event: Event, *key: object) -> None:
        """Record an event; of several with the same key, the first has the shortest path and is kept."""
        full = (type(event), id(event.step), id(event.deferral), *key)
        self.events.setdefault(full, event)

    def token_state(self, state: State, token: Token) -> TokenState:
        """The state of a token; a tuple from a field starts in the stage in which its own handler left it."""
        if token in state.tokens:
            return state.tokens[token]
        if token.kind is TokenKind.STORED:
            known = state.known_contents(token.collection)
            if known is not None and known.every and known.stage in (Stage.ACKED, Stage.FAILED):
                return TokenState(known.stage, Tick.NO)
            return TokenState(self.stored_stages.get(token.field, Stage.OWED), Tick.NO)
        return TokenState(Stage.OWED)

    def touch(self, state: State, field: Field) -> State:
        """The state after a change of a field; other fields than those that hold tuples are not followed."""
        holder, held = f"self.{field.name}", state.tokens.values()
        if field.name in self.stored_stages or any(holder in each.holders for each in held):
            return state.with_contents(field, UNKNOWN)
        return state

    def keeps(self, holder: str) -> bool:
        """Whether a field holds tuples, or the object in it holds them in a field of its own."""
        return any(each == holder or each.startswith(f"{holder}.") for each in self.stored_stages)

    def verbs(self) -> Iterable[Verb]:
        """The framework calls that this component may make."""
        return self.component.dialect.verbs_of(self.component.role)

    def verbs_of(self, on: str, name: str) -> tuple[Verb, ...]:
        """The framework calls of that name on one of the framework's objects."""
        key = (on, name)
        if key not in self._verbs:
            self._verbs[key] = tuple(verb for verb in self.verbs() if verb.on == on and verb.name == name)
        return self._verbs[key]
