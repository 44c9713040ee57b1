"""What is worked out of a function once, and kept on it: it goes when the program goes."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ackdoctor.model.component import Function

__all__ = ["once"]

_More = ParamSpec("_More")
_Result = TypeVar("_Result")


def once(
    work: Callable[Concatenate[Function, _More], _Result],
) -> Callable[Concatenate[Function, _More], _Result]:
    """`work`, done once for each function and the further arguments, which go by position."""

    @wraps(work)
    def kept(function: Function, /, *more: _More.args, **named: _More.kwargs) -> _Result:
        known = function.worked_out
        key: object = (work, more) if more else work
        if key not in known:
            known[key] = work(function, *more, **named)
        found: _Result = known[key]
        return found

    return kept
