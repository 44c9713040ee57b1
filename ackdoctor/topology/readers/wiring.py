"""What the readers of Java's topologies share: the classes of components, their ids, and field names."""

from collections.abc import Sequence
from typing import NamedTuple

from ackdoctor.model.topology import UNREAD, Defect, Edge, Gap, Node, Place, Setting
from ackdoctor.topology.libraries import knows
from ackdoctor.topology.objects import FOREVER, Code, Data, Invocation, Obj, Ref, chain, describe, root
from ackdoctor.topology.readers.component_arguments import given_to
from ackdoctor.topology.shell import command_of, runs

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


def wired_by_caller(builder: Obj) -> tuple[Gap, ...]:
    """The gap of a builder that is an argument: what it has when the code gets it is not known."""
    if not builder.given:
        return ()
    return (Gap(f"the caller may have wired `{describe(builder)}` before", builder.place),)


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


def node_of(call: Invocation, name: str, role: str, index: int = 1) -> Node:
    """The component that a call adds; its object is the argument at an index."""
    data = call.argument(index)
    numbers = [arg for arg in call.args[index + 1 :] if isinstance(arg, int) and not isinstance(arg, bool)]
    component = component_of(data, role, call, index)
    given = given_to(data, call.order) if isinstance(data, Obj) else {}
    tasks = [each.args[0] for each in declared_by(call) if each.name == "setNumTasks" and each.args]
    return Node(
        id=name,
        role=role,
        cls=component.cls,
        place=call.place,
        code=component.code,
        parallelism=numbers[0] if numbers else None,
        tasks=next((each for each in tasks if isinstance(each, int)), None),
        arguments={key: each.value for key, each in given.items()},
        given={key: each.place for key, each in given.items()},
        unread=component.unread,
        repeated=call.repeated,
    )


def declared_by(call: Invocation, before: int = FOREVER) -> tuple[Invocation, ...]:
    """The calls on the declarer that a wiring call returns."""
    return tuple(chain(call.result, before)) if isinstance(call.result, Obj) else ()


class Class(NamedTuple):
    """The class of a component, where its code is, and why it is not known."""

    cls: str
    code: Place | None = None
    unread: str = ""


def component_of(data: Data, role: str, call: Invocation, index: int = 1) -> Class:
    """The class of an object that becomes a component."""
    if isinstance(data, Code):
        count = len(data.function.params) - (data.function.binding == "instance")
        name = _LAMBDAS.get((role, count), "LambdaSpout" if role == "spout" else "LambdaConsumerBolt")
        return Class(f"org.apache.storm.lambda.{name}", Place(data.function.path, data.function.head.line))
    if isinstance(data, Obj):
        return _of_object(root(data), call, index)
    if isinstance(data, Ref) and data.cls is not None:  # a class whose constructor makes the component
        return Class(data.names[0], Place(data.cls.path, data.cls.head.line))
    text = describe(data) if isinstance(data, Gap) else call.text(index) or describe(data)
    return Class(text, None, f"its class is computed: {text}")


def _of_object(obj: Obj, call: Invocation, index: int) -> Class:
    command = None if obj.given else command_of(obj)
    if command is not None:
        script, unread = runs(command, obj.names[0].rpartition(".")[2])
        return Class(script, None, unread)
    if obj.cls is not None and (obj.exact or not obj.given):
        return Class(obj.names[0], Place(obj.cls.path, obj.cls.head.line))
    made = obj.made
    if obj.given or made is None or not made.name[:1].isupper():
        text = describe(obj) if obj.given or made is not None else call.text(index) or describe(obj)
        return Class(text, None, f"its class is computed: {text}")
    return Class(library_name(obj.names))


def library_name(names: Sequence[str]) -> str:
    """The name of a class outside the project: a class that is known, if star imports allow several."""
    if len(names) == 1:
        return names[0]
    return next((name for name in names if knows(name)), names[-1] if names else UNREAD)


def fields_text(argument: Data, call: Invocation) -> str:
    """The names in `new Fields("a", "b")` or in a list."""
    if isinstance(argument, Obj) and argument.content is None and argument.made is not None:
        return ",".join(fields_text(arg, argument.made) for arg in argument.made.args)
    if isinstance(argument, Obj) and isinstance(argument.content, list):
        return ",".join(fields_text(item, call) for item in argument.content)
    return identifier(argument, call, len(call.args) - 1)


def variable_of(call: Invocation) -> str:
    """The name of the variable that holds the end of the chain after a call; "" without one."""
    result = call.result
    while isinstance(result, Obj):
        if result.variable:
            return result.variable
        result = result.calls[0].result if result.calls else None
    return ""
