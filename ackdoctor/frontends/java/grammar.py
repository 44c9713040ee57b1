"""The parser, and access to tree-sitter's nodes by the names of Java's grammar."""

from collections.abc import Mapping
from typing import TypeVar

import tree_sitter_java
from tree_sitter import Language, Node, Parser

from ackdoctor.frontends.lowering import Table, UnknownSyntax

__all__ = ["ANNOTATIONS", "COMMENTS", "Node", "by_type", "child", "new_parser", "parts"]

_LANGUAGE = Language(tree_sitter_java.language())
_V = TypeVar("_V")

ANNOTATIONS = frozenset({"annotation", "marker_annotation"})
COMMENTS = frozenset({"line_comment", "block_comment"})


def by_type(table: Mapping[str, _V]) -> Table[str, _V]:
    """A table whose keys are one or several node types, as a table by single node types."""
    return Table({name: value for names, value in table.items() for name in names.split()})


def new_parser() -> Parser:
    """A parser of Java."""
    return Parser(_LANGUAGE)


def parts(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type not in COMMENTS]


def child(node: Node, field: str) -> Node:
    """The child in a field that the grammar requires."""
    found = node.child_by_field_name(field)
    if found is None:
        raise UnknownSyntax(f"{node.type} without a part")
    return found
