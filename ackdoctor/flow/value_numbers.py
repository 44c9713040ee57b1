"""Value numbering of one path: expressions with equal numbers have, as far as the code shows, equal values.

`if not self.is_known(sku): fail` and later `if self.is_known(sku): ack`: the engine follows the path that fails and acks,
since it does not know that both calls answer alike.  Perhaps no run takes that path.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from ackdoctor.flow.events import Path, PathPoint, points_back
from ackdoctor.flow.expressions import assigned_targets, parts_of, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Bind,
    Call,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Literal,
    Mix,
    Name,
    Test,
)

_MOST_VISITS = 2_000  # of a path that is numbered


def gets_two_answers(end: Path) -> bool:
    """Whether a path gets two answers to one question that it asks by a call: at one test it is true, at another false."""
    points = [*islice(points_back(end), _MOST_VISITS + 1)]
    if len(points) > _MOST_VISITS:
        return False
    answers: dict[int, tuple[bool, object]] = {}
    for question, answer, step in _questions(reversed(points)):
        known, asked_at = answers.setdefault(question, (answer, step))
        if known != answer and asked_at is not step:
            return True
    return False


def _questions(points: Iterator[PathPoint]) -> Iterator[tuple[int, bool, object]]:
    """Each test of a value that a call returned: the number of the condition, its truth, and the step."""
    numbers = _Numbers()
    frames = [_Frame()]
    call: Call | None = None
    for point in points:
        visit, after, depth = point
        if visit.index == ENTRY and call is not None:
            frames[depth:] = [numbers.enter(frames[-1], call, visit.function)]
        frame = frames[-1] if depth >= len(frames) else frames[depth]
        match visit.step.op:
            case Call() as op:
                call = op
                numbers.call(frame, visit.function, op, changes=_changes_tuples(visit, after))
            case Test(condition=condition):
                fact, positive = normalise(condition)
                number = numbers.of(frame, fact)
                taken = after.via if after is not None else None
                if number in numbers.asked and taken in (EdgeKind.TRUE, EdgeKind.FALSE):
                    yield number, (taken is EdgeKind.TRUE) == positive, visit.step
            case Bind(target=target, value=value):
                numbers.assign(frame, target, numbers.of(frame, value))
            case op:
                for target in assigned_targets(op):
                    numbers.assign(frame, target, numbers.new())


def _changes_tuples(visit: Path, after: Path | None) -> bool:
    """Whether a call enters a function that acks, fails or keeps a tuple."""
    return after is not None and after.inner is not None and after.state.tokens is not visit.state.tokens


@dataclass(slots=True, eq=False)
class _Frame:
    """The numbers of the locals of one function that is running."""

    locals: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Numbers:
    """The numbers of values; `asked` are those that the result of a call decides, `changes` counts the changes of each object."""

    known: dict[object, int] = field(default_factory=dict)
    fields: dict[tuple[int, str], int] = field(default_factory=dict)
    changes: dict[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    count: int = 0

    def new(self) -> int:
        """A number that no other value has."""
        self.count += 1
        return self.count

    def of(self, frame: _Frame, expr: Expr) -> int:
        """The number of an expression."""
        found: dict[int, int] = {}
        for part in reversed([*subexpressions(expr)]):  # the parts of an expression before it
            found[id(part)] = self._of(frame, part, tuple(found[id(each)] for each in parts_of(part)))
        return found[id(expr)]

    def _of(self, frame: _Frame, expr: Expr, parts: tuple[int, ...]) -> int:
        match expr:
            case Name(id=name):
                return frame.locals.setdefault(name, self.new())
            case Attr(name=word) | Compare(op=word) | Mix(op=word):
                own = self.fields.get((parts[0], word)) if isinstance(expr, Attr) else None
                return self._numbered((expr.__class__, word), parts) if own is None else own
            case Literal(value=value):
                return self._numbered((Literal, value.__class__, value), ())
            case _:
                return self._numbered(expr.__class__ if parts else expr, parts)

    def _numbered(self, shape: object, parts: tuple[int, ...]) -> int:
        key = shape, tuple((part, self.changes.get(part, 0)) for part in parts)
        if key not in self.known:
            self.known[key] = self.new()
            if not self.asked.isdisjoint(parts):
                self.asked.add(self.known[key])
        return self.known[key]

    def change(self, number: int) -> None:
        """Note that an object has changed: what is read from it later has other numbers."""
        self.changes[number] = self.changes.get(number, 0) + 1

    def call(self, frame: _Frame, function: Function, call: Call, *, changes: bool) -> None:
        """Number the result of a call: as that of an equal call, unless it changes a tuple or what it is called on.

        A call is taken to change its receiver if the code ignores the result or passes no arguments.
        """
        func, is_step = call.func, (call.dropped or not call.args) and not is_read_only(call)
        if is_step and isinstance(func, Attr) and func.obj != Name(function.receiver):
            self.change(self.of(frame, func.obj))
        args = (self.of(frame, arg.value) for arg in call.args)
        result = self.new() if changes else self._numbered(Call, (self.of(frame, func), *args))
        self.asked.add(result)
        self.assign(frame, call.result, result)

    def assign(self, frame: _Frame, target: Expr, number: int) -> None:
        """Give a local or a field another number; the object of an item has changed."""
        match target:
            case Name(id=name):
                frame.locals[name] = number
            case Attr(obj=obj, name=name):
                self.fields[self.of(frame, obj), name] = number
            case _:
                for part in parts_of(target)[:1]:
                    self.change(self.of(frame, part))

    def enter(self, caller: _Frame, call: Call, function: Function) -> _Frame:
        """The frame of a function that a call enters: its parameters have the numbers of the arguments."""
        frame = _Frame()
        params = [param.name for param in function.params]
        if function.receiver and isinstance(call.func, Attr):
            frame.locals[function.receiver] = self.of(caller, call.func.obj)
            params = [name for name in params if name != function.receiver]
        plain = (arg.value for arg in call.args if arg.name is None and not arg.star)
        named = ((arg.name, arg.value) for arg in call.args if arg.name is not None)
        for name, value in (*zip(params, plain, strict=False), *named):
            frame.locals[name] = self.of(caller, value)
        return frame
