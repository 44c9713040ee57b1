"""How many rounds a loop has, where it goes over nothing that is followed: over numbers, as many as a local counts, or any number."""

from collections.abc import Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.induction import Counted, Pace, counted_by, counters, less, paced_by
from ackdoctor.flow.predicates import split_by, wholes
from ackdoctor.flow.state import LoopMemory, State
from ackdoctor.flow.transfer.assignment import assign, next_number
from ackdoctor.flow.transfer.deciding import branch, decided
from ackdoctor.model.cfg import Compare, Name, Next

__all__ = ["number_of_rounds"]

_IN_STEP, _BEHIND, _LOST = 1, 2, 3  # where a local stands that paces a loop; lost: nothing is known of it


def number_of_rounds(context: Context, trail: Trail, op: Next) -> Iterator[tuple[bool, State]]:
    """Whether there is another round, with the state in it; or the state behind the loop."""
    function = trail.function
    known = counters(function)
    if (counted := counted_by(function).get(op.loop)) and counted.name in known:
        yield from _counted_rounds(context, trail, op, counted)
    elif (pace := paced_by(function).get(op.loop)) and pace.name in known:
        yield from _paced_rounds(context, trail, op, pace)
    else:
        yield from _unknown_rounds(context, trail, op, again=op.loop in trail.state.loops)


def _counted_rounds(context: Context, trail: Trail, op: Next, loop: Counted) -> Iterator[tuple[bool, State]]:
    """Over `range(n)` or `enumerate(rows)`: another round while the counter, one more than it was, is below the end."""
    state, again = trail.state, op.loop in trail.state.loops
    last = (
        Compare(Name(loop.name), "<", less(loop.stop, loop.step))
        if again
        else Compare(loop.start, "<", loop.stop)
    )
    for more, after in branch(context, trail.function, state, last):
        if more:
            memory = LoopMemory(None, None, position=1 if again else 0)
            before = after.but(loops={**state.loops, op.loop: memory})
            given = assign(context, trail, before, op.target, None)
            yield True, next_number(context, trail, before, given, op.target)
        else:
            yield (
                False,
                after.but(loops={each: kept for each, kept in state.loops.items() if each != op.loop}),
            )


def _paced_rounds(context: Context, trail: Trail, op: Next, pace: Pace) -> Iterator[tuple[bool, State]]:
    """Over what a local counts: as many rounds as there are elements, and the local is then at the end if no round has left it behind."""
    state = trail.state
    memory = state.loops.get(op.loop)
    at = _standing(memory, pace, state) if memory is not None else _LOST
    asked = wholes(trail.function, op.iterable)
    known = None
    if memory is None and decided(context, trail.function, state, pace.first):
        at, known = _IN_STEP, decided(context, trail.function, state, pace.more)
    if at == _IN_STEP and memory is not None:
        ways = branch(context, trail.function, state, pace.more)
    else:
        ways = _unknown_rounds(context, trail, op, again=memory is not None)
    for more, after in ways:
        if known is not None and more != known:
            continue
        facts = {fact: truth for fact, truth in after.facts.items() if fact != pace.mark}
        if at == _IN_STEP:
            facts[pace.more] = more
            if memory is None:  # and whether there is anything
                facts |= dict.fromkeys(asked, more)
        elif at == _BEHIND:
            facts |= {pace.more: True, pace.behind: more}
        if not more:
            loops = {loop: kept for loop, kept in state.loops.items() if loop != op.loop}
            yield False, after.but(facts=facts, loops=loops)
            continue
        loops = {**state.loops, op.loop: LoopMemory(None, None, position=at)}
        given = assign(context, trail, after.but(facts=facts, loops=loops), op.target, None)
        yield True, given if at == _LOST else given.but(facts={**given.facts, pace.mark: False})


def _standing(memory: LoopMemory, pace: Pace, state: State) -> int:
    """Where a local stands after a round that has counted it or not, if the path still knows."""
    if memory.position == _LOST or pace.mark not in state.facts:
        return _LOST
    return memory.position if state.facts[pace.mark] else _BEHIND


def _unknown_rounds(context: Context, trail: Trail, op: Next, *, again: bool) -> Iterator[tuple[bool, State]]:
    """Over something else: any number of rounds, at least one where the path has asked and there is something, none where there is nothing."""
    state = trail.state
    known = next(
        (state.facts[fact] for fact in wholes(trail.function, op.iterable) if fact in state.facts), None
    )
    if known is None and not context.typed and op.iterable in split_by(trail.function):
        known = True
    if known is not False:
        more = state.but(loops={**state.loops, op.loop: LoopMemory(None, None)}) if known else state
        yield True, assign(context, trail, more, op.target, None)
    if again or not known:
        yield False, state.but(loops={loop: kept for loop, kept in state.loops.items() if loop != op.loop})
