"""Locations and comments in source files."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["NOWHERE", "Comment", "Site", "Span"]


class Span(NamedTuple):
    """A range of text: lines and columns count from 1, columns in characters, the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span(1, 1, 1, 1)


@dataclass(slots=True, unsafe_hash=True)
class Site:
    """A span in a named file; `path` is the path as the user will read it, with forward slashes."""

    path: str
    span: Span

    def __str__(self) -> str:
        return f"{self.path}:{self.span.line}:{self.span.column}"


@dataclass(slots=True, kw_only=True)
class Comment:
    """One line of a comment, with its comment mark; `first` to `last` are the lines of the code that it describes.

    `at_top` says that no code is before it, except what the language allows there (a docstring, imports).
    """

    line: int
    column: int
    text: str
    at_top: bool = False
    first: int = 0
    last: int = 0
