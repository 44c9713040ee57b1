"""Patterns of .gitignore: the paths that a list of them excludes, and whether one of them fits a path.

A pattern with a slash before its end is anchored to the folder of the list; one without fits a name at any depth; one
that ends in a slash fits folders only; `!` re-includes; the last pattern that fits decides.  `*` and `?` stop at
slashes, `**` does not.

`fnmatch.translate` makes expressions that do not backtrack.  It knows no slash, so a path is matched segment by
segment, in time linear in the path for each star.  docs/decisions.md says why this is not pathspec.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, TypeAlias

_Path: TypeAlias = "tuple[re.Pattern[str] | None, ...]"  # one for each segment; None is `**`
_ANY = re.compile(translate("?*"))
_NOTHING = re.compile(r"(?!)")


class _Pattern(NamedTuple):
    """One line of a list; the expressions of its segments, None for `**`.  Without `anchored` it has one segment."""

    excludes: bool
    folders_only: bool
    anchored: bool
    segments: tuple[str | None, ...]


class _Group(NamedTuple):
    """Neighbouring patterns of one sign: an expression for names at any depth, and anchored paths."""

    excludes: bool
    name: re.Pattern[str]
    paths: tuple[_Path, ...]


class Patterns:
    """A compiled list of patterns."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = [pattern for line in lines if (pattern := _read(line)) is not None]
        self._for_folders = _groups(found)
        self._for_files = _groups(pattern for pattern in found if not pattern.folders_only)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return True if the path is excluded, False if it is re-included, None if no pattern fits.

        `path` is relative to the folder of the list, with forward slashes.
        """
        parts = path.split("/")
        for group in self._for_folders if folder else self._for_files:
            if group.name.match(parts[-1]) or any(_fits(pattern, parts) for pattern in group.paths):
                return group.excludes
        return None


def matches_glob(path: str, text: str) -> bool:
    """Whether a pattern fits a path or a folder above it; a segment without a valid set matches literally."""
    parts = path.split("/")
    pattern = _literal(text.strip("/"))
    if "/" not in text.rstrip("/"):
        return any(_fits(pattern, [part]) for part in parts)
    return _fits((*pattern, None), parts)


@lru_cache(maxsize=256)
def _literal(text: str) -> _Path:
    return _compiled(
        [None if part == "**" else _segment(part) or re.escape(part) + r"\Z" for part in text.split("/")]
    )


def _read(line: str) -> _Pattern | None:
    """Return the pattern of a line; None for a comment, a blank line, and a bracket that makes no set."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if text.startswith("#"):
        return None
    excludes = not text.startswith("!")
    text = text if excludes else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    parts = text.lstrip("/").split("/")
    segments = tuple(None if part == "**" and anchored else _segment(part) for part in parts)
    broken = any(segment is None and part != "**" for segment, part in zip(segments, parts, strict=True))
    return None if parts == [""] or broken else _Pattern(excludes, folders_only, anchored, segments)


def _groups(patterns: Iterable[_Pattern]) -> list[_Group]:
    """Group the patterns by sign; the last pattern decides, so the last group comes first."""
    groups = []
    for excludes, run in groupby(patterns, key=lambda pattern: pattern.excludes):
        same = list(dict.fromkeys(run))
        names = [str(pattern.segments[0]) for pattern in same if not pattern.anchored]
        paths = tuple(_compiled(pattern.segments) for pattern in same if pattern.anchored)
        groups.append(_Group(excludes, re.compile("|".join(names)) if names else _NOTHING, paths))
    return groups[::-1]


def _segment(text: str) -> str | None:
    """Return the expression of a pattern without slashes; None where a bracket is open or its range is empty."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and at < len(text):
            char = text[at]
            at += 1
            pieces.append(f"[{char}]" if char in "*?[" else char)
        elif char == "[":
            negated = text[at : at + 1] in ("!", "^")
            end = text.find("]", at + negated + 1)
            if end < 0:
                return None
            pieces.append(f"[{'!' if negated else ''}{text[at + negated : end]}]")
            at = end + 1
        else:
            pieces.append(char)
    expression = translate("".join(pieces))
    try:
        re.compile(expression)
    except re.error:  # `[z-a]` before Python 3.11
        return None
    return None if "(?!)" in expression else expression  # `[z-a]` since then


def _compiled(expressions: Sequence[str | None]) -> _Path:
    """Compile the segments; `**` is any number of segments, at the end at least one."""
    found = [None if expression is None else re.compile(expression) for expression in expressions]
    return (*found, _ANY) if found[-1] is None else tuple(found)


def _fits(pattern: _Path, path: Sequence[str]) -> bool:
    """Whether a pattern fits all segments of a path; it is enough to move the last `**`, as for stars."""
    at = place = 0
    star, tried = -1, 0
    while place < len(path):
        wanted = pattern[at] if at < len(pattern) else _NOTHING
        if wanted is None:
            star, tried = at, place
            at += 1
        elif wanted.match(path[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            tried += 1
            at, place = star + 1, tried
        else:
            return False
    return all(rest is None for rest in pattern[at:])
