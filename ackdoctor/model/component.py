"""Lowered source files, their classes and functions, and the components among the classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackdoctor.model.cfg import Cfg, Expr
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.model.source import Span

__all__ = ["ClassInfo", "Component", "Function", "Param", "Unit"]


class Param(NamedTuple):
    """One formal parameter; `kind` is 'positional', 'keyword', '*' or '**'.

    `type` is the declared type as written, or None for a type parameter of the class.
    """

    name: str
    kind: str = "positional"
    default: Expr | None = None
    type: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Function:
    """A function, method, lambda or module body, lowered.

    `qualname` is unique in its unit: "CountBolt.process", "CountBolt.process.<locals>.done", "<module>".
    `captures` are the names that it reads from enclosing functions.  `types` are the declared types of its locals and
    `returns` the declared type of its result, as written and without type arguments.
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

    `types` are the declared types of its fields, as written and without type arguments.  If a language has overloads,
    `overloads` lists all methods of an overloaded name in source order, and `methods` has the first of them.
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
        """The methods of that name that the class defines itself, overloads included."""
        return self.overloads.get(name, (self.methods[name],) if name in self.methods else ())

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


@dataclass(slots=True, eq=False, kw_only=True)
class Component:
    """A class of the project that is a bolt or a spout.

    `lineage` is its method resolution order among the project's classes, itself first.  A switch is None if only a run
    can know its value.  `opaque` is true if a base class cannot be analysed: a missing method may exist there.
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
    heirs: tuple[ClassInfo, ...] = ()  # the project's classes derived from it

    def method(self, name: str) -> Function | None:
        """The method that a call on an instance runs, if the project defines it."""
        for cls in self.lineage:
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
