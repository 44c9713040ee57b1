"""Comprehensions and generator expressions, as the loops they are.

`[tup.id for tup in batch if tup.ok]` becomes

    Bind %1 = []
    Next #1 tup in batch         -> TRUE, FALSE
    Test tup.ok
    Bind %1 = [tup.id]           -> BACK

The variable is local to the comprehension: where the function has one of the same name it is
written `%tup`, so that the two are never taken for one.

A second comprehension of the function that asks the same of the same batch, or the opposite, is lowered as a test
of what the first has answered: of `[t for t in tups if ok(t)]` and `[t for t in tups if not ok(t)]` one has the tuple.
"""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.frontends.python.scope import Scope, target_names
from ackdoctor.model.cfg import Bind, Build, Expr, Literal, Mix, Name
from ackdoctor.model.source import Span

__all__ = ["COMPREHENSIONS", "PURE_COMPREHENSIONS"]

_KINDS: dict[type, str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
    cst.DictComp: "dict",
}


_OPPOSITES: dict[type, type] = {
    cst.NotEqual: cst.Equal,
    cst.NotIn: cst.In,
    cst.IsNot: cst.Is,
    cst.GreaterThanEqual: cst.LessThan,
    cst.GreaterThan: cst.LessThanEqual,
}


def _comprehension(fn: Lowering, node: cst.BaseComp) -> Expr:
    kind = _KINDS.get(type(node), "dict")
    result = fn.builder.temp()
    outer = fn.value(node.for_in.iter)  # the first iterable belongs to the scope around
    fn.builder.add(Bind(result, Build(kind, ())), fn.span(node))

    def element() -> None:
        items = _items(fn, node)
        fn.builder.add(Bind(result, Build(kind, items)), _element_span(fn, node))

    with fn.inside(_scope(fn, node.for_in)):
        _loop(fn, node.for_in, outer, element)
    return result


def _items(fn: Lowering, node: Any) -> tuple[Expr, ...]:
    if isinstance(node, cst.DictComp):
        return (fn.value(node.key), fn.value(node.value))
    if isinstance(node, cst.BaseSimpleComp):
        return (fn.value(node.elt),)
    return (Mix("**", ()), fn.value(node.value))


def _element_span(fn: Lowering, node: Any) -> Any:
    if isinstance(node, cst.DictComp):
        return fn.file.positions.through(node.key, node.value)
    return fn.span(node.elt if isinstance(node, cst.BaseSimpleComp) else node.value)


def _loop(fn: Lowering, clause: cst.CompFor, iterable: Expr, element: Callable[[], None]) -> None:
    span = fn.span(clause)
    target = clause.target
    simple = isinstance(target, cst.Name)
    variable = fn.value(target) if simple else fn.builder.temp()

    def body() -> None:
        if not simple:
            fn.bind(target, variable, fn.span(target))
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

    fn.builder.loop_for(span, variable, iterable, body)


def _filter(fn: Lowering, clause: cst.CompFor, test: cst.BaseExpression) -> Fork:
    text = fn.file.positions.text
    subject, words, positive = _question(fn, test)
    question = (text(clause.iter), text(clause.target), *words)
    if question in fn.answers:
        answer, same = fn.answers[question]
        fn.value(test)
        fork = fn.builder.test(answer, fn.span(test))
        return fork if positive == same else fork.swapped()
    if not fn.file.positions.repeated(subject):
        return fn.fork(test)
    span = fn.span(test)
    answer = fn.store(fn.pure(test), span)
    fn.answers[question] = answer, positive
    fork = fn.fork(test)
    yes, no = Literal(value=True), Literal(value=False)
    return Fork(_answered(fn, answer, yes, fork.true, span), _answered(fn, answer, no, fork.false, span))


def _question(fn: Lowering, test: cst.BaseExpression) -> tuple[cst.CSTNode, tuple[str, ...], bool]:
    """What a filter asks about, all that it asks in words, and whether it is the question and not its opposite."""
    positive = True
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, positive = test.expression, not positive
    text = fn.file.positions.text
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        asked = test.comparisons[0]
        kind = type(asked.operator)
        opposite = _OPPOSITES.get(kind)
        words = (text(test.left), (opposite or kind).__name__, text(asked.comparator))
        return test.left, words, positive == (opposite is None)
    return test, (text(test),), positive


def _answered(fn: Lowering, answer: Expr, said: Literal, ends: Ends, span: Span) -> Ends:
    fn.builder.resume(ends)
    fn.builder.add(Bind(answer, said), span)
    return fn.builder.take()


def _scope(fn: Lowering, clause: cst.CompFor | None) -> Scope:
    names: dict[str, Expr] = {}
    while clause is not None:
        for word in target_names(clause.target):
            taken = fn.scope.knows(word)
            names[word] = Name(word if taken is None else f"%{taken}")
        clause = clause.inner_for_in
    return Scope(names, fn.scope)


def _pure(fn: Lowering, node: cst.BaseComp) -> Expr:
    with fn.inside(_scope(fn, node.for_in)):
        return Build(_KINDS.get(type(node), "dict"), _items(fn, node))


_TYPES = [kind for kind in (*_KINDS, getattr(cst, "StarredDictComp", None)) if kind is not None]
COMPREHENSIONS: dict[type, Callable[[Lowering, Any], Expr]] = dict.fromkeys(_TYPES, _comprehension)
PURE_COMPREHENSIONS: dict[type, Callable[[Lowering, Any], Expr]] = dict.fromkeys(_TYPES, _pure)
