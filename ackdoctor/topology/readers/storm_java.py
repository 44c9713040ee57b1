"""The graph of a `TopologyBuilder` in Java: Storm's, JStorm's and Heron's.

`builder.setBolt(id, bolt, parallelism)` gives a declarer; its grouping methods are the edges.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.model.topology import DEFAULT_STREAM, UNREAD, Defect, Edge, Gap, Node, Place, Setting
from ackdoctor.topology.objects import Code, Data, Invocation, Obj, Ref, chain, describe, root
from ackdoctor.topology.readers.component_arguments import arguments_of
from ackdoctor.topology.readers.java_config import component_settings

BUILDERS = {
    "org.apache.storm.topology.TopologyBuilder": "java-builder",
    "backtype.storm.topology.TopologyBuilder": "java-builder",
    "com.alibaba.jstorm.batch.BatchTopologyBuilder": "jstorm",
    "com.twitter.heron.api.topology.TopologyBuilder": "heron-java",
    "org.apache.heron.api.topology.TopologyBuilder": "heron-java",
}
WIRING = frozenset({"setSpout", "setBolt"})
_ROLES = {"setSpout": "spout", "setBolt": "bolt"}
_GROUPINGS = {
    "shuffleGrouping": "shuffle",
    "fieldsGrouping": "fields",
    "globalGrouping": "global",
    "noneGrouping": "none",
    "allGrouping": "all",
    "directGrouping": "direct",
    "localOrShuffleGrouping": "local-or-shuffle",
    "localFirstGrouping": "local-or-shuffle",
    "partialKeyGrouping": "partial-key",
    "customGrouping": "custom",
    "applyGrouping": "custom",
    "grouping": "custom",
}
_WITH_ARGUMENT = frozenset({"fields", "partial-key", "custom"})
_FRAMEWORKS = (
    "org.apache.storm.",
    "backtype.storm.",
    "storm.",
    "com.twitter.heron.",
    "org.apache.heron.",
    "com.alibaba.jstorm.",
)
_LAMBDAS = {  # the component that a lambda becomes, by role and number of parameters
    ("spout", 0): "LambdaSpout",
    ("bolt", 1): "LambdaConsumerBolt",
    ("bolt", 2): "LambdaBiConsumerBolt",
}


class Wired(NamedTuple):
    """What the calls on one builder wire."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    settings: tuple[Setting, ...] = ()  # of components
    gaps: tuple[Gap, ...] = ()
    defects: tuple[Defect, ...] = ()


def graph_of(symbols: SymbolTable, builder: Obj, before: int, calls: Sequence[Invocation]) -> Wired:
    """The graph that the calls on a builder wire before the call with that order."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    settings: list[Setting] = []
    gaps: list[Gap] = []
    defects: list[Defect] = []
    if builder.given:
        gaps.append(Gap(f"the caller may have wired `{describe(builder)}` before", builder.place))
    for call in builder.calls:
        if call.order >= before or call.name not in WIRING or not call.args:
            continue
        node = node_of(symbols, call, identifier(call.args[0], call), _ROLES[call.name])
        if not isinstance(call.args[0], str) and not node.repeated:
            gaps.append(Gap(f"the id of this {node.role} is computed: {node.id}", call.place))
        if node.id in nodes and not node.repeated and isinstance(call.args[0], str):
            why = f"`{node.id}` is declared twice: the builder refuses the second one"
            defects.append(
                Defect(kind="duplicate-id", sure="certain", place=node.place, why=why, component=node.id)
            )
        nodes[node.id] = node
        declared = [] if not isinstance(call.result, Obj) else list(chain(call.result, before))
        edges += _edges(node.id, declared)
        settings += component_settings(declared, calls, node.id)
    return Wired(tuple(nodes.values()), tuple(edges), tuple(settings), tuple(gaps), tuple(defects))


# ---- components ----


def identifier(data: Data, call: Invocation, index: int = 0) -> str:
    """An id or a stream as text: the value, or the expression if only a run knows it."""
    if isinstance(data, str):
        return data
    if isinstance(data, Obj) and data.constant:
        return data.constant
    if isinstance(data, Gap):
        return data.why
    return call.text(index) or describe(data)


def node_of(symbols: SymbolTable, call: Invocation, name: str, role: str, index: int = 1) -> Node:
    """The component that a call adds; its object is the argument at an index."""
    data = call.argument(index)
    numbers = [arg for arg in call.args[index + 1 :] if isinstance(arg, int) and not isinstance(arg, bool)]
    component = component_of(symbols, data, role, call)
    declared = [] if not isinstance(call.result, Obj) else list(chain(call.result))
    tasks = [each.args[0] for each in declared if each.name == "setNumTasks" and each.args]
    return Node(
        id=name,
        role=role,
        cls=component.cls,
        place=call.place,
        code=component.code,
        parallelism=numbers[0] if numbers else None,
        tasks=next((each for each in tasks if isinstance(each, int)), None),
        arguments=arguments_of(data, call.order) if isinstance(data, Obj) else {},
        unread=component.unread,
        repeated=call.repeated,
    )


class Class(NamedTuple):
    """The class of a component, where its code is, and why it is not known."""

    cls: str
    code: Place | None = None
    unread: str = ""


def component_of(symbols: SymbolTable, data: Data, role: str, call: Invocation) -> Class:
    """The class of an object that becomes a component."""
    if isinstance(data, Code):
        count = len(data.function.params) - (data.function.binding == "instance")
        name = _LAMBDAS.get((role, count), "LambdaSpout" if role == "spout" else "LambdaConsumerBolt")
        return Class(f"org.apache.storm.lambda.{name}", Place(data.function.path, data.function.head.line))
    if isinstance(data, Obj):
        return _of_object(symbols, root(data), call)
    if isinstance(data, Ref) and data.cls is not None:  # a class whose constructor makes the component
        return Class(data.names[0], Place(data.cls.path, data.cls.head.line))
    text = describe(data) if isinstance(data, Gap) else call.text(1) or describe(data)
    return Class(text, None, f"its class is computed: {text}")


def _of_object(symbols: SymbolTable, obj: Obj, call: Invocation) -> Class:
    if obj.cls is not None and not obj.given:
        return Class(obj.names[0], Place(obj.cls.path, obj.cls.head.line))
    made = obj.made
    if obj.given or made is None or not made.name[:1].isupper():
        text = describe(obj) if obj.given or made is not None else call.text(1) or describe(obj)
        return Class(text, None, f"its class is computed: {text}")
    del symbols
    return Class(library_name(obj.names))


def library_name(names: Sequence[str]) -> str:
    """The qualified name of a class outside the project; a framework's class if star imports allow several."""
    known = [name for name in names if name.startswith(_FRAMEWORKS)]
    if known:
        return known[0]
    return names[0] if len(names) == 1 else names[-1] if names else UNREAD


# ---- subscriptions ----


def _edges(target: str, declared: Sequence[Invocation]) -> Iterator[Edge]:
    for call in declared:
        kind = _GROUPINGS.get(call.name)
        if kind is None or not call.args:
            continue
        source, stream, rest = _subscription(call, with_argument=kind in _WITH_ARGUMENT)
        detail = _detail(kind, rest, call)
        yield Edge(source=source, target=target, place=call.place, stream=stream, grouping=detail)


def _subscription(call: Invocation, *, with_argument: bool) -> tuple[str, str, Data]:
    """The source, the stream and the argument of a grouping."""
    first, *others = call.args
    argument = others.pop() if with_argument and others else None
    stream = DEFAULT_STREAM if not others else identifier(others[0], call, 1)
    if isinstance(first, Obj) and first.made is not None and first.made.name == "GlobalStreamId":
        parts = first.made.args
        texts = [identifier(part, first.made, index) for index, part in enumerate(parts[:2])]
        return texts[0], texts[1] if len(texts) > 1 else DEFAULT_STREAM, argument
    return identifier(first, call), stream, argument


def _detail(kind: str, argument: Data, call: Invocation) -> str:
    if kind == "custom":
        return f"custom {_grouping_class(argument)}".strip()
    if kind not in _WITH_ARGUMENT:
        return kind
    return f"{kind}({fields_text(argument, call)})"


def _grouping_class(argument: Data) -> str:
    if isinstance(argument, Obj) and argument.names:
        return argument.names[-1].rpartition(".")[2]
    return "" if argument is None else describe(argument)


def fields_text(argument: Data, call: Invocation) -> str:
    """The names in `new Fields("a", "b")` or in a list."""
    if isinstance(argument, Obj) and argument.content is None and argument.made is not None:
        return ",".join(fields_text(arg, argument.made) for arg in argument.made.args)
    if isinstance(argument, Obj) and isinstance(argument.content, list):
        return ",".join(fields_text(item, call) for item in argument.content)
    return identifier(argument, call, len(call.args) - 1)
