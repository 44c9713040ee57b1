"""A comment in a source file, in whatever language."""

from dataclasses import dataclass

__all__ = ["Comment"]


@dataclass(slots=True, kw_only=True)
class Comment:
    """One line of a comment; `first` to `last` are the lines of the statement (or header) it speaks of.

    Which that is, and what may stand before it `at_top`, the lexer of the language knows.
    """

    line: int
    column: int
    text: str
    at_top: bool
    first: int = 0
    last: int = 0
