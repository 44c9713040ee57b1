"""Into a function of the project's own: what it is told of its arguments, of the loops around it and of what was asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Trail
from ackdoctor.flow.expressions import names_in
from ackdoctor.flow.facts import tested_names
from ackdoctor.flow.state import Const, LoopMemory, State, Value, tokens_in
from ackdoctor.flow.transfer.containers import Done, arguments, packed
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.outside import unknown
from ackdoctor.model.cfg import Arg, Attr, Call, Compare, Expr, Literal, Name
from ackdoctor.model.component import Function

__all__ = ["Enter", "enter"]

_AROUND = 0  # stands for all loops around a helper's call; its own are counted from 1


@dataclass(slots=True, unsafe_hash=True)
class Enter:
    """The call enters a function of the project with this state; `others` are overloads it may mean as well."""

    function: Function
    state: State
    others: tuple["Enter", ...] = ()


def enter(
    context: Context,
    trail: Trail,
    call: Call,
    function: Function,
    receiver: Value | None,
    given: tuple[Value | None, ...] | None,
    captured: tuple[tuple[str, Value], ...] = (),
) -> Done | Enter:
    """What a call of this function begins with; `given` are values in place of the call's own arguments."""
    if function.is_async and not call.awaited:
        return unknown(context, trail, call, given)
    env: dict[str, Value] = {"%return": Const(None), **dict(captured)}
    params = [param for param in function.params if param.kind == "positional"]
    if receiver is not None and function.binding != "static" and params:
        env[params.pop(0).name] = receiver
    args = call.args if given is None else tuple(Arg(Name("")) for _ in given)
    values = arguments(context, trail, call) if given is None else given
    filled: set[str | None] = set()
    more: list[Value | None] = []
    passed: dict[str, Expr] = {}
    for arg, value in zip(args, values, strict=True):
        name = arg.name
        if name is None and not arg.star:
            if params:
                name = params.pop(0).name
            else:
                more.append(value)
        filled.add(name)
        if name is not None and isinstance(arg.value, (Name, Attr)) and given is None:
            passed[name] = arg.value
        if name is not None and _matters(function, name, value):
            env[name] = value  # type: ignore[assignment]  # _matters refuses None
        elif arg.star and value is not None and any(tokens_in(value)):
            return unknown(context, trail, call, given)
    for param in function.params:
        if param.name not in filled and param.default is not None and not any(arg.star for arg in args):
            value = evaluate(context, function, State(), param.default)
            if isinstance(value, Const) and _matters(function, param.name, value):
                env[param.name] = value
    if not any(arg.star for arg in args):
        env.update(packed(context, function, more, named=filled - {None}))
    before = trail.state
    entered = State(
        env=env,
        tokens=before.tokens,
        fields=before.fields,
        facts=_facts_about(trail, function, passed),
        loops=_around(before),
        caught=before.caught,
    )
    return Enter(function, entered)


def _facts_about(trail: Trail, function: Function, passed: Mapping[str, Expr]) -> Mapping[Expr, bool]:
    """What was decided about the arguments of a call, said of the parameters that they become."""
    known: dict[Expr, bool] = {}
    for fact, truth in trail.state.facts.items() if passed else ():
        for name, expr in passed.items():
            if fact == expr:
                known[Name(name)] = truth
            elif isinstance(fact, Compare) and fact.left == expr and _said_there(trail, function, fact.right):
                known[Compare(Name(name), fact.op, fact.right)] = truth
    return known


def _said_there(trail: Trail, function: Function, right: Expr) -> bool:
    """Whether what an argument was compared with means the same in the function that is called."""
    here = trail.function.path == function.path and not any(names_in(right))
    return isinstance(right, Literal) or here


def _around(before: State) -> Mapping[int, LoopMemory]:
    """What a helper called in a loop over a batch must know: that earlier rounds have left some element so."""
    rest = [memory.rest for memory in before.loops.values() if memory.rest is not None]
    return {_AROUND: LoopMemory(None, rest[0])} if rest else {}


def _matters(function: Function, name: str, value: Value | None) -> bool:
    if isinstance(value, Const):
        return name in tested_names(function)
    return value is not None
