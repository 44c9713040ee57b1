"""Classes that look like a bolt or a spout and derive from a class that nothing is known of."""

import sys
from collections.abc import Iterator, Sequence

from ackdoctor.flow.graph.wording import last_name
from ackdoctor.flow.linking.known import PLAIN_BASES
from ackdoctor.flow.linking.program import Program
from ackdoctor.model.cfg import Attr, Call, Name
from ackdoctor.model.component import ClassInfo, Function, Unit
from ackdoctor.model.dialect import Dialect, Kind
from ackdoctor.model.finding import UnknownBase

__all__ = ["unknown_bases"]

_PYTHON = frozenset(("process", "process_tuple"))
_JAVA = frozenset(("execute", "process"))
_SPOUT = frozenset(("next_tuple", "nextTuple"))
_TUPLES = frozenset(("tup", "_tup", "tup_", "tuple", "tuple_", "a_tuple", "storm_tuple"))
_VERBS = frozenset(("ack", "fail", "emit"))


def unknown_bases(program: Program, dialects: Sequence[Dialect], language: str) -> Iterator[UnknownBase]:
    """The classes of a program that are no components only because a base of theirs is out of sight."""
    for cls in program.classes():
        lineage = program.lineage(cls)
        bases = [name for name in lineage.foreign if not _is_plain(name, language)]
        handler = _handler(cls, language) if lineage.known is None and bases else None
        if handler is None:
            continue
        unit = program.units[cls.path]
        kind = Kind.SPOUT if handler.name in _SPOUT else Kind.BOLT
        yield UnknownBase(
            path=cls.path,
            line=cls.head.line,
            name=cls.name,
            handler=_written(handler, language),
            base=bases[0],
            suggestion=_suggestion(unit, [d for d in dialects if d.language == language], kind),
        )


def _written(method: Function, language: str) -> str:
    """The head of a method as its author wrote it."""
    if language != "java":
        return f"{method.name}({', '.join(param.name for param in method.params)})"
    params = [f"{param.type} {param.name}".strip() for param in method.params if param.name != "this"]
    return f"{method.name}({', '.join(params)})"


def _is_plain(name: str, language: str) -> bool:
    """Whether a base is the standard library's, or one from which no component inherits a handler."""
    if name.rpartition(".")[2] in PLAIN_BASES:
        return True
    first = name.partition(".")[0]
    return (
        first in ("java", "javax")
        if language == "java"
        else first in sys.stdlib_module_names or "." not in name
    )


def _handler(cls: ClassInfo, language: str) -> Function | None:
    for method in cls.all_methods():
        if not method.docstring_only and _handles(cls, method, language):
            return method
    return None


def _handles(cls: ClassInfo, method: Function, language: str) -> bool:
    if method.name in _SPOUT:
        return True
    if language == "java":
        types = [(param.type or "").rpartition(".")[2] for param in method.params]
        return method.name in _JAVA and "Tuple" in types
    if method.name not in _PYTHON or len(method.params) != 2:  # noqa: PLR2004  # self and the tuple
        return False
    return method.params[1].name in _TUPLES or any(map(_acts, cls.all_methods()))


def _acts(method: Function) -> bool:
    return any(
        isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and isinstance(step.op.func.obj, Name)
        and step.op.func.obj.id == "self"
        and last_name(step.op.func) in _VERBS
        for step in method.cfg.steps
    )


def _suggestion(unit: Unit, dialects: Sequence[Dialect], kind: Kind) -> str:
    """A base class of the framework that the file imports something of, else of the best-known one."""
    names = [name for found in unit.imports.values() for name in found] + list(unit.stars)
    for dialect in dialects:
        classes = [role.classes[0] for role in dialect.roles if role.kind is kind]
        package = (
            ".".join(classes[0].split(".")[: 3 if dialect.language == "java" else 1]) if classes else "?"
        )
        if any(name == package or name.startswith(f"{package}.") for name in names):
            return classes[0]
    wanted = "storm_java" if any(dialect.language == "java" for dialect in dialects) else "streamparse"
    return next(
        role.classes[0]
        for dialect in dialects
        for role in dialect.roles
        if dialect.name == wanted and role.kind is kind
    )
