"""`pyleus_topology.yaml`: a list of spouts and bolts with their groupings, and a few settings at the top.

pyleus ignores other keys at the top, and refuses other keys of a component (cli/topology_spec.py of v0.3.0).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import basename, dirname

from ackdoctor.model.topology import DEFAULT_STREAM, UNREAD, Edge, Gap, Node, Place, Setting, Topology, Value
from ackdoctor.topology.frameworks import framework_of
from ackdoctor.topology.marked_yaml import Marked
from ackdoctor.topology.marked_yaml import read as read_yaml
from ackdoctor.topology.readers.faults import Faults, name_in
from ackdoctor.topology.texts import Texts

KIND = "pyleus"
_FILE = "pyleus_topology.yaml"
_LOOKS_LIKE_ONE = (
    re.compile(rb"(?m)^topology *:[ \t]*(?:#.*)?\r?$"),
    re.compile(rb"(?m)^ *- *(?:spout|bolt) *:"),
)

_SETTINGS = ("workers", "ackers", "max_spout_pending", "max_shellbolt_pending", "message_timeout_secs")
_OTHERS = frozenset(
    "name topology logging_config serializer requirements_filename python_interpreter".split()
)
_OF_COMPONENT = frozenset(
    "name type module tick_freq_secs parallelism_hint options output_fields groupings tasks".split()
)
_ON_SUBMIT = frozenset(_SETTINGS) - {"max_shellbolt_pending"}
_GROUPINGS = tuple(
    f"{name}_grouping" for name in ("global", "shuffle", "fields", "local_or_shuffle", "none", "all")
)
_KAFKA = "storm.kafka.KafkaSpout"
_KAFKA_OPTIONS = {  # what pyleus passes on, and what storm-kafka calls it
    "topic": "topic",
    "zk_hosts": "hosts",
    "zk_root": "zkRoot",
    "consumer_id": "id",
    "from_start": "forceFromStart",
    "start_offset_time": "startOffsetTime",
}
_OF_FORKS = frozenset({"binary_data"})


@dataclass(slots=True)
class _Graph(Faults):
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)


def read(path: str, data: bytes, texts: Texts) -> tuple[Topology, ...]:
    """The topology of a file; () if it is none."""
    if basename(path) != _FILE and not all(each.search(data) for each in _LOOKS_LIKE_ONE):
        return ()
    document = read_yaml(path, data)
    graph = _Graph()
    framework = framework_of(path, texts, ("pyleus",))
    if isinstance(document, Gap):
        graph.gaps.append(document)
        graph.defect("yaml-syntax", document.place, document.why)
        return (_made(name_in(data), path, Place(path, 1), framework, graph),)
    root = document.root
    components = root.get("topology")
    if components is None or (basename(path) != _FILE and not _has_components(components)):
        return ()
    graph.take(document)
    if not components.items():
        why = "the components are not known: pyleus wants a list under `topology`"
        graph.gaps.append(Gap(why, root.key_place("topology")))
    _take_settings(graph, root)
    for component in root.items_of("topology"):
        _take_component(graph, component)
    _check_edges(graph)
    return (_made(root.text_of("name"), path, root.key_place("name"), framework, graph),)


def _has_components(listed: Marked) -> bool:
    return any(each.names in {("spout",), ("bolt",)} for each in listed.items())


def _made(name: str, path: str, place: Place, framework: str, graph: _Graph) -> Topology:
    first = min((each.place for each in graph.settings if not each.component), default=None)
    return Topology(
        name=name or basename(dirname(path)) or basename(path),
        kind=KIND,
        framework=framework,
        place=place,
        nodes=tuple(graph.nodes.values()),
        edges=tuple(graph.edges),
        settings=tuple(graph.settings),
        gaps=tuple(graph.gaps),
        defects=tuple(graph.defects),
        config=first,
    )


# ---- settings ----


def _take_settings(graph: _Graph, root: Marked) -> None:
    for key in root.names:
        value, place = root.get(key), root.key_place(key)
        if key in _SETTINGS and value is not None:
            graph.settings.append(Setting(key=key, value=value.value, place=place))
        elif key not in _OTHERS:
            graph.defect("dead-key", place, f"pyleus reads no `{key}` here")
    submitted = next((each for each in graph.settings if each.key in _ON_SUBMIT and each.value != -1), None)
    if submitted is not None:
        why = f"`pyleus local` ignores `{submitted.key}` and every other setting of the topology"
        graph.defect("setting-on-submit-only", submitted.place, why, sure="information")


# ---- components ----


def _take_component(graph: _Graph, component: Marked) -> None:
    role = next((name for name in ("spout", "bolt") if component.get(name) is not None), "")
    spec = component.get(role) if role else None
    name = spec.text_of("name") if spec is not None else ""
    if spec is None or not name:
        graph.gaps.append(
            Gap("a component is not known: pyleus wants `spout` or `bolt` with a name", component.place)
        )
        return
    place = spec.key_place("name")
    for key in spec.names:
        if key not in _OF_COMPONENT:
            why = f"pyleus refuses `{key}`: a component has no such key"
            graph.defect("setting-refused", spec.key_place(key), why, name)
    if name in graph.nodes:
        why = f"{name} is in line {graph.nodes[name].place.line} as well: Storm refuses a second component of that name"
        graph.defect("duplicate-key", place, why, name)
    graph.nodes[name] = _node(graph, name, role, spec, place)
    ticks = spec.get("tick_freq_secs")
    if ticks is not None:
        at = spec.key_place("tick_freq_secs")
        graph.settings.append(Setting(key="tick_freq_secs", value=ticks.value, place=at, component=name))
    if role == "bolt":
        own = tuple(_edges(graph, name, spec))
        graph.edges.extend(own)
        groupings = spec.get("groupings")
        if groupings is not None and groupings.content is not None and not groupings.items():
            why = f"it is not known what {name} subscribes to: pyleus wants a list of groupings"
            graph.gaps.append(Gap(why, spec.key_place("groupings")))
        elif not own and not spec.items_of("groupings"):
            graph.defect(
                "bolt-without-input", place, f"{name} has no groupings, so it never gets a tuple", name
            )


def _node(graph: _Graph, name: str, role: str, spec: Marked, place: Place) -> Node:
    kafka = role == "spout" and spec.text_of("type") == "kafka"
    module = spec.text_of("module")
    unread = "" if kafka or module else "its module is not known"
    return Node(
        id=name,
        role=role,
        cls=_KAFKA if kafka else module or UNREAD,
        place=place,
        parallelism=_number(spec, "parallelism_hint"),
        tasks=_number(spec, "tasks"),
        streams={DEFAULT_STREAM: ("message",)} if kafka else None,
        arguments=_kafka_arguments(graph, name, spec) if kafka else {},
        unread=unread,
    )


def _number(spec: Marked, key: str) -> int | None:
    found = spec.get(key)
    number = found.content if found is not None else None
    return number if isinstance(number, int) and number != -1 else None


def _kafka_arguments(graph: _Graph, name: str, spec: Marked) -> dict[str, Value]:
    options = spec.get("options")
    found: dict[str, Value] = {}
    for key in options.names if options is not None else ():
        value = options.get(key) if options is not None else None
        if key in _KAFKA_OPTIONS and value is not None:
            found[_KAFKA_OPTIONS[key]] = value.value
        elif options is not None:
            sure = "information" if key in _OF_FORKS else "certain"
            why = f"pyleus passes no `{key}` to its Kafka spout"
            graph.defect("dead-key", options.key_place(key), why, name, sure=sure)
    return found


# ---- groupings ----


def _edges(graph: _Graph, bolt: str, spec: Marked) -> Iterator[Edge]:
    for each in spec.items_of("groupings"):
        kind = next(iter(each.names), "")
        value = each.get(kind)
        if kind not in _GROUPINGS or value is None or len(each.names) != 1:
            graph.gaps.append(Gap(f"a grouping of {bolt} is not one that pyleus has", each.place))
            continue
        if value.names:
            source, place = value.text_of("component"), value.key_place("component")
            stream = value.text_of("stream") if value.get("stream") is not None else DEFAULT_STREAM
        else:
            source, place, stream = value.text, each.key_place(kind), DEFAULT_STREAM
        if not source:
            graph.gaps.append(Gap(f"a grouping of {bolt} names no component", each.place))
            continue
        fields = ", ".join(field.text or UNREAD for field in value.items_of("fields"))
        grouping = kind.removesuffix("_grouping")
        yield Edge(
            source=source,
            target=bolt,
            place=place,
            stream=stream or UNREAD,
            grouping=f"{grouping}({fields})" if grouping == "fields" else grouping,
        )


def _check_edges(graph: _Graph) -> None:
    known = graph.nodes.keys()
    for edge in graph.edges:
        if edge.source not in known and not graph.gaps:
            why = f"{edge.source} is no component of this file: pyleus refuses to build it"
            graph.defect("unknown-bolt-in-stream", edge.place, why, edge.target)
    graph.edges = [edge for edge in graph.edges if edge.source in known]
