"""Syntax that libcst parses and that has no meaning here yet: a result, not a crash."""

from typing import NoReturn, TypeVar

__all__ = ["ByType", "UnknownSyntax"]

_V = TypeVar("_V")


class UnknownSyntax(Exception):  # noqa: N818 - it is the file's fault as little as ours
    """A node type, by its name, that some table does not know."""


class ByType(dict[type, _V]):
    """A table by node type that says so when a type is missing."""

    __slots__ = ()

    def __missing__(self, kind: type) -> NoReturn:
        raise UnknownSyntax(kind.__name__)
