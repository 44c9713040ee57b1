"""Whether a condition holds, as far as one path knows, and what the path knows after it."""

from collections.abc import Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.facts import meaning, normalised, subject, tested_subjects
from ackdoctor.flow.final_fields import settle, with_settled
from ackdoctor.flow.induction import count_of, counters
from ackdoctor.flow.predicates import spelled_out
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    Coll,
    Const,
    Count,
    FunctionRef,
    Holding,
    Instance,
    SelfRef,
    State,
    Thrown,
    Tick,
    TickTest,
    TokenKind,
    TokenRef,
    Value,
)
from ackdoctor.flow.transfer.counting import ordered
from ackdoctor.flow.transfer.evaluate import evaluate, tick_comparison
from ackdoctor.model.cfg import Attr, Build, Compare, Expr, Global, IsType, Item, Literal, Name, Not
from ackdoctor.model.component import Function

__all__ = ["branch", "decided"]

MOST_FACTS = 60  # that a path remembers: a chain of `else if` may ask about one thing a thousand times
_ANSWERS = (Const, Count)  # of calls, as the path knows them


def branch(
    context: Context, function: Function, state: State, condition: Expr
) -> Iterator[tuple[bool, State]]:
    """The outcomes that this path allows for a condition, each with what is known after it."""
    test = _tick_question(context, function, state, condition)
    if test is not None:
        yield from _tick_branches(context, state, test, condition)
        return
    if not any(
        isinstance(evaluate(context, function, state, side), _ANSWERS) for side in _answers_in(condition)
    ):
        condition = spelled_out(function, condition)
    fact, positive = _asked(context, function, state, condition)
    meant = meaning(function, state, fact)
    if meant is not None and fact not in state.facts:
        for truth, learnt in branch(context, function, state, meant):
            yield truth == positive, _learn(context, function, learnt, fact, truth=truth)
        return
    known = _decide(context, function, with_settled(context, state, fact), fact)
    if known is not None and isinstance(evaluate(context, function, state, subject(fact)), Const):
        yield known == positive, state  # the constant says it each time
        return
    for truth in (True, False):
        if known is None or known == truth:
            yield truth == positive, _learn(context, function, state, fact, truth=truth)


def _answers_in(condition: Expr) -> Iterator[Expr]:
    """The temporaries that a condition looks at: answers of calls, of which the path may know better."""
    fact = normalised(condition)[0]
    for side in (fact.left, count_of(fact.right)[0]) if isinstance(fact, Compare) else (fact,):
        if isinstance(side, Name) and side.id.startswith("%"):
            yield side


def decided(context: Context, function: Function, state: State, condition: Expr) -> bool | None:
    """Whether a path knows the truth of something that is only kept, not tested; constants speak for themselves."""
    if not isinstance(condition, (Name, Attr, Item, Compare, Not)):
        return None
    fact, positive = _asked(context, function, state, condition)
    known = _decide(context, function, with_settled(context, state, fact), fact)
    return None if known is None else known == positive


def _asked(context: Context, function: Function, state: State, condition: Expr) -> tuple[Expr, bool]:
    """A condition in its positive form; a named constant on its right is what it stands for, `is` that is `==`, and `if left` is `left != 0`."""
    fact, positive = normalised(condition)
    if isinstance(fact, Name) and fact.id in counters(function):
        return Compare(fact, "==", Literal(0)), not positive
    if context.typed or not isinstance(fact, Compare):
        return fact, positive
    match fact.op, fact.right:
        case "==" | "is", Attr() | Global() as named:
            said = _said(context, function, state, named)
            return (Compare(fact.left, "==", said) if said != named else fact), positive
        case "in", Build(kind=kind, items=items):
            spelt = tuple(_said(context, function, state, item) for item in items)
            return Compare(fact.left, "in", Build(kind, spelt)), positive
        case _:
            return fact, positive


def _said(context: Context, function: Function, state: State, expr: Expr) -> Expr:
    """The literal that a named constant stands for, or the expression as it is."""
    value = evaluate(context, function, state, expr) if isinstance(expr, (Attr, Global)) else None
    return Literal(value.value) if isinstance(value, Const) and value.value is not None else expr


def _decide(context: Context, function: Function, state: State, fact: Expr) -> bool | None:
    if fact in state.facts:
        return state.facts[fact]
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
            return ordered(context, function, state, left, "==", right) if known is None else known
        case Compare(left=left, op="in", right=Build(items=items)):
            return _one_of(context, function, state, left, items)
        case Compare(left=left, op="<" | ">" as order, right=right):
            sides = (evaluate(context, function, state, side) for side in (left, right))
            known = _ordered(order, *sides)
            return ordered(context, function, state, left, order, right) if known is None else known
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
    """`0 < 3`: a loop that counts from one constant to another, or through a list, runs at least once."""
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
    """`x in (1, 2)` is true where the path knows `x == 2`, and false where it knows that x is neither."""
    known = [_decide(context, function, state, Compare(left, "==", item)) for item in items]
    if any(known):
        return True
    return None if None in known else False


def _other_equality(
    context: Context, function: Function, state: State, left: Expr, wanted: Expr
) -> bool | None:
    """`x == 1` is false where the path knows `x == 2`, `x in (2, 3)` or `x not in (1, 2)`."""
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


def _constant(context: Context, function: Function, state: State, expr: Expr) -> Const | Expr | None:
    """What is compared with: a value, or a name in capitals, which stands for one."""
    match expr:
        case Literal(value=value):
            return Const(value)
        case Attr(name=name) | Global(id=name) if name.isupper():
            value = evaluate(context, function, state, expr)
            return value if isinstance(value, Const) else expr
        case _:
            return None


def _equal(one: Const | Expr | None, other: Const | Expr | None) -> bool | None:
    """Whether two constants are the same: of one class, or of none, those of different names are not."""
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
        case SelfRef() | BoundMethod() | FunctionRef() | Batch() | Instance() | Thrown():
            return True
        case Coll(items=items):
            return True if items else None
        case Count(of=whole, less=0):
            return _truth(whole)
        case _:
            return None


def _learn(context: Context, function: Function, state: State, fact: Expr, *, truth: bool) -> State:
    state = settle(context, state, fact, truth=truth)
    if (
        len(state.facts) < MOST_FACTS
        and subject(fact) in tested_subjects(function)
        and fact not in state.facts
    ):
        return state.but(facts={**state.facts, fact: truth})
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
    holding = context.holding(state, test.token)
    negative = isinstance(condition, Compare) and condition.op in ("!=", "is not", "not in")
    possible = (Tick.MAYBE, test.kind) if test.kind is Tick.YES else (Tick.MAYBE, Tick.NO, test.kind)
    if holding.tick in possible:
        yield not negative, state.hold(test.token, Holding(holding.stage, test.kind, holding.holder))
    if holding.tick is not test.kind:
        known = Tick.NO if test.kind is Tick.YES and holding.tick is Tick.MAYBE else holding.tick
        yield negative, state.hold(test.token, Holding(holding.stage, known, holding.holder))
