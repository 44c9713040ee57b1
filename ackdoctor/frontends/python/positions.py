"""Source positions of the nodes of a libcst tree: measured by a table of layouts, and by functions for irregular nodes.

A libcst tree holds every character of its source but no offsets.  libcst's position providers generate the code again
to compute them.  Adding up the widths of the parts is enough (0.28 s instead of 3.19 s on 110 files).  The table lists the
parts of each node type in the order in which they appear, one node type to a line:

    name  name*     a child, which may be absent; a sequence of children
    _name           white space before or between
    'if'            a keyword or an operator
    name?'if'       the same if the child is present;  name!'_'  if it is absent
    =name           a string that the node holds
    (  )            the parentheses around an expression; the node proper is between them
    <  >            the node proper begins and ends; `>a/b` ends where its child a, or else b, ends
    |               the header ends
    ^               the indentation of the enclosing block
    ~name           an annotation after `->`, which is one wider than after `:`
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import libcst as cst

from ackdoctor.frontends import Table
from ackdoctor.frontends.python.source import Translation
from ackdoctor.model.source import Span

# ---- layouts ----


def _node_types(text: str) -> Mapping[type, str]:
    words = text.split()
    return {getattr(cst, name): sign for name, sign in zip(words[::2], words[1::2], strict=True)}


_PREFIX = _node_types("Plus + Minus - BitInvert ~ Not not")
"""Operators before their operand."""

_INFIX = _node_types(
    """
    Semicolon ; Colon : Comma , Dot . AssignEqual = And and Or or
    Add + Subtract - Multiply * Divide / FloorDivide // Modulo % Power ** LeftShift << RightShift >>
    BitOr | BitAnd & BitXor ^ MatrixMultiply @
    LessThan < GreaterThan > Equal == LessThanEqual <= GreaterThanEqual >= In in Is is
    AddAssign += SubtractAssign -= MultiplyAssign *= DivideAssign /= FloorDivideAssign //= ModuloAssign %=
    PowerAssign **= LeftShiftAssign <<= RightShiftAssign >>= BitOrAssign |= BitAndAssign &= BitXorAssign ^=
    MatrixMultiplyAssign @=
    """
)  # of one word, between two nodes

OPERATORS: Mapping[type, str] = {
    **_PREFIX,
    **_INFIX,
    cst.NotEqual: "!=",  # also for `<>`
    cst.NotIn: "not in",
    cst.IsNot: "is not",
}
"""Every operator and punctuation mark by its node type."""

_TABLE = """
Imaginary ( =value )
Ellipsis ( '...' )
ConcatenatedString ( left _whitespace_between right )
FormattedString ( =start parts* =end )
FormattedStringText =value
FormattedStringExpression '{' _whitespace_before_expression expression equal _whitespace_after_expression \
        conversion?'!' =conversion format_spec?':' format_spec* '}'
TemplatedString ( =start parts* =end )
TemplatedStringText =value
TemplatedStringExpression '{' _whitespace_before_expression expression equal _whitespace_after_expression \
        conversion?'!' =conversion format_spec?':' format_spec* '}'
Attribute ( value dot attr )
Subscript ( value _whitespace_after_value lbracket slice* rbracket )
SubscriptElement slice comma
Index =star _whitespace_after_star value
Slice lower first_colon upper second_colon step
Call ( func _whitespace_after_func '(' _whitespace_before_args args* ')' )
Arg =star _whitespace_after_star keyword equal value comma _whitespace_after_arg
Await ( 'await' _whitespace_after_await expression )
UnaryOperation ( operator expression )
BinaryOperation ( left operator right )
BooleanOperation ( left operator right )
Comparison ( left comparisons* )
ComparisonTarget operator comparator
IfExp ( body _whitespace_before_if 'if' _whitespace_after_if test \
        _whitespace_before_else 'else' _whitespace_after_else orelse )
NamedExpr ( target _whitespace_before_walrus ':=' _whitespace_after_walrus value )
Yield ( 'yield' _whitespace_after_yield value )
From _whitespace_before_from 'from' _whitespace_after_from item
Lambda ( 'lambda' _whitespace_after_lambda params colon body )
Tuple ( elements* )
List ( lbracket elements* rbracket )
Set ( lbrace elements* rbrace )
Dict ( lbrace elements* rbrace )
Element value comma
StarredElement ( '*' _whitespace_before_value value ) comma
DictElement key _whitespace_before_colon ':' _whitespace_after_colon value comma
StarredDictElement '**' _whitespace_before_value value comma
GeneratorExp ( elt for_in )
ListComp ( lbracket elt for_in rbracket )
SetComp ( lbrace elt for_in rbrace )
DictComp ( lbrace key _whitespace_before_colon ':' _whitespace_after_colon value for_in rbrace )
StarredDictComp ( lbrace '**' _whitespace_before_value value for_in rbrace )
CompFor _whitespace_before < asynchronous 'for' _whitespace_after_for target \
        _whitespace_before_in 'in' _whitespace_after_in iter > ifs* inner_for_in
CompIf _whitespace_before 'if' _whitespace_before_test test
LeftParen < '(' > _whitespace_after
RightParen _whitespace_before < ')' >
LeftSquareBracket '[' _whitespace_after
RightSquareBracket _whitespace_before ']'
LeftCurlyBrace '{' _whitespace_after
RightCurlyBrace _whitespace_before '}'
NotEqual _whitespace_before =value _whitespace_after
NotIn _whitespace_before 'not' _whitespace_between 'in' _whitespace_after
IsNot _whitespace_before 'is' _whitespace_between 'not' _whitespace_after
ImportStar < '*' >
Asynchronous 'async' _whitespace_after
Parameters posonly_params* posonly_ind params* star_arg kwonly_params* star_kwarg
ParamStar '*' comma
ParamSlash '/' _whitespace_after comma
Param =star _whitespace_after_star name annotation equal default comma _whitespace_after_param
Annotation _whitespace_before_indicator ':' _whitespace_after_indicator annotation
TypeParameters lbracket params* rbracket
TypeParam param equal =star _whitespace_after_star default comma
TypeVar name colon bound
TypeVarTuple '*' _whitespace_after_star name
ParamSpec '**' _whitespace_after_star name
SimpleStatementLine leading_lines* ^ < body* >body trailing_whitespace
SimpleStatementSuite _leading_whitespace < body* >body trailing_whitespace
Expr < value > semicolon
Assign < targets* value > semicolon
AssignTarget target _whitespace_before_equal '=' _whitespace_after_equal
AnnAssign < target annotation equal value > semicolon
AugAssign < target operator value > semicolon
Return < 'return' _whitespace_after_return value > semicolon
Raise < 'raise' _whitespace_after_raise exc cause > semicolon
Assert < 'assert' _whitespace_after_assert test comma msg > semicolon
Del < 'del' _whitespace_after_del target > semicolon
Pass < 'pass' > semicolon
Break < 'break' > semicolon
Continue < 'continue' > semicolon
Global < 'global' _whitespace_after_global names* > semicolon
Nonlocal < 'nonlocal' _whitespace_after_nonlocal names* > semicolon
NameItem name comma
Import < 'import' _whitespace_after_import names* > semicolon
ImportFrom < 'from' _whitespace_after_from relative* module _whitespace_before_import 'import' \
        _whitespace_after_import lpar names* rpar > semicolon
LazyImport < 'lazy' _whitespace_after_lazy 'import' _whitespace_after_import names* > semicolon
LazyImportFrom < 'lazy' _whitespace_after_lazy 'from' _whitespace_after_from relative* module \
        _whitespace_before_import 'import' _whitespace_after_import lpar names* rpar > semicolon
ImportAlias name asname comma
AsName _whitespace_before_as 'as' _whitespace_after_as name
TypeAlias < 'type' _whitespace_after_type name _whitespace_after_name type_parameters \
        _whitespace_after_type_parameters '=' _whitespace_after_equals value > semicolon
Else leading_lines* ^ < 'else' _whitespace_before_colon ':' body >body
While leading_lines* ^ < 'while' _whitespace_after_while test | _whitespace_before_colon ':' body orelse \
        >orelse/body
For leading_lines* ^ < asynchronous 'for' _whitespace_after_for target _whitespace_before_in 'in' \
        _whitespace_after_in iter | _whitespace_before_colon ':' body orelse >orelse/body
Try leading_lines* ^ < 'try' _whitespace_before_colon ':' body handlers* orelse finalbody \
        >finalbody/orelse/handlers/body
TryStar leading_lines* ^ < 'try' _whitespace_before_colon ':' body handlers* orelse finalbody \
        >finalbody/orelse/handlers
ExceptHandler leading_lines* ^ < 'except' _whitespace_after_except type name | _whitespace_before_colon \
        ':' body >body
ExceptStarHandler leading_lines* ^ < 'except' _whitespace_after_except '*' _whitespace_after_star type name \
        | _whitespace_before_colon ':' body >body
Finally leading_lines* ^ < 'finally' _whitespace_before_colon ':' body >body
With leading_lines* ^ < asynchronous 'with' _whitespace_after_with lpar items* rpar \
        | _whitespace_before_colon ':' body >body
WithItem item asname comma
Decorator leading_lines* ^ '@' _whitespace_after_at decorator trailing_whitespace
FunctionDef leading_lines* decorators* lines_after_decorators* ^ < asynchronous 'def' _whitespace_after_def \
        name _whitespace_after_name type_parameters _whitespace_after_type_parameters '(' \
        _whitespace_before_params params ')' ~returns _whitespace_before_colon ':' body >body
ClassDef leading_lines* decorators* lines_after_decorators* ^ < 'class' _whitespace_after_class name \
        _whitespace_after_name type_parameters _whitespace_after_type_parameters lpar bases* keywords* \
        rpar _whitespace_before_colon ':' body >body
MatchCase leading_lines* ^ < 'case' _whitespace_after_case pattern _whitespace_before_if guard?'if' \
        _whitespace_after_if guard _whitespace_before_colon ':' body >body
MatchValue < value >
MatchSingleton < value >
MatchSequenceElement value comma
MatchList ( lbracket patterns* rbracket )
MatchTuple ( patterns* )
MatchMappingElement key _whitespace_before_colon ':' _whitespace_after_colon pattern comma
MatchKeywordElement key _whitespace_before_equal '=' _whitespace_after_equal pattern comma
MatchClass ( cls _whitespace_after_cls '(' _whitespace_before_patterns patterns* kwds* \
        _whitespace_after_kwds ')' )
MatchAs ( pattern _whitespace_before_as pattern?'as' _whitespace_after_as name name!'_' )
MatchStar '*' _whitespace_before_name name name!'_' comma
MatchMapping ( lbrace elements* rest?'**' _whitespace_before_rest rest trailing_comma rbrace )
MatchOr ( patterns* )
MatchOrElement pattern separator
TrailingWhitespace _whitespace comment newline
Comment =value
"""


class Part(NamedTuple):
    """One part of a layout.

    `duty` is the part's sign: `_` for a child, `*` for several, else as above, or "" for none; `field` is the name beside
    the sign.  `width` is the width of the fixed text before the part, or of the text that the part may have.
    """

    duty: str
    field: str
    width: int


def layouts() -> dict[type, tuple[Part, ...]]:
    """The layouts by node type; older versions of libcst know fewer types."""
    rows = [row.split() for row in _TABLE.replace("\\\n", " ").splitlines() if row]
    table = {kind: parts for kind, *parts in rows}
    table |= {kind.__name__: [f"'{sign}'", "_whitespace_after"] for kind, sign in _PREFIX.items()}
    table |= {
        kind.__name__: ["_whitespace_before", f"'{sign}'", "_whitespace_after"]
        for kind, sign in _INFIX.items()
    }
    known = ((getattr(cst, name, None), parts) for name, parts in table.items())
    return {kind: tuple(_parts(kind, parts)) for kind, parts in known if kind is not None}


def _parts(kind: type[cst.CSTNode], parts: Sequence[str]) -> Iterator[Part]:
    width = 0
    for part in parts:
        name, quote, text = part.partition("'")
        field = name.strip("_=~<>()|^*?!")
        if quote and not field:
            width += len(text) - 1
        elif quote:
            yield Part("", "", width)
            yield Part(name[-1], field, len(text) - 1)
            width = 0
        elif not field or field.partition("/")[0] in kind.__dataclass_fields__:
            sign = "*" if part[-1] == "*" else part[0]
            yield Part("_" if sign.isalpha() else sign, field, width)
            width = 0
    if width:
        yield Part("", "", width)


# ---- measuring ----

_DEFAULT = cst.MaybeSentinel.DEFAULT
_Space = cst.SimpleWhitespace
_BLANKS = tuple(" \t\f\r\n\\")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Positions:
    """Spans and source text of the nodes of one module; the module must outlive it.

    `text` is the parsed text.  Positions refer to the original text if `translation` produced `text` from it.
    Raises `UnknownSyntax` for an unknown node type.
    """

    def __init__(self, module: cst.Module, text: str, translation: Translation | None = None) -> None:
        tape = _Tape(module, _programs())
        length = _measure(module, tape)
        self._extents = tape.extents
        self._headers = tape.headers
        if length != len(text):
            self._move(*_aligned(module.code, text))
        if translation is not None:
            origins = [translation.origin(offset) for offset in range(len(text) + 1)]
            self._move(origins, origins)
        self._text = text if translation is None else translation.old
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(self._text))]

    def _move(self, starts: list[int], ends: list[int]) -> None:
        """Map every offset to another text."""
        self._extents = {key: (starts[start], ends[end]) for key, (start, end) in self._extents.items()}
        self._headers = {key: ends[end] for key, end in self._headers.items()}

    def span(self, node: cst.CSTNode) -> Span:
        """The node without surrounding white space and parentheses; a comprehension's `for` ends before its `if`."""
        return self._between(*self._extents[id(node)])

    def whole(self) -> Span:
        """The whole file."""
        return self._between(0, len(self._text))

    def header(self, node: cst.CSTNode) -> Span:
        """A compound statement up to its colon, without the space before it."""
        return self._between(self.start(node), self._headers[id(node)])

    def through(self, node: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of one node to the end of another, including their parentheses."""
        first = node.lpar[0] if isinstance(node, cst.BaseExpression) and node.lpar else node
        last = last.rpar[-1] if isinstance(last, cst.BaseExpression) and last.rpar else last
        return self._between(self.start(first), self._extents[id(last)][1])

    def word(self, node: cst.CSTNode, length: int) -> Span:
        """The first characters of a node, usually its keyword."""
        start = self.start(node)
        return self._between(start, start + length)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        start, end = self._extents[id(node)]
        return self._text[start:end]

    def repeated(self, node: cst.CSTNode) -> bool:
        """Whether the text of a node occurs more than once in the file."""
        return self._text.count(self.text(node)) > 1

    def start(self, node: cst.CSTNode) -> int:
        """The offset of a node in the file."""
        return self._extents[id(node)][0]

    def _between(self, start: int, end: int) -> Span:
        lines = self._lines
        first = bisect_right(lines, start)
        last = first if first == len(lines) or end < lines[first] else bisect_right(lines, end)
        return Span(first, start - lines[first - 1] + 1, last, end - lines[last - 1] + 1)


def _aligned(code: str, text: str) -> tuple[list[int], list[int]]:
    """Map the offsets of a tree's generated code to the parsed text, as starts and as ends.

    libcst loses some white space: a form feed at the start of a line, a continuation before a statement, the space
    before the colon of some headers.
    """
    starts, ends = [], [0]
    place = 0
    for char in code:
        found = place
        while not text.startswith(char, found) and text[found : found + 1] in _BLANKS:
            found += 1
        if text.startswith(char, found):
            place = found
            starts.append(place)
            place += 1
        else:  # the text does not have this character: its width is 0
            starts.append(place)
        ends.append(place)
    return [*starts, place], ends


# ---- measuring ----


@dataclass(slots=True, eq=False)
class _Tape:
    """The result of measuring: the offsets of nodes, and of the ends of their headers, by `id`."""

    module: cst.Module
    programs: "Table[type, _Program]"
    extents: dict[int, tuple[int, int]] = field(default_factory=dict)
    headers: dict[int, int] = field(default_factory=dict)
    indent: int = 0
    newline: int = 0  # the width of the last line end


def _measure(module: cst.Module, tape: _Tape) -> int:
    """Measure a module; return its length."""
    at = 0
    for part in (module.header, module.body, module.footer):
        at = _all(part, at, tape)
    if module.has_trailing_newline:
        return at or len(module.default_newline)
    return at - tape.newline if at else 0


def _all(nodes: Sequence[cst.CSTNode], at: int, tape: _Tape) -> int:
    for node in nodes:
        at = _one(node, at, tape)
    return at


def _one(node: Any, at: int, tape: _Tape) -> int:
    """Measure a child, which may be absent."""
    if node is None or node is _DEFAULT:
        return at
    program = tape.programs[type(node)]
    if not isinstance(program, tuple):
        return program(node, at, tape)
    start = at
    for duty, name, width in program:
        at += width
        if duty == "_":
            inner = getattr(node, name)
            if type(inner) is _Space:
                at += len(inner.value)
            elif inner is not None and inner is not _DEFAULT:
                at = _one(inner, at, tape)
        elif duty == "*":
            inner = getattr(node, name)
            at = _all(inner if isinstance(inner, (tuple, list)) else (inner,), at, tape)
        elif duty == "(":
            at = start = _all(node.lpar, at, tape)
        elif duty == ")":
            tape.extents[id(node)] = (start, at)
            at = _all(node.rpar, at, tape)
        elif duty == "<":
            start = at
        elif duty == ">":
            tape.extents[id(node)] = (start, _end_of(node, name, tape) if name else at)
        else:
            at = _rare(node, (duty, name, width), at, tape)
    return at


def _rare(node: Any, part: tuple[str, str, int], at: int, tape: _Tape) -> int:
    """The end of a part of a less frequent kind."""
    duty, name, width = part
    if duty == "^":
        return at + tape.indent
    if duty == "=":
        text = getattr(node, name)
        return at + (len(text) if isinstance(text, str) else 0)
    if duty in ("?", "!"):
        present = getattr(node, name) is not None
        return at if present == (duty == "?") else at - width
    if duty == "~" and node.returns is not None:
        return _one(node.returns, at + 1, tape)
    if duty == "|":
        tape.headers[id(node)] = at
    return at


def _end_of(node: cst.CSTNode, fields: str, tape: _Tape) -> int:
    """The end of the first child that is present."""
    children = (getattr(node, field) for field in fields.split("/"))
    last = next(child for child in children if child)
    return tape.extents[id(last[-1] if isinstance(last, (tuple, list)) else last)][1]


def _word(node: Any, at: int, tape: _Tape) -> int:
    """A name or a literal, which half of all expressions are."""
    start = _all(node.lpar, at, tape) if node.lpar else at
    end = start + len(node.value)
    tape.extents[id(node)] = (start, end)
    return _all(node.rpar, end, tape) if node.rpar else end


# ---- lines and blocks ----


def _newline(node: cst.Newline, at: int, tape: _Tape) -> int:
    tape.newline = len(tape.module.default_newline if node.value is None else node.value)
    return at + tape.newline


def _empty_line(node: cst.EmptyLine, at: int, tape: _Tape) -> int:
    at += len(node.whitespace.value) + (tape.indent if node.indent else 0)
    return _newline(node.newline, _one(node.comment, at, tape), tape)


def _parenthesized_space(node: cst.ParenthesizedWhitespace, at: int, tape: _Tape) -> int:
    at = _all(node.empty_lines, _one(node.first_line, at, tape), tape)
    return at + len(node.last_line.value) + (tape.indent if node.indent else 0)


def _indented(node: Any, body: Sequence[cst.CSTNode], at: int, tape: _Tape) -> int:
    outer = tape.indent
    tape.indent += len(tape.module.default_indent if node.indent is None else node.indent)
    at = _all(node.footer, _all(body, at, tape), tape)
    tape.indent = outer
    return at


def _block(node: cst.IndentedBlock, at: int, tape: _Tape) -> int:
    at = _indented(node, node.body, _one(node.header, at, tape), tape)
    extents = tape.extents
    extents[id(node)] = (extents[id(node.body[0])][0], extents[id(node.body[-1])][1])
    return at


def _if(node: cst.If, at: int, tape: _Tape) -> int:
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


def _match(node: cst.Match, at: int, tape: _Tape) -> int:
    start = at = _all(node.leading_lines, at, tape) + tape.indent
    at = _one(node.subject, _one(node.whitespace_after_match, at + len("match"), tape), tape)
    at = _one(node.whitespace_after_colon, _one(node.whitespace_before_colon, at, tape) + len(":"), tape)
    at = _indented(node, node.cases, at, tape)
    tape.extents[id(node)] = (start, tape.extents[id(node.cases[-1])][1])
    return at


_Program: TypeAlias = tuple[Part, ...] | Callable[[Any, int, _Tape], int]


@cache
def _programs() -> Table[type, _Program]:
    """How to measure each node type: its layout, or a function."""
    programs: Table[type, _Program] = Table(layouts())
    programs |= dict.fromkeys((cst.Name, cst.Integer, cst.Float, cst.SimpleString), _word)
    programs |= {
        cst.SimpleWhitespace: lambda node, at, _tape: at + len(node.value),
        cst.Newline: _newline,
        cst.EmptyLine: _empty_line,
        cst.ParenthesizedWhitespace: _parenthesized_space,
        cst.IndentedBlock: _block,
        cst.If: _if,
        cst.Match: _match,
    }
    return programs
