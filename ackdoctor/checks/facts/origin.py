"""Where a local got its value on the path that led to a place."""

from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.flow.events import Trail
from ackdoctor.model.cfg import Bind, Call, Catch, Expr, Name, Next, Star, Unpack, Update, Yield
from ackdoctor.model.component import Function

__all__ = ["Origin", "origin"]

HOPS = 8  # helper calls and plain renamings followed


@dataclass(slots=True, unsafe_hash=True)
class Origin:
    """An expression, or the call or catch that made the value, and the visit at which it counts."""

    made: Expr | Call | Catch
    visit: Trail


def origin(visit: Trail, expr: Expr, hops: int = HOPS) -> Origin | None:
    """What `expr` was made by on the path to `visit`; None where that cannot be told.

    An argument of a helper is followed to the call of the helper.
    """
    while isinstance(expr, Name) and hops:
        hops -= 1
        maker = next((node for node in _before(visit) if _binds(node, expr)), None)
        if maker is None:
            found = _argument(visit, expr)
            if found is None:
                return None
            expr, visit = found
            continue
        match maker.step.op:
            case Bind(value=value):
                expr, visit = value, maker
            case Call() | Catch() as made:
                return Origin(made, maker)
            case _:
                return None
    return Origin(expr, visit) if hops else None


def _before(visit: Trail) -> Iterator[Trail]:
    """The earlier visits in the same function, nearest first."""
    while visit.via is not None and visit.before is not None:
        visit = visit.before
        yield visit


def _binds(visit: Trail, name: Name) -> bool:
    match visit.step.op:
        case Bind(target=target) | Next(target=target) | Update(target=target):
            return target == name
        case Call(result=result) | Yield(result=result):
            return result == name
        case Unpack(targets=targets):
            return name in targets or Star(name) in targets
        case Catch(name=bound):
            return bound == name.id
        case _:
            return False


def _argument(visit: Trail, name: Name) -> tuple[Expr, Trail] | None:
    """What the call of this helper gave for one of its parameters."""
    entry = [visit, *_before(visit)][-1]
    call = entry.before.step.op if entry.before is not None else None
    if not isinstance(call, Call) or entry.before is None or any(arg.star for arg in call.args):
        return None
    position = _position(entry.function, name.id)
    if position is None:
        return None
    plain = [arg.value for arg in call.args if arg.name is None]
    named = [arg.value for arg in call.args if arg.name == name.id]
    if named:
        return named[0], entry.before
    return (plain[position], entry.before) if position < len(plain) else None


def _position(function: Function, name: str) -> int | None:
    names = [param.name for param in function.params if param.kind == "positional"]
    if name not in names:
        return None
    return names.index(name) - (0 if function.binding in ("static", "none") else 1)
