"""Statements and comprehensions: the names that they bind, and the steps that they become."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork, Handler
from ackdoctor.frontends.python.expressions import TABLES, Lowering, Scope, SourceFile, bind, call, dotted
from ackdoctor.frontends.python.managers import generator_of, run_generator, swallows
from ackdoctor.frontends.python.positions import OPERATORS
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Compare,
    Drop,
    Expr,
    Global,
    IsType,
    Item,
    Jump,
    Literal,
    Mix,
    Name,
    Update,
)
from ackdoctor.model.source import Span

# ---- the names that statements bind ----

_NO_NODE = frozenset({type(None), str, bool, cst.MaybeSentinel})  # isinstance(value, CSTNode) is slow
_NO_CHILDREN = tuple(  # fields, by prefix
    "__ whitespace lpar rpar leading_lines comma semicolon header footer lbracket".split()
)


@dataclass(slots=True, eq=False)
class Names:
    """The names that a body binds, its imports, and whether it yields."""

    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)  # nonlocal
    declared: set[str] = field(default_factory=set)  # global
    imports: list[Any] = field(default_factory=list)
    yields: bool = False

    def meanings(self, params: set[str]) -> dict[str, Expr]:
        """The meanings of a function's names, for a `Scope`."""
        local = (self.bound - self.outer - self.declared) | params
        return {**{word: Name(word) for word in local}, **{word: Global(word) for word in self.declared}}

    def add(self, node: Any) -> None:
        """Add what one node binds."""
        kind = type(node)
        if kind in (cst.MatchAs, cst.MatchStar, cst.MatchMapping):
            name = node.rest if kind is cst.MatchMapping else node.name
            self.bound.update(() if name is None else (name.value,))
        elif kind is cst.AsName:
            self.bound.update(_target_names(node.name))
        elif kind is cst.Global:
            self.declared.update(item.name.value for item in node.names)
        elif kind is cst.Nonlocal:
            self.outer.update(item.name.value for item in node.names)
        elif kind is cst.Yield:
            self.yields = True
        elif kind in _IMPORTS:
            self.imports.append(node)
        elif kind in _DEFINITIONS:
            self.bound.add(node.name.value)
        else:
            self.bound.update(_target_names(node.target))


_IMPORT_NAMES = ("Import", "ImportFrom", "LazyImport", "LazyImportFrom")
_IMPORTS: tuple[type, ...] = tuple(getattr(cst, name) for name in _IMPORT_NAMES if hasattr(cst, name))
_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)
_ASSIGNMENTS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.Del, cst.NamedExpr)
_CLAUSES = (cst.AsName, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.Global, cst.Nonlocal, cst.Yield)
_BINDING = frozenset({*_IMPORTS, *_DEFINITIONS, *_ASSIGNMENTS, *_CLAUSES})
_CLOSED = frozenset({*_IMPORTS, *_DEFINITIONS, cst.Lambda})


def _target_names(target: cst.CSTNode) -> list[str]:
    """The plain names that an assignment target binds."""
    found: list[str] = []
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Name):
            found.append(node.value)
        elif isinstance(node, (cst.Tuple, cst.List)):
            stack.extend(reversed(node.elements))
        elif isinstance(node, (cst.Element, cst.StarredElement)):
            stack.append(node.value)
    return found


def names_bound(file: SourceFile, body: Iterable[cst.CSTNode]) -> Names:
    """Scan code without nested functions, classes and lambdas; adds its imports to the file."""
    names = Names()
    stack = list(body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in _BINDING:
            names.add(node)
        for name in _child_fields(kind, deep=file.binds_deeply):
            value = getattr(node, name)
            children = value if isinstance(value, (tuple, list)) else (value,)
            stack.extend(child for child in children if type(child) not in _NO_NODE)
    for node in names.imports:
        file.add_import(node)
    return names


@cache
def _child_fields(kind: type[cst.CSTNode], *, deep: bool) -> tuple[str, ...]:
    """The fields of a node type without white space and punctuation; those of an expression only if `deep`."""
    if kind in _CLOSED or (issubclass(kind, cst.BaseExpression) and not deep):
        return ()
    return tuple(name for name in kind.__dataclass_fields__ if not name.startswith(_NO_CHILDREN))


# ---- simple statements ----


def _assign(fn: Lowering, node: cst.Assign) -> None:
    value = fn.value(node.value)
    span = fn.span(node)
    if len(node.targets) > 1 and not isinstance(value, Literal):
        value = fn.stored(value, node)
    for target in node.targets:
        bind(fn, target.target, value, span)


def _annotated(fn: Lowering, node: cst.AnnAssign) -> None:
    if node.value is not None:
        bind(fn, node.target, fn.value(node.value), fn.span(node))


def _augmented(fn: Lowering, node: cst.AugAssign) -> None:
    target = fn.value(node.target)
    operator = OPERATORS[type(node.operator)].removesuffix("=")
    fn.builder.add(Update(target, operator, fn.value(node.value)), fn.span(node))


def _expression(fn: Lowering, node: cst.Expr) -> None:
    inner = node.value
    if isinstance(inner, (cst.SimpleString, cst.ConcatenatedString)):
        return  # a docstring
    if isinstance(inner, cst.Yield) and fn.around is not None:
        fn.around.resume(None if inner.value is None else fn.value(inner.value))
        return
    value = call(fn, inner, dropped=True) if isinstance(inner, cst.Call) else fn.value(inner)
    if isinstance(value, Literal):
        fn.builder.add(Jump("pass"), fn.span(node))
    else:
        fn.stored(value, node)


def _return(fn: Lowering, node: cst.Return) -> None:
    value = None if node.value is None else fn.value(node.value)
    if fn.around is not None:
        fn.builder.jump("return", fn.span(node), fn.around.label)
    else:
        fn.builder.leave(value, fn.span(node))


def _raise(fn: Lowering, node: cst.Raise) -> None:
    value = None if node.exc is None else fn.value(node.exc)
    if node.cause is not None:
        fn.value(node.cause.item)
    fn.builder.throw(value, fn.span(node))


def _assert(fn: Lowering, node: cst.Assert) -> None:
    fn.assertion(node.test, () if node.msg is None else (node.msg,), fn.span(node))


def _del(fn: Lowering, node: cst.Del) -> None:
    span = fn.span(node)
    stack: list[Any] = [node.target]
    while stack:
        target = stack.pop()
        if isinstance(target, (cst.Tuple, cst.List)):
            stack.extend(element.value for element in reversed(target.elements))
        else:
            fn.builder.add(Drop(fn.value(target)), span)


def _import(fn: Lowering, node: cst.Import | cst.ImportFrom) -> None:
    """The names of an import stay `Global`, unless other statements bind them as locals."""
    span = fn.span(node)
    fn.builder.add(Jump("import"), span)
    for word, _ in fn.file.imported(node):
        local = fn.scope.names.get(word)
        if isinstance(local, Name):
            fn.builder.add(Bind(local, Global(word)), span)


# ---- compound statements ----


def _if(fn: Lowering, node: cst.If) -> None:
    links: list[tuple[cst.CSTNode, Callable[[], None]]] = []
    link: cst.If | cst.Else | None = node
    while isinstance(link, cst.If):
        links.append((link.test, partial(fn.run, link.body)))
        link = link.orelse
    fn.if_chain(links, _block(fn, link))


def _block(fn: Lowering, clause: cst.Else | None) -> Callable[[], None] | None:
    return None if clause is None else partial(fn.run, clause.body)


def _while(fn: Lowering, node: cst.While) -> None:
    span = fn.file.positions.header(node)
    fn.builder.loop_while(
        span, partial(fn.fork, node.test), partial(fn.run, node.body), _block(fn, node.orelse)
    )


def _for(fn: Lowering, node: cst.For) -> None:
    span = fn.file.positions.header(node)
    iterable = fn.value(node.iter)
    simple = isinstance(node.target, cst.Name)
    variable = fn.value(node.target) if simple else fn.builder.temp()

    def body() -> None:
        if not simple:
            bind(fn, node.target, variable, span)
        fn.run(node.body)

    fn.builder.loop_for(span, variable, iterable, body, _block(fn, node.orelse))


def _try(fn: Lowering, node: cst.Try | cst.TryStar) -> None:
    handlers = [_handler(fn, handler) for handler in node.handlers]
    final = None if node.finalbody is None else partial(_finally, fn, node.finalbody)
    fn.builder.attempt(partial(fn.run, node.body), handlers, _block(fn, node.orelse), final)


def _handler(fn: Lowering, node: cst.ExceptHandler | cst.ExceptStarHandler) -> Handler:
    types = () if node.type is None else _type_names(fn, node.type)
    name = None
    if node.name is not None and isinstance(node.name.name, cst.Name):
        name = getattr(fn.scope.resolve(node.name.name.value), "id", None)
    positions = fn.file.positions
    span = positions.word(node, len("except")) if node.type is None else positions.header(node)
    return Handler(types, name, span, partial(fn.run, node.body), not types or "BaseException" in types)


def _type_names(fn: Lowering, node: cst.BaseExpression) -> tuple[str, ...]:
    """The dotted names as written, and the text of other expressions."""
    nodes = [element.value for element in node.elements] if isinstance(node, cst.Tuple) else [node]
    return tuple(dotted(each) or " ".join(fn.file.positions.text(each).split()) for each in nodes)


def _finally(fn: Lowering, node: cst.Finally) -> None:
    fn.builder.add(Jump("finally"), fn.file.positions.word(node, len("finally")))
    fn.run(node.body)


def _with(fn: Lowering, node: cst.With) -> None:
    span = fn.file.positions.header(node)
    fn.builder.add(Jump("with"), span)
    _with_items(fn, node.items, partial(fn.run, node.body), span)


def _with_items(fn: Lowering, items: Sequence[cst.WithItem], body: Callable[[], None], span: Span) -> None:
    if not items:
        body()
        return
    item, *rest = items
    inner = partial(_with_items, fn, rest, body, span)
    call = item.item if isinstance(item.item, cst.Call) else None
    generator = generator_of(fn, call) if call is not None else None
    if generator is not None:
        names = names_bound(fn.file, generator.body.body)
        run_generator(fn, generator, item, names.bound - names.declared, inner)
        return
    suppressed = () if call is not None and swallows(fn, call) else _suppressed(fn, item.item)
    if suppressed is not None:
        fn.builder.attempt(inner, [Handler(suppressed, None, fn.span(item.item), lambda: None)])
        return
    value = fn.value(item.item)
    if item.asname is not None:
        bind(fn, item.asname.name, value, fn.file.positions.through(item.item, item.asname.name))
    fn.builder.guarded(value, inner)


def _suppressed(fn: Lowering, node: cst.BaseExpression) -> tuple[str, ...] | None:
    """The exception types that `contextlib.suppress` swallows; None for other context managers."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    first, _, member = dotted(node.func).partition(".")
    qualified = {"": "contextlib.suppress", "suppress": "contextlib"}.get(member)
    if qualified is None or not fn.file.may_be(first, qualified):
        return None
    return tuple(name for arg in node.args for name in _type_names(fn, arg.value))


# ---- comprehensions: `[tup.id for tup in batch if tup.ok]` becomes
#
#     Bind %1 = []
#     Next #1 tup in batch         -> TRUE, FALSE
#     Test tup.ok
#     Bind %1 = [tup.id]           -> BACK

_KINDS: dict[type, str] = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}
_NEGATIONS: dict[type, type] = {
    cst.NotEqual: cst.Equal,
    cst.NotIn: cst.In,
    cst.IsNot: cst.Is,
    cst.GreaterThanEqual: cst.LessThan,
    cst.GreaterThan: cst.LessThanEqual,
}


def _comprehension(fn: Lowering, node: cst.BaseComp) -> Expr:
    result = fn.builder.temp()
    outer = fn.value(node.for_in.iter)  # the first iterable belongs to the enclosing scope
    fn.builder.add(Bind(result, Build(_KINDS.get(type(node), "dict"), ())), fn.span(node))
    with fn.inside(_comprehension_scope(fn, node.for_in)):
        _loop(fn, node.for_in, outer, lambda: _add_element(fn, node, result))
    return result


def _add_element(fn: Lowering, node: Any, result: Name) -> None:
    positions = fn.file.positions
    if isinstance(node, cst.DictComp):
        span = positions.through(node.key, node.value)
    else:
        span = fn.span(node.elt if isinstance(node, cst.BaseSimpleComp) else node.value)
    fn.builder.add(Bind(result, _element(fn, node)), span)


def _element(fn: Lowering, node: Any) -> Build:
    """One element of a comprehension, in a collection of its own."""
    if isinstance(node, cst.BaseSimpleComp):
        return Build(_KINDS[type(node)], (fn.value(node.elt),))
    key = fn.value(node.key) if isinstance(node, cst.DictComp) else Mix("**", ())
    return Build("dict", (key, fn.value(node.value)))


def _comprehension_scope(fn: Lowering, clause: cst.CompFor | None) -> Scope:
    """The comprehension's variables; if the function has one of the same name, it is named `%tup`."""
    names: dict[str, Expr] = {}
    while clause is not None:
        for word in _target_names(clause.target):
            outer = fn.scope.resolve(word, capture=False)
            names[word] = Name(f"%{outer.id}" if isinstance(outer, Name) else word)
        clause = clause.inner_for_in
    return Scope(names, fn.scope)


def _loop(fn: Lowering, clause: cst.CompFor, iterable: Expr, element: Callable[[], None]) -> None:
    target = clause.target
    is_name = isinstance(target, cst.Name)
    variable = fn.value(target) if is_name else fn.builder.temp()

    def body() -> None:
        if not is_name:
            bind(fn, target, variable, fn.span(target))
        skipped: Ends = []
        for condition in clause.ifs:
            fork = _filter(fn, clause, condition.test)
            skipped += fork.false
            fn.builder.resume(fork.true)
        inner = clause.inner_for_in
        if inner is None:
            element()
        else:
            _loop(fn, inner, fn.value(inner.iter), element)
        fn.builder.resume(skipped)

    fn.builder.loop_for(fn.span(clause), variable, iterable, body)


def _filter(fn: Lowering, clause: cst.CompFor, test: cst.BaseExpression) -> Fork:
    """If two comprehensions filter a batch by the same test or its negation, the second reuses the first one's result.

    Exactly one of `[t for t in tups if ok(t)]` and `[t for t in tups if not ok(t)]` has each tuple.
    """
    text = fn.file.positions.text
    subject, words, positive = _canonical(fn, test)
    key = (text(clause.iter), text(clause.target), *words)
    if key in fn.filters:
        answer, recorded = fn.filters[key]
        fn.value(test)
        fork = fn.builder.test(answer, fn.span(test))
        return fork if positive == recorded else fork.swapped()
    if not fn.file.positions.repeated(subject):
        return fn.fork(test)
    span = fn.span(test)
    answer = fn.builder.store(fn.pure(test), span)
    fn.filters[key] = answer, positive
    true, false = fn.fork(test)
    sides = []
    for ends, result in ((true, True), (false, False)):
        fn.builder.resume(ends)
        fn.builder.add(Bind(answer, Literal(result)), span)
        sides.append(fn.builder.take())
    return Fork(*sides)


def _canonical(fn: Lowering, test: cst.BaseExpression) -> tuple[cst.CSTNode, tuple[str, ...], bool]:
    """A filter's subject, its text without negation, and whether the filter is that text or its negation."""
    positive = True
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, positive = test.expression, not positive
    text = fn.file.positions.text
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        kind = type(target.operator)
        negated = _NEGATIONS.get(kind)
        words = (text(test.left), (negated or kind).__name__, text(target.comparator))
        return test.left, words, positive == (negated is None)
    return test, (text(test),), positive


def _pure_comprehension(fn: Lowering, node: cst.BaseComp) -> Expr:
    with fn.inside(_comprehension_scope(fn, node.for_in)):
        return _element(fn, node)


# ---- match: each pattern continues where it matches, and returns the edges where it does not ----


def _match(fn: Lowering, node: cst.Match) -> None:
    subject = fn.stored(fn.value(node.subject), node.subject)
    after: Ends = []
    for case in node.cases:
        missed = fn.guarded(_pattern(fn, case.pattern, subject), case.guard)
        fn.run(case.body)
        after += fn.builder.take()
        fn.builder.resume(missed)
    fn.builder.resume(after)


def _pattern(fn: Lowering, node: cst.MatchPattern, subject: Expr) -> Ends:
    return _PATTERNS[type(node)](fn, node, subject)


def _value(fn: Lowering, node: cst.MatchValue | cst.MatchSingleton, subject: Expr) -> Ends:
    operator = "==" if isinstance(node, cst.MatchValue) else "is"
    return fn.expect(Compare(subject, operator, fn.value(node.value)), node)


def _capture(fn: Lowering, node: cst.MatchAs, subject: Expr) -> Ends:
    missed = [] if node.pattern is None else _pattern(fn, node.pattern, subject)
    _capture_name(fn, node.name, subject)
    return missed


def _capture_name(fn: Lowering, node: cst.Name | None, value: Expr) -> None:
    if node is not None:
        fn.builder.add(Bind(fn.value(node), value), fn.span(node))


def _either(fn: Lowering, node: cst.MatchOr, subject: Expr) -> Ends:
    fits: Ends = []
    missed = fn.builder.take()
    for element in node.patterns:
        fn.builder.resume(missed)
        missed = _pattern(fn, element.pattern, subject)
        fits += fn.builder.take()
    fn.builder.resume(fits)
    return missed


def _sequence(fn: Lowering, node: cst.MatchList | cst.MatchTuple, subject: Expr) -> Ends:
    elements = node.patterns
    star = next((i for i, element in enumerate(elements) if isinstance(element, cst.MatchStar)), None)
    least = len(elements) - (star is not None)
    missed = fn.expect(Mix("match", (subject, Literal(least), Literal(star is None))), node)
    for place, element in enumerate(elements):
        if isinstance(element, cst.MatchStar):
            rest = (Literal(place), Literal(place + 1 - len(elements) or None), Literal(None))
            _capture_name(fn, element.name, Item(subject, Mix("slice", rest)))
        else:
            index = place if star is None or place < star else place - len(elements)
            missed = missed + _pattern(fn, element.value, Item(subject, Literal(index)))
    return missed


def _mapping(fn: Lowering, node: cst.MatchMapping, subject: Expr) -> Ends:
    keys = [fn.value(element.key) for element in node.elements]
    missed = fn.expect(Mix("match", (subject, *keys)), node)
    for key, element in zip(keys, node.elements, strict=True):
        missed = missed + _pattern(fn, element.pattern, Item(subject, key))
    _capture_name(fn, node.rest, Mix("match", (subject,)))
    return missed


def _class(fn: Lowering, node: cst.MatchClass, subject: Expr) -> Ends:
    missed = fn.expect(IsType(subject, (fn.value(node.cls),)), node)
    for place, element in enumerate(node.patterns):
        missed = missed + _pattern(fn, element.value, Mix("match", (subject, Literal(place))))
    for keyword in node.kwds:
        missed = missed + _pattern(fn, keyword.pattern, Attr(subject, keyword.key.value))
    return missed


_PATTERNS: dict[type, Callable[[Lowering, Any, Expr], Ends]] = {
    cst.MatchValue: _value,
    cst.MatchSingleton: _value,
    cst.MatchAs: _capture,
    cst.MatchOr: _either,
    cst.MatchList: _sequence,
    cst.MatchTuple: _sequence,
    cst.MatchMapping: _mapping,
    cst.MatchClass: _class,
}

_STATEMENTS: Mapping[type, Callable[[Lowering, Any], object]] = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.Del: _del,
    cst.Pass: lambda fn, node: fn.builder.add(Jump("pass"), fn.span(node)),
    cst.Break: lambda fn, node: fn.builder.jump("break", fn.span(node)),
    cst.Continue: lambda fn, node: fn.builder.jump("continue", fn.span(node)),
    **dict.fromkeys(_IMPORTS, _import),
    **dict.fromkeys((cst.Global, cst.Nonlocal, cst.TypeAlias), lambda _fn, _node: None),
    cst.If: _if,
    cst.While: _while,
    cst.For: _for,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
}
TABLES.statements.update(_STATEMENTS)
_COMPREHENSIONS = (*_KINDS, cst.DictComp, getattr(cst, "StarredDictComp", cst.DictComp))
TABLES.values.update(dict.fromkeys(_COMPREHENSIONS, _comprehension))
TABLES.pure.update(dict.fromkeys(_COMPREHENSIONS, _pure_comprehension))
