"""Leaving a loop over a batch early: what was not reached is as it was before, what was done stays done.

A token stands for any one element of the batch.  At `break`, `return` or an exception that is caught outside, that
element may be the one at hand, one that an earlier round has handled, or one that no round will reach:

    for tup in tups:            one path each for
        if full(tup):             the element at hand      (FAILED)
            self.fail(tup)        one handled before       (what earlier rounds left, if there were any)
            break                 one not reached          (OWED, as before the loop)
        self.ack(tup)
"""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.state import Index, State, Token, TokenKind, TokenRef, Value
from ackdoctor.flow.transfer.typestate import WayOn
from ackdoctor.model.cfg import Next
from ackdoctor.model.component import Function

__all__ = ["each_element"]

_ALL = range(1 << 30)  # the loops around a helper's call: no step of it leaves them


def each_element(context: Context, trail: Trail, way: WayOn) -> Iterator[WayOn]:
    """The way itself, or, where it leaves a loop over the batch early, one for each kind of element."""
    token, state = context.subject, way.state
    bodies = _bodies(trail.function)
    left = {loop: memory for loop, memory in state.loops.items() if way.target not in bodies.get(loop, _ALL)}
    if left:
        state = state.but(loops={loop: kept for loop, kept in state.loops.items() if loop not in left})
    batches = [loop for loop, memory in left.items() if memory.base is not None]
    if not batches or token is None or token.kind is not TokenKind.ELEMENT:
        yield way._replace(state=state) if left else way
        return
    first = left[min(batches)]
    now = context.holding(state, token)
    yield WayOn(way.kind, way.target, state)
    others = [holding for holding in (first.base, first.rest) if holding is not None and holding != now]
    for holding in dict.fromkeys(others):
        yield WayOn(way.kind, way.target, _nameless(state, token).hold(token, holding))


def _nameless(state: State, token: Token) -> State:
    """The state in which no local is that element: the names mean the one at hand."""

    def other(value: Value) -> bool:
        return not (isinstance(value, (TokenRef, Index)) and value.token == token)

    return state.but(env={name: value for name, value in state.env.items() if other(value)})


@memoize
def _bodies(function: Function) -> Mapping[int, range]:
    """The steps of each loop by its number."""
    cfg = function.cfg
    return {
        step.op.loop: cfg.bodies[head] for head, step in enumerate(cfg.steps) if isinstance(step.op, Next)
    }
