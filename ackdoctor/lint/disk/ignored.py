"""Which paths a list of patterns leaves out, in the language of .gitignore.

A pattern with a slash before its end is anchored to the folder that holds the list; one without
matches a name at any depth; one that ends in a slash matches folders only; `!` takes back; the last
pattern that matches decides.  `*` and `?` stop at slashes, `**` does not.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from ackdoctor.model.globs import Glob, fits, pattern_of, segment

__all__ = ["Patterns"]

_SPECIAL = frozenset("*?[\\")


class _Rule(NamedTuple):
    """One pattern: what it means for what fits it, and the pattern of a name or of a path."""

    leaves_out: bool
    text: str
    folders_only: bool
    name: str | None
    path: Glob | None


class _Group(NamedTuple):
    """Neighbouring rules of one sign: plain names, patterns for names, patterns for paths."""

    leaves_out: bool
    names: frozenset[str]
    name: re.Pattern[str] | None
    paths: tuple[Glob, ...]

    def fits(self, path: str, name: str) -> bool:
        """Whether one of the rules fits."""
        if name in self.names or (self.name is not None and self.name.match(name) is not None):
            return True
        parts = path.split("/") if self.paths else ()
        return any(fits(pattern, parts) for pattern in self.paths)


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
    plain = {rule.text for rule in rules if rule.name is not None and not set(rule.text) & _SPECIAL}
    names = dict.fromkeys(rule.name for rule in rules if rule.name is not None and rule.text not in plain)
    paths = dict.fromkeys(rule.path for rule in rules if rule.path is not None)
    return _Group(
        rules[0].leaves_out,
        frozenset(plain),
        re.compile("|".join(names)) if names else None,
        tuple(paths),
    )


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
    name, path = (None, pattern_of(text)) if anchored else (segment(text), None)
    return None if name is None and path is None else _Rule(leaves_out, text, folders_only, name, path)
