"""Names and types: what a word refers to, and types as written.

An `Owner` is a class and knows its members.  A `Frame` is a function with its open blocks.  The parent of each
is the Frame or Owner around it: an anonymous class in a method is an Owner in a Frame in an Owner.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TypeAlias

from ackdoctor.frontends.java.grammar import ANNOTATIONS, Node, Positions, parts
from ackdoctor.model.cfg import Attr, Expr, Global, Name

__all__ = [
    "TYPES",
    "Frame",
    "Imported",
    "Owner",
    "dotted",
    "is_constant",
    "looks_like_type",
    "type_name",
    "type_of",
]


TYPES = frozenset(
    """void_type integral_type floating_point_type boolean_type type_identifier
    scoped_type_identifier generic_type array_type annotated_type""".split()
)


def type_name(positions: Positions, node: Node) -> str:
    """A type as written without type arguments, annotations and brackets: `Map.Entry` for `Map.Entry<K, V>[]`."""
    while True:
        kind = node.type
        if kind in ("generic_type", "array_type"):
            node = node.named_children[0]
        elif kind == "annotated_type":
            node = node.named_children[-1]
        elif kind == "scoped_type_identifier":
            inner = [part for part in parts(node) if part.type not in ANNOTATIONS]
            return ".".join(type_name(positions, part) for part in inner)
        else:
            return positions.text(node)


def dotted(positions: Positions, node: Node) -> str:
    """The name in a package or import declaration, without white space."""
    if node.type == "scoped_identifier":
        return "".join(positions.text(node).split())
    return positions.text(node)


def type_of(name: str) -> Expr:
    """The expression for a dotted type name."""
    first, *rest = name.split(".")
    found: Expr = Global(first)
    for word in rest:
        found = Attr(found, word)
    return found


_ACRONYM_TYPES = frozenset({"UUID", "URI", "URL"})


class Imported:
    """The names that a file imports singly: types and static members."""

    __slots__ = ("statics", "types")

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.statics: set[str] = set()


class Owner:
    """A class with its members; each field and method maps to whether it is static.

    `this` is the name of the object in its methods.  `inherits`: undeclared members belong to its base class.
    A subclass may replace each of its `type_parameters` by any type.
    """

    __slots__ = (
        "fields",
        "inherits",
        "methods",
        "name",
        "parent",
        "qualname",
        "this",
        "type_parameters",
        "types",
    )

    def __init__(
        self, name: str, qualname: str, parent: "Place | None", *, extends: bool, this: str = "this"
    ) -> None:
        self.name = name
        self.qualname = qualname
        self.parent = parent
        self.inherits = extends
        self.this = this
        self.fields: dict[str, bool] = {}
        self.methods: dict[str, bool] = {}
        self.types: set[str] = set()
        self.type_parameters: frozenset[str] = frozenset()


class Frame:
    """A function: its open blocks, the types of its locals, its captures, and the captures of its local classes."""

    __slots__ = ("_blocks", "_caught", "captures", "classes", "imported", "parent", "types")

    def __init__(self, parent: "Place | None", imported: Imported) -> None:
        self.parent = parent
        self.imported = imported
        self.types: dict[str, str | None] = {}
        self.captures: set[str] = set()
        self.classes: dict[str, frozenset[str]] = {}
        self._blocks: list[dict[str, Name]] = [{}]
        self._caught: set[str] = set()

    # ---- locals ----

    def declare(self, word: str, type_name: str | None) -> Name:
        """Declare a local in the innermost block; a second local of a name with another type is `name#2`."""
        name, count = word, 1
        while self.types.get(name, type_name) != type_name:
            count += 1
            name = f"{word}#{count}"
        self.types[name] = type_name
        found = self._blocks[-1][word] = Name(name)
        return found

    def declare_caught(self, word: str, type_name: str | None) -> Name:
        """Declare the variable of a catch clause; those of one name share a local, without type if theirs differ."""
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
        """Open a block for the locals declared inside."""
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()

    def declared(self) -> Mapping[str, str]:
        """The locals with a written type."""
        return {name: type_name for name, type_name in self.types.items() if type_name}

    def local(self, word: str) -> Name | None:
        """The local of this function that a word refers to."""
        return next((block[word] for block in reversed(self._blocks) if word in block), None)

    # ---- names ----

    def _places(self) -> Iterator["Place"]:
        """This function and the functions and classes around it, innermost first."""
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent

    def resolve(self, word: str) -> Expr:
        """The expression for a simple name."""
        return self._resolve_declared(word) or self._resolve_undeclared(word)

    def is_variable(self, word: str) -> bool:
        """Whether a word is a local, or a field declared in this file."""
        return any(
            word in place.fields if isinstance(place, Owner) else place.local(word)
            for place in self._places()
        )

    def is_type_parameter(self, type_name: str) -> bool:
        """Whether a type is a type parameter of an enclosing class."""
        return any(
            isinstance(place, Owner) and type_name in place.type_parameters for place in self._places()
        )

    def _resolve_declared(self, word: str) -> Expr | None:
        nearest: Owner | None = None
        for place in self._places():
            if isinstance(place, Owner):
                nearest = nearest or place
                if word in place.fields:
                    return self._member(place, word, nearest, is_static=place.fields[word])
                if word in place.types:
                    return Global(word)
            else:
                found = place.local(word)
                if found is not None:
                    self._capture(place, {found.id})
                    return found
        return None

    def _resolve_undeclared(self, word: str) -> Expr:
        """An import, a type, or else an inherited field."""
        if word in self.imported.types or word in self.imported.statics or word in _ACRONYM_TYPES:
            return Global(word)
        heir = None if looks_like_type(word) else self._heir()
        return Global(word) if heir is None else self._member(heir, word, heir, is_static=False)

    def method(self, word: str) -> Expr:
        """The callee of an unqualified call."""
        nearest: Owner | None = None
        for place in self._places():
            if isinstance(place, Owner):
                nearest = nearest or place
                if word in place.methods:
                    return self._member(place, word, nearest, is_static=place.methods[word])
        heir = self._heir()
        if heir is None or word in self.imported.statics:
            return Global(word)
        return self._member(heir, word, heir, is_static=False)

    def this(self, name: str = "this", within: Owner | None = None) -> Name | None:
        """The local that holds an object; None if no function up to the class `within` has it."""
        for place in self._places():
            if isinstance(place, Frame):
                found = place.local(name)
                if found is not None:
                    self._capture(place, {found.id})
                    return found
            elif place is within:
                return None
        return None

    def class_captures(self, word: str) -> frozenset[str]:
        """The locals that an object of a local class captures."""
        for place in self._places():
            if isinstance(place, Frame) and word in place.classes:
                self._capture(place, place.classes[word])
                return place.classes[word]
        return frozenset()

    def owner(self) -> Owner | None:
        """The innermost enclosing class."""
        return next((place for place in self._places() if isinstance(place, Owner)), None)

    def _capture(self, frame: "Frame", names: AbstractSet[str]) -> None:
        """Add the locals of `frame` to the captures of the functions between it and this code."""
        for place in self._places():
            if place is frame:
                return
            if isinstance(place, Frame):
                place.captures |= names

    def _member(self, owner: Owner, word: str, nearest: Owner, *, is_static: bool) -> Expr:
        if is_static and owner is not nearest:
            return Attr(Global(owner.name), word)
        this = self.this(owner.this, owner if owner.this == "this" else None)
        return Attr(Global(owner.name) if this is None else this, word)

    def _heir(self) -> Owner | None:
        """The enclosing class that inherits undeclared members: the innermost with a base class, or the innermost."""
        owners = [place for place in self._places() if isinstance(place, Owner)]
        named = (owner for owner in owners if owner.this == "this")
        return next((owner for owner in owners if owner.inherits), None) or next(named, None)


Place: TypeAlias = Frame | Owner


def is_constant(word: str) -> bool:
    """Whether a word is spelled like a constant: in capitals."""
    return word.isupper()


def looks_like_type(word: str) -> bool:
    """Whether a word is spelled like a type: `Tuple`, not `tuple` and not `TUPLE`."""
    return word[:1].isupper() and not word.isupper()
