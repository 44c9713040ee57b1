"""Where something stands in a source file."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["NOWHERE", "Site", "Span"]


class Span(NamedTuple):
    """A stretch of text: lines and columns count from 1, columns in characters, the end column is exclusive."""

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
