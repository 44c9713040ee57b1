"""Which instructions can raise.

Any instruction can, in principle; a graph in which every step may fail says nothing.  A call, a
yield, a raise and the fetching of the next element always get a RAISE edge.  Under a `try` the
reader has said that something may go wrong, so there an instruction that subscripts, unpacks or
computes gets one too.
"""

from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Drop,
    Expr,
    Global,
    Instr,
    IsType,
    Item,
    Jump,
    Literal,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Test,
    Throw,
    Unpack,
    Update,
    Yield,
)

__all__ = ["may_raise", "may_raise_when_watched"]

_ALWAYS = frozenset({Call, Throw, Yield, Next})
_HARMLESS = frozenset({"len", "bool", "type", "id", "class"})  # operators that do not fail on what they are given
_PLAIN = (Name, Global, Attr, Literal)


def may_raise(op: Instr) -> bool:
    """Whether the instruction has a RAISE edge anywhere."""
    return type(op) in _ALWAYS


def may_raise_when_watched(op: Instr) -> bool:
    """Whether it has one inside a try body."""
    match op:
        case Bind(_, value) | Return(value):
            return value is not None and _computes(value)
        case Unpack():
            return True
        case Update(target, _, value):
            return _computes(target) or _computes(value)
        case Test(condition):
            return _computes(condition)
        case Drop(target):
            return isinstance(target, Item)
        case Jump(word):
            return word == "import"
        case _:
            return False


def _computes(expr: Expr) -> bool:
    match expr:
        case Item():
            return True
        case Mix("f", parts):
            return not all(isinstance(part, _PLAIN) for part in parts)
        case Mix(op, parts):
            return op not in _HARMLESS or any(_computes(part) for part in parts)
        case Build(_, items):
            return any(_computes(item) for item in items)
        case Attr(part, _) | Star(part) | Not(part) | IsType(part):
            return _computes(part)
        case Compare(left, _, right):
            return _computes(left) or _computes(right)
        case _:
            return False
