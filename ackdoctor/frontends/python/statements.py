"""Simple statements and assignment targets."""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.frontends.python.expressions import call_statement
from ackdoctor.frontends.python.imports import IMPORTS
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.frontends.python.signs import SIGNS
from ackdoctor.model.cfg import Bind, Drop, Expr, Global, Jump, Literal, Name, Star, Unpack, Update
from ackdoctor.model.source import Span

__all__ = ["SIMPLE", "bind"]


def bind(fn: Lowering, target: cst.CSTNode, value: Expr, span: Span) -> None:
    """`target = value`; nested targets are unpacked one level at a time, through temporaries."""
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
        value = fn.store(value, span)
    for target in node.targets:
        bind(fn, target.target, value, span)


def _annotated(fn: Lowering, node: cst.AnnAssign) -> None:
    if node.value is not None:
        bind(fn, node.target, fn.value(node.value), fn.span(node))


def _augmented(fn: Lowering, node: cst.AugAssign) -> None:
    target = fn.value(node.target)
    fn.builder.add(
        Update(target, SIGNS[type(node.operator)].removesuffix("="), fn.value(node.value)), fn.span(node)
    )


def _expression(fn: Lowering, node: cst.Expr) -> None:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        return  # a docstring
    inner = node.value
    value = call_statement(fn, inner) if isinstance(inner, cst.Call) else fn.value(inner)
    if isinstance(value, Literal):
        fn.builder.add(Jump("pass"), fn.span(node))
    elif not isinstance(value, (Name, Global)):
        fn.store(value, fn.span(node))


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
    """An import binds no local, so that its names stay `Global`; unless other statements bind them as well."""
    span = fn.span(node)
    fn.builder.add(Jump("import"), span)
    if isinstance(node.names, cst.ImportStar):
        return
    for word in fn.file.imports.names(node):
        local = fn.scope.names.get(word)
        if isinstance(local, Name):
            fn.builder.add(Bind(local, Global(word)), span)


def _nothing(_fn: Lowering, _node: cst.CSTNode) -> None:
    return


SIMPLE: dict[type, Callable[[Lowering, Any], None]] = {
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
    cst.Global: _nothing,
    cst.Nonlocal: _nothing,
    cst.TypeAlias: _nothing,
}
