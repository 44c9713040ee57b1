"""Patterns of `instanceof` and `case`: tests, and bindings where they hold."""

from ackdoctor.flow.graph.build import Ends
from ackdoctor.frontends.java.grammar import Node, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.typenames import type_of
from ackdoctor.model.cfg import Bind, Expr, IsType, Literal, Mix

__all__ = ["PATTERNS", "match"]


PATTERNS = frozenset({"pattern", "type_pattern", "record_pattern"})


def match(fn: Lowering, node: Node, subject: Expr) -> Ends:
    """Goes on where the pattern fits; returns the ends where it does not."""
    kind = node.type
    if kind == "pattern":
        return match(fn, parts(node)[0], subject)
    if kind == "record_pattern":
        return _record(fn, node, subject)
    written, name = parts(node)[-2:]
    missed = _ask(fn, fn.type_name(written), subject, node)
    _bind(fn, name, fn.type_name(written), subject)
    return missed


def _record(fn: Lowering, node: Node, subject: Expr) -> Ends:
    written, body = parts(node)
    missed = _ask(fn, fn.type_name(written), subject, node)
    for place, part in enumerate(parts(body)):
        value = Mix("match", (subject, Literal(place)))
        if part.type == "record_pattern":
            missed = missed + match(fn, part, value)
        elif part.type == "record_pattern_component":
            _component(fn, part, value)
    return missed


def _component(fn: Lowering, node: Node, value: Expr) -> None:
    """A component's own type is taken to fit: it nearly always is the declared one."""
    inner = parts(node)
    if len(inner) > 1:
        _bind(fn, inner[-1], fn.type_name(inner[0]), value)


def _ask(fn: Lowering, written: str, subject: Expr, node: Node) -> Ends:
    fork = fn.builder.test(IsType(subject, (type_of(written),)), fn.span(node))
    fn.builder.resume(fork.true)
    return fork.false


def _bind(fn: Lowering, name: Node, written: str, value: Expr) -> None:
    if name.type != "underscore_pattern":
        declared = None if written == "var" else written
        fn.builder.add(Bind(fn.frame.declare(fn.text(name), declared), value), fn.span(name))
