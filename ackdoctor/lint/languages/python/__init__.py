"""Python, as the engine sees it."""

import re
from collections.abc import Callable, Iterable, Sequence

from ackdoctor.lint.languages.directive import Directive, Style
from ackdoctor.lint.languages.outline import Outline
from ackdoctor.lint.languages.python import modules
from ackdoctor.lint.languages.python.modules import Modules
from ackdoctor.lint.languages.python.outline import meanings, outline, skeleton
from ackdoctor.lint.languages.reader import Lowered
from ackdoctor.model.encoding import cookie_of

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
    rb"def (?:process(?:_tuple)?[ \t]{0,9}\([ \t]{0,9}self[ \t]{0,9},[ \t]{0,9}(?:_?tup_?|(?:a_|storm_)?tuple_?)\b|next_tuple[ \t]{0,9}\([ \t]{0,9}self\b)"
)
_STYLE = Style(mark="#", top="statement", example="`# ackdoctor: ignore[ACK101] reason`")


def is_odd(data: bytes) -> bool:
    """Whether no Python source can look like that; a declared encoding is given the benefit of the doubt."""
    if b"\0" in data:
        return True
    if data.isascii():
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return cookie_of(data) is None
    return False


def is_shaped(data: bytes) -> bool:
    """Whether a method looks like a handler of tuples: `def process(self, tup)`, `def next_tuple(self)`."""
    return b"tup" in data and _SHAPE.search(data) is not None


def module_name(shown: str, _found: Outline) -> tuple[str, bool]:
    """The dotted name of a file, as long as its shown path is, and whether it is a package's own file."""
    return modules.module_name(shown)


def places(paths: Iterable[str], root: str, _outline_of: Callable[[str], Outline]) -> Modules:
    """The files of a run, by their module names."""
    return Modules(paths, root)


def helps(depth: int, *, named: bool, acts: bool) -> bool:  # noqa: ARG001  # a helper need not name the framework
    """Whether a file so many imports away is worth lowering: at once, or where it acks, fails or emits."""
    return depth == 1 or acts


def directives(data: bytes) -> Sequence[Directive]:
    """What the comments say."""
    from ackdoctor.lint.languages.python.comments import comments_of  # most runs need no lexer
    from ackdoctor.lint.languages.text import decode

    return list(_STYLE.read(comments_of(decode(data, cookie=True))))


def lower(shown: str, module: str, data: bytes, *, is_package: bool) -> Lowered:
    """The file as a unit, by libcst."""
    from ackdoctor.frontends.python import lower_source  # the parser
    from ackdoctor.model.component import Unit

    found = lower_source(path=shown, module=module, is_package=is_package, data=data)
    return Lowered(found, ()) if isinstance(found, Unit) else Lowered(None, (found,))
