"""Abstract values of the interpreter: constants, references, functions, and objects with a log of the calls on them.

A value is a constant of the language, a `Ref`, a `Code`, an `Obj`, or a `Gap` if the files do not decide it.  A call of
code outside the project yields a new `Obj`: `made` is the call, `calls` are the calls on it.  So a fluent chain is a tree
of objects that `chain` walks in the order of execution.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.expressions import expression_text
from ackdoctor.model.cfg import Call, ClassInfo, Expr, Function, Notation, Unit
from ackdoctor.model.topology import Gap, Place, Value

_MAX_TEXT = 200  # characters of a text that describes a value
_MAX_NESTING = 8  # of collections in a setting's value
FOREVER = 1 << 60  # an order after all calls


class Library(NamedTuple):
    """What the interpreter knows of the code outside the project, by qualified names.

    The classes of `outside` and the code of `packages` are never entered, even if the project has a copy.  Objects of `maps` store what `put` gives
    them.  `callbacks` maps a function, by the last two parts of its name, to the method that it runs on its first argument.
    """

    outside: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    callbacks: Mapping[str, str] = {}
    packages: frozenset[str] = frozenset()


@dataclass(slots=True, frozen=True)
class Ref:
    """A class of the project, or a dotted name outside it with the qualified names that it may mean."""

    names: tuple[str, ...]
    cls: ClassInfo | None = None
    literal: bool = False  # `X.class`

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.names[-1].rpartition(".")[2] if self.names else ""


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The locals of a running function or module, and those of the function around it."""

    function: Function
    unit: Unit
    names: "dict[str, Data]" = field(default_factory=dict)
    parent: "Scope | None" = None
    cls: ClassInfo | None = None  # the class whose body or method this is
    repeated: bool = False  # called from the body of a loop over unknown elements
    unknown_loops: set[int] = field(default_factory=set)  # heads of such loops that are running
    result: "Data" = None

    def find(self, name: str) -> "Scope | None":
        """The scope that binds a local."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope


@dataclass(slots=True, eq=False, repr=False)
class Code:
    """A function of the project, with the scope of a closure and the object of a method."""

    function: Function
    unit: Unit
    scope: Scope | None = None
    this: "Data" = None
    cls: ClassInfo | None = None
    variants: tuple[Function, ...] = ()  # all overloads of a method


@dataclass(slots=True, frozen=True)
class Text:
    """The source of an expression, rendered on demand."""

    function: Function
    expr: Expr | Call
    notation: Notation

    def __str__(self) -> str:
        return expression_text(self.function, self.expr, self.notation)


def shown(source: Text) -> str:
    """The source text of an expression for users, shortened."""
    return str(source).replace("%", "...")[:_MAX_TEXT]


@dataclass(slots=True, eq=False, repr=False)
class Invocation:
    """A call of code outside the project, or of a method of the project on an object.

    `names` are the qualified names of a function or class that is called without an object.  `kind` is "call", "set"
    for an assignment of the field `name`, or "item" for `receiver[args[0]]`.  `order` counts all calls of a run.
    `inlined`: the project has the method, and the calls in it are logged as well, with orders below `until`.
    """

    name: str
    receiver: "Obj | None"
    names: tuple[str, ...]
    args: "tuple[Data, ...]"
    texts: tuple[Text, ...]
    place: Place  # the line of the callee's name
    start: Place  # the line where the expression starts
    order: int
    source: Text
    keywords: "Mapping[str, Data]" = field(default_factory=dict)
    kind: str = "call"
    repeated: bool = False  # in the body of a loop over unknown elements
    inlined: bool = False
    until: int = 0
    result: "Data" = None

    def argument(self, index: int, keyword: str = "") -> "Data | None":
        """An argument by position or keyword, or None."""
        if keyword and keyword in self.keywords:
            return self.keywords[keyword]
        return self.args[index] if -len(self.args) <= index < len(self.args) else None

    def text(self, index: int) -> str:
        """The source text of an argument."""
        return str(self.texts[index]) if index < len(self.texts) else ""


@dataclass(slots=True, eq=False, repr=False)
class Obj:
    """An object: of a project class (`cls`), of a class or function outside the project (`names`), or a collection.

    `content` holds the elements of a list or the entries of a dict as far as they are known; `kind` is "list", "tuple",
    "set", "dict" or "" for other objects.  `places` tells where the elements or entries are written: for a dict the key
    and the value, as far as that is known.  `constant` is the name of an enum's constant.
    """

    names: tuple[str, ...] = ()
    cls: ClassInfo | None = None
    made: Invocation | None = None
    place: Place = field(default_factory=lambda: Place(""))
    kind: str = ""
    content: "list[Data] | dict[object, Data] | None" = None
    places: dict[object, tuple[Place, Place]] = field(default_factory=dict)
    fields: "dict[str, Data]" = field(default_factory=dict)
    captured: "dict[str, Data]" = field(default_factory=dict)  # locals that an object of a local class reads
    calls: list[Invocation] = field(default_factory=list)
    methods: dict[str, Code] = field(default_factory=dict)  # of an anonymous class
    constant: str = ""
    variable: str = ""  # the first variable or field that holds the object
    given: bool = False  # a parameter of the entry point: its fields are unknown
    exact: bool = False  # of this class itself: the project has no subclass of it
    open: bool = False  # the collection may have more elements
    text: str = ""

    @property
    def repeated(self) -> bool:
        """Whether this is one object for all that a loop creates."""
        return self.made is not None and self.made.repeated

    @property
    def args(self) -> "tuple[Data, ...]":
        """The arguments of the constructor or factory."""
        return () if self.made is None else self.made.args

    def is_one_of(self, names: frozenset[str]) -> bool:
        """Whether the class or factory has one of these qualified names."""
        return not names.isdisjoint(self.names)


Data: TypeAlias = "bool | int | float | str | bytes | Ref | Code | Obj | Gap | None"


# ---- fluent chains ----


def root(obj: Obj) -> Obj:
    """The object at the start of the fluent chain whose result this is."""
    for _ in range(10_000):
        if obj.made is None or obj.made.receiver is None:
            break
        obj = obj.made.receiver
    return obj


def chain(obj: Obj, before: int = FOREVER) -> Iterator[Invocation]:
    """All calls on an object, and on the results of those calls, in the order of execution."""
    found: list[Invocation] = []
    todo, seen = [obj], {id(obj)}
    while todo:
        for call in todo.pop().calls:
            found.append(call)
            if isinstance(call.result, Obj) and id(call.result) not in seen:
                seen.add(id(call.result))
                todo.append(call.result)
    found.sort(key=lambda call: call.order)
    return (call for call in found if call.order < before)


# ---- values for users ----


def describe(data: Data) -> str:
    """A short text for a value that a file computes."""
    match data:
        case Gap(why=why):
            return why
        case Obj(constant=name) if name:
            return name
        case Obj(text=text) if text:
            return text
        case Obj(made=Invocation(source=source)):
            return shown(source)
        case Obj(cls=ClassInfo(name=name)):
            return name
        case Obj(names=(*_, name)) | Ref(names=(*_, name)):
            return name.rpartition(".")[2]
        case Code():
            return "a function"
        case _:
            return str(data)


def plain(data: Data, place: Place, depth: int = 0) -> Value:
    """The value of a setting or an argument; a `Gap` if the files do not decide it."""
    match data:
        case Gap() | None | bool() | int() | float() | str():
            return data
        case bytes():
            return data.decode("utf-8", "replace")
        case Ref(names=names):
            return names[-1] if names else ""
        case Obj(constant=name) if name:
            return name
        case Obj(content=list() as items, open=False) if depth < _MAX_NESTING:
            return tuple(plain(item, place, depth + 1) for item in items)
        case Obj(content=dict() as table, kind="dict", open=False) if depth < _MAX_NESTING:
            return {describe(key): plain(item, place, depth + 1) for key, item in table.items()}
        case _:
            return Gap(describe(data), data.place if isinstance(data, Obj) and data.place.path else place)
