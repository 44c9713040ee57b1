"""Feasibility: whether a run can take a path, judged by replaying the path with value numbers.

Where the engine does not connect two conditions, such as `if not ok` in a helper and `if ok` in its caller, it follows
paths that decide them differently.  Perhaps no run takes such a path.  But the engine also joins paths that reach a
step in equal states and keeps the first only.  Another one of them may be free of contradictions.
"""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from ackdoctor.flow.events import Path, PathPoint, points_back, with_other_start
from ackdoctor.flow.expressions import RESULT, assigned_targets, last_name
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.pure_calls import inline_calls
from ackdoctor.flow.value_numbers import Frame, ValueNumbers
from ackdoctor.model.cfg import (
    ENTRY,
    Bind,
    Call,
    Catch,
    Drop,
    EdgeKind,
    Expr,
    Function,
    Instr,
    Name,
    Next,
    Return,
    Star,
    Step,
    Test,
    Unpack,
    Update,
)

_MOST_VISITS = 10_000  # of all paths that are replayed for one finding
_MOST_PATHS = 60


def feasible_path(end: Path, verbs: Collection[str], methods: Collection[str]) -> Path | None:
    """The path, or else another path to the same visit and state, on which no two conditions contradict each other.

    `verbs` are the names of the framework's calls, which do not change the objects of the code; `methods` are those of
    the component's methods.  None if there is no such path among the first `_MOST_PATHS`.  A path that is too long is
    not judged.
    """
    paths, visits = deque([end]), 0
    for _ in range(_MOST_PATHS):
        if not paths:
            return None
        path = paths.popleft()
        points = [*islice(points_back(path), _MOST_VISITS + 1)]
        visits += len(points)
        if visits > _MOST_VISITS:
            return end if path is end else None
        points.reverse()
        if not _Replay(verbs, ValueNumbers(methods)).contradicts(points):
            return path
        paths.extend(islice(_variants(path, points), _MOST_PATHS - len(paths)))
    return None


def _variants(path: Path, points: list[PathPoint]) -> Iterator[Path]:
    """The path with another start, for each path that was joined with it; the last joins first."""
    for point in reversed(points):
        for start in point.visit.joined:
            variant = with_other_start(path, point.visit, start)
            if variant is not None:
                yield variant


@dataclass(slots=True, eq=False)
class _Replay:
    """The conditions of a path: `outcomes` has the truth of each, and the step that decided it."""

    verbs: Collection[str]
    numbers: ValueNumbers
    outcomes: dict[tuple[int, int], tuple[bool, Step]] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    loops: set[object] = field(default_factory=set)

    def contradicts(self, points: list[PathPoint]) -> bool:
        """Whether a condition has two outcomes on the path, or another one than the path's values give it."""
        self.frames.append(Frame(points[0].visit.function))
        return any(self._visit(point, following) for point, following in zip_longest(points, points[1:]))

    def _visit(self, point: PathPoint, following: PathPoint | None) -> bool:
        """Replay one step; whether its outcome contradicts what the path has decided before."""
        visit, after, depth = point
        while len(self.frames) > depth + 1:
            self._leave()
        frame, step = self.frames[-1], visit.step
        match step.op:
            case Call() as op if following is not None and following.visit.index == ENTRY:
                self._enter(op, following.visit.function)
            case Call() as op:
                self.numbers.call(frame, op, is_verb=last_name(op.func) in self.verbs)
            case Test(condition=condition):
                fact, positive = normalise(inline_calls(visit.function, condition))
                asked = self.numbers.condition(frame, fact)
                return self._decide(asked, step, after, positive=positive)
            case Next() as op:
                return self._next(frame, op, visit, after)
            case op:
                self._assign(frame, op)
        return False

    def _next(self, frame: Frame, op: Next, visit: Path, after: Path | None) -> bool:
        """The head of a loop asks once whether there is an element: the end of a loop says nothing after a turn."""
        whole = self.numbers.of(frame, op.iterable)
        again = (visit.step, whole) in self.loops
        self.loops.add((visit.step, whole))
        asked = self.numbers.version(whole)
        if op.target is not None:
            self.numbers.assign(frame, op.target, self.numbers.element(whole))
        return not again and self._decide(asked, visit.step, after)

    def _assign(self, frame: Frame, op: Instr) -> None:
        numbers = self.numbers
        match op:
            case Catch(name=str() as name):
                numbers.assign(frame, Name(name), numbers.new_object())
            case Bind(target=target, value=value):
                numbers.assign(frame, target, numbers.of(frame, value))
            case Unpack(targets=targets, value=value) if not any(map(_is_pattern, targets)):
                whole = numbers.of(frame, value)
                for index, target in enumerate(assigned_targets(op)):
                    numbers.assign(frame, target, numbers.element(whole, index))
            case Return(value=value) if value is not None:
                frame.locals[RESULT] = numbers.of(frame, value)
            case Update(target=target):
                numbers.change(numbers.of(frame, target))  # a list
                numbers.assign(frame, target, numbers.new())
            case Drop(target=target):
                numbers.drop(frame, target)
            case Unpack(value=value):
                whole = numbers.of(frame, value)
                for target in assigned_targets(op):
                    numbers.assign(frame, target, numbers.element(whole))
            case _:
                for target in assigned_targets(op):
                    numbers.assign(frame, target, numbers.new())

    def _enter(self, call: Call, function: Function) -> None:
        around = (each for each in reversed(self.frames) if function in each.function.closures.values())
        frame = Frame(function, self.frames[-1], call, next(around, None))
        self.numbers.enter(frame)
        self.frames.append(frame)

    def _leave(self) -> None:
        """Leave a function; a method of an unknown object may be one of the component."""
        frame, component = self.frames.pop(), self.frames[0]
        if frame.function.receiver and not frame.has_receiver:
            self.numbers.change(self.numbers.of(component, Name(component.function.receiver)))
        self.numbers.leave(frame)

    def _decide(
        self, condition: tuple[int, int], step: Step, after: Path | None, *, positive: bool = True
    ) -> bool:
        """Note the outcome of a condition; whether it contradicts an earlier one of another step, or a value."""
        via = after.via if after is not None else None
        if via not in (EdgeKind.TRUE, EdgeKind.FALSE):
            return False
        truth = (via is EdgeKind.TRUE) == positive
        implied = self.numbers.truths.get(condition)
        if implied is not None:
            return implied != truth
        known, decided_at = self.outcomes.setdefault(condition, (truth, step))
        return known != truth and decided_at is not step


def _is_pattern(target: Expr | None) -> bool:
    """Whether a target of an assignment takes other values than the element at its index."""
    return target is None or isinstance(target, Star)
