"""Java, as the engine sees it."""

import re
from collections.abc import Callable, Iterable, Sequence

from ackdoctor.lint.languages.directive import Directive, Style
from ackdoctor.lint.languages.java.outline import meanings, outline, skeleton
from ackdoctor.lint.languages.java.packages import Packages
from ackdoctor.lint.languages.outline import Outline
from ackdoctor.lint.languages.reader import Lowered

__all__ = [
    "directives",
    "helps",
    "is_odd",
    "is_shaped",
    "lower",
    "meanings",
    "module_name",
    "outline",
    "places",
    "skeleton",
]

_SHAPE = re.compile(
    rb"void\s{1,9}(?:(?:execute|process)\s{0,9}\(\s{0,9}(?:final\s{1,9})?(?:[\w.]{1,99}\.)?Tuple\s|nextTuple\s{0,9}\()"
)
_STYLE = Style(mark=r"//|/?\*+", top="class", example="`// ackdoctor: ignore[ACK101] reason`")
_EXAMPLE = '`@SuppressWarnings("ackdoctor:ACK101 reason")`'
_OURS = "ackdoctor:"


def is_odd(data: bytes) -> bool:
    """Whether no Java source can look like that.  Nothing in a file says how it is encoded."""
    return b"\0" in data


def is_shaped(data: bytes) -> bool:
    """Whether a method looks like a handler of tuples: `void execute(Tuple input)`, `void nextTuple()`."""
    return b"Tuple" in data and _SHAPE.search(data) is not None


def module_name(_shown: str, found: Outline) -> tuple[str, bool]:
    """The package that the file states."""
    return found.package, False


def places(paths: Iterable[str], root: str, outline_of: Callable[[str], Outline]) -> Packages:
    """The files of a run, by the classes that they hold."""
    return Packages(paths, root, outline_of)


def helps(depth: int, *, named: bool, acts: bool) -> bool:
    """Whether a file so many mentions away is worth lowering: what is given a tuple or a collector says so."""
    return named if depth == 1 else named and acts


def directives(data: bytes) -> Sequence[Directive]:
    """What comments and @SuppressWarnings say, by their place."""
    from ackdoctor.lint.languages.java.comments import comments_of  # most runs need no lexer
    from ackdoctor.lint.languages.text import decode

    comments, annotations = comments_of(decode(data, cookie=False))
    found = list(_STYLE.read(comment for comment in comments if _OURS in comment.text))
    for annotation in annotations:
        rule, _, reason = annotation.text.removeprefix(_OURS).strip().partition(" ")
        if annotation.text.startswith(_OURS):
            found.append(
                Directive(
                    line=annotation.line,
                    column=annotation.column,
                    end_column=annotation.end_column,
                    word="ignore",
                    names=(rule,) if rule else (),
                    reason=reason.strip(" \t-:") or annotation.beside.strip(" \t/*"),
                    written=f'@SuppressWarnings("{_OURS}{rule}")',
                    at_top=False,
                    top=_STYLE.top,
                    example=_EXAMPLE,
                    first=annotation.first,
                    last=annotation.last,
                )
            )
    return sorted(found, key=lambda directive: (directive.line, directive.column))


def lower(shown: str, module: str, data: bytes, *, is_package: bool) -> Lowered:  # noqa: ARG001  # the file says it
    """The file as a unit, by tree-sitter, read around what it cannot parse."""
    from dataclasses import replace

    from ackdoctor.frontends.java import lower_source  # the parser
    from ackdoctor.model.finding import Unreadable

    found = lower_source(path=shown, data=data)
    if isinstance(found, Unreadable):
        return Lowered(None, (found,))
    return Lowered(found.unit, tuple(replace(place, partial=True) for place in found.broken))
