"""Expressions: values, calls, and the conditions that become edges."""

import re
from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.lowering import (
    condition_value,
    conditional_fork,
    conditional_value,
    fork_on,
    junction_fork,
)
from ackdoctor.frontends.python.layout import OPERATORS
from ackdoctor.frontends.python.lowering import Forks, Lowering, Values
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Compare,
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

__all__ = ["FORKS", "PURE_VALUES", "VALUES", "call_statement", "plain_fork"]

# ---- literals ----

_CONSTANTS = {"True": Literal(value=True), "False": Literal(value=False), "None": Literal(value=None)}
_LITERAL = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(\r\n|[\r\n\\'\"abfnrtv]|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|U0010[0-9A-Fa-f]{4})"
)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _string_value(text: str) -> str | bytes:
    """The value of a string literal as written; named and invalid escapes stay unchanged."""
    if "\\" not in text and text[0] in "'\"":
        quotes = 3 if text.startswith(("'''", '"""')) else 1
        return text[quotes:-quotes]
    match = _LITERAL.fullmatch(text)
    if match is None:
        return text
    prefix, value = match[1].lower(), match[3]
    if "r" not in prefix and "\\" in value:
        value = _ESCAPE.sub(_unescape, value)
    return value.encode("utf-8", "surrogatepass") if "b" in prefix else value


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "\r\n":
        return ""
    if code[0] in "xuU":
        return chr(int(code[1:], 16))
    if code[0].isdigit():
        return chr(int(code, 8))
    return _LETTERS.get(code, code)


def _number_value(node: cst.Integer | cst.Float) -> int | float:
    text = node.value
    if isinstance(node, cst.Float):
        return float(text)
    return int(text) if text.isdecimal() and text[0] != "0" else int(text, 0)


def _number(_fn: Lowering, node: cst.Integer | cst.Float) -> Expr:
    try:
        return Literal(_number_value(node))
    except ValueError:  # more digits than the interpreter converts
        return Mix("number", ())


def _imaginary(_fn: Lowering, _node: cst.Imaginary) -> Expr:
    return Mix("number", ())


def _ellipsis(_fn: Lowering, _node: cst.Ellipsis) -> Expr:
    return Literal(...)


def _string(_fn: Lowering, node: cst.SimpleString) -> Expr:
    return Literal(_string_value(node.value))


def _concatenated(fn: Lowering, node: cst.ConcatenatedString) -> Expr:
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


# ---- names, members and operators ----


def _name(fn: Lowering, node: cst.Name) -> Expr:
    return _CONSTANTS.get(node.value) or fn.scope.resolve(node.value)


def _attribute(fn: Lowering, node: cst.Attribute) -> Expr:
    return Attr(fn.value(node.value), node.attr.value)


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
    """A run of the same operator becomes one flat `Mix`; a loop, since runs may be long."""
    chain: list[cst.BinaryOperation] = []
    left: cst.CSTNode = node
    while isinstance(left, cst.BinaryOperation):
        chain.append(left)
        left = left.left
    operator, parts = "", [fn.value(left)]
    for link in reversed(chain):
        link_operator = OPERATORS[type(link.operator)]
        if operator and link_operator != operator:
            parts = [Mix(operator, tuple(parts))]
        operator = link_operator
        parts.append(fn.value(link.right))
    return Mix(operator, tuple(parts))


def _unary(fn: Lowering, node: cst.UnaryOperation) -> Expr:
    value = fn.value(node.expression)
    kind = type(node.operator)
    if kind is cst.Not:
        return Not(value)
    if kind is cst.Minus and isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value)
    return Mix(OPERATORS[kind], (value,))


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

_MATERIALIZERS = frozenset({"list", "tuple", "set", "deque"})  # they exhaust a lazy iterator
_FUNCTION_AND_ITEMS = 2


def _call(fn: Lowering, node: cst.Call, *, awaited: bool = False, dropped: bool = False) -> Expr:
    func = fn.value(node.func)
    mapped = _map_loop(fn, node) if type(func) is Global and func.id in _MATERIALIZERS else None
    if mapped is not None:
        return mapped
    args = [
        Arg(fn.value(arg.value), arg.keyword.value if arg.keyword is not None else None, arg.star)
        for arg in node.args
    ]
    if type(func) is Global and func.id not in fn.file.module_names:
        pure = _pure_builtin(func.id, args)
        if pure is not None:
            return pure
    result = fn.builder.temp()
    fn.builder.add(Call(result, func, tuple(args), awaited, dropped), fn.span(node))
    return result


def call_statement(fn: Lowering, node: cst.Call) -> Expr:
    """A call whose result is dropped."""
    return _call(fn, node, dropped=True)


def _map_loop(fn: Lowering, node: cst.Call) -> Expr | None:
    """`list(map(self.ack, tups))` as a loop."""
    inner = node.args[0].value if node.args else None
    if not isinstance(inner, cst.Call) or len(inner.args) != _FUNCTION_AND_ITEMS:
        return None
    if any(arg.star for arg in inner.args):
        return None
    is_map = isinstance(inner.func, cst.Name) and fn.scope.resolve(inner.func.value) == Global("map")
    if not is_map or not fn.file.module_names.isdisjoint(("map", *_MATERIALIZERS - {"deque"})):
        return None
    function, items = (fn.value(arg.value) for arg in inner.args)
    result, element, span = fn.builder.temp(), fn.builder.temp(), fn.span(inner)
    fn.builder.add(Bind(result, Build("list", ())), span)

    def body() -> None:
        mapped = fn.builder.temp()
        fn.builder.add(Call(mapped, function, (Arg(element),)), span)
        fn.builder.add(Bind(result, Build("list", (mapped,))), span)

    fn.builder.loop_for(span, element, items, body)
    return result


def _pure_builtin(name: str, args: list[Arg]) -> Expr | None:
    """Calls of built-in functions that only inspect their argument."""
    if any(arg.name or arg.star for arg in args):
        return None
    match name, [arg.value for arg in args]:
        case "len" | "bool" | "type" | "id", [value]:
            return Mix(name, (value,))
        case "isinstance", [value, Build(_, types)]:
            return IsType(value, types)
        case "isinstance", [value, kind]:
            return IsType(value, (kind,))
    return None


def _await(fn: Lowering, node: cst.Await) -> Expr:
    inner = node.expression
    if isinstance(inner, cst.Call):
        return _call(fn, inner, awaited=True)
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


# ---- conditions ----


def plain_fork(fn: Lowering, node: cst.CSTNode) -> Fork:
    """Test the value of an expression that has no branches of its own."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _not_fork(fn: Lowering, node: cst.UnaryOperation) -> Fork:
    if type(node.operator) is not cst.Not:
        return plain_fork(fn, node)
    return fn.fork(node.expression).swapped()


def _boolean_fork(fn: Lowering, node: cst.BooleanOperation) -> Fork:
    operands, operator = _operands(node)
    return junction_fork(fn, operator, operands)


def _operands(node: cst.BooleanOperation) -> tuple[list[cst.BaseExpression], str]:
    """The operands of a run of the same operator, and the operator."""
    kind = type(node.operator)
    operands: list[cst.BaseExpression] = []
    left: cst.BaseExpression = node
    while isinstance(left, cst.BooleanOperation) and type(left.operator) is kind:
        operands.append(left.right)
        left = left.left
    operands.append(left)
    operands.reverse()
    return operands, "and" if kind is cst.And else "or"


def _comparison_fork(fn: Lowering, node: cst.Comparison) -> Fork:
    left = fn.value(node.left)
    start: cst.CSTNode = node
    failed: Ends = []
    for place, target in enumerate(node.comparisons, 1):
        right = fn.value(target.comparator)
        span = fn.file.positions.through(start, target.comparator)
        fork = fn.builder.test(Compare(left, OPERATORS[type(target.operator)], right), span)
        if place == len(node.comparisons):
            return Fork(fork.true, fork.false + failed)
        failed += fork.false
        fn.builder.resume(fork.true)
        left, start = right, target.comparator
    raise AssertionError("a comparison has at least one target")


def _ternary_fork(fn: Lowering, node: cst.IfExp) -> Fork:
    return conditional_fork(fn, node.test, node.body, node.orelse)


def _ternary(fn: Lowering, node: cst.IfExp) -> Expr:
    return conditional_value(fn, node.test, node.body, node.orelse)


def _boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    operands, operator = _operands(node)
    result = fn.builder.temp()
    after: Ends = []
    for operand in operands[:-1]:
        span = fn.span(operand)
        value = fn.value(operand)
        fork = fork_on(fn.builder, value, span)
        undecided, decided = fork if operator == "and" else fork.swapped()
        fn.builder.resume(decided)
        fn.builder.add(Bind(result, value), span)
        after += fn.builder.take()
        fn.builder.resume(undecided)
    fn.builder.add(Bind(result, fn.value(operands[-1])), fn.span(operands[-1]))
    fn.builder.resume(after)
    return result


def _comparison(fn: Lowering, node: cst.Comparison) -> Expr:
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        left = fn.value(node.left)
        return Compare(left, OPERATORS[type(target.operator)], fn.value(target.comparator))
    return condition_value(fn, node)


# ---- values without steps ----


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
        pure = _pure_builtin(func.id, [Arg(part) for part in parts[1:]])
        if pure is not None:
            return pure
    return Mix("call", tuple(parts))


def _pure_await(fn: Lowering, node: cst.Await) -> Expr:
    return Mix("await", (fn.value(node.expression),))


def _pure_yield(_fn: Lowering, _node: cst.Yield) -> Expr:
    return Mix("yield", ())


def _pure_walrus(fn: Lowering, node: cst.NamedExpr) -> Expr:
    return fn.value(node.value)


def _pure_ternary(fn: Lowering, node: cst.IfExp) -> Expr:
    return Mix("if", (fn.value(node.test), fn.value(node.body), fn.value(node.orelse)))


def _pure_boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    operands, operator = _operands(node)
    return Mix(operator, tuple(map(fn.value, operands)))


def _pure_comparison(fn: Lowering, node: cst.Comparison) -> Expr:
    links: list[Expr] = []
    left = fn.value(node.left)
    for target in node.comparisons:
        right = fn.value(target.comparator)
        links.append(Compare(left, OPERATORS[type(target.operator)], right))
        left = right
    return links[0] if len(links) == 1 else Mix("and", tuple(links))


FORKS: Forks = {
    cst.UnaryOperation: _not_fork,
    cst.BooleanOperation: _boolean_fork,
    cst.Comparison: _comparison_fork,
    cst.IfExp: _ternary_fork,
}

_STEPLESS: Values = {
    cst.Name: _name,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _imaginary,
    cst.Ellipsis: _ellipsis,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _concatenated,
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

VALUES: Values = {
    **_STEPLESS,
    cst.Call: _call,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.NamedExpr: _walrus,
    cst.IfExp: _ternary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
}

PURE_VALUES: Values = {
    **_STEPLESS,
    cst.Call: _pure_call,
    cst.Await: _pure_await,
    cst.Yield: _pure_yield,
    cst.NamedExpr: _pure_walrus,
    cst.IfExp: _pure_ternary,
    cst.BooleanOperation: _pure_boolean,
    cst.Comparison: _pure_comparison,
}
