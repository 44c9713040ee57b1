"""Numbers that a function counts: which locals they are, what they are compared with, which loops count them.

`for (int i = 0; i < n; i++) { ... if (i == n - 1) collector.ack(tuple); }` acks once, in the last round.  A path knows that
from what it has decided about `i`, said anew each time that `i` is counted on (`flow/transfer/counting.py`).

Terms.  A *counter* is a local that is only ever given whole numbers that stand there and counted on by such.  Only those
that are compared at two places or more are told here: for the others it is enough to ask once.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.graph.expressions import names_in, subexpressions
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.path.questions import has_any, is_amount, spelled_out
from ackdoctor.model.cfg import (
    Bind,
    Call,
    Catch,
    Compare,
    Drop,
    Expr,
    Global,
    Instr,
    Literal,
    Mix,
    Name,
    Next,
    Star,
    Test,
    Unpack,
    Update,
    Yield,
)
from ackdoctor.model.component import Function

__all__ = ["Counted", "count_of", "counted_by", "counters", "less", "plain", "targets_of", "whole_bounds"]

MOST_BOUNDS = 4  # that a counter may be compared with
_ORDERS = ("<", ">", "==", "<=", ">=", "!=")
_RANGES = ("range", "xrange")
_ENDS = 2  # `range` with a start and a stop


class Counted(NamedTuple):
    """A loop that counts a local from `start` up to `stop`, which is not reached; `row` is unpacked into it, or is the local itself."""

    name: str
    start: Expr
    stop: Expr
    row: Expr
    step: int = 1


def plain(value: object) -> bool:
    """Whether a constant is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def less(expr: Expr, by: int) -> Expr:
    """`expr - by`."""
    if not by:
        return expr
    if isinstance(expr, Literal) and plain(expr.value):
        return Literal(expr.value - by)  # type: ignore[operator]  # a plain number
    return Mix("-" if by > 0 else "+", (expr, Literal(abs(by))))


def count_of(expr: Expr) -> tuple[Expr, int]:
    """`i + 1` is `i` and 1."""
    match expr:
        case Mix(op="+" | "-" as sign, parts=(first, Literal(value=int() as step))):
            inner, more = count_of(first)
            return inner, more + (step if sign == "+" else -step)
        case _:
            return expr, 0


@once
def counters(function: Function) -> Mapping[str, frozenset[Expr]]:
    """The counters that are compared more than once, and with what."""
    if not any(isinstance(step.op, (Update, Next)) for step in function.cfg.steps):
        return {}
    compared: dict[str, list[Expr]] = {}
    for name, _, bound in _comparisons(function):
        compared.setdefault(name, []).append(bound)
    return {
        name: frozenset(bounds)
        for name, bounds in compared.items()
        if len(bounds) > 1 and len(set(bounds)) <= MOST_BOUNDS and _only_counted(function, name)
    }


@once
def whole_bounds(function: Function) -> frozenset[Expr]:
    """What counters are counted up to that is a whole number: `range` takes no other, and nobody waits for `i == 2.5`."""
    counted = counters(function)
    return frozenset(
        count_of(bound)[0]
        for name, op, bound in (_comparisons(function) if counted else ())
        if name in counted and op in ("range", "==", "!=")
    )


@once
def counted_by(function: Function) -> Mapping[int, Counted]:
    """The loops over `range(n)` and `enumerate(rows)`, by their number."""
    steps = function.cfg.steps
    made = {step.op.result: step.op for step in steps if isinstance(step.op, Call)}
    unpacked = {step.op.value: step.op.targets for step in steps if isinstance(step.op, Unpack)}
    found: dict[int, Counted] = {}
    for head, step in enumerate(steps):
        match step.op:
            case Next(target=target, iterable=iterable, loop=loop) if iterable in made:
                counted = _counting(made[iterable], target, unpacked.get(target, ()) if target else ())
                if counted is not None and _goes_on(function, head, counted):
                    found[loop] = counted
            case _:
                pass
    return found


def _counting(call: Call, target: Expr | None, parts: tuple[Expr | None, ...]) -> Counted | None:
    if not isinstance(call.func, Global) or any(arg.star or arg.name for arg in call.args):
        return None
    given = [arg.value for arg in call.args]
    match target, parts, given:
        case Name(id=name), (), [start, stop, Literal(value=int() as by)] if (
            call.func.id in _RANGES and by > 0
        ):
            return Counted(name, start, stop, target, by)
        case Name(id=name), (), [*start, stop] if call.func.id in _RANGES and len(given) <= _ENDS:
            return Counted(name, start[0] if start else Literal(0), stop, target)
        case Name(), (Name(id=name), *_), [Name() as whole, *start] if call.func.id == "enumerate":
            first = start[0] if start else Literal(0)
            if not isinstance(first, Literal) or not isinstance(first.value, int):
                return None
            return Counted(name, first, less(Mix("len", (whole,)), -first.value), target)
        case _:
            return None


def _goes_on(function: Function, head: int, counted: Counted) -> bool:
    """Whether nothing in a loop but its head gives its counter, or what it counts up to, another value: the head would not see it."""
    steps = function.cfg.steps
    body = [steps[index].op for index in function.cfg.bodies[head] if index != head]
    given = [op for op in body if not (isinstance(op, Unpack) and op.value == counted.row)]
    stop = set(subexpressions(counted.stop))
    return not any(
        target == Name(counted.name) or target in stop for op in given for target in targets_of(op)
    )


def targets_of(op: Instr) -> Iterator[Expr]:
    """What an instruction gives a value."""
    match op:
        case Bind(target=target) | Update(target=target) | Drop(target=target):
            yield target
        case Next(target=target) if target is not None:
            yield target
        case Call(result=result) | Yield(result=result):
            yield result
        case Unpack(targets=targets):
            yield from (
                each.value if isinstance(each, Star) else each for each in targets if each is not None
            )
        case Catch(name=str() as name):
            yield Name(name)
        case _:
            pass


def _comparisons(function: Function) -> Iterator[tuple[str, str, Expr]]:
    """Each place where a local is compared, how, and with what: `i + 1 == n` compares `i` with `n - 1`."""
    for counted in counted_by(function).values():
        yield counted.name, "range", counted.stop
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=Compare() as asked) | Bind(value=Compare() as asked):
                said = spelled_out(function, asked)
                if has_any(said)[0] != said or not isinstance(said, Compare) or said.op not in _ORDERS:
                    continue
                for one, other in ((said.left, said.right), (said.right, said.left)):
                    base, more = count_of(one)
                    bound = less(other, more)
                    if isinstance(base, Name) and not _passing(base, bound):
                        yield base.id, said.op, bound
            case Test(condition=Name(id=name)) if not name.startswith("%"):
                yield name, "==", Literal(0)
            case _:
                pass


def _passing(counter: Name, bound: Expr) -> bool:
    """Whether a bound is one that only one step knows, or no number, or the counter itself."""
    names = set(names_in(bound))
    no_number = isinstance(bound, Literal) and not plain(bound.value)
    return no_number or counter.id in names or any(name.startswith("%") for name in {counter.id, *names})


def _only_counted(function: Function, name: str) -> bool:
    own = Name(name)
    loops = counted_by(function)
    if any(name in inner.captures for inner in function.closures.values()) or name in function.captures:
        return False
    if any(param.name == name for param in function.params):
        return False
    return all(_counts(step.op, own, loops) for step in function.cfg.steps if own in targets_of(step.op))


def _counts(op: Instr, own: Name, loops: Mapping[int, Counted]) -> bool:
    match op:
        case Bind(value=Literal(value=int())) | Update(op="+" | "-", value=Literal(value=int())):
            return True
        case Bind(value=value):
            base = count_of(value)[0]
            return base == own or is_amount(base)
        case Next(loop=loop):
            return loop in loops
        case Unpack(value=row):
            return any(counted.name == own.id and counted.row == row for counted in loops.values())
        case _:
            return False
