"""Questions about the shape of one function's graph."""

from collections.abc import Iterable, Mapping

from ackdoctor.flow.events import Flow
from ackdoctor.flow.expressions import memoize, names_in
from ackdoctor.model.cfg import ENTRY, Bind, Call, Catch, EdgeKind, Expr, Instr, Name, Next, Unpack, Update
from ackdoctor.model.component import Function

__all__ = ["derived_names", "given_names", "handler_only", "mentions_any", "raising_into", "reachable"]


def reachable(
    function: Function, starts: Iterable[int], closed: frozenset[tuple[int, EdgeKind]] = frozenset()
) -> set[int]:
    """The steps that can be reached without taking a closed edge."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        index = stack.pop()
        for kind, target in function.cfg.steps[index].edges:
            if (index, kind) not in closed and target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def handler_only(function: Function, catch: int) -> set[int]:
    """The steps that run only when the handler at `catch` was entered."""
    entered = [target for kind, target in function.cfg.steps[catch].edges if kind is EdgeKind.TRUE]
    without = reachable(function, [ENTRY], frozenset({(catch, EdgeKind.TRUE)}))
    return reachable(function, entered) - without


def raising_into(function: Function, catch: int) -> set[int]:
    """The steps whose exception the handler at `catch` is asked about."""
    asked = {catch}
    steps = function.cfg.steps
    found: set[int] = set()
    while asked:
        wanted = asked.pop()
        for index, step in enumerate(steps):
            for kind, target in step.edges:
                if target != wanted:
                    continue
                if isinstance(step.op, Catch) and kind is not EdgeKind.TRUE and index not in found:
                    asked.add(index)
                elif kind is EdgeKind.RAISE:
                    found.add(index)
    return found


def mentions_any(expr: Expr, names: frozenset[str]) -> bool:
    """Whether an expression reads one of these locals."""
    return not names.isdisjoint(names_in(expr))


def given_names(flow: Flow, function: Function) -> frozenset[str]:
    """The parameters that carry the tuple: the handler's own one, or whatever a helper was given."""
    names = [param.name for param in function.params]
    if function is flow.function and flow.entry is not None and flow.entry.subject is not None:
        return frozenset(names[flow.entry.subject + 1 : flow.entry.subject + 2])
    return frozenset(names[1:])


@memoize
def derived_names(function: Function, names: frozenset[str]) -> frozenset[str]:
    """The locals whose value may come from one of `names`, these included; order of statements does not count."""
    given = _given(function)
    known, todo = set(names), list(names)
    while todo:
        new = given.get(todo.pop(), set()) - known
        known |= new
        todo += new
    return frozenset(known)


@memoize
def _given(function: Function) -> Mapping[str, set[str]]:
    """For each local, those that are given a value with it in."""
    given: dict[str, set[str]] = {}
    for step in function.cfg.steps:
        targets, values = _assignment(step.op)
        for value in values:
            for name in names_in(value):
                given.setdefault(name, set()).update(targets)
    return given


def _assignment(op: Instr) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """The locals that an instruction gives a value, and what that is made of."""
    match op:
        case Bind(target=Name(id=target), value=value) | Update(target=Name(id=target), value=value):
            return (target,), (value,)
        case Unpack(targets=targets, value=value):
            return tuple(target.id for target in targets if isinstance(target, Name)), (value,)
        case Next(target=Name(id=target), iterable=value):
            return (target,), (value,)
        case Call(result=result, func=func, args=args):
            return (result.id,), (func, *(arg.value for arg in args))
        case _:
            return (), ()
