"""What an author tells us in a source file: one shape, whatever the language writes it in."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackdoctor.lint.languages.comment import Comment

__all__ = ["Directive", "Style"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Directive:
    """One request to silence rules; `first` to `last` are the lines of the statement (or header) it speaks of.

    `word` is "ignore", "ignore-file", or what else the author wrote; `written` is how messages quote it.
    `at_top` says that no code stands before it, and `top` what code that would be.  `example` shows how such
    a request is written well.  Columns start at 1, `end_column` is behind the last character.
    """

    line: int
    column: int
    end_column: int
    word: str
    names: tuple[str, ...]
    reason: str
    written: str
    at_top: bool
    top: str
    example: str
    first: int
    last: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Style:
    """How a language writes comments: the mark (a regular expression), what stands below the top, an example."""

    mark: str
    top: str
    example: str

    def read(self, comments: "Iterable[Comment]") -> Iterator[Directive]:
        """The directives in these comments; a reason ends at the next comment mark."""
        pattern = re.compile(_DIRECTIVE.format(mark=self.mark))
        for comment in comments:
            for found in pattern.finditer(comment.text):
                word = found["word"]
                names = tuple(name.strip() for name in (found["rules"] or "").split(",") if name.strip())
                yield Directive(
                    line=comment.line,
                    column=comment.column + found.start(),
                    end_column=comment.column + found.end(),
                    word=word,
                    names=names,
                    reason=found["reason"].strip(" \t-:"),
                    written=f"{word}[{', '.join(names)}]" if names else f"ackdoctor: {word}",
                    at_top=comment.at_top,
                    top=self.top,
                    example=self.example,
                    first=comment.first,
                    last=comment.last,
                )


_DIRECTIVE = (
    r"(?:{mark})\s*ackdoctor:\s*(?P<word>[\w-]*)(?:\s*\[(?P<rules>[^\]]*)\])?"
    r"(?P<reason>.*?)(?=\s+(?:{mark})(?:\s|ackdoctor:)|\s*$)"
)
