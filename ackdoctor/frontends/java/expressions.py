"""Expressions: literals, names, operators, assignments, patterns, and the conditions that become edges."""

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
    "FORKS",
    "PATTERNS",
    "PURE_VALUES",
    "VALUES",
    "bind",
    "equality",
    "match",
    "plain_fork",
    "update_statement",
]

# ---- literals ----

_ESCAPE = re.compile(r"\\(u+[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}|\r?\n|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t"}
_NULL, _TRUE, _FALSE = Literal(None), Literal(value=True), Literal(value=False)


def _constant(value: Expr) -> Callable[[Lowering, Node], Expr]:
    return lambda _fn, _node: value


def _string_value(text: str) -> str:
    """The value of a string, text block or character literal as written."""
    text = _text_block(text[3:-3]) if text.startswith('"""') else text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _text_block(text: str) -> str:
    """A text block without the line of its opening quotes and without the common indentation."""
    lines = text.partition("\n")[2].replace("\r\n", "\n").split("\n")
    closing = lines[-1]
    guard = "" if closing.strip() else "\0"  # the indentation of the closing quotes counts
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


def _string(fn: Lowering, node: Node) -> Expr:
    embedded = [part for part in node.named_children if part.type == "string_interpolation"]
    if embedded:
        return Mix("f", tuple(fn.value(part.named_children[0]) for part in embedded))
    return Literal(_string_value(fn.text(node)))


def _integer(fn: Lowering, node: Node) -> Expr:
    text = fn.text(node).replace("_", "").rstrip("lL")
    octal = text[:1] == "0" and text.isdecimal()
    try:
        return Literal(int(text, 8 if octal else 0))
    except ValueError:  # no number, or more digits than the interpreter converts
        return Mix("number", ())


def _float(fn: Lowering, node: Node) -> Expr:
    text = fn.text(node).replace("_", "")
    try:
        if text[:2] in ("0x", "0X"):
            return Literal(float.fromhex(text.rstrip("fFdD") if "p" in text.lower() else text))
        return Literal(float(text.rstrip("fFdD")))
    except (ValueError, OverflowError):
        return Mix("number", ())


def _template(fn: Lowering, node: Node) -> Expr:
    return fn.value(node.named_children[-1])


# ---- names ----

_DEEPEST = 60  # dots; longer chains are not names


def _name(fn: Lowering, node: Node) -> Expr:
    return fn.frame.resolve(fn.text(node))


def _this(fn: Lowering, _node: Node) -> Expr:
    owner = fn.frame.owner()
    this = "this" if owner is None else owner.this
    return fn.frame.this(this) or Global("this")


def _field_access(fn: Lowering, node: Node) -> Expr:
    """`a.b.c`: a field of a variable or of a type, or a type with its package."""
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
    if root.type == "field_access":
        return fn.frame.this() or Global("this")
    if root.type != "identifier":
        return fn.value(root)
    word = fn.text(root)
    if not words or fn.frame.is_variable(word):
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


# ---- operators ----

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_NULL_TESTS = {"==": "is", "!=": "is not"}
_JUNCTIONS = {"&&": "and", "||": "or"}
_LONGEST = 60  # different operators in a row; longer runs become one `Mix`


def _inner(fn: Lowering, node: Node) -> Expr:
    """The value in parentheses or behind a cast."""
    return fn.value(parts(node)[-1])


def _operator_run(node: Node) -> list[tuple[str, Node]]:
    """A run of binary operators: the first operand with '', then each operator with its right operand."""
    run: list[tuple[str, Node]] = []
    while node.type == "binary_expression":
        run.append((child(node, "operator").type, child(node, "right")))
        node = child(node, "left")
    run.append(("", node))
    run.reverse()
    return run


def _arithmetic(fn: Lowering, node: Node) -> Expr:
    """A run of the same operator becomes one flat `Mix`; a loop, since runs may be long."""
    run = _operator_run(node)
    if len(run) > _LONGEST:
        return _joined(run[-1][0], [fn.value(operand) for _, operand in run])
    previous, values = "", [fn.value(run[0][1])]
    for operator, operand in run[1:]:
        value = fn.value(operand)
        if operator != previous and len(values) > 1:
            values = [_joined(previous, values)]
        previous = operator
        if operator in _COMPARISONS:
            values = [equality(values[0], operator, value)]
        else:
            values.append(value)
    return values[0] if len(values) == 1 else _joined(previous, values)


def _joined(operator: str, values: list[Expr]) -> Expr:
    strings = [value.value for value in values if isinstance(value, Literal) and isinstance(value.value, str)]
    if operator == "+" and len(strings) == len(values):
        return Literal("".join(strings))
    return Mix(operator, tuple(values))


def equality(left: Expr, operator: str, right: Expr) -> Compare:
    """A comparison, with a constant on the right of `==` and `!=`: `"a".equals(key)` tests `key`."""
    if operator in _NULL_TESTS and _is_constant(left) and not _is_constant(right):
        left, right = right, left
    if operator in _NULL_TESTS and _NULL in (left, right):
        return Compare(right if left == _NULL else left, _NULL_TESTS[operator], _NULL)
    return Compare(left, operator, right)


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
    operator = child(node, "operator").type
    if operator == "!":
        return value.value if isinstance(value, Not) else Not(value)
    if operator == "-" and isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value)
    return Mix(operator, (value,))


def _array(fn: Lowering, node: Node) -> Expr:
    return Build("list", tuple(map(fn.value, parts(node))))


def _new_array(fn: Lowering, node: Node) -> Expr:
    elements = node.child_by_field_name("value")
    if elements is not None:
        return fn.value(elements)
    for size in node.children_by_field_name("dimensions"):
        if size.type == "dimensions_expr":
            fn.value(parts(size)[-1])
    return Build("list", ())


# ---- assignments ----


def bind(fn: Lowering, node: Node) -> Expr:
    """`target = value` or `target op= value`; returns its value."""
    operator = child(node, "operator").type
    target = child(node, "left")
    if operator != "=":
        place = fn.value(target)
        fn.builder.add(Update(place, operator[:-1], fn.value(child(node, "right"))), fn.span(node))
        return place
    value = fn.value(child(node, "right"))
    place = fn.value(target)
    fn.builder.add(Bind(place, value), fn.span(node))
    return value if isinstance(value, (Name, Literal, Global)) else place


def update_statement(fn: Lowering, node: Node) -> tuple[Expr, str, bool]:
    """`i++` without a use of its value: the target, the operator, and whether the operator comes first."""
    first, last = [each for each in node.children if each.type not in COMMENTS]
    prefix = not first.is_named
    operator, operand = (first, last) if prefix else (last, first)
    return fn.value(operand), operator.type[0], prefix


def _update(fn: Lowering, node: Node) -> Expr:
    place, operator, prefix = update_statement(fn, node)
    value = place if prefix else fn.builder.store(place, fn.span(node))
    fn.builder.add(Update(place, operator, Literal(1)), fn.span(node))
    return value


# ---- annotations: `@Override` is a name, `@Named("x")` a call ----


def _marker(fn: Lowering, node: Node) -> Expr:
    return type_of(dotted(fn.file.positions, child(node, "name")))


def _annotation(fn: Lowering, node: Node) -> Expr:
    args = [_argument(fn, each) for each in parts(child(node, "arguments"))]
    return Mix("call", (_marker(fn, node), *args))


def _argument(fn: Lowering, node: Node) -> Expr:
    if node.type != "element_value_pair":
        return fn.value(node)
    key = fn.text(child(node, "key"))
    return Mix(f"{key}=", (fn.value(child(node, "value")),))


# ---- patterns of `instanceof` and `case` ----

PATTERNS = frozenset({"pattern", "type_pattern", "record_pattern"})


def match(fn: Lowering, node: Node, subject: Expr) -> Ends:
    """Continue where the pattern matches, with its variables bound; return the edges where it does not."""
    if node.type == "pattern":
        return match(fn, parts(node)[0], subject)
    if node.type == "record_pattern":
        return _match_record(fn, node, subject)
    written, name = parts(node)[-2:]
    missed = _test_type(fn, fn.type_name(written), subject, node)
    _bind_variable(fn, name, fn.type_name(written), subject)
    return missed


def _match_record(fn: Lowering, node: Node, subject: Expr) -> Ends:
    written, body = parts(node)
    missed = _test_type(fn, fn.type_name(written), subject, node)
    for place, part in enumerate(parts(body)):
        value = Mix("match", (subject, Literal(place)))
        if part.type == "record_pattern":
            missed = missed + match(fn, part, value)
        elif part.type == "record_pattern_component":
            inner = parts(part)
            if len(inner) > 1:  # its type nearly always matches: no test
                _bind_variable(fn, inner[-1], fn.type_name(inner[0]), value)
    return missed


def _test_type(fn: Lowering, written: str, subject: Expr, node: Node) -> Ends:
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    fn.builder.resume(fork.true)
    return fork.false


def _bind_variable(fn: Lowering, name: Node, written: str, value: Expr) -> None:
    if name.type != "underscore_pattern":
        declared = None if written == "var" else written
        fn.builder.add(Bind(fn.frame.declare(fn.text(name), declared), value), fn.span(name))


# ---- conditions ----


def plain_fork(fn: Lowering, node: Node) -> Fork:
    """Test the value of an expression that has no branches of its own."""
    return fork_on(fn.builder, fn.value(node), fn.span(node))


def _parenthesized_fork(fn: Lowering, node: Node) -> Fork:
    return fn.fork(parts(node)[-1])


def _unary_fork(fn: Lowering, node: Node) -> Fork:
    if child(node, "operator").type != "!":
        return plain_fork(fn, node)
    return fn.fork(child(node, "operand")).swapped()


def _binary_fork(fn: Lowering, node: Node) -> Fork:
    operator = child(node, "operator").type
    if operator not in _JUNCTIONS:
        return plain_fork(fn, node)
    return junction_fork(fn, _JUNCTIONS[operator], _operands(node, operator))


def _operands(node: Node, operator: str) -> list[Node]:
    """The operands of a run of the same operator."""
    operands: list[Node] = []
    while node.type == "binary_expression" and child(node, "operator").type == operator:
        operands.append(child(node, "right"))
        node = child(node, "left")
    operands.append(node)
    operands.reverse()
    return operands


def _ternary_parts(node: Node) -> tuple[Node, Node, Node]:
    return child(node, "condition"), child(node, "consequence"), child(node, "alternative")


def _ternary_fork(fn: Lowering, node: Node) -> Fork:
    return conditional_fork(fn, *_ternary_parts(node))


def _instanceof_fork(fn: Lowering, node: Node) -> Fork:
    """`x instanceof T t` binds its variable on the true edge."""
    subject = fn.value(child(node, "left"))
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        if not isinstance(subject, Name):
            subject = fn.builder.store(subject, fn.span(child(node, "left")))
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


def _ternary(fn: Lowering, node: Node) -> Expr:
    return conditional_value(fn, *_ternary_parts(node))


def _binary(fn: Lowering, node: Node) -> Expr:
    operator = child(node, "operator").type
    if operator not in _JUNCTIONS:
        return _arithmetic(fn, node)
    result = fn.builder.temp()
    after: Ends = []
    operands = _operands(node, operator)
    for operand in operands[:-1]:
        fork = fn.fork(operand)
        undecided, decided = fork if operator == "&&" else fork.swapped()
        fn.builder.resume(decided)
        fn.builder.add(Bind(result, Literal(operator == "||")), fn.span(operand))
        after += fn.builder.take()
        fn.builder.resume(undecided)
    fn.builder.add(Bind(result, fn.value(operands[-1])), fn.span(operands[-1]))
    fn.builder.resume(after)
    return result


def _instanceof(fn: Lowering, node: Node) -> Expr:
    if node.child_by_field_name("name") or node.child_by_field_name("pattern"):
        return condition_value(fn, node)
    return _pure_instanceof(fn, node)


# ---- values without steps ----


def _pure_bind(fn: Lowering, node: Node) -> Expr:
    return fn.value(child(node, "right"))


def _pure_update(fn: Lowering, node: Node) -> Expr:
    place, operator, _ = update_statement(fn, node)
    return Mix(operator, (place, Literal(1)))


def _pure_ternary(fn: Lowering, node: Node) -> Expr:
    return Mix("if", tuple(map(fn.value, _ternary_parts(node))))


def _pure_binary(fn: Lowering, node: Node) -> Expr:
    operator = child(node, "operator").type
    if operator not in _JUNCTIONS:
        return _arithmetic(fn, node)
    return Mix(_JUNCTIONS[operator], tuple(map(fn.value, _operands(node, operator))))


def _pure_instanceof(fn: Lowering, node: Node) -> Expr:
    written = node.child_by_field_name("right")
    types = () if written is None else (type_of(fn.type_name(written)),)
    return IsType(fn.value(child(node, "left")), types)


FORKS = by_type(
    {
        "parenthesized_expression": _parenthesized_fork,
        "unary_expression": _unary_fork,
        "binary_expression": _binary_fork,
        "ternary_expression": _ternary_fork,
        "instanceof_expression": _instanceof_fork,
    }
)

_STEPLESS = by_type(
    {
        "null_literal": _constant(_NULL),
        "true": _constant(_TRUE),
        "false": _constant(_FALSE),
        "decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal": _integer,
        "decimal_floating_point_literal hex_floating_point_literal": _float,
        "string_literal character_literal": _string,
        "template_expression": _template,
        "identifier underscore_pattern": _name,
        "this super": _this,
        "field_access": _field_access,
        "array_access": _array_access,
        "class_literal": _class_literal,
        " ".join(TYPES): _type,
        "parenthesized_expression cast_expression": _inner,
        "unary_expression": _unary,
        "array_initializer element_value_array_initializer": _array,
        "array_creation_expression": _new_array,
    }
)

VALUES = {
    **_STEPLESS,
    "binary_expression": _binary,
    "instanceof_expression": _instanceof,
    "ternary_expression": _ternary,
    "assignment_expression": bind,
    "update_expression": _update,
}

PURE_VALUES = {
    **_STEPLESS,
    "binary_expression": _pure_binary,
    "instanceof_expression": _pure_instanceof,
    "ternary_expression": _pure_ternary,
    "assignment_expression": _pure_bind,
    "update_expression": _pure_update,
    "marker_annotation": _marker,
    "annotation": _annotation,
}
