"""Expressions: names, values, assignments, patterns, and the conditions that become edges."""

import re
import textwrap
from collections.abc import Callable

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.java.grammar import COMMENTS, Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.scope import TYPES, dotted, is_constant, looks_like_type, type_of
from ackdoctor.frontends.lowering import (
    condition_value,
    conditional_fork,
    conditional_value,
    fork_on,
    junction_fork,
)
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Compare,
    Expr,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
    Update,
)

__all__ = [
    "ANNOTATIONS",
    "FORKS",
    "NAMES",
    "PATTERNS",
    "PURE_ASSIGNMENTS",
    "PURE_BRANCHES",
    "VALUES",
    "VALUE_BRANCHES",
    "binary",
    "bind",
    "compared",
    "float_of",
    "integer_of",
    "match",
    "plain_fork",
    "string_of",
    "update_statement",
]


_ESCAPE = re.compile(r"\\(u+[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}|\r?\n|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t"}


def string_of(text: str) -> str:
    """The value of a string, text block or character literal as written."""
    text = _block(text[3:-3]) if text.startswith('"""') else text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _block(text: str) -> str:
    """A text block without the line of its opening quotes and without the indentation all its lines share."""
    lines = text.partition("\n")[2].replace("\r\n", "\n").split("\n")
    closing = lines[-1]
    guard = "" if closing.strip() else "\0"  # the closing quotes' own indentation counts
    shared = textwrap.dedent("\n".join([*lines[:-1], closing + guard]))
    stripped = "\n".join(line.rstrip() for line in shared.split("\n"))
    return stripped.removesuffix("\0")


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "u":
        return chr(int(code.lstrip("u"), 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return "" if code[-1] == "\n" else _LETTERS.get(code, code)


def integer_of(text: str) -> int:
    """The value of an integer literal."""
    text = text.replace("_", "").rstrip("lL")
    if text[0] == "0" and text.isdecimal():
        return int(text, 8)
    return int(text, 0)


def float_of(text: str) -> float:
    """The value of a floating-point literal."""
    text = text.replace("_", "")
    if text[:2] in ("0x", "0X"):
        return float.fromhex(text.rstrip("fFdD") if "p" in text.lower() else text)
    return float(text.rstrip("fFdD"))


_DEEPEST = 60  # dots; more are no name that anyone wrote


def _name(fn: Lowering, node: Node) -> Expr:
    return fn.frame.resolve(fn.text(node))


def _this(fn: Lowering, _node: Node) -> Expr:
    owner = fn.frame.owner()
    own = "this" if owner is None else owner.own
    return fn.frame.this(own) or Global("this")


def _super(fn: Lowering, node: Node) -> Expr:
    return _this(fn, node)


def _field_access(fn: Lowering, node: Node) -> Expr:
    """`a.b.c`: of a variable, of a type, or of a type that is written with its package."""
    words: list[str] = []
    root = node
    while root.type == "field_access":
        last = child(root, "field")
        if last.type == "this":  # Outer.this
            break
        words.append(fn.text(last))
        root = child(root, "object")
    words.reverse()
    found = _root(fn, root, words)
    for word in words[-_DEEPEST:]:
        found = Attr(found, word)
    return found


def _root(fn: Lowering, root: Node, words: list[str]) -> Expr:
    kind = root.type
    if kind == "field_access":
        return fn.frame.this() or Global("this")
    if kind != "identifier":
        return fn.value(root)
    word = fn.text(root)
    if not words or fn.frame.known(word):
        return fn.frame.resolve(word)
    if is_constant(word):
        return Global(word) if is_constant(words[0]) else fn.frame.resolve(word)
    in_package = word.islower() and any(map(looks_like_type, words))
    return Global(word) if in_package else fn.frame.resolve(word)


def _array_access(fn: Lowering, node: Node) -> Expr:
    obj = fn.value(child(node, "array"))
    return Item(obj, fn.value(child(node, "index")))


def _type(fn: Lowering, node: Node) -> Expr:
    return type_of(fn.type_name(node))


def _class_literal(fn: Lowering, node: Node) -> Expr:
    return Attr(type_of(fn.type_name(node.named_children[0])), "class")


NAMES: dict[str, Callable[[Lowering, Node], Expr]] = {
    **by_type(
        {
            "identifier underscore_pattern": _name,
            "this": _this,
            "super": _super,
            "field_access": _field_access,
            "array_access": _array_access,
            "class_literal": _class_literal,
        }
    ),
    **dict.fromkeys(TYPES, _type),
}


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


def _operator_run(node: Node) -> list[tuple[str, Node]]:
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
    run = _operator_run(node)
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
        "array_initializer element_value_array_initializer": _array,
        "array_creation_expression": _new_array,
        "assignment_expression": bind,
        "update_expression": _update,
    }
)

PURE_ASSIGNMENTS: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"assignment_expression": _pure_bind, "update_expression": _pure_update}
)


def _marker(fn: Lowering, node: Node) -> Expr:
    return type_of(dotted(fn.file.positions, child(node, "name")))


def _annotation(fn: Lowering, node: Node) -> Expr:
    args = [_argument(fn, each) for each in parts(child(node, "arguments"))]
    return Mix("call", (_marker(fn, node), *args))


def _argument(fn: Lowering, node: Node) -> Expr:
    if node.type != "element_value_pair":
        return fn.value(node)
    return Mix(f"{fn.text(child(node, 'key'))}=", (fn.value(child(node, "value")),))


ANNOTATIONS: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"marker_annotation": _marker, "annotation": _annotation}
)


PATTERNS = frozenset({"pattern", "type_pattern", "record_pattern"})


def match(fn: Lowering, node: Node, subject: Expr) -> Ends:
    """Goes on where the pattern fits; returns the ends where it does not."""
    kind = node.type
    if kind == "pattern":
        return match(fn, parts(node)[0], subject)
    if kind == "record_pattern":
        return _record(fn, node, subject)
    written, name = parts(node)[-2:]
    missed = _ask(fn, fn.type_name(written), subject, node)
    _bind(fn, name, fn.type_name(written), subject)
    return missed


def _record(fn: Lowering, node: Node, subject: Expr) -> Ends:
    written, body = parts(node)
    missed = _ask(fn, fn.type_name(written), subject, node)
    for place, part in enumerate(parts(body)):
        value = Mix("match", (subject, Literal(place)))
        if part.type == "record_pattern":
            missed = missed + match(fn, part, value)
        elif part.type == "record_pattern_component":
            _component(fn, part, value)
    return missed


def _component(fn: Lowering, node: Node, value: Expr) -> None:
    """A component's own type is taken to fit: it nearly always is the declared one."""
    inner = parts(node)
    if len(inner) > 1:
        _bind(fn, inner[-1], fn.type_name(inner[0]), value)


def _ask(fn: Lowering, written: str, subject: Expr, node: Node) -> Ends:
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    fn.builder.resume(fork.true)
    return fork.false


def _bind(fn: Lowering, name: Node, written: str, value: Expr) -> None:
    if name.type != "underscore_pattern":
        declared = None if written == "var" else written
        fn.builder.add(Bind(fn.frame.declare(fn.text(name), declared), value), fn.span(name))


_WORDS = {"&&": "and", "||": "or"}


def plain_fork(fn: Lowering, node: Node) -> Fork:
    """A condition with nothing to unfold; a constant has one way on."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _bracket_fork(fn: Lowering, node: Node) -> Fork:
    return fn.fork(parts(node)[-1])


def _unary_fork(fn: Lowering, node: Node) -> Fork:
    if child(node, "operator").type != "!":
        return plain_fork(fn, node)
    return fn.fork(child(node, "operand")).swapped()


def _binary_fork(fn: Lowering, node: Node) -> Fork:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return plain_fork(fn, node)
    return junction_fork(fn, _WORDS[sign], _operands(node, sign))


def _operands(node: Node, sign: str) -> list[Node]:
    """The operands of a run of the same operator."""
    operands: list[Node] = []
    while node.type == "binary_expression" and child(node, "operator").type == sign:
        operands.append(child(node, "right"))
        node = child(node, "left")
    operands.append(node)
    operands.reverse()
    return operands


def _ternary_fork(fn: Lowering, node: Node) -> Fork:
    return conditional_fork(
        fn, child(node, "condition"), child(node, "consequence"), child(node, "alternative")
    )


def _instanceof_fork(fn: Lowering, node: Node) -> Fork:
    """`x instanceof T t` binds its variable where it is true."""
    subject = fn.value(child(node, "left"))
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        if not isinstance(subject, Name):
            subject = fn.store(subject, fn.span(child(node, "left")))
        missed = match(fn, pattern, subject)
        return Fork(fn.builder.take(), missed)
    written = fn.type_name(child(node, "right"))
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    name = node.child_by_field_name("name")
    if name is None:
        return fork
    fn.builder.resume(fork.true)
    fn.builder.add(Bind(fn.frame.declare(fn.text(name), written), subject), fn.span(name))
    return Fork(fn.builder.take(), fork.false)


# ---- as values ----


def _ternary(fn: Lowering, node: Node) -> Expr:
    return conditional_value(
        fn, child(node, "condition"), child(node, "consequence"), child(node, "alternative")
    )


def _binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return binary(fn, node)
    result = fn.builder.temp()
    after: Ends = []
    operands = _operands(node, sign)
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        go_on, stop = fork if sign == "&&" else fork.swapped()
        fn.builder.resume(stop)
        fn.builder.add(Bind(result, Literal(sign == "||")), fn.span(operand))
        after += fn.builder.take()
        fn.builder.resume(go_on)
    fn.builder.add(Bind(result, fn.value(operands[-1])), fn.span(operands[-1]))
    fn.builder.resume(after)
    return result


def _instanceof(fn: Lowering, node: Node) -> Expr:
    if node.child_by_field_name("name") is not None or node.child_by_field_name("pattern") is not None:
        return condition_value(fn, node)
    return IsType(fn.value(child(node, "left")), (type_of(fn.type_name(child(node, "right"))),))


# ---- where no step may be made ----


def _pure_ternary(fn: Lowering, node: Node) -> Expr:
    return Mix(
        "if", tuple(fn.value(child(node, each)) for each in ("condition", "consequence", "alternative"))
    )


def _pure_binary(fn: Lowering, node: Node) -> Expr:
    sign = child(node, "operator").type
    if sign not in _WORDS:
        return binary(fn, node)
    return Mix(_WORDS[sign], tuple(map(fn.value, _operands(node, sign))))


def _pure_instanceof(fn: Lowering, node: Node) -> Expr:
    written = node.child_by_field_name("right")
    types = () if written is None else (type_of(fn.type_name(written)),)
    return IsType(fn.value(child(node, "left")), types)


FORKS: dict[str, Callable[[Lowering, Node], Fork]] = by_type(
    {
        "parenthesized_expression": _bracket_fork,
        "unary_expression": _unary_fork,
        "binary_expression": _binary_fork,
        "ternary_expression": _ternary_fork,
        "instanceof_expression": _instanceof_fork,
    }
)

VALUE_BRANCHES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {"ternary_expression": _ternary, "binary_expression": _binary, "instanceof_expression": _instanceof}
)

PURE_BRANCHES: dict[str, Callable[[Lowering, Node], Expr]] = by_type(
    {
        "ternary_expression": _pure_ternary,
        "binary_expression": _pure_binary,
        "instanceof_expression": _pure_instanceof,
    }
)
