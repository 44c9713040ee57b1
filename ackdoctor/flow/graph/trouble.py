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
_HARMLESS = frozenset(
    {"len", "bool", "type", "id", "class"}
)  # operators that do not fail on what they are given
_PLAIN = (Name, Global, Attr, Literal)


def may_raise(op: Instr) -> bool:
    """Whether the instruction has a RAISE edge anywhere."""
    return type(op) in _ALWAYS


def may_raise_when_watched(op: Instr) -> bool:
    """Whether it has one inside a try body."""
    if isinstance(op, Drop):
        return isinstance(op.target, Item)
    if isinstance(op, Jump):
        return op.word == "import"
    return isinstance(op, Unpack) or any(map(_computes, _worked_out(op)))


def _worked_out(op: Instr) -> tuple[Expr, ...]:
    """The expressions that an instruction evaluates, where they are not mere references."""
    match op:
        case Bind(_, value):
            return (value,)
        case Return(value) if value is not None:
            return (value,)
        case Update(target, _, value):
            return (target, value)
        case Test(condition):
            return (condition,)
    return ()


def _computes(expr: Expr) -> bool:
    stack = [expr]
    while stack:
        match stack.pop():
            case Item():
                return True
            case Mix("f", parts):
                if not all(isinstance(part, _PLAIN) for part in parts):
                    return True
            case Mix(op, parts):
                if op not in _HARMLESS:
                    return True
                stack += parts
            case Build(_, items):
                stack += items
            case Attr(part, _) | Star(part) | Not(part) | IsType(part):
                stack.append(part)
            case Compare(left, _, right):
                stack += (left, right)
    return False
