"""The truth of conditions on one path, and what the path knows after a branch.

A path knows the outcomes of its earlier tests as facts.  Numbers are compared as a base and an offset: `n - 1` is `n` and
-1, `3` has no base.  From `i < n` and `i != n - 1` it follows after `i++` that `i < n`, since `i` is an integer.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.facts import current_definition, normalise, subject_of, tested_subjects
from ackdoctor.flow.induction import (
    body_counters,
    induction_variables,
    integer_bounds,
    is_number,
    minus,
    split_offset,
)
from ackdoctor.flow.invalidation import recall_final, remember_final
from ackdoctor.flow.pure_calls import inline_calls, is_size, normalise_emptiness, size_calls
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    Const,
    Container,
    Count,
    ExceptionValue,
    FunctionRef,
    Instance,
    SelfRef,
    State,
    TickTest,
    TokenKind,
    TokenRef,
    TokenState,
    Value,
)
from ackdoctor.flow.transfer.evaluate import declared_type, evaluate, tick_comparison
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Compare,
    Expr,
    Function,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
)
from ackdoctor.model.protocol import Tick

_FLIPPED = {"<": ">", ">": "<", "==": "=="}
_INTEGER_TYPES = frozenset("int long short byte Integer Long Short Byte".split())


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


def compare(
    context: Context, function: Function, state: State, left: Expr, op: str, right: Expr
) -> bool | None:
    """Return whether `left op right` holds (`<`, `>` or `==`), if the path knows."""
    apart = _difference(context, function, state, left, right) if op in _FLIPPED else None
    return apart.holds(op) if apart is not None else None


def increment_counter(
    context: Context, function: Function, before: State, after: State, name: str, by: int
) -> State:
    """Return the state after a counter was incremented by `by`, with the outcomes that follow for the tests of it."""
    return assign_counter(context, function, before, after, name, minus(Name(name), -by))


def assign_counter(
    context: Context, function: Function, before: State, after: State, name: str, value: Expr
) -> State:
    """Return the state after an assignment to a counter, with the outcomes that follow for the tests of it."""
    facts = dict(after.facts)
    value = size_calls(function).get(value, value)
    for bound in induction_variables(function).get(name, ()):
        apart = _difference(context, function, before, value, bound)
        for op in _FLIPPED:
            truth = apart.holds(op) if apart is not None else None
            if truth is not None:
                facts[Compare(Name(name), op, bound)] = truth
    for pace in body_counters(function).values():
        if pace.name == name and pace.mark in before.facts:
            facts[pace.mark] = True
    return after.replace(facts=facts) if len(facts) > len(after.facts) else after


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
        return declared in _INTEGER_TYPES
    return base in integer_bounds(function) or (
        isinstance(base, Name) and base.id in induction_variables(function)
    )


MOST_FACTS = 60  # facts per path: a chain of `else if` may test one thing a thousand times
_CALL_RESULTS = (Const, Count)  # results of calls, as the path knows them


def branch(
    context: Context, function: Function, state: State, condition: Expr
) -> Iterator[tuple[bool, State]]:
    """Yield the outcomes of a condition that this path allows, each with the state after it."""
    test = _tick_question(context, function, state, condition)
    if test is not None:
        yield from _tick_branches(context, state, test, condition)
        return
    if not any(
        isinstance(evaluate(context, function, state, side), _CALL_RESULTS)
        for side in _call_results(condition)
    ):
        condition = inline_calls(function, condition)
    fact, positive = _normalised(context, function, state, condition)
    meant = current_definition(function, state, fact)
    if meant is not None and fact not in state.facts:
        for truth, learnt in branch(context, function, state, meant):
            yield truth == positive, _learn(context, function, learnt, fact, truth=truth)
        return
    known = _decide(context, function, recall_final(context, state, fact), fact)
    if known is not None and isinstance(evaluate(context, function, state, subject_of(fact)), Const):
        yield known == positive, state  # the constant decides it every time
        return
    for truth in (True, False):
        if known is None or known == truth:
            yield truth == positive, _learn(context, function, state, fact, truth=truth)


def _call_results(condition: Expr) -> Iterator[Expr]:
    """Yield the temporaries of a condition: results of calls that the path may know better."""
    fact = normalise(condition)[0]
    for side in (fact.left, split_offset(fact.right)[0]) if isinstance(fact, Compare) else (fact,):
        if isinstance(side, Name) and side.id.startswith("%"):
            yield side


def known_truth(context: Context, function: Function, state: State, condition: Expr) -> bool | None:
    """Return the truth of an expression that is assigned, not tested, if the path knows it; constants are left to `evaluate`."""
    if not isinstance(condition, (Name, Attr, Item, Compare, Not)):
        return None
    fact, positive = _normalised(context, function, state, condition)
    known = _decide(context, function, recall_final(context, state, fact), fact)
    return None if known is None else known == positive


def _normalised(context: Context, function: Function, state: State, condition: Expr) -> tuple[Expr, bool]:
    """Normalise a condition to its positive form: named constants become literals, `is` becomes `==` for them, `if left` becomes `left != 0`."""
    fact, positive = normalise(condition)
    if isinstance(fact, Name) and fact.id in induction_variables(function):
        return Compare(fact, "==", Literal(0)), not positive
    if context.typed or not isinstance(fact, Compare):
        return fact, positive
    match fact.op, fact.right:
        case "==" | "is", Attr() | Global() as named:
            literal = _literal_of(context, function, state, named)
            return (Compare(fact.left, "==", literal) if literal != named else fact), positive
        case "in", Build(kind=kind, items=items):
            literals = tuple(_literal_of(context, function, state, item) for item in items)
            return Compare(fact.left, "in", Build(kind, literals)), positive
        case _:
            return fact, positive


def _literal_of(context: Context, function: Function, state: State, expr: Expr) -> Expr:
    """Return the literal that a named constant denotes; any other expression as it is."""
    value = evaluate(context, function, state, expr) if isinstance(expr, (Attr, Global)) else None
    return Literal(value.value) if isinstance(value, Const) and value.value is not None else expr


def _decide(context: Context, function: Function, state: State, fact: Expr) -> bool | None:
    if fact in state.facts or _is_last_constant(context, state, fact):
        return state.facts.get(fact, True)
    match fact:
        case Compare(left=left, op="is", right=Literal(value=None)):
            value = evaluate(context, function, state, left)
            if isinstance(value, Const):
                return value.value is None
            if state.facts.get(left) or _truth(value):
                return False
            return None
        case Compare(left=left, op="is", right=Literal(value=bool() as wanted)):
            value = evaluate(context, function, state, left)
            return value.value is wanted if isinstance(value, Const) else None
        case Compare(left=left, op="==", right=right):
            value = evaluate(context, function, state, left)
            if isinstance(value, Const) and isinstance(right, Literal):
                return bool(value.value == right.value)
            if isinstance(value, Count) and right == Literal(0) and _truth(value):
                return False
            known = _other_equality(context, function, state, left, right)
            return compare(context, function, state, left, "==", right) if known is None else known
        case Compare(left=left, op="in", right=Build(items=items)):
            return _one_of(context, function, state, left, items)
        case Compare(left=left, op="<" | ">" as order, right=right):
            sides = (evaluate(context, function, state, side) for side in (left, right))
            known = _ordered(order, *sides)
            return compare(context, function, state, left, order, right) if known is None else known
        case Compare() | IsType():
            return None
        case Not(value=inner):
            known = _decide(context, function, state, inner)
            return None if known is None else not known
        case _:
            if state.facts.get(Compare(fact, "is", Literal(None))):
                return False
            return _truth(evaluate(context, function, state, fact))


def _ordered(order: str, left: Value | None, right: Value | None) -> bool | None:
    """Return the outcome of `0 < 3`: a loop between two constants, or over a literal list, runs at least once."""
    match left, right:
        case (Const(value=0), Count() as count) if order == "<":
            return _truth(count)
        case (Count() as count, Const(value=0)) if order == ">":
            return _truth(count)
        case (Count(of=whole, less=1), Const(value=0)) if order == "<" and _truth(whole):
            return False
        case _:
            return None


def _one_of(
    context: Context, function: Function, state: State, left: Expr, items: tuple[Expr, ...]
) -> bool | None:
    """Return the outcome of `x in (1, 2)`: true if the path knows `x == 2`, false if it knows that x is neither."""
    known = [_decide(context, function, state, Compare(left, "==", item)) for item in items]
    if any(known):
        return True
    return None if None in known else False


def _other_equality(
    context: Context, function: Function, state: State, left: Expr, wanted: Expr
) -> bool | None:
    """Return the outcome of `x == 1`: false if the path knows `x == 2`, `x in (2, 3)` or `x not in (1, 2)`."""
    one = _constant(context, function, state, wanted)

    def hits(item: Expr) -> bool | None:
        return _equal(one, _constant(context, function, state, item))

    for other, truth in state.facts.items():
        match other:
            case Compare(left=same, op="==", right=right) if truth and same == left:
                hit = hits(right)
                if hit is not None:
                    return hit
            case Compare(left=same, op="in", right=Build(items=items)) if same == left:
                listed = [hits(item) for item in items]
                if not truth and True in listed:
                    return False
                if truth and not any(hit is not False for hit in listed):
                    return False
                others = [item for item, hit in zip(items, listed, strict=True) if hit is not True]
                if truth and all(state.facts.get(Compare(left, "==", item)) is False for item in others):
                    return True
            case _:
                pass
    return None


def _is_last_constant(context: Context, state: State, fact: Expr) -> bool:
    """Whether a value equals the last constant of its enum: the path knows that it is none of the others."""
    if not isinstance(fact, Compare) or fact.op not in ("==", "is"):
        return False
    enums = list(_enums_with(context, fact.right))
    names = {*_constant_names(fact.right)}
    for known, truth in state.facts.items() if enums else ():
        match known:
            case Compare(left=left, op="in", right=Build(items=items)) if not truth and left == fact.left:
                names.update(name for item in items for name in _constant_names(item))
            case Compare(left=left, op="==" | "is", right=right) if not truth and left == fact.left:
                names.update(_constant_names(right))
            case _:
                pass
    return names in enums


def _constant_names(expr: Expr) -> tuple[str, ...]:
    """Return the name of the constant of an enum: `Color.RED`, or in a Java `case` only `RED`."""
    match expr:
        case Attr(name=name) | Global(id=name) | Literal(value=(_, str(name))):
            return (name,)
        case _:
            return ()


def _enums_with(context: Context, expr: Expr) -> Iterator[frozenset[str]]:
    """Yield the constants of each enum that an expression may name one of."""
    match expr:
        case Attr(obj=Global(id=enum) | Attr(name=enum)) | Literal(value=(str(enum), str())):
            wanted = enum.rpartition(".")[2]
        case Global():
            wanted = ""
        case _:
            return
    for name, constants in context.program.enums:
        if wanted in ("", name) and constants.issuperset(_constant_names(expr)):
            yield constants


def _constant(context: Context, function: Function, state: State, expr: Expr) -> Const | Expr | None:
    """Return the constant of a comparison: a literal, or a name in capitals."""
    match expr:
        case Literal(value=value):
            return Const(value)
        case Attr(name=name) | Global(id=name) if name.isupper():
            value = evaluate(context, function, state, expr)
            return value if isinstance(value, Const) else expr
        case _:
            return None


def _equal(one: Const | Expr | None, other: Const | Expr | None) -> bool | None:
    """Whether two constants are equal; constants of different classes or of different names are not."""
    match one, other:
        case Const(value=first), Const(value=second):
            return bool(first == second)
        case Attr(obj=first, name=name), Attr(obj=second, name=named) if first == second:
            return name == named
        case Global(id=name), Global(id=named):
            return name == named
        case _:
            return None


def _truth(value: Value | None) -> bool | None:
    match value:
        case Const(value=constant):
            return bool(constant)
        case TokenRef(token=token):
            return None if token.kind is TokenKind.STORED else True
        case SelfRef() | BoundMethod() | FunctionRef() | Batch() | Instance() | ExceptionValue():
            return True
        case Container(items=items):
            return True if items else None
        case Count(of=whole, less=0):
            return _truth(whole)
        case _:
            return None


def _learn(context: Context, function: Function, state: State, fact: Expr, *, truth: bool) -> State:
    state = remember_final(context, state, fact, truth=truth)
    if (
        len(state.facts) < MOST_FACTS
        and subject_of(fact) in tested_subjects(function)
        and fact not in state.facts
    ):
        return state.replace(facts={**state.facts, fact: truth})
    return state


# ---- ticks ----


def _tick_question(context: Context, function: Function, state: State, condition: Expr) -> TickTest | None:
    if isinstance(condition, Compare):
        return tick_comparison(context, function, state, condition)
    value = evaluate(context, function, state, condition)
    return value if isinstance(value, TickTest) else None


def _tick_branches(
    context: Context, state: State, test: TickTest, condition: Expr
) -> Iterator[tuple[bool, State]]:
    token_state = context.token_state(state, test.token)
    negative = isinstance(condition, Compare) and condition.op in ("!=", "is not", "not in")
    possible = (Tick.MAYBE, test.kind) if test.kind is Tick.YES else (Tick.MAYBE, Tick.NO, test.kind)
    if token_state.tick in possible:
        yield (
            not negative,
            state.with_token(test.token, TokenState(token_state.stage, test.kind, token_state.holder)),
        )
    if token_state.tick is not test.kind:
        known = Tick.NO if test.kind is Tick.YES and token_state.tick is Tick.MAYBE else token_state.tick
        yield negative, state.with_token(test.token, TokenState(token_state.stage, known, token_state.holder))
