"""Topologies of Petrel: a function `create(builder)`, and the YAML file that `petrel submit --config` is given.

The function need not be called `create` (`--definition`).  The whole YAML file becomes the configuration of the topology
(GenericTopology.java); `petrel.parallelism.<id>` in it overrides the parallelism of a component (package.py).
"""

from collections.abc import Iterator
from dataclasses import replace
from posixpath import basename, dirname

from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import Attr, Call, Function, Name, Unit
from ackdoctor.model.topology import DEFAULT_STREAM, UNREAD, Edge, Gap, Node, Place, Setting, Topology
from ackdoctor.topology import marked_yaml
from ackdoctor.topology.frameworks import framework_of
from ackdoctor.topology.interpreter import Entry, Run
from ackdoctor.topology.objects import Data, Invocation, Obj, chain, describe
from ackdoctor.topology.readers.python_specs import texts_in, topologies_of
from ackdoctor.topology.readers.undecided import undecided_settings
from ackdoctor.topology.readers.unfollowed import unfollowed
from ackdoctor.topology.settings import CLUSTER_FILE
from ackdoctor.topology.texts import Texts

_ROLES = {"setSpout": "spout", "setBolt": "bolt", "setJavaSpout": "spout", "setJavaBolt": "bolt"}
_GROUPINGS = {
    "allGrouping": "all",
    "globalGrouping": "global",
    "shuffleGrouping": "shuffle",
    "localOrShuffleGrouping": "local_or_shuffle",
    "noneGrouping": "none",
    "directGrouping": "direct",
}
_FIELDS, _ANY = "fieldsGrouping", "grouping"
_OUTPUT = "addOutputStream"
_USUAL = "create"
_YAML = (".yaml", ".yml")
_PARALLELISM = "petrel.parallelism."
_MARKS = ("topology.", "petrel.")  # keys of a file that configures a topology


def from_program(program: Program, own: set[str]) -> tuple[Topology, ...]:
    """Return the topologies that functions of these files build."""
    units = [program.units[path] for path in sorted(own & program.units.keys())]
    functions = [(unit, each) for unit in units for each in unit.functions.values() if _builds(each)]
    found: list[Topology] = []
    ran: set[int] = set()  # a function that another one calls builds no topology of its own
    for unit, function in sorted(functions, key=lambda each: each[1].name != _USUAL):
        if id(function) not in ran:
            topologies, executed = _topologies(program, unit, function)
            ran |= executed
            found += topologies
    return tuple(found)


def _builds(function: Function) -> bool:
    """Whether a function adds components to its only argument."""
    if not function.params or any(each.default is None for each in function.params[1:]):
        return False
    builder = Name(function.params[0].name)
    return any(
        isinstance(step.op, Call)
        and isinstance(step.op.func, Attr)
        and step.op.func.name in _ROLES
        and step.op.func.obj == builder
        for step in function.cfg.steps
    )


def _topologies(
    program: Program, unit: Unit, function: Function
) -> tuple[tuple[Topology, ...], frozenset[int]]:
    place = Place(unit.path, function.head.line)
    builder = Obj(place=place, given=True, text=function.params[0].name)

    def read(run: Run) -> Iterator[Topology]:
        calls = [call for call in run.calls if call.receiver is builder]
        topology = _topology(_name(unit, function), place, calls)
        yield replace(topology, gaps=unfollowed(run, builder, _ROLES))

    return topologies_of(program, Entry(function, unit, args=(builder,)), "petrel", read)


def _name(unit: Unit, function: Function) -> str:
    """Petrel takes the name from the command line; the directory says more than `create`."""
    folder = basename(dirname(unit.path))
    return folder if folder and function.name == _USUAL else function.name


def _topology(name: str, place: Place, calls: list[Invocation]) -> Topology:
    nodes = {id(call): _node(call, calls) for call in calls if call.name in _ROLES and call.args}
    edges = [edge for call in calls if id(call) in nodes for edge in _edges(nodes[id(call)].id, call.result)]
    return Topology(
        name=name,
        kind="petrel",
        framework="petrel",
        place=place,
        nodes=tuple(nodes.values()),
        edges=tuple(edges),
    )


# ---- components ----


def _node(call: Invocation, calls: list[Invocation]) -> Node:
    component = call.argument(1, "spout" if _ROLES[call.name] == "spout" else "bolt")
    cls, code, unread = _class_of(component)
    hint = call.argument(2, "parallelism_hint")
    added = {
        _text(each.argument(1, "streamId")): texts_in(each.argument(2, "output_fields"))
        for each in calls
        if each.name == _OUTPUT and each.argument(0, "id") == call.args[0]
    }
    return Node(
        id=_text(call.args[0]),
        role=_ROLES[call.name],
        cls=cls,
        place=call.start,
        code=code,
        parallelism=hint if isinstance(hint, int) else None,
        streams={DEFAULT_STREAM: None, **added} if added else None,
        unread=unread,
        repeated=call.repeated,
    )


def _class_of(component: Data) -> tuple[str, Place | None, str]:
    """The class of a component, where it starts, and why it is not known."""
    if isinstance(component, Obj) and component.cls is not None:
        cls = component.cls
        return component.names[-1], Place(cls.path, cls.head.line), ""
    if isinstance(component, Obj) and component.names:
        name = component.names[-1]
        if name.rpartition(".")[2].startswith("Java") and component.args:
            return _text(component.args[0]), None, ""
        return name, None, ""
    return UNREAD, None, f"`{describe(component)}` decides which class it is"


def _edges(target: str, declarer: Data) -> Iterator[Edge]:
    for call in chain(declarer) if isinstance(declarer, Obj) else ():
        if call.name not in (*_GROUPINGS, _FIELDS, _ANY):
            continue
        grouping, stream = _GROUPINGS.get(call.name, UNREAD), call.argument(1, "streamId")
        if call.name == _FIELDS:
            fields, stream = texts_in(call.argument(1, "fields")), call.argument(2, "streamId")
            grouping = f"fields({', '.join(fields or (UNREAD,))})"
        elif call.name == _ANY:
            grouping, stream = _text(call.argument(1, "attr")), call.argument(3, "streamId")
        yield Edge(
            source=_text(call.argument(0, "componentId")),
            target=target,
            place=call.place,
            stream=DEFAULT_STREAM if stream is None else _text(stream),
            grouping=grouping,
        )


def _text(data: Data) -> str:
    return data if isinstance(data, str) else UNREAD


# ---- the configuration ----


def configured(topology: Topology, texts: Texts) -> tuple[Topology, ...]:
    """Return a topology with the settings of the YAML files beside its code, else in the nearest folder above: once for each."""
    path = topology.place.path
    topology = replace(topology, framework=framework_of(path, texts, ("petrel",)))
    folder = dirname(path)
    found = list(_configured(topology, texts, folder))
    while not found and folder:
        folder = dirname(folder)
        found = list(_configured(topology, texts, folder))
    return (replace(found[0], branch=topology.branch),) if len(found) == 1 else tuple(found) or (topology,)


def _configured(topology: Topology, texts: Texts, folder: str) -> Iterator[Topology]:
    """Yield a topology with the settings of each YAML file of a folder; a cluster's own file is no `--config`."""
    for file in texts:
        if dirname(file) != folder or not file.endswith(_YAML) or basename(file) == CLUSTER_FILE:
            continue
        document = marked_yaml.read(file, texts[file])
        if isinstance(document, Gap):
            if folder == dirname(topology.place.path):
                yield replace(topology, settings=tuple(undecided_settings(document)), branch=_given(file))
            continue
        entries = document.root.content
        if isinstance(entries, dict) and any(key.startswith(_MARKS) for key in entries):
            settings = (
                Setting(key=key, value=value.value, place=place) for key, (place, value) in entries.items()
            )
            yield _with_parallelism(replace(topology, settings=tuple(settings), branch=_given(file)))


def _given(file: str) -> str:
    return f"--config {basename(file)}"


def _with_parallelism(topology: Topology) -> Topology:
    """A topology with the parallelism that its settings give to components."""
    hints = {each.key.removeprefix(_PARALLELISM): each.value for each in topology.settings}
    nodes = tuple(
        replace(node, parallelism=hint) if isinstance(hint := hints.get(node.id), int) else node
        for node in topology.nodes
    )
    return replace(topology, nodes=nodes)
