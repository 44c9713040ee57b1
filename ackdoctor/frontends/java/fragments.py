"""Classes out of what could not be parsed: a header that nothing closes, and the whole members behind it.

Where a brace is missing, tree-sitter may give up the class around it, and leaves the pieces of it side by
side in one error.
"""

from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.frontends.java.classes import CLASSES, Shape, bases, members
from ackdoctor.frontends.java.grammar import Node
from ackdoctor.frontends.java.lowering import SourceFile

__all__ = ["fragments"]

_MOST = 200  # headers in one error; text with more is no Java
_MEMBERS = CLASSES | frozenset("method_declaration constructor_declaration field_declaration".split())


def fragments(file: SourceFile, error: Node) -> Iterator[Shape]:
    """The classes whose headers stand in an error, if it is one of a program; one behind another is taken to stand in it."""
    children = error.children
    heads = [
        place
        for place, (word, name) in enumerate(pairwise(children))
        if word.type == "class" and name.type == "identifier"
    ]
    if len(heads) > _MOST:
        return
    around = ""
    for head, end in pairwise([*heads, len(children)]):
        name, own = children[head + 1], children[head + 2 : end]
        word = file.positions.text(name)
        around = f"{around}.{word}" if around else word
        yield Shape(
            word,
            file.qualname(name, around),
            error,
            file.positions.span(name),
            [each for each in members(own) if each.type in _MEMBERS],
            tuple(bases(file, own)),
            any(each.type == "superclass" for each in own),
            whole=False,
        )
