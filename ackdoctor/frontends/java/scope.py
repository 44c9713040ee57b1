"""Names and types: what a word refers to, and types as written.

An `Owner` is a class and knows its members.  A `Frame` is a function with its open blocks.  The parent of each
is the Frame or Owner around it: an anonymous class in a method is an Owner in a Frame in an Owner.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from ackdoctor.frontends.java.grammar import Node, parts
from ackdoctor.frontends.java.source import Positions
from ackdoctor.model.cfg import Attr, Expr, Global, Name

__all__ = [
    "TYPES",
    "Frame",
    "Outside",
    "Owner",
    "dotted",
    "is_constant",
    "looks_like_type",
    "type_name",
    "type_of",
]


_ANNOTATIONS = frozenset({"annotation", "marker_annotation"})

TYPES = frozenset(
    """void_type integral_type floating_point_type boolean_type type_identifier
    scoped_type_identifier generic_type array_type annotated_type""".split()
)


def type_name(positions: Positions, node: Node) -> str:
    """`Map.Entry` for `java.util.Map.Entry<K, V>[]` written as `Map.Entry<K, V>[]`."""
    while True:
        kind = node.type
        if kind in ("generic_type", "array_type"):
            node = node.named_children[0]
        elif kind == "annotated_type":
            node = node.named_children[-1]
        elif kind == "scoped_type_identifier":
            inner = [part for part in parts(node) if part.type not in _ANNOTATIONS]
            return ".".join(type_name(positions, part) for part in inner)
        else:
            return positions.text(node)


def dotted(positions: Positions, node: Node) -> str:
    """The text of a name in a package or import declaration, without white space."""
    if node.type == "scoped_identifier":
        return "".join(positions.text(node).split())
    return positions.text(node)


def type_of(name: str) -> Expr:
    """The expression for a type's dotted name."""
    first, *rest = name.split(".")
    found: Expr = Global(first)
    for word in rest:
        found = Attr(found, word)
    return found


_KNOWN_ACRONYMS = frozenset({"UUID", "URI", "URL"})


class Outside:
    """What a file imports by name: single types, and static members."""

    __slots__ = ("statics", "types")

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.statics: set[str] = set()


class Owner:
    """A class and its members, each with whether it is static; `own` is the name its methods know it by.

    `inherits` says that undeclared members are taken for those of its base class; `variables` are its type
    parameters, each of which an heir may fill as it likes.
    """

    __slots__ = ("fields", "inherits", "methods", "name", "own", "parent", "qualname", "types", "variables")

    def __init__(
        self, name: str, qualname: str, parent: "Place | None", *, extends: bool, own: str = "this"
    ) -> None:
        self.name = name
        self.qualname = qualname
        self.parent = parent
        self.inherits = extends
        self.own = own
        self.fields: dict[str, bool] = {}
        self.methods: dict[str, bool] = {}
        self.types: set[str] = set()
        self.variables: frozenset[str] = frozenset()


class Frame:
    """A function: its open blocks, the declared types of its locals, what it captures, and what classes in it capture."""

    __slots__ = ("_blocks", "_caught", "captures", "classes", "outside", "parent", "types")

    def __init__(self, parent: "Place | None", outside: Outside) -> None:
        self.parent = parent
        self.outside = outside
        self.types: dict[str, str | None] = {}
        self.captures: set[str] = set()
        self.classes: dict[str, frozenset[str]] = {}
        self._blocks: list[dict[str, Name]] = [{}]
        self._caught: set[str] = set()

    # ---- locals ----

    def declare(self, word: str, type_name: str | None) -> Name:
        """A new local in the innermost block; one of another type than an earlier namesake is named apart."""
        name, count = word, 1
        while self.types.get(name, type_name) != type_name:
            count += 1
            name = f"{word}#{count}"
        self.types[name] = type_name
        found = self._blocks[-1][word] = Name(name)
        return found

    def declare_caught(self, word: str, type_name: str | None) -> Name:
        """The variable of a catch clause: all of a name are one, of no type where their types differ."""
        if word not in self._caught:
            name = self.declare(word, type_name)
            if name.id == word:
                self._caught.add(word)
            return name
        if self.types[word] != type_name:
            self.types[word] = None
        found = self._blocks[-1][word] = Name(word)
        return found

    @contextmanager
    def block(self) -> Iterator[None]:
        """Locals declared inside are gone afterwards."""
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()

    def declared(self) -> Mapping[str, str]:
        """The locals whose types are written."""
        return {name: type_name for name, type_name in self.types.items() if type_name}

    def here(self, word: str) -> Name | None:
        """The local of this function that a word stands for."""
        for block in reversed(self._blocks):
            found = block.get(word)
            if found is not None:
                return found
        return None

    def variable(self, type_name: str) -> bool:
        """Whether a type is a type parameter of a class around."""
        place: Place | None = self.parent
        while place is not None:
            if isinstance(place, Owner) and type_name in place.variables:
                return True
            place = place.parent
        return False

    # ---- what a word stands for ----

    def resolve(self, word: str) -> Expr:
        """The expression for a word that stands alone."""
        return self._declared(word) or self._undeclared(word)

    def known(self, word: str) -> bool:
        """Whether a word is a variable: a local, or a field declared in this file."""
        place: Place | None = self
        while place is not None:
            if word in place.fields if isinstance(place, Owner) else place.here(word):
                return True
            place = place.parent
        return False

    def _declared(self, word: str) -> Expr | None:
        crossed: list[Frame] = []
        nearest: Owner | None = None
        place: Place | None = self
        while place is not None:
            if isinstance(place, Owner):
                nearest = nearest or place
                if word in place.fields:
                    return self._member(place, word, nearest, is_static=place.fields[word])
                if word in place.types:
                    return Global(word)
            else:
                found = place.here(word)
                if found is not None:
                    for frame in crossed:
                        frame.captures.add(found.id)
                    return found
                crossed.append(place)
            place = place.parent
        return None

    def _undeclared(self, word: str) -> Expr:
        """An import, a type, or else a field that a base class declares."""
        if word in self.outside.types or word in self.outside.statics or word in _KNOWN_ACRONYMS:
            return Global(word)
        if looks_like_type(word):
            return Global(word)
        heir = self._heir()
        return Global(word) if heir is None else self._member(heir, word, heir, is_static=False)

    def method(self, word: str) -> Expr:
        """The expression for the callee of an unqualified call."""
        nearest: Owner | None = None
        place: Place | None = self
        while place is not None:
            if isinstance(place, Owner):
                nearest = nearest or place
                if word in place.methods:
                    return self._member(place, word, nearest, is_static=place.methods[word])
            place = place.parent
        heir = self._heir()
        if heir is None or word in self.outside.statics:
            return Global(word)
        return self._member(heir, word, heir, is_static=False)

    def this(self, own: str = "this", within: "Owner | None" = None) -> Name | None:
        """The name by which code in here knows an object; None where no code up to the class `within` has it."""
        crossed: list[Frame] = []
        place: Place | None = self
        while place is not None:
            if isinstance(place, Frame):
                found = place.here(own)
                if found is not None:
                    for frame in crossed:
                        frame.captures.add(found.id)
                    return found
                crossed.append(place)
            elif place is within:
                return None
            place = place.parent
        return None

    def taken_along(self, word: str) -> frozenset[str]:
        """The locals around it that an object of a local class knows."""
        crossed: list[Frame] = []
        place: Place | None = self
        while place is not None:
            if isinstance(place, Frame):
                if word in place.classes:
                    for frame in crossed:
                        frame.captures |= place.classes[word]
                    return place.classes[word]
                crossed.append(place)
            place = place.parent
        return frozenset()

    def owner(self) -> Owner | None:
        """The innermost class around."""
        place: Place | None = self
        while isinstance(place, Frame):
            place = place.parent
        return place

    def _member(self, owner: Owner, word: str, nearest: Owner, *, is_static: bool) -> Expr:
        if is_static and owner is not nearest:
            return Attr(Global(owner.name), word)
        this = self.this(owner.own, owner if owner.own == "this" else None)
        return Attr(Global(owner.name) if this is None else this, word)

    def _heir(self) -> Owner | None:
        """The class around that an undeclared member comes from: the innermost named one that extends another."""
        first: Owner | None = None
        place: Place | None = self
        while place is not None:
            if isinstance(place, Owner):
                if place.inherits:
                    return place
                if place.own == "this":
                    first = first or place
            place = place.parent
        return first


Place: TypeAlias = Frame | Owner


def is_constant(word: str) -> bool:
    """Whether a word is in capitals throughout, as constants are."""
    return word.isupper()


def looks_like_type(word: str) -> bool:
    """Whether a word is written as types are: `Tuple`, not `tuple` and not `TUPLE`."""
    return word[:1].isupper() and not word.isupper()
