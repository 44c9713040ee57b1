"""Intervals of numbers and of their differences, and counters.

Numbers are compared as a base and an offset: `n - 1` is `n` and -1, `3` has no base.  What a path has decided about two
bases bounds their difference.  From `i < n` and `i != n - 1` it follows after `i++` that `i < n`, since `i` is an integer.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.domain import Domain
from ackdoctor.flow.events import Path
from ackdoctor.flow.facts import current_definition, tested_names
from ackdoctor.flow.induction import (
    body_counters,
    induction_variables,
    integer_bounds,
    is_number,
    minus,
    split_offset,
)
from ackdoctor.flow.pure_calls import is_size, normalise_emptiness, size_calls
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.declared import declared_type
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.values import Const, Value
from ackdoctor.libraries.vocabulary import INTEGER_TYPES
from ackdoctor.model.cfg import Attr, Compare, Expr, Function, Literal, Mix, Name

_FLIPPED = {"<": ">", ">": "<", "==": "=="}


class Intervals(Domain):
    """What a path knows of numbers; it derives the intervals from the comparisons that the path has decided."""

    def evaluate(self, context: Context, function: Function, state: State, expr: Expr) -> Value | None:
        """The truth of a comparison `<`, `>` or `==` of two numbers."""
        if not isinstance(expr, Compare) or expr.op not in _FLIPPED:
            return None
        apart = _difference(context, function, state, expr.left, expr.right)
        truth = apart.holds(expr.op) if apart is not None else None
        return None if truth is None else Const(truth)

    def assign(
        self, context: Context, path: Path, after: State, target: Expr, source: Expr, value: Value | None
    ) -> State:
        """The outcomes of the tests of a counter that follow from its new value."""
        del value
        if not isinstance(target, Name) or target.id not in tested_names(path.function):
            return after
        return self.assign_counter(context, path, after, target.id, source)

    def assign_counter(self, context: Context, path: Path, after: State, name: str, value: Expr) -> State:
        """The same for a local of this name; any local but a counter stays as it is."""
        function = path.function
        bounds = induction_variables(function).get(name)
        if bounds is None:
            return after
        facts = dict(after.facts)
        value = size_calls(function).get(value, value)
        for bound in bounds:
            apart = _difference(context, function, path.state, value, bound)
            for op in _FLIPPED:
                truth = apart.holds(op) if apart is not None else None
                if truth is not None:
                    facts[Compare(Name(name), op, bound)] = truth
        counting = {
            counter.loop: after.loops[counter.loop]._replace(counted=True)
            for counter in body_counters(function).values()
            if counter.name == name and counter.loop in after.loops
        }
        after = after.replace(loops={**after.loops, **counting}) if counting else after
        return after.replace(facts=facts) if len(facts) > len(after.facts) else after

    def increment(self, context: Context, path: Path, after: State, name: str, by: int) -> State:
        """The state after a counter was incremented."""
        return self.assign_counter(context, path, after, name, minus(Name(name), -by))


INTERVALS = Intervals()


class _Line(NamedTuple):
    base: Expr | None
    more: float


class _Interval(NamedTuple):
    """The interval of a number; `above` and `below` mark excluded bounds, and `never` holds excluded values."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    never: frozenset[float] = frozenset()


class _Difference(NamedTuple):
    """The interval `known` of the difference of two numbers, which is compared with `bound`; `flipped` swaps the operands."""

    known: _Interval
    bound: float
    flipped: bool = False

    def holds(self, op: str) -> bool | None:
        """Return the outcome of the comparison, if the interval decides it."""
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


def _line(context: Context, function: Function, state: State, expr: Expr) -> _Line:
    if isinstance(expr, Literal):
        return _Line(None, expr.value) if is_number(expr.value) else _Line(expr, 0)  # type: ignore[arg-type]  # a plain number
    base, more = split_offset(expr)
    value = evaluate(context, function, state, base)
    if isinstance(value, Const) and is_number(value.value):
        return _Line(None, value.value + more)  # type: ignore[operator]  # a plain number
    meant = current_definition(function, state, base)
    if isinstance(meant, (Mix, Name)):
        inner = _line(context, function, state, meant)
        return inner._replace(more=inner.more + more)
    return _Line(base, more)


def _difference(
    context: Context, function: Function, state: State, left: Expr, right: Expr
) -> _Difference | None:
    """Return the interval of the difference of two expressions, if both are numbers."""
    if _is_not_number(right):
        return None
    one, other = (_line(context, function, state, side) for side in (left, right))
    if one.base == other.base:  # NaN is not equal to itself
        known = one.base is None or _is_integer(function, one.base)
        return _Difference(_Interval(one.more, one.more), other.more) if known else None
    flipped = one.base is None
    if flipped:
        one, other = other, one
    if isinstance(other.base, Literal):
        return None
    return _Difference(
        _interval(context, function, state, one.base, other.base), other.more - one.more, flipped
    )


def _interval(
    context: Context, function: Function, state: State, base: Expr | None, other: Expr | None
) -> _Interval:
    """Return the interval of `base - other`."""
    known = _size_interval(state, base) if other is None and base is not None else _Interval()
    whole = _is_integer(function, base) and _is_integer(function, other)
    total = whole or other is None  # sets and NaNs are only partially ordered
    for op, bound, truth in _known_outcomes(context, function, state, base, other):
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
    return _round_inward(known) if whole else known


def _known_outcomes(
    context: Context, function: Function, state: State, base: Expr | None, other: Expr | None
) -> Iterator[tuple[str, float, bool]]:
    for fact, truth in state.facts.items():
        if not isinstance(fact, Compare) or fact.op not in _FLIPPED or _is_not_number(fact.right):
            continue
        one, two = (_line(context, function, state, side) for side in (fact.left, fact.right))
        if (one.base, two.base) == (base, other):
            yield fact.op, two.more - one.more, truth
        elif (two.base, one.base) == (base, other):
            yield _FLIPPED[fact.op], one.more - two.more, truth


def _is_not_number(expr: Expr) -> bool:
    return isinstance(expr, Literal) and not is_number(expr.value)


def _size_interval(state: State, base: Expr) -> _Interval:
    """Return the interval of a size, which is never negative."""
    if not is_size(base):
        return _Interval()
    predicate, same = normalise_emptiness(Compare(base, ">", Literal(0)))
    some = state.facts.get(predicate)
    if some is None:
        return _Interval(low=0)
    return _Interval(low=1) if some == same else _Interval(low=0, high=0)


def _round_inward(known: _Interval) -> _Interval:
    """Round the interval of an integer to integers."""
    low, high = known.low, known.high
    if math.isfinite(low):
        low = math.floor(low) + 1 if known.above else math.ceil(low)
    if math.isfinite(high):
        high = math.ceil(high) - 1 if known.below else math.floor(high)
    for _ in known.never:
        low = low + 1 if low in known.never else low
        high = high - 1 if high in known.never else high
    return _Interval(low, high, never=known.never)


def _is_integer(function: Function, base: Expr | None) -> bool:
    """Whether a base is an integer; a constant has no base and is checked by its value."""
    if base is None or is_size(base):
        return True
    declared = declared_type(function, base.id).rpartition(".")[2] if isinstance(base, Name) else ""
    if declared or not isinstance(base, (Name, Attr)):
        return declared in INTEGER_TYPES
    return base in integer_bounds(function) or (
        isinstance(base, Name) and base.id in induction_variables(function)
    )
