"""Links lowered files into a program: which name means what, which class is a component.

Terms.  A *qualified name* is dotted text ("bolts.base.CountBolt").  Resolving one ends in a `ClassInfo`
or `Function` of the project, or in the qualified name itself when it leads outside.  A module of the
project is found by the longest matching tail of its path, nearest directory first, so that `bolts.base`
finds `src/bolts/base.py` without knowing that `src` is on the path.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ackdoctor.flow.graph.wording import last_name
from ackdoctor.flow.linking.known import PLAIN_BASES
from ackdoctor.flow.linking.switches import setters, setting
from ackdoctor.flow.linking.variants import asked_role
from ackdoctor.model.cfg import Attr, Expr, Global, Literal
from ackdoctor.model.component import ClassInfo, Component, Function, Unit
from ackdoctor.model.dialect import Dialect, EntryKind, Role

__all__ = ["ANCESTORS", "Program", "Symbol"]

Symbol = ClassInfo | Function | str
HOPS = 12  # re-exports followed before giving up
ANCESTORS = 100  # of one class; no component with more is judged


@dataclass(slots=True, unsafe_hash=True)
class _Known:
    """A framework class: its dialect and role."""

    dialect: Dialect
    role: Role


class _Lineage(NamedTuple):
    """A class's project ancestors in resolution order, itself first; those `ahead` of the framework class; that class.

    `opaque` says that some base could not be read; `foreign` are the qualified names of such bases.
    `deep` says that the class has more than `ANCESTORS` ancestors, and that `order` lists only the nearest.
    """

    order: tuple[ClassInfo, ...]
    ahead: tuple[ClassInfo, ...]
    known: _Known | None
    opaque: bool
    foreign: tuple[str, ...] = ()
    deep: bool = False


class Program:
    """All lowered files of a run, and the components among their classes."""

    def __init__(
        self, units: Sequence[Unit], dialects: Sequence[Dialect], extra_bases: Mapping[str, str] | None = None
    ) -> None:
        self.units = {unit.path: unit for unit in sorted(units, key=lambda unit: unit.path)}
        self._modules: dict[str, list[Unit]] = {}
        self._packaged: dict[str, list[ClassInfo]] = {}
        self._nested: dict[str, dict[str, str]] = {}
        for unit in self.units.values():
            if unit.module in unit.stars:  # it sees what the other files of its package declare
                self._index_package(unit)
                continue
            parts = unit.module.split(".")
            for start in range(len(parts)):
                self._modules.setdefault(".".join(parts[start:]), []).append(unit)
        self._roles = _role_index(dialects)
        self._vendored = _vendored_index(dialects)
        self._calls, self._vendored_calls = _call_index(dialects)
        self._objects = frozenset(name for dialect in dialects for name in dialect.objects)
        self.extra_bases = dict(extra_bases or {})
        self._owners: dict[int, ClassInfo] = {}
        for cls in self.classes():
            for function in cls.all_methods():
                self._owners[id(function)] = cls
        self._mro: dict[int, _Lineage] = {}
        self._types: dict[tuple[str, str], ClassInfo | tuple[str, ...]] = {}
        self._qualified: dict[tuple[str, Expr], tuple[Symbol, ...]] = {}
        self._constants: dict[tuple[str, Expr], Literal | None] = {}
        self.unjudged: list[ClassInfo] = []
        self.components = tuple(self._components())

    @cached_property
    def setters(self) -> tuple[tuple[Unit, Function], ...]:
        """The functions that set any attribute, each with its unit."""
        return setters(self.units.values())

    def _index_package(self, unit: Unit) -> None:
        self._nested[unit.path] = {}
        for qualname, cls in unit.classes.items():
            self._packaged.setdefault(f"{unit.module}.{qualname}".lstrip("."), []).append(cls)
            self._nested[unit.path].setdefault(cls.name, qualname)

    # ---- names ----

    def classes(self) -> Iterator[ClassInfo]:
        """Every class of the project, by file and then by name."""
        for unit in self.units.values():
            yield from unit.classes.values()

    def owner(self, function: Function) -> ClassInfo | None:
        """The class whose method this is."""
        return self._owners.get(id(function))

    def qualify(self, unit: Unit, expr: Expr) -> tuple[str, ...]:
        """The qualified names that a dotted expression may stand for, as the file's imports have it."""
        match expr:
            case Global(id=name):
                if name in unit.imports:
                    return unit.imports[name]
                if name in unit.classes or name in unit.functions or name in unit.values:
                    return (f"{unit.module}.{name}".lstrip("."),)
                inner = self._nested.get(unit.path, {}).get(name)
                if inner is not None:
                    return (f"{unit.module}.{inner}".lstrip("."),)
                return (*(f"{star}.{name}" for star in unit.stars if star), name)
            case Attr(obj=obj, name=name):
                return tuple(f"{base}.{name}" for base in self.qualify(unit, obj))
            case _:
                return ()

    def resolve(self, unit: Unit, expr: Expr) -> tuple[Symbol, ...]:
        """What a dotted expression leads to, through imports, re-exports, aliases and star imports."""
        key = (unit.path, expr)
        if key not in self._qualified:
            found: list[Symbol] = []
            for name in self.qualify(unit, expr):
                found += [symbol for symbol in self._follow(unit, name, HOPS) if symbol not in found]
            self._qualified[key] = tuple(found)
        return self._qualified[key]

    def constant(self, unit: Unit, expr: Expr) -> Literal | None:
        """The literal that a name in capitals stands for, of a module or a class; a member of an Enum stands for itself."""
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
        if unit is None:
            module, _, inner = head.rpartition(".")
            unit = self._module(origin, module) if module else origin
            cls = unit.classes.get(inner) if unit is not None else None
            value = cls.attrs.get(last) if cls is not None else None
            if cls is not None and value is not None and [last_name(base) for base in cls.bases] == ["Enum"]:
                return Literal((cls.qualname, last))
        return value if isinstance(value, Literal) else None

    def known(self, name: str) -> _Known | None:
        """The framework class of that qualified name."""
        if name in self._roles:
            return self._roles[name]
        for tail, known in self._vendored.items():
            if name.endswith("." + tail):
                return known
        hint = self.extra_bases.get(name) or self.extra_bases.get(name.rpartition(".")[2])
        return self._roles.get(hint) if hint else None

    def _is_call(self, name: str) -> bool:
        """Whether a qualified name is a function of a framework, even if the project holds a copy of it."""
        return name in self._calls or ".".join(name.split(".")[-2:]) in self._vendored_calls

    def _follow(self, origin: Unit, name: str, hops: int) -> Iterator[Symbol]:
        if hops == 0 or self.known(name) or self._is_call(name) or name in self._objects:
            yield name
            return
        packaged = self._in_package(origin, name) if self._packaged else None
        if packaged is not None:
            yield packaged
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
        """The class of that full name, or the method of a class; of several files the nearest."""
        head, _, last = name.rpartition(".")
        for full, member in ((name, ""), (head, last)):
            found = self._packaged.get(full)
            if found:
                cls = max(found, key=lambda c: (_shared(origin.path, c.path), -len(c.path), c.path))
                return self._method_of(cls, member) if member else cls
        return None

    def _method_of(self, cls: ClassInfo, name: str) -> Function | None:
        return next((c.methods[name] for c in self.lineage(cls).order if name in c.methods), None)

    def type_of(self, unit: Unit, text: str) -> ClassInfo | tuple[str, ...]:
        """The class of the project that a declared type names, or the qualified names it may stand for outside."""
        key = (unit.path, text)
        if key not in self._types:
            self._types[key] = self._type_of(unit, text)
        return self._types[key]

    def _type_of(self, unit: Unit, text: str) -> ClassInfo | tuple[str, ...]:
        first, *rest = text.split(".")
        expr: Expr = Global(first)
        for part in rest:
            expr = Attr(expr, part)
        symbols = self.resolve(unit, expr)
        cls = next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
        return cls or tuple(symbol for symbol in symbols if isinstance(symbol, str))

    def _member(self, unit: Unit, dotted: str, hops: int) -> Iterator[Symbol]:
        first, _, rest = dotted.partition(".")
        if dotted in unit.classes:
            yield unit.classes[dotted]
        elif first in unit.classes and rest in unit.classes[first].methods:
            yield unit.classes[first].methods[rest]
        elif dotted in unit.functions:
            yield unit.functions[dotted]
        elif first in unit.imports:
            for name in unit.imports[first]:
                yield from self._follow(unit, f"{name}.{rest}" if rest else name, hops)
        elif first in unit.values:
            for name in self.qualify(unit, unit.values[first]):
                if name != f"{unit.module}.{first}":
                    yield from self._follow(unit, f"{name}.{rest}" if rest else name, hops)
        else:
            for star in unit.stars:
                found = list(self._follow(unit, f"{star}.{dotted}", hops))
                if any(not isinstance(symbol, str) or self.known(symbol) for symbol in found):
                    yield from found
                    return

    def _module(self, origin: Unit, name: str) -> Unit | None:
        units = self._modules.get(name, [])
        if not units:
            return None
        return max(units, key=lambda unit: (_shared(origin.path, unit.path), -len(unit.path), unit.path))

    # ---- classes ----

    def lineage(self, cls: ClassInfo) -> "_Lineage":
        """The project's part of a class's resolution order, and the framework class in it."""
        waiting = [] if id(cls) in self._mro else [self._begin(cls)]
        while waiting:
            each, bases = waiting[-1]
            base = next((base for base in bases if id(base) not in self._mro), None)
            if base is None:
                self._mro[id(each)] = self._linearise(each)
                waiting.pop()
            else:
                waiting.append(self._begin(base))
        return self._mro[id(cls)]

    def _begin(self, cls: ClassInfo) -> tuple[ClassInfo, Iterator[ClassInfo]]:
        self._mro[id(cls)] = _Lineage((cls,), (cls,), None, opaque=False)  # a cycle of bases ends here
        unit = self.units[cls.path]
        symbols = (symbol for base in cls.bases for symbol in self.resolve(unit, base))
        return cls, (symbol for symbol in symbols if isinstance(symbol, ClassInfo))

    def _linearise(self, cls: ClassInfo) -> "_Lineage":
        order: list[ClassInfo] = [cls]
        ahead: list[ClassInfo] = [cls]
        known: _Known | None = None
        opaque = deep = False
        foreign: list[str] = []
        unit = self.units[cls.path]
        for base in cls.bases:
            symbols = self.resolve(unit, base)
            framework = next((k for s in symbols if isinstance(s, str) and (k := self.known(s))), None)
            project = next((s for s in symbols if isinstance(s, ClassInfo)), None)
            if framework is not None:
                known = known or framework
            elif project is not None and project is not cls:
                theirs = self._mro[id(project)]
                order = [
                    cls,
                    *(c for c in order[1:] if c not in theirs.order),
                    *(c for c in theirs.order if c is not cls),
                ]
                if known is None:
                    first = theirs.ahead
                    ahead = [
                        cls,
                        *(c for c in ahead[1:] if c not in first),
                        *(c for c in first if c is not cls),
                    ]
                known = known or theirs.known
                opaque = opaque or theirs.opaque
                foreign += theirs.foreign
                deep = deep or theirs.deep or len(order) > ANCESTORS + 1
                order, ahead = order[: ANCESTORS + 1], ahead[: ANCESTORS + 1]
            else:
                foreign += [symbol for symbol in symbols if isinstance(symbol, str)]
                opaque = opaque or last_name(base) not in PLAIN_BASES
        return _Lineage(tuple(order), tuple(ahead), known, opaque, tuple(foreign), deep)

    def _components(self) -> Iterator[Component]:
        heirs: dict[int, list[ClassInfo]] = {}
        for cls in self.classes():
            for ancestor in self.lineage(cls).order[1:]:
                heirs.setdefault(id(ancestor), []).append(cls)
        for cls in self.classes():
            order, ahead, known, opaque, _, deep = self.lineage(cls)
            if known is None or known.role.abstract:
                continue
            if deep:
                self.unjudged.append(cls)
                continue
            role = asked_role(self, ahead, known.role)
            discipline = role.discipline
            yield Component(
                name=_called(order, role),
                cls=cls,
                lineage=order,
                dialect=known.dialect,
                role=role,
                auto_ack=setting(self, ahead, discipline.auto_ack),
                auto_fail=setting(self, ahead, discipline.auto_fail),
                auto_anchor=setting(self, ahead, discipline.auto_anchor),
                exits=setting(self, ahead, discipline.exits),
                opaque=opaque,
                heirs=tuple(heirs.get(id(cls), ())),
            )


def _called(lineage: Sequence[ClassInfo], role: Role) -> str:
    """What a reader calls a component: one without a name of its own after its base, and as that itself where it inherits all handlers."""
    cls, *above = lineage
    base = last_name(cls.bases[0]) if cls.name.startswith("$") and cls.bases else ""
    if not base:
        return cls.name
    handlers = {entry.method for entry in role.entries if entry.kind not in (EntryKind.INIT, EntryKind.LIFE)}
    return base if above and handlers.isdisjoint(cls.methods) else f"an anonymous {base}"


def _role_index(dialects: Iterable[Dialect]) -> dict[str, _Known]:
    return {path: _Known(d, role) for d in dialects for role in d.roles for path in role.classes}


def _vendored_index(dialects: Iterable[Dialect]) -> dict[str, _Known]:
    """Classes of frameworks whose module is copied into projects: any module whose last part fits counts."""
    return {
        path: _Known(d, role)
        for d in dialects
        if getattr(d, "vendored", False)
        for role in d.roles
        for path in role.classes
    }


def _call_index(dialects: Iterable[Dialect]) -> tuple[frozenset[str], frozenset[str]]:
    """The qualified names of the frameworks' functions: all of them, and those of modules that projects copy."""
    found = [
        (d, f"{verb.on}.{verb.name}")
        for d in dialects
        for verbs in (d.verbs, *(role.verbs for role in d.roles))
        for verb in verbs
        if verb.on not in ("self", "tuple")
    ]
    return frozenset(name for _, name in found), frozenset(name for d, name in found if d.vendored)


def _shared(one: str, other: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for left, right in zip(one.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
