"""The offsets of all nodes of a libcst tree, measured by the table of layouts and by functions for irregular nodes."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import libcst as cst

from ackdoctor.frontends.lowering import Table
from ackdoctor.frontends.python.layout import (
    ALL,
    ARROW,
    CLOSE,
    END,
    END_OF,
    HEADER,
    INDENT,
    INNER,
    OPEN,
    START,
    TEXT,
    Part,
    layouts,
)

__all__ = ["Tape", "measure"]

_DEFAULT = cst.MaybeSentinel.DEFAULT
_Space = cst.SimpleWhitespace


class Tape:
    """The result of measuring: the offsets of nodes, and of the ends of their headers, by `id`."""

    __slots__ = ("extents", "headers", "indent", "module", "newline", "programs")

    def __init__(self, module: cst.Module) -> None:
        self.extents: dict[int, tuple[int, int]] = {}
        self.headers: dict[int, int] = {}
        self.indent = 0
        self.newline = 0  # the width of the last line end
        self.module = module
        self.programs = _programs()


def measure(module: cst.Module) -> tuple[Tape, int]:
    """Measure a module: its tape and its length; raises `UnknownSyntax` for an unknown node type."""
    tape = Tape(module)
    at = 0
    for part in (module.header, module.body, module.footer):
        at = _all(part, at, tape)
    if module.has_trailing_newline:
        at = at or len(module.default_newline)
    elif at:
        at -= tape.newline
    return tape, at


def _all(nodes: Sequence[cst.CSTNode], at: int, tape: Tape) -> int:
    for node in nodes:
        at = _one(node, at, tape)
    return at


def _one(node: Any, at: int, tape: Tape) -> int:
    """Measure a child, which may be absent."""
    if node is None or node is _DEFAULT:
        return at
    program = tape.programs[type(node)]
    if not isinstance(program, tuple):
        return program(node, at, tape)
    start = at
    for part in program:
        duty, field, width = part
        at += width
        if duty == INNER:
            inner = getattr(node, field)
            if type(inner) is _Space:
                at += len(inner.value)
            elif inner is not None and inner is not _DEFAULT:
                at = _one(inner, at, tape)
        elif duty == ALL:
            inner = getattr(node, field)
            at = _all(inner if isinstance(inner, (tuple, list)) else (inner,), at, tape)
        elif duty == OPEN:
            at = start = _all(node.lpar, at, tape)
        elif duty == CLOSE:
            tape.extents[id(node)] = (start, at)
            at = _all(node.rpar, at, tape)
        elif duty == START:
            start = at
        elif duty == END:
            tape.extents[id(node)] = (start, at)
        else:
            at = _rest(node, part, start, at, tape)
    return at


def _rest(node: Any, part: Part, start: int, at: int, tape: Tape) -> int:
    """Measure the less frequent parts."""
    if part.duty == INDENT:
        return at + tape.indent
    if part.duty == TEXT:
        inner = getattr(node, part.field)
        return at + (len(inner) if isinstance(inner, str) else 0)
    if part.duty == ARROW:
        return at if node.returns is None else _one(node.returns, at + 1, tape)
    if part.duty == END_OF:
        tape.extents[id(node)] = (start, _end_of(node, part.field, tape))
    elif part.duty == HEADER:
        tape.headers[id(node)] = at
    return at


def _end_of(node: cst.CSTNode, fields: str, tape: Tape) -> int:
    """The end of the first child that is present."""
    children = (getattr(node, field) for field in fields.split("/"))
    last = next(child for child in children if child)
    return tape.extents[id(last[-1] if isinstance(last, (tuple, list)) else last)][1]


def _word(node: Any, at: int, tape: Tape) -> int:
    """A name or a literal, which half of all expressions are."""
    if not node.lpar:
        end = at + len(node.value)
        tape.extents[id(node)] = (at, end)
        return end
    at = _all(node.lpar, at, tape)
    end = at + len(node.value)
    tape.extents[id(node)] = (at, end)
    return _all(node.rpar, end, tape)


# ---- lines and blocks ----


def _space(node: cst.SimpleWhitespace, at: int, _tape: Tape) -> int:
    return at + len(node.value)


def _newline(node: cst.Newline, at: int, tape: Tape) -> int:
    tape.newline = len(tape.module.default_newline if node.value is None else node.value)
    return at + tape.newline


def _empty_line(node: cst.EmptyLine, at: int, tape: Tape) -> int:
    at += len(node.whitespace.value) + (tape.indent if node.indent else 0)
    return _newline(node.newline, _one(node.comment, at, tape), tape)


def _parenthesized_space(node: cst.ParenthesizedWhitespace, at: int, tape: Tape) -> int:
    at = _all(node.empty_lines, _one(node.first_line, at, tape), tape)
    return at + len(node.last_line.value) + (tape.indent if node.indent else 0)


def _block(node: cst.IndentedBlock, at: int, tape: Tape) -> int:
    at = _one(node.header, at, tape)
    outer = tape.indent
    tape.indent += len(tape.module.default_indent if node.indent is None else node.indent)
    at = _all(node.footer, _all(node.body, at, tape), tape)
    tape.indent = outer
    extents = tape.extents
    extents[id(node)] = (extents[id(node.body[0])][0], extents[id(node.body[-1])][1])
    return at


def _if(node: cst.If, at: int, tape: Tape) -> int:
    """Measure a chain of `elif` in a loop, since it may be long."""
    starts: list[tuple[cst.If, int]] = []
    link: cst.If | cst.Else | None = node
    while isinstance(link, cst.If):
        at = _all(link.leading_lines, at, tape) + tape.indent
        starts.append((link, at))
        at += len("if" if link is node else "elif")
        at = _one(link.test, _one(link.whitespace_before_test, at, tape), tape)
        at = _one(link.body, _one(link.whitespace_after_test, at, tape) + len(":"), tape)
        link = link.orelse
    at = _one(link, at, tape)
    end = tape.extents[id(starts[-1][0].body if link is None else link)][1]
    for each, start in starts:
        tape.extents[id(each)] = (start, end)
    return at


def _match(node: cst.Match, at: int, tape: Tape) -> int:
    start = at = _all(node.leading_lines, at, tape) + tape.indent
    at = _one(node.subject, _one(node.whitespace_after_match, at + len("match"), tape), tape)
    at = _one(node.whitespace_after_colon, _one(node.whitespace_before_colon, at, tape) + len(":"), tape)
    outer = tape.indent
    tape.indent += len(tape.module.default_indent if node.indent is None else node.indent)
    at = _all(node.footer, _all(node.cases, at, tape), tape)
    tape.indent = outer
    tape.extents[id(node)] = (start, tape.extents[id(node.cases[-1])][1])
    return at


def _case(node: cst.MatchCase, at: int, tape: Tape) -> int:
    start = at = _all(node.leading_lines, at, tape) + tape.indent
    at = _one(node.pattern, _one(node.whitespace_after_case, at + len("case"), tape), tape)
    at = _one(node.whitespace_before_if, at, tape) + (0 if node.guard is None else len("if"))
    at = _one(node.guard, _one(node.whitespace_after_if, at, tape), tape)
    at = _one(node.body, _one(node.whitespace_before_colon, at, tape) + len(":"), tape)
    tape.extents[id(node)] = (start, tape.extents[id(node.body)][1])
    return at


# ---- patterns and strings ----


def _as(node: cst.MatchAs, at: int, tape: Tape) -> int:
    start = at = _all(node.lpar, at, tape)
    at = _one(node.whitespace_before_as, _one(node.pattern, at, tape), tape)
    at = _one(node.whitespace_after_as, at + (0 if node.pattern is None else len("as")), tape)
    at = _one(node.name, at, tape) + (node.name is None)
    tape.extents[id(node)] = (start, at)
    return _all(node.rpar, at, tape)


def _star(node: cst.MatchStar, at: int, tape: Tape) -> int:
    at = _one(node.whitespace_before_name, at + len("*"), tape)
    return _one(node.comma, _one(node.name, at, tape) + (node.name is None), tape)


def _mapping(node: cst.MatchMapping, at: int, tape: Tape) -> int:
    start = at = _all(node.lpar, at, tape)
    at = _all(node.elements, _one(node.lbrace, at, tape), tape)
    if node.rest is not None:
        at = _one(node.rest, _one(node.whitespace_before_rest, at + len("**"), tape), tape)
        at = _one(node.trailing_comma, at, tape)
    at = _one(node.rbrace, at, tape)
    tape.extents[id(node)] = (start, at)
    return _all(node.rpar, at, tape)


def _placeholder(node: Any, at: int, tape: Tape) -> int:
    """`{value = !r:>10}` in an f-string or a t-string."""
    at = _one(node.expression, _one(node.whitespace_before_expression, at + len("{"), tape), tape)
    at = _one(node.whitespace_after_expression, _one(node.equal, at, tape), tape)
    if node.conversion is not None:
        at += len("!") + len(node.conversion)
    if node.format_spec is not None:
        at = _all(node.format_spec, at + len(":"), tape)
    return at + len("}")


_Program: TypeAlias = tuple[Part, ...] | Callable[[Any, int, Tape], int]


@cache
def _programs() -> Table[type, _Program]:
    """How to measure each node type: its layout, or a function."""
    programs: Table[type, _Program] = Table(layouts())
    programs |= dict.fromkeys((cst.Name, cst.Integer, cst.Float, cst.SimpleString), _word)
    programs |= {
        cst.SimpleWhitespace: _space,
        cst.Newline: _newline,
        cst.EmptyLine: _empty_line,
        cst.ParenthesizedWhitespace: _parenthesized_space,
        cst.IndentedBlock: _block,
        cst.If: _if,
        cst.Match: _match,
        cst.MatchCase: _case,
        cst.MatchAs: _as,
        cst.MatchStar: _star,
        cst.MatchMapping: _mapping,
        cst.FormattedStringExpression: _placeholder,
    }
    if hasattr(cst, "TemplatedStringExpression"):
        programs[cst.TemplatedStringExpression] = _placeholder
    return programs
