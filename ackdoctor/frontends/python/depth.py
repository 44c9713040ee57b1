"""Refuses what would take the parser down.

libcst's parser is recursive: some thousand nested brackets overflow its stack, which ends the
process, and an operator chain of some thousand terms takes it many seconds.  A first look counts
brackets line by line, at a small fraction of the parser's price; only text that looks suspicious
(or has its brackets in strings) is tokenized.
"""

from typing import NamedTuple

from ackdoctor.frontends.python.tokens import Token, tokens

__all__ = ["TooDeep", "too_deep"]

_MOST_BRACKETS = 100
_LONGEST_CHAIN = 500  # operators, through all brackets that are open
_LONG_LINE = 500  # characters
_LONG_STATEMENT = 150  # lines
_CHAINING = frozenset(("if", "else", "not", "and", "or", "lambda", "await", "in", "is", "for"))
_LINKS = frozenset(("op", "string"))
_NEW_CHAIN = frozenset((",", ";"))


class TooDeep(NamedTuple):
    """Where the nesting passes what can be read; both from 1."""

    line: int
    column: int


def too_deep(text: str) -> TooDeep | None:
    """Where a text is nested too deeply, if anywhere."""
    if not _suspicious(text):
        return None
    token = _offender(text)
    if token is None:
        return None
    before = text[: token.start]
    line = before.count("\n") + before.count("\r") - before.count("\r\n") + 1
    column = token.start - max(before.rfind("\n"), before.rfind("\r"))
    return TooDeep(line, column)


def _suspicious(text: str) -> bool:
    depth = lowest = inside = 0
    for line in text.splitlines():
        if len(line) > _LONG_LINE:
            return True
        count = line.count
        opened = count("(") + count("[") + count("{")
        closed = count(")") + count("]") + count("}")
        depth += opened - closed
        if opened > _MOST_BRACKETS or depth - lowest > _MOST_BRACKETS // 2:
            return True
        if depth <= lowest and not line.endswith("\\"):
            lowest, inside = depth, 0
        else:
            inside += 1
            if inside > _LONG_STATEMENT:
                return True
    return False


def _offender(text: str) -> Token | None:
    """The token that opens one bracket too many, or that makes a chain too long."""
    chains = [0]  # links since the last comma, per open bracket
    total = 0
    for token in tokens(text):
        kind, word = token.kind, token.text
        if kind == "open":
            chains.append(0)
        elif kind == "close":
            total += 1 - chains[-1]
            chains[-2:] = [sum(chains[-2:-1]) + 1]
        elif word in _NEW_CHAIN or (kind == "newline" and len(chains) == 1):
            total -= chains[-1]
            chains[-1] = 0
        elif (kind in _LINKS and word != ":") or word in _CHAINING:
            total += 1
            chains[-1] += 1
        if len(chains) > _MOST_BRACKETS or total > _LONGEST_CHAIN:
            return token
        if kind == "string" and _nested_braces(word):
            return token
    return None


def _nested_braces(text: str) -> bool:
    """Whether an f-string holds more nested brackets than can be read."""
    if "f" not in text[:2].lower():
        return False
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest > _MOST_BRACKETS
