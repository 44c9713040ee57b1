"""Facts: the conditions that a path remembers, and their normal form.

A path decides a condition at a test and remembers the answer as a fact: `State.facts` maps the normal form of the
condition to its truth.  Remembering every condition would give a path for every combination of answers, so only
conditions that are tested again are kept (`tested_subjects`, `tested_names`).

A local may be defined by a condition or a number: `last` by `i == n - 1`, `total` by `len(rows)`.  What a path decides
about one of the two then holds for the other.  A definition is the fact `last == (i == n - 1)`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from ackdoctor.flow.expressions import RESULT, memoize, mentions, names_in, renamed, subexpressions
from ackdoctor.flow.induction import counted_loops, induction_variables, minus, split_offset
from ackdoctor.flow.pure_calls import (
    inline_calls,
    is_field,
    is_size,
    iterator_facts,
    nonempty_facts,
    normalise_emptiness,
    size_facts,
)
from ackdoctor.flow.state import State
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Compare,
    Expr,
    Function,
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

_NEGATIONS = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", "<=": ">"}
_NUMBERS = ("call", "len", "+", "-")


# ---- normal form ----


def normalise(condition: Expr) -> tuple[Expr, bool]:
    """The normal form of a condition, and whether it has the same truth as the condition.

    The normal form has no negation, no offset on the left side, and one spelling of "is not empty".
    """
    if isinstance(condition, Not):
        fact, same = normalise(condition.value)
        return fact, not same
    if not isinstance(condition, Compare):
        return normalise_emptiness(condition)
    left, offset = split_offset(condition.left)
    positive = condition.op not in _NEGATIONS
    comparison = Compare(left, _NEGATIONS.get(condition.op, condition.op), minus(condition.right, offset))
    fact, same = normalise_emptiness(comparison)
    return fact, same == positive


def subject_of(condition: Expr) -> Expr:
    """The expression that a condition tests: the left side of a comparison."""
    return condition.left if isinstance(condition, Compare) else condition


def _normal_subject(condition: Expr) -> Expr:
    return subject_of(normalise(condition)[0])


# ---- conditions worth remembering ----


@memoize
def tested_subjects(function: Function) -> frozenset[Expr]:
    """The subjects tested more than once: by several tests, in a loop, or by a helper that receives them."""
    uses: Counter[Expr] = Counter()
    looped = frozenset(index for body in function.cfg.bodies.values() for index in body)
    for index, step in enumerate(function.cfg.steps):
        match step.op:
            case Test(condition=condition):
                inlined = inline_calls(function, condition)
                uses[_normal_subject(inlined)] += 2 if index in looped else 1
                uses.update(bound_subjects(function, inlined.right) if isinstance(inlined, Compare) else ())
            case Bind(value=Name() | Attr() | Item() | Compare() | Not() | IsType() | Mix() as value):
                inlined = inline_calls(function, value)
                if not isinstance(value, Mix):
                    uses[_normal_subject(inlined)] += 2 if index in looped else 1
                uses.update((*size_facts(inlined), *iterator_facts(function).get(value, ())))
            case Call() | Return() as op:
                uses.update(passed_subjects(function, op))
            case Next(iterable=iterable, loop=loop):
                counted = counted_loops(function).get(loop)
                uses.update(nonempty_facts(function, iterable))
                uses.update(bound_subjects(function, counted.stop) if counted else ())
            case _:
                pass
    return frozenset(subject for subject, count in uses.items() if count > 1)


def passed_subjects(function: Function, op: Call | Return) -> Iterator[Expr]:
    """What a call or a `return` passes on, and the subjects of tests that are about nothing else: other code may test them again."""
    passed: set[Expr]
    match op:
        case Call(args=args):
            passed = {arg.value for arg in args if isinstance(arg.value, (Name, Attr))}
        case Return(value=Name() as value):
            passed = {value}
        case Return(value=Compare() | Not() | IsType() as value):
            passed = {_normal_subject(inline_calls(function, value))}
        case _:
            return
    yield from passed
    names = {each.id for each in passed if isinstance(each, Name)}
    for subject, read in _subjects_of_tests(function).items() if names else ():
        if read and read <= names and subject not in passed:
            yield subject


@memoize
def result_subjects(function: Function) -> frozenset[Expr]:
    """What a function may know of its result: the subjects that its returns pass on, restated for the result."""
    returns = (step.op for step in function.cfg.steps if isinstance(step.op, Return))
    return frozenset(
        renamed(subject, {op.value.id: RESULT})
        for op in returns
        if isinstance(op.value, Name)
        for subject in passed_subjects(function, op)
    )


@memoize
def _subjects_of_tests(function: Function) -> Mapping[Expr, frozenset[str]]:
    """The subject of each test, and the locals in it."""
    conditions = (step.op.condition for step in function.cfg.steps if isinstance(step.op, Test))
    subjects = (_normal_subject(inline_calls(function, condition)) for condition in conditions)
    return {subject: frozenset(names_in(subject)) for subject in subjects}


def bound_subjects(function: Function, bound: Expr) -> Iterator[Expr]:
    """What a comparison with this bound tests as well: the locals and fields in it, and their emptiness."""
    yield from (part for part in subexpressions(bound) if isinstance(part, Name) or is_field(function, part))
    yield from size_facts(bound)


@memoize
def tested_names(function: Function) -> frozenset[str]:
    """The locals whose constant value matters: tested, a key, returned, passed to a function or captured by a closure."""
    names: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Test(condition=condition):
                names.update(names_in(condition), names_in(inline_calls(function, condition)))
            case Bind(value=Compare() as condition):
                names.update(names_in(condition))
            case Bind(value=Item(key=Name(id=name))) | Call(func=Item(key=Name(id=name))):
                names.add(name)
            case Return(value=Name() | Compare() | Not() | IsType() as value):
                names.update((RESULT, *names_in(value)))
            case Call(func=Name() | Global() | Attr(obj=Name()), args=args):
                names.update(arg.value.id for arg in args if isinstance(arg.value, Name))
            case _:
                pass
    for inner in function.closures.values():
        names |= inner.captures
    return frozenset(_with_sources(function, names))


def _with_sources(function: Function, names: set[str]) -> set[str]:
    """These locals and all that are copied into them: `failed = flag`."""
    copies = [
        (step.op.target.id, step.op.value.id)
        for step in function.cfg.steps
        if isinstance(step.op, Bind) and isinstance(step.op.target, Name) and isinstance(step.op.value, Name)
    ]
    found = set(names)
    while more := {source for target, source in copies if target in found} - found:
        found |= more
    return found


# ---- definitions of locals ----


def definition_of(function: Function, local: str, value: Expr) -> Expr | None:
    """The definition that an assignment gives a local, or None if no other test asks about it."""
    inlined = inline_calls(function, value)
    return inlined if inlined in definitions(function).get(local, ()) else None


def current_definition(function: Function, state: State, local: Expr) -> Expr | None:
    """The definition of a local on this path."""
    if not isinstance(local, Name) or not state.facts:
        return None
    known = definitions(function).get(local.id, ())
    return next((value for value in known if state.facts.get(Compare(local, "==", value))), None)


@memoize
def definitions(function: Function) -> Mapping[str, tuple[Expr, ...]]:
    """All definitions that a local may have, without duplicates; also through the temporary of `a or b`."""
    found: dict[str, dict[Expr, None]] = {}
    for name, value in _defining_assignments(function):
        found.setdefault(name, {})[value] = None
    for step in function.cfg.steps if found else ():
        match step.op:
            case Bind(target=Name(id=name), value=Name(id=source)) if source in found and source.startswith(
                "%"
            ):
                found.setdefault(name, {}).update(found[source])
            case _:
                pass
    return {name: tuple(values) for name, values in found.items()}


def _defining_assignments(function: Function) -> Iterator[tuple[str, Expr]]:
    bound_names = {
        name
        for bounds in induction_variables(function).values()
        for bound in bounds
        for name in names_in(bound)
    }
    for step in function.cfg.steps:
        if not isinstance(step.op, Bind) or not isinstance(step.op.target, Name):
            continue
        value, local = inline_calls(function, step.op.value), step.op.target.id
        if any(name.startswith("%") for name in names_in(value)) or mentions(value, Name(local)):
            continue
        is_number = is_size(value) or (isinstance(value, Mix) and value.op in _NUMBERS)
        is_tested = _is_condition(value) and _normal_subject(value) in tested_subjects(function)
        if (is_number and local in bound_names) or is_tested:
            yield local, value


def _is_condition(expr: Expr) -> bool:
    return isinstance(expr, (Compare, IsType, Not)) or (isinstance(expr, Mix) and expr.op == "call")
