"""Topologies in Clojure: those of streamparse 1 and 2, and calls of `topology` in Storm's own DSL.

streamparse: `(defn name [options] [{spouts} {bolts}])`.  `sparse submit` loads the file, calls the last function that
it defines, and passes the two maps to Storm's `mk-topology` (jvm/src/streamparse/commands/submit_topology.clj and storm's
thrift.clj).  A third map is accepted there and ignored.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ackdoctor.model.topology import (
    DEFAULT_STREAM,
    UNREAD,
    Defect,
    Edge,
    Gap,
    Node,
    Place,
    Setting,
    Topology,
    Value,
)
from ackdoctor.topology.frameworks import framework_of
from ackdoctor.topology.readers.clojure_forms import Form, FormError, read_forms
from ackdoctor.topology.readers.streamparse_config import framework_needing, unread_settings
from ackdoctor.topology.readers.undecided import undecided_settings
from ackdoctor.topology.texts import Texts

# constructor: how many arguments precede what it runs, and whether it subscribes to streams
_SPECS = {
    "python-spout-spec": (1, False),
    "python-bolt-spec": (2, True),
    "shell-spout-spec": (0, False),
    "shell-bolt-spec": (1, True),
    "spout-spec": (0, False),
    "bolt-spec": (1, True),
}
_JVM_SPECS = frozenset({"spout-spec", "bolt-spec"})
_ROLES = ("spout", "bolt")
_GROUPINGS = frozenset("shuffle local-or-shuffle none all global direct".split())
_STORM_CALLS = frozenset({"topology", "mk-topology"})
_OUTPUTS = frozenset({"direct-stream", "direct-output-fields", "output-fields"})
_DEFINITIONS = frozenset({"def", "defn"})
_NAMED = 2  # forms before the value of a definition: `def` and the name
_USES = frozenset({"use", "require"})
_BLOCKS = frozenset({"let", "do"})
_MAX_HOPS = 20  # from a name to the form that it means
_MAX_RESOLVED = 50_000  # names and blocks of one file: names that refer to each other may multiply


@dataclass(slots=True)
class _File:
    """A file that is read: what its names mean, and the full names of the Java classes that it imports."""

    path: str
    framework: str
    names: dict[str, Form] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    used: "dict[str, tuple[_File, str]]" = field(default_factory=dict)  # names of other namespaces
    budget: int = _MAX_RESOLVED

    def place(self, form: Form) -> Place:
        return Place(self.path, form.line)

    def resolve(self, form: Form, hops: int = _MAX_HOPS) -> Form:
        """The form that a name, a block or a `merge` of maps means; the form itself if it is computed."""
        for _ in range(hops):
            self.budget -= 1
            if self.budget < 0:
                break
            if form.kind == "symbol" and str(form.value) in self.names:
                form = self.names[str(form.value)]
            elif form.head in _BLOCKS and len(form.items) > 1:
                if form.head == "let":
                    self._bind(form.items[1])
                form = form.items[-1]
            else:
                break
        if form.head == "merge" and hops and self.budget > 0:
            maps = [self.resolve(each, hops - 1) for each in form.items[1:]]
            if all(each.kind == "{" for each in maps):
                return Form("{", form.line, items=tuple(item for each in maps for item in each.items))
        return form

    def _bind(self, bindings: Form) -> None:
        for name, form in bindings.pairs():
            if name.kind == "symbol" and form != name:
                self.names[str(name.value)] = form

    def value(self, form: Form, hops: int = _MAX_HOPS) -> Value:
        """What Storm's JSON makes of a form."""
        form = self.resolve(form, hops)
        if form.kind in {"string", "keyword", "number", "literal"}:
            return form.value
        if form.kind == "[" and hops:
            return tuple(self.value(each, hops - 1) for each in form.items)
        if form.kind == "{" and hops:
            return {self.key(key): self.value(value, hops - 1) for key, value in form.pairs()}
        return Gap(f"`{_shown(form)}` is computed", self.place(form))

    def key(self, form: Form) -> str:
        """The key of a setting; `TOPOLOGY-DEBUG` is Storm's constant for "topology.debug"."""
        form = self.resolve(form)
        if form.kind == "symbol":
            name = str(form.value).rpartition("/")[2]
            return name.lower().replace("-", ".") if name.isupper() else UNREAD
        return str(form.value) if form.kind in {"string", "keyword"} else UNREAD

    def text(self, form: Form) -> str:
        """A string or keyword; UNREAD if it is computed."""
        form = self.resolve(form)
        return str(form.value) if form.kind in {"string", "keyword"} else UNREAD


def read(path: str, data: bytes, texts: Texts) -> tuple[Topology, ...]:
    """The topology that a Clojure file submits; () if the file defines none."""
    if not any(name.encode() in data for name in _SPECS):
        return ()
    framework = framework_needing("streamparse<3", path, texts)
    try:
        forms = read_forms(data.decode("utf-8", "replace"))
    except FormError as error:
        gap = Gap(f"the file does not parse: {error}", Place(path, error.line))
        return (_unreadable(path, framework, gap),)
    file = _File(path, framework)
    _collect_names(file, forms)
    _collect_used(file, forms, texts)
    definitions = [form for form in forms if form.head in _DEFINITIONS and len(form.items) > _NAMED]
    for form in reversed(definitions):
        vector = file.resolve(_body(form))
        if vector.kind == "[" and any(each.head in _SPECS for each in _forms_in(vector)):
            topology = _streamparse_topology(file, form, vector)
            return (replace(topology, settings=(*unread_settings(path, texts), *topology.settings)),)
    calls = (
        _storm_topology(file, form, call)
        for form in definitions
        for call in _forms_in(form)
        if call.head in _STORM_CALLS and len(call.items) > len(_ROLES)
    )
    storm = framework_of(path, texts, ("storm",))
    return tuple(replace(topology, framework=storm) for topology in calls if topology.nodes)


def _unreadable(path: str, framework: str, gap: Gap) -> Topology:
    return Topology(
        name=path.rpartition("/")[2].removesuffix(".clj"),
        kind="streamparse-clj",
        framework=framework,
        place=Place(path),
        nodes=(),
        edges=(),
        gaps=(gap,),
    )


# ---- names ----


def _collect_names(file: _File, forms: tuple[Form, ...]) -> None:
    for form in forms:
        if form.head == "ns":
            for clause in form.items[2:]:
                if clause.items and clause.items[0].value == "import":
                    file.imports.update(_imported(clause.items[1:]))
        elif form.head == "import":
            file.imports.update(_imported(form.items[1:]))
        elif form.head in _DEFINITIONS and len(form.items) > _NAMED:
            file.names[str(form.items[1].value)] = _body(form)


def _collect_used(file: _File, forms: tuple[Form, ...], texts: Texts) -> None:
    """Find the names that the file takes from the project's other namespaces, which may hold JVM components."""
    clauses = [clause for form in forms if form.head == "ns" for clause in form.items[2:]]
    for clause in clauses:
        if clause.items and clause.items[0].value in _USES:
            for item in clause.items[1:]:
                namespace, *options = item.items if item.kind == "[" else (item,)
                other = _other_file(file, str(namespace.value), texts)
                if other is not None:
                    file.used.update(_taken(other, options))


def _other_file(file: _File, namespace: str, texts: Texts) -> _File | None:
    relative = namespace.replace(".", "/").replace("-", "_") + ".clj"
    found = texts.from_class_path(file.path, relative)
    if len(found) != 1:
        return None
    other = _File(found[0], file.framework)
    with suppress(FormError):
        _collect_names(other, read_forms(texts[found[0]].decode("utf-8", "replace")))
    return other


def _taken(other: _File, options: list[Form]) -> Iterator[tuple[str, tuple[_File, str]]]:
    """The local names of what a file takes: all names, and those behind `:as alias` and `:rename {name local}`."""
    given = {str(key.value): value for key, value in zip(options[::2], options[1::2], strict=False)}
    renamed = given["rename"].pairs() if "rename" in given else []
    for name in other.names:
        yield name, (other, name)
        if "as" in given:
            yield f"{given['as'].value}/{name}", (other, name)
    yield from ((str(local.value), (other, str(name.value))) for name, local in renamed)


def _imported(items: tuple[Form, ...]) -> Iterator[tuple[str, str]]:
    """The simple name and the full name of each class in `[storm.kafka KafkaSpout ZkHosts]` or `storm.kafka.KafkaSpout`."""
    for item in items:
        if item.kind in {"[", "("} and item.items:
            package, *classes = (str(each.value) for each in item.items)
            yield from ((name, f"{package}.{name}") for name in classes)
        elif item.kind == "symbol":
            yield str(item.value).rpartition(".")[2], str(item.value)


def _body(definition: Form) -> Form:
    """The last form of a definition, which is its value; with several arities, that of the last arity."""
    last = definition.items[-1]
    arity = last.kind == "(" and bool(last.items) and last.items[0].kind == "["
    return last.items[-1] if arity else last


def _forms_in(form: Form) -> Iterator[Form]:
    stack = [form]
    while stack:
        each = stack.pop()
        yield each
        stack.extend(each.items)


def _shown(form: Form) -> str:
    return f"({form.head} ...)" if form.head else str(form.value or form.kind)


# ---- components ----


@dataclass(slots=True)
class _Graph:
    """What the two maps of a topology hold."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


def _streamparse_topology(file: _File, definition: Form, vector: Form) -> Topology:
    found = _topology(file, "streamparse-clj", definition, definition, vector.items)
    return replace(found, defects=tuple(_ignored_maps(file, vector)))


def _storm_topology(file: _File, definition: Form, call: Form) -> Topology:
    found = _topology(file, "storm-clj", definition, call, call.items[1:])
    gap = Gap("the settings are passed to submitTopology in Clojure", found.place)
    return replace(found, settings=(*undecided_settings(gap), *found.settings))


def _topology(file: _File, kind: str, definition: Form, form: Form, maps: tuple[Form, ...]) -> Topology:
    """The topology that a definition names and that a form builds from the two maps."""
    graph = _graph(file, maps)
    return Topology(
        name=str(definition.items[1].value),
        kind=kind,
        framework=file.framework,
        place=file.place(form),
        nodes=tuple(graph.nodes),
        edges=tuple(graph.edges),
        settings=tuple(graph.settings),
        gaps=tuple(graph.gaps),
    )


def _graph(file: _File, maps: tuple[Form, ...]) -> _Graph:
    """The components and subscriptions in the map of spouts and the map of bolts."""
    graph = _Graph()
    for role, form in zip(_ROLES, maps, strict=False):
        components = file.resolve(form)
        if components.kind != "{":
            why = f"the {role}s are computed by `{_shown(components)}`"
            graph.gaps.append(Gap(why, file.place(components)))
            continue
        for name, value in components.pairs():
            spec = file.resolve(value)
            node = _node(file, role, name, spec)
            graph.nodes.append(node)
            graph.settings += _component_settings(file, node.id, spec)
            graph.gaps += _computed_configuration(file, node.id, spec)
            if spec.head in _SPECS:
                graph.edges += _edges(file, node.id, spec)
            elif role == "bolt":
                graph.gaps.append(Gap(f"`{_shown(spec)}` decides what {node.id} subscribes to", node.place))
    return graph


def _ignored_maps(file: _File, vector: Form) -> Iterator[Defect]:
    for form in vector.items[2:]:
        for name, _ in file.resolve(form).pairs():
            component = file.text(name)
            why = f"Storm reads the first two maps only: {component} is no component of this topology."
            yield Defect(
                kind="ignored-component",
                sure="certain",
                place=file.place(name),
                why=why,
                component=component,
            )


def _node(file: _File, role: str, name: Form, spec: Form) -> Node:
    cls, unread = _class_of(file, spec)
    parallelism = _option(file, spec, "p") or _option(file, spec, "parallelism-hint")
    hint = file.value(parallelism) if parallelism is not None else None
    return Node(
        id=file.text(name),
        role=role,
        cls=cls,
        place=file.place(name),
        parallelism=hint if isinstance(hint, int) else None,
        streams=_streams(file, spec),
        arguments=_arguments(file, spec),
        unread=unread,
    )


def _class_of(file: _File, spec: Form) -> tuple[str, str]:
    """What a component runs, and why that is not known: a Python class, a script, or a Java class."""
    if spec.head not in _SPECS:
        return UNREAD, f"`{_shown(spec)}` decides what it runs"
    positional = _positional(spec)
    if not positional:
        return UNREAD, f"`{spec.head}` has too few arguments"
    runs = file.resolve(positional[0])
    if spec.head in _JVM_SPECS:
        return _java_class(file, runs)
    words = [file.text(each) for each in (runs.items if runs.kind == "[" else positional[:2])]
    cls = words[0] if spec.head.startswith("python-") else next(reversed(words), UNREAD)
    return cls, "" if cls != UNREAD else f"`{_shown(runs)}` decides what it runs"


def _java_object(file: _File, form: Form) -> tuple[_File, Form, list[Form]]:
    """The form that makes a JVM component, its file, and the code on the way to it.

    Names, blocks and functions are followed.
    """
    passed: list[Form] = []
    for _ in range(_MAX_HOPS):
        passed.append(form)
        form = file.resolve(form)
        name = str(form.value) if form.kind == "symbol" else form.head
        if name in file.names:
            form = file.names[name]
        elif name in file.used:
            file, name = file.used[name]
            form = file.names.get(name, form)
        else:
            break
    return file, form, passed


def _java_class(file: _File, form: Form) -> tuple[str, str]:
    """The class of a JVM component, and why it is not known."""
    home, made, _ = _java_object(file, form)
    name = _constructed(made)
    if name:
        return home.imports.get(name, name), ""
    return _shown(form), f"`{_shown(form)}` is defined in Clojure, which is not read"


def _computed_configuration(file: _File, component: str, spec: Form) -> Iterator[Gap]:
    """The constructor arguments of a JVM component that the files do not decide."""
    positional = _positional(spec) if spec.head in _JVM_SPECS else ()
    for form in positional[:1]:
        home, made, passed = _java_object(file, form)
        for argument in made.items[2 if made.head == "new" else 1 :] if _constructed(made) else ():
            given = _java_object(home, argument)[1]
            if given.kind in {"symbol", "("} and not _constructed(given):
                yield Gap(f"`{_shown(given)}` configures {component}", file.place(passed[0]))


def _constructed(form: Form) -> str:
    """The class of `(KafkaSpout. config)` or `(new KafkaSpout config)`; "" for other forms."""
    if form.head == "new" and len(form.items) > 1:
        return str(form.items[1].value)
    return form.head[:-1] if form.head.endswith(".") else ""


def _arguments(file: _File, spec: Form) -> Mapping[str, Value]:
    """What the code assigns to the configuration of a JVM component: `(set! (.retryLimit config) 3)`."""
    positional = _positional(spec) if spec.head in _JVM_SPECS else ()
    if not positional:
        return {}
    home, made, passed = _java_object(file, positional[0])
    found: dict[str, Value] = {}
    names = {str(form.value) for form in _forms_in(made) if form.kind == "symbol"}
    reached = [home.names[name] for name in sorted(names & home.names.keys())]
    for each in (form for root in (*passed, *reached) for form in _forms_in(root)):
        target = each.items[1] if each.head == "set!" and len(each.items) > _NAMED else None
        if target is not None and target.items:
            field_name = target.items[-1].value if target.head == "." else target.head[1:].lstrip("-")
            found[str(field_name)] = home.value(each.items[2])
    return found


def _positional(spec: Form) -> tuple[Form, ...]:
    """The arguments from what a component runs to the first keyword: the command, and the outputs if declared."""
    arguments = spec.items[1 + _SPECS[spec.head][0] :]
    end = next((index for index, form in enumerate(arguments) if form.kind == "keyword"), len(arguments))
    return arguments[:end]


def _option(file: _File, spec: Form, name: str) -> Form | None:
    found = None
    for key, value in zip(spec.items, spec.items[1:], strict=False):
        if key.kind == "keyword" and key.value == name:
            found = file.resolve(value)
    return found


def _streams(file: _File, spec: Form) -> Mapping[str, tuple[str, ...] | None] | None:
    """The streams that a Python or shell component declares; a JVM component declares its own."""
    if spec.head not in _SPECS or spec.head in _JVM_SPECS:
        return None
    _, *declared = _positional(spec) or (None,)
    if not declared:
        return {UNREAD: None}
    outputs = file.resolve(declared[-1])
    if outputs.kind == "{":
        return {file.text(stream): _fields(file, fields) for stream, fields in outputs.pairs()}
    fields = _fields(file, outputs)
    return {UNREAD: None} if fields is None else {DEFAULT_STREAM: fields}


def _fields(file: _File, form: Form) -> tuple[str, ...] | None:
    form = file.resolve(form)
    if form.head in _OUTPUTS and len(form.items) > 1:
        form = file.resolve(form.items[1])
    return tuple(file.text(each) for each in form.items) if form.kind == "[" else None


def _edges(file: _File, bolt: str, spec: Form) -> Iterator[Edge]:
    before, subscribes = _SPECS.get(spec.head, (0, False))
    if not subscribes or len(spec.items) <= before:
        return
    inputs = file.resolve(spec.items[before])
    if inputs.kind != "{":
        yield Edge(source=UNREAD, target=bolt, place=file.place(inputs), stream=UNREAD, grouping=UNREAD)
        return
    for key, grouping in inputs.pairs():
        source = file.resolve(key)
        parts = [file.text(each) for each in (source.items if source.kind == "[" else (source,))]
        yield Edge(
            source=parts[0] if parts else UNREAD,
            target=bolt,
            place=file.place(key),
            stream=parts[1] if len(parts) > 1 else DEFAULT_STREAM,
            grouping=_grouping(file, grouping),
        )


def _grouping(file: _File, form: Form) -> str:
    form = file.resolve(form)
    if form.kind == "[":
        return f"fields({', '.join(file.text(each) for each in form.items)})"
    if form.kind == "literal" and form.value is None:
        return "none"
    if form.kind == "keyword" and form.value in _GROUPINGS:
        return str(form.value).replace("-", "_")
    return UNREAD


def _component_settings(file: _File, component: str, spec: Form) -> Iterator[Setting]:
    form = _option(file, spec, "conf") if spec.head in _SPECS else None
    if form is None or form == Form("literal", form.line):
        return
    if form.kind != "{":
        gap = Gap(f"`{_shown(form)}` decides the settings of {component}", file.place(form))
        yield from undecided_settings(gap, component)
        return
    for key, value_form in form.pairs():
        yield Setting(
            key=file.key(key), value=file.value(value_form), place=file.place(key), component=component
        )
