"""Name resolution across files: imports, re-exports, star imports and base classes.

A *qualified name* is dotted text such as "bolts.base.CountBolt".  Resolving it yields a `ClassInfo` or a `Function` of
the project, or the qualified name itself if it leads outside the project.  A module of the project is found by the
longest matching tail of its path, nearest directory first: `bolts.base` finds `src/bolts/base.py` although `src` is
not part of the module name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ackdoctor.flow.expressions import last_name, memoize
from ackdoctor.libraries.vocabulary import ATTRIBUTE_TABLE, ATTRIBUTE_WRITES, CLASS_OF, PLAIN_BASES
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    ClassInfo,
    Expr,
    Function,
    Global,
    Literal,
    Mix,
    Name,
    Next,
    Unit,
    Unpack,
    Update,
)
from ackdoctor.model.dialect import OF_TUPLE, OWN, Dialect, Role

Symbol = ClassInfo | Function | str
_MAX_REEXPORTS = 12  # followed for one name
MAX_ANCESTORS = 100  # of one class; a component with more is not analysed


UNKNOWN = Mix("unknown", ())


@dataclass(slots=True, unsafe_hash=True)
class FrameworkClass:
    """A class of a framework: its dialect and role."""

    dialect: Dialect
    role: Role


class Lineage(NamedTuple):
    """The method resolution order of a class, as far as the project defines it; the class itself comes first.

    `before_framework` are the classes that precede the framework's class in that order.  `opaque` is true if a base
    cannot be resolved; `foreign` are the qualified names of such bases.  `truncated` is true if the class has more
    than `MAX_ANCESTORS` ancestors; `order` then holds the nearest ones only.
    """

    order: tuple[ClassInfo, ...]
    before_framework: tuple[ClassInfo, ...]
    framework: FrameworkClass | None
    opaque: bool
    foreign: tuple[str, ...] = ()
    truncated: bool = False


class AttributeAssignment(NamedTuple):
    """`obj.name = value` in any spelling; `name` is None if only a run can know it."""

    obj: Expr
    name: str | None
    value: Expr


class SymbolTable:
    """All lowered files of a run, and what each name in them refers to."""

    def __init__(
        self, units: Sequence[Unit], dialects: Sequence[Dialect], extra_bases: Mapping[str, str] | None = None
    ) -> None:
        self.units = {unit.path: unit for unit in sorted(units, key=lambda unit: unit.path)}
        self.extra_bases = dict(extra_bases or {})
        self._modules: dict[str, list[Unit]] = {}
        self._package_classes: dict[str, list[ClassInfo]] = {}
        self._nested_classes: dict[str, dict[str, str]] = {}
        for unit in self.units.values():
            self._index_unit(unit)
        self._framework_classes = _index_classes(dialects)
        self._vendored_classes = _index_classes([dialect for dialect in dialects if dialect.vendored])
        self._framework_calls = _index_calls(dialects)
        self._vendored_calls = _index_calls([dialect for dialect in dialects if dialect.vendored])
        self._framework_objects = frozenset(name for dialect in dialects for name in dialect.objects)
        self._owners: dict[int, ClassInfo] = {
            id(method): cls for cls in self.classes() for method in cls.all_methods()
        }
        self._lineages: dict[int, Lineage] = {}
        self._types: dict[tuple[str, str], ClassInfo | tuple[str, ...]] = {}
        self._resolved: dict[tuple[str, Expr], tuple[Symbol, ...]] = {}
        self._constants: dict[tuple[str, Expr], Literal | None] = {}

    def _index_unit(self, unit: Unit) -> None:
        if unit.module not in unit.stars:
            parts = unit.module.split(".")
            for start in range(len(parts)):
                self._modules.setdefault(".".join(parts[start:]), []).append(unit)
            return
        # a star import of its own package: the file sees the classes of the package's other files
        nested = self._nested_classes[unit.path] = {}
        for qualname, cls in unit.classes.items():
            self._package_classes.setdefault(f"{unit.module}.{qualname}".lstrip("."), []).append(cls)
            nested.setdefault(cls.name, qualname)

    @cached_property
    def setters(self) -> tuple[tuple[Unit, Function], ...]:
        """The functions and module bodies that assign any attribute, each with its unit."""
        return tuple(
            (unit, function)
            for unit in self.units.values()
            for function in (unit.body, *unit.functions.values())
            if attribute_assignments(function)
        )

    # ---- names ----

    def classes(self) -> Iterator[ClassInfo]:
        """Every class of the project, by file and then by name."""
        for unit in self.units.values():
            yield from unit.classes.values()

    def owner(self, function: Function) -> ClassInfo | None:
        """The class that defines this method."""
        return self._owners.get(id(function))

    def qualify(self, unit: Unit, expr: Expr) -> tuple[str, ...]:
        """The qualified names that a dotted expression may refer to, by the imports of its file."""
        match expr:
            case Global(id=name):
                if name in unit.imports:
                    return unit.imports[name]
                if name in unit.classes or name in unit.functions or name in unit.values:
                    return (f"{unit.module}.{name}".lstrip("."),)
                inner = self._nested_classes.get(unit.path, {}).get(name)
                if inner is not None:
                    return (f"{unit.module}.{inner}".lstrip("."),)
                return (*(f"{star}.{name}" for star in unit.stars if star), name)
            case Attr(obj=obj, name=name):
                return tuple(f"{base}.{name}" for base in self.qualify(unit, obj))
            case _:
                return ()

    def resolve(self, unit: Unit, expr: Expr) -> tuple[Symbol, ...]:
        """The symbols that a dotted expression may refer to, through imports, re-exports, aliases and star imports."""
        key = (unit.path, expr)
        if key not in self._resolved:
            found: list[Symbol] = []
            for name in self.qualify(unit, expr):
                found += [
                    symbol for symbol in self._follow(unit, name, _MAX_REEXPORTS) if symbol not in found
                ]
            self._resolved[key] = tuple(found)
        return self._resolved[key]

    def constant(self, unit: Unit, expr: Expr) -> Literal | None:
        """The literal behind an upper-case name of a module or a class; an Enum member is its own literal."""
        if not isinstance(expr, (Global, Attr)) or not last_name(expr).isupper():
            return None
        key = (unit.path, expr)
        if key not in self._constants:
            found = (self._constant(unit, name) for name in self.qualify(unit, expr))
            self._constants[key] = next((literal for literal in found if literal is not None), None)
        return self._constants[key]

    def _constant(self, origin: Unit, name: str) -> Literal | None:
        head, _, last = name.rpartition(".")
        unit = self._module(origin, head) if head else origin
        value = unit.values.get(last) if unit is not None else None
        if value is None and head:
            found = origin.classes.get(head) or next(self._follow(origin, head, _MAX_REEXPORTS), None)
            cls = found if isinstance(found, ClassInfo) else None
            value = cls.attrs.get(last) if cls is not None else None
            if cls is not None and last in cls.constants:
                return Literal((cls.qualname, last))
        return value if isinstance(value, Literal) else None

    def module_value(self, origin: Unit, name: str) -> tuple[Unit, Expr] | None:
        """The expression that a module of the project assigns to a qualified name, and the module."""
        head, _, last = name.rpartition(".")
        unit = self._module(origin, head) if head else origin
        return (unit, unit.values[last]) if unit is not None and last in unit.values else None

    def framework_class(self, name: str) -> FrameworkClass | None:
        """The framework class with that qualified name, directly, in a vendored copy or by `extra-bases`."""
        if name in self._framework_classes:
            return self._framework_classes[name]
        for tail, framework in self._vendored_classes.items():
            if name.endswith("." + tail):
                return framework
        mapped = self.extra_bases.get(name) or self.extra_bases.get(name.rpartition(".")[2])
        return self._framework_classes.get(mapped) if mapped else None

    def _is_framework_name(self, name: str) -> bool:
        """Whether a qualified name belongs to a framework, even if the project has a copy of the framework."""
        return bool(
            self.framework_class(name)
            or name in self._framework_calls
            or ".".join(name.split(".")[-2:]) in self._vendored_calls
            or name in self._framework_objects
        )

    def _follow(self, origin: Unit, name: str, hops: int) -> Iterator[Symbol]:
        if hops == 0 or self._is_framework_name(name):
            yield name
            return
        member = self._in_package(origin, name) if self._package_classes else None
        if member is not None:
            yield member
            return
        head, rest = name, ""
        while head:
            unit = self._module(origin, head)
            if unit is not None and rest:
                found = list(self._member(unit, rest, hops - 1))
                if found:
                    yield from found
                    return
            head, _, tail = head.rpartition(".")
            rest = f"{tail}.{rest}" if rest else tail
        yield name

    def _in_package(self, origin: Unit, name: str) -> ClassInfo | Function | None:
        """The class or method with that full name; if several files define it, the nearest one."""
        head, _, last = name.rpartition(".")
        for full, member in ((name, ""), (head, last)):
            found = self._package_classes.get(full)
            if found:
                cls = max(found, key=lambda c: _proximity(origin.path, c.path))
                return self.find_method(cls, member) if member else cls
        return None

    def find_method(self, cls: ClassInfo, name: str) -> Function | None:
        """The method of that name that a class has, perhaps from a base class."""
        return next((each.methods[name] for each in self.lineage(cls).order if name in each.methods), None)

    def type_of(self, unit: Unit, text: str) -> ClassInfo | tuple[str, ...]:
        """The project's class that a declared type names, or else the qualified names it may refer to."""
        key = (unit.path, text)
        if key not in self._types:
            first, *rest = text.split(".")
            expr: Expr = Global(first)
            for part in rest:
                expr = Attr(expr, part)
            symbols = self.resolve(unit, expr)
            cls = next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
            self._types[key] = cls or tuple(symbol for symbol in symbols if isinstance(symbol, str))
        return self._types[key]

    def _member(self, unit: Unit, dotted: str, hops: int) -> Iterator[Symbol]:
        first, _, rest = dotted.partition(".")
        if dotted in unit.classes:
            yield unit.classes[dotted]
        elif first in unit.classes and (method := self.find_method(unit.classes[first], rest)) is not None:
            yield method
        elif dotted in unit.functions:
            yield unit.functions[dotted]
        elif first in unit.imports:
            for name in unit.imports[first]:
                yield from self._follow(unit, f"{name}.{rest}" if rest else name, hops)
        elif first in unit.values:
            for name in self.qualify(unit, unit.values[first]):
                if name != f"{unit.module}.{first}":
                    yield from self._follow(unit, f"{name}.{rest}" if rest else name, hops)
        elif first in unit.classes and (framework := self.lineage(unit.classes[first]).framework) is not None:
            yield f"{framework.role.classes[0]}.{rest}"
        else:
            for star in unit.stars:
                found = list(self._follow(unit, f"{star}.{dotted}", hops))
                if any(not isinstance(symbol, str) or self.framework_class(symbol) for symbol in found):
                    yield from found
                    return

    def _module(self, origin: Unit, name: str) -> Unit | None:
        units = self._modules.get(name, [])
        return max(units, key=lambda unit: _proximity(origin.path, unit.path), default=None)

    # ---- classes ----

    def lineage(self, cls: ClassInfo) -> Lineage:
        """The method resolution order of a class, and the framework class in it."""
        # an explicit stack: a chain of base classes may be deeper than Python's recursion limit
        stack = [] if id(cls) in self._lineages else [self._enter_class(cls)]
        while stack:
            each, bases = stack[-1]
            base = next((base for base in bases if id(base) not in self._lineages), None)
            if base is None:
                self._lineages[id(each)] = self._linearise(each)
                stack.pop()
            else:
                stack.append(self._enter_class(base))
        return self._lineages[id(cls)]

    def _enter_class(self, cls: ClassInfo) -> tuple[ClassInfo, Iterator[ClassInfo]]:
        # a provisional entry ends a cycle of base classes
        self._lineages[id(cls)] = Lineage((cls,), (cls,), None, opaque=False)
        unit = self.units[cls.path]
        symbols = (symbol for base in cls.bases for symbol in self.resolve(unit, base))
        return cls, (symbol for symbol in symbols if isinstance(symbol, ClassInfo))

    def _linearise(self, cls: ClassInfo) -> Lineage:
        order: tuple[ClassInfo, ...] = (cls,)
        before: tuple[ClassInfo, ...] = (cls,)
        framework: FrameworkClass | None = None
        opaque = truncated = False
        foreign: list[str] = []
        unit = self.units[cls.path]
        for place, base in enumerate(cls.bases):
            symbols = self.resolve(unit, base)
            direct = next((f for s in symbols if isinstance(s, str) and (f := self.framework_class(s))), None)
            parent = next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
            if direct is not None:
                framework = framework or direct
            elif parent is not None and parent is not cls:
                inherited = self._lineages[id(parent)]
                order = _merge_order(order, inherited.order)
                if framework is None or inherited.framework is not None:
                    before = _merge_order(before, inherited.before_framework)
                framework = framework or inherited.framework
                opaque = opaque or inherited.opaque
                foreign += inherited.foreign
                truncated = truncated or inherited.truncated or len(order) > MAX_ANCESTORS + 1
                order, before = order[: MAX_ANCESTORS + 1], before[: MAX_ANCESTORS + 1]
            else:
                foreign += [symbol for symbol in symbols if isinstance(symbol, str)]
                is_interface = place > 0 and cls.overloads is not None  # Java: a superclass comes first
                opaque = opaque or not (is_interface or last_name(base) in PLAIN_BASES)
        return Lineage(order, before, framework, opaque, tuple(foreign), truncated)


def _merge_order(order: tuple[ClassInfo, ...], inherited: tuple[ClassInfo, ...]) -> tuple[ClassInfo, ...]:
    """The order of a class extended by that of a further base: a shared ancestor follows all of its heirs."""
    cls = order[0]
    return (
        cls,
        *(each for each in order[1:] if each not in inherited),
        *(each for each in inherited if each is not cls),
    )


def _index_classes(dialects: Iterable[Dialect]) -> dict[str, FrameworkClass]:
    return {
        path: FrameworkClass(dialect, role)
        for dialect in dialects
        for role in dialect.roles
        for path in role.classes
    }


def _index_calls(dialects: Iterable[Dialect]) -> frozenset[str]:
    """The qualified names of the frameworks' functions."""
    return frozenset(
        f"{verb.on}.{verb.name}"
        for dialect in dialects
        for verbs in (dialect.verbs, *(role.verbs for role in dialect.roles))
        for verb in verbs
        if verb.on not in (OWN, OF_TUPLE)
    )


def _proximity(origin: str, path: str) -> tuple[int, int, str]:
    """Sort key of files with the same module name: shared leading directories first, then the shorter path."""
    shared = 0
    for one, other in zip(origin.split("/"), path.split("/"), strict=False):
        if one != other:
            break
        shared += 1
    return shared, -len(path), path


# ---- attribute assignments ----


@memoize
def attribute_assignments(function: Function) -> tuple[AttributeAssignment, ...]:
    """Every attribute that a function assigns; a new object is identified by the class that it was made from."""
    origins: dict[Expr, Expr] = {}
    found: list[AttributeAssignment] = []
    literal_lists: dict[Expr, tuple[Expr, ...]] = {}
    for step in function.cfg.steps:
        match step.op:
            case Next(target=Name() as each, iterable=Build(items=items)):
                literal_lists[each] = items
            case Call(func=Global(id=callee), args=(obj, named, value)) if callee in ATTRIBUTE_WRITES:
                for name in literal_lists.get(named.value, (named.value,)):
                    text = name.value if isinstance(name, Literal) and isinstance(name.value, str) else None
                    found.append(AttributeAssignment(_origin(obj.value, origins), text, value.value))
            case Call(func=Attr(obj=Attr(obj=obj, name=table), name="update")) if table == ATTRIBUTE_TABLE:
                found.append(AttributeAssignment(_origin(obj, origins), None, UNKNOWN))
            case Call(func=func, result=result):
                origins[result] = func
            case (
                Bind(target=Attr(obj=obj, name=name), value=value)
                | Update(target=Attr(obj=obj, name=name), value=value)
            ):
                found.append(AttributeAssignment(_origin(obj, origins), name, value))
            case Bind(target=Name() | Global() as new, value=value) if value in origins:
                origins[new] = origins[value]
            case Unpack(targets=targets, value=value):
                parts = value.items if isinstance(value, Build) and len(value.items) == len(targets) else ()
                for target, part in zip(targets, parts or (UNKNOWN,) * len(targets), strict=True):
                    if isinstance(target, Attr):
                        found.append(AttributeAssignment(_origin(target.obj, origins), target.name, part))
            case _:
                pass
    return tuple(found)


def _origin(obj: Expr, origins: dict[Expr, Expr]) -> Expr:
    match obj:
        case Attr(obj=inner, name=name) if name == CLASS_OF:
            return _origin(inner, origins)
        case Mix(op="type", parts=(inner,)):
            return _origin(inner, origins)
        case _:
            return origins.get(obj, obj)
