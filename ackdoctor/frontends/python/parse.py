"""Text to a libcst tree, or the reason why it cannot be parsed."""

import ast
import re
import warnings
from typing import NamedTuple

import libcst as cst

from ackdoctor.frontends.python.python2 import Translation, translate
from ackdoctor.frontends.python.source import too_deep
from ackdoctor.model.finding import Unreadable

__all__ = ["TOO_DEEP", "Parsed", "parse"]

TOO_DEEP = "nested too deeply"
_WHERE = re.compile(r"error at (\d+):(\d+)")


class Parsed(NamedTuple):
    """A tree, the parsed text, and the translation if the file is Python 2."""

    tree: cst.Module
    text: str
    translation: Translation | None


def parse(path: str, text: str) -> Parsed | Unreadable:
    """Parse as Python 3, or else as Python 2."""
    deep = too_deep(text)
    if deep is not None:
        return Unreadable(path=path, line=deep.line, column=deep.column, reason=TOO_DEEP)
    tree = _tree(text)
    if isinstance(tree, cst.Module):
        return Parsed(tree, text, None)
    return _parse_python2(text) or _unreadable(path, text, tree)


def _parse_python2(text: str) -> Parsed | None:
    translation = translate(text)
    tree = None if translation is None else _tree(translation.text)
    if translation is None or not isinstance(tree, cst.Module):
        return None
    return Parsed(tree, translation.text, translation)


def _tree(text: str) -> cst.Module | BaseException:
    """The tree, or the exception: libcst also raises other errors than its own, and panics."""
    try:
        return cst.parse_module(text)
    except (KeyboardInterrupt, SystemExit, MemoryError, RecursionError):
        raise
    except BaseException as error:  # noqa: BLE001
        return error


def _unreadable(path: str, text: str, error: BaseException) -> Unreadable:
    """Locate the syntax error by the interpreter, which is more exact than libcst."""
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
    else:
        reason = "Python accepts this file, but ackdoctor's parser does not"
        return Unreadable(path=path, line=0, column=0, reason=reason)
    where = _WHERE.search(str(error))
    line, column = (int(where[1]), int(where[2]) + 1) if where else (0, 0)
    return Unreadable(path=path, line=line, column=column, reason="syntax error")
