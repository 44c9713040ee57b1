"""Compound statements: branches, loops, try and with."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Handler
from ackdoctor.frontends.python.imports import dotted
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.model.cfg import Jump
from ackdoctor.model.source import Span

__all__ = ["BLOCKS"]


def _if(fn: Lowering, node: cst.If) -> None:
    """A chain of `elif` is as long as its author likes, so it is a loop here."""
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
    """The dotted names as written; anything else by its text."""
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
    swallowed = _suppressed(fn, item.item)
    if swallowed is not None:
        handler = Handler(swallowed, None, fn.span(item.item), _nothing)
        fn.builder.attempt(inner, [handler])
        return
    value = fn.value(item.item)
    if item.asname is not None:
        fn.bind(item.asname.name, value, fn.file.positions.through(item.item, item.asname.name))
    inner()


def _suppressed(fn: Lowering, node: cst.BaseExpression) -> tuple[str, ...] | None:
    """The types that `contextlib.suppress` swallows; None for any other manager."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    first, _, member = dotted(node.func).partition(".")
    imports = fn.file.imports
    direct = not member and imports.may_be(first, "contextlib.suppress")
    if not direct and not (member == "suppress" and imports.may_be(first, "contextlib")):
        return None
    return tuple(name for arg in node.args for name in _type_names(fn, arg.value))


def _nothing() -> None:
    return


BLOCKS: dict[type, Callable[[Lowering, Any], None]] = {
    cst.If: _if,
    cst.While: _while,
    cst.For: _for,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
}
