"""Specifications of components in Python, which streamparse and heronpy share: `CountBolt.spec(inputs={words: ...})`.

The interpreter evaluates the calls; here their arguments become components, subscriptions and settings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from posixpath import basename

from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import PYTHON, ClassInfo
from ackdoctor.model.topology import DEFAULT_STREAM, UNREAD, Edge, Gap, Node, Place, Setting, Topology
from ackdoctor.topology.interpreter import Entry, Run, explore
from ackdoctor.topology.objects import Data, Invocation, Library, Obj, Ref, describe
from ackdoctor.topology.readers.undecided import undecided_settings, value_of
from ackdoctor.topology.settings import MODE
from ackdoctor.topology.shell import runs

PYHERON = "pyheron"  # heronpy's name before Heron 0.15
# the frameworks' packages, of which a project may have a copy
LIBRARY = Library(packages=frozenset({"streamparse", "pystorm", "petrel", "heronpy", PYHERON}))
SPEC = "spec"
ADD = {"add_spout": "spout", "add_bolt": "bolt"}  # methods of heronpy's builder
_STREAM_ID = "GlobalStreamId"
_GROUPINGS = {name: name.lower() for name in "SHUFFLE GLOBAL DIRECT ALL NONE LOCAL_OR_SHUFFLE".split()}
_GROUPINGS["LOWEST"] = "global"
_CUSTOM = frozenset({"custom", "custom_object", "custom_serialized"})
_ACKING = "topology.acking"  # of Heron before 0.15, whose Python package was pyheron
_KEYS = {"TOPOLOGY_ENABLE_ACKING": _ACKING}  # constants that do not spell their keys

# the positional parameters of each call
_JAVA = ("name", "serialized_java", "full_class_name", "args_list")
_SHELL = ("name", "command", "script")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "JavaBolt": (*_JAVA, "inputs", "par", "config", "outputs"),
    "JavaSpout": (*_JAVA, "par", "config", "outputs"),
    "ShellBolt": (*_SHELL, "inputs", "par", "config", "outputs"),
    "ShellSpout": (*_SHELL, "par", "config", "outputs"),
    "bolt": ("name", "inputs", "par", "config", "optional_outputs"),
    "spout": ("name", "par", "config", "optional_outputs"),
    "add_spout": ("name", "class", "par", "config", "optional_outputs"),
    "add_bolt": ("name", "class", "par", "inputs", "config", "optional_outputs"),
}


@dataclass(slots=True)
class _Spec:
    """A call that specifies a component; `owner` is the component's class as far as it is known."""

    made: Invocation
    owner: Ref | None
    role: str

    def get(self, name: str) -> Data:
        """An argument; None if it is not given."""
        if name in self.made.keywords:
            return self.made.keywords[name]
        last = self.owner.last if self.owner is not None else ""
        key = next(key for key in (self.made.name, last, self.role) if key in _PARAMETERS)
        parameters = _PARAMETERS[key]
        index = parameters.index(name) if name in parameters else len(self.made.args)
        return self.made.args[index] if index < len(self.made.args) else None


class SpecReader:
    """Reads the specifications of one topology."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._classes = {f"{cls.module}.{cls.qualname}".lstrip("."): cls for cls in program.classes()}

    def read(self, specs: Iterable[tuple[str, Obj]]) -> "Specs":
        """Read specifications; each comes with the name of its attribute, for a component without a name."""
        found = Specs()
        known: dict[int, _Spec] = {}
        for name, obj in specs:
            if obj.made is not None and id(obj) not in known:
                spec = known[id(obj)] = self._spec(obj.made)
                found.nodes[id(obj)] = self._node(name, spec)
        for key, spec in known.items():
            found.connect(found.nodes[key], spec.get("inputs") if spec.role == "bolt" else None)
            found.settings += settings_of(spec.get("config"), found.nodes[key].place, found.nodes[key].id)
        return found

    def _spec(self, made: Invocation) -> _Spec:
        owner: Data = Ref((made.names[-1].rpartition(".")[0],)) if made.names else None
        if made.name in ADD:
            given = made.argument(1, "bolt_cls" if made.name == "add_bolt" else "spout_cls")
            return _Spec(made, given if isinstance(given, Ref) else None, ADD[made.name])
        known = owner if isinstance(owner, Ref) and owner.last else None
        return _Spec(made, known, self._role(made, known))

    def _role(self, made: Invocation, owner: Ref | None) -> str:
        cls = self._class(owner)
        framework = self._program.lineage(cls).framework if cls is not None else None
        if framework is not None:
            return framework.role.kind.value
        if "inputs" in made.keywords or (owner is not None and owner.last.endswith("Bolt")):
            return "bolt"
        return "spout"  # a bolt without inputs is refused

    def _class(self, owner: Ref | None) -> ClassInfo | None:
        if owner is None or not owner.names:
            return None
        return owner.cls or self._classes.get(owner.names[-1])

    def _node(self, name: str, spec: _Spec) -> Node:
        made, given, par = spec.made, spec.get("name"), spec.get("par")
        cls = self._class(spec.owner)
        runs, unread = _runs(spec)
        return Node(
            id=given if isinstance(given, str) else name if given is None else UNREAD,
            role=spec.role,
            cls=runs,
            place=made.start,
            code=Place(cls.path, cls.head.line) if cls is not None else None,
            parallelism=par if isinstance(par, int) else None,
            streams=_streams(spec),
            unread=unread,
            repeated=made.repeated,
        )


def _runs(spec: _Spec) -> tuple[str, str]:
    """The class or script of a component, and why it is not known."""
    if spec.owner is None:
        return UNREAD, f"`{spec.made.text(1) or spec.made.source}` decides which class it is"
    if spec.owner.last.startswith("Java"):
        name = spec.get("full_class_name")
        return (name, "") if isinstance(name, str) else (UNREAD, "its Java class is computed")
    if spec.owner.last.startswith("Shell"):
        words = [word for word in (spec.get("command"), spec.get("script")) if isinstance(word, str)]
        return runs(words, spec.owner.last)
    return spec.owner.names[-1], ""


def _streams(spec: _Spec) -> Mapping[str, tuple[str, ...] | None] | None:
    """The streams that a specification declares; None if they are those of the class."""
    if spec.get("optional_outputs") is not None:
        return {UNREAD: None}
    outputs = spec.get("outputs")
    if outputs is None:
        return None
    if not isinstance(outputs, Obj) or not isinstance(outputs.content, list) or outputs.open:
        return {UNREAD: None}
    streams: dict[str, tuple[str, ...] | None] = {}
    for output in outputs.content:
        if isinstance(output, str):
            streams[DEFAULT_STREAM] = (*(streams.get(DEFAULT_STREAM) or ()), output)
        elif isinstance(output, Obj) and output.made is not None:
            stream, fields = output.made.argument(1, "name"), output.made.argument(0, "fields")
            name = DEFAULT_STREAM if stream is None else stream if isinstance(stream, str) else UNREAD
            streams[name] = texts_in(fields)
        else:
            streams[UNREAD] = None
    return streams


def texts_in(data: Data) -> tuple[str, ...] | None:
    """The members of a list of strings; None if they are not known."""
    if not isinstance(data, Obj) or not isinstance(data.content, list) or data.open:
        return None
    texts = tuple(each for each in data.content if isinstance(each, str))
    return texts if len(texts) == len(data.content) else None


# ---- subscriptions and settings ----


@dataclass(slots=True)
class Specs:
    """The components of one topology by the identity of their specification, and what connects and configures them."""

    nodes: dict[int, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def connect(self, node: Node, inputs: Data) -> None:
        """Add the subscriptions of a bolt: a dict from sources to groupings, a list of sources, or one source."""
        if inputs is None:
            return
        if id(_source(inputs)[0]) in self.nodes:
            self._add_edge(node, inputs, None, node.place)
            return
        if not isinstance(inputs, Obj) or inputs.content is None or inputs.open:
            where = inputs.place if isinstance(inputs, Gap) else node.place
            self.gaps.append(Gap(f"`{describe(inputs)}` decides what {node.id} subscribes to", where))
        if isinstance(inputs, Obj) and isinstance(inputs.content, dict):
            for source, grouping in inputs.content.items():
                self._add_edge(node, source, grouping, inputs.places.get(source, (node.place,))[0])
        elif isinstance(inputs, Obj) and isinstance(inputs.content, list):
            for index, source in enumerate(inputs.content):
                self._add_edge(node, source, None, inputs.places.get(index, (node.place,))[0])

    def _add_edge(self, node: Node, source: object, grouping: Data, place: Place) -> None:
        spec, stream = _source(source)
        known = self.nodes.get(id(spec))
        edge = Edge(
            source=known.id if known is not None else spec if isinstance(spec, str) else UNREAD,
            target=node.id,
            place=place,
            stream=stream,
            grouping=_grouping(grouping),
        )
        self.edges.append(edge)


def _source(source: object) -> tuple[object, str]:
    """The specification or the id that a subscription names, and the stream."""
    made = source.made if isinstance(source, Obj) else None
    if made is not None and made.kind == "item":
        stream = made.args[0] if made.args else None
        return made.receiver, stream if isinstance(stream, str) else UNREAD
    if made is not None and made.name == _STREAM_ID:
        stream = made.argument(1, "streamId")
        return made.argument(0, "componentId"), stream if isinstance(stream, str) else UNREAD
    return source, DEFAULT_STREAM


def _grouping(grouping: Data) -> str:
    if grouping is None:
        return "shuffle"
    if isinstance(grouping, Ref):
        return _GROUPINGS.get(grouping.last, UNREAD)
    made = grouping.made if isinstance(grouping, Obj) else None
    if made is not None and made.name == "fields":
        fields = texts_in(made.args[0]) if len(made.args) == 1 and isinstance(made.args[0], Obj) else None
        words = fields or tuple(each if isinstance(each, str) else UNREAD for each in made.args)
        return f"fields({', '.join(words)})"
    if made is not None and made.name in _CUSTOM:
        return f"custom {describe(made.argument(0))}"
    return UNREAD


def settings_of(config: Data, place: Place, component: str = "") -> Iterator[Setting]:
    """The settings in a dict, for a component or for the topology."""
    if config is None:
        return
    of = f" of {component}" if component else ""
    if not isinstance(config, Obj) or not isinstance(config.content, dict):
        where = config.place if isinstance(config, Gap) else place
        yield from undecided_settings(Gap(f"`{describe(config)}` decides the settings{of}", where), component)
        return
    if config.open:
        yield from undecided_settings(Gap(f"not all settings{of} are known", place), component)
    for key, value in config.content.items():
        where = config.places.get(key, (place, place))[1]
        name = _key(key) if isinstance(key, Ref) else key
        if isinstance(name, str):
            yield setting_of(name, value, where, component)


def _key(constant: Ref) -> str:
    """The key that a framework's constant means: TOPOLOGY_DEBUG is "topology.debug"."""
    return _KEYS.get(constant.last, constant.last.lower().replace("_", "."))


def setting_of(key: str, value: Data, place: Place, component: str = "") -> Setting:
    """One setting; a constant of Heron's reliability modes is the mode's name."""
    return Setting(key=key, value=value_of(value, place), place=place, component=component)


def with_mode_of_pyheron(topology: Topology) -> Topology:
    """Tell the reliability mode that `topology.acking` means: bolt_instance.py:45 of heron/instance@0.14.9."""

    def translated(setting: Setting) -> Setting:
        if setting.key != _ACKING or isinstance(setting.value, Gap):
            return replace(setting, key=MODE) if setting.key == _ACKING else setting
        acks = str(setting.value).lower() == "true"
        return replace(setting, key=MODE, value="ATLEAST_ONCE" if acks else "ATMOST_ONCE")

    return replace(topology, settings=tuple(map(translated, topology.settings)))


# ---- paths ----

_TOO_LONG = "the code that wires this is longer, or has more branches, than is followed"


def topologies_of(
    program: Program, entry: Entry, kind: str, read: Callable[[Run], Iterable[Topology]]
) -> tuple[tuple[Topology, ...], frozenset[int]]:
    """The topologies on each path through an entry point, and the functions that the paths run."""
    variants: dict[str, tuple[Topology, ...]] = {}
    head = entry.this.head if entry.this is not None else entry.function.head
    gap = Gap(_TOO_LONG, Place(entry.unit.path, head.line))

    def outcome(run: Run) -> str:
        found = tuple(topology for topology in read(run) if topology.nodes)
        if run.ended == "limit":
            found = tuple(replace(topology, gaps=(*topology.gaps, gap)) for topology in found)
        variants[repr(found)] = found
        return repr(found)

    paths = explore(program, entry, PYTHON, outcome, LIBRARY)
    known = [path for path in paths.paths if variants[path.outcome]]
    found: dict[str, Topology] = {}
    for path in known:
        conditions = [decision.text for decision in path.decisions if decision.key in paths.relevant]
        for topology in variants[path.outcome]:
            branch = " and ".join(conditions) if len(known) > 1 else ""
            gaps = (*topology.gaps, gap) if paths.truncated else topology.gaps
            found.setdefault(repr(topology), replace(topology, branch=branch, gaps=gaps))
    if not found and (paths.limited or paths.truncated):
        name = basename(entry.unit.path).removesuffix(".py") if entry.this is None else entry.this.name
        empty = Topology(name=name, kind=kind, framework="", place=gap.place, nodes=(), edges=(), gaps=(gap,))
        return (empty,), paths.executed
    return tuple(found.values()), paths.executed
