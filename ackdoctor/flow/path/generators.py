"""Generators of the project's own: what stands behind the last `yield` runs once the last element was taken.

A helper that is a generator is solved where it is called, to its end.  A loop over its elements runs in the middle of it:

    def words(self, tup):
        for word in tup.values[0].split():
            yield word                          `tup` is owed while the loop below runs
        self.ack(tup)                           and acked when that is over

    for word in self.words(tup):
        self.emit([word])

So the loop finds what the generator completes behind its last `yield` held by it, and the end of the loop finds it completed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackdoctor.flow.graph.once import once
from ackdoctor.model.cfg import Bind, Expr, Name, Next, Yield
from ackdoctor.model.component import Function
from ackdoctor.model.protocol import State as Stage

if TYPE_CHECKING:
    from ackdoctor.flow.path.lattice import Holding, State, Token, Value

__all__ = ["NOTHING", "Generated", "ended", "paused", "taken_one_by_one"]


@dataclass(slots=True, unsafe_hash=True)
class Generated:
    """What a generator has given so far, with the tuples' holdings at its last `yield`; or all that it gives, with those it leaves behind that.

    Only the tuples among its elements are in `items`; `nothing` says that it has no element at all.
    """

    items: "frozenset[Value]" = frozenset()
    holdings: "frozenset[tuple[Token, Holding]]" = frozenset()
    nothing: bool = False


NOTHING = Generated(nothing=True)


def paused(state: "State", so_far: Generated, generator: str) -> "tuple[State, Generated]":
    """The state at a generator's end as a loop over it finds it in each round, and what the generator gives."""
    if so_far.nothing:
        return state, so_far
    behind: list[tuple[Token, Holding]] = []
    known = dict(so_far.holdings)  # one out of a field is not known before something is done with it
    for token, now in state.tokens.items():
        before = known.get(token)
        undone = before is None or now.stage is not before.stage
        if undone and now.stage in (Stage.ACKED, Stage.FAILED):
            behind.append((token, now))
            state = state.hold(token, now._replace(stage=Stage.HELD, holder=generator))
    return state, Generated(so_far.items, frozenset(behind), so_far.nothing)


def ended(state: "State", given: Generated) -> "State":
    """The state when a generator has run to its end: what it still held is completed."""
    for token, holding in given.holdings:
        now = state.tokens.get(token)  # none: the loop has looked up another tuple in the field
        if now is not None and now.stage is Stage.HELD:
            state = state.hold(token, holding)
    return state


@once
def taken_one_by_one(function: Function) -> frozenset[Expr]:
    """The locals whose elements a loop or a `yield from` takes, one after the other."""
    taken: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=Name() as iterable) | Yield(value=Name() as iterable, delegate=True):
                taken.add(iterable)
            case _:
                pass
    copies = [step.op for step in function.cfg.steps if isinstance(step.op, Bind) and step.op.target in taken]
    return frozenset(taken | {copy.value for copy in copies})
