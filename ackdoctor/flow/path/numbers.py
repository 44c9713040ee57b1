"""Numbers that a function counts: which locals they are, what they are compared with, which loops count them.

`for (int i = 0; i < n; i++) { ... if (i == n - 1) collector.ack(tuple); }` acks once, in the last round.  A path knows that
from what it has decided about `i`, said anew each time that `i` is counted on (`flow/transfer/counting.py`).

Terms.  A *counter* is a local that is only ever given whole numbers that stand there and counted on by such.  Only those
that are compared at two places or more are told here: for the others it is enough to ask once.
"""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.graph.expressions import names_in
from ackdoctor.flow.graph.once import once
from ackdoctor.flow.path.questions import has_any, is_amount, sizes, spelled_out
from ackdoctor.flow.path.rounds import Counted, count_of, counted_by, less, paced_by, plain, targets_of
from ackdoctor.model.cfg import Bind, Compare, Expr, Instr, Literal, Mix, Name, Next, Test, Unpack, Update
from ackdoctor.model.component import Function

__all__ = ["counters", "whole_bounds"]

MOST_BOUNDS = 4  # that a counter may be compared with
_ORDERS = ("<", ">", "==", "<=", ">=", "!=")


@once
def counters(function: Function) -> Mapping[str, frozenset[Expr]]:
    """The counters that are compared more than once, and with what."""
    if not any(
        isinstance(step.op, (Update, Next)) or (isinstance(step.op, Bind) and isinstance(step.op.value, Mix))
        for step in function.cfg.steps
    ):
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


def _comparisons(function: Function) -> Iterator[tuple[str, str, Expr]]:
    """Each place where a local is compared, how, and with what: `i + 1 == n` compares `i` with `n - 1`."""
    for counted in counted_by(function).values():
        yield counted.name, "range", counted.stop
    for pace in paced_by(function).values():
        yield pace.name, pace.first.op, pace.first.right
        yield pace.name, pace.more.op, pace.more.right
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
    return all(
        _counts(function, step.op, loops, own) for step in function.cfg.steps if own in targets_of(step.op)
    )


def _counts(function: Function, op: Instr, loops: Mapping[int, Counted], own: Name) -> bool:
    match op:
        case Bind(value=Literal(value=int())) | Update(op="+" | "-", value=Literal(value=int())):
            return True
        case Bind(value=value):
            base = count_of(value)[0]
            return base == own or is_amount(sizes(function).get(base, base))
        case Next(loop=loop):
            return loop in loops
        case Unpack(value=row):
            return any(counted.name == own.id and counted.row == row for counted in loops.values())
        case _:
            return False
