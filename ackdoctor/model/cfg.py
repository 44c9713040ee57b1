"""The intermediate representation: expressions, instructions and the control-flow graph that a frontend lowers to.

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

from dataclasses import dataclass, field
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

from ackdoctor.model.source import Span

__all__ = [
    "ENTRY",
    "EXIT",
    "RAISED",
    "Arg",
    "Attr",
    "Bind",
    "Build",
    "Call",
    "Catch",
    "Cfg",
    "Closure",
    "Compare",
    "Drop",
    "Edge",
    "EdgeKind",
    "Expr",
    "Global",
    "Instr",
    "IsType",
    "Item",
    "Jump",
    "Literal",
    "Mark",
    "Mix",
    "Name",
    "Next",
    "Not",
    "Return",
    "Star",
    "Step",
    "Test",
    "Throw",
    "Unpack",
    "Update",
    "Way",
    "Yield",
]

ENTRY, EXIT, RAISED = 0, 1, 2


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
    """A display or comprehension: `kind` is 'list', 'tuple', 'set' or 'dict'; a dict alternates keys and values."""

    kind: str
    items: tuple["Expr", ...]


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
    """`result = func(args)`; `awaited` if the result is awaited at once, `dropped` if the code ignores it."""

    result: Name
    func: Expr
    args: tuple[Arg, ...]
    awaited: bool = False
    dropped: bool = False


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
    """The control-flow graph of one function; `bodies` maps the index of a loop's head to the indices of the loop's steps."""

    steps: list[Step]
    bodies: dict[int, range] = field(default_factory=dict)
