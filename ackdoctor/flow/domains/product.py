"""The product of all domains: each sees the state that those before it have left."""

from collections.abc import Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.aliases import ALIASES
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.domains.heap_cells import HEAP_CELLS
from ackdoctor.flow.domains.intervals import INTERVALS
from ackdoctor.flow.domains.predicates import PREDICATES
from ackdoctor.flow.domains.tuples import TUPLES
from ackdoctor.flow.events import Path
from ackdoctor.flow.state import Live, State
from ackdoctor.flow.values import Value
from ackdoctor.model.cfg import Call, Expr, Function

# the predicates of a caller survive a call before the heap cells drop those that the call may have changed
_DOMAINS: tuple[Domain, ...] = (TUPLES, INTERVALS, PREDICATES, HEAP_CELLS, ALIASES)


class Product(Domain):
    """All domains as one."""

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """The state after `target = source`."""
        for domain in _DOMAINS:
            after = domain.assign(context, path, after, target, source, value)
        return after

    def assume(
        self, context: Context, path: Path, after: State, condition: Expr, *, truth: bool
    ) -> State | None:
        """The state after a condition is found true or false; None if one domain excludes it."""
        for domain in _DOMAINS:
            assumed = domain.assume(context, path, after, condition, truth=truth)
            if assumed is None:
                return None
            after = assumed
        return after

    def outcomes(
        self, context: Context, path: Path, state: State, condition: Expr
    ) -> Iterator[tuple[bool, State]]:
        """The outcomes of a condition that a path allows, each with the state after it."""
        for truth in (True, False):
            after = self.assume(context, path, state, condition, truth=truth)
            if after is not None:
                yield truth, after

    def havoc(self, context: Context, path: Path, after: State, call: Call, callee: Function | None) -> State:
        """The state after a call that may change what is reachable for it."""
        for domain in _DOMAINS:
            after = domain.havoc(context, path, after, call, callee)
        return after

    def join(self, state: State, live: Live) -> State:
        """The state without what no later step reads."""
        for domain in _DOMAINS:
            state = domain.join(state, live)
        return state

    def leave(self, function: Function, state: State) -> State:
        """The state after a function has ended."""
        for domain in _DOMAINS:
            state = domain.leave(function, state)
        return state


PRODUCT = Product()
