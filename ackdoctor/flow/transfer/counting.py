"""What a path knows of numbers: how two of them compare, by what it has decided before, and what is left of that when one is counted on.

Terms.  A *line* is an expression as a base and a number more: `n - 1` is `n` and -1, `3` is no base and 3.
A path knows `i < n`, and that `i == n - 1` is not so; with `i++` behind it, it knows `i < n`, since `i` is a whole number.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.facts import meaning
from ackdoctor.flow.induction import count_of, counters, less, paced_by, plain, whole_bounds
from ackdoctor.flow.predicates import has_any, is_amount, sizes
from ackdoctor.flow.state import Const, State
from ackdoctor.flow.transfer.declared import text_of
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.model.cfg import Attr, Compare, Expr, Literal, Mix, Name
from ackdoctor.model.component import Function

__all__ = ["begun", "counted", "ordered"]

_FLIPPED = {"<": ">", ">": "<", "==": "=="}
_WHOLE = frozenset("int long short byte Integer Long Short Byte".split())


class _Line(NamedTuple):
    base: Expr | None
    more: float


class _Limits(NamedTuple):
    """What a number is at least and at most; `above` and `below` where it is not that itself; `never` what it is not."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    never: frozenset[float] = frozenset()


class _Apart(NamedTuple):
    """One number is within `known` of another, and asked to be `bound` away; `flipped` if it is the right one that is asked about."""

    known: _Limits
    bound: float
    flipped: bool = False

    def holds(self, op: str) -> bool | None:
        """Whether they compare so."""
        known, bound = self.known, self.bound
        under = known.high < bound or (known.high == bound and known.below)
        over = known.low > bound or (known.low == bound and known.above)
        match _FLIPPED[op] if self.flipped else op:
            case "<" if under or known.low >= bound:
                return under
            case ">" if over or known.high <= bound:
                return over
            case "==" if under or over or bound in known.never:
                return False
            case "==" if known.low == known.high == bound:
                return True
            case _:
                return None


def ordered(
    context: Context, function: Function, state: State, left: Expr, op: str, right: Expr
) -> bool | None:
    """Whether `left op right` is so (`<`, `>` or `==`), as far as the path knows."""
    apart = _apart(context, function, state, left, right) if op in _FLIPPED else None
    return apart.holds(op) if apart is not None else None


def counted(context: Context, function: Function, before: State, after: State, name: str, by: int) -> State:
    """The state in which a counter is `by` more than it was: all that is asked about it, as far as it follows from what was known."""
    return begun(context, function, before, after, name, less(Name(name), -by))


def begun(context: Context, function: Function, before: State, after: State, name: str, value: Expr) -> State:
    """The state in which a counter is given this value: all that is asked about it, as far as it follows from what was known."""
    facts = dict(after.facts)
    value = sizes(function).get(value, value)
    for bound in counters(function).get(name, ()):
        apart = _apart(context, function, before, value, bound)
        for op in _FLIPPED:
            truth = apart.holds(op) if apart is not None else None
            if truth is not None:
                facts[Compare(Name(name), op, bound)] = truth
    for pace in paced_by(function).values():
        if pace.name == name and pace.mark in before.facts:
            facts[pace.mark] = True
    return after.but(facts=facts) if len(facts) > len(after.facts) else after


def _line(context: Context, function: Function, state: State, expr: Expr) -> _Line:
    if isinstance(expr, Literal):
        return _Line(None, expr.value) if plain(expr.value) else _Line(expr, 0)  # type: ignore[arg-type]  # a plain number
    base, more = count_of(expr)
    value = evaluate(context, function, state, base)
    if isinstance(value, Const) and plain(value.value):
        return _Line(None, value.value + more)  # type: ignore[operator]  # a plain number
    meant = meaning(function, state, base)
    if isinstance(meant, (Mix, Name)):
        inner = _line(context, function, state, meant)
        return inner._replace(more=inner.more + more)
    return _Line(base, more)


def _apart(context: Context, function: Function, state: State, left: Expr, right: Expr) -> _Apart | None:
    """How far two expressions are apart, as far as they are numbers."""
    if _no_number(right):
        return None
    one, other = (_line(context, function, state, side) for side in (left, right))
    if one.base == other.base:  # what is no number, NaN, is not even what it is
        known = one.base is None or _is_whole(function, one.base)
        return _Apart(_Limits(one.more, one.more), other.more) if known else None
    flipped = one.base is None
    if flipped:
        one, other = other, one
    if isinstance(other.base, Literal):
        return None
    return _Apart(_limits(context, function, state, one.base, other.base), other.more - one.more, flipped)


def _limits(
    context: Context, function: Function, state: State, base: Expr | None, other: Expr | None
) -> _Limits:
    """What is known of `base - other`."""
    known = _amount(state, base) if other is None and base is not None else _Limits()
    whole = _is_whole(function, base) and _is_whole(function, other)
    total = whole or other is None  # of two sets, or NaNs, none need be less, more or the same
    for op, bound, truth in _decided(context, function, state, base, other):
        match op, truth:
            case "<", True if bound <= known.high:
                known = known._replace(high=bound, below=True)
            case "<", False if total and bound > known.low:
                known = known._replace(low=bound, above=False)
            case ">", True if bound >= known.low:
                known = known._replace(low=bound, above=True)
            case ">", False if total and bound < known.high:
                known = known._replace(high=bound, below=False)
            case "==", True:
                known = known._replace(low=bound, high=bound, above=False, below=False)
            case "==", False:
                known = known._replace(never=known.never | {bound})
            case _:
                pass
    return _whole(known) if whole else known


def _decided(
    context: Context, function: Function, state: State, base: Expr | None, other: Expr | None
) -> Iterator[tuple[str, float, bool]]:
    for fact, truth in state.facts.items():
        if not isinstance(fact, Compare) or fact.op not in _FLIPPED or _no_number(fact.right):
            continue
        one, two = (_line(context, function, state, side) for side in (fact.left, fact.right))
        if (one.base, two.base) == (base, other):
            yield fact.op, two.more - one.more, truth
        elif (two.base, one.base) == (base, other):
            yield _FLIPPED[fact.op], one.more - two.more, truth


def _no_number(expr: Expr) -> bool:
    return isinstance(expr, Literal) and not plain(expr.value)


def _amount(state: State, base: Expr) -> _Limits:
    """How much there is of something is never less than nothing."""
    if not is_amount(base):
        return _Limits()
    asked, same = has_any(Compare(base, ">", Literal(0)))
    some = state.facts.get(asked)
    if some is None:
        return _Limits(low=0)
    return _Limits(low=1) if some == same else _Limits(low=0, high=0)


def _whole(known: _Limits) -> _Limits:
    """The limits of a whole number are numbers that it can be."""
    low, high = known.low, known.high
    if math.isfinite(low):
        low = math.floor(low) + 1 if known.above else math.ceil(low)
    if math.isfinite(high):
        high = math.ceil(high) - 1 if known.below else math.floor(high)
    for _ in known.never:
        low = low + 1 if low in known.never else low
        high = high - 1 if high in known.never else high
    return _Limits(low, high, never=known.never)


def _is_whole(function: Function, base: Expr | None) -> bool:
    """Whether it is a whole number; a constant, which has no base, says so itself."""
    if base is None or is_amount(base):
        return True
    declared = text_of(function, base.id).rpartition(".")[2] if isinstance(base, Name) else ""
    if declared or not isinstance(base, (Name, Attr)):
        return declared in _WHOLE
    return base in whole_bounds(function) or (isinstance(base, Name) and base.id in counters(function))
