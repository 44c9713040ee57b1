"""One lowered file, and the bolts and spouts found in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackdoctor.model.cfg import Cfg, Expr
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.model.source import Span

__all__ = ["ClassInfo", "Component", "Function", "Param", "Unit"]


class Param(NamedTuple):
    """One formal parameter; `kind` is 'positional', 'keyword', '*' or '**'.

    `type` is the annotation as written; a type parameter of the class is none.
    """

    name: str
    kind: str = "positional"
    default: Expr | None = None
    type: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Function:
    """A function, method, lambda or module body, lowered.

    `qualname` is unique in its unit: "CountBolt.process", "CountBolt.process.<locals>.done", "<module>".
    `captures` are the names it reads from enclosing functions; `types` are the declared types of its
    locals and `returns` that of its result, as written and without type arguments, in a language that declares them.
    """

    name: str
    qualname: str
    path: str
    params: tuple[Param, ...]
    cfg: Cfg
    span: Span  # from `def` (or `lambda`) to the end of the body
    head: Span  # the name after `def`; for a lambda, the whole of it
    is_async: bool = False
    is_generator: bool = False
    binding: str = "instance"  # 'instance', 'class', 'static', or 'none' for a plain function
    decorators: tuple[Expr, ...] = ()
    closures: dict[str, "Function"] = field(default_factory=dict)
    captures: frozenset[str] = frozenset()
    # the body is nothing but pass, ..., a docstring or `raise NotImplementedError`
    docstring_only: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""
    memo: dict[object, Any] = field(default_factory=dict)  # of `flow.expressions.memoize`

    def tree(self) -> Iterator["Function"]:
        """Itself and all functions inside."""
        yield self
        for inner in self.closures.values():
            yield from inner.tree()


@dataclass(slots=True, eq=False, kw_only=True)
class ClassInfo:
    """A class: its bases as written (pure expressions), its methods and its class-level assignments.

    In a language that declares types, `types` are those of its fields, as written and without type
    arguments; in one that tells methods apart by their parameters, `overloads` has all methods of a name
    that has several, in the order of the source, and `methods` the first of them.
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
    overloads: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)

    def named(self, name: str) -> tuple[Function, ...]:
        """Its own methods of that name, overloads included."""
        return self.overloads.get(name, (self.methods[name],) if name in self.methods else ())

    def all_methods(self) -> Iterator[Function]:
        """Every method that it has itself, overloads included."""
        for name in self.methods:
            yield from self.named(name)


@dataclass(slots=True, eq=False, kw_only=True)
class Unit:
    """One source file, lowered.

    `imports` maps a bound name to the qualified names it may stand for (several after a
    `try: import a except ImportError: import b`); relative imports are made absolute against
    `module`.  `stars` are the modules star-imported.  `body` is the module's own top-level code,
    `functions` its module-level functions, `values` its module-level assignments of pure
    expressions (last one wins), and `classes` all classes by qualname, nested ones included.
    """

    path: str
    module: str
    imports: Mapping[str, tuple[str, ...]]
    stars: tuple[str, ...]
    classes: dict[str, ClassInfo]
    functions: dict[str, Function]
    values: dict[str, Expr]
    body: Function
    python2: bool = False  # written for Python 2: by its syntax, or by a name that no other Python has


@dataclass(slots=True, eq=False, kw_only=True)
class Component:
    """A class of the project that is a bolt or a spout.

    `lineage` is its method resolution order as far as the project's own classes go, itself first.
    A switch is None where the code sets it to something that only a run can know.  `opaque` says
    that one of its bases could not be read, so that a method missing here may exist there.
    """

    name: str
    cls: ClassInfo
    lineage: tuple[ClassInfo, ...]
    dialect: Dialect
    role: Role
    auto_ack: bool | None
    auto_fail: bool | None
    auto_anchor: bool | None
    exits: bool | None = True  # whether an exception that leaves the handler ends the worker
    opaque: bool = False
    heirs: tuple[ClassInfo, ...] = ()  # the project's classes that derive from it

    def method(self, name: str) -> Function | None:
        """The method of that name that a call on an instance reaches, if the project defines it."""
        for cls in self.lineage:
            if name in cls.methods:
                return cls.methods[name]
        return None

    def declared(self, name: str) -> tuple[ClassInfo, str] | None:
        """The declared type of that field, and the class that declares it."""
        for cls in self.lineage:
            if name in cls.types:
                return cls, cls.types[name]
        return None

    def attribute(self, name: str) -> Expr | None:
        """The class-level value of that name, if the project gives one."""
        for cls in self.lineage:
            if name in cls.attrs:
                return cls.attrs[name]
            if name in cls.methods:
                return None
        return None
