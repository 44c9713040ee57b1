"""Java source to a `Unit`, parsed by tree-sitter."""

from ackdoctor.frontends.java.grammar import decode, new_parser
from ackdoctor.frontends.java.unit import Lowered, lower_tree
from ackdoctor.model.finding import Unreadable

__all__ = ["Lowered", "lower_source"]


def lower_source(*, path: str, data: bytes) -> Lowered | Unreadable:
    """Lower one file; never raises for bad input.

    A file with syntax errors is read in part: `Lowered.broken` lists the places and what they make unreadable.  Without
    any class the file is unreadable.
    """
    source = decode(path, data)
    if isinstance(source, Unreadable):
        return source
    tree = new_parser().parse(source)
    lowered = lower_tree(tree.root_node, path=path, data=source)
    return lowered.broken[0] if lowered.broken and not lowered.unit.classes else lowered
