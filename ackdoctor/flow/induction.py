"""Loops whose rounds are counted, by their head or by a local in their body.

`for i in range(n)` and `for i, row in enumerate(rows)` count by themselves.  In

    done = 0
    for part in parts:
        send(part)
        done += 1
        if done == len(parts):
            self.ack(tup)

there is a round for each part, so the head asks what `while done < len(parts)` would.

Terms.  A local *paces* a loop over a collection if one step in its body, and in no inner loop, counts it by one: up from a number that stands
there, or down from how many there are.  A round that does not come by that step leaves the local *behind*: it never gets to the end.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.expressions import calls_by_result, memoize, names_in, subexpressions
from ackdoctor.flow.predicates import has_any, is_amount, leaves_alone, sizes, spelled_out, wholes
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Catch,
    Compare,
    Drop,
    Expr,
    Global,
    Instr,
    Item,
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

__all__ = [
    "Counted",
    "Pace",
    "count_of",
    "counted_by",
    "counters",
    "less",
    "paced_by",
    "plain",
    "targets_of",
    "whole_bounds",
]


_RANGES = ("range", "xrange")
_ENDS = 2  # `range` with a start and a stop
_NAMED = (None, "start")  # `enumerate(rows, start=1)`
_PACE = "paces"
_ALL_OF_IT = frozenset("items values keys iteritems itervalues iterkeys entrySet keySet copy".split())
_IN_SOME_ORDER = frozenset("enumerate iter list reversed sorted tuple".split())


class Counted(NamedTuple):
    """A loop that counts a local from `start` up to `stop`, which is not reached; `row` is unpacked into it, or is the local itself."""

    name: str
    start: Expr
    stop: Expr
    row: Expr
    step: int = 1


class Pace(NamedTuple):
    """A loop that the local `name` paces: `first` is so before the first round, `more` before each, `behind` too where it is behind."""

    name: str
    loop: int
    first: Compare
    more: Compare
    behind: Compare

    @property
    def mark(self) -> Compare:
        """The fact that says whether the round at hand has been counted."""
        return Compare(Name(self.name), _PACE, Literal(self.loop))


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


@memoize
def counted_by(function: Function) -> Mapping[int, Counted]:
    """The loops over `range(n)` and `enumerate(rows)`, by their number."""
    steps = function.cfg.steps
    made = calls_by_result(function)
    unpacked = {step.op.value: step.op.targets for step in steps if isinstance(step.op, Unpack)}
    found: dict[int, Counted] = {}
    for head, step in enumerate(steps):
        match step.op:
            case Next(target=target, iterable=iterable, loop=loop) if iterable in made:
                counted = _counting(
                    function, made[iterable], target, unpacked.get(target, ()) if target else ()
                )
                if counted is not None and _goes_on(function, head, counted):
                    found[loop] = counted
            case _:
                pass
    return found


def _counting(
    function: Function, call: Call, target: Expr | None, parts: tuple[Expr | None, ...]
) -> Counted | None:
    if not isinstance(call.func, Global) or any(arg.star or arg.name not in _NAMED for arg in call.args):
        return None
    given = [arg.value for arg in call.args]
    match target, parts, given:
        case Name(id=name), (), [start, stop, Literal(value=int() as by)] if (
            call.func.id in _RANGES and by > 0
        ):
            return Counted(name, start, stop, target, by)
        case Name(id=name), (), [*start, stop] if call.func.id in _RANGES and len(given) <= _ENDS:
            return Counted(name, start[0] if start else Literal(0), stop, target)
        case Name(), (Name(id=name), *_), [Name() as rows, *start] if call.func.id == "enumerate":
            first = start[0] if start else Literal(0)
            if not isinstance(first, Literal) or not isinstance(first.value, int):
                return None
            whole = _whole(function, rows) or rows
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


# ---- paced by a local ----


@memoize
def paced_by(function: Function) -> Mapping[int, Pace]:
    """The loops that a local paces, by their number."""
    found: dict[int, Pace] = {}
    for head, step in enumerate(function.cfg.steps):
        if isinstance(step.op, Next) and (whole := _whole(function, step.op.iterable)) is not None:
            pace = next(_paces(function, head, step.op.loop, whole), None)
            if pace is not None and _left_alone(function, head, whole):
                found[step.op.loop] = pace
    return found


def _whole(function: Function, iterable: Expr) -> Name | None:
    """The local collection of which a loop goes through each element once."""
    call = calls_by_result(function).get(iterable)
    match call:
        case Call(func=Attr(obj=Name() as obj, name=name), args=()) if name in _ALL_OF_IT:
            iterable = obj
        case Call(func=Global(id=name), args=((Name() as first, _, ""), *_)) if name in _IN_SOME_ORDER:
            iterable = first
        case _:
            pass
    if not isinstance(iterable, Name) or iterable.id.startswith("%"):
        return None
    return iterable if wholes(function, iterable) else None


def _left_alone(function: Function, head: int, whole: Name) -> bool:
    """Whether the rounds of a loop leave what it goes through as it is."""
    for index in function.cfg.bodies[head]:
        match function.cfg.steps[index].op:
            case Drop(target=Item(obj=obj)) if obj == whole:
                return False
            case Call(func=Attr(obj=obj)) as call if obj == whole and not leaves_alone(call):
                return False
            case op if whole in targets_of(op):
                return False
            case _:
                pass
    return True


def _paces(function: Function, head: int, loop: int, whole: Name) -> Iterator[Pace]:
    steps, bodies = function.cfg.steps, function.cfg.bodies
    body, amounts = bodies[head], _amounts(function, whole)
    inner = {index for other in bodies if other != head and other in body for index in bodies[other]}
    for index in body if amounts else ():
        name, by = _by_one(steps[index].op)
        if not by or index in inner:
            continue
        begun = {_given(step.op) for step in steps if Name(name) in targets_of(step.op)} - {None}
        again = [other for other in body if other != index and Name(name) in targets_of(steps[other].op)]
        if len(begun) != 1 or again:
            continue
        (begin,) = begun
        if by < 0 and begin in amounts:
            yield _pace(Name(name), loop, amounts[0], ">", (Literal(0), Literal(1)))
        elif (
            by > 0
            and isinstance(begin, Literal)
            and isinstance(begin.value, int)
            and not _compared_with(function, name).isdisjoint(amounts)
        ):
            stop = less(amounts[0], -begin.value)
            yield _pace(Name(name), loop, begin, "<", (stop, less(stop, 1)))


def _pace(local: Name, loop: int, begin: Expr, order: str, ends: tuple[Expr, Expr]) -> Pace:
    more, behind = (Compare(local, order, end) for end in ends)
    return Pace(local.id, loop, Compare(local, "==", begin), more, behind)


def _by_one(op: Instr) -> tuple[str, int]:
    """The local that a step counts on by one, or back; 0 where it does neither."""
    match op:
        case Update(target=Name(id=name), op="+" | "-" as sign, value=Literal(value=1)):
            return name, 1 if sign == "+" else -1
        case Bind(target=Name(id=name) as local, value=Mix() as value):
            base, more = count_of(value)
            return (name, more) if base == local and abs(more) == 1 else ("", 0)
        case _:
            return "", 0


def _given(op: Instr) -> Expr | None:
    """What a step gives a local that does not count it on."""
    return op.value if isinstance(op, Bind) and not _by_one(op)[1] else None


def _amounts(function: Function, whole: Name) -> list[Expr]:
    """How much there is in a collection, in the words of the function, and the locals and temporaries that stand for it."""
    said: dict[Expr, None] = {}
    named: dict[Expr, None] = {}
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=asked) | Bind(value=asked):
                said.update((part, None) for part in subexpressions(asked) if _is_amount_of(part, whole))
            case Call(result=result, func=Attr(obj=obj, name="size" | "length") as func, args=()) if (
                obj == whole
            ):
                said[Mix("call", (func,))] = None
                named[result] = None
            case _:
                pass
    for step in function.cfg.steps:
        if isinstance(step.op, Bind) and (step.op.value in said or step.op.value in named):
            named[step.op.target] = None
    return [*said, *named] if said else []


def _is_amount_of(part: Expr, whole: Name) -> bool:
    match part:
        case Mix(op="len", parts=(counted,)) | Attr(obj=counted, name="length"):
            return counted == whole
        case _:
            return False


def _compared_with(function: Function, name: str) -> set[Expr]:
    """What a local is compared with, apart from a number more."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case (
                Test(condition=Compare(left=left, right=right)) | Bind(value=Compare(left=left, right=right))
            ):
                one, other = count_of(left)[0], count_of(right)[0]
                found |= {other} if one == Name(name) else {one} if other == Name(name) else set()
            case _:
                pass
    return found


MOST_BOUNDS = 4  # that a counter may be compared with
_ORDERS = ("<", ">", "==", "<=", ">=", "!=")


@memoize
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


@memoize
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
