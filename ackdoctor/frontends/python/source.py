"""Source text before it is parsed: decoding, a lenient tokenizer, comments, the limit of nesting, and Python 2.

The tokenizer never fails, keeps every character, and reads every version of the language.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.frontends import TOO_DEEP, unreadable_after
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Comment, codec_of, cookie_of, lines_of

# ---- decoding ----


def decode(path: str, data: bytes) -> str | Unreadable:
    """The text of a source file without its byte order mark, decoded as Python does."""
    data = data.removeprefix(codecs.BOM_UTF8)
    cookie = cookie_of(data)
    encoding = "utf-8" if cookie is None else codec_of(cookie.name)
    if cookie is not None and encoding is None:
        reason = f"Python reads no source files in this encoding: {cookie.name}"
        return Unreadable(path=path, line=cookie.line, column=1, reason=reason)
    zero = data.find(b"\0")
    if zero >= 0:
        return unreadable_after(data[:zero], path, "a NUL byte: not source text")
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte 0x{data[error.start]:02x} cannot be decoded as {encoding}: {error.reason}"
        return unreadable_after(data[: error.start], path, reason)
    except ValueError as error:  # some codecs do not report the position
        reason = f"cannot be decoded as {encoding}: {error}"
        return Unreadable(path=path, line=cookie.line if cookie else 0, column=1, reason=reason)


# ---- tokens ----

_TOKEN = re.compile(
    r"""
      (?P<space>   [ \t\f]+ | \\(?:\r\n|\r|\n) )
    | (?P<string>  [A-Za-z]{0,2}
                   (?: '{3} (?:[^\\]|\\.)*? (?:'{3}|\Z)
                     | "{3} (?:[^\\]|\\.)*? (?:"{3}|\Z)
                     | '(?!'') (?:[^\\'\r\n]|\\(?:\r\n|.))* '?
                     | "(?!"") (?:[^\\"\r\n]|\\(?:\r\n|.))* "? ) )
    | (?P<comment> \#[^\r\n]* )
    | (?P<newline> \r\n | \r | \n )
    | (?P<number>  (?:\d|\.\d) (?:[eE][+-]\d|[\w.])* )
    | (?P<name>    \w+ )
    | (?P<open>    [(\[{] )
    | (?P<close>   [)\]}] )
    | (?P<op>      <> | >>=? | <<=? | \*\*=? | //=? | [-+*/%&|^@=!<>:]= | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    """One token: 'space', 'string', 'comment', 'newline', 'number', 'name', 'open', 'close' or 'op'."""

    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    """All tokens of a text, including white space."""
    for match in _TOKEN.finditer(text):
        yield _Token(match.lastgroup or "op", match[0], match.start(), match.end())


# ---- comments ----


def comments_of(text: str) -> list[Comment]:
    """Return all comments in order; Python 2 and unfinished files have comments, too.

    A comment describes the logical line that it is in.  Alone on its line it describes the next one, decorators
    included.  A comment after the last statement describes no line (0 to 0).
    """
    found: list[Comment] = []
    pending: list[Comment] = []  # comments whose logical line has not ended
    line, line_start, depth = 1, 0, 0
    first, code, at_top = 1, "", True  # code: "string" or the first character of the logical line's code
    for kind, word, start, _ in (*_tokens(text), _Token("end", "", len(text), len(text))):
        last = line
        if kind == "comment":
            at = at_top and not code
            pending.append(Comment(line=line, column=start - line_start + 1, text=word, at_top=at))
            found.append(pending[-1])
        elif kind not in ("space", "newline", "end"):
            depth += (kind == "open") - (kind == "close" and depth > 0)
            code = code or ("string" if kind == "string" else word[:1])
        lines = lines_of(word)
        if len(lines) > 1:
            line, line_start = line + len(lines) - 1, start + len(word) - len(lines[-1])
        if kind != "end" and (kind != "newline" or (depth and code)):
            continue
        if code:
            for comment in pending:
                comment.first = comment.first or first
                comment.last = last
            pending = [comment for comment in pending if comment.line < first] if code == "@" else []
            at_top = at_top and code == "string"
        first, code, depth = line, "", 0
    return found


# ---- nesting ----

# libcst's parser is recursive: some thousand nested brackets overflow the stack and end the process, and a chain of
# some thousand operators takes many seconds.
_MOST_BRACKETS = 100
_LONGEST_CHAIN = 500  # operators in all open brackets
_UNCHAINED = frozenset(("space", "comment", "number"))
_CHAINING = frozenset(("if", "else", "not", "and", "or", "lambda", "await", "in", "is", "for"))


def too_deep(path: str, text: str) -> Unreadable | None:
    """The first place where a text exceeds the limit of brackets or of operators."""
    chains = [0]  # operators and strings since the last comma, per open bracket
    total = 0
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup, match[0]
        if kind in _UNCHAINED:
            continue
        if kind == "open":
            chains.append(0)
        elif kind == "close":
            total += 1 - chains[-1]
            chains[-2:] = [sum(chains[-2:-1]) + 1]
        elif word in (",", ";") or (kind == "newline" and len(chains) == 1):
            total -= chains[-1]
            chains[-1] = 0
        elif (kind in ("op", "string") and word != ":") or word in _CHAINING:
            total += 1
            chains[-1] += 1
        exceeds = len(chains) > _MOST_BRACKETS or total > _LONGEST_CHAIN
        if exceeds or (kind == "string" and _deepest_bracket(word) > _MOST_BRACKETS):
            return unreadable_after(text[: match.start()], path, TOO_DEEP)
    return None


def _deepest_bracket(string: str) -> int:
    """How deep the brackets of an f-string are nested; 0 for other strings."""
    if "f" not in string[:2].lower():
        return 0
    depth = deepest = 0
    for char in string:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest


# ---- Python 2 ----

# The translation changes syntax only: the statements `print`, `exec`, `raise E, v` and `except E, e`, the operator `<>`,
# backquotes, old numbers and string prefixes, tuple parameters (flattened), names that are keywords now, and tabs.
_COMPOUND = frozenset(
    ("if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class")
)
_OLD_NUMBER = re.compile(r"(0[xXbBoO][\da-fA-F]+|\d+)[lL]?")
_ASYNC = frozenset(("def", "for", "with"))
_ENDS_NAME = frozenset(("=", ",", ")", "]", ".", ":", "(", ""))
_ONLY_PYTHON2 = re.compile(
    r"^#!.*python2"
    r"|^[ \t]*(?:import|from) (?:Queue|c?StringIO|cPickle|ConfigParser|urllib2|urlparse|httplib)\b"
    r"|(?<![\w.])(?:xrange|unicode|unichr|raw_input)\("
    r"|\bbasestring\b"
    r"|(?<!six)\.(?:iteritems|itervalues|iterkeys|has_key)\(",
    re.MULTILINE,
)
_OLD_HANDLER = re.compile(r"^[ \t]*except[ \t(][^:#\n]*,[ \t]*[a-z_]\w*[ \t]*:", re.MULTILINE)


def is_python2(text: str) -> bool:
    """Whether a text uses names that only Python 2 has; it may still parse as Python 3."""
    return _ONLY_PYTHON2.search(text) is not None


def has_old_handlers(text: str) -> bool:
    """Whether a text has `except E, e:`, in which Python 3.14 takes `e` for another class: the name says that it is none."""
    return _OLD_HANDLER.search(text) is not None


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class Translation:
    """The text in Python 3's syntax, and the map of its offsets to the old text."""

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
        self.old = old
        self.text = "".join([*pieces, old[place:]])

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


def translate(text: str) -> Translation | None:
    """Translate Python 2's syntax by edits of tokens; None if no edit is needed."""
    edits: list[_Edit] = []
    functional = "print_function" in text
    for statement in _statements(text, edits):
        edits += _keyword_edits(statement)
        edits += _tuple_parameters(statement)
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


def _statements(text: str, edits: list[_Edit]) -> Iterator[list[_Token]]:
    """Statements and block headers without white space and comments; adds the edits of single tokens."""
    found: list[_Token] = []
    depth = 0
    line_start, in_backquotes = True, False
    for token in (*_tokens(text), _Token("end", "", len(text), len(text))):
        kind, word, start, end = token
        ends = kind == "end" or (kind == "newline" and depth == 0)
        if kind == "space" and line_start and "\t" in word and depth == 0:
            edits.append(_Edit(start, end, word.expandtabs(8)))
        line_start = kind == "newline" or (line_start and kind == "space")
        if kind not in ("newline", "space", "comment", "end"):
            if word == "`":
                edits.append(_Edit(start, end, ")" if in_backquotes else "repr("))
                in_backquotes = not in_backquotes
            edits += _token_edits(token)
            depth = max(0, depth + (kind == "open") - (kind == "close"))
            header = word == ":" and found and found[0].text in _COMPOUND
            ends = depth == 0 and (word == ";" or bool(header))
            if not ends:
                found.append(token)
        if ends and found:
            yield found
            found = []


def _token_edits(token: _Token) -> list[_Edit]:
    """The edits of a token that do not depend on its context."""
    kind, text, start, end = token
    if text == "<>":
        return [_Edit(start, end, "!=")]
    if kind == "string" and text[:2].lower() == "ur":
        return [_Edit(start, start + 1, "")]
    if kind == "number" and _OLD_NUMBER.fullmatch(text):
        new = text.rstrip("lL")
        if new.isdigit() and new[0] == "0" and new.strip("0"):
            new = f"0o{new[1:]}"
        if new != text:
            return [_Edit(start, end, new)]
    return []


def _keyword_edits(statement: Sequence[_Token]) -> Iterator[_Edit]:
    """Rename `async` and `await` if they are plain names."""
    words = ["", *(token.text for token in statement), ""]
    for token, before, word, after in zip(statement, words, words[1:], words[2:], strict=False):
        is_name = after not in _ASYNC if word == "async" else word == "await" and after in _ENDS_NAME
        if is_name or (before == "." and word in ("async", "await")):
            yield _Edit(token.end, token.end, "_")


def _tuple_parameters(statement: Sequence[_Token]) -> Iterator[_Edit]:
    """Remove the inner parentheses of `def f(a, (b, c))` and `lambda (k, v): ...`."""
    if [token.text for token in (statement[0], *statement[2:3])] == ["def", "("]:
        yield from _flatten(statement[3 : _closing(statement, 2)])
    for place, token in enumerate(statement):
        if token.text == "lambda":
            end = place + 1
            while end < len(statement) and statement[end].text != ":":
                end = (_closing(statement, end) if statement[end].kind == "open" else end) + 1
            yield from _flatten(statement[place + 1 : end])


def _flatten(params: Sequence[_Token]) -> Iterator[_Edit]:
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


def _closing(statement: Sequence[_Token], place: int) -> int:
    """The index of the bracket that closes the one at `place`."""
    depth = 0
    for end in range(place, len(statement)):
        depth += (statement[end].kind == "open") - (statement[end].kind == "close")
        if depth == 0:
            return end
    return len(statement) - 1


def _top_level(statement: Sequence[_Token], word: str) -> list[int]:
    """The indices of a token outside all brackets."""
    depth, places = 0, []
    for place, token in enumerate(statement):
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0 and token.text == word:
            places.append(place)
    return places


def _is_call(statement: Sequence[_Token]) -> bool:
    """Whether one pair of parentheses encloses everything after the first word."""
    return statement[1].text == "(" and _closing(statement, 1) == len(statement) - 1


def _print(statement: Sequence[_Token]) -> list[_Edit]:
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


def _exec(statement: Sequence[_Token]) -> list[_Edit]:
    if len(statement) == 1 or _is_call(statement) or statement[1].text in ("=", ".", ","):
        return []
    first, last = statement[0], statement[-1]
    edits = [_Edit(first.end, first.end, "("), _Edit(last.end, last.end, ")")]
    edits += [_Edit(statement[at].start, statement[at].end, ",") for at in _top_level(statement, "in")]
    return edits


def _raise(statement: Sequence[_Token]) -> list[_Edit]:
    commas = [statement[place] for place in _top_level(statement, ",")]
    if not commas:
        return []
    edits = [_Edit(commas[0].start, commas[0].end, "(")]
    edits += [_Edit(comma.start, comma.end, ").with_traceback(") for comma in commas[1:2]]
    return [*edits, _Edit(statement[-1].end, statement[-1].end, ")")]


def _except(statement: Sequence[_Token]) -> list[_Edit]:
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
