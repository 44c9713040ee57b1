"""The parser, and the numbers that tree-sitter's Java grammar gives to node types and fields."""

from collections.abc import Mapping
from typing import NoReturn, TypeVar

import tree_sitter_java
from tree_sitter import Language, Node, Parser

__all__ = [
    "COMMENTS",
    "ERROR",
    "ByKind",
    "Node",
    "Parser",
    "UnknownSyntax",
    "by_kind",
    "child",
    "field",
    "kind",
    "kinds",
    "new_parser",
    "parts",
]

_LANGUAGE = Language(tree_sitter_java.language())
_V = TypeVar("_V")

ERROR = 0xFFFF
"""The kind of a node that holds what could not be parsed."""


class UnknownSyntax(Exception):  # noqa: N818 - it is the file's fault as little as ours
    """A node type, by its name, that some table does not know."""


class ByKind(dict[int, _V]):
    """A table by node kind that says so when a kind is missing."""

    __slots__ = ()

    def __missing__(self, number: int) -> NoReturn:
        raise UnknownSyntax(_LANGUAGE.node_kind_for_id(number) or "a syntax error")


def kind(name: str) -> int:
    """The number of a named node type; a word in quotes is a keyword or a sign: `"'static'"`."""
    named = not name.startswith("'")
    number = _LANGUAGE.id_for_node_kind(name.strip("'"), named)
    if not number:
        raise UnknownSyntax(name)
    return number


def kinds(names: str) -> frozenset[int]:
    """The numbers of some node types."""
    return frozenset(map(kind, names.split()))


def by_kind(table: Mapping[str, _V]) -> ByKind[_V]:
    """A table by the names of node types, one or several to a key, as a table by their numbers."""
    return ByKind({kind(name): value for names, value in table.items() for name in names.split()})


def field(name: str) -> int:
    """The number of a field."""
    number = _LANGUAGE.field_id_for_name(name)
    if number is None:
        raise UnknownSyntax(name)
    return number


def new_parser() -> Parser:
    """A parser of Java."""
    return Parser(_LANGUAGE)


COMMENTS = kinds("line_comment block_comment")


def parts(node: Node) -> list[Node]:
    """The named children, comments left out."""
    return [child for child in node.named_children if child.kind_id not in COMMENTS]


def child(node: Node, number: int) -> Node:
    """The child in a field that is always there."""
    found = node.child_by_field_id(number)
    if found is None:
        raise UnknownSyntax(f"{node.type} without a part")
    return found
