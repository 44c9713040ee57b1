"""Topologies of streamparse 3 and later: classes that derive from `streamparse.Topology`.

Only the specifications and the `config` in a class's own body count (dsl/topology.py): a subclass inherits nothing.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import ClassInfo
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
    return tuple(found)


def _kind(program: Program, cls: ClassInfo) -> tuple[str, str] | None:
    """The kind of topology that a class defines, by the framework's class among its ancestors."""
    names = list(program.lineage(cls).foreign)
    for each in program.lineage(cls).order:  # the project may have a copy of the framework
        names += [name for base in each.bases for name in program.qualify(program.units[each.path], base)]
    for name in names:
        package, _, rest = name.partition(".")
        if package in _KINDS and (rest == _BASE or rest.endswith(f".{_BASE}")):
            return _KINDS[package]
    return None


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
