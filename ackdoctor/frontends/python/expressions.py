"""The state of lowering, and expressions: names, values, calls, and the conditions that become edges."""

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import libcst as cst

from ackdoctor.flow.build import Fork
from ackdoctor.frontends import Lowering as SharedLowering
from ackdoctor.frontends import SourceFile as SharedFile
from ackdoctor.frontends import Table, Tables
from ackdoctor.frontends.python.positions import OPERATORS, Positions
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
    Star,
    Unpack,
    Yield,
)
from ackdoctor.model.source import Span

# ---- names ----


@dataclass(slots=True, eq=False)
class Scope:
    """The names of a function, a module or a comprehension, and the enclosing scope; `own` is the name of a method's object."""

    names: dict[str, Expr]
    parent: "Scope | None"
    own: str = ""
    captures: set[str] = field(default_factory=set)

    def receiver(self) -> str:
        """The name of the object whose method this is, or encloses it and is used here; "" without one."""
        if self.own:
            return self.own
        around = self.parent
        while around is not None and not around.own:
            around = around.parent
        return around.own if around is not None and around.own in self.captures else ""

    def resolve(self, word: str, *, capture: bool = True) -> Expr:
        """The expression that a name refers to; a name of an enclosing function becomes a capture."""
        crossed: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(word)
            if found is not None:
                if capture and isinstance(found, Name):
                    for inner in crossed:
                        inner.captures.add(found.id)
                return found
            crossed.append(scope)
            scope = scope.parent
        return Global(word)


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` as a string; '' for any other expression."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


# ---- the context managers of a file ----


class Managers(NamedTuple):
    """The functions and the classes of a file by their name, methods as `Class.name`."""

    functions: Mapping[str, cst.FunctionDef]
    classes: Mapping[str, cst.ClassDef]

    def method(self, owner: str, name: str) -> cst.FunctionDef | None:
        """The method that a class of the file has, perhaps from a base class in the file."""
        seen: set[str] = set()
        todo = [owner]
        for each in todo:  # the list grows during the loop
            if f"{each}.{name}" in self.functions:
                return self.functions[f"{each}.{name}"]
            if each in self.classes and each not in seen:
                seen.add(each)
                todo += [dotted(base.value) for base in self.classes[each].bases]
        return None


class Around(NamedTuple):
    """The generator that is lowered around the body of a `with`, and the one around that `with`."""

    definition: cst.FunctionDef
    label: str
    resume: Callable[[Expr | None], None]
    outer: "Around | None"

    def includes(self, definition: cst.FunctionDef) -> bool:
        """Whether a generator is being lowered."""
        return self.definition is definition or (self.outer is not None and self.outer.includes(definition))


# ---- the state of lowering ----


class SourceFile(SharedFile):
    """The state that all functions of a file share."""

    def __init__(self, *, path: str, module: str, is_package: bool, positions: Positions, text: str) -> None:
        super().__init__(path, module)
        self.positions = positions
        self.binds_deeply = ":=" in text or "yield" in text  # expressions may bind names or yield
        self.module_names: set[str] = set()  # bound at module level
        self.managers = Managers({}, {})
        parts = module.split(".") if module else []
        self._package = parts if is_package else parts[:-1]
        self._imports: list[tuple[int, str, str]] = []  # offset, name, qualified name

    def imported(self, node: cst.Import | cst.ImportFrom) -> list[tuple[str, str]]:
        """The names that a statement binds with the qualified names that they refer to; `*` for a whole module."""
        source = self._source(node)
        if isinstance(node.names, cst.ImportStar):
            return [("*", source or "")]
        rows = []
        for alias in node.names:
            member = dotted(alias.name)
            name = "" if alias.asname is None else dotted(alias.asname.name)
            if source is not None:
                rows.append((name or member, f"{source}.{member}" if source else member))
            else:
                top = member.partition(".")[0]
                rows.append((name, member) if name else (top, top))
        return rows

    def _source(self, node: Any) -> str | None:
        """The module after `from`; None for `import a`."""
        if not hasattr(node, "module"):
            return None
        level, module = len(node.relative), dotted(node.module)
        if level == 0:
            return module
        base = self._package[: max(0, len(self._package) - (level - 1))]
        return ".".join([*base, module] if module else base)

    def add_import(self, node: cst.Import | cst.ImportFrom) -> None:
        """Add an import statement; statements are added in any order."""
        place = self.positions.start(node)
        self._imports += ((place, name, qualified) for name, qualified in self.imported(node))

    def may_be(self, name: str, qualified: str) -> bool:
        """Whether a name refers to `qualified` by a statement added so far."""
        return any(row[1:] == (name, qualified) for row in self._imports)

    def candidates(self) -> dict[str, tuple[str, ...]]:
        """What each imported name may refer to, in file order; `*` are the modules of star imports."""
        found: dict[str, dict[str, None]] = {}
        for _, name, qualified in sorted(self._imports, key=lambda row: row[0]):
            found.setdefault(name, {})[qualified] = None
        return {name: tuple(qualified) for name, qualified in found.items()}


# The modules fill these tables; the key of an entry is the type of its node argument.
TABLES = Tables(values=Table(), pure=Table(), forks={}, statements=Table())


class Lowering(SharedLowering[cst.CSTNode]):
    """The lowering of one function, method, lambda or module body."""

    __slots__ = ("around", "file", "filters", "scope")

    def __init__(self, file: SourceFile, scope: Scope, qualname: str, span: Span) -> None:
        super().__init__(TABLES, qualname, span)
        self.file = file
        self.scope = scope
        self.around: Around | None = None
        # the result of a comprehension's filter by batch, variable and test; False for a negation
        self.filters: dict[tuple[str, ...], tuple[Expr, bool]] = {}

    def kind(self, node: cst.CSTNode) -> type[cst.CSTNode]:
        """The type of a node."""
        return type(node)

    def run(self, body: Any) -> None:
        """Lower the statements of a module or block in order; stop at the first unreachable one."""
        table = self.tables.statements
        for node in body.body:
            if not self.builder.alive:
                return
            for each in node.body if type(node) is cst.SimpleStatementLine else (node,):
                table[type(each)](self, each)

    def span(self, node: Any) -> Span:
        """The position of a node, including the parentheses of a tuple or generator."""
        if type(node) in (cst.Tuple, cst.GeneratorExp) and node.lpar:
            return self.file.positions.through(node.lpar[-1], node.rpar[0])
        return self.file.positions.span(node)

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Resolve names in this scope."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before


def bind(fn: Lowering, target: cst.CSTNode, value: Expr, span: Span) -> None:
    """`target = value`; unpacks nested targets one level at a time, through temporaries."""
    if not isinstance(target, (cst.Tuple, cst.List)):
        fn.builder.add(Bind(fn.value(target), value), span)
        return
    places: list[Expr | None] = []
    nested: list[tuple[cst.CSTNode, Expr]] = []
    for element in target.elements:
        inner: cst.CSTNode = element.value
        if isinstance(inner, (cst.Tuple, cst.List)):
            place: Expr = fn.builder.temp()
            nested.append((inner, place))
        else:
            place = fn.value(inner)
        places.append(Star(place) if isinstance(element, cst.StarredElement) else place)
    fn.builder.add(Unpack(tuple(places), value), span)
    for inner, place in nested:
        bind(fn, inner, place, span)


# ---- literals ----

_CONSTANTS = {"True": Literal(value=True), "False": Literal(value=False), "None": Literal(value=None)}


def _string(_fn: Lowering, node: cst.SimpleString) -> Expr:
    text = node.value
    if "\\" not in text and text[0] in "'\"":  # most strings
        quotes = 3 if text.startswith(("'''", '"""')) else 1
        return Literal(text[quotes:-quotes])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape
            return Literal(ast.literal_eval(text))
    except (SyntaxError, ValueError):  # Python 2, or a malformed escape
        return Literal(text)


def _number(_fn: Lowering, node: cst.Integer | cst.Float) -> Expr:
    try:
        return Literal(ast.literal_eval(node.value))
    except (SyntaxError, ValueError):  # more digits than the interpreter converts
        return Mix("number", ())


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


def _format_parts(fn: Lowering, nodes: Any) -> Iterator[Expr]:
    """The parts of an f-string or a t-string, and of its format specifications."""
    for node in nodes:
        if isinstance(node, (cst.FormattedStringText, cst.TemplatedStringText)):
            yield Literal(node.value)
        else:
            yield fn.value(node.expression)
            yield from _format_parts(fn, node.format_spec or ())


# ---- members, operators and displays ----


def _subscript(fn: Lowering, node: cst.Subscript) -> Expr:
    obj = fn.value(node.value)
    keys: list[Expr] = []
    for element in node.slice:
        key: Any = element.slice
        if isinstance(key, cst.Index):
            value = fn.value(key.value)
            keys.append(Star(value) if key.star else value)
        else:
            bounds = (key.lower, key.upper, key.step)
            values = (Literal(None) if bound is None else fn.value(bound) for bound in bounds)
            keys.append(Mix("slice", tuple(values)))
    alone = len(keys) == 1 and not isinstance(node.slice[0].comma, cst.Comma)
    return Item(obj, keys[0] if alone else Build("tuple", tuple(keys)))


def _chosen(fn: Lowering, node: cst.Subscript) -> Expr:
    """`{True: self.ack, False: self.fail}[ok]` and `(self.fail, self.ack)[ok]` are `self.ack if ok else self.fail`."""
    places: dict[str, cst.CSTNode] = {}
    match node.value:
        case cst.Dict(elements=[cst.DictElement() as one, cst.DictElement() as other]):
            places = {each.key.value: each.value for each in (one, other) if isinstance(each.key, cst.Name)}
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            places = {key: each.value for key, each in zip(("False", "True"), elements, strict=False)}
            places = places if len(elements) == len(places) else {}
    match node.slice:
        case [
            cst.SubscriptElement(slice=cst.Index(value=cst.Name() | cst.Comparison() | cst.Call() as index))
        ]:
            named = all(isinstance(place, (cst.Attribute, cst.Name)) for place in places.values())
            if named and places.keys() == {"True", "False"}:
                return fn.conditional_value(index, places["True"], places["False"])
    return _subscript(fn, node)


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


def _sequence(fn: Lowering, node: cst.Tuple | cst.List | cst.Set) -> Expr:
    values = (
        Star(fn.value(element.value)) if isinstance(element, cst.StarredElement) else fn.value(element.value)
        for element in node.elements
    )
    lines = tuple(fn.span(element.value).line for element in node.elements) if type(node) is cst.List else ()
    return Build(type(node).__name__.lower(), tuple(values), lines)


def _dict(fn: Lowering, node: cst.Dict) -> Expr:
    items: list[Expr] = []
    lines: list[int] = []
    for element in node.elements:
        first = element.key if isinstance(element, cst.DictElement) else element.value
        key = fn.value(first) if isinstance(element, cst.DictElement) else Mix("**", ())
        items += (key, fn.value(element.value))
        lines += (fn.span(first).line, fn.span(element.value).line)
    return Build("dict", tuple(items), tuple(lines))


def _walrus(fn: Lowering, node: cst.NamedExpr) -> Expr:
    bind(fn, node.target, fn.value(node.value), fn.span(node))
    return fn.value(node.target)


# ---- calls ----

_MATERIALIZERS = frozenset({"list", "tuple", "set", "deque"})  # they exhaust a lazy iterator
_FUNCTION_AND_ITEMS = 2


def call(fn: Lowering, node: cst.Call, *, awaited: bool = False, dropped: bool = False) -> Expr:
    """A call, whose result the code may await or drop."""
    func = fn.value(node.func)
    mapped = _map_loop(fn, node) if type(func) is Global and func.id in _MATERIALIZERS else None
    if mapped is not None:
        return mapped
    args = [
        Arg(fn.value(arg.value), arg.keyword.value if arg.keyword is not None else None, arg.star)
        for arg in node.args
    ]
    pure = _pure_builtin(fn, func, args)
    if pure is not None:
        return pure
    result, span, line = fn.builder.temp(), fn.span(node), 0
    if span.end_line > span.line and isinstance(node.func, cst.Attribute):
        line = fn.file.positions.span(node.func.attr).line
    fn.builder.add(Call(result, func, tuple(args), awaited, dropped, line), span)
    return result


def _map_loop(fn: Lowering, node: cst.Call) -> Expr | None:
    """`list(map(self.ack, tups))` as a loop."""
    inner = node.args[0].value if node.args else None
    if not isinstance(inner, cst.Call) or len(inner.args) != _FUNCTION_AND_ITEMS:
        return None
    is_map = isinstance(inner.func, cst.Name) and fn.scope.resolve(inner.func.value) == Global("map")
    if (
        not is_map
        or any(arg.star for arg in inner.args)
        or not fn.file.module_names.isdisjoint(("map", *_MATERIALIZERS - {"deque"}))
    ):
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


def _pure_builtin(fn: Lowering, func: Expr, args: list[Arg]) -> Expr | None:
    """Calls of built-in functions that only inspect their argument."""
    if not isinstance(func, Global) or func.id in fn.file.module_names:
        return None
    if any(arg.name or arg.star for arg in args):
        return None
    match func.id, [arg.value for arg in args]:
        case "len" | "bool" | "type" | "id", [value]:
            return Mix(func.id, (value,))
        case "isinstance", [value, Build(_, types)]:
            return IsType(value, types)
        case "isinstance", [value, kind]:
            return IsType(value, (kind,))
    return None


def _pure_call(fn: Lowering, node: cst.Call) -> Expr:
    func = fn.value(node.func)
    parts: list[Expr] = []
    for arg in node.args:
        value = fn.value(arg.value)
        if arg.keyword is not None:
            value = Mix(f"{arg.keyword.value}=", (value,))
        elif arg.star:
            value = Star(value) if arg.star == "*" else Mix("**", (value,))
        parts.append(value)
    return _pure_builtin(fn, func, list(map(Arg, parts))) or Mix("call", (func, *parts))


def _await(fn: Lowering, node: cst.Await) -> Expr:
    inner = node.expression
    if isinstance(inner, cst.Call):
        return call(fn, inner, awaited=True)
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


def _not_fork(fn: Lowering, node: cst.UnaryOperation) -> Fork:
    if type(node.operator) is not cst.Not:
        return fn.plain_fork(node)
    return fn.fork(node.expression).swapped()


def _operands(node: cst.BooleanOperation) -> tuple[str, list[cst.CSTNode]]:
    """The operator of a run of the same operator, and its operands."""
    kind = type(node.operator)
    operands: list[cst.CSTNode] = []
    left: cst.BaseExpression = node
    while isinstance(left, cst.BooleanOperation) and type(left.operator) is kind:
        operands.append(left.right)
        left = left.left
    return "and" if kind is cst.And else "or", [left, *reversed(operands)]


def _comparison_fork(fn: Lowering, node: cst.Comparison) -> Fork:
    left = fn.value(node.left)
    start: cst.CSTNode = node
    fork, failed = Fork(fn.builder.take(), []), []
    for target in node.comparisons:
        fn.builder.resume(fork.true)
        right = fn.value(target.comparator)
        span = fn.file.positions.through(start, target.comparator)
        fork = fn.builder.test(Compare(left, OPERATORS[type(target.operator)], right), span)
        failed += fork.false
        left, start = right, target.comparator
    return Fork(fork.true, failed)


def _boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    def decide(operand: cst.CSTNode) -> tuple[Fork, Expr]:
        value = fn.value(operand)
        return fn.test(value, fn.span(operand)), value

    return fn.junction_value(*_operands(node), decide)


def _pure_boolean(fn: Lowering, node: cst.BooleanOperation) -> Expr:
    operator, operands = _operands(node)
    return Mix(operator, tuple(map(fn.value, operands)))


def _pure_comparison(fn: Lowering, node: cst.Comparison) -> Expr:
    links: list[Expr] = []
    left = fn.value(node.left)
    for target in node.comparisons:
        right = fn.value(target.comparator)
        links.append(Compare(left, OPERATORS[type(target.operator)], right))
        left = right
    return links[0] if len(links) == 1 else Mix("and", tuple(links))


# ---- tables ----

_Values: TypeAlias = Mapping[type, Callable[[Lowering, Any], Expr]]
_STEPLESS: _Values = {
    cst.Name: lambda fn, node: _CONSTANTS.get(node.value) or fn.scope.resolve(node.value),
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: lambda _fn, _node: Mix("number", ()),
    cst.Ellipsis: lambda _fn, _node: Literal(...),
    cst.SimpleString: _string,
    cst.ConcatenatedString: _concatenated,
    cst.FormattedString: lambda fn, node: Mix("f", tuple(_format_parts(fn, node.parts))),
    cst.TemplatedString: lambda fn, node: Mix("f", tuple(_format_parts(fn, node.parts))),
    cst.Attribute: lambda fn, node: Attr(fn.value(node.value), node.attr.value),
    cst.Subscript: _subscript,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Tuple: _sequence,
    cst.List: _sequence,
    cst.Set: _sequence,
    cst.Dict: _dict,
    cst.StarredElement: lambda fn, node: Star(fn.value(node.value)),
}

_VALUES: _Values = {
    **_STEPLESS,
    cst.Call: call,
    cst.Subscript: _chosen,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.NamedExpr: _walrus,
    cst.IfExp: lambda fn, node: fn.conditional_value(node.test, node.body, node.orelse),
    cst.BooleanOperation: _boolean,
    cst.Comparison: lambda fn, node: (
        fn.condition_value(node) if len(node.comparisons) > 1 else _pure_comparison(fn, node)
    ),
}
_PURE: _Values = {
    **_STEPLESS,
    cst.Call: _pure_call,
    cst.Await: lambda fn, node: Mix("await", (fn.value(node.expression),)),
    cst.Yield: lambda _fn, _node: Mix("yield", ()),
    cst.NamedExpr: lambda fn, node: fn.value(node.value),
    cst.IfExp: lambda fn, node: Mix("if", tuple(map(fn.value, (node.test, node.body, node.orelse)))),
    cst.BooleanOperation: _pure_boolean,
    cst.Comparison: _pure_comparison,
}
_FORKS: Mapping[type, Callable[[Lowering, Any], Fork]] = {
    cst.UnaryOperation: _not_fork,
    cst.BooleanOperation: lambda fn, node: fn.junction_fork(*_operands(node)),
    cst.Comparison: _comparison_fork,
    cst.IfExp: lambda fn, node: fn.conditional_fork(node.test, node.body, node.orelse),
}
TABLES.values.update(_VALUES)
TABLES.pure.update(_PURE)
TABLES.forks.update(_FORKS)
