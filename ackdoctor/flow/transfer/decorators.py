"""Decorators: the function that a call of a decorated function runs.

A decorator of the project returns one of its inner functions, which calls the decorated one.  A factory such as
`@retry(3)` returns a decorator.
"""

from collections.abc import Iterator, Mapping

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.values import FunctionRef, Value
from ackdoctor.libraries.vocabulary import TRANSPARENT_DECORATORS
from ackdoctor.model.cfg import Bind, Call, Closure, Expr, Function, Mix, Name, Return, Unit

_NONE: Mapping[str, Value] = {}


def decorated(context: Context, function: Function) -> FunctionRef | None:
    """Return what a decorated function is at run time; None if a decorator cannot be analysed.

    The decorators of an inner function are calls of their own.
    """
    target = FunctionRef(function, bare=True)
    unit = context.unit(function)
    is_inner = "<locals>" in function.qualname
    for decorator in () if is_inner else reversed(function.decorators):
        callee = decorator.parts[0] if isinstance(decorator, Mix) and decorator.op == "call" else decorator
        if any(_is_transparent(name) for name in context.program.qualify(unit, callee)):
            continue
        maker = _decorator(context, unit, decorator, callee)
        wrapper = _apply(context, maker, target) if maker is not None else None
        if wrapper is None:
            return None
        target = wrapper
    return target


def _decorator(context: Context, unit: Unit, decorator: Expr, callee: Expr) -> FunctionRef | None:
    """Return the decorator of the project that an expression denotes; for `@retry(3)`, what the factory returns."""
    symbol = next(iter(context.program.resolve(unit, callee)), None)
    if not isinstance(symbol, Function):
        return None
    return FunctionRef(symbol) if decorator is callee else _returned(context, symbol, _NONE)


def _apply(context: Context, decorator: FunctionRef, target: FunctionRef) -> FunctionRef | None:
    params = decorator.function.params
    known = {**dict(decorator.captured), params[0].name: target} if params else None
    return _returned(context, decorator.function, known) if known is not None else None


def _returned(context: Context, function: Function, env: Mapping[str, Value]) -> FunctionRef | None:
    """Return the inner function that a function always returns."""
    known = dict(env)
    for name, value in _inner_names(function):
        found = evaluate(context, function, State(env=known), value)
        if found is not None:
            known[name] = found
    returns = [step.op.value for step in function.cfg.steps if isinstance(step.op, Return)]
    values = {evaluate(context, function, State(env=known), value) if value else None for value in returns}
    only = values.pop() if len(values) == 1 else None
    return FunctionRef(only.function, only.captured, bare=True) if isinstance(only, FunctionRef) else None


def _inner_names(function: Function) -> Iterator[tuple[str, Expr]]:
    """Yield the locals that are bound to an inner function, perhaps through `functools.wraps`."""
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name), value=Closure() | Name() as value):
                yield name, value
            case Call(result=Name(id=name), func=func, args=((Closure() | Name() as value, None, ""), *_)):
                made = calls_by_result(function).get(func)
                if _is_transparent(last_name(made.func if made is not None else func)):
                    yield name, value
            case _:
                pass


def _is_transparent(name: str) -> bool:
    return name.rpartition(".")[2] in TRANSPARENT_DECORATORS
