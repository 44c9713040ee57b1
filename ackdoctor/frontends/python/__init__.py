"""Python source to a `Unit`, by libcst."""

import libcst as cst

from ackdoctor.frontends.python.decode import decode
from ackdoctor.frontends.python.unit import lower_module
from ackdoctor.model.component import Unit
from ackdoctor.model.finding import Unreadable

__all__ = ["lower_source"]


def lower_source(
    *, path: str, module: str, is_package: bool, data: bytes, only: frozenset[str] | None = None
) -> Unit | Unreadable:
    """Lowers one file; never raises for bad input.  `only` limits it to these top-level functions and classes."""
    text = decode(path, data)
    if isinstance(text, Unreadable):
        return text
    try:
        tree = cst.parse_module(text)
        return lower_module(tree, path=path, module=module, is_package=is_package, text=text, only=only)
    except RecursionError:
        return Unreadable(path=path, line=0, column=0, reason="nested too deeply")
    except cst.ParserSyntaxError as error:
        return Unreadable(path=path, line=error.raw_line, column=error.raw_column + 1, reason="syntax error")
