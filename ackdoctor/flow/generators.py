"""Generators of the project, in a loop that runs in the middle of them.

A generator of the project is solved to its end where it is called, but a loop over it runs in the middle of it:

    def words(self, tup):
        for word in tup.values[0].split():
            yield word                          `tup` is owed while the loop below runs
        self.ack(tup)                           and acked after the loop

    for word in self.words(tup):
        self.emit([word])

In the loop body, the generator holds the tuples that it completes after its last `yield`; after the loop they are
completed (`suspend_generator`, `finish_generator`).
"""

from ackdoctor.flow.expressions import memoize
from ackdoctor.flow.state import State
from ackdoctor.flow.values import GeneratorResult, Token, TokenState
from ackdoctor.model.cfg import Bind, Expr, Function, Name, Next, Yield
from ackdoctor.model.protocol import Stage


def suspend_generator(state: State, result: GeneratorResult, generator: str) -> tuple[State, GeneratorResult]:
    """The state that a loop body sees, from the state at the generator's end, and the result of the generator."""
    if result.empty:
        return state, result
    pending: list[tuple[Token, TokenState]] = []
    known = dict(result.token_states)  # a tuple from a field is in it only once the generator has used it
    for token, now in state.tokens.items():
        before = known.get(token)
        changed = before is None or now.stage is not before.stage
        if changed and now.stage in (Stage.ACKED, Stage.FAILED):
            pending.append((token, now))
            state = state.with_token(token, now._replace(stage=Stage.HELD, holder=generator))
    return state, GeneratorResult(result.items, frozenset(pending), result.empty)


def finish_generator(state: State, result: GeneratorResult) -> State:
    """The state after the generator's end: the tuples that it held are completed."""
    for token, token_state in result.token_states:
        now = state.tokens.get(token)  # None if the loop has looked up another tuple in the field
        if now is not None and now.stage is Stage.HELD:
            state = state.with_token(token, token_state)
    return state


@memoize
def iterated_locals(function: Function) -> frozenset[Expr]:
    """The locals that a loop or a `yield from` iterates over, and the locals copied into them."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case Next(iterable=Name() as iterable) | Yield(value=Name() as iterable, delegate=True):
                found.add(iterable)
            case _:
                pass
    copies = [step.op for step in function.cfg.steps if isinstance(step.op, Bind) and step.op.target in found]
    return frozenset(found | {copy.value for copy in copies})
