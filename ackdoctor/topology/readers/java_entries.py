"""Entry points: the functions from which code that wires a topology is reached.

The search starts at the functions with a wiring call such as `builder.setBolt(...)` and climbs to their callers by name.
A function without callers is an entry point, and so is every `main`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.libraries.vocabulary import CONSTRUCTORS
from ackdoctor.model.cfg import Attr, Call, ClassInfo, Expr, Function, Global, Name, Unit
from ackdoctor.topology.interpreter import Entry

_MAX_CALLERS = 8  # followed upwards
_MAX_HEIRS = 8  # classes for which an inherited entry point is executed
_MAIN = "main"


@dataclass(slots=True, eq=False)
class _Caller:
    """A function with its unit, and a call in it."""

    function: Function
    unit: Unit
    inner: Function  # the closure that makes the call, or the function itself
    call: Call


@dataclass(eq=False)
class EntryPoints:
    """The call graph by names, built on demand."""

    symbols: SymbolTable
    _callers: dict[str, list[_Caller]] = field(default_factory=dict)

    def wiring(self, names: frozenset[str]) -> tuple[Entry, ...]:
        """The functions with a wiring call."""
        self._index()
        found = {
            id(caller.function): Entry(caller.function, caller.unit, self.symbols.owner(caller.function))
            for name in sorted(names)
            for caller in self._callers.get(name, ())
        }
        return tuple(found.values())

    def above(self, starts: Iterable[Entry]) -> Iterator[Entry]:
        """The entry points from which these functions are reached: those that nothing calls."""
        ring = {id(start.function): start for start in starts}
        seen = set(ring)
        for _ in range(_MAX_CALLERS):
            following: dict[int, Entry] = {}
            for entry in ring.values():
                callers = [] if is_main(entry.function) else list(self._callers_of(entry))
                if not callers:
                    yield from self._for_heirs(entry)
                following |= {id(each.function): each for each in callers if id(each.function) not in seen}
            seen |= following.keys()
            ring = following
        yield from ring.values()

    def _index(self) -> None:
        if self._callers:
            return
        for unit in self.symbols.units.values():
            for function in _functions(unit):
                for inner in function.tree():
                    for step in inner.cfg.steps:
                        if isinstance(step.op, Call):
                            caller = _Caller(function, unit, inner, step.op)
                            self._callers.setdefault(last_name(step.op.func), []).append(caller)

    def _callers_of(self, entry: Entry) -> Iterator[Entry]:
        function, owner = entry.function, self.symbols.owner(entry.function)
        is_constructor = function.name in CONSTRUCTORS and owner is not None
        names = [owner.name, *CONSTRUCTORS] if is_constructor and owner is not None else [function.name]
        for name in names:
            for caller in self._callers.get(name, ()):
                if caller.function is function:
                    continue
                if self._may_call(caller, function, owner, is_constructor=is_constructor):
                    yield Entry(caller.function, caller.unit, self.symbols.owner(caller.function))

    def _may_call(
        self, caller: _Caller, function: Function, owner: ClassInfo | None, *, is_constructor: bool
    ) -> bool:
        given = len(caller.call.args)
        wanted = [param for param in function.params if param.kind == "positional" and param.default is None]
        most = len(wanted) - (function.binding in ("instance", "class"))
        if given != most and not any(param.kind != "positional" for param in function.params):
            return False
        if owner is None:
            return True
        func = caller.call.func
        if is_constructor:
            home = self.symbols.owner(caller.function)
            return last_name(func) == owner.name or (
                home is not None and self._related(home, owner, strict=True)
            )
        receiver = self._class_of(caller, func)
        return self._knows(caller.unit, owner) if receiver is None else self._related(receiver, owner)

    def _knows(self, unit: Unit, owner: ClassInfo) -> bool:
        """Whether a file imports a class, or is in its package."""
        return unit.module == owner.module or owner.name in unit.imports or owner.module in unit.stars

    @cached_property
    def heirs(self) -> Mapping[int, Sequence[ClassInfo]]:
        """The classes that inherit from each class."""
        found: dict[int, list[ClassInfo]] = {}
        for cls in self.symbols.classes():
            for ancestor in self.symbols.lineage(cls).order[1:]:
                found.setdefault(id(ancestor), []).append(cls)
        return found

    def _class_of(self, caller: _Caller, func: Expr) -> ClassInfo | None:
        """The class of a call's receiver, if it is declared and a class of the project."""
        if not isinstance(func, Attr):
            return None
        if isinstance(func.obj, Name):
            if func.obj.id == caller.inner.receiver:
                return self.symbols.owner(caller.function)
            written = caller.inner.types.get(func.obj.id)
            found = self.symbols.type_of(caller.unit, written) if written else None
            return found if isinstance(found, ClassInfo) else None
        if isinstance(func.obj, Global):
            symbols = self.symbols.resolve(caller.unit, func.obj)
            return next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
        return None

    def _related(self, one: ClassInfo, other: ClassInfo, *, strict: bool = False) -> bool:
        if strict and one is other:
            return False
        return other in self.symbols.lineage(one).order or (
            not strict and one in self.symbols.lineage(other).order
        )

    def _for_heirs(self, entry: Entry) -> Iterator[Entry]:
        """An entry point as a method of its class, or of each class that inherits it."""
        cls = entry.this
        if cls is None or entry.function.binding == "static":
            yield entry
            return
        heirs = [
            each
            for each in self.heirs.get(id(cls), ())
            if not _is_abstract(each) and not each.named(entry.function.name)
        ]
        if not heirs or not _is_abstract(cls):
            yield entry
        yield from (entry._replace(this=heir) for heir in heirs[:_MAX_HEIRS])


def _functions(unit: Unit) -> Iterator[Function]:
    yield unit.body
    yield from unit.functions.values()
    for cls in unit.classes.values():
        yield from cls.all_methods()


def _is_abstract(cls: ClassInfo) -> bool:
    """Whether a class declares a method without a body."""
    return any(method.docstring_only for method in cls.all_methods())


def is_main(function: Function) -> bool:
    """Whether a function is the `main` of a program."""
    return function.name == _MAIN


def has_main(unit: Unit) -> bool:
    """Whether a file has a program."""
    return any(_MAIN in cls.methods for cls in unit.classes.values())


def mentions(unit: Unit, classes: Collection[str], packages: frozenset[str]) -> bool:
    """Whether a file imports one of these classes, or all of a package that has one."""
    imported = (name for names in unit.imports.values() for name in names)
    return (
        any(name in classes for name in imported)
        or not packages.isdisjoint(unit.stars)
        or any(name.rpartition(".")[0] == unit.module for name in classes)
    )
