"""Build a control-flow graph from structured code; every frontend lowers through `CfgBuilder`.

An *end* is a step and an edge kind whose target is not known yet.  The *frontier* is the list of ends that lead to the
next step.  A `Fork` holds the true ends and the false ends of a condition.  A *body* is a callable that lowers a block
into the same builder.  If the frontier is empty, the following code is unreachable and `add` does nothing: a graph has
no unreachable steps except ENTRY, EXIT and RAISED, which always exist.

`while more(): work()` is built by

    builder.loop_while(span, condition, body, None)
    # condition(): result = ...; builder.add(Call(...), ...); return builder.test(result, ...)

and gives  3 Call %1 = more() / 4 Test %1 -> TRUE 5, FALSE .. / 5 Call %2 = work() -> BACK 3.

Calls, yields, raises and the fetch of a loop's next element always have a RAISE edge.  Inside a `try`, the author
expects an exception, so steps that subscript, unpack or compute have one, too.  With a RAISE edge at every step, a graph
would say nothing about exceptions.
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

End: TypeAlias = tuple[int, EdgeKind]
Ends: TypeAlias = list[End]
Body: TypeAlias = Callable[[], None]

_MAX_COPIES = 3  # a finally block nested deeper is lowered once for all ways into it
_EDGE_ORDER = {kind: place for place, kind in enumerate(EdgeKind)}


class Fork(NamedTuple):
    """The ends of a condition."""

    true: Ends
    false: Ends

    def swapped(self) -> "Fork":
        """The fork of the negated condition."""
        return Fork(self.false, self.true)


class Handler(NamedTuple):
    """One catch clause; `total` is true if it catches every exception."""

    types: tuple[str, ...]
    name: str | None
    span: Span
    body: Callable[[], None]
    total: bool = False


# ---- the blocks around the next step ----


class _LoopFrame:
    """An enclosing loop: the target of `continue`, and the ends that `break` leaves.

    In a loop with an update part, `continues` collects the ends that lead to the update.
    """

    __slots__ = ("breaks", "continues", "head", "label", "span")

    def __init__(self, head: int, span: Span, label: str | None, continues: Ends | None = None) -> None:
        self.head = head
        self.span = span
        self.label = label
        self.breaks: Ends = []
        self.continues = continues


class _BlockFrame:
    """An enclosing block that `break` leaves: by its label or, if `unlabelled` (a switch), without one."""

    __slots__ = ("breaks", "head", "label", "unlabelled")

    def __init__(self, head: int, label: str | None, *, unlabelled: bool) -> None:
        self.head = head
        self.label = label
        self.unlabelled = unlabelled
        self.breaks: Ends = []


class _TryFrame:
    """An enclosing try body with handlers: the ends that raise into it."""

    __slots__ = ("raises",)

    def __init__(self) -> None:
        self.raises: Ends = []


class _Destination(NamedTuple):
    """Where control goes when it leaves a block; `frame` belongs to "break" and "continue"."""

    word: str
    frame: _LoopFrame | _BlockFrame | None = None

    @property
    def way(self) -> Way:
        """How control enters a finally block in between."""
        return _WAYS.get(self.word, Way.RETURN)

    def order(self) -> tuple[int, int]:
        """Sort key of the copies of a finally body."""
        return _DESTINATIONS.index(self.word), self.frame.head if self.frame is not None else 0


class _FinallyFrame:
    """An enclosing try body with a finally block: the ends that must run it, by destination."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[_Destination, Ends] = {}


class Detour:
    """The body of a `with` inside of a generator: the ends that leave it, which run the rest of the generator first.

    The temporary `way` then holds the number of the destination in `waiting`, or 0 for the end of the body.
    """

    __slots__ = ("waiting", "way")

    def __init__(self, way: Name) -> None:
        self.way = way
        self.waiting: dict[_Destination, Ends] = {}


_WAYS = {"normal": Way.NORMAL, "raise": Way.RAISE}
_DESTINATIONS = ("normal", "return", "break", "continue", "raise")
_TO_RAISE, _TO_RETURN, _TO_END = _Destination("raise"), _Destination("return"), _Destination("normal")


# ---- the builder ----


class CfgBuilder:
    """Appends steps and connects them; one builder makes one graph."""

    def __init__(self, span: Span = NOWHERE, safe_operators: frozenset[str] = frozenset()) -> None:
        self._safe_operators = _SAFE_OPERATORS | safe_operators  # they do not raise
        self._steps = [Step(Mark(word), span) for word in ("ENTRY", "EXIT", "RAISED")]
        self._frontier: Ends = [(ENTRY, EdgeKind.NEXT)]
        self._frames: list[_LoopFrame | _BlockFrame | _TryFrame | _FinallyFrame | Detour] = []
        self._try_depth = 0  # enclosing try bodies
        self._copies = 0  # enclosing finally copies
        self._way: Way | None = None
        self._temps = 0
        self._loops = 0
        self._bodies: dict[int, range] = {}
        self._guards: dict[str, range] = {}

    # ---- steps ----

    @property
    def alive(self) -> bool:
        """Whether the next step can be reached."""
        return bool(self._frontier)

    def temp(self) -> Name:
        """A new temporary."""
        self._temps += 1
        return Name(f"%{self._temps}")

    def store(self, value: Expr, span: Span) -> Name:
        """A new temporary that holds a value."""
        result = self.temp()
        self.add(Bind(result, value), span)
        return result

    def add(self, op: Instr, span: Span, *, no_raise: bool = False) -> int:
        """Append a step and return its index, or -1 if it is unreachable; with `no_raise` it has no RAISE edge."""
        if not self._frontier:
            return -1
        index = len(self._steps)
        self._steps.append(Step(op, span, [], self._way))
        self._join(self._frontier, index)
        self._frontier = [(index, EdgeKind.NEXT)]
        if not no_raise and (
            _may_raise(op) or (self._try_depth and _may_raise_in_try(op, self._safe_operators))
        ):
            self._route([(index, EdgeKind.RAISE)], _TO_RAISE)
        return index

    def take(self) -> Ends:
        """Remove the frontier and return it."""
        ends, self._frontier = self._frontier, []
        return ends

    def resume(self, ends: Ends) -> None:
        """Add these ends to the frontier."""
        self._frontier = self._frontier + ends

    def test(self, condition: Expr, span: Span) -> Fork:
        """Append a Test; the frontier is empty until the caller resumes one side."""
        index = self.add(Test(condition), span)
        self._frontier = []
        if index < 0:
            return Fork([], [])
        return Fork([(index, EdgeKind.TRUE)], [(index, EdgeKind.FALSE)])

    # ---- return, raise, break ----

    def leave(self, value: Expr | None, span: Span) -> None:
        """`return value`, through every enclosing finally block."""
        self.add(Return(value), span)
        self._route(self.take(), _TO_RETURN)

    def throw(self, value: Expr | None, span: Span) -> None:
        """`raise value`."""
        self.add(Throw(value), span)
        self.take()

    def jump(self, word: str, span: Span, label: str | None = None) -> None:
        """`break`, `continue` or `yield` of the innermost loop or switch, or of the block with this label."""
        target = "continue" if word == "continue" else "break"
        for frame in reversed(self._frames):
            if isinstance(frame, _TryFrame | _FinallyFrame | Detour):
                continue
            matches = isinstance(frame, _LoopFrame) or (frame.unlabelled and target == "break")
            if matches if label is None else frame.label == label:
                self.add(Jump(word), span)
                self._route(self.take(), _Destination(target, frame))
                return
        self.throw(None, span)  # outside of any loop: a syntax error

    # ---- branches ----

    def branch(self, fork: Fork, body: Body, orelse: Body | None) -> None:
        """`if`: lower both branches of a lowered condition; the frontier then has the ends of both."""
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
        update: Body | None = None,
    ) -> None:
        """A loop that tests first; `span` is its header, `update` runs before each further test."""
        if not self._frontier:
            return
        head = len(self._steps)
        fork = condition()
        if fork.true and len(self._steps) == head:
            # `while True`: the back edge needs a target
            self._frontier = fork.true
            self.add(Jump("while"), span)
            fork = Fork(self.take(), fork.false)
        self._loop_body(
            _LoopFrame(head, span, label, None if update is None else []), fork, body, orelse, update
        )

    def loop_until(
        self, span: Span, condition: Callable[[], Fork], body: Body, *, label: str | None = None
    ) -> None:
        """A loop that tests after each iteration; `span` is its keyword."""
        if not self._frontier:
            return
        head = self.add(Jump("do"), span)
        exits: Ends = []

        def test_again() -> None:
            fork = condition()
            exits.extend(fork.false)
            self._frontier = fork.true

        self._loop_body(_LoopFrame(head, span, label, []), Fork(self.take(), []), body, None, test_again)
        self.resume(exits)

    def region(self, body: Body, *, label: str | None = None, unlabelled: bool = False) -> None:
        """A block that `break` can leave; if `unlabelled`, without naming its label."""
        region = _BlockFrame(len(self._steps), label, unlabelled=unlabelled)
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
        update: Body | None = None,
    ) -> None:
        """A loop over the elements of `iterable`; `span` is its header."""
        if not self._frontier:
            return
        self._loops += 1
        head = self.add(Next(target, iterable, self._loops), span)
        self._frontier = []
        fork = Fork([(head, EdgeKind.TRUE)], [(head, EdgeKind.FALSE)])
        frame = _LoopFrame(head, span, label, None if update is None else [])
        self._loop_body(frame, fork, body, orelse, update)

    def _loop_body(
        self, loop: _LoopFrame, fork: Fork, body: Body, orelse: Body | None, update: Body | None = None
    ) -> None:
        self._frames.append(loop)
        self._frontier = fork.true
        body()
        if loop.continues is not None and update is not None:
            self.resume(loop.continues)
            loop.continues = None
            update()
        self._route(self.take(), _Destination("continue", loop))
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
        """`try`; the finally body is lowered once for each way to enter it."""
        if final is None:
            self._try_body(body, handlers, orelse)
            return
        frame = _FinallyFrame()
        with self._inside(frame):
            self._try_body(body, handlers, orelse)
        if self._frontier:
            frame.waiting[_TO_END] = self.take()
        depth = self._copies + sum(isinstance(frame, _FinallyFrame) for frame in self._frames)
        if depth >= _MAX_COPIES:
            self._share_finally(frame, final)
        else:
            self._copy_finally(frame, final)

    @contextmanager
    def _inside(self, frame: _TryFrame | _FinallyFrame) -> Iterator[None]:
        self._frames.append(frame)
        self._try_depth += 1
        yield
        self._try_depth -= 1
        self._frames.pop()

    def _try_body(self, body: Body, handlers: Sequence[Handler], orelse: Body | None) -> None:
        frame = _TryFrame()
        first = len(self._steps)
        if handlers:
            with self._inside(frame):
                body()
        else:
            body()
        last = len(self._steps)
        if orelse is not None:
            orelse()
        if not handlers:
            return
        after = self.take()
        if not frame.raises:  # a handler implies that something raises
            working = (i for i in range(first, last) if not isinstance(self._steps[i].op, Jump))
            frame.raises += [(index, EdgeKind.RAISE) for index in islice(working, 1)]
        self._frontier = frame.raises
        for handler in handlers:
            index = self.add(Catch(handler.types, handler.name), handler.span)
            if index < 0:
                break
            self._frontier = [(index, EdgeKind.TRUE)]
            handler.body()
            after += self.take()
            self._frontier = [] if handler.total else [(index, EdgeKind.FALSE)]
        self._route(self.take(), _TO_RAISE)
        self._frontier = after

    def _copy_finally(self, frame: _FinallyFrame, final: Body) -> None:
        outer, normal = self._way, []
        self._copies += 1
        for destination in sorted(frame.waiting, key=_Destination.order):
            self._way = destination.way
            self._frontier = frame.waiting[destination]
            final()
            if destination is _TO_END:
                normal = self.take()
            else:
                self._route(self.take(), destination)
        self._copies -= 1
        self._way = outer
        self._frontier = normal

    def _share_finally(self, frame: _FinallyFrame, final: Body) -> None:
        """Lower one copy for all ways: a path may leave it by a wrong way, but the graph stays small."""
        outer = self._way
        destinations = sorted(frame.waiting, key=_Destination.order)
        self._way = destinations[0].way if destinations else outer
        self._frontier = [end for destination in destinations for end in frame.waiting[destination]]
        self._copies += 1
        final()
        self._copies -= 1
        self._way = outer
        ends = self.take()
        for destination in destinations:
            if destination is _TO_END:
                self._frontier = list(ends)
            else:
                self._route(list(ends), destination)

    # ---- the body of a `with` ----

    def guarded(self, manager: Expr, body: Body) -> None:
        """Lower the body of a `with` whose context manager is not followed."""
        first = len(self._steps)
        body()
        if isinstance(manager, Name):
            self._guards[manager.id] = range(first, len(self._steps))

    def generator(self, detour: Detour, body: Body, span: Span) -> None:
        """Lower a generator, which `jump` leaves by the label `detour.way`; then go where its `with` body went."""
        self.add(Bind(detour.way, Literal(0)), span)
        self.region(body, label=detour.way.id)
        for number, destination in enumerate(detour.waiting, 1):
            fork = self.test(Compare(detour.way, "==", Literal(number)), span)
            self._route(fork.true, destination)
            self._frontier = fork.false

    def suspend(self, detour: Detour, body: Body, span: Span) -> None:
        """Lower the body of a `with` at the `yield` of a generator."""
        self._frames.append(detour)
        body()
        self._frames.pop()
        after = self.take()
        for number, ends in enumerate(detour.waiting.values(), 1):
            self._frontier = ends
            self.add(Bind(detour.way, Literal(number)), span)
            after += self.take()
        self._frontier = after

    # ---- edges ----

    def _route(self, ends: Ends, destination: _Destination) -> None:
        """Lead ends to their destination, or to the finally block in between."""
        if not ends:
            return
        for frame in reversed(self._frames):
            if isinstance(frame, _FinallyFrame):
                frame.waiting.setdefault(destination, []).extend(ends)
                return
            if isinstance(frame, Detour):
                if destination is not _TO_RAISE:
                    frame.waiting.setdefault(destination, []).extend(ends)
                    return
            elif isinstance(frame, _TryFrame):
                if destination is _TO_RAISE:
                    frame.raises.extend(ends)
                    return
            elif destination.frame is frame:
                if destination.word == "break" or isinstance(frame, _BlockFrame):
                    frame.breaks.extend(ends)
                elif frame.continues is not None:
                    frame.continues.extend(ends)
                else:
                    self._close_loop(frame, ends)
                return
        self._join(ends, RAISED if destination is _TO_RAISE else EXIT)

    def _close_loop(self, loop: _LoopFrame, ends: Ends) -> None:
        if any(kind is not EdgeKind.NEXT for _, kind in ends):
            # a BACK edge would hide the branch of a test: a Jump step goes back for all ends
            kept, self._frontier = self._frontier, ends
            self.add(Jump("repeat"), loop.span)
            ends, self._frontier = self._frontier, kept
        for index, _ in ends:
            self._steps[index].edges.append(Edge(EdgeKind.BACK, loop.head))

    def _join(self, ends: Ends, target: int) -> None:
        for index, kind in ends:
            self._steps[index].edges.append(Edge(kind, target))

    def finish(self) -> Cfg:
        """End the function here and return its graph; the builder must not be used afterwards."""
        self._join(self.take(), EXIT)
        for step in self._steps:
            if len(step.edges) == 2 and step.edges[0].kind is EdgeKind.RAISE is not step.edges[1].kind:  # noqa: PLR2004
                step.edges.reverse()  # most calls
            elif len(step.edges) > 1:
                step.edges = sorted(set(step.edges), key=lambda edge: (_EDGE_ORDER[edge.kind], edge.target))
        return Cfg(self._steps, self._bodies, self._guards)


# ---- which instructions may raise ----

_ALWAYS_RAISE = frozenset({Call, Throw, Yield, Next})
_SAFE_OPERATORS = frozenset({"len", "bool", "type", "id", "class"})
_REFERENCES = (Name, Global, Attr, Literal)


def _may_raise(op: Instr) -> bool:
    """Whether an instruction always has a RAISE edge."""
    return type(op) in _ALWAYS_RAISE


def _may_raise_in_try(op: Instr, safe: frozenset[str]) -> bool:
    """Whether an instruction has a RAISE edge inside a try body."""
    if isinstance(op, Drop):
        return isinstance(op.target, Item)
    if isinstance(op, Jump):
        return op.word == "import"
    return isinstance(op, Unpack) or any(_computes(expr, safe) for expr in _evaluated(op))


def _evaluated(op: Instr) -> tuple[Expr, ...]:
    """The expressions that an instruction evaluates."""
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


def _computes(expr: Expr, safe: frozenset[str]) -> bool:
    stack = [expr]
    while stack:
        match stack.pop():
            case Item():
                return True
            case Mix("f", parts):
                if not all(isinstance(part, _REFERENCES) for part in parts):
                    return True
            case Mix(op, parts):
                if op not in safe:
                    return True
                stack += parts
            case Build(_, items):
                stack += items
            case Attr(part, _) | Star(part) | Not(part) | IsType(part):
                stack.append(part)
            case Compare(left, _, right):
                stack += (left, right)
    return False
