"""Text to a libcst tree, or one line that says why not."""

import ast
import re
import warnings
from typing import NamedTuple

import libcst as cst

from ackdoctor.frontends.python.depth import too_deep
from ackdoctor.frontends.python.python2 import Translation, translate
from ackdoctor.model.finding import Unreadable

__all__ = ["TOO_DEEP", "Parsed", "parse"]

TOO_DEEP = "nested too deeply"
_WHERE = re.compile(r"error at (\d+):(\d+)")


class Parsed(NamedTuple):
    """A tree, the text it was made from, and the way back to the file where that was Python 2."""

    tree: cst.Module
    text: str
    translation: Translation | None


def parse(path: str, text: str) -> Parsed | Unreadable:
    """Parses as Python 3; where that fails, as Python 2."""
    deep = too_deep(text)
    if deep is not None:
        return Unreadable(path=path, line=deep.line, column=deep.column, reason=TOO_DEEP)
    try:
        return Parsed(cst.parse_module(text), text, None)
    except cst.ParserSyntaxError as error:
        return _parse_python2(text) or _complaint(path, text, error)


def _parse_python2(text: str) -> Parsed | None:
    translation = translate(text)
    if translation is None:
        return None
    try:
        return Parsed(cst.parse_module(translation.text), translation.text, translation)
    except cst.ParserSyntaxError:
        return None


def _complaint(path: str, text: str, error: cst.ParserSyntaxError) -> Unreadable:
    """The interpreter points at syntax errors better than libcst does, if it objects at all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as better:
        reason = f"syntax error: {better.msg}"
        return Unreadable(
            path=path, line=better.lineno or 0, column=max(better.offset or 0, 1), reason=reason
        )
    except (RecursionError, MemoryError):
        return Unreadable(path=path, line=0, column=0, reason=TOO_DEEP)
    except ValueError:
        pass
    where = _WHERE.search(str(error))
    line, column = (int(where[1]), int(where[2]) + 1) if where else (error.raw_line, error.raw_column + 1)
    return Unreadable(path=path, line=line, column=column, reason="syntax error")
