"""Locals that stand for a condition or a number: `last` for `i == n - 1`, `total` for `len(rows)`.

What a path decides about the one it then knows of the other.  That `last` means `i == n - 1` is a fact like any other, so
it is forgotten as soon as one of the two gets another value.  Only what is asked about in other words as well is kept.
"""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.graph.expressions import mentions, names_in
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.path.context import normalised, subject, tested_subjects
from ackdoctor.flow.path.lattice import State
from ackdoctor.flow.path.numbers import counters
from ackdoctor.flow.path.questions import is_amount, spelled_out
from ackdoctor.model.cfg import Bind, Compare, Expr, IsType, Mix, Name, Not
from ackdoctor.model.component import Function

__all__ = ["MEANS", "meaning", "meanings", "meant"]

MEANS = "means"
_NUMBERS = ("call", "len", "+", "-")


def meant(function: Function, local: str, value: Expr) -> Expr | None:
    """What a local stands for that is given this value, or None where nobody asks for it in other words."""
    said = spelled_out(function, value)
    return said if said in meanings(function).get(local, ()) else None


def meaning(function: Function, state: State, local: Expr) -> Expr | None:
    """What a local stands for on this path."""
    if not isinstance(local, Name) or not state.facts or local.id not in meanings(function):
        return None
    for fact in state.facts:
        if isinstance(fact, Compare) and fact.op == MEANS and fact.left == local:
            return fact.right
    return None


@once
def meanings(function: Function) -> Mapping[str, frozenset[Expr]]:
    """All that a local may stand for."""
    found: dict[str, frozenset[Expr]] = {}
    for name, condition in _told(function):
        found[name] = found.get(name, frozenset()) | {condition}
    return found


def _told(function: Function) -> Iterator[tuple[str, Expr]]:
    bounds = {
        each for all_bounds in counters(function).values() for bound in all_bounds for each in names_in(bound)
    }
    for step in function.cfg.steps:
        if not isinstance(step.op, Bind) or not isinstance(step.op.target, Name):
            continue
        said, name = spelled_out(function, step.op.value), step.op.target.id
        number = (is_amount(said) or (isinstance(said, Mix) and said.op in _NUMBERS)) and name in bounds
        passing = any(each.startswith("%") for each in (name, *names_in(said))) or mentions(said, Name(name))
        if not passing and (number or (_asks(said) and _about(said) in tested_subjects(function))):
            yield name, said


def _asks(expr: Expr) -> bool:
    return isinstance(expr, (Compare, IsType, Not)) or (isinstance(expr, Mix) and expr.op == "call")


def _about(condition: Expr) -> Expr:
    return subject(normalised(condition)[0])
