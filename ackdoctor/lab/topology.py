"""A topology: components, stream groupings, settings, task ids and routes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from ackdoctor.acker.runtime import java_hash
from ackdoctor.lab.component import Bolt, Spout
from ackdoctor.model import UsageError

ACKER = "__acker"
SYSTEM = "__system"
SYSTEM_TASK = -1
DEFAULT_STREAM = "default"
SYSTEM_STREAM = "__system"
TICK_STREAM = "__tick"


_Chooser: TypeAlias = Callable[[Sequence[object]], Sequence[int]]
_Prepare: TypeAlias = Callable[[tuple[int, ...], tuple[str, ...], Random], _Chooser]


@dataclass(slots=True, unsafe_hash=True)
class Grouping:
    """A stream grouping.  `prepare(tasks, field names, random)` returns the chooser; `fields` are the grouping fields.

    Without `prepare` it is the direct grouping: the emit names the task.
    """

    name: str
    prepare: _Prepare | None
    fields: tuple[str, ...] = ()


def _shuffle(tasks: tuple[int, ...], _names: tuple[str, ...], random: Random) -> _Chooser:
    """Cycle through the shuffled tasks (ShuffleGrouping.java:39-52@v2.8.8)."""
    ring = [(task,) for task in tasks]
    random.shuffle(ring)
    position = 0

    def choose(_values: Sequence[object]) -> Sequence[int]:
        nonlocal position
        position = (position + 1) % len(ring)
        return ring[position]

    return choose


def _at_random(tasks: tuple[int, ...], _names: tuple[str, ...], random: Random) -> _Chooser:
    return lambda _values: (random.choice(tasks),)


SHUFFLE = Grouping("shuffle", _shuffle)
LOCAL_OR_SHUFFLE = Grouping("local or shuffle", _shuffle)
NONE = Grouping("none", _at_random)
ALL = Grouping("all", lambda tasks, _names, _random: lambda _values: tasks)
GLOBAL = Grouping("global", lambda tasks, _names, _random: lambda _values: (min(tasks),))
DIRECT = Grouping("direct", None)


def fields_of(*wanted: str) -> Grouping:
    """Group by the values of these fields: `Arrays.deepHashCode` modulo the number of tasks."""

    def prepare(tasks: tuple[int, ...], names: tuple[str, ...], _random: Random) -> _Chooser:
        places = [names.index(name) for name in wanted]
        targets = [(task,) for task in tasks]

        def choose(values: Sequence[object]) -> Sequence[int]:
            return targets[java_hash([values[place] for place in places]) % len(targets)]

        return choose

    return Grouping("fields", prepare, wanted)


Outputs: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]


class InvalidTopologyError(UsageError, ValueError):
    """A topology that Storm rejects as well; the message names the component."""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settings:
    """The topology's configuration, by Storm's names without their prefix (`topology.message.timeout.secs`)."""

    ackers: int = 1  # topology.acker.executors; 0 disables acking
    message_timeout_secs: int = 30
    enable_message_timeouts: bool = True
    max_spout_pending: int | None = None  # per spout task
    tick_tuple_freq_secs: int | None = None  # for every bolt that does not set its own


@dataclass(slots=True)
class _Spec:
    """Fields of spouts and bolts."""

    component: str
    parallelism: int
    tasks: int
    outputs: Mapping[str, tuple[str, ...]]  # stream -> field names


@dataclass(slots=True)
class SpoutSpec(_Spec):
    """A spout's declaration.  Each task calls `factory` at its start and after each death."""

    factory: Callable[[], Spout]


@dataclass(slots=True)
class BoltSpec(_Spec):
    """A bolt's declaration.  The `*_grouping` methods subscribe it and return it, as Storm's declarer does."""

    factory: Callable[[], Bolt]
    tick_secs: int | None = None
    inputs: dict[tuple[str, str], Grouping] = field(default_factory=dict)  # (source, stream) -> grouping

    def grouping(self, source: str, grouping: Grouping, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Subscribe to `stream` of component `source` by any grouping, even your own."""
        self.inputs[source, stream] = grouping
        return self

    def shuffle_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to one task; all tasks get equal shares."""
        return self.grouping(source, SHUFFLE, stream)

    def fields_grouping(self, source: str, *names: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Tuples with equal values of the fields `names` go to the same task."""
        return self.grouping(source, fields_of(*names), stream)

    def all_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to every task."""
        return self.grouping(source, ALL, stream)

    def global_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to the task with the lowest id."""
        return self.grouping(source, GLOBAL, stream)

    def direct_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """The emitting component names the task."""
        return self.grouping(source, DIRECT, stream)


@dataclass(slots=True, kw_only=True)
class Topology:
    """A valid topology."""

    spouts: Mapping[str, SpoutSpec]
    bolts: Mapping[str, BoltSpec]
    settings: Settings

    def outputs(self, component: str) -> Mapping[str, tuple[str, ...]]:
        """The streams that a component declares, with their field names."""
        spec = self.spouts.get(component) or self.bolts[component]
        return spec.outputs


class TopologyBuilder:
    """Collects components; `build` checks their subscriptions."""

    def __init__(self) -> None:
        self._spouts: dict[str, SpoutSpec] = {}
        self._bolts: dict[str, BoltSpec] = {}

    def set_spout(
        self,
        component: str,
        factory: Callable[[], Spout],
        *,
        parallelism: int = 1,
        tasks: int | None = None,
        outputs: Outputs = (),
    ) -> SpoutSpec:
        """Add a spout; `outputs` are the fields of its default stream, or a mapping stream -> fields."""
        self._claim(component)
        spec = SpoutSpec(component, parallelism, tasks or parallelism, _streams(outputs), factory)
        self._spouts[component] = spec
        return spec

    def set_bolt(
        self,
        component: str,
        factory: Callable[[], Bolt],
        *,
        parallelism: int = 1,
        tasks: int | None = None,
        outputs: Outputs = (),
        tick_secs: int | None = None,
    ) -> BoltSpec:
        """Add a bolt; `tick_secs` is its own `topology.tick.tuple.freq.secs`."""
        self._claim(component)
        spec = BoltSpec(component, parallelism, tasks or parallelism, _streams(outputs), factory, tick_secs)
        self._bolts[component] = spec
        return spec

    def build(self, settings: Settings | None = None) -> Topology:
        """Return the topology; InvalidTopologyError if a bolt subscribes to a stream without an emitter."""
        topology = Topology(
            spouts=dict(self._spouts), bolts=dict(self._bolts), settings=settings or Settings()
        )
        for bolt in self._bolts.values():
            for (source, stream), grouping in bolt.inputs.items():
                place = f"{bolt.component!r} subscribes to stream {stream!r} of {source!r}"
                if source not in self._spouts and source not in self._bolts:
                    raise InvalidTopologyError(f"{place}: no component has that id")
                streams = topology.outputs(source)
                if stream not in streams:
                    declared = ", ".join(map(repr, streams))
                    raise InvalidTopologyError(f"{place}, which declares only {declared}")
                for name in grouping.fields:
                    if name not in streams[stream]:
                        raise InvalidTopologyError(
                            f"{place} by field {name!r}, which the stream does not declare"
                        )
        return topology

    def _claim(self, component: str) -> None:
        if component in self._spouts or component in self._bolts:
            raise InvalidTopologyError(f"two components have the id {component!r}")
        if component.startswith("__"):
            raise InvalidTopologyError(f"{component!r} is not a valid component id: it starts with '__'")


def _streams(outputs: Outputs) -> Mapping[str, tuple[str, ...]]:
    """Return the declared streams and the system stream, on which Storm 1.x emits `startup`."""
    if isinstance(outputs, Mapping):
        streams = {stream: tuple(names) for stream, names in outputs.items()}
    else:
        streams = {DEFAULT_STREAM: tuple(outputs)} if outputs else {}
    return MappingProxyType({**streams, SYSTEM_STREAM: ("event",)})


@dataclass(slots=True, kw_only=True)
class Assignment:
    """The task ids of all components, from 1 in order of component ids; so the ackers come first."""

    tasks: Mapping[str, tuple[int, ...]]  # component -> its tasks, ascending
    executors: Mapping[str, tuple[tuple[int, ...], ...]]  # component -> the tasks of each of its executors
    components: Mapping[int, str]


def assign(topology: Topology) -> Assignment:
    """Assign task ids, and spread the tasks evenly over executors; an acker executor has one task."""
    specs = (*topology.spouts.values(), *topology.bolts.values())
    shape = {spec.component: (spec.tasks, spec.parallelism) for spec in specs}
    ackers = topology.settings.ackers
    if ackers:
        shape[ACKER] = (ackers, ackers)
    tasks: dict[str, tuple[int, ...]] = {}
    executors: dict[str, tuple[tuple[int, ...], ...]] = {}
    components: dict[int, str] = {}
    first = 1
    for name in sorted(shape):
        count, parallelism = shape[name]
        tasks[name] = tuple(range(first, first + count))
        executors[name] = tuple(_split(tasks[name], min(parallelism, count)))
        components.update(dict.fromkeys(tasks[name], name))
        first += count
    return Assignment(tasks=tasks, executors=executors, components=components)


def _split(tasks: Sequence[int], parts: int) -> Iterator[tuple[int, ...]]:
    size, larger = divmod(len(tasks), parts)
    start = 0
    for part in range(parts):
        end = start + size + (part < larger)
        yield tuple(tasks[start:end])
        start = end


class InvalidEmitError(ValueError):
    """An emit that Storm rejects with an IllegalArgumentException, with Storm's text."""


def check_emit(fields: Mapping[str, Sequence[str]], values: Sequence[object], stream: str) -> None:
    """Check an emit against the declared streams and their fields (Task.java:160, TupleImpl.java:56)."""
    if stream not in fields:
        raise InvalidEmitError(f"Unknown stream ID: {stream}")
    expected, got = len(fields[stream]), len(values)
    if got != expected:
        raise InvalidEmitError(
            f"Tuple created with wrong number of fields. Expected {expected} fields but got {got} fields"
        )


class Router:
    """Routes the emits of one component by the stream groupings."""

    def __init__(self, topology: Topology, assignment: Assignment, component: str, random: Random) -> None:
        self._components = assignment.components
        self.fields = topology.outputs(component)
        self._choosers: dict[str, dict[str, _Chooser | None]] = {stream: {} for stream in self.fields}
        for bolt in topology.bolts.values():
            for (source, stream), grouping in bolt.inputs.items():
                if source == component:
                    tasks = assignment.tasks[bolt.component]
                    chooser = grouping.prepare and grouping.prepare(tasks, self.fields[stream], random)
                    self._choosers[stream][bolt.component] = chooser

    def targets(self, values: Sequence[object], stream: str, task: int | None = None) -> list[int]:
        """Return the receiving tasks of an emit; with `task` it is direct, and empty without a subscription."""
        check_emit(self.fields, values, stream)
        subscribers = self._choosers[stream]
        if task is not None:
            component = self._components.get(task, "")
            if subscribers.get(component) is not None:
                raise InvalidEmitError("Cannot emitDirect to a task expecting a regular grouping")
            return [task] if component in subscribers else []
        chosen: list[int] = []
        for chooser in subscribers.values():
            if chooser is None:
                raise InvalidEmitError("Cannot do regular emit to direct stream")
            chosen.extend(chooser(values))
        return chosen
