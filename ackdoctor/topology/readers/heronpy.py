"""Topologies that heronpy's builders make: `TopologyBuilder`, and `Builder` of the streamlet API.

Classes that derive from heronpy's `Topology` are read with those of streamparse.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.program import Program
from ackdoctor.model.cfg import Call, Function, Unit
from ackdoctor.model.topology import Edge, Gap, Node, Place, Setting, Topology
from ackdoctor.topology.interpreter import Entry, Run
from ackdoctor.topology.objects import Code, Data, Invocation, Obj, Ref, describe
from ackdoctor.topology.readers.python_specs import (
    ADD,
    PYHERON,
    SPEC,
    SpecReader,
    setting_of,
    settings_of,
    topologies_of,
    with_mode_of_pyheron,
)
from ackdoctor.topology.readers.unfollowed import unfollowed
from ackdoctor.topology.settings import MODE

_PACKAGES = frozenset({"heronpy", "pyheron", "heron"})
_BUILDER, _STREAMLETS = "TopologyBuilder", "Builder"
_SUBMIT = "build_and_submit"
_WIRING = frozenset({*ADD, "add_spec", "new_source"})


def from_program(program: Program, own: set[str]) -> tuple[Topology, ...]:
    """Return the topologies that the code of these files builds."""
    reader: SpecReader | None = None
    found: list[Topology] = []
    for path in sorted(own & program.units.keys()):
        unit = program.units[path]
        if not any(name.partition(".")[0] in _PACKAGES for names in unit.imports.values() for name in names):
            continue
        reader = reader or SpecReader(program)
        found += _of_unit(program, reader, unit)
    return tuple(found)


def _of_unit(program: Program, reader: SpecReader, unit: Unit) -> Iterator[Topology]:
    """The topologies that a module builds when it runs, and those of functions that only other code calls."""

    def read(run: Run) -> Iterator[Topology]:
        for call in run.calls:
            builder = call.result
            if call.place.path != unit.path or not isinstance(builder, Obj):
                continue
            if call.name in (_BUILDER, _STREAMLETS) and _is_heron(call):
                runs = _runs(builder, run)
                built = call.name == _BUILDER
                found = _built(reader, call, builder) if built else _streamlets(call, builder, runs)
                gaps = unfollowed(run, builder, _WIRING, *(each.order for each in runs[-1:]))
                yield replace(found, gaps=(*found.gaps, *gaps))

    ran: set[int] = set()
    functions = [function for function in unit.functions.values() if _builds(function)]
    for function in (unit.body, *functions):
        if id(function) in ran or not (functions or _builds(function)):
            continue
        found, executed = topologies_of(program, Entry(function, unit), "heronpy", read)
        ran |= executed
        yield from found


def _builds(function: Function) -> bool:
    return any(
        isinstance(step.op, Call) and last_name(step.op.func) in (_BUILDER, _STREAMLETS)
        for step in function.cfg.steps
    )


def _is_heron(call: Invocation) -> bool:
    return any(name.partition(".")[0] in _PACKAGES for name in call.names)


# ---- TopologyBuilder ----


def _built(reader: SpecReader, made: Invocation, builder: Obj) -> Topology:
    submitted = next((call.order for call in builder.calls if call.name == _SUBMIT), None)
    calls = [call for call in builder.calls if submitted is None or call.order < submitted]
    specs = reader.read(_specs(calls))
    configs = [call for call in calls if call.name == "set_config"]
    settings: Iterable[Setting] = ()
    if configs:
        settings = settings_of(configs[-1].argument(0, "config"), configs[-1].place)
    gaps = list(specs.gaps)
    if submitted is None:
        gaps.append(Gap(f"this code does not call `{_SUBMIT}`", made.place))
    topology = Topology(
        name=_name(made.argument(0, "name")),
        kind="heronpy",
        framework="heron",
        place=made.place,
        nodes=tuple(specs.nodes.values()),
        edges=tuple(specs.edges),
        settings=(*settings, *specs.settings),
        gaps=tuple(gaps),
    )
    old = any(name.startswith(PYHERON) for name in made.names)
    return replace(with_mode_of_pyheron(topology), framework=PYHERON) if old else topology


def _specs(calls: Iterable[Invocation]) -> Iterator[tuple[str, Obj]]:
    for call in calls:
        given = (call.result,) if call.name in ADD else call.args if call.name == "add_spec" else ()
        for spec in given:
            if isinstance(spec, Obj) and spec.made is not None and spec.made.name in (SPEC, *ADD):
                yield "?", spec


def _name(name: Data) -> str:
    return name if isinstance(name, str) else describe(name)


# ---- streamlets ----

_OUTPUT = "output"  # the stream of every streamlet
_SOURCE = "new_source"
_IMPLEMENTATION = "heronpy.streamlet.impl"
_STAGES = {  # method of a streamlet: the default name of its stage, and its class
    "map": ("map", "mapbolt.MapBolt"),
    "flat_map": ("flatmap", "flatmapbolt.FlatMapBolt"),
    "filter": ("filter", "filterbolt.FilterBolt"),
    "repartition": ("repartition", "repartitionbolt.RepartitionBolt"),
    "reduce_by_window": ("reducebywindow", "reducebywindowbolt.ReduceByWindowBolt"),
    "reduce_by_key_and_window": ("reducebykeyandwindow", "reducebykeyandwindowbolt.ReduceByKeyAndWindowBolt"),
    "union": ("union", "unionbolt.UnionBolt"),
    "transform": ("transform", "transformbolt.TransformBolt"),
    "log": ("log", "logbolt.LogBolt"),
    "consume": ("consume", "consumebolt.ConsumeBolt"),
    **dict.fromkeys(
        ("join", "outer_right_join", "outer_left_join", "outer_join"), ("join", "joinbolt.JoinBolt")
    ),
}
_OF_TWO = frozenset({"union", "join", "outer_right_join", "outer_left_join", "outer_join"})
_SHUFFLED = frozenset("map flat_map filter union transform log consume".split())
_SAME = frozenset({"set_name", "set_num_partitions"})  # they return the streamlet itself
_SEMANTICS = "set_delivery_semantics"


@dataclass(slots=True)
class _Stages:
    """The stages of a streamlet graph, by the object that each call returns."""

    nodes: dict[int, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, call: Invocation, prefix: str, cls: str, role: str) -> Node:
        """Add the stage that a call makes; a stage without a name is called after its kind and counted."""
        calls = list(_calls_on(call.result))
        names = [each.argument(0, "name") for each in calls if each.name == "set_name"]
        self.counts[prefix] = self.counts.get(prefix, 0) + 1
        partitions = [each.argument(0) for each in calls if each.name == "set_num_partitions"]
        count = partitions[-1] if partitions else None
        node = Node(
            id=_name(names[-1]) if names else f"{prefix}-{self.counts[prefix]}",
            role=role,
            cls=f"{_IMPLEMENTATION}.{cls}",
            place=call.place,
            parallelism=count if isinstance(count, int) else None,
            streams={_OUTPUT: None},
            repeated=call.repeated,
        )
        self.nodes[id(call.result)] = node
        return node


def _streamlets(made: Invocation, builder: Obj, runs: Sequence[Invocation]) -> Topology:
    stages = _Stages()
    todo: list[Invocation] = []
    for call in _calls_on(builder):
        if call.name == _SOURCE:
            supplier = isinstance(call.argument(0, "source"), (Code, Ref))
            cls = "supplierspout.SupplierSpout" if supplier else "generatorspout.GeneratorSpout"
            stages.add(call, "supplier" if supplier else "generator", cls, "spout")
            todo += _calls_on(call.result)
    for call in todo:
        todo += _stage(stages, call)
    gaps = [] if runs else [Gap("this code does not run the builder", made.place)]
    settings = _semantics(runs[-1].argument(1, "config"), runs[-1].place) if runs else ()
    return Topology(
        name=_name(runs[-1].argument(0, "name")) if runs else "",
        kind="heronpy",
        framework="heron",
        place=made.place,
        nodes=tuple(stages.nodes.values()),
        edges=tuple(stages.edges),
        settings=tuple(settings),
        gaps=(*gaps, *stages.gaps),
    )


def _runs(builder: Obj, run: Run) -> list[Invocation]:
    """The calls that run what a builder of streamlets builds."""
    return [
        each for each in run.calls if each.name == "run" and builder in (*each.args, *each.keywords.values())
    ]


def _stage(stages: _Stages, call: Invocation) -> Iterable[Invocation]:
    """Add the stage that a method of a streamlet makes, and return the calls on it."""
    if call.name in _SAME or id(call.result) in stages.nodes:
        return ()
    if call.name not in _STAGES:
        stages.gaps.append(Gap(f"`{call.name}` of a streamlet is not followed", call.place))
        return ()
    node = stages.add(call, *_STAGES[call.name], "bolt")
    others = call.args[:1] if call.name in _OF_TWO else ()
    for parent in (call.receiver, *others):
        known = stages.nodes.get(id(_itself(parent)))
        source = known.id if known is not None else "?"
        stages.edges.append(
            Edge(
                source=source, target=node.id, place=call.place, stream=_OUTPUT, grouping=_grouping(call.name)
            )
        )
    return _calls_on(call.result)


def _grouping(method: str) -> str:
    return "shuffle" if method in _SHUFFLED else "custom"


def _itself(streamlet: Data) -> Data:
    """The streamlet behind the results of methods that return the streamlet itself."""
    while isinstance(streamlet, Obj) and streamlet.made is not None and streamlet.made.name in _SAME:
        streamlet = streamlet.made.receiver
    return streamlet


def _calls_on(streamlet: Data) -> Iterator[Invocation]:
    """The calls on a streamlet, also on the results of methods that return it."""
    todo, seen = [streamlet], {id(streamlet)}
    for each in todo:
        for call in each.calls if isinstance(each, Obj) else ():
            yield call
            if call.name in _SAME and id(call.result) not in seen:
                seen.add(id(call.result))
                todo.append(call.result)


def _semantics(config: Data, place: Place) -> Iterator[Setting]:
    """The settings of a streamlet `Config`."""
    if not isinstance(config, Obj) or config.made is None:
        yield from settings_of(config, place)
        return
    yield from settings_of(config.made.argument(0, "config"), config.made.place)
    for call in config.calls:
        if call.name == _SEMANTICS:
            value = call.argument(0, "semantics")
            yield setting_of(MODE, value, call.place)
        elif call.name == "set_user_config" and isinstance(key := call.argument(0, "key"), str):
            yield setting_of(key, call.argument(1, "value"), call.place)
