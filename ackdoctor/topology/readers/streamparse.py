"""Topologies of streamparse 3 and later: classes that derive from `streamparse.Topology`.

Only the specifications and the `config` in a class's own body count (dsl/topology.py): a subclass inherits nothing.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import Arg, Build, Call, ClassInfo, Expr, Literal, Unit
from ackdoctor.model.topology import Gap, Place, Topology
from ackdoctor.topology.interpreter import Entry, Run
from ackdoctor.topology.objects import Data, Obj
from ackdoctor.topology.readers.python_specs import (
    PYHERON,
    SPEC,
    SpecReader,
    settings_of,
    topologies_of,
    with_mode_of_pyheron,
)

_BASE = "Topology"
_KINDS = {  # the package that defines the base class: kind and framework
    "streamparse": ("streamparse-py", "streamparse>=3"),
    "heronpy": ("heronpy", "heron"),
    PYHERON: ("heronpy", PYHERON),
    "heron": ("heronpy", "heron"),
}
_MAKERS = frozenset({"type", "TopologyType", "new_class"})  # their arguments: name, bases, body
_LOCAL = "<locals>"  # in the name of a class inside a function
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def from_program(program: Program, own: set[str]) -> tuple[Topology, ...]:
    """Return the topologies that the classes of these files define, in streamparse or heronpy."""
    reader: SpecReader | None = None
    found: list[Topology] = []
    for path in sorted(own & program.units.keys()):
        if not _INSTALLED.isdisjoint(path.split("/")):
            continue
        for cls in program.units[path].classes.values():
            kind = None if _LOCAL in cls.qualname else _kind(program, cls)
            if kind is not None:
                reader = reader or SpecReader(program)
                found += _topologies(program, reader, cls, *kind)
        found += _made_by_type(program, program.units[path])
    return tuple(found)


def _kind(program: Program, cls: ClassInfo) -> tuple[str, str] | None:
    """The kind of topology that a class defines, by the framework's class among its ancestors."""
    names = list(program.lineage(cls).foreign)
    for each in program.lineage(cls).order:  # the project may have a copy of the framework
        names += [name for base in each.bases for name in program.qualify(program.units[each.path], base)]
    return _kind_of(names)


def _kind_of(names: Iterable[str]) -> tuple[str, str] | None:
    for name in names:
        package, _, rest = name.partition(".")
        if package in _KINDS and (rest == _BASE or rest.endswith(f".{_BASE}")):
            return _KINDS[package]
    return None


def _made_by_type(program: Program, unit: Unit) -> Iterator[Topology]:
    """Yield a topology without components for each class that a call makes: `type("T", (Topology,), body)`."""
    methods = (method for cls in unit.classes.values() for method in cls.all_methods())
    for function in (unit.body, *unit.functions.values(), *methods):
        for step in (step for each in function.tree() for step in each.cfg.steps):
            match step.op:
                case Call(func=func, args=[Arg(value=name), Arg(value=Build(items=bases)), _]):
                    kind = _kind_of(base for each in bases for base in program.qualify(unit, each))
                    if kind is not None and last_name(func) in _MAKERS:
                        yield _unread(name, Place(unit.path, step.span.line), *kind)
                case _:
                    pass


def _unread(name: Expr, place: Place, kind: str, framework: str) -> Topology:
    return Topology(
        name=str(name.value) if isinstance(name, Literal) else Path(place.path).stem,
        kind=kind,
        framework=framework,
        place=place,
        nodes=(),
        edges=(),
        gaps=(Gap("a call makes this topology at run time: its components are not read", place),),
    )


def _topologies(
    program: Program, reader: SpecReader, cls: ClassInfo, kind: str, framework: str
) -> Iterable[Topology]:
    """The topology of a class, once for each of its variants."""

    def read(run: Run) -> Iterator[Topology]:
        body = run.result.content if isinstance(run.result, Obj) else None
        yield _topology(reader, cls, body if isinstance(body, dict) else {}, kind, framework)

    unit = program.units[cls.path]
    return topologies_of(program, Entry(unit.body, unit, cls), kind, read)[0]


def _topology(
    reader: SpecReader, cls: ClassInfo, body: dict[object, Data], kind: str, framework: str
) -> Topology:
    specs = reader.read(
        (str(name), value)
        for name, value in body.items()
        if isinstance(value, Obj) and value.made is not None and value.made.name == SPEC
    )
    place = Place(cls.path, cls.head.line)
    span = cls.attr_spans.get("config", cls.head)
    gaps = list(specs.gaps)
    if not cls.straight:
        gaps.append(Gap(f"statements in the body of {cls.name} are not followed", place))
    topology = Topology(
        name=cls.name,
        kind=kind,
        framework=framework,
        place=place,
        nodes=tuple(specs.nodes.values()),
        edges=tuple(specs.edges),
        settings=(*settings_of(body.get("config"), Place(cls.path, span.line)), *specs.settings),
        gaps=tuple(gaps),
    )
    return with_mode_of_pyheron(topology) if framework == PYHERON else topology
