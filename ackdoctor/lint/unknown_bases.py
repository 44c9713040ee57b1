"""Classes that look like components, but derive from a class that no dialect knows."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.program import Program
from ackdoctor.flow.pure_calls import is_field
from ackdoctor.libraries import LIBRARIES, Library
from ackdoctor.libraries.vocabulary import PLAIN_BASES
from ackdoctor.model.cfg import Call, ClassInfo, Function, Unit
from ackdoctor.model.dialect import Dialect, EntryKind, Kind
from ackdoctor.model.finding import UnknownBase

_TUPLE_NAMES = frozenset(("tup", "_tup", "tup_", "tuple", "tuple_", "a_tuple", "storm_tuple"))
_VERBS = frozenset(("ack", "fail", "emit"))
_PARAMETERS = 2  # of a handler without declared types: the component and the tuple


def unknown_bases(program: Program, dialects: Sequence[Dialect], language: str) -> Iterator[UnknownBase]:
    """The classes that have a component's handler but derive from an unknown class."""
    library = LIBRARIES[language]
    known = [dialect for dialect in dialects if dialect.language == language]
    sources, handlers = _entries(known, EntryKind.NEXT), _entries(known, EntryKind.DATA)
    for cls in program.classes():
        lineage = program.lineage(cls)
        bases = [name for name in lineage.foreign if not _is_plain_base(library, name)]
        if lineage.framework is not None or not bases:
            continue
        methods = (method for method in cls.all_methods() if not method.docstring_only)
        handler = next(
            (
                method
                for method in methods
                if method.name in sources or (method.name in handlers and _takes_tuple(library, cls, method))
            ),
            None,
        )
        if handler is None:
            continue
        kind = Kind.SPOUT if handler.name in sources else Kind.BOLT
        yield UnknownBase(
            path=cls.path,
            line=cls.head.line,
            name=cls.name,
            handler=_signature(library, handler),
            base=bases[0],
            suggestion=_suggest_base(program.units[cls.path], known, kind),
        )


def _entries(dialects: Sequence[Dialect], kind: EntryKind) -> frozenset[str]:
    """The names of the methods that a framework calls."""
    return frozenset(
        entry.method
        for dialect in dialects
        for role in dialect.roles
        for entry in role.entries
        if entry.kind is kind
    )


def _signature(library: Library, method: Function) -> str:
    """A method's name and parameters in the syntax of its language."""
    if not library.declared_types:
        return f"{method.name}({', '.join(param.name for param in method.params)})"
    params = [f"{param.type} {param.name}" for param in method.params if param.name != method.receiver]
    return f"{method.name}({', '.join(params)})"


def _is_plain_base(library: Library, name: str) -> bool:
    """Whether a base belongs to the standard library, or is one that passes on no handler."""
    return name.rpartition(".")[2] in PLAIN_BASES or f"{name}.".startswith(library.standard)


def _takes_tuple(library: Library, cls: ClassInfo, method: Function) -> bool:
    """Whether a method gets a tuple: by the declared type, by the name, or because its class completes or emits tuples."""
    is_declared = "Tuple" in ((param.type or "").rpartition(".")[2] for param in method.params)
    if is_declared or library.declared_types or len(method.params) != _PARAMETERS:
        return is_declared
    return method.params[1].name in _TUPLE_NAMES or any(map(_calls_verb, cls.all_methods()))


def _calls_verb(method: Function) -> bool:
    calls = (step.op for step in method.cfg.steps if isinstance(step.op, Call))
    return any(is_field(method, call.func) and last_name(call.func) in _VERBS for call in calls)


def _suggest_base(unit: Unit, dialects: Sequence[Dialect], kind: Kind) -> str:
    """A base class of the framework that the file imports, or else of the best-known framework."""
    imported = (*unit.stars, *(name for names in unit.imports.values() for name in names))
    offered = [
        (max((_shared_parts(name, role.classes[0]) for name in imported), default=0), dialect.default, role)
        for dialect in dialects
        for role in dialect.roles
        if role.kind is kind
    ]
    return max(offered, key=lambda each: each[:2])[2].classes[0]


def _shared_parts(one: str, other: str) -> int:
    """The number of parts at the beginning that two dotted names share."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
