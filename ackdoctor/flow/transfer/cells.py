"""Locals that a closure assigns too, or knows while they change: `nonlocal done` is one cell, whoever looks.

What a closure knows of the locals around it is taken along where it is made.  A constant in such a local may be another
one when the closure runs, so it is kept beside the fields of the component, which go with a path through all calls.
"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ackdoctor.flow.expressions import memoize, mentions
from ackdoctor.flow.invalidation import reopen
from ackdoctor.flow.state import Const, State, Value
from ackdoctor.flow.transfer.liveness import written
from ackdoctor.model.cfg import Name
from ackdoctor.model.component import Function

__all__ = ["beyond_a_call", "in_cell", "left", "put", "shared", "where", "without"]


def in_cell(function: Function, state: State, name: str) -> Value | None:
    """The constant that a local has in its cell, if any."""
    if not state.fields or not (function.closures or function.captures):
        return None
    cell = _cells(function).get(name)
    return state.fields.get(cell) if cell is not None else None


def put(function: Function, state: State, name: str, value: Value | None) -> State | None:
    """The state with a constant in the cell of a local, or None where the value goes to the other locals."""
    cell = _cells(function).get(name) if function.closures or function.captures else None
    if cell is None:
        return None
    if isinstance(value, Const):
        return state.bind(name, None).but(fields={**state.fields, cell: value})
    return without(state, {cell}).bind(name, value) if cell in state.fields else None


def left(function: Function, state: State) -> State:
    """The state when the function is over: its own cells are gone."""
    if not state.fields or not function.closures:
        return state
    return without(state, {_cells(function)[name] for name in shared(function)})


def beyond_a_call(function: Function, state: State) -> State:
    """The state behind a call: what was decided about a local in a cell is open, since the call may have assigned it."""
    if not state.facts or not (function.closures or function.captures):
        return state
    names = [Name(name) for name in _cells(function)]
    return reopen(state, [fact for fact in state.facts if any(mentions(fact, name) for name in names)])


def without(state: State, cells: AbstractSet[str]) -> State:
    """The state in which nothing is known of what is in these cells, which are named as by `where`."""
    if cells.isdisjoint(state.fields):
        return state
    return state.but(fields={field: old for field, old in state.fields.items() if field not in cells})


@memoize
def _cells(function: Function) -> Mapping[str, str]:
    """Where the locals are kept that have a cell, by their names; those around a closure are captured by it."""
    return {name: where(function, name) for name in shared(function) | function.captures}


def where(function: Function, name: str) -> str:
    """What a local is called for all functions that know it: it belongs to the outermost of them."""
    return f"{function.path}:{function.qualname.partition('.<locals>.')[0]}:{name}"


@memoize
def shared(function: Function) -> frozenset[str]:
    """The function's own locals that a closure assigns, or takes along although they are assigned several times."""
    if not function.closures:
        return frozenset()
    times = Counter(name for step in function.cfg.steps for name in written(step.op))
    shared: set[str] = set()
    for inner in function.tree():
        if inner is function:
            continue
        assigned = {name for step in inner.cfg.steps for name in written(step.op)}
        shared.update(name for name in inner.captures if name in assigned or times[name] > 1)
    return frozenset(shared - function.captures)
