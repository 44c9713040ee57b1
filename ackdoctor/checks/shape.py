"""Questions about the shape of one function's graph."""

from collections.abc import Iterable

from ackdoctor.flow.lattice import mentions
from ackdoctor.flow.sighting import Flow
from ackdoctor.model.cfg import ENTRY, Bind, Call, Catch, EdgeKind, Expr, Name, Next, Unpack, Update
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
    return any(mentions(expr, Name(name)) for name in names)


def given_names(flow: Flow, function: Function) -> frozenset[str]:
    """The parameters that carry the tuple: the handler's own one, or whatever a helper was given."""
    names = [param.name for param in function.params]
    if function is flow.function and flow.entry is not None and flow.entry.subject is not None:
        return frozenset(names[flow.entry.subject + 1 : flow.entry.subject + 2])
    return frozenset(names[1:])


def derived_names(function: Function, names: frozenset[str]) -> frozenset[str]:
    """The locals whose value may come from one of `names`, these included; order of statements does not count."""
    known = set(names)
    grew = True
    while grew:
        before = len(known)
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=Name(id=target), value=value) | Update(target=Name(id=target), value=value):
                    if mentions_any(value, frozenset(known)):
                        known.add(target)
                case Unpack(targets=targets, value=value):
                    if mentions_any(value, frozenset(known)):
                        known |= {target.id for target in targets if isinstance(target, Name)}
                case Next(target=Name(id=target), iterable=iterable):
                    if mentions_any(iterable, frozenset(known)):
                        known.add(target)
                case Call(result=result, func=func, args=args):
                    if mentions_any(func, frozenset(known)) or any(
                        mentions_any(arg.value, frozenset(known)) for arg in args
                    ):
                        known.add(result.id)
                case _:
                    pass
        grew = len(known) > before
    return frozenset(known)
