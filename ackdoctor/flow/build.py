"""Builds a `Cfg` from structured control flow; every frontend lowers through it.

Terms.  An *end* is a step and an edge kind that do not lead anywhere yet.  The *frontier* is the set
of ends that the next appended step will receive.  A `Fork` is what a condition leaves behind: its
true ends and its false ends.  A sub-body is a callable that lowers itself into the same builder.
When the frontier is empty the code that follows cannot be reached, and appending does nothing: the
graph never holds an unreachable step, except ENTRY, EXIT and RAISED, which always exist.

`while more(): work()` is built by

    builder.loop_while(span, condition, body, None)
    # condition(): result = ...; builder.add(Call(...), ...); return builder.test(result, ...)

and gives  3 Call %1 = more() / 4 Test %1 -> TRUE 5, FALSE .. / 5 Call %2 = work() -> BACK 3.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, TypeAlias

from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Cfg,
    Compare,
    Drop,
    Edge,
    EdgeKind,
    Expr,
    Global,
    Instr,
    IsType,
    Item,
    Jump,
    Literal,
    Mark,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
    Way,
    Yield,
)
from ackdoctor.model.source import NOWHERE, Span

__all__ = [
    "TO_END",
    "TO_RAISE",
    "TO_RETURN",
    "CfgBuilder",
    "Duty",
    "End",
    "Ends",
    "Fork",
    "Goal",
    "Handler",
    "Loop",
    "Net",
    "Region",
    "goal_order",
    "may_raise",
    "may_raise_when_watched",
]


End: TypeAlias = tuple[int, EdgeKind]
Ends: TypeAlias = list[End]


class Fork(NamedTuple):
    """Where a condition leads."""

    true: Ends
    false: Ends

    def swapped(self) -> "Fork":
        """The fork of the negated condition."""
        return Fork(self.false, self.true)


class Handler(NamedTuple):
    """One catch clause; `total` says that nothing gets past it."""

    types: tuple[str, ...]
    name: str | None
    span: Span
    body: Callable[[], None]
    total: bool = False


class Loop:
    """An enclosing loop: where `continue` goes, and the ends that leave it by `break`.

    In a loop with something to do before the next turn, `again` collects the ends that go on to that.
    """

    __slots__ = ("again", "breaks", "head", "label", "span")

    def __init__(self, head: int, span: Span, label: str | None, again: Ends | None = None) -> None:
        self.head = head
        self.span = span
        self.label = label
        self.breaks: Ends = []
        self.again = again


class Region:
    """An enclosing block that `break` leaves: by its label, or a `plain` one (a switch) without."""

    __slots__ = ("breaks", "head", "label", "plain")

    def __init__(self, head: int, label: str | None, *, plain: bool) -> None:
        self.head = head
        self.label = label
        self.plain = plain
        self.breaks: Ends = []


class Net:
    """An enclosing try body with handlers: the ends that raise into it."""

    __slots__ = ("raises",)

    def __init__(self) -> None:
        self.raises: Ends = []


class Goal(NamedTuple):
    """Where control is bound for when it leaves a block; `loop` belongs to 'break' and 'continue'."""

    word: str
    loop: Loop | Region | None = None

    @property
    def way(self) -> Way:
        """How it enters a finally on the way."""
        return _WAYS.get(self.word, Way.RETURN)


class Duty:
    """An enclosing try body with a finally: the ends that must run it, by where they are bound for."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[Goal, Ends] = {}


TO_RAISE, TO_RETURN, TO_END = Goal("raise"), Goal("return"), Goal("normal")
_WAYS = {"normal": Way.NORMAL, "raise": Way.RAISE}
_ORDER = ("normal", "return", "break", "continue", "raise")


def goal_order(goal: Goal) -> tuple[int, int]:
    """The order in which the copies of a finally body are laid out."""
    return _ORDER.index(goal.word), goal.loop.head if goal.loop is not None else 0


_ALWAYS = frozenset({Call, Throw, Yield, Next})
_HARMLESS = frozenset(
    {"len", "bool", "type", "id", "class"}
)  # operators that do not fail on what they are given
_PLAIN = (Name, Global, Attr, Literal)


def may_raise(op: Instr) -> bool:
    """Whether the instruction has a RAISE edge anywhere."""
    return type(op) in _ALWAYS


def may_raise_when_watched(op: Instr) -> bool:
    """Whether it has one inside a try body."""
    if isinstance(op, Drop):
        return isinstance(op.target, Item)
    if isinstance(op, Jump):
        return op.word == "import"
    return isinstance(op, Unpack) or any(map(_computes, _worked_out(op)))


def _worked_out(op: Instr) -> tuple[Expr, ...]:
    """The expressions that an instruction evaluates, where they are not mere references."""
    match op:
        case Bind(_, value):
            return (value,)
        case Return(value) if value is not None:
            return (value,)
        case Update(target, _, value):
            return (target, value)
        case Test(condition):
            return (condition,)
    return ()


def _computes(expr: Expr) -> bool:
    stack = [expr]
    while stack:
        match stack.pop():
            case Item():
                return True
            case Mix("f", parts):
                if not all(isinstance(part, _PLAIN) for part in parts):
                    return True
            case Mix(op, parts):
                if op not in _HARMLESS:
                    return True
                stack += parts
            case Build(_, items):
                stack += items
            case Attr(part, _) | Star(part) | Not(part) | IsType(part):
                stack.append(part)
            case Compare(left, _, right):
                stack += (left, right)
    return False


Body: TypeAlias = Callable[[], None]

_DEEPEST_COPY = 3  # finally blocks nested deeper than this are entered once for all ways
_EDGE_ORDER = {kind: place for place, kind in enumerate(EdgeKind)}


class CfgBuilder:
    """Appends steps and joins them up; one builder makes one graph."""

    def __init__(self, span: Span = NOWHERE) -> None:
        self._steps = [Step(Mark(word), span) for word in ("ENTRY", "EXIT", "RAISED")]
        self._frontier: Ends = [(ENTRY, EdgeKind.NEXT)]
        self._frames: list[Loop | Region | Net | Duty] = []
        self._watchers = 0  # enclosing nets and duties
        self._copies = 0  # finally copies being lowered now
        self._way: Way | None = None
        self._temps = 0
        self._loops = 0
        self._bodies: dict[int, range] = {}

    # ---- straight lines ----

    @property
    def alive(self) -> bool:
        """Whether the next step can be reached."""
        return bool(self._frontier)

    def temp(self) -> Name:
        """A temporary that no other step of this graph uses."""
        self._temps += 1
        return Name(f"%{self._temps}")

    def add(self, op: Instr, span: Span, *, quiet: bool = False) -> int:
        """Appends a step after the frontier and returns its index, or -1 where nothing leads to it; a `quiet` one never raises."""
        if not self._frontier:
            return -1
        index = len(self._steps)
        self._steps.append(Step(op, span, [], self._way))
        self._join(self._frontier, index)
        self._frontier = [(index, EdgeKind.NEXT)]
        if not quiet and (may_raise(op) or (self._watchers and may_raise_when_watched(op))):
            self._send([(index, EdgeKind.RAISE)], TO_RAISE)
        return index

    def take(self) -> Ends:
        """Removes the frontier and returns it."""
        ends, self._frontier = self._frontier, []
        return ends

    def resume(self, ends: Ends) -> None:
        """Goes on from these ends as well."""
        self._frontier = self._frontier + ends

    def test(self, condition: Expr, span: Span) -> Fork:
        """Appends a Test; the frontier is empty until the caller resumes one side."""
        index = self.add(Test(condition), span)
        self._frontier = []
        if index < 0:
            return Fork([], [])
        return Fork([(index, EdgeKind.TRUE)], [(index, EdgeKind.FALSE)])

    # ---- leaving ----

    def leave(self, value: Expr | None, span: Span) -> None:
        """`return value`, through every finally on the way."""
        self.add(Return(value), span)
        self._send(self.take(), TO_RETURN)

    def throw(self, value: Expr | None, span: Span) -> None:
        """`raise value`."""
        self.add(Throw(value), span)
        self.take()

    def jump(self, word: str, span: Span, label: str | None = None) -> None:
        """`break`, `continue` or `yield`: of the innermost loop or switch, or of what has this label."""
        goal = "continue" if word == "continue" else "break"
        for frame in reversed(self._frames):
            if isinstance(frame, Net | Duty):
                continue
            plain = isinstance(frame, Loop) or (frame.plain and goal == "break")
            if plain if label is None else frame.label == label:
                self.add(Jump(word), span)
                self._send(self.take(), Goal(goal, frame))
                return
        self.throw(None, span)  # outside any loop: not a program

    # ---- branches ----

    def branch(self, fork: Fork, body: Body, orelse: Body | None) -> None:
        """`if`: lowers both sides of a condition that has just been lowered, and goes on after both."""
        self._frontier = fork.true
        body()
        after = self.take()
        self._frontier = fork.false
        if orelse is not None:
            orelse()
        self.resume(after)

    # ---- loops ----

    def loop_while(
        self,
        span: Span,
        condition: Callable[[], Fork],
        body: Body,
        orelse: Body | None = None,
        *,
        label: str | None = None,
        again: Body | None = None,
    ) -> None:
        """A loop that asks first; `span` is its header, and `again` what is done before it asks again."""
        if not self._frontier:
            return
        head = len(self._steps)
        fork = condition()
        if fork.true and len(self._steps) == head:
            # `while True`: the back edge still needs a step to go to
            self._frontier = fork.true
            self.add(Jump("while"), span)
            fork = Fork(self.take(), fork.false)
        self._turn(Loop(head, span, label, None if again is None else []), fork, body, orelse, again)

    def loop_until(
        self, span: Span, condition: Callable[[], Fork], body: Body, *, label: str | None = None
    ) -> None:
        """A loop that asks after each turn; `span` is its keyword."""
        if not self._frontier:
            return
        head = self.add(Jump("do"), span)
        leaving: Ends = []

        def ask() -> None:
            fork = condition()
            leaving.extend(fork.false)
            self._frontier = fork.true

        self._turn(Loop(head, span, label, []), Fork(self.take(), []), body, None, ask)
        self.resume(leaving)

    def region(self, body: Body, *, label: str | None = None, plain: bool = False) -> None:
        """A block that `break` can leave; a `plain` one without naming its label."""
        region = Region(len(self._steps), label, plain=plain)
        self._frames.append(region)
        body()
        self._frames.pop()
        self.resume(region.breaks)

    def loop_for(
        self,
        span: Span,
        target: Expr | None,
        iterable: Expr,
        body: Body,
        orelse: Body | None = None,
        *,
        label: str | None = None,
    ) -> None:
        """A loop over the elements of something; `span` is its header."""
        if not self._frontier:
            return
        self._loops += 1
        head = self.add(Next(target, iterable, self._loops), span)
        self._frontier = []
        fork = Fork([(head, EdgeKind.TRUE)], [(head, EdgeKind.FALSE)])
        self._turn(Loop(head, span, label), fork, body, orelse)

    def _turn(
        self, loop: Loop, fork: Fork, body: Body, orelse: Body | None, again: Body | None = None
    ) -> None:
        self._frames.append(loop)
        self._frontier = fork.true
        body()
        if loop.again is not None and again is not None:
            self.resume(loop.again)
            loop.again = None
            again()
        self._send(self.take(), Goal("continue", loop))
        self._bodies[loop.head] = range(loop.head, len(self._steps))
        self._frames.pop()
        self._frontier = fork.false
        if orelse is not None:
            orelse()
        self.resume(loop.breaks)

    # ---- try ----

    def attempt(
        self,
        body: Body,
        handlers: Sequence[Handler] = (),
        orelse: Body | None = None,
        final: Body | None = None,
    ) -> None:
        """`try`; a finally body is lowered once per way in."""
        if final is None:
            self._guarded(body, handlers, orelse)
            return
        duty = Duty()
        with self._inside(duty):
            self._guarded(body, handlers, orelse)
        if self._frontier:
            duty.waiting[TO_END] = self.take()
        depth = self._copies + sum(isinstance(frame, Duty) for frame in self._frames)
        if depth >= _DEEPEST_COPY:
            self._finish_together(duty, final)
        else:
            self._finish_apart(duty, final)

    @contextmanager
    def _inside(self, frame: Net | Duty) -> Iterator[None]:
        self._frames.append(frame)
        self._watchers += 1
        yield
        self._watchers -= 1
        self._frames.pop()

    def _guarded(self, body: Body, handlers: Sequence[Handler], orelse: Body | None) -> None:
        net = Net()
        first = len(self._steps)
        if handlers:
            with self._inside(net):
                body()
        else:
            body()
        last = len(self._steps)
        if orelse is not None:
            orelse()
        if not handlers:
            return
        after = self.take()
        if not net.raises:  # whoever writes a handler expects something
            working = (i for i in range(first, last) if not isinstance(self._steps[i].op, Jump))
            net.raises += [(index, EdgeKind.RAISE) for index in islice(working, 1)]
        self._frontier = net.raises
        for handler in handlers:
            index = self.add(Catch(handler.types, handler.name), handler.span)
            if index < 0:
                break
            self._frontier = [(index, EdgeKind.TRUE)]
            handler.body()
            after += self.take()
            self._frontier = [] if handler.total else [(index, EdgeKind.FALSE)]
        self._send(self.take(), TO_RAISE)
        self._frontier = after

    def _finish_apart(self, duty: Duty, final: Body) -> None:
        outer, normal = self._way, []
        self._copies += 1
        for goal in sorted(duty.waiting, key=goal_order):
            self._way = goal.way
            self._frontier = duty.waiting[goal]
            final()
            if goal is TO_END:
                normal = self.take()
            else:
                self._send(self.take(), goal)
        self._copies -= 1
        self._way = outer
        self._frontier = normal

    def _finish_together(self, duty: Duty, final: Body) -> None:
        """One copy for all ways: paths may mix them up, but the graph stays small."""
        outer = self._way
        goals = sorted(duty.waiting, key=goal_order)
        self._way = goals[0].way if goals else outer
        self._frontier = [end for goal in goals for end in duty.waiting[goal]]
        self._copies += 1
        final()
        self._copies -= 1
        self._way = outer
        ends = self.take()
        for goal in goals:
            if goal is TO_END:
                self._frontier = list(ends)
            else:
                self._send(list(ends), goal)

    # ---- edges ----

    def _send(self, ends: Ends, goal: Goal) -> None:
        """Leads ends outward to where they are bound, or to the finally in between."""
        if not ends:
            return
        for frame in reversed(self._frames):
            if isinstance(frame, Duty):
                frame.waiting.setdefault(goal, []).extend(ends)
                return
            if isinstance(frame, Net):
                if goal is TO_RAISE:
                    frame.raises.extend(ends)
                    return
            elif goal.loop is frame:
                if goal.word == "break" or isinstance(frame, Region):
                    frame.breaks.extend(ends)
                elif frame.again is not None:
                    frame.again.extend(ends)
                else:
                    self._close(frame, ends)
                return
        self._join(ends, RAISED if goal is TO_RAISE else EXIT)

    def _close(self, loop: Loop, ends: Ends) -> None:
        if any(kind is not EdgeKind.NEXT for _, kind in ends):
            # a BACK edge must not hide which side of a test it is: one plain step goes back for all
            kept, self._frontier = self._frontier, ends
            self.add(Jump("repeat"), loop.span)
            ends, self._frontier = self._frontier, kept
        for index, _ in ends:
            self._steps[index].edges.append(Edge(EdgeKind.BACK, loop.head))

    def _join(self, ends: Ends, target: int) -> None:
        for index, kind in ends:
            self._steps[index].edges.append(Edge(kind, target))

    def finish(self) -> Cfg:
        """Ends the function here; the builder must not be used afterwards."""
        self._join(self.take(), EXIT)
        for step in self._steps:
            if len(step.edges) == 2 and step.edges[0].kind is EdgeKind.RAISE is not step.edges[1].kind:  # noqa: PLR2004
                step.edges.reverse()  # nearly every call
            elif len(step.edges) > 1:
                step.edges = sorted(set(step.edges), key=lambda edge: (_EDGE_ORDER[edge.kind], edge.target))
        return Cfg(self._steps, self._bodies)
