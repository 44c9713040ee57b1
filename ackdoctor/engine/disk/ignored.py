"""Which paths a list of patterns leaves out, in the language of .gitignore.

A pattern with a slash before its end is anchored to the folder that holds the list; one without
matches a name at any depth; one that ends in a slash matches folders only; `!` takes back; the last
pattern that matches decides.  `*` and `?` stop at slashes, `**` does not.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

__all__ = ["Patterns"]

_SPECIAL = frozenset("*?[\\")


class _Rule(NamedTuple):
    """One pattern: what it means for what fits it, its expression, and what it is asked about."""

    leaves_out: bool
    text: str
    regex: str
    folders_only: bool
    anchored: bool


class _Group(NamedTuple):
    """Neighbouring rules of one sign: plain names, expressions for names, expressions for paths."""

    leaves_out: bool
    names: frozenset[str]
    name: re.Pattern[str] | None
    path: re.Pattern[str] | None

    def fits(self, path: str, name: str) -> bool:
        """Whether one of the rules fits."""
        return (
            name in self.names
            or (self.name is not None and self.name.fullmatch(name) is not None)
            or (self.path is not None and self.path.fullmatch(path) is not None)
        )


class Patterns:
    """A compiled list; a verdict is True (left out), False (taken back) or None (not mentioned)."""

    __slots__ = ("_files", "_folders")

    def __init__(self, lines: Iterable[str]) -> None:
        rules = [rule for line in lines if (rule := _translate(line)) is not None]
        self._folders = _groups(rules)
        self._files = _groups([rule for rule in rules if not rule.folders_only])

    def folder(self, path: str, name: str) -> bool | None:
        """The verdict on a folder; `path` is relative to the list's own folder, with forward slashes."""
        for group in self._folders:
            if group.fits(path, name):
                return group.leaves_out
        return None

    def file(self, path: str, name: str) -> bool | None:
        """The verdict on a file."""
        for group in self._files:
            if group.fits(path, name):
                return group.leaves_out
        return None


def _groups(rules: list[_Rule]) -> tuple[_Group, ...]:
    """The last rule decides, so the last group comes first."""
    runs = [list(run) for _, run in groupby(rules, key=lambda rule: rule.leaves_out)]
    return tuple(_group(run) for run in reversed(runs))


def _group(rules: list[_Rule]) -> _Group:
    plain = {rule.text for rule in rules if not rule.anchored and not set(rule.text) & _SPECIAL}
    names = [rule.regex for rule in rules if not rule.anchored and rule.text not in plain]
    paths = [rule.regex for rule in rules if rule.anchored]
    return _Group(rules[0].leaves_out, frozenset(plain), _either(names), _either(paths))


def _either(parts: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(parts)) if parts else None


def _translate(line: str) -> _Rule | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    leaves_out = not text.startswith("!")
    text = text if leaves_out else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    text = text.lstrip("/") if text.startswith("/") else text
    if not text:
        return None
    body = _body(text)
    try:
        re.compile(body)
    except re.error:
        return None
    return _Rule(leaves_out, text, f"(?:{body})", folders_only, anchored)


def _body(text: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
        elif text.startswith("**", at) and (at == 0 or text[at - 1] == "/") and at + 2 == len(text):
            out.append(".+")
            at += 2
        else:
            piece, at = _piece(text, at)
            out.append(piece)
    return "".join(out)


def _piece(text: str, at: int) -> tuple[str, int]:
    match text[at]:
        case "*":
            return "[^/]*", at + 1
        case "?":
            return "[^/]", at + 1
        case "[":
            return _bracket(text, at)
        case "\\" if at + 1 < len(text):
            return re.escape(text[at + 1]), at + 2
        case char:
            return re.escape(char), at + 1


def _bracket(text: str, at: int) -> tuple[str, int]:
    """`[a-z]`, `[!a-z]` or `[^a-z]`; a bracket that is never closed fits nothing."""
    start = at + 1
    negated = start < len(text) and text[start] in "!^"
    start += negated
    end = text.find("]", start + 1)
    if end < 0:
        return "(?!)", at + 1
    inner = text[start:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    return f"(?!/)[{'^' if negated else ''}{inner}]", end + 1
