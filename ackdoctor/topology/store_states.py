"""Records that a failed message gets back by a value: the state of a row, or of a document.

`fail` replays a record if it writes a value by which `next_tuple` selects records, and which neither `next_tuple` nor `ack`
writes: `UPDATE jobs SET state = 'new'` for `SELECT id FROM jobs WHERE state = 'new'`.
"""

import re
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import canonical_form
from ackdoctor.checks.facts.spouts import reach
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import last_name, subexpressions
from ackdoctor.model.cfg import Attr, Call, Expr, Function, Global, Literal, Name, Step
from ackdoctor.model.dialect import EntryKind

__all__ = ["constants", "reset_records"]

_WHERE = re.compile(r"\s*select\b.*?\bwhere\b(.*)", re.IGNORECASE | re.DOTALL)
_SET = re.compile(r"\s*update\b.*?\bset\b(.*?)(?:\bwhere\b.*)?", re.IGNORECASE | re.DOTALL)
_EQUAL = re.compile(r"(?<![<>!])=\s*'([^']*)'|(?<!not )\bin\s*\(([^)]*)\)", re.IGNORECASE)
_QUOTED = re.compile(r"'([^']*)'")
_FINDS = re.compile(r"find|query|select|scan|search|filter", re.IGNORECASE)
_UPDATES = re.compile(r"update|modify|replace|mark|set(?![a-z])|h?set$|save|put", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")


def reset_records(context: RuleContext) -> Iterator[tuple[Function, Step]]:
    """Yield the steps of `fail` that write a value by which `next_tuple` selects the record again."""
    found = [(each, _written(context, *each)) for each in _calls(context, EntryKind.FAILED)]
    if not any(values for _, values in found):
        return
    selected, elsewhere = set[str](), set[str]()
    for each in _calls(context, EntryKind.NEXT):
        selected |= _selected(context, *each)
        elsewhere |= _written(context, *each)
    for each in _calls(context, EntryKind.ACKED):
        elsewhere |= _written(context, *each)
    yield from (each for each, values in found if (values & selected) - elsewhere)


def constants(context: RuleContext, function: Function, expr: Expr) -> Iterator[str]:
    """Yield the texts and the constants in an expression: the value of a constant of the class, else its name."""
    for part in subexpressions(canonical_form(function, expr)):
        name = last_name(part) if isinstance(part, (Attr, Global, Name)) else ""
        value = (context.component.attribute(name) or part) if _CONSTANT.fullmatch(name) else part
        if isinstance(value, Literal):
            yield from (value.value,) if isinstance(value.value, str) and value.value else ()
        elif value is part and _CONSTANT.fullmatch(name):
            yield name


def _calls(context: RuleContext, kind: EntryKind) -> Iterator[tuple[Function, Step]]:
    for function in reach(context, kind):
        yield from ((function, step) for step in function.cfg.steps if isinstance(step.op, Call))


def _arguments(context: RuleContext, function: Function, call: Call, first: int = 0) -> set[str]:
    return {text for arg in call.args[first:] for text in constants(context, function, arg.value)}


def _selected(context: RuleContext, function: Function, step: Step) -> set[str]:
    """Return the values by which a call selects records."""
    call = step.op
    assert isinstance(call, Call)
    texts, word = _arguments(context, function, call), last_name(call.func)
    clauses = [match[1] for text in texts if (match := _WHERE.match(text))]
    if clauses:
        return texts | {value for each in clauses for value in _compared(each)}
    if not _FINDS.match(word):
        return set()
    if _UPDATES.search(word):  # `find_one_and_update(filter, update)`
        return set(constants(context, function, call.args[0].value)) if call.args else set()
    return texts


def _written(context: RuleContext, function: Function, step: Step) -> set[str]:
    """Return the values that a call writes to a record, or passes to a method that may."""
    call = step.op
    assert isinstance(call, Call)
    texts = _arguments(context, function, call)
    clauses = [match[1] for text in texts if (match := _SET.fullmatch(text))]
    if clauses or context.own_method(function, call.func) is not None:
        return texts | {value for each in clauses for value in _compared(each)}
    if any(map(_WHERE.match, texts)) or not _UPDATES.search(last_name(call.func)):
        return set()
    return _arguments(context, function, call, 1) or texts


def _compared(clause: str) -> Iterator[str]:
    for one, several in _EQUAL.findall(clause):
        yield from _QUOTED.findall(several) if several else (one,)
