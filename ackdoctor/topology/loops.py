"""The loops of a running function, and the branches that leave them or end the run."""

from collections.abc import Iterator, Sequence

from ackdoctor.model.cfg import ENTRY, EXIT, Attr, Call, EdgeKind, Function, Global, Next, Step, Test, Throw
from ackdoctor.topology.library_calls import ENDINGS
from ackdoctor.topology.objects import Data, Scope

MAX_ITERATIONS = 128  # of a loop whose end is known
_MAX_ENDLESS = 2  # iterations of a loop without an end
_MAX_STRAIGHT = 40  # steps after a branch that are searched for the end of the run


class Loops:
    """The loops of one running function."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._bodies = scope.function.cfg.bodies
        self._rounds: dict[int, int] = {}
        self._longest = 0  # iterations of any loop
        self._began: dict[int, int] = {}  # the order of the first call in each loop
        self._elements: dict[int, Iterator[Data]] = {}
        self.at = ENTRY

    def arrive(self, at: int, way: EdgeKind, order: int) -> None:
        """Note the step that control reaches, and the order of the next call."""
        self.at = at
        if not self._bodies:
            return
        if at in self._bodies:
            rounds = self._rounds[at] = self._rounds.get(at, 0) + 1 if way is EdgeKind.BACK else 0
            self._longest = max(self._longest, rounds)
            if way is not EdgeKind.BACK:
                self._began[at] = order
                self._elements.pop(at, None)
                self._scope.unknown_loops.discard(at)
        for head in [head for head in self._scope.unknown_loops if at not in self._bodies[head]]:
            self._scope.unknown_loops.discard(head)

    def _head(self) -> int | None:
        """The head of the innermost loop around the current step."""
        return max((head for head, body in self._bodies.items() if self.at in body), default=None)

    def exit_of(self, step: Step) -> EdgeKind | None:
        """The edge by which a test leaves the innermost loop, if it does."""
        head = self._head()
        if head is None:
            return None
        inside = self._bodies[head]
        leaving = [
            edge.kind for edge in step.edges if edge.target not in inside and edge.kind is not EdgeKind.RAISE
        ]
        staying = [edge for edge in step.edges if edge.target in inside]
        if len(leaving) != 1 or not staying:
            return None
        if leaving[0] in (EdgeKind.TRUE, EdgeKind.FALSE):
            return leaving[0]
        return EdgeKind.FALSE if any(edge.kind is EdgeKind.TRUE for edge in staying) else EdgeKind.TRUE

    def first_iteration(self) -> bool:
        """Whether the innermost loop, whose end is unknown, starts; it then runs once."""
        head = self._head()
        assert head is not None
        if self._rounds.get(head, 0) == 0:
            self._scope.unknown_loops.add(head)
            return True
        self._scope.unknown_loops.discard(head)
        return False

    def began(self) -> int:
        """The order of the first call in the innermost loop."""
        head = self._head()
        return self._began.get(head, 0) if head is not None else 0

    def is_endless(self) -> bool:
        """Whether the innermost loop runs longer than it is followed."""
        head = self._head() if self._longest > _MAX_ENDLESS else None
        rounds = self._rounds.get(head, 0) if head is not None else 0
        if head is None or rounds <= _MAX_ENDLESS:
            return False
        return self.is_long() or not self._has_exit(head)

    def is_long(self) -> bool:
        """Whether the innermost loop has more iterations than are executed."""
        head = self._head()
        return head is not None and self._rounds.get(head, 0) > MAX_ITERATIONS

    def _has_exit(self, head: int) -> bool:
        """Whether a loop can end other than by an exception."""
        steps, body = self._scope.function.cfg.steps, self._bodies[head]
        return any(
            edge.target not in body and edge.kind is not EdgeKind.RAISE
            for index in body
            for edge in steps[index].edges
        )

    def elements(self) -> Iterator[Data] | None:
        """The elements that are left of the loop whose head is the current step."""
        return self._elements.get(self.at)

    def start(self, items: Sequence[Data], *, unknown: bool = False) -> Iterator[Data]:
        """Begin a loop over elements."""
        if unknown:
            self._scope.unknown_loops.add(self.at)
        found = self._elements[self.at] = iter(items)
        return found

    def leave(self) -> None:
        """End the loop whose head is the current step."""
        self._elements.pop(self.at, None)
        self._scope.unknown_loops.discard(self.at)


def usual_outcome(function: Function, test: Step) -> bool | None:
    """The outcome of a test that goes on, if the other one raises an exception or ends the program at once."""
    ends = {edge.kind: _ends(function, edge.target) for edge in test.edges}
    true, false = ends.get(EdgeKind.TRUE, False), ends.get(EdgeKind.FALSE, False)
    return None if true is false else false


def _ends(function: Function, at: int) -> bool:
    """Whether the steps from an index on end the run before they branch."""
    for _ in range(_MAX_STRAIGHT):
        step = function.cfg.steps[at]
        match step.op:
            case Throw():
                return True
            case Call(func=Attr(obj=Global(id=owner), name=name)) if f"{owner}.{name}" in ENDINGS:
                return True
            case Call(func=Global(id=name)) if name in ENDINGS:
                return True
            case Test() | Next():
                return False
            case _:
                following = [edge.target for edge in step.edges if edge.kind is not EdgeKind.RAISE]
        if at == EXIT or len(following) != 1:
            return False
        at = following[0]
    return False
