"""Statements: simple ones, compound ones, and `match`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork, Handler
from ackdoctor.frontends.python.expressions import call_statement
from ackdoctor.frontends.python.layout import OPERATORS
from ackdoctor.frontends.python.lowering import Lowering, Statements
from ackdoctor.frontends.python.scope import IMPORTS, dotted
from ackdoctor.model.cfg import (
    Attr,
    Bind,
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
    Star,
    Unpack,
    Update,
)
from ackdoctor.model.source import Span

__all__ = ["STATEMENTS", "bind"]

# ---- simple statements ----


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


def _assign(fn: Lowering, node: cst.Assign) -> None:
    value = fn.value(node.value)
    span = fn.span(node)
    if len(node.targets) > 1 and not isinstance(value, (Name, Literal, Global)):
        value = fn.builder.store(value, span)
    for target in node.targets:
        bind(fn, target.target, value, span)


def _annotated(fn: Lowering, node: cst.AnnAssign) -> None:
    if node.value is not None:
        bind(fn, node.target, fn.value(node.value), fn.span(node))


def _augmented(fn: Lowering, node: cst.AugAssign) -> None:
    target = fn.value(node.target)
    fn.builder.add(
        Update(target, OPERATORS[type(node.operator)].removesuffix("="), fn.value(node.value)), fn.span(node)
    )


def _expression(fn: Lowering, node: cst.Expr) -> None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        return  # a docstring
    inner = node.value
    value = call_statement(fn, inner) if isinstance(inner, cst.Call) else fn.value(inner)
    if isinstance(value, Literal):
        fn.builder.add(Jump("pass"), fn.span(node))
    elif not isinstance(value, (Name, Global)):
        fn.builder.store(value, fn.span(node))


def _return(fn: Lowering, node: cst.Return) -> None:
    value = None if node.value is None else fn.value(node.value)
    fn.builder.leave(value, fn.span(node))


def _raise(fn: Lowering, node: cst.Raise) -> None:
    value = None if node.exc is None else fn.value(node.exc)
    if node.cause is not None:
        fn.value(node.cause.item)
    fn.builder.throw(value, fn.span(node))


def _assert(fn: Lowering, node: cst.Assert) -> None:
    fork = fn.fork(node.test)
    fn.builder.resume(fork.false)
    if node.msg is not None:
        fn.value(node.msg)
    fn.builder.throw(Global("AssertionError"), fn.span(node))
    fn.builder.resume(fork.true)


def _del(fn: Lowering, node: cst.Del) -> None:
    span = fn.span(node)
    stack: list[Any] = [node.target]
    while stack:
        target = stack.pop()
        if isinstance(target, (cst.Tuple, cst.List)):
            stack.extend(element.value for element in reversed(target.elements))
        else:
            fn.builder.add(Drop(fn.value(target)), span)


def _pass(fn: Lowering, node: cst.Pass) -> None:
    fn.builder.add(Jump("pass"), fn.file.positions.word(node, 4))


def _break(fn: Lowering, node: cst.Break) -> None:
    fn.builder.jump("break", fn.file.positions.word(node, 5))


def _continue(fn: Lowering, node: cst.Continue) -> None:
    fn.builder.jump("continue", fn.file.positions.word(node, 8))


def _import(fn: Lowering, node: cst.Import | cst.ImportFrom) -> None:
    """The names of an import stay `Global`, unless other statements bind them as locals."""
    span = fn.span(node)
    fn.builder.add(Jump("import"), span)
    if isinstance(node.names, cst.ImportStar):
        return
    for word in fn.file.imports.names(node):
        local = fn.scope.names.get(word)
        if isinstance(local, Name):
            fn.builder.add(Bind(local, Global(word)), span)


def _no_step(_fn: Lowering, _node: cst.CSTNode) -> None:
    return


# ---- compound statements ----


def _if(fn: Lowering, node: cst.If) -> None:
    """A loop over the links of an `elif` chain, since chains may be long."""
    after: Ends = []
    link: cst.If | cst.Else | None = node
    while isinstance(link, cst.If):
        fork = fn.fork(link.test)
        fn.builder.resume(fork.true)
        fn.suite(link.body)
        after += fn.builder.take()
        fn.builder.resume(fork.false)
        link = link.orelse
    if link is not None:
        fn.suite(link.body)
    fn.builder.resume(after)


def _block(fn: Lowering, clause: cst.Else | None) -> Callable[[], None] | None:
    return None if clause is None else partial(fn.suite, clause.body)


def _while(fn: Lowering, node: cst.While) -> None:
    span = fn.file.positions.header(node)
    condition = partial(fn.fork, node.test)
    fn.builder.loop_while(span, condition, partial(fn.suite, node.body), _block(fn, node.orelse))


def _for(fn: Lowering, node: cst.For) -> None:
    span = fn.file.positions.header(node)
    target = node.target
    iterable = fn.value(node.iter)
    simple = isinstance(target, cst.Name)
    variable = fn.value(target) if simple else fn.builder.temp()

    def body() -> None:
        if not simple:
            fn.bind(target, variable, span)
        fn.suite(node.body)

    fn.builder.loop_for(span, variable, iterable, body, _block(fn, node.orelse))


# ---- try ----


def _try(fn: Lowering, node: cst.Try | cst.TryStar) -> None:
    handlers = [_handler(fn, handler) for handler in node.handlers]
    final = None if node.finalbody is None else partial(_finally, fn, node.finalbody)
    fn.builder.attempt(partial(fn.suite, node.body), handlers, _block(fn, node.orelse), final)


def _handler(fn: Lowering, node: cst.ExceptHandler | cst.ExceptStarHandler) -> Handler:
    types = () if node.type is None else _type_names(fn, node.type)
    name = None
    if node.name is not None and isinstance(node.name.name, cst.Name):
        resolved = fn.scope.resolve(node.name.name.value)
        name = getattr(resolved, "id", None)
    total = not types or "BaseException" in types
    positions = fn.file.positions
    span = positions.word(node, len("except")) if node.type is None else positions.header(node)
    return Handler(types, name, span, partial(fn.suite, node.body), total)


def _type_names(fn: Lowering, node: cst.BaseExpression) -> tuple[str, ...]:
    """The dotted names as written, and the text of other expressions."""
    nodes = [element.value for element in node.elements] if isinstance(node, cst.Tuple) else [node]
    return tuple(dotted(each) or " ".join(fn.file.positions.text(each).split()) for each in nodes)


def _finally(fn: Lowering, node: cst.Finally) -> None:
    fn.builder.add(Jump("finally"), fn.file.positions.word(node, 7))
    fn.suite(node.body)


# ---- with ----


def _with(fn: Lowering, node: cst.With) -> None:
    span = fn.file.positions.header(node)
    fn.builder.add(Jump("with"), span)
    _with_items(fn, node.items, partial(fn.suite, node.body), span)


def _with_items(fn: Lowering, items: Sequence[cst.WithItem], body: Callable[[], None], span: Span) -> None:
    if not items:
        body()
        return
    item, *rest = items
    inner = partial(_with_items, fn, rest, body, span)
    suppressed = _suppressed(fn, item.item)
    if suppressed is not None:
        handler = Handler(suppressed, None, fn.span(item.item), _empty_handler)
        fn.builder.attempt(inner, [handler])
        return
    value = fn.value(item.item)
    if item.asname is not None:
        fn.bind(item.asname.name, value, fn.file.positions.through(item.item, item.asname.name))
    inner()


def _suppressed(fn: Lowering, node: cst.BaseExpression) -> tuple[str, ...] | None:
    """The exception types that `contextlib.suppress` swallows; None for other context managers."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    first, _, member = dotted(node.func).partition(".")
    imports = fn.file.imports
    direct = not member and imports.may_be(first, "contextlib.suppress")
    if not direct and not (member == "suppress" and imports.may_be(first, "contextlib")):
        return None
    return tuple(name for arg in node.args for name in _type_names(fn, arg.value))


def _empty_handler() -> None:
    return


# ---- match ----


def _match(fn: Lowering, node: cst.Match) -> None:
    subject = fn.value(node.subject)
    if not isinstance(subject, (Name, Global)):
        subject = fn.builder.store(subject, fn.span(node.subject))
    after: Ends = []
    for case in node.cases:
        missed = _pattern(fn, case.pattern, subject)
        if case.guard is not None:
            fork = fn.fork(case.guard)
            missed = missed + fork.false
            fn.builder.resume(fork.true)
        fn.suite(case.body)
        after += fn.builder.take()
        fn.builder.resume(missed)
    fn.builder.resume(after)


def _pattern(fn: Lowering, node: cst.MatchPattern, subject: Expr) -> Ends:
    """Continue where the pattern matches; return the edges where it does not."""
    return _PATTERNS[type(node)](fn, node, subject)


def _test(fn: Lowering, condition: Expr, node: cst.CSTNode) -> Ends:
    fork: Fork = fn.builder.test(condition, fn.span(node))
    fn.builder.resume(fork.true)
    return fork.false


def _value(fn: Lowering, node: cst.MatchValue, subject: Expr) -> Ends:
    return _test(fn, Compare(subject, "==", fn.value(node.value)), node)


def _singleton(fn: Lowering, node: cst.MatchSingleton, subject: Expr) -> Ends:
    return _test(fn, Compare(subject, "is", fn.value(node.value)), node)


def _capture(fn: Lowering, node: cst.MatchAs, subject: Expr) -> Ends:
    missed = [] if node.pattern is None else _pattern(fn, node.pattern, subject)
    _capture_name(fn, node.name, subject)
    return missed


def _capture_name(fn: Lowering, node: cst.Name | None, value: Expr) -> None:
    if node is not None:
        fn.builder.add(Bind(fn.value(node), value), fn.span(node))


def _either(fn: Lowering, node: cst.MatchOr, subject: Expr) -> Ends:
    fits: Ends = []
    missed: Ends = []
    for place, element in enumerate(node.patterns):
        if place:
            fn.builder.resume(missed)
        missed = _pattern(fn, element.pattern, subject)
        fits += fn.builder.take()
    fn.builder.resume(fits)
    return missed


def _sequence(fn: Lowering, node: cst.MatchList | cst.MatchTuple, subject: Expr) -> Ends:
    elements = node.patterns
    star = next((i for i, element in enumerate(elements) if isinstance(element, cst.MatchStar)), None)
    least = len(elements) - (star is not None)
    missed = _test(fn, Mix("match", (subject, Literal(least), Literal(star is None))), node)
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
    missed = _test(fn, Mix("match", (subject, *keys)), node)
    for key, element in zip(keys, node.elements, strict=True):
        missed = missed + _pattern(fn, element.pattern, Item(subject, key))
    _capture_name(fn, node.rest, Mix("match", (subject,)))
    return missed


def _class(fn: Lowering, node: cst.MatchClass, subject: Expr) -> Ends:
    missed = _test(fn, IsType(subject, (fn.value(node.cls),)), node)
    for place, element in enumerate(node.patterns):
        missed = missed + _pattern(fn, element.value, Mix("match", (subject, Literal(place))))
    for keyword in node.kwds:
        missed = missed + _pattern(fn, keyword.pattern, Attr(subject, keyword.key.value))
    return missed


_PATTERNS: dict[type, Callable[[Lowering, Any, Expr], Ends]] = {
    cst.MatchValue: _value,
    cst.MatchSingleton: _singleton,
    cst.MatchAs: _capture,
    cst.MatchOr: _either,
    cst.MatchList: _sequence,
    cst.MatchTuple: _sequence,
    cst.MatchMapping: _mapping,
    cst.MatchClass: _class,
}


STATEMENTS: Statements = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.Del: _del,
    cst.Pass: _pass,
    cst.Break: _break,
    cst.Continue: _continue,
    **dict.fromkeys(IMPORTS, _import),
    cst.Global: _no_step,
    cst.Nonlocal: _no_step,
    cst.TypeAlias: _no_step,
    cst.If: _if,
    cst.While: _while,
    cst.For: _for,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
}
