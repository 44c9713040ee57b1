"""Python source to a `Unit`, parsed by libcst."""

from ackdoctor.frontends.lowering import UnknownSyntax
from ackdoctor.frontends.python.parse import TOO_DEEP, parse
from ackdoctor.frontends.python.source import decode
from ackdoctor.frontends.python.unit import lower_module
from ackdoctor.model.cfg import Unit
from ackdoctor.model.finding import Unreadable

__all__ = ["lower_source"]


def lower_source(*, path: str, module: str, is_package: bool, data: bytes) -> Unit | Unreadable:
    """Lower one file; never raises for bad input.

    `module` is the dotted name that relative imports start from.
    """
    text = decode(path, data)
    if isinstance(text, Unreadable):
        return text
    try:
        parsed = parse(path, text)
        if isinstance(parsed, Unreadable):
            return parsed
        return lower_module(parsed, path=path, module=module, is_package=is_package)
    except RecursionError:
        return Unreadable(path=path, line=0, column=0, reason=TOO_DEEP)
    except UnknownSyntax as unknown:
        return Unreadable(path=path, line=0, column=0, reason=f"syntax that is not yet supported: {unknown}")
