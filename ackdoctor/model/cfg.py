"""The neutral middle: expressions, instructions and the control-flow graph a frontend lowers to.

Terms.  An `Expr` is pure: every call has been hoisted into a `Call` step of its own, in evaluation
order, and its result is a temporary `Name` ("%3").  A `Step` is one instruction with its span and
its outgoing edges.  A `Cfg` is a list of steps; an edge's target is an index into that list.
Three steps always exist: ENTRY (0), EXIT (1, normal return) and RAISED (2, an exception leaves).

`if ok(tup): return` inside `try: ... except ValueError: pass` lowers to

    3 Call %1 = ok(tup)        -> NEXT 4, RAISE 6
    4 Test %1                  -> TRUE 5, FALSE 8
    5 Return None              -> NEXT 1
    6 Catch ValueError         -> TRUE 7, FALSE 2
    7 Jump pass                -> NEXT 8

No syntax node of any language appears here.  Nothing here is changed once it is made; the classes are not
frozen only because a frozen dataclass takes four times as long to create, at every start of the linter.
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
    """A name bound in no enclosing function: an import, a module-level name or a builtin."""

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
    """A display or comprehension result: 'list', 'tuple', 'set' or 'dict'; a dict lists keys and values in turn."""

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
    """Any other computation over its parts: arithmetic, formatting, a slice; `op` is the operator's text, if one."""

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
    """Logical negation that could not be turned into swapped edges (a stored condition)."""

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
    """`a, b = value`; a target may be a Name, Attr, Item, Star or None where a nested pattern was flattened away."""

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
    """`result = func(args)`; `awaited` where the result is awaited at once, `dropped` where nobody looks at it."""

    result: Name
    func: Expr
    args: tuple[Arg, ...]
    awaited: bool = False
    dropped: bool = False


@dataclass(slots=True, eq=False)
class Test:
    """A two-way branch on a pure condition; `and`, `or` and `not` have been unfolded into edges."""

    __test__ = False  # for pytest: this is not a test class

    condition: Expr


@dataclass(slots=True, eq=False)
class Next:
    """The head of an iteration: TRUE binds the next element to `target`, FALSE leaves.  `loop` is unique in the Cfg."""

    target: Expr | None
    iterable: Expr
    loop: int


@dataclass(slots=True, eq=False)
class Drop:
    """`del target`."""

    target: Expr


@dataclass(slots=True, eq=False)
class Return:
    """Leaves the function; a finally in between stands as its own steps after this one."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Throw:
    """`raise value`; None re-raises what is being handled."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Catch:
    """One handler's question: TRUE enters it, FALSE asks the next or leaves.

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
    """A step with no effect that the reader should see: pass, break, continue, finally, else, with."""

    word: str


Instr: TypeAlias = (
    Mark | Bind | Unpack | Update | Call | Test | Next | Drop | Return | Throw | Catch | Yield | Jump
)


# ---- the graph ----


@unique
class EdgeKind(Enum):
    """Why control goes there; BACK closes a loop."""

    NEXT = "next"
    TRUE = "true"
    FALSE = "false"
    BACK = "back"
    RAISE = "raise"


@unique
class Way(Enum):
    """How a copy of a finally block was entered; a step outside any finally has no way."""

    NORMAL = "normal"
    RETURN = "return"
    RAISE = "raise"


class Edge(NamedTuple):
    """One way on; a RAISE edge carries the state from before the step."""

    kind: EdgeKind
    target: int


@dataclass(slots=True, eq=False)
class Step:
    """One instruction, where it stands, and where control goes next.

    `way` is set inside a finally block: how that copy was entered.
    """

    op: Instr
    span: Span
    edges: list[Edge] = field(default_factory=list)
    way: Way | None = None


@dataclass(slots=True, eq=False)
class Cfg:
    """The control-flow graph of one function; `bodies` gives each loop's steps, its head first, by the head's index."""

    steps: list[Step]
    bodies: dict[int, range] = field(default_factory=dict)
