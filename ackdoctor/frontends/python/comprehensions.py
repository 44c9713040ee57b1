"""Comprehensions and generator expressions, lowered to loops.

`[tup.id for tup in batch if tup.ok]` becomes

    Bind %1 = []
    Next #1 tup in batch         -> TRUE, FALSE
    Test tup.ok
    Bind %1 = [tup.id]           -> BACK

The variable is local to the comprehension.  If the function has a variable of the same name, the comprehension's
variable is named `%tup`.

If two comprehensions of a function filter the same batch by the same test or its negation, the second one reuses
the result of the first: exactly one of `[t for t in tups if ok(t)]` and `[t for t in tups if not ok(t)]` has each tuple.
"""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.python.lowering import Lowering, Values
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
_NEGATIONS: dict[type, type] = {
    cst.NotEqual: cst.Equal,
    cst.NotIn: cst.In,
    cst.IsNot: cst.Is,
    cst.GreaterThanEqual: cst.LessThan,
    cst.GreaterThan: cst.LessThanEqual,
}


def _comprehension(fn: Lowering, node: cst.BaseComp) -> Expr:
    kind = _KINDS.get(type(node), "dict")
    result = fn.builder.temp()
    outer = fn.value(node.for_in.iter)  # the first iterable belongs to the enclosing scope
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


def _element_span(fn: Lowering, node: Any) -> Span:
    if isinstance(node, cst.DictComp):
        return fn.file.positions.through(node.key, node.value)
    return fn.span(node.elt if isinstance(node, cst.BaseSimpleComp) else node.value)


def _loop(fn: Lowering, clause: cst.CompFor, iterable: Expr, element: Callable[[], None]) -> None:
    target = clause.target
    is_name = isinstance(target, cst.Name)
    variable = fn.value(target) if is_name else fn.builder.temp()

    def body() -> None:
        if not is_name:
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

    fn.builder.loop_for(fn.span(clause), variable, iterable, body)


def _filter(fn: Lowering, clause: cst.CompFor, test: cst.BaseExpression) -> Fork:
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
    fork = fn.fork(test)
    true = _record(fn, answer, fork.true, span, result=True)
    return Fork(true, _record(fn, answer, fork.false, span, result=False))


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


def _record(fn: Lowering, answer: Expr, ends: Ends, span: Span, *, result: bool) -> Ends:
    fn.builder.resume(ends)
    fn.builder.add(Bind(answer, Literal(result)), span)
    return fn.builder.take()


def _scope(fn: Lowering, clause: cst.CompFor | None) -> Scope:
    names: dict[str, Expr] = {}
    while clause is not None:
        for word in target_names(clause.target):
            outer = fn.scope.local(word)
            names[word] = Name(word if outer is None else f"%{outer}")
        clause = clause.inner_for_in
    return Scope(names, fn.scope)


def _pure(fn: Lowering, node: cst.BaseComp) -> Expr:
    with fn.inside(_scope(fn, node.for_in)):
        return Build(_KINDS.get(type(node), "dict"), _items(fn, node))


_TYPES = [kind for kind in (*_KINDS, getattr(cst, "StarredDictComp", None)) if kind is not None]
COMPREHENSIONS: Values = dict.fromkeys(_TYPES, _comprehension)
PURE_COMPREHENSIONS: Values = dict.fromkeys(_TYPES, _pure)
