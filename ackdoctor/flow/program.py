"""The linked program: its symbol table, its components, and classes that look like components of unknown frameworks.

A component is a class whose lineage reaches a framework class.  Its switches (`auto_ack` and so on) are read from the
code; see `roles`.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.library import PLAIN_BASES
from ackdoctor.flow.roles import resolve_role, switch_value
from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.model.cfg import Attr, Call, ClassInfo, Component, Function, Name, Unit
from ackdoctor.model.dialect import Dialect, EntryKind, Kind, Role
from ackdoctor.model.finding import UnknownBase

__all__ = ["Program", "unknown_bases"]

_PYTHON_HANDLERS = frozenset(("process", "process_tuple"))
_JAVA_HANDLERS = frozenset(("execute", "process"))
_SPOUT_HANDLERS = frozenset(("next_tuple", "nextTuple"))
_TUPLE_NAMES = frozenset(("tup", "_tup", "tup_", "tuple", "tuple_", "a_tuple", "storm_tuple"))
_VERBS = frozenset(("ack", "fail", "emit"))


class Program(SymbolTable):
    """All lowered files of a run, linked, and the components among their classes.

    `skipped` are components with too many ancestors to analyse.
    """

    def __init__(
        self, units: Sequence[Unit], dialects: Sequence[Dialect], extra_bases: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(units, dialects, extra_bases)
        self.skipped: list[ClassInfo] = []
        self.components = tuple(self._components())

    def _components(self) -> Iterator[Component]:
        heirs: dict[int, list[ClassInfo]] = {}
        for cls in self.classes():
            for ancestor in self.lineage(cls).order[1:]:
                heirs.setdefault(id(ancestor), []).append(cls)
        for cls in self.classes():
            lineage = self.lineage(cls)
            framework = lineage.framework
            if framework is None or framework.role.abstract:
                continue
            if lineage.truncated:
                self.skipped.append(cls)
                continue
            before = lineage.before_framework
            role = resolve_role(self, before, framework.role)
            discipline = role.discipline
            yield Component(
                name=_display_name(lineage.order, role),
                cls=cls,
                lineage=lineage.order,
                dialect=framework.dialect,
                role=role,
                auto_ack=switch_value(self, before, discipline.auto_ack),
                auto_fail=switch_value(self, before, discipline.auto_fail),
                auto_anchor=switch_value(self, before, discipline.auto_anchor),
                exits=switch_value(self, before, discipline.exits),
                opaque=lineage.opaque,
                heirs=tuple(heirs.get(id(cls), ())),
            )


def _display_name(lineage: Sequence[ClassInfo], role: Role) -> str:
    """The component's name in messages; an anonymous class goes by its base class."""
    cls, *ancestors = lineage
    base = last_name(cls.bases[0]) if cls.name.startswith("$") and cls.bases else ""
    if not base:
        return cls.name
    handlers = {entry.method for entry in role.entries if entry.kind not in (EntryKind.INIT, EntryKind.LIFE)}
    return base if ancestors and handlers.isdisjoint(cls.methods) else f"an anonymous {base}"


# ---- classes that look like components ----


def unknown_bases(program: Program, dialects: Sequence[Dialect], language: str) -> Iterator[UnknownBase]:
    """The classes that have a component's handler but derive from an unknown class."""
    for cls in program.classes():
        lineage = program.lineage(cls)
        bases = [name for name in lineage.foreign if not _is_plain_base(name, language)]
        handler = _find_handler(cls, language) if lineage.framework is None and bases else None
        if handler is None:
            continue
        kind = Kind.SPOUT if handler.name in _SPOUT_HANDLERS else Kind.BOLT
        yield UnknownBase(
            path=cls.path,
            line=cls.head.line,
            name=cls.name,
            handler=_signature(handler, language),
            base=bases[0],
            suggestion=_suggest_base(
                program.units[cls.path], [d for d in dialects if d.language == language], kind
            ),
        )


def _signature(method: Function, language: str) -> str:
    """A method's name and parameters in the syntax of its language."""
    if language != "java":
        return f"{method.name}({', '.join(param.name for param in method.params)})"
    params = [f"{param.type} {param.name}".strip() for param in method.params if param.name != "this"]
    return f"{method.name}({', '.join(params)})"


def _is_plain_base(name: str, language: str) -> bool:
    """Whether a base belongs to the standard library, or is one that passes on no handler."""
    if name.rpartition(".")[2] in PLAIN_BASES:
        return True
    first = name.partition(".")[0]
    if language == "java":
        return first in ("java", "javax")
    return first in sys.stdlib_module_names or "." not in name


def _find_handler(cls: ClassInfo, language: str) -> Function | None:
    for method in cls.all_methods():
        if not method.docstring_only and _looks_like_handler(cls, method, language):
            return method
    return None


def _looks_like_handler(cls: ClassInfo, method: Function, language: str) -> bool:
    if method.name in _SPOUT_HANDLERS:
        return True
    if language == "java":
        types = [(param.type or "").rpartition(".")[2] for param in method.params]
        return method.name in _JAVA_HANDLERS and "Tuple" in types
    if method.name not in _PYTHON_HANDLERS or len(method.params) != 2:  # noqa: PLR2004  # self and the tuple
        return False
    return method.params[1].name in _TUPLE_NAMES or any(map(_calls_verb, cls.all_methods()))


def _calls_verb(method: Function) -> bool:
    return any(
        isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and isinstance(step.op.func.obj, Name)
        and step.op.func.obj.id == "self"
        and last_name(step.op.func) in _VERBS
        for step in method.cfg.steps
    )


def _suggest_base(unit: Unit, dialects: Sequence[Dialect], kind: Kind) -> str:
    """A base class of the framework that the file imports, or else of the best-known framework."""
    names = [name for found in unit.imports.values() for name in found] + list(unit.stars)
    for dialect in dialects:
        classes = [role.classes[0] for role in dialect.roles if role.kind is kind]
        package = (
            ".".join(classes[0].split(".")[: 3 if dialect.language == "java" else 1]) if classes else "?"
        )
        if any(name == package or name.startswith(f"{package}.") for name in names):
            return classes[0]
    return next(
        role.classes[0]
        for dialect in dialects
        for role in dialect.roles
        if dialect.default and role.kind is kind
    )
