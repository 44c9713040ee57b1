"""`switch`, as a statement and as a value, with fall-through and with arrows.

All questions come first, then the bodies: a body that falls through goes on with the next one's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from ackdoctor.flow.graph.build import Ends
from ackdoctor.frontends.java.grammar import Node, by_type, child, parts
from ackdoctor.frontends.java.lowering import Lowering
from ackdoctor.frontends.java.patterns import PATTERNS, match
from ackdoctor.frontends.java.statements import expression_statement
from ackdoctor.model.cfg import Bind, Compare, Expr, Global, Literal, Mix, Name

__all__ = ["PURE_SWITCHES", "SWITCHES", "SWITCH_VALUES"]


class _Group(NamedTuple):
    """Labels, and the statements behind them."""

    labels: list[Node]
    body: list[Node]
    arrow: bool


def _groups(node: Node) -> Iterator[_Group]:
    for part in parts(child(node, "body")):
        inner = parts(part)
        labels = [each for each in inner if each.type == "switch_label"]
        yield _Group(labels, inner[len(labels) :], part.type == "switch_rule")


def _switch(fn: Lowering, node: Node) -> None:
    label = fn.take_label()
    fn.builder.region(partial(_lower, fn, node, None), label=label, plain=True)


def _value(fn: Lowering, node: Node) -> Expr:
    """The value arrives in a temporary, whose name is also the label that `yield` leaves for."""
    result = fn.builder.temp()
    with fn.yielding(result):
        fn.builder.region(partial(_lower, fn, node, result), label=result.id, plain=True)
    return result


def _lower(fn: Lowering, node: Node, result: Name | None) -> None:
    condition = child(node, "condition")
    subject = fn.value(condition)
    if not isinstance(subject, (Name, Global)):
        subject = fn.store(subject, fn.span(parts(condition)[-1]))
    after: Ends = []
    with fn.frame.block():
        groups = list(_groups(node))
        entries, missed = _questions(fn, groups, subject)
        for group, entry in zip(groups, entries, strict=True):
            fn.builder.resume(entry)
            _body(fn, group, result)
            if group.arrow:
                after += fn.builder.take()
    if result is None and not _exhaustive(groups):
        fn.builder.resume(missed)
    fn.builder.resume(after)


def _exhaustive(groups: list[_Group]) -> bool:
    """Whether some label always fits: the compiler sees to it where one is a pattern or null (JLS 14.11.2)."""
    cases = (case for group in groups for label in group.labels for case in parts(label))
    return any(case.type in PATTERNS or case.type == "null_literal" for case in cases)


def _questions(fn: Lowering, groups: list[_Group], subject: Expr) -> tuple[list[Ends], Ends]:
    """Where each group is entered, and the ends that no label took."""
    entries: list[Ends] = []
    default: Ends | None = None
    for group in groups:
        entry: Ends = []
        for label in group.labels:
            takes_all = _label(fn, label, subject, entry)
            if takes_all:
                default = entry
        entries.append(entry)
    rest = fn.builder.take()
    if default is None:
        return entries, rest
    default.extend(rest)
    return entries, []


def _label(fn: Lowering, label: Node, subject: Expr, entry: Ends) -> bool:
    """Asks what one label asks; returns whether it is, or has, a `default`."""
    cases = parts(label)
    if not cases:
        return True
    guard = next((case for case in cases if case.type == "guard"), None)
    takes_all = False
    for case in cases:
        if case is guard:
            continue
        if case.type == "identifier" and fn.text(case) == "default":
            takes_all = True
            continue
        missed = _ask(fn, case, subject)
        if guard is not None:
            fork = fn.fork(parts(guard)[0])
            missed = missed + fork.false
            fn.builder.resume(fork.true)
        entry += fn.builder.take()
        fn.builder.resume(missed)
    return takes_all


def _ask(fn: Lowering, case: Node, subject: Expr) -> Ends:
    if case.type in PATTERNS:
        return match(fn, case, subject)
    if case.type == "identifier" and not fn.frame.known(fn.text(case)):
        wanted: Expr = Global(fn.text(case))  # a constant of the subject's enum
    else:
        wanted = fn.value(case)
    sign = "is" if wanted == Literal(None) else "=="
    fork = fn.builder.test(Compare(subject, sign, wanted), fn.span(case))
    fn.builder.resume(fork.true)
    return fork.false


def _body(fn: Lowering, group: _Group, result: Name | None) -> None:
    if not group.arrow:
        fn.run(group.body)
        return
    (body,) = group.body
    if result is not None and body.type == "expression_statement":
        value = parts(body)[0]
        fn.builder.add(Bind(result, fn.value(value)), fn.span(value))
    else:
        fn.block(body)


def _yield(fn: Lowering, node: Node) -> None:
    value = parts(node)[0]
    if fn.result is None:
        expression_statement(fn, value)
    else:
        span = fn.file.positions.through(node, value)
        fn.builder.add(Bind(fn.result, fn.value(value)), span)
        fn.builder.jump("yield", span, fn.result.id)


def _pure(fn: Lowering, node: Node) -> Expr:
    return Mix("switch", (fn.value(child(node, "condition")),))


SWITCHES: dict[str, Callable[[Lowering, Node], None]] = by_type(
    {"switch_expression": _switch, "yield_statement": _yield}
)

SWITCH_VALUES: dict[str, Callable[[Lowering, Node], Expr]] = by_type({"switch_expression": _value})

PURE_SWITCHES: dict[str, Callable[[Lowering, Node], Expr]] = by_type({"switch_expression": _pure})
