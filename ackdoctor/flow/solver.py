"""The solver: drives paths through a function's graph until no new state appears.

A path is a chain of visits (`Path`).  Two paths that reach a step in equal states, restricted to what is live there
(`transfer.liveness`), are joined: only the first goes on (property simulation), and keeps the others.  So the number of visits is bounded by
steps x states.  Beyond `MAX_STATES` states at a step, new states forget the tuples in fields; beyond twice that they are
widened; beyond three times that, paths are dropped and the result is marked as limited.

Helpers are analysed by summaries: a function is solved once for each state in which it is entered.  A recursive
function is solved again until its exits stop growing, at most `MAX_PASSES` times.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import alias_field_result
from ackdoctor.flow.domains.product import PRODUCT
from ackdoctor.flow.domains.tuples import keep_taken
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import RESULT, renamed
from ackdoctor.flow.state import CAUGHT_BEFORE, Live, State
from ackdoctor.flow.transfer.assignment import assign
from ackdoctor.flow.transfer.calls import resolve_call
from ackdoctor.flow.transfer.containers import CallEffect
from ackdoctor.flow.transfer.declared import declared_result
from ackdoctor.flow.transfer.effects import cleanup_calls
from ackdoctor.flow.transfer.escape import completes_any
from ackdoctor.flow.transfer.liveness import live_at
from ackdoctor.flow.transfer.loops import NextStep, iterated_locals, split_by_element, suspend_generator
from ackdoctor.flow.transfer.opaque_calls import Enter
from ackdoctor.flow.transfer.step import next_steps
from ackdoctor.flow.values import EMPTY_GENERATOR, Const, Container, GeneratorResult, Value
from ackdoctor.model.cfg import ENTRY, EXIT, RAISED, Call, EdgeKind, Expr, Function

MAX_STATES = 32  # at one step before new states forget something
MAX_DEPTH = 10  # of helper calls
MAX_LITERALS = 4  # different literals that a helper may return before its result is unknown
MAX_PASSES = 3  # over a recursive function


class FunctionExit(NamedTuple):
    """One way in which a function ends: a return with its value, or an exception; `path` ends there."""

    raised: bool
    state: State
    value: Value | None
    path: Path


@dataclass(slots=True, eq=False)
class _Summary:
    """The exits of a function that was entered in one state."""

    exits: list[FunctionExit] = field(default_factory=list)
    running: bool = True
    recursive: bool = False


class Solver:
    """Solves the functions of one component; keeps a summary for each function and entry state."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._summaries: dict[tuple[int, object], _Summary] = {}
        self._depth = 0

    def solve(self, function: Function, state: State, call: Path | None = None) -> list[FunctionExit]:
        """All exits of `function` entered in `state`; `call` is the visit of the call, if there is one."""
        state = PRODUCT.join(state, live_at(function)[ENTRY])
        key = (id(function), state.key())
        known = self._summaries.get(key)
        if known is not None:
            known.recursive = known.recursive or known.running
            return list(known.exits)
        summary = self._summaries[key] = _Summary()
        self.context.entered[id(function)] = function
        self._depth += 1
        for _ in range(MAX_PASSES):
            before = len(summary.exits)
            summary.recursive = False
            self._run(function, state, call, summary)
            if not summary.recursive or len(summary.exits) == before:
                break
        self._depth -= 1
        summary.running = False
        return list(summary.exits)

    def _run(self, function: Function, state: State, call: Path | None, summary: _Summary) -> None:
        outermost = self._depth == 1
        live = live_at(function)
        if outermost:  # every statement that leaves the handler is an event of its own
            live = {index: names for index, names in live.items() if index not in (EXIT, RAISED)}
        visited: dict[int, dict[object, Path]] = {}
        exits = {_exit_key(each, outermost=outermost): each for each in summary.exits}
        paths = deque([Path(function, ENTRY, state, call, None)])
        context = self.context
        while paths:
            path = paths.popleft()
            if path.index in (EXIT, RAISED):
                function_exit = _leave(path)
                key = _exit_key(function_exit, outermost=outermost)
                if key in exits:
                    exits[key].path.join(path.before, path.via, path.inner)
                else:
                    exits[key] = function_exit
                    summary.exits.append(function_exit)
                continue
            if context.steps_left <= 0:
                context.limited = True
                return
            context.steps_left -= 1
            for way, inner in self._successors(path):
                for each in split_by_element(context, path, way) if way.state.loops else (way,):
                    following = self._extend(path, each, inner, live, visited)
                    if following is not None:
                        paths.append(following)

    def _extend(
        self,
        path: Path,
        way: NextStep,
        inner: Path | None,
        live: Mapping[int, Live],
        visited: dict[int, dict[object, Path]],
    ) -> Path | None:
        """The path extended by one visit, or None if another path has been there in the same state."""
        state = way.state
        widened = False
        live_here = live.get(way.target)
        if live_here is not None:
            state = PRODUCT.join(state, live_here)
            known = visited.setdefault(way.target, {})
            if len(known) >= MAX_STATES:
                state = state.without_buffers()
            if len(known) >= 2 * MAX_STATES:
                state = state.widen()
                widened = True
                if len(known) >= 3 * MAX_STATES:
                    self.context.limited = True
                    return None
            key = state.key()
            first = known.get(key)
            if first is not None:
                first.join(path, way.kind, inner)
                return None
            known[key] = extended = Path(
                path.function, way.target, state, path, way.kind, inner, widened=widened
            )
            return extended
        return Path(path.function, way.target, state, path, way.kind, inner, widened=widened)

    # ---- the transfer function of one step ----

    def _successors(self, path: Path) -> Iterator[tuple[NextStep, Path | None]]:
        """The edges that the path may take next, each with the path through a helper, if one was entered."""
        op = path.step.op
        if not isinstance(op, Call):
            for way in next_steps(self.context, path):
                yield way, None
            return
        for outcome in resolve_call(self.context, path, op):
            if isinstance(outcome, CallEffect):
                yield from self._step_over(path, op, outcome)
            elif self._depth <= MAX_DEPTH:
                yield from self._step_into(path, op, outcome)
            else:
                self.context.limited = True
                yield from self._step_over(path, op, CallEffect(path.state, None, may_raise=True))

    def _step_over(self, path: Path, op: Call, done: CallEffect) -> Iterator[tuple[NextStep, Path | None]]:
        """The successors of a call whose effect is known without entering a function."""
        after = PRODUCT.havoc(self.context, path, done.state, op, None)
        for kind, target in path.step.edges:
            if kind is not EdgeKind.RAISE:
                yield NextStep(kind, target, assign(self.context, path, after, op.result, done.value)), None
            elif done.may_raise and self._follows_exception(path, target):
                # the call may have had a part of its effect before it raised
                raised = after
                if done.state is not path.state:
                    raised = PRODUCT.havoc(self.context, path, path.state, op, None)
                if raised.raising is None:
                    raised = raised.replace(raising="")
                yield NextStep(kind, target, raised), None

    def _follows_exception(self, path: Path, target: int) -> bool:
        """Whether a path follows an exception that a call might raise.

        An exception that leaves the handler matters only after a completion.  A call that hardly ever raises, such as
        a log line or a close, is followed into a handler of the exception only before one.
        """
        is_caught = target != RAISED or self._depth > 1
        rarely_raises = path.index in cleanup_calls(path.function)
        if is_caught and not rarely_raises:
            return True
        has_completed = completes_any(path.state)
        return is_caught and not has_completed if rarely_raises else has_completed

    def _step_into(self, path: Path, op: Call, enter: Enter) -> Iterator[tuple[NextStep, Path | None]]:
        """The successors of a call that enters a function of the project: one for each exit of the function."""
        before = path.state
        exits = self.solve(enter.function, enter.state, path)
        literals = {each.value for each in exits if _is_literal(each.value)}
        drop_literals = op.dropped or len(literals) > MAX_LITERALS
        seen: set[object] = set()
        for each in exits:
            after = before.replace(
                tokens=each.state.tokens,
                fields=each.state.fields,
                contents=each.state.contents,
                final=each.state.final,
                heap=each.state.heap,
                caught=before.caught if each.state.caught == CAUGHT_BEFORE else each.state.caught,
            )
            after = keep_taken(self.context, before, after)
            after = PRODUCT.havoc(self.context, path, after, op, enter.function)
            for kind, target in path.step.edges:
                if each.raised and kind is EdgeKind.RAISE:
                    yield NextStep(kind, target, after.replace(raising=each.state.raising or "")), each.path
                elif not each.raised and kind is not EdgeKind.RAISE:
                    value = each.value
                    if value is None:
                        value = declared_result(self.context, enter.function)
                    if isinstance(value, GeneratorResult):
                        after, value = _generator_value(path.function, op, after, value, enter.function.name)
                    if drop_literals and value in literals:
                        value = None
                    bound = assign(self.context, path, after, op.result, value)
                    bound = alias_field_result(path.function, bound, op, value)
                    facts = _facts_about_result(op, each, exits)
                    bound = bound.replace(facts={**bound.facts, **facts}) if facts else bound
                    if value is not each.value and bound.key() in seen:
                        continue
                    seen.add(bound.key())
                    yield NextStep(kind, target, bound), each.path


# ---- exits of a function ----


def _generator_value(
    function: Function, call: Call, after: State, result: GeneratorResult, generator: str
) -> tuple[State, Value | None]:
    """The value of a generator call: suspended for a loop over it, otherwise a container of what it yields."""
    if call.result in iterated_locals(function):
        return suspend_generator(after, result, generator)
    return after, Container(result.items) if result.items else None


def _is_literal(value: Value | None) -> bool:
    return isinstance(value, Const) and not isinstance(value.value, (bool, type(None)))


def _facts_about_result(
    call: Call, function_exit: FunctionExit, exits: list[FunctionExit]
) -> dict[Expr, bool]:
    """What the path through a function knows of the result of its call."""
    if call.dropped:
        return {}
    known = {
        renamed(fact, {RESULT: call.result.id}): truth for fact, truth in function_exit.state.facts.items()
    }
    return known or ({call.result: True} if _is_truthy_by_contrast(function_exit, exits) else {})


def _is_truthy_by_contrast(function_exit: FunctionExit, exits: list[FunctionExit]) -> bool:
    """Whether an unknown result is taken as true: another exit returns None or False with other token states."""
    return function_exit.value is None and any(
        other.value in (Const(None), Const(value=False)) and other.state.tokens != function_exit.state.tokens
        for other in exits
        if not other.raised
    )


def _exit_key(function_exit: FunctionExit, *, outermost: bool) -> object:
    """The key by which exits are joined: the state and, in the handler itself, the statement that leaves."""
    before = function_exit.path.before
    where = before.index if outermost and before is not None else 0
    return (function_exit.raised, function_exit.state.key(), function_exit.value, where)


def _leave(path: Path) -> FunctionExit:
    raised = path.index == RAISED
    state = PRODUCT.leave(path.function, path.state)
    after = State(
        tokens=state.tokens,
        fields=state.fields,
        contents=state.contents,
        facts=state.facts,
        final=state.final,
        heap=state.heap,
        caught=state.caught,
        raising=state.raising,
    )
    return FunctionExit(raised, after, None if raised else _return_value(path), path)


def _return_value(path: Path) -> Value | None:
    """The value of a function: what it returns, or everything that it yields."""
    env = path.state.env
    if path.function.is_generator:
        yielded = env.get("%yield")
        return yielded if isinstance(yielded, GeneratorResult) else EMPTY_GENERATOR
    return env.get(RESULT)
