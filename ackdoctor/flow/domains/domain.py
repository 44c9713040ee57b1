"""The interface of the abstract domains.

A `State` holds one element of each domain.  The transfer functions ask every domain in turn, and none knows how another
represents its element.  A method that a domain does not define leaves the state as it is.
"""

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.state import Live, State
from ackdoctor.flow.values import Value
from ackdoctor.model.cfg import Call, Expr, Function


class Domain:
    """One aspect of what a path knows: `path` is at the step, and its state is the one before the step."""

    def evaluate(self, context: Context, function: Function, state: State, expr: Expr) -> Value | None:
        """The value of an expression; None if the domain does not know it."""
        del context, function, state, expr
        return None

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """The state after `target = source`, where `source` has this value."""
        del context, path, target, source, value
        return after

    def assume(
        self, context: Context, path: Path, after: State, condition: Expr, *, truth: bool
    ) -> State | None:
        """The state after a condition is found true or false; None if it cannot be."""
        del context, path, condition, truth
        return after

    def havoc(self, context: Context, path: Path, after: State, call: Call, callee: Function | None) -> State:
        """The state after a call that may change what is reachable for it; `callee` is None for opaque code."""
        del context, path, call, callee
        return after

    def join(self, state: State, live: Live) -> State:
        """The state without what no later step reads: equal states are joined."""
        del live
        return state

    def leave(self, function: Function, state: State) -> State:
        """The state after a function has ended, without what only the function knows."""
        del function
        return state
