"""Data flow in one function: reachable steps, derived locals, canonical expressions and definitions.

In canonical form, temporaries and locals with one assignment are expanded and casts left out: `key = str(msg.offset())`
and a later `msg.offset()` are both  call(Attr(msg, offset)).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ackdoctor.flow.events import Flow, Path
from ackdoctor.flow.expressions import (
    assigned_locals,
    assigned_targets,
    calls_by_result,
    last_name,
    memoize,
    mentions,
    names_in,
    operands,
)
from ackdoctor.libraries.vocabulary import CONTAINER_STORES
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Global,
    Instr,
    Item,
    Mix,
    Name,
    Next,
    Not,
    Step,
    Unpack,
    Update,
    Way,
)

# ---- steps ----


def reachable(
    function: Function, starts: Iterable[int], closed: Iterable[tuple[int, EdgeKind]] = ()
) -> set[int]:
    """Return the steps that can be reached without a closed edge."""
    closed_edges = frozenset(closed)
    return function.cfg.reached(starts, lambda index, edge: (index, edge.kind) not in closed_edges)


def can_skip(function: Function, steps: set[int]) -> bool:
    """Whether a path without an exception returns and runs none of these steps."""
    return EXIT in reachable(function, [ENTRY], edges_past(function, steps))


def returns_without(function: Function, steps: set[int]) -> bool:
    """Whether a path, also one past an exception handler, returns and runs none of these steps."""
    return EXIT in reachable(function, [ENTRY], [(index, kind) for index in steps for kind in EdgeKind])


def edges_past(function: Function, steps: Iterable[int]) -> list[tuple[int, EdgeKind]]:
    """Return the edges behind these steps, and those of all exceptions."""
    raised = [(index, EdgeKind.RAISE) for index in range(len(function.cfg.steps))]
    return [*raised, *edges_after_success(steps)]


def edges_after_success(steps: Iterable[int]) -> list[tuple[int, EdgeKind]]:
    """Return the edges behind these steps, without those of their exceptions."""
    return [(index, kind) for index in steps for kind in EdgeKind if kind is not EdgeKind.RAISE]


def handler_steps(function: Function, catch: int) -> set[int]:
    """Return the steps that run only after the exception handler at `catch` was entered."""
    entered = [target for kind, target in function.cfg.steps[catch].edges if kind is EdgeKind.TRUE]
    return reachable(function, entered) - reachable(function, [ENTRY], [(catch, EdgeKind.TRUE)])


def raises_to_handler(step: Step) -> bool:
    """Whether code around a step catches an exception of it: one that ends a loop in a helper ends the call, too."""
    return any(kind is EdgeKind.RAISE and target != RAISED for kind, target in step.edges)


def raising_steps(function: Function, catch: int) -> set[int]:
    """Return the steps whose exceptions reach the exception handler at `catch`, also past handlers of other types and `finally`."""
    handlers, found = {catch}, set[int]()
    for index in range(len(function.cfg.steps) - 1, -1, -1):  # handlers follow each other in source order
        step = function.cfg.steps[index]
        for kind, target in step.edges:
            if target not in handlers:
                continue
            passes_on = step.way is Way.RAISE or (isinstance(step.op, Catch) and kind is EdgeKind.FALSE)
            if kind is EdgeKind.RAISE:
                found.add(index)
            elif passes_on:
                handlers.add(index)
    return found


# ---- locals ----


def mentions_any(expr: Expr, names: frozenset[str]) -> bool:
    """Whether an expression reads one of these locals."""
    return not names.isdisjoint(names_in(expr))


def tuple_names(flow: Flow, function: Function) -> frozenset[str]:
    """Return the locals that derive from the tuple: from the parameter of the handler, or from any of a helper."""
    names = data_params(function)
    if function is flow.function and flow.entry is not None and flow.entry.subject is not None:
        names = names[flow.entry.subject : flow.entry.subject + 1]
    elif function is not flow.function and function in flow.function.tree():
        names += function.captures & tuple_names(flow, flow.function)
    return derived_names(function, frozenset(names))


def data_params(function: Function) -> list[str]:
    """Return the parameters of a function without the object or the class that a method gets first."""
    names = [param.name for param in function.params]
    return names[1:] if function.binding == "class" or names[:1] == [function.receiver] else names


@memoize
def derived_names(function: Function, names: frozenset[str]) -> frozenset[str]:
    """Return the locals whose value may derive from one of `names`, these included; the analysis is flow-insensitive."""
    targets = _targets_by_name(function)
    known, todo = set(names), list(names)
    while todo:
        new = targets.get(todo.pop(), set()) - known
        known |= new
        todo += new
    return frozenset(known)


@memoize
def _targets_by_name(function: Function) -> Mapping[str, set[str]]:
    """Map each local to those that are assigned an expression with it."""
    targets: dict[str, set[str]] = {}
    outer = function.captures | {function.receiver}
    for step in function.cfg.steps:
        if isinstance(step.op, (Bind, Update, Unpack, Next, Call)):
            assigned = {*assigned_locals(step.op), *_filled_locals(step.op)} - outer
            for value in operands(step.op):
                inner = function.closures.get(value.key) if isinstance(value, Closure) else None
                for name in inner.captures if inner is not None else names_in(value):
                    targets.setdefault(name, set()).update(assigned)
    return targets


def _filled_locals(op: Instr) -> Iterator[str]:
    """Yield the local object that an instruction puts values into: `message["To"] = to`, `message.set_content(body)`."""
    match op:
        case Bind(target=Item(obj=Name(id=name))):
            yield name
        case Call(func=Attr(obj=Name(id=name)), dropped=True):
            yield name
        case _:
            pass


# ---- canonical forms ----

_DEEPEST = 8  # nested expressions and expanded names
_LARGEST = 1_000  # parts of an expression: nested lists grow with each name that is expanded
_CASTS = frozenset(("str", "int", "unicode", "repr", "float"))


def canonical_form(function: Function, expr: Expr) -> Expr:
    """Return the canonical form of an expression of a function."""
    values = _single_values(function)
    left = _LARGEST

    def expand(expr: Expr, depth: int) -> Expr:
        nonlocal left
        left -= 1
        if depth > _DEEPEST or left < 0:
            return expr
        match expr:
            case Name(id=name) if name in values:
                return expand(values[name], depth + 1)
            case Attr(obj=obj, name=name):
                return Attr(expand(obj, depth + 1), name)
            case Item(obj=obj, key=key):
                return Item(expand(obj, depth + 1), expand(key, depth + 1))
            case Mix(op="call", parts=(Global(id=word), inner)) if word in _CASTS:
                return expand(inner, depth + 1)
            case Mix(op=op, parts=parts):
                return Mix(op, tuple(expand(part, depth + 1) for part in parts))
            case Build(kind=kind, items=items):
                return Build(kind, tuple(expand(item, depth + 1) for item in items))
            case Compare(left=one, op=op, right=other):
                return Compare(expand(one, depth + 1), op, expand(other, depth + 1))
            case Not(value=value):
                return Not(expand(value, depth + 1))
            case _:
                return expr

    return expand(expr, 0)


@memoize
def _single_values(function: Function) -> Mapping[str, Expr]:
    """Map each local that is assigned once to its value.

    A parameter and a captured name have a value before the first step, so an assignment is their second:
    `flag = not flag` is not expanded.
    """
    assigned = Counter([*(param.name for param in function.params), *function.captures])
    values: dict[str, Expr] = {}
    for step in function.cfg.steps:
        assigned.update(assigned_locals(step.op))
        match step.op:
            case Bind(target=Name(id=name), value=value):
                values[name] = value
            case Call(result=Name(id=name), func=func, args=args):
                values[name] = Mix("call", (func, *(arg.value for arg in args)))
            case _:
                pass
    return {name: value for name, value in values.items() if assigned[name] == 1}


# ---- definitions on a path ----

_HOPS = 8  # helper calls and copies followed


@dataclass(slots=True, unsafe_hash=True)
class Definition:
    """The definition of a value: an expression, a call or a catch, and its visit."""

    value: Expr | Call | Catch
    visit: Path


def definition(visit: Path, expr: Expr) -> Definition | None:
    """Return the definition of `expr` on the path to `visit`; None if it is unknown.

    An argument of a helper is followed to the call of the helper.
    """
    for _ in range(_HOPS):
        if not isinstance(expr, Name):
            return Definition(expr, visit)
        maker = next((each for each in earlier_visits(visit) if expr in assigned_targets(each.step.op)), None)
        if maker is None:
            caller = visit.entry.before
            call = caller.step.op if caller is not None else None
            value = argument_of(call, visit.function, expr.id) if isinstance(call, Call) else None
            if value is None or caller is None:
                return None
            expr, visit = value, caller
            continue
        match maker.step.op:
            case Bind(value=value):
                expr, visit = value, maker
            case Call() | Catch() as maker_op:
                return Definition(maker_op, maker)
            case _:
                return None
    return None


def earlier_visits(visit: Path) -> Iterator[Path]:
    """Yield the earlier visits in the same function, nearest first."""
    while visit.via is not None and visit.before is not None:
        visit = visit.before
        yield visit


def argument_of(call: Call, helper: Function, name: str) -> Expr | None:
    """Return the argument that a call passes for a parameter of a helper; None if there is none or `*args` may hide it."""
    for arg in call.args:
        if arg.name == name:
            return arg.value
    if any(arg.star for arg in call.args):
        return None
    names = [param.name for param in helper.params if param.kind == "positional"]
    plain = [arg.value for arg in call.args if arg.name is None]
    begin = 0 if helper.binding in ("static", "none") else 1
    return dict(zip(names[begin:], plain, strict=False)).get(name)


def carriers_of(function: Function, place: Expr) -> frozenset[str]:
    """Return the locals that hold something read from a place, also in a collection that was made for it."""
    found: set[str] = set()
    for step in function.cfg.steps:
        if any(mentions(value, place) for value in operands(step.op)):
            found.update(assigned_locals(step.op))
            if isinstance(step.op, Call) and last_name(step.op.func) == "drainTo":
                found.update(arg.value.id for arg in step.op.args if isinstance(arg.value, Name))
    while True:
        names = derived_names(function, frozenset(found))
        filled = {
            call.func.obj.id
            for call in calls_by_result(function).values()
            if isinstance(call.func, Attr)
            and isinstance(call.func.obj, Name)
            and call.func.name in CONTAINER_STORES
            if any(mentions_any(arg.value, names) or mentions(arg.value, place) for arg in call.args)
        }
        if filled <= names:
            return names
        found = set(names | filled)
