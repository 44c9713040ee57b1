"""Data flow inside one function: reachable steps, derived locals, canonical expressions and definitions.

In canonical form, temporaries and locals with one assignment are expanded: `key = str(msg.offset())` and a later
`str(msg.offset())` are both  call(str, call(Attr(msg, offset))).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ackdoctor.flow.events import Flow, Path
from ackdoctor.flow.expressions import memoize, names_in
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
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
    Star,
    Unpack,
    Update,
    Yield,
)

__all__ = [
    "CanonicalForms",
    "Definition",
    "canonical_forms",
    "definition",
    "derived_names",
    "handler_only",
    "mentions_any",
    "names_and_attributes",
    "raising_steps",
    "reachable",
    "tuple_params",
    "without_casts",
]


def reachable(
    function: Function, starts: Iterable[int], closed: frozenset[tuple[int, EdgeKind]] = frozenset()
) -> set[int]:
    """Return the steps that can be reached without a closed edge."""
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
    """Return the steps that run only after the exception handler at `catch` was entered."""
    entered = [target for kind, target in function.cfg.steps[catch].edges if kind is EdgeKind.TRUE]
    without = reachable(function, [ENTRY], frozenset({(catch, EdgeKind.TRUE)}))
    return reachable(function, entered) - without


def raising_steps(function: Function, catch: int) -> set[int]:
    """Return the steps whose exceptions reach the exception handler at `catch`."""
    pending = {catch}
    steps = function.cfg.steps
    found: set[int] = set()
    while pending:
        wanted = pending.pop()
        for index, step in enumerate(steps):
            for kind, target in step.edges:
                if target != wanted:
                    continue
                if isinstance(step.op, Catch) and kind is not EdgeKind.TRUE and index not in found:
                    pending.add(index)
                elif kind is EdgeKind.RAISE:
                    found.add(index)
    return found


def mentions_any(expr: Expr, names: frozenset[str]) -> bool:
    """Whether an expression reads one of these locals."""
    return not names.isdisjoint(names_in(expr))


def tuple_params(flow: Flow, function: Function) -> frozenset[str]:
    """Return the parameters that carry the tuple: that of the handler, or all of a helper."""
    names = [param.name for param in function.params]
    if function is flow.function and flow.entry is not None and flow.entry.subject is not None:
        return frozenset(names[flow.entry.subject + 1 : flow.entry.subject + 2])
    return frozenset(names[1:])


@memoize
def derived_names(function: Function, names: frozenset[str]) -> frozenset[str]:
    """Return the locals whose value may derive from one of `names`, these included; the analysis is flow-insensitive."""
    flows = _flows(function)
    known, todo = set(names), list(names)
    while todo:
        new = flows.get(todo.pop(), set()) - known
        known |= new
        todo += new
    return frozenset(known)


@memoize
def _flows(function: Function) -> Mapping[str, set[str]]:
    """Map each local to those that are assigned an expression with it."""
    flows: dict[str, set[str]] = {}
    for step in function.cfg.steps:
        targets, values = _assignment(step.op)
        for value in values:
            for name in names_in(value):
                flows.setdefault(name, set()).update(targets)
    return flows


def _assignment(op: Instr) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """Return the locals that an instruction assigns, and the expressions of their value."""
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


DEEPEST = 8  # nested expressions and expanded names
LARGEST = 1_000  # parts of an expression: nested lists grow with each name that is expanded
_CASTS = frozenset(("str", "int", "unicode", "repr", "float"))


class CanonicalForms:
    """The canonical form of expressions of one function.

    A parameter and a captured name have a value before the first step, so an assignment is their second:
    `flag = not flag` is not expanded.
    """

    __slots__ = ("_definitions", "_left")

    def __init__(self, function: Function) -> None:
        self._left = 0
        bound = Counter([*(param.name for param in function.params), *function.captures])
        values: dict[str, Expr] = {}
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=Name(id=name), value=value):
                    bound[name] += 1
                    values[name] = value
                case Call(result=Name(id=name), func=func, args=args):
                    bound[name] += 1
                    values[name] = Mix("call", (func, *(arg.value for arg in args)))
                case Update(target=Name(id=name)) | Next(target=Name(id=name)) | Yield(result=Name(id=name)):
                    bound[name] += 1
                case Unpack(targets=targets):
                    bound.update(target.id for target in targets if isinstance(target, Name))
                case _:
                    pass
        self._definitions = {name: value for name, value in values.items() if bound[name] == 1}

    def of(self, expr: Expr) -> Expr:
        """Return the canonical form of an expression."""
        self._left = LARGEST
        return self._of(expr, 0)

    def _of(self, expr: Expr, depth: int) -> Expr:
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            return expr
        match expr:
            case Name(id=name) if name in self._definitions:
                return self._of(self._definitions[name], depth + 1)
            case Attr(obj=obj, name=name):
                return Attr(self._of(obj, depth + 1), name)
            case Item(obj=obj, key=key):
                return Item(self._of(obj, depth + 1), self._of(key, depth + 1))
            case Mix(op=op, parts=parts):
                return Mix(op, tuple(self._of(part, depth + 1) for part in parts))
            case Build(kind=kind, items=items):
                return Build(kind, tuple(self._of(item, depth + 1) for item in items))
            case Compare(left=left, op=op, right=right):
                return Compare(self._of(left, depth + 1), op, self._of(right, depth + 1))
            case Not(value=value):
                return Not(self._of(value, depth + 1))
            case Star(value=value):
                return Star(self._of(value, depth + 1))
            case _:
                return expr


@memoize
def canonical_forms(function: Function) -> CanonicalForms:
    """Return the canonical forms of a function's expressions, computed once."""
    return CanonicalForms(function)


def without_casts(expr: Expr) -> Expr:
    """Return a canonical form without the casts around it: `str(n)` counts as `n`."""
    while True:
        match expr:
            case Mix(op="call", parts=(Global(id=word), inner)) if word in _CASTS:
                expr = inner
            case _:
                return expr


def names_and_attributes(expr: Expr) -> Iterator[str]:
    """Yield every name and attribute in an expression."""
    match expr:
        case Name(id=word) | Global(id=word):
            yield word
        case Attr(obj=obj, name=word):
            yield word
            yield from names_and_attributes(obj)
        case Item(obj=left, key=right) | Compare(left=left, right=right):
            yield from names_and_attributes(left)
            yield from names_and_attributes(right)
        case Mix(parts=parts) | Build(items=parts):
            for part in parts:
                yield from names_and_attributes(part)
        case _:
            return


HOPS = 8  # helper calls and copies followed


@dataclass(slots=True, unsafe_hash=True)
class Definition:
    """The definition of a value: an expression, a call or a catch, and its visit."""

    value: Expr | Call | Catch
    visit: Path


def definition(visit: Path, expr: Expr, hops: int = HOPS) -> Definition | None:
    """Return the definition of `expr` on the path to `visit`; None if it is unknown.

    An argument of a helper is followed to the call of the helper.
    """
    while isinstance(expr, Name) and hops:
        hops -= 1
        maker = next((node for node in _earlier_visits(visit) if _binds(node, expr)), None)
        if maker is None:
            found = _argument(visit, expr)
            if found is None:
                return None
            expr, visit = found
            continue
        match maker.step.op:
            case Bind(value=value):
                expr, visit = value, maker
            case Call() | Catch() as value:
                return Definition(value, maker)
            case _:
                return None
    return Definition(expr, visit) if hops else None


def _earlier_visits(visit: Path) -> Iterator[Path]:
    """Yield the earlier visits in the same function, nearest first."""
    while visit.via is not None and visit.before is not None:
        visit = visit.before
        yield visit


def _binds(visit: Path, name: Name) -> bool:
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


def _argument(visit: Path, name: Name) -> tuple[Expr, Path] | None:
    """Return the argument that the call of this helper passes for one of its parameters."""
    entry = [visit, *_earlier_visits(visit)][-1]
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
