"""Drives paths through the graph until nothing new is found.

A path is a chain of visits (`Trail`).  Two paths that reach a step in the same state, as far as anybody will ask
for it (`liveness`), are one from there on (property simulation), so the number of visits is bounded by steps x
states; the states of a step are capped all the same, first by dropping what only prunes, then by giving up on
further ones, which marks the result as limited.  A helper is solved once per state it is entered with; a
recursive one is solved again until its exits no longer grow.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ackdoctor.flow.aliases import alias_field_result, bind_aliases
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.invalidation import invalidate_aliases, invalidate_by_call
from ackdoctor.flow.predicates import is_field
from ackdoctor.flow.state import (
    EMPTY_GENERATOR,
    Const,
    Container,
    GeneratorResult,
    State,
    Value,
    iterated_locals,
    suspend_generator,
)
from ackdoctor.flow.transfer.assignment import assign
from ackdoctor.flow.transfer.calls import Done, resolve_call
from ackdoctor.flow.transfer.effects import (
    ANY,
    about_locals,
    by_given_code,
    callees,
    changed_fields,
    taken_to_work,
)
from ackdoctor.flow.transfer.escape import behind, behind_own, completed
from ackdoctor.flow.transfer.evaluate import declared_result
from ackdoctor.flow.transfer.heap_cells import beyond_a_call, left, unboxed
from ackdoctor.flow.transfer.liveness import Needed, needed
from ackdoctor.flow.transfer.opaque_calls import Enter
from ackdoctor.flow.transfer.typestate import WayOn, each_element, ways_on
from ackdoctor.model.cfg import ENTRY, EXIT, RAISED, Call, EdgeKind
from ackdoctor.model.component import Function

__all__ = ["Leaving", "Solver"]

STATES_PER_STEP = 32
HELPER_DEPTH = 10
WORDS = 4  # a helper's words and numbers that are told apart; of more, no path knows which it was given
ROUNDS = 3


class Leaving(NamedTuple):
    """One way a function ends: by return (with its value) or by an exception, and the visit that left."""

    raised: bool
    state: State
    value: Value | None
    path: Path


@dataclass(slots=True, eq=False)
class _Activation:
    """A function entered with one state: its exits so far."""

    exits: list[Leaving] = field(default_factory=list)
    running: bool = True
    recursive: bool = False


class Solver:
    """Solves the functions of one component, remembering helpers by the state they were entered with."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._activations: dict[tuple[int, object], _Activation] = {}
        self._depth = 0

    def solve(self, function: Function, state: State, call: Path | None = None) -> list[Leaving]:
        """Every way `function` ends when entered with `state`."""
        state = needed(function)[ENTRY].of(state)
        key = (id(function), state.key())
        known = self._activations.get(key)
        if known is not None:
            known.recursive = known.recursive or known.running
            return list(known.exits)
        activation = self._activations[key] = _Activation()
        self.context.entered[id(function)] = function
        self._depth += 1
        for _ in range(ROUNDS):
            before = len(activation.exits)
            activation.recursive = False
            self._run(function, state, call, activation)
            if not activation.recursive or len(activation.exits) == before:
                break
        self._depth -= 1
        activation.running = False
        return list(activation.exits)

    def _run(self, function: Function, state: State, call: Path | None, activation: _Activation) -> None:
        outermost = self._depth == 1
        merging = needed(function)
        if outermost:  # each way to leave the handler is told
            merging = {index: live for index, live in merging.items() if index not in (EXIT, RAISED)}
        visited: dict[int, set[object]] = {}
        seen_exits = {_exit_key(leaving, outermost=outermost) for leaving in activation.exits}
        paths = deque([Path(function, ENTRY, state, call, None)])
        context = self.context
        while paths:
            path = paths.popleft()
            if path.index in (EXIT, RAISED):
                leaving = _leave(path)
                key = _exit_key(leaving, outermost=outermost)
                if key not in seen_exits:
                    seen_exits.add(key)
                    activation.exits.append(leaving)
                continue
            if context.steps_left <= 0:
                context.limited = True
                return
            context.steps_left -= 1
            for way, inner in self._next(path):
                for each in each_element(context, path, way) if way.state.loops else (way,):
                    following = self._follow(path, each, inner, merging, visited)
                    if following is not None:
                        paths.append(following)

    def _follow(
        self,
        path: Path,
        way: WayOn,
        inner: Path | None,
        merging: Mapping[int, Needed],
        visited: dict[int, set[object]],
    ) -> Path | None:
        state = way.state
        forgot = False
        live = merging.get(way.target)
        if live is not None:
            state = live.of(state)
            keys = visited.setdefault(way.target, set())
            if len(keys) >= STATES_PER_STEP:
                state = state.widen()
                forgot = True
                if len(keys) >= 2 * STATES_PER_STEP:
                    self.context.limited = True
                    return None
            key = state.key()
            if key in keys:
                return None
            keys.add(key)
        return Path(path.function, way.target, state, path, way.kind, inner, widened=forgot)

    def _next(self, path: Path) -> Iterator[tuple[WayOn, Path | None]]:
        op = path.step.op
        if not isinstance(op, Call):
            for way in ways_on(self.context, path):
                yield way, None
            return
        outcome = resolve_call(self.context, path, op)
        if isinstance(outcome, Enter) and self._depth > HELPER_DEPTH:
            self.context.limited = True
            outcome = Done(path.state, None, may_raise=True)
        if isinstance(outcome, Done):
            yield from self._past(path, op, outcome)
        else:
            for each in (outcome, *outcome.others):
                yield from self._through(path, op, each)

    def _past(self, path: Path, op: Call, done: Done) -> Iterator[tuple[WayOn, Path | None]]:
        after = self._changed(path, op, done.state)
        for kind, target in path.step.edges:
            if kind is not EdgeKind.RAISE:
                yield WayOn(kind, target, assign(self.context, path, after, op.result, done.value)), None
            elif done.may_raise and self._worth_raising(path, target):
                # it may have done half of it
                raised = after if done.state is path.state else self._changed(path, op, path.state)
                yield (
                    WayOn(kind, target, raised if raised.raising is not None else raised.replace(raising="")),
                    None,
                )

    def _changed(self, path: Path, op: Call, after: State) -> State:
        """What a call out of sight may have changed is open behind it."""
        if path.state.facts and not self._maybe_verb(op):
            fields = self._own_fields(callees(self.context, last_name(op.func)) if is_field(op.func) else ())
            after = invalidate_aliases(path.function, path.index, path.state, after, fields)
        after = by_given_code(self.context, path.function, after, op)
        after = behind(self.context, path.function, invalidate_by_call(path.function, after, op), op)
        return bind_aliases(path.function, path.index, after)

    def _own_fields(self, functions: tuple[Function, ...]) -> frozenset[str] | None:
        """The fields that these methods may change; None where that is open."""
        known = [changed_fields(self.context, function) for function in functions]
        return frozenset[str]().union(*known) if known and not any(ANY in each for each in known) else None

    def _maybe_verb(self, op: Call) -> bool:
        """Whether a call may be one of the framework's, by its name; where types are declared those are not made on the component itself."""
        if self.context.typed and is_field(op.func):
            return False
        return last_name(op.func) in self.context.verb_names

    def _worth_raising(self, path: Path, target: int) -> bool:
        """An exception that escapes the handler itself matters only once something was completed; one in a log line, or as something is closed, until then."""
        inside = target != RAISED or self._depth > 1
        works = path.index in taken_to_work(path.function)
        if inside and not works:
            return True
        late = completed(path.state)
        return inside and not late if works else late

    def _through(self, path: Path, op: Call, enter: Enter) -> Iterator[tuple[WayOn, Path | None]]:
        before = path.state
        exits = self.solve(enter.function, enter.state, path)
        words = {leaving.value for leaving in exits if _is_word(leaving.value)}
        told: set[object] = set()
        changed = changed_fields(self.context, enter.function) if before.facts else frozenset()
        fields = None if ANY in changed else changed
        for leaving in exits:
            after = before.replace(
                tokens=leaving.state.tokens,
                fields=leaving.state.fields,
                facts=about_locals(before.facts, changed),
                caught=leaving.state.caught,
            )
            after = invalidate_aliases(path.function, path.index, before, after, fields)
            after = behind_own(path.function, invalidate_by_call(path.function, after, op), op)
            after = beyond_a_call(path.function, after)
            for kind, target in path.step.edges:
                if leaving.raised and kind is EdgeKind.RAISE:
                    yield (
                        WayOn(kind, target, after.replace(raising=leaving.state.raising or "")),
                        leaving.path,
                    )
                elif not leaving.raised and kind is not EdgeKind.RAISE:
                    value = leaving.value
                    if value is None:
                        value = declared_result(self.context, enter.function)
                    if isinstance(value, GeneratorResult):
                        after, value = _given(path.function, op, after, value, enter.function.name)
                    if value in words and (op.dropped or len(words) > WORDS):
                        value = None
                    bound = assign(self.context, path, after, op.result, value)
                    bound = alias_field_result(path.function, bound, op, value)
                    if _means_something(leaving, exits):
                        bound = bound.replace(facts={**bound.facts, op.result: True})
                    if value is not leaving.value and bound.key() in told:
                        continue  # the same, in other words
                    told.add(bound.key())
                    yield WayOn(kind, target, bound), leaving.path


def _given(
    function: Function, call: Call, after: State, so_far: GeneratorResult, generator: str
) -> tuple[State, Value | None]:
    """What a generator gives to a loop over it; elsewhere it is taken to run to its end at once."""
    if call.result in iterated_locals(function):
        return suspend_generator(after, so_far, generator)
    return after, Container(so_far.items) if so_far.items else None


def _is_word(value: Value | None) -> bool:
    return isinstance(value, Const) and not isinstance(value.value, (bool, type(None)))


def _means_something(leaving: Leaving, exits: list[Leaving]) -> bool:
    """Whether a helper's result, of which nothing is known, is what it gives instead of the None for a tuple it completed."""
    return leaving.value is None and any(
        other.value in (Const(None), Const(value=False)) and other.state.tokens != leaving.state.tokens
        for other in exits
        if not other.raised
    )


def _exit_key(leaving: Leaving, *, outermost: bool) -> object:
    """What makes two exits one: the state, and in the handler itself also the statement that leaves."""
    where = leaving.path.before.index if outermost and leaving.path.before is not None else 0
    return (leaving.raised, leaving.state.key(), leaving.value, where)


def _leave(path: Path) -> Leaving:
    raised = path.index == RAISED
    state = unboxed(path.function, left(path.function, path.state))
    after = State(tokens=state.tokens, fields=state.fields, caught=state.caught, raising=state.raising)
    return Leaving(raised, after, None if raised else _result(path), path)


def _result(path: Path) -> Value | None:
    """What a function gives: all it yields, or what it returns."""
    env = path.state.env
    if path.function.is_generator:
        yielded = env.get("%yield")
        return yielded if isinstance(yielded, GeneratorResult) else EMPTY_GENERATOR
    return env.get("%return")
