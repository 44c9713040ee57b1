"""Which conditions a path remembers, in which normal form."""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.expressions import memoize, mentions, names_in, subexpressions
from ackdoctor.flow.induction import count_of, counted_by, counters, less
from ackdoctor.flow.predicates import amounts, has_any, is_amount, is_field, iterators, spelled_out, wholes
from ackdoctor.flow.state import State
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    Expr,
    Global,
    IsType,
    Item,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Test,
)
from ackdoctor.model.component import Function

__all__ = [
    "MEANS",
    "meaning",
    "meanings",
    "meant",
    "normalised",
    "subject",
    "tested_names",
    "tested_subjects",
]


_FLIPPED = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", "<=": ">"}


def normalised(condition: Expr) -> tuple[Expr, bool]:
    """A condition in its positive form, and whether it was already positive."""
    if isinstance(condition, Not):
        fact, same = normalised(condition.value)
        return fact, not same
    if not isinstance(condition, Compare):
        return has_any(condition)
    left, more = count_of(condition.left)
    positive = condition.op not in _FLIPPED
    fact, same = has_any(Compare(left, _FLIPPED.get(condition.op, condition.op), less(condition.right, more)))
    return fact, same == positive


def subject(condition: Expr) -> Expr:
    """What a condition asks about."""
    return condition.left if isinstance(condition, Compare) else condition


@memoize
def tested_subjects(function: Function) -> frozenset[Expr]:
    """What is asked about more than once, by several tests, in a loop or by a helper that is given it: only these facts are worth keeping."""
    seen: dict[Expr, int] = {}
    looped = _looped(function)
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Test(condition=condition):
                asked = subject(normalised(spelled_out(function, condition))[0])
                seen[asked] = seen.get(asked, 0) + (2 if index in looped else 1)
                said = spelled_out(function, condition)
                for other in _beside(said.right) if isinstance(said, Compare) else ():
                    seen[other] = seen.get(other, 0) + 1
            case Bind(value=value) if isinstance(
                value, (Name, Attr, Item, Compare, Not, IsType, Mix)
            ):  # and then by another name
                said = spelled_out(function, value)
                if not isinstance(value, Mix):
                    asked = subject(normalised(said)[0])
                    seen[asked] = seen.get(asked, 0) + (2 if index in looped else 1)
                for other in (*amounts(said), *iterators(function).get(value, ())):
                    seen[other] = seen.get(other, 0) + 1
            case Call(
                func=Name() | Global() | Attr(obj=Name()), args=args
            ):  # perhaps by a helper's parameter
                for arg in args:
                    if isinstance(arg.value, (Name, Attr)):
                        seen[arg.value] = seen.get(arg.value, 0) + 1
            case Next(iterable=iterable, loop=loop):
                counted = counted_by(function).get(loop)
                for asked in (*wholes(function, iterable), *(_beside(counted.stop) if counted else ())):
                    seen[asked] = seen.get(asked, 0) + 1
            case _:
                pass
    return frozenset(asked for asked, count in seen.items() if count > 1)


def _beside(bound: Expr) -> Iterator[Expr]:
    """What is asked about where a number is compared with this: the locals and fields in it, and whether there is anything in those."""
    yield from (part for part in subexpressions(bound) if isinstance(part, Name) or is_field(part))
    yield from amounts(bound)


def _looped(function: Function) -> frozenset[int]:
    """The steps inside a loop."""
    return frozenset(index for body in function.cfg.bodies.values() for index in body)


@memoize
def tested_names(function: Function) -> frozenset[str]:
    """Locals whose constant value decides something: tested, returned, given to a function or captured by a closure."""
    names: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=condition):
                names.update(names_in(condition) if isinstance(condition, Compare) else ())
                names.update((condition.id,) if isinstance(condition, Name) else ())
            case Bind(value=Compare() as condition):
                names.update(names_in(condition))
            case Return(value=Name(id=name)):
                names.add(name)
            case Call(func=Name() | Global() | Attr(obj=Name()), args=args):
                names.update(arg.value.id for arg in args if isinstance(arg.value, Name))
            case _:
                pass
    for inner in function.closures.values():
        names |= inner.captures
    return frozenset(names | _sources(function, names))


def _sources(function: Function, names: set[str]) -> set[str]:
    """The locals that are copied into these: `failed = flag`."""
    copies = [
        (step.op.target.id, step.op.value.id)
        for step in function.cfg.steps
        if isinstance(step.op, Bind) and isinstance(step.op.target, Name) and isinstance(step.op.value, Name)
    ]
    found = set(names)
    for _ in copies:
        before = len(found)
        found |= {source for target, source in copies if target in found}
        if len(found) == before:
            break
    return found


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


@memoize
def meanings(function: Function) -> Mapping[str, frozenset[Expr]]:
    """All that a local may stand for."""
    found: dict[str, frozenset[Expr]] = {}
    for name, condition in _bindings(function):
        found[name] = found.get(name, frozenset()) | {condition}
    return found


def _bindings(function: Function) -> Iterator[tuple[str, Expr]]:
    bounds = {
        each for all_bounds in counters(function).values() for bound in all_bounds for each in names_in(bound)
    }
    for step in function.cfg.steps:
        if not isinstance(step.op, Bind) or not isinstance(step.op.target, Name):
            continue
        said, name = spelled_out(function, step.op.value), step.op.target.id
        number = (is_amount(said) or (isinstance(said, Mix) and said.op in _NUMBERS)) and name in bounds
        passing = any(each.startswith("%") for each in (name, *names_in(said))) or mentions(said, Name(name))
        if not passing and (number or (_asks(said) and _subject_of(said) in tested_subjects(function))):
            yield name, said


def _asks(expr: Expr) -> bool:
    return isinstance(expr, (Compare, IsType, Not)) or (isinstance(expr, Mix) and expr.op == "call")


def _subject_of(condition: Expr) -> Expr:
    return subject(normalised(condition)[0])
