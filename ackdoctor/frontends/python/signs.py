"""The operators and other signs that libcst has a node type for."""

from collections.abc import Mapping
from types import MappingProxyType

import libcst as cst

__all__ = ["BETWEEN", "IN_FRONT", "SIGNS"]


def _table(text: str) -> Mapping[type, str]:
    words = text.split()
    return MappingProxyType(
        {getattr(cst, name): sign for name, sign in zip(words[::2], words[1::2], strict=True)}
    )


IN_FRONT = _table("Plus + Minus - BitInvert ~ Not not")
"""Signs that stand before their operand."""

BETWEEN = _table(
    """
    Semicolon ; Colon : Comma , Dot . AssignEqual = And and Or or
    Add + Subtract - Multiply * Divide / FloorDivide // Modulo % Power ** LeftShift << RightShift >>
    BitOr | BitAnd & BitXor ^ MatrixMultiply @
    LessThan < GreaterThan > Equal == LessThanEqual <= GreaterThanEqual >= In in Is is
    AddAssign += SubtractAssign -= MultiplyAssign *= DivideAssign /= FloorDivideAssign //= ModuloAssign %=
    PowerAssign **= LeftShiftAssign <<= RightShiftAssign >>= BitOrAssign |= BitAndAssign &= BitXorAssign ^=
    MatrixMultiplyAssign @=
    """
)
"""Signs of one word that stand between two things."""

SIGNS: Mapping[type, str] = MappingProxyType(
    {**IN_FRONT, **BETWEEN, cst.NotEqual: "!=", cst.NotIn: "not in", cst.IsNot: "is not"}
)
"""All of them; `!=` also stands for `<>`."""
