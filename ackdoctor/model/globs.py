"""Glob patterns in the sense of .gitignore, matched in time linear in the path for each star.

A regular expression of `*a*a*a*b` backtracks without end; `fnmatch.translate` makes one that does not.  It knows no slash,
so a path is matched segment by segment.
"""

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import TypeAlias

__all__ = ["Glob", "fits", "pattern_of", "segment"]

Glob: TypeAlias = tuple["re.Pattern[str] | None", ...]  # one for each segment; None is `**`
_ANY = re.compile(translate("?*"))
_NOTHING = re.compile(r"(?!)")


def segment(text: str) -> str | None:
    """The expression of a pattern without slashes; None where a bracket is open or its range is none."""
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


def pattern_of(text: str, *, literal: bool = False) -> Glob | None:
    """A pattern with slashes, `**` being any number of segments, at its end at least one.

    A segment that is no pattern makes it None, or with `literal` stands for itself.
    """
    found: list[re.Pattern[str] | None] = []
    for text_of in text.split("/"):
        expression = segment(text_of)
        if expression is None and not literal:
            return None
        found.append(None if text_of == "**" else re.compile(expression or re.escape(text_of) + r"\Z"))
    return (*found, _ANY) if found[-1] is None else tuple(found)


def fits(pattern: Glob, path: Sequence[str]) -> bool:
    """Whether a pattern fits all segments of a path; only the last `**` is tried at another place, as is right for stars."""
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
