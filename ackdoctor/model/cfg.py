"""The intermediate representation that a frontend lowers to: expressions, instructions, graphs, functions, classes, components.

An `Expr` is pure: a frontend lowers each call to a `Call` step of its own, in evaluation order, with a temporary `Name`
("%3") for its result.  A `Step` is one instruction with its span and its outgoing edges.  A `Cfg` is a list of steps; the
target of an edge is an index into it.  Three steps always exist: ENTRY (0), EXIT (1, normal return) and RAISED (2, an
exception leaves the function).

`if ok(tup): return` inside `try: ... except ValueError: pass` lowers to

    3 Call %1 = ok(tup)        -> NEXT 4, RAISE 6
    4 Test %1                  -> TRUE 5, FALSE 8
    5 Return None              -> NEXT 1
    6 Catch ValueError         -> TRUE 7, FALSE 2
    7 Jump pass                -> NEXT 8

The representation contains no syntax node of any language.  Treat all objects as immutable; the classes are not frozen
because a frozen dataclass takes four times as long to create.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.model.source import Span

ENTRY, EXIT, RAISED = 0, 1, 2
SUPER = "super"  # a call of this global is the object without the methods of the class that makes the call


# ---- expressions ----


@dataclass(slots=True, unsafe_hash=True)
class Name:
    """A local: parameter, variable or temporary (temporaries start with '%')."""

    id: str


@dataclass(slots=True, unsafe_hash=True)
class Global:
    """A name that no enclosing function binds: an import, a module-level name or a builtin."""

    id: str


@dataclass(slots=True, unsafe_hash=True)
class Attr:
    """`obj.name`."""

    obj: "Expr"
    name: str


@dataclass(slots=True, unsafe_hash=True)
class Item:
    """`obj[key]`; a slice has the key `Mix(...)`."""

    obj: "Expr"
    key: "Expr"


@dataclass(slots=True, unsafe_hash=True)
class Literal:
    """A constant: None, bool, int, float, str, bytes or Ellipsis."""

    value: object


@dataclass(slots=True, unsafe_hash=True)
class Build:
    """A display or comprehension: `kind` is 'list', 'tuple', 'set' or 'dict'; a dict alternates keys and values.

    `lines` are those of the items of a list or dict display; () if they are not known.
    """

    kind: str
    items: tuple["Expr", ...]
    lines: tuple[int, ...] = field(default=(), compare=False)


@dataclass(slots=True, unsafe_hash=True)
class Star:
    """`*value` inside a Build."""

    value: "Expr"


@dataclass(slots=True, unsafe_hash=True)
class Closure:
    """A nested function or lambda; `key` finds it in `Function.closures`."""

    key: str


@dataclass(slots=True, unsafe_hash=True)
class Mix:
    """Any other computation over its parts: arithmetic, formatting, a slice; `op` is the operator's text, if it has one."""

    op: str
    parts: tuple["Expr", ...]


@dataclass(slots=True, unsafe_hash=True)
class Compare:
    """A comparison; `op` is one of == != < <= > >= is, is not, in, not in."""

    left: "Expr"
    op: str
    right: "Expr"


@dataclass(slots=True, unsafe_hash=True)
class Not:
    """Logical negation in a value; in a branch, the edges are swapped instead."""

    value: "Expr"


@dataclass(slots=True, unsafe_hash=True)
class IsType:
    """`isinstance(value, types)` / `value instanceof T`."""

    value: "Expr"
    types: tuple["Expr", ...]


Expr: TypeAlias = (
    Name | Global | Attr | Item | Literal | Build | Star | Closure | Mix | Compare | Not | IsType
)


class Arg(NamedTuple):
    """One argument: `name` for a keyword, `star` is '', '*' or '**'."""

    value: Expr
    name: str | None = None
    star: str = ""


# ---- instructions ----


@dataclass(slots=True, eq=False)
class Mark:
    """ENTRY, EXIT or RAISED."""

    word: str


@dataclass(slots=True, eq=False)
class Bind:
    """`target = value`; the target is a Name, Attr or Item."""

    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class Unpack:
    """`a, b = value`; a target is a Name, Attr, Item, Star, or None for a flattened nested pattern."""

    targets: tuple[Expr | None, ...]
    value: Expr


@dataclass(slots=True, eq=False)
class Update:
    """`target op= value`."""

    target: Expr
    op: str
    value: Expr


@dataclass(slots=True, eq=False)
class Call:
    """`result = func(args)`; `awaited` if the result is awaited at once, `dropped` if the code ignores it.

    `line` is where the name of a method in a chain of calls is, or 0 if that is the first line of the step.
    """

    result: Name
    func: Expr
    args: tuple[Arg, ...]
    awaited: bool = False
    dropped: bool = False
    line: int = 0


@dataclass(slots=True, eq=False)
class Test:
    """A branch on a pure condition; `and`, `or` and `not` are lowered to edges."""

    __test__ = False  # for pytest: this is not a test class

    condition: Expr


@dataclass(slots=True, eq=False)
class Next:
    """The head of a loop: TRUE binds the next element to `target`, FALSE leaves.  `loop` is unique in the Cfg."""

    target: Expr | None
    iterable: Expr
    loop: int


@dataclass(slots=True, eq=False)
class Drop:
    """`del target`."""

    target: Expr


@dataclass(slots=True, eq=False)
class Return:
    """Leave the function; the steps of a finally block in between follow this one."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Throw:
    """`raise value`; None raises the handled exception again."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Catch:
    """The type test of one handler: TRUE enters it, FALSE leads to the next handler or leaves.

    `types` are the dotted names as written, () for a bare except; `name` is the bound variable.
    """

    types: tuple[str, ...]
    name: str | None


@dataclass(slots=True, eq=False)
class Yield:
    """`result = yield value`."""

    result: Name
    value: Expr | None
    delegate: bool = False


@dataclass(slots=True, eq=False)
class Jump:
    """A step without an effect, kept for the witness: pass, break, continue, finally, else, with."""

    word: str


Instr: TypeAlias = (
    Mark | Bind | Unpack | Update | Call | Test | Next | Drop | Return | Throw | Catch | Yield | Jump
)


# ---- the graph ----


@unique
class EdgeKind(Enum):
    """Why control follows an edge; BACK closes a loop."""

    NEXT = "next"
    TRUE = "true"
    FALSE = "false"
    BACK = "back"
    RAISE = "raise"


@unique
class Way(Enum):
    """How control entered a copy of a finally block."""

    NORMAL = "normal"
    RETURN = "return"
    RAISE = "raise"


class Edge(NamedTuple):
    """An edge to a step; a RAISE edge carries the state before the step."""

    kind: EdgeKind
    target: int


@dataclass(slots=True, eq=False)
class Step:
    """One instruction, its span, and its outgoing edges.

    `way` is set inside a finally block: how control entered that copy.
    """

    op: Instr
    span: Span
    edges: list[Edge] = field(default_factory=list)
    way: Way | None = None


@dataclass(slots=True, eq=False)
class Cfg:
    """The control-flow graph of one function.

    `bodies` maps the index of a loop's head to the indices of the loop's steps, `guards` the temporary that holds a
    context manager to the indices of the steps in its `with`.
    """

    steps: list[Step]
    bodies: dict[int, range] = field(default_factory=dict)
    guards: dict[str, range] = field(default_factory=dict)

    def reached(self, starts: Iterable[int], follows: Callable[[int, Edge], bool]) -> set[int]:
        """The steps that the edges for which `follows` holds lead to, `starts` included."""
        seen = set(starts)
        todo = list(seen)
        while todo:
            index = todo.pop()
            new = {edge.target for edge in self.steps[index].edges if follows(index, edge)} - seen
            seen |= new
            todo += new
        return seen


class Param(NamedTuple):
    """One formal parameter; `kind` is 'positional', 'keyword', '*' or '**'.

    `type` is the declared type as written, or None for a type parameter of the class or the method.
    """

    name: str
    kind: str = "positional"
    default: Expr | None = None
    type: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Function:
    """A function, method, lambda or module body, lowered.

    `qualname` is unique in its unit: "CountBolt.process", "CountBolt.process.<locals>.done", "<module>".
    `captures` are the names that it reads from enclosing functions.  `receiver` is the local that holds the object
    whose method this is, or encloses it; "" without one.  `types` are the declared types of its locals and `returns`
    the declared type of its result, as written and without type arguments.
    """

    name: str
    qualname: str
    path: str
    params: tuple[Param, ...]
    cfg: Cfg
    span: Span  # from `def` or `lambda` to the end of the body
    head: Span  # the name after `def`; for a lambda, all of it
    is_async: bool = False
    is_generator: bool = False
    binding: str = "instance"  # 'instance', 'class', 'static', or 'none' for a plain function
    decorators: tuple[Expr, ...] = ()
    closures: dict[str, "Function"] = field(default_factory=dict)
    captures: frozenset[str] = frozenset()
    receiver: str = ""
    # the body is only pass, ..., a docstring or `raise NotImplementedError`
    docstring_only: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""
    memo: dict[object, Any] = field(default_factory=dict)  # of `flow.expressions.memoize`

    def tree(self) -> Iterator["Function"]:
        """This function and all functions inside it."""
        yield self
        for inner in self.closures.values():
            yield from inner.tree()


@dataclass(slots=True, eq=False, kw_only=True)
class ClassInfo:
    """A class: its bases as written (pure expressions), its methods and its class-level assignments.

    `types` are the declared types of its fields, as written and without type arguments.  `constants` are all values of
    an enum.  `overloads` lists all methods of an overloaded name in source order, and `methods` has the first of them; it
    is None if the language has no overloads.  `straight` is false if the class body has a branch, a loop or a statement
    that only acts, so that `attrs` may not tell the values of its names.
    """

    name: str
    qualname: str  # "Outer.Inner" within the unit
    path: str
    module: str
    span: Span
    head: Span  # the name after `class`
    bases: tuple[Expr, ...]
    methods: dict[str, Function]
    attrs: dict[str, Expr]
    attr_spans: dict[str, Span]
    decorators: tuple[Expr, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    overloads: Mapping[str, tuple[Function, ...]] | None = None
    straight: bool = True

    def named(self, name: str) -> tuple[Function, ...]:
        """The methods of that name that the class defines itself, overloads included."""
        return (self.overloads or {}).get(name, (self.methods[name],) if name in self.methods else ())

    def all_methods(self) -> Iterator[Function]:
        """Every method that the class defines itself, overloads included."""
        for name in self.methods:
            yield from self.named(name)


@dataclass(slots=True, eq=False, kw_only=True)
class Unit:
    """One source file, lowered.

    `imports` maps a bound name to the qualified names that it may refer to (several after
    `try: import a except ImportError: import b`); relative imports are resolved against `module`.  `stars` are the
    star-imported modules.  `body` is the top-level code, `functions` the module-level functions, `values` the
    module-level assignments of pure expressions (the last one wins), and `classes` all classes by qualname, with the
    nested ones.
    """

    path: str
    module: str
    imports: Mapping[str, tuple[str, ...]]
    stars: tuple[str, ...]
    classes: dict[str, ClassInfo]
    functions: dict[str, Function]
    values: dict[str, Expr]
    body: Function
    python2: bool = False  # its syntax or names exist in Python 2 only
    eager: frozenset[str] = frozenset()  # lazy functions that a version it may run on calls at once


@dataclass(slots=True, eq=False, kw_only=True)
class Component:
    """A class of the project that is a bolt or a spout.

    `lineage` is its method resolution order among the project's classes, itself first; `ahead` are those before the
    framework's class.  A switch is None if only a run can know its value.  `opaque` is true if a base class cannot be
    analysed: a missing method may exist there.
    """

    name: str
    cls: ClassInfo
    lineage: tuple[ClassInfo, ...]
    ahead: tuple[ClassInfo, ...]
    dialect: Dialect
    role: Role
    auto_ack: bool | None
    auto_fail: bool | None
    auto_anchor: bool | None
    exits: bool | None = True  # whether an exception that leaves the handler ends the worker
    opaque: bool = False
    heirs: tuple[ClassInfo, ...] = ()  # the project's classes derived from it

    def method(self, name: str) -> Function | None:
        """The method that a call on an instance runs, if the project defines it."""
        entry = any(entry.method == name for entry in self.role.entries)
        for cls in self.ahead if entry else self.lineage:  # the framework's class has every entry
            if name in cls.methods:
                return cls.methods[name]
        return None

    def declared(self, name: str) -> tuple[ClassInfo, str] | None:
        """The class that declares a field, and the declared type."""
        for cls in self.lineage:
            if name in cls.types:
                return cls, cls.types[name]
        return None

    def attribute(self, name: str) -> Expr | None:
        """The class-level value of a name, if the project defines one."""
        for cls in self.lineage:
            if name in cls.attrs:
                return cls.attrs[name]
            if name in cls.methods:
                return None
        return None


# ---- the spelling of expressions ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How a language spells the code that a message quotes; `{0}` and `{1}` are operands."""

    own: str  # a method's own component
    catch: str  # the part of a `try` that handles exceptions
    constants: dict[object, str] = field(default_factory=dict)
    comparisons: dict[str, str] = field(default_factory=dict)  # those that are not `{0} op {1}`
    text_equals: str = "{0} == {1}"  # whether the first operand has the value of a string literal
    negation: str
    is_type: str
    creation: str = ""  # before the class of a new object


PYTHON = Notation(own="self", catch="except", negation="not {0}", is_type="isinstance({0}, {1})")
JAVA = Notation(
    own="this",
    catch="catch",
    constants={None: "null", True: "true", False: "false"},
    comparisons={"is": "{0} == {1}", "is not": "{0} != {1}"},
    text_equals="{0}.equals({1})",
    negation="!{0}",
    is_type="{0} instanceof {1}",
    creation="new ",
)
NOTATIONS = {"python": PYTHON, "java": JAVA}
