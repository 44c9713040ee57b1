"""Values: every expression that needs no branch, and calls."""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.frontends.python.literals import number_of, string_of
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.frontends.python.signs import SIGNS
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Expr,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Not,
    Star,
    Yield,
)

__all__ = ["CALLS", "PURE_CALLS", "VALUES", "comparison_sign"]

_CONSTANTS = {"True": Literal(value=True), "False": Literal(value=False), "None": Literal(value=None)}


def _name(fn: Lowering, node: cst.Name) -> Expr:
    return _CONSTANTS.get(node.value) or fn.scope.resolve(node.value)


def _number(_fn: Lowering, node: cst.Integer | cst.Float) -> Expr:
    try:
        return Literal(number_of(node))
    except ValueError:  # more digits than the interpreter is willing to read
        return Mix("number", ())


def _imaginary(_fn: Lowering, _node: cst.Imaginary) -> Expr:
    return Mix("number", ())


def _ellipsis(_fn: Lowering, _node: cst.Ellipsis) -> Expr:
    return Literal(...)


def _string(_fn: Lowering, node: cst.SimpleString) -> Expr:
    return Literal(string_of(node.value))


def _joined(fn: Lowering, node: cst.ConcatenatedString) -> Expr:
    pieces: list[Expr] = []
    rest: cst.CSTNode = node
    while isinstance(rest, cst.ConcatenatedString):
        pieces.append(fn.value(rest.left))
        rest = rest.right
    pieces.append(fn.value(rest))
    values = [piece.value for piece in pieces if isinstance(piece, Literal)]
    if len(values) == len(pieces):
        if all(isinstance(value, bytes) for value in values):
            return Literal(b"".join(values))  # type: ignore[arg-type]
        return Literal("".join(map(str, values)))
    parts = [part for piece in pieces for part in (piece.parts if isinstance(piece, Mix) else (piece,))]
    return Mix("f", tuple(parts))


def _formatted(fn: Lowering, node: cst.FormattedString | cst.TemplatedString) -> Expr:
    parts: list[Expr] = []
    _format_parts(fn, node.parts, parts)
    return Mix("f", tuple(parts))


def _format_parts(fn: Lowering, nodes: Any, parts: list[Expr]) -> None:
    for node in nodes:
        if isinstance(node, (cst.FormattedStringText, cst.TemplatedStringText)):
            parts.append(Literal(node.value))
        else:
            parts.append(fn.value(node.expression))
            if node.format_spec:
                _format_parts(fn, node.format_spec, parts)


def _attribute(fn: Lowering, node: cst.Attribute) -> Expr:
    inner = node.value
    return Attr(fn.values[type(inner)](fn, inner), node.attr.value)


def _subscript(fn: Lowering, node: cst.Subscript) -> Expr:
    obj = fn.value(node.value)
    keys = [_key(fn, element.slice) for element in node.slice]
    alone = len(keys) == 1 and not isinstance(node.slice[0].comma, cst.Comma)
    return Item(obj, keys[0] if alone else Build("tuple", tuple(keys)))


def _key(fn: Lowering, node: cst.BaseSlice) -> Expr:
    if isinstance(node, cst.Index):
        value = fn.value(node.value)
        return Star(value) if node.star else value
    assert isinstance(node, cst.Slice)
    bounds = (node.lower, node.upper, node.step)
    return Mix("slice", tuple(Literal(None) if bound is None else fn.value(bound) for bound in bounds))


def _binary(fn: Lowering, node: cst.BinaryOperation) -> Expr:
    """A run of the same operator becomes one flat `Mix`, however long it is."""
    chain: list[cst.BinaryOperation] = []
    left: cst.CSTNode = node
    while isinstance(left, cst.BinaryOperation):
        chain.append(left)
        left = left.left
    sign, parts = "", [fn.value(left)]
    for link in reversed(chain):
        link_sign = SIGNS[type(link.operator)]
        if sign and link_sign != sign:
            parts = [Mix(sign, tuple(parts))]
        sign = link_sign
        parts.append(fn.value(link.right))
    return Mix(sign, tuple(parts))


def _unary(fn: Lowering, node: cst.UnaryOperation) -> Expr:
    value = fn.value(node.expression)
    kind = type(node.operator)
    if kind is cst.Not:
        return Not(value)
    if kind is cst.Minus and isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value)
    return Mix(SIGNS[kind], (value,))


def comparison_sign(operator: cst.BaseCompOp) -> str:
    """The operator's text, `!=` also for `<>`."""
    return SIGNS[type(operator)]


def _sequence(kind: str) -> Callable[[Lowering, Any], Expr]:
    def lower(fn: Lowering, node: cst.Tuple | cst.List | cst.Set) -> Expr:
        items = []
        for element in node.elements:
            value = fn.value(element.value)
            items.append(Star(value) if isinstance(element, cst.StarredElement) else value)
        return Build(kind, tuple(items))

    return lower


def _dict(fn: Lowering, node: cst.Dict) -> Expr:
    items: list[Expr] = []
    for element in node.elements:
        key = fn.value(element.key) if isinstance(element, cst.DictElement) else Mix("**", ())
        items += (key, fn.value(element.value))
    return Build("dict", tuple(items))


def _star(fn: Lowering, node: cst.StarredElement) -> Expr:
    return Star(fn.value(node.value))


def _walrus(fn: Lowering, node: cst.NamedExpr) -> Expr:
    value = fn.value(node.value)
    fn.bind(node.target, value, fn.span(node))
    return fn.value(node.target)


# ---- calls ----


def _call(fn: Lowering, node: cst.Call) -> Expr:
    return _call_step(fn, node)


def call_statement(fn: Lowering, node: cst.Call) -> Expr:
    """A call that is a statement of its own: nobody looks at its result."""
    return _call_step(fn, node, dropped=True)


def _call_step(fn: Lowering, node: cst.Call, *, awaited: bool = False, dropped: bool = False) -> Expr:
    callee = node.func
    func = fn.values[type(callee)](fn, callee)
    mapped = _mapped(fn, node) if type(func) is Global and func.id in _TAKERS else None
    if mapped is not None:
        return mapped
    args = []
    for arg in node.args:
        inner = arg.value
        keyword = arg.keyword
        args.append(
            Arg(fn.values[type(inner)](fn, inner), None if keyword is None else keyword.value, arg.star)
        )
    if type(func) is Global and func.id not in fn.file.module_names:
        pure = _builtin(func.id, args)
        if pure is not None:
            return pure
    result = fn.builder.temp()
    fn.builder.add(Call(result, func, tuple(args), awaited, dropped), fn.span(node))
    return result


_TAKERS = frozenset({"list", "tuple", "set", "deque"})  # they take all that a lazy iterator gives
_ONE_EACH = 2  # `map(function, items)`


def _mapped(fn: Lowering, node: cst.Call) -> Expr | None:
    """`list(map(self.ack, tups))` as the loop that it is."""
    inner = node.args[0].value if node.args else None
    if not isinstance(inner, cst.Call) or len(inner.args) != _ONE_EACH or any(arg.star for arg in inner.args):
        return None
    known = isinstance(inner.func, cst.Name) and fn.scope.resolve(inner.func.value) == Global("map")
    if not known or not fn.file.module_names.isdisjoint(("map", *_TAKERS - {"deque"})):
        return None
    todo, items = (fn.value(arg.value) for arg in inner.args)
    result, element, span = fn.builder.temp(), fn.builder.temp(), fn.span(inner)
    fn.builder.add(Bind(result, Build("list", ())), span)

    def body() -> None:
        made = fn.builder.temp()
        fn.builder.add(Call(made, todo, (Arg(element),)), span)
        fn.builder.add(Bind(result, Build("list", (made,))), span)

    fn.builder.loop_for(span, element, items, body)
    return result


def _builtin(word: str, args: list[Arg]) -> Expr | None:
    """The calls that only look at their argument."""
    if any(arg.name or arg.star for arg in args):
        return None
    match word, [arg.value for arg in args]:
        case "len" | "bool" | "type" | "id", [value]:
            return Mix(word, (value,))
        case "isinstance", [value, Build(_, types)]:
            return IsType(value, types)
        case "isinstance", [value, kind]:
            return IsType(value, (kind,))
    return None


def _await(fn: Lowering, node: cst.Await) -> Expr:
    inner = node.expression
    if isinstance(inner, cst.Call):
        return _call_step(fn, inner, awaited=True)
    result = fn.builder.temp()
    fn.builder.add(Call(result, Mix("await", (fn.value(inner),)), (), awaited=True), fn.span(node))
    return result


def _yield(fn: Lowering, node: cst.Yield) -> Expr:
    delegate = isinstance(node.value, cst.From)
    inner = node.value.item if isinstance(node.value, cst.From) else node.value
    value = None if inner is None else fn.value(inner)
    result = fn.builder.temp()
    fn.builder.add(Yield(result, value, delegate), fn.span(node))
    return result


# ---- where no step may be made ----


def _pure_call(fn: Lowering, node: cst.Call) -> Expr:
    func = fn.value(node.func)
    parts: list[Expr] = [func]
    for arg in node.args:
        value = fn.value(arg.value)
        if arg.keyword is not None:
            value = Mix(f"{arg.keyword.value}=", (value,))
        elif arg.star:
            value = Star(value) if arg.star == "*" else Mix("**", (value,))
        parts.append(value)
    if isinstance(func, Global) and func.id not in fn.file.module_names:
        pure = _builtin(func.id, [Arg(part) for part in parts[1:]])
        if pure is not None:
            return pure
    return Mix("call", tuple(parts))


def _pure_await(fn: Lowering, node: cst.Await) -> Expr:
    return Mix("await", (fn.value(node.expression),))


def _pure_yield(_fn: Lowering, _node: cst.Yield) -> Expr:
    return Mix("yield", ())


def _pure_walrus(fn: Lowering, node: cst.NamedExpr) -> Expr:
    return fn.value(node.value)


CALLS: dict[type, Callable[[Lowering, Any], Expr]] = {
    cst.Call: _call,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.NamedExpr: _walrus,
}

PURE_CALLS: dict[type, Callable[[Lowering, Any], Expr]] = {
    cst.Call: _pure_call,
    cst.Await: _pure_await,
    cst.Yield: _pure_yield,
    cst.NamedExpr: _pure_walrus,
}

VALUES: dict[type, Callable[[Lowering, Any], Expr]] = {
    cst.Name: _name,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _imaginary,
    cst.Ellipsis: _ellipsis,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _joined,
    cst.FormattedString: _formatted,
    cst.TemplatedString: _formatted,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Tuple: _sequence("tuple"),
    cst.List: _sequence("list"),
    cst.Set: _sequence("set"),
    cst.Dict: _dict,
    cst.StarredElement: _star,
}
