"""`match`: patterns as tests, captures as bindings."""

from collections.abc import Callable
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Ends, Fork
from ackdoctor.frontends.python.lowering import Lowering
from ackdoctor.model.cfg import Attr, Bind, Compare, Expr, Global, IsType, Item, Literal, Mix, Name

__all__ = ["MATCH"]


def _match(fn: Lowering, node: cst.Match) -> None:
    subject = fn.value(node.subject)
    if not isinstance(subject, (Name, Global)):
        subject = fn.store(subject, fn.span(node.subject))
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
    """Goes on where the pattern fits; returns the ends where it does not."""
    return _PATTERNS[type(node)](fn, node, subject)


def _ask(fn: Lowering, condition: Expr, node: cst.CSTNode) -> Ends:
    fork: Fork = fn.builder.test(condition, fn.span(node))
    fn.builder.resume(fork.true)
    return fork.false


def _value(fn: Lowering, node: cst.MatchValue, subject: Expr) -> Ends:
    return _ask(fn, Compare(subject, "==", fn.value(node.value)), node)


def _singleton(fn: Lowering, node: cst.MatchSingleton, subject: Expr) -> Ends:
    return _ask(fn, Compare(subject, "is", fn.value(node.value)), node)


def _capture(fn: Lowering, node: cst.MatchAs, subject: Expr) -> Ends:
    missed = [] if node.pattern is None else _pattern(fn, node.pattern, subject)
    _name(fn, node.name, subject)
    return missed


def _name(fn: Lowering, node: cst.Name | None, value: Expr) -> None:
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
    missed = _ask(fn, Mix("match", (subject, Literal(least), Literal(star is None))), node)
    for place, element in enumerate(elements):
        if isinstance(element, cst.MatchStar):
            rest = (Literal(place), Literal(place + 1 - len(elements) or None), Literal(None))
            _name(fn, element.name, Item(subject, Mix("slice", rest)))
        else:
            index = place if star is None or place < star else place - len(elements)
            missed = missed + _pattern(fn, element.value, Item(subject, Literal(index)))
    return missed


def _mapping(fn: Lowering, node: cst.MatchMapping, subject: Expr) -> Ends:
    keys = [fn.value(element.key) for element in node.elements]
    missed = _ask(fn, Mix("match", (subject, *keys)), node)
    for key, element in zip(keys, node.elements, strict=True):
        missed = missed + _pattern(fn, element.pattern, Item(subject, key))
    _name(fn, node.rest, Mix("match", (subject,)))
    return missed


def _class(fn: Lowering, node: cst.MatchClass, subject: Expr) -> Ends:
    missed = _ask(fn, IsType(subject, (fn.value(node.cls),)), node)
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

MATCH: dict[type, Callable[[Lowering, Any], None]] = {cst.Match: _match}
