"""Flux files of Storm, and ECO files of Heron, which have the same layout.

A file may include others: their entries are added, or replace the file's own if the include says `override: true`.  Their
streams are always added, and what they include themselves is not followed (FluxParser.java:220-279@v2.8.8).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import basename

from ackdoctor.model.topology import DEFAULT_STREAM, UNREAD, Defect, Edge, Gap, Node, Place, Setting, Topology
from ackdoctor.topology.frameworks import framework_of, parsed
from ackdoctor.topology.marked_yaml import Document, Marked
from ackdoctor.topology.marked_yaml import read as read_yaml
from ackdoctor.topology.readers.commands import filter_of
from ackdoctor.topology.readers.faults import Faults, name_in
from ackdoctor.topology.readers.flux_beans import Beans, code_of, simple_name
from ackdoctor.topology.readers.undecided import undecided_settings
from ackdoctor.topology.texts import Texts

KIND = "flux"
HERON_KIND = "heron-eco"
_SYSTEM = "__system"
_SOURCE_IN_JAVA = "graph in Java: class "
_LISTS = ("components", "spouts", "bolts")
_STREAMS = "streams"
_VERTEX_KEYS = frozenset(
    "id className constructorArgs properties configMethods factory factoryArgs parallelism numTasks onHeapMemoryLoad"
    " offHeapMemoryLoad cpuLoad".split()
)
_CONFIG_OF_COMPONENT = "storm>=3"  # the first version in which a component has a `config`
_PLAIN_RESOURCES = frozenset({"crawler-default.yaml"})  # of StormCrawler's jar: it sets no key of Storm
_GRAPH = (re.compile(rb"(?m)^(?:spouts|bolts) *:"), re.compile(rb"(?m)^streams *:"))
_SOURCE = re.compile(rb"(?m)^topologySource *:")
_MAY_BE_ONE = re.compile(rb"(?m)\A\s*\{|^[\"']?(?:topologySource|streams|includes)[\"']?[ \t]*:")
_TEMPLATE = re.compile(rb"\$\{|\{\{|\{%|<%")


@dataclass(slots=True)
class _Definition(Faults):
    """What a file and its includes define."""

    path: str
    name: str = ""
    kind: str = KIND
    place: Place = field(default_factory=lambda: Place(""))
    conf: Place | None = None
    source: Marked | None = None
    config: dict[str, tuple[Place, Marked]] = field(default_factory=dict)
    components: dict[str, Marked] = field(default_factory=dict)
    spouts: dict[str, Marked] = field(default_factory=dict)
    bolts: dict[str, Marked] = field(default_factory=dict)
    streams: list[Marked] = field(default_factory=list)
    undecided: list[Setting] = field(default_factory=list)


def read(path: str, data: bytes, texts: Texts) -> tuple[Topology, ...]:
    """The topology of a file; () if it is none."""
    if not _MAY_BE_ONE.search(data):
        return ()
    known = filter_of(path, texts) if b"${" in data or b"includes" in data else {}
    document = read_yaml(path, data, known)
    if isinstance(document, Gap):
        return (_unreadable(path, data, document, texts),) if _looks_like_one(data) else ()
    root = document.root
    if not _is_topology(root) or (
        not root.get("streams") and not root.get("topologySource") and not root.get("includes")
    ):
        return ()
    found = _Definition(path)
    _take_main(found, document)
    for include in root.items_of("includes"):
        _include(found, include, texts, known)
    if not (found.source or found.streams or found.gaps) or not (
        found.source or found.spouts or found.bolts or found.gaps
    ):
        return ()
    return (_topology(found, texts),)


def _is_topology(root: Marked) -> bool:
    source = root.get("topologySource")
    if source is not None and source.get("className") is not None:
        return True
    streams = root.get(_STREAMS)
    if any(each.get("from") and each.get("to") for each in root.items_of(_STREAMS)):
        return True
    components = (*root.items_of("spouts"), *root.items_of("bolts"))
    if streams is not None and not streams.items() and any(each.get("className") for each in components):
        return True
    return any(each.get("file") for each in root.items_of("includes"))


def _looks_like_one(data: bytes) -> bool:
    return _SOURCE.search(data) is not None or all(section.search(data) for section in _GRAPH)


def _unreadable(path: str, data: bytes, gap: Gap, texts: Texts) -> Topology:
    """A topology of which nothing can be read but its name."""
    defects: tuple[Defect, ...] = ()
    if gap.place.line and not _TEMPLATE.search(data):
        defects = (Defect(kind="yaml-syntax", sure="certain", place=gap.place, why=gap.why),)
    return Topology(
        name=name_in(data) or _stem(path),
        kind=KIND,
        framework=framework_of(path, texts),
        place=Place(path, 1),
        nodes=(),
        edges=(),
        gaps=(gap,),
        defects=defects,
    )


def _stem(path: str) -> str:
    return basename(path).partition(".")[0]


# ---- a file and its includes ----


def _take_main(found: _Definition, document: Document) -> None:
    root = document.root
    name = root.get("name")
    found.name = name.text if name is not None else ""
    found.place = root.key_place("name")
    found.source = root.get("topologySource")
    kind = root.get("type")
    if kind is not None and kind.text == "heron":
        found.kind = HERON_KIND
    _add(found, document, override=True)


def _add(found: _Definition, document: Document, *, override: bool) -> None:
    """Add what a document defines; an entry that exists stays, unless it is overridden."""
    root = document.root
    found.take(document)
    config = root.get("config")
    if config is not None:
        found.conf = found.conf or root.key_place("config")
    if config is not None and isinstance(config.content, dict):
        entries = config.content.items()
        found.config.update({key: entry for key, entry in entries if override or key not in found.config})
    elif config is not None and isinstance(config.value, Gap):
        found.undecided.extend(undecided_settings(config.value))
    for section in (*_LISTS, _STREAMS):
        given = root.get(section)
        if given is not None and given.content is not None and not isinstance(given.content, list):
            why = given.value.why if isinstance(given.value, Gap) else "Flux wants a list"
            found.gaps.append(Gap(f"the {section} are not known: {why}", root.key_place(section)))
    for section in _LISTS:
        entries_of: dict[str, Marked] = getattr(found, section)
        own: dict[str, Marked] = {}
        for each in root.items_of(section):
            _take_entry(found, section, each, own)
        entries_of.update({key: each for key, each in own.items() if override or key not in entries_of})
    found.streams.extend(root.items_of(_STREAMS))


def _take_entry(found: _Definition, section: str, entry: Marked, own: dict[str, Marked]) -> None:
    identity = entry.get("id")
    if identity is None or not identity.text:
        why = (
            identity.value.why if identity is not None and isinstance(identity.value, Gap) else "it has no id"
        )
        if section != "components":
            found.gaps.append(Gap(f"one of the {section} is not known: {why}", entry.place))
        return
    if identity.text in own:
        why = (
            f"`{identity.text}` is in line {own[identity.text].place.line} as well: the later one replaces it"
        )
        found.defect("duplicate-key", identity.place, why, identity.text)
    own[identity.text] = entry


def _include(found: _Definition, include: Marked, texts: Texts, known: dict[str, str]) -> None:
    file, override = include.get("file"), include.get("override")
    overrides = override is not None and override.content is True
    name = file.text if file is not None else ""
    resource = include.get("resource")
    is_resource = resource is not None and resource.content is True
    paths = texts.from_class_path(found.path, name) if is_resource else texts.from_directory(found.path, name)
    place = file.place if file is not None else include.place
    if len(paths) == 1:
        document = read_yaml(paths[0], texts[paths[0]], known)
        if isinstance(document, Document):
            _add_name(found, document.root, override=overrides)
            return _add(found, document, override=overrides)
        gap = document
        if gap.place.line and not _TEMPLATE.search(texts[paths[0]]):
            found.defect("yaml-syntax", gap.place, gap.why)
    elif not paths and is_resource and basename(name) in _PLAIN_RESOURCES:
        return None
    elif paths:
        gap = Gap(f"the include {name} may be any of {', '.join(paths[:3])}", place)
    elif file is not None and isinstance(file.value, Gap):
        gap = Gap(f"the name of an include is not known: {file.value.why}", place)
    else:
        gap = Gap(f"the include {name} is not among the files", place)
    found.gaps.append(gap)
    settings = undecided_settings(gap)
    found.undecided.extend(each for each in settings if overrides or each.key not in found.config)
    return None


def _add_name(found: _Definition, root: Marked, *, override: bool) -> None:
    name = root.get("name")
    if name is not None and name.text and (override or not found.name):
        found.name = name.text


# ---- the topology ----


def _topology(found: _Definition, texts: Texts) -> Topology:
    framework = _framework(found, texts)
    beans = Beans(found.components)
    settings = [
        Setting(key=key, value=value.value, place=place) for key, (place, value) in found.config.items()
    ]
    settings += found.undecided
    if found.source is not None:
        _take_source(found)
        nodes, edges = [], []
    else:
        edges = list(_edges(found))
        nodes = list(_nodes(found, beans, edges))
        fed = {each.id for each in nodes}
        edges = [each for each in edges if each.source in fed and each.target in fed]
    for node in nodes:
        vertex = found.spouts.get(node.id) or found.bolts[node.id]
        settings += beans.settings(node.id, vertex)
        settings += _own_config(found, node, vertex, framework)
    return Topology(
        name=found.name or _stem(found.path),
        kind=found.kind,
        framework=framework,
        place=found.place,
        config=found.conf,
        nodes=tuple(nodes),
        edges=tuple(edges),
        settings=tuple(settings),
        gaps=tuple(dict.fromkeys(found.gaps)),
        defects=tuple(found.defects),
    )


def _framework(found: _Definition, texts: Texts) -> str:
    """The framework by the build files, or by the packages of the classes."""
    beans = (*found.spouts.values(), *found.bolts.values(), *found.components.values())
    classes = [code_of(each)[0] for each in beans if each.get("className") is not None]
    heron = found.kind == HERON_KIND or any(
        name.startswith(("org.apache.heron.", "com.twitter.heron.")) for name in classes
    )
    return framework_of(found.path, texts, ("org.apache.heron",) if heron else ())


def _take_source(found: _Definition) -> None:
    """A topology whose graph is made by a class."""
    source = found.source
    assert source is not None
    cls, why = code_of(source)
    method = source.get("methodName")
    name = method.text if method is not None and method.text else "getTopology"
    made = f"{_SOURCE_IN_JAVA}{cls}, method {name}" if cls != UNREAD else why
    found.gaps.insert(0, Gap(made, source.place))
    if found.spouts or found.bolts or found.streams:
        found.defect(
            "yaml-syntax", source.place, "Flux refuses a topologySource beside spouts, bolts or streams"
        )


def source_of(topology: Topology) -> str:
    """The class that makes the graph of a file; "" if the file has its own graph."""
    why = topology.gaps[0].why if topology.gaps and not topology.nodes else ""
    return why.removeprefix(_SOURCE_IN_JAVA).partition(",")[0] if why.startswith(_SOURCE_IN_JAVA) else ""


def _edges(found: _Definition) -> Iterator[Edge]:
    for stream in found.streams:
        source, target = stream.get("from"), stream.get("to")
        if source is None or target is None or not source.text or not target.text:
            ends = [each.value for each in (source, target) if each is not None]
            why = next((value.why for value in ends if isinstance(value, Gap)), "it lacks `from` or `to`")
            found.gaps.append(Gap(f"a stream is not known: {why}", stream.place))
            continue
        if target.text not in found.bolts:
            _unknown(
                found,
                target,
                f"`{target.text}` is no bolt of this file: Flux stops with a NullPointerException",
            )
        if source.text not in found.bolts and source.text not in found.spouts and source.text != _SYSTEM:
            _unknown(
                found, source, f"`{source.text}` is no component of this file: Storm refuses the topology"
            )
        grouping = stream.get("grouping")
        yield Edge(
            source=source.text,
            target=target.text,
            place=source.place,
            stream=_stream_of(grouping),
            grouping=_grouping(grouping),
        )


def _unknown(found: _Definition, end: Marked, why: str) -> None:
    if not found.gaps:  # a missing include may define it
        found.defect("unknown-bolt-in-stream", end.place, why, end.text)


def _stream_of(grouping: Marked | None) -> str:
    stream = grouping.get("streamId") if grouping is not None else None
    if stream is None or stream.content is None:
        return DEFAULT_STREAM
    return stream.text or UNREAD


def _grouping(grouping: Marked | None) -> str:
    """A grouping in the words of the model: "shuffle", "fields(word)", "custom NGrouping"."""
    kind = grouping.get("type") if grouping is not None else None
    if grouping is None or kind is None or not kind.text:
        return UNREAD if kind is not None else ""
    name = kind.text.lower()
    if name == "fields":
        return f"fields({', '.join(each.text or UNREAD for each in grouping.items_of('args'))})"
    custom = grouping.get("customClass")
    if name == "custom" and custom is not None:
        given = ", ".join(each.text for each in custom.items_of("constructorArgs") if each.text)
        return f"custom {simple_name(code_of(custom)[0])}{f'({given})' if given else ''}"
    return name


def _nodes(found: _Definition, beans: Beans, edges: list[Edge]) -> Iterator[Node]:
    for name, spout in found.spouts.items():
        yield _node(found, beans, name, spout, "spout")
    fed = {each.target for each in edges}
    for name, bolt in found.bolts.items():
        if name in fed or found.gaps:
            yield _node(found, beans, name, bolt, "bolt")
        else:
            why = f"no stream leads to {name}, so Flux does not create it"
            found.defect("bolt-without-input", _place(bolt), why, name)


def _place(vertex: Marked) -> Place:
    identity = vertex.get("id")
    return identity.place if identity is not None else vertex.place


def _node(found: _Definition, beans: Beans, name: str, vertex: Marked, role: str) -> Node:
    cls, unread = code_of(vertex)
    strange = [key for key in vertex.names if key not in _VERTEX_KEYS and key != "config"]
    for key in strange:
        why = f"a {role} has no `{key}`: Flux refuses the file"
        found.defect("yaml-syntax", vertex.key_place(key), why, name, sure="likely")
    arguments, given = beans.arguments(vertex)
    return Node(
        id=name,
        role=role,
        cls=cls,
        place=_place(vertex),
        parallelism=_number(vertex, "parallelism", 1),
        tasks=_number(vertex, "numTasks", None),
        streams=beans.streams(vertex),
        arguments=arguments,
        given=given,
        unread=unread,
    )


def _number(vertex: Marked, key: str, default: int | None) -> int | None:
    found = vertex.get(key)
    if found is None:
        return default
    return found.content if isinstance(found.content, int) and not isinstance(found.content, bool) else None


def _own_config(found: _Definition, node: Node, vertex: Marked, framework: str) -> Iterator[Setting]:
    """The `config` of a component, which Flux has since Storm 3."""
    config = vertex.get("config")
    if config is None:
        return
    since = parsed(framework).meets(_CONFIG_OF_COMPONENT) if found.kind == KIND else False
    if not since:
        why = f"a {node.role} has no `config`: Flux refuses the file"
        sure = "certain" if since is False else "likely"
        found.defect("yaml-syntax", vertex.key_place("config"), f"{why} before Storm 3", node.id, sure=sure)
    if since is not False and isinstance(config.content, dict):
        for key, (place, value) in config.content.items():
            yield Setting(key=key, value=value.value, place=place, component=node.id)
