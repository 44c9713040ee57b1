"""The state of lowering: what names refer to, the file with its unreadable places, and the function.

An `Owner` is a class and knows its members.  A `Frame` is a function with its open blocks.  The parent of each
is the Frame or Owner around it: an anonymous class in a method is an Owner in a Frame in an Owner.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ackdoctor.frontends import Lowering as SharedLowering
from ackdoctor.frontends import SourceFile as SharedFile
from ackdoctor.frontends import Table, Tables
from ackdoctor.frontends.java.syntax import ANNOTATIONS, COMMENTS, Node, Positions, child, parts
from ackdoctor.model.cfg import Attr, Expr, Global, Mix, Name
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

# ---- types ----

TYPES = (
    "void_type integral_type floating_point_type boolean_type type_identifier scoped_type_identifier generic_type "
    "array_type annotated_type"
)
_ACRONYM_TYPES = frozenset({"UUID", "URI", "URL"})


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
    text = positions.text(node)
    return "".join(text.split()) if node.type == "scoped_identifier" else text


def type_of(name: str) -> Expr:
    """The expression for a dotted type name."""
    first, *rest = name.split(".")
    found: Expr = Global(first)
    for word in rest:
        found = Attr(found, word)
    return found


def looks_like_type(word: str) -> bool:
    """Whether a word is spelled like a type: `Tuple`, not `tuple` and not `TUPLE`."""
    return word[:1].isupper() and not word.isupper()


# ---- names ----


@dataclass(slots=True)
class Imported:
    """The names that a file imports singly: types and static members; `any_static`: it also imports all of a class."""

    types: set[str]
    statics: set[str]
    any_static: bool = False


@dataclass(slots=True, eq=False)
class Owner:
    """A class with its members; each field and method maps to whether it is static.

    `this` is the name of the object in its methods.  `inherits`: undeclared members belong to its base class.
    A subclass may replace each of its `type_parameters` by any type.
    """

    name: str
    qualname: str
    parent: "Place | None"
    inherits: bool
    this: str = "this"
    fields: dict[str, bool] = field(default_factory=dict)
    methods: dict[str, bool] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    type_parameters: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Frame:
    """A function: its open blocks, the types of its locals, its captures, the captures of its local classes, its type parameters."""

    parent: "Place | None"
    imported: Imported
    types: dict[str, str | None] = field(default_factory=dict)
    captures: set[str] = field(default_factory=set)
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    type_parameters: frozenset[str] = frozenset()
    _blocks: list[dict[str, Name]] = field(default_factory=lambda: [{}])
    _caught: set[str] = field(default_factory=set)

    # ---- locals ----

    def declare(self, word: str, type_name: str | None) -> Name:
        """Declare a local in the innermost block; a second local of a name with another type is `name#2`."""
        type_name = None if type_name == "var" else type_name
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

    def _owners(self) -> list[Owner]:
        return [place for place in self._places() if isinstance(place, Owner)]

    def owner(self) -> Owner | None:
        """The innermost enclosing class."""
        return next(iter(self._owners()), None)

    def is_variable(self, word: str) -> bool:
        """Whether a word is a local, or a field declared in this file."""
        return any(
            word in place.fields if isinstance(place, Owner) else place.local(word)
            for place in self._places()
        )

    def is_type_parameter(self, type_name: str) -> bool:
        """Whether a type is a type parameter of an enclosing method or class."""
        return any(type_name in place.type_parameters for place in self._places())

    def resolve(self, word: str) -> Expr:
        """The expression for a simple name: a local, a member, an import, a type, or else an inherited field."""
        for place in self._places():
            if isinstance(place, Frame):
                found = place.local(word)
                if found is not None:
                    self._capture(place, {found.id})
                    return found
            elif word in place.fields:
                return self._member(place, word, is_static=place.fields[word])
            elif word in place.types:
                return Global(word)
        if word in self.imported.types or word in self.imported.statics or word in _ACRONYM_TYPES:
            return Global(word)
        if self.imported.any_static and word.isupper():
            return Global(word)  # a constant
        return Global(word) if looks_like_type(word) else self._inherited(word)

    def method(self, word: str) -> Expr:
        """The callee of an unqualified call."""
        for owner in self._owners():
            if word in owner.methods:
                return self._member(owner, word, is_static=owner.methods[word])
        return Global(word) if word in self.imported.statics else self._inherited(word)

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

    def _capture(self, frame: "Frame", names: AbstractSet[str]) -> None:
        """Add the locals of `frame` to the captures of the functions between it and this code."""
        for place in self._places():
            if place is frame:
                return
            if isinstance(place, Frame):
                place.captures |= names

    def _member(self, owner: Owner, word: str, *, is_static: bool) -> Expr:
        if is_static and owner is not self.owner():
            return Attr(Global(owner.name), word)
        this = self.this(owner.this, owner if owner.this == "this" else None)
        return Attr(Global(owner.name) if this is None else this, word)

    def _inherited(self, word: str) -> Expr:
        """An undeclared member: of the innermost class with a base class, or else of the innermost."""
        owners = self._owners()
        named = next((owner for owner in owners if owner.this == "this"), None)
        heir = next((owner for owner in owners if owner.inherits), named)
        return Global(word) if heir is None else self._member(heir, word, is_static=False)


Place: TypeAlias = Frame | Owner

# ---- files ----

UNREADABLE = Mix("unreadable", ())
"""Unknown code: as a function it may do anything, as a base class it may declare anything."""

_MOST = 20  # reports per file; a file with more is not Java
_LONGEST = 30  # quoted characters


class SourceFile(SharedFile):
    """The state that all functions of a file share, and reports of the places that cannot be read."""

    def __init__(self, path: str, module: str, positions: Positions) -> None:
        super().__init__(path, module)
        self.positions = positions
        self.imported = Imported(set(), set())
        self.broken: list[Unreadable] = []
        self.quiet = False  # the current code was lowered before: add no classes
        self._unread: list[tuple[int, int]] = []  # byte ranges whose errors are reported

    def anonymous_name(self, node: Node, within: str) -> str:
        """The name of an anonymous class: `$1`, `$2` in the order of the enclosing class."""
        prefix = f"{within}.$"
        return f"${self.qualname(node, prefix).removeprefix(prefix).lstrip('#') or 1}"

    def report(self, node: Node, reason: str, skipped: str) -> None:
        """Report a reason at a node and what it makes unreadable; reports at the same place are joined."""
        span = self.positions.span(node)
        for place, earlier in enumerate(self.broken):
            if (earlier.line, earlier.column) == (span.line, span.column):
                if skipped not in earlier.reason.split("; "):
                    self.broken[place] = replace(earlier, reason=f"{earlier.reason}; {skipped}")
                return
        if len(self.broken) < _MOST:
            reason = f"{reason}; {skipped}"
            self.broken.append(Unreadable(path=self.path, line=span.line, column=span.column, reason=reason))

    def report_error(self, node: Node, skipped: str) -> None:
        """Report the first syntax error in a node and what it makes unreadable."""
        self._unread.append((node.start_byte, node.end_byte))
        error = _first_error(node)
        if error.is_missing:
            what = f"`{error.type}` is missing"
        else:
            quoted = " ".join(self.positions.text(error)[: 4 * _LONGEST].split())[:_LONGEST]
            what = f"at `{quoted}`" if quoted else "here"
        self.report(error, f"syntax error: {what}", skipped)

    def report_other_errors(self, root: Node) -> None:
        """Report the errors outside the functions and classes already reported."""
        pending = [root]
        while pending and len(self.broken) < _MOST:
            node = pending.pop()
            if any(start <= node.start_byte and node.end_byte <= end for start, end in self._unread):
                continue
            if node.is_error or node.is_missing:
                self.report_error(node, "skipped")
            elif node.has_error:
                pending.extend(reversed(node.children))


def has_error(nodes: Iterable[Node]) -> bool:
    """Whether one of some sibling nodes is an error."""
    return any(node.is_error or node.is_missing for node in nodes)


def _first_error(node: Node) -> Node:
    """The innermost error; the parser gives up after the last word of an error of many lines."""
    inner: Node | None = node
    while inner is not None:
        node = inner
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
    if node.is_error and node.start_point.row < node.end_point.row:
        while node.named_children:
            node = node.named_children[-1]
    return node


# ---- functions ----

# The modules fill these tables; the key of an entry is a node type.
TABLES = Tables(values=Table(), pure=Table(), forks={}, statements=Table())


class Lowering(SharedLowering[Node]):
    """The lowering of one function, method or lambda."""

    __slots__ = ("file", "frame", "replaced", "result")

    safe_operators = frozenset({"+", "-", "*", "number"})  # the compiler has checked the operands

    def __init__(self, file: SourceFile, frame: Frame, qualname: str, span: Span) -> None:
        super().__init__(TABLES, qualname, span)
        self.file = file
        self.frame = frame
        self.result: Name | None = None  # of the enclosing switch expression
        self.replaced: dict[int, Expr] = {}  # the nodes whose value is known, by id

    def kind(self, node: Node) -> str:
        """The type of a node."""
        return node.type

    def value(self, node: Node) -> Expr:
        """The value of an expression; its calls become steps."""
        known = self.replaced.get(node.id) if self.replaced else None
        return super().value(node) if known is None else known

    def statement(self, node: Node) -> None:
        """Lower one statement."""
        self.tables.statements[node.type](self, node)

    def block(self, node: Node) -> None:
        """Lower a statement or a block in its own scope."""
        with self.frame.block():
            self.statement(node)

    def run(self, statements: Iterable[Node]) -> None:
        """Lower statements in order; stop at the first unreachable one."""
        for node in statements:
            if not self.builder.alive:
                return
            if node.type not in COMMENTS:
                self.statement(node)

    def span(self, node: Node) -> Span:
        """The position of a node."""
        return self.file.positions.span(node)

    def through(self, first: Node, last: Node) -> Span:
        """From the start of one node to the end of another."""
        return self.file.positions.through(first, last)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self.file.positions.text(node)

    def name(self, node: Node, field: str = "name") -> str:
        """The word in a field of a node."""
        return self.text(child(node, field))

    def type_name(self, node: Node) -> str:
        """A type as written, without its arguments and brackets."""
        return type_name(self.file.positions, node)
