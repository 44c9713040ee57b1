"""Execute a function of the program along all paths that differ in their outcome.

`explore` runs the function again and again, with other choices at the branches that the files do not decide, until each
choice that changes the outcome was made both ways.  So the machine's values may be mutable and no state is copied.
"""

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.model.cfg import Notation
from ackdoctor.topology.calls import Decision, Run
from ackdoctor.topology.machine import Entry, Machine
from ackdoctor.topology.objects import Library

__all__ = ["Decision", "Entry", "Path", "Paths", "Run", "explore"]

_MAX_PATHS = 16  # with different outcomes, of one entry point
_MAX_RUNS = 64  # of one entry point
_MAX_STEPS = 40_000  # of all runs of one entry point

_Outcome = TypeVar("_Outcome")


class Path(NamedTuple, Generic[_Outcome]):
    """An outcome, and all decisions of the path that leads to it."""

    outcome: _Outcome
    decisions: tuple[Decision, ...]


class Paths(NamedTuple, Generic[_Outcome]):
    """The paths of an entry point with different outcomes, and the functions that they run.

    `relevant` are the keys of the decisions that change the outcome.  `truncated` is true if there are more paths than
    the interpreter follows, `limited` if one of them is longer; `steps` counts the steps of all of them.
    """

    paths: tuple[Path[_Outcome], ...]
    relevant: frozenset[Hashable]
    executed: frozenset[int]
    truncated: bool
    limited: bool
    steps: int


def explore(
    symbols: SymbolTable,
    entry: Entry,
    notation: Notation,
    outcome: Callable[[Run], _Outcome],
    library: Library | None = None,
) -> Paths[_Outcome]:
    """Execute an entry point; a choice that changes nothing is not combined with the others.

    A false outcome says that the path did nothing of interest: all choices on it are combined.
    """
    found: list[Path[_Outcome]] = []
    relevant: set[Hashable] = set()
    executed: set[int] = set()
    plans: list[tuple[tuple[bool, ...], Path[_Outcome] | None]] = [((), None)]
    steps = runs = 0
    limited = False
    while plans and steps < _MAX_STEPS and runs < _MAX_RUNS and len(found) < _MAX_PATHS:
        plan, parent = plans.pop(0)
        machine = Machine(symbols, notation, plan, library)
        run = machine.run(entry)
        steps, runs = steps + machine.steps, runs + 1
        executed.update(map(id, run.executed))
        limited = limited or run.ended == "limit"
        path = Path(outcome(run), tuple(run.decisions))
        same = parent is not None and path.outcome == parent.outcome
        if parent is not None and not same:
            relevant.add(run.decisions[len(plan) - 1].key)
        if same and path.outcome:
            continue
        if not same:
            found.append(path)
        choices = tuple(decision.choice for decision in run.decisions)
        plans += [
            ((*choices[:i], not choices[i]), path)
            for i in range(len(plan), len(choices))
            if not run.decisions[i].only
        ]
    return Paths(tuple(found), frozenset(relevant), frozenset(executed), bool(plans), limited, steps)
