"""Induction variables: locals that count the iterations of a loop.

`for i in range(n)` and `for i, row in enumerate(rows)` count in the loop's head (`CountedLoop`).  In

    done = 0
    for part in parts:
        send(part)
        done += 1
        if done == len(parts):
            self.ack(tup)

the body counts (`BodyCounter`): there is one iteration for each part, so the loop continues while `done < len(parts)`.
A body counter is a local that exactly one step of the body, outside inner loops, counts by one: up from an integer
literal, or down from the size of the collection.  An iteration that skips this step leaves the counter *lagging*: it
never reaches the size.

The value of an induction variable is known on a path through what the path has decided about it.  For
`for (int i = 0; i < n; i++) { ... if (i == n - 1) collector.ack(tuple); }` the transfer function of `i++` shifts the
facts about `i` by one, so the path knows that the last iteration acks.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.expressions import assigned_targets, calls_by_result, memoize, names_in, subexpressions
from ackdoctor.flow.pure_calls import (
    inline_calls,
    is_read_only,
    is_size,
    nonempty_facts,
    normalise_emptiness,
    size_calls,
    size_of,
)
from ackdoctor.libraries.vocabulary import FULL_ITERATORS, FULL_VIEWS, NUMBERING, RANGES, SIZES
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    Drop,
    Expr,
    Function,
    Global,
    Instr,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Test,
    Unpack,
    Update,
)

MAX_BOUNDS = 4  # that an induction variable may be compared with
_COMPARISONS = ("<", ">", "==", "<=", ">=", "!=")
_START_STOP = 2  # arguments of `range(start, stop)`
_ARGUMENT_NAMES = (None, "start")  # `enumerate(rows, start=1)`


# ---- arithmetic on expressions ----


def is_number(value: object) -> bool:
    """Whether a constant is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def minus(expr: Expr, by: int) -> Expr:
    """`expr - by`."""
    if not by:
        return expr
    if isinstance(expr, Literal) and is_number(expr.value):
        return Literal(expr.value - by)  # type: ignore[operator]  # is_number
    return Mix("-" if by > 0 else "+", (expr, Literal(abs(by))))


def split_offset(expr: Expr) -> tuple[Expr, int]:
    """Base and offset of an expression: `i` and 1 for `i + 1`."""
    match expr:
        case Mix(op="+" | "-" as sign, parts=(first, Literal(value=int() as step))):
            base, offset = split_offset(first)
            return base, offset + (step if sign == "+" else -step)
        case _:
            return expr, 0


# ---- loops that count in their head ----


class CountedLoop(NamedTuple):
    """A loop that counts the local `name` from `start` up to `stop` (exclusive).

    `row` is the loop's target: the local itself, or the row that is unpacked into it.
    """

    name: str
    start: Expr
    stop: Expr
    row: Expr
    step: int = 1


@memoize
def counted_loops(function: Function) -> Mapping[int, CountedLoop]:
    """The loops over `range(n)` and `enumerate(rows)`, by loop number."""
    steps = function.cfg.steps
    calls = calls_by_result(function)
    unpacked = {step.op.value: step.op.targets for step in steps if isinstance(step.op, Unpack)}
    found: dict[int, CountedLoop] = {}
    for head, step in enumerate(steps):
        match step.op:
            case Next(target=target, iterable=iterable, loop=loop) if iterable in calls:
                parts = unpacked.get(target, ()) if target else ()
                counted = _counted_loop(function, calls[iterable], target, parts)
                if counted is not None and _only_head_assigns(function, head, counted):
                    found[loop] = counted
            case _:
                pass
    return found


def _counted_loop(
    function: Function, call: Call, target: Expr | None, parts: tuple[Expr | None, ...]
) -> CountedLoop | None:
    if not isinstance(call.func, Global):
        return None
    if any(arg.star or arg.name not in _ARGUMENT_NAMES for arg in call.args):
        return None
    args = [arg.value for arg in call.args]
    match target, parts, args:
        case Name(id=name), (), [start, stop, Literal(value=int() as by)] if (
            call.func.id in RANGES and by > 0
        ):
            return CountedLoop(name, start, stop, target, by)
        case Name(id=name), (), [*start, stop] if call.func.id in RANGES and len(args) <= _START_STOP:
            return CountedLoop(name, start[0] if start else Literal(0), stop, target)
        case Name(), (Name(id=name), *_), [Name() as rows, *start] if call.func.id in NUMBERING:
            first = start[0] if start else Literal(0)
            if not isinstance(first, Literal) or not isinstance(first.value, int):
                return None
            whole = _iterated_collection(function, rows) or rows
            return CountedLoop(name, first, minus(Mix("len", (whole,)), -first.value), target)
        case _:
            return None


def _only_head_assigns(function: Function, head: int, counted: CountedLoop) -> bool:
    """Whether the body assigns neither the counter nor any part of its bound, which the head would not notice."""
    steps = function.cfg.steps
    body = [steps[index].op for index in function.cfg.bodies[head] if index != head]
    others = [op for op in body if not (isinstance(op, Unpack) and op.value == counted.row)]
    stop = set(subexpressions(counted.stop))
    return not any(
        target == Name(counted.name) or target in stop for op in others for target in assigned_targets(op)
    )


# ---- loops that count in their body ----


class BodyCounter(NamedTuple):
    """A local that counts the iterations of a loop in its body.

    `first` holds before the first iteration, `more` before each one; `lagging` holds as well if an iteration was not
    counted.
    """

    name: str
    loop: int
    first: Compare
    more: Compare
    lagging: Compare


@memoize
def body_counters(function: Function) -> Mapping[int, BodyCounter]:
    """The body counter of each loop that has one, by loop number."""
    found: dict[int, BodyCounter] = {}
    for head, step in enumerate(function.cfg.steps):
        if not isinstance(step.op, Next):
            continue
        whole = _iterated_collection(function, step.op.iterable)
        if whole is None:
            continue
        counter = next(_counters_of(function, head, step.op.loop, whole), None)
        if counter is not None and _leaves_unchanged(function, head, whole):
            found[step.op.loop] = counter
    return found


def _iterated_collection(function: Function, iterable: Expr) -> Name | None:
    """The local collection whose elements a loop visits exactly once each."""
    call = calls_by_result(function).get(iterable)
    match call:
        case Call(func=Attr(obj=Name() as obj, name=name), args=()) if name in FULL_VIEWS:
            iterable = obj
        case Call(func=Global(id=name), args=((Name() as first, _, ""), *_)) if name in FULL_ITERATORS:
            iterable = first
        case _:
            pass
    if not isinstance(iterable, Name) or iterable.id.startswith("%"):
        return None
    return iterable if nonempty_facts(function, iterable) else None


def _leaves_unchanged(function: Function, head: int, whole: Name) -> bool:
    """Whether the body of a loop does not change the collection."""
    for index in function.cfg.bodies[head]:
        match function.cfg.steps[index].op:
            case Drop(target=Item(obj=obj)) if obj == whole:
                return False
            case Call(func=Attr(obj=obj)) as call if obj == whole and not is_read_only(call):
                return False
            case op if whole in assigned_targets(op):
                return False
            case _:
                pass
    return True


def _counters_of(function: Function, head: int, loop: int, whole: Name) -> Iterator[BodyCounter]:
    steps, bodies = function.cfg.steps, function.cfg.bodies
    body, sizes = bodies[head], _sizes_of(function, whole)
    inner = {index for other in bodies if other != head and other in body for index in bodies[other]}
    for index in body if sizes else ():
        name, by = _increment(steps[index].op)
        if not by or index in inner:
            continue
        starts = {_start_value(step.op) for step in steps if Name(name) in assigned_targets(step.op)} - {None}
        others = [
            other for other in body if other != index and Name(name) in assigned_targets(steps[other].op)
        ]
        if len(starts) != 1 or others:
            continue
        (start,) = starts
        if by < 0 and start in sizes:
            yield _body_counter(Name(name), loop, sizes[0], ">", (Literal(0), Literal(1)))
        elif (
            by > 0
            and isinstance(start, Literal)
            and isinstance(start.value, int)
            and not _compared_with(function, name).isdisjoint(sizes)
        ):
            stop = minus(sizes[0], -start.value)
            yield _body_counter(Name(name), loop, start, "<", (stop, minus(stop, 1)))


def _body_counter(local: Name, loop: int, start: Expr, order: str, ends: tuple[Expr, Expr]) -> BodyCounter:
    more, lagging = (Compare(local, order, end) for end in ends)
    return BodyCounter(local.id, loop, Compare(local, "==", start), more, lagging)


def _increment(op: Instr) -> tuple[str, int]:
    """The local that a step increments (1) or decrements (-1) by one; 0 if it does neither."""
    match op:
        case Update(target=Name(id=name), op="+" | "-" as sign, value=Literal(value=1)):
            return name, 1 if sign == "+" else -1
        case Bind(target=Name(id=name) as local, value=Mix() as value):
            base, offset = split_offset(value)
            return (name, offset) if base == local and abs(offset) == 1 else ("", 0)
        case _:
            return "", 0


def _start_value(op: Instr) -> Expr | None:
    """The value of an assignment that is not an increment."""
    return op.value if isinstance(op, Bind) and not _increment(op)[1] else None


def _sizes_of(function: Function, whole: Name) -> list[Expr]:
    """The expressions for the size of a collection in a function, then the locals that hold it; empty if it never reads the size."""
    expressions: dict[Expr, None] = {}
    names: dict[Expr, None] = {}
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=expr) | Bind(value=expr):
                expressions.update((part, None) for part in subexpressions(expr) if size_of(part) == whole)
            case Call(result=result, func=Attr(obj=obj, name=name) as func, args=()) if (
                obj == whole and name in SIZES
            ):
                expressions[Mix("call", (func,))] = None
                names[result] = None
            case _:
                pass
    for step in function.cfg.steps:
        if isinstance(step.op, Bind) and (step.op.value in expressions or step.op.value in names):
            names[step.op.target] = None
    return [*expressions, *names] if expressions else []


def _compared_with(function: Function, name: str) -> set[Expr]:
    """The expressions that a local is compared with, without offsets."""
    found: set[Expr] = set()
    for step in function.cfg.steps:
        match step.op:
            case (
                Test(condition=Compare(left=left, right=right)) | Bind(value=Compare(left=left, right=right))
            ):
                one, other = split_offset(left)[0], split_offset(right)[0]
                found |= {other} if one == Name(name) else {one} if other == Name(name) else set()
            case _:
                pass
    return found


# ---- locals that count, in loops or elsewhere ----


@memoize
def induction_variables(function: Function) -> Mapping[str, frozenset[Expr]]:
    """The locals that only integer literals and increments assign, each with the bounds that it is compared with.

    A local that is compared once is left out: no fact about it is used twice.
    """
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
        if len(bounds) > 1 and len(set(bounds)) <= MAX_BOUNDS and _is_only_counted(function, name)
    }


@memoize
def integer_bounds(function: Function) -> frozenset[Expr]:
    """The bounds of induction variables that are integers: the arguments of `range`, and what `==` compares with."""
    counted = induction_variables(function)
    return frozenset(
        split_offset(bound)[0]
        for name, op, bound in (_comparisons(function) if counted else ())
        if name in counted and op in ("range", "==", "!=")
    )


def _comparisons(function: Function) -> Iterator[tuple[str, str, Expr]]:
    """Each comparison of a local: the local, the operator, and the bound.

    `i + 1 == n` compares `i` with `n - 1`.
    """
    for counted in counted_loops(function).values():
        yield counted.name, "range", counted.stop
    for counter in body_counters(function).values():
        yield counter.name, counter.first.op, counter.first.right
        yield counter.name, counter.more.op, counter.more.right
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=Compare() as condition) | Bind(value=Compare() as condition):
                inlined = inline_calls(function, condition)
                if normalise_emptiness(inlined)[0] != inlined or not isinstance(inlined, Compare):
                    continue
                if inlined.op not in _COMPARISONS:
                    continue
                for one, other in ((inlined.left, inlined.right), (inlined.right, inlined.left)):
                    base, offset = split_offset(one)
                    bound = minus(other, offset)
                    if isinstance(base, Name) and not _is_useless(base, bound):
                        yield base.id, inlined.op, bound
            case Test(condition=Name(id=name)) if not name.startswith("%"):
                yield name, "==", Literal(0)
            case _:
                pass


def _is_useless(local: Name, bound: Expr) -> bool:
    """Whether a bound is not a number, reads a temporary, or reads the local itself."""
    names = set(names_in(bound))
    not_a_number = isinstance(bound, Literal) and not is_number(bound.value)
    return not_a_number or local.id in names or any(name.startswith("%") for name in {local.id, *names})


def _is_only_counted(function: Function, name: str) -> bool:
    """Whether all assignments to a local are integer literals, increments or loop heads."""
    local = Name(name)
    loops = counted_loops(function)
    if any(name in inner.captures for inner in function.closures.values()) or name in function.captures:
        return False
    if any(param.name == name for param in function.params):
        return False
    return all(
        _is_counting(function, step.op, loops, local)
        for step in function.cfg.steps
        if local in assigned_targets(step.op)
    )


def _is_counting(function: Function, op: Instr, loops: Mapping[int, CountedLoop], local: Name) -> bool:
    match op:
        case Bind(value=Literal(value=int())) | Update(op="+" | "-", value=Literal(value=int())):
            return True
        case Bind(value=value):
            base = split_offset(value)[0]
            return base == local or is_size(size_calls(function).get(base, base))
        case Next(loop=loop):
            return loop in loops
        case Unpack(value=row):
            return any(counted.name == local.id and counted.row == row for counted in loops.values())
        case _:
            return False
