"""What the transfer functions share while one component is solved."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ackdoctor.flow.graph.expressions import names_in, subexpressions
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.linking.program import Program
from ackdoctor.flow.path.lattice import Holding, State, Tick, Token, TokenKind, Value
from ackdoctor.flow.path.questions import amounts, has_any, is_field, iterators, spelled_out, wholes
from ackdoctor.flow.path.rounds import count_of, counted_by, less
from ackdoctor.flow.path.sighting import Deferral, Sighting
from ackdoctor.flow.path.trail import Trail
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    Expr,
    Global,
    IsType,
    Item,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Test,
)
from ackdoctor.model.component import Component, Function, Unit
from ackdoctor.model.dialect import Verb
from ackdoctor.model.protocol import State as Stage

__all__ = ["Context", "Later", "normalised", "subject", "tested_names", "tested_subjects"]


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


_FLIPPED = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", "<=": ">"}


def normalised(condition: Expr) -> tuple[Expr, bool]:
    """A condition in its positive form, and whether it was already positive."""
    if isinstance(condition, Not):
        fact, same = normalised(condition.value)
        return fact, not same
    if not isinstance(condition, Compare):
        return has_any(condition)
    left, more = count_of(condition.left)
    positive = condition.op not in _FLIPPED
    fact, same = has_any(Compare(left, _FLIPPED.get(condition.op, condition.op), less(condition.right, more)))
    return fact, same == positive


def subject(condition: Expr) -> Expr:
    """What a condition asks about."""
    return condition.left if isinstance(condition, Compare) else condition


@once
def tested_subjects(function: Function) -> frozenset[Expr]:
    """What is asked about more than once, by several tests, in a loop or by a helper that is given it: only these facts are worth keeping."""
    seen: dict[Expr, int] = {}
    looped = _looped(function)
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Test(condition=condition):
                asked = subject(normalised(spelled_out(function, condition))[0])
                seen[asked] = seen.get(asked, 0) + (2 if index in looped else 1)
                said = spelled_out(function, condition)
                for other in _beside(said.right) if isinstance(said, Compare) else ():
                    seen[other] = seen.get(other, 0) + 1
            case Bind(value=value) if isinstance(
                value, (Name, Attr, Item, Compare, Not, IsType, Mix)
            ):  # and then by another name
                said = spelled_out(function, value)
                if not isinstance(value, Mix):
                    asked = subject(normalised(said)[0])
                    seen[asked] = seen.get(asked, 0) + (2 if index in looped else 1)
                for other in (*amounts(said), *iterators(function).get(value, ())):
                    seen[other] = seen.get(other, 0) + 1
            case Call(
                func=Name() | Global() | Attr(obj=Name()), args=args
            ):  # perhaps by a helper's parameter
                for arg in args:
                    if isinstance(arg.value, (Name, Attr)):
                        seen[arg.value] = seen.get(arg.value, 0) + 1
            case Next(iterable=iterable, loop=loop):
                counted = counted_by(function).get(loop)
                for asked in (*wholes(function, iterable), *(_beside(counted.stop) if counted else ())):
                    seen[asked] = seen.get(asked, 0) + 1
            case _:
                pass
    return frozenset(asked for asked, count in seen.items() if count > 1)


def _beside(bound: Expr) -> Iterator[Expr]:
    """What is asked about where a number is compared with this: the locals and fields in it, and whether there is anything in those."""
    yield from (part for part in subexpressions(bound) if isinstance(part, Name) or is_field(part))
    yield from amounts(bound)


def _looped(function: Function) -> frozenset[int]:
    """The steps inside a loop."""
    return frozenset(index for body in function.cfg.bodies.values() for index in body)


@once
def tested_names(function: Function) -> frozenset[str]:
    """Locals whose constant value decides something: tested, returned, given to a function or captured by a closure."""
    names: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=condition):
                names.update(names_in(condition) if isinstance(condition, Compare) else ())
                names.update((condition.id,) if isinstance(condition, Name) else ())
            case Bind(value=Compare() as condition):
                names.update(names_in(condition))
            case Return(value=Name(id=name)):
                names.add(name)
            case Call(func=Name() | Global() | Attr(obj=Name()), args=args):
                names.update(arg.value.id for arg in args if isinstance(arg.value, Name))
            case _:
                pass
    for inner in function.closures.values():
        names |= inner.captures
    return frozenset(names | _sources(function, names))


def _sources(function: Function, names: set[str]) -> set[str]:
    """The locals that are copied into these: `failed = flag`."""
    copies = [
        (step.op.target.id, step.op.value.id)
        for step in function.cfg.steps
        if isinstance(step.op, Bind) and isinstance(step.op.target, Name) and isinstance(step.op.value, Name)
    ]
    found = set(names)
    for _ in copies:
        before = len(found)
        found |= {source for target, source in copies if target in found}
        if len(found) == before:
            break
    return found
