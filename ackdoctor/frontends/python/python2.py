"""Translation of Python 2 syntax to Python 3.

The translation edits tokens and records every edit, so that each offset in the new text maps back to the old one.
It changes syntax only: the statements `print`, `exec`, `raise E, v` and `except E, e`, the operator `<>`,
backquotes, old numbers and string prefixes, tuple parameters (flattened), names that are keywords now, and tabs.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.frontends.python.source import Token, tokens

__all__ = ["Translation", "is_python2", "translate"]

_COMPOUND = frozenset(
    ("if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class")
)
_OLD_NUMBER = re.compile(r"(0[xXbBoO][\da-fA-F]+|\d+)[lL]?")
_ASYNC = frozenset(("def", "for", "with"))
_OLD_WORDS = (
    "python2 Queue StringIO cPickle ConfigParser urllib2 urlparse httplib "
    "xrange( unicode( unichr( raw_input( basestring .iteritems( .itervalues( .iterkeys( .has_key("
).split()
_ONLY_PYTHON2 = re.compile(
    r"^#!.*python2"
    r"|^[ \t]*(?:import|from) (?:Queue|c?StringIO|cPickle|ConfigParser|urllib2|urlparse|httplib)\b"
    r"|(?<![\w.])(?:xrange|unicode|unichr|raw_input)\("
    r"|\bbasestring\b"
    r"|(?<!six)\.(?:iteritems|itervalues|iterkeys|has_key)\(",
    re.MULTILINE,
)
_ENDS_NAME = frozenset(("=", ",", ")", "]", ".", ":", "(", ""))


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class Translation:
    """The translated text, and the map of its offsets to the old text."""

    def __init__(self, old: str, edits: list[_Edit]) -> None:
        pieces: list[str] = []
        self._new: list[int] = []
        self._edits = sorted(edits)
        place = length = 0
        for edit in self._edits:
            pieces += (old[place : edit.start], edit.text)
            length += edit.start - place
            self._new.append(length)
            length += len(edit.text)
            place = edit.end
        pieces.append(old[place:])
        self.old = old
        self.text = "".join(pieces)

    def origin(self, offset: int) -> int:
        """The offset in the old text of an offset in the new one."""
        index = bisect_right(self._new, offset) - 1
        if index < 0:
            return offset
        edit = self._edits[index]
        inside = offset - self._new[index]
        if inside < len(edit.text):
            return min(edit.start + inside, edit.end)
        return edit.end + inside - len(edit.text)


def is_python2(text: str) -> bool:
    """Whether a text uses names that only Python 2 has; it may still parse as Python 3."""
    return any(word in text for word in _OLD_WORDS) and _ONLY_PYTHON2.search(text) is not None


def translate(text: str) -> Translation | None:
    """The text in Python 3's syntax; None if no edit is needed."""
    edits: list[_Edit] = []
    functional = "print_function" in text
    for statement in _statements(text, edits):
        word = statement[0].text
        if word == "print" and not functional:
            edits += _print(statement)
        elif word == "exec":
            edits += _exec(statement)
        elif word == "raise":
            edits += _raise(statement)
        elif word == "except":
            edits += _except(statement)
    return Translation(text, edits) if edits else None


def _statements(text: str, edits: list[_Edit]) -> Iterator[list[Token]]:
    """Statements and block headers without white space and comments; adds the edits of single tokens."""
    found: list[Token] = []
    depth = 0
    line_start = True
    in_backquotes = False
    for token in tokens(text):
        kind = token.kind
        if kind == "newline":
            line_start = True
            if depth == 0:
                yield from _with_edits(found, edits)
                found = []
            continue
        if kind == "space":
            if line_start and "\t" in token.text and depth == 0:
                edits.append(_Edit(token.start, token.end, token.text.expandtabs(8)))
            continue
        line_start = False
        if kind == "comment":
            continue
        if token.text == "`":
            edits.append(_Edit(token.start, token.end, ")" if in_backquotes else "repr("))
            in_backquotes = not in_backquotes
        edits += _token_edits(token)
        depth = max(0, depth + (kind == "open") - (kind == "close"))
        if depth == 0 and (token.text == ";" or (token.text == ":" and found and found[0].text in _COMPOUND)):
            yield from _with_edits(found, edits)
            found = []
        else:
            found.append(token)
    yield from _with_edits(found, edits)


def _with_edits(statement: list[Token], edits: list[_Edit]) -> Iterator[list[Token]]:
    if statement:
        edits += _keyword_edits(statement)
        edits += _tuple_parameters(statement)
        yield statement


def _token_edits(token: Token) -> list[_Edit]:
    """The edits of a token that do not depend on its context."""
    kind, text = token.kind, token.text
    if text == "<>":
        return [_Edit(token.start, token.end, "!=")]
    if kind == "string" and text[:2].lower() == "ur":
        return [_Edit(token.start, token.start + 1, "")]
    if kind == "number" and _OLD_NUMBER.fullmatch(text):
        new = text.rstrip("lL")
        if new.isdigit() and new[0] == "0" and new.strip("0"):
            new = f"0o{new[1:]}"
        if new != text:
            return [_Edit(token.start, token.end, new)]
    return []


def _keyword_edits(statement: Sequence[Token]) -> Iterator[_Edit]:
    """Rename `async` and `await` if they are plain names."""
    for place, token in enumerate(statement):
        if token.text not in ("async", "await"):
            continue
        after = statement[place + 1].text if place + 1 < len(statement) else ""
        before = statement[place - 1].text if place else ""
        if before == "." or (after not in _ASYNC if token.text == "async" else after in _ENDS_NAME):
            yield _Edit(token.end, token.end, "_")


def _tuple_parameters(statement: Sequence[Token]) -> Iterator[_Edit]:
    """Remove the inner parentheses of `def f(a, (b, c))` and `lambda (k, v): ...`."""
    if statement[0].text == "def" and _opens(statement, 2):
        yield from _flatten(statement[3 : _closing(statement, 2)])
    for place, token in enumerate(statement):
        if token.text == "lambda":
            end = place + 1
            while end < len(statement) and statement[end].text != ":":
                end = (_closing(statement, end) if statement[end].kind == "open" else end) + 1
            yield from _flatten(statement[place + 1 : end])


def _opens(statement: Sequence[Token], place: int) -> bool:
    return place < len(statement) and statement[place].text == "("


def _flatten(params: Sequence[Token]) -> Iterator[_Edit]:
    place = 0
    while place < len(params):
        token, before = params[place], params[place - 1] if place else None
        if token.kind == "open":
            if token.text == "(" and (before is None or before.text in ("(", ",")):
                yield _Edit(token.start, token.end, " ")
            else:
                place = _closing(params, place)  # a default value
        elif token.kind == "close":
            yield _Edit(token.start, token.end, " ")
            if before is not None and before.text == ",":
                yield _Edit(before.start, before.end, " ")
        place += 1


def _closing(statement: Sequence[Token], place: int) -> int:
    """The index of the bracket that closes the one at `place`."""
    depth = 0
    for end in range(place, len(statement)):
        depth += (statement[end].kind == "open") - (statement[end].kind == "close")
        if depth == 0:
            return end
    return len(statement) - 1


# ---- statements ----


def _top_level(statement: Sequence[Token], word: str) -> list[int]:
    """The indices of a token outside all brackets."""
    depth, places = 0, []
    for place, token in enumerate(statement):
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0 and token.text == word:
            places.append(place)
    return places


def _is_call(statement: Sequence[Token]) -> bool:
    """Whether one pair of parentheses encloses everything after the first word."""
    return _opens(statement, 1) and _closing(statement, 1) == len(statement) - 1


def _print(statement: Sequence[Token]) -> list[_Edit]:
    first, last = statement[0], statement[-1]
    if len(statement) == 1:
        return [_Edit(first.end, first.end, "()")]
    if _is_call(statement):
        return []
    if statement[1].text != ">>":
        return [_Edit(first.end, first.end, "("), _Edit(last.end, last.end, ")")]
    commas = _top_level(statement, ",")
    edits = [_Edit(statement[1].start, statement[1].end, "(file=")]
    if not commas or commas[0] == len(statement) - 1:
        return [*edits, _Edit(last.end, last.end, ")")]
    comma = statement[commas[0]]
    return [*edits, _Edit(comma.end, comma.end, "*["), _Edit(last.end, last.end, "])")]


def _exec(statement: Sequence[Token]) -> list[_Edit]:
    if len(statement) == 1 or _is_call(statement) or statement[1].text in ("=", ".", ","):
        return []
    first, last = statement[0], statement[-1]
    edits = [_Edit(first.end, first.end, "("), _Edit(last.end, last.end, ")")]
    edits += [_Edit(statement[at].start, statement[at].end, ",") for at in _top_level(statement, "in")]
    return edits


def _raise(statement: Sequence[Token]) -> list[_Edit]:
    commas = [statement[place] for place in _top_level(statement, ",")]
    if not commas:
        return []
    edits = [_Edit(commas[0].start, commas[0].end, "(")]
    edits += [_Edit(comma.start, comma.end, ").with_traceback(") for comma in commas[1:2]]
    return [*edits, _Edit(statement[-1].end, statement[-1].end, ")")]


def _except(statement: Sequence[Token]) -> list[_Edit]:
    """`except E, e`; a handler that unpacks the exception keeps only the first name."""
    words = [place for place, token in enumerate(statement) if token.text == "as"]
    marks = words or _top_level(statement, ",")
    if not marks:
        return []
    mark, target = statement[marks[0]], statement[marks[0] + 1 :]
    names = [token.text for token in target if token.kind == "name"]
    if not names or (words and len(target) == 1):
        return []
    if len(target) == 1:
        return [_Edit(mark.start, mark.end, " as ")]
    return [_Edit(mark.start, target[-1].end, f"{'' if words else ' '}as {names[0]}")]
