"""One spelling for equal values of a function: temporaries and locals bound once are written out.

`key = str(msg.offset())` and later `str(msg.offset())` are both  call(str, call(Attr(msg, offset))).
"""

from collections import Counter
from collections.abc import Iterator

from ackdoctor.flow.expressions import memoize
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Expr,
    Global,
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
from ackdoctor.model.component import Function

__all__ = ["Spelling", "bare", "spelling", "words"]

DEEPEST = 8  # names followed and expressions entered
LARGEST = 1_000  # parts of a spelling: a list of lists of lists grows with each name that is followed
_CASTS = frozenset(("str", "int", "unicode", "repr", "float"))


class Spelling:
    """The canonical spelling of expressions of one function.

    A parameter and a captured name have a value before the function's first step, so an assignment is their second:
    `flag = not flag` leaves `flag` as it is written.
    """

    __slots__ = ("_left", "_made")

    def __init__(self, function: Function) -> None:
        self._left = 0
        bound = Counter([*(param.name for param in function.params), *function.captures])
        made: dict[str, Expr] = {}
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=Name(id=name), value=value):
                    bound[name] += 1
                    made[name] = value
                case Call(result=Name(id=name), func=func, args=args):
                    bound[name] += 1
                    made[name] = Mix("call", (func, *(arg.value for arg in args)))
                case Update(target=Name(id=name)) | Next(target=Name(id=name)) | Yield(result=Name(id=name)):
                    bound[name] += 1
                case Unpack(targets=targets):
                    bound.update(target.id for target in targets if isinstance(target, Name))
                case _:
                    pass
        self._made = {name: value for name, value in made.items() if bound[name] == 1}

    def of(self, expr: Expr) -> Expr:
        """The spelling of an expression."""
        self._left = LARGEST
        return self._of(expr, 0)

    def _of(self, expr: Expr, depth: int) -> Expr:
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            return expr
        match expr:
            case Name(id=name) if name in self._made:
                return self._of(self._made[name], depth + 1)
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
def spelling(function: Function) -> Spelling:
    """The spelling of a function's expressions, made once."""
    return Spelling(function)


def bare(expr: Expr) -> Expr:
    """A spelling without casts around it: `str(n)` is taken for `n`."""
    while True:
        match expr:
            case Mix(op="call", parts=(Global(id=word), inner)) if word in _CASTS:
                expr = inner
            case _:
                return expr


def words(expr: Expr) -> Iterator[str]:
    """Every name and attribute in an expression."""
    match expr:
        case Name(id=word) | Global(id=word):
            yield word
        case Attr(obj=obj, name=word):
            yield word
            yield from words(obj)
        case Item(obj=left, key=right) | Compare(left=left, right=right):
            yield from words(left)
            yield from words(right)
        case Mix(parts=parts) | Build(items=parts):
            for part in parts:
                yield from words(part)
        case _:
            return
