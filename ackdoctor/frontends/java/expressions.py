"""Expressions: literals, names, operators, assignments, patterns, calls, and the conditions that become edges."""

import re
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends import TOO_DEEP
from ackdoctor.frontends.java.lowering import TABLES, TYPES, Lowering, dotted, looks_like_type, type_of
from ackdoctor.frontends.java.syntax import COMMENTS, Node, by_type, child, parts
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
    Name,
    Not,
    Update,
)
from ackdoctor.model.source import Span

# ---- literals ----

_ESCAPE = re.compile(r"\\(u+[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}|\r?\n|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t"}
_NULL = Literal(None)


def _string(fn: Lowering, node: Node) -> Expr:
    """A string, text block or character literal."""
    embedded = [part for part in node.named_children if part.type == "string_interpolation"]
    if embedded:
        return Mix("f", tuple(fn.value(part.named_children[0]) for part in embedded))
    text = fn.text(node)
    text = _text_block(text[3:-3]) if text.startswith('"""') else text[1:-1]
    return Literal(_ESCAPE.sub(_unescape, text))


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


def _number(fn: Lowering, node: Node) -> Expr:
    text = fn.text(node).replace("_", "").lower()
    try:
        if "floating" in node.type:
            number = float.fromhex if text.startswith("0x") else float
            return Literal(number(text.rstrip("fd")))
        text = text.rstrip("l")
        octal = text[:1] == "0" and text.isdecimal()
        return Literal(int(text, 8 if octal else 0))
    except (ValueError, OverflowError):  # no number, or more digits than the interpreter converts
        return Mix("number", ())


# ---- names ----

_DEEPEST = 60  # dots; longer chains are not names


def _this(fn: Lowering, _node: Node) -> Expr:
    owner = fn.frame.owner()
    return fn.frame.this("this" if owner is None else owner.this) or Global("this")


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
    if found == Global("Boolean") and words in (["TRUE"], ["FALSE"]):
        return Literal(words == ["TRUE"])
    for word in words[-_DEEPEST:]:
        found = Attr(found, word)
    return found


def _root(fn: Lowering, root: Node, words: list[str]) -> Expr:
    if root.type == "field_access":
        return fn.frame.this() or Global("this")
    if root.type != "identifier":
        return fn.value(root)
    word = fn.text(root)
    if words and not fn.frame.is_variable(word):
        if word.isupper() and words[0].isupper():
            return Global(word)
        if word.islower() and any(map(looks_like_type, words)):  # a package
            return Global(word)
    return fn.frame.resolve(word)


# ---- operators ----

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_NULL_TESTS = {"==": "is", "!=": "is not"}
_JUNCTIONS = {"&&": "and", "||": "or"}
_LONGEST = 60  # different operators in a row; longer runs become one `Mix`


def _arithmetic(fn: Lowering, node: Node) -> Expr:
    """A run of the same operator becomes one flat `Mix`; a loop, since runs may be long."""
    run: list[tuple[str, Node]] = []  # each operator with its right operand
    while node.type == "binary_expression":
        run.append((child(node, "operator").type, child(node, "right")))
        node = child(node, "left")
    run.reverse()
    values = [fn.value(node)]
    if len(run) >= _LONGEST:
        return _joined(run[-1][0], [*values, *(fn.value(operand) for _, operand in run)])
    previous = ""
    for operator, operand in run:
        value = fn.value(operand)
        if operator != previous and len(values) > 1:
            values = [_joined(previous, values)]
        previous = operator
        if operator in _COMPARISONS:
            values = [_compare(values[0], operator, value)]
        else:
            values.append(value)
    return values[0] if len(values) == 1 else _joined(previous, values)


def _joined(operator: str, values: list[Expr]) -> Expr:
    strings = [value.value for value in values if isinstance(value, Literal) and isinstance(value.value, str)]
    if operator == "+" and len(strings) == len(values):
        return Literal("".join(strings))
    return Mix(operator, tuple(values))


def _compare(left: Expr, operator: str, right: Expr) -> Compare:
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
            return word.isupper()
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


def _new_array(fn: Lowering, node: Node) -> Expr:
    elements = node.child_by_field_name("value")
    if elements is not None:
        return fn.value(elements)
    for size in node.children_by_field_name("dimensions"):
        if size.type == "dimensions_expr":
            fn.value(parts(size)[-1])
    return Build("list", ())


# ---- assignments ----


def _assign(fn: Lowering, node: Node) -> Expr:
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


def _update(fn: Lowering, node: Node, *, dropped: bool = False) -> Expr:
    """`i++`, whose value the code may drop."""
    place, operator, prefix = _update_parts(fn, node)
    value = place if prefix or dropped else fn.builder.store(place, fn.span(node))
    fn.builder.add(Update(place, operator, Literal(1)), fn.span(node))
    return value


def _update_parts(fn: Lowering, node: Node) -> tuple[Expr, str, bool]:
    """The target of `i++`, the operator, and whether the operator comes first."""
    first, last = [each for each in node.children if each.type not in COMMENTS]
    prefix = not first.is_named
    operator, operand = (first, last) if prefix else (last, first)
    return fn.value(operand), operator.type[0], prefix


def expression_statement(fn: Lowering, node: Node) -> None:
    """An expression whose value is dropped."""
    lower = _DROPPED.get(node.type)
    if lower is not None:
        lower(fn, node)
        return
    value = fn.value(node)
    if not isinstance(value, Literal):
        fn.stored(value, node)


# ---- annotations: `@Override` is a name, `@Named("x")` a call ----


def _annotation(fn: Lowering, node: Node) -> Expr:
    name = type_of(dotted(fn.file.positions, child(node, "name")))
    if node.type == "marker_annotation":
        return name
    args: list[Expr] = []
    for each in parts(child(node, "arguments")):
        if each.type == "element_value_pair":
            args.append(Mix(f"{fn.name(each, 'key')}=", (fn.value(child(each, "value")),)))
        else:
            args.append(fn.value(each))
    return Mix("call", (name, *args))


# ---- patterns of `instanceof` and `case` ----

PATTERNS = frozenset({"pattern", "type_pattern", "record_pattern"})


def match(fn: Lowering, node: Node, subject: Expr) -> Ends:
    """Continue where the pattern matches, with its variables bound; return the edges where it does not."""
    if node.type == "pattern":
        return match(fn, parts(node)[0], subject)
    written, last = parts(node)[-2:]
    type_ = fn.type_name(written)
    missed = fn.expect(IsType(subject, (type_of(type_),)), node)
    if node.type != "record_pattern":
        _bind_variable(fn, last, type_, subject)
        return missed
    for place, part in enumerate(parts(last)):
        value = Mix("match", (subject, Literal(place)))
        if part.type == "record_pattern":
            missed = missed + match(fn, part, value)
        elif part.type == "record_pattern_component":
            inner = parts(part)
            if len(inner) > 1:  # its type nearly always matches: no test
                _bind_variable(fn, inner[-1], fn.type_name(inner[0]), value)
    return missed


def _bind_variable(fn: Lowering, name: Node, written: str, value: Expr) -> None:
    if name.type != "underscore_pattern":
        fn.builder.add(Bind(fn.frame.declare(fn.text(name), written), value), fn.span(name))


# ---- conditions ----


def _unary_fork(fn: Lowering, node: Node) -> Fork:
    if child(node, "operator").type != "!":
        return fn.plain_fork(node)
    return fn.fork(child(node, "operand")).swapped()


def _operands(node: Node) -> tuple[str, list[Node]]:
    """`and` or `or` with the operands of a run of it; '' for other operators."""
    operator = child(node, "operator").type
    operands: list[Node] = []
    while node.type == "binary_expression" and child(node, "operator").type == operator:
        operands.append(child(node, "right"))
        node = child(node, "left")
    return _JUNCTIONS.get(operator, ""), [node, *reversed(operands)]


def _binary_fork(fn: Lowering, node: Node) -> Fork:
    operator, operands = _operands(node)
    return fn.junction_fork(operator, operands) if operator else fn.plain_fork(node)


def _ternary_parts(node: Node) -> tuple[Node, Node, Node]:
    return child(node, "condition"), child(node, "consequence"), child(node, "alternative")


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
    missed = fn.expect(IsType(subject, (type_of(written),)), node)
    name = node.child_by_field_name("name")
    if name is not None:
        _bind_variable(fn, name, written, subject)
    return Fork(fn.builder.take(), missed)


def _binary(fn: Lowering, node: Node) -> Expr:
    operator, operands = _operands(node)
    if not operator:
        return _arithmetic(fn, node)
    decided = Literal(operator == "or")
    return fn.junction_value(operator, operands, lambda operand: (fn.fork(operand), decided))


def _pure_binary(fn: Lowering, node: Node) -> Expr:
    operator, operands = _operands(node)
    return Mix(operator, tuple(map(fn.value, operands))) if operator else _arithmetic(fn, node)


def _instanceof(fn: Lowering, node: Node) -> Expr:
    if node.child_by_field_name("name") or node.child_by_field_name("pattern"):
        return fn.condition_value(node)
    return _pure_instanceof(fn, node)


def _pure_instanceof(fn: Lowering, node: Node) -> Expr:
    written = node.child_by_field_name("right")
    types = () if written is None else (type_of(fn.type_name(written)),)
    return IsType(fn.value(child(node, "left")), types)


def _pure_update(fn: Lowering, node: Node) -> Expr:
    place, operator, _ = _update_parts(fn, node)
    return Mix(operator, (place, Literal(1)))


# ---- calls ----

_USUAL_PARTS = 3  # receiver, name and arguments
_MOST_CALLS = 5000  # in a row; each one is the receiver of the next
_FOR_EACH = frozenset({"forEach", "forEachOrdered", "forEachRemaining"})
_OF_NULL = {"isNull": "==", "nonNull": "!="}  # methods of Objects
_IF_PRESENT = {"ifPresent": 1, "ifPresentOrElse": 2}  # methods of Optional, with their number of callbacks


def arguments_of(fn: Lowering, node: Node) -> tuple[Arg, ...]:
    """The arguments of a call, evaluated."""
    return tuple([Arg(fn.value(each)) for each in parts(child(node, "arguments"))])


def _call(fn: Lowering, node: Node, *, dropped: bool = False) -> Expr:
    """A call, after the calls that it is chained to; a loop, since chains may be long."""
    chain = [node]
    while (receiver := chain[-1].child_by_field_name("object")) and receiver.type == "method_invocation":
        chain.append(receiver)
        if len(chain) > _MOST_CALLS:
            raise RecursionError(TOO_DEEP)
    obj = None if receiver is None else _receiver(fn, chain[-1], receiver)
    for link in reversed(chain):
        name = fn.name(link)
        last = dropped and link is node
        if obj is None:
            func = fn.frame.method(name)
        else:
            same = _equality(fn, obj, name, link)
            if same is not None:
                obj = same
                continue
            if last and (_for_each(fn, node, obj, name) or _if_present(fn, node, obj, name)):
                return obj
            func = Attr(obj, name)
        args = arguments_of(fn, link)
        result = fn.builder.temp()
        line = child(link, "name").start_point.row + 1
        fn.builder.add(Call(result, func, args, dropped=last, line=line), fn.span(link))
        obj = result
    assert obj is not None
    return obj


def _receiver(fn: Lowering, node: Node, receiver: Node) -> Expr:
    """The receiver of a call; `super` and `Outer.super` become calls of `super()`."""
    qualifiers = node.named_children[1:] if node.named_child_count > _USUAL_PARTS else ()
    if receiver.type == "super" or any(part.type == "super" for part in qualifiers):
        return _super(fn, receiver)
    return fn.value(receiver)


def _super(fn: Lowering, node: Node) -> Name:
    result = fn.builder.temp()
    fn.builder.add(Call(result, Global("super"), ()), fn.span(node))
    return result


def _equality(fn: Lowering, obj: Expr, name: str, node: Node) -> Expr | None:
    """`a.equals(b)`, `Objects.equals(a, b)` and `Objects.isNull(a)` as comparisons."""
    if name not in ("equals", "equalsIgnoreCase", *_OF_NULL):
        return None
    operands = parts(child(node, "arguments"))
    if name in _OF_NULL:
        is_test = len(operands) == 1 and obj == Global("Objects")
        return _compare(fn.value(operands[0]), _OF_NULL[name], _NULL) if is_test else None
    if len(operands) == 2 and obj == Global("Objects"):  # noqa: PLR2004
        obj = fn.value(operands.pop(0))
    return _compare(obj, "==", fn.value(operands[0])) if len(operands) == 1 else None


def _for_each(fn: Lowering, node: Node, iterable: Expr, name: str) -> bool:
    """Lower `items.forEach(item -> ...)` as a loop; a map's `forEach`, whose callback has two parameters, stays a call."""
    callbacks = parts(child(node, "arguments"))
    if name not in _FOR_EACH or len(callbacks) != 1 or not _takes_one(callbacks[0]):
        return False
    element = fn.builder.temp()
    function = fn.value(callbacks[0])

    def body() -> None:
        call = Call(fn.builder.temp(), function, (Arg(element),), dropped=True)
        fn.builder.add(call, fn.span(callbacks[0]))

    fn.builder.loop_for(fn.through(node, child(node, "name")), element, iterable, body)
    return True


def _takes_one(callback: Node) -> bool:
    """Whether a callback is a method reference, or a lambda with one parameter."""
    if callback.type != "lambda_expression":
        return callback.type == "method_reference"
    written = child(callback, "parameters")
    return written.type not in ("formal_parameters", "inferred_parameters") or len(parts(written)) == 1


def _if_present(fn: Lowering, node: Node, optional: Expr, name: str) -> bool:
    """Lower `answer.ifPresent(text -> ...)` as a branch."""
    callbacks = parts(child(node, "arguments"))
    if _IF_PRESENT.get(name) != len(callbacks):
        return False
    first, *second = [(fn.value(each), fn.span(each)) for each in callbacks]
    head = fn.through(node, child(node, "name"))
    present = fn.builder.temp()
    fn.builder.add(Call(present, Attr(optional, "isPresent"), ()), head, no_raise=True)

    def run(functions: list[tuple[Expr, Span]], args: tuple[Arg, ...]) -> None:
        for function, span in functions:
            fn.builder.add(Call(fn.builder.temp(), function, args, dropped=True), span)

    some = partial(run, [first], (Arg(Item(optional, Literal(0))),))
    fn.builder.branch(fn.builder.test(present, head), some, partial(run, second, ()))
    return True


# ---- constructors and method references ----


def _new(fn: Lowering, node: Node, *, dropped: bool = False) -> Expr:
    last = node.named_children[-1]
    if last.type == "class_body":
        return fn.values[last.type](fn, node)
    first = parts(node)[0]
    created = fn.type_name(child(node, "type"))
    if first.start_byte == node.start_byte:  # outer.new Inner()
        fn.value(first)
    args = arguments_of(fn, node)
    captured = [Arg(Name(word), name=word) for word in sorted(fn.frame.class_captures(created))]
    result = fn.builder.temp()
    fn.builder.add(Call(result, type_of(created), (*args, *captured), dropped=dropped), fn.span(node))
    return result


def constructor_call(fn: Lowering, node: Node) -> None:
    """`super(...)` or `this(...)` at the start of a constructor."""
    constructor = child(node, "constructor")
    obj = _super(fn, constructor) if constructor.type == "super" else fn.frame.this() or Global("this")
    args = arguments_of(fn, node)
    call = Call(fn.builder.temp(), Attr(obj, "<init>"), args, dropped=True)
    fn.builder.add(call, fn.through(node, child(node, "arguments")))


def _reference(fn: Lowering, node: Node) -> Expr:
    named = [part for part in node.children if part.type not in COMMENTS]
    first, last = named[0], named[-1]
    if last.type == "new":
        return Mix("new", ()) if first.type == "array_type" else type_of(fn.type_name(first))
    obj = _receiver(fn, node, first) if first.type == "super" else fn.value(first)
    return Attr(obj, fn.text(last))


def _pure_call(fn: Lowering, node: Node) -> Expr:
    if node.type == "object_creation_expression":
        func = type_of(fn.type_name(child(node, "type")))
    else:
        receiver = node.child_by_field_name("object")
        func = fn.frame.method(fn.name(node)) if receiver is None else Attr(fn.value(receiver), fn.name(node))
    return Mix("call", (func, *map(fn.value, parts(child(node, "arguments")))))


# ---- tables ----

_Values: TypeAlias = Mapping[str, Callable[[Lowering, Node], Expr]]
_STEPLESS: _Values = by_type(
    {
        "null_literal": lambda _fn, _node: _NULL,
        "true false": lambda _fn, node: Literal(node.type == "true"),
        "decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal": _number,
        "decimal_floating_point_literal hex_floating_point_literal": _number,
        "string_literal character_literal": _string,
        "template_expression": lambda fn, node: fn.value(node.named_children[-1]),
        "identifier underscore_pattern": lambda fn, node: fn.frame.resolve(fn.text(node)),
        "this super": _this,
        "field_access": _field_access,
        "array_access": lambda fn, node: Item(fn.value(child(node, "array")), fn.value(child(node, "index"))),
        "class_literal": lambda fn, node: Attr(type_of(fn.type_name(node.named_children[0])), "class"),
        TYPES: lambda fn, node: type_of(fn.type_name(node)),
        "parenthesized_expression cast_expression": lambda fn, node: fn.value(parts(node)[-1]),
        "unary_expression": _unary,
        "array_initializer element_value_array_initializer": lambda fn, node: Build(
            "list", tuple(map(fn.value, parts(node)))
        ),
        "array_creation_expression": _new_array,
    }
)
_VALUES: _Values = {
    **_STEPLESS,
    "binary_expression": _binary,
    "instanceof_expression": _instanceof,
    "ternary_expression": lambda fn, node: fn.conditional_value(*_ternary_parts(node)),
    "assignment_expression": _assign,
    "update_expression": _update,
    "method_invocation": _call,
    "object_creation_expression": _new,
    "method_reference": _reference,
}
_PURE: _Values = {
    **_STEPLESS,
    "binary_expression": _pure_binary,
    "instanceof_expression": _pure_instanceof,
    "ternary_expression": lambda fn, node: Mix("if", tuple(map(fn.value, _ternary_parts(node)))),
    "assignment_expression": lambda fn, node: fn.value(child(node, "right")),
    "update_expression": _pure_update,
    "marker_annotation": _annotation,
    "annotation": _annotation,
    "method_invocation": _pure_call,
    "object_creation_expression": _pure_call,
    "method_reference": lambda fn, node: Mix("method", (fn.value(node.children[0]),)),
}
_DROPPED: _Values = {
    "method_invocation": partial(_call, dropped=True),
    "object_creation_expression": partial(_new, dropped=True),
    "assignment_expression": _assign,
    "update_expression": partial(_update, dropped=True),
}
_FORKS: Mapping[str, Callable[[Lowering, Node], Fork]] = {
    "parenthesized_expression": lambda fn, node: fn.fork(parts(node)[-1]),
    "unary_expression": _unary_fork,
    "binary_expression": _binary_fork,
    "ternary_expression": lambda fn, node: fn.conditional_fork(*_ternary_parts(node)),
    "instanceof_expression": _instanceof_fork,
}
TABLES.values.update(_VALUES)
TABLES.pure.update(_PURE)
TABLES.forks.update(_FORKS)
