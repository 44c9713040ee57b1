"""Values: every expression that needs no branch, and assignments."""

from collections.abc import Callable

from ackdoctor.frontends.java.grammar import COMMENTS, Node, by_type, child, parts
from ackdoctor.frontends.java.literals import float_of, integer_of, string_of
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.scope import is_constant
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Compare,
    Expr,
    Global,
    IsType,
    Literal,
    Mix,
    Name,
    Not,
    Update,
)

__all__ = ["PURE_ASSIGNMENTS", "VALUES", "binary", "bind", "compared", "update_statement"]

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_WITH_NULL = {"==": "is", "!=": "is not"}
_LONGEST = 60  # operators of several kinds in a row; more are told apart no longer

_NULL, _TRUE, _FALSE = Literal(None), Literal(value=True), Literal(value=False)


def _constant(value: Expr) -> Callable[[Lowering, Node], Expr]:
    return lambda _fn, _node: value


def _integer(fn: Lowering, node: Node) -> Expr:
    try:
        return Literal(integer_of(fn.text(node)))
    except ValueError:  # no number, or one of more digits than the interpreter reads
        return Mix("number", ())


def _float(fn: Lowering, node: Node) -> Expr:
    try:
        return Literal(float_of(fn.text(node)))
    except (ValueError, OverflowError):
        return Mix("number", ())


def _string(fn: Lowering, node: Node) -> Expr:
    inner = [part for part in node.named_children if part.type == "string_interpolation"]
    if inner:
        return Mix("f", tuple(fn.value(part.named_children[0]) for part in inner))
    return Literal(string_of(fn.text(node)))


def _template(fn: Lowering, node: Node) -> Expr:
    return fn.value(node.named_children[-1])


def _inner(fn: Lowering, node: Node) -> Expr:
    """Brackets and casts are not seen."""
    return fn.value(parts(node)[-1])


# ---- operators ----


def _operands(node: Node) -> list[tuple[str, Node]]:
    """A run of binary operators as its first operand, under '', and then each operator with its right side."""
    run: list[tuple[str, Node]] = []
    while node.type == "binary_expression":
        run.append((child(node, "operator").type, child(node, "right")))
        node = child(node, "left")
    run.append(("", node))
    run.reverse()
    return run


def binary(fn: Lowering, node: Node) -> Expr:
    """A run of the same operator becomes one flat `Mix`, however long it is."""
    run = _operands(node)
    if len(run) > _LONGEST:
        return _joined(run[-1][0], [fn.value(operand) for _, operand in run])
    sign, values = "", [fn.value(run[0][1])]
    for operator, operand in run[1:]:
        value = fn.value(operand)
        if operator != sign and len(values) > 1:
            values = [_joined(sign, values)]
        sign = operator
        if sign in _COMPARISONS:
            values = [compared(values[0], sign, value)]
        else:
            values.append(value)
    return values[0] if len(values) == 1 else _joined(sign, values)


def _joined(sign: str, values: list[Expr]) -> Expr:
    if sign == "+" and all(isinstance(value, Literal) and isinstance(value.value, str) for value in values):
        return Literal("".join(str(value.value) for value in values if isinstance(value, Literal)))
    return Mix(sign, tuple(values))


def compared(left: Expr, sign: str, right: Expr) -> Compare:
    """A comparison; of an equality with a constant, that comes second: `"a".equals(key)` asks about `key`."""
    if sign in _WITH_NULL and _is_constant(left) and not _is_constant(right):
        left, right = right, left
    if sign in _WITH_NULL and _NULL in (left, right):
        return Compare(right if left == _NULL else left, _WITH_NULL[sign], _NULL)
    return Compare(left, sign, right)


def _is_constant(expr: Expr) -> bool:
    match expr:
        case Literal():
            return True
        case Attr(name=word) | Global(id=word):
            return is_constant(word)
        case _:
            return False


def _unary(fn: Lowering, node: Node) -> Expr:
    value = fn.value(child(node, "operand"))
    sign = child(node, "operator").type
    if sign == "!":
        return value.value if isinstance(value, Not) else Not(value)
    if sign == "-" and isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value)
    return Mix(sign, (value,))


def _instanceof(fn: Lowering, node: Node) -> Expr:
    """Without a pattern; one with a pattern is a branch."""
    value = fn.value(child(node, "left"))
    return IsType(value, (type_of(fn.type_name(child(node, "right"))),))


# ---- arrays ----


def _array(fn: Lowering, node: Node) -> Expr:
    return Build("list", tuple(map(fn.value, parts(node))))


def _new_array(fn: Lowering, node: Node) -> Expr:
    display = node.child_by_field_name("value")
    if display is not None:
        return fn.value(display)
    for size in node.children_by_field_name("dimensions"):
        if size.type == "dimensions_expr":
            fn.value(parts(size)[-1])
    return Build("list", ())


# ---- assignments ----


def bind(fn: Lowering, node: Node) -> Expr:
    """`target = value`, or `target op= value`; the value of it all."""
    sign = child(node, "operator").type
    target = child(node, "left")
    if sign != "=":
        place = fn.value(target)
        fn.builder.add(Update(place, sign[:-1], fn.value(child(node, "right"))), fn.span(node))
        return place
    value = fn.value(child(node, "right"))
    place = fn.value(target)
    fn.builder.add(Bind(place, value), fn.span(node))
    return value if isinstance(value, (Name, Literal, Global)) else place


def update_statement(fn: Lowering, node: Node) -> tuple[Expr, str, bool]:
    """`i++` where nobody looks at its value: the place, the operator, and whether the operator stands in front."""
    first, last = [each for each in node.children if each.type not in COMMENTS]
    in_front = not first.is_named
    sign, operand = (first, last) if in_front else (last, first)
    return fn.value(operand), sign.type[0], in_front


def _update(fn: Lowering, node: Node) -> Expr:
    place, sign, in_front = update_statement(fn, node)
    value = place if in_front else fn.store(place, fn.span(node))
    fn.builder.add(Update(place, sign, Literal(1)), fn.span(node))
    return value


# ---- where no step may be made ----


def _pure_bind(fn: Lowering, node: Node) -> Expr:
    return fn.value(child(node, "right"))


def _pure_update(fn: Lowering, node: Node) -> Expr:
    place, sign, _ = update_statement(fn, node)
    return Mix(sign, (place, Literal(1)))


VALUES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {
        "null_literal": _constant(_NULL),
        "true": _constant(_TRUE),
        "false": _constant(_FALSE),
        "decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal": _integer,
        "decimal_floating_point_literal hex_floating_point_literal": _float,
        "string_literal character_literal": _string,
        "template_expression": _template,
        "parenthesized_expression cast_expression": _inner,
        "binary_expression": binary,
        "unary_expression": _unary,
        "instanceof_expression": _instanceof,
        "array_initializer element_value_array_initializer": _array,
        "array_creation_expression": _new_array,
        "assignment_expression": bind,
        "update_expression": _update,
    }
)

PURE_ASSIGNMENTS: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"assignment_expression": _pure_bind, "update_expression": _pure_update}
)
