"""What a file's bytes say about classes and imports, before any parser: one shape for all languages."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Outline"]


class Outline(NamedTuple):
    """Classes with the names of their bases, imports as bound name and qualified name.

    An outline may say too much (a docstring with a class in it), never too little in ordinary code: it
    only decides what is worth lowering.  Relative names keep their leading dots.  `aliases` are plain
    `name = other.name` assignments, `stars` the modules star-imported, `modules` those named in a plain
    import.  Without `complete` only the classes are known.

    In a language whose files say where they belong, `package` is that, and `names` are those that the text
    mentions and need not import.
    """

    classes: Sequence[tuple[str, Sequence[str]]] = ()
    imports: Sequence[tuple[str, str]] = ()
    aliases: Sequence[tuple[str, str]] = ()
    stars: Sequence[str] = ()
    modules: Sequence[str] = ()
    package: str = ""
    names: Sequence[str] = ()
    complete: bool = False
